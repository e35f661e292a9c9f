"""The law of a sum: the estimated counts of several values together, given how many people hold any of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from hubbub.numeric.count_law import CountLaw, Floats, Triple, gaussian_law, match_law


def uncorrelated_sum(law: CountLaw, members: int) -> CountLaw:
    """The law of the sum of so many counts, if a report that fits one value fits any other as often as not.

    Mean and variance are exact if counts of two values are uncorrelated. It is as if they were independent.
    """

    def other(t: Floats) -> Triple:
        value, slope, bend = law.other(t)
        return members * value, members * slope, members * bend

    def own(t: Floats) -> Triple:
        held, rest, more = law.own(t), law.other(t), members - 1
        return held[0] + more * rest[0], held[1] + more * rest[1], held[2] + more * rest[2]

    return replace(law, own=own, other=other, tail_chance=0.0)


def window_sum(people: int, size: int, window: int, held: float, gap: float, members: int) -> CountLaw:
    """The law of the sum of counts where a report names a window: a random set of `window` of the `size` values.

    With chance `held` it is a set with its sender's value, otherwise one without it. A report adds 1/gap to the count
    of each value in its window. How many of the members are in it has a hypergeometric law, so this is exact for any
    group. Counts of two values are correlated: all counts together always add up to the number of people.
    """
    if members == size:
        return gaussian_law(people)  # everybody holds one of them, and there is no noise
    absent = (held * (window - 1) + (1 - held) * window) / (size - 1)
    places = np.arange(window + 1)
    rest = _mixed(places, held, size - 1, members, window, is_member=False)
    mine = _mixed(places, held, size - 1, members - 1, window, is_member=True)
    steps = (places - members * absent) / gap

    def cumulants(logs: NDArray[np.float64], t: Floats) -> Triple:
        """The cumulants of a report that has so many members in its window with these chances."""
        terms = logs + np.multiply.outer(np.asarray(t, np.float64), steps)
        value = np.logaddexp.reduce(terms, axis=-1)
        weights = np.exp(terms - value[..., np.newaxis])
        mean = weights @ steps
        return value, mean, np.asarray((weights * (steps - mean[..., np.newaxis]) ** 2).sum(axis=-1))

    plain = match_law(people, held, absent, gap)
    return replace(plain, own=lambda t: cumulants(mine, t), other=lambda t: cumulants(rest, t), tail_chance=0.0)


def _mixed(
    places: NDArray[np.int64], held: float, others: int, members: int, window: int, is_member: bool
) -> NDArray[np.float64]:
    """The logarithm of the chance that so many members are in a window; `members` and `others` without the sender."""
    truth = _log_hypergeometric(places - is_member, others, members, window - 1)
    lie = _log_hypergeometric(places, others, members, window)
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(np.log(held) + truth, np.log1p(-held) + lie))


def _log_hypergeometric(drawn: NDArray[np.int64], everything: int, marked: int, draws: int) -> NDArray[np.float64]:
    """The logarithm of the chance that so many of the drawn ones are marked; −∞ if they cannot be."""
    possible = (drawn >= max(0, draws - (everything - marked))) & (drawn <= min(draws, marked))
    some = np.where(possible, drawn, max(0, draws - (everything - marked)))
    logs = (
        _log_choose(marked, some) + _log_choose(everything - marked, draws - some) - _log_choose(everything, draws)
        if draws <= everything
        else np.full(len(drawn), -math.inf)
    )
    return np.where(possible, logs, -math.inf)


def _log_choose(among: int, some: NDArray[np.int64] | int) -> NDArray[np.float64]:
    return np.asarray(gammaln(among + 1) - gammaln(np.asarray(some) + 1) - gammaln(among - np.asarray(some) + 1))
