"""Move the means of weighted cells so that their covariance comes near a noisy one."""

from collections.abc import Callable
from typing import Final

import numpy as np

MOST_STEPS: Final = 200

MOST_WORK: Final = 2e10
"""Most multiplications of one fit; beyond, fewer steps are made."""

LEAST_TRUST: Final = 0.01
"""Below, the noisy covariance is noise beside what the cells say, and the means stay."""

SETTLED: Final = 1e-4
"""Steps end when they move no mean by so much."""

Projection = Callable[[np.ndarray], np.ndarray]


def shrunk_covariance(own: np.ndarray, noisy: np.ndarray, pairs: np.ndarray, sd: float) -> tuple[np.ndarray, float]:
    """Return a covariance between that of the cells and a noisy one, by the noise of the latter.

    Parameters
    ----------
    own, noisy : ndarray of float64, shape (p, p)
        Covariance of the cell means, and the noisy covariance of the rows.
    pairs : ndarray of bool, shape (p, p)
        Symmetric; entries that count.
    sd : float
        Standard deviation of the noise on each entry of ``noisy``.

    Returns
    -------
    covariance : ndarray of float64, shape (p, p)
        ``own + trust * (noisy - own)`` on the pairs, ``own`` elsewhere.
    trust : float
        From 0 to 1: the share of the mean squared difference that noise does not explain.

    References
    ----------
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
    means: np.ndarray, weights: np.ndarray, covariance: np.ndarray, pairs: np.ndarray, project: Projection
) -> np.ndarray:
    """Return means in a convex set whose weighted covariance is nearer to a given one.

    Their weighted mean stays about the same where the covariance is in reach, and drifts where the set is in the way.

    Parameters
    ----------
    means : ndarray of float64, shape (s, p)
        Points of the set; not modified.
    weights : ndarray of float64, shape (s,)
        Non-negative, of sum 1.
    covariance : ndarray of float64, shape (p, p)
        The aim, symmetric.
    pairs : ndarray of bool, shape (p, p)
        Symmetric; entries that count. Others are free.
    project : callable
        Euclidean projection of rows on the convex set.

    Returns
    -------
    ndarray of float64, shape (s, p)

    Notes
    -----
    Projected gradient steps on the sum of squared differences, each divided by the cell's weight; the step is half the
    inverse of the larger spectral norm of the two covariances at the start. At most 200 steps of ``O(s p**2)``; they
    end when none moves a mean by 1e-4.

    Examples
    --------
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
