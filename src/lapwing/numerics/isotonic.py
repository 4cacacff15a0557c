"""Isotonic regression in absolute error, and what it solves on a line: covering negative counts from positive ones."""

import heapq

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def isotonic_l1(values: Integers, weights: Integers) -> Integers:
    """Return a non-decreasing sequence that is nearest in weighted absolute error.

    Parameters
    ----------
    values : ndarray of int64, shape (k,)
        The sequence.
    weights : ndarray of int64, shape (k,)
        At least 1.

    Returns
    -------
    ndarray of int64, shape (k,)
        Of the minimisers of ``sum(weights * abs(result - values))`` the one with the smallest last entries; it takes
        no value that is not one of ``values``.

    Notes
    -----
    The error of the best non-decreasing prefix, as a function of an upper bound of its last entry, is convex and
    piecewise linear; a heap holds its bends. Time ``O(k log k)``.

    References
    ----------
    Rote (2019), "Isotonic regression by dynamic programming".

    Examples
    --------
    >>> isotonic_l1(np.array([1, 5, 2, 3]), np.array([1, 1, 1, 1])).tolist()
    [1, 2, 2, 3]
    """
    bends: list[tuple[int, int]] = []
    lowest = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        heapq.heappush(bends, (-value, 2 * weight))
        # The new term raises all slopes to the right of the value; those above 0 are cut off.
        surplus = weight
        while bends[0][1] <= surplus:
            surplus -= heapq.heappop(bends)[1]
        place, slope = bends[0]
        heapq.heapreplace(bends, (place, slope - surplus))
        lowest.append(-place)
    backwards = np.minimum.accumulate(np.array(lowest[::-1], dtype=np.int64))
    return backwards[::-1]


def cover_line(counts: Integers, lengths: Integers) -> Integers:
    """Move counts on a line as little as possible, so that none has the other sign than their sum.

    Parameters
    ----------
    counts : ndarray of int64, shape (k,)
        Any signs, k at least 1.
    lengths : ndarray of int64, shape (k - 1,)
        Distances between neighbours, at least 1.

    Returns
    -------
    ndarray of int64, shape (k,)
        Same sum; at least 0 where that is, else at most 0.

    Notes
    -----
    What flows between neighbours is the difference of the cumulative sums, so the cumulative sums of the result are
    the nearest ones, weighted by the distances, that increase from 0 to the sum: isotonic regression, clipped.

    Examples
    --------
    >>> cover_line(np.array([5, 0, -2, 1]), np.array([1, 1, 1])).tolist()
    [4, 0, 0, 0]
    >>> cover_line(np.array([1, -3]), np.array([1])).tolist()
    [0, -2]
    """
    total = int(counts.sum())
    if total < 0:
        return -cover_line(-counts, lengths)
    inner = isotonic_l1(np.cumsum(counts)[:-1], lengths)
    sums = np.concatenate(([0], np.clip(inner, 0, total), [total]))
    return sums[1:] - sums[:-1]
