"""The beam: the best paths of every depth, which shows the roots that are worth a list of their own."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.levels import Front, TreeLevels
from hubbub.mechanisms.tree.plan import beam_widths, root_quotas
from hubbub.mechanisms.tree.walk import Walk
from hubbub.model.estimates import Query
from hubbub.numeric import tree_kernels
from hubbub.numeric.text_paths import fingerprint_before

_MAX_ROOTS = 512  # promising roots looked into in one pass
_FINE_CHUNK = 4  # bits
_ROOTS_APART = 8  # bits below the roots of texts; what is said deeper is said of few
_BELOW = 2.0  # bits; at high evidence the tails are lighter than 2^−bits
_ENDED = 10.0  # bits that a text has gained when it has ended, since its fingerprint is right
_NOTICED = 20.0  # bits; of 2^18 roots hardly one has so much by chance
_LEAST_RANK = 8.0  # bits; of a hundred thousand paths in a beam some have more by chance
_NEAR = 0.5  # a root is promising from this many standard errors below acceptance
_SAMPLE = 1 << 16  # children looked at to see where the beam ends


class Beam:
    """One beam through the levels.

    From the second pass on it is `capped`: no row may give more than ln(buckets/32) nats, since more than that is a
    collision more often than a value, once the giants are gone.
    """

    def __init__(self, walk: Walk, levels: TreeLevels, capped: bool) -> None:
        self.walk, self.levels = walk, levels
        tree, depths = walk.tree, walk.depths
        coded = tree.code is not None
        self.caps = np.full(len(levels.people), np.inf)
        if capped:
            most = math.sqrt(2 * math.log((1 << tree.plan.bucket_bits) / 32))
            self.caps = most * np.sqrt(levels.noise * levels.people)
        self._widths = beam_widths(tree.beam, depths.bits, depths.chunks, coded)
        self._quotas = root_quotas(self._widths, depths.chunks, coded)
        # Few texts go on where chunks are wide, and those that do have stood out before.
        wide = [number for number, chunk in enumerate(depths.chunks) if number > 0 and chunk > _FINE_CHUNK]
        self._ends = wide[0] if coded and wide else len(depths.bits)
        # For texts: depths that tell roots apart, and the best evidence from below them for each root in the beam.
        self._above = sum(depth <= depths.bits[0] + _ROOTS_APART for depth in depths.bits)
        self._ranks = np.full(1 << depths.bits[0], -np.inf, np.float32)
        self._sizes = np.zeros(len(self._ranks))
        # Among short codes many roots are near acceptance by chance, and each list costs.
        self._roots = _MAX_ROOTS // 4 if coded else _MAX_ROOTS

    def best_paths(self) -> Front:
        """The best paths, best first: of full depth, or for text as deep as roots are told apart by it."""
        front = self._all_roots()
        ranks, crowding = front.scores, 1.0
        for number in range(1, self._ends):
            front, ranks, crowding = self._grow(number, front, crowding)
            if self.walk.tree.code is not None:
                self._remember(number, front, ranks)
                # A root that stands out will have a list of its own, and leaves the beam to the others.
                noticed = self._ranks[self.walk.root_of(front.paths).astype(np.int64)] >= _NOTICED
                if noticed.any() and number + 1 < self._ends:
                    front = front.take(np.flatnonzero(~noticed))
                    if not len(front.paths):
                        return front
        return front.take(np.argsort(-ranks, kind="stable"))

    def _remember(self, number: int, front: Front, ranks: NDArray[np.float32]) -> None:
        """Keep for each root the best evidence so far, and the count that it speaks of.

        Of its best path what the rows well below the root say, so that roots which many share who have nothing else
        in common, such as all addresses that begin alike, do not hide the others; and of its best text that has ended
        what all rows say. So a root stands out even if its value's own path is crowded out later.
        """
        above, tree = self._above, self.walk.tree
        people = self.walk.depths.people[above : number + 1].sum()
        if number < above or not len(ranks) or people <= 0 or tree.code is None:
            return
        best = self._best_of_roots(front, ranks, np.arange(len(ranks)))
        some = front.take(best)
        below = some.scores - sum(self._said(row, some.paths) for row in np.concatenate(self.walk.depths.rows[:above]))
        errors = np.arange(len(self.walk.evidence(1)[0])) / tree_kernels.EVIDENCE_STEPS - tree_kernels.EVIDENCE_FROM
        spread = math.sqrt(self.walk.depths.variance[above : number + 1].sum())
        bits = np.interp(below / spread, errors, tree.evidence(float(people)))
        depth = self.walk.depths.bits[above - 1]
        bits -= np.maximum(some.used - (depth - fingerprint_before(tree.fingerprint, depth)), 0.0)
        self._note(some, bits, below / people)
        ended = self._best_of_roots(front, ranks, np.flatnonzero(front.nodes == tree.code.done))
        some = front.take(ended)
        self._note(some, ranks[ended] + _ENDED, some.scores / self.walk.depths.people[: number + 1].sum())

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
        said = self.levels.estimates[row, self.walk.tree.row_buckets(int(row), paths).astype(np.int64)]
        return np.asarray(np.minimum(said, self.caps[row]), np.float64)

    def near_roots(self, front: Front, query: Query) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """One path for each root whose best path is near acceptance, best first, and its count."""
        levels, tree = self.levels, self.walk.tree
        people = float(levels.people.sum())
        if tree.code is not None:
            return self._outstanding_roots()
        # The best of each root, since the many good paths of a giant's root are one value.
        _, first = np.unique(self.walk.root_of(front.paths), return_index=True)
        some = front.take(np.sort(first)[: 8 * _MAX_ROOTS])
        counts = levels.sums(tree.buckets(some.paths))
        lead = counts - tree.acceptance_counts(some.paths, int(people), query)
        near = np.flatnonzero(lead >= -_NEAR * math.sqrt(levels.noise * people))
        near = near[np.argsort(-lead[near], kind="stable")[: self._roots]]
        return some.paths[near], counts[near]

    def _outstanding_roots(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """The roots of texts with the most evidence for one of their paths anywhere in the beam, and its count."""
        order = np.argsort(-self._ranks, kind="stable")[:_MAX_ROOTS]
        least = np.where(np.arange(len(order)) < self._roots, _LEAST_RANK, _NOTICED)
        order = order[self._ranks[order] > least]
        roots = np.zeros((len(order), self.walk.tree.path_words), np.uint64)
        roots[:, 0] = order.astype(np.uint64) << np.uint64(64 - self.walk.depths.bits[0])
        return roots, self._sizes[order]

    def _all_roots(self) -> Front:
        """Every root."""
        bits = self.walk.depths.bits[0]
        paths = np.zeros((1 << bits, self.walk.tree.path_words), np.uint64)
        paths[:, 0] = np.arange(len(paths), dtype=np.uint64) << np.uint64(64 - bits)
        said = self.levels.estimates[0, self.walk.tree.row_buckets(0, paths).astype(np.int64)]
        return self.walk.with_state(paths, np.minimum(said, self.caps[0]).astype(np.float32))

    def _grow(self, number: int, front: Front, crowding: float) -> tuple[Front, NDArray[np.float32], float]:
        """About as many of the best children as the beam is wide, at most a quota of each root, with their ranks.

        The rank at which the beam ends is estimated from some of the parents, so that nothing need be sorted.
        `crowding` is how many must reach that rank for one that the quotas let in: one depth above, and then here.
        """
        levels, caps = self.levels, self.caps
        step, wanted, chunk = self.walk.step(number), self._widths[number], self.walk.depths.chunks[number]
        every = max(1, (len(front.paths) << chunk) // _SAMPLE)
        sample = self.walk.expand(number, levels, caps, front.take(np.arange(0, len(front.paths), every)))[1].ravel()
        sample = np.sort(sample[sample > -np.inf])[::-1]
        # Memory that is not written to costs nothing.
        places = np.empty(len(front.paths) << chunk, np.int64)
        scores, ranks = np.empty(len(places), np.float32), np.empty(len(places), np.float32)
        shift, quota = np.uint64(64 - self.walk.depths.bits[0]), self._quotas[number]
        own_caps = caps[self.walk.depths.rows[number]].astype(np.float32)
        reach = int(wanted * crowding)
        while True:
            cut = sample[reach // every] if reach // every < len(sample) else np.float32(-np.inf)
            cut = min(cut, self._highest_cut(number))
            needed = self.walk.needed_scores(number, float(cut))
            filled, turned_away = tree_kernels.grow(
                step, levels.estimates, own_caps, *front, shift, quota, cut, needed, places, scores, ranks
            )
            if filled >= 0.8 * wanted or reach // every >= len(sample):
                break
            reach = max(wanted + turned_away, 2 * reach)
        crowding = min(max(reach / max(filled, 1), 1.0), 1e6)
        if filled > 1.2 * wanted and self.walk.tree.code is not None:
            # Many paths are high because of what their roots have in common: the roots share the beam.
            filled = tree_kernels.share(self.walk.root_of(front.paths), chunk, wanted, filled, places, scores, ranks)
        chosen = np.arange(filled)
        if filled > 1.2 * wanted:
            chosen = np.sort(np.argpartition(ranks[:filled], filled - wanted)[filled - wanted :])
        grown = self.walk.descend(number, front, scores[chosen], places[chosen])
        possible = np.flatnonzero(grown.scores > -np.inf)
        return grown.take(possible), ranks[chosen[possible]], crowding

    def _highest_cut(self, number: int) -> np.float32:
        """The highest rank, in bits, at which a beam of texts may end: where it ends if nobody holds anything.

        If it would end higher, then many values begin alike, and the beam is full of their roots.
        """
        if self.walk.tree.code is None:
            return np.float32(np.inf)
        known = fingerprint_before(self.walk.tree.fingerprint, self.walk.depths.bits[number])
        return np.float32(known - math.log2(self._widths[number]) - _BELOW)
