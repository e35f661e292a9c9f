"""Plans in sentences, with shares, crowds and sizes in everyday words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hubbub.analysis.outlook import MOST_EPSILON
from hubbub.analysis.person import percent
from hubbub.analysis.wording import rounded

if TYPE_CHECKING:
    from hubbub.analysis.planning import Plan


def about_share(plan: Plan) -> str:
    """A sentence: which share would be found, or what it takes to find it."""
    what = what_is_seen(plan.candidates)
    surely = f"with a chance of {percent(plan.wanted)}"
    if plan.share is None:
        return (
            f"With {_people(plan.people)} at ε = {plan.epsilon:g} not even {what} that all of them hold would be seen "
            f"{surely}."
        )
    held = f"{what} that {one_in(plan.share)} hold"
    if plan.people is None:
        return f"Not even 10^12 people are enough to see {held} at ε = {plan.epsilon:g} {surely}."
    if plan.epsilon is None:
        return f"To see {held} among {_people(plan.people)} {surely}, not even ε = {MOST_EPSILON:g} is enough."
    if plan.solved == "people":
        return f"To see {held} at ε = {plan.epsilon:g} you need about {_people(plan.people)} ({surely})."
    if plan.solved == "epsilon":
        return f"To see {held} among {_people(plan.people)} you need ε = {plan.epsilon:g} ({surely})."
    if plan.solved == "share":
        seen = f"is seen if about {one_in(plan.share)} hold it"
        return f"With {_people(plan.people)} at ε = {plan.epsilon:g} {what} {seen} ({surely})."
    return f"With {_people(plan.people)} at ε = {plan.epsilon:g} {held} is seen with a chance of {_chance(plan)}."


def _chance(plan: Plan) -> str:
    """A predicted chance in words; it is only accurate to about a percentage point."""
    chance = plan.chance or 0.0
    return "less than 0.1 %" if chance < 0.001 else "more than 99.9 %" if chance > 0.999 else percent(chance)


def about_limits(plan: Plan) -> str:
    """A sentence that compares: other ε, and candidates with a plain search."""
    said = []
    if plan.named_share is not None:
        said.append(f"if they were among 1,000 candidates named in advance, {_seen(plan.named_share)}")
    for limit in plan.limits:
        here = limit.epsilon == plan.epsilon
        if here and plan.candidates:
            said.append(f"without the list, {_seen(limit.share)}")
        elif not here and (limit.epsilon in (1.0, 4.0) or len(plan.limits) <= 3):
            part = f"at ε = {limit.epsilon:g}, {_seen(limit.candidate_share if plan.candidates else limit.share)}"
            said.append(part)
    if not said:
        return ""
    return f"The same people would show, {'; '.join(said)}."


def about_slots(plan: Plan) -> str:
    """A sentence or two on several values per person: the meaning of shares, and the cost."""
    if plan.values_per_person == 1:
        return ""
    said = f"Everybody reports one of {plan.values_per_person} slots; shares are of the people who have the value."
    if plan.one_value_share is None:
        return said
    return f"{said} If everybody had one value, {_seen(plan.one_value_share)} would be seen."


def what_is_seen(candidates: int) -> str:
    """The subject of a plan's sentences, given the number of candidates.

    >>> [what_is_seen(candidates) for candidates in (0, 1, 1_000)]
    ['a value', 'the candidate', 'one of 1,000 candidates']
    """
    named = "the candidate" if candidates == 1 else f"one of {candidates:,} candidates"
    return named if candidates else "a value"


def _seen(share: float | None) -> str:
    return "nothing" if share is None or share == math.inf else f"values that {one_in(share)} hold"


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


def _people(people: int | None) -> str:
    return "1 person" if people == 1 else f"{people:,} people"


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
