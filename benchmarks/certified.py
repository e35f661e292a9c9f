"""Certified answers under attack: crowds with forged reports, and whether anything that was certified is wrong.

    python benchmarks/certified.py --crowds 10000

In each crowd so many honest people answer, and forgers add m reports. The answer to all reports is asked with
`forged=m`, and compared with the answer to the honest ones alone, which only this program knows. What was certified is
broken if a row that stands is not in the honest answer, if the first rows are others there, or if an interval does not
include the honest one (of a list) or misses the number of people that the honest one has (of what was searched for).

The attacks: MGA (Cao, Jia and Gong 2021) sends the reports that add most to all targets together; MGA-A supports a
random part of the targets with each, and APA supports a target with reports that otherwise look like honest ones (both
from Li et al. 2025, arXiv 2506.02156). Others lower a value, swap the first two, or follow a random direction.
`--ratios` also measures how far below the cheapest attack a certificate is: reports that lift a row are taken out of
the tally, and bisection finds the fewest without which the row is gone.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from hubbub import (
    Answer,
    Categories,
    Domain,
    Hostnames,
    Integers,
    SeededRandomWords,
    Tally,
    create_survey,
    find_hitters,
    mechanism_for,
)
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.simulation.rehearsal import rehearse
from hubbub.testing import public_seed

_POOL = 300  # reports that forgers choose from
ATTACKS = ("MGA", "MGA-A", "APA", "lower", "swap", "random")
_SITES = [f"{name}.example" for name in ("alder", "birch", "cedar", "date", "elm", "fig", "grape", "holly")]


class Kind(NamedTuple):
    """A kind of crowd: the mechanism, the values that are asked about, and the knobs of the question."""

    mechanism: str
    domain: Domain
    values: tuple[object, ...]
    people: int
    knobs: dict[str, object]


KINDS: dict[str, Kind] = {
    "subset, a list": Kind("subset", Categories(list("abcdef")), tuple("abcdef"), 400, {}),
    "subset, hitters only": Kind("subset", Categories(list("abcdef")), tuple("abcdef"), 400, {"hitters_only": True}),
    "tree, a list": Kind("tree", Integers(4), tuple(range(16)), 400, {}),
    "jl, a list": Kind("jl", Categories(list("abcde")), tuple("abcde"), 400, {}),
    "tree, numbers": Kind("tree", Integers(16), (7, 6, 5, 4, 260, 1_000, 9_999, 65_535), 1_500, {}),
    "tree, candidates": Kind("tree", Integers(32), (7, 6, 5, 4, 260), 1_500, {"candidates": (7, 6, 5, 4, 260)}),
    "tree, sites": Kind("tree", Hostnames(), tuple(_SITES), 1_500, {"names": "none"}),
}
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SCHEDULE = [*list(KINDS)[:4] * 21, *["tree, numbers"] * 14, "tree, candidates", "tree, sites"]  # searches are slow


@cache
def built(kind: str, epsilon: float) -> tuple[SurveyMechanism, np.ndarray, np.ndarray]:
    """The mechanism of a kind, a pool of reports, and what each adds to the count of each value."""
    about = KINDS[kind]
    options = {"size": "small"} if kind == "tree, sites" else {}
    seed = public_seed(5)
    survey = create_survey("c", about.domain, epsilon, None, about.mechanism, options, about.people, public_seed=seed)
    mechanism, items = mechanism_for(survey), about.domain.encode(list(about.values))
    random_words = SeededRandomWords(8).draw(_POOL, mechanism.random_words_per_report)
    random_words[:, 2] = 0  # the truth is told
    pool = mechanism.randomize(items[np.arange(_POOL) % len(items)], random_words)
    effects = np.empty((_POOL, len(items)))
    for place in range(_POOL):
        cells = np.zeros(mechanism.cells_shape, np.int64)
        mechanism.accumulate(cells, pool[place : place + 1])
        effects[place] = mechanism.estimate(Tally(mechanism.survey_id, 1, cells), items).counts
    return mechanism, pool, effects


def scores(attack: str, effects: np.ndarray, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How much an attack likes each report of a pool."""
    gains = effects[:, targets]
    if attack == "MGA":
        return np.asarray(gains.sum(axis=1))
    if attack == "MGA-A":  # each report supports another part of the targets
        some = rng.random(gains.shape) < 0.5
        return np.asarray((gains * some).sum(axis=1))
    if attack == "APA":  # a target is supported, and as many other values as in an honest report
        return np.asarray(gains.max(axis=1) + rng.normal(0, 1, len(gains)))
    if attack == "lower":
        return np.asarray(-gains[:, 0])
    if attack == "swap":
        return np.asarray(effects[:, targets[0]] - effects[:, targets[-1]])
    return np.asarray(effects @ rng.normal(0, 1, effects.shape[1]))


def forge(kind: str, epsilon: float, attack: str, many: int, rng: np.random.Generator) -> np.ndarray:
    """So many reports of an attack on targets drawn at random."""
    _, pool, effects = built(kind, epsilon)
    targets = rng.choice(effects.shape[1], int(rng.integers(1, 4)), replace=False)
    liked = np.argsort(-scores(attack, effects, targets, rng), kind="stable")
    return np.asarray(pool[rng.choice(liked[: int(rng.integers(1, 20))], many)])


def crowd(kind: str, epsilon: float, rng: np.random.Generator) -> tuple[np.ndarray, Tally]:
    """How many hold each value, and their honest tally."""
    about, (mechanism, _, _) = KINDS[kind], built(kind, epsilon)
    people = int(rng.integers(about.people // 4, about.people))
    counts = rng.multinomial(people, rng.dirichlet(np.full(len(about.values), 0.7)))
    items = np.repeat(about.domain.encode(list(about.values)), counts, axis=0)
    return counts, rehearse(mechanism, [items], SeededRandomWords(int(rng.integers(1 << 40))))


def with_reports(mechanism: SurveyMechanism, tally: Tally, reports: np.ndarray, sign: int = 1) -> Tally:
    """A tally with more reports, or with fewer."""
    cells = np.zeros(mechanism.cells_shape, np.int64)
    mechanism.accumulate(cells, reports)
    return Tally(tally.survey_id, tally.count + sign * len(reports), tally.cells + sign * cells)


def broken(honest: Answer, certified: Answer, truth: dict[object, int], is_list: bool) -> list[str]:
    """What was certified of an answer and is not so, given the answer without the forged reports."""
    wrong, many = [], certified.forged
    real = {row.value: row for row in honest.hitters}
    for place, row in enumerate(certified.hitters, 1):
        other = real.get(row.value)
        if row.stands_out and (row.stands_to or 0) >= many and (other is None or not other.stands_out):
            wrong.append(f"{row.value} does not stand")
        first = {each.value for each in certified.hitters[:place]}
        if (row.first_to or 0) >= many and first != {each.value for each in honest.hitters[:place]}:
            wrong.append(f"the first {place}")
        if other is None:
            continue
        if is_list and not (row.low <= other.low + 1e-6 and other.high <= row.high + 1e-6):
            wrong.append(f"{row.value} has a wider interval")
        held = truth.get(row.value, 0)
        if other.low <= held <= other.high and not row.low <= held <= row.high:
            wrong.append(f"{row.value} is not in its interval")
    return wrong


class Trial(NamedTuple):
    """One crowd: its kind, ε and attack, how many rows were certified for what was forged, and what was wrong."""

    kind: str
    epsilon: float
    attack: str
    forged: int
    certified: int
    wrong: list[str]


def try_crowd(number: int, seed: int, kinds: Sequence[str] = SCHEDULE) -> Trial:
    """Attack one crowd."""
    rng = np.random.default_rng([seed, number])
    kind, epsilon = kinds[number % len(kinds)], float(rng.choice(EPSILONS))
    attack, about = str(rng.choice(ATTACKS)), KINDS[kind]
    mechanism, _, _ = built(kind, epsilon)
    counts, tally = crowd(kind, epsilon, rng)
    many = int(np.exp(rng.uniform(0, math.log(tally.count / 3))))
    attacked = with_reports(mechanism, tally, forge(kind, epsilon, attack, many, rng))
    ask = partial(find_hitters, mechanism.survey, decoder=mechanism, top=100, **about.knobs)
    certified, honest = ask(tally=attacked, forged=many), ask(tally=tally)
    truth = dict(zip(about.values, counts.tolist(), strict=True))
    wrong = broken(honest, certified, truth, certified.whole_list)
    standing = sum(row.stands_out and (row.stands_to or 0) >= many for row in certified.hitters)
    return Trial(kind, epsilon, attack, many, standing, wrong)


def ratio(kind: str, epsilon: float, number: int, seed: int) -> tuple[float, float] | None:
    """Of the largest value of a crowd: its count in detection limits, and the cheapest attack over its certificate.

    Reports that support it are taken out, since those may be the forged ones; they suit the value best, are of any row,
    or of the rows that decide first. None if the value does not stand.
    """
    rng = np.random.default_rng([seed, number])
    about, (mechanism, pool, effects) = KINDS[kind], built(kind, epsilon)
    _, tally = crowd(kind, epsilon, rng)
    ask = partial(find_hitters, mechanism.survey, decoder=mechanism, top=100, **about.knobs)
    answer = ask(tally=tally)
    standing = [row for row in answer.hitters if row.stands_out]
    if not standing or not standing[0].stands_to:
        return None
    row = standing[0]
    limit = answer.detection_limit if answer.candidate_limit is None else answer.candidate_limit
    own = effects[:, [str(each) for each in about.values].index(str(row.value))]
    liked = pool[own >= own.max() - 1e-9]
    rows = mechanism.rows_of(liked["id"])
    fewest = math.inf
    in_rows = np.bincount(mechanism.rows_of(SeededRandomWords(5).draw(1 << 16, 2)), minlength=int(rows.max()) + 1)
    for last in {int(rows.max()), *range(min(4, int(rows.max()) + 1))}:
        for part in (slice(0, last + 1), slice(last, None)):
            suited = liked[np.isin(rows, np.arange(len(in_rows))[part])]
            # A row has no more reports than people, and the part's rows are all used.
            low, high = 0, int(0.9 * tally.count * in_rows[part].sum() / in_rows.sum())
            most = high
            while len(suited) and high - low > max(1, 0.01 * high):
                middle = (low + high) // 2
                left = with_reports(mechanism, tally, suited[np.arange(middle) % len(suited)], -1)
                real = {each.value for each in ask(tally=left).hitters if each.stands_out}
                low, high = (low, middle) if row.value not in real else (middle, high)
            fewest = min(fewest, high if high < most else math.inf)
    return row.count / limit, fewest / (row.stands_to + 1)


def main() -> None:
    """Attack crowds, and print what was broken; or measure how tight certificates are."""
    parser = argparse.ArgumentParser(description="Attack certified answers.")
    parser.add_argument("--crowds", type=int, default=10_000)
    parser.add_argument("--ratios", type=int, default=0, help="crowds of each kind and ε for the ratios")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seed", type=int, default=3207)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as workers:
        jobs = partial(try_crowd, seed=options.seed, kinds=[kind for kind in SCHEDULE if kind in options.kinds])
        crowds, rows, wrong = Counter[str](), Counter[str](), Counter[str]()
        for trial in workers.map(jobs, range(options.crowds), chunksize=10):
            crowds[trial.kind] += 1
            rows[trial.kind] += trial.certified
            wrong[trial.kind] += bool(trial.wrong)
            if trial.wrong:
                print(trial, flush=True)
            if crowds.total() % 1000 == 0:
                print(f"{crowds.total():,} crowds, {wrong.total()} with anything wrong", flush=True)
        print("| kind | attacked crowds | rows certified for the forged reports | crowds with anything wrong |")
        print("| --- | ---: | ---: | ---: |")
        for kind in options.kinds:
            print(f"| {kind} | {crowds[kind]:,} | {rows[kind]:,} | {wrong[kind]} |")
        if options.ratios:
            print(
                "| kind | rows above twice their limit | median ratio | largest | other rows | median ratio | largest |"
            )
            print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for kind in options.kinds if options.ratios else ():
            jobs = [
                workers.submit(ratio, kind, epsilon, number, options.seed)
                for epsilon in EPSILONS
                for number in range(options.ratios)
            ]
            found = [each for job in jobs if (each := job.result()) is not None]
            cells = []
            for some in ([r for above, r in found if above > 2], [r for above, r in found if above <= 2]):
                cells += [str(len(some)), *([f"{np.median(some):.2f}", f"{max(some):.2f}"] if some else ["–", "–"])]
            print(f"| {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
