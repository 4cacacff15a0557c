"""The columns of two coded tables side by side, ready to be drawn: shares of bins, dates, categories and map cells.

What is computed from private rows is private: nothing here adds noise, and even where the bins lie tells about rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Codes = Mapping[str, npt.NDArray[np.integer]]
Kind = Literal["number", "date", "category"]
Pair = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnOverlay:
    """Hold the shares of one column in the real and in the synthetic table.

    Parameters
    ----------
    column : str
        Its name.
    kind : {"number", "date", "category"}
        What the bars are: runs of numbers, calendar units, or categories.
    labels : tuple of str
        Of the bars, as a reader expects to see them: ``20-24``, ``2010-03``, ``below 10``, ``12 others``.
    starts : tuple of str
        The same, short, for an axis: where a bar begins; the label where it has no beginning.
    real, synthetic : ndarray of float64, shape (bars,)
        Shares of all rows, 0 to 1. With ``apart``, ``missing`` and ``misfit`` they sum to 1.
    is_ordered : bool
        Whether neighbouring bars are neighbours in meaning; else they stand by falling real share.
    others : int
        Categories that the last bar sums up; 0 where it is one of its own.
    apart : tuple of (str, float, float)
        Values with bars of their own, each with its real and synthetic share: declared special values first, then
        single numbers that so many rows have that they would dwarf the rest.
    missing, misfit : tuple of (float, float), or None
        Real and synthetic shares of missing cells, and of cells outside the schema. One of the two is None: a column
        that may be missing counts misfits as missing.
    scale : {"even", "log", "values"}
        How bars lie: equally wide, wider the farther from zero, or one value each.
    """

    column: str
    kind: Kind
    labels: tuple[str, ...]
    starts: tuple[str, ...]
    real: np.ndarray
    synthetic: np.ndarray
    is_ordered: bool
    others: int
    apart: tuple[tuple[str, float, float], ...]
    missing: Pair | None
    misfit: Pair | None
    scale: Literal["even", "log", "values"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MapOverlay:
    """Hold the shares of two columns that are coordinates, on one grid, in both tables.

    Parameters
    ----------
    x, y : str
        The columns to the right and upwards.
    x_edges, y_edges : ndarray of float64, shape (cells + 1,)
        Where cells begin and end, in the columns' units, increasing; at most 64 cells each way.
    real, synthetic : ndarray of float64, shape (y cells, x cells)
        Shares of the rows that have both coordinates, 0 to 1.
    outside : tuple of (float, float)
        Shares of those rows that lie beyond the grid: real, synthetic.
    """

    x: str
    y: str
    x_edges: np.ndarray
    y_edges: np.ndarray
    real: np.ndarray
    synthetic: np.ndarray
    outside: Pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlays:
    """Hold all columns of two tables side by side.

    Parameters
    ----------
    columns : tuple of ColumnOverlay
        In the schema's order.
    maps : tuple of MapOverlay
        Of the pairs of columns that are coordinates; none for most tables.
    """

    columns: tuple[ColumnOverlay, ...]
    maps: tuple[MapOverlay, ...]
