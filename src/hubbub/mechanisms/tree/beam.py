"""The beam: the best paths of every depth, which shows the roots that are worth a list of their own.

`Beam` goes down the tree; `NumberBeam` and `text_beam.TextBeam` say what differs between numbers and texts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree import kernels_beam
from hubbub.mechanisms.tree.paths import Front
from hubbub.mechanisms.tree.plan import beam_widths
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.walk import Walk
from hubbub.model.estimates import Query

MAX_ROOTS = 512
"""Promising roots looked into in one pass."""

_NEAR = 0.5  # a root is promising from this many standard errors below acceptance
_QUOTA = 128  # paths of the beam under one root of numbers
_NO_QUOTA = 1 << 40
_SAMPLE = 1 << 16  # children looked at to see where the beam ends

Roots = tuple[NDArray[np.uint64], NDArray[np.float64]]
"""Paths, one for each root, and the counts that they are thought to have."""


class Beam(ABC):
    """One beam through the rows.

    From the second pass on it is `capped`, once the giants are gone: no row may give more than ln(buckets/k) nats,
    where k is the number of its buckets that say so much, and 32 at least. A path that comes to one of these buckets
    does so by chance more often than because somebody holds its value.
    """

    def __init__(self, walk: Walk, row_counts: RowCounts, capped: bool) -> None:
        self.walk, self.row_counts = walk, row_counts
        tree = walk.tree
        self.caps = np.full(len(row_counts.people), np.inf)
        if capped:
            crowds = 2 ** np.arange(5, tree.plan.bucket_bits - 2)  # k
            most = np.sqrt(2 * np.log((1 << tree.plan.bucket_bits) / crowds))  # standard errors with so many nats
            for row, spread in enumerate(np.sqrt(row_counts.noise * row_counts.people)):
                said = row_counts.estimates[row]
                full = [np.count_nonzero(said >= most[k] * spread) >= crowds[k] for k in range(len(crowds))]
                self.caps[row] = spread * most[max(np.flatnonzero(full), default=0)]
        self.widths = beam_widths(tree.beam, walk.depths, walk.chunks, tree.coded)
        # The most paths of the beam under one root, at each depth, so that one very common value cannot fill it. The
        # roots of texts have no quota: they share the beam when it is crowded (`kernels_beam.share`).
        self._quotas = [
            _NO_QUOTA if tree.coded else _QUOTA >> max(chunk - 4, 0) // 2 for chunk in (*walk.chunks[1:], 0)
        ]
        # The highest rank at which the beam may end at each depth, and the step before which it ends.
        self.highest_cuts = [np.float32(np.inf)] * len(walk.depths)
        self.ends = len(walk.depths)

    @abstractmethod
    def near_roots(self, front: Front, query: Query) -> Roots:
        """One path for each root that is worth a list, best first, given the end of the beam."""

    @abstractmethod
    def best_roots(self, front: Front, most: int) -> Roots:
        """The best roots, whether they are worth a list or not."""

    def first_of_each_root(self, front: Front) -> Front:
        """The best path of each root, best first."""
        _, first = np.unique(front.paths[:, 0] >> self.walk.root_shift, return_index=True)
        return front.take(np.sort(first))

    @abstractmethod
    def leave(self, number: int, front: Front, ranks: NDArray[np.float32]) -> Front:
        """Take note of a step, and return the paths that stay in the beam."""

    def best_paths(self) -> Front:
        """The best paths, best first, where the beam ends."""
        tree, bits = self.walk.tree, self.walk.depths[0]
        roots = np.zeros((1 << bits, tree.codec.limbs), np.uint64)
        roots[:, 0] = np.arange(len(roots), dtype=np.uint64) << self.walk.root_shift
        said = self.row_counts.estimates[0, tree.buckets(roots, [0])[:, 0]]
        front = tree.codec.begin(roots, np.minimum(said, self.caps[0]).astype(np.float32), bits)
        ranks, crowding = front.scores, 1.0
        for number in range(1, self.ends):
            front, ranks, crowding = self._grow(number, front, crowding)
            stay = self.leave(number, front, ranks)
            if not len(stay.paths):
                return stay
            front = stay
        return front.take(np.argsort(-ranks, kind="stable"))

    def _grow(self, number: int, front: Front, crowding: float) -> tuple[Front, NDArray[np.float32], float]:
        """About as many of the best children as the beam is wide, at most a quota of each root, with their ranks.

        The rank at which the beam ends is estimated from some of the parents, so that nothing need be sorted.
        `crowding` is how many must reach that rank for one that the quotas let in: one depth above, and then here.
        """
        walk, row_counts, caps = self.walk, self.row_counts, self.caps
        step, wanted, chunk = walk.steps[number], self.widths[number], walk.chunks[number]
        every = max(1, (len(front.paths) << chunk) // _SAMPLE)
        _, ranks = walk.expand(number, row_counts, caps, front.take(np.arange(0, len(front.paths), every)))
        sample = ranks.ravel()
        sample = sample[sample > -np.inf]
        # Memory that is not written to costs nothing.
        room = len(front.paths) << chunk
        out = kernels_beam.Children(np.empty(room, np.int64), np.empty(room, np.float32), np.empty(room, np.float32))
        own_caps = caps[walk.rows[number]].astype(np.float32)
        buckets = walk.tree.buckets(front.paths, walk.rows[number])
        reach = int(wanted * crowding)
        while True:
            ends = len(sample) - 1 - reach // every  # the place of the beam's last path, if the sample were sorted
            cut = np.partition(sample, ends)[ends] if ends >= 0 else np.float32(-np.inf)
            cut = min(cut, self.highest_cuts[number])
            needed = walk.needed_scores(number, float(cut))
            quota = self._quotas[number]
            filled, turned_away = kernels_beam.grow(
                step, row_counts.estimates, own_caps, front, buckets, walk.root_shift, quota, cut, needed, out
            )
            if filled >= 0.8 * wanted or ends < 0:
                break
            reach = max(wanted + turned_away, 2 * reach)
        crowding = min(max(reach / max(filled, 1), 1.0), 1e6)
        if filled > 1.2 * wanted and walk.tree.coded:
            # In a crowded beam many paths rank high only for their root: all roots get an equal quota.
            filled = int(kernels_beam.share(front.paths[:, 0] >> walk.root_shift, chunk, wanted, filled, out))
        chosen = np.arange(filled)
        if filled > 1.2 * wanted:
            chosen = np.sort(np.argpartition(out.ranks[:filled], filled - wanted)[filled - wanted :])
        grown = walk.descend(number, front, out.scores[chosen], out.places[chosen])
        possible = np.flatnonzero(grown.scores > -np.inf)
        return grown.take(possible), out.ranks[chosen[possible]], crowding


class NumberBeam(Beam):
    """All chunks are alike, and every root has the same quota; the beam goes down to the full depth."""

    def leave(self, number: int, front: Front, ranks: NDArray[np.float32]) -> Front:  # noqa: ARG002
        """All stay."""
        return front

    def near_roots(self, front: Front, query: Query) -> Roots:
        """Roots whose best path is near acceptance, and its count."""
        row_counts, tree = self.row_counts, self.walk.tree
        people = float(row_counts.people.sum())
        # The best of each root, since the many good paths of a giant's root are one value.
        some = self.first_of_each_root(front)
        some = some.take(np.arange(len(some.paths))[: 8 * MAX_ROOTS])
        counts = row_counts.sums(tree.buckets(some.paths))
        lead = counts - tree.acceptance_counts(some.paths, int(people), query)
        near = np.flatnonzero(lead >= -_NEAR * math.sqrt(row_counts.noise * people))
        near = near[np.argsort(-lead[near], kind="stable")[:MAX_ROOTS]]
        return some.paths[near], counts[near]

    def best_roots(self, front: Front, most: int) -> Roots:
        """The roots of the best paths."""
        paths = self.first_of_each_root(front).paths[: min(most, MAX_ROOTS)]
        return paths, self.row_counts.sums(self.walk.tree.buckets(paths))
