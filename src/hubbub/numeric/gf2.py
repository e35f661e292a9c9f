"""Linear algebra over GF(2) on packed bits.

A matrix of r rows and c columns is an array of uint64 of shape (r, ceil(c / 64)). Column j is bit j % 64 of
word j // 64, least significant first; the bits beyond c are zero, and every function relies on that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.jit import kernel

LIMB = 64


def pack(bits: NDArray[np.uint8] | NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack a matrix of bits, shape (r, c), one row of ceil(c / 64) limbs for each row; anything but zero is a one.

    Costs one pass over the bits.

    >>> pack(np.array([[1, 0, 1], [0, 1, 0]], dtype=np.uint8))
    array([[5],
           [2]], dtype=uint64)
    """
    rows, columns = bits.shape
    padded = np.zeros((rows, 8 * _limbs(columns)), dtype=np.uint8)
    padded[:, : (columns + 7) // 8] = np.packbits(bits, axis=1, bitorder="little")
    return padded.view("<u8").astype(np.uint64, copy=False)


def unpack(packed: NDArray[np.uint64], columns: int) -> NDArray[np.uint8]:
    """Undo `pack`: the zeros and ones of a packed matrix, shape (r, columns). Costs one pass over the bits.

    >>> unpack(np.array([[5], [2]], dtype=np.uint64), 3)
    array([[1, 0, 1],
           [0, 1, 0]], dtype=uint8)
    """
    _check_words(packed, columns)
    octets = np.ascontiguousarray(packed).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=columns, bitorder="little")


def rank(matrix: NDArray[np.uint64], columns: int) -> int:
    """The number of linearly independent rows of a packed matrix of `columns` columns.

    Costs at most r · rank · limbs steps, and stops early at full column rank.
    """
    return int(independent_rows(matrix, columns).size)


def independent_rows(matrix: NDArray[np.uint64], columns: int, limit: int | None = None) -> NDArray[np.int64]:
    """Choose independent rows of a packed matrix greedily: a row is taken unless the rows taken before it span it.

    Returns their indices, ascending; `limit` of them at most. Costs at most r · rank · limbs steps. Rows after the one
    that completes the rank are not read.
    """
    _check_words(matrix, columns)
    if limit is not None and limit < 0:
        raise ParameterError(f"limit must not be negative, got limit={limit}")
    most = min(matrix.shape[0], columns) if limit is None else min(matrix.shape[0], columns, limit)
    chosen: NDArray[np.int64] = _independent_rows(np.ascontiguousarray(matrix), most)
    return chosen


def inverse(matrix: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The inverse of a packed square matrix. Raises ParameterError if it is singular. Costs about c² · limbs steps."""
    columns = matrix.shape[0]
    _check_words(matrix, columns)
    inverted = pack(np.eye(columns, dtype=np.uint8))
    # The kernel eliminates in place, so it gets a copy.
    if not _invert(matrix.copy(order="C"), inverted):
        raise ParameterError(f"a matrix must be invertible, got rank {rank(matrix, columns)} of {columns}")
    return inverted


def solve(matrix: NDArray[np.uint64], rhs: NDArray[np.uint8], columns: int) -> NDArray[np.uint64] | None:
    """Solve matrix · x = rhs, a system of full column rank with perhaps more rows than columns.

    `rhs` has zeros and ones. Returns the only solution, packed, of shape (limbs,); None if the rows contradict each
    other. Raises ParameterError if the columns are dependent: there would be no solution or many. Costs at most r · c ·
    limbs steps.
    """
    if rhs.shape != matrix.shape[:1]:
        raise ParameterError(f"rhs must have one bit for each of {matrix.shape[0]} rows, got shape {rhs.shape}")
    chosen = independent_rows(matrix, columns)
    if chosen.size < columns:
        raise ParameterError(f"a system must have full column rank, got rank {chosen.size} of {columns}")
    values = pack(rhs[np.newaxis, chosen])
    solution = pack(parities(inverse(matrix[chosen]), values))
    return solution[0] if np.array_equal(parity_pairs(matrix, solution), rhs) else None


def parities(matrix: NDArray[np.uint64], vectors: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """The inner product of every vector with every row of a matrix: zeros and ones, shape (n, r).

    Costs n · r · limbs steps, several per instruction, and n · r bytes for the result.
    """
    if matrix.shape[1] != vectors.shape[1]:
        raise ParameterError(f"vectors must have the {matrix.shape[1]} limbs of the rows, got {vectors.shape[1]} limbs")
    out = np.empty((vectors.shape[0], matrix.shape[0]), dtype=np.uint8)
    # Word by word across the rows: that order is the one the compiler vectorises.
    _parities(np.ascontiguousarray(matrix.T), np.ascontiguousarray(vectors), out)
    return out


def parity_pairs(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """The inner product of each row of `a` with the same row of `b`: zeros and ones. Costs n · limbs steps.

    One of the two may have a single row, paired with every row of the other.
    """
    if a.shape[1] != b.shape[1]:
        raise ParameterError(f"both sides must have as many limbs, got {a.shape[1]} and {b.shape[1]} limbs")
    odd: NDArray[np.uint8] = np.bitwise_count(np.bitwise_xor.reduce(a & b, axis=1)) & np.uint8(1)
    return odd


def _limbs(columns: int) -> int:
    """How many limbs of 64 bits hold this many columns."""
    return (columns + LIMB - 1) // LIMB


def _check_words(matrix: NDArray[np.uint64], columns: int) -> None:
    """Require a packed matrix with as many limbs as its columns need."""
    if matrix.shape[1] != _limbs(columns):
        raise ParameterError(
            f"a matrix of {columns} columns must have {_limbs(columns)} limbs a row, got {matrix.shape[1]}"
        )


@kernel
def _independent_rows(matrix: NDArray[np.uint64], most: int) -> NDArray[np.int64]:
    """Indices of the first rows that depend on none before them, at most `most`."""
    rows, limbs = matrix.shape
    chosen = np.empty(most, dtype=np.int64)
    basis = np.empty((most, limbs), dtype=np.uint64)
    pivot_limb = np.empty(most, dtype=np.int64)
    pivot_bit = np.empty(most, dtype=np.uint64)
    rest = np.empty(limbs, dtype=np.uint64)
    found = 0
    for row in range(rows):
        if found == most:
            break
        for limb in range(limbs):
            rest[limb] = matrix[row, limb]
        # In order of arrival: a later basis row is zero at every earlier pivot, so no pivot comes back.
        for known in range(found):
            if rest[pivot_limb[known]] & pivot_bit[known]:
                for limb in range(limbs):
                    rest[limb] ^= basis[known, limb]
        for limb in range(limbs):
            if rest[limb]:
                chosen[found] = row
                pivot_limb[found] = limb
                pivot_bit[found] = rest[limb] & (~rest[limb] + np.uint64(1))
                for other in range(limbs):
                    basis[found, other] = rest[other]
                found += 1
                break
    return chosen[:found]


@kernel
def _invert(work: NDArray[np.uint64], inverted: NDArray[np.uint64]) -> bool:
    """Reduce `work` to the identity, applying the same steps to `inverted`. Returns False if `work` is singular."""
    size, limbs = work.shape
    for column in range(size):
        limb = column // LIMB
        bit = np.uint64(1) << np.uint64(column % LIMB)
        pivot = column
        while pivot < size and not work[pivot, limb] & bit:
            pivot += 1
        if pivot == size:
            return False
        if pivot != column:
            for other in range(limbs):
                work[column, other], work[pivot, other] = work[pivot, other], work[column, other]
                inverted[column, other], inverted[pivot, other] = inverted[pivot, other], inverted[column, other]
        for row in range(size):
            if row != column and work[row, limb] & bit:
                for other in range(limbs):
                    work[row, other] ^= work[column, other]
                    inverted[row, other] ^= inverted[column, other]
    return True


@kernel
def _parities(columns: NDArray[np.uint64], vectors: NDArray[np.uint64], out: NDArray[np.uint8]) -> None:
    """Write the parity of every row with every vector to `out`."""
    limbs, rows = columns.shape
    common = np.empty(rows, dtype=np.uint64)
    for vector in range(vectors.shape[0]):
        for row in range(rows):
            common[row] = 0
        for limb in range(limbs):
            value = vectors[vector, limb]
            for row in range(rows):
                common[row] ^= columns[limb, row] & value
        for row in range(rows):
            folded = common[row]
            folded ^= folded >> np.uint64(32)
            folded ^= folded >> np.uint64(16)
            folded ^= folded >> np.uint64(8)
            folded ^= folded >> np.uint64(4)
            # Bit v of 0x6996 is the parity of the four bits of v.
            out[vector, row] = (np.uint64(0x6996) >> (folded & np.uint64(15))) & np.uint64(1)
