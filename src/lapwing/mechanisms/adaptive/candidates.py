"""Columns at several resolutions, made of their one-way tables, and the tables over them that compete."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, product
from typing import NamedTuple

import numpy as np

from lapwing.engine.hard_zeros import HardZeros, alive_cells
from lapwing.engine.tables import Axis, Cells, pack, unpack
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.maths.arrays import freeze, project_to_simplex
from lapwing.mechanisms.adaptive.one_way import (
    PRESENT,
    CellCounts,
    OneWayTable,
    denoised_masses,
    is_staged,
    no_states,
    tail_places,
)
from lapwing.model.laws import Laws, group_sums, laws_from_probabilities, laws_of_groups
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, interval_grouping, lookup
from lapwing.schema.schemas import Schema

_FLOOR_RECORDS = 0.03
_FLOOR_SHARE = 0.01
_MOSTLY = 0.5  # of a few ordered values: where noise explains so many, they are settled as those of wide columns are
_TINY = 1e-9
_MOST_RUNS = 2
_MOST_GROWTH = 1.5
_MOST_LISTED = 2**16
MOST_VALUES = 512  # most groups of the finest level of categories, where there are several levels
MOST_CELLS = 4096  # most cells of a candidate table
MOST_TRIPLE_COLUMNS = 30  # up to so many columns all triples compete; beyond, those that grow from measured pairs
MOST_GROWN = 1000  # most triples that grow from measured pairs
MOST_FINE_TRIPLES = 1000  # up to so many triples compete one level finer, too
MOST_FOUR_CELLS = 256  # most cells of a table of four columns
_MEAN_ABSOLUTE = 0.8  # of noise, in standard deviations: 0.798 Gaussian, 0.71 Laplace
_RANK = 1.2
_SEARCH_STEPS = 40
_LEAST_DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResolvedColumn:
    """One column as an adaptive mechanism sees it.

    axis: its groups without the misfit code: base masses in records, and the coarser groups; groupings: per level, the
    public map from codes to groups; where the column cannot be missing, the last group is misfit; base: the law of the
    column, from its one-way table; within: the law of the column inside each finest group; sd: standard deviation of
    the one-way table's noise, for a finest group of average size; common: the first level that has no more groups than
    others have; a finer one tells categories apart; has_presence: whether the last level of ``groupings`` has one group
    for all regular values, beside those of missing and special values; has_halves: whether the level before has two
    groups of regular values, for tables of four columns alone; classes: public maps which the groups refine, of
    rules and public tables: further levels of the axis. No table of them is asked for.
    """

    name: str
    axis: Axis
    groupings: tuple[Grouping, ...]
    base: Laws
    within: Laws
    sd: float
    common: int = 0
    has_presence: bool = False
    has_halves: bool = False
    classes: tuple[Grouping, ...] = ()

    def grouping(self, level: int) -> Grouping:
        """Return the public map from codes to the groups of a level of the axis."""
        return (*self.groupings, *self.classes)[level]

    def level_of(self, grouping: Grouping) -> int:
        """Return the level of the axis that one of ``classes`` is."""
        return len(self.groupings) + self.classes.index(grouping)

    @property
    def coarsest(self) -> int:
        """The last level that tells regular values apart, for tables of two and three columns."""
        return len(self.groupings) - 1 - int(self.has_presence) - int(self.has_halves)

    @property
    def has_misfit(self) -> bool:
        """Whether the groupings have one group more than the axis, for misfits."""
        return self.groupings[0].groups > self.axis.base.size


def resolved_columns(
    tables: Sequence[OneWayTable],
    schema: Schema,
    total: float,
    sizes: Sequence[int],
    refining: Mapping[str, Sequence[Grouping]],
    *,
    has_halves: bool,
) -> tuple[ResolvedColumn, ...]:
    """Return all columns of a schema at several resolutions; refining: maps that groups refine, by column."""
    return tuple(
        resolved_column(table, field, total, sizes, refining.get(field.name, ()), is_halved=has_halves)
        for table, field in zip(tables, schema.columns, strict=True)
    )


def resolved_column(
    table: OneWayTable,
    field: Field,
    total: float,
    sizes: Sequence[int],
    refining: Sequence[Grouping] = (),
    *,
    is_halved: bool = False,
) -> ResolvedColumn:
    """Group the values of a column, fine to coarse, by its noisy one-way table.

    sizes: most groups of regular values at each level, decreasing; refining: public maps of rules and public tables.
    Groups are cut further, so that each lies in one group of each map, and the maps are levels of the axis; is_halved:
    whether there is a level of two groups, for tables of four columns. Returns a function of the answer and the schema.

    Groups of ordered columns are runs of about equal mass, those of categories
    with a declared hierarchy runs at the ends of its branches, those of others the values that stand out of the noise
    and one for the rest. Such categories have a finest level of up to 512 groups beside those of ``sizes``, where these
    are several. Missing and special values stay on their own; where there are any, the last level tells them from all
    regular values together.

    Noise is taken out of ordered columns of more than 16 values by `denoised_masses`, of others by projection on the
    simplex. Each category and each group keeps at least 0.03 records, or less where that would be more than 1 % of all
    rows. A missing or special state that does not reach two standard deviations of its noise has no mass.
    """
    domain, floor = field.domain, min(_FLOOR_RECORDS, _FLOOR_SHARE * total / table.grouping.groups)
    no_state = no_states(table, domain)
    if table.masses is None:
        table = replace(table, masses=_masses(table, field, total, floor, no_state))
    table, masses = _cut_further(table, domain, refining)
    counted, regular = table.grouping, table.grouping.regular
    is_absent = np.append(np.zeros(regular, dtype=bool), no_state)
    # Values without rows keep a trace, so that rows can be asked for under any condition.
    masses = np.where(is_absent, 0.0, np.maximum(masses, _TINY * floor))
    levels = _levels(table, field, masses[:regular], sizes)
    if refining:
        levels = _refine_groups(domain, counted, levels, refining)
    common = int(len(levels) > 1 and int(levels[0].max()) >= sizes[0] and not (domain.ordered or domain.cuts))
    levels, has_halves = _halve_groups(levels, masses[:regular], domain) if is_halved else (levels, False)
    has_presence = masses.size > regular and int(levels[-1].max()) > 0
    if has_presence:
        levels = (*levels, np.zeros(regular, dtype=np.intp))
    # Each reserved cell is a group of its own.
    codes = tuple(np.append(level, level.max() + 1 + np.arange(masses.size - regular)) for level in levels)
    mass = np.maximum(np.bincount(codes[0], masses), floor)
    mass[codes[0][is_absent]] = 0.0
    starts, stops, cell = counted.pieces()
    kept = cell < masses.size
    widths = np.bincount(cell, stops - starts)[: masses.size].astype(np.float64)
    if domain.ordered:
        ends = np.append(starts[:regular], domain.values).astype(np.float64)
        widths[:regular] = np.maximum(np.diff(tail_places(masses[:regular], ends)), _TINY)
    inside = np.where(np.bincount(codes[0], masses)[codes[0]] > floor, masses, widths)
    group, within = codes[0][cell[kept]], _piece_masses(inside, starts, stops, cell)[kept]
    shares = within * (mass / group_sums(group, within))[group]
    return ResolvedColumn(
        name=field.name,
        axis=Axis(mass, tuple(_between(codes[0], level) for level in (*codes, *_classes(counted, masses, refining)))),
        groupings=tuple(_grouping(domain, counted, level) for level in levels),
        classes=tuple(refining),
        base=laws_from_probabilities(starts[kept], stops[kept], shares),
        within=laws_of_groups(group, starts[kept], stops[kept], within),
        sd=table.sd * max(1.0, masses.size / mass.size) ** 0.5,
        common=common,
        has_presence=has_presence,
        has_halves=has_halves,
    )


def with_masses(column: ResolvedColumn, masses: np.ndarray) -> ResolvedColumn:
    """Return a column with other masses of its finest groups."""
    inside = column.within
    shares = inside.probabilities * (masses / masses.sum())[inside.law_of_piece]
    order = np.argsort(inside.starts, kind="stable")
    base = laws_from_probabilities(inside.starts[order], inside.stops[order], shares[order])
    return replace(column, axis=replace(column.axis, base=masses), base=base)


def _masses(table: OneWayTable, field: Field, total: float, floor: float, is_absent: np.ndarray) -> np.ndarray:
    """Take the noise out of a table that was counted once; misfits are left out, absent states are 0."""
    regular, (starts, _, _) = table.grouping.regular, table.grouping.pieces()
    is_kept = np.append(np.ones(regular, dtype=bool), ~is_absent)
    masses = np.zeros(is_kept.size)
    masses[is_kept] = project_to_simplex(table.counts[: is_kept.size][is_kept], total)
    counted = CellCounts(starts[:regular], table.counts[:regular], table.sd)
    is_noise = field.domain.ordered and np.mean(counted.counts < PRESENT * table.sd) >= _MOSTLY
    if is_staged(field) or is_noise:
        masses[:regular] = denoised_masses([counted], field.domain.values, float(masses[:regular].sum()))
    # Of a few values even a rare one counts: nothing is taken to be empty.
    return masses if is_staged(field) else np.where(is_kept, np.maximum(masses, floor), 0.0)


def _levels(table: OneWayTable, field: Field, values: np.ndarray, sizes: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Return the group of each cell of regular values at every level, the finest first."""
    if field.domain.cuts and not field.domain.ordered:
        starts, _, _ = table.grouping.pieces()
        return branch_runs(values, _ranks(field.domain, starts[: values.size]), sizes)
    if field.domain.ordered:
        return nested_groups(values, even_runs(values, sizes[0]), sizes[1:], is_ordered=True)
    if values.size <= sizes[0]:
        return nested_groups(values, np.arange(values.size), sizes[1:], is_ordered=False)
    most = (MOST_VALUES, *sizes) if len(sizes) > 1 else sizes
    return nested_groups(
        values, leading_values(table.counts[: values.size], table.sd, most[0]), most[1:], is_ordered=False
    )


def _halve_groups(
    levels: tuple[np.ndarray, ...], masses: np.ndarray, domain: Domain
) -> tuple[tuple[np.ndarray, ...], bool]:
    """Return levels with one more, of two groups, and whether there is one: where the last has more."""
    mass = np.bincount(levels[-1], masses)
    *_, halves = nested_groups(mass, np.arange(mass.size), (2,), is_ordered=domain.ordered or bool(domain.cuts))
    return ((*levels, halves[levels[-1]]), True) if mass.size > 2 else (levels, False)


def _cut_further(table: OneWayTable, domain: Domain, refining: Sequence[Grouping]) -> tuple[OneWayTable, np.ndarray]:
    """Return a table whose cells lie in one group of each map, and its masses; parts share a cell's by length."""
    assert table.masses is not None
    counted = table.grouping
    if counted.regular == domain.values or not refining:
        return table, table.masses
    starts, _, _ = counted.pieces()
    priorities = np.unique(np.concatenate((starts, *(grouping.pieces()[0] for grouping in refining))))
    cell = np.searchsorted(starts, priorities, side="right") - 1
    lengths = np.diff(np.append(priorities, counted.values + counted.reserved)).astype(np.float64)
    part = lengths / np.bincount(cell, lengths)[cell]
    kept = part.size - int(not domain.missing)
    finer = interval_grouping(domain, priorities[1 : priorities.size - domain.reserved])
    return replace(table, grouping=finer, counts=table.counts[cell] * part), table.masses[cell[:kept]] * part[:kept]


def _first_codes(counted: Grouping) -> np.ndarray:
    """Return the first code of each counted cell, reserved ones included: ndarray of int64, shape (cells,)."""
    starts, _, cell = counted.pieces()
    _, first = np.unique(cell, return_index=True)
    return np.asarray(starts[first])


def _refine_groups(
    domain: Domain, counted: Grouping, levels: Sequence[np.ndarray], refining: Sequence[Grouping]
) -> tuple[np.ndarray, ...]:
    """Cut groups where a map tells their cells apart: those of the finest level, and of others that stay small.

    Levels that then merge nothing are left out. Ordered groups stay runs, unless that would make far more of them.
    """
    codes = _first_codes(counted)[: counted.regular]
    _, kinds = np.unique(np.stack([grouping.apply(codes) for grouping in refining]), axis=1, return_inverse=True)
    found: list[np.ndarray] = []
    is_coarse = False
    for level in levels:
        pairs = level * (int(kinds.max()) + 1) + kinds.reshape(-1)
        _, joint = np.unique(pairs, return_inverse=True)
        runs = np.cumsum(np.diff(pairs, prepend=pairs[0]) != 0)
        is_runs = (domain.ordered or bool(domain.cuts)) and (
            runs[-1] <= _MOST_RUNS * (joint.max() + 1) or domain.values > _MOST_LISTED
        )
        each = runs if is_runs else joint.reshape(-1)
        if found and (is_coarse or each.max() + 1 > _MOST_GROWTH * (level.max() + 1)):
            is_coarse, each = True, level  # coarser ones stay as they are too, so that levels are nested
        if not found or each.max() < found[-1].max():
            found.append(each)
    return tuple(found)


def _classes(counted: Grouping, masses: np.ndarray, refining: Sequence[Grouping]) -> list[np.ndarray]:
    """Return the group of each cell that the model has in each map."""
    codes = _first_codes(counted)[: masses.size] if refining else np.zeros(0, dtype=np.int64)
    return [grouping.apply(codes) for grouping in refining]


def _ranks(domain: Domain, starts: np.ndarray) -> np.ndarray:
    """Return the tier of the cut before each cell: 0 for the coarsest, the number of tiers for an undeclared one."""
    ranks = np.full(starts.size, len(domain.cuts), dtype=np.intp)
    for rank, tier in enumerate(domain.cuts):
        ranks[np.isin(starts, np.array(tier, dtype=np.int64))] = rank
    return ranks


def _between(finest: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return the group at a level of each finest group."""
    merged = np.zeros(int(finest.max()) + 1, dtype=np.intp)
    merged[finest] = level
    return merged


def _piece_masses(masses: np.ndarray, starts: np.ndarray, stops: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Spread the mass of each counted cell over its runs of codes, by length."""
    lengths = (stops - starts).astype(np.float64)
    shares = lengths / np.bincount(cell, lengths)[cell]
    return np.asarray(np.append(masses, 0.0)[np.minimum(cell, masses.size)] * shares)


def _grouping(domain: Domain, counted: Grouping, level: np.ndarray) -> Grouping:
    """Return the public map from codes to the groups of one level."""
    if not (domain.ordered or domain.cuts):
        return lookup(domain, level)
    if (np.diff(level) < 0).any():  # classes of a rule need not be runs
        return lookup(domain, level[counted.apply(np.arange(domain.values))])
    starts, _, _ = counted.pieces()
    return interval_grouping(domain, starts[np.flatnonzero(np.diff(level)) + 1])


# -- Nested groups of a column's values, coarser and coarser, from noisy masses alone.


def even_runs(masses: np.ndarray, groups: int) -> np.ndarray:
    """Cut ordered cells into runs of about equal mass; a cell heavier than a run should be stands alone.

    The heaviest run outside heavy cells is as light as ``groups`` runs allow. Time ``O(k)`` times 40.

    >>> even_runs(np.array([1.0, 1.0, 90.0, 1.0, 1.0, 1.0]), 3).tolist()
    [0, 0, 1, 2, 2, 2]
    """
    if masses.size <= groups:
        return np.arange(masses.size)
    is_alone = _heavy(masses, groups)
    # A little above the sum, which one after another the cells may pass by rounding: all of them fit in one run.
    low, high = 0.0, float(masses.sum()) * (1 + 1e-9)
    if _runs(masses, is_alone, high)[-1] >= groups:
        # Heavy cells cut the rest into too many runs: let go of them, equal mass alone decides.
        is_alone = np.zeros(masses.size, dtype=bool)
    for _ in range(_SEARCH_STEPS):
        middle = (low + high) / 2
        if _runs(masses, is_alone, middle)[-1] < groups:
            high = middle
        else:
            low = middle
    return _runs(masses, is_alone, high)


def leading_values(counts: np.ndarray, sd: float, groups: int) -> np.ndarray:
    """Group the values of an unordered column: the largest on their own, the others together.

    >>> leading_values(np.array([5, 900, 40, 300]), 10.0, 3).tolist()
    [2, 0, 2, 1]
    """
    leaders = np.argsort(-counts, kind="stable")[: groups - 1]
    leaders = leaders[counts[leaders] > _LEAST_DEVIATIONS * sd]
    group = np.full(counts.size, leaders.size, dtype=np.intp)
    group[leaders] = np.arange(leaders.size)
    return group


def branch_runs(masses: np.ndarray, ranks: np.ndarray, sizes: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Cut cells into runs at the ends of their branches: the heaviest run first, at the coarsest cut that it holds.

    >>> branch_runs(np.ones(4), np.array([0, 1, 0, 1]), (3, 2))[1].tolist()
    [0, 0, 1, 1]
    """
    ends = np.concatenate(([0.0], np.cumsum(masses)))
    runs = [(float(ends[-1]), 0, masses.size)]
    cuts: list[int] = []
    while runs and len(cuts) < sizes[0] - 1:
        runs.sort()
        _, first, last = runs.pop()
        if last - first == 1:
            continue  # it stays whole
        inside = ranks[first + 1 : last]
        coarsest = first + 1 + np.flatnonzero(inside == inside.min())
        middle = int(coarsest[np.argmin(np.abs(ends[coarsest] - (ends[first] + ends[last]) / 2))])
        cuts.append(middle)
        runs += [(float(ends[b] - ends[a]), a, b) for a, b in ((first, middle), (middle, last))]
    found: list[np.ndarray] = []
    for size in sizes:
        is_start = np.zeros(masses.size, dtype=bool)
        is_start[cuts[: size - 1]] = True
        level = np.cumsum(is_start, dtype=np.intp)
        if not found or level[-1] < found[-1][-1]:
            found.append(level)
    return tuple(found)


def nested_groups(
    masses: np.ndarray, finest: np.ndarray, sizes: Sequence[int], *, is_ordered: bool
) -> tuple[np.ndarray, ...]:
    """Merge groups into fewer and fewer.

    >>> [level.tolist() for level in nested_groups(np.ones(4), np.arange(4), (2, 1), is_ordered=True)]
    [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]]
    """
    levels = [finest]
    for size in sizes:
        last = levels[-1]
        mass = np.bincount(last, masses)
        if mass.size > size:
            levels.append((even_runs(mass, size) if is_ordered else leading_values(mass, 0.0, size))[last])
    return tuple(levels)


def _heavy(masses: np.ndarray, groups: int) -> np.ndarray:
    """Mark the cells that hold at least an equal share of what the other cells and runs leave."""
    is_heavy = np.zeros(masses.size, dtype=bool)
    for _ in range(groups):
        left = groups - int(np.count_nonzero(is_heavy))
        found = ~is_heavy & (masses >= masses[~is_heavy].sum() / max(left, 1))
        if left <= 1 or not found.any():
            break
        is_heavy |= found
    return is_heavy


def _runs(masses: np.ndarray, is_alone: np.ndarray, capacity: float) -> np.ndarray:
    """Fill runs from the left, each up to a capacity."""
    run, filled, group = 0, 0.0, np.zeros(masses.size, dtype=np.intp)
    for place, (mass, alone) in enumerate(zip(masses.tolist(), is_alone.tolist(), strict=True)):
        if place and (alone or is_alone[place - 1] or filled + mass > capacity):
            run, filled = run + 1, 0.0
        group[place] = run
        filled += mass
    return group


# -- Tables that compete, and the question which of them a model fits worst.


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Tables to choose from.

    tables: as `pack` makes them, read-only; those over the same columns follow one another, the finest first; places:
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
        return freeze(found)

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
        alive = [alive_cells(zeros, table) for table in unpack(tables)]
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
    alive = None if zeros is None else _alive(zeros, unpack(tables), cells)
    noise = expected_noise(columns, tables, zeros)
    return Candidates(tuple(columns), freeze(tables), places, int(sizes.sum()), noise, alive)


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
    columns: Sequence[ResolvedColumn],
    most_cells: int = MOST_CELLS,
    *,
    is_mixed: bool = False,
    strata: int | None = None,
) -> np.ndarray:
    """Return all pairs of at most so many cells at every common level, each shape once, the finest first, `pack`.

    Mixed ones tell one column finely and the other coarsely, too; beyond 30 columns, where choosing is the cost, only
    at a level that is finer than the common ones. strata: a column at whose finest level all other pairs are counted.
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
    if strata is not None:
        inside = np.where((found[:, :, 0] == strata).any(axis=1), -1, strata)
        found = np.concatenate((found, np.stack((inside, np.minimum(inside, 0)), axis=1)[:, None]), axis=1)
        order = np.argsort(np.where(found[:, :, 0] < 0, len(columns), found[:, :, 0]), axis=1)
        found = np.take_along_axis(found, order[:, :, None], axis=1)
    return found[table_sizes(columns, found) <= most_cells]


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
    found = pack(list(tables))
    return found[table_sizes(columns, found) <= most_cells]


def four_tables(columns: Sequence[ResolvedColumn]) -> np.ndarray:
    """Return all sets of four columns, each in two groups of regular values."""
    level = [column.coarsest + int(column.has_halves) for column in columns]
    sets = combinations(range(len(columns)), 4)
    found = pack([tuple([(column, level[column]) for column in each]) for each in sets])
    return found[table_sizes(columns, found) <= MOST_FOUR_CELLS]


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


class Priority(NamedTuple):
    """Columns that matter more: a column in any table, or several whose tables matter; how much more than others."""

    columns: frozenset[int]
    is_table: bool
    weight: int


def table_weights(listed: np.ndarray, priorities: Iterable[Priority]) -> np.ndarray:
    """Return the largest weight of what each table contains, or lies within, else 1: ndarray of int64 (tables,)."""
    found = np.ones(len(listed), dtype=np.int64)
    for columns, is_table, weight in priorities:
        if is_table:
            is_meant = np.isin(listed[:, :, 0], [-1, *columns]).all(axis=1)
        else:
            is_meant = np.isin(listed[:, :, 0], list(columns)).any(axis=1)
        found[is_meant] = np.maximum(found[is_meant], weight)
    return found


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


def table_sizes(columns: Sequence[ResolvedColumn], tables: np.ndarray) -> np.ndarray:
    """Return the cells of each table, misfits included."""
    return np.asarray(
        _per_axis([[each.groups for each in column.groupings] for column in columns], tables).prod(axis=1)
    )
