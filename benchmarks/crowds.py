"""How many people `glps` needs to find a value that a share of them holds, in nine of ten runs.

Runs are made around that number of people, a logistic curve in its logarithm is fitted to them, and the number
is read off the curve: the first number tried that passes would be small by luck where the curve is flat. The interval
is a parametric bootstrap's.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.paper.study import CALIBRATIONS, Contender, finds_first
from hubbub.simulation import population

SEED, WANTED, TAIL = 2010, 0.9, 200
SHARES = (0.5, 0.2, 0.1)
STAGED = {"layout": "staged", "sparsity": "4"}
LEAN = {"layout": "lean", "sparsity": "1"}
LAYOUTS = {
    "staged, s = 4, faithful": {**STAGED, "decoder": "faithful"},
    "staged, s = 4, refit": {**STAGED, "decoder": "refit"},
    "lean, s = 1, refit": {**LEAN, "decoder": "refit"},
}
_FIRST, _GROW = 500, 4  # people
_PILOT = (0.125, 0.25, 0.5, 1.0, 2.0)  # crowds to run, over the first that is found four times in a row …
_PILOT_RUNS = 8
_AROUND = (0.5, 0.7, 1.0, 1.4, 2.0)  # … and then, twice, over the one that the runs so far say is enough
_RESAMPLES = 1_000
_STEPS, _LONGEST = 50, 2.0  # of Newton's method
_RIDGE = 1e-3  # keeps the slope finite where every crowd is found always or never
Row = dict[str, Any]


class Trials(NamedTuple):
    """Runs and successes in crowds of some sizes."""

    people: list[int]
    runs: list[int]
    found: list[int]


@dataclass(frozen=True)
class Case:
    """One mechanism, a universe and a share."""

    layout: str
    calibration: str
    bits: int
    share: float

    def run(self, seed: int, runs: int) -> Row:
        """The people needed, with an interval; in all, five times `runs` are in the fit."""
        name = f"{self.layout} {self.calibration} {self.bits} {self.share}"
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        people = _FIRST
        while not all(self._found(people, 4, rng)):
            people *= _GROW
        # Far below, the curve is no logistic one: the pilot's trials say where to look and are not in the fit.
        pilot = self._trials(people, _PILOT, _PILOT_RUNS, rng)
        half = self._trials(_within(pilot), _AROUND, runs // 2, rng)
        other = self._trials(_within(half), _AROUND, runs - runs // 2, rng)
        trials = Trials(half.people + other.people, half.runs + other.runs, half.found + other.found)
        low, high = interval(trials, rng)
        return {
            "case": self,
            "people": people_for(trials, WANTED),
            "low": low,
            "high": high,
            "half": people_for(trials, 0.5),
            "runs": sum(trials.runs),
        }

    def _trials(self, middle: float, ratios: Sequence[float], runs: int, rng: np.random.Generator) -> Trials:
        people = [round(middle * ratio) for ratio in ratios]
        return Trials(people, [runs] * len(people), [sum(self._found(each, runs, rng)) for each in people])

    def _found(self, people: int, runs: int, rng: np.random.Generator) -> Iterator[bool]:
        """Of each run, whether the answer is the value."""
        contender = Contender("", "glps", {**LAYOUTS[self.layout], "calibration": self.calibration})
        for mechanism in islice(contender.mechanisms(people, self.bits, rng), runs):
            crowd = population.heavy(people, self.share, TAIL, self.bits, rng)
            yield finds_first(mechanism, crowd, rng)


def people_for(trials: Trials, chance: float) -> float:
    """The people with whom the fitted curve has this chance."""
    logs = np.log(trials.people)
    return float(np.exp(_crossing(_fit(logs, np.array(trials.runs), np.array([trials.found])), chance)[0]))


def interval(trials: Trials, rng: np.random.Generator) -> tuple[float, float]:
    """An interval of 95 % around the people needed: trials are drawn again from the fitted curve."""
    logs, runs = np.log(trials.people), np.array(trials.runs)
    curve = _fit(logs, runs, np.array([trials.found]))
    chances = 1 / (1 + np.exp(-(curve[0, 0] + curve[0, 1] * logs)))
    again = _fit(logs, runs, rng.binomial(runs, chances, (_RESAMPLES, len(runs))))
    low, high = np.exp(np.quantile(_crossing(again, WANTED), [0.025, 0.975])).tolist()
    return low, high


def _within(trials: Trials) -> float:
    """The people needed, but no crowd that is not between those tried."""
    return min(max(people_for(trials, WANTED), min(trials.people)), max(trials.people))


def _crossing(curves: NDArray[np.float64], chance: float) -> NDArray[np.float64]:
    return np.asarray((math.log(chance / (1 - chance)) - curves[:, 0]) / curves[:, 1])


def _fit(logs: NDArray[np.float64], runs: NDArray[np.int64], found: NDArray[np.int64]) -> NDArray[np.float64]:
    """Intercepts and slopes of the likeliest logistic curves, one for each row of `found`, by Newton's method."""
    middle, scale = logs.mean(), logs.std()
    design = np.stack([np.ones_like(logs), (logs - middle) / scale], axis=1)
    curves = np.tile([0.0, 1.0], (len(found), 1))
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-curves @ design.T))
        slope = (found - runs * chance) @ design - _RIDGE * curves
        bend = np.einsum("bk,ki,kj->bij", runs * chance * (1 - chance), design, design) + _RIDGE * np.eye(2)
        step = np.linalg.solve(bend, slope[:, :, np.newaxis])[:, :, 0]
        curves += step * np.minimum(1.0, _LONGEST / np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-12))
    slopes = curves[:, 1] / scale
    return np.stack([curves[:, 0] - slopes * middle, slopes], axis=1)


def cases(quick: bool) -> list[Case]:
    """Of every layout and decoder, in two universes, every calibration and share."""
    if quick:
        return [Case("lean, s = 1, refit", "onebit", 32, share) for share in SHARES]
    return [
        Case(layout, calibration, bits, share)
        for layout in LAYOUTS
        for bits in (32, 62)
        for calibration in CALIBRATIONS
        for share in SHARES
    ]


def summary(rows: Sequence[Row]) -> list[Row]:
    """One row for all shares of a mechanism.

    With the k of people ~ share^−k by least squares in logarithms, and how many more people nine of ten runs take than
    half of them (geometric mean over the shares), which tells how flat the curve is.
    """
    groups: dict[tuple[str, int, str], list[Row]] = {}
    for row in rows:
        case = row["case"]
        groups.setdefault((case.layout, case.bits, case.calibration), []).append(row)
    lines = []
    for (layout, bits, calibration), group in groups.items():
        line: Row = {"layout and decoder": layout, "universe": f"2^{bits}", "calibration": calibration}
        for row in group:
            needed, low, high = (_rounded(row[key]) for key in ("people", "low", "high"))
            line[f"{100 * row['case'].share:.0f} %"] = f"{needed} ({low}–{high})"
        shares, people = [row["case"].share for row in group], [row["people"] for row in group]
        line["k"] = f"{-np.polyfit(np.log(shares), np.log(people), 1)[0]:.2f}"
        flat = [math.log(row["people"] / row["half"]) for row in group]
        line["9/10 over 1/2"] = f"{math.exp(sum(flat) / len(flat)):.2f}"
        lines.append(line)
    return lines


def _rounded(number: float) -> str:
    """Two digits, in thousands or millions."""
    digits = 1 - math.floor(math.log10(number))
    whole = round(number, digits)
    for name, unit in (("M", 1e6), ("k", 1e3)):
        if whole >= unit:
            return f"{whole / unit:,.{max(0, digits + round(math.log10(unit)))}f}{name}"
    return f"{whole:.0f}"
