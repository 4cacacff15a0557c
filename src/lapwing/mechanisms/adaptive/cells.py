"""Nested groups of a column's values, coarser and coarser, from noisy masses alone."""

import math
from collections.abc import Sequence

import numpy as np

from lapwing.kernel.noise_law import NoiseLaw

# -- In which cells a column is counted next, from the masses that noisy counts gave its cells.


MOST_SEARCHED = 64  # most cells that are searched for single values at once
SEARCH_CELLS = 2**14  # most parts that all of them are cut into, in one step
FOUND_DEVIATIONS = 3.0
"""A part goes on if it has at least so many standard deviations of the noise more than the cell's others."""

FOUND_ROWS = 10.0  # nor does a part of fewer rows: at no budget is a value of few people looked for
_UNSEEN_CELLS = 8  # counted as one where rows are seen nowhere


def wanted_parts(masses: np.ndarray, widths: np.ndarray, worth: float, most: int) -> np.ndarray:
    """Return into how many parts each cell is cut next.

    >>> wanted_parts(np.array([100.0, 5.0, 30.0]), np.array([64, 64, 2]), 10.0, 100).tolist()
    [10, 1, 2]
    """
    parts = np.clip(np.floor(masses / worth), 1, widths).astype(np.int64)
    total = int(parts[parts > 1].sum())
    return np.where(parts > 1, np.maximum(1, parts * most // total), 1) if total > most else parts


def merged_starts(starts: np.ndarray, is_seen: np.ndarray) -> np.ndarray:
    """Return the first codes of the cells that are left when runs of cells without rows are counted as one.

    starts: int64 (k,), first code of each cell; is_seen: bool (k,), where rows are seen: these cells stay as they are.
    Returns int64, beside cells with rows one cell stays alone, the next two are one, the next four, and so on.

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

    >>> search_steps(np.array([2**25, 2**20])), search_steps(np.array([100]))
    (2, 1)
    """
    return math.ceil(math.log2(max(2, int(widths.max()))) / math.log2(SEARCH_CELLS // widths.size))


def searched_parts(starts: np.ndarray, stops: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut cells into so many even parts that after some steps a part is a single code.

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


def outstanding(counts: np.ndarray, cell: np.ndarray, least: float, most: int = MOST_SEARCHED) -> np.ndarray:
    """Return which parts have more than the others of their cell by more than `least`: the first `most` of them.

    >>> outstanding(np.array([1.0, 90.0, -4.0, 30.0, 31.0]), np.array([0, 0, 0, 1, 1]), 15.0).tolist()
    [1]
    """
    parts, sums = np.bincount(cell), np.bincount(cell, counts)
    others = (sums[cell] - counts) / np.maximum(1, parts[cell] - 1)
    excess = counts - others
    leaders = np.argsort(-excess, kind="stable")[:most]
    return np.sort(leaders[excess[leaders] > least])


def least_found(parts: int, noise: NoiseLaw) -> float:
    """Return what a part must have more than others: more than the largest of so many noises, and than a few rows.

    >>> from fractions import Fraction
    >>> [round(least_found(8000, NoiseLaw(kind, Fraction(100)))) for kind in ("gaussian", "laplace")]
    [42, 899]
    """
    log = math.log(parts)
    largest = log / math.sqrt(2) if noise.kind == "laplace" else math.sqrt(2 * log)
    return max(max(FOUND_DEVIATIONS, largest) * noise.sd, FOUND_ROWS)


def going_on(widths: np.ndarray, steps: int) -> int:
    """Return how many parts of the widest's size can be cut down to single codes in the steps that are left.

    >>> going_on(np.array([2**20, 5]), 2), going_on(np.array([2**20]), 3), going_on(np.array([1]), 0)
    (16, 64, 64)
    """
    parts = math.ceil(math.pow(int(widths.max()), 1 / max(1, steps)) - 1e-9)
    return min(MOST_SEARCHED, max(1, SEARCH_CELLS // parts))


_SEARCH_STEPS = 40
_LEAST_DEVIATIONS = 3.0


def even_runs(masses: np.ndarray, groups: int) -> np.ndarray:
    """Cut ordered cells into runs of about equal mass; a cell heavier than a run should be stands alone.

    The heaviest run outside heavy cells is as light as ``groups`` runs allow. Time ``O(k)`` times 40.

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
