"""What each gate of the search costs: why some figures of docs/accuracy.md are out of reach.

    python benchmarks/gates.py [--write docs/accuracy.md]

z95 is given for scoring every value, and again after each gate is added, as `limits` predicts it: only what the rows
say of one value is drawn, always with the same draws. Takes about a minute.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub import Integers, create_survey, mechanism_for
from hubbub.mechanisms.tree import Tree
from hubbub.mechanisms.tree.gates import InBeam, InList, LevelBudget, Neighbours, NoSingleRow, Place, StandsOut
from hubbub.mechanisms.tree.limits import RowDraws, found_from, named_chance
from hubbub.mechanisms.tree.shape import BitClass
from hubbub.model.estimates import Query
from hubbub.numeric.bisection import bisect
from hubbub.numeric.tails import normal_quantile_log

LEVEL, FOUND, CANDIDATES, MILLION = Query().level, 0.95, 1 << 20, 1_000_000
CELLS = [
    *((64, people, epsilon) for people in (100_000, MILLION) for epsilon in (0.5, 1.0, 2.0, 4.0)),
    (128, MILLION, 4.0),
    (256, MILLION, 4.0),
]
WIDER = 5  # so many bits are added to the widths of beam and list
Gates = Sequence[Any]
HEADING = "## What was aimed at and not reached\n"
SECTION = """{heading}
`python benchmarks/gates.py --write docs/accuracy.md` adds the gates of the search one after the other, and predicts
z95 by the model behind the stated limits. *Exhaustive* is the limit of the best oracle; *whole level* scores every
value with the reports of the survey and their exact tails; *a quarter* has the part of the level that there is for
noise. Then a value must not rest on a *single row*, must be told from its *neighbours*, and must stay in the *list*
of its root and in the *beam*; then it has passed all gates. In *wider*, lists and beams have 32 times as many paths.
*Stated* is printed with an answer.

{tables}

- **64 bits: 11.67 to 12.43, aim 11.6.** To score every value with a quarter of the level takes 11.2 to 11.7 already;
  half of the level is for intervals, and half of the rest for neighbours. That no single row decides, as a collision
  would, takes 0.2 to 0.3 more, and the beam 0.2 to 0.5. A search that takes 32 times as long gains 0.1 to 0.2, and
  reaches the aim in two of eight cells. At ε = 0.5 a report is one bit, which costs 3 %.
- **128 and 256 bits: 17.0 and 24.1, aims 16.0 and 23.3.** List and beam take 0.8 and 2.0. With 32 times the paths the
  model gives 16.2 and 23.0.
- **2^20 candidates: 7.41 [7.18, 7.59], aim 7.2.** The list has half of the level, and half of that is for intervals.
  With this quarter the best oracle itself needs 7.23.
- **Stated over measured: 1.01 to 1.05, aim 1.04.** The model (*beam*) is 0.98 to 1.02 times what was measured, which
  is known to 2 or 3 %. Stated limits are 2 to 3 % above the model, for what it leaves out. Over 1,171 other crowds,
  95 % are found at [0.967 of the limit](limits.md), and 97 % at it.
- **Hosts of 52 to 64 bits at ε = 1: 0.75 [0.11, 1.32], aim 0.75.** It is missed by less than the table shows.
- **Encode: 43 to 44 ns, aim 40.** The bijection takes 18, which keeps values apart that begin alike; the row, the masks
  and the bucket take 21, checks and copies 4.
"""


@dataclass(frozen=True)
class WideBeam(InBeam):
    """A beam that is wider."""

    def widths(self, kind: BitClass) -> NDArray[np.int64]:
        """Paths kept at each step."""
        return super().widths(kind) << WIDER


@dataclass(frozen=True)
class WideList(InList):
    """Lists that are wider."""

    def widths(self, kind: BitClass) -> NDArray[np.int64]:
        """Paths kept at each step."""
        return super().widths(kind) << WIDER


def tree_of(bits: int, people: int, epsilon: float) -> Tree:
    """A tree for whole numbers."""
    survey = create_survey("gates", Integers(bits), epsilon, None, "tree", {}, people, public_seed=bytes(32))
    tree = mechanism_for(survey)
    if not isinstance(tree, Tree):
        raise TypeError("only trees have gates")
    return tree


def unit(people: int, epsilon: float) -> float:
    """The standard deviation of the best frequency oracle."""
    return math.sqrt(people) * 2 * math.exp(epsilon / 2) / math.expm1(epsilon)


def least(chance: Any, sd: float) -> float:
    """The least z at which a chance, which rises with the holders, is 95 %."""
    _, found = bisect(
        lambda held: chance(held) >= FOUND, 0.0, 60 * sd, close=lambda low, high: high - low <= 0.005 * sd
    )
    return found / sd


def z95(tree: Tree, people: int, bits: int, sd: float, gates: Gates) -> float:
    """The z with which a value passes these gates with a chance of 95 %."""
    draws, kind = RowDraws(tree, people, times=4), tree.shape.classes[0]
    place = Place(tree.shape, tree.law, kind, bits, float(tree.code.log_masses[0]), people * tree.shape.shares)
    windows = [window for gate in gates for window in gate.needs(place)]

    def chance(held: float) -> float:
        counts = draws.counts(held)
        total, found = counts.sum(axis=1), np.ones(len(counts), np.bool_)
        for rows, needed, without in windows:
            part = counts[:, rows].sum(axis=1)
            found &= (total - part if without else part) >= needed - 1e-6
        return float(found.mean())

    return least(chance, sd)


def search_row(bits: int, people: int, epsilon: float) -> str:
    """z95 with more and more gates, of one universe and crowd."""
    tree, sd, budget = tree_of(bits, people, epsilon), unit(people, epsilon), LevelBudget(LEVEL)
    beam, wide = tree.in_beam, WideBeam(tree.in_beam.typical, tree.in_beam.root)
    every: list[Any] = [StandsOut(budget), NoSingleRow(budget, 1), Neighbours(budget), InList(), beam]
    figures = [
        normal_quantile_log(math.log(LEVEL) - bits * math.log(2)) + 1.645,
        z95(tree, people, bits, sd, [StandsOut(LevelBudget(4 * LEVEL))]),
        *(z95(tree, people, bits, sd, every[: number + 1]) for number in range(len(every))),
        z95(tree, people, bits, sd, [*every[:3], WideList(), wide]),
        found_from(tree, people, bits, Query()) / sd,
    ]
    return f"| {bits} | {people:,} | {epsilon:g} | " + " | ".join(f"{each:.2f}" for each in figures) + " |"


def candidate_row(part: str, share: float) -> str:
    """z95 of a candidate if the list has this share of the level for false values."""
    tree, sd = tree_of(64, MILLION, 1.0), unit(MILLION, 1.0)
    log_chance = math.log(share * LEVEL / CANDIDATES)
    alone = normal_quantile_log(log_chance) + 1.645
    whole = least(lambda held: named_chance(tree, MILLION, held, log_chance), sd)
    return f"| {part} | {alone:.2f} | {whole:.2f} |"


def tables() -> Iterator[str]:
    """Both tables, line by line."""
    names = "exhaustive | whole level | a quarter | no single row | neighbours | list | beam | wider | stated"
    yield f"| bits | people | ε | {names} |"
    yield f"|{' ---: |' * 12}"
    for cell in CELLS:
        yield search_row(*cell)
    yield ""
    yield "| level for 2^20 candidates | best oracle | `tree` |"
    yield "| --- | ---: | ---: |"
    for part, share in (("all of it", 1.0), ("half", 0.5), ("a third", 1 / 3), ("a quarter, as it is", 0.25)):
        yield candidate_row(part, share)


def main() -> None:
    """Print the tables, or write the section."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", type=Path, help="the page whose last section is replaced")
    args = parser.parse_args()
    lines = []
    for line in tables():
        print(line, flush=True)
        lines.append(line)
    if args.write:
        before = args.write.read_text("utf-8").partition(HEADING)[0]
        args.write.write_text(before + SECTION.format(heading=HEADING, tables="\n".join(lines)), "utf-8")


if __name__ == "__main__":
    main()
