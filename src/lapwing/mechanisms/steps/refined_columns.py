"""One-way tables of all columns: value by value, by branches too, or in cells that follow where rows are seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.mechanisms.steps.one_way import pooled_total
from lapwing.mechanisms.steps.public_cells import branch_groupings, finer_cells, first_cells, is_staged
from lapwing.mechanisms.steps.resolved_columns import OneWayTable, one_way_table
from lapwing.numerics.next_cells import merged_starts, wanted_parts
from lapwing.numerics.refinement import (
    Counted,
    branch_masses,
    cell_deviation,
    finest_starts,
    settled_masses,
)
from lapwing.numerics.simplex import project_to_simplex
from lapwing.release.curator import Curator
from lapwing.release.questions import MarginalCounts, NoisyCounts
from lapwing.schema.fields import Field
from lapwing.schema.groupings import Grouping, cut, identity
from lapwing.schema.schemas import Schema

STAGES = 3
"""How often an ordered column of more than a few values is counted, each time with the same part of its budget."""

BRANCH_SHARE = Fraction(1, 10)
"""Part of a column's budget for each level of branches of its hierarchy; the categories get the rest."""

_WORTH_DEVIATIONS = 6.0  # a part is worth counting if it holds so many standard deviations of the noise
_MOST_PARTS = 128
_SEEN_DEVIATIONS = 2.5  # a cell with fewer is counted as one with others like it


def first_questions(field: Field, cost: Budget) -> tuple[MarginalCounts, ...]:
    """Return what is asked of a column before anything is known: its values, branches, or first cells."""
    if is_staged(field):
        return (_question(field, first_cells(field), cost * Fraction(1, STAGES)),)
    branches = branch_groupings(field)
    shares = [*[BRANCH_SHARE] * len(branches), 1 - BRANCH_SHARE * len(branches)]
    groupings = (*branches, identity(field.domain))
    return tuple(_question(field, each, part) for each, part in zip(groupings, cost.split(shares), strict=True))


def one_way_tables(schema: Schema) -> int:
    """Return how many tables of one column `ask_columns` asks for."""
    fields = schema.columns
    return sum(STAGES if is_staged(field) else 1 + len(branch_groupings(field)) for field in fields)


def stage_questions(schema: Schema, costs: Sequence[Budget]) -> tuple[MarginalCounts, ...]:
    """Return the questions of all stages, for a plan: cells of later stages stand as those of the first.

    Parameters
    ----------
    schema : Schema
        Gives the columns.
    costs : sequence of Budget
        One per column.
    """
    first = [first_questions(field, cost) for field, cost in zip(schema.columns, costs, strict=True)]
    wide = [each for each, field in zip(first, schema.columns, strict=True) if is_staged(field)]
    return tuple(question for each in (*first, *(wide * (STAGES - 1))) for question in each)


def ask_columns(curator: Curator, schema: Schema, costs: Sequence[Budget]) -> tuple[tuple[OneWayTable, ...], float]:
    """Ask for the one-way tables of all columns.

    Parameters
    ----------
    curator : Curator
        Answers.
    schema : Schema
        Its columns are asked for, in order.
    costs : sequence of Budget
        One per column, each spent exactly.

    Returns
    -------
    tables : tuple of OneWayTable
        One per column.
    total : float
        The number of rows: the public one, or as all answers together tell, at least 0.
    """
    columns = schema.columns
    asked = [first_questions(field, cost) for field, cost in zip(columns, costs, strict=True)]
    answers: list[list[NoisyCounts]] = [[] for _ in columns]
    total = 0.0
    for stage in range(STAGES):
        places = [place for place, questions in enumerate(asked) for _ in questions]
        found = curator.ask(*[question for questions in asked for question in questions]) if places else ()
        for place, answer in zip(places, found, strict=True):
            answers[place].append(answer)
        total = pooled_total([answer for each in answers for answer in each], curator.terms.rows)
        if stage < STAGES - 1:
            asked = [
                _next_questions(field, each, total) if is_staged(field) else ()
                for field, each in zip(columns, answers, strict=True)
            ]
    return tuple(_table(field, each, total) for field, each in zip(columns, answers, strict=True)), total


@dataclass(frozen=True, slots=True, eq=False)
class _Settled:
    """The masses of a column's finest cells, of its reserved codes without misfits, and its stages."""

    stages: tuple[Counted, ...]
    regular: np.ndarray
    reserved: np.ndarray


def _question(field: Field, grouping: Grouping, cost: Budget) -> MarginalCounts:
    """Return the question for one column's counts in some cells."""
    return MarginalCounts(columns=(field.name,), groupings=(grouping,), cost=cost)


def _next_questions(field: Field, answers: Sequence[NoisyCounts], total: float) -> tuple[MarginalCounts, ...]:
    """Return the next stage of a wide column, of the same cost as the last."""
    domain = field.domain
    found = _settled(field, answers, total)
    starts, sd = finest_starts(found.stages), found.stages[-1].sd
    widths = np.diff(np.append(starts, np.int64(domain.values)))
    worth = max(_WORTH_DEVIATIONS * sd, 1.0)
    parts = wanted_parts(found.regular, widths, worth, _MOST_PARTS)
    whole = merged_starts(starts, found.regular >= _SEEN_DEVIATIONS * sd)
    cells = np.setdiff1d(finer_cells(domain, starts, parts), np.setdiff1d(starts, whole))
    finer = cut(domain, cells[1:])
    return (_question(field, finer, answers[-1].question.cost),)


def _table(field: Field, answers: Sequence[NoisyCounts], total: float) -> OneWayTable:
    """Return what all answers say of a column."""
    if len(answers) == 1:
        return one_way_table(answers)
    found, domain = _settled(field, answers, total), field.domain
    masses = np.concatenate((found.regular, found.reserved))
    grouping = cut(domain, finest_starts(found.stages)[1:]) if domain.ordered else answers[-1].question.groupings[0]
    return OneWayTable(
        grouping=grouping,
        counts=np.pad(masses, (0, grouping.groups - masses.size)),
        sd=cell_deviation(found.stages),
        masses=masses,
    )


def _settled(field: Field, answers: Sequence[NoisyCounts], total: float) -> _Settled:
    """Share the rows between the regular codes and the reserved ones, then among the cells of the regular ones."""
    domain = field.domain
    stages = tuple(_counted(answer) for answer in answers)
    kept = domain.reserved if domain.missing else domain.reserved - 1
    precisions = np.array([1.0 / max(stage.sd, 1e-6) ** 2 for stage in stages])
    reserved = np.average([_reserved(answer)[:kept] for answer in answers], axis=0, weights=precisions)
    # One known total: what the estimates lack of it is theirs in proportion to their variances.
    precise = precisions / [stage.starts.size for stage in stages]
    spread = np.full(kept + 1, 1.0 / precisions.sum())
    spread[0] = 1.0 / precise.sum()
    regular = float(np.average([stage.counts.sum() for stage in stages], weights=precise))
    estimates = np.concatenate(([regular], reserved))
    masses = project_to_simplex(estimates + (total - estimates.sum()) * spread / spread.sum(), total)
    mass = float(masses[0])
    inside = settled_masses(stages, domain.values, mass) if domain.ordered else branch_masses(stages, mass)
    return _Settled(stages, inside, masses[1:])


def _counted(answer: NoisyCounts) -> Counted:
    """Return the regular cells of an answer."""
    grouping = answer.question.groupings[0]
    starts, _, _ = grouping.pieces()
    return Counted(starts[: grouping.regular], answer.counts[: grouping.regular].astype(np.float64), answer.noise.sd)


def _reserved(answer: NoisyCounts) -> np.ndarray:
    """Return the counts of the reserved codes."""
    return answer.counts[answer.question.groupings[0].regular :]
