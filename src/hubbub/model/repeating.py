"""Surveys that repeat: how often a device answers, and what that costs within a person's budget.

A survey with `every` is one question that is asked again every so many days. Periods have `every` days each; the first
begins when the survey opens. A device answers at most once in each period, with fresh noise.
"""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Final

from hubbub.errors import ParameterError, shown

BUDGET: Final = ((30, Decimal(8)), (365, Decimal(28)))
"""Days, and the largest ε of all surveys together in so many days: the budget of every ledger."""

MOST_DAYS: Final = 366
YEAR: Final = 365
_WEEK: Final = 7
_MONDAY: Final = 0


def times_in(days: int, every: int) -> int:
    """Return how often a device answers in this many days at most, if it is asked every so many days.

    >>> times_in(365, 28), times_in(30, 7)
    (14, 5)
    """
    return -(-days // every)


def most_epsilon(every: int) -> Decimal:
    """Return the largest ε with which a survey fits the budget, rounded down to three decimals.

    >>> most_epsilon(28), most_epsilon(7)
    (Decimal('2.000'), Decimal('0.528'))
    """
    least = min(most / times_in(days, every) for days, most in BUDGET)
    return least.quantize(Decimal("0.001"), ROUND_FLOOR)


def fits_budget(epsilon: Decimal, every: int) -> bool:
    """Return whether the budget of a device allows this survey in every period."""
    exact = Fraction(epsilon)  # a product of decimals would be rounded
    return all(exact * times_in(days, every) <= most for days, most in BUDGET)


def check_budget(epsilon: Decimal, every: int) -> None:
    """Raise ParameterError, with what would fit, if the budget does not allow this survey in every period.

    >>> check_budget(Decimal(2), 7)
    Traceback (most recent call last):
    ...
    hubbub.errors.ParameterError: a survey every 7 days must have at most ε = 0.528, so that a device answers each \
time within its budget (ε = 8 in 30 days, 28 in 365), got ε = 2; ε = 2 fits every 28 days
    """
    if fits_budget(epsilon, every):
        return
    weeks = (days for days in range(_WEEK, MOST_DAYS, _WEEK) if fits_budget(epsilon, days))
    longer = next((f"; ε = {epsilon:f} fits every {days} days" for days in weeks), "")
    limits = ", ".join(f"{most} in {days} days" if days < YEAR else f"{most} in {days}" for days, most in BUDGET)
    raise ParameterError(
        f"a survey every {days_words(every)} must have at most ε = {most_epsilon(every).normalize():f}, so that a "
        f"device answers each time within its budget (ε = {limits}), got ε = {epsilon:f}{longer}"
    )


def check_days(every: object) -> None:
    """Raise ParameterError unless this is a number of days that a period may have."""
    if type(every) is not int or not 1 <= every <= MOST_DAYS:
        raise ParameterError(f"every must be a whole number of days from 1 to {MOST_DAYS}, got every={shown(every)}")


def check_every(every: int, opens: datetime | None) -> None:
    """Raise ParameterError if the days of a period do not fit, or if `opens` is no start of a period."""
    check_days(every)
    if opens is None:
        raise ParameterError("a survey that repeats must say when it opens, got opens=None")
    said = opens.replace(tzinfo=None).isoformat()
    if (opens.hour, opens.minute, opens.second) != (0, 0, 0):
        raise ParameterError(f"a survey that repeats must open at 00:00 UTC, got opens={said}Z")
    if every % _WEEK == 0 and opens.weekday() != _MONDAY:
        raise ParameterError(f"a survey that repeats in whole weeks must open on a Monday, got opens={said}Z")


def days_words(every: int) -> str:
    """Return a number of days as people read it.

    >>> days_words(1), days_words(28)
    ('day', '28 days')
    """
    return "day" if every == 1 else f"{every} days"


def cost_words(epsilon: Decimal, every: int) -> str:
    """Return a sentence on what a browser that stays a year spends.

    >>> cost_words(Decimal(2), 28)
    'It is asked every 28 days: a browser that stays a year answers up to 14 times and spends ε = 28 in all.'
    """
    times = times_in(YEAR, every)
    total = f"{(epsilon * times).normalize():f}"
    often = "once" if times == 1 else f"up to {times} times"
    year = f"a browser that stays a year answers {often} and spends ε = {total} in all"
    return f"It is asked every {days_words(every)}: {year}."
