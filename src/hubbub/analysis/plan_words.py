"""Plans in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from hubbub.analysis.outlook import MOST_EPSILON
from hubbub.analysis.trend_power import PERIODS, SHARE, VALUES
from hubbub.analysis.wording import chance_percent, one_in, rounded, what_is_seen
from hubbub.codes.table import MAX_BYTES

if TYPE_CHECKING:
    from hubbub.analysis.planning import Plan
    from hubbub.model.domain import Domain

ENOUGH: Final = 0.1
"""The share that a survey should show: whatever one in ten people hold."""


def about_share(plan: Plan) -> str:
    """A sentence: which share would be found, or what it takes to find it."""
    what = what_is_seen(plan.candidates)
    surely = f"with a chance of {chance_percent(plan.wanted)}"
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
    return "less than 0.1 %" if chance < 0.001 else "more than 99.9 %" if chance > 0.999 else chance_percent(chance)


def about_names(plan: Plan) -> str:
    """A sentence: which share of a name that everybody knows would be found; empty if the domain has no such names."""
    if not plan.known_names or plan.named_share is None:
        return ""
    seen = f"is seen if about {one_in(plan.named_share)} hold it" if plan.named_share <= 1 else "would not be seen"
    return f"One of the {plan.known_names:,} names that everybody knows {seen}."


def about_limits(plan: Plan) -> str:
    """A sentence that compares: other ε, and candidates with a plain search."""
    said = []
    if plan.named_share is not None and not plan.known_names:
        said.append(f"if you name up to 1,000 values to look for, {_seen(plan.named_share)}")
    for limit in plan.limits:
        here = limit.epsilon == plan.epsilon
        if here and plan.candidates:
            said.append(f"without the list, {_seen(limit.share)}")
        elif not here and (limit.epsilon in (1.0, 4.0) or len(plan.limits) <= 3):
            part = f"at ε = {limit.epsilon:g}, {_seen(limit.candidate_share if plan.candidates else limit.share)}"
            said.append(part)
    if not said:
        return ""
    return f"With the same people you would see, {'; '.join(said)}."


def about_gain(people: int, epsilon: float, gain: float) -> str:
    """A sentence: how much a value must gain from one period to the next to be called rising."""
    of = f"With {_people(people)} in a period at ε = {epsilon:g}, a value that {one_in(SHARE)} hold"
    if gain == math.inf:
        return f"{of} cannot be called rising, however much it gains."
    points = rounded(100 * gain, 0 if gain > 0.03 else 1)
    return (
        f"{of} must gain about {points} points in a period to be called rising, among {VALUES} values in {PERIODS} "
        "periods."
    )


def about_slots(plan: Plan) -> str:
    """A sentence or two on several values per person: the meaning of shares, and the cost."""
    if plan.values_per_person == 1:
        return ""
    said = f"Everybody reports one of {plan.values_per_person} slots; shares are of the people who have the value."
    if plan.one_value_share is None:
        return said
    return f"{said} If everybody had one value, {_seen(plan.one_value_share)} would be seen."


def about_length(domain: Domain) -> str:
    """A sentence about texts that are too long for the domain, or for all; empty if nothing is cut."""
    if domain.cut_after is None:
        return ""
    none = ", and no domain holds longer ones, such as user agents or JSON" if domain.cut_after == MAX_BYTES else ""
    return f"Texts are cut after {domain.cut_after} bytes{none}."


def _seen(share: float | None) -> str:
    return "nothing" if share is None or share == math.inf else f"values that {one_in(share)} hold"


def _people(people: int | None) -> str:
    return "1 person" if people == 1 else f"{people:,} people"


def verdict(plan: Plan, list_share: float) -> str:
    """Whether a survey would show what one in ten people hold, and if not, what to do; of several ways the least.

    `list_share` is the smallest share that would be seen if the same people chose from a list of 20.
    """
    people, share = _people(plan.people), math.inf if plan.share is None else plan.share
    named = math.inf if plan.named_share is None else plan.named_share
    weaker = next((each.epsilon for each in plan.limits if each.share is not None and each.share <= ENOUGH), math.inf)
    if share <= ENOUGH:
        return f"Enough: with {people} you see what {one_in(share)} hold, and all that is larger."
    if named <= ENOUGH and plan.known_names:
        return f"Enough for well-known names ({one_in(named)} is seen). Name others that you expect before you begin."
    if named <= ENOUGH:
        return f"Name the values that you expect before you begin: of 1,000 named ones, {one_in(named)} is seen."
    if list_share <= ENOUGH:
        return f"Make a list of the answers, if you can: of a list of 20 you see what {one_in(list_share)} hold."
    if weaker <= MOST_EPSILON and plan.epsilon is not None and weaker > plan.epsilon:
        return f"Too few people for so much privacy: at ε = {weaker:g} you would see what one in ten hold."
    return "More people are needed: you see only what very many hold. Ask for longer, or on more pages."
