"""Private microaggregation: noisy means of the rows' vectors over cells along the leading directions.

ask -> fit: totals, second moment, counts and sums of cells; then weights and means inside their convex set.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.kernel.terms import Terms
from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.shared.vectors.row_vectors import Projector
from lapwing.mechanisms.shared.vectors.vector_cells import (
    CELL_ROWS,
    MOST_CELLS,
    Totals,
    chosen_bins,
    covariance_of,
    cut_directions,
    noise_edge,
    sampling_variance,
)

# -- Move the means of weighted cells so that their covariance comes near a noisy one.


MOST_STEPS: Final = 200

MOST_WORK: Final = 2e10  # most multiplications of one fit; beyond, fewer steps are made
LEAST_TRUST: Final = 0.01  # below, the noisy covariance is noise beside what the cells say, and the means stay
SETTLED: Final = 1e-4  # steps end when they move no mean by so much
MomentProjection = Callable[[np.ndarray], np.ndarray]


def shrunk_covariance(own: np.ndarray, noisy: np.ndarray, pairs: np.ndarray, sd: float) -> tuple[np.ndarray, float]:
    """Return a covariance between that of the cells and a noisy one, by the noise of the latter.

    James and Stein (1961), with the variance of the differences estimated by their mean square less that of the noise.
    """
    differences = np.where(pairs, noisy - own, 0.0)
    count = int(np.count_nonzero(pairs))
    if not count:
        return own, 0.0
    real = max(0.0, float((differences * differences).sum()) / count - sd**2)
    trust = real / (real + sd**2) if real else 0.0
    return own + trust * differences, trust


def fitted_means(
    means: np.ndarray, weights: np.ndarray, covariance: np.ndarray, pairs: np.ndarray, project: MomentProjection
) -> np.ndarray:
    """Return means in a convex set whose weighted covariance is nearer to a given one.

    Their weighted mean stays about the same where the covariance is in reach, and drifts where the set is in the way.

    Projected gradient steps on the sum of squared differences, each divided by the cell's weight; the step is half the
    inverse of the larger spectral norm of the two covariances at the start. At most 200 steps of ``O(s p**2)``; they
    end when none moves a mean by 1e-4.

    >>> means, weights = np.array([[-0.5, -0.2], [0.5, 0.2]]), np.array([0.5, 0.5])
    >>> aim, pairs = np.array([[0.0, 0.2], [0.2, 0.0]]), ~np.eye(2, dtype=bool)
    >>> fitted = fitted_means(means, weights, aim, pairs, lambda points: np.clip(points, -1, 1))
    >>> round(float((fitted[:, 0] * fitted[:, 1] * weights).sum()), 3)
    0.2
    """
    centre = weighted_mean(means, weights)
    own = weighted_covariance(means, weights, centre)
    largest = max(float(np.linalg.eigvalsh(each)[-1]) for each in (own, np.where(pairs, covariance, own)))
    if largest <= 0.0:
        return means
    steps = int(min(MOST_STEPS, max(10, MOST_WORK / (len(means) * covariance.size))))
    for _ in range(steps):
        excess = np.where(pairs, weighted_covariance(means, weights, centre) - covariance, 0.0)
        step = (0.5 / largest) * ((means - centre) @ excess)
        moved = project(means - step + (centre - weighted_mean(means, weights)))
        is_settled = np.abs(moved - means).max() < SETTLED
        means = moved
        if is_settled:
            break
    return means


def weighted_mean(means: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the mean of weighted points: ndarray of float64, shape (p,)."""
    return np.asarray((weights[:, None] * means).sum(axis=0))


def weighted_covariance(means: np.ndarray, weights: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return the covariance of weighted points about a centre: ndarray of float64, shape (p, p)."""
    deviations = means - centre
    return np.asarray((deviations * weights[:, None]).T @ deviations)


CELL_SHARES: Final = (Fraction(6, 16), Fraction(1, 16), Fraction(9, 16))
"""How what the totals leave is divided: second moment, counts of cells, sums of cells."""

CALIBRATIONS: Final = 3
RAKINGS: Final = 20
FLOOR: Final = 1e-4  # part of the totals that every cell has at least, so that raking finds something to scale


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Hold weighted means of rows.

    weights: float64 (s,), non-negative, of sum 1; means: float64 (s, p), in units, inside their convex set.
    """

    weights: np.ndarray
    means: np.ndarray
    rows: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSettings:
    """Say how cells are made; see `lapwing.mechanisms.vectors.microaggregation.mechanism.Microaggregation`.

    calibrate, fit_moments: whether the means are moved to the totals, and to the second moment; is_box: whether they
    lie in the product of the columns' intervals and simplices, and nothing narrower.
    """

    one_way_share: Fraction = Fraction(1, 5)
    directions: int | None = None
    bins: int | None = None
    damping: int | None = None
    most_cells: int = MOST_CELLS
    calibrate: bool = True
    fit_moments: bool = True
    is_box: bool = True


def choose_cells(
    coordinates: Coordinates, moment: NoisySums, totals: Totals, most: float, settings: CellSettings
) -> Projection | None:
    """Return the cells along the leading directions of a noisy second moment."""
    covariance = covariance_of(moment, totals)
    edge = noise_edge(coordinates.size, covariance.sd, sampling_variance(covariance, totals.rows))
    eigenvalues = np.linalg.eigvalsh(covariance.between)[::-1]
    bins = chosen_bins(eigenvalues, edge, most, directions=settings.directions, bins=settings.bins)
    return cut_directions(coordinates, covariance, totals.mean, bins)


def solve_means(
    moment: NoisySums, counts: NoisySums, sums: NoisySums, totals: Totals, *, settings: CellSettings, project: Projector
) -> Means:
    """Return weights and means from all answers: ratios, then calibrated to totals and second moment."""
    assert isinstance(moment.question, SecondMoment)
    unit, cells = moment.question.coordinates.unit, counts.values.size
    noise, cell_sums = sums.noise.sd / unit, sums.values / unit
    deviations = np.full(cell_sums.shape[1], noise * cells**0.5)
    all_cells = Totals(
        max(1.0, float(counts.values.sum())), counts.noise.sd * cells**0.5, cell_sums.sum(axis=0), deviations
    )
    pooled = totals.pooled(all_cells)
    weights = project_to_simplex(counts.values, pooled.rows) / pooled.rows
    damping = max(1.0, noise) if settings.damping is None else settings.damping
    means = project(cell_sums / np.maximum(weights * pooled.rows, damping)[:, None])
    if settings.calibrate:
        means = _calibrate(means, weights, pooled, project)
    if settings.fit_moments and cells > 1:
        covariance = covariance_of(moment, pooled)
        own = weighted_covariance(means, weights, pooled.mean)
        aim, trust = shrunk_covariance(own, covariance.between, covariance.pairs, covariance.sd)
        if trust >= LEAST_TRUST:
            means = fitted_means(means, weights, aim, covariance.pairs, project)
            means = _calibrate(means, weights, pooled, project) if settings.calibrate else means
    if settings.calibrate and settings.is_box:
        means = rake_means(means, weights, project(pooled.mean[None])[0], moment.question.coordinates)
    return Means(weights, means, pooled.rows)


def most_cells(
    coordinates: Coordinates, costs: Sequence[Budget], rows: float, terms: Terms, settings: CellSettings
) -> float:
    """Return how many cells the noise on their sums, and the settings, allow."""
    _, of_sums = cell_questions(coordinates, None, costs)
    noise = of_sums.noise(terms.relation, terms.max_rows).sd / of_sums.scale
    return float(min(MOST_CELLS, settings.most_cells, rows / (CELL_ROWS * max(noise, 1.0))))


def cell_questions(
    coordinates: Coordinates, projection: Projection | None, costs: Sequence[Budget]
) -> tuple[CellSums, CellSums]:
    """Return the questions for the counts and the sums of cells, at the second and the third cost."""
    return (
        CellSums(coordinates=coordinates, projection=projection, summed="rows", cost=costs[1]),
        CellSums(coordinates=coordinates, projection=projection, summed="vectors", cost=costs[2]),
    )


def _calibrate(means: np.ndarray, weights: np.ndarray, totals: Totals, project: Projector) -> np.ndarray:
    """Return means whose weighted mean is nearer to that of the totals: shifted alike, and projected."""
    for _ in range(CALIBRATIONS):
        means = project(means + (totals.mean - weighted_mean(means, weights)))
    return means


def rake_means(means: np.ndarray, weights: np.ndarray, mean: np.ndarray, coordinates: Coordinates) -> np.ndarray:
    """Return means whose weighted mean is as given, column by column: shares are scaled, proportional fitting.

    Shifts and projections do not get there where most cells are at 0: rare categories, and sums of money that most rows
    lack. mean: float64 (p,), in the product of the columns' intervals and simplices. Lines with listed codes stay.
    """
    moved = means.copy()
    starts = np.cumsum((0, *coordinates.widths))
    low = -1.0 if coordinates.coding == "centred" else 0.0
    for place, kind in enumerate(coordinates.kinds):
        block = slice(starts[place], starts[place + 1])
        shares, target = means[:, block], mean[block]
        if kind == "line" and coordinates.listed[place]:
            continue
        if kind == "line":
            upper, aim = (shares - low) / (1.0 - low), (target - low) / (1.0 - low)
            shares, target = np.concatenate((1.0 - upper, upper), axis=1), np.concatenate((1.0 - aim, aim))
        shares = (1.0 - FLOOR) * shares + FLOOR * target
        for _ in range(RAKINGS):
            own = weights @ shares
            shares = shares * np.divide(target, own, out=np.zeros_like(own), where=own > 0.0)
            shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
        moved[:, block] = low + (1.0 - low) * shares[:, 1:] if kind == "line" else shares
    return moved
