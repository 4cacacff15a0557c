"""One column counted in finer and finer cells: where earlier noisy counts show rows, cells are cut further.

A column is a line of codes. A partition is given by the first code of each of its cells, the first of them 0; each
partition cuts cells of the one before. Everything here is post-processing of noisy counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from lapwing.numerics.simplex import project_to_simplex

EMPTY_DEVIATIONS = 1.9
"""A half with fewer rows than so many standard deviations of its noise, beside a fuller one, is taken to be empty."""

FAR_DEVIATIONS = 0.4
"""So many more for each doubling of the distance at which the half ends, beyond `NEAR_SPREADS`."""

NEAR_SPREADS = 4.0
"""Distance from the mean, in standard deviations of the column, up to which a place is not far."""

EVEN_DEVIATIONS = 1.5
"""Halves closer to an even spread than so many standard deviations of the noise are taken to be spread evenly."""

SPLITS = (0.5, 0.38, 0.62, 0.45, 0.55, 0.33, 0.67, 0.42)
"""Where the trees over the cells divide them: one tree for each, and their mean counts."""

_SURE_DEVIATIONS = 4.0  # rows beyond so many are not noise: atoms, and what the spread of a column is taken from


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Hold one partition and its noisy counts.

    Parameters
    ----------
    starts : ndarray of int64, shape (k,)
        First code of each cell, increasing from 0.
    counts : ndarray of float64, shape (k,)
        Noisy counts.
    sd : float
        Standard deviation of their noise, at least 0.
    """

    starts: np.ndarray
    counts: np.ndarray
    sd: float


def settled_masses(stages: Sequence[Counted], codes: int, total: float) -> np.ndarray:
    """Return the masses of the finest cells that explain all counts, with noise taken out.

    Parameters
    ----------
    stages : sequence of Counted
        Each partition cuts cells of the one before; at least one.
    codes : int
        Codes of the column: the last cell ends here.
    total : float
        Mass of them all, at least 0.

    Returns
    -------
    ndarray of float64, shape (k,)
        At least 0, summing to ``total``.

    Notes
    -----
    Weighted least squares over all partitions says how much is in each finest cell (`least_squares_counts`). Cells that
    stand out of both their neighbours, such as the zeros of a column of mostly zeros, keep what they have beyond them:
    one count says it better than the difference of the total and all others. The rest is handed down binary trees over
    the finest cells: a part gets what the estimates say, each weighted by the inverse of its variance, unless the noise
    explains all of it, when it gets nothing (a far and empty part of the domain would else keep rows that ruin means),
    or the noise explains the difference to an even spread, when it gets that. What is far is told by a first pass, in
    which only what stands out clearly has rows: the farther out a part ends, the more it takes to be more than noise,
    and rows that are there all the same are even in `tail_places`. The mean over trees that divide at different places
    is smoother and nearer to the truth than one tree. Time ``O(k)`` per tree.

    References
    ----------
    Coifman, Donoho (1995), "Translation-invariant de-noising", for the mean over shifted trees.

    Examples
    --------
    >>> counted = Counted(np.array([0, 10, 20, 30]), np.array([100.0, 4.0, -3.0, 2.0]), 3.0)
    >>> settled_masses([counted], 40, 100.0).tolist()
    [100.0, 0.0, 0.0, 0.0]
    """
    places = np.append(stages[-1].starts, codes).astype(np.float64)
    estimates = least_squares_counts(stages)
    atoms = _atoms(estimates, np.diff(places), cell_deviation(stages))
    atoms *= min(1.0, total / max(float(atoms.sum()), 1e-9))
    rest = max(0.0, total - float(atoms.sum()))
    found = _Handing(
        estimates=np.concatenate(([0.0], np.cumsum(estimates - atoms))).tolist(),
        places=places.tolist(),
        coverings=_coverings(stages, codes),
        empty=[_SURE_DEVIATIONS] * places.size,
        far=[False] * places.size,
    )
    is_seen = rest > EMPTY_DEVIATIONS * _deviation(found.coverings, 0, estimates.size) or not atoms.any()
    sure = atoms + _handed_down(found, rest) if is_seen else atoms
    mean, near = _near(sure, places)
    doublings = np.log2(np.maximum(np.abs(places - mean) / near, 1.0))
    found = replace(
        found,
        places=tail_places(sure, places).tolist(),
        empty=(EMPTY_DEVIATIONS + FAR_DEVIATIONS * doublings).tolist(),
        far=(doublings > 0).tolist(),
    )
    return np.asarray(atoms + _handed_down(found, rest))


def tail_places(masses: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return places between which rows are even that nothing is known of: in the tails, less and less dense.

    Parameters
    ----------
    masses : ndarray of float64, shape (k,)
        What is known of the cells.
    places : ndarray of float64, shape (k + 1,)
        Their ends, increasing.

    Returns
    -------
    ndarray of float64, shape (k + 1,)
        Distances from the mean of the masses, as they are up to four standard deviations; farther out they grow like
        the integral of one over the squared distance, so that most rows of a tail are near its beginning.

    Examples
    --------
    >>> tail_places(np.array([1.0, 1.0, 0.0]), np.array([-1.0, 0.0, 1.0, 1000.0])).round(1).tolist()
    [-1.0, 0.0, 1.0, 8.0]
    """
    mean, near = _near(masses, places)
    away = places - mean
    far = np.sign(away) * (2 * near - near**2 / np.maximum(np.abs(away), near))
    return np.asarray(np.where(np.abs(away) > near, far, away))


def branch_masses(stages: Sequence[Counted], total: float) -> np.ndarray:
    """Return the masses of the finest cells where neighbours have nothing in common but their branch.

    Parameters
    ----------
    stages : sequence of Counted
        Levels of branches, the coarsest first, and last the finest cells.
    total : float
        Mass of them all, at least 0.

    Returns
    -------
    ndarray of float64, shape (k,)
        At least 0, summing to ``total``: from the coarsest level down, what a branch has is divided among its parts by
        projecting their pooled counts on the simplex.

    Examples
    --------
    >>> branches = Counted(np.array([0, 2]), np.array([10.0, 0.0]), 1.0)
    >>> codes = Counted(np.array([0, 1, 2, 3]), np.array([9.0, -1.0, 1.0, 1.0]), 1.0)
    >>> branch_masses([branches, codes], 10.0).round(1).tolist()
    [9.3, 0.0, 0.3, 0.3]
    """
    parents = _all_parents(stages)
    pooled, _ = _pooled(stages, parents)
    masses = project_to_simplex(pooled[0], total)
    for counts, parent in zip(pooled[1:], parents, strict=True):
        ends = np.searchsorted(parent, np.arange(masses.size + 1))
        masses = np.concatenate(
            [
                project_to_simplex(counts[first:last], mass)
                for first, last, mass in zip(ends[:-1], ends[1:], masses, strict=True)
            ]
        )
    return masses


def least_squares_counts(stages: Sequence[Counted]) -> np.ndarray:
    """Return the counts of the finest cells that fit all stages best, by inverse variances.

    Parameters
    ----------
    stages : sequence of Counted
        As for `settled_masses`.

    Returns
    -------
    ndarray of float64, shape (k,)
        May be negative.

    Examples
    --------
    >>> coarse = Counted(np.array([0]), np.array([12.0]), 1.0)
    >>> fine = Counted(np.array([0, 5]), np.array([4.0, 4.0]), 1.0)
    >>> least_squares_counts([coarse, fine]).round(2).tolist()
    [5.33, 5.33]
    """
    parents = _all_parents(stages)
    pooled, spread = _pooled(stages, parents)
    fitted = pooled[0]
    for counts, variances, parent in zip(pooled[1:], spread[1:], parents, strict=True):
        own_sum = np.bincount(parent, counts, fitted.size)
        own_variance = np.bincount(parent, variances, fitted.size)
        fitted = counts + (fitted - own_sum)[parent] * variances / own_variance[parent]
    return fitted


def cell_deviation(stages: Sequence[Counted]) -> float:
    """Return the standard deviation of the noise in one finest cell of average size, all stages together."""
    cells = stages[-1].starts.size
    return 1 / math.sqrt(sum(cells / (stage.starts.size * _variance(stage)) for stage in stages))


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


@dataclass(frozen=True, slots=True, eq=False)
class _Covering:
    """Say, for each finest cell, where one stage's cells open and close, and the variance of its noise."""

    opened: list[int]
    closed: list[int]
    variance: float


@dataclass(frozen=True, slots=True, eq=False)
class _Handing:
    """What mass is handed down by: sums of the estimates up to each end of a cell, the ends, and the noise.

    For a part that ends there, away from the mean, also what counts as empty, in standard deviations, and whether it is
    far: a row misplaced far out moves the mean most, and noise has the more parts to err in.
    """

    estimates: list[float]
    places: list[float]
    coverings: list[_Covering]
    empty: list[float]
    far: list[bool]


def _atoms(estimates: np.ndarray, widths: np.ndarray, sd: float) -> np.ndarray:
    """Return what a cell has beyond both its neighbours, where it is more than theirs and than noise; otherwise 0."""
    density = np.where(estimates > EMPTY_DEVIATIONS * sd, estimates, 0.0) / widths
    around = np.maximum(np.append(density[1:], 0.0), np.append(0.0, density[:-1])) * widths
    excess = estimates - around
    return np.where(excess > np.maximum(_SURE_DEVIATIONS * sd, around), excess, 0.0)


def _near(masses: np.ndarray, places: np.ndarray) -> tuple[float, float]:
    """Return the mean of some masses, and how far from it is not far."""
    middles, widths, total = (places[1:] + places[:-1]) / 2, np.diff(places), max(float(masses.sum()), 1e-9)
    mean = float((masses * middles).sum()) / total
    spread = math.sqrt(float((masses * (np.square(middles - mean) + np.square(widths) / 12)).sum()) / total)
    return mean, NEAR_SPREADS * max(spread, 1.0)


def _handed_down(found: _Handing, total: float) -> np.ndarray:
    """Return the mean masses of the finest cells over all trees."""
    estimates, places, coverings = found.estimates, found.places, found.coverings
    empty, far = found.empty, found.far
    cells = len(places) - 1
    masses = np.zeros(cells)
    for number in range(len(SPLITS)):
        waiting = [(0, cells, total, 0)]
        while waiting:
            first, last, mass, depth = waiting.pop()
            if last - first == 1 or mass <= 0.0:
                masses[first] += mass
                continue
            # Every other level divides from the other end of the list, so that no tree leans to one side.
            share = SPLITS[number if depth % 2 else -number]
            middle = first + min(max(1, round(share * (last - first))), last - first - 1)
            halves = estimates[middle] - estimates[first], estimates[last] - estimates[middle]
            deviations = _deviation(coverings, first, middle), _deviation(coverings, middle, last)
            width = places[last] - places[first]
            even = mass * min((places[middle] - places[first]) / width, 1.0) if width > 0 else mass / 2
            is_far = far[first] or far[last]
            given = _left_share(mass, halves, deviations, even, empty=(empty[first], empty[last]), is_far=is_far)
            waiting += [(first, middle, given, depth + 1), (middle, last, mass - given, depth + 1)]
    return masses / len(SPLITS)


def _coverings(stages: Sequence[Counted], codes: int) -> list[_Covering]:
    finest = np.append(stages[-1].starts, codes)
    return [
        _Covering(
            np.searchsorted(stage.starts, finest, "right").tolist(),
            np.searchsorted(stage.starts, finest, "left").tolist(),
            _variance(stage),
        )
        for stage in stages
    ]


def _deviation(coverings: Sequence[_Covering], first: int, last: int) -> float:
    """Return the noise in the finest cells from first to last - 1; coarse cells that reach out of them count whole."""
    precisions = [1 / ((each.closed[last] - each.opened[first] + 1) * each.variance) for each in coverings]
    return 1 / math.sqrt(sum(precisions))


def _left_share(
    mass: float,
    halves: tuple[float, float],
    deviations: tuple[float, float],
    even: float,
    *,
    empty: tuple[float, float],
    is_far: bool,
) -> float:
    """Return how much of a mass the left half gets: an even share where noise allows it, all or nothing if far out."""
    (left, right), (left_sd, right_sd) = halves, deviations
    deviation = math.hypot(left_sd, right_sd)
    given = min(max(left + (mass - left - right) * (left_sd / deviation) ** 2, 0.0), mass)
    is_even = abs(2 * given - 2 * even) < EVEN_DEVIATIONS * deviation
    if is_even and not is_far:
        return even
    has_left, has_right = left > empty[0] * left_sd, right > empty[1] * right_sd
    if mass > min(empty) * deviation and has_left != has_right and (left > right) == has_left:
        return mass * has_left
    is_unseen = is_far and not (has_left or has_right)
    return even if is_even or is_unseen else given


def _all_parents(stages: Sequence[Counted]) -> list[np.ndarray]:
    """Return, for each partition but the first, the cell of the one before in which each of its cells lies."""
    return [np.searchsorted(above.starts, below.starts, "right") - 1 for above, below in pairwise(stages)]


def _pooled(stages: Sequence[Counted], parents: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return each cell's count pooled with the sum of what lies below it, and its variance, stage by stage."""
    variances = [np.full(stage.starts.size, _variance(stage)) for stage in stages]
    pooled, spread = [stages[-1].counts], [variances[-1]]
    for stage, own, parent in zip(stages[-2::-1], variances[-2::-1], parents[::-1], strict=True):
        below = np.bincount(parent, pooled[0], stage.starts.size)
        below_variance = np.bincount(parent, spread[0], stage.starts.size)
        pooled.insert(0, (stage.counts / own + below / below_variance) / (1 / own + 1 / below_variance))
        spread.insert(0, 1 / (1 / own + 1 / below_variance))
    return pooled, spread


def _variance(stage: Counted) -> float:
    """Return the variance of a stage's noise; a tiny one where there is none."""
    return max(stage.sd, 1e-6) ** 2
