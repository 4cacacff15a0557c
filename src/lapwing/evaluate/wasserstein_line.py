"""The 1-Wasserstein distance W1 on a line, exact: between samples, and between laws made of intervals and points.

W1 is the smallest mean distance by which the mass of one law has to be moved to make the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.evaluate.checks import Floats, finite_array, shares
from lapwing.release.laws import read_only
from lapwing.sample.ragged import ranks

Ints = npt.NDArray[np.int64]

_BLOCK: Final = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Hold a law on the line that is uniform on each of several intervals.

    Parameters
    ----------
    starts, stops : ndarray of float64, shape (k,)
        Ends of the intervals, finite, ``starts <= stops``; in any order, and they may overlap. Where both ends are
        equal, the piece is a point: a weighted sample is ``Pieces(points, points, weights)``. A run of codes from
        start to stop - 1 covers the interval from start to stop when the column is continuous.
    masses : ndarray of float64, shape (k,)
        At least 0, not all 0; scaled to sum 1.

    Raises
    ------
    ParameterError
        If the arrays disagree, are empty, or an entry is out of range.

    Examples
    --------
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

    Parameters
    ----------
    points : array_like of float, shape (n,)
        At least one finite number.
    others : array_like of float, shape (m,)
        At least one finite number, in the same unit.
    weights : array_like of float, shape (n,), optional
        Of ``points``: at least 0, not all 0; scaled to sum 1. Equal when left out.
    other_weights : array_like of float, shape (m,), optional
        Of ``others``, likewise.

    Returns
    -------
    float
        At least 0, in the unit of the points.

    Raises
    ------
    ParameterError
        If an array is empty or has another shape, or an entry is out of range.

    References
    ----------
    Vallender (1974), "Calculation of the Wasserstein distance between probability distributions on the line": W1 is
    the integral of the absolute difference of the distribution functions.

    Notes
    -----
    Time ``O((n + m) log(n + m))``, memory ``O(n + m)``. Without weights the distribution functions are compared in
    integers, so that equal samples are at distance 0 exactly.

    Examples
    --------
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

    Parameters
    ----------
    law, other : Pieces
        In the same unit.

    Returns
    -------
    float
        At least 0, in the unit of the ends of the pieces.

    Notes
    -----
    Time ``O(k log k + c)`` for k pieces in all, memory ``O(k)``: c counts, interval by interval, the ends that lie
    inside it. That is ``O(k)`` when the intervals of each law do not overlap, and ``O(k**2)`` when all do. Rounding
    costs about 1e-16 times the length of the line that the pieces cover, however narrow a piece is.

    Examples
    --------
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
