"""The shape of a tree: rows, their depths, and which share of people speaks about each.

Everything is derived once from (bits, ε, level) and written into the survey as integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from hubbub.numeric.tails import normal_quantile_log
from hubbub.numeric.tree_kernels import MAX_MASKS, ROW_BITS

ONE_ROW_BITS = 20  # universes so small that every value has a cell
FULL_DEPTH_ROWS = 3  # the deepest level is split over independent hashes, so that one collision cannot decide
_REACH = 2.3  # how far above the beam's edge a value should stand at each depth, in standard errors
_LEVEL = 0.05
_LONG_SHARE = 0.15  # reporters on code bits beyond the typical length


@dataclass(frozen=True, slots=True)
class TreePlan:
    """Rows from the root down: depth and chunk of each in bits, and where its coins end (of 2^24)."""

    bucket_bits: int
    depths: tuple[int, ...]
    chunks: tuple[int, ...]
    ends: tuple[int, ...]


def masks_for(epsilon: float) -> int:
    """The s with the least variance (e^ε − 1 + 2^s)² / ((e^ε − 1)²·(2^s − 1)): about ε·log₂e."""
    grown = math.expm1(min(epsilon, 50.0))

    def variance(s: int) -> float:
        return float((grown + 2**s) ** 2 / (grown**2 * (2**s - 1)))

    return min(range(1, MAX_MASKS + 1), key=variance)


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


def _edge(log_chance: float) -> float:
    """Standard errors at which the beam ends, if it holds this share of what is there."""
    return max(0.0, normal_quantile_log(min(log_chance, -math.log(2))))


def _chunk(bits: int) -> int:
    return 4 if bits < 128 else 8


def plan_text_tree(fingerprint: int, width: int, typical: int, standard: bool) -> TreePlan:
    """The tree of a text code: a fingerprint of the whole value, then the code, most reporters up to a typical length.

    A code that has ended goes on as zeros, so deeper rows speak for short codes too.
    """
    bits = fingerprint + width
    root = _bucket_bits(standard)
    knee = min(bits, root + 4 * -(-(fingerprint + typical - root) // 4))
    depths = list(range(root, knee, 4)) + list(range(knee, bits, 8)) + [bits]
    chunks = [below - above for above, below in pairwise([0, *depths])]
    beam = text_beam_width(standard)
    before = [depth for depth in depths if depth <= knee]
    wanted = [_edge(math.log(beam) - depth * math.log(2)) + _REACH for depth in before]
    cumulative = [(1 - _LONG_SHARE) * (reach / wanted[-1]) ** 2 for reach in wanted]
    shares = [after - above for above, after in zip([0.0, *cumulative], cumulative, strict=False)]
    deeper = len(depths) - len(before)
    shares += [_LONG_SHARE / max(deeper, 1)] * deeper
    shares = [share / sum(shares) for share in shares]
    rows = list(zip(depths, chunks, shares, strict=True))
    return TreePlan(root, tuple(depths), tuple(chunks), _ends([share for _, _, share in rows]))


def _bucket_bits(standard: bool) -> int:
    return 18 if standard else 16


def beam_width(bits: int, standard: bool) -> int:
    """Paths kept at each depth; fewer in wide universes, whose wider chunks have more children to look at."""
    return 1 << (_bucket_bits(standard) - (0 if _chunk(bits) == 4 else 5))


def text_beam_width(standard: bool) -> int:
    """Fewer, since a text code takes more depths and more time for each."""
    return 1 << (_bucket_bits(standard) - 1)


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
    least = 0.25 / len(steps)  # no depth is left without reporters, however small the universe
    raised = [max(step, least) for step in steps]
    return [step / sum(raised) for step in raised]
