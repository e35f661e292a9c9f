"""The result of a comparison: figures of each mechanism at each ε, and what they recommend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from hubbub.analysis.wording import rounded
from hubbub.numeric.tails import student_quantile


@dataclass(frozen=True, slots=True)
class Compared:
    """One mechanism at one ε, as a mean over the runs.

    Attributes
    ----------
    mechanism : str
        Its name; it has its default options. For another library, the names of the library and of its method.
    epsilon, delta : float
        The privacy loss promised to each person.
    recall, precision, f1 : float
        Recall is the share of the k most common values that was found. Precision is the share of the found values that
        is among these, 1 if nothing was found. F1 is their harmonic mean, 2·hits/(found + k).
    count_error : float or None
        The mean error of the counts that were found, in people; None if nothing was found.
    detection_limit : float or None
        How many people must hold a value for it to be found with a chance of about 95 %; None if all people are not
        enough, or if the mechanism states no limit.
    report_bytes, tally_bytes : int
        The bytes of one report on the wire, and of the sums in memory.
    encode_ns, tally_ns : float
        CPU time for each person and for each report.
    decode_seconds : float
        CPU time of one search.
    f1_of_runs : tuple of float
        The F1 of each run.
    """

    mechanism: str
    epsilon: float
    delta: float
    recall: float
    precision: float
    f1: float
    count_error: float | None
    detection_limit: float | None
    report_bytes: int
    tally_bytes: int
    encode_ns: float
    tally_ns: float
    decode_seconds: float
    f1_of_runs: tuple[float, ...] = ()


class Gap(NamedTuple):
    """How much larger the mean F1 of one is than that of another, with an interval that holds with a chance of 95 %.

    The interval is Student's, over the runs. It is about other noise with the same people; `low` and `high` are None if
    there was one run only.
    """

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Comparison:
    """All mechanisms at all ε on the same people.

    Attributes
    ----------
    people, distinct : int
        How many people there are, and how many distinct values they hold.
    k : int
        The number of most common values that should be found.
    runs : int
        Repetitions of each case, with new noise and a new public seed.
    seed : int
        The seed of all runs.
    rows : tuple of Compared
        By mechanism, then by ε.
    left_out : dict
        The reason for each case that could not be run. A case is a mechanism, with its ε if others could be run.
    """

    people: int
    distinct: int
    k: int
    runs: int
    seed: int
    rows: tuple[Compared, ...]
    left_out: dict[str, str]

    @property
    def recommended(self) -> str | None:
        """The one with the best mean F1 over all ε; among those within 0.01 of it, the one with the least errors.

        It may be a mechanism of another library. None if nothing could be run, or if none of the k most common values
        was found.
        """
        near = self._near
        return min(near, key=lambda name: self._mean_error(name, near), default=None)

    @property
    def second(self) -> str | None:
        """Of the others, the one with the best mean F1; None if nothing is recommended, or nothing else was run."""
        others = [name for name in self._names if name != self.recommended]
        return max(others, key=self._mean_f1, default=None) if self.recommended is not None else None

    @property
    def gap(self) -> Gap | None:
        """How much better the recommended one is than the second; None if there are no two."""
        if self.recommended is None or self.second is None:
            return None
        runs = np.array(self._run_means(self.recommended)) - np.array(self._run_means(self.second))
        mean = float(runs.mean())
        if len(runs) < 2:
            return Gap(mean, None, None)
        half = student_quantile(0.025, len(runs) - 1) * float(runs.std(ddof=1)) / math.sqrt(len(runs))
        return Gap(mean, mean - half, mean + half)

    @property
    def reason(self) -> str:
        """The reason for the recommendation, in a sentence or two."""
        if not self.rows:
            return "No mechanism can be run on these values."
        if (name := self.recommended) is None:
            what = "the most common value" if self.k == 1 else f"any of the {self.k} most common values"
            return f"No mechanism is recommended: none has found {what}. It takes more people or a larger ε."
        said = f"Recommended: {name}. Its F1 is {rounded(self._mean_f1(name), 2)} on average over ε"
        if (second := self.second) is None or (gap := self.gap) is None:
            return f"{said}."
        said += f", that of {second} {rounded(self._mean_f1(second), 2)}"
        near = self._near
        if second in near and math.isfinite(self._mean_error(name, near)):
            said += "; among equally good ones its counts have the smallest errors"
        return f"{said}. {_about_gap(gap, self.runs)}"

    @property
    def _names(self) -> list[str]:
        """All that were run, each once."""
        return list(dict.fromkeys(row.mechanism for row in self.rows))

    @property
    def _near(self) -> list[str]:
        """Those whose mean F1 is within 0.01 of the best; empty if the best is 0."""
        scores = {name: self._mean_f1(name) for name in self._names}
        best = max(scores.values(), default=0.0)
        return [name for name, score in scores.items() if best > 0 and score >= best - 0.01]

    def _run_means(self, name: str) -> list[float]:
        """The mean F1 of each run, over the ε that all were run with; over its own if there is no such ε."""
        common = set.intersection(*({r.epsilon for r in self.rows if r.mechanism == each} for each in self._names))
        rows = [row for row in self.rows if row.mechanism == name and row.epsilon in (common or {row.epsilon})]
        return list(np.mean([row.f1_of_runs or (row.f1,) for row in rows], axis=0).tolist())

    def _mean_f1(self, name: str) -> float:
        """The mean F1 over runs and ε."""
        return float(np.mean(self._run_means(name)))

    def _mean_error(self, name: str, rivals: Sequence[str]) -> float:
        """The mean error of counts over the ε at which all rivals have counts; infinite if there is no such ε."""
        errors = {(row.mechanism, row.epsilon): row.count_error for row in self.rows}
        shared = [
            error
            for (mechanism, epsilon), error in errors.items()
            if mechanism == name and all(errors.get((rival, epsilon)) is not None for rival in rivals)
        ]
        return float(np.mean(shared)) if shared else math.inf  # type: ignore[arg-type]  # its own is not None, either

    def to_json(self) -> dict[str, Any]:
        """The object that `hubbub compare --json` prints."""
        return {
            "people": self.people,
            "distinct": self.distinct,
            "k": self.k,
            "runs": self.runs,
            "seed": self.seed,
            "rows": [asdict(row) for row in self.rows],
            "left_out": [{"case": case, "reason": why} for case, why in self.left_out.items()],
            "recommended": self.recommended,
            "second": self.second,
            "gap": None if self.gap is None else self.gap._asdict(),
            "reason": self.reason,
        }


def _about_gap(gap: Gap, runs: int) -> str:
    """A sentence: how far apart the two best are, as far as the runs can tell."""
    if gap.low is None or gap.high is None:
        return "One run cannot tell whether such a difference is chance: more runs can."
    between = f"{rounded(gap.mean, 2)}, between {rounded(gap.low, 2)} and {rounded(gap.high, 2)} with a chance of 95 %"
    unclear = "" if gap.low > 0 or gap.high < 0 else ": they cannot tell the two apart"
    return f"Over {runs} runs the difference is {between}{unclear}."
