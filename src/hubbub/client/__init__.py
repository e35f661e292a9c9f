"""The device client: answers a survey once, privately, and delivers the answer whatever the network does.

    client = Client("https://collector.example/v1/surveys/<id>")
    client.report("news.example")

Standard library only, and nothing of the rest of hubbub: the folder is also shipped alone, as the wheel
`hubbub-client`, hence its relative imports. It is a second implementation of the randomisers that devices run, held to
the bulk one byte for byte by `tests/vectors`. What is promised, and what is not, is in docs/client.md.
"""

from __future__ import annotations

from .checks import BudgetError, ClientError, LedgerError, SurveyError
from .delivery import DEFAULT_MAX_EPSILON, Client, Result
from .ledger import Ledger, default_ledger

__all__ = [
    "DEFAULT_MAX_EPSILON",
    "BudgetError",
    "Client",
    "ClientError",
    "Ledger",
    "LedgerError",
    "Result",
    "SurveyError",
    "default_ledger",
]

__version__ = "0.1.0"
