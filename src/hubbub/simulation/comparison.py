"""Compares mechanisms and ε on the same people: what is found, how far counts are off, and what it costs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
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
from hubbub.simulation.peers import PEER, ask, job_for, python_of
from hubbub.simulation.rehearsal import check_draws

_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Compared:
    """One mechanism at one ε, as a mean over the runs.

    Attributes
    ----------
    mechanism : str
        Its name; it has its default options. For another library, the names of the library and of its method.
    epsilon, delta : float
        The privacy loss promised to each person.
    recall, precision, f1 : float
        Recall is the share of the k most common values that was found. Precision is the share of the found values that
        is among these, 1 if nothing was found. F1 is their harmonic mean, 2·hits/(found + k).
    count_error : float or None
        The mean error of the counts that were found, in people; None if nothing was found.
    detection_limit : float or None
        How many people must hold a value for it to be found with a chance of about 95 %; None if all people are not
        enough, or if the mechanism states no limit.
    report_bytes, tally_bytes : int
        The bytes of one report on the wire, and of the sums in memory.
    encode_ns, tally_ns : float
        CPU time for each person and for each report.
    decode_seconds : float
        CPU time of one search.
    """

    mechanism: str
    epsilon: float
    delta: float
    recall: float
    precision: float
    f1: float
    count_error: float | None
    detection_limit: float | None
    report_bytes: int
    tally_bytes: int
    encode_ns: float
    tally_ns: float
    decode_seconds: float


@dataclass(frozen=True)
class Comparison:
    """All mechanisms at all ε on the same people.

    Attributes
    ----------
    people, distinct : int
        How many people there are, and how many distinct values they hold.
    k : int
        The number of most common values that should be found.
    runs : int
        Repetitions of each case, with new noise and a new public seed.
    seed : int
        The seed of all runs.
    rows : tuple of Compared
        By mechanism, then by ε.
    left_out : dict
        The reason for each case that could not be run. A case is a mechanism, with its ε if others could be run.
    """

    people: int
    distinct: int
    k: int
    runs: int
    seed: int
    rows: tuple[Compared, ...]
    left_out: dict[str, str]

    @property
    def recommended(self) -> str | None:
        """The mechanism with the best mean F1 over all ε; among those within 0.01 of it, the one with the least errors.

        None if nothing could be run, or if none of the k most common values was found.
        """
        near = self._near
        return min(near, key=lambda name: self._mean_error(name, near), default=None)

    @property
    def reason(self) -> str:
        """The reason for the recommendation, in a sentence."""
        if all(row.mechanism.startswith(PEER) for row in self.rows):
            return "No mechanism can be run on these values."
        if (name := self.recommended) is None:
            what = "the most common value" if self.k == 1 else f"any of the {self.k} most common values"
            return f"No mechanism is recommended: none has found {what}. It takes more people or a larger ε."
        others = [row.mechanism for row in self.rows if row.mechanism != name]
        said = f"Recommended: {name}. Its F1 is {self._mean_f1(name):.2f} on average over ε"
        if others:
            second, near = max(dict.fromkeys(others), key=self._mean_f1), self._near
            said += f", that of {second} {self._mean_f1(second):.2f}"
            if second in near and math.isfinite(self._mean_error(name, near)):
                said += "; among equally good ones its counts have the smallest errors"
        return f"{said}."

    @property
    def _near(self) -> list[str]:
        """The mechanisms of hubbub whose mean F1 is within 0.01 of the best; empty if the best is 0."""
        names = [row.mechanism for row in self.rows if not row.mechanism.startswith(PEER)]
        scores = {name: self._mean_f1(name) for name in names}
        best = max(scores.values(), default=0.0)
        return [name for name, score in scores.items() if best > 0 and score >= best - 0.01]

    def _mean_f1(self, name: str) -> float:
        """The mean F1 over all ε."""
        return float(np.mean([row.f1 for row in self.rows if row.mechanism == name]))

    def _mean_error(self, name: str, rivals: Sequence[str]) -> float:
        """The mean error of counts over the ε at which all rivals have counts; infinite if there is no such ε."""
        errors = {(row.mechanism, row.epsilon): row.count_error for row in self.rows}
        shared = [
            error
            for (mechanism, epsilon), error in errors.items()
            if mechanism == name and all(errors.get((rival, epsilon)) is not None for rival in rivals)
        ]
        return float(np.mean(shared)) if shared else math.inf  # type: ignore[arg-type]  # its own is not None, either

    def to_json(self) -> dict[str, Any]:
        """The object that `hubbub compare --json` prints."""
        return {
            "people": self.people,
            "distinct": self.distinct,
            "k": self.k,
            "runs": self.runs,
            "seed": self.seed,
            "rows": [asdict(row) for row in self.rows],
            "left_out": [{"case": case, "reason": why} for case, why in self.left_out.items()],
            "recommended": self.recommended,
            "reason": self.reason,
        }


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

    Parameters
    ----------
    domain : Domain
        The values that can be held.
    crowd : Histogram
        The people, without singletons.
    mechanisms : names, optional
        By default all registered ones. Cases that cannot be run are left out, with the reason.
    epsilons : numbers
        Every mechanism is run with each of them.
    k : int
        The number of most common values that should be found.
    runs, seed : int
        The number of repetitions, and the seed of all.
    progress : function
        Called after every run.
    peers : str, optional
        The directory of a virtual environment with pure-ldp, which is then run on the same people.
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
    tally = add_up(mechanism, mechanism.survey_id, made)
    added = time.process_time()
    found = mechanism.discover(tally, Query(top=k))
    decoded = time.process_time()
    truth = {item.tobytes(): int(count) for item, count in zip(crowd.items, crowd.counts, strict=True)}
    least = int(crowd.counts[k - 1])
    held = np.array([truth.get(item.tobytes(), 0) for item in found.items], np.int64)
    limit = found.detection_limit
    return Compared(
        mechanism=mechanism.survey.mechanism,
        epsilon=float(mechanism.survey.epsilon),
        delta=float(mechanism.survey.delta),
        **_scores(held, least, k),
        count_error=float(np.abs(found.counts - held).mean()) if len(held) else None,
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
    least = sorted(truth.values(), reverse=True)[k - 1]
    return Compared(
        mechanism=f"{PEER} {answer['method']}",
        epsilon=epsilon,
        delta=0.0,
        **_scores(held, least, k),
        count_error=float(np.abs(np.array(answer["counts"]) - held).mean()) if len(held) else None,
        detection_limit=None,
        report_bytes=answer["report_bytes"],
        tally_bytes=answer["tally_bytes"],
        encode_ns=1e3 * answer["encode_us_per_person"],
        tally_ns=1e3 * answer["tally_us_per_report"],
        decode_seconds=answer["decode_s"],
    )


def _scores(held: NDArray[np.int64], least: int, k: int) -> dict[str, float]:
    """Recall, precision and F1 of found values with true counts `held`; the k-th most common value has `least`."""
    hits = int(np.count_nonzero(held >= least))
    return {
        "recall": min(hits, k) / k,
        "precision": hits / len(held) if len(held) else 1.0,
        "f1": 2 * hits / (len(held) + k),
    }


def _everybody(crowd: Histogram) -> Iterator[Items]:
    """The items of all people, in parts."""
    ends: NDArray[np.int64] = np.cumsum(crowd.counts)
    for start in range(0, crowd.people, _AT_ONCE):
        people = np.arange(start, min(start + _AT_ONCE, crowd.people))
        yield crowd.items[np.searchsorted(ends, people, side="right")]


def _averaged(measured: Sequence[Compared]) -> Compared:
    """The mean over runs; a field that is None in some runs is averaged over the others."""
    fields = {name: _mean(getattr(each, name) for each in measured) for name in _AVERAGED}
    first = measured[0]
    return Compared(
        first.mechanism,
        first.epsilon,
        first.delta,
        report_bytes=first.report_bytes,
        tally_bytes=first.tally_bytes,
        **fields,  # type: ignore[arg-type]  # which of them may be None is known
    )


_AVERAGED = (
    *("recall", "precision", "f1", "count_error", "detection_limit", "encode_ns", "tally_ns", "decode_seconds"),
)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
