"""Distances of two samples of points: W1, MMD, and kernel densities, for the Gaussian kernel.

W1 is the smallest mean distance by which the mass of one law has to be moved to make the other. The kernel is
exp(-gamma |x - y|^2); the kernel density of a law at x is its mean of the kernel between x and its points, and MMD the
norm of the difference of two of them. Scale columns of different units first. What is computed from private rows is
private: no noise is added.
"""

import math
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from lapwing.errors import CapacityError, ParameterError
from lapwing.extras.evaluate.metrics.metric import Estimate, finite_array, same_space, shares
from lapwing.maths.arrays import Floats

Complexes = npt.NDArray[np.complex128]
Ground = Literal["linf", "l2"]

MAX_ASSIGNED: Final = 2048  # most points that are assigned to each other: 32 MiB of distances, 2 to 6 seconds
_BLOCK: Final = 1024  # points on each side of a block of kernel values: 8 MiB


def wasserstein_line(points: npt.ArrayLike, others: npt.ArrayLike) -> float:
    """Return the exact W1 between two samples on a line: the area between their distribution functions.

    Vallender (1974), "Calculation of the Wasserstein distance between probability distributions on the line". The
    functions are compared in integers, so that equal samples are at distance 0 exactly (SciPy's are not), with one sort
    in time ``O((n + m) log(n + m))``.
    """
    left, right = finite_array("points", points, 1), finite_array("others", others, 1)
    ends = np.concatenate((left, right))
    order = np.argsort(ends)
    # Every point of one side counts as much as the other side has points.
    steps = np.where(order < left.size, right.size, -left.size)
    return float(np.abs(np.cumsum(steps)[:-1]) @ np.diff(ends[order])) / (left.size * right.size)


def wasserstein_assignment(
    points: npt.ArrayLike, others: npt.ArrayLike, *, ground: Ground = "linf", farthest: float = math.inf
) -> float:
    """Return the exact W1 between two equally large samples, each point with the same weight.

    ground: the largest coordinate difference, or the Euclidean distance; farthest: a distance counts for no more than
    this: so W1 becomes the bounded-Lipschitz distance with half of it as the bound. Between equally many points of
    equal weight an optimal transport is an assignment (Birkhoff). Time ``O(m**3)`` at worst, memory ``8 m**2`` bytes.
    """
    # Imported when needed: SciPy's optimisers take a while to load.
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415

    left, right = same_space(points, others)
    if len(left) != len(right):
        raise ParameterError(
            "an assignment needs equally many points on both sides; use wasserstein_subsampled or wasserstein_sliced",
            code="LW801",
        )
    if len(left) > MAX_ASSIGNED:
        raise CapacityError(
            f"at most {MAX_ASSIGNED} points can be assigned to each other; subsample, or use wasserstein_sliced",
            code="LW506",
        )
    distances = np.minimum(cdist(left, right, {"linf": "chebyshev", "l2": "euclidean"}[ground]), farthest)
    return float(distances[linear_sum_assignment(distances)].mean())


def wasserstein_subsampled(
    points: Floats,
    others: Floats,
    rng: np.random.Generator,
    *,
    size: int,
    repeats: int,
    ground: Ground = "linf",
    farthest: float = math.inf,
) -> Estimate:
    """Return the mean W1 between equally large subsamples, over at least two repeats.

    The expected value is at least the W1 between the whole samples, because W1 is convex; the excess shrinks like
    ``size ** (-1/d)`` for d > 2, and the standard error does not show it. Compare with the same figure between two
    halves of one sample. Time ``O(repeats * size**3)`` at worst.
    """
    draws = [
        wasserstein_assignment(
            points[rng.choice(len(points), size, replace=False)],
            others[rng.choice(len(others), size, replace=False)],
            ground=ground,
            farthest=farthest,
        )
        for _ in range(repeats)
    ]
    return _mean(np.array(draws))


def wasserstein_sliced(
    points: npt.ArrayLike, others: npt.ArrayLike, rng: np.random.Generator, *, directions: int
) -> Estimate:
    """Return the sliced W1: the mean of the W1 between the projections on at least two random directions.

    Bonneel, Rabin, Peyre, Pfister (2015), "Sliced and Radon Wasserstein barycenters of measures", with exponent 1. At
    most the W1 for the Euclidean ground metric, and equal to it for d = 1. Time
    ``O(directions * (n + m) (d + log(n + m)))``, memory ``O(n + m)``.
    """
    left, right = same_space(points, others)
    drawn = rng.standard_normal((directions, left.shape[1]))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return _mean(np.array([wasserstein_line(left @ direction, right @ direction) for direction in drawn]))


def _mean(draws: Floats) -> Estimate:
    """Return the mean of draws and its standard error."""
    return Estimate(value=float(draws.mean()), standard_error=float(draws.std(ddof=1)) / math.sqrt(draws.size))


# -- Maximum mean discrepancy (MMD), exact and by random features, and kernel densities.


def mmd(points: npt.ArrayLike, others: npt.ArrayLike, *, gamma: float) -> float:
    """Return the exact MMD (not its square) between two samples, 0 to sqrt(2); below 1e-7 it may be rounding.

    Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees", equation (1); the same quantity as the "RKHS
    distance" of Balog, Tolstikhin, Schölkopf (ICML 2018), whose code takes the root too. Pairs of a point with itself
    count, so that the value is a distance between the samples and no estimate between what they were drawn from.

    Points that both samples have are taken off each other before anything is squared. Time ``O((n + m)**2 d)``, half a
    second for 10,000 points of two columns on each side, memory ``O((n + m) d)`` and 8 MiB.

    >>> mmd([[0.0], [1.0]], [[1.0], [0.0], [1.0], [0.0]], gamma=0.5)
    0.0
    """
    _check_gamma(gamma)
    left, right = same_space(points, others)
    spots, numbers = np.unique(np.concatenate((left, right)), axis=0, return_inverse=True)
    # Each side is summed by itself, so that equal samples cancel exactly.
    own, other = np.split(numbers.ravel(), [len(left)])
    masses = np.bincount(own, minlength=len(spots)) / len(own) - np.bincount(other, minlength=len(spots)) / len(other)
    parts = []
    for start in range(0, len(spots), _BLOCK):
        rows = slice(start, start + _BLOCK)
        for beside in range(0, start + 1, _BLOCK):
            columns = slice(beside, beside + _BLOCK)
            part = float((masses[rows] * _densities(spots[rows], spots[columns], masses[columns], gamma)).sum())
            parts.append(part if start == beside else 2 * part)
    return math.sqrt(max(0.0, math.fsum(parts)))


def random_frequencies(dimension: int, count: int, rng: np.random.Generator, *, gamma: float) -> Floats:
    """Return frequencies drawn from the kernel's spectral law, normal with variance ``2 * gamma``.

    Rahimi, Recht (2007), "Random features for large-scale kernel machines". Shape (count, dimension).
    """
    return np.asarray(math.sqrt(2 * gamma) * rng.standard_normal((count, dimension)))


def mean_features(points: Floats, frequencies: Floats, weights: npt.ArrayLike | None = None) -> Complexes:
    """Return the weighted mean of exp(i frequency . point) for each frequency, within about 1e-7.

    Time 12 ns a point and feature.
    """
    turns = frequencies / (2 * math.pi)
    found = np.zeros(len(turns), dtype=np.complex128)
    masses = shares("weights", weights, len(points))
    for start in range(0, len(points), _BLOCK):
        rows = slice(start, start + _BLOCK)
        angles = points[rows] @ turns.T
        # Whole turns are taken off in double precision; sine and cosine of the rest are five times faster in single.
        angles = (2 * math.pi * (angles - np.rint(angles))).astype(np.float32)
        found += masses[rows] @ np.cos(angles)
        found += 1j * (masses[rows] @ np.sin(angles))
    return found


def mmd_from_features(first: Complexes, second: Complexes) -> Estimate:
    """Return the MMD between two samples from their mean features at the same frequencies.

    The root of the mean square difference, with its standard error over frequencies by the delta method.
    """
    squares = np.square(np.abs(first - second))
    value = math.sqrt(float(squares.mean()))
    if value == 0:
        return Estimate(value=0.0)
    return Estimate(value=value, standard_error=float(squares.std(ddof=1)) / math.sqrt(squares.size) / (2 * value))


def kernel_densities(
    points: npt.ArrayLike, at: npt.ArrayLike, *, gamma: float, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return the kernel density of a weighted sample at given places, 0 to 1; time ``O(n k d)``, memory 8 MiB.

    The largest difference of two is what Kreačić et al., Section 1.3.1, Theorems 3 to 6 bound
    (`lapwing.theorems.kd_tree`), with the same normalisation; their proofs take ``gamma = 1 / 2``.
    """
    _check_gamma(gamma)
    places, spots = same_space(finite_array("at", at, 2), points)
    masses = shares("weights", weights, len(spots))
    densities = np.zeros(len(places))
    for start in range(0, len(places), _BLOCK):
        rows = slice(start, start + _BLOCK)
        for other in range(0, len(spots), _BLOCK):
            columns = slice(other, other + _BLOCK)
            densities[rows] += _densities(places[rows], spots[columns], masses[columns], gamma)
    return densities


def _densities(places: Floats, points: Floats, masses: Floats, gamma: float) -> Floats:
    """Return the sum over points of mass times kernel, at each place."""
    # From differences of coordinates: |x|^2 + |y|^2 - 2 x.y would lose the digits of what lies far from 0.
    kernel = cdist(places, points, "sqeuclidean")
    kernel *= -gamma
    np.exp(kernel, out=kernel)
    return np.asarray(np.einsum("ij,j->i", kernel, masses))


def _check_gamma(gamma: float) -> None:
    """Refuse a gamma that is no finite number above 0."""
    if not (gamma > 0 and math.isfinite(gamma)):
        raise ParameterError(
            f"gamma must be finite and above 0, got {gamma}; it is 1 / (2 * bandwidth**2)", code="LW301"
        )
