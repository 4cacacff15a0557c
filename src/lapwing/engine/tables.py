"""What the engine fits: columns in groups at several resolutions, and tables of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

Cells = tuple[tuple[int, int], ...]  # A table: (column, level) pairs, columns increasing
_LEVEL_BITS = 8  # of a number that is a column and a level
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


def pack(tables: Sequence[Cells]) -> np.ndarray:
    """Return tables as one array.

    Returns int64 (tables, axes, 2), the column and the level of each axis; -1 beyond the axes of a table.

    >>> pack([((0, 1), (2, 0)), ((3, 1),)]).tolist()
    [[[0, 1], [2, 0]], [[3, 1], [-1, -1]]]
    """
    lengths = np.fromiter(map(len, tables), dtype=np.int64, count=len(tables))
    is_axis = np.arange(lengths.max(initial=0)) < lengths[:, None]
    found = np.full((*is_axis.shape, 2), -1, dtype=np.int64)
    found[is_axis] = np.array(list(chain.from_iterable(tables)), dtype=np.int64).reshape(-1, 2)
    return found


def unpack(tables: np.ndarray) -> list[Cells]:
    """Return the tables that `pack` made one array of."""
    return [tuple([(column, level) for column, level in table if column >= 0]) for table in tables.tolist()]


def particle_tables(axes: Sequence[Axis], groups: np.ndarray, total: float, tables: np.ndarray) -> np.ndarray:
    """Return what equal particles say of many tables, one after another.

    groups: uint8 or uint16 (d, m), finest groups; tables: as `pack` makes them. Returns float64 (sum of cells,), each
    table in C order.
    """
    from lapwing.engine.kernel import count_cells  # noqa: PLC0415 - numba takes long to import

    if not len(tables):
        return np.zeros(0)
    is_axis = tables[:, :, 0] >= 0
    pairs = tables[is_axis]
    used, slots = np.unique(pairs[:, 0] << _LEVEL_BITS | pairs[:, 1], return_inverse=True)
    named = [(int(each) >> _LEVEL_BITS, int(each) % 2**_LEVEL_BITS) for each in used]
    coded = np.empty((used.size, groups.shape[1]), dtype=np.uint16)
    for slot, (column, level) in enumerate(named):
        np.take(axes[column].levels[level].astype(np.uint16), groups[column], mode="clip", out=coded[slot])
    sides = np.array([axes[column].sizes[level] for column, level in named], dtype=np.int64)
    of_axis, sizes = np.full(is_axis.shape, -1, dtype=np.int64), np.ones(is_axis.shape, dtype=np.int64)
    of_axis[is_axis], sizes[is_axis] = slots, sides[slots]
    offsets = np.append(0, np.cumsum(sizes.prod(axis=1)))
    summed = _merges(axes, named, of_axis, sets_of(tables))
    return np.asarray(count_cells(coded, of_axis, sizes, offsets, *summed) * (total / groups.shape[1]))


def sets_of(tables: np.ndarray) -> np.ndarray:
    """Return the number of the set of columns of each table, where those of a set follow one another: int64 (tables,).

    >>> sets_of(pack([((0, 0), (1, 0)), ((0, 1), (1, 1)), ((0, 0), (2, 0))])).tolist()
    [0, 0, 1]
    """
    return np.cumsum(np.append(0, (np.diff(tables[:, :, 0], axis=0) != 0).any(axis=1)))[: len(tables)]


def _merges(
    axes: Sequence[Axis], named: Sequence[tuple[int, int]], of_axis: np.ndarray, sets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which tables are sums of the first of their set, as `count_cells` takes it."""
    firsts = np.flatnonzero(np.diff(sets, prepend=-1))[sets]
    pairs, inverse = np.unique(of_axis[firsts] * len(named) + of_axis, return_inverse=True)
    merges = inverse.reshape(of_axis.shape)
    merged = np.zeros((pairs.size, max(axes[column].sizes[level] for column, level in named)), dtype=np.int64)
    is_sum = np.ones(pairs.size, dtype=bool)
    for row, pair in enumerate(pairs.tolist()):
        if pair >= 0:
            (column, fine), (_, coarse) = named[pair // len(named)], named[pair % len(named)]
            groups = group_of_groups(axes[column], fine, coarse)
            merged[row, : groups.size] = groups
            is_sum[row] = is_coarser(axes[column], fine, coarse)
    merges[of_axis < 0] = -1
    is_counted = (firsts == np.arange(len(sets))) | ~np.where(merges < 0, True, is_sum[merges]).all(axis=1)
    return np.where(is_counted, -1, firsts), merges, merged


def coarsen(axes: Sequence[Axis], table: Cells, counts: np.ndarray, coarser: Cells) -> np.ndarray:
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
