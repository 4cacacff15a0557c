"""A model by private microaggregation: details of wide columns, then means of cells, then one product per cell."""

import math
from dataclasses import dataclass
from typing import Final

from lapwing.budget.budget import Budget
from lapwing.mechanisms.steps.group_details import (
    detail_groupings,
    detail_questions,
    detail_share,
    detail_shares,
    pieces_of,
)
from lapwing.mechanisms.steps.microaggregated_means import (
    CELL_SHARES,
    CellSettings,
    cell_questions,
    has_cells,
    microaggregated_means,
    most_cells,
)
from lapwing.mechanisms.steps.row_vectors import Projector, projector, row_coordinates
from lapwing.mechanisms.steps.vector_model import means_as_model
from lapwing.mechanisms.steps.vector_totals import moment_question, total_questions
from lapwing.release.cell_sums import CellSums
from lapwing.release.coordinates import Coordinates
from lapwing.release.curator import Curator
from lapwing.release.model import ReleasedModel
from lapwing.release.questions import MarginalCounts
from lapwing.release.second_moment import SecondMoment
from lapwing.release.terms import Terms
from lapwing.schema.schemas import Schema

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
    """Return the questions of `microaggregated_means`, with one cell in place of those that answers choose.

    Parameters
    ----------
    coordinates : Coordinates
    budget : Budget
        What details left.
    terms : Terms
    settings : CellSettings
    rows : float
        Expected.

    Returns
    -------
    questions : tuple of SecondMoment or CellSums
    most : float
        Most cells that the noise allows.
    """
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
    """Spend a budget on details and cells, and return one product of simple laws per cell.

    Parameters
    ----------
    curator : Curator
        Answers.
    schema : Schema
        Of the table.
    cells : VectorCells
        How rows become vectors, and these cells.
    budget : Budget
        Spent exactly.

    Returns
    -------
    ReleasedModel
    """
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
