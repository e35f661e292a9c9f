"""Makes counts plausible after they were estimated. Without post-processing, counts in an answer are unbiased."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError, shown

if TYPE_CHECKING:
    from hubbub.analysis.answer import Answer

METHODS: Final = ("none", "clip", "simplex")

_HALVINGS: Final = 200  # more than any interval of floats allows


def check_method(method: str) -> None:
    """Require the name of a method."""
    if method not in METHODS:
        raise ParameterError(f"post-processing must be one of {', '.join(METHODS)}, got {shown(method)}")


def post_process(answer: Answer, method: str) -> Answer:
    """Implements `Answer.post_processed`: the answer with other counts and shares."""
    check_method(method)
    if answer.post_processing != "none":
        raise ParameterError(f"an answer must be post-processed once, got one after {answer.post_processing}")
    if method == "none" or not (answer.hitters and answer.reports):
        return replace(answer, post_processing=method)
    counts = np.array([hitter.count for hitter in answer.hitters])
    people = float(answer.reports)
    if method == "clip":
        counts = np.clip(counts, 0.0, people)
    else:
        exactly = answer.whole_list and answer.values_per_person == 1 and not answer.share
        counts = nearest_crowd(counts, people, people * answer.values_per_person, exactly)
    rows = zip(answer.hitters, counts.tolist(), strict=True)
    hitters = tuple(replace(hitter, count=count, share=count / people) for hitter, count in rows)
    return replace(answer, hitters=hitters, post_processing=method)


def nearest_crowd(counts: NDArray[np.float64], most: float, total: float, exactly: bool) -> NDArray[np.float64]:
    """The counts from 0 to `most` that add up to `total` (or, unless `exactly`, to less) with the least squared change.

    A common number is subtracted from all counts, and the results are cut to the range (for the simplex: Duchi et al.
    2008; as post-processing of local reports: Wang et al. 2020, "norm-sub").

    >>> nearest_crowd(np.array([70.0, 50.0, -20.0]), 100, 100, exactly=True).tolist()
    [60.0, 40.0, 0.0]
    """
    clipped = np.clip(counts, 0.0, most)
    if clipped.sum() <= total and not exactly:
        return clipped
    low, high = float(counts.min()) - most, float(counts.max())  # everything at `most`, and everything at 0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if np.clip(counts - middle, 0.0, most).sum() > total:
            low = middle
        else:
            high = middle
    return np.clip(counts - high, 0.0, most)
