"""The page of benchmarks/lists.py: tables for people from the numbers of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

ERROR_TARGET, PEER_TARGET = 1.03, 0.97
TIME_GOAL, TIME_VALUES = 100.0, 64

Row = dict[str, Any]

CROWDS = {
    "even": "Every value is held by the same number of people",
    "Zipf": "The value of rank r is held in proportion to 1/r",
    "one": "Everybody holds the same value",
}


def table(header: str, rows: Iterable[Sequence[object]]) -> list[str]:
    """A Markdown table and an empty line; the header's fields are apart by semicolons."""
    names = header.split("; ")
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *rows]
    return [*(f"| {' | '.join(str(field) for field in line)} |" for line in lines), ""]


def show(row: Row | None) -> str:
    """A ratio and half of its 99 % interval, or a dash where there is none."""
    return f"{row['ratio']:.3f} ± {row['ratio'] * row['half']:.3f}" if row else "–"


def where(row: Row) -> str:
    """The cell of a row."""
    return f"{row['crowd']}, {row['values']} values, ε = {row['epsilon']:g}, {row['people']:,} people"


def of(results: Row, mechanism: str) -> dict[tuple[Any, ...], Row]:
    """The cells of a mechanism by crowd, values, ε and people."""
    return {
        (row["crowd"], row["values"], row["epsilon"], row["people"]): row
        for row in results["cells"]
        if row["mechanism"] == mechanism
    }


def beside(results: Row) -> list[tuple[Row, float, float]]:
    """Each cell of a peer, with its error over that of `subset` and half of the 99 % interval of the logarithm."""
    ours = of(results, "subset")
    found = []
    for row in results["peers"] if not isinstance(results["peers"], str) else ():
        own = ours[row["crowd"], row["values"], row["epsilon"], row["people"]]
        found.append((row, row["ratio"] / own["ratio"], math.hypot(row["half"], own["half"])))
    return found


def slow(results: Row) -> list[tuple[Row, str, float]]:
    """Times of short lists that are above the goal."""
    return [
        (row, what, row["subset"][f"{what}_ns"])
        for row in results["times"]
        for what in ("encode", "tally")
        if row["values"] <= TIME_VALUES and row["subset"][f"{what}_ns"] > TIME_GOAL
    ]


def misses(results: Row) -> list[str]:
    """A line for each cell that misses a target."""
    lines = [
        f"`subset`, {where(row)}: {show(row)} times the optimum"
        for row in of(results, "subset").values()
        if row["ratio"] * math.exp(-row["half"]) > ERROR_TARGET
    ]
    lines += [
        f"{row['mechanism']}, {where(row)}: {quotient:.3f} ± {quotient * half:.3f} times the error of `subset`"
        for row, quotient, half in beside(results)
        if quotient * math.exp(half) < PEER_TARGET
    ]
    return lines + [
        f"`subset`, {row['values']} values, ε = {row['epsilon']:g}: {what} takes {spent:.0f} ns"
        for row, what, spent in slow(results)
    ]


def verdicts(results: Row) -> list[str]:
    """Every target with the worst that was measured."""
    ours, peers = list(of(results, "subset").values()), beside(results)
    worst = max(ours, key=lambda row: row["ratio"])
    bad = sum(row["ratio"] * math.exp(-row["half"]) > ERROR_TARGET for row in ours)
    rows = [[f"error of `subset` ≤ {ERROR_TARGET:g} × the optimum", len(ours), f"{show(worst)} ({where(worst)})", bad]]
    if peers:
        row, quotient, half = min(peers, key=lambda each: each[1] * math.exp(each[2]))
        beaten = sum(each * math.exp(width) < PEER_TARGET for _, each, width in peers)
        text = f"{quotient:.3f} ± {quotient * half:.3f} ({row['mechanism']}, {where(row)})"
        rows.append([f"error of a peer ≥ {PEER_TARGET:g} × that of `subset`", len(peers), text, beaten])
    timed = [(row, what) for row in results["times"] if row["values"] <= TIME_VALUES for what in ("encode", "tally")]
    row, what = max(timed, key=lambda each: each[0]["subset"][f"{each[1]}_ns"])
    text = f"{row['subset'][f'{what}_ns']:.0f} ns ({what}, {row['values']} values, ε = {row['epsilon']:g})"
    goal = f"encode and tally ≤ {TIME_GOAL:g} ns up to {TIME_VALUES} values"
    return table("target; cells; worst; missed", [*rows, [goal, len(timed), text, len(slow(results))]])


def error_tables(results: Row) -> list[str]:
    """`subset` and `tree` beside the optimum, a table for each crowd."""
    subset, tree = of(results, "subset"), of(results, "tree")
    lines = []
    for crowd, told in CROWDS.items():
        some = [key for key in subset if key[0] == crowd]
        lists = list(dict.fromkeys((values, epsilon) for _, values, epsilon, _ in some))
        crowds = list(dict.fromkeys(people for *_, people in some))
        small = [people for people in crowds if any(key[3] == people for key in tree)]
        header = [*(f"`subset`, {people:,}" for people in crowds), *(f"`tree`, {people:,}" for people in small)]
        lines += [f"### {told}", ""]
        lines += table(
            "; ".join(["values", "ε", *header]),
            (
                [
                    f"{values:,}",
                    f"{epsilon:g}",
                    *(show(subset.get((crowd, values, epsilon, people))) for people in crowds),
                    *(show(tree.get((crowd, values, epsilon, people))) for people in small),
                ]
                for values, epsilon in lists
            ),
        )
    return lines


def size_table(results: Row) -> list[str]:
    """The optimum of each list by formula."""
    rows = {(row["values"], row["epsilon"]): row for row in results["cells"]}
    return table(
        "values; ε; size of subsets; optimum, in √people",
        (
            [
                f"{values:,}",
                f"{epsilon:g}",
                row["size"],
                f"{row['optimum'] / math.sqrt(row['people']):.4f}",
            ]
            for (values, epsilon), row in rows.items()
        ),
    )


def peer_section(results: Row) -> list[str]:
    """Peers beside `subset`."""
    if isinstance(results["peers"], str):
        return [f"{results['peers']}.", ""]
    names = list(dict.fromkeys(row["mechanism"] for row in results["peers"]))
    found = {(row["crowd"], row["values"], row["epsilon"], row["mechanism"]): row for row in results["peers"]}
    ours = of(results, "subset")
    people = results["peers"][0]["people"]
    lists = list(dict.fromkeys(key[:3] for key in found))
    return [
        f"The figures are errors divided by the optimum, on the same crowds of {people:,} people. Counts are raw:",
        "unbiased, and not clipped. pure-ldp is slow per person, so it has fewer runs and wider intervals. OUE is",
        "optimised unary encoding, GRR is randomised response over all values; direct encoding is the same as GRR.",
        "",
        *table(
            "; ".join(["crowd", "values", "ε", "`subset`", *names]),
            (
                [
                    crowd,
                    values,
                    f"{epsilon:g}",
                    show(ours[crowd, values, epsilon, people]),
                    *(show(found[crowd, values, epsilon, name]) for name in names),
                ]
                for crowd, values, epsilon in lists
            ),
        ),
    ]


def time_section(results: Row) -> list[str]:
    """Nanoseconds per report, and how they grow."""
    times = results["times"]
    names = [name for name in times[0] if name not in ("values", "epsilon", "subset")]
    wide = [row for row in times if row["subset"]["window"] > 1]
    longest = max(wide, key=lambda row: row["values"], default=None)
    lines = [
        "Times are CPU time per report in nanoseconds (ns), the best of three repetitions: encode / tally",
        "(`randomize` / `accumulate`). `subset` is called for many people at once. Its random words are drawn",
        "beforehand; the column *words* has the time that this takes. Peers are called for one person at a time, as",
        "they are designed, and draw their randomness in encode. The tally of multi-freq-ldpy includes its",
        "estimate.",
        "",
        f"The load of the machine was {results['load']:.1f} on {results['cores']} cores when the run began. A load",
        "above 1 for each core means that other programs ran too, so times are longer than on an idle machine.",
        "",
        *table(
            "; ".join(["values", "ε", "window", "words", "`subset`", *names]),
            (
                [
                    f"{row['values']:,}",
                    f"{row['epsilon']:g}",
                    row["subset"]["window"],
                    f"{row['subset']['random_words_ns']:.0f}",
                    *(f"{row[name]['encode_ns']:,.0f} / {row[name]['tally_ns']:,.0f}" for name in ("subset", *names)),
                ]
                for row in times
            ),
        ),
        "**How cost grows.** Encode and tally of `subset` are linear in the values of the list, except where a window",
        "holds one value: that is randomised response, whose cost is constant.",
    ]
    if longest:
        encode, tally = (longest["subset"][f"{what}_ns"] / longest["values"] for what in ("encode", "tally"))
        per_value = f"{encode:.1f} ns to encode and {tally:.1f} ns to tally for each value"
        lines.append(f"With {longest['values']:,} values it is {per_value}.")
    return [*lines, ""]


INTRODUCTION = """
This measures the error of a count when the values are a short list, and the time that a report takes. `make lists`
repeats it in about a quarter of an hour, with a seed that no parameter was chosen with. `make lists-quick` takes about
a minute and prints a part.

The lists are closed (no "other" value), so they have exactly as many values as the tables say. The error is the root
mean square over all values and runs, including values that nobody holds. It is divided by the **optimum**: the error of
subset selection by formula, with the size of subsets that makes it smallest. The optimum includes the noise of the
people who hold the value. The figure after ± is half the width of the 99 % interval.

With 1,000 people, `subset` makes a report for each person. With more people, tallies are drawn from their law
(`sample_tally`). `tree` always makes a report for each person, with a fresh public seed in each run. It needs a whole
number of bits: a list whose size is not a power of two counts as a longer one, which makes errors larger if there are
few values.
"""
TARGETS = """
A cell is one combination of crowd, values, ε and people. It misses a target if its whole 99 % interval is beyond it.
For peers (other libraries), the interval is that of the ratio of the two errors.
"""
OPTIMUM = """
These figures are computed by formula. Every person holds one of the values and none of the rest, so the error over all
values is the same for every crowd, and so is the best size of subsets. `subset` chooses the size of its windows by the
same rule. The best size is about the number of values divided by e^ε + 1. Where that is less than 1 the size is 1,
which is randomised response. No unbiased count has a smaller error over all values, with any mechanism of pure ε
([proof](mechanisms.md#no-unbiased-count-has-a-smaller-error)).
"""


def page(results: Row) -> str:
    """The section on short lists of docs/benchmarks.md."""
    missed = misses(results)
    runs = [row["runs"] for row in of(results, "subset").values()]
    return "\n".join(
        [
            "# Short lists",
            INTRODUCTION,
            f"Seed {results['seed']}; `subset` has {min(runs):,} to {max(runs):,} runs in a cell.",
            "",
            "## Against the targets",
            TARGETS,
            *verdicts(results),
            *([*(f"- {line}" for line in missed), ""] if missed else ["No cell misses.", ""]),
            "## Error",
            "",
            "The columns name the mechanism and the number of people.",
            "",
            *error_tables(results),
            "## The optimum",
            OPTIMUM,
            *size_table(results),
            "## Peers",
            "",
            *peer_section(results),
            "## Time per report",
            "",
            *time_section(results),
        ]
    )
