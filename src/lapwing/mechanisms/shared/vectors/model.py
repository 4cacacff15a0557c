"""A model by private microaggregation: details of wide columns, then means of cells, then one product per cell."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.simplex import project_to_simplex
from lapwing.mechanisms.shared.public_cells import VALUE_BY_VALUE, public_cells
from lapwing.mechanisms.shared.vectors.means import (
    CELL_SHARES,
    CellSettings,
    cell_questions,
    has_cells,
    microaggregated_means,
    most_cells,
)
from lapwing.mechanisms.shared.vectors.row_vectors import Projector, projector, row_coordinates
from lapwing.mechanisms.shared.vectors.vector_cells import moment_question, total_questions
from lapwing.mechanisms.shared.vectors.vector_model import means_as_model
from lapwing.model.model import ReleasedModel
from lapwing.schema.groupings.grouping import Grouping, cut, identity
from lapwing.schema.schemas import Schema

# -- What lies inside the groups of wide columns: finer noisy one-way tables, asked apart.


FINE_CELLS: Final = 128
"""About how many cells a wide ordered column is counted in."""

DETAIL_SHARE: Final = Fraction(3, 10)
"""Part of the budget for details if every column has them; less in proportion."""


def detail_groupings(schema: Schema, coordinates: Coordinates) -> dict[str, Grouping]:
    """Return finer public groups of the columns whose groups hold several values; each lies inside one group.

    Returns value by value for categories and up to 512 values, else about 128 cells.
    """
    found = {}
    for name, grouping, kind in zip(coordinates.columns, coordinates.groupings, coordinates.kinds, strict=True):
        field = schema.field(name)
        if kind != "list" or grouping.regular == field.domain.values:
            continue
        if not field.domain.ordered or field.domain.values <= VALUE_BY_VALUE:
            found[name] = identity(field.domain)
        else:
            inner = grouping.pieces()[0][1 : grouping.regular]
            found[name] = cut(field.domain, np.union1d(inner, public_cells(field, FINE_CELLS).cuts))
    return found


def pieces_of(coordinates: Coordinates, details: Mapping[str, Grouping]) -> int:
    """Return of how many pieces the laws of one atom consist, at least 1."""
    both = zip(coordinates.columns, coordinates.groupings, strict=True)
    return sum(details[name].groups if name in details else grouping.groups for name, grouping in both)


def detail_share(details: Mapping[str, Grouping], coordinates: Coordinates) -> Fraction:
    """Return the part of the budget that details cost."""
    return DETAIL_SHARE * Fraction(len(details), len(coordinates.columns))


def detail_questions(details: Mapping[str, Grouping], cost: Budget) -> tuple[MarginalCounts, ...]:
    """Return one question per column with details, at equal costs."""
    return tuple(
        MarginalCounts(columns=(name,), groupings=(grouping,), cost=cost / len(details))
        for name, grouping in details.items()
    )


def detail_shares(answers: Sequence[NoisyCounts]) -> dict[str, tuple[Grouping, np.ndarray]]:
    """Return the finer groups of each answer, and non-negative masses of the regular ones: noisy counts on a simplex.

    Returns dict of str to (Grouping, float64).
    """
    found = {}
    for answer in answers:
        (grouping,) = answer.question.groupings
        counts = answer.counts.astype(np.float64)
        masses = project_to_simplex(counts, max(1.0, float(counts.sum())))
        found[answer.question.columns[0]] = (grouping, masses[: grouping.regular])
    return found


INTERVALS: Final = 16
"""About how many intervals a wide ordered column is a list of, where nothing else is asked for."""

MOST_PIECES: Final = 2**20
"""Most pieces of the laws of all atoms of a release: 32 bytes each."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorCells:
    """Say how rows become vectors, how these are put into cells, and in which convex set means lie."""

    coordinates: Coordinates
    settings: CellSettings
    project: Projector


def fitting_cells(schema: Schema, coordinates: Coordinates) -> int:
    """Return how many cells there may be at most so that the laws of all of them fit in memory."""
    return max(1, MOST_PIECES // pieces_of(coordinates, detail_groupings(schema, coordinates)))


def fixed_cells(coordinates: Coordinates, settings: CellSettings) -> int | None:
    """Return how many cells the settings ask for; None where they leave it open."""
    if settings.bins is None or settings.directions is None:
        return None
    count: int = settings.bins ** min(settings.directions, coordinates.size)
    return count


def details_and_rest(
    schema: Schema, coordinates: Coordinates, budget: Budget
) -> tuple[tuple[MarginalCounts, ...], Budget]:
    """Return the questions for what lies inside groups of wide columns, and the budget that they leave."""
    details = detail_groupings(schema, coordinates)
    if not details:
        return (), budget
    share = detail_share(details, coordinates)
    cost, left = budget.split([share, 1 - share])
    return detail_questions(details, cost), left


def planned_cells(
    coordinates: Coordinates, budget: Budget, terms: Terms, settings: CellSettings, rows: float
) -> tuple[tuple[SecondMoment | CellSums, ...], float]:
    """Return the questions of `microaggregated_means`, with one cell in place of those that answers choose."""
    of_totals, left = budget.split([settings.one_way_share, 1 - settings.one_way_share])
    totals = total_questions(coordinates, of_totals, terms)
    costs = left.split(CELL_SHARES)
    if not has_cells(coordinates, costs[0], rows, terms, settings):
        return (*totals, *total_questions(coordinates, left, terms)), 1.0
    most = fixed_cells(coordinates, settings)
    if most is None:
        most = max(1, math.floor(most_cells(coordinates, costs, rows, terms, settings)))
    return (*totals, moment_question(coordinates, costs[0]), *cell_questions(coordinates, None, costs)), float(most)


def microaggregated_model(curator: Curator, schema: Schema, cells: VectorCells, budget: Budget) -> ReleasedModel:
    """Spend a budget on details and cells, and return one product of simple laws per cell."""
    questions, left = details_and_rest(schema, cells.coordinates, budget)
    details = detail_shares(curator.ask(*questions))
    found = microaggregated_means(curator, cells.coordinates, left, cells.settings, cells.project)
    rows = curator.terms.rows
    return means_as_model(schema, cells.coordinates, found, round(found.rows) if rows is None else rows, details)


def box_cells(schema: Schema) -> VectorCells:
    """Return what microaggregation works with where nothing is asked for: intervals inside the schema's bounds."""
    coordinates = row_coordinates(schema, "intervals", INTERVALS)
    settings = CellSettings(most_cells=fitting_cells(schema, coordinates))
    return VectorCells(coordinates, settings, projector(coordinates))
