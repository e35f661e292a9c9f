"""How few people must hold a value for `tree` to find it, how often it is wrong, and how others do on the same crowds.

Everything is counted in the standard deviation of the best frequency oracle; docs/accuracy.md explains what it prints.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import log_ndtr
from scipy.stats import norm

import hubbub
from hubbub import Answer, Integers, Mechanism, SeededRandomWords, Survey, Tally, create_survey, mechanism_for
from hubbub.mechanisms.tree import Tree
from hubbub.mechanisms.tree.gates import LevelBudget, StandsOut
from hubbub.model.mechanism import Items
from hubbub.numeric.tails import normal_quantile_log
from hubbub.simulation import population, pure_ldp_script
from hubbub.simulation.rehearsal import rehearse

try:
    from benchmarks.timing import best

    from benchmarks import accuracy_page, gates, names, peers
except ModuleNotFoundError:  # run as a script, whose own folder is on the path
    import accuracy_page  # type: ignore[import-not-found,no-redef]
    import gates  # type: ignore[import-not-found,no-redef]
    import names  # type: ignore[import-not-found,no-redef]
    import peers  # type: ignore[import-not-found,no-redef]
    from timing import best  # type: ignore[import-not-found,no-redef]

SEED, MILLION = 7001, 1_000_000  # never tune with this seed: the page reports what it gives
LEVEL, CLEAR, PLANTED, RESAMPLES = 0.05, 12.0, 25, 400

Row = dict[str, Any]


class Cell(NamedTuple):
    """A universe of 2^bits values, an ε, a crowd, how values lie in it, and how many are near the threshold."""

    load: str
    bits: int
    epsilon: float
    people: int
    planted: int
    window: tuple[float, float]  # of z, around the limit of exhaustive search
    peers: bool = False

    @property
    def name(self) -> str:
        """What sets it apart, for seeds and progress."""
        return f"{self.load}, {self.bits} bits, ε = {self.epsilon:g}, n = {self.people:,}"

    @property
    def sd(self) -> float:
        """The unit: the standard deviation of the best frequency oracle with everybody's reports."""
        return math.sqrt(self.people) * 2 * math.exp(self.epsilon / 2) / math.expm1(self.epsilon)


def exhaustive(bits: int) -> float:
    """z95 of a search through all 2^bits values with the best frequency oracle, at false positive level 5 %."""
    return normal_quantile_log(math.log(LEVEL) - bits * math.log(2)) + 1.645


def near(epsilon: float, people: int, bits: int = 64, load: str = "near", planted: int = PLANTED) -> Cell:
    """Values around the limit, as many as asked for or as two thirds of the people can hold."""
    limit = exhaustive(bits)
    cell = Cell(load, bits, epsilon, people, planted, (limit - 1.5, limit + (3.5 if bits <= 64 else 6.5)))
    return cell._replace(planted=min(planted, int((0.2 if load == "giant" else 0.65) * people / limit / cell.sd)))


EPSILONS = [near(epsilon, people) for people in (100_000, MILLION) for epsilon in (0.5, 1, 2, 4)]
LOADS = [
    Cell("none", 64, 1, MILLION, 0, (0, 0)),
    near(1, MILLION, load="one", planted=1),
    near(1, MILLION, load="near"),
    near(4, MILLION, load="many", planted=200),
    *(near(1, MILLION, load=load) for load in ("giant", "sequential", "pairs")),
    *(Cell(load, 64, 1, MILLION, 0, (0, 0)) for load in ("zipf 1.05", "zipf 1.5")),
]
WIDE = [near(4, MILLION, bits) for bits in (128, 256)]
PEERS = [
    Cell("peers", 64, 1, MILLION, 12, (9, 24), peers=True),
    Cell("peers", 64, 4, MILLION, PLANTED, (9, 24), peers=True),
]
SPEEDS = [(64, "small"), *((bits, "standard") for bits in (32, 64, 128, 256, 512))]


def crowd(cell: Cell, rng: np.random.Generator) -> tuple[Items, Items, NDArray[np.int64]]:
    """Everybody's item, and the items that more than one person may hold with their counts."""
    if cell.load.startswith("zipf"):
        drawn = population.zipf(cell.people, float(cell.load.split()[1]), 100_000, cell.bits, rng)
        return np.repeat(drawn.items, drawn.counts, axis=0), drawn.items, drawn.counts
    counts = np.rint(rng.uniform(*cell.window, cell.planted) * cell.sd).astype(np.int64)
    if cell.load == "giant":
        counts = np.concatenate([[round(0.6 * cell.people)], counts])
    items, alone = (anywhere(size, cell.bits, rng) for size in (len(counts), cell.people - int(counts.sum())))
    if cell.load == "pairs":
        items[1::2] = items[: len(items) // 2 * 2 : 2] ^ np.uint64(1)
    elif cell.load == "sequential":  # the odd neighbour of everybody's value is held by nobody
        row = np.uint64(rng.integers(0, 2**63)) + 2 * np.arange(cell.people, dtype=np.uint64)[:, np.newaxis]
        items, alone = row[: len(items)], row[len(items) : len(items) + len(alone)]
    return np.concatenate([np.repeat(items, counts, axis=0), alone]), items, counts


def anywhere(count: int, bits: int, rng: np.random.Generator) -> Items:
    """Uniform items; in universes this large two are never alike."""
    items = rng.integers(0, 2**64, (count, -(-bits // 64)), dtype=np.uint64)
    items[:, -1] >>= np.uint64(-bits % 64)
    return items


def numbers(items: Items) -> list[int]:
    """Items as the whole numbers they encode."""
    return [int.from_bytes(item.astype("<u8").tobytes(), "little") for item in items]


def held(value: int, everybody: Items) -> bool:
    """Whether anybody holds the value."""
    raw = value.to_bytes(8 * everybody.shape[1], "little")
    return bool((everybody == np.frombuffer(raw, "<u8")).all(axis=1).any())


def collect(cell: Cell, everybody: Items, rng: np.random.Generator, **options: str) -> tuple[Survey, Mechanism, Tally]:
    """A survey answered by everybody, person by person."""
    survey = create_survey(
        cell.load, Integers(cell.bits), cell.epsilon, None, "tree", options, cell.people, public_seed=rng.bytes(32)
    )
    mechanism = mechanism_for(survey)
    random_words = SeededRandomWords(int(rng.integers(2**63)))
    return survey, mechanism, rehearse(mechanism, [everybody], random_words)


def measure(cell: Cell, seed: int, run: int) -> Row:
    """One run of a cell: what was found of what there was, by `tree` and, where asked for, by the peers."""
    rng = np.random.default_rng([seed, zlib.crc32(cell.name.encode()), run])
    everybody, items, counts = crowd(cell, rng)
    survey, mechanism, tally = collect(cell, everybody, rng)
    start = time.process_time()
    answer = hubbub.find_hitters(survey, tally, top=1000, level=LEVEL, decoder=mechanism)
    spent = time.process_time() - start
    row = {
        "tree": {**judge(cell, answer, everybody, items, counts), "decode_s": spent, "tails": tails(cell, mechanism)}
    }
    if not cell.peers:
        return row
    values = everybody[:, 0]
    for plan in (*(peers.usual_pem(step, 2 * cell.planted) for step in (4, 8)), peers.tuned_pem(cell.planted)):
        listed = peers.run_pem(values, cell.epsilon, plan, rng)
        sure = dict(zip(listed.values[listed.accepted].tolist(), listed.counts[listed.accepted].tolist(), strict=True))
        row[plan.name] = compare(cell, sure, everybody, items, counts)
        row[plan.name]["listed"] = np.isin(items[:, 0], listed.values).tolist()
    return row


def tails(cell: Cell, mechanism: Mechanism) -> float:
    """z95 of scoring every value with all reports of a survey: binomial tails, a quarter of the level, its own noise.

    The limit of `exhaustive` is that of a normal law; with few people or a large ε the tails are heavier.
    """
    if not isinstance(mechanism, Tree):
        raise TypeError(f"the mechanism must be a tree, got {mechanism!r}")
    law, priors = mechanism.law, np.array([-math.log(2) * cell.bits])
    needed = float(StandsOut(LevelBudget(LEVEL)).least(law, cell.people, priors)[0])
    held = needed
    for _ in range(8):  # the count whose own noise is in the spread
        held = needed + 1.645 * math.sqrt(law.noise * (cell.people - held) + law.own_noise * held)
    return held / cell.sd


def judge(cell: Cell, answer: Answer, everybody: Items, items: Items, counts: NDArray[np.int64]) -> Row:
    """An answer of find_hitters against the truth, intervals included."""
    row = compare(cell, {int(hitter.value): hitter.count for hitter in answer.hitters}, everybody, items, counts)
    truth = dict(zip(numbers(items), counts.tolist(), strict=True))
    spans = [(hitter.low, truth.get(int(hitter.value)), hitter.high) for hitter in answer.hitters]
    covered = all(low <= (0 if count is None else count) <= high for low, count, high in spans)
    return {**row, "covered": covered, "limit_z": answer.detection_limit / cell.sd}


def compare(cell: Cell, found: dict[int, float], everybody: Items, items: Items, counts: NDArray[np.int64]) -> Row:
    """Which values were found, by how much their counts are off, and how many reported values nobody holds."""
    names = numbers(items)
    known = set(names)
    z = counts / cell.sd
    return {
        "z": z.tolist(),
        "found": [name in found for name in names],
        "errors": [(found[n] - c) / cell.sd for n, c in zip(names, counts.tolist(), strict=True) if n in found],
        "false": sum(value not in known and not held(value, everybody) for value in found),
        "clear": [name in found for name, each in zip(names, z, strict=True) if each >= CLEAR],
    }


# Statistics.


def fit_probit(z: NDArray[np.float64], found: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    """The z at which 95 % are found, by a probit of maximum likelihood (a small ridge for perfect splits)."""
    middle = float(z.mean())
    design = np.stack([np.ones_like(z), z - middle], axis=1)
    beta, sign = np.array([0.0, 0.5]), np.where(found, 1.0, -1.0)
    for _ in range(60):
        eta = np.clip(design @ beta, -8, 8)
        density = norm.logpdf(eta)
        slope = sign * np.exp(density - log_ndtr(sign * eta))
        information = weights * np.exp(2 * density - log_ndtr(eta) - log_ndtr(-eta))
        hessian = design.T @ (information[:, np.newaxis] * design) + 1e-3 * np.eye(2)
        step = np.linalg.solve(hessian, design.T @ (weights * slope) - 1e-3 * beta)
        size = float(np.abs(step).max())
        beta = beta + step * min(1.0, 2.0 / max(2.0, size))
        if size < 1e-5:
            break
    return middle + (1.645 - beta[0]) / beta[1] if beta[1] > 0.01 else math.inf


def z95(runs: Sequence[Row], window: tuple[float, float], key: str, seed: int) -> list[float | None]:
    """The z95 of the values inside the window and its 90 % bootstrap interval over runs; None for no end in sight."""
    points = [(index, z, hit) for index, row in enumerate(runs) for z, hit in zip(row["z"], row[key], strict=True)]
    owner, z, hit = (np.array(column) for column in zip(*points, strict=True))
    inside = (z >= window[0] - 0.1) & (z <= window[1] + 0.1)
    owner, z, hit = owner[inside], z[inside], hit[inside].astype(bool)
    rng = np.random.default_rng(seed)
    draws = [np.bincount(rng.integers(0, len(runs), len(runs)), minlength=len(runs)) for _ in range(RESAMPLES)]
    drawn = sorted(fit_probit(z, hit, draw[owner].astype(float)) for draw in draws)
    ends = (fit_probit(z, hit, np.ones(len(z))), drawn[RESAMPLES // 20], drawn[-1 - RESAMPLES // 20])
    return [end if math.isfinite(end) else None for end in ends]


def wilson(hits: int, runs: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    share, spread = hits / runs, z * math.sqrt(hits * (runs - hits) / runs + z * z / 4) / (runs + z * z)
    middle = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    return max(0.0, middle - spread), min(1.0, middle + spread)


def summary(cell: Cell, who: str, runs: Sequence[Row], seed: int) -> Row:
    """All numbers of a cell."""
    errors = [error for row in runs for error in row["errors"]]
    clear = [hit for row in runs for hit in row["clear"]]
    false = sum(row["false"] > 0 for row in runs)
    row: Row = {
        **{name: getattr(cell, name) for name in ("name", "load", "bits", "epsilon", "people", "planted", "window")},
        "who": who,
        "seed": seed,
        "runs": len(runs),
        "sd": cell.sd,
        "exhaustive": exhaustive(cell.bits),
        "false_runs": false,
        "false_interval": wilson(false, len(runs)),
        "count_error": math.sqrt(np.mean(np.square(errors))) if errors else None,
        "clear_values": len(clear),
        "clear_recall": float(np.mean(clear)) if clear else None,
    }
    if "covered" in runs[0]:
        row["coverage"] = sum(each["covered"] for each in runs)
        row["decode_s"] = float(np.median([each["decode_s"] for each in runs]))
        row["tails_z95"] = float(np.median([each["tails"] for each in runs]))
        row["stated_z95"] = float(np.median([each["limit_z"] for each in runs]))
    for key, label in (("found", "z95"), ("listed", "listed_z95")):
        if cell.planted and key in runs[0]:
            row[label], *row[f"{label}_interval"] = z95(runs, cell.window, key, seed)
    if row.get("z95") is not None:
        row["ratio"] = row["z95"] / row["exhaustive"]
    return row


# Speed, and pure-ldp.


def speed(cell: Cell, size: str, seed: int) -> Row:
    """CPU time of encode, tally and decode."""
    rng = np.random.default_rng([seed, zlib.crc32(b"speed"), cell.bits])
    everybody = crowd(cell, rng)[0]
    survey, mechanism, tally = collect(cell, everybody, rng, size=size)
    part = np.ascontiguousarray(everybody[:: max(1, len(everybody) // (1 << 18))])
    random_words = hubbub.BulkRandomWords()
    reports = mechanism.randomize(part, random_words.draw(len(part), mechanism.random_words_per_report))
    cells = np.zeros(mechanism.cells_shape, np.int64)
    encode = best(lambda: mechanism.randomize(part, random_words.draw(len(part), mechanism.random_words_per_report)))
    add = best(lambda: mechanism.accumulate(cells, reports))
    return {
        **{name: getattr(cell, name) for name in ("bits", "epsilon", "people")},
        "size": size,
        "seed": seed,
        "encode_ns_per_person": 1e9 * encode / len(part),
        "tally_ns_per_report": 1e9 * add / len(part),
        "decode_s": best(lambda: hubbub.find_hitters(survey, tally, top=1000, decoder=mechanism)),
        "tally_mib": cells.nbytes / 2**20,
    }


def against_pure_ldp(seed: int, people: int = 100_000, top: int = 10) -> list[Row] | str:
    """F1 of the ten largest values of a Zipf crowd, and times, by `tree` and by pure-ldp on the same values."""
    rows, jobs = [], []
    for epsilon in (4.0, 1.0):
        rng = np.random.default_rng([seed, zlib.crc32(b"pure-ldp"), int(epsilon)])
        cell = Cell("zipf 1.5", 64, epsilon, people, 0, (0, 0))
        everybody, items, counts = crowd(cell, rng)
        largest = set(items[np.argsort(-counts, kind="stable")[:top], 0].tolist())
        survey, mechanism, tally = collect(cell, everybody, rng)
        found = [hitter.value for hitter in hubbub.find_hitters(survey, tally, top=top, decoder=mechanism).hitters]
        cost = speed(cell, "auto", seed)
        rows.append({**scored(found, largest), "who": "tree", **cost})
        jobs.append({"values": everybody[:, 0].tolist(), "epsilon": epsilon, "top": top, "step": 8, "seed": seed})
        rows.append({"who": "pure-ldp", "epsilon": epsilon, "people": people, "largest": largest})
    answers = peers.pure_ldp(jobs)
    if isinstance(answers, str):
        return answers
    for row, answer in zip(rows[1::2], answers, strict=True):
        row |= {**scored(answer.pop("found"), row.pop("largest")), "decode_s": answer["decode_s"]}
        row["encode_ns_per_person"] = 1e3 * answer["encode_us_per_person"]
        row["tally_ns_per_report"] = 1e3 * answer["tally_us_per_report"]
        row["version"] = answer["version"]
    return rows


def scored(found: Sequence[object], largest: set[int]) -> Row:
    """How many were reported, how many of those are among the largest, and F1 of the two."""
    right = len(largest.intersection(found))
    return {"reported": len(found), "right": right, "f1": 2 * right / (len(found) + len(largest))}


def run_cells(cells: Iterable[tuple[Cell, int]], seed: int, workers: int, kept: Path | None) -> list[Row]:
    """All runs of all cells, summed up; cells that are in the file `kept` are taken from there."""
    known: dict[str, list[Row]] = json.loads(kept.read_text("utf-8")) if kept and kept.exists() else {}
    rows = []
    with ProcessPoolExecutor(max(1, workers)) as pool:
        each: Callable[..., Iterable[Row]] = pool.map if workers else map
        for cell, runs in cells:
            key = f"{cell.name}, {runs} runs, seed {seed}"
            if key not in known:
                start = time.perf_counter()
                done = list(each(measure, [cell] * runs, [seed] * runs, range(runs)))
                known[key] = [summary(cell, who, [row[who] for row in done], seed) for who in done[0]]
                print(f"{key}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
                if kept:
                    kept.write_text(json.dumps(known), "utf-8")
            rows += known[key]
    return rows


def run_names(runs: int, seed: int, workers: int) -> tuple[list[Row], Row]:
    """Names under a code, and candidates."""
    rows: list[Row] = []
    with ProcessPoolExecutor(max(1, workers)) as pool:
        each: Callable[..., Iterable[Row]] = pool.map if workers else map
        for cell in names.CELLS:
            start = time.perf_counter()
            done = list(each(names.measure, [cell] * runs, [seed] * runs, range(runs)))
            rows += names.summaries(cell, done, seed, z95, wilson)
            print(f"{cell.name}: {runs} runs, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        few = max(1, runs // 2)
        done = list(each(names.measure_candidates, [names.LIST_EPSILON] * few, [seed] * few, range(few)))
    errors = [error for row in done for error in row["errors"]]
    middle, *interval = z95(done, (5.0, 10.5), "found", seed)
    false = sum(row["false"] > 0 for row in done)
    return rows, {
        "runs": few,
        "exhaustive": exhaustive(20),
        "z95": middle,
        "z95_interval": interval,
        "false_runs": false,
        "false_interval": wilson(false, few),
        "count_error": math.sqrt(np.mean(np.square(errors))),
        "decode_s": float(np.median([row["decode_s"] for row in done])),
    }


def run(given: argparse.Namespace) -> Row:
    """All numbers of a run."""
    full = given.runs or 200
    few = min(full // 2, given.few)
    if given.quick:
        cells = [(near(1, 100_000), 24), (near(4, 100_000), 24), (near(1, MILLION), 8), (LOADS[0], 4), (PEERS[1], 4)]
    else:
        cells = [(cell, full if cell.people < MILLION else few) for cell in EPSILONS if cell not in LOADS]
        cells += [(cell, full) for cell in LOADS] + [(cell, few) for cell in (*WIDE, *PEERS)]
    timed = [(bits, size) for bits, size in SPEEDS if not given.quick or bits == 64]
    speeds = [speed(near(1, 1 << 20, bits, planted=10), size, given.seed) for bits, size in timed]
    found_names, candidates = run_names(2 if given.quick else few, given.seed, given.workers)
    packages = {"numpy": np.__version__, "scipy": scipy.__version__, "hubbub": hubbub.__version__}
    return {
        "seed": given.seed,
        "versions": {"python": platform.python_version(), **packages},
        "limits": {bits: exhaustive(bits) for bits in (64, 128, 256)},
        "speed": speeds,
        "sketch": [pure_ldp_script.HASHES, pure_ldp_script.WIDTH],
        "pure_ldp": "pure-ldp was left out of a quick run" if given.quick else against_pure_ldp(given.seed),
        "names": found_names,
        "candidates": candidates,
        "cells": run_cells(cells, given.seed, given.workers, given.kept),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few cells with few runs, in under four minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="write the page instead of printing it")
    parser.add_argument("--seed", type=int, default=SEED, help=f"all crowds and reports follow from it ({SEED})")
    parser.add_argument("--runs", type=int, metavar="N", help="runs of each load (200); half for other cells")
    parser.add_argument("--few", type=int, metavar="N", default=100, help="at most so many of cells that take long")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="keep cells as they end, and go on from there")
    parser.add_argument("--workers", type=int, default=2, help="processes (2); 0 for none")
    given = parser.parse_args()
    results = run(given)
    written = f" --write {given.write.name if given.write.is_absolute() else given.write}" if given.write else ""
    results["command"] = (
        "python benchmarks/accuracy.py"
        + " --quick" * given.quick
        + written
        + f" --seed {given.seed}"
        + (f" --runs {given.runs}" if given.runs else "")
    )
    if given.json:
        given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if given.write:
        before = given.write.read_text("utf-8") if given.write.exists() else ""
        _, heading, section = before.partition(gates.HEADING)  # a section that gates.py writes
        given.write.write_text(f"{accuracy_page.page(results)}{heading and chr(10)}{heading}{section}", "utf-8")
    else:
        print(accuracy_page.page(results))


if __name__ == "__main__":
    main()
