"""A person's budget: how much all surveys together may cost, in 30 days, in 365 days, and in a lifetime.

It belongs to the person and is kept in the ledger. A program may set lower limits, never higher ones. It protects a
person against honest programs that ask too much; a malicious program need not use this client at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation, localcontext
from typing import Final, NamedTuple

from .checks import BudgetError, ClientError

EXACT: Final = Context(prec=200, rounding=ROUND_CEILING)  # sums of privacy losses are never rounded down
EXACT_LEFT: Final = Context(prec=200, rounding=ROUND_FLOOR)  # nor is what is left rounded up
DAY: Final = "%Y-%m-%d"  # the ledger has days, not times: when a person was at her device is nobody's business
Number = Decimal | float | str


class Cap(NamedTuple):
    """The most that reports may cost together: ε in 30 days, in 365 days and in a lifetime, and δ. None is no limit."""

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
        """Raise BudgetError if one more report of this cost exceeds a limit, or one of those `asked`.

        An entry of the ledger with a time in the future counts as recent, since clocks can be wrong. `now` is by
        default the time of the clock.
        """
        told_so_far = spent(told, now)
        with localcontext(EXACT):
            for field, what in _PARTS.items():
                limits = (getattr(self, field), getattr(asked, field, None))
                most = min((limit for limit in limits if limit is not None), default=None)
                cost, before = delta if field == "delta" else epsilon, told_so_far[field]
                if most is not None and before + cost > most:
                    raise BudgetError(f"{what} must be at most {most:f}, got {before:f} and {cost:f} more")

    def left(self, told: Iterable[dict[str, str]], now: datetime | None = None) -> Cap:
        """Return what these limits still allow after the entries of a ledger, at least 0; None is no limit."""
        told_so_far = spent(told, now)
        with localcontext(EXACT_LEFT):
            left = {name: None if most is None else most - told_so_far[name] for name, most in self._asdict().items()}
            return Cap(*(Decimal(0) if more is not None and more <= 0 else more for more in left.values()))  # not -0


def spent(told: Iterable[dict[str, str]], now: datetime | None = None) -> dict[str, Decimal]:
    """Return what the entries of a ledger cost together, for each field of `Cap`.

    An entry has a day. It counts in a window of days until the whole of that day is outside of it.
    """
    entries = list(told)
    moment = datetime.now(UTC) if now is None else now
    sums = {}
    with localcontext(EXACT):
        for field in Cap._fields:
            days, loss = _WINDOWS.get(field), "delta" if field == "delta" else "epsilon"
            since = "" if days is None else (moment - timedelta(days=days)).strftime(DAY)
            sums[field] = sum((Decimal(each[loss]) for each in entries if each["answered"] >= since), Decimal(0))
    return sums


_WINDOWS: Final = {"month": 30, "year": 365}
_PARTS: Final = {
    "month": "ε of all surveys in 30 days",
    "year": "ε of all surveys in 365 days",
    "lifetime": "ε of all surveys together",
    "delta": "δ of all surveys together",
}
DEFAULT_CAP: Final = Cap(Decimal(8), Decimal(28), None, Decimal("0.000001"))
"""The limits of a ledger until the person changes them."""


def parse_limit(name: str, value: Number) -> Decimal:
    """Return a limit of ε or δ as an exact number. Raises ClientError if it is not a number from 0 to 10^6.

    It has at most 60 decimals, as many as a ledger keeps.
    """
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = Decimal("NaN")
    if not (number.is_finite() and 0 <= number <= 10**6 and int(number.as_tuple().exponent) >= -60):
        raise ClientError(
            f"{name} must be a number from 0 to 10^6 with at most 60 decimals, got {name}={str(value)[:40]!r}"
        )
    return abs(number)  # one spelling of 0
