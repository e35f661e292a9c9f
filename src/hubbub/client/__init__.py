"""The device client: answers a survey once, privately, and delivers the response even over a bad network.

    client = Client("https://collector.example/v1/surveys/<id>")
    client.report("news.example")

It uses the standard library only, and nothing of the rest of hubbub: the directory is also shipped alone, as the wheel
`hubbub-client`, so its imports are relative. It is a second implementation of the randomisers for devices;
`tests/vectors` show that both make the same bytes. docs/client.md says what is promised.
"""

from __future__ import annotations

from .budget import DEFAULT_CAP, Cap
from .checks import BudgetError, ClientError, LedgerError, SurveyError
from .client import DEFAULT_MAX_EPSILON, RELAY_MAX_EPSILON, Client, Result
from .ledger import Ledger, default_ledger

__all__ = [
    "DEFAULT_CAP",
    "DEFAULT_MAX_EPSILON",
    "RELAY_MAX_EPSILON",
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
