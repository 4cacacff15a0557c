"""In which cells a column is counted next, from the masses that noisy counts gave its cells."""

import math

import numpy as np

MOST_SEARCHED = 64
"""Most cells that are searched for single values at once."""

SEARCH_CELLS = 2**14
"""Most parts that all of them are cut into, in one step."""

FOUND_DEVIATIONS = 3.0
"""A part goes on to the next step if it has so many standard deviations of the noise more than the cell's others."""

FOUND_ROWS = 10.0
"""Nor does a part of fewer rows: at no budget is a value of few people looked for."""

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


def search_steps(widths: np.ndarray) -> int:
    """Return in how many steps cells are cut down to single codes.

    Parameters
    ----------
    widths : ndarray of int64, shape (k,)
        Codes of each cell, of at most `MOST_SEARCHED` cells.

    Examples
    --------
    >>> search_steps(np.array([2**25, 2**20])), search_steps(np.array([100]))
    (2, 1)
    """
    return math.ceil(math.log2(max(2, int(widths.max()))) / math.log2(SEARCH_CELLS // widths.size))


def searched_parts(starts: np.ndarray, stops: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut cells into so many even parts that after some steps a part is a single code.

    Parameters
    ----------
    starts, stops : ndarray of int64, shape (k,)
        First code of each cell, and the first one after it.
    steps : int
        Steps that are left, this one included.

    Returns
    -------
    starts, stops : ndarray of int64, shape (parts,)
        Of the parts.
    cell : ndarray of intp, shape (parts,)
        In which cell each lies.

    Examples
    --------
    >>> [each.tolist() for each in searched_parts(np.array([0, 50]), np.array([9, 51]), 2)]
    [[0, 3, 6, 50], [3, 6, 9, 51], [0, 0, 0, 1]]
    """
    widths = stops - starts
    wanted = np.ceil(np.power(widths.astype(np.float64), 1 / steps) - 1e-9).astype(np.int64)
    parts = np.clip(wanted, 1, np.minimum(widths, SEARCH_CELLS // widths.size))
    cell = np.repeat(np.arange(widths.size), parts)
    index = np.arange(cell.size) - (np.cumsum(parts) - parts)[cell]
    whole, rest = widths // parts, widths % parts
    firsts, lasts = (starts[cell] + at * whole[cell] + at * rest[cell] // parts[cell] for at in (index, index + 1))
    return firsts, lasts, cell


def outstanding(counts: np.ndarray, cell: np.ndarray, sd: float) -> np.ndarray:
    """Return which parts have more than the others of their cell by more than noise and by more than a few rows.

    Parameters
    ----------
    counts : ndarray of float64, shape (parts,)
        Noisy counts.
    cell : ndarray of intp, shape (parts,)
        In which cell each part lies.
    sd : float
        Standard deviation of the noise.

    Returns
    -------
    ndarray of intp
        Places of at most `MOST_SEARCHED` of them, increasing.

    Examples
    --------
    >>> outstanding(np.array([1.0, 90.0, -4.0, 30.0, 31.0]), np.array([0, 0, 0, 1, 1]), 5.0).tolist()
    [1]
    """
    parts, sums = np.bincount(cell), np.bincount(cell, counts)
    others = (sums[cell] - counts) / np.maximum(1, parts[cell] - 1)
    excess = counts - others
    leaders = np.argsort(-excess, kind="stable")[:MOST_SEARCHED]
    return np.sort(leaders[excess[leaders] > max(FOUND_DEVIATIONS * sd, FOUND_ROWS)])
