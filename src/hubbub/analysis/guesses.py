"""The next best values below those that stand out, each with the chance that many people hold it.

The chance is 1 less the local false discovery rate (Efron 2010), by Bayes' rule. Before anybody reports, each value has
a prior: how many values are expected to be held by so many people, times the value's share of these. The noise makes of
it the posterior, given the value's count. Whoever picks values by looking at the data picks by what the posterior is
conditioned on, so that picking the best does not bias it.

The number of values held by v people or more is expected to be K·T/v: as under Zipf's law, twice as many at half the
count. T is the threshold, and K the number of values above it. K is about 1/2 more than were found; the values a little
below the threshold say whether it is more or less. A searched value's share is that of its code, 2^−l
for l bits. Names have a law of their own: those that stand out, their threshold, and one share for each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.analysis.question import Question
from hubbub.analysis.rows import in_people
from hubbub.mechanisms.roles import SurveyDecoder
from hubbub.mechanisms.selection import FOUND_95
from hubbub.model.estimates import Estimates, Guess, Query
from hubbub.model.mechanism import Items
from hubbub.model.tally import Tally
from hubbub.numeric.count_law import CountLaw
from hubbub.numeric.tails import normal_quantile

_WORTH = 0.01  # a guess with a smaller chance is not shown
_LOOKED_AT = 32  # values that may become guesses, at least
_LEAST = 0.25  # standard errors: counts that are told apart from 0 by nobody
_BELOW = 1.5  # standard errors below the threshold, from which values say how many there are
_CELLS = 96  # of a grid of counts
_WINDOW = 0.1  # standard errors: half the width of a bin whose chance stands for a density

Floats = NDArray[np.float64]


class Prior(NamedTuple):
    """What is known of the values before their counts are looked at.

    Attributes
    ----------
    found : int
        How many were found.
    threshold : float
        The count, in people, from which they are.
    log_share : float
        The logarithm of the share that a usual value has of all that are held.
    """

    found: int
    threshold: float
    log_share: float

    def numbers(self, edges: Floats) -> Floats:
        """How many values have a count between each two edges, for each value from the threshold on."""
        return self.threshold * -np.diff(1 / edges)


class Named(NamedTuple):
    """The names that were checked: their counts next to what was found, the prior, and which of them stand out."""

    scored: Estimates
    prior: Prior
    standing: NDArray[np.bool_]


class _Pool(NamedTuple):
    """Values that may become guesses, with the prior of each."""

    prior: Prior
    values: Estimates
    log_shares: Floats
    listed: bool


def guess_values(
    decoder: SurveyDecoder, tally: Tally, question: Question, query: Query, found: Estimates, named: Named | None
) -> tuple[tuple[Guess, ...], float]:
    """The guesses that a question asks for, best first, and how many people at least their chances are about.

    `found` are all values that the search found by its query. Costs about as much as one pass of the search.
    """
    plain, domain = decoder.count_law(tally.count), decoder.survey.domain
    law, most = plain.with_slots(question.values_per_person), max(_LOOKED_AT, 2 * question.guesses)
    known = found.items if named is None else np.concatenate([found.items, named.scored.items[named.standing]])
    listed = known[:0] if named is None else named.scored.items
    searched = decoder.guess(tally, known, most, query)
    searched = _take(searched, ~contained(searched.items, listed))
    searched = searched if law.slots == 1 else in_people(plain, law, searched)
    usual = -math.log(domain.size) if searched.log_priors is None else -math.log(2) * decoder.stated_bits[0]
    prior = Prior(int((~contained(found.items, listed)).sum()), _even(law, found), usual)
    shares = np.full(len(searched), usual) if searched.log_priors is None else searched.log_priors
    pools = [_Pool(prior, searched, shares, False)]
    at_least = prior.threshold / 2
    if named is not None:
        best = np.argsort(-np.where(named.standing, -np.inf, named.scored.counts / named.scored.stderrs))
        rest = _take(named.scored, best[: min(most, int((~named.standing).sum()))])
        pools.append(_Pool(named.prior, rest, np.full(len(rest), -math.log(len(listed))), True))
        at_least = min(at_least, named.prior.threshold / 2)
    width = normal_quantile(question.level / 2)
    guesses: list[Guess] = []
    for prior, values, log_shares, is_listed in pools:
        sure = chances(law, prior, values, log_shares, at_least).tolist()
        ends = law.limits(values.counts, _extra(law, values), width)
        texts = domain.decode(values.items)
        for value, item, count, low, high, chance in zip(
            texts, values.items, values.counts.tolist(), *(each.tolist() for each in ends), sure, strict=True
        ):
            is_empty = law.slots > 1 and np.array_equal(item, domain.outside)
            if value is not None and chance >= _WORTH and not is_empty:
                guesses.append(Guess(value, count, low, high, chance, is_listed))
    return tuple(sorted(guesses, key=lambda guess: -guess.chance)[: question.guesses]), at_least


def _even(law: CountLaw, found: Estimates) -> float:
    """The count with which a usual value is found as often as not."""
    limit = found.detection_limit
    if not math.isfinite(limit):
        return found.threshold
    return limit - FOUND_95 * math.sqrt(float(law.variance(np.array([min(limit, law.people)]))[0]))


def contained(items: Items, among: Items) -> NDArray[np.bool_]:
    """Which of the items are among others."""
    known = {item.tobytes() for item in among}
    return np.array([item.tobytes() in known for item in items], np.bool_)


def _take(some: Estimates, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Estimates:
    """The estimates at some places, with what is known of each."""
    return Estimates(
        some.items[chosen],
        some.counts[chosen],
        some.stderrs[chosen],
        log_priors=None if some.log_priors is None else some.log_priors[chosen],
        doubts=None if some.doubts is None else some.doubts[chosen],
        sharing_tails=None if some.sharing_tails is None else some.sharing_tails[chosen],
    )


def chances(law: CountLaw, prior: Prior, values: Estimates, log_shares: Floats, at_least: float) -> Floats:
    """The chance that at least so many people hold each value.

    `log_shares` is the logarithm of each value's share of the values that are held. A value with a doubt has that many
    times its odds in neighbours, of which at most one is held. Costs about 0.1 ms for each value.
    """
    noise = float(law.variance(np.zeros(1))[0]) + float(np.min(_extra(law, values), initial=np.inf))
    if not len(values) or _LEAST * math.sqrt(noise) >= law.people:
        return np.zeros(len(values))
    grid = _Grid(law, math.sqrt(noise), np.geomspace(_LEAST * math.sqrt(noise), law.people, _CELLS + 1))
    odds = grid.log_odds(prior, values) + log_shares[:, np.newaxis]
    together = np.logaddexp.reduce(odds, axis=1)
    many = np.exp(np.logaddexp.reduce(np.where(grid.held >= at_least, odds, -np.inf), axis=1) - together)
    doubts = np.zeros(len(values)) if values.doubts is None else values.doubts
    total = together + np.log1p(doubts)  # of the value and its neighbours
    sizes, weights = grid.sizes(prior, total)
    per_size = 1 / (np.exp(np.clip(-total[:, np.newaxis] - np.log(sizes), -700.0, 700.0)) + 1)
    return np.asarray(many / (1 + doubts) * (per_size @ weights))


class _Grid(NamedTuple):
    """A grid of counts, whose cells have these edges; `spread` is the standard error of an absent value."""

    law: CountLaw
    spread: float
    edges: Floats

    @property
    def held(self) -> Floats:
        """The middle of each cell."""
        return np.asarray(np.sqrt(self.edges[1:] * self.edges[:-1]))

    def log_odds(self, prior: Prior, values: Estimates) -> Floats:
        """The posterior odds of each cell's count against absence, for a value that is one of one; in logarithms."""
        law, extra = self.law, _extra(self.law, values)
        absent = _log_density(law, values.counts, np.zeros(1), extra, self.spread)
        if values.sharing_tails is not None:  # an absent value may also owe its count to values in its buckets
            alone = law.log_tail(values.counts, extra)
            absent += (law.log_tail(values.counts, extra, values.sharing_tails) - alone)[:, np.newaxis]
        present = _log_density(law, values.counts, self.held, extra, self.spread)
        return np.asarray(present - absent + np.log(prior.numbers(self.edges)))

    def sizes(self, prior: Prior, total: Floats) -> tuple[Floats, Floats]:
        """Possible numbers of values from the threshold on, and their posterior weights, given the odds of values.

        The number has a gamma law of shape 1/2 at first. Then so many were found; and of those a little below the
        threshold, which are all looked at, some look as if they were held and the others do not.
        """
        edge = prior.threshold - _BELOW * self.spread
        noise = float(self.law.variance(np.zeros(1))[0])
        at_edge = Estimates(
            np.zeros((1, 1), np.uint64), np.array([edge]), np.array([math.sqrt(max(noise, self.spread**2))])
        )
        least = float(np.logaddexp.reduce(self.log_odds(prior, at_edge)[0])) + prior.log_share
        more = max(self.spread**2 - noise, 0.0)
        passed = [np.exp(self.law.log_chances(each, self.held, more)[0]) for each in (edge, prior.threshold)]
        expected = float(prior.numbers(self.edges) @ (passed[0] - passed[1]))
        sizes = np.geomspace(0.01, 10.0, 61) * (prior.found + 0.5)
        seen = total[total >= least, np.newaxis]
        logs = (prior.found + 0.5) * np.log(sizes) - sizes * (1 + expected)  # on a logarithmic grid
        logs += np.logaddexp(0.0, seen + np.log(sizes)).sum(axis=0)
        weights = np.exp(logs - logs.max())
        return sizes, weights / weights.sum()


def _extra(law: CountLaw, values: Estimates) -> Floats:
    return law.collisions(values.counts, values.stderrs)


def _log_density(law: CountLaw, counts: Floats, held: Floats, extra: Floats, spread: float) -> Floats:
    """The log-chance of a count in a small bin around each, for each number of holders; shape (counts, held)."""
    half = law.step * (0.5 + math.floor(_WINDOW * spread / law.step)) if law.step else _WINDOW * spread
    around, more = counts[:, np.newaxis], extra[:, np.newaxis]
    lower, upper = (law.log_chances(around + side * half, held[np.newaxis], more) for side in (-1, 1))
    # The difference of the two smaller tails.
    above = around > held[np.newaxis]
    larger, smaller = np.where(above, lower[0], upper[1]), np.where(above, upper[0], lower[1])
    return np.asarray(larger + np.log(-np.expm1(np.minimum(smaller - larger, -1e-12))))
