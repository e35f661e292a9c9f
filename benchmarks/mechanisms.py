"""What the mechanisms cost and how accurate they are: encode, tally, decode, bytes, memory, growth, error.

Every job runs in a process of its own, so that its peak memory is its own; see benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

import hubbub
from hubbub.mechanisms.channels import LaplaceChannel
from hubbub.mechanisms.jl_hh import HadamardJLHeavyHitters
from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.model.domain import Integers
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Histogram, Items, Mechanism, TallySampler
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.hadamard import transform
from hubbub.numeric.randomness import BulkWords
from hubbub.simulation import population
from hubbub.simulation.rehearsal import seeded_public_seed
from hubbub.wire.report_batch import encode_batch, parse_batch

SEED = 20120
REPEATS = 3
EPSILON = 1
EXPECTED_REPORTS = 100_000  # what surveys derive their rows for
BATCH_PEOPLE, BATCH_WORDS = 1 << 16, 1 << 22  # people stream in batches of at most this
DECODE_PEOPLE = 1_000_000  # behind a decoded tally whose reports are too large to make so many of them
ACCURACY_BITS, EPSILONS, CROWDS = 12, (0.5, 1, 2, 4), (100_000, 1_000_000)
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}

KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "naive-laplace": ("naive-laplace", {}),
    "jl onebit hadamard": ("jl", {"calibration": "onebit", "projection": "hadamard"}),
    "jl tight hadamard": ("jl", {"calibration": "tight", "projection": "hadamard"}),
    "jl paper hadamard": ("jl", {"calibration": "paper", "projection": "hadamard"}),
    "jl onebit dense": ("jl", {"calibration": "onebit", "projection": "dense"}),
    "bucket onebit soft": ("bucket", {"calibration": "onebit", "decoder": "soft"}),
    "bucket onebit hard": ("bucket", {"calibration": "onebit", "decoder": "hard"}),
    "bucket tight soft": ("bucket", {"calibration": "tight", "decoder": "soft"}),
    "bucket paper soft": ("bucket", {"calibration": "paper", "decoder": "soft"}),
}
JL, BUCKET = "jl onebit hadamard", "bucket onebit soft"


class Case(NamedTuple):
    """One row of the table: a mechanism with its options, a universe of 2^bits values, and a crowd."""

    kind: str
    bits: int
    people: int


Row = dict[str, Any]
Job = Callable[..., Row]

FULL = [Case("naive-laplace", 8, 20_000), Case("naive-laplace", 12, 1_000)]
FULL += [Case(JL, bits, 1_000_000) for bits in (10, 16, 20, 24)]
FULL += [Case("jl tight hadamard", 12, 1_000), Case("jl paper hadamard", 12, 1_000)]
FULL += [Case("jl onebit dense", 10, 1_000_000)]
FULL += [Case(BUCKET, bits, 1_000_000) for bits in (32, 64, 128, 256, 512)]
FULL += [Case("bucket onebit hard", 32, 1_000_000)]
FULL += [Case("bucket tight soft", 32, 4_000), Case("bucket paper soft", 32, 4_000)]
FULL_GROWTH = [Case(kind, bits, n) for kind, bits in ((JL, 16), (BUCKET, 64)) for n in (10**4, 10**5, 10**6)]
QUICK = [Case("naive-laplace", 8, 2_000), *(Case(JL, bits, 200_000) for bits in (10, 16, 20))]
QUICK += [Case("jl tight hadamard", 12, 100), *(Case(BUCKET, bits, 200_000) for bits in (32, 128, 256))]
QUICK_GROWTH = [Case(JL, 16, n) for n in (10**4, 10**5, 10**6)]


# Jobs: each runs in a process of its own and returns plain data.


def build(kind: str, bits: int, epsilon: float = EPSILON, reports: int = EXPECTED_REPORTS, seed: int = SEED) -> Survey:
    """The survey of a case, the same each time."""
    name, options = KINDS[kind]
    public = seeded_public_seed(seed)
    return create_survey(kind, Integers(bits), epsilon, None, name, options, reports, public_seed=public)


def clock() -> NDArray[np.float64]:
    """CPU and wall time, in seconds."""
    return np.array([time.process_time(), time.perf_counter()])


def best(repeat: Callable[[], object]) -> NDArray[np.float64]:
    """CPU and wall time of the best of some repetitions."""
    spent = []
    for _ in range(REPEATS):
        before = clock()
        repeat()
        spent.append(clock() - before)
    return np.asarray(np.min(spent, axis=0))


def peak_mib() -> float:
    """The most memory this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (20 if sys.platform == "darwin" else 10))


def half_hold_one(bits: int) -> Histogram:
    """A crowd in which half the people hold one value and the others one of a thousand."""
    return population.heavy(DECODE_PEOPLE, 0.5, min(1_000, 2**bits - 2), bits, np.random.default_rng(SEED))


def stream(crowd: Histogram, people: int, batch: int) -> Iterator[Items]:
    """Such a crowd of any size, a batch at a time."""
    rng = np.random.default_rng(SEED)
    for start in range(0, people, batch):
        size = min(batch, people - start)
        yield crowd.items[rng.integers(0, len(crowd.items), size) * rng.integers(0, 2, size)]


def run_reports(survey: Survey, mechanism: Mechanism, batches: Iterator[Items]) -> tuple[NDArray[np.float64], Tally]:
    """Encode and tally a crowd; returns the times of both phases, shape (2, 2), and the tally."""
    words, cells, count = BulkWords(), np.zeros(mechanism.cells_shape, np.int64), 0
    spent = np.zeros((2, 2))
    for items in batches:
        start = clock()
        reports = mechanism.randomize(items, words.draw(len(items), mechanism.words_per_report))
        sent = encode_batch(survey.survey_id, reports)
        middle = clock()
        received = parse_batch(sent, survey.survey_id, mechanism.report_dtype)
        valid = received[mechanism.validate(received)]
        mechanism.accumulate(cells, valid)
        spent += [middle - start, clock() - middle]
        count += len(valid)
    return spent, Tally(survey.survey_id, count, cells)


def warm_up() -> Row:
    """Import and compile everything on tiny crowds; returns the memory that takes."""
    for kind, (name, _) in KINDS.items():
        bits = 32 if name == "bucket" else 8
        survey = build(kind, bits)
        mechanism = mechanism_for(survey)
        _, tally = run_reports(survey, mechanism, stream(half_hold_one(bits), 10, 10))
        mechanism.discover(tally, Query(top=20))
    return {"peak_mib": peak_mib()}


def measure(kind: str, bits: int, people: int) -> Row:
    """Everything about one case."""
    warm_up()
    before = clock()
    survey = build(kind, bits)
    mechanism = mechanism_for(survey)
    crowd = half_hold_one(bits)
    batch = max(1, min(BATCH_PEOPLE, BATCH_WORDS // mechanism.words_per_report))
    _, tally = run_reports(survey, mechanism, stream(crowd, 1, 1))
    times = {"setup": clock() - before}  # with the tables that the first report builds

    passes = []
    for _ in range(REPEATS):
        spent, tally = run_reports(survey, mechanism, stream(crowd, people, batch))
        passes.append(spent)
    times["encode"], times["tally"] = np.min(passes, axis=0)
    after_reports = peak_mib()

    laplace = isinstance(getattr(mechanism, "channel", None), LaplaceChannel)
    if laplace and isinstance(mechanism, TallySampler):
        tally = mechanism.sample_tally(crowd, np.random.default_rng(SEED))
    times["decode"] = best(lambda: mechanism.discover(tally, Query(top=20)))
    after_decode = peak_mib()

    words = BulkWords()
    parts = [min(batch, people - start) for start in range(0, people, batch)]
    times["words_alone"] = best(lambda: [words.draw(part, mechanism.words_per_report) for part in parts])
    cells = int(np.prod(mechanism.cells_shape))
    if laplace:
        answers = np.ones((batch, cells), mechanism.report_dtype["answers"].base)
        times["plain_sums"] = best(lambda: [answers[:part].sum(axis=0, dtype=np.int64) for part in parts])
    else:
        rows = np.random.default_rng(SEED).integers(0, cells, people)
        times["plain_sums"] = best(lambda: np.bincount(rows, minlength=cells))
    if isinstance(mechanism, HadamardJLHeavyHitters):
        spectrum = np.random.default_rng(SEED).integers(-1000, 1000, 2**bits)
        times["bare_transform"] = best(lambda: transform(spectrum))
    return {
        "kind": kind,
        "bits": bits,
        "people": people,
        "decoded_people": tally.count,
        "cells": cells,
        "report_bytes": mechanism.report_dtype.itemsize,
        "tally_bytes": 8 * cells,
        "words_per_report": mechanism.words_per_report,
        "people_per_cpu_second": people / times["encode"][0],
        "encode_ns_per_person": 1e9 * times["encode"][0] / people,
        "tally_ns_per_report": 1e9 * times["tally"][0] / people,
        "found": len(mechanism.discover(tally, Query(top=20))),
        "peak_mib_after_reports": after_reports,
        "peak_mib_after_decode": after_decode,
        **{f"{name}_cpu_seconds": float(spent[0]) for name, spent in times.items()},
        **{f"{name}_wall_seconds": float(spent[1]) for name, spent in times.items()},
    }


def accuracy(kind: str, epsilon: float, people: int, seeds: int) -> Row:
    """The error of all counts over some seeds, measured and predicted, and the best there can be."""
    measured, predicted = [], []
    items = np.arange(2**ACCURACY_BITS, dtype=np.uint64)[:, np.newaxis]
    for seed in range(SEED, SEED + seeds):
        rng = np.random.default_rng(seed)
        crowd = population.zipf(people, 1.0, 1_000, ACCURACY_BITS, rng)
        mechanism = mechanism_for(build(kind, ACCURACY_BITS, epsilon, people, seed))
        if not isinstance(mechanism, TallySampler):
            raise TypeError(f"accuracy needs a mechanism with sample_tally, got {kind}")
        estimates = mechanism.estimate(mechanism.sample_tally(crowd, rng), items)
        truth = np.zeros(len(items))
        truth[crowd.items[:, 0].astype(np.int64)] = crowd.counts
        measured.append(np.mean((estimates.counts - truth) ** 2))
        predicted.append(np.mean(estimates.stderrs**2))
    return {
        "kind": kind,
        "epsilon": epsilon,
        "people": people,
        "seeds": seeds,
        "measured": math.sqrt(np.mean(measured)),
        "predicted": math.sqrt(np.mean(predicted)),
        "best_possible": math.sqrt(people) * 2 * math.exp(epsilon / 2) / math.expm1(epsilon),
    }


def all_accuracy(seeds: int) -> Row:
    """The accuracy section in one process."""
    kinds = ("jl onebit hadamard", "jl tight hadamard", "jl paper hadamard", "naive-laplace")
    return {"rows": [accuracy(kind, e, n, seeds) for kind in kinds for n in CROWDS for e in EPSILONS]}


JOBS: dict[str, Job] = {"warm_up": warm_up, "measure": measure, "all_accuracy": all_accuracy}


# The parent: it starts jobs, one at a time, and stays small, since a child's peak starts from its parent's.


def run_job(name: str, **arguments: object) -> Row:
    """One job in a process of its own, on one thread."""
    print(f"{name} {' '.join(map(str, arguments.values()))}", file=sys.stderr, flush=True)
    command = [sys.executable, str(Path(__file__)), "--job", json.dumps([name, arguments])]
    done = subprocess.run(command, env={**os.environ, **ONE_THREAD}, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout))


def collect(cases: Sequence[Case], growth: Sequence[Case], seeds: int, job: Job = run_job) -> Row:
    """All numbers of a run."""
    job("warm_up")  # fills the compiler's cache, so that no job's peak is the compiler's
    baseline = job("warm_up")["peak_mib"]
    rows = {case: job("measure", **case._asdict()) for case in dict.fromkeys([*cases, *growth])}
    return {
        "seed": SEED,
        "epsilon": EPSILON,
        "repeats": REPEATS,
        "environment": environment(),
        "baseline_mib": baseline,
        "cases": [rows[case] for case in cases],
        "growth_in_people": [rows[case] for case in growth],
        "accuracy": job("all_accuracy", seeds=seeds)["rows"],
    }


def environment() -> Row:
    """Versions and the processor; nothing that names the machine."""
    info = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    versions = {"numpy": np.__version__, "numba": numba.__version__, "hubbub": hubbub.__version__}
    return {"python": platform.python_version(), **versions, "cpu": model, "cores": os.cpu_count()}


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The exponent k of the power law y ~ x^k that fits best; nan for fewer than two points."""
    return float(np.polyfit(np.log(xs), np.log(ys), 1)[0]) if len(xs) > 1 else math.nan


# The page.


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table, the first column to the left and numbers to the right, with three digits each."""
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)]]
    lines += [[digits(cell) if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def digits(number: float) -> str:
    """Three significant digits, without exponents."""
    decimals = 0 if number == 0 else max(0, 2 - math.floor(math.log10(abs(number))))
    return f"{number:,.{decimals}f}"


def label(row: Row) -> str:
    """The name of a case."""
    return f"{row['kind']}, 2^{row['bits']}"


def fitted(rows: Sequence[Row], by: Callable[[Row], float], names: Sequence[str]) -> str:
    """Exponents of the growth of some times."""
    fits = [(name, slope([by(row) for row in rows], [row[f"{name}_cpu_seconds"] for row in rows])) for name in names]
    return ", ".join(f"{name} {fit:.2f}" for name, fit in fits)


def page(results: Row) -> str:
    """The results for people."""
    cases, growth, base = results["cases"], results["growth_in_people"], results["baseline_mib"]
    jl, bucket = ([row for row in cases if row["kind"] == kind] for kind in (JL, BUCKET))
    made = ", ".join(f"{name} {version}" for name, version in results["environment"].items())
    time_rows = [
        [label(row), f"{row['people']:,}", row["encode_ns_per_person"], f"{row['people_per_cpu_second']:,.0f}"]
        + [row["tally_ns_per_report"], 1e3 * row["decode_cpu_seconds"], row["found"], 1e3 * row["setup_cpu_seconds"]]
        for row in cases
    ]
    size_rows = [
        [label(row), f"{row['report_bytes']:,}", f"{row['tally_bytes']:,}"]
        + [f"{max(0, row[f'peak_mib_after_{phase}'] - base):.0f}" for phase in ("reports", "decode")]
        for row in cases
    ]
    limit_rows = [
        [label(row)]
        + [
            row[f"{phase}_cpu_seconds"] / row[f"{limit}_cpu_seconds"] if f"{limit}_cpu_seconds" in row else "–"
            for phase, limit in (("encode", "words_alone"), ("tally", "plain_sums"), ("decode", "bare_transform"))
        ]
        for row in cases
    ]
    growth_rows = [
        [label(row), f"{row['people']:,}", 1e3 * row["encode_cpu_seconds"], 1e3 * row["tally_cpu_seconds"]]
        + [f"{max(0, row['peak_mib_after_reports'] - base):.0f}"]
        for row in growth
    ]
    people_fits = "\n".join(
        f"- {kind} against people (1 is linear): {fitted(rows, lambda row: row['people'], ('encode', 'tally'))}."
        for kind in dict.fromkeys(row["kind"] for row in growth)
        if (rows := [row for row in growth if row["kind"] == kind])
    )
    errors = [
        [row["kind"], f"{row['people']:,}", str(row["epsilon"]), row["best_possible"], row["measured"]]
        + [row["predicted"]]
        + [row["measured"] / row["best_possible"]]
        for row in results["accuracy"]
    ]
    phases = ("encode", "tally", "decode")
    n_log_n = slope([2.0 ** row["bits"] for row in jl], [2.0 ** row["bits"] * row["bits"] for row in jl])
    return f"""# Benchmarks

What each mechanism costs a device, a collector and an analyst, how that grows, and how far its counts are off.
Made by `{results["command"]}` (benchmarks/README.md) with {made}; seed {results["seed"]}.

## How it was measured

- **Encode** is a device's work: draw the words (`BulkWords`), randomise, write the bytes. **Tally** is the
  collector's: parse, validate, add up. **Decode** is the analyst's: `discover` with `Query(top=20)`.
- Times are CPU time of one thread, the best of {results["repeats"]} repetitions after everything was compiled. Wall
  time is in the `--json` file.
- ε = {results["epsilon"]}, rows for {EXPECTED_REPORTS:,} expected reports. Half the people hold one value, the others
  one of a thousand. People arrive in batches of {BATCH_PEOPLE:,}, or fewer where reports are large.
- Where a report carries Laplace noise in every coordinate, a million of them are too many to make: encode and tally
  have fewer people, and decode reads a tally of {DECODE_PEOPLE:,} drawn from its law (`sample_tally`).
- Every case runs in its own process. Memory is its peak above the {base:.0f} MiB of a process that only
  imports and compiles.

## Time

**Set-up** is creating the survey, building its tables and the first report; it is paid once. The soft decoder of
`bucket` takes one pass for each value it finds and one more to see that nothing is left.

{
        table(
            ["mechanism, universe", "people", "encode, ns each", "encoded per second", "tally, ns each"]
            + ["decode, ms", "found", "set-up, ms"],
            time_rows,
        )
    }

## Bytes and memory

{
        table(
            ["mechanism, universe", "bytes per report", "bytes of a tally"]
            + ["MiB to encode and tally", "MiB with decode"],
            size_rows,
        )
    }

## Against a limit

How many times longer each phase takes than something it cannot do without, measured in the same process: encode
against drawing its words and nothing else; tally against one plain numpy sum (`bincount` of rows known beforehand for
one bit, `sum` of a matrix otherwise); decode of `jl` against one bare Walsh–Hadamard transform. 1 is the best possible.

{table(["mechanism, universe", "encode / words", "tally / numpy", "decode / transform"], limit_rows)}

## How cost grows

Exponents k of time ~ size^k, fitted to all points by least squares in logarithms. Fixed costs flatten small sizes.

{people_fits}
- {JL} against values, 2^{jl[0]["bits"]} to 2^{jl[-1]["bits"]} (N log N would be {n_log_n:.2f} here):
  {fitted(jl, lambda row: 2.0 ** row["bits"], phases)}.
- {BUCKET} against bits, {bucket[0]["bits"]} to {bucket[-1]["bits"]} (decode is at most 3):
  {fitted(bucket, lambda row: row["bits"], phases)}.

People stream, so memory grows up to one batch ({BATCH_PEOPLE:,} people) and then no more:

{table(["mechanism, universe", "people", "encode, ms", "tally, ms", "MiB to encode and tally"], growth_rows)}

## Accuracy

The root mean square error of a count over all 2^{ACCURACY_BITS} values and {results["accuracy"][0]["seeds"]} seeds,
beside the standard error the mechanism itself states, for a Zipf crowd of a thousand values. No local mechanism's
frequency oracle is known to do better than √n·2e^(ε/2)/(e^ε − 1), here **best**. `jl tight` and `jl paper` have
δ = 10⁻⁶, `naive-laplace` δ = 10⁻¹⁵, `jl onebit` δ = 0.

{table(["mechanism", "people", "ε", "best", "measured", "stated", "measured / best"], errors)}
"""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases, in under a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="write the page")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        name, named = json.loads(arguments.job)
        print(json.dumps(JOBS[name](**named)))
        return
    results = collect(QUICK, QUICK_GROWTH, 2) if arguments.quick else collect(FULL, FULL_GROWTH, 8)
    given = [" --quick"] * arguments.quick + [f" --write {arguments.write}"] * bool(arguments.write)
    results["command"] = "python benchmarks/mechanisms.py" + "".join(given)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if arguments.write:
        arguments.write.write_text(page(results), "utf-8")
    else:
        print(page(results))


if __name__ == "__main__":
    main()
