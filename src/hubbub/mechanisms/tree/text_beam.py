"""The beam of texts: roots are judged by the best evidence for their paths at any depth, not only where it ends."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree import kernels, kernels_beam
from hubbub.mechanisms.tree.beam import MAX_ROOTS, Beam, Roots
from hubbub.mechanisms.tree.paths import Front
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.walk import Walk
from hubbub.model.estimates import Query

FINE_CHUNK = 4  # bits
ROOTS_APART = 8  # bits below the roots of texts; rows below that depth tell roots apart, since few texts share them
_BELOW = 2.0  # bits; at high evidence the tails are lighter than 2^−bits
ENDED = 10.0  # bits of evidence that a text gains when it ends, since its fingerprint is right
_NOTICED = 20.0  # bits; by chance, hardly one of 2^18 roots has this much evidence
LEAST_RANK = 8.0  # bits; by chance, some of a hundred thousand paths in a beam have more


class TextBeam(Beam):
    """A beam that ends where chunks become wide, and remembers the best evidence for each root on the way."""

    def __init__(self, walk: Walk, row_counts: RowCounts, capped: bool) -> None:
        super().__init__(walk, row_counts, capped)
        depths = walk.depths
        # Few texts are longer than that, and those that are have stood out before.
        wide = [number for number, chunk in enumerate(depths.chunks) if number > 0 and chunk > FINE_CHUNK]
        self.ends = wide[0] if wide else self.ends
        # `_above`: the number of depths near the root. `_ranks`: for each root, the best evidence from below them.
        self._above = sum(depth <= depths.bits[0] + ROOTS_APART for depth in depths.bits)
        self._ranks = np.full(1 << depths.bits[0], -np.inf, np.float32)
        self._sizes = np.zeros(len(self._ranks))

    def leave(self, number: int, front: Front, ranks: NDArray[np.float32]) -> Front:
        """The front without the roots that stand out: these get lists of their own, so the others can use the beam."""
        self._remember(number, front, ranks)
        noticed = self._ranks[self.walk.root_of(front.paths).astype(np.int64)] >= _NOTICED
        if noticed.any() and number + 1 < self.ends:
            return front.take(np.flatnonzero(~noticed))
        return front

    def highest_cut(self, number: int) -> np.float32:
        """The rank, in bits, of the beam's last path if nobody held any value.

        If the last path ranks higher, many values begin alike and their roots fill the beam.
        """
        known = self.walk.tree.codec.unranked_bits(self.walk.depths.bits[number])
        return np.float32(known - math.log2(self.widths[number]) - _BELOW)

    def thinned(self, front: Front, chunk: int, wanted: int, filled: int, out: kernels_beam.Children) -> int:
        """Thin out a crowded beam, where many paths rank high only for their root: all roots get an equal quota."""
        return int(kernels_beam.share(self.walk.root_of(front.paths), chunk, wanted, filled, out))

    def best_root(self, front: Front) -> Roots:
        """The root with the most evidence; if none stands out, that of the best path."""
        paths, counts = self.outstanding()
        if not len(paths):
            return front.paths[:1], self.row_counts.sums(self.walk.tree.buckets(front.paths[:1]))
        return paths[:1], counts[:1]

    def near_roots(self, front: Front, query: Query) -> Roots:  # noqa: ARG002
        """The outstanding roots; where the beam ends does not matter."""
        return self.outstanding()

    def outstanding(self) -> Roots:
        """The roots with the most evidence for one of their paths at any depth, and that path's count in people."""
        order = np.argsort(-self._ranks, kind="stable")[:MAX_ROOTS]
        # Where codes are short, many roots come near acceptance by chance, and each list costs time.
        least = np.where(np.arange(len(order)) < MAX_ROOTS // 4, LEAST_RANK, _NOTICED)
        order = order[self._ranks[order] > least]
        roots = np.zeros((len(order), self.walk.tree.codec.limbs), np.uint64)
        roots[:, 0] = order.astype(np.uint64) << np.uint64(64 - self.walk.depths.bits[0])
        return roots, self._sizes[order]

    def _remember(self, number: int, front: Front, ranks: NDArray[np.float32]) -> None:
        """Keep for each root the best evidence so far, and the count that goes with it.

        For the root's best path, only rows well below the root count, so that a root shared by many different values,
        such as addresses that begin alike, does not hide the others. For its best text that has ended, all rows
        count. Thus a root stands out even if the path of its value is crowded out later.
        """
        above, tree = self._above, self.walk.tree
        people = self.walk.depths.people[above : number + 1].sum()
        if number < above or not len(ranks) or people <= 0:
            return
        best = self._best_of_roots(front, ranks, np.arange(len(ranks)))
        some = front.take(best)
        below = some.scores - sum(self._said(row, some.paths) for row in np.concatenate(self.walk.depths.rows[:above]))
        errors = np.arange(len(self.walk.evidence(1)[0])) / kernels.EVIDENCE_STEPS - kernels.EVIDENCE_FROM
        spread = math.sqrt(self.walk.depths.variance[above : number + 1].sum())
        bits = np.interp(below / spread, errors, tree.evidence(float(people)))
        depth = self.walk.depths.bits[above - 1]
        bits -= np.maximum(some.used - (depth - tree.codec.unranked_bits(depth)), 0.0)
        self._note(some, bits, below / people)
        ended = self._best_of_roots(front, ranks, np.flatnonzero(front.nodes == tree.codec.done))
        some = front.take(ended)
        self._note(some, ranks[ended] + ENDED, some.scores / self.walk.depths.people[: number + 1].sum())

    def _best_of_roots(self, front: Front, ranks: NDArray[np.float32], of: NDArray[np.int64]) -> NDArray[np.int64]:
        """The index of the best-ranked path of each root, among the paths with indices `of`."""
        roots = self.walk.root_of(front.paths[of])
        order = np.lexsort((ranks[of], roots))
        return np.asarray(of[order[np.flatnonzero(np.append(np.diff(roots[order]) != 0, len(of) > 0))]])

    def _note(self, best: Front, bits: NDArray[np.floating], shares: NDArray[np.floating]) -> None:
        """Where the evidence is better than the root's best so far, keep it, and the share as a count in people."""
        roots = self.walk.root_of(best.paths).astype(np.int64)
        better = bits > self._ranks[roots]
        self._ranks[roots[better]] = bits[better]
        self._sizes[roots[better]] = shares[better] * self.walk.depths.people.sum()

    def _said(self, row: int, paths: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The estimate of a row for each path in this pass, cut at the row's cap."""
        said = self.row_counts.estimates[row, self.walk.tree.row_buckets(int(row), paths).astype(np.int64)]
        return np.asarray(np.minimum(said, self.caps[row]), np.float64)
