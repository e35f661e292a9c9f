"""A person's budget: how much all surveys together may cost, in 30 days, in 365 days, and in a lifetime.

It belongs to the person and is kept in the ledger. A program may set lower limits, never higher ones. It protects a
person against honest programs that ask too much; a malicious program need not use this client at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation, localcontext
from typing import Final, NamedTuple

from .checks import BudgetError, ClientError

EXACT: Final = Context(prec=200, rounding=ROUND_CEILING)  # sums of privacy losses are never rounded down
TIME: Final = "%Y-%m-%dT%H:%M:%SZ"
Number = Decimal | float | str


class Cap(NamedTuple):
    """The most that reports may cost together. None is no limit.

    Attributes
    ----------
    month, year, lifetime : Decimal or None
        The sum of ε of the last 30 days, of the last 365 days, and of all time.
    delta : Decimal or None
        The sum of δ of all time.
    """

    month: Decimal | None = None
    year: Decimal | None = None
    lifetime: Decimal | None = None
    delta: Decimal | None = None

    def check(
        self,
        told: Iterable[dict[str, str]],
        epsilon: Decimal,
        delta: Decimal,
        now: datetime | None = None,
        asked: Cap | None = None,
    ) -> None:
        """Raise BudgetError if one more report would cost more than a limit allows.

        Parameters
        ----------
        told : iterable of dict
            The entries of the ledger. One with a time in the future counts as recent, since clocks can be wrong.
        epsilon, delta : Decimal
            The cost of the report.
        now : datetime, optional
            The time; by default it is now.
        asked : Cap, optional
            More limits. Of two limits the smaller one holds.
        """
        entries = list(told)
        moment = datetime.now(UTC) if now is None else now
        with localcontext(EXACT):
            for field, (what, days) in _PARTS.items():
                limits = (getattr(self, field), getattr(asked, field, None))
                most = min((limit for limit in limits if limit is not None), default=None)
                since = None if days is None else (moment - timedelta(days=days)).strftime(TIME)
                loss = "delta" if field == "delta" else "epsilon"
                cost = delta if field == "delta" else epsilon
                spent = sum((Decimal(e[loss]) for e in entries if since is None or e["answered"] > since), Decimal(0))
                if most is not None and spent + cost > most:
                    raise BudgetError(f"{what} must be at most {most:f}, got {spent:f} and {cost:f} more")


_PARTS: Final[dict[str, tuple[str, int | None]]] = {
    "month": ("ε of all surveys in 30 days", 30),
    "year": ("ε of all surveys in 365 days", 365),
    "lifetime": ("ε of all surveys together", None),
    "delta": ("δ of all surveys together", None),
}
DEFAULT_CAP: Final = Cap(Decimal(4), Decimal(12), None, Decimal("0.000001"))
"""The limits of a ledger until the person changes them."""


def parse_limit(name: str, value: Number) -> Decimal:
    """Return a limit of ε or δ as an exact number. Raises ClientError if it is not a number from 0 to 10^6."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = Decimal("NaN")
    if not (number.is_finite() and 0 <= number <= 10**6):
        raise ClientError(f"{name} must be a number from 0 to 10^6, got {name}={str(value)[:40]!r}")
    return number
