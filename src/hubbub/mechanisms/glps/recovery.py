"""Recovery of a sparse vector v from u = Φv + z, in time polylogarithmic in the number of its coordinates.

The guarantee has the form of Theorem 1 of Gilbert, Li, Porat, Strauss as the paper quotes it (section 4.1):
‖v − v̂‖₂ ≤ C₁·‖v − v_s‖₂ + C₂·‖z‖₂/√log₂(N/s). It is not proved for the operator here; its constants are measured
(tests/mechanisms/test_glps_recovery.py: C₁ < 1.3, C₂ < 0.5).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms.glps.operator import Block, Operator
from hubbub.numeric import gf2, ordered_statistics
from hubbub.numeric.least_squares import least_squares

ORDER = 2
"""The decoder corrects up to this many errors among the most reliable signs of a bucket."""

Recovered = tuple[NDArray[np.uint64], NDArray[np.float64]]
"""Coordinates, shape (k, limbs), and their values."""


def recover(
    operator: Operator, measured: NDArray[np.float64], decoder: str = "refit", size: int | None = None
) -> Recovered:
    """The large coordinates of v and their values, the largest value first.

    Parameters
    ----------
    operator : Operator
        Φ.
    measured : NDArray[np.float64]
        u, shape (operator.cells,).
    decoder : str
        `faithful`: each stage identifies, estimates by medians of its own rows, keeps the largest, subtracts.
        `refit`: after each stage all values are fitted again by least squares on all rows, and at most 2s are kept.
        It is more accurate, but its stages are no longer independent of one another, so that no proof covers it.
    size : int, optional
        Coordinates from this number on cannot occur and are left out; by default 2^L.

    Notes
    -----
    Costs O(s) decodings of a code of O(log N) bits, each about log³ N steps, for each of O(log s) stages.
    """
    if measured.shape != (operator.cells,):
        raise ParameterError(f"measured must have shape ({operator.cells},), got {measured.shape}")
    if decoder not in ("faithful", "refit"):
        raise ParameterError(f"decoder must be faithful or refit, got decoder={decoder!r}")
    run = _recover_faithful if decoder == "faithful" else _recover_refit
    items, values = run(operator, measured, 1 << operator.bits if size is None else size)
    order = np.argsort(-values, kind="stable")
    return items[order], values[order]


def error_bound(rest_norm: float, noise_norm: float, size: int, sparsity: int) -> float:
    """The guarantee of sparse recovery behind Theorem 4.2: C₁·‖v − v_s‖₂ + C₂·‖z‖₂/√log₂(N/s), for every count at once.

    The constants C₁ = 1.3 and C₂ = 0.5 are not the paper's. Measurements of hubbub's operator stay within them
    (tests/mechanisms/test_glps_recovery.py); there is no proof.
    """
    return 1.3 * rest_norm + 0.5 * noise_norm / math.sqrt(math.log2(size / sparsity))


def _recover_faithful(operator: Operator, measured: NDArray[np.float64], size: int) -> Recovered:
    """Stage after stage: identify, estimate by medians, keep the largest, subtract."""
    left = measured
    sparsity = operator.layout.sparsity
    found = np.empty((0, operator.sign_rows.shape[1]), np.uint64)
    values: NDArray[np.float64] = np.empty(0)
    for stage in range(len(operator.layout.stages)):
        items = identify(operator, stage, left, size)
        estimates = _stage_estimates(operator, stage, left, items)
        keep = 1 if sparsity == 1 else 2 * -(-sparsity >> stage)
        kept = np.argsort(-np.abs(estimates), kind="stable")[:keep]
        left = left - operator.measure(items[kept], estimates[kept])
        # If a coordinate is found again, its values add up.
        found, places = np.unique(np.concatenate([found, items[kept]]), axis=0, return_inverse=True)
        values = np.bincount(places.ravel(), np.concatenate([values, estimates[kept]]), len(found)).astype(np.float64)
    return found, values


def _recover_refit(operator: Operator, measured: NDArray[np.float64], size: int) -> Recovered:
    """Stage after stage: identify, fit all again, keep the largest 2s."""
    left = measured
    found = np.empty((0, operator.sign_rows.shape[1]), np.uint64)
    values: NDArray[np.float64] = np.empty(0)
    for stage in range(len(operator.layout.stages)):
        found = np.unique(np.concatenate([found, identify(operator, stage, left, size)]), axis=0)
        values, left = fit(operator, found, measured)
        kept = np.argsort(-np.abs(values), kind="stable")[: 2 * operator.layout.sparsity]
        found = found[kept]
        values, left = fit(operator, found, measured)
    return found, values


def identify(operator: Operator, stage: int, left: NDArray[np.float64], size: int) -> NDArray[np.uint64]:
    """The coordinates decoded from the buckets of the stage's identification blocks, without duplicates."""
    blocks = [block for block in operator.blocks if block.stage == stage and block.code is not None]
    items = np.unique(np.concatenate([_identify_in(operator.bits, block, left) for block in blocks]), axis=0)
    if size < 1 << operator.bits:
        items = items[[int.from_bytes(item.astype("<u8").tobytes(), "little") < size for item in items]]
    return items


def _identify_in(bits: int, block: Block, left: NDArray[np.float64]) -> NDArray[np.uint64]:
    """The coordinate of each non-empty bucket of one block, decoded from the signs of its slots."""
    assert block.code is not None  # noqa: S101  # for the type checker
    assert block.inverse is not None  # noqa: S101
    message_bits = bits - block.bucket_bits
    table = block.table(left).T
    full = np.flatnonzero(table.any(axis=1))  # buckets with a measurement
    images = np.zeros((len(full), bits), np.uint8)
    for number, bucket in enumerate(full):
        word, _ = ordered_statistics.decode(block.code, message_bits + 1, table[bucket], ORDER)
        images[number, : block.bucket_bits] = bucket >> np.arange(block.bucket_bits) & 1
        images[number, block.bucket_bits :] = gf2.unpack(word[np.newaxis], message_bits + 1)[0, :-1]
    return gf2.pack(gf2.parities(block.inverse, gf2.pack(images)))


def _stage_estimates(
    operator: Operator, stage: int, left: NDArray[np.float64], items: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """The median over the stage's estimation blocks, or over its identification blocks if it has no others."""
    cells, signs = operator.columns(items)
    seen = signs * left[cells]
    blocks = [block for block in operator.blocks if block.stage == stage]
    chosen = [block for block in blocks if block.code is None] or blocks
    means = [seen[:, block.first_slot : block.first_slot + block.slots].mean(axis=1) for block in chosen]
    return np.asarray(np.median(means, axis=0), np.float64)


def fit(
    operator: Operator, items: NDArray[np.uint64], measured: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least-squares values at these coordinates, and the residual measurements."""
    return least_squares(*operator.columns(items), measured)
