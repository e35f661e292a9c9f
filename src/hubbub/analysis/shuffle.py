"""The sums, seen from outside: what somebody learns of one person who sees the answer, and no single report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from hubbub.analysis.wording import at_most, plural
from hubbub.model.survey import Survey
from hubbub.numeric.shuffling import shuffled_epsilon

ASSUMPTION: Final = (
    "This holds for one answer, or the stored tally, after the survey has closed, if that many reports are honest and "
    "the collector drops what it says it drops: who sent which report, and when. It does not hold for live views (two "
    "of them isolate the reports between them), for files of reports, or for whoever sees the wire."
)
"""To be said wherever the figure is shown."""

NOT_LIVE: Final = (
    "How private the sums are to whoever sees nothing else is said when the survey has closed: two views of an open "
    "one isolate the reports that came between them. Until then, what holds is the ε of each report."
)
"""To be said where the figure would be, of a survey that is open."""

WHY_IDS: Final = (
    "The ids of reports are random and independent of values and people; an id made from either would name the sender, "
    "and nothing would be shuffled."
)

_HIDES = 0.99  # of ε, above which nothing is gained


@dataclass(frozen=True, slots=True)
class Outside:
    """The central privacy of a survey's sums under `ASSUMPTION`.

    Attributes
    ----------
    people : int
        Honest reports among which one is hidden.
    local : float
        The ε of one report, which holds against everybody and without the assumption.
    epsilon, delta : float
        An upper bound for whoever sees the sums alone: replacing one person's value changes the chance of any answer
        by a factor of at most e^ε, but for a chance of δ.
    """

    people: int
    local: float
    epsilon: float
    delta: float

    @property
    def words(self) -> str:
        """The figure in a sentence, without its assumption."""
        if self.epsilon > _HIDES * self.local:
            return f"Among {plural(self.people, 'report')} the sums hide nobody better than the reports themselves do."
        less = "much less" if self.epsilon <= self.local / 2 else "less"
        return (
            f"Whoever sees only the sums of {self.people:,} reports learns {less} of one person: "
            f"ε = {at_most(self.epsilon)}, δ = {at_most(self.delta)}, instead of ε = {self.local:g}."
        )


def seen_from_outside(survey: Survey, reports: int, delta: float | None = None) -> Outside | None:
    """The (ε, δ) of a survey's sums for whoever sees nothing but them; None where it is not known.

    It is known for surveys with pure privacy: each report is shuffled among the others, and the bound of Feldman,
    McMillan and Talwar applies (`hubbub.numeric.shuffling`). Show `ASSUMPTION` with it.

    Parameters
    ----------
    survey : Survey
        Whose sums they are.
    reports : int
        Honest ones, at least 1.
    delta : float, optional
        Without it 10⁻⁶, and less where that is more than one in ten times the reports.
    """
    if survey.delta != Decimal(0):
        return None
    chosen = min(1e-6, 0.1 / reports) if delta is None else delta
    local = math.nextafter(float(survey.epsilon), math.inf)  # never less than the decimal
    return Outside(reports, local, shuffled_epsilon(chosen, local, reports), chosen)
