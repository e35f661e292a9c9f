from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.reference import naive

from hubbub.errors import ParameterError
from hubbub.numeric import gf2
from hubbub.numeric.ordered_statistics import decode

SIZES = [1, 2, 63, 64, 65, 130]


def random_code(rng: np.random.Generator, length: int, columns: int) -> NDArray[np.uint64]:
    """Draw `length` rows of full column rank."""
    while True:
        rows = gf2.pack(rng.integers(0, 2, (length, columns), dtype=np.uint8))
        if naive.rank(naive.to_ints(rows)) == columns:
            return rows


def random_x(rng: np.random.Generator, columns: int) -> NDArray[np.uint64]:
    """Draw one packed vector of fair bits."""
    return gf2.pack(rng.integers(0, 2, (1, columns), dtype=np.uint8))[0]


def signs(rows: NDArray[np.uint64], x: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the codeword of x as plus and minus ones."""
    return 1.0 - 2.0 * gf2.parity_pairs(rows, x[np.newaxis])


def whole_soft(rng: np.random.Generator, rows: NDArray[np.uint64], columns: int) -> NDArray[np.float64]:
    """Draw noisy soft values that are whole numbers, so that float64 sums are exact and ties are frequent."""
    return 2.0 * signs(rows, random_x(rng, columns)) + np.rint(rng.normal(0, 3, rows.shape[0]))


def as_twin(decoded: tuple[NDArray[np.uint64], float]) -> tuple[int, float]:
    """Return a decoded pair with x as an int."""
    return naive.to_ints(decoded[0][np.newaxis])[0], decoded[1]


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("columns", SIZES)
def test_noiseless_soft_values_give_x(columns: int, order: int) -> None:
    """Without noise the true x comes back, with the sum of all reliabilities as its score."""
    rng = np.random.default_rng([columns, order])
    rows = random_code(rng, columns + 40, columns)
    x = random_x(rng, columns)
    reliability = rng.integers(1, 50, rows.shape[0])
    found, score = decode(rows, columns, reliability * signs(rows, x), order)
    assert found.dtype == np.uint64
    assert np.array_equal(found, x)
    assert score == reliability.sum()


def test_largest_code_noiseless() -> None:
    """The longest code in use decodes without noise."""
    rng = np.random.default_rng(512)
    rows = gf2.pack(rng.integers(0, 2, (9804, 512), dtype=np.uint8))
    x = random_x(rng, 512)
    found, score = decode(rows, 512, signs(rows, x), order=2)
    assert np.array_equal(found, x)
    assert score == 9804


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@settings(derandomize=True, deadline=None, max_examples=40)
@given(data=st.data())
def test_small_codes_equal_the_enumeration(order: int, data: st.DataObject) -> None:
    """Scores and x, ties included, are those of trying every flip one by one."""
    columns = data.draw(st.integers(1, 8))
    extra = data.draw(st.lists(st.integers(0, 2**columns - 1), max_size=12))
    ints = data.draw(st.permutations([*(1 << place for place in range(columns)), *extra]))
    soft = data.draw(st.lists(st.integers(-4, 4), min_size=len(ints), max_size=len(ints)))
    found = decode(naive.to_packed(ints, columns), columns, np.array(soft, dtype=np.float64), order)
    assert as_twin(found) == naive.ordered_statistics(ints, columns, soft, order)


@pytest.mark.parametrize(
    ("columns", "length", "order"),
    [(63, 90, 1), (64, 90, 1), (65, 90, 1), (130, 200, 1), (63, 80, 2), (64, 80, 2), (65, 80, 2), (20, 60, 3)],
)
def test_larger_codes_equal_the_enumeration(columns: int, length: int, order: int) -> None:
    """Around the borders of a word, too, x and score are those of trying every flip."""
    rng = np.random.default_rng([columns, length, order])
    rows = random_code(rng, length, columns)
    soft = whole_soft(rng, rows, columns)
    expected = naive.ordered_statistics(naive.to_ints(rows), columns, soft.tolist(), order)
    assert as_twin(decode(rows, columns, soft, order)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_pure_noise_equals_the_enumeration(whole: bool) -> None:
    """Soft values near no codeword, where the best often takes 1, 2 or 3 flips, decode as by trying every flip."""
    rng = np.random.default_rng([1, whole])
    improved = [0, 0, 0, 0]
    for _ in range(60):
        rows = random_code(rng, 120, 14)
        noise = rng.normal(0, 4, 120)
        soft = np.rint(noise) if whole else noise
        before = -math.inf
        for order in range(4):
            x, score = as_twin(decode(rows, 14, soft, order))
            expected_x, expected_score = naive.ordered_statistics(naive.to_ints(rows), 14, soft.tolist(), order)
            assert x == expected_x
            assert score == (expected_score if whole else pytest.approx(expected_score, rel=1e-12))
            improved[order] += expected_score > before
            before = expected_score
    # Otherwise the comparison would pass with wrong gains of pairs or triples.
    assert min(improved) >= 10


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_as_many_flips_as_bits_is_exhaustive(columns: int, seed: int) -> None:
    """Flipping any subset of the decisions reaches every codeword, so the score is the best there is."""
    rng = np.random.default_rng([2, columns, seed])
    rows = random_code(rng, 12, columns)
    soft = rng.integers(-5, 6, 12).astype(np.float64)
    for order in range(columns, 4):
        x, score = as_twin(decode(rows, columns, soft, order))
        assert score == naive.best_codeword(naive.to_ints(rows), columns, soft.tolist())[1]
        assert score == naive.score(naive.to_ints(rows), soft.tolist(), x)


@pytest.mark.parametrize("seed", range(20))
def test_more_flips_never_score_less(seed: int) -> None:
    """Scores rise with the order, stay at or below the exhaustive best, and are the scores of the x returned."""
    rng = np.random.default_rng([3, seed])
    rows = random_code(rng, 30, 9)
    soft = whole_soft(rng, rows, 9)
    found = [as_twin(decode(rows, 9, soft, order)) for order in range(4)]
    scores = [score for _, score in found]
    assert scores == sorted(scores)
    assert scores[-1] <= naive.best_codeword(naive.to_ints(rows), 9, soft.tolist())[1]
    assert scores == [naive.score(naive.to_ints(rows), soft.tolist(), x) for x, _ in found]


@pytest.mark.parametrize("wrong", [(0,), (32,), (0, 1), (31, 32), (0, 32), (0, 1, 2), (30, 31, 32), (0, 16, 32)])
def test_wrong_decisions_need_as_many_flips(wrong: tuple[int, ...]) -> None:
    """With some of the surest rows against x, wherever they rank, x is found from that many flips on, not before."""
    rng = np.random.default_rng(4)
    rows = random_code(rng, 300, 33)
    x = random_x(rng, 33)
    soft = signs(rows, x)
    # Raise the rows of one basis above the others, so that they are the decisions, and turn some around.
    basis = gf2.independent_rows(rows, 33)
    soft[basis] *= 2
    soft[basis[list(wrong)]] *= -1
    succeeded = [np.array_equal(decode(rows, 33, soft, order)[0], x) for order in range(4)]
    assert succeeded == [order >= len(wrong) for order in range(4)]


def test_noise_is_corrected() -> None:
    """In noise where hard decisions alone fail more often than not, order 2 finds x at least two times in three."""
    rng = np.random.default_rng(5)
    rows = random_code(rng, 684, 32)
    right = {0: 0, 2: 0}
    for _ in range(100):
        x = random_x(rng, 32)
        # The long-run rates at this strength are 0.26 and 0.84, so that the bounds do not hang on the seed.
        soft = 0.6 * signs(rows, x) + rng.normal(size=684)
        for order in right:
            right[order] += np.array_equal(decode(rows, 32, soft, order)[0], x)
    assert right[0] < 50
    assert right[2] > 66


@pytest.mark.parametrize("factor", [2.0**-40, 1e-30, 0.1, 1 / 3, math.pi, 7e20])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_scale_does_not_matter(factor: float, order: int) -> None:
    """Scaled soft values give the same x and the scaled score, even where scores tie and rounding would choose."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        rows = random_code(rng, 100, 30)
        soft = rng.choice([-3.0, -1.0, 1.0, 3.0], 100)
        x, score = decode(rows, 30, soft, order)
        scaled_x, scaled_score = decode(rows, 30, factor * soft, order)
        assert np.array_equal(scaled_x, x)
        assert scaled_score == pytest.approx(factor * score, rel=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("columns", SIZES[:5])
def test_no_evidence_gives_zero(columns: int, order: int) -> None:
    """When every soft value is zero all x tie, and the first is zero."""
    rows = random_code(np.random.default_rng(columns), columns + 5, columns)
    x, score = decode(rows, columns, np.zeros(columns + 5), order)
    assert not x.any()
    assert score == 0


def test_as_many_rows_as_bits() -> None:
    """With K = L every hard decision can hold at once, and no flip helps."""
    rng = np.random.default_rng(7)
    rows = random_code(rng, 65, 65)
    soft = rng.normal(size=65)
    for order in range(4):
        x, score = decode(rows, 65, soft, order)
        assert np.array_equal(signs(rows, x) < 0, soft < 0)
        assert score == np.abs(soft).sum()


def test_arguments_are_left_alone() -> None:
    """Read-only arguments are accepted and a second call answers the same."""
    rng = np.random.default_rng(8)
    rows = random_code(rng, 90, 65)
    soft = rng.normal(size=90)
    rows.flags.writeable = soft.flags.writeable = False
    first, second = decode(rows, 65, soft, 3), decode(rows, 65, soft, 3)
    assert np.array_equal(first[0], second[0])
    assert first[1] == second[1]


@pytest.mark.parametrize("order", [-1, 4, 10])
def test_order_must_be_known(order: int) -> None:
    """Any other order is refused by name and value."""
    with pytest.raises(ParameterError, match=rf"^order must be 0, 1, 2 or 3, got order={order}$"):
        decode(np.ones((1, 1), dtype=np.uint64), 1, np.ones(1), order)


def test_bad_arguments_are_refused() -> None:
    """A low rank, disagreeing shapes, no columns and values that are not finite are refused."""
    identity = gf2.pack(np.eye(4, dtype=np.uint8))
    with pytest.raises(ParameterError, match=r"^rows must have rank columns=5, got rank 4$"):
        decode(identity, 5, np.ones(4))
    with pytest.raises(ParameterError, match=r"each of 4 rows, got shape \(3,\)"):
        decode(identity, 4, np.ones(3))
    with pytest.raises(ParameterError, match="got columns=0"):
        decode(identity[:, :0], 0, np.ones(4))
    for value in (math.nan, math.inf, -math.inf):
        with pytest.raises(ParameterError, match="soft must be finite"):
            decode(identity, 4, np.array([1.0, value, 1.0, 1.0]))
