"""A log-linear model on the groups of columns, held by a cloud of weighted particles.

The density of a particle x is proportional to ``prod base_j[x_j] * exp(sum_c theta_c[cell of x in table c])``. Every
measured table c is a `Factor`. There is no junction tree: all marginals are sums over the particles, so the cost is
linear in the number of tables.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

Cells = tuple[tuple[int, int], ...]
"""A table: (column, level) pairs, columns increasing."""


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One column as the model sees it: groups at several resolutions.

    Parameters
    ----------
    base : ndarray of float64, shape (g,)
        Positive masses of the finest groups; only ratios matter.
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
    """A measured table and its part of the model.

    Parameters
    ----------
    table : tuple of (int, int)
        Columns and levels.
    target : ndarray of float64, shape (k,)
        Noisy counts of its cells, in C order.
    sd : float
        Standard deviation of their noise, at least 0.
    theta : ndarray of float64, shape (k,)
        Log-linear parameters.
    alive : ndarray of bool, shape (k,), optional
        Cells that can hold rows, at least one; the others have target 0, and raking leaves them alone. By default all.
    """

    table: Cells
    target: np.ndarray
    sd: float
    theta: np.ndarray
    alive: np.ndarray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Weighted particles.

    Parameters
    ----------
    groups : ndarray of uint8 or uint16, shape (d, m)
        The finest group of each particle in each column.
    log_weights : ndarray of float64, shape (m,)
        Relative to the density from which the particles were drawn.
    """

    groups: np.ndarray
    log_weights: np.ndarray

    @property
    def size(self) -> int:
        """Number of particles, m."""
        return self.log_weights.size

    def weights(self, total: float) -> np.ndarray:
        """Return the weights, summing to ``total``: ndarray of float64, shape (m,)."""
        weights: np.ndarray = np.exp(self.log_weights - self.log_weights.max())
        weights *= total / weights.sum()
        return weights


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


def marginals(axes: Sequence[Axis], cloud: Cloud, total: float, tables: Sequence[Cells]) -> np.ndarray:
    """Return the model's counts in many tables, one after another.

    Parameters
    ----------
    axes : sequence of Axis
        One per column.
    cloud : Cloud
        Particles.
    total : float
        Sum of each table.
    tables : sequence of tuple of (int, int)
        Tables over the same columns stand one after another to share work, the finest first.

    Returns
    -------
    ndarray of float64, shape (sum of cells,)
        Each table in C order.

    Notes
    -----
    One pass over the m particles for each set of columns and for each table that is finer than the one before; other
    tables are sums of the one before.
    """
    weights = cloud.weights(total)
    cells = _SharedCells(axes, cloud.groups)
    parts: list[np.ndarray] = []
    last: Cells = ()
    counts: np.ndarray = np.zeros(0)
    for table in tables:
        if _is_coarser(table, last):
            parts.append(_merged(axes, counts, last, table))
        else:
            counts = np.bincount(cells.of(table), weights, math.prod(table_shape(axes, table)))
            last = table
            parts.append(counts)
    return np.concatenate(parts) if parts else np.zeros(0)


class _SharedCells:
    """Cells of particles in many tables: the groups of each level, and of the last beginning of a table, once."""

    __slots__ = ("_axes", "_begun", "_groups", "_levels", "_start")

    def __init__(self, axes: Sequence[Axis], groups: np.ndarray) -> None:
        self._axes, self._groups = axes, groups
        self._levels: dict[tuple[int, int], np.ndarray] = {}
        self._start: Cells = ()
        self._begun = np.zeros(0, dtype=np.intp)

    def of(self, table: Cells) -> np.ndarray:
        """Return the cell of each particle."""
        start, (column, level) = table[:-1], table[-1]
        if not start:
            return self._level(column, level)
        if start != self._start:
            self._start, self._begun = start, self.of(start)
        cells = self._begun * self._axes[column].sizes[level]
        cells += self._level(column, level)
        return cells

    def _level(self, column: int, level: int) -> np.ndarray:
        if (column, level) not in self._levels:
            found = np.take(self._axes[column].levels[level], self._groups[column], mode="clip")
            self._levels[column, level] = found
        return self._levels[column, level]


def group_of_groups(axis: Axis, fine: int, coarse: int) -> np.ndarray:
    """Return for each group of one level its group at a coarser level: ndarray of intp, shape (groups of ``fine``,)."""
    merged = np.zeros(axis.sizes[fine], dtype=np.intp)
    merged[axis.levels[fine]] = axis.levels[coarse]
    return merged


def misfit(axes: Sequence[Axis], cloud: Cloud, factors: Sequence[Factor], total: float) -> float:
    """Return the sum over factors of the absolute differences between model and target, in records."""
    weights = cloud.weights(total)
    return sum(
        float(np.abs(np.bincount(cells_of(axes, cloud.groups, f.table), weights, f.target.size) - f.target).sum())
        for f in factors
    )


def _is_coarser(table: Cells, other: Cells) -> bool:
    """Tell whether a table can be summed from another one of the same columns."""
    return [c for c, _ in table] == [c for c, _ in other] and all(
        level >= finer for (_, level), (_, finer) in zip(table, other, strict=True)
    )


def _merged(axes: Sequence[Axis], counts: np.ndarray, fine: Cells, coarse: Cells) -> np.ndarray:
    """Sum a table into a coarser one."""
    shape = table_shape(axes, fine)
    place = np.zeros(shape, dtype=np.intp)
    for at, ((column, level), (_, other)) in enumerate(zip(fine, coarse, strict=True)):
        along = group_of_groups(axes[column], level, other).reshape([-1 if i == at else 1 for i in range(len(shape))])
        place = place * axes[column].sizes[other] + along
    return np.bincount(place.reshape(-1), counts, math.prod(table_shape(axes, coarse)))
