"""The 1-Wasserstein distance W1 between tables: exact between small samples of equal size, sliced for large ones.

W1 is the smallest mean distance by which the mass of one law has to be moved to make the other. It has the unit of the
ground metric: scale the columns first when they have different units. What is computed from private rows is private:
nothing here adds noise.
"""

import math
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from lapwing.errors import CapacityError, ParameterError
from lapwing.evaluate.checks import Floats, same_space
from lapwing.evaluate.estimates import Estimate
from lapwing.evaluate.wasserstein_line import wasserstein_line

Metric = Literal["linf", "l1", "l2"]

MAX_ASSIGNED: Final = 2048
"""Most points that are assigned to each other: 32 MiB of distances, 2 to 6 seconds."""

_SCIPY_NAMES: Final = {"linf": "chebyshev", "l1": "cityblock", "l2": "euclidean"}


def wasserstein_assignment(
    points: npt.ArrayLike, others: npt.ArrayLike, *, metric: Metric = "linf", farthest: float = math.inf
) -> float:
    """Return the exact W1 between two equally large samples, each point with the same weight.

    Parameters
    ----------
    points, others : array_like of float, shape (m, d)
        Finite numbers, ``1 <= m <= 2048``.
    metric : {"linf", "l1", "l2"}
        Ground metric: the largest coordinate difference, their sum, or the Euclidean distance.
    farthest : float, optional
        A distance counts for no more than this, above 0: so W1 becomes the bounded-Lipschitz distance with half of it
        as the bound (`lapwing.evaluate.bounded_lipschitz`).

    Returns
    -------
    float
        At least 0, in the unit of the coordinates.

    Raises
    ------
    ParameterError
        If the shapes differ, an entry is not finite, a distance is not above 0 or the metric is unknown.
    CapacityError
        If there are more than 2048 points.

    References
    ----------
    Crouse (2016), "On implementing 2D rectangular assignment algorithms", as implemented by SciPy. Between equally many
    points of equal weight an optimal transport is an assignment (Birkhoff).

    Notes
    -----
    Time ``O(m**3)`` at worst, memory ``8 m**2`` bytes.

    Examples
    --------
    >>> wasserstein_assignment([[0.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.5]])
    0.25
    """
    # Imported when needed: SciPy's optimisers take a while to load.
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415

    left, right = same_space(points, others)
    if len(left) != len(right):
        raise ParameterError(
            "an assignment needs equally many points on both sides; use wasserstein_subsampled or wasserstein_sliced",
            code="LW801",
        )
    _check_assigned(len(left))
    if not farthest > 0:
        raise ParameterError(f"farthest must be above 0, got {farthest}; leave it out for W1", code="LW301")
    distances = np.minimum(ground_distances(left, right, metric), farthest)
    rows, columns = linear_sum_assignment(distances)
    return float(distances[rows, columns].mean())


def ground_distances(points: Floats, others: Floats, metric: Metric) -> Floats:
    """Return the distance of each point from each other one.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite.
    others : ndarray of float64, shape (m, d)
        Finite.
    metric : {"linf", "l1", "l2"}
        As for `wasserstein_assignment`.

    Returns
    -------
    ndarray of float64, shape (n, m)

    Raises
    ------
    ParameterError
        If the metric is unknown.

    Examples
    --------
    >>> ground_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]), "linf")
    array([[4.]])
    """
    if metric not in get_args(Metric):
        raise ParameterError(f"metric must be one of {', '.join(get_args(Metric))}, got {metric!r}", code="LW303")
    return np.asarray(cdist(points, others, _SCIPY_NAMES[metric]))


def wasserstein_subsampled(
    points: npt.ArrayLike,
    others: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    size: int = 1000,
    repeats: int = 5,
    metric: Metric = "linf",
    farthest: float = math.inf,
) -> Estimate:
    """Return the mean W1 between equally large subsamples.

    Parameters
    ----------
    points : array_like of float, shape (n, d)
        Finite numbers.
    others : array_like of float, shape (m, d)
        Finite numbers.
    rng : Generator
        Draws the subsamples, without replacement.
    size : int, default 1000
        Points in a subsample: 1 to 2048, and at most n and m.
    repeats : int, default 5
        Pairs of subsamples, at least 2.
    metric, farthest
        Ground metric, as for `wasserstein_assignment`.

    Returns
    -------
    Estimate
        Mean over the repeats, and its standard error given the points. Both in the unit of the coordinates.

    Raises
    ------
    ParameterError
        If an array or a setting is out of range.
    CapacityError
        If ``size`` is above 2048.

    Notes
    -----
    The expected value is at least the W1 between the whole samples, because W1 is convex; the excess shrinks like
    ``size ** (-1/d)`` for d > 2, and the standard error does not show it. Compare with the same figure between two
    halves of one sample. Time ``O(repeats * size**3)`` at worst.

    Examples
    --------
    >>> grid = np.linspace(0.0, 1.0, 50)[:, np.newaxis]
    >>> wasserstein_subsampled(grid, grid + 2.0, np.random.default_rng(1), size=50, repeats=3).value
    2.0
    """
    left, right = same_space(points, others)
    if not 1 <= size <= min(len(left), len(right)):
        raise ParameterError(
            f"size must lie between 1 and the number of points on each side, got {size}; choose a smaller size",
            code="LW301",
        )
    if repeats < 2:
        raise ParameterError(f"repeats must be at least 2 for a standard error, got {repeats}", code="LW301")
    draws = [
        wasserstein_assignment(
            left[rng.choice(len(left), size, replace=False)],
            right[rng.choice(len(right), size, replace=False)],
            metric=metric,
            farthest=farthest,
        )
        for _ in range(repeats)
    ]
    return _estimate(np.array(draws))


def random_directions(dimension: int, count: int, rng: np.random.Generator) -> Floats:
    """Return directions that are uniform on the unit sphere.

    Parameters
    ----------
    dimension : int
        Coordinates of a direction, at least 1.
    count : int
        Number of directions, at least 1.
    rng : Generator
        Draws them.

    Returns
    -------
    ndarray of float64, shape (count, dimension)
        Rows of Euclidean length 1.

    Raises
    ------
    ParameterError
        If a number is below 1.

    Examples
    --------
    >>> np.abs(random_directions(1, 2, np.random.default_rng(1)))
    array([[1.],
           [1.]])
    """
    if dimension < 1 or count < 1:
        raise ParameterError(
            f"directions need at least 1 dimension and 1 direction, got {dimension} and {count}", code="LW301"
        )
    drawn = rng.standard_normal((count, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def wasserstein_sliced(
    points: npt.ArrayLike, others: npt.ArrayLike, rng: np.random.Generator, *, directions: int = 100
) -> Estimate:
    """Return the sliced W1: the mean of the W1 between the projections on random directions.

    Parameters
    ----------
    points : array_like of float, shape (n, d)
        Finite numbers.
    others : array_like of float, shape (m, d)
        Finite numbers.
    rng : Generator
        Draws the directions, as `random_directions` does.
    directions : int, default 100
        At least 2.

    Returns
    -------
    Estimate
        Mean over the directions and its standard error, in the unit of the coordinates.

    Raises
    ------
    ParameterError
        If an array or a setting is out of range.

    References
    ----------
    Bonneel, Rabin, Peyre, Pfister (2015), "Sliced and Radon Wasserstein barycenters of measures", with exponent 1.

    Notes
    -----
    At most the W1 for the Euclidean ground metric, and equal to it for d = 1. Time
    ``O(directions * (n + m) (d + log(n + m)))``, memory ``O(n + m)``.

    Examples
    --------
    >>> grid = np.linspace(0.0, 1.0, 50)[:, np.newaxis]
    >>> round(wasserstein_sliced(grid, grid + 2.0, np.random.default_rng(1), directions=3).value, 12)
    2.0
    """
    left, right = same_space(points, others)
    if directions < 2:
        raise ParameterError(f"directions must be at least 2 for a standard error, got {directions}", code="LW301")
    drawn = random_directions(left.shape[1], directions, rng)
    return _estimate(np.array([wasserstein_line(left @ direction, right @ direction) for direction in drawn]))


def _estimate(draws: Floats) -> Estimate:
    """Return the mean of at least two draws and its standard error."""
    return Estimate(value=float(draws.mean()), standard_error=float(draws.std(ddof=1)) / math.sqrt(draws.size))


def _check_assigned(size: int) -> None:
    """Refuse more points than can be assigned."""
    if size > MAX_ASSIGNED:
        raise CapacityError(
            f"at most {MAX_ASSIGNED} points can be assigned to each other; subsample, or use wasserstein_sliced",
            code="LW506",
        )
