"""Practical partitions of points into small groups, and what averaging over the groups loses.

blocks of near points -> MDAV in each -> moves and swaps, each one call. Every group holds at least ``size`` points.
"""

import numpy as np

from lapwing.numerics.axis_split import axis_blocks
from lapwing.numerics.group_moves import local_search
from lapwing.numerics.mdav import mdav

__all__ = ["improved", "information_loss", "mdav", "mdav_in_blocks", "practical_partition"]

_BLOCK, _BLOCK_OF_MANY, _MANY = 5000, 2000, 100_000
_FEWEST_TURNS, _MOST_TURNS, _WORK_OF_TURNS = 3, 20, 100_000_000
_JITTER_STEP = 0.03
_SHARES = (0.5, 0.4, 0.6)
_WEYL = np.uint64(0x9E3779B97F4A7C15)


def practical_partition(x: np.ndarray, size: int) -> np.ndarray:
    """Partition points into groups of at least ``size`` with a small sum of squared errors.

    Parameters
    ----------
    x : ndarray of float64, shape (n, p)
        Points, finite; columns on scales that make Euclidean distances meaningful.
    size : int
        Least number of points in a group, from 1 to n.

    Returns
    -------
    ndarray of int64, shape (n,)
        Group of each point: 0 to g - 1, each of ``size`` to ``2 * size - 1`` points.

    Notes
    -----
    MDAV inside blocks of up to 5000 points (2000 where there are more than 100,000), cut by halves along principal
    axes, then `improved`. Deterministic; depends on the order of the points. Time ``O(n log n)`` for fixed p and
    size: 1,000,000 x 10, size 5, in about 45 CPU seconds. Memory ``O(n p)``.

    References
    ----------
    See `mdav`. We add the blocks, without which its time is quadratic, and the improvement.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.numerics.microaggregation import practical_partition
    >>> practical_partition(np.array([[0.0], [9.0], [1.0], [10.0], [2.0]]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    return improved(x, mdav_in_blocks(x, size), size)


def mdav_in_blocks(x: np.ndarray, size: int) -> np.ndarray:
    """Partition points by MDAV in blocks of near points: the start of `practical_partition`, several times as fast.

    Parameters
    ----------
    x, size
        As for `practical_partition`.

    Returns
    -------
    ndarray of int64, shape (n,)
        Group of each point: 0 to g - 1, each of at least ``size`` points.

    Examples
    --------
    >>> mdav_in_blocks(np.array([[0.0], [9.0], [1.0], [10.0]]), 2).tolist()
    [0, 1, 0, 1]
    """
    block = _BLOCK if len(x) <= _MANY else _BLOCK_OF_MANY
    labels, groups = np.empty(len(x), dtype=np.int64), 0
    for places in axis_blocks(x, max(block, 4 * size), unit=size):
        labels[places] = groups + mdav(x[places], size)
        groups += places.size // size
    return labels


def improved(x: np.ndarray, labels: np.ndarray, size: int) -> np.ndarray:
    """Lower the sum of squared errors of a partition by splits of groups, then by moves and swaps of points.

    Parameters
    ----------
    x : ndarray of float64, shape (n, p)
        Points, finite.
    labels : ndarray of int64, shape (n,)
        Groups 0 to g - 1, each of at least ``size`` points.
    size : int
        Least number of points in a group, at least 1.

    Returns
    -------
    ndarray of int64, shape (n,)
        Groups of ``size`` to ``2 * size - 1`` points. Their sum of squared errors is not above that of ``labels``.

    Notes
    -----
    A local search ends where no single trade helps. Each turn but the last therefore searches among points moved by
    a jitter that falls to nothing (the noising method): ``1e8 / (n p size)`` turns, at least 3 and at most 20. The
    jitter is a fixed public sequence. Should the last turn end above the start, the start is returned.

    References
    ----------
    I. Charon and O. Hudry, "The noising method: a new method for combinatorial optimization", Operations Research
    Letters 14 (1993). We change: the noise is on the points, not on the gains.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.numerics.microaggregation import improved
    >>> improved(np.array([[0.0], [9.0], [1.0], [10.0]]), np.array([0, 0, 1, 1]), 2).tolist()
    [1, 0, 1, 0]
    """
    x = x - x.mean(axis=0)
    start = _without_large_groups(x, labels, size)
    spread = (12 * _squared_errors(x, start) / x.size) ** 0.5
    turns = max(_FEWEST_TURNS, min(_MOST_TURNS, _WORK_OF_TURNS // (x.size * size)))
    found = start
    for turn in range(turns):
        jitter = (turns - 1 - turn) * _JITTER_STEP * spread
        seen = x + jitter * _weyl(x.shape, turn) if jitter > 0 else x
        found = local_search(seen, found, size, share=_SHARES[turn % len(_SHARES)])
    return found if _squared_errors(x, found) <= _squared_errors(x, start) else start


def information_loss(x: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of the sum of squares that averaging over groups loses, in per cent.

    Parameters
    ----------
    x : ndarray of float64, shape (n, p)
        Points, finite, n at least 1.
    labels : ndarray of int64, shape (n,)
        Groups 0 to g - 1, none empty.

    Returns
    -------
    float
        ``100 SSE / SST``, 0 to 100: squared distances to the mean of the group, by those to the mean of all. 0 if
        all points are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.numerics.microaggregation import information_loss
    >>> information_loss(np.array([[0.0], [2.0], [4.0], [6.0]]), np.array([0, 0, 1, 1]))
    20.0
    """
    total = _squared_errors(x, np.zeros_like(labels))
    return 100 * _squared_errors(x, labels) / total if total > 0 else 0.0


def _without_large_groups(x: np.ndarray, labels: np.ndarray, size: int) -> np.ndarray:
    """Split groups of twice the size and more, which never raises the errors; renumber."""
    counts = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    parts = np.zeros(len(x), dtype=np.int64)
    for group, end in zip(np.flatnonzero(counts >= 2 * size), counts.cumsum()[counts >= 2 * size], strict=True):
        places = order[end - counts[group] : end]
        parts[places] = mdav_in_blocks(x[places], size)
    _, renumbered = np.unique(labels * len(x) + parts, return_inverse=True)
    return renumbered.astype(np.int64)


def _squared_errors(x: np.ndarray, labels: np.ndarray) -> float:
    """Return the sum of squared distances to the means of the groups."""
    counts, errors = np.bincount(labels), 0.0
    for values in x.T:
        # Seen from one of them, equal values are exactly 0, whatever their mean is rounded to.
        column = values - values[0]
        means = np.bincount(labels, column) / counts
        errors += float(np.square(column - means[labels]).sum())
    return errors


def _weyl(shape: tuple[int, ...], turn: int) -> np.ndarray:
    """Return numbers of -1/2 to 1/2 from the sequence ``i * i * golden ratio mod 1``, another stretch each turn."""
    index = np.arange(turn * shape[0] * shape[1], (turn + 1) * shape[0] * shape[1], dtype=np.uint64)
    index *= index
    index *= _WEYL
    return (index.astype(np.float64) / 2.0**64 - 0.5).reshape(shape)
