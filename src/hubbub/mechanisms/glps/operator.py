"""A {−1, 0, 1} matrix Φ that measures sparse vectors over 2^L coordinates, never materialised.

The construction is hubbub's own. It has the shape of the matrix of Gilbert, Li, Porat, Strauss, "Approximate sparse
recovery: optimizing time and measurements" (STOC 2010): geometric stages, each with blocks that identify coordinates
and blocks that estimate them, in O(s·log(N/s)) rows.

A *block* maps all coordinates into buckets by a linear map over GF(2). A *slot* of a block gives each coordinate a
sign, again a parity of its bits, and has one row for each bucket: the signed sum of the coordinates in it. So a column
has exactly one entry ±1 in every slot: its place and its sign are parities of the coordinate's bits.

- An **identification** block has an invertible matrix M. The lowest bits of y = Mx are the bucket; the others are the
  message. The signs of the block's slots are the message's codeword in a random linear code. Message and bucket
  together give x = M⁻¹y. The bucket's bits need no code, which is where log(N/s) comes from.
- An **estimation** block has one slot, many buckets and one random sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hubbub.numeric import gf2
from hubbub.numeric.hashing import HashKey, Purpose, derive_key, hash_words

_CODE_RATE = 2  # ρ: slots per bit of a message …
_CODE_EXTRA = 8  # … and a constant number of slots more
_SHRINK = Fraction(7, 10)  # each stage has this share of the buckets of the stage before it
_STAGED_BUCKETS, _STAGED_REPEATS = 4, 2
_LEAN_BUCKETS, _LEAN_REPEATS = 8, 2
_ESTIMATE_BUCKETS, _ESTIMATE_REPEATS = 16, 7  # a large coordinate is in 1 of 16 rows, so it spoils few medians of 7


@dataclass(frozen=True, slots=True)
class Stage:
    """The sizes of one stage: log₂ of the buckets of its blocks, and the slots of an identification block."""

    bucket_bits: int
    code_rows: int
    estimate_bits: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The sizes of an operator: s, the coordinates to recover, and the identification and estimation blocks of a stage.

    Stage t looks for the s/2^t coordinates that those before it have not found.
    """

    sparsity: int
    repeats: int
    estimates: int
    stages: tuple[Stage, ...]

    @property
    def slots(self) -> int:
        """Entries of a column that are not zero."""
        return sum(slots for slots, _ in self._blocks())

    @property
    def cells(self) -> int:
        """m: rows of Φ."""
        return sum(slots << bits for slots, bits in self._blocks())

    @property
    def slot_bits(self) -> NDArray[np.int64]:
        """log₂ of the rows of each slot."""
        slots, bits = zip(*self._blocks(), strict=True)
        return np.repeat(np.array(bits, np.int64), slots)

    def _blocks(self) -> list[tuple[int, int]]:
        """For each stage and kind of block, in order: the number of slots, and log₂ of the buckets of a slot."""
        identify = [(self.repeats * stage.code_rows, stage.bucket_bits) for stage in self.stages]
        estimate = [(self.estimates, stage.estimate_bits) for stage in self.stages]
        return [block for both in zip(identify, estimate, strict=True) for block in both]


def staged(bits: int, sparsity: int) -> Layout:
    """⌈log₂ s⌉ + 1 stages with 4·s·0.7^t buckets twice to identify, and 16·s·0.7^t buckets seven times to estimate."""
    stages = []
    for number in range((sparsity - 1).bit_length() + 1):
        scale = max(Fraction(1), sparsity * _SHRINK**number)
        bucket_bits = _bits_for(_STAGED_BUCKETS * scale, bits)
        stages.append(Stage(bucket_bits, code_rows(bits - bucket_bits), _bits_for(_ESTIMATE_BUCKETS * scale, bits)))
    return Layout(sparsity, _STAGED_REPEATS, _ESTIMATE_REPEATS, tuple(stages))


def lean(bits: int, sparsity: int) -> Layout:
    """One stage with 8·s buckets, twice, and no estimation: a third of the slots for a few large coordinates."""
    bucket_bits = _bits_for(Fraction(_LEAN_BUCKETS * sparsity), bits)
    return Layout(sparsity, _LEAN_REPEATS, 0, (Stage(bucket_bits, code_rows(bits - bucket_bits), 0),))


def code_rows(message_bits: int) -> int:
    """Slots of an identification block whose messages have this many bits."""
    return _CODE_RATE * (message_bits + 1) + _CODE_EXTRA


def _bits_for(buckets: Fraction, most: int) -> int:
    """log₂ of the least power of two with this many buckets, at most `most`."""
    return min((-(-buckets.numerator // buckets.denominator) - 1).bit_length(), most)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A block of an operator.

    Attributes
    ----------
    stage : int
        The stage it belongs to.
    first_slot, slots : int
        Its slots.
    first_cell, bucket_bits : int
        Its cells: `slots` times 2^bucket_bits, slot after slot.
    code : NDArray[np.uint64] or None
        For identification, the generators of the signs with a last column of ones, which stands for the sign of the
        coordinate's value.
    inverse : NDArray[np.uint64] or None
        For identification, M⁻¹.
    """

    stage: int
    first_slot: int
    slots: int
    first_cell: int
    bucket_bits: int
    code: NDArray[np.uint64] | None = None
    inverse: NDArray[np.uint64] | None = None

    @property
    def cells(self) -> slice:
        """The range of its cells."""
        return slice(self.first_cell, self.first_cell + (self.slots << self.bucket_bits))

    def table(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Its part of a vector of measurements, shape (slots, buckets)."""
        return values[self.cells].reshape(self.slots, -1)


class Operator:
    """Φ, drawn from the 32 bytes that key the public hash; docs/wire-format.md has every bit. `bits` is L."""

    def __init__(self, bits: int, layout: Layout, seed: bytes) -> None:
        self.bits = bits
        self.layout = layout
        self.slots = layout.slots
        self.cells = layout.cells
        self._keys = tuple(
            derive_key(seed, p) for p in (Purpose.SPARSE_MATRIX, Purpose.SPARSE_CODE, Purpose.SPARSE_ESTIMATE)
        )
        signs: list[NDArray[np.uint64]] = []
        buckets: list[NDArray[np.uint64]] = []
        blocks: list[Block] = []
        slot = cell = 0
        for number, stage in enumerate(layout.stages):
            for repeat in range(layout.repeats + layout.estimates):
                identify = repeat < layout.repeats
                draw = self._draw_identification if identify else self._draw_estimation
                bucket_rows, sign_rows, code, inverse = draw(len(blocks), stage)
                blocks.append(Block(number, slot, len(sign_rows), cell, len(bucket_rows), code, inverse))
                slot, cell = slot + len(sign_rows), blocks[-1].cells.stop
                signs.append(sign_rows)
                buckets.append(bucket_rows)
        self.blocks = tuple(blocks)
        self.sign_rows = np.concatenate(signs)
        """For each slot, the r whose ⟨r, x⟩ is the sign bit of x; shape (slots, limbs)."""
        self.bucket_rows = np.concatenate(buckets)
        """For each block, the rows whose parities with x are the bits of its bucket, lowest first."""
        self.slot_block = np.repeat(np.arange(len(blocks)), [block.slots for block in blocks])
        self.slot_bits = layout.slot_bits
        self.first_cells = np.concatenate([[0], np.cumsum(np.int64(1) << self.slot_bits)])[:-1]

    def _draw_identification(
        self, block: int, stage: Stage
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64] | None, NDArray[np.uint64] | None]:
        """Bucket rows, sign rows, code and inverse matrix of an identification block, by the public hash."""
        attempt = 0
        matrix = _draw(self._keys[0], (block, attempt), self.bits, self.bits)
        while gf2.rank(matrix, self.bits) < self.bits:
            attempt += 1
            matrix = _draw(self._keys[0], (block, attempt), self.bits, self.bits)
        message = self.bits - stage.bucket_bits
        attempt = 0
        while True:
            generators = _draw(self._keys[1], (block, attempt), stage.code_rows, message)
            ones = np.ones((stage.code_rows, 1), np.uint8)
            code = gf2.pack(np.concatenate([gf2.unpack(generators, message), ones], axis=1))
            if gf2.rank(code, message + 1) == message + 1:
                break
            attempt += 1
        # ⟨g, w⟩ with w = the message rows of M times x is ⟨r, x⟩ with r = those rows, transposed, times g.
        across = gf2.pack(gf2.unpack(matrix[stage.bucket_bits :], self.bits).T)
        sign_rows = gf2.pack(gf2.parities(across, generators))
        return matrix[: stage.bucket_bits], sign_rows, code, gf2.inverse(matrix)

    def _draw_estimation(
        self, block: int, stage: Stage
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64] | None, NDArray[np.uint64] | None]:
        """Bucket rows and the one sign row of an estimation block; it has no code."""
        drawn = _draw(self._keys[2], (block,), stage.estimate_bits + 1, self.bits)
        return drawn[:-1], drawn[-1:], None, None

    def columns(self, items: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """The columns of some coordinates: for each slot the cell of its one entry and the entry, shape (n, slots)."""
        signs = (1 - 2 * gf2.parities(self.sign_rows, items).astype(np.int8)).astype(np.int8)
        bits = gf2.parities(self.bucket_rows, items).astype(np.int64)
        buckets = np.zeros((len(items), len(self.blocks)), np.int64)
        start = 0
        for number, block in enumerate(self.blocks):
            places = np.int64(1) << np.arange(block.bucket_bits)
            buckets[:, number] = bits[:, start : start + block.bucket_bits] @ places
            start += block.bucket_bits
        return self.first_cells + buckets[:, self.slot_block], signs

    def measure(self, items: NDArray[np.uint64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Φv for the v that has these values at these coordinates. Costs n·slots steps."""
        cells, signs = self.columns(items)
        entries = (signs * values[:, np.newaxis]).ravel()
        return np.bincount(cells.ravel(), entries, self.cells).astype(np.float64)  # floats even if there are no items

    def characters(self, cells: NDArray[np.int64]) -> NDArray[np.uint64]:
        """For cell k of a slot, the a with (−1)^⟨a, x⟩ = sign(x)·(−1)^⟨k, bucket(x)⟩.

        The 2^κ of them are the slot's rows, Walsh–Hadamard transformed over the buckets.
        """
        slots = np.searchsorted(self.first_cells, cells, side="right") - 1
        within = cells - self.first_cells[slots] + self._first_mixtures[self.slot_block[slots]]
        return np.asarray(self.sign_rows[slots] ^ self._mixtures[within])

    @cached_property
    def _first_mixtures(self) -> NDArray[np.int64]:
        """For each block, the index of its first mixture."""
        sizes = [1 << block.bucket_bits for block in self.blocks]
        return np.concatenate([[0], np.cumsum(sizes)])[:-1]

    @cached_property
    def _mixtures(self) -> NDArray[np.uint64]:
        """For each block, the sums over GF(2) of all subsets of its bucket rows."""
        parts, start = [], 0
        for block in self.blocks:
            sums = np.zeros((1, self.sign_rows.shape[1]), np.uint64)
            for row in self.bucket_rows[start : start + block.bucket_bits]:
                sums = np.concatenate([sums, sums ^ row])
            parts.append(sums)
            start += block.bucket_bits
        return np.concatenate(parts)


def _draw(key: HashKey, prefix: tuple[int, ...], rows: int, columns: int) -> NDArray[np.uint64]:
    """Uniform bits, packed: limb w of row i is the hash of (prefix, i, w), cut at the last column."""
    limbs = -(-columns // gf2.LIMB)
    places = np.indices((rows, limbs), np.uint32).reshape(2, -1)
    start = np.broadcast_to(np.array(prefix, np.uint32)[:, np.newaxis], (len(prefix), places.shape[1]))
    drawn = hash_words(key, np.concatenate([start, places]).T).reshape(rows, limbs)
    if limbs:
        drawn[:, -1] &= np.uint64((1 << (columns - gf2.LIMB * (limbs - 1))) - 1)
    return drawn
