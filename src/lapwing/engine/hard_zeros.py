"""Hard zeros of a model: cells that no row can be in, whatever was measured; and where particles start under them.

A rule's table is a `Factor` without target, whose theta is 0 where rows may be and `DEAD` elsewhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from lapwing.engine.particles import draw_even, draw_inside
from lapwing.engine.tables import DEAD, Axis, Cells, Factor, cells_of, table_shape

MOST_STARTS = 4096  # most combinations of what rules tell apart among which particles start in the right shares
_MOST_LISTED = 2**16  # most combinations that are looked at for those, some of which break a rule
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

    def _with_column(self, rows: np.ndarray, members: Sequence[int], groups: np.ndarray) -> np.ndarray:
        """Return combinations of columns with each of some groups of one more, the last, that keep all rules."""
        wider = np.hstack([np.repeat(rows, groups.size, axis=0), np.tile(groups, len(rows))[:, None]])
        particles = np.zeros((len(self.axes), len(wider)), dtype=np.intp)
        particles[list(members)] = wider.T
        return np.asarray(wider[~_broken(self.axes, particles, self.within(members))])

    def _beside(self, column: int) -> Iterator[tuple[int, np.ndarray]]:
        """Yield for each table of a column its level, and beside which cells of the others each group can be."""
        for factor in self.factors:
            shape = table_shape(self.axes, factor.table)
            for at, (other, level) in enumerate(factor.table):
                if other == column:
                    yield level, np.moveaxis((factor.theta != DEAD).reshape(shape), at, 0).reshape(shape[at], -1)

    def _told_apart(self, column: int) -> np.ndarray:
        """Return for each finest group of a column a number that it shares with those which no rule tells from it."""
        kinds = [np.zeros(self.axes[column].base.size, dtype=np.intp)]
        for level, alive in self._beside(column):
            kind = np.unique(alive, axis=0, return_inverse=True)[1].reshape(-1)
            kinds.append(kind[self.axes[column].levels[level]])
        return np.unique(np.stack(kinds, axis=1), axis=0, return_inverse=True)[1].reshape(-1)

    def _is_held(self, column: int) -> bool:
        """Tell whether a rule gives two groups of a column nothing in common to stand beside."""
        alive = (np.unique(each[each.any(axis=1)], axis=0).astype(np.float64) for _, each in self._beside(column))
        return any(not (each @ each.T).all() for each in alive)

    def starts(self, groups: np.ndarray, masses: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
        """Return particles whose bound columns keep the rules, in the shares that the masses of all columns ask for.

        Where columns follow from each other, no single draw leads from one way of keeping the rules to another: how
        many particles start in each decides how many end there. Groups that no rule tells apart are one here. Shares
        are those of most entropy that have the masses of each column, or as near as these agree; columns with which
        there would be too many combinations are drawn after the others, and again where that breaks a rule.
        """
        found = groups.copy()
        for order in self.orders:
            kinds = {column: self._told_apart(column) for column in order}
            members, rows = self._listed(order, kinds)
            told = np.stack([kinds[column][part] for column, part in zip(members, rows.T, strict=True)])
            shares = _shares(told, [np.bincount(kinds[column], masses[column]) for column in members])
            if not shares.any():
                continue
            chosen = draw_even(shares, groups.shape[1], rng)
            for column, kind in zip(members, told, strict=True):
                found[column] = draw_inside(masses[column], kinds[column], kind[chosen], rng)
            for column in [each for each in order if each not in members]:
                members = [*members, column]
                self._draw_again(found, members, masses[column], rng)
        return found

    def _draw_again(
        self, groups: np.ndarray, members: Sequence[int], mass: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Draw the last of some columns again where it breaks a rule beside the others, in place."""
        factors = self.within(members)
        for _ in range(_DRAWS):
            broken = np.flatnonzero(_broken(self.axes, groups, factors))
            if not broken.size:
                break
            groups[members[-1], broken] = draw_even(mass, broken.size, rng)

    def _listed(self, order: Sequence[int], kinds: Mapping[int, np.ndarray]) -> tuple[list[int], np.ndarray]:
        """Return columns of an order, as far as their combinations are few, and these, a group for each kind.

        First those that are held: what others are may leave single draws no way to another group.
        """
        members, rows = list[int](), np.zeros((1, 0), dtype=np.intp)
        for column in sorted(order, key=lambda each: not self._is_held(each)):
            firsts = np.unique(kinds[column], return_index=True)[1]
            if len(rows) * firsts.size <= _MOST_LISTED:
                wider = self._with_column(rows, [*members, column], firsts)
                if 0 < len(wider) <= MOST_STARTS:
                    members, rows = [*members, column], wider
        return members, rows


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
