"""Practical partitions of points into small groups, and what averaging over the groups loses.

blocks of near points -> MDAV in each -> moves and swaps, each one call. Every group holds at least ``size`` points.
"""

import numpy as np

from lapwing.anonymous.group_moves import axis_blocks, local_search

# -- MDAV: groups of a fixed size around the records farthest from the centre.


def mdav(x: np.ndarray, size: int) -> np.ndarray:
    """Partition points by MDAV (maximum distance to average vector).

    x: float64 (n, p), points, finite; columns on scales that make Euclidean distances meaningful; size: least number of
    points in a group, from 1 to n. Returns int64 (n,), group of each point, 0 to g - 1 in the order in which groups are
    formed. Every group but the last has ``size`` points, and the last has ``size`` to ``2 * size - 1``.

    Ties (of equal floating-point distances) go to the lowest index. The point opposite to the first one is looked for
    after the first group is taken away; this differs from the paper only if distances tie. Time ``O(n**2 p / size)``,
    memory ``O(n p)``.

    References
    ----------
    J. Domingo-Ferrer and J. M. Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure
    control", IEEE TKDE 14 (2002); in the form with a fixed size of J. Domingo-Ferrer and V. Torra, "Ordinal,
    continuous and heterogeneous k-anonymity through microaggregation", DMKD 11 (2005), Algorithm 1 (MDAV-generic).

    >>> import numpy as np
    >>> from lapwing.anonymous.microaggregation import mdav
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


__all__ = ["improved", "information_loss", "mdav", "mdav_in_blocks", "practical_partition"]

_BLOCK, _BLOCK_OF_MANY, _MANY = 5000, 2000, 100_000
_FEWEST_TURNS, _MOST_TURNS, _WORK_OF_TURNS = 3, 20, 100_000_000
_JITTER_STEP = 0.03
_SHARES = (0.5, 0.4, 0.6)
_WEYL = np.uint64(0x9E3779B97F4A7C15)


def practical_partition(x: np.ndarray, size: int) -> np.ndarray:
    """Partition points into groups of at least ``size`` with a small sum of squared errors.

    x: float64 (n, p), points, finite; columns on scales that make Euclidean distances meaningful; size: least number of
    points in a group, from 1 to n. Returns int64 (n,), group of each point: 0 to g - 1, each of ``size`` to ``2 * size
    - 1`` points.

    MDAV inside blocks of up to 5000 points (2000 where there are more than 100,000), cut by halves along principal
    axes, then `improved`. Deterministic; depends on the order of the points. Time ``O(n log n)`` for fixed p and
    size: 1,000,000 x 10, size 5, in about 45 CPU seconds. Memory ``O(n p)``.

    References
    ----------
    See `mdav`. We add the blocks, without which its time is quadratic, and the improvement.

    >>> import numpy as np
    >>> from lapwing.anonymous.microaggregation import practical_partition
    >>> practical_partition(np.array([[0.0], [9.0], [1.0], [10.0], [2.0]]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    return improved(x, mdav_in_blocks(x, size), size)


def mdav_in_blocks(x: np.ndarray, size: int) -> np.ndarray:
    """Partition points by MDAV in blocks of near points: the start of `practical_partition`, several times as fast.

    Returns int64 (n,), group of each point: 0 to g - 1, each of at least ``size`` points.

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

    x: float64 (n, p), points, finite; labels: int64 (n,), groups 0 to g - 1, each of at least ``size`` points; size:
    least number of points in a group, at least 1. Returns int64 (n,), groups of ``size`` to ``2 * size - 1`` points.
    Their sum of squared errors is not above that of ``labels``.

    A local search ends where no single trade helps. Each turn but the last therefore searches among points moved by
    a jitter that falls to nothing (the noising method): ``1e8 / (n p size)`` turns, at least 3 and at most 20. The
    jitter is a fixed public sequence. Should the last turn end above the start, the start is returned.

    References
    ----------
    I. Charon and O. Hudry, "The noising method: a new method for combinatorial optimization", Operations Research
    Letters 14 (1993). We change: the noise is on the points, not on the gains.

    >>> import numpy as np
    >>> from lapwing.anonymous.microaggregation import improved
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

    x: float64 (n, p), points, finite, n at least 1; labels: int64 (n,), groups 0 to g - 1, none empty. Returns ``100
    SSE / SST``, 0 to 100: squared distances to the mean of the group, by those to the mean of all. 0 if all points are
    equal.

    >>> import numpy as np
    >>> from lapwing.anonymous.microaggregation import information_loss
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
