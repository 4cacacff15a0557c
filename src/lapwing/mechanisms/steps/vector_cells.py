"""Which directions are cut into how many cells: public rules of the rows, the columns and the noise."""

import math
from typing import Final

import numpy as np

from lapwing.mechanisms.steps.vector_totals import Covariance
from lapwing.numerics.net_choice import private_net
from lapwing.release.coordinates import Coordinates
from lapwing.release.projections import LARGEST_PROJECTION, MOST_DIRECTIONS, Projection

DIRECTION_BITS: Final = 20
"""Directions are rounded to multiples of 2**-20, or coarser where projections would pass 2**40."""

CELL_ROWS: Final = 12
"""A cell should hold so many times the noise on a cell's sum."""

MOST_CELLS: Final = 2**12

OUTER_CUTS: Final = 2.0
"""The outer cells of a direction begin so many standard deviations from the mean."""

LEAST_VARIANCE: Final = 1e-3


def noise_edge(size: int, sd: float, sampling: float = 0.0) -> float:
    """Return about the largest eigenvalue that noise and chance alone give a covariance without diagonal.

    Parameters
    ----------
    size : int
        Number of coordinates, p.
    sd : float
        Standard deviation of the noise on each entry.
    sampling : float
        Variance that drawing the rows adds to a row of entries: `sampling_variance`.

    Returns
    -------
    float
        ``2 sqrt(p sd**2 + sampling)``, the edge of the semicircle law.
    """
    return 2.0 * math.sqrt(size * sd**2 + sampling)


def sampling_variance(covariance: Covariance, rows: float) -> float:
    """Return what the draw of n independent rows of unrelated columns adds, at most, to a row of covariances.

    An entry then has variance ``v_i v_j / n``, for variances v of the coordinates.
    """
    variances = np.clip(np.diagonal(covariance.inside), 0.0, 1.0)
    return float(variances.max() * variances.sum()) / rows


def chosen_bins(
    eigenvalues: np.ndarray, edge: float, most: float, *, directions: int | None, bins: int | None
) -> tuple[int, ...]:
    """Return into how many bins each leading direction is cut.

    Parameters
    ----------
    eigenvalues : ndarray of float64, shape (p,)
        Of the noisy covariance between blocks, decreasing.
    edge : float
        Directions below it are noise, and are not cut.
    most : float
        Most cells in all.
    directions : int or None
        So many directions whatever their eigenvalues, at most p.
    bins : int or None
        So many bins of each direction.

    Returns
    -------
    tuple of int
        At least 2 each, not increasing; empty where one cell is best.

    Notes
    -----
    A direction of variance λ in k bins keeps about λ / k² inside them, which is what the cells lose of the covariance.
    The direction that loses most gets one more bin, while the product of all bins is at most ``most``.

    Examples
    --------
    >>> chosen_bins(np.array([3.0, 1.0, 0.1]), 0.5, 20.0, directions=None, bins=None)
    (6, 3)
    """
    count = int(np.count_nonzero(eigenvalues > edge)) if directions is None else min(directions, eigenvalues.size)
    count = min(count, MOST_DIRECTIONS)
    if bins is not None:
        while bins**count > most and directions is None and count:
            count -= 1
        return (bins,) * count if bins > 1 else ()
    values = np.sqrt(np.maximum(eigenvalues[:count] ** 2 - edge**2, 0.0)) if directions is None else eigenvalues[:count]
    found = np.ones(count, dtype=np.int64)
    while count:
        place = int(np.argmax(np.maximum(values, LEAST_VARIANCE) / found**2))
        if math.prod(found.tolist()) // int(found[place]) * (int(found[place]) + 1) > most:
            break
        found[place] += 1
    return tuple(each for each in found.tolist() if each > 1)


def cut_directions(
    coordinates: Coordinates, covariance: Covariance, mean: np.ndarray, bins: tuple[int, ...]
) -> Projection | None:
    """Return cells by even cuts of the leading directions, about the noisy mean; None for one cell.

    Parameters
    ----------
    coordinates : Coordinates
    covariance : Covariance
        Gives directions and their spread.
    mean : ndarray of float64, shape (p,)
        In units.
    bins : tuple of int
        As `chosen_bins`.
    """
    if not bins:
        return None
    _, vectors = np.linalg.eigh(covariance.between)
    leading = _signed(vectors[:, ::-1][:, : len(bins)])
    variances = np.einsum("ir,ij,jr->r", leading, covariance.between + covariance.inside, leading)
    whole, per_unit = _whole_directions(coordinates, leading)
    cuts = []
    for place, count in enumerate(bins):
        spread = math.sqrt(max(LEAST_VARIANCE, float(variances[place])))
        middle = float((leading[:, place] * mean).sum())
        ends = middle + spread * np.linspace(-OUTER_CUTS, OUTER_CUTS, count + 1)[1:-1]
        cuts.append(np.unique(np.rint(ends * per_unit).astype(np.int64)))
    return Projection(directions=whole, cuts=tuple(cuts), origin=np.zeros(0, dtype=np.int64))


def net_cells(coordinates: Coordinates, moment: np.ndarray, rows: float) -> Projection | None:
    """Return the paper's cells: nearest points of a net in the ball of the leading eigenvectors.

    Parameters
    ----------
    coordinates : Coordinates
        Of {0, 1} coding.
    moment : ndarray of float64, shape (p, p)
        Noisy second moment.
    rows : float
        Public number of rows.

    Returns
    -------
    Projection or None
        None where the paper's choice is no direction at all: one cell.

    References
    ----------
    Algorithm 2, steps 3-7, with formula (5.14) rounded down.
    """
    choice = private_net(rows, coordinates.size)
    if not choice.dimensions:
        return None
    _, vectors = np.linalg.eigh(moment)
    whole, per_unit = _whole_directions(coordinates, _signed(vectors[:, ::-1][:, : choice.dimensions]))
    radius = round(math.sqrt(coordinates.row_norm / coordinates.unit) * per_unit)
    return Projection(
        directions=whole,
        origin=np.zeros(choice.dimensions, dtype=np.int64),
        spacing=choice.spacing(radius),
        norm=choice.budget(radius),
    )


def _signed(vectors: np.ndarray) -> np.ndarray:
    """Return vectors with the sign that makes their largest entry positive: eigenvectors have none of their own."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    return vectors * np.where(largest < 0, -1.0, 1.0)


def _whole_directions(coordinates: Coordinates, vectors: np.ndarray) -> tuple[np.ndarray, float]:
    """Return directions as whole numbers, and what 1 unit is along them."""
    room = (LARGEST_PROJECTION // (2 * max(1, coordinates.row_norm))).bit_length() - 1
    scale = 2 ** min(DIRECTION_BITS, room)
    return np.rint(vectors * scale).astype(np.int64), float(scale * coordinates.unit)
