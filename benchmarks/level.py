"""How often an answer is wrong: runs that report a value nobody holds, and runs with an interval that misses.

docs/coverage.md explains what it prints. A run can be stopped and started again: with --json it goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta, binom

from hubbub import (
    Answer,
    Categories,
    Domain,
    Histogram,
    Hostnames,
    Integers,
    SeededRandomWords,
    Words,
    create_survey,
    find_hitters,
    mechanism_for,
    names,
)
from hubbub.analysis.question import MODES
from hubbub.simulation import population
from hubbub.simulation.rehearsal import rehearse

SEED = 90210  # never tune with this seed: the page reports what it gives
LEVEL, CHUNK, CONFIDENCE = 0.05, 50, 0.95
SHARES = "Modes about a share of the people"
HOSTS = Path(__file__).parent.parent / "tests/data/popular_hosts.tsv"

Row = dict[str, Any]
Truth = dict[int | str, int]


class Cell(NamedTuple):
    """A mechanism and a crowd, and candidates if there are any."""

    group: str
    mechanism: str
    domain: Callable[[], Domain]
    crowd: str
    epsilon: float
    people: int
    runs: int
    candidates: str = ""
    options: tuple[tuple[str, str], ...] = ()
    rank: int = 0  # of the named value whose share the modes are asked about

    @property
    def name(self) -> str:
        """What sets it apart, for seeds and progress."""
        listed = f", {self.candidates} candidates" if self.candidates else ""
        listed += f", the share of rank {self.rank}" if self.rank else ""
        form = "".join(f" {value}" for _, value in self.options)
        return f"{self.mechanism}{form}, {self.crowd}{listed}, ε = {self.epsilon:g}, n = {self.people:,}"


def small() -> Domain:
    """1,024 numbers."""
    return Integers(10)


def sixty_four() -> Domain:
    """64 numbers."""
    return Integers(6)


def listed() -> Domain:
    """A list of 64 values."""
    return Categories([f"v{k}" for k in range(64)], other=False)


CELLS = [
    *(
        Cell("One row", "tree", small, "Zipf 1.3", epsilon, people, 2000 if people < 10_000 else 1000)
        for epsilon in (1.0, 4.0, 6.0)
        for people in (50, 200, 1000, 10_000)
    ),
    Cell("One row", "tree", small, "20 each", 6.0, 50, 2000),
    Cell("One row", "tree", small, "20 each", 6.0, 200, 2000),
    Cell("One row", "tree", small, "25 each", 6.0, 200, 2000),
    Cell("One row", "tree", small, "39 each", 6.0, 1000, 2000),
    Cell("One row", "tree", small, "115 each", 4.0, 1000, 2000),
    Cell("Candidates that nobody holds", "tree", Hostnames, "hosts", 4.0, 2000, 1000, "1,000 absent"),
    Cell("Candidates that nobody holds", "tree", Words, "words", 6.0, 2000, 1000, "1,000 absent"),
    Cell("Candidates beside found values", "tree", Hostnames, "hosts", 1.0, 100_000, 200, "500 hosts"),
    Cell("Candidates beside found values", "tree", Hostnames, "hosts", 4.0, 20_000, 200, "500 hosts"),
    Cell("Candidates beside found values", "tree", Hostnames, "10,000 hosts", 1.0, 1_000_000, 200, "10,000 hosts"),
    Cell("Names of a public list", "tree", Hostnames, "hosts", 1.0, 20_000, 200, "public"),
    Cell("Names of a public list", "tree", Hostnames, "hosts", 4.0, 2000, 1000, "public"),
    Cell("Names of a public list", "tree", Words, "words", 4.0, 2000, 1000, "public"),
    Cell(SHARES, "subset", listed, "Zipf 1.3", 1.0, 1000, 2000, rank=5),
    Cell(SHARES, "subset", listed, "Zipf 1.3", 4.0, 200, 2000, rank=5),
    Cell(SHARES, "tree", Hostnames, "hosts", 1.0, 20_000, 200, "public", rank=3),
    Cell(SHARES, "tree", Hostnames, "hosts", 4.0, 20_000, 200, "500 hosts", rank=10),
    Cell(SHARES, "tree", Words, "words", 4.0, 2000, 1000, "500 words", rank=5),
    Cell("Flat crowds", "jl", small, "flat", 1.0, 100_000, 2000),
    Cell("Flat crowds", "jl", small, "flat", 1.0, 1_000_000, 2000),
    Cell("Flat crowds", "tree", small, "flat", 1.0, 100_000, 500),
    Cell("Other mechanisms", "jl", small, "Zipf 1.3", 4.0, 200, 2000),
    Cell("Other mechanisms", "jl", small, "Zipf 1.3", 1.0, 10_000, 1000, "", (("calibration", "tight"),)),
    Cell("Other mechanisms", "naive-laplace", sixty_four, "Zipf 1.3", 1.0, 20, 2000),
    Cell("Other mechanisms", "naive-laplace", sixty_four, "Zipf 1.3", 4.0, 50, 2000),
    Cell("Other mechanisms", "bucket", small, "Zipf 1.3", 4.0, 1000, 500),
    Cell("Other mechanisms", "glps", small, "Zipf 1.3", 4.0, 1000, 200),
]


@cache
def hosts() -> list[str]:
    """Five hundred popular host names, the most popular first."""
    return [line.split("\t")[0] for line in HOSTS.read_text("utf-8").splitlines()]


def letters(rng: np.random.Generator, ending: str) -> str:
    """A name of random letters."""
    return "".join(chr(97 + letter) for letter in rng.integers(0, 26, rng.integers(5, 10))) + ending


def draw_crowd(cell: Cell, domain: Domain, rng: np.random.Generator) -> tuple[Histogram, list[str] | None]:
    """Who holds what, and the candidates."""
    if cell.crowd.endswith(("hosts", "words")):
        ending = ".com" if cell.crowd.endswith("hosts") else ""
        held = hosts() if cell.crowd.endswith("hosts") else [letters(rng, ending) for _ in range(500)]
        if cell.crowd == "10,000 hosts":
            held = [*held, *(letters(rng, ending) for _ in range(10_000 - len(held)))]
        weights = 1.0 / np.arange(1, len(held) + 1) ** 1.2
        counts = rng.multinomial(cell.people, weights / weights.sum())
        items, places = np.unique(domain.encode(held), axis=0, return_inverse=True)
        counts = np.bincount(places.ravel(), counts, len(items)).astype(np.int64)
        if cell.candidates == "public":
            return Histogram(items[counts > 0], counts[counts > 0]), None
        absent = [letters(rng, ending) for _ in range(1000)]
        named = list(held) if "absent" not in cell.candidates else sorted(set(absent) - set(held))
        return Histogram(items[counts > 0], counts[counts > 0]), named
    bits = domain.bits
    if cell.crowd.endswith(" each"):
        held = int(cell.crowd.split()[0])
        groups, alone = divmod(cell.people, held)
        counts = np.array([held] * groups + [1] * alone, np.int64)
        return Histogram(population.random_items(len(counts), bits, rng), counts), None
    if cell.crowd == "flat":
        return population.uniform(cell.people, 2**bits - 1, bits, rng), None
    return population.zipf(cell.people, 1.3, min(200, 2**bits - 1), bits, rng), None


def run(cell: Cell, number: int, seed: int) -> Row:
    """One crowd, its survey and the answer: whether it reports what nobody holds, and whether an interval misses."""
    rng = np.random.default_rng([seed, zlib.crc32(cell.name.encode()), number])
    domain = cell.domain()
    crowd, named = draw_crowd(cell, domain, rng)
    survey = create_survey(
        "x", domain, cell.epsilon, None, cell.mechanism, dict(cell.options), cell.people, public_seed=rng.bytes(32)
    )
    built = mechanism_for(survey)
    if built.samples_at_once:
        tally = built.sample_tally(crowd, rng)
    else:
        random_words = SeededRandomWords(int(rng.integers(2**62)))
        tally = rehearse(built, [np.repeat(crowd.items, crowd.counts, axis=0)], random_words)
    true: Truth = {v: int(c) for v, c in zip(domain.decode(crowd.items), crowd.counts, strict=True) if v is not None}

    def answer(**knobs: Any) -> Answer:
        """The answer to a question."""
        return find_hitters(survey, tally, level=LEVEL, candidates=named, decoder=built, **knobs)

    if cell.rank:
        public = names(domain.names_list) if domain.names_list and not named else true
        return by_share(
            answer, {value: count for value, count in true.items() if value in (named or public)}, true, cell
        )
    got = answer()
    return {
        "reported": any(hitter.value not in true for hitter in got.hitters),
        "missed": any(h.value in true and not h.low <= true[h.value] <= h.high for h in got.hitters),
        "rows": len(got.hitters),
        "off": sum((h.count - true[h.value]) / h.stderr for h in got.hitters if h.value in true),
    }


def by_share(answer: Callable[..., Answer], known: Truth, true: Truth, cell: Cell) -> Row:
    """Both modes about the share that the named value of a rank has, exactly: what is there and is missing wrongly."""
    held = sorted(known.values())[-cell.rank]
    sure, all_of_them = (answer(mode=mode, share=held / cell.people, top=1000).hitters for mode in MODES)
    return {
        "reported": any(true.get(hitter.value, 0) < held for hitter in sure),
        "missed": not {value for value, count in known.items() if count >= held} <= {h.value for h in all_of_them},
        "rows": len(all_of_them),
        "off": sum((h.count - true.get(h.value, 0)) / h.stderr for h in all_of_them),
    }


def measure(cells: Sequence[Cell], seed: int, divide: int, kept: Path | None, seconds: float) -> dict[str, Row]:
    """Totals by cell; those in the file are not made again."""
    done: dict[str, Row] = json.loads(kept.read_text("utf-8")) if kept and kept.exists() else {}
    started = time.monotonic()
    for cell in cells:
        total = done.setdefault(cell.name, {"runs": 0, "reported": 0, "missed": 0, "rows": 0, "off": 0.0})
        while total["runs"] < max(1, cell.runs // divide):
            if time.monotonic() - started > seconds:
                return done
            for number in range(total["runs"], min(total["runs"] + CHUNK, max(1, cell.runs // divide))):
                for field, value in run(cell, number, seed).items():
                    total[field] += value
                total["runs"] += 1
            if kept:
                kept.write_text(json.dumps(done, indent=1, ensure_ascii=False), "utf-8")
        print(f"{cell.name}: {total}", file=sys.stderr)
    return done


def at_most(count: int, runs: int) -> float:
    """The largest chance that so few of the runs do not rule out, one-sided."""
    return 1.0 if count == runs else float(beta.ppf(CONFIDENCE, count + 1, runs - count))


def page(done: dict[str, Row]) -> str:
    """The measured part of docs/coverage.md."""
    lines: list[str] = []
    group = ""
    for cell in CELLS:
        total = done.get(cell.name)
        if not total or not total["runs"]:
            continue
        if cell.group != group:
            group = cell.group
            lines += ["", f"## {group}", ""]
            wrong = "reports a value nobody holds | an interval misses"
            if group == SHARES:
                wrong = "`no-false-positives` has a value below it | `no-false-negatives` lacks a named one with it"
            lines += [f"| case | runs | rows | {wrong} | mean error, sd | within |"]
            lines += ["| --- | ---: | ---: | ---: | ---: | ---: | --- |"]
        runs = total["runs"]
        within = all(binom.sf(total[kind] - 1, runs, LEVEL / 2) > 0.001 for kind in ("reported", "missed"))
        shown = [f"{total[k]} ({total[k] / runs:.1%}; ≤ {at_most(total[k], runs):.1%})" for k in ("reported", "missed")]
        mean = f"{total['off'] / max(total['rows'], 1):+.2f}"
        cells = [cell.name, f"{runs:,}", f"{total['rows']:,}", *shown, mean, "yes" if within else "**no**"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines).strip() + "\n"


def main() -> None:
    """Measure, print, and rewrite the page below its marker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fortieth of the runs")
    parser.add_argument("--divide", type=int, default=1, help="so many times fewer runs")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", type=Path, help="keep totals here, and go on from them")
    parser.add_argument("--only", default="", help="cells whose name or group has this in it")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--write", type=Path, help="the page whose measured part is replaced")
    arguments = parser.parse_args()
    cells = [cell for cell in CELLS if arguments.only in f"{cell.group}: {cell.name}"]
    done = measure(
        cells, arguments.seed, 40 if arguments.quick else arguments.divide, arguments.json, arguments.seconds
    )
    text = page(done)
    print(text)
    if arguments.write:
        before = arguments.write.read_text("utf-8").split("<!-- measured -->")[0]
        arguments.write.write_text(f"{before}<!-- measured -->\n\n{text}", "utf-8")


if __name__ == "__main__":
    main()
