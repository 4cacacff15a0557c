"""Arithmetic on many runs of codes at once."""

import numpy as np


def ranks(lengths: np.ndarray) -> np.ndarray:
    """Return 0 .. length-1 for each length, one after the other.

    Parameters
    ----------
    lengths : ndarray of integers, shape (n,)
        At least 0.

    Returns
    -------
    ndarray of int64, shape (sum of lengths,)

    Examples
    --------
    >>> ranks(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    found: np.ndarray = np.arange(int(ends[-1]) if ends.size else 0) - np.repeat(ends - lengths, lengths)
    return found


def distinct_pairs(starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct (start, stop) pairs, and which of them each entry is.

    Parameters
    ----------
    starts, stops : ndarray of integers, shape (n,)
        At least one entry.

    Returns
    -------
    starts, stops : ndarrays, shape (pairs,)
        Sorted by start, then stop.
    which : ndarray of intp, shape (n,)

    Examples
    --------
    >>> [part.tolist() for part in distinct_pairs(np.array([5, 0, 5]), np.array([6, 2, 6]))]
    [[0, 5], [2, 6], [1, 0, 1]]
    """
    order = np.lexsort((stops, starts))
    sorted_starts, sorted_stops = starts[order], stops[order]
    is_new = np.ones(order.size, dtype=bool)
    is_new[1:] = (sorted_starts[1:] != sorted_starts[:-1]) | (sorted_stops[1:] != sorted_stops[:-1])
    which = np.empty(order.size, dtype=np.intp)
    which[order] = np.cumsum(is_new) - 1
    return sorted_starts[is_new], sorted_stops[is_new], which
