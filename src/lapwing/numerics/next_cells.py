"""In which cells a column is counted next, from the masses that noisy counts gave its cells."""

import numpy as np

_UNSEEN_CELLS = 8  # counted as one where rows are seen nowhere


def wanted_parts(masses: np.ndarray, widths: np.ndarray, worth: float, most: int) -> np.ndarray:
    """Return into how many parts each cell is cut next.

    Parameters
    ----------
    masses : ndarray of float64, shape (k,)
        Of the cells.
    widths : ndarray of int64, shape (k,)
        Codes of each cell: it has at most so many parts.
    worth : float, positive
        A part is worth counting if it has so much mass.
    most : int
        Parts of all cut cells together, about.

    Returns
    -------
    ndarray of int64, shape (k,)
        1 for a cell that stays whole.

    Examples
    --------
    >>> wanted_parts(np.array([100.0, 5.0, 30.0]), np.array([64, 64, 2]), 10.0, 100).tolist()
    [10, 1, 2]
    """
    parts = np.clip(np.floor(masses / worth), 1, widths).astype(np.int64)
    total = int(parts[parts > 1].sum())
    return np.where(parts > 1, np.maximum(1, parts * most // total), 1) if total > most else parts


def merged_starts(starts: np.ndarray, is_seen: np.ndarray) -> np.ndarray:
    """Return the first codes of the cells that are left when runs of cells without rows are counted as one.

    Parameters
    ----------
    starts : ndarray of int64, shape (k,)
        First code of each cell.
    is_seen : ndarray of bool, shape (k,)
        Where rows are seen: these cells stay as they are.

    Returns
    -------
    ndarray of int64
        Beside cells with rows one cell stays alone, the next two are one, the next four, and so on.

    Examples
    --------
    >>> merged_starts(np.arange(0, 90, 10), np.arange(9) == 0).tolist()
    [0, 10, 20, 40, 80]
    """
    places, seen = np.arange(starts.size), np.flatnonzero(is_seen)
    if not seen.size:
        return starts[::_UNSEEN_CELLS]
    after = np.searchsorted(seen, places)
    left = np.where(after > 0, places - seen[after - 1], starts.size)
    right = np.where(after < seen.size, seen[np.minimum(after, seen.size - 1)] - places, starts.size)
    _, steps = np.frexp(np.minimum(left, right))  # 1, 2, 2, 3, 3, 3, 3
    runs = np.where(left <= right, steps, -steps) * ~is_seen
    return np.asarray(starts[np.append(True, (np.diff(runs) != 0) | is_seen[1:])])
