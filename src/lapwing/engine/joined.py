"""Columns that single draws cannot move apart, as one column of the combinations that there can be."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.engine.tables import Axis, Cells, Factor, table_shape


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Axes of which some stand for several columns, and the way there and back.

    groups_of: tuple of intp (groups of its axis,), the finest group of each column in each finest group of its axis.
    """

    columns: tuple[Axis, ...]
    axes: tuple[Axis, ...]
    axis_of: tuple[int, ...]
    groups_of: tuple[np.ndarray, ...]

    def with_masses(self, columns: Sequence[Axis]) -> "Joined":
        """Return the same for columns with other masses."""
        axes = list(self.axes)
        for at, axis in enumerate(axes):
            members = [place for place, each in enumerate(self.axis_of) if each == at]
            masses = [columns[place].base[self.groups_of[place]] for place in members]
            axes[at] = columns[members[0]] if len(members) == 1 else replace(axis, base=np.prod(masses, axis=0))
        return replace(self, columns=tuple(columns), axes=tuple(axes))

    def apart(self, groups: np.ndarray) -> np.ndarray:
        """Return the groups of all columns from those of the axes: ndarray of uint16, shape (d, m)."""
        return np.stack([part[groups[axis]] for axis, part in zip(self.axis_of, self.groups_of, strict=True)]).astype(
            np.uint16
        )


def joined(columns: Sequence[Axis], sets: Sequence[tuple[tuple[int, ...], np.ndarray]]) -> Joined:
    """Return axes for some columns together, and one for each of the others.

    sets: sequence of (tuple of int, intp), disjoint sets of columns, and the combinations of finest groups that a
    particle may have: one row for each, in the order of the columns.
    """
    axes: list[Axis] = []
    axis_of, groups_of = [0] * len(columns), [np.zeros(0, dtype=np.intp)] * len(columns)
    for members, combinations in sets:
        masses = np.prod([columns[each].base[part] for each, part in zip(members, combinations.T, strict=True)], axis=0)
        for each, part in zip(members, combinations.T, strict=True):
            axis_of[each], groups_of[each] = len(axes), part
        axes.append(Axis(masses, (np.arange(len(combinations)),)))
    together = {each for members, _ in sets for each in members}
    for each, column in enumerate(columns):
        if each not in together:
            axis_of[each], groups_of[each] = len(axes), np.arange(column.base.size)
            axes.append(column)
    return Joined(tuple(columns), tuple(axes), tuple(axis_of), tuple(groups_of))


def on_axes(whole: Joined, factors: Sequence[Factor]) -> tuple[Joined, list[Factor], list["Turn"]]:
    """Return factors of columns as factors of axes."""
    levels: list[list[np.ndarray]] = [list(axis.levels) for axis in whole.axes]
    sizes: list[list[int]] = [list(axis.sizes) for axis in whole.axes]
    known: dict[Cells, tuple[int, int]] = {}
    found, turns = [], []
    for factor in factors:
        turn = Turn.of(whole, factor.table)
        table = []
        for axis, pairs in turn.parts:
            if len(pairs) == 1 and whole.axes[axis] is whole.columns[pairs[0][0]]:
                table.append((axis, pairs[0][1]))
                continue
            if pairs not in known:
                shape = table_shape(whole.columns, pairs)
                inside = [whole.columns[column].levels[level][whole.groups_of[column]] for column, level in pairs]
                known[pairs] = (axis, len(levels[axis]))
                levels[axis].append(np.ravel_multi_index(tuple(inside), shape))
                sizes[axis].append(math.prod(shape))
            table.append(known[pairs])
        turns.append(turn)
        target = None if factor.target is None else turn.there(factor.target)
        found.append(replace(factor, table=tuple(table), theta=turn.there(factor.theta), target=target))
    axes = [
        Axis(axis.base, tuple(each), tuple(size)) for axis, each, size in zip(whole.axes, levels, sizes, strict=True)
    ]
    kept = [axis if len(new.levels) == len(axis.levels) else new for axis, new in zip(whole.axes, axes, strict=True)]
    return replace(whole, axes=tuple(kept)), found, turns


@dataclass(frozen=True, slots=True)
class Turn:
    """How the cells of a table of columns are those of a table of axes: columns of one axis stand together.

    parts: the axes, increasing, and the columns and levels of each; order: its axes in the order in which they stand in
    the other one.
    """

    parts: tuple[tuple[int, Cells], ...]
    shape: tuple[int, ...]
    order: tuple[int, ...]

    @classmethod
    def of(cls, whole: Joined, table: Cells) -> "Turn":
        """Return how the cells of a table are turned."""
        order = sorted(range(len(table)), key=lambda at: (whole.axis_of[table[at][0]], at))
        parts: dict[int, list[tuple[int, int]]] = {}
        for at in order:
            parts.setdefault(whole.axis_of[table[at][0]], []).append(table[at])
        return cls(
            tuple((axis, tuple(pairs)) for axis, pairs in parts.items()),
            table_shape(whole.columns, table),
            tuple(order),
        )

    def there(self, cells: np.ndarray) -> np.ndarray:
        """Return cells of a table of columns as those of axes."""
        return cells.reshape(self.shape).transpose(self.order).reshape(-1)

    def back(self, cells: np.ndarray) -> np.ndarray:
        """Return cells of a table of axes as those of columns."""
        shape = tuple(self.shape[at] for at in self.order)
        return cells.reshape(shape).transpose(np.argsort(self.order)).reshape(-1)
