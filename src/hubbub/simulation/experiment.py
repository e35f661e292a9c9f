"""Run a mechanism on a crowd that does not exist, many times, and compare with the truth and the theorem."""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hubbub.analysis import theorems
from hubbub.errors import ParameterError
from hubbub.mechanisms.bucket import Bucket
from hubbub.mechanisms.channels import LaplaceChannel, OneBitChannel
from hubbub.mechanisms.glps_hh import GLPSHeavyHitters
from hubbub.mechanisms.jl_hh import JLHeavyHitters
from hubbub.mechanisms.naive_laplace import NaiveLaplace
from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.mechanisms.tree import Tree
from hubbub.model.domain import Integers
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Histogram, Mechanism, TallySampler
from hubbub.model.numbers import parse_delta, parse_epsilon
from hubbub.model.tally import Tally
from hubbub.numeric.randomness import SeededWords
from hubbub.simulation import exponential
from hubbub.simulation.rehearsal import MAX_DRAWS, noise_draws, rehearse

BOUND_BETA = 0.05
"""The theorems' bounds are stated for this chance of failure."""

EXPONENTIAL = "exponential"
"""The centralised baseline: simulated beside the mechanisms, never one of them."""

Crowd = Callable[[np.random.Generator], Histogram]


@dataclass(frozen=True)
class Experiment:
    """What to simulate."""

    mechanism: str
    people: int
    crowd: Crowd
    bits: int
    epsilon: object = 1
    delta: object | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    runs: int = 1
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """What was seen."""

    found: bool
    mean_error: float | None  # None where it would be that of the value that was found, and none was
    max_error: float | None
    bound: float
    approximate: bool = False
    theorem: Mapping[str, Any] | None = None


def simulate(experiment: Experiment, progress: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """All runs of an experiment, as one JSON object. Runs are independent and repeatable from the seed."""
    started = time.perf_counter()
    outcomes, delta, options = [], "0", dict(experiment.options)
    for sequence in np.random.SeedSequence(experiment.seed).spawn(experiment.runs):
        rng = np.random.default_rng(sequence)
        if experiment.mechanism == EXPONENTIAL:
            outcomes.append(_run_exponential(experiment, rng))
        else:
            survey = create_survey(
                "simulation",
                Integers(experiment.bits),
                experiment.epsilon,  # type: ignore[arg-type]
                experiment.delta,  # type: ignore[arg-type]
                experiment.mechanism,
                experiment.options,
                expected_reports=experiment.people,
                public_seed=rng.bytes(32),
            )
            delta, options = format(survey.delta, "f"), dict(survey.options)
            outcomes.append(_run(experiment, mechanism_for(survey), survey.survey_id, rng))
        progress()
    found = sum(outcome.found for outcome in outcomes)
    means = [outcome.mean_error for outcome in outcomes if outcome.mean_error is not None]
    largest = [outcome.max_error for outcome in outcomes if outcome.max_error is not None]
    result: dict[str, Any] = {
        "mechanism": experiment.mechanism,
        "local": experiment.mechanism != EXPONENTIAL,
        "options": options,
        "people": experiment.people,
        "bits": experiment.bits,
        "epsilon": float(parse_epsilon(experiment.epsilon)),
        "delta": float(delta),
        "runs": experiment.runs,
        "seed": experiment.seed,
        "success_rate": found / experiment.runs,
        "successes": found,
        "mean_error": float(np.mean(means)) if means else None,
        "max_error": max(largest, default=None),
        "bound": float(max(outcome.bound for outcome in outcomes)),
        "bound_beta": BOUND_BETA,
        "approximate": any(outcome.approximate for outcome in outcomes),
    }
    if outcomes[0].theorem:
        result["theorem"] = dict(outcomes[0].theorem)
    result["seconds"] = time.perf_counter() - started
    result["peak_memory_mb"] = _peak_memory_mb()
    return result


def _run(experiment: Experiment, mechanism: Mechanism, survey_id: bytes, rng: np.random.Generator) -> Outcome:
    if not isinstance(mechanism, TallySampler):
        _check_people(experiment, mechanism)
    crowd = experiment.crowd(rng)
    tally = draw_tally(mechanism, survey_id, crowd, rng)
    best = mechanism.discover(tally, Query(top=1, best_guess=True))
    truth = {item.tobytes(): int(count) for item, count in zip(crowd.items, crowd.counts, strict=True)}
    held = truth.get(best.items[0].tobytes(), 0) if len(best) else 0
    found = bool(len(best)) and held == int(crowd.counts.max())
    norm = math.sqrt(float(np.sum(crowd.counts.astype(np.float64) ** 2)) + crowd.singletons)
    if isinstance(mechanism, JLHeavyHitters | NaiveLaplace):
        everything = np.arange(mechanism.size, dtype=np.uint64)[:, np.newaxis]
        true = np.zeros(mechanism.size)
        np.add.at(true, crowd.items[:, 0].astype(np.int64), crowd.counts)
        errors = np.abs(mechanism.estimate(tally, everything).counts - true)
        return Outcome(found, float(errors.mean()), float(errors.max()), theorem_bound(mechanism, crowd.people, norm))
    error = abs(float(best.counts[0]) - held) if found else None
    others = math.sqrt(max(norm**2 - float(held) ** 2, 0.0))
    theorem = _bucket_condition(mechanism, crowd, norm) if isinstance(mechanism, Bucket) else None
    bound = theorem_bound(mechanism, crowd.people, others)
    return Outcome(found, error, error, bound, crowd.singletons > 0, theorem)


def _check_people(experiment: Experiment, mechanism: Mechanism) -> None:
    """Refuse a crowd whose sums would be drawn person by person for longer than anyone wants to wait."""
    most = MAX_DRAWS // noise_draws(mechanism, 1)
    if experiment.people <= most:
        return
    instead = "simulate so many, and expect errors that grow with the square root of the people"
    name = experiment.mechanism
    if isinstance(mechanism, JLHeavyHitters):
        name, instead = "jl with projection=dense", "projection=hadamard has no such limit"
    raise ParameterError(
        f"people must be at most {most:,} for {name}, whose sums are drawn person by person "
        f"({MAX_DRAWS:.0e} draws of noise at most), got people={experiment.people:,}; {instead}"
    )


def draw_tally(mechanism: Mechanism, survey_id: bytes, crowd: Histogram, rng: np.random.Generator) -> Tally:
    """A crowd's tally: drawn at once where the mechanism can, person by person where it cannot."""
    if isinstance(mechanism, TallySampler):
        return mechanism.sample_tally(crowd, rng)
    everyone = (np.repeat(crowd.items[k : k + 1], crowd.counts[k], axis=0) for k in range(len(crowd.items)))
    return rehearse(mechanism, survey_id, everyone, SeededWords(int(rng.integers(2**63))))


def theorem_bound(mechanism: Mechanism, people: int, norm: float, beta: float = BOUND_BETA) -> float:
    """What the error exceeds with chance β at most: of all values for naive-laplace and jl, else of one fixed value."""
    if isinstance(mechanism, NaiveLaplace):
        epsilon = 2 * float(mechanism.channel.noise.rate)
        return theorems.naive_error(people, mechanism.size, epsilon, beta)
    if isinstance(mechanism, JLHeavyHitters):
        size, rows = mechanism.size, mechanism.rows
        if isinstance(mechanism.channel, OneBitChannel):
            gain = mechanism.channel.gain
            return theorems.jl_one_bit_error(people, size, norm, rows, gain, beta, mechanism.dense)
        scale = 1 / (float(mechanism.channel.noise.rate) * math.sqrt(rows))
        return theorems.jl_laplace_error(people, size, norm, rows, scale, beta, not mechanism.dense)
    if isinstance(mechanism, Tree):
        return theorems.normal_error(math.sqrt(mechanism.noise * people), beta)
    if isinstance(mechanism, Bucket):
        noise = mechanism.noise_stderr(people)
        return theorems.bucket_estimate_error(people, norm, mechanism.rows, noise, beta)
    if isinstance(mechanism, GLPSHeavyHitters):
        collisions = norm * mechanism.collision_share
        return theorems.normal_error(math.hypot(mechanism.noise_stderr(people), collisions), beta)
    raise ParameterError(f"a mechanism must have a bound to be simulated, got {type(mechanism).__name__}")


def _bucket_condition(mechanism: Bucket, crowd: Histogram, norm: float) -> dict[str, Any]:
    """Theorem 4.8: the count it asks of the heavy hitter, printed and corrected, beside the count it has."""
    count = int(crowd.counts.max())
    others = math.sqrt(max(norm**2 - float(count) ** 2, 0.0))
    if isinstance(mechanism.channel, LaplaceChannel):
        scale = 1 / float(mechanism.channel.noise.rate)
    else:  # the Laplace scale whose noise in a row's sum has the same variance
        scale = mechanism.noise_stderr(crowd.people) * math.sqrt(mechanism.rows / (8 * crowd.people))
    needed = {
        name: theorems.bucket_needed_count(crowd.people, others, mechanism.rows_per_trial, scale, corrected)
        for name, corrected in (("needed_as_printed", False), ("needed_corrected", True))
    }
    return {**needed, "heavy_hitter_count": count, "holds": count >= needed["needed_corrected"]}


def _run_exponential(experiment: Experiment, rng: np.random.Generator) -> Outcome:
    if experiment.options:
        raise ParameterError(f"exponential has no options, got option {next(iter(experiment.options))!r}")
    if experiment.delta is not None:
        parse_delta(experiment.delta)
    crowd = experiment.crowd(rng)
    epsilon = float(parse_epsilon(experiment.epsilon))
    best = exponential.heavy_hitter(crowd, 2**experiment.bits, epsilon, rng)
    most = int(crowd.counts.max())
    regret = float(most - (int(crowd.counts[best]) if best is not None else 0))
    bound = theorems.exponential_error(2**experiment.bits, epsilon, BOUND_BETA)
    return Outcome(regret == 0, regret, regret, bound)


def _peak_memory_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / (1 << 10)
