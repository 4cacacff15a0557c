"""A model by private microaggregation: details of wide columns, then means of cells, then one product per cell."""

import math
from collections.abc import Mapping, Sequence
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
from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.shared.one_way import VALUE_BY_VALUE, public_cells
from lapwing.mechanisms.shared.vectors.means import (
    CELL_SHARES,
    CellSettings,
    Means,
    VectorCells,
    asks_totals_alone,
    cell_questions,
    has_cells,
    microaggregated_means,
    most_cells,
)
from lapwing.mechanisms.shared.vectors.row_vectors import projector, row_coordinates
from lapwing.mechanisms.shared.vectors.vector_cells import moment_question, total_questions
from lapwing.model.laws import Laws, laws_from_probabilities
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, narrow, whole_rows
from lapwing.schema.groupings.grouping import Grouping, cut, identity
from lapwing.schema.schemas import Schema

# -- What lies inside the groups of wide columns: finer noisy one-way tables, asked apart.


FINE_CELLS: Final = 128  # about how many cells a wide ordered column is counted in
DETAIL_SHARE: Final = Fraction(3, 10)  # part of the budget for details if every column has them; less in proportion


def detail_groupings(schema: Schema, coordinates: Coordinates) -> dict[str, Grouping]:
    """Return finer public groups of the columns whose groups hold several values; each lies inside one group."""
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
    """Return the finer groups of each answer, and the masses of the regular ones: noisy counts on a simplex."""
    found = {}
    for answer in answers:
        (grouping,) = answer.question.groupings
        counts = answer.counts.astype(np.float64)
        masses = project_to_simplex(counts, max(1.0, float(counts.sum())))
        found[answer.question.columns[0]] = (grouping, masses[: grouping.regular])
    return found


INTERVALS: Final = 16  # about how many intervals a wide ordered column is a list of, where nothing else is asked for
MOST_PIECES: Final = 2**20  # most pieces of the laws of all atoms of a release: 32 bytes each


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
    if asks_totals_alone(coordinates, budget, terms, settings):
        return total_questions(coordinates, budget, terms), 1.0
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
    answers = curator.ask(*questions)
    found = microaggregated_means(curator, cells, left, answers)
    rows, details = curator.terms.rows, detail_shares(answers)
    return means_as_model(schema, cells.coordinates, found, whole_rows(found.rows) if rows is None else rows, details)


def box_cells(schema: Schema) -> VectorCells:
    """Return what microaggregation works with where nothing is asked for: intervals inside the schema's bounds."""
    coordinates = row_coordinates(schema, "intervals", INTERVALS)
    settings = CellSettings(most_cells=fitting_cells(schema, coordinates))
    return VectorCells(coordinates, settings, projector(coordinates))


# -- From weighted means of rows to a released model: one product atom per mean.


Detail = tuple[Grouping, np.ndarray]
Details = Mapping[str, Detail]


def means_as_model(
    schema: Schema, coordinates: Coordinates, found: Means, rows: int, details: Details
) -> ReleasedModel:
    """Return one atom per mean with a positive weight: randomised rounding, column by column."""
    full = np.flatnonzero(found.weights > 0)
    starts = np.cumsum([0, *coordinates.widths])
    laws: dict[str, ColumnLaw] = {}
    for place, name in enumerate(coordinates.columns):
        block = found.means[full, starts[place] : starts[place + 1]]
        if coordinates.kinds[place] == "list":
            laws[name] = _indexed(
                _list_laws(coordinates.groupings[place], coordinates.listed[place], block, details.get(name))
            )
        else:
            laws[name] = _line_law(schema, coordinates, place, block)
    return ReleasedModel(weights=found.weights[full].astype(np.float64), rows=rows, laws=laws)


def _line_law(schema: Schema, coordinates: Coordinates, place: int, block: np.ndarray) -> ColumnLaw:
    """Return the law of a column on a line, in every atom."""
    listed = coordinates.listed[place]
    share = (block[:, 0] + 1.0) / 2.0 if coordinates.coding == "centred" else block[:, 0]
    values = schema.field(coordinates.columns[place]).domain.values
    if values == 2 and not listed:
        return Bernoulli(np.clip(share, 0.0, 1.0))
    return _indexed(_line_laws(values, block, coordinates.coding == "centred"))


def _indexed(laws: Laws) -> Indexed:
    """Give each atom the law of its own place."""
    return Indexed(narrow(np.arange(laws.count)), laws)


def _list_laws(grouping: Grouping, listed: int, block: np.ndarray, detail: Detail | None) -> Laws:
    """Return the laws with these probabilities of groups, inside each as the details say or uniform."""
    mass = np.zeros((len(block), grouping.groups))
    mass[:, : grouping.regular + listed] = np.clip(block, 0.0, 1.0)
    mass[mass.sum(axis=1) <= 0.0, : grouping.regular] = 1.0
    starts, stops, group = grouping.pieces()
    inside = (stops - starts).astype(np.float64)
    if detail is not None:
        finer, masses = detail
        starts, stops, fine = finer.pieces()
        lengths = (stops - starts).astype(np.float64)
        group = grouping.apply(starts)
        even = lengths / np.bincount(group, lengths, minlength=grouping.groups)[group]
        known = np.append(masses, np.zeros(finer.reserved))[fine]
        known *= lengths / np.bincount(fine, lengths, minlength=finer.groups)[fine]
        is_known = np.bincount(group, known, minlength=grouping.groups)[group] > 0.0
        inside = np.where(is_known, known, even)
    share = inside / np.bincount(group, inside, minlength=grouping.groups)[group]
    return laws_from_probabilities(starts, stops, mass[:, group] * share)


def _line_laws(values: int, block: np.ndarray, is_centred: bool) -> Laws:
    """Return points at the nearest codes to means of regular values, and the listed codes with their shares.

    The line's coordinate sums the regular rows only, so their mean is it divided by their share.
    """
    listed = np.clip(block[:, 1:], 0.0, 1.0)
    listed /= np.maximum(listed.sum(axis=1, keepdims=True), 1.0)
    regular = np.maximum(1.0 - listed.sum(axis=1), 1e-9)
    place = np.clip(block[:, 0] / regular, -1.0 if is_centred else 0.0, 1.0)
    codes = np.rint((place + 1.0) / 2.0 * (values - 1) if is_centred else place * (values - 1)).astype(np.int64)
    pieces = np.concatenate(
        (codes[:, None], np.broadcast_to(values + np.arange(listed.shape[1]), listed.shape)), axis=1
    )
    masses = np.concatenate((regular[:, None], listed), axis=1)
    kept = masses > 1e-12
    masses = np.where(kept, masses, 0.0)
    masses /= masses.sum(axis=1, keepdims=True)
    offsets = np.concatenate(([0], np.cumsum(kept.sum(axis=1))))
    return Laws(offsets, pieces[kept], pieces[kept] + 1, masses[kept])
