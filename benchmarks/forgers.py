"""Forgers: reports without noise, whose ids are drawn until they suit, and the fewest of them that take a value away.

    python benchmarks/forgers.py --crowds 40

In every crowd of 100,000 people, 30 % hold one value. Attacks drawn at random, alone and in pairs, send one report less
than the answer prints; the value must stay. For the attacks on the rows that tell neighbours apart, which are the
cheapest, bisection finds the fewest reports that take the value away. Beams are narrow, which is faster, and leaves a
value less room than a survey does. `Crowd.flooded` is another attack, which the printed number does not cover.

A forger knows the survey, and so the row and the masks of every id that he draws. He does not see the tally. Each
attack names rows, a value to lift, and a value to lower: a report of these rows then has the first one's symbol, and an
id is taken only if the second one has another.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from hubbub import Hostnames, Integers, SeededRandomWords, Tally, create_survey, mechanism_for
from hubbub.mechanisms.tree import Tree
from hubbub.mechanisms.tree.gates import InBeam
from hubbub.mechanisms.tree.shape import BitClass
from hubbub.model.estimates import Estimates, Query
from hubbub.numeric.hashing import Purpose, derive_key, hash_uint64
from hubbub.simulation.rehearsal import rehearse
from hubbub.testing import public_seed

_IDS = 1 << 20
_TRIED = 1 << 14  # neighbours that are looked at until one is a value
_SEED = 7100
KINDS, EPSILONS = ("ids", "hosts"), (1.0, 2.0, 4.0)


class NarrowBeam(InBeam):
    """A beam of 512 paths, with room enough for one large value."""

    def widths(self, kind: BitClass) -> np.ndarray:
        """Paths kept at each step."""
        return np.full(len(kind.steps), 1 << 9, np.int64)


@dataclass(frozen=True)
class Attack:
    """Reports of some rows, shared out in proportion to the people there, that lift a value and lower another."""

    name: str
    rows: tuple[int, ...]
    lift: np.ndarray | None
    lower: np.ndarray | None


@dataclass(frozen=True)
class Crowd:
    """A crowd in which one value is held by many, and everybody else holds a value of her own."""

    tree: Tree
    value: np.ndarray
    honest: Tally

    @cached_property
    def _words(self) -> np.ndarray:
        words = SeededRandomWords(99).draw(_IDS, 4)
        words[:, 2] = 0  # the truth is told
        return words

    @cached_property
    def _rows(self) -> np.ndarray:
        key = derive_key(self.tree.survey.public_seed, Purpose.TREE_COINS)
        coins = (hash_uint64(key, self._words[:, :2]) >> np.uint64(40)).astype(np.int64)
        return np.searchsorted(np.array(self.tree.shape.ends), coins, side="right")

    def forged(self, attack: Attack, count: int) -> np.ndarray:
        """So many reports of an attack."""
        shares = self.tree.shape.shares[list(attack.rows)]
        ends = np.rint(np.cumsum(shares / shares.sum()) * count).astype(np.int64)
        return np.concatenate(
            [
                self._of_row(attack, row, many)
                for row, many in zip(attack.rows, np.diff(ends, prepend=0).tolist(), strict=True)
            ]
        )

    def _of_row(self, attack: Attack, row: int, count: int) -> np.ndarray:
        words = self._words[self._rows == row][: 3 * count + 100]
        told = [
            None if item is None else self.tree.randomize(np.repeat(item[np.newaxis], len(words), axis=0), words)
            for item in (attack.lift, attack.lower)
        ]
        lift, lower = told
        if lift is None:
            if lower is None:
                raise ValueError("an attack must name a value to lift or to lower")
            lower["symbol"] = (lower["symbol"] + 1) % self.tree.law.symbols
            chosen = lower
        elif lower is None or (lift["symbol"] == lower["symbol"]).all():  # they share the bucket
            chosen = lift
        else:
            chosen = lift[lift["symbol"] != lower["symbol"]]
        if len(chosen) < count:
            raise ValueError(f"there are ids for {len(chosen)} reports of row {row}, got {count}")
        return chosen[:count]

    def answer(self, *forged: np.ndarray) -> Estimates:
        """What is found after these reports were added."""
        cells = self.honest.cells.copy()
        for reports in forged:
            self.tree.accumulate(cells, reports)
        count = self.honest.count + sum(len(reports) for reports in forged)
        for (_, bits, level), limit in list(self.tree.limits.items()):  # slow to compute, and not looked at here
            self.tree.limits[count, bits, level] = limit
        return self.tree.discover(Tally(self.honest.survey_id, count, cells), Query())

    def flooded(self, row: int, count: int) -> Estimates:
        """What is found after one report of a row, which does not match the value, was counted so many times.

        Ids count once. So a forger needs as many ids with the same row and masks: about 2^32 draws for each at ε = 1,
        and far more at a larger ε. Here they are taken as found.
        """
        report = self._of_row(Attack("flood", (row,), None, self.value), row, 1)
        cells = np.zeros(self.tree.cells_shape, np.int64)
        self.tree.accumulate(cells, report)
        tally = Tally(self.honest.survey_id, self.honest.count + count, self.honest.cells + count * cells)
        return self.tree.discover(tally, Query())

    def place(self, found: Estimates, item: np.ndarray | None = None) -> int | None:
        """Where a value stands among those found, or None."""
        same = np.flatnonzero((found.items == (self.value if item is None else item)).all(axis=1))
        return int(same[0]) if len(same) else None

    def is_mentioned(self, found: Estimates) -> bool:
        """Whether the value is found, or named as the rival of a found one."""
        rivals = np.empty((0, self.value.size), np.uint64) if found.rivals is None else found.rivals
        return self.place(found) is not None or bool((rivals == self.value).all(axis=1).any())

    def fewest(self, attack: Attack, succeeds: Callable[[Estimates], bool], low: int, high: int) -> int | None:
        """By bisection, the fewest reports with which an attack succeeds, to 4 %; None if even `high` do not."""
        if not succeeds(self.answer(self.forged(attack, high))):
            return None
        while high - low > max(1, 0.04 * high):
            middle = (low + high) // 2
            low, high = (low, middle) if succeeds(self.answer(self.forged(attack, middle))) else (middle, high)
        return high

    # The attacks.

    @cached_property
    def _class(self) -> tuple[int, np.ndarray]:
        number, _, paths = next(self.tree.code.classes(self.value[np.newaxis]))
        return number, paths[0]

    @property
    def steps(self) -> int:
        """Steps of the value's class."""
        return len(self.tree.shape.classes[self._class[0]].steps)

    def rows_from(self, step: int) -> tuple[int, ...]:
        """The rows of a step, and of those below."""
        return tuple(range(step, self.tree.rows))

    def neighbour(self, step: int, seed: int = 1) -> np.ndarray | None:
        """A value that leaves the path at a step; None if none is found. In the last step, one that is near the end."""
        number, path = self._class
        kind = self.tree.shape.classes[number]
        start = kind.depths[step - 1]
        rng = np.random.default_rng(seed)
        if kind.bits - start <= 10:
            tried = np.arange(1, 1 << (kind.bits - start), dtype=np.uint64)
            flips = (tried[:, np.newaxis] >> np.arange(kind.bits - start, dtype=np.uint64)[::-1]) & np.uint64(1)
        else:
            flips = rng.integers(0, 2, (_TRIED, kind.bits - start), np.uint64)
        chunk = kind.steps[step]
        flips = flips[flips[:, :chunk].any(axis=1)]
        paths = np.repeat(path[np.newaxis], len(flips), axis=0)
        for place in range(flips.shape[1]):
            limb, shift = divmod(start + place, 64)
            paths[:, limb] ^= flips[:, place] << np.uint64(63 - shift)
        items = self.tree.code.to_items(number, paths)
        valid = self.tree.code.valid(np.full(len(items), number), items)
        return items[valid[0]] if len(valid) else None

    def attacks(self) -> Iterator[Attack]:
        """All attacks on the value."""
        value, rows, steps = self.value, self.rows_from(0), self.steps
        last = self.rows_from(steps - 1)
        for step in range(1, steps):
            if (other := self.neighbour(step)) is None:
                continue
            yield Attack(f"neighbour from step {step}", self.rows_from(step), other, value)
            for many in (1, 2, 3, 4):
                if step + many <= steps:
                    yield Attack(f"decoy in {many} rows from {step}", tuple(range(step, step + many)), other, value)
            if step == steps - 1:
                yield Attack("twin lifted only", last, other, None)
                yield Attack("twin in one of the last rows", last[:1], other, value)
                yield Attack("twin in two of the last rows", last[:2], other, value)
        parts = {"all": rows, "the last": last, "the upper": rows[: len(rows) // 3], "one": rows[1:2]}
        for name, part in parts.items():
            yield Attack(f"lowered in {name} rows", part, None, value)
            yield Attack(f"lifted in {name} rows", part, value, None)


def crowd(domain_name: str, epsilon: float, seed: int, people: int = 100_000, holders: int = 30_000) -> Crowd:
    """A crowd of ids or hosts, drawn anew for every seed."""
    rng = np.random.default_rng([seed, people, holders])
    if domain_name == "ids":
        domain = Integers(64)
        names = rng.integers(0, 1 << 64, people - holders + 1, np.uint64).tolist()
    else:
        domain = Hostnames()
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
        names = ["".join(word) + ".com" for word in letters[rng.integers(0, 26, (people - holders + 1, 8))]]
    survey = create_survey(
        "forged", domain, epsilon, None, "tree", {"size": "small"}, people, public_seed=public_seed(seed)
    )
    tree = mechanism_for(survey)
    if not isinstance(tree, Tree):
        raise TypeError("forgers attack trees")
    tree.in_beam = NarrowBeam(tree.in_beam.typical, tree.in_beam.root)
    items = domain.encode(names)
    everybody = np.concatenate([np.repeat(items[:1], holders, axis=0), items[1:]])
    return Crowd(tree, items[0], rehearse(tree, [everybody], SeededRandomWords(seed + 1000)))


class Trial(NamedTuple):
    """One crowd: the number printed, the fewest that took the value away, and the attacks that did with fewer."""

    kind: str
    epsilon: float
    printed: int
    fewest: int | None
    taken: list[str]
    silent: list[str]


def try_crowd(kind: str, epsilon: float, seed: int, drawn: int = 4) -> Trial:
    """Attack one crowd: `drawn` attacks and half as many pairs with one report less than printed; then bisection."""
    people = crowd(kind, epsilon, seed)
    found = people.answer()
    place = people.place(found)
    if place is None or found.fakes is None:
        raise RuntimeError("a value of 30 % must be found")
    printed = int(found.fakes[place])
    rng, attacks = np.random.default_rng(seed), list(people.attacks())
    near = [each for each in attacks if each.name.startswith(("neighbour", "twin lifted"))][-3:]
    chosen = [attacks[k] for k in rng.choice(len(attacks), drawn, replace=False)] + near
    taken, silent = [], []

    def attack(name: str, *forged: np.ndarray) -> None:
        after = people.answer(*forged)
        if people.place(after) is None:
            taken.append(name)
        if not people.is_mentioned(after):
            silent.append(name)

    for each in chosen:
        attack(each.name, people.forged(each, printed - 1))
    for _ in range(drawn // 2):
        one, other = (attacks[k] for k in rng.choice(len(attacks), 2, replace=False))
        part = int(rng.integers(1, printed - 1))
        attack(f"{one.name}, {other.name}", people.forged(one, part), people.forged(other, printed - 1 - part))
    fewest = [
        people.fewest(each, lambda after: people.place(after) is None, printed // 2, 3 * printed) for each in near[-2:]
    ]
    return Trial(kind, epsilon, printed, min((few for few in fewest if few), default=None), taken, silent)


def table(trials: list[Trial]) -> str:
    """A row for each kind of values and ε."""
    lines = [
        "| values | ε | crowds | printed, median | fewest that took the value away, median | least ratio "
        "| largest ratio | taken away by fewer than printed | without a word |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, epsilon in product(KINDS, EPSILONS):
        some = [each for each in trials if (each.kind, each.epsilon) == (kind, epsilon)]
        fewest = [3 * each.printed if each.fewest is None else each.fewest for each in some]
        ratios = [few / each.printed for few, each in zip(fewest, some, strict=True)]
        if some:
            lines.append(
                f"| {kind} | {epsilon:g} | {len(some)} | {np.median([each.printed for each in some]):,.0f} | "
                f"{np.median(fewest):,.0f} | {min(ratios):.2f} | {max(ratios):.2f} | "
                f"{sum(bool(each.taken) for each in some)} | {sum(bool(each.silent) for each in some)} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Try crowds of every kind, and print the table."""
    parser = argparse.ArgumentParser(description="Attack crowds with forged reports.")
    parser.add_argument("--crowds", type=int, default=40, help="of each kind and ε")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seed", type=int, default=_SEED)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    trials = []
    with ProcessPoolExecutor(options.workers) as pool:
        cells = [(kind, epsilon, run) for run, kind, epsilon in product(range(options.crowds), options.kinds, EPSILONS)]
        jobs = [pool.submit(try_crowd, kind, epsilon, options.seed + run) for kind, epsilon, run in cells]
        for job in jobs:
            trials.append(job.result())
            print(trials[-1], flush=True)
    print(table(trials))


if __name__ == "__main__":
    main()
