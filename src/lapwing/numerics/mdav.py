"""MDAV: groups of a fixed size around the records farthest from the centre."""

import numpy as np


def mdav(x: np.ndarray, size: int) -> np.ndarray:
    """Partition points by MDAV (maximum distance to average vector).

    Parameters
    ----------
    x : ndarray of float64, shape (n, p)
        Points, finite; columns on scales that make Euclidean distances meaningful.
    size : int
        Least number of points in a group, from 1 to n.

    Returns
    -------
    ndarray of int64, shape (n,)
        Group of each point, 0 to g - 1 in the order in which groups are formed. Every group but the last has ``size``
        points, and the last has ``size`` to ``2 * size - 1``.

    Notes
    -----
    Ties (of equal floating-point distances) go to the lowest index. The point opposite to the first one is looked for
    after the first group is taken away; this differs from the paper only if distances tie. Time ``O(n**2 p / size)``,
    memory ``O(n p)``.

    References
    ----------
    J. Domingo-Ferrer and J. M. Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure
    control", IEEE TKDE 14 (2002); in the form with a fixed size of J. Domingo-Ferrer and V. Torra, "Ordinal,
    continuous and heterogeneous k-anonymity through microaggregation", DMKD 11 (2005), Algorithm 1 (MDAV-generic).

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.numerics.mdav import mdav
    >>> mdav(np.array([[0.0], [9.0], [1.0], [10.0], [2.0]]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    labels = np.empty(len(x), dtype=np.int64)
    left, points, group = np.arange(len(x)), x, 0
    while left.size >= 2 * size:
        pole = points[_distances(points, points.mean(axis=0)).argmax()]
        for _ in range(2 if left.size >= 3 * size else 1):
            away = _distances(points, pole)
            near = _nearest(away, size)
            labels[left[near]] = group
            group += 1
            is_left = np.ones(left.size, dtype=bool)
            is_left[near] = False
            left, points = left[is_left], points[is_left]
            pole = points[away[is_left].argmax()]
    labels[left] = group
    return labels


def _distances(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return squared distances; equal points get equal ones, which a matrix product would not promise."""
    away = points - centre
    squared: np.ndarray = np.einsum("ij,ij->i", away, away)
    return squared


def _nearest(away: np.ndarray, size: int) -> np.ndarray:
    """Return the places of the ``size`` smallest distances, ties by place."""
    near = np.flatnonzero(away <= np.partition(away, size - 1)[size - 1])
    return near if near.size == size else near[np.argsort(away[near], kind="stable")[:size]]
