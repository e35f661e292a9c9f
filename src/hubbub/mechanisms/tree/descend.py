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

    def _odds(self, number: int, pull: float, cost: float) -> kernels.Odds:
        kind, rows = self.code.shape.classes[number], self.code.shape.rows
        so_far = np.cumsum(self.row_counts.people)
        people = np.array([so_far[kind.rows(step, rows).stop - 1] for step in range(len(kind.steps))])
        law, log_mass = self.law, float(self.code.log_masses[number])
        return kernels.Odds(law.absent, law.true, law.per_match, people, pull, cost, log_mass)

    def beam(self, number: int, caps: NDArray[np.float64]) -> Front:
        """The best paths of a class. No root may have more than a quarter of the beam."""
        kind = self.code.shape.classes[number]
        widths = self.in_beam.widths(kind)
        paths, scores, let_go = kernels.descend(
            self.code.kernel_rows[number],
            self.row_counts.estimates,
            caps.astype(np.float32),
            self._odds(number, 0.0, 0.0),
            widths,
            max(int(widths[0]) // 4, 1),
            0,
            np.zeros((1, kind.limbs), np.uint64),
            np.zeros(1, np.float32),
        )
        return Front(number, paths, scores, float(let_go))

    def list_of(self, number: int, path: Paths, caps: NDArray[np.float64], pull: float, cost: float) -> Front:
        """The best paths under the root of a path, best first, for a value of the size that the odds are for.

        What is let go is the logarithm of prior times likelihood, summed over all paths that left the list on the way,
        each counted where it left.
        """
        kind, rows = self.code.shape.classes[number], self.code.kernel_rows[number]
        root = np.zeros((1, kind.limbs), np.uint64)
        root[0, 0] = path[0] & (np.uint64(2**64 - 1) << np.uint64(64 - kind.steps[0]))
        bucket = np.empty((1, 1), np.uint64)
        kernels.buckets(rows, np.zeros(1, np.int64), root, bucket)
        said = self.row_counts.estimates[0, bucket[0].astype(np.int64)]
        widths = self.in_list.widths(kind)
        paths, scores, let_go = kernels.descend(
            rows,
            self.row_counts.estimates,
            caps.astype(np.float32),
            self._odds(number, pull, cost),
            widths,
            int(widths[0]),
            1,
            root,
            np.minimum(said, caps[0]).astype(np.float32),
        )
        order = np.argsort(-scores, kind="stable")
        return Front(number, paths[order], scores[order], float(let_go))
