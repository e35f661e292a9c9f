"""Is the stated detection limit true? Values are planted at it, and at 1/1.15 of it, and `tree` looks for them.

    python benchmarks/limits.py --state limits.jsonl --write docs/limits.md

Every run is written to the state file as it ends, so that a run that was stopped goes on where it was. `--quick` does
a few cells in minutes. docs/limits.md explains what it prints.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom, norm

import hubbub
from hubbub import Hostnames, Integers, SeededRandomWords, Words, create_survey, mechanism_for
from hubbub.codes.shipped import load_code
from hubbub.mechanisms.tree import Tree
from hubbub.mechanisms.tree.limits import found_from
from hubbub.model.coded_domain import WIDTHS, CodedText
from hubbub.model.domain_base import Domain
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Items
from hubbub.simulation.rehearsal import rehearse

try:
    from benchmarks.kept_runs import add_options, put, run_all
    from benchmarks.names import draw_name
except ModuleNotFoundError:  # run as a script, whose own folder is on the path
    from kept_runs import add_options, put, run_all  # type: ignore[import-not-found,no-redef]
    from names import draw_name  # type: ignore[import-not-found,no-redef]

Row = dict[str, Any]
SEED = 9005  # never tune with this seed
LOOSE = 1.15  # the stated limit may be at most this many times the true one
WANTED = 200  # values of a class in a cell
OTHERS = 50_000
PEOPLE = (100, 1_000, 5_000, 20_000, 100_000, 1_000_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0)
WITH_NAMES = "## With a public list of names"  # a section that limits_of_names.py writes
LENGTHS = {
    "ids": {"all": (64, 65)},
    "hosts": {"short": (26, 36), "usual": (44, 52), "long": (70, 78)},
    "words": {"short": (16, 24), "usual": (26, 34), "long": (44, 50)},
    "text": {"short": (28, 36), "usual": (44, 52), "long": (106, 114)},
}
DOMAINS: dict[str, Callable[[], Domain]] = {
    "ids": lambda: Integers(64),
    "hosts": Hostnames,
    "words": Words,
    "text": lambda: CodedText(load_code("text"), "text-1", WIDTHS["text-1"]),
}


class Cell(NamedTuple):
    """A domain, a crowd and an ε."""

    domain: str
    people: int
    epsilon: float


@cache
def others(kind: str) -> Items:
    """What everybody else holds: ids of their own, or one of many long names."""
    if kind == "ids":
        return np.random.default_rng(5).integers(0, 2**64, (PEOPLE[-1], 1), dtype=np.uint64)
    patterns = {"hosts": "{:x}-site.example", "words": "qu{:x}ing", "text": "page {:x} of a book"}
    return DOMAINS[kind]().encode([patterns[kind].format(k * 7919) for k in range(OTHERS)])


def draw_value(kind: str, span: tuple[int, int], rng: np.random.Generator) -> tuple[object, int]:
    """A value of a class and the bits of its code."""
    domain = DOMAINS[kind]()
    if isinstance(domain, CodedText):
        return draw_name(domain, *span, rng)
    return int(rng.integers(0, 2**64 - 1, dtype=np.uint64)), 64


@cache
def measuring_tree(cell: Cell) -> Tree:
    """The tree that is asked for limits: they do not depend on the public seed, and it keeps what it has found."""
    return tree_of(cell, bytes(32))


def tree_of(cell: Cell, public_seed: bytes) -> Tree:
    """A tree for the crowd."""
    survey = create_survey(
        "limits", DOMAINS[cell.domain](), cell.epsilon, None, "tree", {}, cell.people, public_seed=public_seed
    )
    tree = mechanism_for(survey)
    assert isinstance(tree, Tree)  # noqa: S101
    return tree


def ready_tree(cell: Cell, public_seed: bytes) -> Tree:
    """A tree for the crowd that need not work out the limits of its answer again."""
    tree = tree_of(cell, public_seed)
    for bits in filter(None, tree.stated_bits):
        tree.limits[cell.people, bits, Query().level] = stated(cell, bits)
    return tree


def stated(cell: Cell, bits: int) -> float:
    """The stated limit of values of so many bits."""
    return found_from(measuring_tree(cell), cell.people, bits, Query())


def leading(cell: Cell, rng: np.random.Generator) -> list[str]:
    """The classes that can be found at all, in the order in which a run plants them.

    The first one is drawn, in proportion to the limits: where few values fit in a crowd, the long ones, of which the
    fewest fit, would otherwise take the most runs.
    """
    limits = {name: limit for name in LENGTHS[cell.domain] if (limit := _limit(cell, name)) is not None}
    if not limits:
        return []
    first = rng.choice(len(limits), p=np.array(list(limits.values())) / sum(limits.values()))
    return [*list(limits)[first:], *list(limits)[:first]]


def measure(cell: Cell, run: int, seed: int) -> Row:
    """One crowd: which of the values planted at the limit of their length, and below it, were found."""
    started = time.process_time()
    rng = np.random.default_rng([seed, zlib.crc32(repr(cell).encode()), run])
    domain = DOMAINS[cell.domain]()
    tree = ready_tree(cell, rng.bytes(32))
    survey = tree.survey
    planted: dict[object, tuple[str, int, int]] = {}
    classes = leading(cell, rng)
    room = 0.6 * cell.people
    for name in islice(cycle(classes), 24 if classes else 0):
        value, bits = draw_value(cell.domain, LENGTHS[cell.domain][name], rng)
        below = int(rng.integers(4) == 0)
        count = stated(cell, bits) / (LOOSE if below else 1.0)
        if not math.isfinite(count) or (planted and count > room):
            continue
        planted.setdefault(value, (name, below, math.ceil(count)))
        room -= count
        if room <= 0:
            break
    counts = [count for _, _, count in planted.values()]
    alone = cell.people - sum(counts)
    rest = others(cell.domain)
    everybody = rest[(int(rng.integers(len(rest))) + np.arange(alone)) % len(rest)]
    if planted:
        everybody = np.concatenate([np.repeat(domain.encode(list(planted)), counts, axis=0), everybody])
    tally = rehearse(tree, [everybody], SeededRandomWords(int(rng.integers(2**63))))
    answer = hubbub.find_hitters(survey, tally, top=1000, names="none", decoder=tree)
    found = {hitter.value: hitter for hitter in answer.hitters}
    crowd = set(domain.decode(rest)) if found.keys() - planted.keys() else set()
    seen = [[name, below, value in found] for value, (name, below, _) in planted.items()]
    return {
        **cell._asdict(),
        "run": run,
        "seed": seed,
        "seen": seen,
        "false": sum(value not in planted and value not in crowd for value in found),
        "missed": sum(
            not found[value].low <= count <= found[value].high
            for value, (_, _, count) in planted.items()
            if value in found
        ),
        "limits": {name: _limit(cell, name) for name in LENGTHS[cell.domain]} if run == 0 else {},
        "seconds": time.process_time() - started,
    }


def _limit(cell: Cell, name: str) -> float | None:
    low, high = LENGTHS[cell.domain][name]
    limit = stated(cell, (low + high - 1) // 2)
    return limit if math.isfinite(limit) else None


def cells(quick: bool, only: Sequence[str] = ()) -> list[Cell]:
    """All cells, or some: `only` has such as "text" or "text 1000 4", domain, people and ε."""
    if quick:
        return [Cell(kind, people, 4.0) for kind, people in product(LENGTHS, (1_000, 20_000))]
    every = [Cell(*each) for each in product(LENGTHS, PEOPLE, EPSILONS)]
    names = {cell: f"{cell.domain} {cell.people} {cell.epsilon:g} " for cell in every}
    return [cell for cell in every if not only or any(names[cell].startswith(f"{each} ") for each in only)]


def runs_of(done: list[Row], wanted: int) -> int:
    """How many more runs the cell needs for all of its classes to have enough values at the limit; 0 if none."""
    if not done:
        return 1
    at_limit: dict[str, int] = defaultdict(int)
    for row in done:
        for name, below, _ in row["seen"]:
            at_limit[name] += not below
    possible = [name for name, limit in done[0]["limits"].items() if limit is not None]
    if not possible:
        return 0
    fewest = min(at_limit[name] for name in possible)
    if fewest >= wanted:
        return 0
    rate = max(fewest / len(done), 0.1)
    return min(math.ceil((wanted - fewest) / rate), 12)


def summary(rows: list[Row]) -> Iterator[Row]:
    """A row for each class of each cell."""
    known: dict[Cell, list[Row]] = defaultdict(list)
    for row in rows:
        known[Cell(row["domain"], row["people"], row["epsilon"])].append(row)
    for cell, some in sorted(known.items(), key=lambda each: list(LENGTHS).index(each[0].domain)):
        limits = next(row["limits"] for row in some if row["run"] == 0)
        for name in LENGTHS[cell.domain]:
            seen = [(below, hit) for row in some for each, below, hit in row["seen"] if each == name]
            at, under = ([hit for below, hit in seen if below == side] for side in (0, 1))
            yield {
                **cell._asdict(),
                "class": name,
                "limit": limits[name],
                "runs": len(some),
                "false_runs": sum(row["false"] > 0 for row in some),
                "missed_runs": sum(row["missed"] > 0 for row in some),
                "at": (sum(at), len(at)),
                "below": (sum(under), len(under)),
            }


def rejects(found: int, planted: int, level: float = 0.001) -> bool:
    """Whether so few found speak against 95 % at this level."""
    return planted > 0 and bool(binom.cdf(found, planted, 0.95) < level)


def share(pair: tuple[int, ...]) -> str:
    """Found of planted, and per cent."""
    return f"{pair[0]} of {pair[1]} ({pair[0] / pair[1]:.1%})" if pair[1] else "–"


def pooled(lines: list[Row]) -> Iterator[str]:
    """Rows of a table that adds cells up: by domain and class, by people, by ε."""
    keys: tuple[tuple[str, Callable[[Row], str]], ...] = (
        ("domain and class", lambda line: f"{line['domain']}, {line['class']}"),
        ("people", lambda line: f"{line['people']:,}"),
        ("ε", lambda line: f"{line['epsilon']:g}"),
    )
    for title, key in keys:
        for name in dict.fromkeys(map(key, lines)):
            some = [line for line in lines if key(line) == name]
            found, planted, near, tried = (
                sum(line[side][k] for line in some) for side, k in product(("at", "below"), (0, 1))
            )
            if planted:
                mark = " **too few**" if rejects(found, planted) else ""
                yield f"| {title} | {name} | {share((found, planted))}{mark} | {share((near, tried))} |"


def page(rows: list[Row], command: str, note: str = "") -> str:
    """docs/limits.md."""
    lines = list(summary(rows))
    at = [sum(line["at"][k] for line in lines) for k in (0, 1)]
    below = [sum(line["below"][k] for line in lines) for k in (0, 1)]
    bad = [line for line in lines if rejects(*line["at"])]
    loose = [
        line for line in lines if line["below"][1] and binom.sf(line["below"][0] - 1, line["below"][1], 0.95) < 0.001
    ]
    runs = {(line["domain"], line["people"], line["epsilon"]): line for line in lines}.values()
    false, missed, total = (sum(line[key] for line in runs) for key in ("false_runs", "missed_runs", "runs"))
    half = norm.isf(0.005) * math.sqrt(at[0] * (at[1] - at[0]) / max(at[1], 1) ** 3)
    tried = [line["at"][1] for line in lines if line["at"][1]]
    enough, fewest = sum(each >= WANTED for each in tried), min(tried, default=0)
    middle = statistics.median(tried) if tried else 0
    seeds = ", ".join(str(seed) for seed in sorted({row["seed"] for row in rows}))
    table = [
        f"| {line['domain']} | {line['class']} | {line['people']:,} | {line['epsilon']:g} | "
        f"{'too few people' if line['limit'] is None else format(line['limit'], ',.0f')} | "
        f"{share(line['at'])} | {share(line['below'])} |"
        for line in lines
    ]
    return "\n".join(
        [
            "# Detection limits",
            "",
            "Every answer states a detection limit: a value that this many people hold is found with a chance of",
            "about 95 %. This page checks it: some values are held by as many people as the limit stated for their",
            "length, others by 1/1.15 of that, and it counts how many are found. Made by",
            f"`{command}`.",
            f"Seeds: {seeds}. No parameter was chosen with them.{note and ' '}{note}",
            "",
            "Lengths of the codes in bits, by class: "
            + "; ".join(
                f"{kind} " + ", ".join(f"{name} {low}–{high - 1}" for name, (low, high) in spans.items())
                for kind, spans in LENGTHS.items()
            )
            + ". Names are",
            "drawn at random from the code. Up to 24 values are planted in a crowd, in at most 60 % of it, or one in",
            "more of it; everybody else holds an id of their own, or one of 50,000 long names. A cell is one class",
            "with one number of people and one ε.",
            "",
            f"- **At the limit** {share((at[0], at[1]))} are found over all cells, ± {half:.1%} (99 % interval).",
            f"- **Cells with too few found** to agree with 95 % (significance level 0.1 %): {len(bad)} of",
            f"  {len(tried)}. Of these cells {enough} have {WANTED} values at the limit or more; the median is"
            f" {middle:.0f}, the least",
            f"  {fewest}. A cell with few values says little by itself; the sums below say more.",
            f"- **Below the limit**, at 1/1.15 of it, {share((below[0], below[1]))} are found. Cells where this is",
            f"  significantly more than 95 % (level 0.1 %), so that the limit is too high: {len(loose)}.",
            f"- Runs with a value that nobody holds: {false} of {total}. Runs with an interval that misses: {missed}.",
            *_remainder(at, below),
            "",
            "## Cells added up",
            "",
            "A figure too low to agree with 95 % (significance level 0.1 %) is marked **too few**.",
            "",
            "| by | | found at the limit | found at 1/1.15 of it |",
            "| --- | --- | ---: | ---: |",
            *pooled(lines),
            "",
            "## Every cell",
            "",
            "| domain | class | people | ε | stated limit | found at the limit | found at 1/1.15 of it |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
            *table,
            "",
        ]
    )


def _remainder(at: list[int], below: list[int]) -> list[str]:
    """The part of the limit at which 95 % are found, and where the rest comes from."""
    shares = [(found + 0.5) / (planted + 1) for found, planted in (at, below)]
    high, low, wanted = (float(norm.ppf(each)) for each in (*shares, 0.95))
    needed = 1.15 ** -((high - wanted) / max(high - low, 0.1))
    return [
        f"- A line through both, on the scale of the normal law, reaches 95 % at {needed:.3f} of the limit. Stated",
        "  limits are 2 % above those of the model, which leaves out what other values do. Its limits come from a line",
        "  through three chances, too: with many more draws they differ by at most 0.4 % from 10,000 people on, and by",
        "  1.5 % in smaller crowds (17 limits: ids of 64 bits, hosts and text).",
    ]


def main() -> None:
    """Run and print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    add_options(parser, Path("limits.jsonl"))
    parser.add_argument("--only", action="append", default=[], help='cells, such as "text" or "text 1000 4"')
    parser.add_argument("--values", type=int, default=WANTED, help="values of each class at the limit in each cell")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--note", default="", help="a sentence for the page: how its runs differ")
    args = parser.parse_args()
    todo, more = cells(args.quick, args.only), partial(runs_of, wanted=args.values)
    rows = run_all(todo, partial(measure, seed=args.seed), more, args.state, args)
    command = f"python benchmarks/limits.py --seed {args.seed} --state limits.jsonl --write docs/limits.md"
    _, heading, names = (args.write.read_text("utf-8") if args.write else "").partition(WITH_NAMES)
    put(f"{page(rows, command, args.note)}{heading and chr(10)}{heading}{names}", args.write)


if __name__ == "__main__":
    main()
