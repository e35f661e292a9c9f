"""Figure 3: how often the Bucket mechanism finds the heavy hitter, where its theorem applies and where it does not.

The theorem applies if everybody else holds a value of her own. The end of section 4.2 says that Zipf crowds satisfy its
condition; they meet its rough form, but the condition itself only if they are very steep (E15). For Zipf 1.2 among 2^64
values the paper's vote fails in most runs even without noise; for 1.5 and 2 it finds the value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice

import numpy as np

from hubbub.model.mechanism import Histogram
from hubbub.paper import theorems
from hubbub.paper.study import BUCKET, BUCKET_HARD, DELTA, EPSILON, Study, decades, finds_first
from hubbub.simulation import population

BITS, SHARE = 32, 0.5
BETA = 0.1  # the mechanism's own, which sets its trials
ZIPF_BITS, ZIPF_VALUES, ZIPF_EXPONENTS = 64, 1000, (1.2, 1.5, 2.0)
_MULTIPLES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Successes:
    """In how many runs a decoder found the heavy hitter; `zipf` is None for the crowd of the theorem."""

    decoder: str
    zipf: float | None
    bits: int
    people: int
    successes: int
    runs: int


@dataclass(frozen=True)
class Setting:
    """The constants of the figure: the crowds, and how many people the theorem requires."""

    epsilon: float
    delta: float
    share: float
    bits: int
    zipf_bits: int
    zipf_values: int
    theorem_people: float
    corrected_people: float
    beta: float


@dataclass(frozen=True)
class BucketSuccess:
    """How often one decoder finds the heavy hitter, with the paper's noise."""

    decoder: str
    people: int
    zipf: float | None
    bits: int
    runs: int

    @property
    def name(self) -> str:
        """Decoder, crowd and size."""
        return f"{self.decoder} zipf {self.zipf} {self.bits} bits {self.people} people"

    def run(self, rng: np.random.Generator) -> Successes:
        """A new crowd and new hash functions in each run."""
        contender = (BUCKET if self.decoder == "soft" else BUCKET_HARD)["paper"]
        successes = 0
        for mechanism in islice(contender.mechanisms(self.people, self.bits, rng), self.runs):
            successes += finds_first(mechanism, self._crowd(rng), rng)
        return Successes(self.decoder, self.zipf, self.bits, self.people, successes, self.runs)

    def _crowd(self, rng: np.random.Generator) -> Histogram:
        """A crowd of the theorem's kind, or a Zipf crowd."""
        if self.zipf is None:
            return population.heavy(self.people, SHARE, None, self.bits, rng)
        return population.zipf(self.people, self.zipf, ZIPF_VALUES, self.bits, rng)


def theorem_people(corrected: bool) -> float:
    """The people that Theorem 4.8 requires if half of them hold one value and everybody else a value of her own.

    As printed, rows and trials are not whole numbers; corrected, they are those that are executed.
    """
    rows, trials = math.log2(12 * 2**BITS), 8 * math.log(1 / BETA)
    if corrected:
        rows, trials = math.ceil(rows), math.ceil(trials)
    scale = theorems.laplace_scale(EPSILON, DELTA, rows * trials)
    return theorems.bucket_needed_people(SHARE, rows, scale, corrected)


def _cells(quick: bool) -> list[BucketSuccess]:
    """The theorem's crowd in multiples of its people, and Zipf crowds, for both decoders."""
    multiples = _MULTIPLES[::2] if quick else _MULTIPLES
    grid = decades(5, 11, 2)[:: 4 if quick else 1]
    cells = []
    for decoder in ("hard", "soft"):
        crowds = [round(multiple * theorem_people(corrected=False)) for multiple in multiples]
        cells += [BucketSuccess(decoder, people, None, BITS, 10 if quick else 100) for people in crowds]
        for exponent in ZIPF_EXPONENTS:
            cells += [BucketSuccess(decoder, n, exponent, ZIPF_BITS, 3 if quick else 40) for n in grid]
    return cells


def _setting() -> Setting:
    """The constants of the figure."""
    return Setting(
        EPSILON,
        DELTA,
        SHARE,
        BITS,
        ZIPF_BITS,
        ZIPF_VALUES,
        theorem_people=theorem_people(corrected=False),
        corrected_people=theorem_people(corrected=True),
        beta=BETA,
    )


BUCKET_SUCCESS: Study[Setting, Successes] = Study("bucket-success", _cells, _setting)
