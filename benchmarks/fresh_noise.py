"""Fresh noise in every period beside fixed answers, at the same ε of a year: errors, and what a change reveals.

Usage: python -m benchmarks.fresh_noise [SEED]

Everybody holds one of 16 values and is asked 14 times a year. Each single report costs ε = 2, a year 28.

- fresh: k-ary randomised response with new noise each time; 14 · 2 = 28.
- fixed: the same, but a browser keeps its response to each value it ever held; 28 for 14 values.
- LOLOHA (Arcolezi and others, EDBT 2023) with two hash values: a browser keeps a noisy bit for each value of a hash of
  its own (ε = 14 each), and adds noise to it each time so that one report costs 2.

An attacker sees the 14 reports of one browser and knows two values a and b. He guesses whether the browser changed from
a to b after seven periods, or never. If reports cannot be linked, he sees one of them. Chances are measured on 200,000
browsers of each kind.
"""

from __future__ import annotations

import math
import secrets
import sys

import numpy as np
from numpy.typing import NDArray

VALUES, TIMES, BROWSERS, LOSS, YEAR = 16, 14, 200_000, 2.0, 28.0
Reports = NDArray[np.int64]


def respond(rng: np.random.Generator, values: Reports, loss: float, size: int) -> Reports:
    """Return k-ary randomised responses to values."""
    truth = rng.random(values.shape) < math.exp(loss) / (math.exp(loss) + size - 1)
    return np.where(truth, values, (values + rng.integers(1, size, values.shape)) % size)


def fresh(rng: np.random.Generator, values: Reports) -> Reports:
    """Return new noise for each report."""
    return respond(rng, values, LOSS, VALUES)


def fixed(rng: np.random.Generator, values: Reports) -> Reports:
    """Return one response for each value that a browser holds."""
    kept = respond(rng, np.broadcast_to(np.arange(VALUES), (len(values), VALUES)).copy(), LOSS, VALUES)
    return np.take_along_axis(kept, values, axis=1)


def chain() -> tuple[float, float]:
    """Return the chances of LOLOHA that a kept bit, and a sent one, are the ones before them."""
    kept = math.exp(YEAR / 2) / (math.exp(YEAR / 2) + 1)
    both = math.exp(LOSS) / (math.exp(LOSS) + 1)
    return kept, (both + kept - 1) / (2 * kept - 1)


def loloha(rng: np.random.Generator, values: Reports) -> tuple[Reports, Reports]:
    """Return the bits that are sent, and the hash of each browser: the bit of each value, which the collector knows."""
    kept, sent = chain()
    hashes = rng.integers(0, 2, (len(values), VALUES))
    bits = np.tile([0, 1], (len(values), 1)) ^ (rng.random((len(values), 2)) > kept)
    memo = np.take_along_axis(bits, np.take_along_axis(hashes, values, axis=1), axis=1)
    return memo ^ (rng.random(values.shape) > sent), hashes


def counts(reports: Reports, hashes: Reports | None = None) -> NDArray[np.float64]:
    """Return the unbiased counts of the value 0, as parts of all, for each period."""
    if hashes is None:
        low, high = 1 / (math.exp(LOSS) + VALUES - 1), math.exp(LOSS) / (math.exp(LOSS) + VALUES - 1)
        return ((reports == 0).mean(axis=0) - low) / (high - low)
    both = math.exp(LOSS) / (math.exp(LOSS) + 1)
    return ((reports == hashes[:, :1]).mean(axis=0) - 0.5) / (both - 0.5)


def errors(rng: np.random.Generator, name: str) -> tuple[float, float]:
    """Return √people times the standard error of a rare share: in one period, and of the mean of a year."""
    people, runs = 500, 400
    found = []
    for _ in range(runs):
        values = np.repeat(rng.integers(1, VALUES, (people, 1)), TIMES, axis=1)
        sent = loloha(rng, values) if name == "LOLOHA" else ((fixed if name == "fixed" else fresh)(rng, values), None)
        found.append(counts(*sent))
    shares = np.array(found)
    return math.sqrt(people) * shares[:, 0].std(), math.sqrt(people) * shares.mean(axis=1).std()


def seen(rng: np.random.Generator, name: str) -> float:
    """Return the chance that an attacker who links the reports of a browser guesses rightly whether it changed."""
    right = 0.0
    for changes in (False, True):
        values = np.zeros((BROWSERS, TIMES), np.int64)
        values[:, TIMES // 2 :] = int(changes)
        if name == "fixed":  # if it did not change, no report differs: the guess is wrong only if two responses agree
            reports = fixed(rng, values)
            guess = reports[:, 0] != reports[:, -1]
        elif name.startswith("fresh"):
            later = fresh(rng, values)[:, TIMES // 2 : TIMES if name == "fresh" else TIMES // 2 + 1]
            guess = (later == 1).sum(axis=1) + (rng.random(BROWSERS) - 0.5) > (later == 0).sum(axis=1)
        else:
            sent, hashes = loloha(rng, values)
            agree = [(half == 1).mean(axis=1) > 0.5 for half in (sent[:, : TIMES // 2], sent[:, TIMES // 2 :])]
            coin = rng.random(BROWSERS) < 0.5
            guess = np.where(hashes[:, 0] != hashes[:, 1], agree[0] != agree[1], coin)
        right += float((guess == changes).mean()) / 2
    return right


def main() -> None:
    """Print one row for each way to answer."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else secrets.randbelow(10**9)
    print(f"seed {seed}")
    print("| answers | error of one period, · √people | error of a year's mean, · √people | a change is seen |")
    print("|---|---:|---:|---:|")
    for name in ("fresh", "fresh, reports not linked", "fixed", "LOLOHA"):
        rng = np.random.default_rng([seed, len(name)])
        one, year = errors(rng, name)
        print(f"| {name} | {one:.2f} | {year:.2f} | {100 * seen(rng, name):.1f} % |")


if __name__ == "__main__":
    main()
