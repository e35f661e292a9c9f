"""Figure 3: how often the Bucket mechanism finds the heavy hitter, where its theorem applies and where it does not.

The theorem applies if everybody else holds a value of her own. The end of section 4.2 says that Zipf crowds satisfy its
condition; they meet its rough form, but the condition itself only if they are very steep (E15). For Zipf 1.2 among 2^64
values the paper's vote fails in most runs even without noise; for 1.5 and 2 it finds the value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, product

import numpy as np

from hubbub.paper import theorems
from hubbub.paper.study import BUCKET, BUCKET_HARD, DELTA, EPSILON, Cell, Study, decades, finds_first
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

    epsilon: float = EPSILON
    delta: float = DELTA
    share: float = SHARE
    bits: int = BITS
    zipf_bits: int = ZIPF_BITS
    zipf_values: int = ZIPF_VALUES
    theorem_people: float = field(default_factory=lambda: theorem_people(corrected=False))
    corrected_people: float = field(default_factory=lambda: theorem_people(corrected=True))
    beta: float = BETA


def bucket_success(
    decoder: str, zipf: float | None, bits: int, people: int, runs: int, rng: np.random.Generator
) -> Successes:
    """How often one decoder finds the heavy hitter, with the paper's noise: a new crowd and new hashes in each run."""
    contender = (BUCKET if decoder == "soft" else BUCKET_HARD)["paper"]
    successes = 0
    for mechanism in islice(contender.mechanisms(people, bits, rng), runs):
        if zipf is None:  # the theorem's crowd
            crowd = population.heavy(people, SHARE, None, bits, rng)
        else:
            crowd = population.zipf(people, zipf, ZIPF_VALUES, bits, rng)
        successes += finds_first(mechanism, crowd, rng)
    return Successes(decoder, zipf, bits, people, successes, runs)


def theorem_people(corrected: bool) -> float:
    """The people that Theorem 4.8 requires if half of them hold one value and everybody else a value of her own.

    As printed, rows and trials are not whole numbers; corrected, they are those that are executed.
    """
    rows, trials = math.log2(12 * 2**BITS), 8 * math.log(1 / BETA)
    if corrected:
        rows, trials = math.ceil(rows), math.ceil(trials)
    scale = theorems.laplace_scale(EPSILON, DELTA, rows * trials)
    return theorems.bucket_needed_people(SHARE, rows, scale, corrected)


def _cells(quick: bool) -> list[Cell[Successes]]:
    """The theorem's crowd in multiples of its people, and Zipf crowds, for both decoders."""
    multiples = _MULTIPLES[::2] if quick else _MULTIPLES
    crowds = [round(multiple * theorem_people(corrected=False)) for multiple in multiples]
    crowds_by_zipf: dict[float | None, list[int]] = {None: crowds}
    crowds_by_zipf |= dict.fromkeys(ZIPF_EXPONENTS, decades(5, 11, 2)[:: 4 if quick else 1])
    cells = []
    for decoder, (zipf, grid) in product(("hard", "soft"), crowds_by_zipf.items()):
        bits, runs = (BITS, 10 if quick else 100) if zipf is None else (ZIPF_BITS, 3 if quick else 40)
        for people in grid:
            run = partial(bucket_success, decoder, zipf, bits, people, runs)
            cells.append(Cell(f"{decoder} zipf {zipf} {bits} bits {people} people", run))
    return cells


BUCKET_SUCCESS: Study[Setting, Successes] = Study("bucket-success", _cells, Setting)
