"""Which of the paths that the search found are real.

A path passes if its pooled evidence would be rare for a value that nobody holds, and if that evidence is not better
explained otherwise: by a collision of one row with another value, by one of its neighbours in the tree, or by a
neighbour that fell out of the list. The remaining doubt is summed over all accepted paths and has an upper limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.fit import trusted_rows
from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.paths import Front
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.model.estimates import Query

_TWIN_NATS = 40.0  # a path that is less likely than the best by more than this is ignored
_MOST_TWINS = 3


def accept(
    tree: TreeGeometry, row_counts: RowCounts, front: Front, let_go: NDArray[np.float64], query: Query, doubt: float
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """From each list of paths, the best path if it is real, with its twins; and the doubt about each accepted path.

    `front` holds the lists one after the other; all have the same length. `let_go` is, for each list, the log-weight
    of the paths that fell out of it (see `list_roots`). The doubt about a path is the odds that one of its neighbours
    is the real value; the doubts of all accepted lists together are at most `doubt`.
    """
    lists = len(let_go)
    if lists == 0:
        return front.paths, np.empty(0)
    each = len(front.paths) // lists
    people = float(row_counts.people.sum())
    needed = tree.acceptance_counts(front.paths, int(people), query).reshape(lists, each)
    rows = row_counts.parts(tree.buckets(front.paths)).reshape(lists, each, -1)
    totals = rows.sum(axis=2)
    is_value = tree.codec.completed(front.paths, tree.codec.bits)[1]
    possible = (is_value & np.isfinite(front.scores)).reshape(lists, each)
    lead = np.where(possible, totals - needed, -np.inf)
    best = np.argmax(lead, axis=1)
    pulls, costs, caps = odds(tree, row_counts, totals[np.arange(lists), best] / people)
    # The prior evidence against each path, in nats: the code bits that it used, or all bits of a number.
    prior = (math.log(2) * front.used).reshape(lists, each) if tree.coded else math.log(2) * tree.codec.bits
    said = np.minimum(rows, caps[:, np.newaxis, :]).sum(axis=2)
    weights = pulls[:, np.newaxis] * said - costs[:, np.newaxis] * people - prior
    weights = np.where(possible, weights, -np.inf)
    own = np.maximum(weights[np.arange(lists), best], -1e300)  # a list without a value has −∞
    judge = _Judge(tree, row_counts, query, collision_chance(tree, lists))
    twins = [
        judge.twins(front.paths[k * each : (k + 1) * each], weights[k], best[k])
        if lead[k, best[k]] >= 0
        else np.empty(0, np.int64)
        for k in range(lists)
    ]
    for number, others in enumerate(twins):
        weights[number, others] = -np.inf
    weights[np.arange(lists), best] = let_go  # now each row holds every alternative to the best, listed or not
    doubts = np.exp(np.clip(np.logaddexp.reduce(weights, axis=1) - own, -700.0, 700.0))
    for number, place in enumerate(best):
        path = front.paths[number * each + place][np.newaxis]
        if lead[number, place] < 0 or not judge.carried(path, rows[number, place]):
            doubts[number] = np.inf
    order = np.argsort(doubts, kind="stable")
    sure = order[np.cumsum(doubts[order]) <= doubt]
    chosen = [(number * each + place, doubts[number]) for number in sure for place in (best[number], *twins[number])]
    return (
        front.paths[np.array([place for place, _ in chosen], np.int64)],
        np.array([each for _, each in chosen], np.float64),
    )


@dataclass(frozen=True)
class _Judge:
    """Judges single paths; `collision` is the chance that a bucket holds another value."""

    tree: TreeGeometry
    row_counts: RowCounts
    query: Query
    collision: float

    def carried(self, path: NDArray[np.uint64], parts: NDArray[np.float64]) -> bool:
        """True if the evidence for a path does not hang on a few rows, which a collision or forged reports may lift.

        `parts` is the estimate of each row for the path, in people. Three tests: the count must stay rare for an
        absent value when any one row is left out (at a level that is milder by the chance of a collision); the rows
        that agree with one another must suffice alone; and if rows still disagree, the upper, middle and lower third
        of the path must each show at least a quarter of the expected count.
        """
        tree, row_counts = self.tree, self.row_counts
        people = row_counts.people
        rare = tree.codec.log_priors(path)[0] + math.log(self.query.level / 4)  # as in `acceptance_counts`
        alone = rare - math.log(self.collision * tree.rows)
        for row in range(
            1 if tree.plan.chunks[0] == tree.plan.bucket_bits else 0, tree.rows
        ):  # a root that is not hashed cannot collide
            rest = float(parts.sum() - parts[row])
            if rest < tree.count_threshold(int(people.sum() - people[row]), min(alone, -math.log(2))):
                return False
        trusted, even = trusted_rows(tree, row_counts, parts)
        if parts[trusted].sum() < tree.count_threshold(int(people[trusted].sum()), rare):
            return False
        if even:
            return True
        share = parts.sum() / people.sum()
        middle = (np.cumsum(people) - people / 2) / people.sum()
        thirds = np.minimum((3 * middle).astype(np.int64), 2)
        return all(parts[thirds == k].sum() >= 0.25 * share * people[thirds == k].sum() for k in range(3))

    def twins(self, paths: NDArray[np.uint64], weights: NDArray[np.float64], best: int) -> NDArray[np.int64]:
        """Places in the list of other values that are real beside the best one, at most 3.

        A twin shares the best value's buckets down to the row where their paths part, so only the rows below can tell
        them apart. In those rows alone, both must stand out among all values that could part there. Paths of numbers
        are hashed and do not begin alike, so numbers have no twins.
        """
        tree, row_counts = self.tree, self.row_counts
        if not tree.coded:
            return np.empty(0, np.int64)
        rivals = np.flatnonzero(weights > weights[best] - _TWIN_NATS)
        rivals = rivals[rivals != best]
        if not len(rivals):
            return np.empty(0, np.int64)
        own, others = tree.buckets(paths[[best]]), tree.buckets(paths[rivals])
        apart = own != others
        first = row_counts.parts(own)
        second = row_counts.parts(others)
        lengths = -tree.codec.log_priors(paths[rivals])
        found = []
        for k, rival in enumerate(rivals):
            people = int(row_counts.people[apart[k]].sum())
            shared = int(np.argmax(apart[k]))  # the row where they part
            depth = tree.plan.depths[shared] if shared else 0
            # The number of ways, in nats, to continue below that row with the same fingerprint.
            known = tree.codec.unranked_bits[depth]
            ways = max(lengths[k] - math.log(2) * (depth - known), 0.0)
            log_level = math.log(self.query.level / 4) - max(ways - math.log(2) * known, math.log(8))
            least = tree.count_threshold(people, log_level)
            if first[0, apart[k]].sum() >= least and second[k, apart[k]].sum() >= least:
                found.append(rival)
        return np.array(found[:_MOST_TWINS], np.int64)


def odds(
    tree: TreeGeometry, row_counts: RowCounts, shares: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The log-likelihood ratio that a value is held by a given share of the people rather than by nobody.

    A report matches the value with chance `absent` if nobody holds it, and with a larger one if that share does, so the
    ratio is linear in the number of matches, and thus in the estimate.

    With a small chance a bucket also holds another value of similar size, which would explain a high estimate equally
    well. So the evidence from one row is capped at the logarithm of that chance. A root that is not hashed has no
    collisions, and no cap.

    Returns
    -------
    pulls, costs : float arrays
        For each value, in nats: what each estimated person adds, and what each report subtracts.
    caps : float array, shape (values, rows)
        The largest estimate, in people, that counts in each row for each value.
    """
    absent = tree.absent
    held = absent + np.clip(shares, 0.0, 1.0) * (tree.true - absent)
    match, miss = np.log(held / absent), np.log((1 - held) / (1 - absent))
    pulls, costs = (match - miss) / tree.per_match, -absent * match - (1 - absent) * miss
    most = -math.log(collision_chance(tree, len(pulls)))
    caps = (most + np.outer(costs, row_counts.people)) / np.maximum(pulls, 1e-30)[:, np.newaxis]
    if tree.plan.chunks[0] == tree.plan.bucket_bits:
        caps[:, 0] = np.inf
    return pulls, costs, np.asarray(caps)


def collision_chance(tree: TreeGeometry, values: int) -> float:
    """The chance that a bucket holds another large value, assuming twice as many large values as given; at most 1/2."""
    return min(max(2 * values, 16) / (1 << tree.plan.bucket_bits), 0.5)
