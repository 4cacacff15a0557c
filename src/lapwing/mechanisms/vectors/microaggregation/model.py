"""Private microaggregation: details of wide columns, then means of cells, then one product of simple laws per cell."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.question import MEAN_BITS, CellSums
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.shared.one_way import VALUE_BY_VALUE, public_cells, public_or_expected_rows
from lapwing.mechanisms.shared.vectors.means import (
    CELL_SHARES,
    CellSettings,
    Means,
    cell_questions,
    choose_cells,
    most_cells,
    solve_means,
)
from lapwing.mechanisms.shared.vectors.row_vectors import Projector
from lapwing.mechanisms.shared.vectors.vector_cells import Totals, moment_question, net_cells, noise_edge, totals_of
from lapwing.model.laws import Laws, laws_from_probabilities
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, narrow
from lapwing.schema.groupings.grouping import Grouping, identity, interval_grouping
from lapwing.schema.schemas import Schema

Detail = tuple[Grouping, np.ndarray]
Details = Mapping[str, Detail]

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
            found[name] = interval_grouping(field.domain, np.union1d(inner, public_cells(field, FINE_CELLS).cuts))
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


# -- Ask: details and totals, then counts and sums of cells along the leading directions.

LARGEST: Final = 1 / 3  # part of the largest eigenvalue there can be that tables are known to have


@dataclass(frozen=True, slots=True, eq=False)
class VectorCells:
    """Say how rows become vectors, how these are put into cells, and in which convex set means lie."""

    coordinates: Coordinates
    settings: CellSettings
    project: Projector


def microaggregated_means(
    curator: Curator, schema: Schema, cells: VectorCells, budget: Budget
) -> tuple[Means, Details]:
    """Spend a budget on details and cells; return the cells' weights and means, and shares inside groups.

    Algorithm 2 with other cells and other noise: its steps are those of `paper_means`.
    """
    coordinates, settings, project, terms = cells.coordinates, cells.settings, cells.project, curator.terms
    questions, budget = details_and_rest(schema, coordinates, budget)
    answers = curator.ask(*questions)
    details = detail_shares(answers)
    if asks_totals_alone(coordinates, budget, terms, settings):
        totals = totals_of(curator.ask(*total_questions(coordinates, budget, terms)), terms)
        totals = _with_details(totals, coordinates, answers)
        return Means(np.ones(1), project(totals.mean[None]), totals.rows), details
    of_totals, left = budget.split([settings.one_way_share, 1 - settings.one_way_share])
    totals = totals_of(curator.ask(*total_questions(coordinates, of_totals, terms)), terms)
    totals = _with_details(totals, coordinates, answers)
    costs = left.split(CELL_SHARES)
    if not has_cells(coordinates, costs[0], totals.rows, terms, settings):
        again = totals_of(curator.ask(*total_questions(coordinates, left, terms)), terms)
        pooled = totals.pooled(again)
        return Means(np.ones(1), project(pooled.mean[None]), pooled.rows), details

    (moment,) = curator.ask(moment_question(coordinates, costs[0]))  # S + R
    most = most_cells(coordinates, costs, totals.rows, terms, settings)
    projection = choose_cells(coordinates, moment, totals, most, settings)  # P, and F_1..F_s along its directions
    counts, sums = curator.ask(*cell_questions(coordinates, projection, costs))  # weights; sums, not damped means
    return solve_means(moment, counts, sums, totals, settings=settings, project=project), details


def asks_totals_alone(coordinates: Coordinates, budget: Budget, terms: Terms, settings: CellSettings) -> bool:
    """Tell whether a number of rows that is told in advance leaves nothing to ask but totals: all at once, then."""
    if terms.rows is None and terms.expected_rows is None:
        return False
    _, left = budget.split([settings.one_way_share, 1 - settings.one_way_share])
    return not has_cells(
        coordinates, left.split(CELL_SHARES)[0], float(public_or_expected_rows(terms)), terms, settings
    )


def _with_details(totals: Totals, coordinates: Coordinates, details: Sequence[NoisyCounts]) -> Totals:
    """Return totals pooled with what finer tables say of them."""
    return totals.pooled(totals_of_details(coordinates, details)) if details else totals


def totals_of_details(coordinates: Coordinates, details: Sequence[NoisyCounts]) -> Totals:
    """Return what finer one-way tables say of the totals: infinite deviations where they say nothing.

    details: at least one, of columns that are lists; each group of theirs lies inside one of the coordinates.
    """
    sums, variances = np.zeros(coordinates.size), np.full(coordinates.size, np.inf)
    starts = np.cumsum((0, *coordinates.widths))
    for answer in details:
        place = coordinates.columns.index(answer.question.columns[0])
        (finer,), coarse, width = answer.question.groupings, coordinates.groupings[place], coordinates.widths[place]
        firsts, _, fine = finer.pieces()
        owner = np.zeros(finer.groups, dtype=np.int64)
        owner[fine] = coarse.apply(firsts)
        counts = answer.whole
        block = slice(starts[place], starts[place + 1])
        owner = owner[: counts.size]
        sums[block] = np.bincount(owner, counts, minlength=coarse.groups)[:width]
        variances[block] = np.bincount(owner, minlength=coarse.groups)[:width] * answer.noise.sd**2
    cells = sum(answer.whole.size for answer in details)
    total = sum(float(answer.whole.sum()) for answer in details) / len(details)
    return Totals(total, math.sqrt(cells) * details[0].noise.sd / len(details), sums, np.sqrt(variances))


def total_questions(coordinates: Coordinates, cost: Budget, terms: Terms) -> tuple[CellSums, ...]:
    """Return the questions for the number of rows, unless it is public, and for the sums of all coordinates."""
    if terms.rows is not None:
        return (CellSums(coordinates=coordinates, projection=None, summed="vectors", cost=cost),)
    blocks = max(1, coordinates.row_norm // coordinates.unit)
    of_rows, of_sums = cost.split([1, blocks])
    return (
        CellSums(coordinates=coordinates, projection=None, summed="rows", cost=of_rows),
        CellSums(coordinates=coordinates, projection=None, summed="vectors", cost=of_sums),
    )


def has_cells(coordinates: Coordinates, cost: Budget, rows: float, terms: Terms, settings: CellSettings) -> bool:
    """Tell whether a second moment is worth its cost: not if noise alone passes what the largest eigenvalue may be."""
    columns = len(coordinates.columns)
    if columns < 2 or settings.directions is not None:
        return columns > 1 and bool(settings.directions)
    question = moment_question(coordinates, cost)
    sd = question.noise(terms.relation, terms.max_rows).sd / question.scale / rows
    return noise_edge(coordinates.size, sd) < LARGEST * (columns - 1)


# -- The same with the paper's constants.


def paper_questions(coordinates: Coordinates, budget: Budget) -> tuple[SecondMoment, tuple[Budget, Budget]]:
    """Return the question for the second moment with the paper's constants, and what counts and means cost."""
    of_moment, of_rows, of_means = budget.split([1, 1, 1])
    question = SecondMoment(coordinates=coordinates, diagonal=True, bound="paper", cost=of_moment)
    return question, (of_rows, of_means)


def paper_means(curator: Curator, coordinates: Coordinates, budget: Budget, damping: int, project: Projector) -> Means:
    """Return the weights and damped means of Algorithm 2, with its constants."""
    rows = curator.terms.rows
    assert rows is not None
    question, (of_rows, of_means) = paper_questions(coordinates, budget)
    (moment,) = curator.ask(question)  # steps 2 and 4: S + R
    products = np.zeros((coordinates.size, coordinates.size))
    first, second = question.pairs
    products[first, second] = moment.values / (question.scale * max(1, rows))
    products[second, first] = products[first, second]

    projection = net_cells(coordinates, products, rows)  # steps 3 and 5 to 7: t, P, the net v_1..v_s, F_1..F_s
    counts, means = curator.ask(  # steps 9 to 11: w + rho, and the damped means y_j + r_j
        CellSums(coordinates=coordinates, projection=projection, summed="rows", cost=of_rows),
        CellSums(coordinates=coordinates, projection=projection, summed="damped means", damping=damping, cost=of_means),
    )
    # Steps 12 and 13: the projections of weights on the simplex, and of means on K.
    weights = project_to_simplex(counts.values, 1.0 * max(1, rows)) / max(1, rows)
    return Means(weights, project(means.values / 2.0**MEAN_BITS), float(max(1, rows)))


# -- From weighted means of rows to a released model: one product atom per mean.


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
