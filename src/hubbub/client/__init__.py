"""The device client: answers a survey once, privately, and delivers the response whatever the network does.

    client = Client("https://collector.example/v1/surveys/<id>")
    client.report("news.example")

It uses the standard library only, and nothing of the rest of hubbub: the folder is also shipped alone, as the wheel
`hubbub-client`, and therefore its imports are relative. It implements the randomisers of devices a second time;
`tests/vectors` show that both implementations make the same bytes. docs/client.md says what is promised.
"""

from __future__ import annotations

from .budget import DEFAULT_CAP, Cap
from .checks import BudgetError, ClientError, LedgerError, SurveyError
from .client import DEFAULT_MAX_EPSILON, Client, Result
from .ledger import Ledger, default_ledger

__all__ = [
    "DEFAULT_CAP",
    "DEFAULT_MAX_EPSILON",
    "BudgetError",
    "Cap",
    "Client",
    "ClientError",
    "Ledger",
    "LedgerError",
    "Result",
    "SurveyError",
    "default_ledger",
]

__version__ = "0.1.0"
