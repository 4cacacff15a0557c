"""The tables that an adaptive mechanism chooses from."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product

import numpy as np

from lapwing.engine.hard_zeros import HardZeros, alive_cells
from lapwing.engine.tables import Cells, flat_pairs
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.mechanisms.adaptive.columns import ResolvedColumn
from lapwing.schema.groupings.grouping import Grouping

MOST_CELLS = 4096  # most cells of a candidate table
MOST_TRIPLE_COLUMNS = 30  # up to so many columns all triples compete; beyond, those that grow from measured pairs
MOST_GROWN = 1000  # most triples that grow from measured pairs
MOST_FINE_TRIPLES = 1000  # up to so many triples compete one level finer, too
_MEAN_ABSOLUTE = 0.8  # of noise, in standard deviations: 0.798 Gaussian, 0.71 Laplace
_RANK = 1.2


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Tables to choose from.

    tables: column and level of each axis; those over the same columns follow one another, the finest first; cells:
    int64 (tables,), cells of each table, misfits left out; places: int64 (sum of cells,), where these cells stand among
    all cells, misfits included; noise: float64 (tables,), `expected_noise` of each; alive: bool (sum of cells,), cells
    that can hold rows; the others are not looked at. By default all.
    """

    columns: tuple[ResolvedColumn, ...]
    tables: tuple[Cells, ...]
    cells: np.ndarray
    places: np.ndarray
    size: int
    noise: np.ndarray
    alive: np.ndarray | None = None

    def estimates(self, counts: np.ndarray) -> np.ndarray:
        """Return what a question says of the cells of all tables: ndarray of int64, read-only.

        counts: float64 (sum of cells,), what the model says.
        """
        found = np.full(self.size, -1, dtype=np.int64)
        found[self.places] = np.rint(counts if self.alive is None else np.where(self.alive, counts, -1.0))
        found.flags.writeable = False
        return found

    def question(self, estimates: np.ndarray, sd: float, cost: Budget, barred: np.ndarray) -> SelectWorst:
        """Return the question which of the tables a model fits worst.

        estimates: of `estimates`; sd: standard deviation of a cell's noise if the table is measured, in records: a
        table must be worth what the fit leaves of it; cost: at most this is spent; the epsilon of the selection is
        rounded down; barred: bool (tables,), tables that are not to be chosen.
        """
        names, levels = _named(self.columns)
        return SelectWorst(
            columns=names,
            levels=levels,
            candidates=self.tables,
            estimates=estimates,
            penalties=np.rint(np.where(barred, 2.0**60, np.minimum(sd * self.noise, 2.0**59))).astype(np.int64),
            epsilon=selection_epsilon(cost),
            notion=cost.notion,
        )


def expected_noise(columns: Sequence[ResolvedColumn], tables: Sequence[Cells], zeros: HardZeros | None) -> np.ndarray:
    """Return what noise of one unit that a fit does not take out puts into each table, absolute and summed.

    Of a table of r rows and c columns, unfolded as evenly as can be, a signal of rank 1 keeps about the noise of
    ``r + c`` cells out of ``r c``.
    """
    cells, largest = _sizes(columns, tables)
    if zeros is not None:
        alive = [alive_cells(zeros, table) for table in tables]
        cells = np.array(
            [size if each is None else np.count_nonzero(each) for each, size in zip(alive, cells, strict=True)]
        )
    return noise_left(cells, largest)


def _sizes(columns: Sequence[ResolvedColumn], tables: Sequence[Cells]) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of each table, and its largest side; misfits left out."""
    lengths, pairs = flat_pairs(tables)
    starts = np.cumsum(lengths) - lengths
    sizes = np.zeros((len(columns), max(len(column.axis.sizes) for column in columns)), dtype=np.int64)
    for place, column in enumerate(columns):
        sizes[place, : len(column.axis.sizes)] = column.axis.sizes
    sides = sizes[pairs[:, 0], pairs[:, 1]]
    return np.multiply.reduceat(sides, starts), np.maximum.reduceat(sides, starts)


def noise_left(cells: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Return what noise of one unit puts into tables after a fit, from their cells and their largest sides."""
    sides = largest + cells / largest
    return np.asarray(np.minimum(_MEAN_ABSOLUTE * cells, _RANK * np.sqrt(sides * cells * 2 / math.pi)))


def candidates_of(
    columns: Sequence[ResolvedColumn], tables: Iterable[Cells], zeros: HardZeros | None = None
) -> Candidates:
    """Return candidates with the places of their cells, and with the cells that rules leave empty."""
    listed = tuple(tables)
    sides = [[(size, int(column.has_misfit)) for size in column.axis.sizes] for column in columns]
    inner = [_inner(*[sides[column][level] for column, level in table]) for table in listed]
    cells = np.array([places.size for places, _ in inner], dtype=np.int64)
    sizes = np.array([size for _, size in inner], dtype=np.int64)
    offsets = np.repeat(np.cumsum(sizes) - sizes, cells)
    places = offsets + np.concatenate([places for places, _ in inner])
    alive = None if zeros is None else _alive(zeros, listed, cells)
    noise = expected_noise(columns, listed, zeros)
    return Candidates(tuple(columns), listed, cells, places, int(sizes.sum()), noise, alive)


def _alive(zeros: HardZeros, tables: Sequence[Cells], cells: np.ndarray) -> np.ndarray:
    """Return the cells of all tables, one after another, that can hold rows."""
    found = [alive_cells(zeros, table) for table in tables]
    parts = (np.ones(size, dtype=bool) if each is None else each for each, size in zip(found, cells, strict=True))
    return np.concatenate(list(parts))


@lru_cache(maxsize=1)
def _named(columns: tuple[ResolvedColumn, ...]) -> tuple[tuple[str, ...], tuple[tuple[Grouping, ...], ...]]:
    """Return names and resolutions: the same tuples for all questions of a release, which are checked once then."""
    return tuple(column.name for column in columns), tuple(column.groupings for column in columns)


@lru_cache(maxsize=2**12)
def _inner(*sides: tuple[int, int]) -> tuple[np.ndarray, int]:
    """Return where the cells of a table stand in one with some more groups along each axis, and the size of that."""
    whole = [size + more for size, more in sides]
    places = np.arange(math.prod(whole)).reshape(whole)[tuple(slice(size) for size, _ in sides)].reshape(-1)
    places.flags.writeable = False
    return places, math.prod(whole)


def pair_tables(
    columns: Sequence[ResolvedColumn], most_cells: int = MOST_CELLS, *, is_mixed: bool = False
) -> list[Cells]:
    """Return all pairs of at most so many cells at every common level, each shape once, the finest first.

    Mixed ones tell one column finely and the other coarsely, too; beyond 30 columns, where choosing is the cost, only
    at a level that is finer than the common ones.
    """
    found: list[Cells] = []
    groups = [[grouping.groups for grouping in column.groupings] for column in columns]
    kinds = [(column.common, len(column.groupings)) for column in columns]
    is_any = is_mixed and len(columns) <= MOST_TRIPLE_COLUMNS
    for one, two in combinations(range(len(columns)), 2):
        for fine, coarse in _levels_of_pair(kinds[one], kinds[two], is_mixed=is_mixed, is_any=is_any):
            if groups[one][fine] * groups[two][coarse] <= most_cells:
                found.append(((one, fine), (two, coarse)))
    return found


@lru_cache
def _levels_of_pair(
    one: tuple[int, int], two: tuple[int, int], *, is_mixed: bool, is_any: bool
) -> tuple[tuple[int, int], ...]:
    """Return the levels at which two columns compete, from the first common level of each and how many it has."""
    (first, last), (start, stop) = one, two
    steps = range(max(last - first, stop - start))
    levels = {(min(first + step, last - 1), min(start + step, stop - 1)) for step in steps}
    if is_mixed:
        levels |= {
            (fine, coarse)
            for fine, coarse in product(range(last), range(stop))
            if is_any or fine < first or coarse < start
        }
    return tuple(sorted(levels, key=lambda each: (sum(each), each)))


def triple_tables(
    columns: Sequence[ResolvedColumn], sets: Iterable[tuple[int, ...]], most_cells: int = MOST_CELLS
) -> list[Cells]:
    """Return triples of columns at the coarsest level that tells regular values apart; a few also one finer."""
    coarsest = [len(column.groupings) - 1 - int(column.has_presence) for column in columns]
    listed = list(sets)
    finer = [[max(0, level - 1) for level in coarsest]] if len(listed) <= MOST_FINE_TRIPLES else []
    tables = dict.fromkeys(
        tuple((column, level[column]) for column in each) for each in listed for level in (*finer, coarsest)
    )
    return [table for table in tables if _cells(columns, table) <= most_cells]


def competing_triples(columns: int, pairs: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the triples of columns that compete.

    columns: number of columns: all triples of up to 30; pairs: measured pairs: beyond 30 columns, the triples that
    contain two of them, in the order in which they arise; at most 1000.

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


def preferred_tables(listed: Sequence[Cells], columns: frozenset[int], tables: Sequence[frozenset[int]]) -> np.ndarray:
    """Return whether each table contains one of the columns, or lies within one of the tables: ndarray of bool."""
    if not columns and not tables:
        return np.zeros(len(listed), dtype=bool)
    sets = [frozenset([column for column, _ in table]) for table in listed]
    return np.array([bool(each & columns) or any(each <= table for table in tables) for each in sets], dtype=bool)


def measurement(columns: Sequence[ResolvedColumn], table: Cells, cost: Budget) -> MarginalCounts:
    """Return the question for one table."""
    return MarginalCounts(
        columns=tuple(columns[column].name for column, _ in table),
        groupings=tuple(columns[column].groupings[level] for column, level in table),
        cost=cost,
    )


def selection_epsilon(cost: Budget) -> Fraction:
    """Return the epsilon of a selection that costs at most this, 20 bits of it.

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


def _cells(columns: Sequence[ResolvedColumn], table: Cells) -> int:
    """Return the cells of a table, misfits included."""
    return math.prod(columns[column].groupings[level].groups for column, level in table)
