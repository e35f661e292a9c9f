"""Least squares with a sparse matrix of signs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-13
_MOST_STEPS = 500


def least_squares(
    cells: NDArray[np.int64], signs: NDArray[np.int8], measured: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least-squares coefficients of some columns, and the residual measurements.

    Column k has signs[k] in the rows cells[k], and zeros elsewhere; all columns have the same number of signs.

    The columns are assumed to be nearly orthogonal, so that conjugate gradients need about a dozen steps, each linear
    in the number of signs. If columns are linearly dependent, the result is the smallest solution.
    """
    from scipy import sparse  # imported here: it takes longer to load than most searches that do not need it
    from scipy.sparse import linalg

    starts = np.arange(len(cells) + 1) * cells.shape[1]
    entries = signs.ravel().astype(np.float64), cells.ravel(), starts
    design = sparse.csc_array(entries, shape=(len(measured), len(cells)))
    values, _ = linalg.cg(design.T @ design, design.T @ measured, rtol=_ROUNDING, maxiter=_MOST_STEPS)
    return np.asarray(values, np.float64), measured - design @ values
