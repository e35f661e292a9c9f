"""What a survey would find, before anybody has answered: chances, and one of people, ε and share from the other two.

All figures come from the mechanism that `create_survey` would choose: the law of its counts, and its own prediction of
its search. Nothing is simulated. `docs/planning.md` compares predicted chances with measured ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

import numpy as np

from hubbub.analysis.intervals import simultaneous_width
from hubbub.analysis.question import Question
from hubbub.analysis.wording import one_in, round_up, what_is_seen
from hubbub.errors import ParameterError, shown
from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.mechanisms.roles import Forecasts
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.domain import Domain
from hubbub.model.estimates import Query
from hubbub.model.survey import SEED_BYTES, Survey
from hubbub.numeric.bisection import bisect
from hubbub.numeric.tails import normal_tail_log

MOST_PEOPLE: Final = 10**12
LEAST_EPSILON: Final = 0.01
MOST_EPSILON: Final = 6.0
"""A larger ε is not proposed: an observer who was 50 % sure of a value could become 99.8 % sure from one report."""

LADDER: Final = (*(round(digit * 10.0**power, 9) for power in range(-6, 0) for digit in (1, 2, 3, 5, 7)), 1.0)
"""Round shares, which are easy to say."""

_CLOSE = 0.004  # relative precision of a search
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)  # for means over a normal law
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Outlook:
    """Everything about a survey and its question except people, ε and share.

    Attributes
    ----------
    domain : Domain
        The values that can be held.
    candidates : int
        How many values will be named in advance; 0 for none.
    mechanism : str, optional
        By default the best one for the domain and the ε.
    options : mapping
        The mechanism's options.
    level : float
        The chance, at most, that anything in the answer is wrong.
    wanted : float
        The chance with which a value should be found.
    slots : int
        The number of slots of a person, one for each value she may have. She reports one slot. A share is the share of
        people who have the value in any slot.
    """

    domain: Domain
    candidates: int = 0
    mechanism: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    level: float = 0.05
    wanted: float = 0.95
    slots: int = 1
    _built: dict[tuple[float, int], SurveyMechanism] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise ParameterError(
                f"domain must be a Domain, such as hubbub.Hostnames(), got domain={shown(self.domain)}"
            )
        if isinstance(self.candidates, bool) or not isinstance(self.candidates, int) or self.candidates < 0:
            raise ParameterError(f"candidates must be a whole number of at least 0, got {self.candidates!r:.60}")
        if self.candidates > self.values:
            raise ParameterError(
                f"candidates must be at most the {self.values:,} values of the domain, got candidates={self.candidates}"
            )
        if not isinstance(self.wanted, (int, float)) or not 0 < self.wanted < 1:
            raise ParameterError(f"chance must be between 0 and 1, got chance={shown(self.wanted)}")
        Question(level=self.level, values_per_person=self.slots).about(self.domain)  # which checks both numbers

    @property
    def values(self) -> int:
        """The number of values of the domain, without "(other)"."""
        return self.domain.size - self.domain.has_other

    @property
    def test_level(self) -> float:
        """The part of the level that chances are about: the search has a third if public names are checked, too."""
        return self.level / 3 if self.domain.names_list is not None and not self.candidates else self.level

    def mechanism_at(self, people: int, epsilon: float) -> SurveyMechanism:
        """The mechanism of a survey of this many people; cached. For a text code it takes up to a second."""
        key = (epsilon, people)
        if key not in self._built:
            survey = create_survey(
                "plan",
                self.domain,
                Decimal(str(epsilon)),
                None,
                self.mechanism,
                self.options,
                expected_reports=people,
                public_seed=bytes(SEED_BYTES),
            )
            self._built[key] = mechanism_for(survey)
        return self._built[key]

    def chance(self, people: int, epsilon: float, share: float, bits: int | None = None) -> float:
        """The chance that a value which this share of the people hold is in the answer.

        `bits` is the length of its code, if values differ in length; by default that of a usual value.
        """
        built = self.mechanism_at(people, epsilon)
        return chance_to_see(built, people, share * people, self.candidates, self.test_level, bits, self.slots)

    def stderr(self, people: int, epsilon: float, share: float) -> float:
        """The standard error of the count of a value that this share of the people have, in people."""
        held, built = share * people, self.mechanism_at(people, epsilon)
        # `slots` times the noise of everybody's report, and the chance by which holders report this value's slot.
        noise = self.slots * built.predicted_stderr(people, held / self.slots)
        return math.hypot(noise, math.sqrt((self.slots - 1) * held))

    def smallest_share(self, people: int, epsilon: float, bits: int | None = None) -> float:
        """The share from which a value is found with the wanted chance; infinite if not even all people are enough."""
        built = self.mechanism_at(people, epsilon)
        return smallest_share(built, people, self.candidates, self.test_level, self.wanted, bits, self.slots)

    def people_needed(self, epsilon: float, share: float) -> float:
        """How many people it takes to find this share with the wanted chance; infinite if 10¹² are not enough.

        It grows as 1/share² if noise is what limits it.
        """

        def enough(people: float) -> bool:
            return self.chance(math.ceil(people), epsilon, share) >= self.wanted

        if not enough(MOST_PEOPLE):
            return math.inf
        return math.ceil(_least(enough, 1.0, float(MOST_PEOPLE)))

    def epsilon_needed(self, people: int, share: float) -> float:
        """The least ε with which this share is found with the wanted chance; infinite if it is above 6."""

        def enough(epsilon: float) -> bool:
            return self.chance(people, _plain(epsilon), share) >= self.wanted

        if not enough(MOST_EPSILON):
            return math.inf
        return _plain(_least(enough, LEAST_EPSILON, MOST_EPSILON))


def chance_to_see(
    mechanism: Forecasts,
    people: int,
    held: float,
    candidates: int = 0,
    level: float = 0.05,
    bits: int | None = None,
    slots: int = 1,
) -> float:
    """The chance that a value which `held` of `people` people hold is in the answer, as `find_hitters` makes it.

    For a list it is the chance that the value stands out; for candidates, that a candidate stands out (half of the
    level is for them); otherwise, that the search finds the value. If everybody reports one of several slots, it is
    the mean over the random number of holders who report the value.
    """
    if slots > 1:
        spread = math.sqrt(held * (slots - 1)) / slots
        speak = np.clip(held / slots + spread * _NODES, 0.0, people).tolist()
        chances = [chance_to_see(mechanism, people, each, candidates, level, bits) for each in speak]
        return float(_WEIGHTS @ chances)
    query = Query(level=level)
    if candidates:
        return mechanism.named_chance(people, held, math.log(query.split(2).level / 2) - math.log(candidates))
    if mechanism.survey.domain.is_list:
        width = simultaneous_width(mechanism.count_law(people), mechanism.size, -math.inf, 0.0, level / 2)
        return mechanism.passing_chance(people, held, float(normal_tail_log(width)))
    return mechanism.found_chance(people, held, query, bits)


def smallest_share(
    mechanism: Forecasts,
    people: int,
    candidates: int = 0,
    level: float = 0.05,
    wanted: float = 0.95,
    bits: int | None = None,
    slots: int = 1,
) -> float:
    """The share of the people from which a value is found with the wanted chance, by an existing mechanism.

    Infinite if not even all people are enough. Costs up to 0.1 s of CPU.
    """

    def seen(share: float) -> bool:
        return chance_to_see(mechanism, people, share * people, candidates, level, bits, slots) >= wanted

    if not seen(1.0):
        return math.inf
    return 1 / people if seen(1 / people) else _least(seen, 1 / people, 1.0)  # not less than one person


def _least(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least number between the two for which it holds, to 0.4 %, by bisection of the logarithm."""
    _, found = bisect(
        lambda log: holds(math.exp(log)),
        math.log(low),
        math.log(high),
        close=lambda below, above: above - below <= _CLOSE,
    )
    return math.exp(found)


def _plain(epsilon: float) -> float:
    """An ε with three digits, rounded up."""
    digits = 2 - math.floor(math.log10(epsilon))
    return math.ceil(epsilon * 10.0**digits - 1e-9) / float(10.0**digits)


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
