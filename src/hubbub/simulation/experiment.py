"""Runs a mechanism on a simulated crowd, many times, and compares with the truth and the theorem."""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hubbub.errors import ParameterError, shown
from hubbub.mechanisms.registry import REGISTRY, create_survey, mechanism_for
from hubbub.mechanisms.roles import Condition
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.domain import Integers
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Histogram
from hubbub.model.numbers import parse_delta, parse_epsilon
from hubbub.model.survey import SEED_BYTES
from hubbub.simulation import exponential, population
from hubbub.simulation.rehearsal import MAX_DRAWS

BOUND_BETA = 0.05
"""The failure probability β for which the theorems' bounds are stated."""

EXPONENTIAL = "exponential"
"""The name of the centralised baseline. It can be simulated, but it is not one of the mechanisms."""

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
    """The outcome of one run.

    Attributes
    ----------
    found : bool
        Whether the most common value was found (or one of several).
    mean_error, max_error : float or None
        In people: over all values if all are scored, else of the found value; None if none was found.
    bound : float
        The bound that the error exceeds with a chance of at most `BOUND_BETA`, in people.
    bound_kind : str
        "theorem" if the bound is proved; "normal" if it is the mechanism's normal approximation, without a theorem, for
        the count of one value that is fixed beforehand.
    of_every_value : bool
        Whether errors and bound are about all values.
    approximation : str
        How the crowd's law is approximate; empty if it is exact.
    condition : Condition or None
        The condition of the mechanism's theorem, for this crowd.
    """

    found: bool
    mean_error: float | None
    max_error: float | None
    bound: float
    bound_kind: str
    of_every_value: bool = False
    approximation: str = ""
    condition: Condition | None = None


@dataclass(frozen=True)
class Simulated:
    """All runs of an experiment together: the settings and the results."""

    mechanism: str
    local: bool
    options: Mapping[str, object]
    people: int
    bits: int
    epsilon: float
    delta: float
    runs: int
    seed: int
    success_rate: float
    successes: int
    mean_error: float | None
    max_error: float | None
    bound: float
    bound_kind: str
    bound_beta: float
    approximate: bool
    theorem: Condition | None
    seconds: float
    peak_memory_mb: float
    of_every_value: bool
    approximation: str

    def to_json(self) -> dict[str, Any]:
        """The object that `hubbub simulate --json` prints; without `theorem` if the mechanism has no condition."""
        fields = asdict(self)
        del fields["of_every_value"], fields["approximation"]
        if self.theorem is None:
            del fields["theorem"]
        return fields


def simulate(experiment: Experiment, progress: Callable[[], None] = lambda: None) -> Simulated:
    """All runs of an experiment. Runs are independent and repeatable from the seed."""
    started = time.perf_counter()
    if experiment.mechanism not in (names := (*REGISTRY, EXPONENTIAL)):
        raise ParameterError(
            f"mechanism must be one of {', '.join(names)}, got mechanism={shown(experiment.mechanism)}"
        )
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
                public_seed=rng.bytes(SEED_BYTES),
            )
            delta, options = format(survey.delta, "f"), dict(survey.options)
            outcomes.append(_run(experiment, mechanism_for(survey), rng))
        progress()
    found = sum(outcome.found for outcome in outcomes)
    means = [outcome.mean_error for outcome in outcomes if outcome.mean_error is not None]
    largest = [outcome.max_error for outcome in outcomes if outcome.max_error is not None]
    return Simulated(
        mechanism=experiment.mechanism,
        local=experiment.mechanism != EXPONENTIAL,
        options=options,
        people=experiment.people,
        bits=experiment.bits,
        epsilon=float(parse_epsilon(experiment.epsilon)),
        delta=float(delta),
        runs=experiment.runs,
        seed=experiment.seed,
        success_rate=found / experiment.runs,
        successes=found,
        mean_error=float(np.mean(means)) if means else None,
        max_error=max(largest, default=None),
        bound=float(max(outcome.bound for outcome in outcomes)),
        bound_kind=outcomes[0].bound_kind,
        bound_beta=BOUND_BETA,
        approximate=any(outcome.approximation for outcome in outcomes),
        theorem=outcomes[0].condition,
        seconds=time.perf_counter() - started,
        peak_memory_mb=_peak_memory_mb(),
        of_every_value=outcomes[0].of_every_value,
        approximation=outcomes[0].approximation,
    )


def _run(experiment: Experiment, mechanism: SurveyMechanism, rng: np.random.Generator) -> Outcome:
    """One run: draw a crowd and its tally, search it, and compare with the truth."""
    if not mechanism.samples_any_crowd:
        _check_people(experiment, mechanism)
    crowd = experiment.crowd(rng)
    if not mechanism.samples_any_crowd:  # everybody reports, so everybody must hold a value
        crowd = population.listed(crowd, experiment.bits, rng)
    drawn = mechanism.sample(crowd, rng)
    best = drawn.discover(Query(top=1, best_guess=True))
    truth = {item.tobytes(): int(count) for item, count in zip(crowd.items, crowd.counts, strict=True)}
    held = truth.get(best.items[0].tobytes(), 0) if len(best) else 0
    found = bool(len(best)) and held == int(crowd.counts.max())
    if mechanism.bounds_every_count:
        errors = np.abs(drawn.counts_of_all() - crowd.dense_counts(mechanism.size))
        bound = mechanism.largest_error_bound(crowd, BOUND_BETA)
        return Outcome(found, float(errors.mean()), float(errors.max()), bound, "theorem", True, drawn.approximation)
    error = abs(float(best.counts[0]) - held) if found else None
    others = math.sqrt(max(crowd.norm**2 - float(held) ** 2, 0.0))
    bound = mechanism.error_bound(crowd.people, others, BOUND_BETA)
    condition = mechanism.heavy_hitter_condition(crowd)
    return Outcome(found, error, error, bound, "normal", approximation=drawn.approximation, condition=condition)


def _check_people(experiment: Experiment, mechanism: SurveyMechanism) -> None:
    """Refuse a crowd that is too large to be simulated person by person."""
    most = MAX_DRAWS // mechanism.noise_draws
    if experiment.people > most:
        raise ParameterError(
            f"people must be at most {most:,} for {mechanism.label}, whose sums are drawn person by person "
            f"({MAX_DRAWS:.0e} draws of noise at most), got people={experiment.people:,}; "
            f"{mechanism.instead_of_sampling}"
        )


def _run_exponential(experiment: Experiment, rng: np.random.Generator) -> Outcome:
    """One run of the centralised baseline, which sees every value."""
    if experiment.options:
        raise ParameterError(f"exponential has no options, got option {next(iter(experiment.options))!r}")
    if experiment.delta is not None:
        parse_delta(experiment.delta)
    crowd = experiment.crowd(rng)
    epsilon = float(parse_epsilon(experiment.epsilon))
    best = exponential.heavy_hitter(crowd, 2**experiment.bits, epsilon, rng)
    most = int(crowd.counts.max())
    regret = float(most - (int(crowd.counts[best]) if best is not None else 0))
    bound = exponential.error_bound(2**experiment.bits, epsilon, BOUND_BETA)
    return Outcome(regret == 0, regret, regret, bound, "theorem")


def _peak_memory_mb() -> float:
    """The most memory that this process has had, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / (1 << 10)
