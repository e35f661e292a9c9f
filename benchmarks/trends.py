"""Measure how often trends say something false, how often they notice a gain, and what remembered names add.

    python benchmarks/trends.py level [--series 2000] [--searched 200] [--seed SEED]
    python benchmarks/trends.py power --series 300 [--cell 10000,1,0.5] [--seed SEED]
    python benchmarks/trends.py names [--runs 5] [--people 100000] [--moved 0.1] [--seed SEED]

Prints the tables of docs/trends.md. The seed is drawn afresh unless it is given, and printed.

**Level.** A population has regular visitors, who come in nearly every period, and rare ones; the two hold different
values. Whoever comes in a period answers once. In a flat crowd nothing changes: people come at random, and some change
their value at random. In a crowd with drift, values rise and fall, and rare visitors come more and more often. A series
is wrong if any statement has the wrong direction for the expected share of those who come, if any interval misses the
true number of those who came, or if a value is shown that nobody holds.
"""

from __future__ import annotations

import argparse
import secrets
import time
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hubbub import (
    Bytes,
    Categories,
    Hostnames,
    Question,
    SeededRandomWords,
    Survey,
    Tally,
    Trend,
    create_survey,
    mechanism_for,
    merge,
    trend,
)
from hubbub.analysis.asking import answer_question
from hubbub.analysis.question import SurveyNames
from hubbub.analysis.trend_power import SHARE, VALUES, gain_needed, rising_chance
from hubbub.model.mechanism import Histogram
from hubbub.simulation.rehearsal import rehearse
from hubbub.simulation.visitors import SITES

PERIODS, LEVEL = 12, 0.05
FIRST = date(2026, 1, 5)
REGULAR, RARE = 6_000, 20_000  # people of each kind
COMES = (0.9, 0.23)  # in a period
LISTED = 40  # sites on a list

Shares = NDArray[np.float64]


class Crowd:
    """A population whose members come and go. `drift` is how far shares move from the first period to the last."""

    def __init__(self, values: int, drift: float, rng: np.random.Generator) -> None:
        self.rng, self.values, self.drift = rng, values, drift
        first, second = (rng.permutation(np.arange(1, values + 1) ** -1.2) for _ in range(2))
        self.start = [first / first.sum(), second / second.sum()]
        self.end = [each[rng.permutation(values)] for each in self.start]
        self.held = [rng.choice(values, size, p=p) for size, p in zip((REGULAR, RARE), self.start, strict=True)]

    def at(self, place: float) -> list[Shares]:
        """The shares of both kinds of visitors, at a place between 0 and 1 of the time."""
        part = self.drift * place
        return [(1 - part) * before + part * after for before, after in zip(self.start, self.end, strict=True)]

    def comes(self, place: float) -> list[float]:
        """How likely visitors of both kinds come."""
        return [COMES[0], COMES[1] * (1 + self.drift * place)]

    def expected(self, place: float) -> Shares:
        """The expected share of each value among those who come."""
        weights = np.array([size * often for size, often in zip((REGULAR, RARE), self.comes(place), strict=True)])
        return np.asarray(weights / weights.sum() @ np.array(self.at(place)))

    def periods(self) -> Iterator[tuple[Shares, NDArray[np.int64]]]:
        """Yield the expected shares of each period, and how many of those who came hold each value."""
        for period in range(PERIODS):
            place = period / (PERIODS - 1)
            counts = np.zeros(self.values, np.int64)
            for held, shares, often in zip(self.held, self.at(place), self.comes(place), strict=True):
                # Many change their value in a drift, so that everybody's is drawn from the shares of now.
                change = self.rng.random(len(held)) < (1.0 if self.drift else 0.2)
                held[change] = self.rng.choice(self.values, int(change.sum()), p=shares)
                counts += np.bincount(held[self.rng.random(len(held)) < often], minlength=self.values)
            yield self.expected(place), counts


def day_of(period: int) -> date:
    """The first day of a period."""
    return FIRST + timedelta(weeks=period)


def wrong(found: Trend, sites: list[str], expected: list[Shares], counts: list[NDArray[np.int64]]) -> tuple[bool, ...]:
    """Whether any statement, any interval and any value of a trend is wrong; and whether anything is said."""
    places = {site: place for place, site in enumerate(sites)}
    starts = {day_of(period): period for period in range(PERIODS)}
    false = missed = nobody = False
    for series in found.series:
        if series.value not in places:
            nobody = nobody or series.value != "(other)"
            continue
        place = places[str(series.value)]
        for point, held in zip(series.points, counts, strict=True):
            missed = missed or not point.low - 1e-6 <= held[place] <= point.high + 1e-6
        if series.since is not None:
            since = starts[series.since]
            compared = range(since, PERIODS - 1) if series.change in ("highest", "new") else [since]
            gaps = [expected[-1][place] - expected[period][place] for period in compared]
            up = series.change in ("rising", "highest", "new")
            false = false or any(gap <= 0 if up else gap >= 0 for gap in gaps)
    return false, missed, nobody, any(series.change for series in found.series)


def tally_of(survey: Survey, sites: list[str], counts: NDArray[np.int64], rng: np.random.Generator) -> Tally:
    """The tally of those who came."""
    built, items = mechanism_for(survey), survey.domain.encode(sites)
    if built.samples_at_once:
        return built.sample_tally(Histogram(items, counts), rng)
    return rehearse(built, [np.repeat(items, counts, axis=0)], SeededRandomWords(int(rng.integers(2**63))))


def measure_level(series: int, searched: int, seed: int) -> None:
    """Print how many series are wrong."""
    print(f"seed {seed}")
    print("| crowd | values | ε | series | false statements | missed intervals | made-up values | say something |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    listed = list(SITES[:LISTED])
    for drift in (0.0, 0.5):
        for kind, sites, epsilon, runs in (
            ("of a list", listed, "1", series // 2),
            ("of a list", listed, "2", series // 2),
            ("found by search", list(SITES[:1000]), "2", searched),
        ):
            domain = Categories(sites) if kind == "of a list" else Hostnames()
            results = []
            for run in range(runs):
                rng = np.random.default_rng([seed, int(100 * drift), len(sites), int(epsilon), run])
                survey = create_survey("t", domain, epsilon, expected_reports=10_000, public_seed=rng.bytes(32))
                expected, counts = map(list, zip(*Crowd(len(sites), drift, rng).periods(), strict=True))
                tallies = {day_of(k): tally_of(survey, sites, each, rng) for k, each in enumerate(counts)}
                found = trend(survey, tallies, level=LEVEL, names="none", repeats=True)
                results.append(wrong(found, sites, expected, counts))
            sums = np.array(results).sum(axis=0)
            crowd = "drift" if drift else "flat"
            print(f"| {crowd} | {kind} | {epsilon} | {runs} | {' | '.join(map(str, sums))} |", flush=True)


def measure_power(series: int, chosen: list[str], seed: int) -> None:
    """Print how often a value is called rising in the period in which it gains, and how often that was predicted.

    Three values with a tenth of the people each gain the same in the last period; each series shows three outcomes.
    """
    print(f"seed {seed}, {series} series in each cell")
    print("| people in a period | ε | gain in points | predicted | measured |")
    print("| --- | --- | --- | --- | --- |")
    sites, rising = list(SITES[: VALUES - 1]), 3
    for people, epsilon, wanted in product((4_000, 10_000, 50_000), (1.0, 2.0), (0.5, 0.9)):
        if chosen and f"{people},{epsilon:g},{wanted:g}" not in chosen:
            continue
        rng = np.random.default_rng([seed, people, int(epsilon), int(10 * wanted)])
        survey = create_survey("p", Categories(sites), epsilon, expected_reports=people, public_seed=rng.bytes(32))
        built = mechanism_for(survey)
        gain = gain_needed(built, people, wanted)
        called = 0
        for _ in range(series):
            shares = np.full(len(sites), (1 - rising * SHARE) / (len(sites) - rising))
            shares[:rising] = SHARE
            last = shares.copy()
            last[:rising] += gain
            last[rising:] *= (1 - last[:rising].sum()) / last[rising:].sum()
            each = [rng.multinomial(people, p) for p in (*[shares] * (PERIODS - 1), last)]
            tallies = {day_of(k): tally_of(survey, sites, counts, rng) for k, counts in enumerate(each)}
            found = {row.value: row.change for row in trend(survey, tallies, repeats=True, decoder=built).series}
            called += sum(found[site] in ("rising", "highest", "new") for site in sites[:rising])
        share = called / (rising * series)
        predicted = rising_chance(built, people, SHARE, gain)
        row = (f"{people:,}", f"{epsilon:g}", f"{100 * gain:.1f}", f"{100 * predicted:.0f} %", f"{100 * share:.1f} %")
        print(f"| {' | '.join(row)} |", flush=True)


def measure_names(runs: int, people: int, moved_share: float, seed: int) -> None:
    """Print how many of the 32 most common values of each period are shown, with and without remembered names.

    Values are texts of 6 bytes, as in published comparisons on the AOL queries: Zipf's law over 50,000 of them, and
    in every period some of them change places, whatever their ranks are.
    """
    drift = f"{100 * moved_share:g} % of the values change places in each"
    print(f"seed {seed}, {runs} runs of {PERIODS} periods with {people:,} people each, ε = 2; {drift}")
    domain, values = Bytes(6), 50_000
    texts = [f"q{number:05d}" for number in range(values)]
    items, weights = domain.encode(texts), np.arange(1, values + 1) ** -1.0
    shown, false = np.zeros((2, PERIODS)), 0
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        survey = create_survey("aol", domain, 2, expected_reports=people, public_seed=rng.bytes(32))
        built, ranks = mechanism_for(survey), np.arange(values)
        past, found = list[Tally](), dict[str, None]()
        for period in range(PERIODS):
            moved = rng.permutation(values)[: round(values * moved_share)]
            ranks[np.sort(moved)] = ranks[moved]
            counts = rng.multinomial(people, weights / weights.sum())[ranks]
            words = SeededRandomWords(int(rng.integers(2**63)))
            tally = rehearse(built, [np.repeat(items, counts, axis=0)], words)
            top = {texts[place] for place in np.argsort(-counts)[:32]}
            for way, names in enumerate((SurveyNames(), SurveyNames(found=tuple(found)))):
                answer = answer_question(built, tally, Question(1000).about(domain, names))
                seen = {row.value for row in answer.hitters if row.stands_out}
                shown[way, period] += len(seen & top)
                false += sum(counts[texts.index(value)] == 0 if value in texts else 1 for value in seen)
            past.append(tally)
            for span in {len(past), *(1 << k for k in range(len(past).bit_length()))}:  # as in store/found_before.py
                answer = answer_question(built, merge(past[-span:]), Question(1000).about(domain))
                found |= dict.fromkeys(str(row.value) for row in answer.hitters if row.stands_out)
    print("| period | fresh search | with remembered names | times |")
    print("| --- | --- | --- | --- |")
    for period in range(PERIODS):
        fresh, named = shown[:, period] / runs
        print(f"| {period + 1} | {fresh:.1f} | {named:.1f} | {named / max(fresh, 1e-9):.2f} |")
    fresh, named = shown[:, 1:].mean(axis=1) / runs
    print(f"| 2 to {PERIODS} | {fresh:.1f} | {named:.1f} | {named / max(fresh, 1e-9):.2f} |")
    print(f"shown though nobody holds them: {false}")


def main() -> None:
    """Print the tables of one part."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["level", "power", "names"])
    parser.add_argument("--series", type=int, default=2_000)
    parser.add_argument("--cell", action="append", default=[], help="only these: people, ε and the chance wanted")
    parser.add_argument("--searched", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--moved", type=float, default=0.1, help="the share of values that change places")
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=secrets.randbits(31))
    asked = parser.parse_args()
    started = time.perf_counter()
    if asked.part == "level":
        measure_level(asked.series, asked.searched, asked.seed)
    elif asked.part == "power":
        measure_power(asked.series, asked.cell, asked.seed)
    elif asked.part == "names":
        measure_names(asked.runs, asked.people, asked.moved, asked.seed)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
