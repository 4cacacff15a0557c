"""The tables that an adaptive mechanism chooses from."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, product

import numpy as np

from lapwing.engine.hard_zeros import HardZeros, alive_cells
from lapwing.engine.tables import Cells, packed, unpacked
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.maths.arrays import frozen
from lapwing.mechanisms.adaptive.columns import ResolvedColumn
from lapwing.schema.groupings.grouping import Grouping

MOST_CELLS = 4096  # most cells of a candidate table
MOST_TRIPLE_COLUMNS = 30  # up to so many columns all triples compete; beyond, those that grow from measured pairs
MOST_GROWN = 1000  # most triples that grow from measured pairs
MOST_FINE_TRIPLES = 1000  # up to so many triples compete one level finer, too
MOST_FOUR_CELLS = 256  # most cells of a table of four columns
_MEAN_ABSOLUTE = 0.8  # of noise, in standard deviations: 0.798 Gaussian, 0.71 Laplace
_RANK = 1.2


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Tables to choose from.

    tables: as `packed` makes them, read-only; those over the same columns follow one another, the finest first; places:
    int64 (sum of cells,), where cells, misfits left out, stand among all cells, misfits included; noise: float64
    (tables,), `expected_noise` of each; alive: bool (sum of cells,), cells that can hold rows; the others are not
    looked at. By default all.
    """

    columns: tuple[ResolvedColumn, ...]
    tables: np.ndarray
    places: np.ndarray
    size: int
    noise: np.ndarray
    alive: np.ndarray | None = None

    def estimates(self, counts: np.ndarray) -> np.ndarray:
        """Return what a question says of the cells of all tables: ndarray of int64 that nobody can change."""
        found = np.full(self.size, -1, dtype=np.int64)
        found[self.places] = np.rint(counts if self.alive is None else np.where(self.alive, counts, -1.0))
        return frozen(found)

    def question(self, estimates: np.ndarray, sd: float, cost: Budget, barred: np.ndarray) -> SelectWorst:
        """Return the question which of the tables a model fits worst."""
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


def expected_noise(columns: Sequence[ResolvedColumn], tables: np.ndarray, zeros: HardZeros | None) -> np.ndarray:
    """Return what noise of one unit that a fit does not take out puts into each table, absolute and summed.

    Of a table of r rows and c columns, unfolded as evenly as can be, a signal of rank 1 keeps about the noise of
    ``r + c`` cells out of ``r c``.
    """
    sides = _per_axis([column.axis.sizes for column in columns], tables)
    cells = sides.prod(axis=1)
    if zeros is not None:
        alive = [alive_cells(zeros, table) for table in unpacked(tables)]
        cells = np.array(
            [size if each is None else np.count_nonzero(each) for each, size in zip(alive, cells, strict=True)]
        )
    return noise_left(cells, sides.max(axis=1))


def _per_axis(numbers: Sequence[Sequence[int]], tables: np.ndarray) -> np.ndarray:
    """Return a number of each column and level along the axes of tables, 1 beyond them: int64 (tables, axes)."""
    starts = np.cumsum([0, *map(len, numbers)])
    flat = np.array([*chain.from_iterable(numbers), 1], dtype=np.int64)
    return flat[np.where(tables[:, :, 0] < 0, flat.size - 1, starts[tables[:, :, 0]] + tables[:, :, 1])]


def noise_left(cells: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Return what noise of one unit puts into tables after a fit, from their cells and their largest sides."""
    sides = largest + cells / largest
    return np.asarray(np.minimum(_MEAN_ABSOLUTE * cells, _RANK * np.sqrt(sides * cells * 2 / math.pi)))


def candidates_of(columns: Sequence[ResolvedColumn], tables: np.ndarray, zeros: HardZeros | None = None) -> Candidates:
    """Return candidates with the places of their cells, and with the cells that rules leave empty."""
    sides = _per_axis([column.axis.sizes for column in columns], tables)
    more = _per_axis([[int(column.has_misfit)] * len(column.axis.sizes) for column in columns], tables)
    more[tables[:, :, 0] < 0] = 0
    shapes, found = np.unique(np.concatenate((sides, more), axis=1), axis=0, return_inverse=True)
    kinds = found.reshape(-1)
    inner = [_inner(*zip(*each.reshape(2, -1).tolist(), strict=True)) for each in shapes]
    sizes = np.array([size for _, size in inner], dtype=np.int64)[kinds]
    places = np.concatenate([inner[kind][0] for kind in kinds.tolist()])
    cells = sides.prod(axis=1)
    places += np.repeat(np.cumsum(sizes) - sizes, cells)
    alive = None if zeros is None else _alive(zeros, unpacked(tables), cells)
    noise = expected_noise(columns, tables, zeros)
    return Candidates(tuple(columns), frozen(tables), places, int(sizes.sum()), noise, alive)


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
) -> np.ndarray:
    """Return all pairs of at most so many cells at every common level, each shape once, the finest first, `packed`.

    Mixed ones tell one column finely and the other coarsely, too; beyond 30 columns, where choosing is the cost, only
    at a level that is finer than the common ones.
    """
    shapes = [(column.common, len(column.groupings) - int(column.has_halves)) for column in columns]
    kinds = list(dict.fromkeys(shapes))
    kind_of = np.array([kinds.index(shape) for shape in shapes])
    is_any = is_mixed and len(columns) <= MOST_TRIPLE_COLUMNS
    levels = [_levels_of_pair(one, two, is_mixed=is_mixed, is_any=is_any) for one, two in product(kinds, repeat=2)]
    lengths = np.array([len(each) for each in levels])
    pairs = np.stack(np.triu_indices(len(columns), 1), axis=1)
    kind = kind_of[pairs[:, 0]] * len(kinds) + kind_of[pairs[:, 1]]
    # Each pair has the levels of its kind, which stand one kind after another.
    firsts = (np.cumsum(lengths) - lengths)[kind] - (np.cumsum(lengths[kind]) - lengths[kind])
    places = np.arange(lengths[kind].sum()) + np.repeat(firsts, lengths[kind])
    flat = np.array(list(chain.from_iterable(levels)), dtype=np.int64)
    found = np.stack((np.repeat(pairs, lengths[kind], axis=0), flat[places]), axis=2)
    halves = np.array([column.coarsest + 1 if column.has_halves else found.size for column in columns])
    found[:, :, 1] += found[:, :, 1] >= halves[found[:, :, 0]]  # these are for tables of four columns
    return found[cells_of(columns, found) <= most_cells]


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
) -> np.ndarray:
    """Return triples of columns at the coarsest level that tells regular values apart; a few also one finer."""
    coarsest = [column.coarsest for column in columns]
    listed = list(sets)
    finer = [[max(0, level - 1) for level in coarsest]] if len(listed) <= MOST_FINE_TRIPLES else []
    tables = dict.fromkeys(
        tuple([(column, level[column]) for column in each]) for each in listed for level in (*finer, coarsest)
    )
    found = packed(list(tables))
    return found[cells_of(columns, found) <= most_cells]


def four_tables(columns: Sequence[ResolvedColumn]) -> np.ndarray:
    """Return all sets of four columns, each in two groups of regular values."""
    level = [column.coarsest + int(column.has_halves) for column in columns]
    sets = combinations(range(len(columns)), 4)
    found = packed([tuple([(column, level[column]) for column in each]) for each in sets])
    return found[cells_of(columns, found) <= MOST_FOUR_CELLS]


def competing_triples(columns: int, pairs: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the triples of columns that compete.

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


def preferred_tables(listed: np.ndarray, columns: frozenset[int], tables: Sequence[frozenset[int]]) -> np.ndarray:
    """Return whether each table contains one of the columns, or lies within one of the tables: ndarray of bool."""
    found = [np.isin(listed[:, :, 0], list(columns)).any(axis=1)]
    found += [np.isin(listed[:, :, 0], [-1, *each]).all(axis=1) for each in tables]
    return np.asarray(np.logical_or.reduce(found))


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


def cells_of(columns: Sequence[ResolvedColumn], tables: np.ndarray) -> np.ndarray:
    """Return the cells of each table, misfits included."""
    return np.asarray(
        _per_axis([[each.groups for each in column.groupings] for column in columns], tables).prod(axis=1)
    )
