"""Privacy of the sums: how much an observer who sees the answer, but no single report, learns about one person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hubbub.analysis.wording import at_most, plural
from hubbub.mechanisms.roles import PrivacyFacts
from hubbub.model.repeating import YEAR, times_in
from hubbub.numeric.shuffling import shuffled_epsilon

ASSUMPTION: Final = (
    "This holds for one answer, or one stored tally, of a survey or a slice of time that is closed, if that many "
    "reports are honest and the collector drops what it says it drops: who sent which report, and when. It does not "
    "hold for live views (two of them isolate the reports between them: whoever can ask an open slice again and again "
    "gets the ε of each report), for files of reports, or for anyone who sees the wire."
)
"""This must be shown together with the figure."""

WHY_IDS: Final = (
    "The ids of reports are random and independent of values and people; an id made from either would name the sender, "
    "and nothing would be shuffled."
)

_NOTHING_HIDES = 16.0  # a local ε above which a crowd is taken to hide nobody
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
    times : int
        In how many such sums one browser may be within a year, each with fresh noise: ε and δ add up.
    """

    people: int
    local: float
    epsilon: float
    delta: float
    times: int = 1

    @property
    def words(self) -> str:
        """The figure in a sentence, without its assumption."""
        if self.epsilon > _HIDES * self.local:
            return f"Among {plural(self.people, 'report')} the sums hide nobody better than the reports themselves do."
        less = "much less" if self.epsilon <= self.local / 2 else "less"
        said = (
            f"An observer who sees only the sums of {self.people:,} reports learns {less} about one person: "
            f"ε = {at_most(self.epsilon)}, δ = {at_most(self.delta)}, instead of ε = {self.local:g}."
        )
        if self.times == 1:
            return said
        year = f"ε = {at_most(self.times * self.epsilon)}, δ = {at_most(self.times * self.delta)}"
        return (
            f"{said} That is one closed slice of time; a browser that stays a year is in up to {self.times}, which add "
            f"up to {year}, instead of ε = {self.times * self.local:g}."
        )


def seen_from_outside(mechanism: PrivacyFacts, reports: int, delta: float = 1e-8, times: int = 1) -> Outside | None:
    """The (ε, δ) of a survey's sums for an observer who sees nothing else; None if it is not known.

    It is known for mechanisms with pure privacy: each report is shuffled among the others. The bound takes into
    account how the reports of two values differ (`hubbub.numeric.shuffling`). Show `ASSUMPTION` with it.

    Parameters
    ----------
    mechanism : PrivacyFacts
        The mechanism of the survey whose sums are seen.
    reports : int
        The number of honest reports, at least 1.
    delta : float, optional
        The chance with which ε may be exceeded.
    times : int, optional
        In how many such sums one browser may be within a year.
    """
    if mechanism.survey.delta:
        return None
    local = math.nextafter(float(mechanism.survey.epsilon), math.inf)  # never less than the decimal
    if local > _NOTHING_HIDES:
        return Outside(reports, local, local, delta, times)
    return Outside(reports, local, min(local, shuffled_epsilon(delta, mechanism.report_kinds, reports)), delta, times)


def about_sums(mechanism: PrivacyFacts, slices: Sequence[int]) -> str:
    """How private the sums of a closed survey are, with the assumption; empty if that is not known.

    `slices` are the numbers of reports of its slices of time. Each is a sum of its own, so the smallest one counts; a
    browser is in one slice, or in one for each period of a survey that repeats.
    """
    every = mechanism.survey.every
    times = 1 if every is None else min(len(slices), times_in(YEAR, every))
    outside = seen_from_outside(mechanism, min(slices), times=times)
    if outside is None:
        return ""
    smallest = " That is the slice of time with the fewest reports." if len(set(slices)) > 1 else ""
    return f"{outside.words}{smallest} {ASSUMPTION}"
