"""The shape of a tree: rows, their depths, and which share of people speaks about each.

Everything is derived once from (bits, ε, level) and written into the survey as integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.fingerprint import fingerprint_before, path_bits
from hubbub.numeric.bisection import bisect
from hubbub.numeric.count_law import mean_variance
from hubbub.numeric.tails import normal_quantile_log

ROW_BITS = 24  # of a report's coins choose its row
MASK_BITS = 20  # at most in a mask, and so in the number of a bucket
MAX_MASKS = 8
ONE_ROW_BITS = 20  # universes so small that every value has a cell
POLYNOMIALS = (1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9)
"""For b = 1 to 20 the least odd p for which x^b + p is irreducible over GF(2); bit i of p is x^i."""
FULL_DEPTH_ROWS = 3  # the deepest depth is split over independent hashes, so that one collision cannot decide
_REACH = 2.3  # how far above the beam's edge a value should stand at each depth, in standard errors
_LEVEL = 0.05
_TEXT_REACH = 2.1  # the same for text, in the beam and in the list of a root
_TEXT_LIST = 512  # paths in the list of a root
_TEXT_SHORTEST = 20  # bits of codes from which ways to go on must be told apart
_FINGERPRINT_SAVES = 8  # bits of doubt about the rest of a code that its fingerprint settles
_TEXT_FINE = 24  # bits beyond the typical length down to which the steps are of 4 bits
_QUOTA = 128  # paths of the beam under one root
LIST_WIDTH = 1024  # paths in the list of a promising root
TEXT_BROAD = 24  # bits below the root in which the beam of a text is broad
_TEXT_FAR = 5  # steps of 8 bits from which a narrow beam is enough
_TEXT_SLOPE = 0.35  # standard errors that each bit beyond the typical length may cost


@dataclass(frozen=True, slots=True)
class TreePlan:
    """Rows from the root down: depth and chunk of each in bits, and where its coins end (of 2^24)."""

    bucket_bits: int
    depths: tuple[int, ...]
    chunks: tuple[int, ...]
    ends: tuple[int, ...]


def masks_for(epsilon: float) -> int:
    """The number s of masks with the least noise: about ε·log₂e."""
    return min(range(1, MAX_MASKS + 1), key=lambda masks: noise_of(masks, epsilon))


def noise_of(masks: int, epsilon: float) -> float:
    """The variance that each report adds to the count of a value that its sender does not hold."""
    grown, symbols = math.expm1(min(epsilon, 50.0)), 1 << masks
    return (grown + symbols) ** 2 / (grown**2 * (symbols - 1))


def collision_chance(bits: int, masks: int) -> float:
    """The chance that two different values of this many bits have the same symbol, where they fit into one row."""
    return ((1 << (bits - masks)) - 1) / ((1 << bits) - 1)


def list_masks(size: int, epsilon: float) -> int:
    """The number of masks with the least noise for a list that fits into one row."""
    most = min(MAX_MASKS, (size - 1).bit_length())
    return min(range(1, most + 1), key=lambda masks: _one_row_noise(size, masks, epsilon))


def list_noise(size: int, epsilon: float) -> float:
    """The variance of a count that each report adds, as a mean over all values of a list that fits into one row."""
    return _one_row_noise(size, list_masks(size, epsilon), epsilon)


def _one_row_noise(size: int, masks: int, epsilon: float) -> float:
    lie = 1 / (math.exp(min(epsilon, 50.0)) + (1 << masks) - 1)  # each symbol but the true one
    keep, collision = math.expm1(min(epsilon, 50.0)) * lie, collision_chance((size - 1).bit_length(), masks)
    return mean_variance(size, lie + keep, lie + collision * keep, keep * (1 - collision))


def plan_tree(bits: int, standard: bool) -> TreePlan:
    """Depths in steps of 4 bits (of 8 from 128 bits up), and shares that keep a value inside the beam.

    The root is as deep as buckets are wide: it needs no hash, and has no collisions.
    """
    if bits <= ONE_ROW_BITS:
        return TreePlan(bits, (bits,), (bits,), (1 << ROW_BITS,))
    step, root = _chunk(bits), _bucket_bits(standard)
    depths = [root, *range(root + step, bits, step), bits]
    chunks = [below - above for above, below in pairwise([0, *depths])]
    shares = _shares(depths, chunks[-1], beam_width(bits, standard))
    rows = [(depth, chunk, share) for depth, chunk, share in zip(depths[:-1], chunks[:-1], shares[:-1], strict=True)]
    rows += [(depths[-1], chunks[-1], shares[-1] / FULL_DEPTH_ROWS)] * FULL_DEPTH_ROWS
    ends = _ends([share for _, _, share in rows])
    return TreePlan(root, tuple(r[0] for r in rows), tuple(r[1] for r in rows), ends)


def _ends(shares: list[float]) -> tuple[int, ...]:
    """Where the coins of each row end, of 2^24."""
    ends, total = [], 0.0
    for share in shares:
        total += share
        ends.append(round(total * (1 << ROW_BITS)))
    ends[-1] = 1 << ROW_BITS
    return tuple(ends)


@lru_cache(maxsize=4096)  # a plan asks for the same few hundred again and again
def _edge(log_chance: float) -> float:
    """Standard errors at which the beam ends, if it holds this share of what is there."""
    return max(0.0, normal_quantile_log(min(log_chance, -math.log(2))))


def _chunk(bits: int) -> int:
    """Bits of a step down the tree of numbers."""
    return 4 if bits < 128 else 8


@lru_cache(maxsize=16)  # a quarter of a second, and the same for every ε
def plan_text_tree(fingerprint: int, width: int, typical: int, standard: bool) -> TreePlan:
    """The tree of a text code and its fingerprint, with most reporters up to a typical length of the code.

    A code that has ended goes on as zeros, so deeper rows speak for short codes too.
    """
    bits = path_bits(fingerprint, width)
    root = _bucket_bits(standard)
    knee = min(bits, root + 4 * -(-(path_bits(fingerprint, min(typical + _TEXT_FINE, width)) - root) // 4))
    depths = list(range(root, knee, 4)) + list(range(knee, bits, 8)) + [bits]
    chunks = [below - above for above, below in pairwise([0, *depths])]
    lengths = [depth - fingerprint_before(fingerprint, depth) for depth in depths]
    cumulative = _text_shares(depths, lengths, typical, text_beam_width(standard))
    shares = _raised([after - above for above, after in pairwise([0.0, *cumulative])], 0.1)
    rows = list(zip(depths, chunks, shares, strict=True))
    return TreePlan(root, tuple(depths), tuple(chunks), _ends([share for _, _, share in rows]))


def _text_shares(depths: list[int], lengths: list[int], typical: int, beam: int) -> list[float]:
    """Cumulative shares that let codes of every length up to the typical one be found as near their limit as can be.

    A code of l bits needs Q⁻¹(level·2^−l) + 1.645 standard errors to be accepted, however well it is found; it is
    sought with an excess over that, z. Where it ends, people down to there must have kept it in the beam,
    √W·z ≥ Q⁻¹(beam/2^depth) + reach, and people between any two depths in the list of its root. People below a depth
    must tell it from the other ways to go on, less those whose fingerprint is wrong:
    √(1 − W)·z ≥ Q⁻¹(level·2^−(l − depth)) + 1.645. The shares belong to the least excess for which the least W at each
    depth leaves enough below it.
    """
    longest = lengths[-1]
    edges = np.array([_edge(math.log(_LEVEL / 2) - length * math.log(2)) for length in range(longest + 1)])
    needed = edges + 1.645  # standard errors that a code of this many bits needs

    @cache
    def edge(width: float, bits: int) -> float:
        """Standard errors at which a beam ends that holds this many paths of 2^bits."""
        return _edge(math.log(width) - bits * math.log(2)) + _TEXT_REACH

    def sought(excess: float) -> NDArray[np.float64]:
        """Standard errors with which a code of each number of bits is sought."""
        return needed + excess + _TEXT_SLOPE * np.maximum(np.arange(longest + 1) - typical, 0)

    def least(excess: float) -> list[float]:
        """The least cumulative share at each depth."""
        found: list[float] = []
        at = sought(excess).tolist()
        for depth, length in zip(depths, lengths, strict=True):
            z = at[min(max(length, 6), longest)]
            in_beam = (edge(beam if found else 1 << depth, depth) / z) ** 2  # all roots are in the beam
            in_list = [
                share + (edge(_TEXT_LIST, depth - above) / z) ** 2
                for above, share in zip(depths, found, strict=False)
                if 1 << (depth - above) > _TEXT_LIST
            ]
            found.append(min(1.0, max([in_beam, *found[-1:], *in_list])))
        return found

    def fits(excess: float) -> bool:
        """Whether enough people are left below every depth."""
        at = sought(excess)
        for known, share in zip(lengths, least(excess), strict=True):
            some = np.arange(max(known, _TEXT_SHORTEST), longest + 1)
            below = needed[np.maximum(some - known - _FINGERPRINT_SAVES, 0)]
            if (share + (below / at[some]) ** 2 > 1).any():
                return False
        return True

    return least(bisect(fits, 0.0, 16.0, 20)[1])


def _bucket_bits(standard: bool) -> int:
    """Bits of a bucket's number, and depth of the roots."""
    return 18 if standard else 16


def beam_width(bits: int, standard: bool) -> int:
    """Paths kept at each depth; fewer in wide universes, whose wider chunks have more children to look at."""
    return 1 << (_bucket_bits(standard) - (0 if _chunk(bits) == 4 else 5))


def text_beam_width(standard: bool) -> int:
    """Fewer, since a text code takes more depths and more time for each."""
    return 1 << (_bucket_bits(standard) - 1)


def beam_widths(beam: int, depths: Sequence[int], chunks: Sequence[int], coded: bool) -> list[int]:
    """Paths kept at each depth, given the chunks that lead there.

    For a text code all of the beam is used while roots are told apart. Below, a value's root stands out, or the value
    is lost; fewer paths are enough, and fewer still where chunks are wider and have more children to look at. (In
    numbers all chunks are alike, and the plan has seen to the beam.)
    """
    if not coded:
        return [beam] * len(depths)
    widths = []
    wide = 0
    for depth, chunk in zip(depths, (*chunks[1:], chunks[-1]), strict=True):
        wide += chunk > 4
        narrow = (2 if depth > depths[0] + TEXT_BROAD else 0) + max(chunk - 4, 0) + (2 if wide > _TEXT_FAR else 0)
        widths.append(max(beam >> narrow, 1))
    return widths


def root_quotas(beams: Sequence[int], chunks: Sequence[int], coded: bool) -> list[int]:
    """Paths of the beam under one root at each depth: without that the paths of one giant fill the beam.

    The roots of texts have no quota: they share the beam where it is crowded.
    """
    if coded:
        return [1 << 40] * len(beams)
    return [_QUOTA >> max(chunk - 4, 0) // 2 for chunk in (*chunks[1:], 0)]


def list_widths(chunks: Sequence[int]) -> list[int]:
    """Paths kept at each depth in the list of a promising root; fewer where the next chunk is wider."""
    return [LIST_WIDTH >> max(chunk - 4, 0) * 3 // 4 for chunk in (*chunks[1:], 0)]


def _shares(depths: list[int], last_chunk: int, beam: int) -> list[float]:
    """Shares of the people for each depth, by how far a value must stand out there to stay in the beam.

    Cumulative share up to depth t: ((Q⁻¹(beam/2^t) + 2.3)/z)², where z is the count, in standard errors, that the
    tree is built to find; the rest goes to the full depth.
    """
    bits = depths[-1]
    before_last = _edge(math.log(beam) - depths[-2] * math.log(2)) + _REACH
    suffix = _edge(math.log(_LEVEL) - last_chunk * math.log(2)) + _REACH
    exhaustive = _edge(math.log(_LEVEL) - bits * math.log(2)) + 1.645
    wanted = max(exhaustive, math.hypot(before_last, suffix))
    cumulative = [((_edge(math.log(beam) - depth * math.log(2)) + _REACH) / wanted) ** 2 for depth in depths[:-1]]
    steps = [after - before for before, after in zip([0.0, *cumulative], [*cumulative, 1.0], strict=True)]
    return _raised(steps, 0.25)


def _raised(steps: list[float], least: float) -> list[float]:
    """Raise small shares to a floor, least / len(steps), and make all of them add up to 1 again."""
    raised = [max(step, least / len(steps)) for step in steps]
    return [step / sum(raised) for step in raised]
