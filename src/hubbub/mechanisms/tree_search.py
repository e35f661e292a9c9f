"""The search down the tree: a beam from the root, a list inside each promising root, acceptance, subtraction, again.

A path is scored by the sum of its estimates over all depths so far, so that everybody who spoke of its prefixes
counts; paths of a text code are ranked by that evidence less the bits their code has used. What is accepted is
subtracted, and the search repeats on what is left, where collisions with large values no longer hide or fake small
ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree_accept import accept, row_caps
from hubbub.mechanisms.tree_levels import Depths, Fit, Front, TreeLevels, refit
from hubbub.mechanisms.tree_plan import TEXT_BROAD, beam_widths, list_widths, root_quotas
from hubbub.model.estimates import Query
from hubbub.numeric import tree_kernels
from hubbub.numeric.text_paths import LEADING, fingerprint_before

if TYPE_CHECKING:
    from hubbub.mechanisms.tree import Tree

_PASSES = 4
_LISTED = 64
_MAX_ROOTS = 512  # promising roots looked into in one pass
_HOPELESS = -10.0  # bits; a list whose best path ranks so low will not be accepted
_FINE_CHUNK = 4  # bits
_ROOTS_APART = 8  # bits below the roots of texts; what is said deeper is said of few
_BELOW = 2.0  # bits; at high evidence the tails are lighter than 2^−bits
_ENDED = 10.0  # bits that a text has gained when it has ended, since its fingerprint is right
_NOTICED = 20.0  # bits; of 2^18 roots hardly one has so much by chance
_LEAST_RANK = 8.0  # bits; of a hundred thousand paths in a beam some have more by chance
_NEAR = 0.5  # a root is promising from this many standard errors below acceptance
_SAMPLE = 1 << 16  # children looked at to see where the beam ends


def search(tree: Tree, levels: TreeLevels, query: Query) -> tuple[NDArray[np.uint64], Fit, NDArray[np.float64]]:
    """Paths of the values that stand out, their counts, and the chance that each is a neighbour of the real one."""
    walk = _Walk(tree, levels)
    people = int(levels.people.sum())
    accepted = np.empty((0, tree.path_words), np.uint64)
    # No path of the code leads to "(other)", which may be what most people hold: it is asked for by name.
    other = tree.fallback_paths
    if (levels.sums(tree.buckets(other)) >= tree.acceptance_counts(other, people, query)).any():
        accepted = other
    fit, doubts = refit(tree, levels, accepted), np.zeros(len(accepted))
    doubt = query.level / 4  # as much is for values that noise alone carries, and twice as much for intervals
    for number in range(_PASSES):
        promising = walk.beam(fit.left, capped=number > 0)
        if query.best_guess:
            first = promising.paths[:1]
            best, _ = walk.list_roots(fit.left, first, levels.sums(tree.buckets(first)), every=True)
            valid = np.flatnonzero(tree.is_value(best.paths)) if len(best.paths) else np.empty(0, np.int64)
            guess = best.paths[valid[:1]]
            return guess, refit(tree, levels, guess), np.ones(len(guess))
        near, sizes = walk.near_roots(fit.left, promising, query)
        fresh, theirs = accept(tree, fit.left, *walk.list_roots(fit.left, near, sizes), query, doubt)
        doubt -= float(theirs.sum())
        new = ~_contains(accepted, fresh)
        few = 8 * np.count_nonzero(new) <= len(accepted)
        accepted, doubts = np.concatenate([accepted, fresh[new]]), np.concatenate([doubts, theirs[new]])
        fit = refit(tree, levels, accepted)
        # A value that stood on another's collisions falls when they are taken away: the worst first, since of two that
        # share most rows each may look too small beside the other.
        while len(accepted):
            lead = fit.with_shared - tree.acceptance_counts(accepted, people, query)
            worst = int(np.argmin(lead))
            if lead[worst] >= 0:
                break
            accepted, doubts = np.delete(accepted, worst, axis=0), np.delete(doubts, worst)
            fit = refit(tree, levels, accepted)
        if few:  # what so few were hiding is not worth another pass
            break
    return accepted, fit, doubts


class _Walk:
    """Beams and lists of one tree; the levels are given with each, since what is accepted is taken away."""

    def __init__(self, tree: Tree, levels: TreeLevels) -> None:
        self.tree = tree
        self.depths = Depths(tree, levels)
        self._tables: dict[int, NDArray[np.float32]] = {}
        coded = tree.code is not None
        self._beam_widths = beam_widths(tree.beam, self.depths.bits, self.depths.chunks, coded)
        self._quotas = root_quotas(self._beam_widths, self.depths.chunks, coded)
        self._list_widths = list_widths(self.depths.chunks)
        # Few texts go on where chunks are wide, and those that do have stood out before.
        wide = [number for number, chunk in enumerate(self.depths.chunks) if number > 0 and chunk > _FINE_CHUNK]
        self._beam_ends = wide[0] if coded and wide else len(self.depths.bits)
        # For texts: depths that tell roots apart, and the best evidence from below them for each root in a beam.
        self._above = sum(depth <= self.depths.bits[0] + _ROOTS_APART for depth in self.depths.bits)
        self._pass = levels, np.full(tree.rows, np.inf)
        self._ranks = np.empty(0, np.float32)
        self._sizes = np.empty(0)
        # Among short codes many roots are near acceptance by chance, and each list costs.
        self._roots = _MAX_ROOTS if tree.code is None else _MAX_ROOTS // 4

    def beam(self, levels: TreeLevels, capped: bool) -> Front:
        """The best paths, best first: of full depth, or for text as deep as roots are told apart by it.

        From the second pass on no row may give more than ln(buckets/32) nats: more than that is a collision more
        often than a value, once the giants are gone.
        """
        caps = np.full(len(levels.people), np.inf)
        if capped:
            most = math.sqrt(2 * math.log((1 << self.tree.plan.bucket_bits) / 32))
            caps = most * np.sqrt(levels.noise * levels.people)
        front = self._all_roots(levels, caps)
        crowding = 1.0
        self._ranks = np.full(1 << self.depths.bits[0], -np.inf, np.float32)
        self._sizes = np.zeros(len(self._ranks))
        self._pass = levels, caps
        for number in range(1, self._beam_ends):
            front, ranks, crowding = self._grow(number, levels, caps, front, crowding)
            if self.tree.code is not None:
                self._remember(number, front, ranks)
                # A root that stands out will have a list of its own, and leaves the beam to the others.
                noticed = self._ranks[self._root_of(front.paths).astype(np.int64)] >= _NOTICED
                if noticed.any() and number + 1 < self._beam_ends:
                    front = front.take(np.flatnonzero(~noticed))
                    if not len(front.paths):
                        break
        return front.take(np.argsort(-ranks, kind="stable"))

    def _remember(self, number: int, front: Front, ranks: NDArray[np.float32]) -> None:
        """Keep for each root the best evidence so far, and the count that it speaks of.

        Of its best path what the rows well below the root say, so that roots which many share who have nothing else
        in common, such as all addresses that begin alike, do not hide the others; and of its best text that has ended
        what all rows say. So a root stands out even if its value's own path is crowded out later.
        """
        above, tree = self._above, self.tree
        people = self.depths.people[above : number + 1].sum()
        if number < above or not len(ranks) or people <= 0 or tree.code is None:
            return
        best = self._best_of_roots(front, ranks, np.arange(len(ranks)))
        some = front.take(best)
        below = some.scores - sum(self._said(row, some.paths) for row in np.concatenate(self.depths.rows[:above]))
        errors = np.arange(len(self._evidence(1)[0])) / tree_kernels.EVIDENCE_STEPS - tree_kernels.EVIDENCE_FROM
        spread = math.sqrt(self.depths.variance[above : number + 1].sum())
        bits = np.interp(below / spread, errors, tree.evidence(float(people)))
        depth = self.depths.bits[above - 1]
        bits -= np.maximum(some.used - (depth - fingerprint_before(tree.fingerprint, depth)), 0.0)
        self._note(some, bits, below / people)
        ended = self._best_of_roots(front, ranks, np.flatnonzero(front.nodes == tree.code.done))
        some = front.take(ended)
        self._note(some, ranks[ended] + _ENDED, some.scores / self.depths.people[: number + 1].sum())

    def _best_of_roots(self, front: Front, ranks: NDArray[np.float32], of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of some paths the best of each root."""
        roots = self._root_of(front.paths[of])
        order = np.lexsort((ranks[of], roots))
        return np.asarray(of[order[np.flatnonzero(np.append(np.diff(roots[order]) != 0, len(of) > 0))]])

    def _note(self, best: Front, bits: NDArray[np.float64], shares: NDArray[np.float64]) -> None:
        """Keep bits and shares of the people as counts, where they are better than what is known of the root."""
        roots = self._root_of(best.paths).astype(np.int64)
        better = bits > self._ranks[roots]
        self._ranks[roots[better]] = bits[better]
        self._sizes[roots[better]] = shares[better] * self.depths.people.sum()

    def _said(self, row: int, paths: NDArray[np.uint64]) -> NDArray[np.float64]:
        """What a row said of some paths in this pass, each at most its cap."""
        levels, caps = self._pass
        said = levels.estimates[row, self.tree.row_buckets(int(row), paths).astype(np.int64)]
        return np.asarray(np.minimum(said, caps[row]), np.float64)

    def near_roots(
        self, levels: TreeLevels, front: Front, query: Query
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """One path for each root whose best path is near acceptance, best first, and its count."""
        tree, people = self.tree, float(levels.people.sum())
        if tree.code is not None:
            return self._outstanding_roots()
        # The best of each root, since the many good paths of a giant's root are one value.
        _, first = np.unique(self._root_of(front.paths), return_index=True)
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
        roots = np.zeros((len(order), self.tree.path_words), np.uint64)
        roots[:, 0] = order.astype(np.uint64) << np.uint64(64 - self.depths.bits[0])
        return roots, self._sizes[order]

    def list_roots(
        self, levels: TreeLevels, paths: NDArray[np.uint64], sizes: NDArray[np.float64], every: bool = False
    ) -> tuple[Front, NDArray[np.float64]]:
        """The best paths under the root of each given path, best first, as many for each root; and what was let go.

        That is the weight of all paths that left the list on the way, each counted where it left: in nats, the
        logarithm of the sum of prior times likelihood, for a value of the size that is given. Lists of texts with
        nothing in them that could be accepted are left out, unless `every` one is asked for.
        """
        lists = len(paths)
        mask = np.zeros(self.tree.path_words, np.uint64)
        mask[0] = np.uint64(((1 << self.depths.bits[0]) - 1) << (64 - self.depths.bits[0]))
        roots = paths & mask
        let_go = np.full(lists, -np.inf)
        pulls, costs = self.tree.odds(sizes / max(self.depths.people.sum(), 1.0))
        caps = row_caps(self.tree, levels, pulls, costs)
        said = levels.estimates[0, self.tree.row_buckets(0, roots).astype(np.int64)]
        front = self._with_state(roots, np.minimum(said, caps[:, 0]).astype(np.float32))
        if lists == 0:
            return front, let_go
        ranks: NDArray[np.float32] = np.zeros((lists, 1), np.float32)
        for number in range(1, len(self.depths.bits)):
            scores, ranks = self._expand(number, levels, caps, front)
            scores, ranks = scores.reshape(lists, -1), ranks.reshape(lists, -1)
            width = min(self._list_widths[number], ranks.shape[1])
            dead = np.flatnonzero(ranks == -np.inf)  # many equal values make a partition slow: tell them apart
            ranks.ravel()[dead] = np.float32(-1e30) * (1 + dead.astype(np.float32) / ranks.size)
            order = np.argpartition(ranks, ranks.shape[1] - width, axis=1)
            rest, best = order[:, :-width], order[:, -width:]
            let_go = np.logaddexp(let_go, self._weight(number, pulls, costs, scores, ranks, rest))
            ranks = np.take_along_axis(ranks, best, axis=1)
            chosen = (best + np.arange(lists)[:, np.newaxis] * scores.shape[1]).ravel()
            front = self._descend(number, front, scores.ravel()[chosen], chosen)
            ranks[np.isneginf(front.scores).reshape(ranks.shape)] = -np.inf
            if self.tree.code is not None and not every and self.depths.bits[number] > self.depths.bits[0] + TEXT_BROAD:
                alive = np.flatnonzero(ranks.max(axis=1) >= _HOPELESS)
                if len(alive) < lists:
                    kept = (np.arange(lists * width).reshape(lists, width))[alive].ravel()
                    front, ranks, lists = front.take(kept), ranks[alive], len(alive)
                    let_go, pulls, costs, caps = let_go[alive], pulls[alive], costs[alive], caps[alive]
                    if lists == 0:
                        return front, let_go
        order = np.argsort(-ranks, axis=1, kind="stable")
        scores, last = front.scores.reshape(ranks.shape), len(self.depths.bits) - 1
        let_go = np.logaddexp(let_go, self._weight(last, pulls, costs, scores, ranks, order[:, _LISTED:]))
        return front.take((order[:, :_LISTED] + np.arange(lists)[:, np.newaxis] * ranks.shape[1]).ravel()), let_go

    def _weight(
        self,
        number: int,
        pulls: NDArray[np.float64],
        costs: NDArray[np.float64],
        scores: NDArray[np.float32],
        ranks: NDArray[np.float32],
        some: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """The logarithm of the sum of prior times likelihood of some paths in each list."""
        coded = self.tree.code is not None
        # Of the ways to go on with a code few have the fingerprint that the path says.
        depth = self.depths.bits[number]
        bits = float(fingerprint_before(self.tree.fingerprint, depth) if coded else depth)
        table, per_error = self._evidence(number)
        found = np.empty(len(scores))
        tree_kernels.log_weights(scores, ranks, some, pulls, bits, per_error, table, found)
        return np.asarray(found - costs * self.depths.people[: number + 1].sum())

    def _root_of(self, paths: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return np.asarray(paths[:, 0] >> np.uint64(64 - self.depths.bits[0]))

    def _all_roots(self, levels: TreeLevels, caps: NDArray[np.float64]) -> Front:
        """Every root."""
        bits = self.depths.bits[0]
        paths = np.zeros((1 << bits, self.tree.path_words), np.uint64)
        paths[:, 0] = np.arange(len(paths), dtype=np.uint64) << np.uint64(64 - bits)
        said = levels.estimates[0, self.tree.row_buckets(0, paths).astype(np.int64)]
        return self._with_state(paths, np.minimum(said, caps[0]).astype(np.float32))

    def _with_state(self, roots: NDArray[np.uint64], scores: NDArray[np.float32]) -> Front:
        """Roots with the state their code bits lead to; impossible ones are left out."""
        tree = self.tree
        if tree.code is None:
            none = np.zeros(len(roots), np.int32)
            return Front(roots, scores, none, none.astype(np.float32))
        depth = self.depths.bits[0]
        bits = depth - min(tree.fingerprint, LEADING)  # what comes before them is fingerprint
        first = self._root_of(roots).astype(np.int64) & ((1 << bits) - 1)
        after, used = tree.code.jumps(tree.is_code(depth, bits))
        nodes, roots, scores = after[0, first], roots.copy(), scores.copy()
        ended = np.flatnonzero(nodes == tree.code.done)
        roots[ended], real = tree.completed(roots[ended], depth)
        scores[ended[~real]] = -np.inf
        front = Front(roots, scores, nodes, used[0, first].astype(np.float32))
        return front.take(np.flatnonzero((nodes >= 0) & (scores > -np.inf)))

    def _step(self, number: int) -> tree_kernels.Step:
        """What the kernels must know of the step to a depth."""
        tree, depth, chunk = self.tree, self.depths.bits[number], self.depths.chunks[number]
        after, more = np.zeros((1, 1), np.int32), np.zeros((1, 1), np.float32)
        if tree.code is not None:
            after, more = tree.code.jumps(tree.is_code(depth, chunk))
        return tree_kernels.Step(
            np.uint32(tree.bucket_key.low),
            np.uint32(tree.bucket_key.high),
            tree.arrays["parent_masks"],
            self.depths.rows[number],
            depth,
            chunk,
            tree.plan.bucket_bits,
            *self._evidence(number),
            after,
            more,
            -1 if tree.code is None else tree.code.done,
            tree.absent,
            tree.true,
            1.0 / max(float(self.depths.people[: number + 1].sum()), 1e-9),
            1.0 / (tree.gain * tree.symbols),
        )

    def _evidence(self, number: int) -> tuple[NDArray[np.float32], np.float32]:
        """The table that ranks texts down to a depth; an empty one for numbers, which are ranked by their scores."""
        per_error = np.float32(tree_kernels.EVIDENCE_STEPS / math.sqrt(self.depths.so_far[number]))
        if self.tree.code is None:
            return np.empty(0, np.float32), per_error
        if number not in self._tables:
            self._tables[number] = self.tree.evidence(float(self.depths.people[: number + 1].sum()))
        return self._tables[number], per_error

    def _needed_scores(self, number: int, cut: float) -> NDArray[np.float32]:
        """A score that a path needs for a rank of `cut`, for each number of code bits it may have used."""
        table, per_error = self._evidence(number)
        if not len(table) or cut == -math.inf:
            return np.array([cut], np.float32)
        errors = np.arange(len(table)) / tree_kernels.EVIDENCE_STEPS - tree_kernels.EVIDENCE_FROM
        wanted = np.interp(cut + np.arange(self.tree.bits + 1), table, errors, left=-np.inf)
        # A little less, so that rounding turns nobody away.
        return np.asarray((wanted - 0.01) * tree_kernels.EVIDENCE_STEPS / per_error, np.float32)

    def _expand(
        self, number: int, levels: TreeLevels, caps: NDArray[np.float64], front: Front
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Scores and ranks of all children, shape (paths, 2^chunk)."""
        scores = np.empty((len(front.paths), 1 << self.depths.chunks[number]), np.float32)
        ranks = np.empty_like(scores)
        caps = np.atleast_2d(caps)[:, self.depths.rows[number]].astype(np.float32)
        tree_kernels.expand(self._step(number), levels.estimates, caps, *front, scores, ranks)
        return scores, ranks

    def _grow(
        self, number: int, levels: TreeLevels, caps: NDArray[np.float64], front: Front, crowding: float
    ) -> tuple[Front, NDArray[np.float32], float]:
        """About as many of the best children as the beam is wide, at most a quota of each root, with their ranks.

        The rank at which the beam ends is estimated from some of the parents, so that nothing need be sorted.
        `crowding` is how many must reach that rank for one that the quotas let in: one depth above, and then here.
        """
        step, wanted, chunk = self._step(number), self._beam_widths[number], self.depths.chunks[number]
        every = max(1, (len(front.paths) << chunk) // _SAMPLE)
        sample = self._expand(number, levels, caps, front.take(np.arange(0, len(front.paths), every)))[1].ravel()
        sample = np.sort(sample[sample > -np.inf])[::-1]
        # Memory that is not written to costs nothing.
        places = np.empty(len(front.paths) << chunk, np.int64)
        scores, ranks = np.empty(len(places), np.float32), np.empty(len(places), np.float32)
        shift, quota = np.uint64(64 - self.depths.bits[0]), self._quotas[number]
        own_caps = caps[self.depths.rows[number]].astype(np.float32)
        reach = int(wanted * crowding)
        while True:
            cut = sample[reach // every] if reach // every < len(sample) else np.float32(-np.inf)
            cut = min(cut, self._highest_cut(number))
            needed = self._needed_scores(number, float(cut))
            filled, turned_away = tree_kernels.grow(
                step, levels.estimates, own_caps, *front, shift, quota, cut, needed, places, scores, ranks
            )
            if filled >= 0.8 * wanted or reach // every >= len(sample):
                break
            reach = max(wanted + turned_away, 2 * reach)
        crowding = min(max(reach / max(filled, 1), 1.0), 1e6)
        if filled > 1.2 * wanted and self.tree.code is not None:
            # Many paths are high because of what their roots have in common: the roots share the beam.
            filled = tree_kernels.share(self._root_of(front.paths), chunk, wanted, filled, places, scores, ranks)
        chosen = np.arange(filled)
        if filled > 1.2 * wanted:
            chosen = np.sort(np.argpartition(ranks[:filled], filled - wanted)[filled - wanted :])
        grown = self._descend(number, front, scores[chosen], places[chosen])
        possible = np.flatnonzero(grown.scores > -np.inf)
        return grown.take(possible), ranks[chosen[possible]], crowding

    def _highest_cut(self, number: int) -> np.float32:
        """The highest rank, in bits, at which a beam of texts may end: where it ends if nobody holds anything.

        If it would end higher, then many values begin alike, and the beam is full of their roots.
        """
        if self.tree.code is None:
            return np.float32(np.inf)
        known = fingerprint_before(self.tree.fingerprint, self.depths.bits[number])
        return np.float32(known - math.log2(self._beam_widths[number]) - _BELOW)

    def _descend(self, number: int, front: Front, scores: NDArray[np.float32], chosen: NDArray[np.int64]) -> Front:
        """The chosen children, with their scores."""
        chunk = self.depths.chunks[number]
        parents, last = chosen >> chunk, chosen & ((1 << chunk) - 1)
        grown = np.empty((len(chosen), front.paths.shape[1]), np.uint64)
        tree_kernels.with_chunk(front.paths, parents, last, self.depths.bits[number], chunk, grown)
        nodes, used = front.nodes[parents], front.used[parents]
        if self.tree.code is not None:
            depth, done = self.depths.bits[number], self.tree.code.done
            after, more = self.tree.code.jumps(self.tree.is_code(depth, chunk))
            open_ = np.flatnonzero(nodes != done)
            used[open_] += more[nodes[open_], last[open_]]
            nodes[open_] = after[nodes[open_], last[open_]]
            ended = open_[(nodes[open_] == done) & (scores[open_] > -np.inf)]
            grown[ended], real = self.tree.completed(grown[ended], depth)
            scores[ended[~real]] = -np.inf
        return Front(grown, scores, nodes, used)


def _contains(many: NDArray[np.uint64], some: NDArray[np.uint64]) -> NDArray[np.bool_]:
    known = {path.tobytes() for path in many}
    return np.array([path.tobytes() in known for path in some], bool)
