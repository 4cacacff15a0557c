"""Whole counts whose tables are near those that are wanted: the compiled loop."""

import numpy as np
from numba import njit

_ROUNDING = 1e-9


@njit(cache=True, error_model="numpy")
def settle_counts(counts: np.ndarray, cells: np.ndarray, gaps: np.ndarray, order: np.ndarray, passes: int) -> None:
    """Add or take one, count by count, wherever that brings the squares of the gaps of all tables down.

    counts: int64 (k,), not negative; changed in place; cells: int64 (tables, k), where in ``gaps`` each count lies;
    gaps: float64, the sums of the counts of each cell less what is wanted; changed in place; order: int64, the counts
    that may change. Ends where a pass changes nothing. Time ``O(tables k)`` for each pass.
    """
    for _ in range(passes):
        moved = 0
        for at in order:
            own = cells[:, at]
            gap = gaps[own].sum()
            step = int(2 * gap + own.size < -_ROUNDING) - int(2 * gap - own.size > _ROUNDING and counts[at] > 0)
            if step != 0:
                counts[at] += step
                gaps[own] += step
                moved += 1
        if moved == 0:
            return
