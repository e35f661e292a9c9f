"""Random arrangements of a few values in a circle: the public coins of the `subset` mechanism.

A seed of 64 bits gives an arrangement: each value in turn draws one of the places that are left. A *window* is a number
of neighbouring places; over random seeds, every set of as many values is equally likely to be in it. Draws use a mixer
of 32-bit words, so that a browser computes the same ones.

The mixer is `lowbias32` of C. Wellons' search for integer hash functions with little bias.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.jit import inlined, kernel


@inlined
def _mix(word):  # type: ignore[no-untyped-def]
    word = np.uint32(word ^ (word >> np.uint32(16)))
    word = np.uint32(word * np.uint32(0x7FEB352D))
    word = np.uint32(word ^ (word >> np.uint32(15)))
    word = np.uint32(word * np.uint32(0x846CA68B))
    return np.uint32(word ^ (word >> np.uint32(16)))


class _Room(NamedTuple):
    """Buffers for one arrangement: the draw of every value, the places that are left, and the place of every value."""

    draws: Any
    pool: Any
    places: Any


@inlined
def _room(values):  # type: ignore[no-untyped-def]
    return _Room(np.empty(values, np.uint32), np.empty(values, np.uint16), np.empty(values, np.uint16))


@inlined
def _draw(seed, room):  # type: ignore[no-untyped-def]
    """Write the draw of every value: the index of its place among the places that will be left then."""
    values = room.draws.shape[0]
    low, high = np.uint32(seed & np.uint64(0xFFFFFFFF)), np.uint32(seed >> np.uint64(32))
    for v in range(values):
        drawn = np.uint64(_mix(np.uint32(_mix(np.uint32(low + np.uint32(v))) ^ high)))
        room.draws[v] = np.uint32((drawn * np.uint64(np.uint32(values - v))) >> np.uint64(32))
        room.pool[v] = np.uint16(v)


@inlined
def _arrange(seeds, i, one, two):  # type: ignore[no-untyped-def]
    """Write the place of every value, for seed i into `one` and for seed i + 1 into `two`; the last seed goes twice.

    Two at a time, since the processor works on one while the other waits for memory.

    Twin: tests/reference/subset.py::arrangement.
    """
    _draw(seeds[i], one)
    _draw(seeds[min(i + 1, seeds.shape[0] - 1)], two)
    for v in range(one.places.shape[0]):
        last = one.places.shape[0] - 1 - v
        first, second = one.draws[v], two.draws[v]
        one.places[v] = one.pool[first]
        two.places[v] = two.pool[second]
        one.pool[first] = one.pool[last]
        two.pool[second] = two.pool[last]


@kernel
def places_of(seeds, items, values, out):  # type: ignore[no-untyped-def]
    """Write the place of each item in the arrangement of its seed. All values are arranged, not only the item."""
    one, two = _room(values), _room(values)
    for i in range(0, seeds.shape[0], 2):
        _arrange(seeds, i, one, two)
        out[i] = one.places[items[i]]
        if i + 1 < seeds.shape[0]:
            out[i + 1] = two.places[items[i + 1]]


@inlined
def _below(word, bound):  # type: ignore[no-untyped-def]
    """Like `hashing.uniform_below`, for one word."""
    low, high = word & np.uint64(0xFFFFFFFF), word >> np.uint64(32)
    return np.int64((high * np.uint64(bound) + (low * np.uint64(bound) >> np.uint64(32))) >> np.uint64(32))


@kernel
def name_windows(places, random_words, threshold, size, values, out):  # type: ignore[no-untyped-def]
    """Write the first place of the window that each report names.

    If the third random word is below the threshold, it is one of the `size` windows that contain the sender's value,
    otherwise any window. The fourth word says which. Both are computed and one is chosen without a branch, so the time
    does not depend on the value.
    """
    for i in range(places.shape[0]):
        own = places[i] - _below(random_words[i, 3], size)
        own += values * np.int64(own < 0)
        anyone = _below(random_words[i, 3], values)
        out[i] = anyone + (own - anyone) * np.int64(random_words[i, 2] < threshold)


@inlined
def _add_window(places, start, size, matches):  # type: ignore[no-untyped-def]
    """Add 1 for every value in a window."""
    begin, values = np.uint16(start), np.uint16(matches.shape[0])
    for v in range(matches.shape[0]):
        ahead = np.uint16(places[v] - begin)  # above 2^15 if the place is before the start
        matches[v] += np.int64(min(ahead, np.uint16(ahead + values)) < np.uint16(size))


@kernel
def add_matches(seeds, starts, size, matches):  # type: ignore[no-untyped-def]
    """Add to `matches`, for every value, the number of windows it is in; a window is `size` places from a start on.

    Twin: tests/reference/subset.py::subset_tally.
    """
    one, two = _room(matches.shape[0]), _room(matches.shape[0])
    for i in range(0, seeds.shape[0], 2):
        _arrange(seeds, i, one, two)
        _add_window(one.places, starts[i], size, matches)
        if i + 1 < seeds.shape[0]:
            _add_window(two.places, starts[i + 1], size, matches)


def sample_matches(
    counts: NDArray[np.int64], truthful: NDArray[np.int64], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The matches of a crowd, drawn without making its reports.

    Parameters
    ----------
    counts : array of int
        For every value the people who hold it.
    truthful : array of int
        How many of them name a window with their value; the others name any window.
    size : int
        Values in a window.
    rng : Generator
        The randomness.

    Notes
    -----
    It goes through the values in order, and keeps for each number of values still missing from a window how many
    people have such a window. Costs about 3·values·size draws for any number of people.
    """
    values, room = len(counts), np.arange(size + 1)
    anywhere, before, after = (np.zeros(size + 1, np.int64) for _ in range(3))
    anywhere[size] = (counts - truthful).sum()
    before[size - 1] = truthful.sum()  # one place is taken by the person's own value
    matches = truthful.copy()
    for v in range(values):
        own = rng.multivariate_hypergeometric(before, int(truthful[v]), method="marginals")
        before -= own
        # A window contains each of the values still to come with the same chance.
        for state, left in ((anywhere, values - v), (before, values - 1 - v), (after, values - v)):
            taken = rng.binomial(state, np.minimum(room / max(left, 1), 1.0))
            state -= taken
            state[:-1] += taken[1:]
            matches[v] += taken.sum()
        after += own
    return matches
