"""Are limits true if a survey checks the names of a public list, too? Some values are on the list, others are not.

    python benchmarks/limits_of_names.py --state limits-of-names.jsonl --write docs/limits.md

It writes a section of docs/limits.md, which explains it. Every run is kept as it ends.
"""

from __future__ import annotations

import argparse
import math
import time
import zlib
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import hubbub
from hubbub import SeededRandomWords
from hubbub.mechanisms.tree.limits import found_from
from hubbub.model.coded_domain import CodedText
from hubbub.model.estimates import Query
from hubbub.simulation.rehearsal import rehearse

try:
    from benchmarks.kept_runs import add_options, by_cell, put, run_all

    from benchmarks import limits
except ModuleNotFoundError:  # run as a script, whose own folder is on the path
    import limits  # type: ignore[import-not-found,no-redef]
    from kept_runs import add_options, by_cell, put, run_all  # type: ignore[import-not-found,no-redef]

Row = dict[str, Any]
SEED = 9013  # never tune with this seed
RUNS = 20
SEARCH = Query().split(3)  # what is left of the level for the search
CELLS = [limits.Cell(*each) for each in product(("hosts", "words"), (1_000, 20_000, 100_000), (1.0, 4.0))]


@cache
def listed_limit(cell: limits.Cell) -> float:
    """The limit that an answer states for the names of its list."""
    tree = limits.tree_of(cell, bytes(32))
    rest = limits.others(cell.domain)
    tally = rehearse(tree, [rest[np.arange(cell.people) % len(rest)]], SeededRandomWords(1))
    limit = hubbub.find_hitters(tree.survey, tally, decoder=tree).candidate_limit
    return math.inf if limit is None else limit


def stated(cell: limits.Cell, bits: int) -> float:
    """The limit of a value that is not on the list."""
    return found_from(limits.measuring_tree(cell), cell.people, bits, SEARCH)


def measure(cell: limits.Cell, run: int, seed: int) -> Row:
    """One crowd: which of the values at their limits, and below, were found."""
    started = time.process_time()
    rng = np.random.default_rng([seed, zlib.crc32(repr(cell).encode()), run])
    domain = limits.DOMAINS[cell.domain]()
    if not isinstance(domain, CodedText) or domain.names_list is None:
        raise TypeError("names are texts")
    known = hubbub.names(domain.names_list)
    tree = limits.tree_of(cell, rng.bytes(32))
    for bits in filter(None, tree.stated_bits):
        tree.limits[cell.people, bits, SEARCH.level] = stated(cell, bits)
    spans = list(limits.LENGTHS[cell.domain].values())
    planted: dict[object, tuple[str, int, int]] = {}
    room = 0.6 * cell.people
    for number in range(24):
        below = int(rng.integers(4) == 0)
        if number % 2 == run % 2:
            kind, value, least = "listed", known[int(rng.integers(len(known)))], listed_limit(cell)
        else:
            value, bits = limits.draw_value(cell.domain, spans[int(rng.integers(len(spans)))], rng)
            kind, least = "searched", stated(cell, bits)
            if value in known:
                continue
        count = least / (limits.LOOSE if below else 1.0)
        if math.isfinite(count) and count <= room and value not in planted:
            planted[value] = (kind, below, math.ceil(count))
            room -= count
    counts = [count for _, _, count in planted.values()]
    rest = limits.others(cell.domain)
    alone = rest[(int(rng.integers(len(rest))) + np.arange(cell.people - sum(counts))) % len(rest)]
    everybody = np.concatenate([np.repeat(domain.encode(list(planted)), counts, axis=0), alone]) if planted else alone
    tally = rehearse(tree, [everybody], SeededRandomWords(int(rng.integers(2**63))))
    answer = hubbub.find_hitters(tree.survey, tally, top=1000, decoder=tree)
    found = {hitter.value: hitter for hitter in answer.hitters}
    crowd = set(domain.decode(rest)) if found.keys() - planted.keys() else set()
    return {
        **cell._asdict(),
        "run": run,
        "seed": seed,
        "names": answer.known_names,
        "limit": listed_limit(cell) if math.isfinite(listed_limit(cell)) else None,
        "stated": answer.candidate_limit,
        "seen": [[kind, below, value in found] for value, (kind, below, _) in planted.items()],
        "false": sum(value not in planted and value not in crowd for value in found),
        "missed": sum(
            not found[value].low <= count <= found[value].high
            for value, (_, _, count) in planted.items()
            if value in found
        ),
        "seconds": time.process_time() - started,
    }


def section(rows: list[Row], command: str) -> str:
    """The section of docs/limits.md."""

    def share(some: list[Row], kind: str, below: int) -> tuple[int, int]:
        hits = [hit for row in some for name, side, hit in row["seen"] if (name, side) == (kind, below)]
        return sum(hits), len(hits)

    sides = list(product(("listed", "searched"), (0, 1)))
    table = []
    for (domain, people, epsilon), some in by_cell(rows, limits.Cell._fields).items():
        limit = some[0]["limit"]
        table.append(
            f"| {domain} | {people:,} | {epsilon:g} | {len(some)} | "
            f"{'too few people' if limit is None else format(limit, ',.0f')} | "
            + " | ".join(limits.share(share(some, *side)) for side in sides)
            + " |"
        )
    total = [share(rows, *side) for side in sides]
    false, missed = (sum(row[key] > 0 for row in rows) for key in ("false", "missed"))
    bad = [kind for (kind, _), pair in zip(sides[::2], total[::2], strict=True) if limits.rejects(*pair)]
    seeds = ", ".join(str(seed) for seed in sorted({row["seed"] for row in rows}))
    return "\n".join(
        [
            limits.WITH_NAMES,
            "",
            "A survey of hosts or words also checks the [names of a public list](names.md), which have a limit of",
            "their own; the search has a third of the level then. Half of the planted values are drawn from the list",
            "and held at the limit of its names, half are drawn from the code and held at the limit of their length.",
            "Made by",
            f"`{command}`.",
            f"Seed {seeds}; no parameter was chosen with it.",
            "",
            f"- Names of the list, at the limit: {limits.share(total[0])} are found; at 1/1.15 of it"
            f" {limits.share(total[1])}.",
            f"- Other values, at the limit: {limits.share(total[2])}; at 1/1.15 of it {limits.share(total[3])}.",
            f"- Too few to agree with 95 % (significance level 0.1 %): {', '.join(bad) or 'neither'}.",
            f"- Runs with a value that nobody holds: {false} of {len(rows)}. Runs with an interval that misses: "
            f"{missed}.",
            "",
            "| domain | people | ε | runs | limit of listed names | listed, at it | listed, at 1/1.15 "
            "| others, at theirs | others, at 1/1.15 |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *table,
            "",
        ]
    )


def main() -> None:
    """Run and print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser, Path("limits-of-names.jsonl"))
    parser.add_argument("--runs", type=int, default=RUNS, help="of each cell")
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    more = lambda done: min(args.runs - len(done), 4)  # noqa: E731
    rows = run_all(CELLS, partial(measure, seed=args.seed), more, args.state, args)
    text = section(rows, f"python benchmarks/limits_of_names.py --seed {args.seed} --write docs/limits.md")
    before = args.write.read_text("utf-8").partition(limits.WITH_NAMES)[0].rstrip() if args.write else ""
    put(f"{before}\n\n{text}".lstrip(), args.write)


if __name__ == "__main__":
    main()
