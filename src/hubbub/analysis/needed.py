"""If nothing was found, or nothing could be: a sentence that says how many people or which ε it would have taken."""

from __future__ import annotations

import math
from typing import Final

from hubbub.analysis.outlook import Outlook
from hubbub.analysis.plan_words import one_in, round_up, what_is_seen
from hubbub.errors import ParameterError
from hubbub.model.survey import Survey

LADDER: Final = (*(round(digit * 10.0**power, 9) for power in range(-6, 0) for digit in (1, 2, 3, 5, 7)), 1.0)
"""Round shares, which are easy to say."""


def what_is_needed(survey: Survey, reports: int, level: float = 0.05, candidates: int = 0, slots: int = 1) -> str:
    """For an answer in which nothing stands out: a sentence that says what it would have taken to find something.

    It is about a share of at most a third of the smallest that could have been found, or about half of the people if
    no share could. Empty if nobody answered, or if the mechanism does not accept another ε or number of people. Costs
    about a second of CPU.
    """
    if reports < 1:
        return ""
    outlook = Outlook(survey.domain, candidates, survey.mechanism, dict(survey.options), level, slots=slots)
    epsilon = float(survey.epsilon)
    try:
        least = outlook.smallest_share(reports, epsilon)
        share = max((each for each in LADDER if each <= least / 3), default=0.5) if math.isfinite(least) else 0.5
        return ways_to_see(outlook, reports, epsilon, share)
    except ParameterError:
        return ""


def ways_to_see(outlook: Outlook, people: int, epsilon: float, share: float) -> str:
    """A sentence: how many people or which ε it takes to find a value with this share; empty if neither is enough."""
    more, larger = outlook.people_needed(epsilon, share), outlook.epsilon_needed(people, share)
    ways = [f"about {round_up(more):,} people at ε = {epsilon:g}"] if math.isfinite(more) else []
    ways += [f"ε = {larger:g} with the same number of people"] if math.isfinite(larger) else []
    what = f"{what_is_seen(outlook.candidates)} that {one_in(share)} hold"
    return f"To see {what} takes {', or '.join(ways)}." if ways else ""
