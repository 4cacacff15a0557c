"""One-way tables of all columns: value by value, by branches too, or in cells that follow where rows are seen.

ask -> solve: all columns are counted together; ordered ones of many values three times, each time in finer cells
where rows are, the widest after a search for single values that many rows share; then noise is taken out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.shared.one_way import counts_with_misfits, is_refined, pooled_total, public_cells
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, identity, interval_grouping
from lapwing.schema.schemas import Schema

COUNTED_ONCE = 16
"""Ordered columns of up to so many values are counted once; what is seen of others says how they are counted next."""
FIRST_CELLS = 64  # about how many even cells a wider column is counted in at first
BRANCH_LEVELS = 3  # most levels of branches that are counted beside the categories of a hierarchy
_OCTAVES = 16

STAGES = 3
"""How often an ordered column of more than a few values is counted; what is not spent before goes to the last time."""
STAGE_SHARE, WIDE_STAGE_SHARE = Fraction(1, STAGES), Fraction(1, 4)
"""Part of the column's budget each time but the last, and that of a wide column's."""
SEARCH_SHARE = Fraction(1, 4)
"""Part of a wide column's budget to search heavy cells for single values, before it is counted for the last time."""
BRANCH_SHARE = Fraction(1, 10)
"""Part of a column's budget for each level of branches of its hierarchy; the categories get the rest."""
_WORTH_DEVIATIONS = 6.0  # a part is worth counting if it holds so many standard deviations of the noise
_MOST_PARTS = 128
_HELD_SHARE = 0.01  # of the rows: a cell of so few values that each would get more is cut down to these
_SEEN_DEVIATIONS = 2.5  # a cell with fewer is counted as one with others like it
PRESENT = 2.0  # standard deviations of noise: a missing or special state is believed in from there on


@dataclass(frozen=True, slots=True, eq=False)
class CellCounts:
    """Hold one partition and its noisy counts.

    starts: int64 (k,), first code of each cell, increasing from 0; counts: float64 (k,), noisy counts.
    """

    starts: np.ndarray
    counts: np.ndarray
    sd: float


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
    stages: Sequence[CellCounts] = ()


def ask_columns(curator: Curator, schema: Schema, costs: Sequence[Budget]) -> tuple[tuple[OneWayTable, ...], float]:
    """Ask for the one-way tables of all columns."""
    states = [
        _Column(field, cost, first_questions(field, cost)) for field, cost in zip(schema.columns, costs, strict=True)
    ]
    total = 0.0
    while any(state.asked for state in states):
        found = iter(curator.ask(*[question for state in states for question in state.asked]))
        states = [replace(state, answers=(*state.answers, *islice(found, len(state.asked)))) for state in states]
        total = pooled_total([answer for state in states for answer in state.answers], curator.terms.rows)
        states = [_next(state, total, curator.terms) if state.asked else state for state in states]
    return tuple(_table(state, total) for state in states), total


def answered_tables(answers: Sequence[NoisyCounts], schema: Schema, terms: Terms) -> tuple[OneWayTable, ...]:
    """Return what `ask_columns` returned, from its answers: nothing is asked, and what comes next is not worked out."""
    states = []
    for field in schema.columns:
        own = tuple(answer for answer in answers if answer.question.columns == (field.name,))
        spent = sum((answer.question.cost.amount for answer in own), Fraction(0))
        searched = len(own) - STAGES if is_staged(field) else 0
        states.append(_Column(field, Budget(own[0].question.cost.notion, spent), (), own, searched=searched))
    total = pooled_total([answer for state in states for answer in state.answers], terms.rows)
    return tuple(_table(state, total) for state in states)


def first_questions(field: Field, cost: Budget) -> tuple[MarginalCounts, ...]:
    """Return what is asked of a column before anything is known: its values, branches, or first cells."""
    if is_staged(field):
        share = WIDE_STAGE_SHARE if is_refined(field) else STAGE_SHARE
        return (_question(field, first_cells(field), cost * share, apart=field.domain.missing),)
    branches = branch_groupings(field)
    shares = [*[BRANCH_SHARE] * len(branches), 1 - BRANCH_SHARE * len(branches)]
    *coarse, own = cost.split(shares)
    return (
        *(_question(field, each, part) for each, part in zip(branches, coarse, strict=True)),
        _question(field, identity(field.domain), own, apart=field.domain.missing),
    )


def one_way_tables(schema: Schema) -> int:
    """Return how many tables of one column `ask_columns` asks for."""
    fields = schema.columns
    return sum(STAGES if is_staged(field) else 1 + len(branch_groupings(field)) for field in fields)


def stage_questions(schema: Schema, costs: Sequence[Budget]) -> tuple[MarginalCounts, ...]:
    """Return the questions of all stages, for a plan: cells of later stages stand as those of the first."""
    first = [first_questions(field, cost) for field, cost in zip(schema.columns, costs, strict=True)]
    found = [question for each in first for question in each]
    for left in range(STAGES - 1, 0, -1):
        for field, cost, (question, *_) in zip(schema.columns, costs, first, strict=True):
            if is_staged(field):
                rest = Budget(cost.notion, cost.amount - question.cost.amount * (STAGES - 1))
                found.append(replace(question, apart=False, cost=question.cost if left > 1 else rest))
    return tuple(found)


def one_way_table(answers: Sequence[NoisyCounts]) -> OneWayTable:
    """Return the mean of answers to the same one-way question, each weighted by the inverse of its noise's variance."""
    first = answers[0]
    sds = np.array([answer.noise.sd for answer in answers])
    precisions = np.where(sds > 0, 1 / np.maximum(sds, 1e-6) ** 2, 1e12)
    weights = precisions / precisions.sum()
    counts = np.tensordot(weights, np.stack([counts_with_misfits(answer) for answer in answers]), axes=1)
    return OneWayTable(first.question.groupings[0], counts, float(np.sqrt(np.square(weights * sds).sum())))


def no_states(table: OneWayTable, domain: Domain) -> np.ndarray:
    """Return which missing or special states noise explains."""
    states = slice(table.grouping.regular, table.grouping.groups - int(not domain.missing))
    told = (table.counts if table.masses is None else table.masses)[states]
    return np.asarray(told < PRESENT * (table.sd if table.state_sd is None else table.state_sd))


# -- The stages of one column.


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Search:
    """Cells that may hold single values of many rows, what each step costs, and the steps that are left.

    starts, stops: int64 (k,), the codes of each cell; counts: float64 (k,), the last noisy count of each.
    """

    starts: np.ndarray
    stops: np.ndarray
    counts: np.ndarray
    cost: Budget
    steps: int

    def question(self, field: Field) -> MarginalCounts:
        """Return the question for the parts of the cells."""
        starts, stops, _ = search_parts(self.starts, self.stops, self.steps)
        cuts = np.union1d(starts, stops)
        inside = interval_grouping(field.domain, cuts[(cuts > 0) & (cuts < field.domain.values)])
        return MarginalCounts(columns=(field.name,), groupings=(inside,), cost=self.cost)

    def narrowed(self, answer: NoisyCounts) -> "Search":
        """Return the search of the parts that stand out; no steps are left where all of them are single codes."""
        grouping = answer.question.groupings[0]
        firsts = grouping.pieces()[0][: grouping.regular]
        starts, stops, cell = search_parts(self.starts, self.stops, self.steps)
        counts = answer.counts[np.searchsorted(firsts, starts)].astype(np.float64)
        least, most = least_found(starts.size, answer.noise), affordable_parts(stops - starts, self.steps - 1)
        found = parts_that_stand_out(counts, cell, least, most)
        starts, stops, counts = starts[found], stops[found], counts[found]
        steps = self.steps - 1 if (stops - starts > 1).any() else 0
        return replace(self, starts=starts, stops=stops, counts=counts, steps=steps)


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """What was asked of a column: what is asked next, all answers, and those that searched for single values."""

    field: Field
    cost: Budget
    asked: tuple[MarginalCounts, ...]
    answers: tuple[NoisyCounts, ...] = ()
    search: Search | None = None
    searched: int = 0

    @property
    def stages(self) -> tuple[CellCounts, ...]:
        """The partitions that tell how many rows are where."""
        return tuple(
            _cell_counts(answer)
            for place, answer in enumerate(self.answers)
            if not 0 <= place - (STAGES - 1) < self.searched
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Settled:
    """The masses of a column's finest cells, of its reserved codes without misfits, and its stages.

    reserved_sd: the noise in what all answers say of one reserved code.
    """

    stages: tuple[CellCounts, ...]
    regular: np.ndarray
    reserved: np.ndarray
    reserved_sd: float


def _question(field: Field, grouping: Grouping, cost: Budget, *, apart: bool = False) -> MarginalCounts:
    """Return the question for one column's counts in some cells."""
    return MarginalCounts(columns=(field.name,), groupings=(grouping,), cost=cost, apart=apart)


def _next(state: _Column, total: float, terms: Terms) -> _Column:
    """Return a column with what is asked of it next: nothing once it has been counted for the last time."""
    if state.search is not None and state.search.steps:
        return _continue_search(state, total)
    if not is_staged(state.field) or len(state.answers) - state.searched == STAGES:
        return replace(state, asked=())
    if len(state.answers) < STAGES - 1:
        return replace(state, asked=(_finer_question(state, total, state.answers[-1].question.cost),))
    return _start_search(state, total, terms) if is_refined(state.field) else _last_question(state, total)


def _start_search(state: _Column, total: float, terms: Terms) -> _Column:
    """Begin to search the heaviest cells, where some may hold a value of many rows."""
    masses, starts = _column_masses(state, total).regular, finest_starts(state.stages)
    stops = np.append(starts[1:], np.int64(state.field.domain.values))
    search = start_search(state.field, (starts, stops), masses, state.cost * SEARCH_SHARE, terms)
    return (
        _last_question(state, total)
        if search is None
        else replace(state, search=search, asked=(search.question(state.field),))
    )


def _continue_search(state: _Column, total: float) -> _Column:
    """Go on with the parts that stand out, or count for the last time."""
    assert state.search is not None
    search = state.search.narrowed(state.answers[-1])
    state = replace(state, search=search, searched=state.searched + 1)
    return replace(state, asked=(search.question(state.field),)) if search.steps else _last_question(state, total)


def _last_question(state: _Column, total: float) -> _Column:
    """Return a column that is counted for the last time, with what is left of its budget."""
    spent = sum((answer.question.cost.amount for answer in state.answers), Fraction(0))
    return replace(state, asked=(_finer_question(state, total, Budget(state.cost.notion, state.cost.amount - spent)),))


def _finer_question(state: _Column, total: float, cost: Budget) -> MarginalCounts:
    """Return the next partition: cells with rows are cut further, values that were found stand alone."""
    domain, stages, search = state.field.domain, state.stages, state.search
    found = _column_masses(state, total)
    starts, sd = finest_starts(stages), stages[-1].sd
    widths = np.diff(np.append(starts, np.int64(domain.values)))
    worth = max(_WORTH_DEVIATIONS * sd, 1.0)
    parts = next_parts(found.regular, widths, worth, _MOST_PARTS)
    parts = np.where(found.regular > _HELD_SHARE * total * widths, widths, parts)
    whole = merged_starts(starts, found.regular >= _SEEN_DEVIATIONS * sd)
    cells = np.setdiff1d(finer_cells(domain, starts, parts), np.setdiff1d(starts, whole))
    if search is not None:
        cells = np.unique(np.concatenate((cells, search.starts, search.stops)))
    return _question(state.field, interval_grouping(domain, cells[(cells > 0) & (cells < domain.values)]), cost)


def _table(state: _Column, total: float) -> OneWayTable:
    """Return what all answers say of a column."""
    answers, domain = state.answers, state.field.domain
    if len(answers) == 1:
        return one_way_table(answers)
    found = _column_masses(state, total)
    masses = np.concatenate((found.regular, found.reserved))
    grouping = (
        interval_grouping(domain, finest_starts(found.stages)[1:])
        if domain.ordered
        else answers[-1].question.groupings[0]
    )
    return OneWayTable(
        grouping=grouping,
        counts=np.pad(masses, (0, grouping.groups - masses.size)),
        sd=cell_deviation(found.stages),
        masses=masses,
        state_sd=found.reserved_sd,
        stages=found.stages,
    )


@lru_cache(maxsize=1)  # by identity, so for no other run: a replay must find again what it finds
def _column_masses(state: _Column, total: float) -> _Settled:
    """Share the rows between the regular codes and the reserved ones, then among the cells of the regular ones."""
    domain, stages = state.field.domain, state.stages
    every = [_cell_counts(answer) for answer in state.answers]
    kept = domain.reserved if domain.missing else domain.reserved - 1
    precisions = np.array([1.0 / max(each.sd, 1e-6) ** 2 for each in every])
    tails = [counts_with_misfits(answer)[answer.question.groupings[0].regular :][:kept] for answer in state.answers]
    reserved = np.average(tails, axis=0, weights=precisions)
    # One known total: what the estimates lack of it is theirs in proportion to their variances.
    precise = precisions / [each.starts.size for each in every]
    spread = np.full(kept + 1, 1.0 / precisions.sum())
    spread[0] = 1.0 / precise.sum()
    regular = float(np.average([each.counts.sum() for each in every], weights=precise))
    estimates = np.concatenate(([regular], reserved))
    masses = project_to_simplex(estimates + (total - estimates.sum()) * spread / spread.sum(), total)
    mass = float(masses[0])
    inside = denoised_masses(stages, domain.values, mass) if domain.ordered else branch_masses(stages, mass)
    return _Settled(stages, inside, masses[1:], float(precisions.sum() ** -0.5))


def _cell_counts(answer: NoisyCounts) -> CellCounts:
    """Return the regular cells of an answer."""
    grouping = answer.question.groupings[0]
    starts, _, _ = grouping.pieces()
    return CellCounts(starts[: grouping.regular], answer.counts[: grouping.regular].astype(np.float64), answer.noise.sd)


# -- The cells in which a column is counted first, and how any are cut further: functions of the schema alone.


def is_staged(field: Field) -> bool:
    """Tell whether a column is counted in stages, each in cells that the one before suggests."""
    return field.domain.ordered and field.domain.values > COUNTED_ONCE


def branch_groupings(field: Field) -> tuple[Grouping, ...]:
    """Return the levels of a declared hierarchy that are counted beside its categories, the coarsest first.

    >>> codes = {"name": "code", "type": "string", "categories": ["a1", "a2", "b1", "b2"],
    ...          "hierarchy": {"prefixes": [1]}}
    >>> from lapwing.schema.schemas import Schema
    >>> (field,) = Schema.from_dict({"fields": [codes]}).columns
    >>> [grouping.cuts.tolist() for grouping in branch_groupings(field)]
    [[2]]
    """
    domain = field.domain
    if domain.ordered:
        return ()
    found, cuts = [], np.empty(0, dtype=np.int64)
    for tier in domain.cuts[:BRANCH_LEVELS]:
        cuts = np.sort(np.concatenate((cuts, np.array(tier, dtype=np.int64))))
        if 2 * (cuts.size + 1) <= domain.values:  # finer ones say hardly more than the categories
            found.append(interval_grouping(domain, cuts))
    return tuple(found)


def first_cells(field: Field) -> Grouping:
    """Return the cells in which an ordered column is counted first.

    Returns its values, where it has at most 512. Otherwise `public_cells`, and smaller and smaller ones towards zero,
    where real numbers crowd.

    >>> first_cells(Field(name="x", type="integer", minimum=0, maximum=1919)).cuts[:9].tolist()
    [1, 2, 4, 8, 16, 30, 60, 90, 120]
    """
    domain = field.domain
    if not is_refined(field):
        return identity(domain)
    cells = public_cells(field, FIRST_CELLS)
    if domain.cuts or field.is_categorical or field.type not in ("integer", "number"):
        return cells
    zero, width = field.range.zero, max(1, domain.values // FIRST_CELLS)
    powers = [1 << bits for bits in range(width.bit_length()) if width <= 1 << bits + _OCTAVES and 1 << bits < width]
    near = [code for power in powers for code in (zero + power, zero - power + 1)] if 0 <= zero < domain.values else []
    cuts = np.union1d(cells.cuts, np.array(near, dtype=np.int64))
    return interval_grouping(domain, cuts[(cuts > 0) & (cuts < domain.values)])


def finer_cells(domain: Domain, starts: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Cut cells further.

    >>> finer_cells(Domain(100, 0, True, True, False), np.array([0, 50]), np.array([1, 2])).tolist()
    [0, 50, 75]
    """
    stops = np.append(starts[1:], np.int64(domain.values))
    tiers = [np.array(tier, dtype=np.int64) for tier in domain.cuts]
    found = [starts]
    for place in np.flatnonzero(parts > 1):
        start, stop, priorities = int(starts[place]), int(stops[place]), int(parts[place])
        found.append(_inside(tiers, start, stop, priorities))
    return np.unique(np.concatenate(found))


def _inside(tiers: Sequence[np.ndarray], start: int, stop: int, parts: int) -> np.ndarray:
    """Return the cuts of one cell into parts."""
    for tier in tiers:
        inner = tier[np.searchsorted(tier, start, "right") : np.searchsorted(tier, stop, "left")]
        if inner.size:
            return inner if inner.size <= 2 * parts else inner[np.arange(1, parts) * inner.size // parts]
    whole, rest = divmod(stop - start, parts)
    index = np.arange(1, parts, dtype=np.int64)
    return start + index * whole + index * rest // parts


# -- In which cells a column is counted next, and the search for single values that many rows share.
MOST_SEARCHED = 64  # most cells that are searched for single values at once
SEARCH_CELLS = 2**14  # most parts that all of them are cut into, in one step
FOUND_DEVIATIONS = 3.0
"""A part goes on if it has at least so many standard deviations of the noise more than the cell's others."""
FOUND_ROWS = 10.0  # nor does a part of fewer rows: at no budget is a value of few people looked for
_UNSEEN_CELLS = 8  # counted as one where rows are seen nowhere
SOUGHT_DEVIATIONS: Final = 4.0  # a cell is searched if it has so many standard deviations of a step's noise


def start_search(
    field: Field, cells: tuple[np.ndarray, np.ndarray], masses: np.ndarray, budget: Budget, terms: Terms
) -> Search | None:
    """Return the search of the heaviest cells of a column; None where none holds enough rows to be searched."""
    starts, stops = cells
    widths = stops - starts
    leaders = np.argsort(-masses * (widths > 1), kind="stable")[:MOST_SEARCHED]
    for _ in range(2):  # fewer cells need fewer steps, whose noise is less
        steps = search_steps(widths[leaders])
        cost = budget * Fraction(1, steps)
        step = MarginalCounts(columns=(field.name,), groupings=(interval_grouping(field.domain, ()),), cost=cost)
        least = max(SOUGHT_DEVIATIONS * step.noise(terms.relation, terms.max_rows).sd, FOUND_ROWS)
        leaders = leaders[(masses[leaders] >= least) & (widths[leaders] > 1)]
        if not leaders.size:
            return None
    leaders = np.sort(leaders)
    return Search(starts=starts[leaders], stops=stops[leaders], counts=masses[leaders], cost=cost, steps=steps)


def next_parts(masses: np.ndarray, widths: np.ndarray, worth: float, most: int) -> np.ndarray:
    """Return into how many parts each cell is cut next.

    >>> next_parts(np.array([100.0, 5.0, 30.0]), np.array([64, 64, 2]), 10.0, 100).tolist()
    [10, 1, 2]
    """
    parts = np.clip(np.floor(masses / worth), 1, widths).astype(np.int64)
    total = int(parts[parts > 1].sum())
    return np.where(parts > 1, np.maximum(1, parts * most // total), 1) if total > most else parts


def merged_starts(starts: np.ndarray, is_seen: np.ndarray) -> np.ndarray:
    """Return the first codes of the cells that are left when runs of cells without rows are counted as one.

    starts: int64 (k,), first code of each cell; is_seen: bool (k,), where rows are seen: these cells stay as they are.
    Returns int64, beside cells with rows one cell stays alone, the next two are one, the next four, and so on.

    >>> merged_starts(np.arange(0, 90, 10), np.arange(9) == 0).tolist()
    [0, 10, 20, 40, 80]
    """
    places, seen = np.arange(starts.size), np.flatnonzero(is_seen)
    if not seen.size:
        return starts[::_UNSEEN_CELLS]
    after = np.searchsorted(seen, places)
    left = np.where(after > 0, places - seen[after - 1], starts.size)
    right = np.where(after < seen.size, seen[np.minimum(after, seen.size - 1)] - places, starts.size)
    _, steps = np.frexp(np.minimum(left, right))  # 1, 2, 2, 3, 3, 3, 3
    runs = np.where(left <= right, steps, -steps) * ~is_seen
    return np.asarray(starts[np.append(True, (np.diff(runs) != 0) | is_seen[1:])])


def search_steps(widths: np.ndarray) -> int:
    """Return in how many steps cells are cut down to single codes.

    >>> search_steps(np.array([2**25, 2**20])), search_steps(np.array([100]))
    (2, 1)
    """
    return math.ceil(math.log2(max(2, int(widths.max()))) / math.log2(SEARCH_CELLS // widths.size))


def search_parts(starts: np.ndarray, stops: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut cells into so many even parts that after some steps a part is a single code.

    >>> [each.tolist() for each in search_parts(np.array([0, 50]), np.array([9, 51]), 2)]
    [[0, 3, 6, 50], [3, 6, 9, 51], [0, 0, 0, 1]]
    """
    widths = stops - starts
    priorities = np.ceil(np.power(widths.astype(np.float64), 1 / steps) - 1e-9).astype(np.int64)
    parts = np.clip(priorities, 1, np.minimum(widths, SEARCH_CELLS // widths.size))
    cell = np.repeat(np.arange(widths.size), parts)
    index = np.arange(cell.size) - (np.cumsum(parts) - parts)[cell]
    whole, rest = widths // parts, widths % parts
    firsts, lasts = (starts[cell] + at * whole[cell] + at * rest[cell] // parts[cell] for at in (index, index + 1))
    return firsts, lasts, cell


def parts_that_stand_out(counts: np.ndarray, cell: np.ndarray, least: float, most: int = MOST_SEARCHED) -> np.ndarray:
    """Return which parts have more than the others of their cell by more than `least`: the first `most` of them.

    >>> parts_that_stand_out(np.array([1.0, 90.0, -4.0, 30.0, 31.0]), np.array([0, 0, 0, 1, 1]), 15.0).tolist()
    [1]
    """
    parts, sums = np.bincount(cell), np.bincount(cell, counts)
    others = (sums[cell] - counts) / np.maximum(1, parts[cell] - 1)
    excess = counts - others
    leaders = np.argsort(-excess, kind="stable")[:most]
    return np.sort(leaders[excess[leaders] > least])


def least_found(parts: int, noise: NoiseLaw) -> float:
    """Return what a part must have more than others: more than the largest of so many noises, and than a few rows.

    >>> from fractions import Fraction
    >>> [round(least_found(8000, NoiseLaw(kind, Fraction(100)))) for kind in ("gaussian", "laplace")]
    [42, 899]
    """
    log = math.log(parts)
    largest = log / math.sqrt(2) if noise.kind == "laplace" else math.sqrt(2 * log)
    return max(max(FOUND_DEVIATIONS, largest) * noise.sd, FOUND_ROWS)


def affordable_parts(widths: np.ndarray, steps: int) -> int:
    """Return how many parts of the widest's size can be cut down to single codes in the steps that are left.

    >>> [affordable_parts(np.array([width]), steps) for width, steps in ((2**20, 2), (2**20, 3), (1, 0))]
    [16, 64, 64]
    """
    parts = math.ceil(math.pow(int(widths.max()), 1 / max(1, steps)) - 1e-9)
    return min(MOST_SEARCHED, max(1, SEARCH_CELLS // parts))


# -- What all counts of a column say together, with noise taken out.
ATOM_DEVIATIONS = 4.0
"""What a cell has beyond both its neighbours is an atom from so many standard deviations of its noise on."""
SURE_DEVIATIONS = 5.0  # A run of cells surely has rows from so many on: there are some ten thousand runs to look at
NEXT_DEVIATIONS = 1.0  # what is beside the rows has rows, too, while it has so many, in steps that double the range
EMPTY_DEVIATIONS = 1.5
"""A half with fewer rows than so many standard deviations of its noise, beside a fuller one, is taken to be empty."""
EVEN_DEVIATIONS = math.sqrt(2 * math.log(2))
"""Halves closer to an even spread than so many, times the root of the depth, are even: the universal threshold."""
SPLITS = (0.5, 0.38, 0.62, 0.45, 0.55, 0.33, 0.67, 0.42)
"""Where the trees over the cells divide them: one tree for each, and their mean counts."""
_NEAR_SPREADS = 4.0  # standard deviations of a column up to which a place is not far
_SLACK = 1.0  # of runs that are nearly as sure as the surest, the shortest is taken
_LEAST_SD, _LEAST_RATIO = 1e-3, 1e-4


def denoised_masses(stages: Sequence[CellCounts], codes: int, total: float) -> np.ndarray:
    """Return the masses of the finest cells that explain all counts, with noise taken out.

    1. Weighted least squares over all partitions say how many rows are between any two ends of cells, and how surely.
    2. Atoms, such as the zeros of a column of mostly zeros: cells that stand out of both their neighbours keep what
       they have beyond them.
    3. Support: the runs of cells that surely have rows, from the surest on, and all between them; from there outwards
       as long as the next step, as wide as all so far, has more rows than noise. Nothing is anywhere else: a few rows
       that noise puts far out would ruin means.
    4. Inside it, rows are handed down binary trees: a half gets what the estimates say, unless noise explains all of
       it or the difference to an even spread. The mean over trees that divide at different places is smoother and
       nearer to the truth than one tree.
    5. A single code that is not sure to have more rows than noise stands out of nothing.
    6. Once more without the cells that got nothing: those that are left are known the better.

    Time ``O(k ** 3)`` for k cells.

    Coifman, Donoho (1995), "Translation-invariant de-noising", for the mean over shifted trees; Donoho, Johnstone
    (1994), "Ideal spatial adaptation by wavelet shrinkage", for a threshold that grows with the number of halves.

    >>> counted = CellCounts(np.array([0, 10, 20, 30]), np.array([100.0, 4.0, -3.0, 2.0]), 3.0)
    >>> denoised_masses([counted], 40, 100.0).tolist()
    [100.0, 0.0, 0.0, 0.0]
    """
    places = np.append(finest_starts(stages), codes).astype(np.float64)
    information, weighted = _normal_equations(stages)
    masses = _shared(information, weighted, places, total)
    kept = np.flatnonzero(masses)
    if kept.size:
        ends = np.append(0.0, np.cumsum(np.diff(places)[kept]))
        masses[kept] = _shared(information[np.ix_(kept, kept)], weighted[kept], ends, total, is_supported=True)
    return masses


def finest_starts(stages: Sequence[CellCounts]) -> np.ndarray:
    """Return the first codes of the cells that all partitions together tell apart: ndarray of int64, shape (k,)."""
    return np.unique(np.concatenate([stage.starts for stage in stages]))


def tail_places(masses: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return places between which rows are even that nothing is known of: in the tails, less and less dense.

    masses: float64 (k,), what is known of the cells; places: float64 (k + 1,), their ends, increasing. Returns float64
    (k + 1,), distances from the mean of the masses, as they are up to four standard deviations; farther out they grow
    like the integral of one over its fourth power, so that most rows of a tail are near its beginning.

    >>> tail_places(np.array([1.0, 1.0, 0.0]), np.array([-1.0, 0.0, 1.0, 1000.0])).round(1).tolist()
    [-1.0, 0.0, 1.0, 5.3]
    """
    mean, near = _near(masses, places)
    away = places - mean
    far = np.sign(away) * near * (4 - (near / np.maximum(np.abs(away), near)) ** 3) / 3
    return np.asarray(np.where(np.abs(away) > near, far, away))


def branch_masses(stages: Sequence[CellCounts], total: float) -> np.ndarray:
    """Return the masses of the finest cells where neighbours have nothing in common but their branch.

    >>> branches = CellCounts(np.array([0, 2]), np.array([10.0, 0.0]), 1.0)
    >>> codes = CellCounts(np.array([0, 1, 2, 3]), np.array([9.0, -1.0, 1.0, 1.0]), 1.0)
    >>> branch_masses([branches, codes], 10.0).round(1).tolist()
    [9.3, 0.0, 0.3, 0.3]
    """
    # For each partition but the first, the cell of the one before in which each of its cells lies.
    parents = [np.searchsorted(above.starts, below.starts, "right") - 1 for above, below in pairwise(stages)]
    pooled, _ = _pooled_stages(stages, parents)
    masses = project_to_simplex(pooled[0], total)
    for counts, parent in zip(pooled[1:], parents, strict=True):
        ends = np.searchsorted(parent, np.arange(masses.size + 1))
        masses = np.concatenate(
            [
                project_to_simplex(counts[first:last], mass)
                for first, last, mass in zip(ends[:-1], ends[1:], masses, strict=True)
            ]
        )
    return masses


def cell_deviation(stages: Sequence[CellCounts]) -> float:
    """Return the standard deviation of the noise in one finest cell of average size, all stages together."""
    cells = finest_starts(stages).size
    return 1 / math.sqrt(sum(cells / (stage.starts.size * _variance(stage)) for stage in stages))


def _normal_equations(stages: Sequence[CellCounts]) -> tuple[np.ndarray, np.ndarray]:
    """Return the information that all stages have about the finest cells, and their counts weighted by it."""
    finest = finest_starts(stages)
    information, weighted = np.zeros((finest.size, finest.size)), np.zeros(finest.size)
    least = max(_LEAST_SD, _LEAST_RATIO * max(stage.sd for stage in stages))  # or the inverse would be lost in rounding
    for stage in stages:
        cell = np.searchsorted(stage.starts, finest, "right") - 1
        precision = 1 / max(stage.sd, least) ** 2
        information += (cell[:, None] == cell[None, :]) * precision
        weighted += stage.counts[cell] * precision
    return information, weighted


def _shared(
    information: np.ndarray, weighted: np.ndarray, places: np.ndarray, total: float, *, is_supported: bool = False
) -> np.ndarray:
    """Return atoms and, by trees over the support, the rest; where is_supported that is everything."""
    covariance = np.linalg.inv(information)
    estimates, noise = covariance @ weighted, _interval_noise(covariance)
    widths, sd = np.diff(places), np.sqrt(np.diag(covariance))
    atoms = _atoms(estimates, widths, sd)
    atoms *= min(1.0, total / max(float(atoms.sum()), 1e-9))
    rest = total - float(atoms.sum())
    if atoms.any() and rest < EMPTY_DEVIATIONS * noise[0, -1]:
        return np.asarray(atoms * (total / atoms.sum()))
    sums = np.append(0.0, np.cumsum(estimates - atoms))
    first, last = (0, estimates.size) if is_supported else _support(sums, places, noise, np.flatnonzero(atoms))
    ends = slice(first, last + 1)
    others = np.zeros_like(atoms)
    others[first:last] = _tree_means(sums[ends].tolist(), places[ends].tolist(), noise[ends, ends].tolist(), rest)
    return np.asarray(atoms + _level_single_codes(others, widths, estimates > ATOM_DEVIATIONS * sd))


def _interval_noise(covariance: np.ndarray) -> np.ndarray:
    """Return the standard deviation of the noise in the sum of all cells between any two ends: shape (k + 1, k + 1)."""
    sums = np.pad(covariance.cumsum(axis=0).cumsum(axis=1), (1, 0))
    own = np.diag(sums)
    return np.asarray(np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * sums, _LEAST_SD**2)))


def _atoms(estimates: np.ndarray, widths: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Return what a cell has beyond both its neighbours, where it is more than theirs and than noise; otherwise 0."""
    density = np.where(estimates > EMPTY_DEVIATIONS * sd, estimates, 0.0) / widths
    around = np.maximum(np.append(density[1:], 0.0), np.append(0.0, density[:-1])) * widths
    excess = estimates - around
    return np.where(excess > np.maximum(ATOM_DEVIATIONS * sd, around), excess, 0.0)


def _level_single_codes(masses: np.ndarray, widths: np.ndarray, is_sure: np.ndarray) -> np.ndarray:
    """Return masses where single codes among wide cells stand out only if they are sure to.

    Noise makes one of them a value of many rows, as it makes of no code in a wide cell. Several in a row share what
    they have; one on its own is as dense as the wide cells beside it, which get the rest.
    """
    found, places = masses.copy(), np.flatnonzero((widths == 1) & ~is_sure)
    for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if places.size and (widths > 1).any() else ():
        beside = [each for each in (run[0] - 1, run[-1] + 1) if 0 <= each < masses.size and widths[each] > 1]
        density = masses[beside].sum() / widths[beside].sum() if beside and run.size == 1 else math.inf
        found[run] = min(masses[run].mean(), density)
        if density < masses[run[0]]:
            share = masses[beside] if density else widths[beside]
            found[beside] += (masses[run[0]] - density) * share / share.sum()
    return found


def _support(sums: np.ndarray, places: np.ndarray, noise: np.ndarray, atoms: np.ndarray) -> tuple[int, int]:
    """Return the ends between which there are rows: sums up to each end, atoms as the places of their cells."""
    cells = sums.size - 1
    deviations = np.triu((sums[None, :] - sums[:, None]) / noise, 1)
    free, first, last = deviations.copy(), cells, 0
    while (best := float(free.max())) > (SURE_DEVIATIONS if last else 0.0):
        runs = np.argwhere(free >= max(best - _SLACK, min(best, _LEAST_SD)))
        start, stop = runs[np.argmin(places[runs[:, 1]] - places[runs[:, 0]])].tolist()
        first, last = min(first, start), max(last, stop)
        free[:stop, start + 1 :] = 0.0  # all runs that overlap
    if not last:
        return 0, cells
    first, last = min([first, *atoms.tolist()]), max([last, *(atoms + 1).tolist()])
    while first > 0:
        start = min(int(np.searchsorted(places, 2 * places[first] - places[last])), first - 1)
        if deviations[start, first] < NEXT_DEVIATIONS:
            break
        first = start
    while last < cells:
        stop = max(int(np.searchsorted(places, 2 * places[last] - places[first], "right")) - 1, last + 1)
        if deviations[last, stop] < NEXT_DEVIATIONS:
            break
        last = stop
    return first, last


def _tree_means(sums: list[float], places: list[float], noise: list[list[float]], total: float) -> np.ndarray:
    """Return the mean masses of the cells over all trees."""
    masses = np.zeros(len(places) - 1)
    for number in range(len(SPLITS)):
        waiting = [(0, masses.size, total, 0)]
        while waiting:
            first, last, mass, depth = waiting.pop()
            if last - first == 1 or mass <= 0.0:
                masses[first] += mass
                continue
            # Every other level divides from the other end of the list, so that no tree leans to one side.
            share = SPLITS[number if depth % 2 else -number]
            middle = first + min(max(1, round(share * (last - first))), last - first - 1)
            halves = sums[middle] - sums[first], sums[last] - sums[middle]
            even = mass * (places[middle] - places[first]) / (places[last] - places[first])
            given = _left_share(mass, halves, (noise[first][middle], noise[middle][last]), even, depth)
            waiting += [(first, middle, given, depth + 1), (middle, last, mass - given, depth + 1)]
    return masses / len(SPLITS)


def _left_share(
    mass: float, halves: tuple[float, float], deviations: tuple[float, float], even: float, depth: int
) -> float:
    """Return how much the left half gets: an even share where noise allows it, all or nothing where one is empty."""
    (left, right), (left_sd, right_sd) = halves, deviations
    deviation = math.hypot(left_sd, right_sd)
    given = min(max(left + (mass - left - right) * (left_sd / deviation) ** 2, 0.0), mass)
    if 2 * abs(given - even) < EVEN_DEVIATIONS * math.sqrt(depth) * deviation:
        return even
    has_left, has_right = left > EMPTY_DEVIATIONS * left_sd, right > EMPTY_DEVIATIONS * right_sd
    if mass > EMPTY_DEVIATIONS * deviation and has_left != has_right and (left > right) == has_left:
        return mass * has_left
    return given


def _near(masses: np.ndarray, places: np.ndarray) -> tuple[float, float]:
    """Return the mean of some masses, and how far from it is not far."""
    middles, widths, total = (places[1:] + places[:-1]) / 2, np.diff(places), max(float(masses.sum()), 1e-9)
    mean = float((masses * middles).sum()) / total
    spread = math.sqrt(float((masses * (np.square(middles - mean) + np.square(widths) / 12)).sum()) / total)
    return mean, _NEAR_SPREADS * max(spread, 1.0)


def _pooled_stages(
    stages: Sequence[CellCounts], parents: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return each cell's count pooled with the sum of what lies below it, and its variance, stage by stage."""
    variances = [np.full(stage.starts.size, _variance(stage)) for stage in stages]
    pooled, spread = [stages[-1].counts], [variances[-1]]
    for stage, own, parent in zip(stages[-2::-1], variances[-2::-1], parents[::-1], strict=True):
        below = np.bincount(parent, pooled[0], stage.starts.size)
        below_variance = np.bincount(parent, spread[0], stage.starts.size)
        pooled.insert(0, (stage.counts / own + below / below_variance) / (1 / own + 1 / below_variance))
        spread.insert(0, 1 / (1 / own + 1 / below_variance))
    return pooled, spread


def _variance(stage: CellCounts) -> float:
    """Return the variance of a stage's noise; a tiny one where there is none."""
    return max(stage.sd, 1e-6) ** 2
