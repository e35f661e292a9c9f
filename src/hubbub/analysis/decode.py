"""The answer to a query: hitters with error bars, and the smallest count that could have been seen."""

from __future__ import annotations

import math

import numpy as np

from hubbub.analysis.intervals import simultaneous_width
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.estimates import Answer, Estimates, Hitter, Query
from hubbub.model.mechanism import Decoder
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.tails import normal_tail_log


def find_hitters(survey: Survey, tally: Tally, query: Query | None = None, decoder: Decoder | None = None) -> Answer:
    """What the tally of a survey says.

    Parameters
    ----------
    survey : Survey
        The question.
    tally : Tally
        The sums of its reports.
    query : Query, optional
        How many values, and how sure.
    decoder : Decoder, optional
        The survey's mechanism, where the caller has built it already.
    """
    query = query or Query()
    decoder = decoder or mechanism_for(survey)
    if tally.count == 0:
        return Answer(0, math.inf, ())
    found = decoder.discover(tally, query)
    return Answer(tally.count, found.detection_limit, tuple(_hitters(survey, tally, query, found)))


def _hitters(survey: Survey, tally: Tally, query: Query, found: Estimates) -> list[Hitter]:
    if not len(found):
        return []
    size = survey.domain.size
    width = simultaneous_width(tally.count, size, found.threshold, float(found.stderrs.max()), query.level / 2)
    # The union bound over the universe: a value nobody holds reaches this count with at most this chance.
    doubts = np.exp(np.minimum(0.0, math.log(size) + normal_tail_log(found.counts / found.stderrs)))
    hitters = []
    for index, value in enumerate(survey.domain.decode(found.items)):
        if value is None:  # the code of no value: an artefact, not a value anybody can hold
            continue
        count, stderr = float(found.counts[index]), float(found.stderrs[index])
        hitters.append(
            Hitter(
                value=value,
                count=count,
                share=count / tally.count,
                stderr=stderr,
                low=count - width * stderr,
                high=count + width * stderr,
                confidence=1.0 - float(doubts[index]),
            )
        )
    return hitters
