"""A workload of linear statistics: all marginal tables of some degree, and statistics of one's own."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import row_sensitivity
from lapwing.kernel.plain import MAX_CELLS
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.linear_statistics.question import (
    LinearStatistics,
    RowStatistic,
    Statistic,
    largest_change,
)
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.terms import Relation
from lapwing.mechanisms.shared.one_way import is_refined, public_cells
from lapwing.mechanisms.vectors.linear_statistics.reduced_space import ONE_WAY_GROUPS, one_way_groupings
from lapwing.model.certificate.statements import SHARE, STATISTIC
from lapwing.model.model import ColumnLaw, ReleasedModel, Spans
from lapwing.model.statistics.expressions import RowFunction, compiled
from lapwing.rows.out.decode import records
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, cut, identity
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    from scipy.sparse import csr_array


MOST_TABLES: Final = 5000  # most marginal tables: the noise on each cell grows with their number
MOST_ENTRIES: Final = 2**27  # most numbers of the matrix of statistics on points: 12 bytes each


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Hold what is asked of a table."""

    groupings: Mapping[str, Grouping]
    tables: tuple[tuple[str, ...], ...]
    statistics: tuple[Statistic | RowStatistic, ...]

    @property
    def size(self) -> int:
        """Number of statistics |F|: the cells of all tables, and the others."""
        return sum(map(self.cells, self.tables)) + len(self.statistics)

    @property
    def unit(self) -> str:
        """What errors are measured in: shares of the rows, unless a statistic has other values than from 0 to 1."""
        return SHARE if all(each.lower >= 0 and each.upper <= 1 << each.bits for each in self.statistics) else STATISTIC

    def cells(self, columns: tuple[str, ...]) -> int:
        """Return the number of cells of a table."""
        return math.prod(self.groupings[name].groups for name in columns)

    def counts_rows(self, rows: int | None) -> bool:
        """Tell whether the number of rows has to be asked for."""
        return not self.tables and rows is None

    def questions(
        self, schema: Schema, budget: Budget, relation: Relation, rows: int | None
    ) -> tuple[MarginalCounts | LinearStatistics, ...]:
        """Return the questions, with the same noise on each statistic.

        budget: spent exactly: pure ε in proportion to the L1 sensitivities, ρ to the squared L2 sensitivities; rows:
        the public number of rows; without one it is asked for where no table has it. Returns the tables in order, then
        the statistics, then the number of rows.
        """
        of_table = row_sensitivity(relation, 1)
        shares = [Fraction(of_table.l1 if budget.notion == "pure" else of_table.l2_squared)] * len(self.tables)
        if self.statistics:
            changes = [
                Fraction(largest_change(each.lower, each.upper, relation), 1 << each.bits) for each in self.statistics
            ]
            shares.append(sum(change if budget.notion == "pure" else change**2 for change in changes) + Fraction(0))
        if self.counts_rows(rows):
            shares.append(Fraction(1))
        costs = budget.split(shares)
        asked: list[MarginalCounts | LinearStatistics] = [
            MarginalCounts(columns=columns, groupings=tuple(self.groupings[name] for name in columns), cost=cost)
            for columns, cost in zip(self.tables, costs, strict=False)
        ]
        if self.statistics:
            asked.append(self._statistics_question(schema, costs[len(self.tables)]))
        if self.counts_rows(rows):
            asked.append(MarginalCounts(columns=(), groupings=(), cost=costs[-1]))
        return tuple(asked)

    def _statistics_question(self, schema: Schema, cost: Budget) -> LinearStatistics:
        """Return the question for the statistics."""
        columns = tuple(dict.fromkeys(name for each in self.statistics for name in each.columns))
        return LinearStatistics(
            columns=columns,
            groupings=tuple(identity(schema.field(name).domain) for name in columns),
            statistics=self.statistics,
            cost=cost,
        )

    def matrix(self, points: Mapping[str, np.ndarray], schema: Schema) -> "csr_array":
        """Return every statistic on every point."""
        from scipy.sparse import csr_array, vstack  # noqa: PLC0415 - scipy is imported lazily

        count = len(next(iter(points.values())))
        groups = {name: grouping.apply(points[name]).astype(np.int64) for name, grouping in self.groupings.items()}
        rows, first = [], 0
        for columns in self.tables:
            shape = tuple(self.groupings[name].groups for name in columns)
            rows.append(first + np.ravel_multi_index(tuple(groups[name] for name in columns), shape))
            first += math.prod(shape)
        place = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
        point = np.tile(np.arange(count), len(rows))
        parts = [csr_array((np.ones(place.size), (place, point)), shape=(first, count))] if rows else []
        if self.statistics:
            parts.append(csr_array(self._values(points, schema)))
        return csr_array(vstack(parts, format="csr"))

    def means(self, points: Mapping[str, np.ndarray], weights: np.ndarray, schema: Schema) -> np.ndarray:
        """Return the weighted mean of every statistic: `matrix` times the weights, without the matrix."""
        shares = weights / weights.sum()
        groups = {name: grouping.apply(points[name]).astype(np.int64) for name, grouping in self.groupings.items()}
        found = []
        for columns in self.tables:
            shape = tuple(self.groupings[name].groups for name in columns)
            place = np.ravel_multi_index(tuple(groups[name] for name in columns), shape)
            found.append(np.bincount(place, shares, math.prod(shape)))
        if self.statistics:
            found.append(self._values(points, schema) @ shares)
        return np.concatenate(found)

    def _values(self, points: Mapping[str, np.ndarray], schema: Schema) -> np.ndarray:
        """Return the other statistics on every point: ndarray of float64."""
        needs_records = any(isinstance(each, RowStatistic) and each.function for each in self.statistics)
        listed = list(records(points, schema)) if needs_records else []
        values = [_values_on(each, points, listed) / (1 << each.bits) for each in self.statistics]
        return np.stack(values)


def _values_on(
    each: Statistic | RowStatistic, points: Mapping[str, np.ndarray], listed: Sequence[dict[str, Any]]
) -> np.ndarray:
    """Return a statistic on every point, in its own units; not a number where its function is not at hand."""
    if isinstance(each, Statistic):
        return each.values(points)
    if each.function is None:
        return np.full(len(next(iter(points.values()))), np.nan)
    return each.values_of_records(map(dict, listed))


def make_workload(
    schema: Schema, degree: int, bins: int, statistics: Sequence[str | RowFunction], points: int
) -> Workload:
    """Return the tables of so many columns and the statistics, compiled for a schema."""
    names = [field.name for field in schema.columns]
    degree = min(degree, len(names))
    if degree == 0 and not statistics:
        raise ParameterError(
            "degree=0 asks for no table, and there are no statistics; give one of the two", code="LW316"
        )
    count = math.comb(len(names), degree) if degree else 0
    if count > MOST_TABLES:
        raise CapacityError(
            f"degree={degree} over {len(names)} columns is {count} tables, above {MOST_TABLES}; use a smaller degree, "
            "fewer columns or another mechanism",
            code="LW504",
        )
    tables = tuple(itertools.combinations(names, degree)) if degree else ()
    found = Workload(one_way_groupings(schema, bins), tables, tuple(compiled(each, schema) for each in statistics))
    entries = points * (len(tables) + len(found.statistics))
    if found.size > MAX_CELLS or entries > MOST_ENTRIES:
        raise CapacityError(
            f"the workload has {found.size} statistics and {entries} entries on its points, above {MAX_CELLS} and "
            f"{MOST_ENTRIES}; use fewer bins, points or columns, or a smaller degree",
            code="LW504",
        )
    return found


def answered_workload(schema: Schema, degree: int, bins: int, answers: Sequence[Answer]) -> Workload:
    """Return the workload of a release, from its settings and answers; row functions only where they are at hand."""
    questions = [answer.question for answer in answers]
    statistics = [each.statistics for each in questions if isinstance(each, LinearStatistics)]
    names = [field.name for field in schema.columns]
    tables = tuple(itertools.combinations(names, min(degree, len(names)))) if degree else ()
    return Workload(one_way_groupings(schema, bins), tables, statistics[-1] if statistics else ())


def workload_answers(every: Sequence[object], workload: Workload, rows: int | None) -> tuple[Any, ...]:
    """Return those of all answers, or questions, that are the workload's: the last ones."""
    return tuple(every[-(len(workload.tables) + bool(workload.statistics) + workload.counts_rows(rows)) :])


def noisy_shares(answers: Sequence[NoisyCounts | NoisySums], rows: float) -> np.ndarray:
    """Return the noisy mean of every statistic over a number of rows: ndarray of float64, in the order of `matrix`."""
    parts = [
        answer.counts.ravel() if isinstance(answer, NoisyCounts) else answer.values / answer.question.scale
        for answer in answers
        if answer.question.columns
    ]
    return np.concatenate(parts) / rows


# -- From a density on points of the domain to a released model, and back.


def points_as_model(
    schema: Schema, workload: Workload, points: Mapping[str, np.ndarray], weights: np.ndarray, rows: int
) -> ReleasedModel:
    """Return one atom per point with a positive weight.

    points: mapping of str to int64 (m,), codes; weights: float64 (m,), the density, of sum 1. Returns points; in wide
    ordered columns which the workload sees in groups only, small cells inside those groups, so that synthetic rows are
    not all alike. No statistic of the workload changes by that.
    """
    kept = np.flatnonzero(weights > 0)
    exact = {name for each in workload.statistics for name in each.columns}
    laws: dict[str, ColumnLaw] = {}
    for field in schema.columns:
        codes = points[field.name][kept].astype(np.int64)
        if is_refined(field) and field.name not in exact:
            laws[field.name] = _in_cells(codes, _small_cells(field, workload.groupings[field.name]))
        else:
            laws[field.name] = Spans(codes, codes + 1)
    return ReleasedModel(weights=weights[kept].astype(np.float64), rows=rows, laws=laws)


def points_of(model: ReleasedModel) -> dict[str, np.ndarray]:
    """Return a point of each atom that `points_as_model` made: dict of str to ndarray of int64, shape (k,)."""
    found = {}
    for name, law in model.laws.items():
        assert isinstance(law, Spans)
        found[name] = law.starts.astype(np.int64)
    return found


def _small_cells(field: Field, grouping: Grouping) -> Grouping:
    """Return small cells of a wide column, each inside one group."""
    inner = grouping.pieces()[0][1 : grouping.regular]
    return cut(field.domain, np.union1d(inner, public_cells(field, ONE_WAY_GROUPS).cuts))


def _in_cells(codes: np.ndarray, cells: Grouping) -> Spans:
    """Return the cell of each code."""
    starts, stops, _ = cells.pieces()
    place = np.searchsorted(starts, codes, side="right") - 1
    return Spans(starts[place], stops[place])


def truths(schema: Schema) -> list[str]:
    """Return statistics that say of each column whether something holds: of one value, order, missing and special."""
    found = []
    for field in schema.columns:
        name = f"`{field.name}`"
        if field.type == "boolean":
            found += [name, f"not {name}"]
        elif field.categories is not None:
            found += [f"{name} == {field.categories[0]!r}", f"{name} not in ({field.categories[-1]!r},)"]
        else:
            found += [f"{name} > {field.minimum!r}", f"not {name} <= {field.maximum!r}"]
        found += [f"{name} is None"] * field.domain.missing
        found += [f"{name} == {each!r}" for each in field.special[:1]]
    return [*found, f"{found[0]} or {found[-1]}", f"{found[1]} and not ({found[-1]})"]
