"""The shape of a tree: rows, their depths, and the share of people who report on each.

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

ROW_BITS = 24  # bits of a report's coins that choose its row
MASK_BITS = 20  # the most bits in a mask, and so in the number of a bucket
MAX_MASKS = 8
ONE_ROW_BITS = 20  # a universe of at most this many bits has one row, with a cell for every value
POLYNOMIALS = (1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9)
"""For b = 1 to 20 the least odd p for which x^b + p is irreducible over GF(2); bit i of p is x^i."""
FULL_DEPTH_ROWS = 3  # the full depth has three rows with independent hashes, so that one collision cannot decide
_BUCKET_BITS = (16, 18)  # of a bucket's number, and of the roots: in a small tree, and in a standard one
_REACH = 2.3  # how far above the beam's edge a value should stand at each depth, in standard errors
_LEVEL = 0.05
_TEXT_REACH = 2.1  # the same for text, in the beam and in the list of a root
_TEXT_LIST = 512  # paths in the list of a root
_TEXT_SHORTEST = 20  # codes of this many bits or more must be told apart from others with the same beginning
_FINGERPRINT_SAVES = 8  # bits of a code's remaining ambiguity that the fingerprint resolves
_TEXT_FINE = 24  # steps are of 4 bits down to this many bits beyond the typical length
LIST_WIDTH = 1024  # paths in the list of a promising root
TEXT_BROAD = 24  # bits below the root down to which the beam of texts has its full width
_TEXT_FAR = 5  # after this many steps of 8 bits a narrower beam is enough
_TEXT_SLOPE = 0.35  # standard errors that each bit beyond the typical length may cost


@dataclass(frozen=True, slots=True)
class TreePlan:
    """Rows from the root down: depth and chunk of each in bits, and where its coins end (of 2^24)."""

    bucket_bits: int
    depths: tuple[int, ...]
    chunks: tuple[int, ...]
    ends: tuple[int, ...]


def collision_chance(bits: int, masks: int) -> float:
    """The chance that two different values of this many bits have the same symbol in a tree with one row."""
    return ((1 << (bits - masks)) - 1) / ((1 << bits) - 1)


def list_masks(size: int, epsilon: float) -> int:
    """The number of masks with the least noise for a list of `size` values in one row."""
    most = min(MAX_MASKS, (size - 1).bit_length())
    return min(range(1, most + 1), key=lambda masks: _one_row_noise(size, masks, epsilon))


def list_noise(size: int, epsilon: float) -> float:
    """The variance (people²) that each report adds to a count: the mean over all values of a list in one row."""
    return _one_row_noise(size, list_masks(size, epsilon), epsilon)


def _one_row_noise(size: int, masks: int, epsilon: float) -> float:
    lie = 1 / (math.exp(min(epsilon, 50.0)) + (1 << masks) - 1)  # each symbol but the true one
    keep, collision = math.expm1(min(epsilon, 50.0)) * lie, collision_chance((size - 1).bit_length(), masks)
    return mean_variance(size, lie + keep, lie + collision * keep, keep * (1 - collision))


def plan_tree(bits: int, standard: bool) -> TreePlan:
    """Depths in steps of 4 bits (8 from 128 bits on), with shares of people that keep a value in the beam.

    The root has as many bits as the number of a bucket, so it needs no hash and has no collisions.
    """
    if bits <= ONE_ROW_BITS:
        return TreePlan(bits, (bits,), (bits,), (1 << ROW_BITS,))
    step, root = _chunk(bits), _BUCKET_BITS[standard]
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


@lru_cache(maxsize=4096)  # a plan asks for the same few hundred values many times
def _edge(log_chance: float) -> float:
    """The score, in standard errors, of the last path in a beam that holds this share of all paths; at least 0."""
    return max(0.0, normal_quantile_log(min(log_chance, -math.log(2))))


def _chunk(bits: int) -> int:
    """Bits of a step down the tree of numbers."""
    return 4 if bits < 128 else 8


@lru_cache(maxsize=16)  # takes a quarter of a second, and does not depend on ε
def plan_text_tree(fingerprint: int, width: int, typical: int, standard: bool) -> TreePlan:
    """The tree of a text code and its fingerprint, with most reporters up to a typical length of the code.

    A code that has ended is padded with zeros, so deeper rows also count short codes.
    """
    bits = path_bits(fingerprint, width)
    root = _BUCKET_BITS[standard]
    knee = min(bits, root + 4 * -(-(path_bits(fingerprint, min(typical + _TEXT_FINE, width)) - root) // 4))
    depths = list(range(root, knee, 4)) + list(range(knee, bits, 8)) + [bits]
    chunks = [below - above for above, below in pairwise([0, *depths])]
    lengths = [depth - fingerprint_before(fingerprint, depth) for depth in depths]
    cumulative = _text_shares(depths, lengths, typical, 1 << (root - 1))
    shares = _raised([after - above for above, after in pairwise([0.0, *cumulative])], 0.1)
    rows = list(zip(depths, chunks, shares, strict=True))
    return TreePlan(root, tuple(depths), tuple(chunks), _ends([share for _, _, share in rows]))


def _text_shares(depths: list[int], lengths: list[int], typical: int, beam: int) -> list[float]:
    """Cumulative shares of people by depth, so that codes of any length are found as close to their limit as possible.

    Even a perfect search accepts a code of l bits only from Q⁻¹(level·2^−l) + 1.645 standard errors on. The plan is
    made for codes of z standard errors: this limit plus an excess. Let W be the share of people who report on a depth
    or above it. They must keep the code in the beam: √W·z ≥ Q⁻¹(beam/2^depth) + reach. Likewise people between any two
    depths must keep it in the list of its root. People below the depth must tell the code from others with the same
    beginning and fingerprint: √(1 − W)·z ≥ Q⁻¹(level·2^−(l − depth)) + 1.645. The result is the least W at each depth,
    for the least excess at which enough people remain below every depth.
    """
    longest = lengths[-1]
    edges = np.array([_edge(math.log(_LEVEL / 2) - length * math.log(2)) for length in range(longest + 1)])
    needed = edges + 1.645  # standard errors that a code of each length in bits needs

    @cache
    def edge(width: float, bits: int) -> float:
        """Standard errors that a value needs to stay in a beam that holds `width` of 2^bits paths."""
        return _edge(math.log(width) - bits * math.log(2)) + _TEXT_REACH

    def sought(excess: float) -> NDArray[np.float64]:
        """For each code length in bits, the standard errors that the plan is made for."""
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


def beam_width(bits: int, standard: bool) -> int:
    """Paths kept at each depth; fewer in wide universes, whose wider chunks have more children to look at."""
    return 1 << (_BUCKET_BITS[standard] - (0 if _chunk(bits) == 4 else 5))


def beam_widths(beam: int, depths: Sequence[int], chunks: Sequence[int], coded: bool) -> list[int]:
    """Paths kept at each depth, given the chunks that lead there.

    For texts the beam has its full width while roots are told apart. Deeper, a value's root stands out or the value is
    lost, so fewer paths are enough; fewer still where chunks are wider, since each path then has more children. For
    numbers all chunks are alike, and the beam has the same width at every depth.
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


def list_widths(chunks: Sequence[int]) -> list[int]:
    """Paths kept at each depth in the list of a promising root; fewer where the next chunk is wider."""
    return [LIST_WIDTH >> max(chunk - 4, 0) * 3 // 4 for chunk in (*chunks[1:], 0)]


def _shares(depths: list[int], last_chunk: int, beam: int) -> list[float]:
    """The share of people for each depth, from how far a value must stand out there to stay in the beam.

    The cumulative share up to depth t is ((Q⁻¹(beam/2^t) + 2.3)/z)², where z is the count, in standard errors, that the
    tree is built to find. The rest goes to the full depth.
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
