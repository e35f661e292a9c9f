"""The page of benchmarks/accuracy.py: tables for people from the numbers of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

MILLION, CLEAR = 1_000_000, 12
Z95_TARGET, FALSE_TARGET, ERROR_TARGET, WIDE_TARGET = 11.6, 16 / 200, 1.05, 23.5
NAMES_TARGET, LIST_TARGET = 0.8, 7.2
ENCODE_TARGET, TALLY_TARGET, DECODE_TARGETS = 100.0, 50.0, {"small": 0.5, "standard": 1.5}
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
    for row in (row for row in results["names"] if row["kind"] == "hosts" and row["lengths"][0] >= 35):
        what = f"hosts of {row['lengths'][0]} to {row['lengths'][1]} bits, ε = {row['epsilon']:g}: z95 above the limit"
        rows.append(verdict(what, row["above"], NAMES_TARGET))
    rows.append(verdict("2^20 candidates, ε = 1: z95", results["candidates"]["z95"], LIST_TARGET))
    nearby = [row for row in cells if row["load"] == "near"]
    for row in sorted(nearby, key=lambda row: (row["bits"], row["people"], row["epsilon"])):
        what = f"{row['bits']} bits, ε = {row['epsilon']:g}, n = {row['people']:,}: "
        if row["bits"] != 128:
            rows.append(verdict(f"{what}z95", row["z95"], Z95_TARGET if row["bits"] == 64 else WIDE_TARGET))
        if row["bits"] == 64:
            rows.append(verdict(f"{what}count error, in sd", row["count_error"], ERROR_TARGET))
    for row in (row for row in cells if row["bits"] == 64 and row["load"] in EXPLAINED):
        share = 100 * row["false_runs"] / row["runs"]
        what = f"{EXPLAINED[row['load']]}: runs with a false positive"
        if row["load"] != "near" or (row["epsilon"], row["people"]) == (1, MILLION):
            rows.append(verdict(what, share, 100 * FALSE_TARGET, " %", 1))
    for row in (row for row in speeds if row["bits"] == 64):
        rows.append(verdict(f"decode, {row['size']}", row["decode_s"], DECODE_TARGETS[row["size"]], " s"))
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
        pure += f"\n\nTo make a report and add it up takes pure-ldp {longer}."
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

How many people must hold a value before `tree` finds it, how often it reports a value that nobody holds, how far its
counts are off, and what other methods do on the same crowds.

Made by `{results["command"]}`
with {versions}.
Every crowd, public seed and report follows from seed {results["seed"]}, which is not used to choose any parameter.
`--runs` sets how many runs stand behind a figure; the tables say how many there were, and the intervals say what so
many runs can tell.

## What is measured

- **sd** is the unit: √n·2e^(ε/2)/(e^ε − 1), the standard deviation of the best frequency oracle with everybody's
  reports. A value that c people hold has **z** = c/sd.
- **z95** is the smallest z that is found with probability 95 %. Values are planted with z uniform in a window around
  the limit below (from 1.5 under it to 3.5 above it, 6.5 in wide universes), everybody else is alone with a random
  value, and a probit of found against z is fitted by maximum likelihood. Its 90 % interval is a bootstrap over runs.
- **Ratio** is z95 over that of an exhaustive search: scoring each of the 2^b values with the best oracle and a false
  positive level of 5 % has z95 = Q⁻¹(0.05·2^−b) + 1.645, which is {limits[0]:.2f} at 64 bits, {limits[1]:.2f} at
  128 and {limits[2]:.2f} at 256.
- A run has a **false positive** if it reports any value that nobody holds; its interval is Wilson's, of 95 %.
- **Count error** is the root mean square of (estimate − truth)/sd over the values found.
- **Intervals held** are the runs in which every interval of the answer contains its true count; `find_hitters` is
  asked for level 0.05, half of it for intervals, so 97.5 % is what it promises.
- Crowds have 25 values near the limit, or as many as two thirds of the people can hold: small crowds with a
  small ε have room for fewer. 200 of them do not fit into a million people at ε = 1, hence ε = 4 in that load.

## Against the targets

Point estimates decide here; their intervals are in the tables below. At most 16 of 200 runs (8 %) may have a false
positive.

{table("figure; target; measured; ", verdicts(results, tree, speeds))}

**Why some are missed.** *64 bits*: a count must reach a threshold that has a quarter of the level and binomial tails;
the column "by its tails" below is the least that z95 could be. Beyond that a value may fall out of the beam or stay in
doubt, which is what keeps false positives rare. *Hosts*: one set of shares serves codes of all lengths, and a code is
in the beam with bits of a fingerprint, which only its end confirms. *256 bits*: the beam has 2^13 paths for the sake
of time, and a value must stay in it for 31 depths. *Candidates*: the list has half of the level, and few runs stand
behind the figure.

## By ε and people, 64 bits

{table(f"ε; people; sd; by its tails; stated z95; {ours}", lines)}

**By its tails** is what scoring every value with all reports of the same survey would have: an absent value's matches
are binomial, whose tail is heavier than a normal one if there are few people or ε is large, a quarter of the level is
for noise, and a value's own reports are noisy too. The stated z95 is the detection limit printed with every answer.

## Names

A million people, {results["names"][0]["runs"]} runs with 8 names of each class, drawn from the law of the code itself;
everybody else shares a long name with about twenty others. The limit of a name is that of scoring every name, when a
name of b bits may be wrong with a chance of 5 %·2^−b. **Above** is how far z must be above that limit, to be found with
probability 95 %.

{table("names; ε; code bits; limit; above [90 %]; runs with a false positive [95 %]; count error; decode s", named)}

With a list of 2^20 candidates of 64 bits, 25 of them held, ε = 1, a million people ({listed["runs"]} runs): z95
{span(listed)}, against {show(listed["exhaustive"])} for scoring the list alone with all of the level, of which it
has half. Runs with a false positive: {errs(listed)}. Count error {error(listed)}. Search and list take
{show(listed["decode_s"], 1)} s.

## By load, 64 bits, ε = 1, a million people

{table(f"load; {ours}; found above {CLEAR} sd", load_lines)}

## Wide universes, ε = 4, a million people

{table(f"bits; exhaustive search; {ours}", wide)}

## Against the prefix extending method

All see the same crowds: a million people, values of 64 bits with z uniform from 9 to 24, 12 of them at ε = 1 and 25
at ε = 4. PEM splits people into groups that report longer and longer prefixes by local hashing, and keeps the best
prefixes of each. Steps of 4 or 8 bits with twice as many prefixes kept as there are values are usual; the tuned plan
has the steps and group sizes that are best by theory with 2^20 candidates on each level. All are drawn from their
exact law. **z95, listed** only asks that a value is in the final list, which is filled up with values that nobody
holds; **z95** asks that it also stands out from the noise of all candidates of the last level, at level 5 %. `tree`
has a quarter of that level. The window is wide, so a single miss far above z95 raises it and widens its interval.

{table("; ε; runs; z95 [90 %]; z95, listed [90 %]; runs with a false positive [95 %]; count error", versus)}

## Against pure-ldp

The ten largest values of a Zipf 1.5 crowd. pure-ldp runs its own PEM in steps of 8 bits over a count mean sketch
({rows} × {columns}), keeps 20 prefixes and answers with the best ten; its default oracle goes through all 2^64 values
for every report. It always reports ten; `tree` reports what stands out. One crowd for each ε; CPU time of one thread.

{pure}

## Speed

ε = 1, 2^20 people, ten values near the limit; CPU time of one thread, the best of three. Nanoseconds belong to the
machine they were measured on; how decode grows with bits does not.

{table(f"bits; size; {timed}; tally MiB", costs)}
"""
