"""Intervals for the true counts behind a released table, from the noisy answers that cover its cells.

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
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

import numpy as np

from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.maths.noise_tails import sum_tail
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import Hierarchy

NO_ANSWER = "no noisy answer covers it"
"""Basis of a cell that has no interval."""

PUBLIC = -1
"""In the place of `terms`: the count is public, and no noisy one is needed."""

PUBLIC_TABLE = "public table"
"""Basis of a cell whose count is public."""

_WIDEST = 2**61
"""Wider intervals say nothing, and would leave int64."""


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
            + ", misfits in other columns left out" * (code // 2 > 0 and code % 2)
            for code in kinds.tolist()
        ]
        return np.array(texts, dtype=np.object_)[places.reshape(codes.shape)]


def cell_intervals(
    noisy: Sequence[Answer],
    columns: Sequence[str],
    groupings: Sequence[Grouping],
    failure: Fraction,
    public_rows: int | None = None,
) -> CellIntervals:
    """Return an interval for the true count of each cell of a table, where a noisy answer covers it.

    noisy: of one release, in the order in which they were given; failure: the most that the chance of a miss may be,
    for each cell. Returns from the earliest answer that covers a cell, and inside it the table whose sum has the least
    variance. A table covers a cell when it has all columns and each of its cells that meets the cell lies inside; its
    other columns are summed out. Answers that leave small counts out cover nothing.
    """
    shape = tuple(grouping.groups for grouping in groupings)
    lower, upper, terms = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    misfits_out = np.zeros(shape, dtype=np.bool_)
    for answer in noisy:
        is_open = terms == 0
        for cells, view in _best_views(covering_views(answer, columns, groupings), is_open):
            terms[cells], misfits_out[cells] = view.terms[cells], view.misfits_out
            half, sums = _reach(view.noise, view.terms[cells], failure), view.sums()[cells]
            lower[cells], upper[cells] = sums - half, sums + half
        if isinstance(answer, NoisyCells):
            _enclose(answer, columns, groupings, failure, (lower, upper, terms, misfits_out))
    most = np.iinfo(np.int64).max if public_rows is None else public_rows
    return CellIntervals(np.clip(lower, 0, most), np.clip(upper, 0, most), terms, misfits_out)


def _reach(law: NoiseLaw, terms: np.ndarray, failure: Fraction) -> np.ndarray:
    """Return how far sums of so many noisy counts may be off, each but with the failure probability: int64."""
    counts, places = np.unique(terms, return_inverse=True)
    tails = [min(sum_tail(law.kind, law.parameter, count, failure), _WIDEST) for count in counts.tolist()]
    return np.array(tails, dtype=np.int64)[places]


def measured_groupings(noisy: Sequence[Answer], columns: Sequence[str]) -> tuple[Grouping, ...] | None:
    """Return the finest groups in which the first answer that has all of some columns saw them; None without one.

    noisy: of one release, in the order in which they were given. Returns a function of that answer's question alone, so
    that intervals for its groups keep their coverage.
    """
    for answer in noisy:
        if not set(columns) <= set(answer.question.columns):
            continue
        places = [answer.question.columns.index(name) for name in columns]
        match answer:
            case NoisyCounts():
                return tuple(answer.question.groupings[place] for place in places)
            case NoisyTree():
                return tuple(answer.question.groupings[place] for place in places)
            case NoisyCells() if not answer.is_filtered:
                tree = answer.question.tree
                depths = tree.depths(tree.first)
                return tuple(runs_grouping(tree.hierarchies[place], depths[place]) for place in places)
    return None


@dataclass(frozen=True, slots=True, eq=False)
class CoveringView:
    """See one noisy table from the table that is asked for.

    terms: int64, of the asked table's shape, noisy counts that make up each cell; 0 where they do not; sums: returns
    their sums, ndarray of int64 of that shape; without meaning where `terms` is 0; misfits_out: whether the counts are
    of rows that fit the schema in the columns that were summed out.
    """

    terms: np.ndarray
    sums: Callable[[], np.ndarray]
    noise: NoiseLaw
    misfits_out: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Axis:
    """How the groups of one column of a noisy table meet the groups that are asked for.

    `first` and `last` are the least and the greatest asked group that each noisy group meets; `is_cut` tells of each
    asked group whether a noisy group meets it and another. Codes in no noisy group are reserved ones: an asked group
    of its own each, which no noisy group meets.
    """

    first: np.ndarray
    last: np.ndarray
    is_cut: np.ndarray

    @property
    def targets(self) -> np.ndarray:
        """The covered asked group that each noisy group lies in, or -1."""
        return np.where((self.first == self.last) & ~self.is_cut[self.first], self.first, -1)


def covering_views(answer: Answer, columns: Sequence[str], groupings: Sequence[Grouping]) -> Iterator[CoveringView]:
    """Return the tables of an answer that have all columns, as seen from an asked table."""
    if not set(columns) <= set(answer.question.columns):
        return
    places = [answer.question.columns.index(name) for name in columns]
    match answer:
        case NoisyCounts():
            own = answer.question.groupings
            axes = [_axis(*own[place].pieces(), asked) for place, asked in zip(places, groupings, strict=True)]
            view = _table_view(answer.counts, answer.noise, places, axes, misfits_out=False)
            yield view if answer.misfits is None else _with_misfits(view, answer.misfits, axes)
        case NoisyTree():
            yield from _tree_views(answer, places, groupings)
        case NoisyCells() if not answer.is_filtered:
            yield _leaves_view(answer, places, groupings)


def _tree_views(answer: NoisyTree, places: Sequence[int], groupings: Sequence[Grouping]) -> Iterator[CoveringView]:
    """Return the released levels of a tree."""
    nested, known = answer.question.hierarchies, {}
    misfits_out = _leaves_misfits_out(nested, places)
    for table in answer.tables:
        assert table.level is not None
        depths = answer.question.depths(table.level)
        for place, asked in zip(places, groupings, strict=True):
            if (place, depths[place]) not in known:
                known[place, depths[place]] = _runs_axis(nested[place], depths[place], asked)
        axes = [known[place, depths[place]] for place in places]
        yield _table_view(table.counts, table.noise, places, axes, misfits_out=misfits_out)


def _table_view(
    counts: np.ndarray, noise: NoiseLaw, places: Sequence[int], axes: Sequence[_Axis], *, misfits_out: bool
) -> CoveringView:
    """Return a product table, its other columns summed out."""
    others = tuple(axis for axis in range(counts.ndim) if axis not in places)
    targets = [axis.targets for axis in axes]
    sizes = [axis.is_cut.size for axis in axes]
    within = [
        np.bincount(each[each >= 0], minlength=size).astype(np.int64) for each, size in zip(targets, sizes, strict=True)
    ]
    terms = math.prod(counts.shape[axis] for axis in others) * reduce(np.multiply.outer, within)

    def sums() -> np.ndarray:
        kept = sorted(places)
        total = np.asarray(counts.sum(axis=others, dtype=np.int64)).transpose([kept.index(place) for place in places])
        for axis, (each, size) in enumerate(zip(targets, sizes, strict=True)):
            total = _gathered(total, axis, each, size)
        return total

    return CoveringView(terms, sums, noise, misfits_out)


def _with_misfits(view: CoveringView, misfits: int, axes: Sequence[_Axis]) -> CoveringView:
    """Return the view of a table with its misfits, which count as missing, among the missing cells of its column."""
    place = [int(axis.targets[-1]) for axis in axes]
    if -1 in place:
        return view
    terms = view.terms.copy()
    terms[tuple(place)] += 1

    def sums() -> np.ndarray:
        found = view.sums()
        np.add.at(found, tuple(place), misfits)
        return found

    return replace(view, terms=terms, sums=sums)


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


def _leaves_view(answer: NoisyCells, places: Sequence[int], groupings: Sequence[Grouping]) -> CoveringView:
    """Return the leaves of a tree of cells, which may be of several levels."""
    shape = tuple(asked.groups for asked in groupings)
    first, last = _leaf_boxes(answer, places, groupings)
    inside = (first == last).all(axis=1)
    # Each leaf that meets several cells spoils them.
    spoilt = _over_boxes(first[~inside], last[~inside], np.ones(np.count_nonzero(~inside), dtype=np.int64), shape)
    flat = np.ravel_multi_index(tuple(first[inside].T), shape)
    terms = np.where(spoilt > 0, 0, np.bincount(flat, minlength=math.prod(shape)).reshape(shape))

    def sums() -> np.ndarray:
        return _over_boxes(first[inside], last[inside], answer.counts[inside], shape)

    return CoveringView(terms, sums, answer.noise, _leaves_misfits_out(answer.question.tree.hierarchies, places))


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
            met, at = _runs_axis(tree.hierarchies[place], depth, asked), depths == depth
            first[at, axis], last[at, axis] = met.first[cells[at, place]], met.last[cells[at, place]]
    return first, last


def _over_boxes(first: np.ndarray, last: np.ndarray, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the sum, in each cell, of the values of the boxes that it lies in: int64 of the shape."""
    edges = np.zeros(tuple(size + 1 for size in shape), dtype=np.int64)
    for corner in itertools.product((False, True), repeat=len(shape)):
        np.add.at(edges, tuple(np.where(corner, last + 1, first).T), (-1) ** sum(corner) * values)
    return np.asarray(reduce(np.cumsum, range(len(shape)), edges)[tuple(slice(0, size) for size in shape)])


def _enclose(
    answer: NoisyCells,
    columns: Sequence[str],
    groupings: Sequence[Grouping],
    failure: Fraction,
    found: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Fill in the open cells that some leaves of a tree lie in, and others across: from sums of these and of both.

    found: lower and upper ends, terms and misfits, as in `CellIntervals`; changed in place. Each end fails with half
    the chance of a miss.
    """
    lower, upper, terms, misfits_out = found
    if answer.is_filtered or not set(columns) <= set(answer.question.columns):
        return
    places = [answer.question.columns.index(name) for name in columns]
    first, last = _leaf_boxes(answer, places, groupings)
    inside, one = (first == last).all(axis=1), np.ones(len(first), dtype=np.int64)
    for end, sign, kept in ((lower, -1, inside), (upper, 1, one > 0)):
        boxes = first[kept], last[kept]
        sums, counts = (_over_boxes(*boxes, values[kept], terms.shape) for values in (answer.counts, one))
        is_open = (terms == 0) & (counts > 0)
        end[is_open] = sums[is_open] + sign * _reach(answer.noise, counts[is_open], failure / 2)
    terms[is_open] = counts[is_open]
    misfits_out[is_open] = _leaves_misfits_out(answer.question.tree.hierarchies, places)


def _leaves_misfits_out(nested: Sequence[Hierarchy], places: Sequence[int]) -> bool:
    """Return whether rows that do not fit the schema in a column that is summed out are in no cell of a tree."""
    others = (each for place, each in enumerate(nested) if place not in places)
    return any(each.covered < each.values + each.reserved for each in others)


def _runs_axis(nested: Hierarchy, depth: int, asked: Grouping) -> _Axis:
    """Return the axis of one level of a hierarchy."""
    starts = nested.starts(depth)
    return _axis(starts, nested.stops(depth), np.arange(starts.size), asked)


def _axis(starts: np.ndarray, stops: np.ndarray, group: np.ndarray, asked: Grouping) -> _Axis:
    """Return how runs of codes, each of a noisy group, meet the groups that are asked for."""
    asked_starts, _, asked_group = asked.pieces()
    # Between neighbouring ends of runs, codes are in one group of either kind.
    codes = np.union1d(np.union1d(starts, asked_starts), stops)
    codes = codes[codes < asked.values + asked.reserved]
    run = np.searchsorted(starts, codes, side="right") - 1
    met = asked_group[np.searchsorted(asked_starts, codes, side="right") - 1]
    is_known = codes < stops[run]
    is_cut = np.zeros(asked.groups, dtype=np.bool_)
    noisy, met = group[run[is_known]], met[is_known]
    first, last = np.full(int(group.max()) + 1, asked.groups), np.full(int(group.max()) + 1, -1)
    np.minimum.at(first, noisy, met)
    np.maximum.at(last, noisy, met)
    is_cut[met[(first < last)[noisy]]] = True
    return _Axis(first, last, is_cut)


def _best_views(views: Iterable[CoveringView], is_open: np.ndarray) -> Iterator[tuple[np.ndarray, CoveringView]]:
    """Return, for each table of an answer that serves any, the open cells whose sum it knows best."""
    useful = [view for view in views if view.terms.any()]
    least, best = np.full(is_open.shape, np.inf), np.full(is_open.shape, -1)
    for place, view in enumerate(useful):
        variance = np.where(view.terms > 0, view.terms * view.noise.sd**2, np.inf)
        best[variance < least] = place
        least = np.minimum(least, variance)
    for place, view in enumerate(useful):
        cells = is_open & (best == place)
        if cells.any():
            yield cells, view


def runs_grouping(nested: Hierarchy, depth: int) -> Grouping:
    """Return the runs of a level as a grouping in which each reserved code is alone."""
    starts = nested.starts(depth)
    return Grouping(nested.values, nested.reserved, "cuts", cuts=starts[(starts > 0) & (starts < nested.values)])
