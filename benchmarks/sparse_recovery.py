"""What sparse recovery measures and costs, how well it recovers, how many people it takes, and what groups are worth.

`python benchmarks/sparse_recovery.py --write docs/benchmarks.md` rewrites a section; `--quick` prints a small one.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

import hubbub
from hubbub import Histogram, Integers, create_survey, mechanism_for
from hubbub.mechanisms.glps.operator import Operator, lean, staged
from hubbub.mechanisms.glps.recovery import recover
from hubbub.model.estimates import Query
from hubbub.paper.groups import discover_median, discover_pooled, group_surveys
from hubbub.simulation import population

try:
    from benchmarks.mechanisms import cell, slopes, table
    from benchmarks.short_page import write_section

    from benchmarks import crowds
except ModuleNotFoundError:  # run as a script, whose own folder is on the path
    import crowds  # type: ignore[import-not-found,no-redef]
    from mechanisms import cell, slopes, table  # type: ignore[import-not-found,no-redef]
    from short_page import write_section  # type: ignore[import-not-found,no-redef]

SEED, TAIL = 41, 2_000
DECODERS = ("faithful", "refit")
Row = dict[str, Any]


def sizes(bits: Sequence[int], sparsities: Sequence[int]) -> list[Row]:
    """Rows of the operator, and over s·log₂(N/s)."""
    rows = []
    for sparsity in sparsities:
        row: Row = {"sparsity": sparsity}
        for wide in bits:
            share = staged(wide, sparsity).cells / (sparsity * (wide - math.log2(sparsity)))
            row[f"N = 2^{wide}"] = f"{cell(staged(wide, sparsity).cells)} ({share:.1f})"
        rows.append(row)
    return rows


def difference(
    items: NDArray[np.uint64],
    values: NDArray[np.float64],
    found: NDArray[np.uint64],
    found_values: NDArray[np.float64],
) -> float:
    """‖v − v̂‖₂."""
    left = {item.tobytes(): float(value) for item, value in zip(items, values, strict=True)}
    for item, value in zip(found, found_values, strict=True):
        left[item.tobytes()] = left.get(item.tobytes(), 0.0) - float(value)
    return math.sqrt(math.fsum(value * value for value in left.values()))


def quality(bits: int, sparsity: int, decoder: str, signals: int) -> Row:
    """Exact recoveries without noise, and the constants C₁ and C₂, over some signals."""
    rng = np.random.default_rng([SEED, bits, sparsity])
    exact, tails, noises, spent = 0, [], [], 0.0
    logarithm = math.sqrt(bits - math.log2(sparsity))
    for number in range(signals):
        scale = (0.1, 1.0, 2.0)[number % 3]
        operator = Operator(bits, staged(bits, sparsity), rng.bytes(32))
        items = population.random_items(sparsity + TAIL, bits, rng)
        head = rng.choice([-1, 1], sparsity) * rng.uniform(1, 4, sparsity)
        tail = rng.normal(size=TAIL)
        values = np.concatenate([head, tail * (scale * math.sqrt(sparsity) / np.linalg.norm(tail))])
        noise = rng.normal(size=operator.cells)
        noise *= scale * float(np.linalg.norm(head)) * logarithm / float(np.linalg.norm(noise))
        alone = operator.measure(items[:sparsity], head)
        exact += difference(items[:sparsity], head, *recover(operator, alone, decoder)) < 1e-6
        started = time.process_time()
        found = recover(operator, operator.measure(items, values), decoder)
        spent += time.process_time() - started
        tails.append(difference(items, values, *found) / np.linalg.norm(np.sort(np.abs(values))[:-sparsity]))
        missed = difference(items[:sparsity], head, *recover(operator, alone + noise, decoder))
        noises.append(missed * logarithm / np.linalg.norm(noise))
    return {
        "case": f"{decoder}, 2^{bits}, s = {sparsity}",
        "exact": f"{exact} of {signals}",
        "C1_median": float(np.median(tails)),
        "C1_max": float(max(tails)),
        "C2_median": float(np.median(noises)),
        "C2_max": float(max(noises)),
        "decode_ms": 1e3 * spent / signals,
    }


def decoding(kind: str, bits: int, sparsity: int, repeats: int) -> Row:
    """CPU time of drawing an operator and of recovering one large coordinate in noise, so that no bucket is empty."""
    rng = np.random.default_rng([SEED, bits])
    layout = (lean if kind == "lean" else staged)(bits, sparsity)
    drawing, decode = [], []
    for _ in range(repeats):
        started = time.process_time()
        operator = Operator(bits, layout, rng.bytes(32))
        drawing.append(time.process_time() - started)
        item = population.random_items(1, bits, rng)
        measured = operator.measure(item, np.array([100.0])) + rng.normal(size=operator.cells)
        started = time.process_time()
        found, _ = recover(operator, measured)
        decode.append(time.process_time() - started)
        if not np.array_equal(found[0], item[0]):
            raise RuntimeError(f"the coordinate must be found to be timed, got another one at {bits} bits")
    return {
        "case": f"{kind}, s = {sparsity}, 2^{bits}",
        "kind": kind,
        "bits": bits,
        "rows": layout.cells,
        "slots": layout.slots,
        "draw_ms": 1e3 * min(drawing),
        "decode_ms": 1e3 * min(decode),
    }


def grouping(people: int, groups: int, runs: int) -> Row:
    """How often a value held by a fifth is found by one group, by groups together, and by one survey of everybody."""
    found = np.zeros(4, np.int64)
    query = Query(top=1, best_guess=True)
    options = {"calibration": "tight", "layout": "lean", "sparsity": 1}
    for run in range(runs):
        rng = np.random.default_rng([SEED, groups, run])
        whole = create_survey("x", Integers(32), 1, None, "glps", options, people * groups, public_seed=rng.bytes(32))
        crowd = population.heavy(people * groups, 0.2, 200, 32, rng)
        part = Histogram(crowd.items, crowd.counts // groups)
        parts: Any = [(survey, mechanism_for(survey)) for survey in group_surveys(whole, groups)]
        tallies = [(survey, mechanism.sample_tally(part, rng)) for survey, mechanism in parts]
        everybody: Any = mechanism_for(whole)
        answers = [
            parts[0][1].discover(tallies[0][1], query),
            discover_pooled(tallies, query),
            discover_median(tallies, query),
            everybody.discover(everybody.sample_tally(crowd, rng), query),
        ]
        found += [len(each) == 1 and np.array_equal(each.items[0], crowd.items[0]) for each in answers]
    names = ("one_group", "pooled", "median", "one_survey_of_all")
    return {
        "case": f"{groups} groups of {people:,}",
        **{name: f"{count} of {runs}" for name, count in zip(names, found.tolist(), strict=True)},
    }


def page(command: str, quick: bool) -> str:
    """Everything, for people."""
    bits = (20, 64, 512) if quick else (20, 32, 64, 128, 256, 512)
    rows = sizes(bits, (1, 4, 16) if quick else (1, 2, 4, 8, 16, 32, 64))
    decoding("lean", 20, 1, 1)  # compiles
    cells = [(20, 1), (32, 4)] if quick else [(b, s) for b in (20, 32, 62) for s in (1, 4, 8, 32)]
    qualities = [quality(b, s, decoder, 3 if quick else 24) for b, s in cells for decoder in DECODERS]
    timed = {
        kind: [decoding(kind, b, s, 1 if quick else 3) for b in ((32, 64) if quick else (32, 64, 128, 256, 512))]
        for kind, s in (("lean", 1), ("staged", 4))
    }
    grouped = [
        grouping(people, groups, 2 if quick else 24)
        for people in (250_000, 350_000)
        for groups in ((3,) if quick else (3, 5, 9))
    ]
    people = [case.run(crowds.SEED, 8 if quick else 40) for case in crowds.cases(quick)]
    versions = f"python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    growth = "\n".join(f"- {kind}: {slopes(rows_, 'bits', 'draw decode')}." for kind, rows_ in timed.items())
    every_decode = [row for rows_ in timed.values() for row in rows_]
    return f"""# Sparse recovery

[`glps`](mechanisms.md#glps-glps-hh) rests on sparse recovery: a matrix Φ (the operator) measures the counts v of all N
values, and a decoder recovers the s largest ones (s is the sparsity) from few measurements with noise z. This section
shows how many measurements that takes, how good the recovery is, and how long it takes.

Made by `{command}` from seeds {SEED} and {crowds.SEED} (people) with
{versions}, hubbub {hubbub.__version__}.
Times are CPU time of the process that measured. The machine had other work, so compare them only with each other.

## Rows

The table has the number of rows of Φ (measurements) in the staged layout. In brackets is that number divided by
s·log₂(N/s), which stays below a constant: the number of rows is O(s·log(N/s)). The quotient grows with s up to a limit,
since each stage is a fixed fraction of the one before, and jumps where numbers of buckets are rounded up to powers of
two.

{_wide_table(rows)}

## Quality

Signals v have s entries between 1 and 4 in size, with random signs (the head). v̂ is what is recovered, and v_s is v
with only its s largest entries. **Exact** counts the runs that recover v to 10⁻⁶ without noise or tail. **C₁** is ‖v −
v̂‖₂ divided by ‖v − v_s‖₂, for a tail of {TAIL:,} Gaussian terms beside the head. **C₂** is ‖v − v̂‖₂·√log₂(N/s)/‖z‖₂
for Gaussian noise z. Tail and noise are a tenth as large as the head, as large, and twice as large, in turn.

{table(qualities, "case exact C1_median C1_max C2_median C2_max decode_ms")}

## Decoding and the width of the universe

The signal is one large coordinate, in noise that fills every bucket. Times are the best of three. Time grows like
bits^k, while the number of values grows as 2^bits. These are the exponents k, fitted by least squares in logarithms:

{growth}

{table(every_decode, "case rows slots draw_ms decode_ms")}

## People

A value is held by a share of the people (50, 20 or 10 %), and {crowds.TAIL} other values equally by the rest. The table
shows how many people it takes until that value is the first answer in nine of ten runs, with its 95 % interval in
brackets. ε = 1, δ = 10⁻⁶ (0 for `onebit`), and every run has its own operator and crowd. The figures come from a
logistic curve in the logarithm of the people, fitted to {people[0]["runs"]} runs. The noise in a share falls as
1/√people, so the people needed should grow as share^−k with **k** = 2; the table has the fitted k. The last column
shows how flat the curve is: the people needed for nine of ten runs divided by those for half of the runs.

{_wide_table(crowds.summary(people))}

`faithful` needs more people than `refit`, and its curve is flatter. To identify the value takes fewer people; but then
its estimate, a median of seven rows, must be above those of all values identified wrongly. `refit` estimates with all
slots.

## Groups

A fifth of the people hold one value, the others 200 other values, out of 2^32; ε = 1, δ = 10⁻⁶, `tight`, `lean`, s = 1.
The table counts the runs in which that value is the first answer of one group, of all groups [pooled or by their
median](mechanisms.md#groups), and of one survey that all of these people answer.

{table(grouped, "case one_group pooled median one_survey_of_all")}
"""


def _wide_table(rows: Sequence[Row]) -> str:
    """A table whose headings have blanks."""
    keys = list(rows[0])
    lines = [keys, ["---", *["---:"] * (len(keys) - 1)], *[[str(row[key]) for key in keys] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases")
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="write its section instead of printing it")
    given = parser.parse_args()
    written = f" --write {given.write.name if given.write.is_absolute() else given.write}" if given.write else ""
    text = page("python benchmarks/sparse_recovery.py" + " --quick" * given.quick + written, given.quick)
    if given.write:
        write_section(given.write, "Sparse recovery", text, "sparse-recovery")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
