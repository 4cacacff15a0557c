"""One-way tables of all columns: value by value, or, for wide ones, in cells that become finer where rows are."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.mechanisms.steps.one_way import pooled_total
from lapwing.mechanisms.steps.public_cells import FIRST_CELLS, finer_cells, is_refined, public_cells
from lapwing.mechanisms.steps.resolved_columns import OneWayTable, one_way_table
from lapwing.numerics.refinement import Counted, cell_deviation, least_squares_counts, settled_masses, wanted_parts
from lapwing.numerics.simplex import project_to_simplex
from lapwing.release.curator import Curator
from lapwing.release.questions import MarginalCounts, NoisyCounts
from lapwing.schema.fields import Field
from lapwing.schema.groupings import Grouping, cut, identity
from lapwing.schema.schemas import Schema

STAGES = 2
"""How often a wide column is counted, each time with the same part of its budget."""

_WORTH_DEVIATIONS = 6.0  # a part is worth counting if it holds so many standard deviations of the noise
_MOST_PARTS = 128


def first_grouping(field: Field) -> Grouping:
    """Return the cells in which a column is counted first."""
    return public_cells(field, FIRST_CELLS) if is_refined(field) else identity(field.domain)


def stage_questions(schema: Schema, costs: Sequence[Budget]) -> tuple[MarginalCounts, ...]:
    """Return the questions of all stages, for a plan: cells of later stages stand as those of the first.

    Parameters
    ----------
    schema : Schema
        Gives the columns.
    costs : sequence of Budget
        One per column.
    """
    first = [_question(field, first_grouping(field), cost) for field, cost in zip(schema.columns, costs, strict=True)]
    wide = [each for each, field in zip(first, schema.columns, strict=True) if is_refined(field)]
    return (*first, *(wide * (STAGES - 1)))


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
    cells = [first_grouping(field) for field in columns]
    answers: list[list[NoisyCounts]] = [[] for _ in columns]
    total = 0.0
    refined = [place for place, field in enumerate(columns) if is_refined(field)]
    asked = list(range(len(columns)))
    for stage in range(STAGES):
        questions = [_question(columns[place], cells[place], costs[place]) for place in asked]
        for place, answer in zip(asked, curator.ask(*questions), strict=True):
            answers[place].append(answer)
        total = pooled_total([answer for each in answers for answer in each], curator.terms.rows)
        if not refined or stage == STAGES - 1:
            break
        asked = refined
        for place in refined:
            cells[place] = _next_grouping(columns[place], answers[place], total)
    tables = tuple(
        _refined_table(field, each, total) if is_refined(field) else one_way_table(each)
        for field, each in zip(columns, answers, strict=True)
    )
    return tables, total


@dataclass(frozen=True, slots=True, eq=False)
class _Settled:
    """The masses of a wide column's finest cells, of its reserved codes without misfits, and its stages."""

    stages: tuple[Counted, ...]
    regular: np.ndarray
    reserved: np.ndarray


def _question(field: Field, grouping: Grouping, cost: Budget) -> MarginalCounts:
    """Return one stage of a wide column, or the only table of another."""
    share = cost * Fraction(1, STAGES) if is_refined(field) else cost
    return MarginalCounts(columns=(field.name,), groupings=(grouping,), cost=share)


def _next_grouping(field: Field, answers: Sequence[NoisyCounts], total: float) -> Grouping:
    """Return the cells of the next stage."""
    domain = field.domain
    found = _settled(field, answers, total)
    starts, sd = found.stages[-1].starts, found.stages[-1].sd
    widths = np.diff(np.append(starts, np.int64(domain.values)))
    parts = wanted_parts(found.regular, widths, max(_WORTH_DEVIATIONS * sd, 1.0), _MOST_PARTS)
    return cut(domain, finer_cells(domain, starts, parts)[1:])


def _refined_table(field: Field, answers: Sequence[NoisyCounts], total: float) -> OneWayTable:
    """Return what all stages say of a wide column."""
    found = _settled(field, answers, total)
    return OneWayTable(
        grouping=answers[-1].question.groupings[0],
        counts=answers[-1].counts.astype(np.float64),
        sd=cell_deviation(found.stages),
        masses=np.concatenate((found.regular, found.reserved)),
    )


def _settled(field: Field, answers: Sequence[NoisyCounts], total: float) -> _Settled:
    """Share the rows between the regular codes and the reserved ones, then among the cells of the regular ones."""
    domain = field.domain
    stages = tuple(_counted(answer) for answer in answers)
    kept = domain.reserved if domain.missing else domain.reserved - 1
    reserved = np.mean([_reserved(answer)[:kept] for answer in answers], axis=0)
    regular = least_squares_counts(stages).sum()
    # One known total: what the estimates lack of it is theirs in proportion to their variances.
    spread = np.full(kept + 1, 1.0 / len(stages))
    spread[0] = 1.0 / sum(1.0 / stage.starts.size for stage in stages)
    estimates = np.concatenate(([regular], reserved))
    masses = project_to_simplex(estimates + (total - estimates.sum()) * spread / spread.sum(), total)
    return _Settled(stages, settled_masses(stages, domain.values, float(masses[0])), masses[1:])


def _counted(answer: NoisyCounts) -> Counted:
    """Return the regular cells of an answer."""
    grouping = answer.question.groupings[0]
    starts, _, _ = grouping.pieces()
    return Counted(starts[: grouping.regular], answer.counts[: grouping.regular].astype(np.float64), answer.noise.sd)


def _reserved(answer: NoisyCounts) -> np.ndarray:
    """Return the counts of the reserved codes."""
    return answer.counts[answer.question.groupings[0].regular :]
