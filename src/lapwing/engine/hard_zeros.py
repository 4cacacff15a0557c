"""Hard zeros of a model: cells that no row can be in, whatever was measured.

A rule's table is a `Factor` without target, whose theta is 0 where rows may be and `DEAD` elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lapwing.engine.tables import DEAD, Axis, Cells, Factor, cells_of, table_shape

MOST_TOGETHER = 1024
"""Most combinations of columns that rules tie together for which they are moved together."""

_MOST_TRIED = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class HardZeros:
    """Every table of a model that has hard zeros."""

    axes: tuple[Axis, ...]
    factors: tuple[Factor, ...]
    orders: tuple[tuple[int, ...], ...]
    # Answers of `alive_cells`: they go when the model goes.
    _alive: dict[Cells, np.ndarray | None] = field(default_factory=dict, init=False, repr=False)

    def alive(self, table: Cells) -> np.ndarray | None:
        """Return what `alive_cells` says of a table, found once."""
        if table not in self._alive:
            self._alive[table] = _alive_cells(self, table)
        return self._alive[table]

    def within(self, columns: Sequence[int]) -> tuple[Factor, ...]:
        """Return the tables that name no other columns than these."""
        return tuple(factor for factor in self.factors if {column for column, _ in factor.table} <= set(columns))

    def broken(self, groups: np.ndarray) -> np.ndarray:
        """Tell for each particle whether it is in a cell that no row can be in: ndarray of bool, shape (m,)."""
        return _broken(self.axes, groups, self.factors)

    def together(self) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """Return the bound sets of columns that have few combinations, and these, for `lapwing.engine.joined`.

        A single draw cannot move a column whose value follows from another one's; both are moved together then.
        """
        found = []
        for order in self.orders:
            members = tuple(sorted(order))
            combinations = self._combinations(members)
            if combinations is not None:
                found.append((members, combinations))
        return found

    def _combinations(self, members: Sequence[int]) -> np.ndarray | None:
        """Return the combinations of finest groups that keep all rules: shape (few, columns); None if they are many."""
        rows = np.zeros((1, 0), dtype=np.intp)
        for place, column in enumerate(members):
            size = self.axes[column].base.size
            if len(rows) * size > _MOST_TRIED:
                return None
            rows = np.hstack([np.repeat(rows, size, axis=0), np.tile(np.arange(size), len(rows))[:, None]])
            groups = np.zeros((len(self.axes), len(rows)), dtype=np.intp)
            groups[list(members[: place + 1])] = rows.T
            rows = rows[~_broken(self.axes, groups, self.within(members[: place + 1]))]
        return rows if 0 < len(rows) <= MOST_TOGETHER else None


def hard_factor(table: Cells, alive: np.ndarray) -> Factor:
    """Return the part of the model that keeps rows out of cells.

    alive: bool (k,), where rows may be.

    >>> hard_factor(((0, 0), (1, 0)), np.array([[True, False], [True, True]])).theta.tolist()
    [0.0, -10000.0, 0.0, 0.0]
    """
    return Factor(table=table, theta=np.where(np.asarray(alive, dtype=bool).reshape(-1), 0.0, DEAD))


def alive_cells(zeros: HardZeros, table: Cells) -> np.ndarray | None:
    """Return the cells of a table that can hold rows, as far as each hard factor tells.

    Returns bool (k,), false where all finest cells inside are dead. None where no cell is dead.
    """
    return zeros.alive(table)


def _broken(axes: Sequence[Axis], groups: np.ndarray, factors: Sequence[Factor]) -> np.ndarray:
    found = np.zeros(groups.shape[1], dtype=bool)
    for factor in factors:
        found |= factor.theta[cells_of(axes, groups, factor.table)] == DEAD
    return found


def _alive_cells(zeros: HardZeros, table: Cells) -> np.ndarray | None:
    """Return what `alive_cells` does, not remembered."""
    axes, levels = zeros.axes, dict(table)
    found = np.ones(table_shape(axes, table), dtype=bool)
    for factor in zeros.within(tuple(levels)):
        alive = (factor.theta != DEAD).reshape(table_shape(axes, factor.table))
        for at, (column, level) in enumerate(factor.table):
            axis = axes[column]
            overlap = np.zeros((axis.sizes[levels[column]], axis.sizes[level]), dtype=bool)
            overlap[axis.levels[levels[column]], axis.levels[level]] = True
            alive = np.moveaxis(np.tensordot(overlap.astype(np.float64), alive, (1, at)) > 0, 0, at)
        named = [column for column, _ in factor.table]
        shape = [size if column in named else 1 for (column, _), size in zip(table, found.shape, strict=True)]
        found &= alive.reshape(shape)
    if found.all():
        return None
    flat = found.reshape(-1)
    flat.flags.writeable = False
    return flat
