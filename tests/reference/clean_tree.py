"""The clean tree mechanism of docs/theory-of-tree.md, slow and obvious: real reports, the search, and the tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.numeric.hadamard import transform
from hubbub.paper.path_bound import PathBound

Numbers = NDArray[np.uint64]
_TOGETHER = 128  # prefixes that are compared at once; paths have at most 32 bits


@dataclass(frozen=True)
class Row:
    """The reports of one row: s masks of as many bits as the row is deep, and a symbol."""

    depth: int
    masks: Numbers
    symbols: NDArray[np.int64]

    def matches(self, prefixes: Numbers) -> NDArray[np.int64]:
        """How many reports match each prefix."""
        counts = np.empty(len(prefixes), np.int64)
        for first in range(0, len(prefixes), _TOGETHER):
            some = prefixes[first : first + _TOGETHER, np.newaxis].astype(np.uint32)
            wrong = np.zeros((len(some), len(self.symbols)), np.uint8)
            for number, masks in enumerate(self.masks.astype(np.uint32)):
                sent = (self.symbols >> number & 1).astype(np.uint8)
                wrong |= np.bitwise_count(some & masks) & np.uint8(1) ^ sent
            counts[first : first + _TOGETHER] = np.count_nonzero(wrong == 0, axis=1)
        return counts


def symbols_of(masks: Numbers, prefixes: Numbers) -> NDArray[np.int64]:
    """The parities of masks and prefixes, as one number each."""
    bits = np.bitwise_count(masks & prefixes).astype(np.int64) & 1
    return (bits << np.arange(len(masks))[:, np.newaxis]).sum(axis=0)


def draw_paths(values: int, bits: int, rng: np.random.Generator) -> Numbers:
    """The paths of some values under a uniformly random bijection: different, and otherwise uniform."""
    found: dict[int, None] = {}
    while len(found) < values:
        found |= dict.fromkeys(rng.integers(0, 1 << bits, values, dtype=np.uint64).tolist())
    return np.array(list(found)[:values], np.uint64)


def make_reports(bound: PathBound, paths: Numbers, rng: np.random.Generator) -> list[Row]:
    """Reports of people with these paths, by row."""
    channel = bound.channel
    of_row = rng.choice(len(bound.depths), len(paths), p=bound.shares)
    rows = []
    for number, depth in enumerate(bound.depths):
        mine = paths[of_row == number] >> np.uint64(bound.bits - depth)
        masks = rng.integers(0, 1 << depth, (channel.masks, len(mine)), dtype=np.uint64)
        symbols = symbols_of(masks, mine)
        shift = rng.integers(1, channel.symbols, len(mine))
        lies = rng.random(len(mine)) >= channel.held
        rows.append(Row(depth, masks, np.where(lies, (symbols + shift) % channel.symbols, symbols)))
    return rows


def root_matches(row: Row, symbols: int) -> NDArray[np.int64]:
    """How many reports of the first row match each root: a Walsh–Hadamard transform."""
    cells = np.zeros(1 << row.depth, np.int64)
    for chosen in range(symbols):
        some = [number for number in range(len(row.masks)) if chosen >> number & 1]
        places = np.bitwise_xor.reduce(row.masks[some], axis=0) if some else np.zeros(row.masks.shape[1], np.uint64)
        signs = 1 - 2 * (np.bitwise_count((row.symbols & chosen).astype(np.uint64)).astype(np.int64) & 1)
        np.add.at(cells, places.astype(np.int64), signs)
    return np.asarray(transform(cells), np.int64) // symbols


def search(bound: PathBound, rows: list[Row]) -> dict[int, float]:
    """The accepted paths, and their counts."""
    channel, beam = bound.channel, int(2 * bound.places)
    reports = np.array([len(row.symbols) for row in rows])
    paths = np.arange(1 << rows[0].depth, dtype=np.uint64)
    matches = root_matches(rows[0], channel.symbols)[:, np.newaxis]
    for number, row in enumerate(rows):
        if number:
            step = row.depth - rows[number - 1].depth
            children = np.arange(1 << step, dtype=np.uint64)
            paths = (paths[:, np.newaxis] << np.uint64(step) | children).ravel()
            matches = np.column_stack([np.repeat(matches, 1 << step, axis=0), row.matches(paths)])
        if number == len(rows) - 1:
            break
        best = np.argsort(-matches.sum(axis=1), kind="stable")
        roots = paths[best] >> np.uint64(row.depth - rows[0].depth)
        best = best[_places_in_root(roots) < bound.listed][:beam]
        paths, matches = paths[best], matches[best]
    passed = bound.passes(matches, np.broadcast_to(reports, matches.shape))
    paths, counts = paths[passed], (matches[passed].sum(axis=1) - reports.sum() / channel.symbols) * channel.per_match
    return dict(zip(paths.tolist(), counts.tolist(), strict=True))


def count(bound: PathBound, rows: list[Row], path: int) -> float:
    """The estimated count of one value: all reports, whatever their row."""
    matches = sum(int(row.matches(np.array([path], np.uint64) >> np.uint64(bound.bits - row.depth))[0]) for row in rows)
    people = sum(len(row.symbols) for row in rows)
    return (matches - people / bound.channel.symbols) * bound.channel.per_match


def _places_in_root(roots: Numbers) -> NDArray[np.int64]:
    """For each path of a sequence, how many before it have the same root."""
    order = np.argsort(roots, kind="stable")
    grouped = roots[order]
    firsts = np.flatnonzero(np.concatenate([[True], grouped[1:] != grouped[:-1]])) if len(roots) else np.empty(0, int)
    places = np.empty(len(roots), np.int64)
    sizes = np.diff(np.append(firsts, len(roots)))
    places[order] = np.arange(len(roots)) - np.repeat(firsts, sizes)
    return places
