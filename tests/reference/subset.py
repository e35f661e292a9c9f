"""Slow and obvious twins of the arrangements of `subset`."""

from __future__ import annotations

from collections.abc import Sequence


def mix(word: int) -> int:
    """lowbias32."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        word = (word ^ (word >> shift)) * factor % 2**32
    return word


def arrangement(seed: int, values: int) -> list[int]:
    """The place of each value: each draws one of the places that are left, and the last place moves into the gap."""
    left = list(range(values))
    places = []
    for value in range(values):
        draw = mix(mix((seed + value) % 2**32) ^ seed >> 32)
        drawn = draw * len(left) // 2**32
        places.append(left[drawn])
        last = left.pop()
        if drawn < len(left):
            left[drawn] = last
    return places


def subset_tally(seeds: Sequence[int], starts: Sequence[int], values: int, window: int) -> list[int]:
    """How many of the named windows each value is in."""
    matches = [0] * values
    for seed, start in zip(seeds, starts, strict=True):
        named = {(start + step) % values for step in range(window)}
        for value, place in enumerate(arrangement(seed, values)):
            matches[value] += place in named
    return matches
