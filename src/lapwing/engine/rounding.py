"""Whole counts whose tables are near those that are wanted: the compiled loop."""

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def settle_counts(
    counts: np.ndarray, cells: np.ndarray, gaps: np.ndarray, order: np.ndarray, chances: np.ndarray
) -> int:
    """Add or take one, count by count, where that brings the squares of all tables' gaps down, or nearly, by chance.

    counts: int64 (k,), not negative; changed in place; cells: int64 (tables, k), where in ``gaps`` each count lies;
    gaps: float64, the sums of the counts of each cell less what is wanted; changed in place; order: int64 (m,), the
    counts that may change; chances: float64 (m,), by how much the squares may grow there. Returns how many changed.
    Time ``O(tables m)``.
    """
    moved = 0
    for turn, at in enumerate(order):
        own = cells[:, at]
        gap, most = 2 * gaps[own].sum(), chances[turn] - own.size
        step = int(gap < most) - int(-gap < most and counts[at] > 0)
        if step != 0:
            counts[at] += step
            gaps[own] += step
            moved += 1
    return moved
