"""The shape of a tree: its rows, the share of people who report on each, and the depths of every class.

A value whose code has l bits is a number of l bits. Numbers of about the same length are a class, and every class is
searched by itself; integers are one class. The rows and their shares are the same for all classes, so that one set of
reports serves all of them. How deep a row looks depends on the class.

Everything is derived once, by rule, and written into the survey as integers:

* the shares of people rise evenly from what the root needs to what the full depth needs;
* each row of a class looks as deep as the share of people down to it carries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError, shown
from hubbub.mechanisms.checks import whole
from hubbub.mechanisms.tree.tuning import TUNING
from hubbub.numeric.tails import normal_quantile_log

ROW_BITS = 24  # bits of a report's coins that choose its row
MASK_BITS = 20  # the most bits in a mask, and so in the number of a bucket
ONE_ROW_BITS = 20
"""A universe of at most this many bits has one row, with a cell for every value."""

_MAX_ROWS, _MAX_CLASSES = 200, 512
_DIGITS = "0123456789abcdefghijk"  # a step has at most MASK_BITS bits
_LEVEL = 0.05
_LN2 = math.log(2)


@dataclass(frozen=True)
class BitClass:
    """Numbers of so many bits, and how many more of these bits each step looks at. Rows after the last step repeat it.

    >>> BitClass((18, 6, 8)).rows(1, 5), BitClass((18, 6, 8)).rows(2, 5)
    (range(1, 2), range(2, 5))
    """

    steps: tuple[int, ...]

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Bits of a path after each step."""
        return tuple(accumulate(self.steps))

    @property
    def bits(self) -> int:
        """Bits of a whole path."""
        return self.depths[-1]

    @property
    def limbs(self) -> int:
        """64-bit words that hold a path."""
        return -(-self.bits // 64)

    def rows(self, step: int, rows: int) -> range:
        """The rows that ask for a step, of so many in all."""
        return range(step, rows if step == len(self.steps) - 1 else step + 1)

    def step_of(self, row: int) -> int:
        """The step that a row asks for."""
        return min(row, len(self.steps) - 1)


@dataclass(frozen=True)
class Shape:
    """Bits of a bucket's number, where the coins of each row end (of 2^24), and the classes, shortest first."""

    bucket_bits: int
    ends: tuple[int, ...]
    classes: tuple[BitClass, ...]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.ends)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The share of people who report on each row."""
        return np.asarray(np.diff((0, *self.ends)) / 2.0**ROW_BITS)

    def to_parameters(self) -> dict[str, Any]:
        """The fields of a survey's parameters; a class is a string with a digit for each step."""
        steps = ["".join(_DIGITS[step] for step in each.steps) for each in self.classes]
        return {"bucket_bits": self.bucket_bits, "ends": list(self.ends), "steps": steps}


def read_shape(parameters: Mapping[str, Any], bits: int) -> Shape:
    """The shape that a survey carries. It is checked, because kernels use this untrusted input as indices."""
    bucket_bits, ends, steps = whole(parameters, "bucket_bits", 1, MASK_BITS), parameters["ends"], parameters["steps"]
    if not isinstance(ends, list) or not all(type(end) is int for end in ends) or not 1 <= len(ends) <= _MAX_ROWS:
        raise ParameterError(f"parameters.ends must be a list of 1 to {_MAX_ROWS} whole numbers, got {shown(ends)}")
    if not all(a < b for a, b in pairwise((0, *ends))) or ends[-1] != 1 << ROW_BITS:
        raise ParameterError("parameters.ends must rise to 2^24, got another sequence")
    if not isinstance(steps, list) or not 1 <= len(steps) <= _MAX_CLASSES:
        raise ParameterError(f"parameters.steps must be a list of 1 to {_MAX_CLASSES} strings, got {shown(steps)}")
    classes = []
    for digits in steps:
        if not isinstance(digits, str) or not 1 <= len(digits) <= len(ends) or not set(digits) <= set(_DIGITS):
            raise ParameterError(
                f"parameters.steps must have strings of 1 to {len(ends)} digits from 0 to k, got {shown(digits)}"
            )
        classes.append(BitClass(tuple(_DIGITS.index(digit) for digit in digits)))
        if not classes[-1].steps[0] >= 1 or max(classes[-1].steps) > bucket_bits:
            raise ParameterError(f"parameters.steps must be of at most {bucket_bits} bits each, got {shown(digits)}")
    sums = [each.bits for each in classes]
    if not all(a < b for a, b in pairwise((0, *sums))) or sums[-1] != bits:
        raise ParameterError(f"parameters.steps must add up to numbers that rise to {bits}, got {shown(sums)}")
    if len(ends) == 1 and (len(steps) > 1 or bucket_bits != bits):
        raise ParameterError(f"parameters.ends must have two entries or more for {bits} bits, got one")
    return Shape(bucket_bits, tuple(ends), tuple(classes))


@lru_cache(maxsize=16)
def plan_shape(bits: int, typical: int | None, standard: bool) -> Shape:
    """The shape for integers of so many bits, or for texts with codes of up to so many and of a typical length.

    Takes some ms, and half a second for texts of hundreds of bits.
    """
    if typical is None and bits <= ONE_ROW_BITS:
        return Shape(bits, (1 << ROW_BITS,), (BitClass((bits,)),))
    root = TUNING.root_bits[standard]
    mean = TUNING.mean_step if typical is None else TUNING.mean_text_step
    levels = 2 + math.ceil(max(bits - root, 1) / mean)
    usual = min(bits, typical or bits)
    shares = _even_shares(levels, usual, beam_width(usual, typical, root), root)
    lengths, least, classes = class_bits(bits, typical), 0.0, []
    for length in lengths:
        steps, least = _plan_class(length, shares, beam_width(length, typical, root), list_width(length), root, least)
        classes.append(BitClass(steps))
    split = [*shares[:-1], *np.linspace(shares[-2], 1.0, TUNING.last_rows + 1)[1:]]
    ends = [round(share * (1 << ROW_BITS)) for share in split]
    return Shape(root, tuple(ends), tuple(classes))


def class_bits(bits: int, typical: int | None) -> list[int]:
    """Bits of each class: of integers one, of texts many, finer where texts are usual."""
    if typical is None:
        return [bits]
    found = [TUNING.shortest_class]
    while found[-1] < bits:
        found.append(found[-1] + next(step for up_to, step in TUNING.class_steps if found[-1] < up_to))
    return [*found[:-1], bits]


def beam_width(length: int, typical: int | None, root: int) -> int:
    """Paths kept at each step of the search of a class; fewer for texts, since these have many classes.

    Still fewer in a small tree, and for texts that are much longer than usual.
    """
    if typical is None:
        return 1 << TUNING.beam_bits
    beyond = max(length - typical, 0) // TUNING.text_far
    return 1 << max(TUNING.text_beam_bits[root >= TUNING.root_bits[1]] - beyond, 10)


def list_width(length: int) -> int:
    """Paths kept at each step in the list of a promising root."""
    return 1 << (TUNING.list_bits if length < 128 else TUNING.wide_list_bits)


def step_widths(kind: BitClass, width: int) -> NDArray[np.int64]:
    """Paths kept at each step where `width` have room.

    A survey made by hand may have longer steps than any plan. Before such a step fewer are kept, so that it has no more
    children to score than the longest planned one.

    >>> step_widths(BitClass((16, 8, 10, 4)), 1024).tolist()
    [1024, 256, 1024, 1024]
    """
    longer = [max(step - TUNING.longest_step, 0) for step in (*kind.steps[1:], 0)]
    return np.array([max(width >> bits, 1) for bits in longer], np.int64)


@cache
def _edges(width: float, longest: int) -> NDArray[np.float64]:
    """For 0, 1, … bits: the standard errors of the last of `width` paths among 2^bits; −∞ if half of them have room."""
    logs = [math.log(width) - bits * _LN2 for bits in range(longest + 1)]
    return np.array([normal_quantile_log(log) if log < -_LN2 else -math.inf for log in logs])


def exhaustive_limit(bits: float, level: float = _LEVEL) -> float:
    """Standard errors that a value of so many bits needs to be found with 95 % if all values are scored."""
    return normal_quantile_log(math.log(level) - bits * _LN2) + 1.645


def _even_shares(levels: int, usual: int, beam: int, root: int) -> NDArray[np.float64]:
    """The cumulative share of people down to each level: what root and full depth need, and between them a line."""
    wanted = exhaustive_limit(usual) + 0.5
    first = (max(_edges(beam, root)[root], 0.0) + TUNING.reach) / wanted
    last = (normal_quantile_log(math.log(_LEVEL / 4) - max(usual - root, 1) / levels * _LN2) + 1.645) / wanted
    return np.append(np.linspace(first**2, 1 - last**2, levels - 1), 1.0)


def _plan_class(
    bits: int, shares: NDArray[np.float64], beam: int, listed: int, root: int, least: float
) -> tuple[tuple[int, ...], float]:
    """The steps of a class, and the standard errors that it is made for, which are at least `least`.

    A row looks as deep as a value of that many standard errors stays in the beam, and in the list of its root against
    all that leave its path above; and as far as the rows below suffice to tell it from those. The least such number is
    found by bisection.
    """
    in_beam, in_list = _edges(beam, bits), _edges(listed, bits)
    apart = _edges(_LEVEL / 4, bits)

    def depths(wanted: float) -> list[int]:
        found: list[int] = []
        for level, share in enumerate(shares[:-1]):
            above = found[-1] if found else 0
            deepest = min(bits, above + TUNING.longest_step if found else root)
            room = math.sqrt(share) * wanted - TUNING.reach
            deepest = min(deepest, int(np.searchsorted(in_beam, room, side="right")) - 1)
            if found:
                rooms = np.sqrt(share - shares[:level]) * wanted - TUNING.reach
                below = np.searchsorted(in_list, rooms, side="right") - 1 + np.array(found)
                deepest = min(deepest, int(below.min()))
            found.append(max(deepest, above, 1))
        return [*found, bits]

    def suffices(wanted: float) -> bool:
        found = depths(wanted)
        left = np.array([bits - depth for depth in found[:-1]])
        needed = np.where(left > 0, apart[left] + TUNING.reach, 0.0)
        return left[-1] <= TUNING.longest_step and bool((np.sqrt(1 - shares[:-1]) * wanted >= needed).all())

    low, high = max(least, exhaustive_limit(bits) - 1), max(least, exhaustive_limit(bits)) + 1
    while not suffices(high):
        low, high = high, high + 2
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    found = depths(high)
    found = found[: found.index(bits) + 1]  # rows below repeat the last step
    return tuple(below - above for above, below in pairwise((0, *found))), low
