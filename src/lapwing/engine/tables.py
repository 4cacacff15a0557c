"""What the engine fits: columns in groups at several resolutions, and tables of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

Cells = tuple[tuple[int, int], ...]
"""A table: (column, level) pairs, columns increasing."""

DEAD = -1e4
"""Theta of a cell that no particle may be in: beside any other theta its exponential is exactly 0. A particle all of
whose cells are dead goes where fewest tables say so."""


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One column: groups at several resolutions.

    Parameters
    ----------
    base : ndarray of float64, shape (g,)
        Masses of the finest groups, at least 0; only ratios matter.
    levels : tuple of ndarray of intp, shape (g,)
        For each resolution the group of each finest group, without gaps; the first is 0 .. g-1.
    sizes : tuple of int
        Groups at each resolution; found.
    """

    base: np.ndarray
    levels: tuple[np.ndarray, ...]
    sizes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(int(level.max()) + 1 for level in self.levels))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Factor:
    """A table and its part of the density.

    Parameters
    ----------
    table : tuple of (int, int)
        Columns and levels.
    theta : ndarray of float64, shape (k,)
        What each cell adds to the logarithm of the density, in C order.
    target : ndarray of float64, shape (k,), optional
        Records that each cell should hold. Without it theta stays as it is.
    ridge : float, default 0
        Records that a target gives way where theta is 1: theta is ``(target - count) / ridge``. 0 for a public table,
        which is met but for rounding.
    """

    table: Cells
    theta: np.ndarray
    target: np.ndarray | None = None
    ridge: float = 0.0


def table_shape(axes: Sequence[Axis], table: Cells) -> tuple[int, ...]:
    """Return the number of groups along each axis of a table."""
    return tuple(axes[column].sizes[level] for column, level in table)


def cells_of(axes: Sequence[Axis], groups: np.ndarray, table: Cells) -> np.ndarray:
    """Return the cell of each particle in a table.

    Parameters
    ----------
    axes : sequence of Axis
        One per column.
    groups : ndarray of uint8 or uint16, shape (d, m)
        Finest groups.
    table : tuple of (int, int)
        Columns and levels; at least one.

    Returns
    -------
    ndarray of intp, shape (m,)
        In C order over the groups of the table.
    """
    cells = np.zeros(groups.shape[1], dtype=np.intp)
    for column, level in table:
        axis = axes[column]
        cells *= axis.sizes[level]
        cells += np.take(axis.levels[level], groups[column], mode="clip")
    return cells
