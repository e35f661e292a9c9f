"""Amplification without composition: split the crowd into groups with one survey each, and answer from all of them.

The paper repeats GLPS-HH to lower its chance of failure (section 4.1, after GLMRT10). Repeated on the same people the
losses compose, and each run gets only a part of their epsilon (E24). Here each person is in one group and sends one
report, to that group's survey, so that nobody's loss grows.

It protects only against a bad draw of the public matrix. If all people answer *one* survey, every row hears all of
them, and the answer is at least as good (docs/mechanisms.md has figures). So use groups only if an answer must not
depend on any one seed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.mechanisms.selection import found_z, select, threshold_z
from hubbub.model.estimates import Estimates, Query
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally

Groups = Sequence[tuple[Survey, Tally]]
"""The survey of each group, and the tally of the people in it."""


def groups_for(beta: float) -> int:
    """⌈8·ln(1/β)⌉ groups: if each is right with chance 3/4, most are right, except with a chance of at most β."""
    if not 0 < beta < 1:
        raise ParameterError(f"beta must be between 0 and 1, got beta={beta}")
    return math.ceil(8 * math.log(1 / beta))


def group_surveys(survey: Survey, count: int) -> list[Survey]:
    """One survey for each of `count` groups: with parameters for a part of the people, and its own seed.

    A person's group must not depend on her value: choose it at random, or by the time or place of her report.
    """
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= survey.expected_reports:
        raise ParameterError(f"groups must be from 1 to the {survey.expected_reports} people, got {count!r}")
    return [
        create_survey(
            survey.name,
            survey.domain,
            survey.epsilon,
            survey.delta,
            survey.mechanism,
            survey.options,
            survey.expected_reports // count,
            survey.opens,
            survey.closes,
            every=survey.every,
            public_seed=hashlib.sha256(survey.public_seed + number.to_bytes(4, "little")).digest(),
        )
        for number in range(count)
    ]


def discover_pooled(groups: Groups, query: Query) -> Estimates:
    """Every group names its candidates; each candidate is counted in all groups, and its counts are added.

    The sums are unbiased, with the standard errors of sums of independent counts.
    """
    items, _ = _candidates(groups, query)
    scored = [mechanism_for(survey).estimate(tally, items) for survey, tally in groups]
    counts = np.sum([each.counts for each in scored], axis=0)
    stderrs = np.sqrt(np.sum([each.stderrs**2 for each in scored], axis=0))
    return _selected(groups, query, items, counts, stderrs)


def discover_median(groups: Groups, query: Query) -> Estimates:
    """Each candidate's median count over the groups (0 for a group that did not find it), times their number.

    A proof covers this form: if more than half of the groups are within a bound, so is the median.
    """
    items, found = _candidates(groups, query)
    table = np.zeros((len(groups), len(items)))
    places = {item.tobytes(): place for place, item in enumerate(items)}
    for row, each in zip(table, found, strict=True):
        for item, count in zip(each.items, each.counts, strict=True):
            row[places[item.tobytes()]] = count
    counts = len(groups) * np.median(table, axis=0)
    spread = math.sqrt(math.pi / 2 * sum(float(each.stderrs.max(initial=0.0)) ** 2 for each in found))
    return _selected(groups, query, items, counts, np.full(len(items), spread))


def _candidates(groups: Groups, query: Query) -> tuple[NDArray[np.uint64], list[Estimates]]:
    """The distinct items of all groups' best guesses, and the best guesses of each group."""
    if not groups:
        raise ParameterError("groups must be at least one, got none")
    first = groups[0][0]
    if any(survey.domain != first.domain for survey, _ in groups):
        raise ParameterError("groups must share one domain, got several")
    if len({survey.survey_id for survey, _ in groups}) < len(groups):
        raise ParameterError("groups must have a survey each, got one twice: add its tallies instead")
    guess = replace(query, best_guess=True)
    found = [mechanism_for(survey).discover(tally, guess) for survey, tally in groups]
    return np.unique(np.concatenate([each.items for each in found]), axis=0), found


def _selected(
    groups: Groups, query: Query, items: NDArray[np.uint64], counts: NDArray[np.float64], stderrs: NDArray[np.float64]
) -> Estimates:
    size, absent = groups[0][0].domain.size, float(stderrs.max(initial=0.0))
    chosen, threshold = select(counts, threshold_z(size, query) * absent, query)
    limit = found_z(size, query) * absent if len(items) else math.inf
    return Estimates(items[chosen], counts[chosen], stderrs[chosen], threshold, limit)
