"""Privacy of the sums: how much an observer who sees the answer, but no single report, learns about one person."""

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
    "of them isolate the reports between them), for files of reports, or for anyone who sees the wire."
)
"""This must be shown together with the figure."""

NOT_LIVE: Final = (
    "How private the sums are to an observer who sees nothing else is shown once the survey has closed: two views of "
    "an open survey isolate the reports that came between them. Until then, the ε of each report holds."
)
"""Shown instead of the figure while a survey is open."""

WHY_IDS: Final = (
    "The ids of reports are random and independent of values and people; an id made from either would name the sender, "
    "and nothing would be shuffled."
)

_HIDES = 0.99  # if the sums' ε is above this part of the local ε, they hide nobody better


@dataclass(frozen=True, slots=True)
class Outside:
    """The central privacy of a survey's sums, under `ASSUMPTION`.

    Attributes
    ----------
    people : int
        The number of honest reports among which each one is hidden.
    local : float
        The ε of one report, which holds against everybody and without the assumption.
    epsilon, delta : float
        An upper bound for an observer who sees the sums alone: replacing one person's value changes the chance of any
        answer by a factor of at most e^ε, except with a chance of δ.
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
            f"An observer who sees only the sums of {self.people:,} reports learns {less} about one person: "
            f"ε = {at_most(self.epsilon)}, δ = {at_most(self.delta)}, instead of ε = {self.local:g}."
        )


def seen_from_outside(survey: Survey, reports: int, delta: float | None = None) -> Outside | None:
    """The (ε, δ) of a survey's sums for an observer who sees nothing else; None if it is not known.

    It is known for surveys with pure privacy: each report is shuffled among the others, and the bound of Feldman,
    McMillan and Talwar applies (`hubbub.numeric.shuffling`). Show `ASSUMPTION` with it.

    Parameters
    ----------
    survey : Survey
        The survey whose sums are seen.
    reports : int
        The number of honest reports, at least 1.
    delta : float, optional
        By default 10⁻⁶, or 0.1/reports if that is smaller.
    """
    if survey.delta != Decimal(0):
        return None
    chosen = min(1e-6, 0.1 / reports) if delta is None else delta
    local = math.nextafter(float(survey.epsilon), math.inf)  # never less than the decimal
    return Outside(reports, local, shuffled_epsilon(chosen, local, reports), chosen)
