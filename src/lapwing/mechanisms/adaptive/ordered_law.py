"""The law of one ordered column from noisy counts of several partitions, each made after the counts before.

A column is a line of codes. A partition is given by the first code of each of its cells, the first of them 0. Where
earlier counts show rows, cells are cut further; runs of cells where they show none are counted as one. Everything here
is post-processing of noisy counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lapwing.maths.arrays import project_to_simplex

ATOM_DEVIATIONS = 4.0
"""What a cell has beyond both its neighbours is an atom from so many standard deviations of its noise on."""

SURE_DEVIATIONS = 5.0  # A run of cells surely has rows from so many on: there are some ten thousand runs to look at
NEXT_DEVIATIONS = 1.0  # what is beside the rows has rows, too, while it has so many, in steps that double the range
EMPTY_DEVIATIONS = 1.5
"""A half with fewer rows than so many standard deviations of its noise, beside a fuller one, is taken to be empty."""

EVEN_DEVIATIONS = math.sqrt(2 * math.log(2))
"""Halves closer to an even spread than so many, times the root of the depth, are even: the universal threshold."""

SPLITS = (0.5, 0.38, 0.62, 0.45, 0.55, 0.33, 0.67, 0.42)
"""Where the trees over the cells divide them: one tree for each, and their mean counts."""

_NEAR_SPREADS = 4.0  # standard deviations of a column up to which a place is not far
_SLACK = 1.0  # of runs that are nearly as sure as the surest, the shortest is taken
_LEAST_SD, _LEAST_RATIO = 1e-3, 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Hold one partition and its noisy counts.

    starts: int64 (k,), first code of each cell, increasing from 0; counts: float64 (k,), noisy counts.
    """

    starts: np.ndarray
    counts: np.ndarray
    sd: float


def settled_masses(stages: Sequence[Counted], codes: int, total: float) -> np.ndarray:
    """Return the masses of the finest cells that explain all counts, with noise taken out.

    1. Weighted least squares over all partitions say how many rows are between any two ends of cells, and how surely.
    2. Atoms, such as the zeros of a column of mostly zeros: cells that stand out of both their neighbours keep what
       they have beyond them.
    3. Support: the runs of cells that surely have rows, from the surest on, and all between them; from there outwards
       as long as the next step, as wide as all so far, has more rows than noise. Nothing is anywhere else: a few rows
       that noise puts far out would ruin means.
    4. Inside it, rows are handed down binary trees: a half gets what the estimates say, unless noise explains all of
       it or the difference to an even spread. The mean over trees that divide at different places is smoother and
       nearer to the truth than one tree.
    5. A single code that is not sure to have more rows than noise stands out of nothing.
    6. Once more without the cells that got nothing: those that are left are known the better.

    Time ``O(k ** 3)`` for k cells.

    Coifman, Donoho (1995), "Translation-invariant de-noising", for the mean over shifted trees; Donoho, Johnstone
    (1994), "Ideal spatial adaptation by wavelet shrinkage", for a threshold that grows with the number of halves.

    >>> counted = Counted(np.array([0, 10, 20, 30]), np.array([100.0, 4.0, -3.0, 2.0]), 3.0)
    >>> settled_masses([counted], 40, 100.0).tolist()
    [100.0, 0.0, 0.0, 0.0]
    """
    places = np.append(finest_starts(stages), codes).astype(np.float64)
    information, weighted = _normal_equations(stages)
    masses = _shared(information, weighted, places, total)
    kept = np.flatnonzero(masses)
    if kept.size:
        ends = np.append(0.0, np.cumsum(np.diff(places)[kept]))
        masses[kept] = _shared(information[np.ix_(kept, kept)], weighted[kept], ends, total, is_supported=True)
    return masses


def finest_starts(stages: Sequence[Counted]) -> np.ndarray:
    """Return the first codes of the cells that all partitions together tell apart: ndarray of int64, shape (k,)."""
    return np.unique(np.concatenate([stage.starts for stage in stages]))


def tail_places(masses: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return places between which rows are even that nothing is known of: in the tails, less and less dense.

    masses: float64 (k,), what is known of the cells; places: float64 (k + 1,), their ends, increasing. Returns float64
    (k + 1,), distances from the mean of the masses, as they are up to four standard deviations; farther out they grow
    like the integral of one over its fourth power, so that most rows of a tail are near its beginning.

    >>> tail_places(np.array([1.0, 1.0, 0.0]), np.array([-1.0, 0.0, 1.0, 1000.0])).round(1).tolist()
    [-1.0, 0.0, 1.0, 5.3]
    """
    mean, near = _near(masses, places)
    away = places - mean
    far = np.sign(away) * near * (4 - (near / np.maximum(np.abs(away), near)) ** 3) / 3
    return np.asarray(np.where(np.abs(away) > near, far, away))


def branch_masses(stages: Sequence[Counted], total: float) -> np.ndarray:
    """Return the masses of the finest cells where neighbours have nothing in common but their branch.

    >>> branches = Counted(np.array([0, 2]), np.array([10.0, 0.0]), 1.0)
    >>> codes = Counted(np.array([0, 1, 2, 3]), np.array([9.0, -1.0, 1.0, 1.0]), 1.0)
    >>> branch_masses([branches, codes], 10.0).round(1).tolist()
    [9.3, 0.0, 0.3, 0.3]
    """
    # For each partition but the first, the cell of the one before in which each of its cells lies.
    parents = [np.searchsorted(above.starts, below.starts, "right") - 1 for above, below in pairwise(stages)]
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


def cell_deviation(stages: Sequence[Counted]) -> float:
    """Return the standard deviation of the noise in one finest cell of average size, all stages together."""
    cells = finest_starts(stages).size
    return 1 / math.sqrt(sum(cells / (stage.starts.size * _variance(stage)) for stage in stages))


def _normal_equations(stages: Sequence[Counted]) -> tuple[np.ndarray, np.ndarray]:
    """Return the information that all stages have about the finest cells, and their counts weighted by it."""
    finest = finest_starts(stages)
    information, weighted = np.zeros((finest.size, finest.size)), np.zeros(finest.size)
    least = max(_LEAST_SD, _LEAST_RATIO * max(stage.sd for stage in stages))  # or the inverse would be lost in rounding
    for stage in stages:
        cell = np.searchsorted(stage.starts, finest, "right") - 1
        precision = 1 / max(stage.sd, least) ** 2
        information += (cell[:, None] == cell[None, :]) * precision
        weighted += stage.counts[cell] * precision
    return information, weighted


def _shared(
    information: np.ndarray, weighted: np.ndarray, places: np.ndarray, total: float, *, is_supported: bool = False
) -> np.ndarray:
    """Return atoms and, by trees over the support, the rest; where is_supported that is everything."""
    covariance = np.linalg.inv(information)
    estimates, noise = covariance @ weighted, _interval_noise(covariance)
    widths, sd = np.diff(places), np.sqrt(np.diag(covariance))
    atoms = _atoms(estimates, widths, sd)
    atoms *= min(1.0, total / max(float(atoms.sum()), 1e-9))
    rest = total - float(atoms.sum())
    if atoms.any() and rest < EMPTY_DEVIATIONS * noise[0, -1]:
        return np.asarray(atoms * (total / atoms.sum()))
    sums = np.append(0.0, np.cumsum(estimates - atoms))
    first, last = (0, estimates.size) if is_supported else _support(sums, places, noise, np.flatnonzero(atoms))
    ends = slice(first, last + 1)
    others = np.zeros_like(atoms)
    others[first:last] = _handed_down(sums[ends].tolist(), places[ends].tolist(), noise[ends, ends].tolist(), rest)
    return np.asarray(atoms + _levelled(others, widths, estimates > ATOM_DEVIATIONS * sd))


def _interval_noise(covariance: np.ndarray) -> np.ndarray:
    """Return the standard deviation of the noise in the sum of all cells between any two ends: shape (k + 1, k + 1)."""
    sums = np.pad(covariance.cumsum(axis=0).cumsum(axis=1), (1, 0))
    own = np.diag(sums)
    return np.asarray(np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * sums, _LEAST_SD**2)))


def _atoms(estimates: np.ndarray, widths: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Return what a cell has beyond both its neighbours, where it is more than theirs and than noise; otherwise 0."""
    density = np.where(estimates > EMPTY_DEVIATIONS * sd, estimates, 0.0) / widths
    around = np.maximum(np.append(density[1:], 0.0), np.append(0.0, density[:-1])) * widths
    excess = estimates - around
    return np.where(excess > np.maximum(ATOM_DEVIATIONS * sd, around), excess, 0.0)


def _levelled(masses: np.ndarray, widths: np.ndarray, is_sure: np.ndarray) -> np.ndarray:
    """Return masses where single codes among wide cells stand out only if they are sure to.

    Noise makes one of them a value of many rows, as it makes of no code in a wide cell. Several in a row share what
    they have; one on its own is as dense as the wide cells beside it, which get the rest.
    """
    found, places = masses.copy(), np.flatnonzero((widths == 1) & ~is_sure)
    for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if places.size and (widths > 1).any() else ():
        beside = [each for each in (run[0] - 1, run[-1] + 1) if 0 <= each < masses.size and widths[each] > 1]
        density = masses[beside].sum() / widths[beside].sum() if beside and run.size == 1 else math.inf
        found[run] = min(masses[run].mean(), density)
        if density < masses[run[0]]:
            share = masses[beside] if density else widths[beside]
            found[beside] += (masses[run[0]] - density) * share / share.sum()
    return found


def _support(sums: np.ndarray, places: np.ndarray, noise: np.ndarray, atoms: np.ndarray) -> tuple[int, int]:
    """Return the ends between which there are rows: sums up to each end, atoms as the places of their cells."""
    cells = sums.size - 1
    deviations = np.triu((sums[None, :] - sums[:, None]) / noise, 1)
    free, first, last = deviations.copy(), cells, 0
    while (best := float(free.max())) > (SURE_DEVIATIONS if last else 0.0):
        runs = np.argwhere(free >= max(best - _SLACK, min(best, _LEAST_SD)))
        start, stop = runs[np.argmin(places[runs[:, 1]] - places[runs[:, 0]])].tolist()
        first, last = min(first, start), max(last, stop)
        free[:stop, start + 1 :] = 0.0  # all runs that overlap
    if not last:
        return 0, cells
    first, last = min([first, *atoms.tolist()]), max([last, *(atoms + 1).tolist()])
    while first > 0:
        start = min(int(np.searchsorted(places, 2 * places[first] - places[last])), first - 1)
        if deviations[start, first] < NEXT_DEVIATIONS:
            break
        first = start
    while last < cells:
        stop = max(int(np.searchsorted(places, 2 * places[last] - places[first], "right")) - 1, last + 1)
        if deviations[last, stop] < NEXT_DEVIATIONS:
            break
        last = stop
    return first, last


def _handed_down(sums: list[float], places: list[float], noise: list[list[float]], total: float) -> np.ndarray:
    """Return the mean masses of the cells over all trees."""
    masses = np.zeros(len(places) - 1)
    for number in range(len(SPLITS)):
        waiting = [(0, masses.size, total, 0)]
        while waiting:
            first, last, mass, depth = waiting.pop()
            if last - first == 1 or mass <= 0.0:
                masses[first] += mass
                continue
            # Every other level divides from the other end of the list, so that no tree leans to one side.
            share = SPLITS[number if depth % 2 else -number]
            middle = first + min(max(1, round(share * (last - first))), last - first - 1)
            halves = sums[middle] - sums[first], sums[last] - sums[middle]
            even = mass * (places[middle] - places[first]) / (places[last] - places[first])
            given = _left_share(mass, halves, (noise[first][middle], noise[middle][last]), even, depth)
            waiting += [(first, middle, given, depth + 1), (middle, last, mass - given, depth + 1)]
    return masses / len(SPLITS)


def _left_share(
    mass: float, halves: tuple[float, float], deviations: tuple[float, float], even: float, depth: int
) -> float:
    """Return how much the left half gets: an even share where noise allows it, all or nothing where one is empty."""
    (left, right), (left_sd, right_sd) = halves, deviations
    deviation = math.hypot(left_sd, right_sd)
    given = min(max(left + (mass - left - right) * (left_sd / deviation) ** 2, 0.0), mass)
    if 2 * abs(given - even) < EVEN_DEVIATIONS * math.sqrt(depth) * deviation:
        return even
    has_left, has_right = left > EMPTY_DEVIATIONS * left_sd, right > EMPTY_DEVIATIONS * right_sd
    if mass > EMPTY_DEVIATIONS * deviation and has_left != has_right and (left > right) == has_left:
        return mass * has_left
    return given


def _near(masses: np.ndarray, places: np.ndarray) -> tuple[float, float]:
    """Return the mean of some masses, and how far from it is not far."""
    middles, widths, total = (places[1:] + places[:-1]) / 2, np.diff(places), max(float(masses.sum()), 1e-9)
    mean = float((masses * middles).sum()) / total
    spread = math.sqrt(float((masses * (np.square(middles - mean) + np.square(widths) / 12)).sum()) / total)
    return mean, _NEAR_SPREADS * max(spread, 1.0)


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
