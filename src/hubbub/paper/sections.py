"""The sections of the report of `hubbub paper`: for each figure the paper's claim, the results, and a table.

Every number in the text is computed from the rows, so that the text cannot contradict the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hubbub.paper import bucket_success, largest_error, proved_search, separation, smallest_crowd, theorems
from hubbub.paper.bucket_success import Successes
from hubbub.paper.largest_error import Errors, Regret
from hubbub.paper.separation import Failures, Misses, label_of
from hubbub.paper.smallest_crowd import Crowd
from hubbub.paper.study import SUBSET, Measured, of_type, select


@dataclass(frozen=True)
class Table:
    """A heading for each column, and rows of text."""

    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Section:
    """A part of the report: its figure, an explanation, and a table of its numbers."""

    title: str
    figure: str
    paragraphs: tuple[str, ...]
    table: Table


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent of the power law through the points."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _always_from(rows: Sequence[Successes]) -> str:
    """The least number of people from which every run succeeded, in words."""
    least = "no number of"
    for row in sorted(rows, key=lambda row: -int(row.people)):
        if row.successes < row.runs:
            break
        least = f"{row.people:,}"
    return least


def _separation(measured: Measured[separation.Setting, Misses | Failures]) -> Section:
    """The lower bound, the mechanisms that attain it, and the centralised mechanism."""
    setting, rows = measured.setting, measured.rows
    errors = of_type(rows, Misses)
    table, largest = [], max(row.people for row in errors)
    for label in dict.fromkeys(row.label for row in errors):
        mine = select(errors, label=label)
        people = [row.people for row in mine]
        roots = [row.rmse / row.people**0.5 for row in mine]
        shown = f"{min(roots):.3f} to {max(roots):.3f}" if mine[0].local else "goes to 0"
        last = f"{mine[-1].rmse:,.4g}" if mine[-1].people == largest else f"– ({mine[-1].people:,} at most)"
        table.append((label, shown, f"n^{_slope(people, [row.rmse for row in mine]):.2f}", last))
    failures = of_type(rows, Failures)
    worst = max(
        abs(count / row.runs - chance)
        for row in failures
        for count, chance in zip(row.failures, row.formula, strict=True)
    )
    central = select(errors, label="central")
    counted, read = (
        [row.rmse / row.people**0.5 for row in errors if row.label == label]
        for label in (SUBSET.label, label_of(SUBSET, posterior=True))
    )
    return Section(
        "The lower bound, and what trust buys (Theorem 3.3)",
        "separation",
        (
            "Every person holds one of two values, by a fair coin. After any local report, most of the uncertainty "
            f"about each person remains, and adds up: no estimate of the count has a root mean square error below "
            f"{setting.rmse_bound:.4f}·√n, and every way to choose the larger value misses it by more than "
            f"{setting.regret_bound:.2f}·√n with a chance of at least {setting.beta:.0%}. Randomised response, "
            "read by its posterior mean, attains the bound: the black points lie on the dashed line.",
            "With two values, the mechanism subset is randomised response. Its counts are unbiased for every "
            f"crowd, which costs: their error is {min(counted):.3f}·√n to {max(counted):.3f}·√n, where the formula "
            f"e^(ε/2)/(e^ε − 1) says {theorems.randomized_response_rmse(setting.epsilon):.3f}. Read by the posterior "
            f"mean, which knows that bits are fair, its error is {min(read):.4f}·√n to {max(read):.4f}·√n: on the "
            "bound.",
            f"The chance of missing by more than c·√n follows the formula: the largest difference between formula and "
            f"experiment, over {sum(len(row.c) for row in failures)} points, is {worst:.4f}.",
            f"A trusted centre errs by a few people for any n: {central[0].regret:g} of "
            f"{central[0].people:,} and {central[-1].regret:g} of {central[-1].people:,}, on the crowd that "
            f"is worst for it (bound: {setting.central_bound:.1f}).",
        ),
        Table(
            ("estimate of a count", "error / √n", "error grows like", f"error at {largest:,} people"),
            table,
        ),
    )


def _error_against_people(measured: Measured[largest_error.Setting, Errors]) -> Section:
    """How the largest error grows with the people."""
    setting, rows = measured.setting, measured.rows
    table = []
    for label, calibration in dict.fromkeys((row.label, row.calibration) for row in rows):
        mine = select(rows, label=label, calibration=calibration)
        middle = [float(np.median(row.errors)) for row in mine]
        runs = sum(len(row.errors) for row in mine)
        within = sum(row.within_bound for row in mine)
        ratio = [value / row.bound for value, row in zip(middle, mine, strict=True)]
        slope = f"n^{_slope([row.people for row in mine], middle):.2f}"
        table.append((label, calibration or "–", slope, f"{min(ratio):.2f} to {max(ratio):.2f}", f"{within} of {runs}"))
    return Section(
        "Error against people (Theorems 3.2 and 4.2, section 4.2)",
        "error-against-people",
        (
            f"The largest error of any of the 2^{setting.bits} counts, for crowds of a thousand to a billion. "
            "JL-HH and the naive baseline keep the slope of √n that the lower bound has: their distance from it is a "
            "constant times √log N. The paper's noise is the farthest away, one bit the nearest.",
            "Bucket is made to name one value in a huge universe, not to count all of a small one: its few rows let "
            "values collide, and once the noise is small beside the collisions, the error grows like n. GLPS-HH gives "
            "0 to every value that it does not recover, and recovers more of them in a larger crowd, so its error "
            "grows more slowly; the paper proves n^(5/6).",
            "The upper bounds: for JL-HH and the naive baseline the theorem's, with corrected constants; for GLPS-HH "
            "the guarantee of its recovery with constants that were measured and not proved; for Bucket and tree a "
            "Gaussian one for noise and collisions, over all values.",
        ),
        Table(("mechanism", "calibration", "error grows like", "median error / bound", "runs within the bound"), table),
    )


def _error_against_universe(measured: Measured[largest_error.UniverseSetting, Errors | Regret]) -> Section:
    """How the largest error grows with the universe."""
    setting, rows = measured.setting, measured.rows
    root = setting.people**0.5
    table = []
    errors, central = of_type(rows, Errors), of_type(rows, Regret)
    for label, calibration in dict.fromkeys((row.label, row.calibration) for row in errors):
        mine = select(errors, label=label, calibration=calibration)
        ends = [f"{float(np.median(row.errors)) / root:.2f} (2^{row.bits})" for row in (mine[0], mine[-1])]
        table.append((label, calibration or "–", *ends))
    return Section(
        "Error against the universe (Theorem 3.2)",
        "error-against-universe",
        (
            f"The largest error of any count, over √n, with {setting.people:,} people. It grows with √log N: the "
            "largest of N noises is not much larger than one of them. subset is shown up to 4,096 values, its limit.",
            "GLPS-HH recovers at most one value in 64, and a single one in universes of up to 2^6 values; all others "
            "count as 0. So in small universes its error is not noise but the largest count that it leaves out. If it "
            "recovers the most frequent value, that is the count of the second one, which is smaller in larger "
            "universes; if it recovers another value, it is the count of the most frequent one, and the error jumps.",
            f"The centralised exponential mechanism misses the heavy hitter by at most (2/ε)·ln(N/β): measured "
            f"{central[0].regret:g} people for 2^{central[0].bits} values and {central[-1].regret:g} for "
            f"2^{central[-1].bits}, on the crowd that is worst for it (bounds: {central[0].bound:.1f} and "
            f"{central[-1].bound:.1f}). This bound does not depend on the number of people.",
        ),
        Table(("mechanism", "calibration", "error / √n, least universe", "largest universe"), table),
    )


def _smallest_crowd(measured: Measured[smallest_crowd.Setting, Crowd]) -> Section:
    """The people it takes, and how many fewer one bit takes."""
    setting, rows = measured.setting, measured.rows
    shares = sorted({row.share for row in rows}, reverse=True)
    table, slopes = [], []
    for label, calibration in dict.fromkeys((row.label, row.calibration) for row in rows):
        mine = {row.share: row for row in select(rows, label=label, calibration=calibration)}
        cells = [f"{mine[share].people:,}" if mine[share].people else "none" for share in shares]
        table.append((f"{label}, 2^{mine[shares[0]].bits} values", calibration or "–", *cells))
        seen = [(share, row.people) for share, row in mine.items() if row.people]
        if len(seen) > 1:
            slopes.append(_slope(*zip(*seen, strict=True)))
    gains = []
    for label in dict.fromkeys(row.label for row in rows if row.calibration):
        paper, one_bit = (select(rows, label=label, calibration=c) for c in ("paper", "onebit"))
        ratios = [
            before.people / after.people
            for before, after in zip(paper, one_bit, strict=True)
            if before.people and after.people
        ]
        gains.append(f"{label}: {np.exp(np.mean(np.log(ratios))):,.0f}")
    return Section(
        "The smallest crowd that shows a heavy hitter",
        "smallest-crowd",
        (
            "One value is held by a share f of the people, and everybody else holds a value of her own (for JL-HH, "
            f"whose universe is too small, the others share a thousand values). A crowd is large enough if at least "
            f"{setting.wanted:.0%} of {rows[0].runs} runs name the value; crowds are tried on a grid of "
            "steps of 2^(1/4), so the numbers are good to about a third. Theory says 1/f²; the fitted "
            f"exponents of f are between {min(slopes):.2f} and {max(slopes):.2f}.",
            "How many times fewer people one bit needs than the paper's noise, on average over the shares: "
            + "; ".join(gains)
            + ". The universes differ: JL-HH scores every value of a small one, the others search a large one. "
            "tree has no choice of noise and is shown with one bit, since its privacy is pure as well.",
        ),
        Table(("mechanism", "calibration", *(f"share {share:.0%}" for share in shares)), table),
    )


def _bucket_success(measured: Measured[bucket_success.Setting, Successes]) -> Section:
    """Where the Bucket theorem applies, and where it does not."""
    setting, rows = measured.setting, measured.rows
    table = []
    for exponent in dict.fromkeys(row.zipf for row in rows):
        for people in sorted({row.people for row in select(rows, zipf=exponent)}):
            hard, soft = (select(rows, zipf=exponent, people=people, decoder=d)[0] for d in ("hard", "soft"))
            crowd = f"Zipf {exponent:g}" if exponent else "the theorem's"
            table.append((crowd, f"{people:,}", *(f"{row.successes} of {row.runs}" for row in (hard, soft))))
    applies = [r for r in select(rows, zipf=None, decoder="hard") if r.people >= 0.99 * setting.theorem_people]
    found, runs = sum(row.successes for row in applies), sum(row.runs for row in applies)
    flat = select(rows, zipf=1.2)
    largest = max(row.people for row in flat)
    hard, soft = (select(flat, people=largest, decoder=decoder)[0] for decoder in ("hard", "soft"))
    return Section(
        "The Bucket mechanism: its theorem, and where it does not apply (Theorem 4.8)",
        "bucket-success",
        (
            f"Where half of the people hold one value and all others differ, the theorem asks for "
            f"{round(setting.theorem_people, -5):,.0f} people as printed and "
            f"{round(setting.corrected_people, -5):,.0f} with corrected constants. From there on the paper's vote "
            f"found the value in {found} of {runs} runs. In fact it found it in every run from "
            f"{_always_from(select(rows, zipf=None, decoder='hard'))} people on, and the soft decoder, which "
            f"reads the same sums, from {_always_from(select(rows, zipf=None, decoder='soft'))}.",
            "The paper says that the condition is satisfied with high probability if the crowd follows a Zipf law. Its "
            "rough form is, from exponent 0.87 on; the condition itself only from about 6, for any number of people, "
            "since the collisions grow as fast as the count. With Zipf 1.2 and "
            f"{largest:,} people the vote found the value in {hard.successes} of {hard.runs} runs, and more "
            f"people do not help, because it fails due to collisions; the soft decoder found it in "
            f"{soft.successes} of {soft.runs}. For steeper laws the vote works, although the theorem does not apply.",
        ),
        Table(("crowd", "people", "the paper's vote", "soft decoding"), table),
    )


def _proved_search(measured: Measured[proved_search.Setting, proved_search.Limits]) -> Section:
    """What is proved of the search, beside what tree states."""
    setting, rows = measured.setting, measured.rows
    over, above = ([row.alpha / getattr(row, name) for row in rows] for name in ("exhaustive", "converse"))
    return Section(
        "What is proved of an efficient search (the question at the end of the paper)",
        "proved-search",
        (
            "The search of tree without hashed buckets, in its clean form, is proved to answer, in every crowd, with a "
            f"value that at most α people fewer hold than the most common one, with a chance of {1 - setting.beta:.0%} "
            f"(Theorem D of docs/theory-of-tree.md). For 2^{setting.bits} values at ε = {setting.epsilon:g}, α is "
            f"{min(over):.2f} to {max(over):.2f} times what a search through all values needs, and {min(above):.2f} to "
            f"{max(above):.2f} times what no mechanism of one round can promise to beat (Theorem E).",
            "The proof does not cover tree as it runs, with hashed buckets. What tree states is a prediction: the "
            "count that it finds with a chance of 95 % if no other value hides it. docs/limits.md compares it with "
            "measurements. All numbers of this figure are computed.",
        ),
        Table(
            ("people", "α, proved", "tree states", "all values scored", "nobody promises less"),
            [
                tuple(f"{count:,.0f}" for count in (row.people, row.alpha, row.stated, row.exhaustive, row.converse))
                for row in rows
            ],
        ),
    )


SECTIONS: Final[dict[str, Callable[[Measured[Any, Any]], Section]]] = {
    "separation": _separation,
    "error-against-people": _error_against_people,
    "error-against-universe": _error_against_universe,
    "smallest-crowd": _smallest_crowd,
    "bucket-success": _bucket_success,
    "proved-search": _proved_search,
}
