"""The exact loss of a randomiser, found by running it on every class of random words.

A report is a pure function of a value and random words. The first two words are its id, which decides public coins. The
others fall into classes that give the same response. A class is tried at all its corners and at one place inside; where
these differ it is halved, until the border is found to the word. So a class has the size that the code gives it, not
the size that the survey states. The sizes are whole numbers, and the loss is the largest ratio of two sums of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product
from typing import Final

import numpy as np

from hubbub.model.mechanism import RandomWords

Run = Callable[[Sequence[int], RandomWords], list[bytes]]
"""Makes reports: of the values at these places of a list, with these random words, a row each."""

_TOP: Final = 1 << 64
_INSIDE: Final = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio: a place inside a class, far from its corners
_MOST_HALVED: Final = 20_000

Box = tuple[tuple[int, int], ...]


class Fault(Exception):
    """A rule that a randomiser breaks, so that it has no loss to compute: the name of the check, and a sentence."""

    def __init__(self, check: str, sentence: str) -> None:
        super().__init__(sentence)
        self.check = check


@dataclass(frozen=True, slots=True)
class Worst:
    """The places of the two values and the report (its id, then the response) that tell most, after so many `runs`.

    `ratio` is how many times more likely the first value makes the report; None if the second never makes it.
    """

    ratio: Fraction | None
    pair: tuple[int, int]
    report: bytes
    runs: int

    @property
    def loss(self) -> Decimal:
        """The logarithm of the ratio, rounded up."""
        if self.ratio is None:
            return Decimal("Infinity")
        with localcontext(Context(prec=60, rounding=ROUND_CEILING)):
            return (Decimal(self.ratio.numerator) / self.ratio.denominator).ln() * (1 + Decimal(10) ** -40)


class Prober:
    """Runs a randomiser, and checks what every report must be whatever the value is."""

    def __init__(self, run: Run, size: int) -> None:
        self._run, self._size, self.runs = run, size, 0

    def responses(self, values: Sequence[int], random_words: RandomWords) -> list[bytes]:
        """What follows the ids of the reports."""
        reports = self._run(values, random_words)
        ids = np.ascontiguousarray(random_words[:, :2], "<u8").tobytes()
        self.runs += len(reports)
        if len(reports) != len(values) or not all(reports):
            raise Fault("silence", "every value must have a report, got none for some")
        if any(len(report) != self._size for report in reports):
            raise Fault("length", f"every report must have {self._size} bytes, got another length for some")
        if any(report[:16] != ids[16 * at : 16 * at + 16] for at, report in enumerate(reports)):
            raise Fault("id", "the id must be the first two random words, got another one for some")
        return [report[16:] for report in reports]

    def check_repeats(self, values: Sequence[int], random_words: RandomWords) -> None:
        """Require the same reports when asked again."""
        if self.responses(values, random_words) != self.responses(values, random_words):
            raise Fault("repeat", "the same random words must give the same report, got another one for some")


def classes_of(edges: Sequence[Collection[int]]) -> list[Box]:
    """The classes of the random words after the id, between the words at which a response may change."""
    each = []
    for word_edges in edges:
        starts = sorted({0, _TOP, *word_edges})
        each.append([(first, after - 1) for first, after in pairwise(starts)])
    return list(product(*each))


def laws(
    prober: Prober, cases: Sequence[tuple[int, tuple[int, int]]], edges: Sequence[Collection[int]]
) -> list[Counter[bytes]]:
    """For each value and id, how many of the random words after the id give each response."""
    boxes = [(case, box) for case in range(len(cases)) for box in classes_of(edges)]
    found: list[Counter[bytes]] = [Counter() for _ in cases]
    corners = 2 ** len(edges)
    first_round = True
    while boxes:
        tried = [(*cases[case][1], *place) for case, box in boxes for place in _places(box)]
        values = [cases[case][0] for case, _ in boxes for _ in range(corners + 1)]
        random_words = np.array(tried, np.uint64)
        if first_round:
            prober.check_repeats(values[:1000], random_words[:1000])
            first_round = False
        responses = prober.responses(values, random_words)
        left = []
        for at, (case, box) in enumerate(boxes):
            said = responses[at * (corners + 1) : (at + 1) * (corners + 1)]
            if len(set(said)) == 1:
                found[case][said[0]] += math.prod(last - first + 1 for first, last in box)
            else:
                left += [(case, half) for half in _halves(box, said)]
        boxes = left
        if len(boxes) > _MOST_HALVED:
            raise Fault("classes", f"a response must have at most {_MOST_HALVED:,} classes of words, got more")
    return found


def _places(box: Box) -> list[tuple[int, ...]]:
    """The corners of a class of random words, and a place inside."""
    return [*product(*box), tuple(first + ((last - first) * _INSIDE >> 64) for first, last in box)]


def _halves(box: Box, said: list[bytes]) -> list[Box]:
    """A class whose places give different responses, halved along a word that makes a difference."""
    corners = dict(zip(product((0, 1), repeat=len(box)), said, strict=False))
    differ = [
        axis
        for axis in range(len(box))
        if any(corners[at] != corners[(*at[:axis], 1, *at[axis + 1 :])] for at in corners)
    ]
    longest = max(range(len(box)), key=lambda axis: box[axis][1] - box[axis][0])
    axis = differ[0] if differ else longest
    first, last = box[axis]
    middle = (first + last) // 2
    return [(*box[:axis], part, *box[axis + 1 :]) for part in ((first, middle), (middle + 1, last))]


def worst_loss(
    run: Run, size: int, values: int, ids: Sequence[tuple[int, int]], edges: Sequence[Collection[int]]
) -> Worst:
    """The pair of values, of so many, and the report that tell most, over these ids; a `Fault` if a rule is broken."""
    prober = Prober(run, size)
    cases = [(value, report_id) for report_id in ids for value in range(values)]
    found = laws(prober, cases, edges)
    worst = Worst(Fraction(0), (0, 0), b"", 0)
    for at, report_id in enumerate(ids):
        mine = found[at * values : (at + 1) * values]
        for response in sorted(set().union(*mine)):
            chances = [law[response] for law in mine]
            high, low = max(chances), min(chances)
            ratio = Fraction(high, low) if low else None
            if worst.ratio is not None and (ratio is None or ratio > worst.ratio):
                report = np.array(report_id, "<u8").tobytes() + response
                worst = Worst(ratio, (chances.index(high), chances.index(low)), report, 0)
    return Worst(worst.ratio, worst.pair, worst.report, prober.runs)
