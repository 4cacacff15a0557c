"""Hard zeros of a log-linear model: cells that no row can be in, whatever was measured.

A rule's table is a `Factor` whose theta is 0 where rows may be and `DEAD` elsewhere. It is never raked; sweeps and the
released model carry it like any other factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lapwing.numerics.gibbs import drawn_column
from lapwing.numerics.log_linear import Axis, Cells, Factor, cells_of, table_shape

DEAD = -1e4
"""Theta of a cell that no row can be in: its exponential is exactly 0, beside any other theta. Among cells that all
break some rule, those that break fewer are drawn."""

_TRIES = 12


@dataclass(frozen=True, slots=True, eq=False)
class HardZeros:
    """Every table of a model that has hard zeros.

    Parameters
    ----------
    axes : tuple of Axis
        One per column of the model.
    factors : tuple of Factor
        Made by `hard_factor`.
    orders : tuple of tuple of int
        Columns bound together by these tables, causes before effects; distinct sets.
    """

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
        found = np.zeros(groups.shape[1], dtype=bool)
        for factor in self.factors:
            found |= factor.theta[cells_of(self.axes, groups, factor.table)] == DEAD
        return found


def hard_factor(table: Cells, alive: np.ndarray) -> Factor:
    """Return the part of the model that keeps rows out of cells.

    Parameters
    ----------
    table : tuple of (int, int)
        Columns and levels.
    alive : ndarray of bool, shape (k,) or shaped by the groups of the table
        Where rows may be.

    Examples
    --------
    >>> hard_factor(((0, 0), (1, 0)), np.array([[True, False], [True, True]])).theta.tolist()
    [0.0, -10000.0, 0.0, 0.0]
    """
    flat = np.asarray(alive, dtype=bool).reshape(-1)
    return Factor(table=table, target=np.zeros(flat.size), sd=0.0, theta=np.where(flat, 0.0, DEAD))


def alive_cells(zeros: HardZeros, table: Cells) -> np.ndarray | None:
    """Return the cells of a table that can hold rows, as far as each hard factor tells.

    Parameters
    ----------
    zeros : HardZeros
        Of the model.
    table : tuple of (int, int)
        Columns and levels.

    Returns
    -------
    ndarray of bool, shape (k,), or None
        False where all finest cells inside are dead. None where no cell is dead.
    """
    return zeros.alive(table)


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


def mended(zeros: HardZeros, groups: np.ndarray, factors: Sequence[Factor], rng: np.random.Generator) -> np.ndarray:
    """Draw the bound columns of particles that break a rule anew, causes before effects.

    Parameters
    ----------
    zeros : HardZeros
        Of the model.
    groups : ndarray of uint8 or uint16, shape (d, m)
        Finest groups; not modified.
    factors : sequence of Factor
        The rest of the model.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    ndarray, shape (d, m)
        Particles that break no rule; those that could not be mended are copies of others. Where none could be, they
        are as they were.

    Notes
    -----
    A column is drawn given all other columns by the measured tables, and given the columns before it by the rules.
    """
    fixed = groups.copy()
    for _ in range(_TRIES):
        broken = np.flatnonzero(zeros.broken(fixed))
        if not broken.size:
            return fixed
        part = fixed[:, broken]
        for order in zeros.orders:
            inner = HardZeros(zeros.axes, zeros.within(order), (order,))
            wrong = np.flatnonzero(inner.broken(part))
            if wrong.size:
                part[:, wrong] = _redrawn(inner, part[:, wrong], factors, rng)
        fixed[:, broken] = part
    is_broken = zeros.broken(fixed)
    whole = np.flatnonzero(~is_broken)
    if whole.size:
        fixed[:, is_broken] = fixed[:, rng.choice(whole, int(is_broken.sum()))]
    return fixed


def _redrawn(inner: HardZeros, groups: np.ndarray, factors: Sequence[Factor], rng: np.random.Generator) -> np.ndarray:
    """Draw the columns of one order, one after another; ``groups`` is used up."""
    (order,) = inner.orders
    for place, column in enumerate(order):
        known = inner.within(order[: place + 1])
        groups[column] = drawn_column(inner.axes, groups, (*factors, *known), column, rng)
    return groups


def links(zeros: HardZeros) -> list[Cells]:
    """Return the pairs of columns, at the finest level, of which one is a function of the other by a rule alone."""
    found = []
    for factor in zeros.factors:
        table = tuple((column, 0) for column, _ in factor.table)
        alive = alive_cells(zeros, table) if len(table) == 2 else None
        if alive is None:
            continue
        cells = alive.reshape(table_shape(zeros.axes, table))
        if table not in found and any(int(cells.sum(axis=axis).max()) <= 1 for axis in (0, 1)):
            found.append(table)
    return found
