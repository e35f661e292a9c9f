"""Least squares with a sparse matrix of signs, against the dense solver."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.numeric.least_squares import least_squares


@pytest.mark.parametrize("columns", [0, 1, 7])
def test_it_is_what_the_dense_solver_says(columns: int) -> None:
    """The same coefficients, and a rest that is orthogonal to every column."""
    rng = np.random.default_rng(columns)
    cells = np.array([rng.choice(60, 12, replace=False) for _ in range(columns)], np.int64).reshape(columns, 12)
    signs = rng.choice(np.array([-1, 1], np.int8), (columns, 12))
    measured = rng.normal(size=60)
    dense = np.zeros((60, columns))
    for k in range(columns):
        dense[cells[k], k] = signs[k]
    values, left = least_squares(cells, signs, measured)
    assert values == pytest.approx(np.linalg.lstsq(dense, measured, rcond=None)[0], abs=1e-9)
    assert dense.T @ left == pytest.approx(0.0, abs=1e-9)
    assert left + dense @ values == pytest.approx(measured)
