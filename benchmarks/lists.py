"""Measures the error of counts over a short list beside the optimum, `tree` and peers, and the time of a report.

    python benchmarks/lists.py --json lists.json --write docs/benchmarks.md

One process, about a quarter of an hour. `--quick` takes about a minute. `--only times` or `--only tree` measures that
part again and takes the rest from the JSON file. docs/benchmarks.md explains what it prints.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

import hubbub
from hubbub import (
    BulkRandomWords,
    Categories,
    Histogram,
    Mechanism,
    SeededRandomWords,
    Survey,
    create_survey,
    mechanism_for,
)
from hubbub.mechanisms.subset import Subset
from hubbub.model.mechanism import tally_of

try:
    from benchmarks.short_page import write_section
    from benchmarks.timing import best

    from benchmarks import list_peers, lists_page
except ModuleNotFoundError:  # run as a script, whose own folder is on the path
    import list_peers  # type: ignore[import-not-found,no-redef]
    import lists_page  # type: ignore[import-not-found,no-redef]
    from short_page import write_section  # type: ignore[import-not-found,no-redef]
    from timing import best  # type: ignore[import-not-found,no-redef]

Row = dict[str, Any]
SEED = 9011  # never tune with this seed: the page reports what it gives
CROWDS = ("even", "Zipf", "one")
VALUES = (2, 3, 5, 10, 20, 50, 100, 300, 1000)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0)
PEOPLE = (1_000, 20_000, 1_000_000)
PER_PERSON = 1_000  # in larger crowds the tally of `subset` is drawn from its law
TREE_PEOPLE = 20_000  # the largest crowd of `tree`, whose reports are all made
PEER_VALUES = 100  # the longest list of the peers
FREE = {"subset": 10_000, "tree": 1_300}  # independent counts over all runs of a cell: ± 1.8 % and ± 5 %
PEER_FREE = 4_000
PEER_MOST = {list_peers.DIRECT: 300, list_peers.UNARY: 30}  # these take long for every person
FEWEST = 20  # runs of a cell
SURVEY_RUNS = 100  # runs of `subset` with one public seed; ids are always fresh
TIMED = (2, 10, 64, 300, 1000)
TIMED_EPSILONS = (1.0, 4.0)


class Cell(NamedTuple):
    """A mechanism, a crowd over a list of so many values, and an ε."""

    mechanism: str
    crowd: str
    values: int
    epsilon: float
    people: int


@cache
def counts_of(crowd: str, values: int, people: int, seed: int) -> NDArray[np.int64]:
    """How many people hold each value: the same for all mechanisms, peers and ε. Who is first is drawn."""
    ranks = np.arange(values)
    shares = {"even": np.ones(values), "Zipf": 1 / (1 + ranks), "one": (ranks == 0) + 0.0}[crowd]
    exact = people * shares / shares.sum()
    counts = np.floor(exact).astype(np.int64)
    most_left = np.argsort(counts - exact, kind="stable")
    counts[most_left[: people - int(counts.sum())]] += 1
    return np.random.default_rng([seed, values, people]).permutation(counts)


def chances(values: int, size: int, epsilon: float) -> tuple[float, float]:
    """Held and absent of subset selection with subsets of so many values."""
    held = size * math.exp(epsilon) / (size * math.exp(epsilon) + values - size)
    return held, (held * (size - 1) + (1 - held) * size) / (values - 1)


def error_of(counts: NDArray[np.int64], size: int, epsilon: float) -> float:
    """The root mean square error over all values by formula, in people, the noise of a value's own people included."""
    held, absent = chances(len(counts), size, epsilon)
    others = counts.sum() - counts
    variances = (counts * held * (1 - held) + others * absent * (1 - absent)) / (held - absent) ** 2
    return math.sqrt(float(variances.mean()))


@cache
def best_size(values: int, epsilon: float) -> int:
    """The size of subsets that the optimum has: the one with the least error over all values, whatever the crowd."""
    everybody = np.ones(values, np.int64)
    return min(range(1, values), key=lambda size: error_of(everybody, size, epsilon))


def optimum(counts: NDArray[np.int64], epsilon: float) -> float:
    """What errors are compared with."""
    return error_of(counts, best_size(len(counts), epsilon), epsilon)


@cache
def names(values: int) -> Categories:
    """A closed list."""
    return Categories([f"value {number}" for number in range(values)], other=False)


def survey_of(cell: Cell, rng: np.random.Generator) -> tuple[Survey, Mechanism]:
    """A survey with a fresh public seed, and its mechanism."""
    survey = create_survey(
        "list", names(cell.values), cell.epsilon, None, cell.mechanism, {}, cell.people, public_seed=rng.bytes(32)
    )
    return survey, mechanism_for(survey)


def square_errors(cell: Cell, runs: int, seed: int) -> Iterator[float]:
    """The mean square error of each run, in people squared."""
    rng = np.random.default_rng([seed, zlib.crc32(repr(cell).encode())])
    counts = counts_of(cell.crowd, cell.values, cell.people, seed)
    items = np.arange(cell.values, dtype=np.uint64)[:, np.newaxis]
    drawn = cell.mechanism == "subset" and cell.people > PER_PERSON
    everybody = np.repeat(items, 0 if drawn else counts, axis=0)
    random_words = SeededRandomWords(int(rng.integers(2**63)))
    for run in range(runs):
        if cell.mechanism != "subset" or run % SURVEY_RUNS == 0:
            _, mechanism = survey_of(cell, rng)
        if drawn:
            tally = mechanism.sample_tally(Histogram(items, counts), rng)
        else:
            draws = random_words.draw(cell.people, mechanism.random_words_per_report)
            tally = tally_of(mechanism, everybody, draws)
        yield float(np.square(mechanism.estimate(tally, items).counts - counts).mean())


def ratio_of(mean_square: Row, best: float) -> Row:
    """The ratio of the error to the optimum, and half of the 99 % interval of its logarithm."""
    runs, mean, sd = mean_square["runs"], mean_square["mean"], mean_square["sd"]
    half = float(student.isf(0.005, runs - 1)) * sd / mean / math.sqrt(runs) / 2
    return {"runs": runs, "ratio": math.sqrt(mean) / best, "half": half}


def free_counts(counts: NDArray[np.int64], epsilon: float) -> float:
    """How many independent counts of equal noise say as much about the error as one run; at most values − 1.

    Where everybody holds one value and ε is large, nearly all noise is in one count.
    """
    held, absent = chances(len(counts), best_size(len(counts), epsilon), epsilon)
    noise = counts * held * (1 - held) + (counts.sum() - counts) * absent * (1 - absent)
    return float(noise.sum() ** 2 / np.square(noise).sum()) * (len(counts) - 1) / len(counts)


def runs_of(cell: Cell, free: float, seed: int) -> int:
    """How many runs have so many independent counts."""
    counts = counts_of(cell.crowd, cell.values, cell.people, seed)
    return max(FEWEST, math.ceil(free / free_counts(counts, cell.epsilon)))


def measure(cell: Cell, runs: int, seed: int) -> Row:
    """All runs of a cell, summed up."""
    best = optimum(counts_of(cell.crowd, cell.values, cell.people, seed), cell.epsilon)
    found = list_peers.mean_square(list(square_errors(cell, runs, seed)))
    return {**cell._asdict(), **ratio_of(found, best), "optimum": best, "size": best_size(cell.values, cell.epsilon)}


def cells(quick: bool) -> list[Cell]:
    """All cells, or some."""
    values, epsilons = ((2, 10, 100), (1.0, 4.0)) if quick else (VALUES, EPSILONS)
    return [
        Cell(mechanism, crowd, size, epsilon, people)
        for mechanism, crowd, size, epsilon, people in product(("subset", "tree"), CROWDS, values, epsilons, PEOPLE)
        if mechanism == "subset" or people <= TREE_PEOPLE
    ]


# Peers, and times.


def peer_jobs(todo: Sequence[Cell], seed: int) -> tuple[list[Cell], list[Row]]:
    """The cells that peers are run on, and what they are asked: every cell of `subset` with few people."""
    asked = [
        cell for cell in todo if cell.mechanism == "subset" and cell.people == PER_PERSON and cell.values <= PEER_VALUES
    ]
    jobs = [
        {
            "task": "errors",
            "counts": counts_of(cell.crowd, cell.values, cell.people, seed).tolist(),
            "epsilon": cell.epsilon,
            "seed": zlib.crc32(f"{seed} {cell}".encode()),
            "runs": {
                name: min(runs_of(cell, PEER_FREE, seed), PEER_MOST.get(name, PEER_FREE)) for name in list_peers.PEERS
            },
        }
        for cell in asked
    ]
    return asked, jobs


def time_jobs(timed: Sequence[int]) -> list[Row]:
    """What peers are asked about time."""
    return [
        {"task": "times", "size": size, "epsilon": epsilon, "people": 500}
        for size, epsilon in product(timed, TIMED_EPSILONS)
    ]


def own_times(size: int, epsilon: float) -> Row:
    """CPU time per report of `subset`: the random words, encode, and tally."""
    survey = create_survey("times", names(size), epsilon, None, "subset", {}, 1000, public_seed=bytes(32))
    mechanism = mechanism_for(survey)
    assert isinstance(mechanism, Subset)  # noqa: S101
    people = max(1_000, min(200_000, 20_000_000 // size))
    items = (np.arange(people, dtype=np.uint64) % np.uint64(size))[:, np.newaxis]
    source, random_words = BulkRandomWords(), SeededRandomWords(SEED).draw(people, mechanism.random_words_per_report)
    reports = mechanism.randomize(items, random_words)
    sums = np.zeros(mechanism.cells_shape, np.int64)
    spent = {
        "random_words_ns": best(lambda: source.draw(people, mechanism.random_words_per_report)),
        "encode_ns": best(lambda: mechanism.randomize(items, random_words)),
        "tally_ns": best(lambda: mechanism.accumulate(sums, reports)),
    }
    return {"window": mechanism.window, **{name: 1e9 * each / people for name, each in spent.items()}}


def run_times(timed: Sequence[int], peers: list[Row] | str) -> list[Row]:
    """A row for each list and ε, with the answers of peers if there are any."""
    found = [
        {"values": size, "epsilon": epsilon, "subset": own_times(size, epsilon)}
        for size, epsilon in product(timed, TIMED_EPSILONS)
    ]
    return found if isinstance(peers, str) else [row | each for row, each in zip(found, peers, strict=True)]


def run(given: argparse.Namespace) -> Row:
    """All numbers of a run; with --only those of the JSON file with a part of them new."""
    if given.only == "tree":
        kept = json.loads(given.json.read_text("utf-8"))
        others = [row for row in kept["cells"] if row["mechanism"] != "tree"]
        todo = [cell for cell in cells(given.quick) if cell.mechanism == "tree"]
        return kept | {"cells": others + measure_all(todo, given.seed, 1.0)}
    timed = (2, 64, 1000) if given.quick else TIMED
    load = os.getloadavg()[0]
    results: Row = {
        "seed": given.seed,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "hubbub": hubbub.__version__},
    }
    if given.only:
        results |= json.loads(given.json.read_text("utf-8"))
    else:
        todo = cells(given.quick)
        asked, jobs = peer_jobs(todo, given.seed)
        results["cells"] = measure_all(todo, given.seed, 0.1 if given.quick else 1.0)
    questions = time_jobs(timed)
    if given.quick:
        answers: list[Row] | str = "Peers were left out of a quick run"
    elif given.only:
        answers = list_peers.answers(questions)
    else:
        answers = list_peers.answers([*questions, *jobs])
    if not given.only:
        results["peers"] = (
            answers if isinstance(answers, str) else compared(asked, answers[len(questions) :], given.seed)
        )
    asked_times = answers if isinstance(answers, str) else answers[: len(questions)]
    return results | {"times": run_times(timed, asked_times), "load": load, "cores": os.cpu_count()}


def measure_all(todo: Sequence[Cell], seed: int, scale: float) -> list[Row]:
    """Every cell, with a line of progress for each list."""
    rows, start = [], time.process_time()
    for cell in todo:
        if not rows or cell[:3] != (rows[-1]["mechanism"], rows[-1]["crowd"], rows[-1]["values"]):
            spent = time.process_time() - start
            print(f"{spent:.0f} s: {cell.mechanism}, {cell.crowd}, {cell.values} values", file=sys.stderr, flush=True)
        rows.append(measure(cell, runs_of(cell, scale * FREE[cell.mechanism], seed), seed))
    return rows


def compared(asked: Sequence[Cell], answers: Sequence[Row], seed: int) -> list[Row]:
    """A row for each peer in each cell, as ratios to the optimum."""
    return [
        {
            **cell._asdict(),
            "mechanism": name,
            **ratio_of(found, optimum(counts_of(cell.crowd, cell.values, cell.people, seed), cell.epsilon)),
        }
        for cell, answer in zip(asked, answers, strict=True)
        for name, found in answer.items()
    ]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few cells with few runs, without peers")
    parser.add_argument("--only", choices=["times", "tree"], help="measure this part again; the rest is from --json")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="write its section instead of printing it")
    parser.add_argument("--seed", type=int, default=SEED, help=f"all crowds and reports follow from it ({SEED})")
    given = parser.parse_args()
    if given.only and not given.json:
        parser.error("--only must have --json FILE")
    results = run(given)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    text = lists_page.page(results)
    for missed in lists_page.misses(results):
        print(missed, file=sys.stderr)
    if given.write:
        write_section(given.write, "Short lists", text, "lists")
    else:
        print(text)


if __name__ == "__main__":
    main()
