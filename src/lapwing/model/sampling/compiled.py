"""The compiled loops of a descent by swaps: what rows are worth to contingency tables, and rows that change places."""

import numpy as np
from numba import njit

_F = np.float32


@njit(cache=True, error_model="numpy")
def swap_gains(places: np.ndarray, cells: np.ndarray, rest: np.ndarray, sign: np.float32) -> np.ndarray:
    """Return by how much ``|rest|`` falls, over all tables, as each row is added or taken away: float32 (n,).

    places: int64 (tables, 4), the two columns of a table, the cells of the second, and where its cells begin; cells:
    int32 (d, n), the cell of each row in each column; rest: float32 (k,), counts less what is wanted; sign: 1 for rows
    that are added, -1 for rows that are taken away.
    """
    found = np.zeros(cells.shape[1], np.float32)
    slope = _F(2.0) * sign
    for table in range(places.shape[0]):
        one, two = cells[places[table, 0]], cells[places[table, 1]]
        stride, own = np.int32(places[table, 2]), rest[places[table, 3] :]
        for row in range(found.size):
            gain = -slope * own[one[row] * stride + two[row]] - _F(1.0)
            found[row] += min(max(gain, _F(-1.0)), _F(1.0))
    return found


@njit(cache=True, error_model="numpy")
def swap_rows(places: np.ndarray, out: np.ndarray, into: np.ndarray, rest: np.ndarray) -> None:
    """Take some rows out of all tables and put others in; as `swap_gains`, which ``rest`` is changed for in place."""
    for table in range(places.shape[0]):
        one, two = places[table, 0], places[table, 1]
        stride, own = places[table, 2], rest[places[table, 3] :]
        for row in range(out.shape[1]):
            own[out[one, row] * stride + out[two, row]] -= _F(1.0)
            own[into[one, row] * stride + into[two, row]] += _F(1.0)
