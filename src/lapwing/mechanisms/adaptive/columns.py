"""Columns at several resolutions, built from their noisy one-way tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.engine.tables import Axis
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.adaptive.cells import branch_runs, even_runs, leading_values, nested
from lapwing.mechanisms.adaptive.ordered_law import Counted, settled_masses, tail_places
from lapwing.mechanisms.shared.one_way import is_staged, told_counts
from lapwing.model.laws import Laws, laws_from_probabilities
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, cut, lookup

_FLOOR_RECORDS = 0.03
_FLOOR_SHARE = 0.01
PRESENT = 2.0  # standard deviations of noise: a missing or special state is believed in from there on
_MOSTLY = 0.5  # of a few ordered values: where noise explains so many, they are settled as those of wide columns are
_TINY = 1e-9
_MOST_RUNS = 2
_MOST_GROWTH = 1.5
_MOST_LISTED = 2**16

MOST_VALUES = 512  # most groups of the finest level of categories, where there are several levels


@dataclass(frozen=True, slots=True, eq=False)
class OneWayTable:
    """What is known of one column.

    counts: float64 (cells,), noisy counts; sd: the noise in a cell of regular values; masses: float64 (cells without
    misfits,), rows in each cell with the noise taken out already; by default `resolved_column` takes it out; state_sd:
    the noise in the count of a missing or special state, where that is another one: every stage counts it anew; stages:
    the partitions that were counted, where there were several.
    """

    grouping: Grouping
    counts: np.ndarray
    sd: float
    masses: np.ndarray | None = None
    state_sd: float | None = None
    stages: Sequence[Counted] = ()


def one_way_table(answers: Sequence[NoisyCounts]) -> OneWayTable:
    """Return the mean of answers to the same one-way question, each weighted by the inverse of its noise's variance."""
    first = answers[0]
    sds = np.array([answer.noise.sd for answer in answers])
    precisions = np.where(sds > 0, 1 / np.maximum(sds, 1e-6) ** 2, 1e12)
    weights = precisions / precisions.sum()
    counts = np.tensordot(weights, np.stack([told_counts(answer) for answer in answers]), axes=1)
    return OneWayTable(first.question.groupings[0], counts, float(np.sqrt(np.square(weights * sds).sum())))


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

    Noise is taken out of ordered columns of more than 16 values by `settled_masses`, of others by projection on the
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
        levels = _refined(domain, counted, levels, refining)
    common = int(len(levels) > 1 and int(levels[0].max()) >= sizes[0] and not (domain.ordered or domain.cuts))
    levels, has_halves = _halved(levels, masses[:regular], domain) if is_halved else (levels, False)
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
    within = np.zeros((mass.size, int(np.count_nonzero(kept))))
    within[codes[0][cell[kept]], np.arange(within.shape[1])] = _piece_masses(inside, starts, stops, cell)[kept]
    shares = within * (mass / within.sum(axis=1))[:, None]
    return ResolvedColumn(
        name=field.name,
        axis=Axis(mass, tuple(_between(codes[0], level) for level in (*codes, *_classes(counted, masses, refining)))),
        groupings=tuple(_grouping(domain, counted, level) for level in levels),
        classes=tuple(refining),
        base=laws_from_probabilities(starts[kept], stops[kept], shares.sum(axis=0)),
        within=laws_from_probabilities(starts[kept], stops[kept], within),
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


def no_states(table: OneWayTable, domain: Domain) -> np.ndarray:
    """Return which missing or special states noise explains."""
    states = slice(table.grouping.regular, table.grouping.groups - int(not domain.missing))
    told = (table.counts if table.masses is None else table.masses)[states]
    return np.asarray(told < PRESENT * (table.sd if table.state_sd is None else table.state_sd))


def _masses(table: OneWayTable, field: Field, total: float, floor: float, is_absent: np.ndarray) -> np.ndarray:
    """Take the noise out of a table that was counted once; misfits are left out, absent states are 0."""
    regular, (starts, _, _) = table.grouping.regular, table.grouping.pieces()
    is_kept = np.append(np.ones(regular, dtype=bool), ~is_absent)
    masses = np.zeros(is_kept.size)
    masses[is_kept] = project_to_simplex(table.counts[: is_kept.size][is_kept], total)
    counted = Counted(starts[:regular], table.counts[:regular], table.sd)
    is_noise = field.domain.ordered and np.mean(counted.counts < PRESENT * table.sd) >= _MOSTLY
    if is_staged(field) or is_noise:
        masses[:regular] = settled_masses([counted], field.domain.values, float(masses[:regular].sum()))
    # Of a few values even a rare one counts: nothing is taken to be empty.
    return masses if is_staged(field) else np.where(is_kept, np.maximum(masses, floor), 0.0)


def _levels(table: OneWayTable, field: Field, values: np.ndarray, sizes: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Return the group of each cell of regular values at every level, the finest first."""
    if field.domain.cuts and not field.domain.ordered:
        starts, _, _ = table.grouping.pieces()
        return branch_runs(values, _ranks(field.domain, starts[: values.size]), sizes)
    if field.domain.ordered:
        return nested(values, even_runs(values, sizes[0]), sizes[1:], is_ordered=True)
    if values.size <= sizes[0]:
        return nested(values, np.arange(values.size), sizes[1:], is_ordered=False)
    most = (MOST_VALUES, *sizes) if len(sizes) > 1 else sizes
    return nested(values, leading_values(table.counts[: values.size], table.sd, most[0]), most[1:], is_ordered=False)


def _halved(levels: tuple[np.ndarray, ...], masses: np.ndarray, domain: Domain) -> tuple[tuple[np.ndarray, ...], bool]:
    """Return levels with one more, of two groups, and whether there is one: where the last has more."""
    mass = np.bincount(levels[-1], masses)
    *_, halves = nested(mass, np.arange(mass.size), (2,), is_ordered=domain.ordered or bool(domain.cuts))
    return ((*levels, halves[levels[-1]]), True) if mass.size > 2 else (levels, False)


def _cut_further(table: OneWayTable, domain: Domain, refining: Sequence[Grouping]) -> tuple[OneWayTable, np.ndarray]:
    """Return a table whose cells lie in one group of each map, and its masses; parts share a cell's by length."""
    assert table.masses is not None
    counted = table.grouping
    if counted.regular == domain.values or not refining:
        return table, table.masses
    starts, _, _ = counted.pieces()
    wanted = np.unique(np.concatenate((starts, *(grouping.pieces()[0] for grouping in refining))))
    cell = np.searchsorted(starts, wanted, side="right") - 1
    lengths = np.diff(np.append(wanted, counted.values + counted.reserved)).astype(np.float64)
    part = lengths / np.bincount(cell, lengths)[cell]
    kept = part.size - int(not domain.missing)
    finer = cut(domain, wanted[1 : wanted.size - domain.reserved])
    return replace(table, grouping=finer, counts=table.counts[cell] * part), table.masses[cell[:kept]] * part[:kept]


def _first_codes(counted: Grouping) -> np.ndarray:
    """Return the first code of each counted cell, reserved ones included: ndarray of int64, shape (cells,)."""
    starts, _, cell = counted.pieces()
    _, first = np.unique(cell, return_index=True)
    return np.asarray(starts[first])


def _refined(
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
    return cut(domain, starts[np.flatnonzero(np.diff(level)) + 1])
