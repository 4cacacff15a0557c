"""Densities on points with what is proved about them: the least error, by the dual."""

from dataclasses import dataclass

import numpy as np

from lapwing.mechanisms.vectors.linear_statistics import densities
from lapwing.mechanisms.vectors.linear_statistics.densities import best_error, least_error


@dataclass(frozen=True)
class Density:
    """Weights, their largest error, and how far below it the error of another density may be."""

    weights: np.ndarray
    error: float
    gap: float


def max_entropy_density(matrix, targets, noise):
    """Return the even density; its gap comes from the multipliers of both duals."""
    weights, ridge = densities.max_entropy_density(matrix, targets, noise)
    proved = max(least_error(matrix, targets, ridge), best_error(matrix, targets, noise))
    return _density(matrix, targets, weights, proved)


def minimax_density(matrix, targets):
    """Return the density of the linear program."""
    weights, dual = densities.minimax_density(matrix, targets)
    return _density(matrix, targets, weights, least_error(matrix, targets, dual))


def _density(matrix, targets, weights, proved):
    error = float(np.abs(matrix @ weights - targets).max())
    return Density(weights, error, max(0.0, error - proved))
