"""Shapes of trees: plans that are whole, and parameters of others that are refused."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hubbub import ParameterError
from hubbub.mechanisms.tree.shape import BitClass, Shape, class_bits, plan_shape, read_shape
from hubbub.mechanisms.tree.tuning import TUNING


def check_whole(shape: Shape, bits: int) -> None:
    """Coins rise to 2^24 with nobody left out, every class goes down to its last bit, and each step fits a bucket."""
    assert shape.ends[-1] == 1 << 24
    assert all(above < below for above, below in pairwise((0, *shape.ends)))
    assert shape.shares.sum() == pytest.approx(1.0)
    assert shape.classes[-1].bits == bits
    assert all(shorter.bits < longer.bits for shorter, longer in pairwise(shape.classes))
    for each in shape.classes:
        assert each.steps[0] >= 1
        assert 0 <= min(each.steps) <= max(each.steps) <= shape.bucket_bits
        assert max(each.steps[1:], default=0) <= TUNING.longest_step
        assert sum(each.steps) == each.depths[-1] == each.bits
        rows = [row for step in range(len(each.steps)) for row in each.rows(step, shape.rows)]
        assert rows == list(range(shape.rows))
        assert [each.step_of(row) for row in rows] == [min(row, len(each.steps) - 1) for row in rows]
        # The full depth has several rows, so that one collision cannot decide.
        assert len(each.rows(len(each.steps) - 1, shape.rows)) >= TUNING.last_rows
    assert read_shape(shape.to_parameters(), bits) == shape


@pytest.mark.parametrize("standard", [False, True])
@pytest.mark.parametrize("bits", [21, 22, 23, 24, 32, 40, 63, 64, 65, 127, 128, 129, 256, 511, 512])
def test_plans_of_numbers_are_whole(bits: int, standard: bool) -> None:
    """One class from the root to the last bit."""
    shape = plan_shape(bits, None, standard)
    check_whole(shape, bits)
    assert len(shape.classes) == 1
    assert shape.bucket_bits == TUNING.root_bits[standard]


@pytest.mark.parametrize("standard", [False, True])
@pytest.mark.parametrize(
    ("width", "typical"),
    [*((width, width) for width in (16, 17, 18, 19, 20, 21, 22, 40)), (96, 44), (136, 56), (160, 44)],
)
def test_plans_of_texts_are_whole(width: int, typical: int, standard: bool) -> None:
    """Many classes, and in items of few bits a single one."""
    shape = plan_shape(width, typical, standard)
    check_whole(shape, width)
    assert [each.bits for each in shape.classes] == class_bits(width, typical)


@pytest.mark.slow
def test_plans_of_any_width_are_whole() -> None:
    """All numbers of 21 to 200 bits, and texts up to the longest."""
    for bits in range(21, 201):
        check_whole(plan_shape(bits, None, bits % 2 == 0), bits)
    for width in (*range(16, 70, 3), 100, 192, 352, 512):
        check_whole(plan_shape(width, min(width, 64), width % 2 == 0), width)


@pytest.mark.parametrize("bits", [1, 2, 8, 20])
def test_small_universes_have_one_row(bits: int) -> None:
    """A cell for every value, and no hash."""
    assert plan_shape(bits, None, True) == Shape(bits, (1 << 24,), (BitClass((bits,)),))


def test_classes_are_finer_where_texts_are_usual() -> None:
    """Up to 20 bits one class, then two lengths in each, then four, then eight."""
    found = class_bits(512, 64)
    assert found[0] == 20
    assert [below - above for above, below in pairwise(found)] == [2] * 30 + [4] * 20 + [8] * 44
    assert class_bits(16, 16) == [16]
    assert class_bits(161, 64)[-2:] == [160, 161]


GOOD = {"bucket_bits": 16, "ends": [1 << 22, 1 << 23, 1 << 24], "steps": ["g8"]}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"bucket_bits": 21}, "bucket_bits"),
        ({"bucket_bits": 0}, "bucket_bits"),
        ({"bucket_bits": True}, "bucket_bits"),
        ({"ends": "x"}, "ends must be a list of 1 to 200 whole numbers, got 'x'"),
        ({"ends": []}, "ends must be a list of 1 to 200"),
        ({"ends": [True, 1 << 24]}, "ends must be a list of 1 to 200"),
        ({"ends": [*range(1, 201), 1 << 24]}, "ends must be a list of 1 to 200"),
        ({"ends": [5]}, "ends must rise to 2\\^24"),
        ({"ends": [7, 7, 1 << 24]}, "ends must rise to 2\\^24"),
        ({"ends": [0, 1 << 24]}, "ends must rise to 2\\^24"),
        ({"ends": [1 << 24]}, "steps must have strings of 1 to 1 digits"),
        ({"ends": [1 << 24], "steps": ["o"]}, "steps must have strings of 1 to 1 digits from 0 to k, got 'o'"),
        ({"ends": [1 << 24], "bucket_bits": 20, "steps": ["k"]}, "steps must add up to numbers that rise to 24"),
        ({"steps": "g8"}, "steps must be a list of 1 to 512 strings"),
        ({"steps": []}, "steps must be a list of 1 to 512 strings"),
        ({"steps": ["g8"] * 513}, "steps must be a list of 1 to 512 strings"),
        ({"steps": [24]}, "steps must have strings"),
        ({"steps": [""]}, "steps must have strings"),
        ({"steps": ["g800"]}, "steps must have strings of 1 to 3 digits"),
        ({"steps": ["g-8"]}, "steps must have strings"),
        ({"steps": ["0g8"]}, "steps must be of at most 16 bits each"),
        ({"steps": ["h7"]}, "steps must be of at most 16 bits each"),
        ({"steps": ["g7"]}, "steps must add up to numbers that rise to 24, got \\[23\\]"),
        ({"steps": ["g8", "g8"]}, "steps must add up to numbers that rise to 24"),
        ({"steps": ["g8", "g4"]}, "steps must add up to numbers that rise to 24"),
    ],
)
def test_other_shapes_are_refused(changed: dict, said: str) -> None:
    """Kernels use these numbers as indices: each must be one that a tree can have."""
    assert read_shape(GOOD, 24).rows == 3
    with pytest.raises(ParameterError, match=said):
        read_shape(GOOD | changed, 24)


def test_one_row_must_have_a_cell_for_every_value() -> None:
    """With one row, buckets are the values themselves."""
    one = {"bucket_bits": 9, "ends": [1 << 24], "steps": ["8"]}
    with pytest.raises(ParameterError, match="ends must have two entries or more for 8 bits, got one"):
        read_shape(one, 8)
    assert read_shape(one | {"bucket_bits": 8}, 8).rows == 1
