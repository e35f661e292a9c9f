from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.reference import naive

from hubbub.errors import ParameterError
from hubbub.numeric import gf2

SIZES = [1, 2, 63, 64, 65, 130]

repeatable = settings(derandomize=True, deadline=None, max_examples=60)


def random_bits(rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.uint8]:
    """Draw a matrix of fair bits."""
    return rng.integers(0, 2, (rows, columns), dtype=np.uint8)


def low_rank(rng: np.random.Generator, rows: int, columns: int, rank: int) -> NDArray[np.uint8]:
    """Draw a matrix of at most the given rank, as a product of two fair ones."""
    factors = random_bits(rng, rows, rank).astype(np.int64), random_bits(rng, rank, columns).astype(np.int64)
    return (factors[0] @ factors[1] % 2).astype(np.uint8)


def invertible(rng: np.random.Generator, size: int) -> NDArray[np.uint64]:
    """Draw matrices until one is invertible."""
    while True:
        matrix = gf2.pack(random_bits(rng, size, size))
        if naive.rank(naive.to_ints(matrix)) == size:
            return matrix


@st.composite
def matrices(draw: st.DrawFn) -> tuple[NDArray[np.uint64], int]:
    """Draw a small matrix with many dependent rows, and its columns."""
    columns = draw(st.integers(1, 70))
    some = draw(st.lists(st.integers(0, 2**columns - 1), max_size=6))
    rows = draw(st.lists(st.integers(0, 2**columns - 1) | st.sampled_from([0, *some]), max_size=12))
    return naive.to_packed(rows, columns), columns


@pytest.mark.parametrize("columns", SIZES)
def test_pack_puts_column_j_in_bit_j(columns: int) -> None:
    """A packed row read as one int has column j as its bit j, and nothing beyond."""
    bits = random_bits(np.random.default_rng(columns), 7, columns)
    packed = gf2.pack(bits)
    assert packed.dtype == np.uint64
    assert packed.shape == (7, -(-columns // 64))
    assert naive.to_ints(packed) == [sum(int(bit) << place for place, bit in enumerate(row)) for row in bits]


@pytest.mark.parametrize("columns", SIZES)
def test_unpack_undoes_pack(columns: int) -> None:
    """Bits of either dtype, in any memory order, come back."""
    bits = random_bits(np.random.default_rng(columns), 9, columns)
    unpacked = gf2.unpack(gf2.pack(bits), columns)
    assert unpacked.dtype == np.uint8
    assert np.array_equal(unpacked, bits)
    assert np.array_equal(gf2.unpack(gf2.pack(bits.astype(np.bool_)), columns), bits)
    assert np.array_equal(gf2.unpack(gf2.pack(np.asfortranarray(bits)), columns), bits)
    assert np.array_equal(gf2.unpack(np.asfortranarray(gf2.pack(bits)), columns), bits)


def test_pack_takes_a_matrix_without_rows() -> None:
    """No rows pack into no rows."""
    packed = gf2.pack(np.zeros((0, 65), dtype=np.uint8))
    assert packed.shape == (0, 2)
    assert gf2.unpack(packed, 65).shape == (0, 65)
    assert gf2.rank(packed, 65) == 0


@repeatable
@given(matrices())
def test_independent_rows_are_the_greedy_ones(drawn: tuple[NDArray[np.uint64], int]) -> None:
    """The chosen rows, and so the rank, are those of the twin."""
    matrix, columns = drawn
    expected = naive.independent_rows(naive.to_ints(matrix))
    chosen = gf2.independent_rows(matrix, columns)
    assert chosen.dtype == np.int64
    assert chosen.tolist() == expected
    assert gf2.rank(matrix, columns) == len(expected)


@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize("rows", [1, 64, 150])
@pytest.mark.parametrize("rank", [1, 5, 64])
def test_independent_rows_of_low_rank(rows: int, columns: int, rank: int) -> None:
    """Rank-deficient matrices of every shape give the rows of the twin."""
    rng = np.random.default_rng([rows, columns, rank])
    matrix = gf2.pack(low_rank(rng, rows, columns, rank))
    assert gf2.independent_rows(matrix, columns).tolist() == naive.independent_rows(naive.to_ints(matrix))


@pytest.mark.parametrize("limit", [0, 1, 3, 40, 1000])
def test_independent_rows_stop_at_the_limit(limit: int) -> None:
    """A limit keeps the first of the chosen rows."""
    matrix = gf2.pack(low_rank(np.random.default_rng(2), 90, 65, 40))
    everything = gf2.independent_rows(matrix, 65)
    assert np.array_equal(gf2.independent_rows(matrix, 65, limit=limit), everything[:limit])


def test_independent_rows_leave_the_matrix_alone() -> None:
    """Neither choosing rows nor inverting writes into its argument, and a read-only one is fine."""
    matrix = invertible(np.random.default_rng(3), 65)
    before = matrix.copy()
    matrix.flags.writeable = False
    gf2.independent_rows(matrix, 65)
    gf2.inverse(matrix)
    assert np.array_equal(matrix, before)


@pytest.mark.parametrize("size", SIZES)
def test_inverse_is_the_twins(size: int) -> None:
    """The inverse is that of the twin, and inverting again gives the matrix."""
    matrix = invertible(np.random.default_rng(size), size)
    inverted = gf2.inverse(matrix)
    assert naive.to_ints(inverted) == naive.inverse(naive.to_ints(matrix))
    assert np.array_equal(gf2.inverse(inverted), matrix)


@pytest.mark.parametrize("size", SIZES)
def test_inverse_times_the_matrix_is_the_identity(size: int) -> None:
    """Ordinary integer multiplication mod 2 agrees that it is the inverse."""
    matrix = invertible(np.random.default_rng([7, size]), size)
    product = gf2.unpack(gf2.inverse(matrix), size).astype(np.int64) @ gf2.unpack(matrix, size)
    assert np.array_equal(product % 2, np.eye(size, dtype=np.int64))


@pytest.mark.parametrize(("size", "rank"), [(1, 0), (2, 1), (64, 63), (65, 64), (65, 3), (130, 100)])
def test_inverse_refuses_a_singular_matrix(size: int, rank: int) -> None:
    """The message has the rank got and the rank needed."""
    bits = np.zeros((size, size), dtype=np.uint8)
    bits[:rank, :rank] = np.eye(rank)
    shuffled = bits[np.random.default_rng(size).permutation(size)]
    with pytest.raises(ParameterError, match=rf"^a matrix must be invertible, got rank {rank} of {size}$"):
        gf2.inverse(gf2.pack(shuffled))


@repeatable
@given(st.data())
def test_solve_agrees_with_trying_every_x(data: st.DataObject) -> None:
    """Small systems have the only solution, none, or dependent columns, as trying every x says."""
    columns = data.draw(st.integers(1, 5))
    rows = data.draw(st.lists(st.integers(0, 2**columns - 1), min_size=1, max_size=8))
    rhs = data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    matrix, values = naive.to_packed(rows, columns), np.array(rhs, dtype=np.uint8)
    # Dependent columns: some x other than zero is sent to zero.
    if len(naive.solutions(rows, [0] * len(rows), columns)) > 1:
        with pytest.raises(ParameterError, match="full column rank"):
            gf2.solve(matrix, values, columns)
        return
    solution = gf2.solve(matrix, values, columns)
    found = [] if solution is None else naive.to_ints(solution[np.newaxis])
    assert found == naive.solutions(rows, rhs, columns)


@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize("extra", [0, 1, 50])
def test_solve_finds_the_solution(columns: int, extra: int) -> None:
    """A consistent system gives back the x it was made from."""
    rng = np.random.default_rng([columns, extra])
    matrix = np.concatenate([gf2.pack(random_bits(rng, extra, columns)), invertible(rng, columns)])
    x = gf2.pack(random_bits(rng, 1, columns))
    rhs = gf2.parity_pairs(matrix, x)
    solution = gf2.solve(matrix, rhs, columns)
    assert solution is not None
    assert np.array_equal(solution, x[0])
    assert naive.solve(naive.to_ints(matrix), rhs.tolist(), columns) == naive.to_ints(x)[0]


@pytest.mark.parametrize("columns", SIZES)
def test_solve_sees_a_contradiction(columns: int) -> None:
    """Changing the right side of one row that the others imply leaves no solution."""
    rng = np.random.default_rng([9, columns])
    first = invertible(rng, columns)
    implied = np.bitwise_xor.reduce(first, axis=0, keepdims=True)
    matrix = np.concatenate([first, implied])
    rhs = gf2.parity_pairs(matrix, gf2.pack(random_bits(rng, 1, columns)))
    rhs[-1] ^= 1
    assert gf2.solve(matrix, rhs, columns) is None
    assert naive.solve(naive.to_ints(matrix), rhs.tolist(), columns) is None


@pytest.mark.parametrize("columns", SIZES)
def test_solve_refuses_dependent_columns(columns: int) -> None:
    """A system whose last column is zero has no unique solution."""
    bits = np.eye(columns + 3, columns, dtype=np.uint8)
    bits[:, -1] = 0
    with pytest.raises(ParameterError, match=rf"full column rank, got rank {columns - 1} of {columns}$"):
        gf2.solve(gf2.pack(bits), np.zeros(columns + 3, dtype=np.uint8), columns)


@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize(("rows", "vectors"), [(1, 1), (9, 17), (64, 3), (65, 40)])
def test_parities_are_the_twins(columns: int, rows: int, vectors: int) -> None:
    """Every pair has the parity of the twin, in the right place."""
    rng = np.random.default_rng([columns, rows, vectors])
    matrix, sample = (gf2.pack(random_bits(rng, count, columns)) for count in (rows, vectors))
    found = gf2.parities(matrix, sample)
    assert found.dtype == np.uint8
    assert found.shape == (vectors, rows)
    assert found.tolist() == naive.parities(naive.to_ints(matrix), naive.to_ints(sample))


@pytest.mark.parametrize("place", range(64))
def test_parities_see_every_bit(place: int) -> None:
    """One common bit, wherever it is in the second word, is odd, and two are even."""
    one, two = 1 << (64 + place), 1 << (64 + place) | 1
    matrix = naive.to_packed([one, two], 128)
    assert gf2.parities(matrix, matrix).tolist() == [[1, 1], [1, 0]]


def test_parities_take_views() -> None:
    """Strided arguments give what their copies give."""
    rng = np.random.default_rng(4)
    matrix, sample = (gf2.pack(random_bits(rng, count, 130)) for count in (20, 30))
    assert np.array_equal(gf2.parities(matrix[::2], sample[::-3]), gf2.parities(matrix, sample)[::-3, ::2])


def test_parities_of_nothing() -> None:
    """No rows or no vectors give an empty answer of the right shape."""
    none, some = np.zeros((0, 2), dtype=np.uint64), np.ones((3, 2), dtype=np.uint64)
    assert gf2.parities(none, some).shape == (3, 0)
    assert gf2.parities(some, none).shape == (0, 3)
    assert gf2.parity_pairs(none, none).shape == (0,)


@pytest.mark.parametrize("columns", SIZES)
def test_parity_pairs_are_the_diagonal(columns: int) -> None:
    """Pairing row with row is the diagonal of all pairs, and a single row pairs with all."""
    rng = np.random.default_rng([5, columns])
    a, b = (gf2.pack(random_bits(rng, 40, columns)) for _ in range(2))
    found = gf2.parity_pairs(a, b)
    assert found.dtype == np.uint8
    assert np.array_equal(found, np.diagonal(gf2.parities(a, b)))
    assert found.tolist() == [naive.parity(*pair) for pair in zip(*map(naive.to_ints, (a, b)), strict=True)]
    assert np.array_equal(gf2.parity_pairs(a, b[:1]), gf2.parities(a, b[:1])[0])


@pytest.mark.parametrize("columns", [1, 63, 64, 65])
def test_kernels_stay_within_their_arrays(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as plain Python, where numpy checks every index that compiled code does not, the answers are the same."""
    rng = np.random.default_rng([6, columns])
    matrix = invertible(rng, columns)
    taller = np.concatenate([matrix, gf2.pack(low_rank(rng, 20, columns, 5))])

    def answers() -> list[list[object]]:
        chosen = [gf2.independent_rows(taller, columns, limit=limit) for limit in (0, 1, columns // 2, None)]
        return [answer.tolist() for answer in (*chosen, gf2.inverse(matrix), gf2.parities(taller, matrix))]

    compiled = answers()
    kernels = {name: kernel for name, kernel in vars(gf2).items() if hasattr(kernel, "py_func")}
    assert len(kernels) >= 3
    for name, kernel in kernels.items():
        monkeypatch.setattr(gf2, name, kernel.py_func)
    assert answers() == compiled


def test_shapes_that_disagree_are_refused() -> None:
    """A wrong number of limbs, bits or rows is a ParameterError, not a wrong answer."""
    one, two = np.zeros((3, 1), dtype=np.uint64), np.zeros((3, 2), dtype=np.uint64)
    with pytest.raises(ParameterError, match="65 columns must have 2 limbs a row, got 1"):
        gf2.unpack(one, 65)
    with pytest.raises(ParameterError, match="64 columns must have 1 limbs a row, got 2"):
        gf2.rank(two, 64)
    with pytest.raises(ParameterError, match="3 columns must have 1 limbs a row, got 2"):
        gf2.inverse(two)
    with pytest.raises(ParameterError, match="1 limbs of the rows, got 2 limbs"):
        gf2.parities(one, two)
    with pytest.raises(ParameterError, match="got 1 and 2 limbs"):
        gf2.parity_pairs(one, two)
    with pytest.raises(ParameterError, match=r"each of 3 rows, got shape \(2,\)"):
        gf2.solve(one, np.zeros(2, dtype=np.uint8), 4)
    with pytest.raises(ParameterError, match="got limit=-1"):
        gf2.independent_rows(one, 4, limit=-1)
