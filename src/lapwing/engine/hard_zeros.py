"""Hard zeros of a model: cells that no row can be in, whatever was measured.

A rule's table is a `Factor` without target, whose theta is 0 where rows may be and `DEAD` elsewhere.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lapwing.engine.particles import drawn, drawn_inside
from lapwing.engine.tables import DEAD, Axis, Cells, Factor, cells_of, table_shape

MOST_TOGETHER = 1024  # most combinations of columns that rules tie together for which they are moved together
MOST_STARTS = 4096  # most combinations of what rules tell apart among which particles start in the right shares
_MOST_TRIED, _MOST_LISTED = 2**20, 2**16
_STEPS = 300  # towards the masses of all columns at once
_DRAWS = 50  # of what is left, until no rule is broken


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
        """Return the bound sets of columns that have few combinations, and these, for `lapwing.engine.hard_zeros`.

        A single draw cannot move a column whose value follows from another one's; both are moved together then.
        """
        found = []
        for order in self.orders:
            members = tuple(sorted(order))
            rows = np.zeros((1, 0), dtype=np.intp)
            for place, column in enumerate(members):
                if len(rows) * self.axes[column].base.size > _MOST_TRIED:
                    rows = rows[:0]
                    break
                rows = self._with_column(rows, members[: place + 1], np.arange(self.axes[column].base.size))
            if 0 < len(rows) <= MOST_TOGETHER:
                found.append((members, rows))
        return found

    def _with_column(self, rows: np.ndarray, members: Sequence[int], groups: np.ndarray) -> np.ndarray:
        """Return combinations of columns with each of some groups of one more, the last, that keep all rules."""
        wider = np.hstack([np.repeat(rows, groups.size, axis=0), np.tile(groups, len(rows))[:, None]])
        particles = np.zeros((len(self.axes), len(wider)), dtype=np.intp)
        particles[list(members)] = wider.T
        return np.asarray(wider[~_broken(self.axes, particles, self.within(members))])

    def _told_apart(self, column: int) -> np.ndarray:
        """Return for each finest group of a column a number that it shares with those which no rule tells from it."""
        kinds = [np.zeros(self.axes[column].base.size, dtype=np.intp)]
        for factor in self.factors:
            shape = table_shape(self.axes, factor.table)
            for at, (other, level) in enumerate(factor.table):
                if other == column:
                    alive = np.moveaxis((factor.theta != DEAD).reshape(shape), at, 0).reshape(shape[at], -1)
                    kind = np.unique(alive, axis=0, return_inverse=True)[1].reshape(-1)
                    kinds.append(kind[self.axes[column].levels[level]])
        return np.unique(np.stack(kinds, axis=1), axis=0, return_inverse=True)[1].reshape(-1)

    def starts(
        self, groups: np.ndarray, order: Sequence[int], masses: Sequence[np.ndarray], rng: np.random.Generator
    ) -> np.ndarray:
        """Return particles whose columns of one order keep the rules, in the shares that the masses ask for.

        masses: of the finest groups of each column of the order.

        Where columns follow from each other, no single draw leads from one way of keeping the rules to another: how
        many particles start in each decides how many end there. Groups that no rule tells apart are one here. Shares
        are those of most entropy that have the masses of each column, or as near as these agree; columns with which
        there would be too many combinations are drawn after the others, and again where that breaks a rule.
        """
        kinds, mass_of = {column: self._told_apart(column) for column in order}, dict(zip(order, masses, strict=True))
        rows, members, later = np.zeros((1, 0), dtype=np.intp), list[int](), list[int]()
        for column in order:
            firsts = np.unique(kinds[column], return_index=True)[1]
            wider = rows[:0]
            if len(rows) * firsts.size <= _MOST_LISTED:
                wider = self._with_column(rows, [*members, column], firsts)
            if 0 < len(wider) <= MOST_STARTS:
                rows, members = wider, [*members, column]
            else:
                later.append(column)
        found = groups.copy()
        told = np.stack([kinds[column][part] for column, part in zip(members, rows.T, strict=True)])
        shares = _shares(told, [np.bincount(kinds[column], mass_of[column]) for column in members])
        if not shares.any():
            return found
        chosen = drawn(shares, groups.shape[1], rng)
        for column, kind in zip(members, told, strict=True):
            found[column] = drawn_inside(mass_of[column], kinds[column], kind[chosen], rng)
        for column in later:
            members = [*members, column]
            for _ in range(_DRAWS):
                broken = np.flatnonzero(_broken(self.axes, found, self.within(members)))
                found[column, broken] = drawn(mass_of[column], broken.size, rng)
        return found


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


def _shares(told: np.ndarray, masses: Sequence[np.ndarray]) -> np.ndarray:
    """Return shares of combinations that have given masses in each column, or are as near to all as these agree.

    told: intp (columns, combinations), the place of each in the masses of a column. All masses are looked at together,
    a step for each (Darroch and Ratcliff 1972, *Annals of Mathematical Statistics* 43, 1470-1480). Zeros where no
    combination has mass in all columns.
    """
    wanted = [mass / mass.sum() for mass in masses]
    shares: np.ndarray = np.prod([mass[kind] for mass, kind in zip(wanted, told, strict=True)], axis=0)
    if not shares.any():
        return shares
    for _ in range(_STEPS):
        shares /= shares.sum()
        ratios = np.ones_like(shares)
        for mass, kind in zip(wanted, told, strict=True):
            now = np.bincount(kind, shares, mass.size)
            ratios *= np.divide(mass, now, where=now > 0, out=np.zeros_like(mass))[kind]
        shares *= ratios ** (1 / len(wanted))
    return shares


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


# -- Columns that single draws cannot move apart, as one column of the combinations that there can be.


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
