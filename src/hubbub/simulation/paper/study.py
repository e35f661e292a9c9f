"""What the studies share: who is compared, how a crowd is asked, what a cell and a study are.

A study is one figure. Its cells do not know of each other, and each draws from the seed and its own name, so that the
numbers do not depend on how many processes there are or on which figures are asked for.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.model.domain import Integers
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Histogram, Mechanism
from hubbub.model.survey import SEED_BYTES
from hubbub.model.tally import Tally
from hubbub.simulation.experiment import draw_tally

EPSILON = 1.0
DELTA = 1e-6
"""Of the calibrations with Laplace noise; one bit has none."""

BETA = 0.05
"""Bounds hold and quantiles are taken with a chance of 1 − BETA."""

Row = dict[str, Any]


class Cell(Protocol):
    """One point of a figure."""

    @property
    def name(self) -> str:
        """Unique in its study: the randomness follows from it."""

    def run(self, rng: np.random.Generator) -> Row:
        """Measure the point. The row is plain data."""


@dataclass(frozen=True)
class Study:
    """One figure: its name (of its files, too), its cells, and what is known about all of it without running."""

    name: str
    cells: Callable[[bool], Sequence[Cell]]
    setting: Callable[[bool], Mapping[str, Any]]


def cell_generator(seed: int, study: str, cell: Cell) -> np.random.Generator:
    """The generator of a cell."""
    return np.random.default_rng([seed, zlib.crc32(f"{study}: {cell.name}".encode())])


class Open(NamedTuple):
    """A survey that is being asked: its mechanism and its id."""

    mechanism: Mechanism
    survey_id: bytes

    def ask(self, crowd: Histogram, rng: np.random.Generator) -> Tally:
        """The crowd's tally: drawn at once where that is possible, else person by person."""
        return draw_tally(self.mechanism, self.survey_id, crowd, rng)

    def finds_first(self, crowd: Histogram, rng: np.random.Generator) -> bool:
        """Whether the answer, as the paper has it (always one value), is the crowd's first value."""
        best = self.mechanism.discover(self.ask(crowd, rng), Query(top=1, best_guess=True))
        return bool(len(best)) and np.array_equal(best.items[0], crowd.items[0])


@dataclass(frozen=True)
class Contender:
    """A mechanism as it is compared: a name for people and what creates it."""

    label: str
    mechanism: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def calibration(self) -> str:
        """paper, tight or onebit; nothing where there is no choice."""
        return self.options.get("calibration", "")

    def surveys(self, people: int, bits: int, rng: np.random.Generator) -> Iterator[Open]:
        """One survey after another, each with a public seed of its own; parameters are derived once."""
        survey = create_survey(
            "paper",
            Integers(bits),
            EPSILON,
            DELTA if self.calibration in ("paper", "tight") else None,
            self.mechanism,
            self.options,
            expected_reports=people,
            public_seed=rng.bytes(SEED_BYTES),
        )
        while True:
            yield Open(mechanism_for(survey), survey.survey_id)
            survey = replace(survey, public_seed=rng.bytes(SEED_BYTES))


CALIBRATIONS = ("paper", "tight", "onebit")

NAIVE = Contender("naive baseline", "naive-laplace")
TREE = Contender("tree (hubbub's default)", "tree")
JL = {c: Contender("JL-HH", "jl", {"calibration": c}) for c in CALIBRATIONS}
BUCKET = {c: Contender("Bucket", "bucket", {"calibration": c}) for c in CALIBRATIONS}
BUCKET_HARD = {c: Contender("Bucket, vote", "bucket", {"calibration": c, "decoder": "hard"}) for c in CALIBRATIONS}
GLPS = {c: Contender("GLPS-HH", "glps", {"calibration": c, "decoder": "faithful"}) for c in CALIBRATIONS}
GLPS_STAGED = {
    c: Contender("GLPS-HH, staged, s = 4", "glps", {"calibration": c, "decoder": "faithful", "sparsity": "4"})
    for c in CALIBRATIONS
}
GLPS_LEAN = {
    c: Contender("GLPS-HH, lean, s = 1", "glps", {"calibration": c, "layout": "lean", "sparsity": "1"})
    for c in CALIBRATIONS
}


def norm(crowd: Histogram) -> float:
    """‖v‖₂."""
    return math.sqrt(float(np.sum(np.square(crowd.counts.astype(np.float64)))) + crowd.singletons)


def decades(low: int, high: int, per_decade: int) -> list[int]:
    """Round numbers of people from 10^low to 10^high."""
    steps = (high - low) * per_decade
    return [round(10 ** (low + k / per_decade)) for k in range(steps + 1)]
