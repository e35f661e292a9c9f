"""Are the chances of guesses true? Of the guesses said to be 60 % likely, 60 % should be right.

    python benchmarks/guesses.py --state guesses.jsonl --write docs/guesses.md

Every run is written to the state file as it ends, so that a run that was stopped goes on where it was. `--quick` does
a few cells in minutes. docs/reading-answers.md explains guesses.
"""

from __future__ import annotations

import argparse
import math
import re
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hubbub
from hubbub import Hostnames, SeededRandomWords, create_survey, mechanism_for
from hubbub.analysis.guesses import Prior, chances
from hubbub.mechanisms.tree import Tree
from hubbub.model.coded_domain import CodedText
from hubbub.model.estimates import Estimates
from hubbub.model.mechanism import Items
from hubbub.simulation.rehearsal import rehearse

try:
    from benchmarks.kept_runs import add_options, put, run_all
    from benchmarks.names import draw_name

    from benchmarks import limits
except ModuleNotFoundError:  # run as a script, whose own folder is on the path
    import limits  # type: ignore[import-not-found,no-redef]
    from kept_runs import add_options, put, run_all  # type: ignore[import-not-found,no-redef]
    from names import draw_name  # type: ignore[import-not-found,no-redef]

Row = dict[str, Any]
SEED = 28061  # never tune with this seed
ASKED, RANKS, LARGE = 10, 10_000, 300
PEOPLE, EPSILONS = (1_000, 10_000, 100_000, 1_000_000), (1.0, 2.0, 4.0)
LENGTHS = {"hosts": (26, 53), "words": (16, 35), "text": (28, 52)}
HEADING = "## By name, many more crowds"
CLASSES = ((0.01, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))
CROWDS = {
    "zipf": "the value of rank r is held by people in proportion to r^−s, s = 0.8, 1 or 1.2, up to rank 10,000",
    "near": "1 to 12 values, if they fit, each held by 0.3 to 1.1 times the limit of a usual value, and rare ones",
    "own": "everybody holds a value of their own, or one of 50,000 rare ones",
}


class Cell(NamedTuple):
    """A domain, a crowd and an ε."""

    domain: str
    people: int
    epsilon: float
    crowd: str


@cache
def _public(kind: str) -> list[str]:
    """The public list of names of a domain."""
    name = limits.DOMAINS[kind]().names_list
    return [] if name is None else list(hubbub.names(name))


def draw_values(kind: str, rng: np.random.Generator) -> Items:
    """Different values, the largest first: half of them of the public list if there is one, then rare ones."""
    domain = limits.DOMAINS[kind]()
    if not isinstance(domain, CodedText):
        return rng.integers(0, 2**64 - 1, (RANKS, 1), dtype=np.uint64)
    public = list(rng.permutation(_public(kind)))
    drawn: dict[str, None] = {}
    while len(drawn) < LARGE:
        is_public = public and rng.integers(2)
        drawn[str(public.pop()) if is_public else draw_name(domain, *LENGTHS[kind], rng)[0]] = None
    return np.concatenate([domain.encode(list(drawn)), limits.others(kind)[: RANKS - LARGE]])


def draw_counts(cell: Cell, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """How many people hold each of the values."""
    if cell.crowd == "zipf":
        shares = np.arange(1, RANKS + 1) ** -float(rng.choice([0.8, 1.0, 1.2]))
        return rng.multinomial(cell.people, shares / shares.sum())
    if cell.crowd == "own":
        return np.zeros(0, np.int64)
    limit = limits.stated(limits.Cell(*cell[:3]), 64 if cell.domain == "ids" else sum(LENGTHS[cell.domain]) // 2)
    shares = rng.uniform(0.3, 1.1, int(rng.integers(1, 13))) * min(limit / cell.people, 1.0)
    return np.floor(cell.people * shares[np.cumsum(shares) <= 0.95]).astype(np.int64)


def measure(cell: Cell, run: int, seed: int) -> Row:
    """One crowd: the chance of each guess, whether it is right, and whether it was a name."""
    rng = np.random.default_rng([seed, zlib.crc32(repr(cell).encode()), run])
    values, counts = draw_values(cell.domain, rng), draw_counts(cell, rng)
    tree, rest = limits.ready_tree(limits.Cell(*cell[:3]), rng.bytes(32)), limits.others(cell.domain)
    alone = rest[(int(rng.integers(len(rest))) + np.arange(cell.people - int(counts.sum()))) % len(rest)]
    everybody = np.concatenate([np.repeat(values[: len(counts)], counts, axis=0), alone])
    tally = rehearse(tree, [everybody], SeededRandomWords(int(rng.integers(2**63))))
    answer = hubbub.find_hitters(tree.survey, tally, guesses=ASKED, decoder=tree)
    held, many = np.unique(everybody, axis=0, return_counts=True)
    least = answer.guessed_from or 0.0
    right = set(limits.DOMAINS[cell.domain]().decode(held[many >= least]))
    return {
        **cell._asdict(),
        "run": run,
        "seed": seed,
        "least": least,
        "found": len(answer.hitters),
        "guesses": [[guess.chance, guess.value in right, guess.listed] for guess in answer.guesses],
    }


def cells(quick: bool) -> list[Cell]:
    """All cells, or a few."""
    some = ((1_000, 10_000), (4.0,), ("zipf", "own")) if quick else (PEOPLE, EPSILONS, tuple(CROWDS))
    every = [Cell(*each) for each in product(limits.DOMAINS, *some)]
    return [every[k] for k in np.random.default_rng(1).permutation(len(every))]  # a part of a round has some of all


def classes(rows: list[Row]) -> Iterator[tuple[str, int, float, float]]:
    """For each class of chances: its name, how many guesses, the chance they have on average, the share that is right.

    >>> list(classes([{"guesses": [[0.5, True, False], [0.45, False, False]]}]))[2]
    ('40–60 %', 2, 0.475, 0.5)
    """
    every = [guess for row in rows for guess in row["guesses"]]
    for low, high in CLASSES:
        some = [guess for guess in every if low <= guess[0] < high or guess[0] == high == 1]
        stated, right = (sum(guess[k] for guess in some) / max(len(some), 1) for k in (0, 1))
        yield f"{100 * low:.0f}–{100 * high:.0f} %", len(some), stated, right


@cache
def _tree(people: int, epsilon: float) -> Tree:
    """A tree over hosts, for its law."""
    built = mechanism_for(create_survey("guesses", Hostnames(), epsilon, mechanism="tree", expected_reports=people))
    assert isinstance(built, Tree)  # noqa: S101
    return built


def drawn_by_name(people: int, epsilon: float, rng: np.random.Generator) -> Row:
    """A crowd of the kind "zipf", in which names are counted by the exact law of a count: no reports, no search."""
    tree, size = _tree(people, epsilon), len(_public("hosts"))
    law, shares = tree.count_law(people), np.arange(1, RANKS + 1) ** -float(rng.choice([0.8, 1.0, 1.2]))
    common = rng.multinomial(people, shares / shares.sum())[:LARGE][rng.random(LARGE) < 0.5]
    held = np.append(common, np.zeros(size - len(common), np.int64))
    matches = rng.binomial(held, tree.law.true) + rng.binomial(people - held, tree.law.absent)
    counts = (matches - people * tree.law.absent) * tree.law.per_match
    threshold = law.threshold(math.log(0.05 / 3) - math.log(size), 0.0)  # two thirds of the level, half for intervals
    below = np.argsort(np.where(counts < threshold, -counts, np.inf))[:32]
    prior = Prior(int((counts >= threshold).sum()), threshold, -math.log(size))
    spread = np.sqrt(law.variance(np.clip(counts[below], 0, people)))
    best = Estimates(below.astype(np.uint64)[:, np.newaxis], counts[below], spread)
    sure = chances(law, prior, best, np.full(len(below), prior.log_share), threshold / 2)
    guesses = [[sure[k], bool(held[below[k]] >= threshold / 2), True] for k in np.argsort(-sure)[:ASKED]]
    return {"epsilon": epsilon, "guesses": guesses}


def section_by_name(crowds: int, seed: int) -> str:
    """The part of the page about guesses by name, with so many crowds of each size and ε."""
    rng = np.random.default_rng(seed)
    sizes = [each for each in product(PEOPLE[2:], EPSILONS) for _ in range(crowds)]
    rows = [drawn_by_name(*each, rng) for each in sizes]
    table = []
    for name, some in (("all", rows), *((f"ε = {e:g}", [r for r in rows if r["epsilon"] == e]) for e in EPSILONS)):
        said = (f"{stated:.1%} → {right:.1%} of {many:,}" if many else "–" for _, many, stated, right in classes(some))
        table.append(f"| {name} | {' | '.join(said)} |")
    names = [name for name, *_ in classes([])]
    return "\n".join(
        [
            "",
            HEADING,
            "",
            "Few guesses of a crowd are likely, so the classes above have few. Guesses by name need no search: here",
            "the counts of all names are drawn by their exact law, and the same function computes the chances.",
            "The crowds are those named zipf, with 100,000 and 1,000,000 people, ε = 1, 2 and 4;",
            f"{len(rows):,} of them, seed {seed}. No parameter was chosen with it.",
            f"Made by `python benchmarks/guesses.py --drawn {crowds} --seed {seed}`.",
            "",
            f"| | {' | '.join(names)} |",
            f"| --- | {' | '.join('---:' for _ in names)} |",
            *table,
            "",
        ]
    )


def page(rows: list[Row], command: str) -> str:
    """docs/guesses.md."""
    shared, own = ([row for row in rows if (row["crowd"] == "own") == alone] for alone in (False, True))
    sums = [sum(guess[0] for guess in row["guesses"]) for row in own]
    keys: tuple[tuple[str, Callable[[Row], str]], ...] = (
        ("all", lambda _: ""),
        ("domain", lambda row: str(row["domain"])),
        ("people", lambda row: f"{row['people']:,}"),
        ("ε", lambda row: f"{row['epsilon']:g}"),
        ("crowd", lambda row: str(row["crowd"])),
    )
    table = []
    for title, key in keys:
        for name in dict.fromkeys(map(key, rows)):
            some = list(classes([row for row in rows if key(row) == name]))
            said = (f"{stated:.0%} → {right:.0%} of {many}" if many else "–" for _, many, stated, right in some)
            table.append(f"| {title} | {name} | {' | '.join(said)} |")
    for listed, name in ((False, "searched"), (True, "by name")):
        kept = [{"guesses": [guess for guess in row["guesses"] if guess[2] == listed]} for row in rows]
        said = (f"{stated:.0%} → {right:.0%} of {many}" if many else "–" for _, many, stated, right in classes(kept))
        table.append(f"| guesses | {name} | {' | '.join(said)} |")
    names = [name for name, *_ in classes([])]
    return "\n".join(
        [
            "# Guesses, measured",
            "",
            "A [guess](reading-answers.md#guesses) comes with its chance to be right. This page counts how many are.",
            f"Made by `{command}`.",
            f"Seeds: {', '.join(map(str, sorted({row['seed'] for row in rows})))}. No parameter was chosen with them.",
            "",
            "The crowds:",
            "",
            *(f"- **{name}**: {said};" for name, said in CROWDS.items()),
            "",
            "each with 1,000 to 1,000,000 people, ε = 1, 2 and 4, for ids, hosts, words and text. Half of the common",
            "hosts and words are on the [public list](names.md), which is used; the others are drawn from the code.",
            f"There are {len(rows)} crowds, {len(shared)} of them with values that people share.",
            "",
            f"Where nobody shares a value, the chances add up to {np.mean(sums) if sums else 0:.2f} on average, and to",
            f"{max(sums, default=0):.2f} at most, over {len(own)} crowds.",
            "",
            "Each cell has the chance that was stated, on average, the share that is right, and the number of guesses.",
            "",
            f"| by | | {' | '.join(names)} |",
            f"| --- | --- | {' | '.join('---:' for _ in names)} |",
            *table,
            "",
        ]
    )


def main() -> None:
    """Run and print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    add_options(parser, Path("guesses.jsonl"))
    parser.add_argument("--runs", type=int, default=4, help="crowds of each cell")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", default="", help='cells that this expression is in: "(hosts|words) 1000000 .* zipf"')
    parser.add_argument("--drawn", type=int, help="only the part about guesses by name, with so many crowds each")
    args = parser.parse_args()
    if args.drawn:
        before = args.write.read_text("utf-8").partition(f"\n{HEADING}")[0] if args.write else ""
        put(before + section_by_name(args.drawn, args.seed), args.write)
        return
    more = lambda done: min(1, max(0, args.runs - len(done)))  # noqa: E731 - one of each cell after the other
    todo = [cell for cell in cells(args.quick) if re.search(args.only, " ".join(map(str, cell)))]
    rows = run_all(todo, partial(measure, seed=args.seed), more, args.state, args)
    command = f"python benchmarks/guesses.py --seed {args.seed} --state guesses.jsonl --write docs/guesses.md"
    kept = args.write.read_text("utf-8").partition(f"\n{HEADING}")[1:] if args.write and args.write.exists() else ()
    put("".join((page(rows, command), *kept)), args.write)


if __name__ == "__main__":
    main()
