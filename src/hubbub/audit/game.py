"""A guessing game: how well somebody who sees only reports tells two values apart.

Reports of the two values are drawn in random order. The first twentieth teaches which reports speak for a value: by the
whole report, its length, or the byte at one place. The next chooses among these rules. The rest tests it. Its two hit
rates have Clopper–Pearson bounds, and the logarithm of their ratio is a lower bound on the privacy loss, which is too
high with a chance of at most 10^-6 if each report is made afresh. Nothing is known about the code that makes them.
"""

from __future__ import annotations

import math
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.audit.exact import Fault, Worst
from hubbub.audit.implementations import Implementation
from hubbub.errors import ParameterError, shown
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.numeric.randomness import OSRandomWords, RandomWordSource
from hubbub.numeric.tails import binomial_bounds, normal_quantile

Which = NDArray[np.uint8]
Draw = Callable[[Which], list[bytes]]
"""Reports of the first value (0) or the second (1), one for each entry."""

Counts = dict[str, Counter[tuple[Hashable, int]]]
"""By part of a report: how often each form came with each value."""

MISTAKE: Final = 1e-6  # the chance that the bound is too high
LEAST_DRAWS: Final = 1_000
_CHUNK: Final = 50_000
_PLACES: Final = 256  # bytes of a report that are looked at one by one
_MOST_REPORTS: Final = 1 << 18  # different ones, up to which whole reports are counted


class Rule(NamedTuple):
    """Which reports speak for a value (0 or 1): those in which a part has one of these forms."""

    part: str
    forms: frozenset[Hashable]
    speaks_for: int


@dataclass(frozen=True, slots=True)
class Played:
    """How a game ended: a lower bound on the loss, and the rule, tested on so many reports of each value."""

    loss_at_least: float
    part: str
    forms: int
    hits: tuple[int, int]
    tested: tuple[int, int]


def play(
    draw: Draw,
    draws: int,
    advance: Callable[[int], None] = lambda _: None,
    source: RandomWordSource = OSRandomWords(),  # noqa: B008  # it has no state
) -> Played:
    """Play with about so many reports of each value, in an order that the source of random words chooses."""
    check_draws(draws)
    lessons = draws // 10
    first, second = (_learn(_chunks(draw, lessons, advance, source)) for _ in range(2))
    rule = _best(first, second, draws - lessons)
    hits, tested = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for which, reports in _chunks(draw, 2 * (draws - lessons), advance, source):
        said = np.fromiter((form in rule.forms for form in _forms(rule.part, reports)), np.bool_, len(reports))
        hits += np.bincount(which[said], minlength=2)
        tested += np.bincount(which, minlength=2)
    mine, other = rule.speaks_for, 1 - rule.speaks_for
    low = binomial_bounds(int(hits[mine]), int(tested[mine]), MISTAKE / 2)[0]
    high = binomial_bounds(int(hits[other]), int(tested[other]), MISTAKE / 2)[1]
    bound = max(0.0, math.log(low / high)) if low > 0 else 0.0
    ordered = (int(hits[mine]), int(hits[other])), (int(tested[mine]), int(tested[other]))
    return Played(bound, rule.part, len(rule.forms), *ordered)


def check_draws(draws: int) -> None:
    """Refuse too few reports to learn from and to test."""
    if draws < LEAST_DRAWS:
        raise ParameterError(f"draws must be at least {LEAST_DRAWS:,}, got {draws:,}")


def fixed_id(
    implementation: Implementation,
    mechanism: SurveyMechanism,
    worst: Worst,
    source: RandomWordSource = OSRandomWords(),  # noqa: B008  # it has no state
) -> Draw:
    """Reports of the two values that the exact audit found to be worst, under the id of its worst report.

    An id is public and does not depend on the value, so what it promises holds for every single one.
    """
    report_id = np.frombuffer(worst.report[:16], "<u8")

    def draw(which: Which) -> list[bytes]:
        random_words = source.draw(len(which), mechanism.random_words_per_report)
        random_words[:, :2] = report_id
        reports = implementation.run([worst.pair[each] for each in which.tolist()], random_words)
        return [report[16:] for report in reports]

    return draw


def of_command(command: str, values: Sequence[str]) -> Draw:
    """Reports of a program that reads values, a line each, and prints a line for each. It is started for each chunk."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ParameterError(f"command must be words as in a shell, got {shown(command)}") from error
    if not words:
        raise ParameterError("command must have a program, got none")

    def draw(which: Which) -> list[bytes]:
        asked = "".join(f"{values[each]}\n" for each in which.tolist())
        try:
            # The user names the program; no shell reads it.
            done = subprocess.run(words, input=asked.encode(), stdout=subprocess.PIPE, check=False)  # noqa: S603
        except OSError as error:
            raise ParameterError(f"command must be a program that runs, got {error.strerror or error}") from error
        if done.returncode:
            raise ParameterError(f"command must end with exit code 0, got {done.returncode}")
        lines = done.stdout.splitlines()
        if len(lines) != len(which):
            raise Fault("silence", f"every value must have a report, got {len(lines):,} for {len(which):,} values")
        return lines

    return draw


def check_fresh(draw: Draw) -> None:
    """Require that two runs of a program with the same values differ: no seed of its own, no noise that is kept."""
    which = np.arange(LEAST_DRAWS, dtype=np.uint8) % 2
    if draw(which) == draw(which):
        raise Fault("fresh", "every run must draw new noise, got the same reports twice")


def _chunks(
    draw: Draw, draws: int, advance: Callable[[int], None], source: RandomWordSource
) -> Iterator[tuple[Which, list[bytes]]]:
    """Reports of the two values in random order, and whose they are."""
    while draws:
        size = min(_CHUNK, draws)
        which = np.unpackbits(source.draw(-(-size // 64), 1).view(np.uint8).ravel())[:size]
        yield which, draw(which)
        advance(size)
        draws -= size


def _learn(chunks: Iterator[tuple[Which, list[bytes]]]) -> Counts:
    """How often each form of each part of a report came with which value."""
    counts: Counts = {}
    whole = True
    for which, reports in chunks:
        values, longest = which.tolist(), max(map(len, reports))
        whole = whole and len(counts.get("report", ())) < _MOST_REPORTS
        parts = ["length", *(["report"] if whole else []), *(f"byte {at}" for at in range(min(longest, _PLACES)))]
        for part in parts:
            counts.setdefault(part, Counter()).update(zip(_forms(part, reports), values, strict=True))
    if not whole:
        counts.pop("report", None)
    return counts


def _forms(part: str, reports: list[bytes]) -> Iterator[Hashable]:
    """What a part of each report looks like."""
    if part == "report":
        return iter(reports)
    if part == "length":
        return map(len, reports)
    at = int(part.removeprefix("byte "))
    return (report[at] if at < len(report) else None for report in reports)


def _best(first: Counts, second: Counts, tested: int) -> Rule:
    """The rule that promises the highest bound with so many tests of each value.

    The first lesson says which forms speak for a value, and the second how well: a rule that learned noise by heart
    does not pass it.
    """
    quantile = normal_quantile(MISTAKE / 2)
    best, rule = -math.inf, Rule("length", frozenset(), 0)
    for part in (part for part in first if part in second):
        forms = list(dict.fromkeys(form for form, _ in first[part]))
        learned, seen = (
            np.array([[lesson[part][form, 0], lesson[part][form, 1]] for form in forms], np.float64)
            for lesson in (first, second)
        )
        everybody = [sum(count for (_, value), count in second[part].items() if value == each) for each in (0, 1)]
        for value in (0, 1):
            order = np.argsort(-(learned[:, value] + 0.5) / (learned[:, 1 - value] + 0.5), kind="stable")
            p, q = ((np.cumsum(seen[order, each]) + 0.5) / (everybody[each] + 1) for each in (value, 1 - value))
            spread = np.sqrt((1 - p) / p / tested) + np.sqrt((1 - q) / q / tested)
            bounds = np.log(p / q) - quantile * spread
            at = int(np.argmax(bounds))
            if bounds[at] > best:
                best, rule = float(bounds[at]), Rule(part, frozenset(forms[each] for each in order[: at + 1]), value)
    return rule
