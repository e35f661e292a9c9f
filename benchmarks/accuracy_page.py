"""The page of benchmarks/accuracy.py: tables for people from the numbers of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

MILLION, CLEAR = 1_000_000, 12
Z95_TARGETS, FALSE_TARGET, ERROR_TARGET = {64: 11.6, 128: 16.0, 256: 23.3}, 16 / 200, 1.05
NAMES_TARGETS, LIST_TARGET = {1: 0.75, 4: 1.0}, 7.2  # by ε
ENCODE_TARGET, TALLY_TARGET, DECODE_TARGET, NAMES_DECODE_TARGET = 40.0, 30.0, 0.6, 2.0
PURE_LDP_TARGET = 50.0

Row = dict[str, Any]

EXPLAINED = {
    "none": "everybody alone",
    "one": "1 near the limit",
    "near": "25 near the limit",
    "many": "200 near the limit (ε = 4)",
    "giant": "one value held by 60 %, others near the limit",
    "sequential": "everybody's value an even number in a row",
    "pairs": "values near the limit in pairs that share 63 bits",
    "zipf 1.05": "Zipf 1.05",
    "zipf 1.5": "Zipf 1.5",
}


def table(header: str, rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; the header's fields are apart by semicolons."""
    lines = [header.split("; "), ["---", *["---:"] * header.count("; ")], *rows]
    return "\n".join(f"| {' | '.join(str(field) for field in line)} |" for line in lines)


def show(value: float | None, digits: int = 2) -> str:
    """A number, or a dash where there is none."""
    return "–" if value is None else f"{value:,.{digits}f}"


def span(row: Row, key: str = "z95") -> str:
    """The z95 of a cell with its interval."""
    return f"{show(row[key])} [{', '.join(map(show, row[f'{key}_interval']))}]" if key in row else "–"


def errs(row: Row) -> str:
    """Runs with a false positive, with their interval in percent."""
    low, high = row["false_interval"]
    return f"{row['false_runs']} of {row['runs']} [{100 * low:.1f}, {100 * high:.1f} %]"


def error(row: Row) -> str:
    """The count error in sd."""
    return show(row["count_error"])


def clear(row: Row) -> str:
    """The share found of the values that nothing should hide, and how many there were."""
    return f"{show(row['clear_recall'], 3)} of {row['clear_values']:,}" if row["clear_values"] else "–"


def times(row: Row) -> list[str]:
    """What encode, tally and decode take."""
    return [show(row[key], 0) for key in ("encode_ns_per_person", "tally_ns_per_report")] + [show(row["decode_s"])]


def line(row: Row, *first: object) -> list[object]:
    """A cell of `tree` in a table."""
    kept = f"{row['coverage']} of {row['runs']}"
    values = show(row["ratio"]) if "ratio" in row else "–"
    return [*first, row["planted"], row["runs"], span(row), values, errs(row), error(row), kept]


def verdict(what: str, value: float | None, target: float, unit: str = "", digits: int = 2) -> list[str]:
    """A target, the value measured, and by how much it is missed."""
    if value is None:
        return [what, f"≤ {target:g}{unit}", "not measured", "–"]
    missed = "reached" if value <= target else f"missed by {value - target:.{digits}f}{unit}"
    return [what, f"≤ {target:g}{unit}", f"{value:.{digits}f}{unit}", missed]


def ratios(peer: Sequence[Row] | str) -> dict[float, float]:
    """For each ε, how many times as long as `tree` pure-ldp takes to make a report and to add it up."""
    rows = [] if isinstance(peer, str) else peer
    spent = [row["encode_ns_per_person"] + row["tally_ns_per_report"] for row in rows]
    return {row["epsilon"]: his / ours for row, ours, his in zip(rows[::2], spent[::2], spent[1::2], strict=True)}


def verdicts(results: Row, cells: Sequence[Row], speeds: Sequence[Row]) -> list[list[str]]:
    """Every target with what was measured."""
    rows = []
    for row in results["names"]:
        what = f"{row['kind']} of {row['lengths'][0]} to {row['lengths'][1]} bits, ε = {row['epsilon']:g}: "
        rows.append(verdict(f"{what}z95 above the limit", row["above"], NAMES_TARGETS[row["epsilon"]]))
    slowest = max(row["decode_s"] for row in results["names"])
    rows.append(verdict("decode, hosts and words", slowest, NAMES_DECODE_TARGET, " s"))
    rows.append(verdict("2^20 candidates, ε = 1: z95", results["candidates"]["z95"], LIST_TARGET))
    nearby = [row for row in cells if row["load"] == "near"]
    for row in sorted(nearby, key=lambda row: (row["bits"], row["people"], row["epsilon"])):
        what = f"{row['bits']} bits, ε = {row['epsilon']:g}, n = {row['people']:,}: "
        rows.append(verdict(f"{what}z95", row["z95"], Z95_TARGETS[row["bits"]]))
        if row["bits"] == 64:
            rows.append(verdict(f"{what}count error, in sd", row["count_error"], ERROR_TARGET))
    for row in (row for row in cells if row["bits"] == 64 and row["load"] in EXPLAINED):
        share = 100 * row["false_runs"] / row["runs"]
        what = f"{EXPLAINED[row['load']]}: runs with a false positive"
        if row["load"] != "near" or (row["epsilon"], row["people"]) == (1, MILLION):
            rows.append(verdict(what, share, 100 * FALSE_TARGET, " %", 1))
    for row in (row for row in speeds if row["bits"] == 64):
        rows.append(verdict(f"decode, {row['size']}", row["decode_s"], DECODE_TARGET, " s"))
        rows.append(verdict(f"encode, {row['size']}, ε = 1", row["encode_ns_per_person"], ENCODE_TARGET, " ns", 0))
        rows.append(verdict(f"tally, {row['size']}, ε = 1", row["tally_ns_per_report"], TALLY_TARGET, " ns", 0))
    for epsilon, ratio in ratios(results["pure_ldp"]).items():
        missed = "reached" if ratio >= PURE_LDP_TARGET else f"missed by {PURE_LDP_TARGET - ratio:.0f}"
        what = f"encode and tally of pure-ldp over those of `tree`, ε = {epsilon:g}"
        rows.append([what, f"≥ {PURE_LDP_TARGET:g}", f"{ratio:.0f}", missed])
    return rows


def page(results: Row) -> str:
    """The results for people."""
    cells, speeds, peer = results["cells"], results["speed"], results["pure_ldp"]
    tree = [row for row in cells if row["load"] != "peers"]
    small = [row for row in tree if row["load"] == "near" and row["bits"] == 64]
    small.sort(key=lambda row: (row["people"], row["epsilon"]))
    loads = [row for row in tree if row["load"] != "near" or (row["epsilon"], row["people"]) == (1, MILLION)]
    ours = "near-limit values; runs; z95 [90 %]; ratio; runs with a false positive [95 %]; count error; intervals held"
    load_lines = [[*line(row, EXPLAINED[row["load"]]), clear(row)] for row in loads if row["bits"] == 64]
    wide = [line(row, row["bits"], show(row["exhaustive"])) for row in tree if row["bits"] > 64]
    versus = [
        [row["who"], f"{row['epsilon']:g}", row["runs"], span(row), span(row, "listed_z95"), errs(row), error(row)]
        for row in cells
        if row["load"] == "peers"
    ]
    timed = "encode ns per person; tally ns per report; decode s"
    costs = [[row["bits"], row["size"], *times(row), show(row["tally_mib"], 0)] for row in speeds]
    rivals = [] if isinstance(peer, str) else peer
    scores = [
        [row["who"], f"{row['epsilon']:g}", f"{row['people']:,}", row["reported"], row["right"], show(row["f1"])]
        for row in rivals
    ]
    ten = [[*score, *times(row)] for score, row in zip(scores, rivals, strict=True)]
    pure = table(f"; ε; people; reported; right; F1@10; {timed}", ten) if rivals else f"{peer}."
    if rivals:
        longer = " and ".join(f"**{ratio:.0f}** times as long at ε = {each:g}" for each, ratio in ratios(peer).items())
        pure += f"\n\nTo make a report and add it up, pure-ldp takes {longer}."
    lines = [
        line(
            row,
            f"{row['epsilon']:g}",
            f"{row['people']:,}",
            show(row["sd"], 0),
            show(row["tails_z95"]),
            show(row["stated_z95"]),
        )
        for row in small
    ]
    rows, columns = results["sketch"]
    listed = results["candidates"]
    named = [
        [
            row["kind"],
            f"{row['epsilon']:g}",
            "{}–{}".format(*row["lengths"]),
            "{:.1f}–{:.1f}".format(*row["limits"]),
            span(row, "above"),
            errs(row),
            error(row),
            show(row["decode_s"]),
        ]
        for row in results["names"]
    ]
    limits = [float(limit) for limit in results["limits"].values()]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return f"""# Accuracy

This page measures `tree`: how many people must hold a value before it is found, how often a value is reported that
nobody holds, and how far counts are off. It compares other methods on the same crowds.

Made by `{results["command"]}`
with {versions}.
Seed {results["seed"]} determines every crowd, public seed and report. No parameter was chosen with this seed.
The tables state the number of runs behind each figure (`--runs`), with intervals that show what so many runs can tell.

## What is measured

- **sd** is the unit of counts: √n·2e^(ε/2)/(e^ε − 1) for n people. It is the standard deviation of a count from the
  best frequency oracle (a method that estimates how many people hold a given value), with everybody's report. A value
  that c people hold has **z** = c/sd.
- **z95** is the smallest z at which a value is found with a chance of 95 %. Planted values have z uniform in a window
  around the z95 of an exhaustive search (see Ratio): from 1.5 below it to 3.5 above it, 6.5 above it in wide
  universes. Everybody else holds a random value of their own. A probit curve of found against z is fitted by maximum
  likelihood. Its 90 % interval is a bootstrap over runs.
- **Ratio** is z95 divided by that of an exhaustive search, which scores each of the 2^b values with the best oracle at
  a false positive level of 5 %. The exhaustive search has z95 = Q⁻¹(0.05·2^−b) + 1.645, where Q is the upper tail of
  the normal law: {limits[0]:.2f} at 64 bits, {limits[1]:.2f} at 128 and {limits[2]:.2f} at 256.
- A run has a **false positive** if it reports any value that nobody holds. The share of such runs has a 95 % Wilson
  interval.
- **Count error** is the root mean square of (estimate − truth)/sd over the values found.
- **Intervals held** counts the runs in which every interval of the answer contains its true count. `find_hitters` is
  asked for level 0.05 and spends half of it on intervals, so it promises 97.5 % of runs.
- Crowds have 25 values **near the limit** (in that window). Small crowds with a small ε have fewer, since all of them
  together are held by at most two thirds of the people. 200 values do not fit into a million people at ε = 1, so that
  load has ε = 4.

## Against the targets

The point estimate decides whether a target is reached; the tables below have the intervals. At most 16 of 200 runs
(8 %) may have a false positive.

{table("figure; target; measured; ", verdicts(results, tree, speeds))}

[The last section](#what-was-aimed-at-and-not-reached) shows why some are missed.

## By ε and people, 64 bits

{table(f"ε; people; sd; by its tails; stated z95; {ours}", lines)}

**By its tails** is the z95 of scoring every value with all reports of the same survey. It takes three things into
account: the reports that match an absent value by chance are binomial, with a heavier tail than the normal law if
people are few or ε is large; only a quarter of the level is for noise; and a value's own reports are noisy too. The
**stated z95** is the detection limit printed with every answer.

## Names

A million people, {results["names"][0]["runs"]} runs with 8 names of each class. Names are drawn at random with the
probabilities that their text code gives them; everybody else shares a long name with about twenty others. The **limit**
of a name is the z95 of scoring every name, if a name of b bits may be wrong with a chance of 5 %·2^−b. **Above** is how
much more than this limit z must be for a name to be found with a chance of 95 %.

{table("names; ε; code bits; limit; above [90 %]; runs with a false positive [95 %]; count error; decode s", named)}

Candidates: with a list of 2^20 candidates of 64 bits, of which 25 are held, ε = 1 and a million people
({listed["runs"]} runs), z95 is {span(listed)}. It would be {show(listed["exhaustive"])} for scoring the
list alone with the whole level; the list has half of it. Runs with a false positive: {errs(listed)}. Count
error: {error(listed)}. The search and the list together take {show(listed["decode_s"], 1)} s.

## By load, 64 bits, ε = 1, a million people

{table(f"load; {ours}; found above {CLEAR} sd", load_lines)}

## Wide universes, ε = 4, a million people

{table(f"bits; exhaustive search; {ours}", wide)}

## Against the prefix extending method

All methods get the same crowds: a million people, values of 64 bits with z uniform from 9 to 24, 12 of them at ε = 1
and 25 at ε = 4. The prefix extending method (PEM) splits people into groups that report longer and longer prefixes by
local hashing, and keeps the best prefixes of each group. Usual plans have steps of 4 or 8 bits and keep twice as many
prefixes as there are values. The tuned plan has the steps and group sizes that are best in theory with 2^20 candidates
in each step. All are drawn from their exact law. For **z95, listed** a value need only be in the final list, which is
filled up with values that nobody holds. For **z95** it must also stand out from the noise of all candidates of the last
step, at level 5 %; `tree` has a quarter of that level. The window of z is wide, so a single miss far above z95 raises
it and widens its interval.

{table("; ε; runs; z95 [90 %]; z95, listed [90 %]; runs with a false positive [95 %]; count error", versus)}

## Against pure-ldp

Both search for the ten largest values of a Zipf 1.5 crowd. pure-ldp runs its own PEM in steps of 8 bits over a count
mean sketch ({rows} × {columns}), keeps 20 prefixes and always reports the best ten. (Its default oracle would go
through all 2^64 values for every report.) `tree` reports only what stands out. There is one crowd for each ε. Times are
CPU time of one thread.

{pure}

## Speed

ε = 1, 2^20 people, ten values near the limit. Times are CPU time of one thread, the best of three repetitions. The
times depend on the machine; how decode grows with the bits does not.

{table(f"bits; size; {timed}; tally MiB", costs)}
"""
