"""Privacy through a relay: three figures that are always shown together, with their condition."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from hubbub.analysis.shuffle import seen_from_outside
from hubbub.analysis.wording import at_most
from hubbub.mechanisms.roles import PrivacyFacts
from hubbub.model.repeating import YEAR, times_in

DELTA: Final = 1e-8

CONDITION: Final = (
    "The first holds only while the relay and the collector do not work together, and against a collector that reads "
    "reports: not against one that sends most of a crowd itself, or gives some visitors another script."
)
"""This must be shown together with the figures."""

TO_RELAY: Final = "somebody answered this survey, and on which day"


@dataclass(frozen=True, slots=True)
class ThroughRelay:
    """What is learned about one person who answers through a relay, by each of the two and by both together.

    Attributes
    ----------
    crowd : int
        The fewest requests that the relay passes on together.
    people : int
        The number of reports among which each one is hidden: the smallest release so far; 0 if none is complete.
    collector, delta : float
        An upper bound on ε, at δ, to the collector alone; the local ε until a crowd is out.
    collector_year, delta_year : float or None
        The sums over all answers of a year, if the survey repeats.
    relay : str
        What the relay alone learns.
    both : float
        The local ε of a report, which holds against everybody.
    """

    crowd: int
    people: int
    collector: float
    delta: float
    collector_year: float | None
    delta_year: float | None
    relay: str
    both: float

    @property
    def words(self) -> tuple[str, ...]:
        """The three figures and their condition, in sentences."""
        if self.people:
            hidden = f", hidden among at least {self.people:,} reports that came together"
            first = f"ε = {at_most(self.collector)} at δ = {self.delta:g}{hidden}"
        else:
            first = f"ε = {at_most(self.collector)}, until a crowd of {self.crowd:,} has come together"
        year = ""
        if self.collector_year is not None and self.delta_year is not None:
            year = f" (in a year of answers ε = {at_most(self.collector_year)} at δ = {self.delta_year:.2g})"
        return (
            f"To the collector alone: {first}{year}.",
            f"To the relay alone: that {self.relay}.",
            f"To both together: ε = {at_most(self.both)}.",
            CONDITION,
        )

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON, with the sentences."""
        return {**asdict(self), "words": list(self.words)}


def through_relay(
    mechanism: PrivacyFacts, people: int, crowd: int | None = None, every: int | None = None
) -> ThroughRelay:
    """Return the three figures of a survey, if at least so many new reports were in each release.

    `people` is 0 if there is no release yet; `crowd` and `every` are those of the survey by default. Costs up to a
    second.
    """
    survey = mechanism.survey
    local = float(survey.epsilon)
    outside = seen_from_outside(mechanism, people, DELTA) if people else None
    alone = local if outside is None else min(local, outside.epsilon)
    days = survey.every if every is None else every
    times = None if days is None else times_in(YEAR, days)
    delta = DELTA if alone < local else float(survey.delta)
    return ThroughRelay(
        crowd=crowd or survey.crowd or 0,
        people=people,
        collector=alone,
        delta=delta,
        collector_year=None if times is None else times * alone,
        delta_year=None if times is None else times * delta,
        relay=TO_RELAY,
        both=local,
    )
