"""The tables that an adaptive mechanism chooses from."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.mechanisms.steps.resolved_columns import ResolvedColumn
from lapwing.numerics.hard_zeros import HardZeros, alive_cells
from lapwing.numerics.log_linear import Cells, table_shape
from lapwing.release.questions import MarginalCounts
from lapwing.release.select_worst import SelectWorst

MOST_CELLS = 4096
"""Most cells of a candidate table."""

MOST_TRIPLE_COLUMNS = 30
"""Up to so many columns all triples compete; beyond, those that grow from measured pairs."""

MOST_GROWN = 1000
"""Most triples that grow from measured pairs."""


REGROWN = Fraction(5, 4)
"""Triples grow anew once so many times the pairs are measured: new ones cost a pass over the rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Tables to choose from.

    Parameters
    ----------
    columns : tuple of ResolvedColumn
        All columns.
    tables : tuple of tuple of (int, int)
        Column and level of each axis; those over the same columns follow one another, the finest first.
    cells : ndarray of int64, shape (tables,)
        Cells of each table, misfits left out.
    places : ndarray of int64, shape (sum of cells,)
        Where these cells stand among all cells, misfits included.
    size : int
        Number of all cells.
    alive : ndarray of bool, shape (sum of cells,), optional
        Cells that can hold rows; the others are not looked at. By default all.
    """

    columns: tuple[ResolvedColumn, ...]
    tables: tuple[Cells, ...]
    cells: np.ndarray
    places: np.ndarray
    size: int
    alive: np.ndarray | None = None

    def counts_of(self, counts: np.ndarray, numbers: Sequence[int]) -> np.ndarray:
        """Return the part of all tables' counts that belongs to some tables, one after another."""
        ends = np.cumsum(self.cells)
        return np.concatenate([counts[ends[number] - self.cells[number] : ends[number]] for number in numbers])

    def question(self, counts: np.ndarray, bias: float, cost: Budget) -> SelectWorst:
        """Return the question which of the tables a model fits worst.

        Parameters
        ----------
        counts : ndarray of float64, shape (sum of cells,)
            What the model says.
        bias : float
            Expected absolute noise of a cell if the table is measured, in records: a table must be worth its noise.
        cost : Budget
            At most this is spent; the epsilon of the selection is rounded down.
        """
        estimates = np.full(self.size, -1, dtype=np.int64)
        estimates[self.places] = np.rint(counts if self.alive is None else np.where(self.alive, counts, -1.0))
        return SelectWorst(
            columns=tuple(column.name for column in self.columns),
            levels=tuple(column.groupings for column in self.columns),
            candidates=self.tables,
            estimates=estimates,
            penalties=np.rint(np.minimum(bias * self._looked_at(), 2.0**60)).astype(np.int64),
            epsilon=selection_epsilon(cost),
            notion=cost.notion,
        )

    def _looked_at(self) -> np.ndarray:
        """Return the cells of each table that can hold rows."""
        if self.alive is None:
            return self.cells
        return np.add.reduceat(self.alive, np.cumsum(self.cells) - self.cells, dtype=np.int64)


def candidates_of(
    columns: Sequence[ResolvedColumn], tables: Iterable[Cells], zeros: HardZeros | None = None
) -> Candidates:
    """Return candidates with the places of their cells, and with the cells that rules leave empty."""
    listed = tuple(tables)
    axes = [column.axis for column in columns]
    extra = [int(column.has_misfit) for column in columns]
    inner = [_inner(table_shape(axes, table), tuple(extra[column] for column, _ in table)) for table in listed]
    cells = np.array([places.size for places, _ in inner], dtype=np.int64)
    sizes = np.array([size for _, size in inner], dtype=np.int64)
    offsets = np.repeat(np.cumsum(sizes) - sizes, cells)
    places = offsets + np.concatenate([places for places, _ in inner])
    alive = None if zeros is None else _alive(zeros, listed, cells)
    return Candidates(tuple(columns), listed, cells, places, int(sizes.sum()), alive)


def _alive(zeros: HardZeros, tables: Sequence[Cells], cells: np.ndarray) -> np.ndarray:
    """Return the cells of all tables, one after another, that can hold rows."""
    found = [alive_cells(zeros, table) for table in tables]
    parts = (np.ones(size, dtype=bool) if each is None else each for each, size in zip(found, cells, strict=True))
    return np.concatenate(list(parts))


@lru_cache(maxsize=2**12)
def _inner(shape: tuple[int, ...], extra: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """Return where the cells of a table stand in one with ``extra`` more groups along each axis, and its size."""
    whole = tuple(size + more for size, more in zip(shape, extra, strict=True))
    places = np.arange(math.prod(whole)).reshape(whole)[tuple(slice(size) for size in shape)].reshape(-1)
    places.flags.writeable = False
    return places, math.prod(whole)


def pair_tables(columns: Sequence[ResolvedColumn], most_cells: int = MOST_CELLS) -> list[Cells]:
    """Return all pairs of at most so many cells at every common level, each shape once, the finest first."""
    found: list[Cells] = []
    for one, two in combinations(range(len(columns)), 2):
        deepest = max(len(columns[one].groupings), len(columns[two].groupings))
        for level in range(deepest):
            table = _at_level(columns, (one, two), level)
            if _cells(columns, table) <= most_cells:
                found.append(table)
    return found


def triple_tables(
    columns: Sequence[ResolvedColumn], sets: Iterable[tuple[int, ...]], most_cells: int = MOST_CELLS
) -> list[Cells]:
    """Return triples of columns, all at their coarsest level that tells regular values apart."""
    coarsest = [len(column.groupings) - 1 - int(column.has_presence) for column in columns]
    tables = (tuple((column, coarsest[column]) for column in each) for each in sets)
    return [table for table in tables if _cells(columns, table) <= most_cells]


def competing_triples(columns: int, pairs: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the triples of columns that compete.

    Parameters
    ----------
    columns : int
        Number of columns: all triples of up to 30.
    pairs : sequence of tuple of int
        Measured pairs: beyond 30 columns, the triples that contain two of them, in the order in which they arise; at
        most 1000.

    Examples
    --------
    >>> competing_triples(40, [(0, 1), (5, 7), (1, 2)])
    [(0, 1, 2)]
    """
    if columns <= MOST_TRIPLE_COLUMNS:
        return list(combinations(range(columns), 3))
    found: dict[tuple[int, ...], None] = {}
    for place, pair in enumerate(pairs):
        joined = (tuple(sorted({*pair, *other})) for other in pairs[:place])
        for triple in joined:
            if len(triple) == 3:
                found.setdefault(triple)
        if len(found) >= MOST_GROWN:
            break
    return list(found)[:MOST_GROWN]


class GrowingTriples:
    """Keep the triples that compete from round to round, and let them grow as more pairs are measured.

    Parameters
    ----------
    columns : sequence of ResolvedColumn
        All columns.
    most_cells : int
        Most cells of a triple.
    """

    __slots__ = ("_columns", "_most_cells", "_pairs", "_tables")

    def __init__(self, columns: Sequence[ResolvedColumn], most_cells: int) -> None:
        self._columns, self._most_cells = columns, most_cells
        self._tables: list[Cells] | None = None
        self._pairs = 0

    def over(self, pairs: Sequence[tuple[int, ...]]) -> list[Cells]:
        """Return the triples over measured pairs, as they were unless there are `REGROWN` times as many pairs."""
        if self._tables is None or len(pairs) >= REGROWN * self._pairs:
            sets = competing_triples(len(self._columns), pairs)
            self._tables, self._pairs = triple_tables(self._columns, sets, self._most_cells), len(pairs)
        return self._tables


def preferred_tables(
    candidates: Candidates, columns: frozenset[int], tables: Sequence[frozenset[int]]
) -> tuple[int, ...]:
    """Return the numbers of the candidates that contain one of some columns, or lie within one of some tables."""
    sets = [frozenset(column for column, _ in table) for table in candidates.tables]
    return tuple(place for place, each in enumerate(sets) if each & columns or any(each <= table for table in tables))


def product_counts(columns: Sequence[ResolvedColumn], table: Cells, total: float) -> np.ndarray:
    """Return what independent columns say of a pair: ndarray of float64, shape (cells,), summing to ``total``."""
    one, two = (np.bincount(columns[c].axis.levels[level], columns[c].axis.base) for c, level in table)
    return np.outer(one / one.sum(), two * (total / two.sum())).reshape(-1)


def measurement(columns: Sequence[ResolvedColumn], table: Cells, cost: Budget) -> MarginalCounts:
    """Return the question for one table."""
    return MarginalCounts(
        columns=tuple(columns[column].name for column, _ in table),
        groupings=tuple(columns[column].groupings[level] for column, level in table),
        cost=cost,
    )


def without_misfits(columns: Sequence[ResolvedColumn], table: Cells, counts: np.ndarray) -> np.ndarray:
    """Return the cells of a noisy table that the model has: ndarray of float64, shape (cells,)."""
    shape = table_shape([column.axis for column in columns], table)
    return counts[tuple(slice(size) for size in shape)].astype(np.float64).reshape(-1)


def selection_epsilon(cost: Budget) -> Fraction:
    """Return the epsilon of a selection that costs at most this, 20 bits of it.

    Examples
    --------
    >>> selection_epsilon(Budget.zcdp("0.03125"))
    Fraction(1, 2)
    """
    if cost.notion == "pure":
        return rounded_down(cost.epsilon)
    squared = 8 * cost.rho
    root = Fraction(math.isqrt(squared.numerator * squared.denominator << 80), squared.denominator << 40)
    return rounded_down(root)


def rounded_down(amount: Fraction) -> Fraction:
    """Return a positive amount cut to about 20 significant bits, so that exact sums of many costs stay short."""
    bits = 20 - (amount.numerator.bit_length() - amount.denominator.bit_length())
    scale = Fraction(2) ** bits
    return Fraction(int(amount * scale)) / scale


def _at_level(columns: Sequence[ResolvedColumn], chosen: tuple[int, ...], level: int) -> Cells:
    """Return the table of some columns at a level, or the coarsest that each has."""
    return tuple((column, min(level, len(columns[column].groupings) - 1)) for column in chosen)


def _cells(columns: Sequence[ResolvedColumn], table: Cells) -> int:
    """Return the cells of a table, misfits included."""
    return math.prod(columns[column].groupings[level].groups for column, level in table)
