"""The beam of texts: roots are judged by the evidence of their paths anywhere on the way, not at its end alone."""

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
ROOTS_APART = 8  # bits below the roots of texts; what is said deeper is said of few
_BELOW = 2.0  # bits; at high evidence the tails are lighter than 2^−bits
ENDED = 10.0  # bits that a text has gained when it has ended, since its fingerprint is right
_NOTICED = 20.0  # bits; of 2^18 roots hardly one has so much by chance
LEAST_RANK = 8.0  # bits; of a hundred thousand paths in a beam some have more by chance


class TextBeam(Beam):
    """Ends where chunks become wide; what its roots showed on the way is remembered."""

    def __init__(self, walk: Walk, row_counts: RowCounts, capped: bool) -> None:
        super().__init__(walk, row_counts, capped)
        depths = walk.depths
        # Few texts go on where chunks are wide, and those that do have stood out before.
        wide = [number for number, chunk in enumerate(depths.chunks) if number > 0 and chunk > FINE_CHUNK]
        self.ends = wide[0] if wide else self.ends
        # Depths that tell roots apart, and the best evidence from below them for each root in the beam.
        self._above = sum(depth <= depths.bits[0] + ROOTS_APART for depth in depths.bits)
        self._ranks = np.full(1 << depths.bits[0], -np.inf, np.float32)
        self._sizes = np.zeros(len(self._ranks))

    def leave(self, number: int, front: Front, ranks: NDArray[np.float32]) -> Front:
        """A root that stands out will have a list of its own, and leaves the beam to the others."""
        self._remember(number, front, ranks)
        noticed = self._ranks[self.walk.root_of(front.paths).astype(np.int64)] >= _NOTICED
        if noticed.any() and number + 1 < self.ends:
            return front.take(np.flatnonzero(~noticed))
        return front

    def highest_cut(self, number: int) -> np.float32:
        """In bits, where the beam ends if nobody holds anything.

        If it would end higher, then many values begin alike, and the beam is full of their roots.
        """
        known = self.walk.tree.codec.unranked_bits(self.walk.depths.bits[number])
        return np.float32(known - math.log2(self.widths[number]) - _BELOW)

    def thinned(self, front: Front, chunk: int, wanted: int, filled: int, out: kernels_beam.Children) -> int:
        """Many paths are high because of what their roots have in common: the roots share the beam."""
        return int(kernels_beam.share(self.walk.root_of(front.paths), chunk, wanted, filled, out))

    def best_root(self, front: Front) -> Roots:
        """The root with the most evidence; without any, that of the best path."""
        paths, counts = self.outstanding()
        if not len(paths):
            return front.paths[:1], self.row_counts.sums(self.walk.tree.buckets(front.paths[:1]))
        return paths[:1], counts[:1]

    def near_roots(self, front: Front, query: Query) -> Roots:  # noqa: ARG002
        """Those that are outstanding, wherever the beam ends."""
        return self.outstanding()

    def outstanding(self) -> Roots:
        """The roots with the most evidence for one of their paths anywhere in the beam, and its count."""
        order = np.argsort(-self._ranks, kind="stable")[:MAX_ROOTS]
        # Among short codes many roots are near acceptance by chance, and each list costs.
        least = np.where(np.arange(len(order)) < MAX_ROOTS // 4, LEAST_RANK, _NOTICED)
        order = order[self._ranks[order] > least]
        roots = np.zeros((len(order), self.walk.tree.codec.limbs), np.uint64)
        roots[:, 0] = order.astype(np.uint64) << np.uint64(64 - self.walk.depths.bits[0])
        return roots, self._sizes[order]

    def _remember(self, number: int, front: Front, ranks: NDArray[np.float32]) -> None:
        """Keep for each root the best evidence so far, and the count that it speaks of.

        Of its best path what the rows well below the root say, so that roots which many share who have nothing else
        in common, such as all addresses that begin alike, do not hide the others; and of its best text that has ended
        what all rows say. So a root stands out even if its value's own path is crowded out later.
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
        """Of some paths the best of each root."""
        roots = self.walk.root_of(front.paths[of])
        order = np.lexsort((ranks[of], roots))
        return np.asarray(of[order[np.flatnonzero(np.append(np.diff(roots[order]) != 0, len(of) > 0))]])

    def _note(self, best: Front, bits: NDArray[np.floating], shares: NDArray[np.floating]) -> None:
        """Keep bits and shares of the people as counts, where they are better than what is known of the root."""
        roots = self.walk.root_of(best.paths).astype(np.int64)
        better = bits > self._ranks[roots]
        self._ranks[roots[better]] = bits[better]
        self._sizes[roots[better]] = shares[better] * self.walk.depths.people.sum()

    def _said(self, row: int, paths: NDArray[np.uint64]) -> NDArray[np.float64]:
        """What a row said of some paths in this pass, each at most its cap."""
        said = self.row_counts.estimates[row, self.walk.tree.row_buckets(int(row), paths).astype(np.int64)]
        return np.asarray(np.minimum(said, self.caps[row]), np.float64)
