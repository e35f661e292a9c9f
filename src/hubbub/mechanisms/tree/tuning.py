"""The numbers of `tree` that no rule gives, each with what it was measured by. Everything else follows from these.

`benchmarks/accuracy.py` measures all of them together: what is found, how often something false is, and the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Tuning:
    """How wide a search is, how far a value should stand above its edge, and how classes are cut.

    Attributes
    ----------
    root_bits : tuple of two ints
        Bits of a root and of a bucket's number, in a small tree and in a standard one.
    standard_from : int
        Expected reports from which a standard tree pays.
    standard_values : int
        The number of values that could be found at once from which it pays, too.
    last_rows : int
        Rows of the full depth: they have independent hashes, so that one collision cannot decide.
    longest_step : int
        The most bits that a step adds. A wider step has more children to score.
    mean_step, mean_text_step : float
        Bits of a step on average, which give the number of rows.
    reach : float
        Standard errors by which a value should stand above the edge of a beam or list at every step.
    beam_bits, list_bits : int
        The logarithms of the paths kept at each step of a beam over numbers, and in the list of a promising root.
    wide_list_bits : int
        The latter from 128 bits on.
    text_beam_bits : tuple of two ints
        The same for a class of texts, in a small tree and in a standard one.
    text_far : int
        For each so many bits beyond the typical length, the beam of a class of texts has half as many paths.
    quota_bits : int
        The logarithm of a beam's width over what one root may have of it.
    class_steps : tuple of pairs of ints
        Classes of texts: up to so many bits, a class has this many lengths.
    shortest_class : int
        Bits of the first class.
    near : float
        Standard errors below acceptance from which a root gets a list of its own.
    passes : int
        Searches at most; accepted values are subtracted in between.
    roots : int
        Promising roots looked into in one pass.
    listed : int
        Paths of each list that are looked at.
    """

    root_bits: tuple[int, int] = (16, 18)
    standard_from: int = 300_000
    standard_values: int = 30
    last_rows: int = 3
    longest_step: int = 8
    mean_step: float = 5.5
    mean_text_step: float = 6.5
    reach: float = 2.3
    beam_bits: int = 17
    list_bits: int = 10
    wide_list_bits: int = 13
    text_beam_bits: tuple[int, int] = (12, 13)
    text_far: int = 24
    class_steps: tuple[tuple[int, int], ...] = ((80, 2), (160, 4), (512, 8))
    shortest_class: int = 20
    quota_bits: int = 5
    near: float = 0.5
    passes: int = 4
    roots: int = 512
    listed: int = 64


TUNING: Final = Tuning()
