"""Euclidean projections of many points at once: on simplices, and on products of intervals and simplices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.errors import ParameterError


def rows_on_simplex(points: np.ndarray) -> np.ndarray:
    """Return the nearest point of the standard simplex for every row.

    Parameters
    ----------
    points : ndarray of float64, shape (n, k)
        Finite, k at least 1.

    Returns
    -------
    ndarray of float64, shape (n, k)
        Non-negative rows of sum 1.

    References
    ----------
    As `lapwing.numerics.simplex.project_to_simplex`, for many rows.

    Examples
    --------
    >>> rows_on_simplex(np.array([[3.0, -2.0, 1.0], [0.2, 0.3, 0.5]])).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]
    """
    shifted = points - points.max(axis=1, keepdims=True)
    largest_first = -np.sort(-shifted, axis=1)
    excess = np.cumsum(largest_first, axis=1) - 1.0
    ranks = np.arange(1, points.shape[1] + 1)
    support = np.count_nonzero(largest_first * ranks > excess, axis=1)
    level = np.take_along_axis(excess, support[:, None] - 1, axis=1) / support[:, None]
    projected = np.maximum(shifted - level, 0.0)
    return np.asarray(projected / projected.sum(axis=1, keepdims=True))


def rows_in_ball(points: np.ndarray) -> np.ndarray:
    """Return the nearest point of the unit Euclidean ball for every row: ndarray of float64, shape of ``points``."""
    lengths = np.sqrt((points * points).sum(axis=1, keepdims=True))
    return np.asarray(points / np.maximum(lengths, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """A product of intervals and simplices, block by block.

    Parameters
    ----------
    lows : ndarray of float64, shape (p,)
        Lower end of each coordinate that is an interval; NaN where it belongs to a simplex. Upper ends are 1.
    simplices : sequence of ndarray of int64, shape (blocks, width)
        The coordinates of each simplex; one array per width.

    Raises
    ------
    ParameterError
        If a coordinate is in none or in two of them.

    Examples
    --------
    >>> product = Blocks(np.array([-1.0, np.nan, np.nan]), [np.array([[1, 2]])])
    >>> product.project(np.array([[3.0, 0.7, 0.7]])).tolist()
    [[1.0, 0.5, 0.5]]
    """

    lows: np.ndarray
    simplices: Sequence[np.ndarray]

    def __post_init__(self) -> None:
        owned = np.bincount(
            np.concatenate([np.flatnonzero(~np.isnan(self.lows)), *(each.ravel() for each in self.simplices)]),
            minlength=self.lows.size,
        )
        if owned.size != self.lows.size or (owned != 1).any():
            raise ParameterError("each coordinate must be an interval or in one simplex; list it once", code="LW390")

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return the nearest point of the product for every row: ndarray of float64, shape (n, p)."""
        is_interval = ~np.isnan(self.lows)
        nearest = np.empty_like(points)
        nearest[:, is_interval] = np.clip(points[:, is_interval], self.lows[is_interval], 1.0)
        for places in self.simplices:
            blocks = points[:, places]
            flat = rows_on_simplex(blocks.reshape(-1, blocks.shape[2]))
            nearest[:, places] = flat.reshape(blocks.shape)
        return nearest
