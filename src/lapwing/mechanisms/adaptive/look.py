"""A first look at all pairs of columns where tables of them would drown in noise.

halves -> second moment -> cells -> tables of the halves. What a release of `Microaggregation` counts of columns in two
groups each: one number a pair, and then the means of cells along the directions in which columns vary together. Its
tables of two columns pull the model as those of a prior do.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lapwing.engine.particles import ridge_of
from lapwing.engine.tables import Cells, Factor
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.columns import ResolvedColumn
from lapwing.mechanisms.adaptive.prior import Guide
from lapwing.mechanisms.shared.vectors.means import (
    CELL_SHARES,
    CellSettings,
    Means,
    cell_questions,
    chosen_cells,
    most_cells,
    solved,
)
from lapwing.mechanisms.shared.vectors.row_vectors import projector
from lapwing.mechanisms.shared.vectors.vector_cells import Totals, covariance_of, moment_question, noise_edge
from lapwing.schema.groupings.grouping import Grouping, evenly
from lapwing.schema.schemas import Schema

MOST_COLUMNS = 200  # of which all pairs are multiplied, row by row
LEAST_COLUMNS = 4  # with fewer there is no direction to speak of
LIKELY = 0.2  # part of the largest eigenvalue there can be that columns of a table often have
MOST_LOOKED = 1_200  # tables of halves, the strongest: each is felt in every sweep
_SETTINGS = CellSettings()


def looked(curator: Curator, columns: Sequence[ResolvedColumn], cost: Budget, records: float) -> Guide:
    """Look at the columns whose halves are most even, and return tables that pull.

    Where no direction stands out of the noise there is one cell: then the halves alone are counted once more.
    """
    halves = _halves(columns)
    known = {place: _shares(columns[place], level) for place, level in halves.items()}
    order = sorted(known, key=lambda place: abs(known[place][0] - known[place][1]))
    seen = order[:MOST_COLUMNS]
    wide = _coordinates([(columns[place].name, columns[place].groupings[halves[place]]) for place in seen])
    # Counts that are lower than was expected leave a look at the fewest columns: it is paid for.
    chosen = order[: max(LEAST_COLUMNS, columns_of(wide, cost, records, curator.terms))]
    coordinates = _first(wide, len(chosen))
    sums = np.array([known[place][1] - known[place][0] for place in chosen]) * records
    deviations = np.array([math.sqrt(2) * columns[place].sd for place in chosen])
    totals = Totals(records, 0.0, sums, deviations)
    costs = cost.split(CELL_SHARES)
    (moment,) = curator.ask(moment_question(coordinates, costs[0]))
    most = most_cells(coordinates, costs, records, curator.terms, _SETTINGS)
    projection = chosen_cells(coordinates, moment, totals, most, _SETTINGS)
    counts, of_cells = curator.ask(*cell_questions(coordinates, projection, costs))
    means = solved(moment, counts, of_cells, totals, settings=_SETTINGS, project=projector(coordinates))
    directions = 0 if projection is None else projection.count
    sd = covariance_of(moment, totals).sd * math.sqrt(2 * max(1, directions) / len(chosen))
    return _guide(columns, [(place, halves[place]) for place in chosen], means, sd * records)


def planned_look(schema: Schema, cost: Budget, rows: float, terms: Terms) -> tuple[SecondMoment | CellSums, ...]:
    """Return what a look would ask, as far as the schema tells: halves and cells depend on noisy answers."""
    names = [(column.name, evenly(column.domain, 2)) for column in schema.columns if column.domain.values > 1]
    wide = _coordinates(names[:MOST_COLUMNS])
    count = columns_of(wide, cost, rows, terms)
    if count < LEAST_COLUMNS:
        return ()
    coordinates, costs = _first(wide, count), cost.split(CELL_SHARES)
    return (moment_question(coordinates, costs[0]), *cell_questions(coordinates, None, costs))


def columns_of(wide: Coordinates, cost: Budget, rows: float, terms: Terms) -> int:
    """Return how many of the columns are looked at: as many as may stand out of the noise that their pairs cost."""
    moment = cost.split(CELL_SHARES)[0]

    def drowns(count: int) -> bool:
        question = moment_question(_first(wide, count), moment)
        sd = question.noise(terms.relation, terms.max_rows).sd / rows
        return noise_edge(count, sd) > LIKELY * (count - 1)

    counts = range(LEAST_COLUMNS, len(wide.columns) + 1)
    found = bisect_left(counts, True, key=drowns)  # more columns drown where fewer do
    return counts[found - 1] if found else 0


def _halves(columns: Sequence[ResolvedColumn]) -> dict[int, int]:
    """Return the level of each column that has two groups of regular values."""
    levels = {place: column.coarsest + int(column.has_halves) for place, column in enumerate(columns)}
    return {place: level for place, level in levels.items() if columns[place].groupings[level].regular == 2}


def _shares(column: ResolvedColumn, level: int) -> np.ndarray:
    """Return the shares of the groups of a level."""
    masses = np.bincount(column.axis.levels[level], column.axis.base, column.axis.sizes[level])
    return np.asarray(masses / masses.sum())


def _coordinates(halves: Sequence[tuple[str, Grouping]]) -> Coordinates:
    """Return the map to -1 and 1, and to 0 for what is missing, special or invalid."""
    return Coordinates(
        columns=tuple(name for name, _ in halves),
        groupings=tuple(grouping for _, grouping in halves),
        kinds=tuple("line" for _ in halves),
        listed=tuple(0 for _ in halves),
    )


def _first(wide: Coordinates, count: int) -> Coordinates:
    """Return the first columns alone."""
    return _coordinates(list(zip(wide.columns, wide.groupings, strict=True))[:count])


def _guide(columns: Sequence[ResolvedColumn], halves: Sequence[tuple[int, int]], means: Means, sd: float) -> Guide:
    """Return the tables of two columns that weighted means of rows stand for.

    sd: of the noise that is left in the sum of a product, in records: a quarter of it in each cell.
    """
    axes = [column.axis for column in columns]
    above = (1 + means.means) / 2
    mean = means.weights @ means.means
    covariance = np.abs((means.means * means.weights[:, None]).T @ means.means - np.outer(mean, mean))
    pairs = list(combinations(np.argsort([place for place, _ in halves]).tolist(), 2))
    strongest = sorted(pairs, key=lambda pair: -covariance[pair])[:MOST_LOOKED]
    factors = []
    for one, two in sorted(strongest):
        table: Cells = (halves[one], halves[two])
        joint = np.empty((2, 2))
        joint[1, 1] = means.weights @ (above[:, one] * above[:, two])
        joint[1, 0] = means.weights @ above[:, one] - joint[1, 1]
        joint[0, 1] = means.weights @ above[:, two] - joint[1, 1]
        joint[0, 0] = 1 - joint.reshape(-1)[1:].sum()
        whole = np.outer(*[_shares(columns[place], level) for place, level in table])
        whole[:2, :2] = joint * whole[:2, :2].sum()
        counts = whole.reshape(-1) * means.rows
        ridge = ridge_of(axes, table, counts, sd / 4)
        factors.append(Factor(table=table, theta=np.zeros(counts.size), target=counts, ridge=ridge))
    return Guide(tuple(factors), sd)
