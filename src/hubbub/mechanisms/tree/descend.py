"""One descent, two policies: a beam over all roots of a class, and a list under one promising root."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree import kernels
from hubbub.mechanisms.tree.code import PathCode, Paths
from hubbub.mechanisms.tree.gates import InBeam, InList
from hubbub.mechanisms.tree.law import MatchLaw
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.tuning import TUNING


class Front(NamedTuple):
    """Whole paths of a class with their scores, and the log-weight of what was let go on the way to them."""

    number: int
    paths: Paths
    scores: NDArray[np.float32]
    let_go: float


class Descent(NamedTuple):
    """The row counts that are searched, and how."""

    code: PathCode
    law: MatchLaw
    row_counts: RowCounts
    in_beam: InBeam
    in_list: InList = InList()

    def beam(self, number: int, caps: NDArray[np.float64]) -> Front:
        """The best paths of a class. No root may have more than a small part of the beam."""
        kind = self.code.shape.classes[number]
        widths = self.in_beam.widths(kind)
        quota = max(int(widths[0]) >> TUNING.quota_bits, 1 << TUNING.list_bits)
        return self._below(np.zeros(kind.limbs, np.uint64), 0.0, 0, number, caps, widths, quota)

    def list_of(self, number: int, path: Paths, caps: NDArray[np.float64], pull: float, cost: float) -> Front:
        """The best paths under the root of a path, best first, for a value of the size that the odds are for.

        What is let go is the logarithm of prior times likelihood, summed over all paths that left the list on the way,
        each counted where it left.
        """
        kind, root = self.code.shape.classes[number], np.zeros_like(path)
        root[0] = path[0] & (np.uint64(2**64 - 1) << np.uint64(64 - kind.steps[0]))
        bucket = np.empty((1, 1), np.uint64)
        kernels.buckets(self.code.kernel_rows[number], np.zeros(1, np.int64), root[np.newaxis], bucket)
        said = min(float(self.row_counts.estimates[0, int(bucket[0, 0])]), float(caps[0]))
        widths = self.in_list.widths(kind)
        found = self._below(root, said, 1, number, caps, widths, int(widths[0]), pull, cost)
        order = np.argsort(-found.scores, kind="stable")
        return found._replace(paths=found.paths[order], scores=found.scores[order])

    def _below(
        self,
        path: Paths,
        score: float,
        begin: int,
        number: int,
        caps: NDArray[np.float64],
        widths: NDArray[np.int64],
        quota: int,
        pull: float = 0.0,
        cost: float = 0.0,
    ) -> Front:
        """The best paths below one that has this score, from a step on (see `kernels.descend`)."""
        kind, rows = self.code.shape.classes[number], self.code.shape.rows
        so_far = np.cumsum(self.row_counts.people)
        people = np.array([so_far[kind.rows(step, rows).stop - 1] for step in range(len(kind.steps))])
        law, log_mass = self.law, float(self.code.log_masses[number])
        odds = kernels.Odds(law.absent, law.true, law.per_match, people, pull, cost, log_mass)
        said, most = self.row_counts.estimates, caps.astype(np.float32)
        rows_of, start = self.code.kernel_rows[number], (path[np.newaxis], np.full(1, score, np.float32))
        paths, scores, let_go = kernels.descend(rows_of, said, most, odds, widths, quota, begin, *start)
        return Front(number, paths, scores, float(let_go))
