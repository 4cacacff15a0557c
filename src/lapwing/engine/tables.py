"""What the engine fits: columns in groups at several resolutions, and tables of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Cells = tuple[tuple[int, int], ...]  # A table: (column, level) pairs, columns increasing
DEAD = -1e4
"""Theta of a cell that no particle may be in: beside any other theta its exponential is exactly 0. A particle all of
whose cells are dead goes where fewest tables say so."""


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One column: groups at several resolutions.

    base: float64 (g,), masses of the finest groups, at least 0; only ratios matter; levels: tuple of intp (g,), for
    each resolution the group of each finest group, without gaps; the first is 0 .. g-1; sizes: groups at each
    resolution, of which some may be empty; by default as many as are named.
    """

    base: np.ndarray
    levels: tuple[np.ndarray, ...]
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.sizes:
            object.__setattr__(self, "sizes", tuple(int(level.max()) + 1 for level in self.levels))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Factor:
    """A table and its part of the density.

    theta: float64 (k,), what each cell adds to the logarithm of the density, in C order; target: float64 (k,), records
    that each cell should hold. Without it theta stays as it is; ridge: records that a target gives way where theta is
    1: theta is ``(target - count) / ridge``. 0 for a public table, which is met but for rounding.
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

    groups: uint8 or uint16 (d, m), finest groups. Returns intp (m,), in C order over the groups of the table.
    """
    cells = np.zeros(groups.shape[1], dtype=np.intp)
    for column, level in table:
        axis = axes[column]
        cells *= axis.sizes[level]
        cells += np.take(axis.levels[level], groups[column], mode="clip")
    return cells


def counted(axes: Sequence[Axis], groups: np.ndarray, total: float, tables: Sequence[Cells]) -> np.ndarray:
    """Return what equal particles say of many tables, one after another.

    groups: uint8 or uint16 (d, m), finest groups; tables: those over the same columns stand one after another, the
    finest first: coarser ones are sums of it. Returns float64 (sum of cells,), each table in C order.
    """
    shared = _SharedCells(axes, groups)
    parts: list[np.ndarray] = []
    last: Cells = ()
    counts: np.ndarray = np.zeros(0)
    for table in tables:
        if _is_coarser(table, last):
            parts.append(_merged(axes, counts, last, table))
        else:
            counts = np.bincount(shared.of(table), minlength=math.prod(table_shape(axes, table)))
            last = table
            parts.append(counts)
    return np.concatenate(parts) * (total / groups.shape[1]) if parts else np.zeros(0)


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


def coarsened(axes: Sequence[Axis], table: Cells, counts: np.ndarray, coarser: Cells) -> np.ndarray:
    """Return the counts of a table at coarser levels, of some of its columns: float64, flat, in C order.

    coarser: its columns are some of the table's, in their order; no level is finer than there.
    """
    wanted = dict(coarser)
    found = counts.reshape(table_shape(axes, table))
    for along, (at, level) in reversed(list(enumerate(table))):
        if at not in wanted:
            found = found.sum(axis=along)
            continue
        each = np.moveaxis(found, along, 0)
        sums = np.zeros((axes[at].sizes[wanted[at]], *each.shape[1:]))
        np.add.at(sums, group_of_groups(axes[at], level, wanted[at]), each)
        found = np.moveaxis(sums, 0, along)
    return np.asarray(found.reshape(-1))


def group_of_groups(axis: Axis, fine: int, coarse: int) -> np.ndarray:
    """Return for each group of one level its group at a coarser level: ndarray of intp, shape (groups of ``fine``,)."""
    merged = np.zeros(axis.sizes[fine], dtype=np.intp)
    merged[axis.levels[fine]] = axis.levels[coarse]
    return merged


def is_coarser(axis: Axis, fine: int, coarse: int) -> bool:
    """Return whether each group of one level lies within one of another."""
    return np.array_equal(group_of_groups(axis, fine, coarse)[axis.levels[fine]], axis.levels[coarse])


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
