"""The answer to a list: every value with its count and interval, and which values are surely ahead of which.

Half of the level is for the intervals: with a chance of at most level/2, any of them misses. A value stands out if its
interval does not include 0, so that needs no share of the level of its own. The other half is for comparisons: the
chance that any value is wrongly called ahead of another is at most level/2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hubbub.analysis.answer import Answer
from hubbub.analysis.certified import Moved, stands_to, suppose
from hubbub.analysis.groups import count_groups
from hubbub.analysis.intervals import simultaneous_width
from hubbub.analysis.question import Asked
from hubbub.analysis.rows import hitters_of, in_people
from hubbub.mechanisms.roles import SurveyDecoder
from hubbub.mechanisms.selection import FOUND_95
from hubbub.model.domain import Domain
from hubbub.model.estimates import Estimates
from hubbub.model.tally import Tally
from hubbub.numeric.tails import normal_quantile_log, normal_tail_log


def answer_list(decoder: SurveyDecoder, tally: Tally, asked: Asked) -> Answer:
    """A row for every value of a list, largest count first. Costs one estimate per value and one per pair."""
    question = asked.question
    survey, plain = decoder.survey, decoder.count_law(tally.count)
    law = plain.with_slots(question.values_per_person)
    items = np.arange(survey.domain.size, dtype=np.uint64)[:, np.newaxis]
    if law.slots > 1:  # empty slots report "(other)", which has no row
        items = np.delete(items, int(survey.domain.outside[0]), axis=0)
    reported = decoder.estimate(tally, items)
    size, estimates = len(items), reported if law.slots == 1 else in_people(plain, law, reported)
    extra = float(law.collisions(estimates.counts, estimates.stderrs).min())
    width = simultaneous_width(law, size, -math.inf, extra, asked.level / 2)
    moved = Moved(decoder.certifies)
    stands = stands_to(law, estimates, decoder.influence, float(normal_tail_log(width))) if moved.certifies else None
    choices, none = np.full(size, math.log(size)), np.zeros(size, np.bool_)
    rows = hitters_of(survey, law, estimates, width, choices, none, decoder.influence, None, moved, stands)
    ahead = values_behind(decoder, tally, reported, asked.level / 2, law.slots)
    marked = [
        replace(row, stands_out=row.low > 0, ahead_of=int(behind)) for row, behind in zip(rows, ahead, strict=True)
    ]
    ordered = moved.placed(sorted(marked, key=lambda row: -row.count), -math.inf)
    shown = [row for row in ordered if question.keeps(row, tally.count)]
    limit = law.seen_from(law.threshold(float(normal_tail_log(width)), extra), extra, FOUND_95)
    limit = math.inf if limit > tally.count else limit
    answer = Answer(
        tally.count,
        limit,
        tuple(shown),
        limit_of=partial(_limit_for, survey.domain, limit),
        whole_list=True,
        values_per_person=law.slots,
        groups=count_groups(decoder, tally, asked, items[:0], marked),
        mode=question.mode,
        share=float(question.share),
        suppose=partial(suppose, moved),
    )
    return answer.if_forged(question.forged)


def _limit_for(domain: Domain, limit: float, value: object) -> float:
    """How many people must hold a value for it to stand out; infinite for a value that is not on the list."""
    return math.inf if domain.lacks(value) else limit


def values_behind(
    decoder: SurveyDecoder, tally: Tally, estimates: Estimates, level: float, slots: int = 1
) -> NDArray[np.int64]:
    """How many values each value is surely ahead of: the chance that any of these claims is wrong is at most `level`.

    `estimates` counts reports. With several slots, which slot a person reported is random, too.

    The difference of two counts is assumed to be normal, with a continuity correction. A pair of equal counts can be
    misjudged in two ways, so each of the d·(d − 1) claims has an equal share of the level.
    """
    size = len(estimates)
    width = normal_quantile_log(math.log(level) - math.log(size * (size - 1)))
    step = decoder.count_law(tally.count).step
    behind = np.zeros(size, np.int64)
    for index in range(size):
        one = Estimates(estimates.items[[index]], estimates.counts[[index]], estimates.stderrs[[index]])
        gaps = estimates.counts[index] - estimates.counts - step / 2
        variance = decoder.gap_variance(tally, one, estimates)
        if slots > 1:
            variance = variance + np.maximum(one.counts, 0.0) + np.maximum(estimates.counts, 0.0)
        needed = width * np.sqrt(variance)
        behind[index] = np.count_nonzero(gaps > needed)
    return behind
