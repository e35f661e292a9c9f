"""Soft-decision decoding of a binary linear code by ordered statistics.

M. Fossorier and S. Lin, "Soft-decision decoding of linear block codes based on ordered statistics", IEEE
Transactions on Information Theory 41 (1995).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.numeric import gf2
from hubbub.numeric.bisection import bisect
from hubbub.numeric.tails import binomial_tail, normal_tail

ROUNDING = 1e-12
"""Gains closer than this share of sum |soft| are ties: float64 sums cannot tell them apart."""


def decode(
    rows: NDArray[np.uint64], columns: int, soft: NDArray[np.float64], order: int = 2
) -> tuple[NDArray[np.uint64], float]:
    """Look for the x whose codeword agrees best with the soft values.

    The score of x is sum_k soft[k] · (-1)^<rows[k], x>. Hard decisions on the most reliable independent rows
    give a first x; then every x that differs in at most `order` of these decisions is scored.

    Parameters
    ----------
    rows : NDArray[np.uint64]
        The K parities of the code, packed as in `gf2`, of rank `columns`.
    columns : int
        L, the bits of x.
    soft : NDArray[np.float64]
        Shape (K,): positive where the parity is likely 0, negative where it is likely 1, larger when surer.
    order : int
        How many decisions may be wrong: 0, 1, 2 or 3.

    Returns
    -------
    tuple[NDArray[np.uint64], float]
        The packed x of shape (limbs,), and its score.

    Raises
    ------
    ParameterError
        If the order is unknown, the shapes disagree, the rank is below `columns` or a soft value is not finite.

    Notes
    -----
    Costs about K · L steps at order 0 and 1, K · L² at order 2 and K · L³ / 6 at order 3, and 16 · K · L bytes
    from order 2 on. Among equal scores the one with fewer flips wins, then the one that flips more reliable decisions.
    Multiplying `soft` by a positive number multiplies the score and does not change x.
    """
    if order not in (0, 1, 2, 3):
        raise ParameterError(f"order must be 0, 1, 2 or 3, got order={order}")
    if columns < 1:
        raise ParameterError(f"columns must be at least 1, got columns={columns}")
    if soft.shape != rows.shape[:1]:
        raise ParameterError(f"soft must have one value for each of {rows.shape[0]} rows, got shape {soft.shape}")
    if not np.isfinite(soft).all():
        raise ParameterError("soft must be finite, got an infinity or not a number")

    by_reliability = np.argsort(-np.abs(soft), kind="stable")
    basis = by_reliability[gf2.independent_rows(rows[by_reliability], columns)]
    if basis.size < columns:
        raise ParameterError(f"rows must have rank columns={columns}, got rank {basis.size}")
    inverse = gf2.inverse(rows[basis])
    decisions = soft[basis] < 0
    x = _times(inverse, decisions)
    agreement = _agreement(rows, soft, x)
    if order > 0:
        transposed = gf2.pack(gf2.unpack(inverse, columns).T)
        # Row k is the sum of the basis rows i with coordinates[k, i] = 1: the decisions that row k depends on.
        coordinates = gf2.parities(transposed, rows).astype(np.float64)
        decisions[_best_flips(coordinates, agreement, order)] ^= True
        x = _times(inverse, decisions)
        agreement = _agreement(rows, soft, x)
    return x, float(agreement.sum())


@lru_cache(maxsize=4096)  # surveys that differ only in their seed ask for the same values
def success_chance(signal: float, rows: int, columns: int, order: int) -> float:
    """The approximate chance that decoding succeeds if every soft value is ±signal plus a standard normal variable.

    It succeeds if at most `order` of the most reliable `columns` rows have the wrong sign.
    """
    share = columns / rows

    def is_rare(size: float) -> bool:
        return float(normal_tail(size - signal) + normal_tail(size + signal)) <= share

    _, cut = bisect(is_rare, 0.0, signal + 40.0, 60)  # a share of columns/rows of all rows lies above it
    wrong = float(normal_tail(cut + signal)) / share
    return 1.0 - binomial_tail(order + 1, columns, min(wrong, 1.0))


def _times(matrix: NDArray[np.uint64], bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """A packed matrix times a vector of bits, packed."""
    product = gf2.parity_pairs(matrix, gf2.pack(bits[np.newaxis]))
    return gf2.pack(product[np.newaxis]).reshape(-1)


def _agreement(rows: NDArray[np.uint64], soft: NDArray[np.float64], x: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return each soft value with the sign the codeword of x gives it; the sum is the score."""
    return np.where(gf2.parity_pairs(rows, x[np.newaxis]) == 1, -soft, soft)


def _best_flips(coordinates: NDArray[np.float64], agreement: NDArray[np.float64], order: int) -> list[int]:
    """Find the at most `order` decisions whose flip raises the score most; none if no flip raises it.

    Flipping a set of decisions negates the rows that depend on an odd number of them. As numbers, the parity of
    a + b is a + b - 2ab, so the gain of a pair is the two single gains and a correction that one matrix product
    gives for all pairs. The gains of triples are those of pairs, seen from the codeword with one flip done.
    """
    size = coordinates.shape[1]
    tolerance = ROUNDING * float(np.abs(agreement).sum())
    flips: list[int] = []
    to_beat = tolerance

    single = -2.0 * (agreement @ coordinates)
    first = _first_best(single, to_beat, tolerance)
    if first is not None:
        flips, to_beat = [first], single[first] + tolerance
    if order == 1:
        return flips

    both = coordinates.T @ (agreement[:, np.newaxis] * coordinates)
    pair = _pair_gains(single, both)
    first = _first_best(pair, to_beat, tolerance)
    if first is not None:
        flips, to_beat = list(divmod(first, size)), pair.flat[first] + tolerance
    if order == 2:
        return flips

    for flipped in range(size - 2):
        depends = coordinates[:, flipped] == 1
        later = coordinates[depends, flipped + 1 :]
        all_three = later.T @ (agreement[depends, np.newaxis] * later)
        triple = single[flipped] + _pair_gains(
            single[flipped + 1 :] + 4.0 * both[flipped, flipped + 1 :],
            both[flipped + 1 :, flipped + 1 :] - 2.0 * all_three,
        )
        first = _first_best(triple, to_beat, tolerance)
        if first is not None:
            one, two = divmod(first, size - flipped - 1)
            flips, to_beat = [flipped, flipped + 1 + one, flipped + 1 + two], triple.flat[first] + tolerance
    return flips


def _pair_gains(single: NDArray[np.float64], both: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gain of flipping i and j at [i, j] for i < j, and minus infinity elsewhere."""
    gains = 4.0 * both + single[:, np.newaxis] + single
    gains[np.tri(single.size, dtype=np.bool_)] = -np.inf
    return gains


def _first_best(gains: NDArray[np.float64], above: float, tolerance: float) -> int | None:
    """Return the flat index of the first of the largest gains, or None if none is above the given one."""
    highest = gains.max()
    return int(np.argmax(gains >= highest - tolerance)) if highest > above else None
