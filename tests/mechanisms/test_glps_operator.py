"""The measurement operator: equal to its slow twin, and of the sizes it should have."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.reference import naive

from hubbub.mechanisms.glps.operator import Layout, Operator, Stage, code_rows, lean, staged
from hubbub.numeric import gf2
from hubbub.numeric.hadamard import transform_rows
from hubbub.numeric.hashing import Purpose, derive_key
from hubbub.testing import public_seed

PURPOSES = (Purpose.SPARSE_MATRIX, Purpose.SPARSE_CODE, Purpose.SPARSE_ESTIMATE)


def twin_slots(bits: int, layout: Layout, seed: bytes):
    """The slots of the slow twin."""
    keys = [derive_key(seed, purpose) for purpose in PURPOSES]
    stages = [(stage.bucket_bits, stage.code_rows, stage.estimate_bits) for stage in layout.stages]
    as_bytes = [(key.high << 32 | key.low).to_bytes(8, "little") for key in keys]
    return naive.sparse_slots(as_bytes, bits, layout.repeats, layout.estimates, stages)


CASES = [
    (1, staged(1, 1)),
    (3, staged(3, 2)),
    (7, staged(7, 3)),
    (12, lean(12, 2)),
    (70, lean(70, 1)),
    (66, Layout(1, 1, 2, (Stage(0, code_rows(66), 3),))),
]


@pytest.mark.parametrize(("bits", "layout"), CASES)
def test_operator_equals_its_twin(bits: int, layout: Layout) -> None:
    """Columns and characters, entry by entry, from a second implementation with Python integers."""
    seed = public_seed(bits)
    operator = Operator(bits, layout, seed)
    slots = twin_slots(bits, layout, seed)
    assert len(slots) == operator.slots == layout.slots
    numbers = sorted({0, 1, 2**bits - 1, *(pow(3, k, 2**bits) for k in range(6))})
    items = naive.to_packed(numbers, bits)
    cells, signs = operator.columns(items)
    for row, number in enumerate(numbers):
        assert dict(zip(cells[row].tolist(), signs[row].tolist(), strict=True)) == naive.sparse_column(slots, number)
    some = np.arange(0, operator.cells, 1 + operator.cells // 50)
    expected = [naive.sparse_character(slots, cell) for cell in some.tolist()]
    assert naive.to_ints(operator.characters(some)) == expected


@pytest.mark.parametrize(
    ("layout", "rows", "slots"),
    [
        (staged(32, 4), 6432, 421),
        (lean(32, 1), 1088, 136),
        (lean(62, 1), 2048, 256),
        (staged(62, 4), 11232, 781),
    ],
)
def test_sizes(layout: Layout, rows: int, slots: int) -> None:
    """Rows and entries of a column for four layouts, counted by hand."""
    assert (layout.cells, layout.slots) == (rows, slots)
    assert len(layout.slot_bits) == slots
    assert int((1 << layout.slot_bits).sum()) == rows


def test_rows_grow_as_s_log_n_over_s() -> None:
    """Rows / (s·log₂(N/s)) stays below one constant for all sparsities and universes up to 2^512."""
    shares = [
        staged(bits, sparsity).cells / (sparsity * (bits - math.log2(sparsity)))
        for bits in (20, 32, 64, 128, 256, 512)
        for sparsity in (1, 2, 4, 8, 16, 32, 64)
    ]
    assert min(shares) > 15
    assert max(shares) < 110


def test_every_slot_has_one_entry_of_a_column() -> None:
    """The entries of a column are ±1, one for each slot, inside that slot's rows."""
    operator = Operator(40, staged(40, 3), public_seed(1))
    items = np.random.default_rng(1).integers(0, 2**40, (50, 1), dtype=np.uint64)
    cells, signs = operator.columns(items)
    assert cells.shape == signs.shape == (50, operator.slots)
    assert set(np.unique(signs).tolist()) == {-1, 1}
    assert ((cells >= operator.first_cells) & (cells < operator.first_cells + (1 << operator.slot_bits))).all()


def test_measuring_is_linear() -> None:
    """Φ(2v + w) = 2Φv + Φw, also with an item twice and with none."""
    operator = Operator(40, staged(40, 2), public_seed(2))
    items = np.random.default_rng(2).integers(0, 2**40, (9, 1), dtype=np.uint64)
    values = np.arange(1.0, 10.0)
    apart = 2 * operator.measure(items[:4], values[:4]) + operator.measure(items[4:], values[4:])
    together = operator.measure(np.concatenate([items[:4], items]), np.concatenate([values[:4], values]))
    assert np.array_equal(apart, together)
    assert not operator.measure(items[:0], values[:0]).any()


def test_characters_are_the_transformed_columns() -> None:
    """(−1)^⟨a, x⟩ over the cells of a slot is the Walsh–Hadamard transform of x's column there."""
    operator = Operator(16, staged(16, 2), public_seed(3))
    items = np.array([[0], [1], [54321]], np.uint64)
    cells = np.arange(operator.cells)
    for item in items:
        column = operator.measure(item[np.newaxis], np.ones(1))
        told = 1.0 - 2.0 * gf2.parity_pairs(operator.characters(cells), item[np.newaxis])
        transformed = [transform_rows(block.table(column)).ravel() for block in operator.blocks]
        assert np.array_equal(np.concatenate(transformed), told)


def test_public_seeds_give_unrelated_operators() -> None:
    """Another seed, other signs; the same seed, the same."""
    one, again, two = (Operator(32, lean(32, 1), public_seed(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one.sign_rows, again.sign_rows)
    assert (one.sign_rows != two.sign_rows).mean() > 0.99
    assert len(np.unique(one.sign_rows, axis=0)) == one.slots
