"""What the noisy answers of a release say about its true table: one class of noisy tables, one function of intervals.

Which answer serves a cell is fixed before that answer's noise is drawn. Let the questions be Q_1, Q_2, ..., each chosen
with a look at the answers before it, and let j be the first whose answer covers the cell. Whether j = i depends on
Q_1, ..., Q_i only, so on the answers before the i-th; the noise of answer i is independent of these and of the rows.
Given all of them, the sum of its noise passes the tail of its law with the stated probability, and by summing over i
the interval misses as seldom, also among the cells that have one. Inside an answer, the table is chosen by the question
alone. The answer of *smallest variance* would not do: whether a later, better one was asked can depend on the noise of
an earlier one, so that an interval is kept just when it is bad. With J candidates the chance of a miss can grow J-fold.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Final

import numpy as np

from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.maths.noise_tails import sum_tail, weighted_sum_tail
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import Hierarchy
from lapwing.schema.values import labels, run_labels

# -- What was measured.


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """How a noisy table sees a column: through a grouping, or as the runs of codes on one level of a hierarchy."""

    by: Grouping | Hierarchy
    depth: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether every code, that of misfits too, is counted."""
        return isinstance(self.by, Grouping) or self.by.covered == self.by.values + self.by.reserved

    @property
    def grouping(self) -> Grouping:
        """The groups, each reserved code alone."""
        if isinstance(self.by, Grouping):
            return self.by
        starts = self.by.starts(self.depth)
        return Grouping(self.by.values, self.by.reserved, "cuts", cuts=starts[(starts > 0) & (starts < self.by.values)])

    def texts(self, field: Field) -> list[str]:
        """Return the labels of the groups that are counted."""
        return labels(self.by, field) if isinstance(self.by, Grouping) else run_labels(self.by, self.depth, field)

    def runs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return start, stop and group of every run of codes that is counted, in order."""
        if isinstance(self.by, Grouping):
            return self.by.pieces()
        starts = self.by.starts(self.depth)
        return starts, self.by.stops(self.depth), np.arange(starts.size)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTable:
    """One noisy table of rows that an answer holds.

    columns, sides: what is seen, and how; none for a number of all rows. counts: int64, exact counts plus noise, of the
    product of the sides, or one of each leaf; law: of the noise, independent from count to count; level: of a tree of
    tables; misfits: noisy number of the one column's cells that fit nothing, where no other count has them; leaves: of
    a tree of cells, whose sides are those of its first level; threshold: smaller noisy counts were left out.
    """

    columns: tuple[str, ...]
    sides: tuple[Side, ...]
    counts: np.ndarray
    law: NoiseLaw
    level: int | None = None
    misfits: int | None = None
    leaves: NoisyCells | None = None
    threshold: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is a table by itself, of groups of its columns."""
        return self.level is None and self.leaves is None and bool(self.columns)

    def groupings_of(self, columns: Sequence[str]) -> tuple[Grouping, ...]:
        """Return the groups of some of its columns, each reserved code alone."""
        return tuple(self.sides[self.columns.index(name)].grouping for name in columns)

    def leaves_misfits_out(self, columns: Sequence[str]) -> bool:
        """Tell whether rows that do not fit the schema in a column beside these are not counted."""
        sides = zip(self.columns, self.sides, strict=True)
        return not all(side.is_whole for name, side in sides if name not in columns)

    @property
    def whole(self) -> np.ndarray:
        """All noisy counts, that of misfits with them: int64, one axis."""
        return self.counts.ravel() if self.misfits is None else np.append(self.counts, np.int64(self.misfits))


def views(answer: Answer) -> Iterator[MeasuredTable]:
    """Return the noisy tables of rows in an answer, coarse before fine: here alone answers are told apart."""
    match answer:
        case NoisyCounts(question=asked):
            yield MeasuredTable(
                asked.columns, tuple(map(Side, asked.groupings)), answer.counts, answer.noise, misfits=answer.misfits
            )
        case NoisyTree(question=tree):
            known: dict[tuple[int, int], Side] = {}
            for table in answer.tables:
                assert table.level is not None
                sides = tuple(
                    known.setdefault((place, depth), Side(tree.hierarchies[place], depth))
                    for place, depth in enumerate(tree.depths(table.level))
                )
                yield MeasuredTable(tree.columns, sides, table.counts, table.noise, table.level)
        case NoisyCells():
            cells, threshold = answer.question.tree, answer.question.threshold
            sides = tuple(map(Side, cells.hierarchies, cells.depths(cells.first)))
            yield MeasuredTable(cells.columns, sides, answer.counts, answer.noise, leaves=answer, threshold=threshold)
        case NoisySums(question=CellSums(summed="rows")):
            yield MeasuredTable((), (), answer.values, answer.noise)


def tables_over(answers: Iterable[Answer], columns: Sequence[str]) -> Iterator[list[MeasuredTable]]:
    """Return, for each answer with such, its tables that have all of some columns, and of which no count is left out.

    answers: of one release, in the order in which they were given.
    """
    wanted = set(columns)
    for answer in answers:
        if wanted.issubset(answer.question.columns):
            found = [each for each in views(answer) if each.threshold is None and wanted.issubset(each.columns)]
            if found:
                yield found


def plain_tables(answers: Iterable[Answer], ways: int | None = None) -> list[MeasuredTable]:
    """Return the tables of groups of columns, each by itself; of so many columns, where that is said."""
    tables = (table for answer in answers for table in views(answer) if table.is_plain)
    return [table for table in tables if ways is None or len(table.columns) == ways]


def first_over(answers: Sequence[Answer], columns: Sequence[str]) -> MeasuredTable | None:
    """Return the finest table of the first answer that has all of some columns; None without one.

    Returns by that answer's question alone, so that intervals for groups of it keep their coverage.
    """
    return next((tables[-1] for tables in tables_over(answers, columns)), None)


def measured_groupings(answers: Sequence[Answer], columns: Sequence[str]) -> tuple[Grouping, ...] | None:
    """Return the groups in which that table saw the columns; None without one."""
    found = first_over(answers, columns)
    return None if found is None else found.groupings_of(columns)


# -- What is asked for.


@dataclass(frozen=True, slots=True, eq=False)
class AskedTable:
    """A table of the true rows that is asked for.

    groupings: one per column; inside: bool, of their shape: rows elsewhere do not count; None for all rows. beyond: how
    many of the columns, the last ones, are summed out; weights: the least and the greatest weight of a row in each
    group of the last column, float64, where totals of weights are asked for.
    """

    columns: Sequence[str]
    groupings: Sequence[Grouping]
    inside: np.ndarray | None = None
    beyond: int = 0
    weights: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Groups of each column that is not summed out."""
        return tuple(grouping.groups for grouping in self.groupings[: len(self.groupings) - self.beyond])

    @property
    def _beyond(self) -> tuple[int, ...]:
        return tuple(range(len(self.groupings) - self.beyond, len(self.groupings)))

    @property
    def cells(self) -> np.ndarray:
        """The cells whose rows count: bool, of the shape of all groupings."""
        everything = np.ones(tuple(grouping.groups for grouping in self.groupings), dtype=np.bool_)
        return everything if self.inside is None else self.inside

    @property
    def is_met(self) -> np.ndarray:
        """Where rows count at all: bool, of the shape."""
        return np.asarray(self.cells.any(axis=self._beyond))

    def summed(self, counts: np.ndarray) -> np.ndarray:
        """Return the sums of counts of all cells in the cells that are asked for."""
        if self.inside is not None:
            counts = np.where(self.inside, counts, 0)
        return np.asarray(counts.sum(axis=self._beyond))

    def everywhere(self, is_true: np.ndarray) -> np.ndarray:
        """Return where something is true of all that counts."""
        if self.inside is not None:
            is_true = is_true | ~self.inside
        return np.asarray(is_true.all(axis=self._beyond))

    def weighed(self, weight: Field, table: MeasuredTable) -> "AskedTable":
        """Return the same table of totals of a weight, in the groups in which a noisy table saw it."""
        (seen,) = table.groupings_of([weight.name])
        least, most = _weight_ends(weight, seen)
        inside = np.broadcast_to(most > 0, (*self.shape, seen.groups))
        return AskedTable((*self.columns, weight.name), (*self.groupings, seen), inside, 1, (least, most))


def _weight_ends(weight: Field, grouping: Grouping) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest weight in each group of weights; 0 for what is missing or special."""
    found = weight.range
    starts, stops, group = (np.asarray(each) for each in grouping.pieces())
    is_regular = starts < found.values
    first, last = starts[is_regular], np.minimum(stops[is_regular], found.values) - 1
    # Without steps, codes are cells of a continuous range; one more on either side, as their ends are rounded.
    step = (found.hi - found.lo) / found.values if found.step is None else float(found.step)
    below, above = (1, 2) if found.step is None else (0, 0)
    low, high = found.lo + (first - below) * step, found.lo + (last + above) * step
    least, most = np.full(grouping.groups, np.inf), np.zeros(grouping.groups)
    np.minimum.at(least, group[is_regular], np.clip(low, found.lo, found.hi))
    np.maximum.at(most, group[is_regular], np.clip(high, found.lo, found.hi))
    return np.where(np.isfinite(least), least, 0.0), most


# -- Which noisy counts make up what is asked for.


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """See one noisy table from the table that is asked for.

    terms: int64, of the shape of all its groupings, noisy counts that make up each cell; 0 where they do not; sums:
    returns their sums, ndarray of int64 of that shape; without meaning where `terms` is 0; misfits_out: whether the
    counts are of rows that fit the schema in the columns that were summed out.
    """

    terms: np.ndarray
    sums: Callable[[], np.ndarray]
    law: NoiseLaw
    misfits_out: bool


def covered_cells(
    tables: Sequence[MeasuredTable], asked: AskedTable, is_open: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, Cover]]:
    """Return for each table of an answer the open cells whose sum it knows best, how many counts these are sums of.

    is_open: bool, of the asked shape. A table covers a cell when it has all columns and each of its cells that meets
    the cell lies inside; its other columns are summed out.
    """
    known: dict[tuple[Side, int], np.ndarray] = {}
    found: list[tuple[np.ndarray, Cover]] = []
    least, best = np.full(is_open.shape, np.inf), np.full(is_open.shape, -1)
    for table in tables:
        cover = _cover(table, asked, known)
        terms = np.where(asked.everywhere(cover.terms > 0), asked.summed(cover.terms), 0)
        variance = np.where(terms > 0, terms * cover.law.sd**2, np.inf)
        best[variance < least] = len(found)
        least = np.minimum(least, variance)
        found.append((terms, cover))
    for place, (terms, cover) in enumerate(found):
        cells = is_open & (best == place)
        if cells.any():
            yield cells, terms, cover


def _cover(table: MeasuredTable, asked: AskedTable, known: dict[tuple[Side, int], np.ndarray]) -> Cover:
    """Return how a table makes up the cells; known: what other tables of the same answer have looked up."""
    places = [table.columns.index(name) for name in asked.columns]
    if table.leaves is not None:
        terms, sums = _of_leaves(table.leaves, places, asked.groupings)
        return Cover(terms, sums, table.law, table.leaves_misfits_out(asked.columns))
    sides = [(table.sides[place], axis) for axis, place in enumerate(places)]
    for side, axis in sides:
        if (side, axis) not in known:
            *_, known[side, axis] = _meets(side, asked.groupings[axis])
    counts, targets = table.counts, [known[each] for each in sides]
    if table.misfits is not None:  # they count as missing
        counts, targets = table.whole, [np.append(targets[0], targets[0][-1])]
    terms, sums = _of_product(counts, places, targets, [grouping.groups for grouping in asked.groupings])
    return Cover(terms, sums, table.law, table.leaves_misfits_out(asked.columns))


def _meets(side: Side, asked: Grouping) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the least and the greatest asked group that each noisy group meets, and the covered one it lies in, or -1.

    Codes in no noisy group are reserved ones: an asked group of its own each, which no noisy group meets.
    """
    starts, stops, group = side.runs()
    asked_starts, _, asked_group = asked.pieces()
    # Between neighbouring ends of runs, codes are in one group of either kind.
    codes = np.union1d(np.union1d(starts, asked_starts), stops)
    codes = codes[codes < asked.values + asked.reserved]
    run = np.searchsorted(starts, codes, side="right") - 1
    met = asked_group[np.searchsorted(asked_starts, codes, side="right") - 1]
    is_known = codes < stops[run]
    noisy, met = group[run[is_known]], met[is_known]
    first, last = np.full(int(group.max()) + 1, asked.groups), np.full(int(group.max()) + 1, -1)
    np.minimum.at(first, noisy, met)
    np.maximum.at(last, noisy, met)
    is_cut = np.zeros(asked.groups, dtype=np.bool_)  # by a noisy group that meets another asked one as well
    is_cut[met[(first < last)[noisy]]] = True
    return first, last, np.where((first == last) & ~is_cut[first], first, -1)


def _of_product(
    counts: np.ndarray, places: Sequence[int], targets: Sequence[np.ndarray], sizes: Sequence[int]
) -> tuple[np.ndarray, Callable[[], np.ndarray]]:
    """Return terms and sums of a product table, its other columns summed out."""
    others = tuple(axis for axis in range(counts.ndim) if axis not in places)
    axes = list(enumerate(zip(targets, sizes, strict=True)))
    within = [np.bincount(each[each >= 0], minlength=size).astype(np.int64) for _, (each, size) in axes]
    terms = np.asarray(math.prod(counts.shape[axis] for axis in others) * reduce(np.multiply.outer, within))

    def sums() -> np.ndarray:
        kept = sorted(places)
        total = np.asarray(counts.sum(axis=others, dtype=np.int64)).transpose([kept.index(place) for place in places])
        for axis, (each, size) in axes:
            total = _gathered(total, axis, each, size)
        return total

    return terms, sums


def _gathered(counts: np.ndarray, axis: int, targets: np.ndarray, size: int) -> np.ndarray:
    """Return the sums over the groups of one axis with the same target; groups with target -1 are left out."""
    order = np.argsort(targets, kind="stable")[np.count_nonzero(targets < 0) :]
    ends = targets[order]
    firsts = np.flatnonzero(np.diff(ends, prepend=-1))
    moved = np.moveaxis(counts, axis, 0)
    total = np.zeros((size, *moved.shape[1:]), dtype=np.int64)
    if firsts.size:
        total[ends[firsts]] = np.add.reduceat(moved[order], firsts, axis=0)
    return np.asarray(np.moveaxis(total, 0, axis))


def _of_leaves(
    answer: NoisyCells, places: Sequence[int], groupings: Sequence[Grouping]
) -> tuple[np.ndarray, Callable[[], np.ndarray]]:
    """Return terms and sums of the leaves of a tree of cells, which may be of several levels."""
    shape = tuple(asked.groups for asked in groupings)
    first, last = _leaf_boxes(answer, places, groupings)
    inside = (first == last).all(axis=1)
    # Each leaf that meets several cells spoils them.
    spoilt = _over_boxes(first[~inside], last[~inside], np.ones(np.count_nonzero(~inside), dtype=np.int64), shape)
    flat = np.ravel_multi_index(tuple(first[inside].T), shape)
    terms = np.where(spoilt > 0, 0, np.bincount(flat, minlength=math.prod(shape)).reshape(shape))

    def sums() -> np.ndarray:
        return _over_boxes(first[inside], last[inside], answer.counts[inside], shape)

    return terms, sums


def _leaf_boxes(
    answer: NoisyCells, places: Sequence[int], groupings: Sequence[Grouping]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest asked cell that each leaf meets, column by column: int64 (leaves, columns)."""
    tree = answer.question.tree
    levels, cells = answer.leaves
    first, last = np.empty((2, len(cells), len(places)), dtype=np.int64)
    for axis, (place, asked) in enumerate(zip(places, groupings, strict=True)):
        depths = tree.depths_of(place)[levels]
        for depth in np.unique(depths).tolist():
            (low, high, _), at = _meets(Side(tree.hierarchies[place], depth), asked), depths == depth
            first[at, axis], last[at, axis] = low[cells[at, place]], high[cells[at, place]]
    return first, last


def _over_boxes(first: np.ndarray, last: np.ndarray, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the sum, in each cell, of the values of the boxes that it lies in: int64 of the shape."""
    edges = np.zeros(tuple(size + 1 for size in shape), dtype=np.int64)
    for corner in itertools.product((False, True), repeat=len(shape)):
        np.add.at(edges, tuple(np.where(corner, last + 1, first).T), (-1) ** sum(corner) * values)
    return np.asarray(reduce(np.cumsum, range(len(shape)), edges)[tuple(slice(0, size) for size in shape)])


# -- Intervals.


NO_ANSWER: Final = "no noisy answer covers it"
"""Basis of a cell that has no interval."""

PUBLIC: Final = -1
"""In the place of `terms`: the count is public, and no noisy one is needed."""

PUBLIC_TABLE: Final = "public table"
"""Basis of a cell whose count is public."""

_WIDEST: Final = 2**61  # wider intervals say nothing, and would leave int64


@dataclass(frozen=True, slots=True, eq=False)
class CellIntervals:
    """Hold an interval for the true count of each cell of a table.

    lower, upper: int64, of the table's shape, ends of the intervals, both included; without meaning where `terms` is 0;
    terms: int64, of the table's shape, noisy counts that the interval is made from; 0 where no noisy answer covers the
    cell, `PUBLIC` where the count is public; misfits_out: bool, of the table's shape, whether the count is of rows that
    fit the schema in the columns that were summed out.
    """

    lower: np.ndarray
    upper: np.ndarray
    terms: np.ndarray
    misfits_out: np.ndarray

    def basis(self) -> np.ndarray:
        """Return what each interval stands on: ndarray of str objects, of the table's shape."""
        codes = 2 * self.terms + self.misfits_out
        kinds, places = np.unique(codes, return_inverse=True)
        told = {0: NO_ANSWER, 1: "1 noisy count", PUBLIC: PUBLIC_TABLE}
        texts = [
            told.get(code // 2, f"{code // 2} noisy counts")
            + ", without rows invalid in other columns" * (code // 2 > 0 and code % 2)
            for code in kinds.tolist()
        ]
        return np.array(texts, dtype=np.object_)[places.reshape(codes.shape)]


def intervals(
    answers: Sequence[Answer],
    asked: AskedTable,
    failure: Fraction,
    *,
    weight: Field | None = None,
    public_rows: int | None = None,
) -> CellIntervals:
    """Return an interval for what is true of each cell of a table, where a noisy answer tells of it.

    answers: of one release, in the order in which they were given; failure: the most that the chance of a miss may be,
    for each cell; weight: whose totals are asked for instead of counts. Returns from the earliest answer that covers a
    cell, and inside it the table whose sum has the least variance; ends of totals are rounded outwards. Answers that
    leave small counts out cover nothing.
    """
    lower, upper, terms = (np.zeros(asked.shape, dtype=np.int64) for _ in range(3))
    misfits_out = np.zeros(asked.shape, dtype=np.bool_)
    for tables in tables_over(answers, asked.columns if weight is None else (*asked.columns, weight.name)):
        here = asked if weight is None else asked.weighed(weight, tables[-1])
        for cells, own, cover in covered_cells(tables, here, terms == 0):
            terms[cells], misfits_out[cells] = own[cells], cover.misfits_out
            lower[cells], upper[cells] = _ends(cover, here, cells, own, failure)
        if here.inside is None:
            _enclose(tables, here, failure, (lower, upper, terms, misfits_out))
    most = np.iinfo(np.int64).max if public_rows is None else public_rows
    if weight is not None:
        most = _WIDEST if public_rows is None else math.ceil(min(public_rows * float(weight.range.top), _WIDEST))
    return CellIntervals(np.clip(lower, 0, most), np.clip(upper, 0, most), terms, misfits_out)


def _ends(
    cover: Cover, asked: AskedTable, cells: np.ndarray, terms: np.ndarray, failure: Fraction
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the intervals of some cells, which are sums of so many noisy counts."""
    law = cover.law
    if asked.weights is None:
        half, sums = _reach(law, terms[cells], failure), asked.summed(cover.sums())[cells]
        return sums - half, sums + half
    least, most = asked.weights
    weighed, each_terms = cover.sums()[cells].astype(np.float64), cover.terms[cells]
    kinds, places = np.unique(each_terms, axis=0, return_inverse=True)
    # A tail of both sides at the whole failure probability is one of one side at half of it.
    below, above = (
        np.array([weighted_sum_tail(law.kind, law.parameter, factors, each, failure) for each in kinds])
        for factors in (least, most)
    )
    lower = np.floor(weighed @ least - below[places.reshape(-1)])
    upper = np.ceil(weighed @ most + above[places.reshape(-1)])
    cut = np.clip((lower, upper), -float(_WIDEST), float(_WIDEST)).astype(np.int64)  # where they say nothing
    return cut[0], cut[1]


def _reach(law: NoiseLaw, terms: np.ndarray, failure: Fraction) -> np.ndarray:
    """Return how far sums of so many noisy counts may be off, each but with the failure probability: int64."""
    counts, places = np.unique(terms, return_inverse=True)
    tails = [min(sum_tail(law.kind, law.parameter, count, failure), _WIDEST) for count in counts.tolist()]
    return np.array(tails, dtype=np.int64)[places.reshape(-1)]


def _enclose(
    tables: Sequence[MeasuredTable],
    asked: AskedTable,
    failure: Fraction,
    found: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Fill in the open cells that some leaves of a tree lie in, and others across: from sums of these and of both.

    found: lower and upper ends, terms and misfits, as in `CellIntervals`; changed in place. Each end fails with half
    the chance of a miss.
    """
    lower, upper, terms, misfits_out = found
    for table in tables:
        if table.leaves is None:
            continue
        places = [table.columns.index(name) for name in asked.columns]
        first, last = _leaf_boxes(table.leaves, places, asked.groupings)
        inside, one = (first == last).all(axis=1), np.ones(len(first), dtype=np.int64)
        for end, sign, kept in ((lower, -1, inside), (upper, 1, one > 0)):
            boxes = first[kept], last[kept]
            sums, counts = (_over_boxes(*boxes, values[kept], terms.shape) for values in (table.counts, one))
            is_open = (terms == 0) & (counts > 0)
            end[is_open] = sums[is_open] + sign * _reach(table.law, counts[is_open], failure / 2)
        terms[is_open] = counts[is_open]
        misfits_out[is_open] = table.leaves_misfits_out(asked.columns)
