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


def cut_at(
    starts: np.ndarray, stops: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cut runs of codes where other runs begin.

    Parameters
    ----------
    starts, stops : ndarray of int64, shape (n,)
        Runs of codes from start to stop - 1.
    edges : ndarray of int64, shape (e,)
        Increasing, the first at most the smallest start: where to cut.

    Returns
    -------
    run, cell, starts, stops : ndarrays of int64, shape (parts,)
        Of each part: the run that it is of, the last edge at or before it, and its codes.

    Examples
    --------
    >>> [part.tolist() for part in cut_at(np.array([1]), np.array([5]), np.array([0, 3]))]
    [[0, 0], [0, 1], [1, 3], [3, 5]]
    """
    first = np.searchsorted(edges, starts, side="right") - 1
    counts = np.searchsorted(edges, stops, side="left") - first
    run = np.repeat(np.arange(starts.size), counts)
    cell = first[run] + ranks(counts)
    ends = np.append(edges[1:], np.iinfo(np.int64).max)
    return run, cell, np.maximum(starts[run], edges[cell]), np.minimum(stops[run], ends[cell])


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


def covered(codes: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Return how many codes below each code lie in some runs.

    Parameters
    ----------
    codes : ndarray of int64, shape (n,)
    runs : ndarray of int64, shape (k, 2)
        At least one: starts and stops, increasing and apart.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    >>> covered(np.array([0, 3, 9]), np.array([[2, 5], [7, 8]])).tolist()
    [0, 1, 4]
    """
    before = np.concatenate(([0], np.cumsum(runs[:, 1] - runs[:, 0])))
    at = np.searchsorted(runs[:, 0], codes, side="right")
    inside = np.minimum(codes - runs[np.maximum(at - 1, 0), 0], (runs[:, 1] - runs[:, 0])[np.maximum(at - 1, 0)])
    return np.asarray(before[np.maximum(at - 1, 0)] + np.where(at > 0, inside, 0))
