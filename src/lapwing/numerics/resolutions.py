"""Nested groups of a column's values, coarser and coarser, from noisy masses alone."""

from collections.abc import Sequence

import numpy as np

_SEARCH_STEPS = 40
_LEAST_DEVIATIONS = 3.0


def even_runs(masses: np.ndarray, groups: int) -> np.ndarray:
    """Cut ordered cells into runs of about equal mass; a cell heavier than a run should be stands alone.

    Parameters
    ----------
    masses : ndarray of float64, shape (k,)
        Positive.
    groups : int, at least 1
        Most runs.

    Returns
    -------
    ndarray of intp, shape (k,)
        The run of each cell, 0 to at most ``groups - 1``, without gaps.

    Notes
    -----
    The heaviest run outside heavy cells is as light as ``groups`` runs allow. Time ``O(k)`` times 40.

    Examples
    --------
    >>> even_runs(np.array([1.0, 1.0, 90.0, 1.0, 1.0, 1.0]), 3).tolist()
    [0, 0, 1, 2, 2, 2]
    """
    if masses.size <= groups:
        return np.arange(masses.size)
    is_alone = _heavy(masses, groups)
    # A little above the sum, which one after another the cells may pass by rounding: all of them fit in one run.
    low, high = 0.0, float(masses.sum()) * (1 + 1e-9)
    if _runs(masses, is_alone, high)[-1] >= groups:
        # Heavy cells cut the rest into too many runs: let go of them, equal mass alone decides.
        is_alone = np.zeros(masses.size, dtype=bool)
    for _ in range(_SEARCH_STEPS):
        middle = (low + high) / 2
        if _runs(masses, is_alone, middle)[-1] < groups:
            high = middle
        else:
            low = middle
    return _runs(masses, is_alone, high)


def leading_values(counts: np.ndarray, sd: float, groups: int) -> np.ndarray:
    """Group the values of an unordered column: the largest on their own, the others together.

    Parameters
    ----------
    counts : ndarray, shape (k,)
        Noisy counts.
    sd : float
        Standard deviation of their noise: a value stands alone only above three of them.
    groups : int, at least 1
        Most groups.

    Returns
    -------
    ndarray of intp, shape (k,)
        The group of each value, without gaps; the largest count is group 0, the others together are the last group.

    Examples
    --------
    >>> leading_values(np.array([5, 900, 40, 300]), 10.0, 3).tolist()
    [2, 0, 2, 1]
    """
    leaders = np.argsort(-counts, kind="stable")[: groups - 1]
    leaders = leaders[counts[leaders] > _LEAST_DEVIATIONS * sd]
    group = np.full(counts.size, leaders.size, dtype=np.intp)
    group[leaders] = np.arange(leaders.size)
    return group


def branch_runs(masses: np.ndarray, ranks: np.ndarray, sizes: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Cut cells into runs at the ends of their branches: the heaviest run first, at the coarsest cut that it holds.

    Parameters
    ----------
    masses : ndarray of float64, shape (k,)
        Positive.
    ranks : ndarray of intp, shape (k,)
        How fine the cut before each cell is, 0 for the coarsest; that of the first cell is not looked at.
    sizes : sequence of int
        Most runs of each level, decreasing.

    Returns
    -------
    tuple of ndarray of intp, shape (k,)
        The run of each cell at every level, the finest first; a level is listed only where it merges something.

    Examples
    --------
    >>> branch_runs(np.ones(4), np.array([0, 1, 0, 1]), (3, 2))[1].tolist()
    [0, 0, 1, 1]
    """
    ends = np.concatenate(([0.0], np.cumsum(masses)))
    runs = [(float(ends[-1]), 0, masses.size)]
    cuts: list[int] = []
    while runs and len(cuts) < sizes[0] - 1:
        runs.sort()
        _, first, last = runs.pop()
        if last - first == 1:
            continue  # it stays whole
        inside = ranks[first + 1 : last]
        coarsest = first + 1 + np.flatnonzero(inside == inside.min())
        middle = int(coarsest[np.argmin(np.abs(ends[coarsest] - (ends[first] + ends[last]) / 2))])
        cuts.append(middle)
        runs += [(float(ends[b] - ends[a]), a, b) for a, b in ((first, middle), (middle, last))]
    found: list[np.ndarray] = []
    for size in sizes:
        is_start = np.zeros(masses.size, dtype=bool)
        is_start[cuts[: size - 1]] = True
        level = np.cumsum(is_start, dtype=np.intp)
        if not found or level[-1] < found[-1][-1]:
            found.append(level)
    return tuple(found)


def nested(masses: np.ndarray, finest: np.ndarray, sizes: Sequence[int], *, is_ordered: bool) -> tuple[np.ndarray, ...]:
    """Merge groups into fewer and fewer.

    Parameters
    ----------
    masses : ndarray of float64, shape (k,)
        Positive masses of the values.
    finest : ndarray of intp, shape (k,)
        The group of each value at the finest level, without gaps; runs where the column is ordered.
    sizes : sequence of int
        Most groups of each coarser level, decreasing.
    is_ordered : bool
        Merge neighbours into runs of about equal mass; otherwise all but the heaviest groups into one.

    Returns
    -------
    tuple of ndarray of intp, shape (k,)
        The group of each value at every level, the finest first; a level is listed only where it merges something.

    Examples
    --------
    >>> [level.tolist() for level in nested(np.ones(4), np.arange(4), (2, 1), is_ordered=True)]
    [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]]
    """
    levels = [finest]
    for size in sizes:
        last = levels[-1]
        mass = np.bincount(last, masses)
        if mass.size > size:
            levels.append((even_runs(mass, size) if is_ordered else leading_values(mass, 0.0, size))[last])
    return tuple(levels)


def _heavy(masses: np.ndarray, groups: int) -> np.ndarray:
    """Mark the cells that hold at least an equal share of what the other cells and runs leave."""
    is_heavy = np.zeros(masses.size, dtype=bool)
    for _ in range(groups):
        left = groups - int(np.count_nonzero(is_heavy))
        found = ~is_heavy & (masses >= masses[~is_heavy].sum() / max(left, 1))
        if left <= 1 or not found.any():
            break
        is_heavy |= found
    return is_heavy


def _runs(masses: np.ndarray, is_alone: np.ndarray, capacity: float) -> np.ndarray:
    """Fill runs from the left, each up to a capacity."""
    run, filled, group = 0, 0.0, np.zeros(masses.size, dtype=np.intp)
    for place, (mass, alone) in enumerate(zip(masses.tolist(), is_alone.tolist(), strict=True)):
        if place and (alone or is_alone[place - 1] or filled + mass > capacity):
            run, filled = run + 1, 0.0
        group[place] = run
        filled += mass
    return group
