"""The answer to a query: hitters with error bars, and the smallest count that could have been seen.

Candidates are values named in advance, in public. There are few of them beside the universe, so a smaller count is
enough to see one: the search and the list each get half of the level, and the list divides its half by its own length.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hubbub.analysis.intervals import simultaneous_width
from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import mechanism_for
from hubbub.mechanisms.selection import FOUND_95, threshold_z
from hubbub.model.domain import OTHER, Domain
from hubbub.model.estimates import Answer, Estimates, Hitter, Query
from hubbub.model.mechanism import Decoder, Items
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.bulk_items import encode_items
from hubbub.numeric.tails import normal_quantile, normal_tail_log


@runtime_checkable
class SubtractingDecoder(Protocol):
    """What a mechanism offers where values already found can be taken out of the sums before others are counted."""

    def estimate_beside(self, tally: Tally, items: Items, found: Items) -> Estimates:
        """Counts of the items in what is left when the values already found are taken away, and of those found."""


def find_hitters(
    survey: Survey,
    tally: Tally,
    query: Query | None = None,
    decoder: Decoder | None = None,
    candidates: Iterable[object] | None = None,
    all_candidates: bool = False,
) -> Answer:
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
    candidates : iterable of values, optional
        Values named before anybody looked at the tally; those outside the domain are left out. They are seen from a
        smaller count on, the others from a slightly larger one.
    all_candidates : bool
        A row for every candidate, whether it stands out or not.
    """
    query = query or Query()
    decoder = decoder or mechanism_for(survey)
    if candidates is None:
        if all_candidates:
            raise ParameterError("all_candidates must come with candidates, got none")
        if tally.count == 0:
            return Answer(0, math.inf, ())
        found = decoder.discover(tally, query)
        return Answer(tally.count, found.detection_limit, tuple(_searched(survey, tally, query, found)))
    named = encode_candidates(survey.domain, candidates)
    if tally.count == 0:
        return Answer(0, math.inf, (), math.inf)
    half = query.split(2)
    found = decoder.discover(tally, half)
    if isinstance(decoder, SubtractingDecoder):
        scored = decoder.estimate_beside(tally, named, found.items)
    else:
        scored = decoder.estimate(tally, named)
    rows, limit = _listed(survey, tally, half, scored, found, all_candidates)
    rows = sorted(_searched(survey, tally, half, found, scored.items) + rows, key=lambda hitter: -hitter.count)
    kept = tuple(rows if all_candidates else rows[: query.top])
    return Answer(tally.count, found.detection_limit, kept, limit)


def encode_candidates(domain: Domain, candidates: Iterable[object]) -> Items:
    """The items of the candidates that are in the domain, each once, in order."""
    if isinstance(candidates, str | bytes):
        raise ParameterError(f"candidates must be a list of values, got {type(candidates).__name__}")
    encoded = encode_items(domain, candidates)
    (fallback,) = domain.encode([None])
    if domain.decode(fallback) == [OTHER]:
        encoded = encoded[(encoded != fallback).any(axis=1)]
    if not len(encoded):
        raise ParameterError("candidates must name at least one value of the domain, got none")
    _, first = np.unique(encoded, axis=0, return_index=True)
    return encoded[np.sort(first)]


def _searched(survey: Survey, tally: Tally, query: Query, found: Estimates, named: Items | None = None) -> list[Hitter]:
    """The rows of the search; those that were named as well are marked, with the list's confidence."""
    if not len(found):
        return []
    size = survey.domain.size
    width = simultaneous_width(tally.count, size, found.threshold, float(found.stderrs.max()), query.level / 2)
    # The union bound over the universe: a value nobody holds reaches this count with at most this chance.
    choices = np.full(len(found), math.log(size)) if found.log_priors is None else -found.log_priors
    listed = np.zeros(len(found), np.bool_)
    if named is not None:
        listed = _contained(found.items, named)
        choices[listed] = math.log(len(named))
    return _rows(survey, tally, found, width, choices, listed)


def _listed(
    survey: Survey, tally: Tally, query: Query, scored: Estimates, found: Estimates, everyone: bool
) -> tuple[list[Hitter], float]:
    """The rows of candidates that the search has not found, and the count a candidate is seen from."""
    absent = float(scored.stderrs[np.argmin(np.abs(scored.counts))])  # the one most like a value nobody holds
    # A search that knows the exact tail asks for more standard errors than a Gaussian would; so does the list then.
    heavier = max(1.0, found.threshold / (threshold_z(survey.domain.size, query) * absent)) if absent > 0 else 1.0
    threshold = heavier * normal_quantile(query.level / 2 / len(scored)) * absent
    selection = -math.inf if everyone else threshold
    limit = threshold + FOUND_95 * absent
    chosen = (scored.counts > selection) & ~_contained(scored.items, found.items)
    if not chosen.any():
        return [], limit
    width = simultaneous_width(tally.count, len(scored), selection, float(scored.stderrs.max()), query.level / 2)
    picked = Estimates(scored.items[chosen], scored.counts[chosen], scored.stderrs[chosen])
    choices = np.full(len(picked), math.log(len(scored)))
    return _rows(survey, tally, picked, width, choices, np.ones(len(picked), np.bool_)), limit


def _contained(items: Items, among: Items) -> NDArray[np.bool_]:
    known = {item.tobytes() for item in among}
    return np.array([item.tobytes() in known for item in items], np.bool_)


def _rows(
    survey: Survey,
    tally: Tally,
    estimates: Estimates,
    width: float,
    log_choices: NDArray[np.float64],
    listed: NDArray[np.bool_],
) -> list[Hitter]:
    """Estimates as hitters; `log_choices` is the logarithm of how many values each had to stand out among."""
    doubts = np.exp(np.minimum(0.0, log_choices + normal_tail_log(estimates.counts / estimates.stderrs)))
    hitters = []
    for index, value in enumerate(survey.domain.decode(estimates.items)):
        if value is None:  # the code of no value: an artefact, not a value anybody can hold
            continue
        count, stderr = float(estimates.counts[index]), float(estimates.stderrs[index])
        hitters.append(
            Hitter(
                value=value,
                count=count,
                share=count / tally.count,
                stderr=stderr,
                low=count - width * stderr,
                high=count + width * stderr,
                confidence=1.0 - float(doubts[index]),
                listed=bool(listed[index]),
            )
        )
    return hitters
