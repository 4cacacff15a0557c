"""Maximum mean discrepancy (MMD) and the largest difference of kernel densities, for the Gaussian kernel.

The kernel is exp(-gamma |x - y|^2); a bandwidth sigma is gamma = 1 / (2 sigma^2). The kernel density of a law P at x is
the P-mean of the kernel between x and its points, between 0 and 1 (no factor makes it integrate to 1). MMD is the norm
of the difference of two kernel densities in the kernel's space of functions. Both are without unit, and lie between 0
and sqrt(2), and 0 and 1: scale the columns first when they have different units. What is computed from private rows is
private: nothing here adds noise.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.judge.distances.bounded_lipschitz import merged
from lapwing.judge.metrics import Estimate, Floats, finite_array, same_space, shares

Complexes = npt.NDArray[np.complex128]

_BLOCK: Final = 1024  # points on each side of a block of kernel values: 8 MiB


def mmd(
    points: npt.ArrayLike,
    others: npt.ArrayLike,
    *,
    gamma: float,
    weights: npt.ArrayLike | None = None,
    other_weights: npt.ArrayLike | None = None,
) -> float:
    """Return the exact MMD between two weighted samples.

    gamma: of the kernel, above 0, per squared unit of the coordinates; weights: of the points: at least 0, not all 0;
    scaled to sum 1. Equal when left out. Returns the MMD itself, not its square. 0 where both laws are the same; below
    1e-7 it may be rounding.

    References
    ----------
    Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees", equation (1); the same quantity as the "RKHS
    distance" of Balog, Tolstikhin, Schölkopf (ICML 2018), whose code takes the root too. Pairs of a point with itself
    count, so that the value is a distance between the samples and no estimate between what they were drawn from.

    Points that both samples have are taken off each other before anything is squared. Time ``O((n + m)**2 d)``, half a
    second for 10,000 points of two columns on each side, memory ``O((n + m) d)`` and 8 MiB.

    >>> round(mmd([[0.0]], [[1.0]], gamma=0.5), 6)
    0.887096
    >>> mmd([[0.0], [1.0]], [[1.0], [0.0], [1.0]], gamma=0.5, other_weights=[1, 2, 1])
    0.0
    """
    _check_gamma(gamma)
    spots, masses = _difference(points, others, weights, other_weights)
    parts = []
    for start in range(0, len(spots), _BLOCK):
        rows = slice(start, start + _BLOCK)
        for other in range(0, start + 1, _BLOCK):
            columns = slice(other, other + _BLOCK)
            part = float((masses[rows] * _densities(spots[rows], spots[columns], masses[columns], gamma)).sum())
            parts.append(part if start == other else 2 * part)
    return math.sqrt(max(0.0, math.fsum(parts)))


def mmd_features(
    points: npt.ArrayLike,
    others: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    gamma: float,
    features: int = 1000,
    weights: npt.ArrayLike | None = None,
    other_weights: npt.ArrayLike | None = None,
) -> Estimate:
    """Return the MMD between two weighted samples by random Fourier features.

    Returns the MMD (not its square), and its standard error over the frequencies, given both samples.

    References
    ----------
    Rahimi, Recht (2007), "Random features for large-scale kernel machines".

    `mean_features` of both samples, then `mmd_from_features`: call these to compare several samples. Time
    ``O((n + m) features d)``, about 12 ns a point and feature; memory ``O((n + m) d)``.

    >>> found = mmd_features([[0.0]], [[1.0]], np.random.default_rng(1), gamma=0.5)
    >>> round(found.value, 2), round(found.standard_error, 2)
    (0.87, 0.02)
    """
    left, right = same_space(points, others)
    frequencies = random_frequencies(left.shape[1], features, rng, gamma=gamma)
    return mmd_from_features(
        mean_features(left, frequencies, weights), mean_features(right, frequencies, other_weights)
    )


def random_frequencies(dimension: int, count: int, rng: np.random.Generator, *, gamma: float) -> Floats:
    """Return frequencies drawn from the kernel's spectral law, normal with variance ``2 * gamma``.

    Returns float64 (count, dimension), in radians per unit of the coordinates.

    >>> random_frequencies(3, 2, np.random.default_rng(1), gamma=0.5).shape
    (2, 3)
    """
    _check_gamma(gamma)
    if dimension < 1 or count < 2:
        raise ParameterError(
            f"random features need at least 1 dimension and 2 frequencies, got {dimension} and {count}",
            code="LW301",
        )
    return np.asarray(math.sqrt(2 * gamma) * rng.standard_normal((count, dimension)))


def mean_features(points: npt.ArrayLike, frequencies: Floats, weights: npt.ArrayLike | None = None) -> Complexes:
    """Return the weighted mean of exp(i frequency . point) for each frequency: the law's characteristic function.

    frequencies: float64 (count, d), as `random_frequencies` returns them; weights: at least 0, not all 0; scaled to sum
    1. Equal when left out. Returns complex128 (count,), within about 1e-7 of the exact means.

    >>> mean_features([[0.0], [np.pi]], np.array([[1.0], [2.0]])).real.round(6).tolist()
    [0.0, 1.0]
    """
    left, right = same_space(points, frequencies)
    masses = shares("weights", weights, len(left))
    turns = right / (2 * math.pi)
    cosines, sines = np.zeros(len(right)), np.zeros(len(right))
    for start in range(0, len(left), _BLOCK):
        rows = slice(start, start + _BLOCK)
        found = np.einsum("nd,fd->nf", left[rows], turns)
        # Whole turns are taken off in double precision; sine and cosine of the rest are five times faster in single.
        angles = (2 * math.pi * (found - np.rint(found))).astype(np.float32)
        cosines += np.einsum("n,nf->f", masses[rows], np.cos(angles))
        sines += np.einsum("n,nf->f", masses[rows], np.sin(angles))
    return cosines + 1j * sines


def mmd_from_features(first: Complexes, second: Complexes) -> Estimate:
    """Return the MMD between two samples from their mean features at the same frequencies.

    first, second: complex128 (count,), as `mean_features` returns them. Returns as for `mmd_features`: the root of the
    mean square difference, and by the delta method its standard error.

    >>> mmd_from_features(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    Estimate(value=0.5, standard_error=0.0)
    """
    squares = np.square(np.abs(first - second))
    value = math.sqrt(float(squares.mean()))
    if value == 0:
        return Estimate(value=0.0, standard_error=0.0)
    return Estimate(value=value, standard_error=float(squares.std(ddof=1)) / math.sqrt(squares.size) / (2 * value))


def kernel_density_distance(
    points: npt.ArrayLike,
    others: npt.ArrayLike,
    at: npt.ArrayLike,
    *,
    gamma: float,
    weights: npt.ArrayLike | None = None,
    other_weights: npt.ArrayLike | None = None,
) -> float:
    """Return the largest difference of the kernel densities of two weighted samples at given places.

    Returns 0 to 1: a lower bound of the supremum over all places.

    References
    ----------
    Kreačić et al., Section 1.3.1: the distance that their Theorems 3 to 6 bound
    (`lapwing.mechanisms.pmm.kernel_bounds`), with the same normalisation; their proofs take ``gamma = 1 / 2``. At most
    the
    MMD.

    A density difference changes by at most ``2 sqrt(2 gamma / e)`` times the Euclidean distance, so that the supremum
    is above the result by at most that, times the distance to the nearest place. Time ``O((n + m) k d)``.

    >>> round(kernel_density_distance([[0.0]], [[1.0]], [[0.0], [0.5], [1.0]], gamma=0.5), 6)
    0.393469
    """
    _check_gamma(gamma)
    spots, masses = _difference(points, others, weights, other_weights)
    places, _ = same_space(finite_array("at", at, 2), spots)
    return float(np.abs(_all_densities(places, spots, masses, gamma)).max())


def kernel_densities(
    points: npt.ArrayLike, at: npt.ArrayLike, *, gamma: float, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return the kernel density of a weighted sample at given places.

    Returns float64 (k,), 0 to 1.

    Time ``O(n k d)``, memory 8 MiB beside the arrays. `kernel_density_distance` compares two samples more exactly.

    >>> kernel_densities([[0.0], [1.0]], [[0.0], [0.5]], gamma=0.5).round(4).tolist()
    [0.8033, 0.8825]
    """
    _check_gamma(gamma)
    places, spots = same_space(finite_array("at", at, 2), points)
    return _all_densities(places, spots, shares("weights", weights, len(spots)), gamma)


def box_grid(lower: npt.ArrayLike, upper: npt.ArrayLike, steps: int) -> Floats:
    """Return a regular grid of points in a box, its faces included.

    Returns float64 (steps**d, d).

    >>> box_grid([0.0, 0.0], [1.0, 2.0], 2).tolist()
    [[0.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 2.0]]
    """
    low, high = finite_array("lower", lower, 1), finite_array("upper", upper, 1)
    if low.size != high.size or steps < 2:
        raise ParameterError(
            "a grid needs two corners with the same axes and at least 2 steps; check them", code="LW301"
        )
    axes = [np.linspace(*ends, steps) for ends in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, low.size)


def _difference(
    points: npt.ArrayLike, others: npt.ArrayLike, weights: npt.ArrayLike | None, other_weights: npt.ArrayLike | None
) -> tuple[Floats, Floats]:
    """Return the distinct points of two samples, at least one, and how much more the first sample has of each."""
    left, right = same_space(points, others)
    masses = shares("weights", weights, len(left)), shares("other_weights", other_weights, len(right))
    return merged(np.concatenate((left, right)), np.concatenate((masses[0], -masses[1])))


def _all_densities(places: Floats, points: Floats, masses: Floats, gamma: float) -> Floats:
    """Return the sum over points of mass times kernel, at each of many places."""
    densities = np.zeros(len(places))
    for start in range(0, len(places), _BLOCK):
        rows = slice(start, start + _BLOCK)
        for other in range(0, len(points), _BLOCK):
            columns = slice(other, other + _BLOCK)
            densities[rows] += _densities(places[rows], points[columns], masses[columns], gamma)
    return densities


def _densities(places: Floats, points: Floats, masses: Floats, gamma: float) -> Floats:
    """Return the sum over points of mass times kernel, at each place."""
    # Imported when needed: SciPy's geometry takes a while to load.
    from scipy.spatial.distance import cdist  # noqa: PLC0415

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
