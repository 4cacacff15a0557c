"""One-way tables of all columns: value by value, by branches too, or in cells that follow where rows are seen."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.room.curator import Curator, ReplayCurator
from lapwing.kernel.terms import Terms
from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.adaptive.cells import merged_starts, wanted_parts
from lapwing.mechanisms.adaptive.columns import OneWayTable, one_way_table
from lapwing.mechanisms.adaptive.ordered_law import (
    Counted,
    branch_masses,
    cell_deviation,
    finest_starts,
    settled_masses,
)
from lapwing.mechanisms.adaptive.search import Search, begun
from lapwing.mechanisms.shared.one_way import (
    branch_groupings,
    finer_cells,
    first_cells,
    is_refined,
    is_staged,
    pooled_total,
    told_counts,
)
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, cut, identity
from lapwing.schema.schemas import Schema

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
    def stages(self) -> tuple[Counted, ...]:
        """The partitions that tell how many rows are where."""
        return tuple(
            _counted(answer)
            for place, answer in enumerate(self.answers)
            if not 0 <= place - (STAGES - 1) < self.searched
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Settled:
    """The masses of a column's finest cells, of its reserved codes without misfits, and its stages.

    reserved_sd: the noise in what all answers say of one reserved code.
    """

    stages: tuple[Counted, ...]
    regular: np.ndarray
    reserved: np.ndarray
    reserved_sd: float


def _question(field: Field, grouping: Grouping, cost: Budget, *, apart: bool = False) -> MarginalCounts:
    """Return the question for one column's counts in some cells."""
    return MarginalCounts(columns=(field.name,), groupings=(grouping,), cost=cost, apart=apart)


def _next(state: _Column, total: float, terms: Terms) -> _Column:
    """Return a column with what is asked of it next: nothing once it has been counted for the last time."""
    if state.search is not None and state.search.steps:
        return _searched(state, total)
    if not is_staged(state.field) or len(state.answers) - state.searched == STAGES:
        return replace(state, asked=())
    if len(state.answers) < STAGES - 1:
        return replace(state, asked=(_finer(state, total, state.answers[-1].question.cost),))
    return _searching(state, total, terms) if is_refined(state.field) else _last(state, total)


def _searching(state: _Column, total: float, terms: Terms) -> _Column:
    """Begin to search the heaviest cells, where some may hold a value of many rows."""
    masses, starts = _settled(state, total).regular, finest_starts(state.stages)
    stops = np.append(starts[1:], np.int64(state.field.domain.values))
    search = begun(state.field, (starts, stops), masses, state.cost * SEARCH_SHARE, terms)
    return (
        _last(state, total) if search is None else replace(state, search=search, asked=(search.question(state.field),))
    )


def _searched(state: _Column, total: float) -> _Column:
    """Go on with the parts that stand out, or count for the last time."""
    assert state.search is not None
    search = state.search.narrowed(state.answers[-1])
    state = replace(state, search=search, searched=state.searched + 1)
    return replace(state, asked=(search.question(state.field),)) if search.steps else _last(state, total)


def _last(state: _Column, total: float) -> _Column:
    """Return a column that is counted for the last time, with what is left of its budget."""
    spent = sum((answer.question.cost.amount for answer in state.answers), Fraction(0))
    return replace(state, asked=(_finer(state, total, Budget(state.cost.notion, state.cost.amount - spent)),))


def _finer(state: _Column, total: float, cost: Budget) -> MarginalCounts:
    """Return the next partition: cells with rows are cut further, values that were found stand alone."""
    domain, stages, search = state.field.domain, state.stages, state.search
    found = _settled(state, total)
    starts, sd = finest_starts(stages), stages[-1].sd
    widths = np.diff(np.append(starts, np.int64(domain.values)))
    worth = max(_WORTH_DEVIATIONS * sd, 1.0)
    parts = wanted_parts(found.regular, widths, worth, _MOST_PARTS)
    parts = np.where(found.regular > _HELD_SHARE * total * widths, widths, parts)
    whole = merged_starts(starts, found.regular >= _SEEN_DEVIATIONS * sd)
    cells = np.setdiff1d(finer_cells(domain, starts, parts), np.setdiff1d(starts, whole))
    if search is not None:
        cells = np.unique(np.concatenate((cells, search.starts, search.stops)))
    return _question(state.field, cut(domain, cells[(cells > 0) & (cells < domain.values)]), cost)


def _table(state: _Column, total: float) -> OneWayTable:
    """Return what all answers say of a column."""
    answers, domain = state.answers, state.field.domain
    if len(answers) == 1:
        return one_way_table(answers)
    found = _settled(state, total)
    masses = np.concatenate((found.regular, found.reserved))
    grouping = cut(domain, finest_starts(found.stages)[1:]) if domain.ordered else answers[-1].question.groupings[0]
    return OneWayTable(
        grouping=grouping,
        counts=np.pad(masses, (0, grouping.groups - masses.size)),
        sd=cell_deviation(found.stages),
        masses=masses,
        state_sd=found.reserved_sd,
        stages=found.stages,
    )


@lru_cache(maxsize=1)  # by identity, so for no other run: a replay must find again what it finds
def _settled(state: _Column, total: float) -> _Settled:
    """Share the rows between the regular codes and the reserved ones, then among the cells of the regular ones."""
    domain, stages = state.field.domain, state.stages
    every = [_counted(answer) for answer in state.answers]
    kept = domain.reserved if domain.missing else domain.reserved - 1
    precisions = np.array([1.0 / max(each.sd, 1e-6) ** 2 for each in every])
    tails = [told_counts(answer)[answer.question.groupings[0].regular :][:kept] for answer in state.answers]
    reserved = np.average(tails, axis=0, weights=precisions)
    # One known total: what the estimates lack of it is theirs in proportion to their variances.
    precise = precisions / [each.starts.size for each in every]
    spread = np.full(kept + 1, 1.0 / precisions.sum())
    spread[0] = 1.0 / precise.sum()
    regular = float(np.average([each.counts.sum() for each in every], weights=precise))
    estimates = np.concatenate(([regular], reserved))
    masses = project_to_simplex(estimates + (total - estimates.sum()) * spread / spread.sum(), total)
    mass = float(masses[0])
    inside = settled_masses(stages, domain.values, mass) if domain.ordered else branch_masses(stages, mass)
    return _Settled(stages, inside, masses[1:], float(precisions.sum() ** -0.5))


def _counted(answer: NoisyCounts) -> Counted:
    """Return the regular cells of an answer."""
    grouping = answer.question.groupings[0]
    starts, _, _ = grouping.pieces()
    return Counted(starts[: grouping.regular], answer.counts[: grouping.regular].astype(np.float64), answer.noise.sd)


# -- What a reader should know of the single columns of an Adaptive release, from its answers and its model alone.


_MOST_UNSEEN = 0.01
_LEAST_HELD, _TINY = 0.05, 1e-3
"""A range that holds so many of the rows, in so small a part of the column's values, may be a single value."""


def relation_warnings(schema: Schema, answers: Sequence[Answer], accuracy: Sequence[Statement]) -> tuple[Notice, ...]:
    """Say where no relation between columns was measured in this release, because it would be mostly noise."""
    del accuracy
    joint = [answer.question for answer in answers if len(answer.question.columns) > 1]
    tables = [question for question in joint if isinstance(question, MarginalCounts)]
    is_shown = any(grouping.regular > 1 for table in tables for grouping in table.groupings)
    if len(schema.columns) == 1 or is_shown or any(isinstance(question, SparseCounts) for question in joint):
        return ()
    if any(isinstance(question, TableDistances) for question in joint):
        return (Notice("relations_of_prior"),)
    looks = [question for question in joint if isinstance(question, SecondMoment)]
    if looks:
        return (Notice("relations_of_look", {"columns": len(looks[0].columns)}),)
    return (Notice("relations_of_missing" if joint else "no_relations"),)


def warnings_of(schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel) -> tuple[Statement, ...]:
    """Return the statements of a certificate about single columns.

    Returns how many columns have a missing or special state that noise explained; of each column of numbers or dates,
    what share of the rows is where its own counts show none, if that is more than 1 %; and of each wide one the most
    that is in a tiny range of values that no count divides, if that is more than 5 %.
    """
    return (*_absent_states(schema, model), *_ordered_columns(schema, terms, answers, model))


def _absent_states(schema: Schema, model: ReleasedModel) -> Iterator[Statement]:
    """Say how many columns have a missing or special state that no row has."""
    base = {} if model.log_linear is None else model.log_linear.base
    states = {column.name: column.domain.specials + int(column.domain.missing) for column in schema.columns}
    present = {
        column.name: np.count_nonzero(base[column.name].starts >= column.domain.values)
        for column in schema.columns
        if column.name in base
    }
    absent = sum(states[name] > count for name, count in present.items())
    if absent:
        yield Statement("states_without_rows", float(absent))


def _ordered_columns(
    schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel
) -> Iterator[Statement]:
    """Compare each ordered column with its own counts alone."""
    own = [each for each in answers if isinstance(each, NoisyCounts) and len(each.question.columns) == 1]
    if not own or not any(is_staged(field) for field in schema.columns):
        return
    spent = dict.fromkeys((field.name for field in schema.columns), Fraction(0))
    for answer in own:
        spent[answer.question.columns[0]] += answer.question.cost.amount
    costs = [Budget(own[0].question.cost.notion, spent[field.name]) for field in schema.columns]
    tables, _ = ask_columns(ReplayCurator(terms, own), schema, costs)
    for field, table in zip(schema.columns, tables, strict=True):
        law = model.laws[field.name]
        if is_staged(field) and isinstance(law, Indexed):
            yield from _of_column(field, table, law, model.weights)


def _of_column(field: Field, table: OneWayTable, law: Indexed, weights: np.ndarray) -> Iterator[Statement]:
    """Say what is unseen or undivided in one column."""
    shares = np.bincount(law.index, weights, law.laws.count) / weights.sum()
    pieces = law.laws.probabilities * shares[law.laws.law_of_piece]
    starts, _, cell = table.grouping.pieces()
    assert table.masses is not None
    masses = np.bincount(cell[np.searchsorted(starts, law.laws.starts, "right") - 1], pieces, table.grouping.groups)
    regular, widths = table.grouping.regular, np.diff(np.append(starts, field.domain.values)[: starts.size + 1])
    unseen = float(masses[:regular][table.masses[:regular] <= 0].sum())
    if unseen > _MOST_UNSEEN:
        yield Statement("rows_unseen", unseen, {"column": field.name})
    is_tiny = (widths[:regular] > 1) & (widths[:regular] < _TINY * field.domain.values)
    held = float(np.max(masses[:regular] * is_tiny, initial=0.0))
    if is_refined(field) and held > _LEAST_HELD:
        yield Statement("rows_undivided", held, {"column": field.name})
