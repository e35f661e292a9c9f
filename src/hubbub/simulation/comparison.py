"""Compares mechanisms and ε on the same people: what is found, how far counts are off, and what it costs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import REGISTRY, create_survey, mechanism_for
from hubbub.mechanisms.survey_mechanism import SurveyMechanism, make_reports
from hubbub.model.domain import Domain
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Histogram, Items, add_up
from hubbub.model.survey import SEED_BYTES
from hubbub.numeric.randomness import SeededRandomWords
from hubbub.simulation.compared import Compared, Comparison
from hubbub.simulation.peers import PEER, ask, job_for, python_of
from hubbub.simulation.rehearsal import check_draws

_AT_ONCE = 1 << 16


def compare(
    domain: Domain,
    crowd: Histogram,
    mechanisms: Sequence[str] | None = None,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0, 4.0),
    k: int = 10,
    runs: int = 1,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
    peers: str | None = None,
) -> Comparison:
    """Run mechanisms at several ε on the same people, person by person, and measure what each finds and costs.

    By default all registered mechanisms are run. Cases that cannot be run are left out, with the reason. The crowd has
    no singletons; the `k` most common values should be found. `peers` is the directory of a virtual environment with
    pure-ldp, which is then run on the same people.
    """
    python = None if peers is None else python_of(peers)
    if not epsilons or k < 1 or runs < 1:
        raise ParameterError(f"a comparison must have an epsilon, k and runs of at least 1, got k={k}, runs={runs}")
    order = np.argsort(-crowd.counts, kind="stable")
    crowd = Histogram(crowd.items[order], crowd.counts[order])
    k, epsilons = min(k, len(order)), list(dict.fromkeys(epsilons))
    rows: list[Compared] = []
    left_out: dict[str, str] = {}
    warm: set[str] = set()
    for name in dict.fromkeys(REGISTRY if mechanisms is None else mechanisms):
        why: dict[float, str] = {}
        for epsilon in epsilons:
            try:
                measured = []
                for run in range(runs):
                    rng = np.random.default_rng([seed, run])
                    survey = create_survey(
                        "compare", domain, epsilon, None, name, {}, crowd.people, public_seed=rng.bytes(SEED_BYTES)
                    )
                    built = mechanism_for(survey)
                    check_draws(built, crowd.people)
                    if name not in warm:  # compiling and loading must not be part of the measured time
                        warm.add(name)
                        _measure(built, Histogram(crowd.items[:1], np.array([64])), 1, seed)
                    measured.append(_measure(built, crowd, k, int(rng.integers(2**63))))
                    progress()
                rows.append(_averaged(measured))
            except ParameterError as error:
                if name not in REGISTRY:
                    raise
                why[epsilon] = str(error)
        left_out |= _left_out(name, why, len(epsilons))
    if python is not None:
        try:
            rows += _peer_rows(python, domain, crowd, epsilons, k, runs, seed)
        except ParameterError as error:
            left_out[PEER] = str(error)
    return Comparison(crowd.people, len(order), k, runs, seed, tuple(rows), left_out)


def _left_out(name: str, why: dict[float, str], epsilons: int) -> dict[str, str]:
    """The cases of a mechanism that could not be run; one case if it failed at all ε for the same reason."""
    if len(why) == epsilons and len(set(why.values())) == 1:
        return {name: next(iter(why.values()))}
    return {f"{name}, ε = {epsilon:g}": reason for epsilon, reason in why.items()}


def _measure(mechanism: SurveyMechanism, crowd: Histogram, k: int, seed: int) -> Compared:
    """One survey of everybody."""
    started = time.process_time()
    made = list(make_reports(mechanism, _everybody(crowd), SeededRandomWords(seed)))
    encoded = time.process_time()
    tally = add_up(mechanism, made)
    added = time.process_time()
    found = mechanism.discover(tally, Query(top=k))
    decoded = time.process_time()
    truth = {item.tobytes(): int(count) for item, count in zip(crowd.items, crowd.counts, strict=True)}
    least = int(crowd.counts[k - 1])
    held = np.array([truth.get(item.tobytes(), 0) for item in found.items], np.int64)
    limit = found.detection_limit
    return _compared(
        found.counts,
        held,
        least,
        k,
        mechanism=mechanism.survey.mechanism,
        epsilon=float(mechanism.survey.epsilon),
        delta=float(mechanism.survey.delta),
        detection_limit=limit if math.isfinite(limit) and limit <= crowd.people else None,
        report_bytes=mechanism.report_bytes,
        tally_bytes=mechanism.tally_bytes,
        encode_ns=1e9 * (encoded - started) / crowd.people,
        tally_ns=1e9 * (added - encoded) / crowd.people,
        decode_seconds=decoded - added,
    )


def _peer_rows(
    python: Path, domain: Domain, crowd: Histogram, epsilons: Sequence[float], k: int, runs: int, seed: int
) -> list[Compared]:
    """pure-ldp at every ε."""
    seeds = [int(np.random.default_rng([seed, run]).integers(2**31)) for run in range(runs)]
    jobs = [job_for(domain, crowd, epsilon, k, each) for epsilon in epsilons for each in seeds]
    answers = iter(ask(python, jobs))
    held = {int(item[0]): int(count) for item, count in zip(crowd.items, crowd.counts, strict=True)}
    return [_averaged([_peer_row(next(answers), epsilon, held, k) for _ in seeds]) for epsilon in epsilons]


def _peer_row(answer: dict[str, Any], epsilon: float, truth: dict[int, int], k: int) -> Compared:
    held = np.array([truth.get(value, 0) for value in answer["found"]], np.int64)
    return _compared(
        np.array(answer["counts"]),
        held,
        sorted(truth.values(), reverse=True)[k - 1],
        k,
        mechanism=f"{PEER} {answer['method']}",
        epsilon=epsilon,
        delta=0.0,
        detection_limit=None,
        report_bytes=answer["report_bytes"],
        tally_bytes=answer["tally_bytes"],
        encode_ns=1e3 * answer["encode_us_per_person"],
        tally_ns=1e3 * answer["tally_us_per_report"],
        decode_seconds=answer["decode_s"],
    )


def _compared(counts: NDArray[Any], held: NDArray[np.int64], least: int, k: int, **facts: Any) -> Compared:
    """The figures of found values with these counts and true counts; the k-th most common value has `least`."""
    hits = int(np.count_nonzero(held >= least))
    return Compared(
        recall=min(hits, k) / k,
        precision=hits / len(held) if len(held) else 1.0,
        f1=2 * hits / (len(held) + k),
        count_error=float(np.abs(counts - held).mean()) if len(held) else None,
        **facts,
    )


def _everybody(crowd: Histogram) -> Iterator[Items]:
    """The items of all people, in parts."""
    ends: NDArray[np.int64] = np.cumsum(crowd.counts)
    for start in range(0, crowd.people, _AT_ONCE):
        people = np.arange(start, min(start + _AT_ONCE, crowd.people))
        yield crowd.items[np.searchsorted(ends, people, side="right")]


def _averaged(measured: Sequence[Compared]) -> Compared:
    """The mean over runs; a field that is None in some runs is averaged over the others."""
    means: dict[str, Any] = {name: _mean(getattr(each, name) for each in measured) for name in _AVERAGED}
    return replace(measured[0], f1_of_runs=tuple(each.f1 for each in measured), **means)


_AVERAGED = (
    *("recall", "precision", "f1", "count_error", "detection_limit", "encode_ns", "tally_ns", "decode_seconds"),
)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
