"""The compiled loop that counts many small contingency tables of one block of rows. Private."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_cells(
    groups: np.ndarray, slots: np.ndarray, sizes: np.ndarray, offsets: np.ndarray, counts: np.ndarray
) -> None:
    """Add each row to the cell of every table that it is in.

    groups: by axis and row; slots, sizes: (tables, 3), axes and their groups, -1 and 1 beyond a table's own.
    """
    for table in range(slots.shape[0]):
        own = counts[offsets[table] :]
        first, second = groups[slots[table, 0]], groups[slots[table, 1]]
        stride = np.uint64(sizes[table, 1])  # numbers without a sign need no look whether they count from the end
        if slots[table, 2] < 0:
            for row in range(first.size):
                own[np.uint64(first[row]) * stride + np.uint64(second[row])] += 1
            continue
        third, last = groups[slots[table, 2]], np.uint64(sizes[table, 2])
        for row in range(first.size):
            cell = np.uint64(first[row]) * stride + np.uint64(second[row])
            own[cell * last + np.uint64(third[row])] += 1
