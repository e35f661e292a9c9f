"""Shared by the studies: the mechanisms that are compared, and the definitions of cells and studies.

A study is one figure. Its cells are independent, and the randomness of each follows from the seed and the cell's name.
So the numbers do not depend on the number of processes or on which figures are asked for.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.domain import Integers
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Histogram
from hubbub.model.survey import SEED_BYTES

EPSILON = 1.0
DELTA = 1e-6
"""The δ of the calibrations with Laplace noise; one bit has δ = 0."""

BETA = 0.05
"""Bounds hold and quantiles are taken with a chance of 1 − BETA."""

Row = TypeVar("Row")
Row_co = TypeVar("Row_co", covariant=True)
Setting = TypeVar("Setting")


@dataclass(frozen=True)
class Cell(Generic[Row_co]):
    """One point of a figure: its name, unique in its study, from which its randomness follows; and what measures it.

    `run` is sent to other processes, so it is a `partial` of a module's function. A row is a dataclass of plain data.
    """

    name: str
    run: Callable[[np.random.Generator], Row_co]


@dataclass(frozen=True)
class Study(Generic[Setting, Row]):
    """One figure: its name (also that of its files), its cells, and its constants.

    `cells` takes whether the run is a quick one; the setting is the same for both.
    """

    name: str
    cells: Callable[[bool], Sequence[Cell[Row]]]
    setting: Callable[[], Setting]


@dataclass(frozen=True)
class Measured(Generic[Setting, Row]):
    """The numbers of a figure: its setting, a row for each cell in their order, and seconds of processor time."""

    figure: str
    quick: bool
    seed: int
    setting: Setting
    rows: tuple[Row, ...]
    cpu_seconds: float

    def to_json(self) -> dict[str, Any]:
        """The content of the figure's JSON file."""
        return asdict(self)


def select(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows whose fields have these values."""
    return [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]


def of_type(rows: Iterable[object], kind: type[Row]) -> list[Row]:
    """The rows of one kind, for a figure with several kinds."""
    return [row for row in rows if isinstance(row, kind)]


def cell_generator(seed: int, study: str, cell: Cell[object]) -> np.random.Generator:
    """The generator of a cell."""
    return np.random.default_rng([seed, zlib.crc32(f"{study}: {cell.name}".encode())])


def finds_first(mechanism: SurveyMechanism, crowd: Histogram, rng: np.random.Generator) -> bool:
    """Whether the paper's answer (always one value) is the crowd's first value."""
    best = mechanism.sample(crowd, rng).discover(Query(top=1, best_guess=True))
    return bool(len(best)) and np.array_equal(best.items[0], crowd.items[0])


@dataclass(frozen=True)
class Contender:
    """A mechanism to compare: its label, its name and its options."""

    label: str
    mechanism: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def calibration(self) -> str:
        """The calibration: paper, tight or onebit; empty if the mechanism has none."""
        return self.options.get("calibration", "")

    def mechanisms(self, people: int, bits: int, rng: np.random.Generator) -> Iterator[SurveyMechanism]:
        """Yield mechanisms without end, each of a survey with a new public seed; parameters are derived once."""
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
            yield mechanism_for(survey)
            survey = replace(survey, public_seed=rng.bytes(SEED_BYTES))


CALIBRATIONS = ("paper", "tight", "onebit")

NAIVE = Contender("naive baseline", "naive-laplace")
TREE = Contender("tree (hubbub's default)", "tree")
SUBSET = Contender("subset (short lists)", "subset")
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


def decades(low: int, high: int, per_decade: int) -> list[int]:
    """Round numbers of people from 10^low to 10^high."""
    steps = (high - low) * per_decade
    return [round(10 ** (low + k / per_decade)) for k in range(steps + 1)]
