"""The 1-Wasserstein distance W1 between tables: exact between small samples of equal size, sliced for large ones.

W1 is the smallest mean distance by which the mass of one law has to be moved to make the other. It has the unit of the
ground metric: scale the columns first when they have different units. What is computed from private rows is private:
nothing here adds noise.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from lapwing.errors import CapacityError, ParameterError
from lapwing.judge.metrics import Estimate, Floats, finite_array, same_space, shares
from lapwing.maths.arrays import read_only
from lapwing.model.sampling.draws import ranks

# -- The 1-Wasserstein distance W1 on a line, exact: between samples, and between laws made of intervals and points.


Ints = npt.NDArray[np.int64]

_BLOCK: Final = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Hold a law on the line that is uniform on each of several intervals.

    starts, stops: float64 (k,), ends of the intervals, finite, ``starts <= stops``; in any order, and they may overlap.
    Where both ends are equal, the piece is a point: a weighted sample is ``Pieces(points, points, weights)``. A run of
    codes from start to stop - 1 covers the interval from start to stop when the column is continuous; masses: float64
    (k,), at least 0, not all 0; scaled to sum 1.

    >>> Pieces(np.array([0.0, 2.0]), np.array([1.0, 2.0]), np.array([3.0, 1.0])).masses
    array([0.75, 0.25])
    """

    starts: np.ndarray
    stops: np.ndarray
    masses: np.ndarray

    def __post_init__(self) -> None:
        starts, stops = finite_array("starts of pieces", self.starts, 1), finite_array("stops of pieces", self.stops, 1)
        if starts.size != stops.size:
            raise ParameterError("pieces need as many starts as stops; check their number", code="LW802")
        if (stops < starts).any():
            raise ParameterError("a piece must not stop before it starts; check the ends of the pieces", code="LW802")
        masses = shares("masses of pieces", self.masses, starts.size)
        for name, values in (("starts", starts), ("stops", stops), ("masses", masses)):
            object.__setattr__(self, name, read_only(values))


def wasserstein_line(
    points: npt.ArrayLike,
    others: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    other_weights: npt.ArrayLike | None = None,
) -> float:
    """Return the exact W1 between two samples on a line.

    others: at least one finite number, in the same unit; weights: of ``points``: at least 0, not all 0; scaled to sum
    1. Equal when left out. Returns at least 0, in the unit of the points.

    References
    ----------
    Vallender (1974), "Calculation of the Wasserstein distance between probability distributions on the line": W1 is
    the integral of the absolute difference of the distribution functions.

    Time ``O((n + m) log(n + m))``, memory ``O(n + m)``. Without weights the distribution functions are compared in
    integers, so that equal samples are at distance 0 exactly.

    >>> wasserstein_line([0.0, 1.0], [0.5, 1.5])
    0.5
    >>> wasserstein_line([0.0, 1.0], [1.0], weights=[3.0, 1.0])
    0.75
    """
    left, right = finite_array("points", points, 1), finite_array("others", others, 1)
    if weights is None and other_weights is None:
        # Every point of one side counts as much as the other side has points: the sums below are exact.
        steps = np.repeat(np.array([right.size, -left.size], dtype=np.int64), [left.size, right.size])
        return _integral(np.concatenate((left, right)), steps) / (left.size * right.size)
    masses = shares("weights", weights, left.size), shares("weights of others", other_weights, right.size)
    return _integral(np.concatenate((left, right)), np.concatenate((masses[0], -masses[1])))


def wasserstein_pieces(law: Pieces, other: Pieces) -> float:
    """Return the exact W1 between two laws on a line that are made of uniform intervals and points.

    Returns at least 0, in the unit of the ends of the pieces.

    Time ``O(k log k + c)`` for k pieces in all, memory ``O(k)``: c counts, interval by interval, the ends that lie
    inside it. That is ``O(k)`` when the intervals of each law do not overlap, and ``O(k**2)`` when all do. Rounding
    costs about 1e-16 times the length of the line that the pieces cover, however narrow a piece is.

    >>> whole, middle = np.ones(1), np.array([0.5])
    >>> wasserstein_pieces(Pieces(np.zeros(1), np.ones(1), whole), Pieces(middle, middle, whole))
    0.25
    """
    breaks = np.unique(np.concatenate([law.starts, law.stops, other.starts, other.stops]))
    points, cells = _divided(law, breaks)
    other_points, other_cells = _divided(other, breaks)

    # The difference of the distribution functions just right of each break but the last, and just left of the next.
    rises = cells - other_cells
    before = np.concatenate(([0.0], np.cumsum(rises)))[: rises.size]
    right = np.cumsum(points - other_points)[: rises.size] + before
    left = right + rises
    return float(_mean_height(right, left) @ np.diff(breaks))


def _integral(ends: Floats, steps: Floats | Ints) -> float:
    """Return the integral of the absolute value of the step function that rises by ``steps`` at ``ends``."""
    order = np.argsort(ends)
    heights = np.cumsum(steps[order])[:-1]
    return float(np.abs(heights) @ np.diff(ends[order]))


def _divided(law: Pieces, breaks: Floats) -> tuple[Floats, Floats]:
    """Return the mass of the law on each break, and inside each of the intervals between them."""
    first, last = np.searchsorted(breaks, law.starts), np.searchsorted(breaks, law.stops)
    is_point = first == last
    points = np.bincount(first[is_point], law.masses[is_point], minlength=breaks.size).astype(np.float64)
    lengths = law.stops - law.starts

    widths = np.diff(breaks)
    cells = np.zeros(widths.size)
    for piece, cell in _incidences(first, last):
        # Summing what lies in a cell, never taking slopes away again: a narrow piece costs no digits elsewhere.
        inside = law.masses[piece] * (widths[cell] / lengths[piece])
        cells += np.bincount(cell, inside, minlength=widths.size)
    return points, cells


def _incidences(first: Ints, last: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield, in blocks, every pair of an interval and a cell inside it."""
    counts = last - first
    edges = np.flatnonzero(np.diff(np.cumsum(counts) // _BLOCK)) + 1
    for block in np.split(np.arange(counts.size), edges):
        piece = np.repeat(block, counts[block])
        yield piece, first[piece] + ranks(counts[block])


def _mean_height(start: Floats, stop: Floats) -> Floats:
    """Return the mean of the absolute value of straight lines from ``start`` to ``stop``."""
    whole = np.abs(start) + np.abs(stop)
    # A line that changes its sign leaves two triangles.
    crossing = (start**2 + stop**2) / (2 * np.where(whole > 0, whole, 1.0))
    return np.where(np.sign(start) * np.sign(stop) < 0, crossing, whole / 2)


Metric = Literal["linf", "l1", "l2"]

MAX_ASSIGNED: Final = 2048
"""Most points that are assigned to each other: 32 MiB of distances, 2 to 6 seconds."""

_SCIPY_NAMES: Final = {"linf": "chebyshev", "l1": "cityblock", "l2": "euclidean"}


def wasserstein_assignment(
    points: npt.ArrayLike, others: npt.ArrayLike, *, metric: Metric = "linf", farthest: float = math.inf
) -> float:
    """Return the exact W1 between two equally large samples, each point with the same weight.

    metric: ground metric: the largest coordinate difference, their sum, or the Euclidean distance; farthest: a distance
    counts for no more than this, above 0: so W1 becomes the bounded-Lipschitz distance with half of it as the bound
    (`lapwing.judge.distances.bounded_lipschitz`). Returns at least 0, in the unit of the coordinates.

    References
    ----------
    Crouse (2016), "On implementing 2D rectangular assignment algorithms", as implemented by SciPy. Between equally many
    points of equal weight an optimal transport is an assignment (Birkhoff).

    Time ``O(m**3)`` at worst, memory ``8 m**2`` bytes.

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

    points: float64 (n, d), finite; others: float64 (m, d), finite. Returns float64 (n, m).

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

    size: points in a subsample: 1 to 2048, and at most n and m. Returns mean over the repeats, and its standard error
    given the points. Both in the unit of the coordinates.

    The expected value is at least the W1 between the whole samples, because W1 is convex; the excess shrinks like
    ``size ** (-1/d)`` for d > 2, and the standard error does not show it. Compare with the same figure between two
    halves of one sample. Time ``O(repeats * size**3)`` at worst.

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

    Returns float64 (count, dimension), rows of Euclidean length 1.

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

    Returns mean over the directions and its standard error, in the unit of the coordinates.

    References
    ----------
    Bonneel, Rabin, Peyre, Pfister (2015), "Sliced and Radon Wasserstein barycenters of measures", with exponent 1.

    At most the W1 for the Euclidean ground metric, and equal to it for d = 1. Time
    ``O(directions * (n + m) (d + log(n + m)))``, memory ``O(n + m)``.

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
