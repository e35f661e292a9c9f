"""Random arrangements of a few values in a circle: the public coins of the `subset` mechanism.

A seed of 64 bits gives an arrangement. Value after value draws one of the places that are left. A *window* is some
places in a row: over seeds, it holds any set of this many values with the same chance. Draws are made by a mixer of
32-bit words, so that a browser gets the same ones.

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
    """Memory for one arrangement: what every value draws, the places that are left, and the place of every value."""

    draws: Any
    pool: Any
    places: Any


@inlined
def _room(values):  # type: ignore[no-untyped-def]
    return _Room(np.empty(values, np.uint32), np.empty(values, np.uint16), np.empty(values, np.uint16))


@inlined
def _draw(seed, room):  # type: ignore[no-untyped-def]
    """What every value draws, as the position of a place among those that will be left."""
    values = room.draws.shape[0]
    low, high = np.uint32(seed & np.uint64(0xFFFFFFFF)), np.uint32(seed >> np.uint64(32))
    for v in range(values):
        drawn = np.uint64(_mix(np.uint32(_mix(np.uint32(low + np.uint32(v))) ^ high)))
        room.draws[v] = np.uint32((drawn * np.uint64(np.uint32(values - v))) >> np.uint64(32))
        room.pool[v] = np.uint16(v)


@inlined
def _arrange(seeds, i, one, two):  # type: ignore[no-untyped-def]
    """The place of every value, for seed i in room `one` and for seed i + 1 in room `two`; the last seed twice.

    Two at a time, since the processor works on one while the other waits for its memory.

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
    """The place of each item in the arrangement of its own seed. All values are arranged, whichever is asked for."""
    one, two = _room(values), _room(values)
    for i in range(0, seeds.shape[0], 2):
        _arrange(seeds, i, one, two)
        out[i] = one.places[items[i]]
        if i + 1 < seeds.shape[0]:
            out[i + 1] = two.places[items[i + 1]]


@inlined
def _below(word, bound):  # type: ignore[no-untyped-def]
    """As `hashing.uniform_below`."""
    low, high = word & np.uint64(0xFFFFFFFF), word >> np.uint64(32)
    return np.int64((high * np.uint64(bound) + (low * np.uint64(bound) >> np.uint64(32))) >> np.uint64(32))


@kernel
def name_windows(places, random_words, threshold, size, values, out):  # type: ignore[no-untyped-def]
    """The first place of the window that each report names.

    Where the third word is below the threshold, it is one of the `size` windows with the place of the sender's value,
    else any. The fourth word says which. Both are computed for everyone, and chosen without a branch: the time does
    not depend on the value.
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
        ahead = np.uint16(places[v] - begin)  # above 2^15 where the place is before the start
        matches[v] += np.int64(min(ahead, np.uint16(ahead + values)) < np.uint16(size))


@kernel
def add_matches(seeds, starts, size, matches):  # type: ignore[no-untyped-def]
    """Count for every value the windows it is in, of `size` places from each start on.

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
    Values are gone through in order, and people are told apart only by how many more values their window takes. Costs
    about 3·values·size draws, whatever the number of people.
    """
    values, room = len(counts), np.arange(size + 1)
    anywhere, before, after = (np.zeros(size + 1, np.int64) for _ in range(3))
    anywhere[size] = (counts - truthful).sum()
    before[size - 1] = truthful.sum()  # one place is taken by the person's own value
    matches = truthful.copy()
    for v in range(values):
        own = rng.multivariate_hypergeometric(before, int(truthful[v]), method="marginals")
        before -= own
        # Of the values that are still to come, a window takes each with the same chance.
        for state, left in ((anywhere, values - v), (before, values - 1 - v), (after, values - v)):
            taken = rng.binomial(state, np.minimum(room / max(left, 1), 1.0))
            state -= taken
            state[:-1] += taken[1:]
            matches[v] += taken.sum()
        after += own
    return matches
