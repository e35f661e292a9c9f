"""The beam of texts: roots are judged by the best evidence for their paths at any depth, not only where it ends."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree import kernels
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
        # Few texts are longer than that, and those that are have stood out before.
        wide = [number for number, chunk in enumerate(walk.chunks) if number > 0 and chunk > FINE_CHUNK]
        self.ends = wide[0] if wide else self.ends
        # The rank, in bits, of the beam's last path if nobody held any value. If the last path ranks higher, many
        # values begin alike and their roots fill the beam.
        self.highest_cuts = [
            np.float32(walk.tree.codec.unranked_bits[depth] - math.log2(width) - _BELOW)
            for depth, width in zip(walk.depths, self.widths, strict=True)
        ]
        # `_above`: the number of depths near the root. `_ranks`: for each root, the best evidence from below them, and
        # `_sizes` the count, in people, that goes with it.
        self._above = sum(depth <= walk.depths[0] + ROOTS_APART for depth in walk.depths)
        self._ranks = np.full(1 << walk.depths[0], -np.inf, np.float32)
        self._sizes = np.zeros(len(self._ranks))

    def leave(self, number: int, front: Front, ranks: NDArray[np.float32]) -> Front:
        """The front without the roots that stand out: these get lists of their own, so the others can use the beam.

        For each root the best evidence so far is kept. For the root's best path, only rows well below the root count,
        so that a root shared by many different values, such as addresses that begin alike, does not hide the others.
        For its best text that has ended, all rows count. Thus a root stands out even if the path of its value is
        crowded out later.
        """
        walk, roots = self.walk, (front.paths[:, 0] >> self.walk.root_shift).astype(np.int64)
        ended = np.flatnonzero(front.nodes == walk.tree.codec.done)
        below = walk.people[self._above : number + 1].sum()
        for of in (np.arange(len(roots)), ended) if number >= self._above and len(roots) and below > 0 else ():
            # The best-ranked path of each root, and what is known of it.
            order = np.lexsort((ranks[of], roots[of]))
            best = of[order[np.flatnonzero(np.append(np.diff(roots[of][order]) != 0, len(of) > 0))]]
            if of is ended:
                bits, shares = ranks[best] + ENDED, front.scores[best] / walk.people[: number + 1].sum()
            else:
                bits, shares = self._below_root(number, front.take(best), float(below))
            better = bits > self._ranks[roots[best]]
            self._ranks[roots[best][better]] = bits[better]
            self._sizes[roots[best][better]] = shares[better] * walk.people.sum()
        noticed = self._ranks[roots] >= _NOTICED
        return front.take(np.flatnonzero(~noticed)) if noticed.any() and number + 1 < self.ends else front

    def _below_root(
        self, number: int, front: Front, people: float
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """For each path, the evidence in bits from the rows well below its root, and its share of their `people`."""
        walk, tree, above = self.walk, self.walk.tree, self._above
        rows = np.concatenate(walk.rows[:above]).tolist()
        buckets = tree.buckets(front.paths, rows)
        said = sum(
            np.minimum(self.row_counts.estimates[row, places], self.caps[row]).astype(np.float64)
            for row, places in zip(rows, buckets.T, strict=True)
        )
        scores = front.scores - said
        errors = np.arange(len(walk.tables[1])) / kernels.EVIDENCE_STEPS - kernels.EVIDENCE_FROM
        spread = math.sqrt(walk.variance[above : number + 1].sum())
        bits = np.interp(scores / spread, errors, tree.evidence(people))
        known = walk.depths[above - 1] - tree.codec.unranked_bits[walk.depths[above - 1]]
        return bits - np.maximum(front.used - known, 0.0), scores / people

    def best_roots(self, front: Front, most: int) -> Roots:
        """The roots with the most evidence; if too few stand out, then those of the best paths."""
        most = min(most, MAX_ROOTS)
        paths, counts = self._strong_roots()
        others = self.first_of_each_root(front).paths
        shift = self.walk.root_shift
        others = others[~np.isin(others[:, 0] >> shift, paths[:, 0] >> shift)][: max(most - len(paths), 0)]
        sizes = self.row_counts.sums(self.walk.tree.buckets(others))
        return np.concatenate([paths[:most], others]), np.concatenate([counts[:most], sizes])

    def near_roots(self, front: Front, query: Query) -> Roots:  # noqa: ARG002
        """The roots with the most evidence for one of their paths at any depth, and that path's count in people."""
        return self._strong_roots()

    def _strong_roots(self) -> Roots:
        """Implements `near_roots`."""
        order = np.argsort(-self._ranks, kind="stable")[:MAX_ROOTS]
        # Where codes are short, many roots come near acceptance by chance, and each list costs time.
        least = np.where(np.arange(len(order)) < MAX_ROOTS // 4, LEAST_RANK, _NOTICED)
        order = order[self._ranks[order] > least]
        roots = np.zeros((len(order), self.walk.tree.codec.limbs), np.uint64)
        roots[:, 0] = order.astype(np.uint64) << self.walk.root_shift
        return roots, self._sizes[order]
