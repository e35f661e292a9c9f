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
from hubbub import BulkRandomWords, Histogram, Integers, Mechanism, Survey, Tally, create_survey, mechanism_for
from hubbub.mechanisms.registry import REGISTRY
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Items
from hubbub.numeric.hadamard import transform
from hubbub.simulation import population
from hubbub.simulation.rehearsal import randomness_of
from hubbub.wire.report_batch import encode_batch, parse_batch

try:
    from benchmarks.short_page import write_section
except ModuleNotFoundError:  # run as a script, whose own folder is on the path
    from short_page import write_section  # type: ignore[import-not-found,no-redef]

SEED, REPEATS, EPSILON = 1, 3, "1"
EXPECTED_REPORTS = 100_000  # what surveys derive their rows for
BATCH_PEOPLE, BATCH_WORDS = 1 << 16, 1 << 22  # people stream in batches of at most this
MILLION = 1_000_000
ACCURACY_BITS, EPSILONS, CROWDS = 12, ("0.5", "1", "2", "4"), (100_000, MILLION)
ACCURACY_KINDS = ("jl onebit hadamard", "jl tight hadamard", "jl paper hadamard", "naive-laplace")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Row = dict[str, Any]


class Case(NamedTuple):
    """A mechanism with its options, a universe of 2^bits values, and a crowd."""

    kind: str
    bits: int
    people: int


JL, BUCKET = "jl onebit hadamard", "bucket onebit soft"
FULL = [
    *(Case("naive-laplace", bits, people) for bits, people in ((8, 20_000), (12, 1_000))),
    *(Case(JL, bits, MILLION) for bits in (10, 16, 20, 24)),
    *(Case(f"jl {calibration} hadamard", 12, 1_000) for calibration in ("tight", "paper")),
    Case("jl onebit dense", 10, MILLION),
    *(Case(BUCKET, bits, MILLION) for bits in (32, 64, 128, 256, 512)),
    Case("bucket onebit hard", 32, MILLION),
    *(Case(f"bucket {calibration} soft", 32, 4_000) for calibration in ("tight", "paper")),
    *(Case(f"tree {size}", bits, MILLION) for size in ("small", "standard") for bits in (32, 64, 128)),
]
THOUSANDS = (10, 30, 100, 300, 1000)
FULL_GROWTH = [Case(kind, bits, 1000 * n) for kind, bits in ((JL, 16), (BUCKET, 64)) for n in THOUSANDS]
QUICK = [Case("naive-laplace", 8, 2_000), Case("jl tight hadamard", 12, 100)]
QUICK += [Case(JL, bits, 100_000) for bits in (10, 16, 20)]
QUICK += [Case(BUCKET, bits, 100_000) for bits in (32, 128, 256)] + [Case("tree small", 64, 100_000)]
QUICK_GROWTH = [Case(JL, 16, 10**n) for n in (4, 5, 6)]
WARM_UP = {kind: {"bucket": 32, "tree": 24}.get(kind.split()[0], 8) for kind, _, _ in FULL}


def build(kind: str, bits: int, epsilon: str = EPSILON, reports: int = EXPECTED_REPORTS, seed: int = SEED) -> Survey:
    """The survey of a case, the same each time."""
    name, *values = kind.split()
    names = [option.name for option in REGISTRY[name].about.options]  # a case gives the first of them
    options, public_seed = dict(zip(names, values, strict=False)), randomness_of(seed)[0]
    return create_survey(kind, Integers(bits), epsilon, None, name, options, reports, public_seed=public_seed)


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
    return population.heavy(MILLION, 0.5, min(1_000, 2**bits - 2), bits, np.random.default_rng(SEED))


def stream(crowd: Histogram, people: int, batch: int) -> Iterator[Items]:
    """Such a crowd of any size, a batch at a time."""
    rng = np.random.default_rng(SEED)
    for start in range(0, people, batch):
        size = min(batch, people - start)
        yield crowd.items[rng.integers(0, len(crowd.items), size) * rng.integers(0, 2, size)]


def run_reports(survey: Survey, mechanism: Mechanism, batches: Iterator[Items]) -> tuple[NDArray[np.float64], Tally]:
    """Encode and tally a crowd; returns the times of both phases, shape (2, 2), and the tally."""
    random_words, cells, count = BulkRandomWords(), np.zeros(mechanism.cells_shape, np.int64), 0
    spent = np.zeros((2, 2))
    for items in batches:
        start = clock()
        reports = mechanism.randomize(items, random_words.draw(len(items), mechanism.random_words_per_report))
        sent = encode_batch(survey.survey_id, reports)
        middle = clock()
        received = parse_batch(sent, survey.survey_id, mechanism.report_dtype)
        valid = received[mechanism.validate(received)]
        mechanism.accumulate(cells, valid)
        spent += [middle - start, clock() - middle]
        count += len(valid)
    return spent, Tally(survey.survey_id, count, cells)


def warm_up(all_decoders: bool = False) -> Row:
    """Import and compile on tiny crowds; returns the memory that takes.

    A search takes memory however small the crowd is. So `tree` decodes only if asked to; once is enough for the
    compiler's cache.
    """
    for kind, bits in WARM_UP.items():
        survey = build(kind, bits)
        mechanism = mechanism_for(survey)
        _, tally = run_reports(survey, mechanism, stream(half_hold_one(bits), 11, 10))
        if all_decoders or not kind.startswith("tree"):
            mechanism.discover(tally, Query(top=20))
    return {"peak_mib": peak_mib()}


def measure(kind: str, bits: int, people: int) -> Row:
    """Everything about one case."""
    warm_up()
    crowd, start = half_hold_one(bits), clock()
    survey = build(kind, bits)
    mechanism = mechanism_for(survey)
    run_reports(survey, mechanism, stream(crowd, 1, 1))  # builds the tables that the first report needs
    times = {"setup": clock() - start}

    batch = max(1, min(BATCH_PEOPLE, BATCH_WORDS // mechanism.random_words_per_report))
    passes = [run_reports(survey, mechanism, stream(crowd, people, batch))[0] for _ in range(REPEATS - 1)]
    spent, tally = run_reports(survey, mechanism, stream(crowd, people, batch))
    times["encode"], times["tally"] = np.min([spent, *passes], axis=0)
    sizes = {"reports_peak_mib": peak_mib()}
    laplace = "responses" in (mechanism.report_dtype.names or ())
    if laplace and mechanism.samples_at_once:
        tally = mechanism.sample_tally(crowd, np.random.default_rng(SEED))
    times["decode"] = best(lambda: mechanism.discover(tally, Query(top=20)))
    sizes["decode_peak_mib"] = peak_mib()

    # The limits, after the peaks were read.
    parts, random_words = [len(items) for items in stream(crowd, people, batch)], BulkRandomWords()
    times["words"] = best(
        lambda: sum(len(random_words.draw(part, mechanism.random_words_per_report)) for part in parts)
    )
    cells = int(np.prod(mechanism.cells_shape))
    if laplace:
        responses = np.ones((batch, cells), mechanism.report_dtype["responses"].base)
        times["numpy"] = best(lambda: sum(responses[:part].sum(axis=0, dtype=np.int64) for part in parts))
    else:
        rows = np.random.default_rng(SEED).integers(0, cells, people)
        times["numpy"] = best(lambda: np.bincount(rows, minlength=cells))
    if "hadamard" in kind:
        spectrum = np.random.default_rng(SEED).integers(-1000, 1000, 2**bits)
        times["transform"] = best(lambda: transform(spectrum))

    cpu = {name: float(spent[0]) for name, spent in times.items()}
    limits = (("encode", "words"), ("tally", "numpy"), ("decode", "transform"))
    return {
        **Case(kind, bits, people)._asdict(),
        "case": f"{kind}, 2^{bits}",
        "values": 2.0**bits,
        "bytes_per_report": mechanism.report_dtype.itemsize,
        "bytes_of_tally": 8 * cells,
        "encode_ns_per_person": 1e9 * cpu["encode"] / people,
        "people_per_second": round(people / cpu["encode"]),
        "tally_ns_per_report": 1e9 * cpu["tally"] / people,
        "decoded_people": tally.count,
        "found": len(mechanism.discover(tally, Query(top=20))),
        **{f"{name}_ms": 1e3 * seconds for name, seconds in cpu.items()},
        **{f"{name}_wall_ms": 1e3 * float(spent[1]) for name, spent in times.items()},
        **{f"{name}_over_{limit}": cpu[name] / cpu[limit] for name, limit in limits if limit in cpu},
        **sizes,
    }


def accuracy(kind: str, people: int, epsilon: str, seeds: int) -> Row:
    """The error of all counts over some seeds, measured and predicted, beside the best there can be."""
    measured, predicted = [], []
    items = np.arange(2**ACCURACY_BITS, dtype=np.uint64)[:, np.newaxis]
    for seed in range(SEED, SEED + seeds):
        rng = np.random.default_rng(seed)
        crowd = population.zipf(people, 1.0, 1_000, ACCURACY_BITS, rng)
        mechanism: Any = mechanism_for(build(kind, ACCURACY_BITS, epsilon, people, seed))
        estimates = mechanism.estimate(mechanism.sample_tally(crowd, rng), items)
        truth = np.zeros(len(items))
        truth[crowd.items[:, 0].astype(np.int64)] = crowd.counts
        measured.append(np.mean((estimates.counts - truth) ** 2))
        predicted.append(np.mean(estimates.stderrs**2))
    row = {"mechanism": kind, "people": people, "epsilon": epsilon, "seeds": seeds}
    errors = {"measured": math.sqrt(np.mean(measured)), "predicted": math.sqrt(np.mean(predicted))}
    limit = math.sqrt(people) * 2 * math.exp(float(epsilon) / 2) / math.expm1(float(epsilon))
    return {**row, "best": limit, **errors, **{f"{name}_over_best": error / limit for name, error in errors.items()}}


def accuracies(seeds: int) -> Row:
    """The whole section on accuracy."""
    return {"rows": [accuracy(kind, n, e, seeds) for kind in ACCURACY_KINDS for n in CROWDS for e in EPSILONS]}


JOBS: dict[str, Callable[..., Row]] = {"warm_up": warm_up, "measure": measure, "accuracies": accuracies}


# The parent starts one job at a time and does nothing else: a child's peak memory begins with its parent's.


def run_job(name: str, **arguments: object) -> Row:
    """One job in a process of its own, on one thread."""
    print(name, *arguments.values(), file=sys.stderr, flush=True)
    command = [sys.executable, __file__, "--job", json.dumps([name, arguments])]
    done = subprocess.run(command, env={**os.environ, **ONE_THREAD}, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout))


def collect(cases: Sequence[Case], growth: Sequence[Case], seeds: int, job: Callable[..., Row] = run_job) -> Row:
    """All numbers of a run."""
    job("warm_up", all_decoders=True)  # fills the compiler's cache, so that no peak is the compiler's
    baseline = job("warm_up")["peak_mib"]
    rows = {case: job("measure", **case._asdict()) for case in dict.fromkeys([*cases, *growth])}
    for row in rows.values():
        row |= {f"{phase}_mib": round(max(0, row[f"{phase}_peak_mib"] - baseline)) for phase in ("reports", "decode")}
    cpuinfo = Path("/proc/cpuinfo").read_text("utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in cpuinfo if line.startswith("model name")), platform.machine())
    versions = {"numpy": np.__version__, "numba": numba.__version__, "hubbub": hubbub.__version__}
    return {
        "seed": SEED,
        "versions": {"python": platform.python_version(), **versions},
        "cpu": {"model": model, "cores": os.cpu_count()},
        "baseline_mib": baseline,
        "cases": [rows[case] for case in cases],
        "growth": [rows[case] for case in growth],
        "accuracy": job("accuracies", seeds=seeds)["rows"],
    }


def cell(value: object) -> str:
    """A number with three digits or its thousands apart; text as it is."""
    if isinstance(value, float) and value > 0:
        return f"{value:,.{max(0, 2 - math.floor(math.log10(value)))}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(rows: Sequence[Row], columns: str) -> str:
    """A Markdown table of some fields, named as in the JSON file."""
    keys = columns.split()
    lines = [[key.replace("_", " ").replace("mib", "MiB") for key in keys], ["---", *["---:"] * (len(keys) - 1)]]
    lines += [[cell(row.get(key, "–")) for key in keys] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def slopes(rows: Sequence[Row], size: str, phases: str) -> str:
    """The exponents k of time ~ size^k of some phases, by least squares in logarithms."""
    sizes = [row[size] for row in rows]
    times = {name: [row[f"{name}_ms"] for row in rows] for name in phases.split()}
    fits = {name: np.polyfit(np.log(sizes), np.log(spent), 1)[0] for name, spent in times.items()}
    return ", ".join(f"{name} **{fit:.2f}**" for name, fit in fits.items())


def page(results: Row) -> str:
    """The results for people; what was measured is told by the section of that name in README.md."""
    readme = Path(__file__).with_name("README.md").read_text("utf-8")
    explained = readme[readme.index("## What is measured") :].split("\n## ")[0].strip()
    cases, growth = results["cases"], results["growth"]
    jl, bucket = ([row for row in cases if row["kind"] == kind] for kind in (JL, BUCKET))
    wide = [row for row in bucket if row["bits"] > 64]
    grown = "".join(
        f"- {case}, by people: {slopes([row for row in growth if row['case'] == case], 'people', 'encode tally')}.\n"
        for case in dict.fromkeys(row["case"] for row in growth)
    )
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return f"""# Benchmarks

This measures what each mechanism costs a device, a collector and an analyst, how that cost grows, and how far its
counts are off.

Made by `{results["command"]}` from seed {results["seed"]} with
{versions} on {results["cpu"]["cores"]} cores ({results["cpu"]["model"]}).
A process that only imports and compiles takes {results["baseline_mib"]:.0f} MiB of memory.

{explained}

## Time

{table(cases, "case people encode_ns_per_person people_per_second tally_ns_per_report decode_ms found setup_ms")}

## Bytes and memory

{table(cases, "case bytes_per_report bytes_of_tally reports_mib decode_mib")}

## Against a limit

{table(cases, "case encode_over_words tally_over_numpy decode_over_transform")}

## How cost grows

{grown}- {JL}, by values, 2^{jl[0]["bits"]} to 2^{jl[-1]["bits"]}: {slopes(jl, "values", "encode tally decode")}.
- {BUCKET}, by bits, {bucket[0]["bits"]} to {bucket[-1]["bits"]}: {slopes(bucket, "bits", "encode tally")}.
- {BUCKET}, by bits, {wide[0]["bits"]} to {wide[-1]["bits"]}: {slopes(wide, "bits", "decode")}.

{table(growth, "case people encode_ms tally_ms reports_mib")}

## Accuracy

{table(results["accuracy"], "mechanism people epsilon best measured predicted measured_over_best predicted_over_best")}
"""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases, in under a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="write its section instead of printing it")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        name, arguments = json.loads(given.job)
        print(json.dumps(JOBS[name](**arguments)))
        return
    results = collect(QUICK, QUICK_GROWTH, 1) if given.quick else collect(FULL, FULL_GROWTH, 8)
    written = f" --write {given.write.name if given.write.is_absolute() else given.write}" if given.write else ""
    results["command"] = "python benchmarks/mechanisms.py" + " --quick" * given.quick + written
    if given.json:
        given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if given.write:
        write_section(given.write, "Time, size and error", page(results), "mechanisms")
    else:
        print(page(results))


if __name__ == "__main__":
    main()
