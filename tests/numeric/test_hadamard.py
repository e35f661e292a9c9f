"""The transform and its random twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import naive

from hubbub.numeric.hadamard import sample_characters, sample_signed_characters, transform, transform_rows
from hubbub.testing import assert_same_law


@given(st.integers(0, 7).flatmap(lambda k: st.lists(st.integers(-(2**40), 2**40), min_size=2**k, max_size=2**k)))
def test_transform_equals_definition(values: list[int]) -> None:
    """The butterfly is the sum over all characters, exactly, and leaves its input alone."""
    given_ = np.array(values, np.int64)
    assert transform(given_).tolist() == naive.walsh_hadamard(values)
    assert given_.tolist() == values


def test_transform_is_its_own_inverse() -> None:
    """Twice the transform is N times the values."""
    values = np.random.default_rng(1).integers(-(2**30), 2**30, 2**12)
    assert np.array_equal(transform(transform(values)), 2**12 * values)


def test_rows_are_transformed_each() -> None:
    """Many short rows at once are the transforms of each."""
    values = np.random.default_rng(2).integers(-1000, 1000, (5, 16)).astype(np.float64)
    assert transform_rows(values).tolist() == [naive.walsh_hadamard(row) for row in values.tolist()]
    assert np.array_equal(transform_rows(values[:, :1]), values[:, :1])


def test_signed_people_are_people_with_their_signs_exchanged() -> None:
    """A crowd with signs −1 is the crowd with signs +1 and the answers exchanged; crowds do not mix."""
    crowd = np.array([[9, 0, 3, 1], [0, 0, 7, 2], [0, 0, 0, 0]])
    none = np.zeros_like(crowd)
    plus, minus = sample_signed_characters(crowd, none, np.random.default_rng(4))
    one = np.arange(4)
    assert (plus + minus).sum(axis=1).tolist() == [13, 9, 0]
    assert not minus[:, 0].any()
    exchanged = sample_signed_characters(none, crowd, np.random.default_rng(4))
    assert not exchanged[0][:, 0].any()
    # A lone value tells its parity in every row.
    plus, minus = sample_signed_characters(np.array([[0, 0, 0, 500]]), np.array([[0] * 4]), np.random.default_rng(5))
    told = [naive.parity(3, int(row)) for row in one]
    assert [bool(p) for p in plus[0]] == [bit == 0 for bit in told]
    assert [bool(m) for m in minus[0]] == [bit == 1 for bit in told]


def draw_by_person(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same draw, person by person."""
    signed = np.zeros((len(counts), 2), np.int64)
    for item, count in enumerate(counts):
        for row in rng.integers(0, len(counts), count):
            signed[row, naive.parity(int(row), item)] += 1
    return signed


def test_sampled_characters_have_the_law_of_people() -> None:
    """The random butterfly has the law of everyone drawing a row, in single cells and in random directions."""
    counts = np.array([9, 0, 3, 1, 0, 5, 2, 2])
    rng = np.random.default_rng(2)
    directions = np.concatenate([np.eye(16)[[0, 5, 11]], rng.normal(size=(3, 16))])
    fast = np.array([directions @ np.stack(sample_characters(counts, rng), 1).ravel() for _ in range(1500)]).T
    slow = np.array([directions @ draw_by_person(counts, rng).ravel() for _ in range(1500)]).T
    for first, second in zip(fast, slow, strict=True):
        assert_same_law(first, second)
    # The mutant: six people fewer on the first item.
    wrong = counts - np.array([6, 0, 0, 0, 0, 0, 0, 0])
    mutant = np.array([directions @ np.stack(sample_characters(wrong, rng), 1).ravel() for _ in range(1500)]).T
    with pytest.raises(AssertionError):
        assert_same_law(mutant[0], slow[0])


def test_everyone_is_somewhere() -> None:
    """No person is lost or doubled, and row 0 has only plus signs."""
    plus, minus = sample_characters(np.array([10**9, 7, 0, 5]), np.random.default_rng(3))
    assert plus.sum() + minus.sum() == 10**9 + 12
    assert minus[0] == 0
