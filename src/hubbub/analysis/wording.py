"""How values, numbers, shares, ranges and certainties are written for people, in the same way everywhere."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from hubbub.model.estimates import Group, Hitter

_LONGEST: Final = 40  # characters of a value
_LEAST = 1e-6  # smaller counts are rounding errors, and are shown as 0
_NOISE = 1e-12  # the relative rounding error of a sum or product of floats


def visible(text: str) -> str:
    r"""Text with escapes for all characters that could move a cursor, colour a terminal or turn the writing direction.

    >>> print(visible("tab\t, bell\x07, right to left\u202e"))
    tab\t, bell\x07, right to left\u202e
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def short(value: object) -> str:
    """A value on one line, without control characters, cut after 40 characters."""
    text = visible(str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


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


class Cells(NamedTuple):
    """A row of an answer as people read it; the estimate itself may be impossible, and is in JSON, CSV and frames.

    Attributes
    ----------
    people, share : str
        The estimate, moved into the range from 0 to all reports.
    between : str
        The interval.
    sure : str
        The confidence that somebody holds the value, never rounded up to 100 %; a dash if it does not stand out.
    fakes : str
        How few crafted reports could have made the count.
    """

    people: str
    share: str
    between: str
    sure: str
    fakes: str


def cells(hitter: Hitter) -> Cells:
    """A row of an answer as texts.

    >>> from hubbub import Hitter
    >>> cells(Hitter("tea", count=-3, share=-0.03, stderr=9, low=0, high=20, confidence=0))[:3]
    ('0', '0.00%', '0 – 20')
    """
    certainty = ">99.99%" if hitter.confidence > 0.9999 else percent(hitter.confidence)
    return Cells(
        number(possible(hitter)),
        percent(min(max(hitter.share, 0.0), 1.0)),
        f"{number(hitter.low)} – {number(hitter.high)}",
        certainty if hitter.stands_out else "–",
        f"{hitter.fake_reports:,}",
    )


def stands(hitter: Hitter, forged: int) -> str:
    """Whether a row stands if so many reports are forged, and up to how many it does.

    >>> from hubbub import Hitter
    >>> tea = Hitter("tea", count=30, share=0.3, stderr=9, low=3, high=50, confidence=1, stands_to=7)
    >>> stands(tea, 5), stands(tea, 8)
    ('yes, to 7', 'no, to 7')
    """
    if not hitter.stands_out:
        return "no"
    return f"{'yes' if (hitter.stands_to or 0) >= forged else 'no'}, to {hitter.stands_to or 0:,}"


def possible(hitter: Hitter) -> float:
    """The possible count that is next to the estimate: not below 0, and not above the number of reports."""
    return max(hitter.count, 0.0) if hitter.share <= 1 else hitter.count / hitter.share


def within(group: Group) -> float:
    """The count that is next to the estimate of a group, and in its interval."""
    return min(max(group.count, group.low), group.high)


def at_most(number: float, digits: int = 2) -> str:
    """An upper bound with this many significant digits, rounded up, so that the shown number is a bound, too.

    >>> at_most(0.0151), at_most(0.1), at_most(9.01e-8), at_most(49.12, 3), at_most(12 * 1.35, 3), at_most(0.0)
    ('0.016', '0.1', '9.1e-08', '49.2', '16.2', '0')
    """
    exactly = Decimal(number * (1 - _NOISE))
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).plus(exactly)):.{digits}g}"


def finite(limit: float | None) -> float | None:
    """A limit for JSON, which has no infinity: None if the limit is infinite or None."""
    return limit if limit is not None and math.isfinite(limit) else None


def chance_percent(chance: float) -> str:
    """A chance in per cent with as many digits as are useful, never rounded to 0 or 100.

    >>> [chance_percent(chance) for chance in (0.00041, 0.1234, 0.731, 0.99999)]
    ['0.041 %', '12.3 %', '73.1 %', '99.999 %']
    """
    text = percent(chance, _digits(chance)).removesuffix("%")
    return text.rstrip("0").rstrip(".") + " %"


def at_most_percent(chance: float) -> str:
    """An upper bound in per cent with as many digits, rounded up, so that what is shown is a bound, too.

    >>> [at_most_percent(chance) for chance in (0.5, 0.5000025, 0.7310586, 0.99987)]
    ['50 %', '50.1 %', '73.2 %', '99.987 %']
    """
    digits = _digits(chance)
    return f"{ceiling(100 * chance, digits):.{digits}f}".rstrip("0").rstrip(".") + " %"


def _digits(chance: float) -> int:
    """After the point of a chance in per cent."""
    near = min(chance, 1 - chance)
    return 1 if near >= 0.001 else min(12, 1 - math.floor(math.log10(max(near, 1e-12))) - 2)


def ceiling(number: float, digits: int) -> float:
    """The next number of so many digits after the point; what floats are off by is no reason to go on to another."""
    scale = 10.0**digits
    return math.ceil(round(number * scale, 6)) / scale


def one_in(share: float) -> str:
    """A share in everyday words.

    >>> [one_in(share) for share in (0.0012, 0.0179, 0.2, 0.27, 0.62, 1.0)]
    ['1 in 830', '1 in 56', '1 in 5', '27 %', '62 %', 'all']
    """
    if share >= 0.995:
        return "all"
    several = 1 / share
    if share > 0.4 or (share > 0.1 and abs(several - round(several)) > 0.03 * several):
        return f"{rounded(100 * share, 0)} %"
    digits = max(0, math.floor(math.log10(several)) - 1)
    return f"1 in {math.ceil(round(several, 6) / 10**digits - 0.5) * 10**digits:,}"


def round_up(people: float) -> int:
    """A number of people, rounded up to two significant digits.

    >>> [round_up(people) for people in (7, 84.2, 12_345, 250_001)]
    [7, 85, 13000, 260000]
    """
    digits = max(0, math.floor(math.log10(people)) - 1)
    return int(math.ceil(people / 10**digits) * 10**digits)


def what_is_seen(candidates: int) -> str:
    """The value that sentences are about, given the number of candidates.

    >>> [what_is_seen(candidates) for candidates in (0, 1, 1_000)]
    ['a value', 'the candidate', 'one of 1,000 candidates']
    """
    named = "the candidate" if candidates == 1 else f"one of {candidates:,} candidates"
    return named if candidates else "a value"


def size_words(count: int) -> str:
    """A number of bytes with a unit: bytes, kB or MB."""
    return (
        f"{count:,} bytes" if count < 10_000 else f"{count / 1e3:,.0f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"
    )


def time_words(seconds: float) -> str:
    """A time with a unit, in everyday words.

    >>> [time_words(seconds) for seconds in (0.001, 0.34, 1.2, 250, 7e4, 1e12)]
    ['less than 10 ms', 'about 0.3 s', 'about 1 s', 'about 4 minutes', 'about 19 hours', 'more than a year']
    """
    if seconds < 100:
        return "less than 10 ms" if seconds < 0.01 else f"about {seconds:.1g} s"
    for unit, length, most in (("minutes", 60, 100), ("hours", 3600, 48), ("days", 86400, 365)):
        if seconds < most * length:
            return f"about {seconds / length:.0f} {unit}"
    return "more than a year"
