"""Made-up crowds for simulations: which values are held, and by how many people."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.model.mechanism import Histogram, Items

DEFAULT_VALUES = 10_000
DEFAULT_TAIL = 1_000
MAX_LISTED = 1 << 24


def zipf(people: int, exponent: float, values: int, bits: int, rng: np.random.Generator) -> Histogram:
    """A crowd of `values` values drawn at random, where the value of rank r is held in proportion to 1/r^exponent."""
    if not (np.isfinite(exponent) and exponent >= 0):
        raise ParameterError(f"zipf must be a number of at least 0, got zipf={exponent}")
    _check_values(values)
    weights = np.arange(1, values + 1, dtype=np.float64) ** -exponent
    return _listed(people, weights / weights.sum(), bits, rng)


def uniform(people: int, values: int, bits: int, rng: np.random.Generator) -> Histogram:
    """Everyone holds one of `values` values, all equally often: nothing to find."""
    _check_values(values)
    return _listed(people, np.full(values, 1.0 / values), bits, rng)


def heavy(people: int, share: float, tail: int | None, bits: int, rng: np.random.Generator) -> Histogram:
    """One value held by a share of people; the rest hold `tail` values equally, or, if it is None, a value each."""
    if not 0 < share <= 1:
        raise ParameterError(f"heavy must be a share above 0 and at most 1, got heavy={share}")
    first = round(people * share)
    if first == 0:
        raise ParameterError(f"heavy must be a share of at least one person, got heavy={share} of {people}")
    rest = people - first
    if tail is not None:
        _check_values(tail)
        if rest == 0 or tail == 0:
            return Histogram(random_items(1, bits, rng), np.array([people], np.int64))
        counts = np.concatenate([[first], _split(rest, np.full(tail, 1.0 / tail))])
        return _without_empty(random_items(tail + 1, bits, rng), counts)
    if rest >= 2**bits - 1:
        raise ParameterError(f"tail=distinct must have more values than people, got 2^{bits} values for {people}")
    if bits <= 24:
        # The universe is small enough to list everyone.
        counts = np.concatenate([[first], np.ones(rest, np.int64)])
        return Histogram(random_items(rest + 1, bits, rng), counts.astype(np.int64))
    return Histogram(random_items(1, bits, rng), np.array([first], np.int64), singletons=rest)


def listed(crowd: Histogram, bits: int, rng: np.random.Generator) -> Histogram:
    """The same crowd with everybody listed: singletons get random values that nobody else holds."""
    if not crowd.singletons:
        return crowd
    held = {item.tobytes() for item in crowd.items}
    drawn = random_items(len(held) + crowd.singletons, bits, rng)
    alone = drawn[[item.tobytes() not in held for item in drawn]][: crowd.singletons]
    counts = np.concatenate([crowd.counts, np.ones(len(alone), np.int64)])
    return Histogram(np.concatenate([crowd.items, alone]), counts)


def _check_values(values: int) -> None:
    """Refuse more distinct values than can be listed in memory."""
    if values > MAX_LISTED:
        raise ParameterError(f"a crowd must hold at most {MAX_LISTED} different values, got {values}")


def random_items(count: int, bits: int, rng: np.random.Generator) -> Items:
    """Distinct uniform items, never the reserved one (all ones)."""
    _check_values(count)
    if count > 2**bits - 1:
        raise ParameterError(f"a universe of 2^{bits} must hold all values, got {count} values")
    if bits <= 24:
        return rng.choice(2**bits - 1, count, replace=False).astype(np.uint64)[:, np.newaxis]
    limbs = -(-bits // 64)
    top = np.uint64((1 << (bits - 64 * (limbs - 1))) - 1)
    items = np.empty((0, limbs), np.uint64)
    while len(items) < count:
        drawn = rng.integers(0, 2**64, (count, limbs), dtype=np.uint64)
        drawn[:, -1] &= top
        reserved = (drawn[:, :-1] == np.uint64(2**64 - 1)).all(axis=1) & (drawn[:, -1] == top)
        _, first = np.unique(np.concatenate([items, drawn[~reserved]]), axis=0, return_index=True)
        items = np.concatenate([items, drawn[~reserved]])[np.sort(first)]
    return items[:count]


def _listed(people: int, shares: NDArray[np.float64], bits: int, rng: np.random.Generator) -> Histogram:
    """Values drawn at random, held by these shares of the people."""
    return _without_empty(random_items(len(shares), bits, rng), _split(people, shares))


def _split(people: int, shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers in proportion to the shares that add up to everyone (largest remainders)."""
    exact = shares * people
    counts = np.floor(exact).astype(np.int64)
    missing = people - int(counts.sum())
    counts[np.argsort(-(exact - counts), kind="stable")[:missing]] += 1
    return counts


def _without_empty(items: Items, counts: NDArray[np.int64]) -> Histogram:
    """The histogram without the values that nobody holds."""
    return Histogram(items[counts > 0], counts[counts > 0].astype(np.int64))
