"""Values that begin or end alike: how many are found, and how many counts are right.

    python benchmarks/siblings.py --state siblings.jsonl --write docs/siblings.md

Every run is kept as it ends. docs/siblings.md explains what it prints.
"""

from __future__ import annotations

import argparse
import math
import string
import time
import zlib
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta

import hubbub
from hubbub import SeededRandomWords
from hubbub.model.coded_domain import CodedText
from hubbub.simulation.rehearsal import rehearse

try:
    from benchmarks.kept_runs import add_options, by_cell, put, run_all

    from benchmarks import limits
except ModuleNotFoundError:  # run as a script, whose own folder is on the path
    import limits  # type: ignore[import-not-found,no-redef]
    from kept_runs import add_options, by_cell, put, run_all  # type: ignore[import-not-found,no-redef]

Row = dict[str, Any]
SEED = 9011  # never tune with this seed
RUNS = 5
SIZES = (2, 5, 26, 50)
CROWDS = ((20_000, 6.0), (300_000, 4.0), (1_000_000, 2.0))
ABOVE = (1.0, 1.5)  # counts, as multiples of the stated limit
_ENDINGS = tuple(
    "com org net de fr it es pl nl se tr br jp cn in uk ca au us ru ch at be dk no fi cz hu ro gr pt ie il mx ar cl co "  # noqa: SIM905
    "za kr tw id my ph vn th ua info biz io eu".split()
)
_LETTERS = [*string.ascii_lowercase, *(a + b for a, b in product("ab", string.ascii_lowercase))]
FAMILIES: dict[str, tuple[str, Callable[[int], str]]] = {
    "last character": ("text", lambda k: f"user-account-{k // 26:02d}{string.ascii_lowercase[k % 26]}"),
    "first character": ("hosts", lambda k: f"{_LETTERS[k]}news.example"),
    "number inside": ("hosts", lambda k: f"news{k + 1}.example"),
    "TLD": ("hosts", lambda k: f"morning-news.{_ENDINGS[k]}"),
    "path": ("text", lambda k: f"example.org/blog/post-{k + 1}"),
}


class Cell(NamedTuple):
    """A family of so many values, and a crowd."""

    family: str
    size: int
    people: int
    epsilon: float


def measure(cell: Cell, run: int, seed: int) -> Row:
    """One crowd: values of the family at 1 to 1.5 times their stated limits, fewer if there is no room."""
    started = time.process_time()
    rng = np.random.default_rng([seed, zlib.crc32(repr(cell).encode()), run])
    kind, name = FAMILIES[cell.family]
    domain = limits.DOMAINS[kind]()
    if not isinstance(domain, CodedText):
        raise TypeError("families are texts")
    values = [name(k) for k in range(cell.size)]
    least = np.array([_limit(cell, domain, value) for value in values])
    room = 0.9 * cell.people / least.sum()
    counts = np.ceil(least * rng.uniform(1.0, min(1.5, max(room, 1.0)), len(values))).astype(np.int64)
    mechanism = limits.ready_tree(limits.Cell(kind, cell.people, cell.epsilon), rng.bytes(32))
    survey = mechanism.survey
    rest = limits.others(kind)
    alone = rest[(int(rng.integers(len(rest))) + np.arange(cell.people - counts.sum())) % len(rest)]
    everybody = np.concatenate([np.repeat(domain.encode(values), counts, axis=0), alone])
    tally = rehearse(mechanism, [everybody], SeededRandomWords(int(rng.integers(2**63))))
    answer = hubbub.find_hitters(survey, tally, top=1000, names="none", decoder=mechanism)
    truth = dict(zip(values, counts.tolist(), strict=True))
    crowd = set(domain.decode(rest)) if any(hitter.value not in truth for hitter in answer.hitters) else set()
    return {
        **cell._asdict(),
        "run": run,
        "found": sum(hitter.value in truth for hitter in answer.hitters),
        "false": sum(hitter.value not in truth and hitter.value not in crowd for hitter in answer.hitters),
        "missed": sum(
            not hitter.low <= truth[hitter.value] <= hitter.high for hitter in answer.hitters if hitter.value in truth
        ),
        "seconds": time.process_time() - started,
    }


def _limit(cell: Cell, domain: CodedText, value: str) -> float:
    """The stated limit of a value."""
    return limits.stated(limits.Cell(FAMILIES[cell.family][0], cell.people, cell.epsilon), domain.code_length(value))


def fits(cell: Cell) -> bool:
    """Whether all of the family can be above its limit."""
    kind, name = FAMILIES[cell.family]
    domain = limits.DOMAINS[kind]()
    if not isinstance(domain, CodedText):
        raise TypeError("families are texts")
    total = sum(_limit(cell, domain, name(k)) for k in range(cell.size))
    return math.isfinite(total) and total <= 0.85 * cell.people


def cells() -> list[Cell]:
    """All families in all crowds that have room for them, small crowds first."""
    every = [Cell(family, size, *crowd) for crowd, family, size in product(CROWDS, FAMILIES, SIZES)]
    return [cell for cell in every if fits(cell)]


def page(rows: list[Row], command: str) -> str:
    """docs/siblings.md."""
    table, found, planted, runs, missed, false = [], 0, 0, 0, 0, 0
    for key, some in by_cell(rows, Cell._fields).items():
        cell = Cell(*key)
        hits, wrong = sum(row["found"] for row in some), sum(row["missed"] > 0 for row in some)
        invented = sum(row["false"] > 0 for row in some)
        table.append(
            f"| {cell.family} | {cell.size} | {cell.people:,} | {cell.epsilon:g} | {len(some)} | "
            f"{hits} of {cell.size * len(some)} ({hits / cell.size / len(some):.1%}) | {wrong} | {invented} |"
        )
        found, planted, runs = found + hits, planted + cell.size * len(some), runs + len(some)
        missed, false = missed + wrong, false + invented
    high = float(beta.ppf(0.95, missed + 1, runs - missed)) if runs > missed else 1.0
    shown = "; ".join(f"{family}: `{name(0)}`, `{name(1)}`" for family, (_, name) in FAMILIES.items())
    return "\n".join(
        [
            "# Siblings",
            "",
            "Similar values share their first or their last characters, so they may share many buckets of the tree.",
            "Here families of similar values are planted. Each value is held by 1 to 1.5 times as many people as its",
            "own detection limit (less where the crowd is too small for that). This page counts how many are found,",
            "and how many runs have an interval that misses the true count. Made by",
            f"`{command}`.",
            "No parameter was chosen with this seed.",
            "",
            f"Families: {shown}.",
            "",
            f"- **Found**: {found} of {planted} ({found / max(planted, 1):.1%}); the goal is at least 95 %.",
            f"- **Runs with an interval that misses**: {missed} of {runs} ({missed / max(runs, 1):.1%}, with 95 %",
            f"  confidence at most {high:.1%}); the goal is at most 3 %.",
            f"- **Runs with a value that nobody holds**: {false} of {runs}.",
            "",
            "| family | values | people | ε | runs | found | runs with a missed interval | runs with a false value |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *table,
            "",
        ]
    )


def main() -> None:
    """Run and print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser, Path("siblings.jsonl"))
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    rows = run_all(
        cells(), partial(measure, seed=args.seed), lambda done: min(args.runs - len(done), 4), args.state, args
    )
    text = page(rows, f"python benchmarks/siblings.py --seed {args.seed} --write docs/siblings.md")
    put(text, args.write)


if __name__ == "__main__":
    main()
