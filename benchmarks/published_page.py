"""The page of `published.py`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

Row = dict[str, Any]
PGR = "https://github.com/minilek/private_frequency_oracles"
PGR_COMMIT = "f043e0c3ba180e05ce0883e93e0863c699599e17"
PEM = "https://github.com/vvv214/LDP_Protocols"
PEM_COMMIT = "f7252b07733dc0e100e2f077218ab2d35d3519d5"
MISSING = "not run: the input was not in the folder"

START = """# On published inputs

Here our mechanisms run on inputs that others published, beside the results that they published.
`python benchmarks/published.py --data FOLDER --write docs/published.md` repeats it. The inputs are not part of this
repository: `FOLDER` holds the files of the table at the end, under their own names. A file with another hash is
refused.

**Run** marks numbers of our own runs, **quoted** numbers of others, which we did not run. Seed {seed}.
"""
ERRORS = """
## Counts: Projective Geometry Response

The authors of *Private Frequency Estimation via Projective Geometry* (Feldman, Nelson, Nguyen, Talwar, ICML 2022)
publish the five inputs below, and the mean square error over all values in each of 300 trials. **Quoted** are the means
of those trials: SS is subset selection, PG and HPG are theirs, RHR and HR are Hadamard responses. A dash means that
they did not run it. **Run** is ours, with a report for each person and a fresh public seed in each of {runs} trials:
`subset` takes at most 4,096 values, so `tree` counts the longer lists. ± is one standard error. **Bound** is the
smallest mean square error of any unbiased count ([the
proof](mechanisms.md#no-unbiased-count-has-a-smaller-error)), by formula.
"""
FLAW = """
On `spike8`, SS as quoted is 2.8 % above the bound, which subset selection should meet. The reason is in its code: it
draws the other values of a subset among all values, the person's own included. So a subset has it more often than the
estimate assumes, and the count of a value that many hold is biased. On `spike8` that adds {bias:,.0f} to the
mean square error, and the bound plus {bias:,.0f} is {sum:,.0f}; they measured {quoted:,.0f}.

On these long lists PG meets the bound or nearly does. Its error is smaller than that of `tree` on `zipf1.0`, `junta256`
and `spike8`, and larger on `spike6`.
"""
QUERIES = """
## Heavy hitters: PEM on the AOL queries

The authors of PEM (Wang, Li, Jha) publish the queries of 657,427 people, six bytes each. All methods look for the 32
commonest among 2^48 values. PEM was **run** by us, drawn from its exact law under local hashing, in its authors' order
of bits; it always lists 32 values. `tree` was **run** by us at its usual level of 5 %: it lists what it can vouch for
and no more. With [guesses](reading-answers.md#guesses) the list is filled up to 32, as far as a guess has a chance of
1 %. Nothing is quoted: the authors' code comes without figures for this file. ± is one standard error. F1 and NCR (the
ranks found, 32 for the commonest and 1 for the last, as a share of their sum) are the usual scores of a list of 32.

The first two rows take a query for a number of 48 bits, any as likely as any other. PEM reads it letter by letter, so
that it finds beginnings that many queries share. The third row takes it for what it is, a text: the
[code](text-codes.md) for texts, which was fitted elsewhere, gives these queries 31 bits on average, and those that
begin with `www.` about 20. This is what a survey about queries would use. It was added after the first two rows had
been seen; no other domain was tried. The step of PEM is the best of seven in the same runs, which is in its favour.
"""
PEERS = """
## Two cells with other libraries

pure-ldp 1.2.0 and multi-freq-ldpy 0.2.5, **run** by us on the same inputs in an environment of their own. Mean square
errors of raw, unbiased counts; ± is one standard error.
"""


def table(heads: str, rows: Iterable[Iterable[str]]) -> list[str]:
    """A table with its first column to the left and all others to the right."""
    names = heads.split("; ")
    ruler = ["---"] + ["---:"] * (len(names) - 1)
    return [f"| {' | '.join(row)} |" for row in (names, ruler, *rows)]


def plus_minus(row: Row) -> str:
    """A mean and its standard error."""
    return f"{row['mean']:,.2f} ± {row['sd'] / row['runs'] ** 0.5:,.2f}"


def flaw(row: Row, given: Any) -> str:
    """Where the quoted error of SS on `spike8` comes from: the bias of one count, squared, over all values."""
    weight, size = math.exp(given.epsilon), math.ceil(given.values / (math.exp(given.epsilon) + 1))
    held = weight * size / (weight * size + given.values - size)
    absent = (held * (size - 1) + (1 - held) * size) / (given.values - 1)
    bias = (row["people"] * (1 - held) * size / given.values / (held - absent)) ** 2 / given.values
    return FLAW.format(bias=bias, sum=row["formula"] + bias, quoted=given.quoted["SS"])


def error_rows(errors: Mapping[str, Row | None], inputs: Mapping[str, Any]) -> Iterable[list[str]]:
    """A row for each input."""
    for name, given in inputs.items():
        row = errors[name]
        ours = [MISSING, "", "–"] if row is None else [row["mechanism"], plus_minus(row), f"{row['formula']:,.2f}"]
        quoted = [
            f"{given.quoted[each]:,.2f}" if each in given.quoted else "–" for each in ("SS", "PG", "HPG", "RHR", "HR")
        ]
        yield [f"`{name}`", f"{given.values:,}", f"{given.epsilon:g}", *ours, *quoted]


def query_table(rows: list[Row]) -> list[str]:
    """Ours, and the best and the worst step of PEM at each ε."""
    shown = []
    for epsilon in sorted({row["epsilon"] for row in rows}):
        of_epsilon = [row for row in rows if row["epsilon"] == epsilon]
        ours = [row for row in of_epsilon if row["method"].startswith("`tree`")]
        others = sorted((row for row in of_epsilon if row not in ours), key=lambda row: -row["mean"][1])
        for row, note in (*((row, "") for row in ours), (others[0], " (best step)"), (others[-1], " (worst step)")):
            found, f1, ncr = (
                f"{mean:.{d}f} ± {error:.{d}f}"
                for mean, error, d in zip(row["mean"], row["stderr"], (1, 3, 3), strict=True)
            )
            shown.append(
                [row["method"] + note, f"{epsilon:g}", str(row["runs"]), f"{row['listed']:.1f}", found, f1, ncr]
            )
    return table("method; ε; runs; listed; of the top 32; F1; NCR", shown)


def peer_table(found: list[Row], errors: Mapping[str, Row | None]) -> list[str]:
    """A row for each library's method and input."""
    shown = []
    for row in found:
        ours = errors[row["name"]]
        if ours is not None:
            shown.append([f"`{row['name']}`", f"`{ours['mechanism']}`, ours", str(ours["runs"]), plus_minus(ours)])
        shown += [
            [f"`{row['name']}`", name, str(each["runs"]), plus_minus(each)] for name, each in row["answers"].items()
        ]
    return table("input; method; runs; mean square error", shown)


def source_table(errors: Mapping[str, Row | None], inputs: Mapping[str, Any], queries: bool) -> list[str]:
    """Where each input comes from, its hash, and how it came to this run."""
    rows = []
    for name, given in inputs.items():
        row = errors[name]
        came = MISSING if row is None else "made from its description, same hash" if row["made"] else "read"
        where = f"[{name}.in]({PGR}/blob/{PGR_COMMIT}/experiments/data/{name}.in)"
        rows.append([where, f"`{given.sha256}`", came])
    where = f"[query_6bytes_sorted.txt.gz]({PEM}/blob/{PEM_COMMIT}/pem/query_6bytes_sorted.txt.gz)"
    rows.append(
        [where, "`b5750f6998acf3812bbba994954c981a77db510b7867f7cff82e02af13e662db`", "read" if queries else MISSING]
    )
    return table("input; SHA-256; in this run", rows)


def page(results: Row, inputs: Mapping[str, Any]) -> str:
    """The whole page."""
    errors, queries, found = results["errors"], results.get("queries"), results.get("peers", "Not run here")
    runs = next(row["runs"] for row in errors.values() if row is not None)
    lines = [START.format(seed=results["seed"]), ERRORS.strip("\n").format(runs=runs), ""]
    lines += table("input; values; ε; run; its error; bound; SS; PG; HPG; RHR; HR", error_rows(errors, inputs))
    lines += [
        flaw(errors["spike8"], inputs["spike8"]),
        QUERIES.strip("\n"),
        "",
    ]
    lines += query_table(queries) if queries else ["This part was not run for this page: it needs the file of queries."]
    lines += [PEERS, *([f"{found}."] if isinstance(found, str) else peer_table(found, errors))]
    lines += [
        "",
        "## The inputs",
        "",
        "`spike` is everybody with value 0, and `junta256` is person i with value i mod 256, so they follow from their",
        "description. `zipf1.0` was drawn by its authors and has to be read.",
        "",
        *source_table(errors, inputs, bool(queries)),
    ]
    return "\n".join(lines) + "\n"
