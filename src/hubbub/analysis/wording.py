"""How numbers and values are written for people, in the same way everywhere."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hubbub.model.estimates import Hitter

_LEAST = 1e-6  # smaller counts are rounding errors, and are shown as 0
_NOISE = 1e-12  # the relative rounding error of a sum or product of floats


def visible(text: str) -> str:
    r"""Text with escapes for all characters that could move a cursor, colour a terminal or turn the writing direction.

    >>> print(visible("tab\t, bell\x07, right to left\u202e"))
    tab\t, bell\x07, right to left\u202e
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun; the plural is the noun with an s unless given.

    >>> plural(1, "survey"), plural(2_000, "person", "people"), plural(0, "row")
    ('1 survey', '2,000 people', '0 rows')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def rounded(value: float | Decimal, digits: int) -> str:
    """A number with so many digits after the point; a half, as the number is printed, is rounded away from 0.

    >>> rounded(24.845, 2), rounded(2.5, 0), rounded(1234.5, 0), rounded(-0.001, 2)
    ('24.85', '3', '1,235', '0.00')
    """
    if not math.isfinite(value):
        return str(value)
    exact = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    shown = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{abs(shown) if shown == 0 else shown:,f}"


def number(value: float) -> str:
    """A count for people: with thousands separators, and at most three significant digits below 10.

    >>> number(1234.5), number(2.345), number(-4e-18)
    ('1,235', '2.35', '0')
    """
    if abs(value) >= 10:
        return rounded(value, 0)
    if abs(value) < _LEAST:
        return "0"
    digits = Context(prec=3, rounding=ROUND_HALF_UP).create_decimal(repr(float(value)))
    return f"{digits.normalize():f}"


def percent(share: float, digits: int = 2) -> str:
    """A share for people, in per cent.

    >>> percent(0.5), percent(-4e-18), percent(0.24845), percent(0.525, 1)
    ('50.00%', '0.00%', '24.85%', '52.5%')
    """
    return f"{rounded(100 * Decimal(repr(float(share))), digits)}%"


def people_of(hitter: Hitter) -> str:
    """The estimated number of people of a row, for people: from 0 to all reports, like its interval.

    The estimate itself is unbiased, and may be outside; JSON, CSV and tables for programs have it.

    >>> from hubbub import Hitter
    >>> people_of(Hitter("tea", count=-3, share=-0.03, stderr=9, low=0, high=20, confidence=0))
    '0'
    """
    return number(possible(hitter))


def share_of(hitter: Hitter) -> str:
    """The estimated share of a row, for people: from 0 to 100 %."""
    return percent(min(max(hitter.share, 0.0), 1.0))


def possible(hitter: Hitter) -> float:
    """The possible count that is next to the estimate: not below 0, and not above the number of reports."""
    return max(hitter.count, 0.0) if hitter.share <= 1 else hitter.count / hitter.share


def at_most(number: float, digits: int = 2) -> str:
    """An upper bound with this many significant digits, rounded up, so that the shown number is a bound, too.

    >>> at_most(0.0151), at_most(0.1), at_most(9.01e-8), at_most(49.12, 3), at_most(12 * 1.35, 3), at_most(0.0)
    ('0.016', '0.1', '9.1e-08', '49.2', '16.2', '0')
    """
    exactly = Decimal(number * (1 - _NOISE))
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).plus(exactly)):.{digits}g}"


def interval(hitter: Hitter) -> str:
    """The interval of a row, from 0 to all reports.

    >>> from hubbub import Hitter
    >>> interval(Hitter("tea", count=-3, share=-0.03, stderr=9, low=0, high=20, confidence=0))
    '0 – 20'
    """
    return f"{number(hitter.low)} – {number(hitter.high)}"


def sure(hitter: Hitter) -> str:
    """The confidence that somebody holds the value, never rounded up to 100 %; a dash if it does not stand out."""
    if not hitter.stands_out:
        return "–"
    return ">99.99%" if hitter.confidence > 0.9999 else percent(hitter.confidence)


def finite(limit: float | None) -> float | None:
    """A limit for JSON, which has no infinity: None if the limit is infinite or None."""
    return limit if limit is not None and math.isfinite(limit) else None
