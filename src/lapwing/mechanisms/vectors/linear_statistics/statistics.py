"""Linear statistics: what is asked, what each question is on points, what its noisy answer says, and what it proves.

A question is a linear map: on points with a density h, its statistics are A h. So are the questions that place the
points, which is why the fit can use their answers too.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, row_sensitivity
from lapwing.kernel.plain import MAX_CELLS
from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.linear_statistics.question import (
    LinearStatistics,
    RowStatistic,
    Statistic,
    largest_change,
)
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.terms import Terms
from lapwing.maths.noise_tails import sum_tail
from lapwing.mechanisms.vectors.linear_statistics.points import one_way_groupings, points_of
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.statements import SHARE, STATISTIC, Statement
from lapwing.model.model import ReleasedModel
from lapwing.model.statistics.expressions import RowFunction, compile_statistic
from lapwing.rows.out.decode import records
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema
from lapwing.schema.values import labels

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Points = Mapping[str, np.ndarray]
WorkloadQuestion = MarginalCounts | LinearStatistics

MOST_TABLES: Final = 5000  # most marginal tables: the noise on each cell grows with their number
MOST_ENTRIES: Final = 2**27  # most numbers of the matrix of statistics on points: 12 bytes each
MOST_PRODUCTS: Final = 2**24  # most entries of the matrix of products; more would take longer than they are worth
LEAST_NOISE: Final = 0.01  # less noise than this, in records, counts as so much


def workload_questions(
    schema: Schema, shape: tuple[int, int, int], statistics: Sequence[str | RowFunction], budget: Budget, terms: Terms
) -> tuple[WorkloadQuestion, ...]:
    """Return the questions for F, with the same noise on each statistic, or refuse more than there may be.

    shape: of how many columns the tables are, about how many groups an ordered column has, and the number of points;
    budget: spent exactly: pure ε in proportion to the L1 sensitivities, ρ to the squared L2 sensitivities. Returns the
    tables in order, then the other statistics, then the number of rows where it is private and no table has it.
    """
    degree, bins, points = shape
    degree, groupings = min(degree, len(schema.columns)), one_way_groupings(schema, bins)
    if degree == 0 and not statistics:
        raise ParameterError(
            "degree=0 asks for no table, and there are no statistics; give one of the two", code="LW316"
        )
    count = math.comb(len(groupings), degree) if degree else 0
    if count > MOST_TABLES:
        raise CapacityError(
            f"degree={degree} over {len(groupings)} columns is {count} tables, above {MOST_TABLES}; use a smaller "
            "degree, fewer columns or another mechanism",
            code="LW504",
        )
    tables = tuple(itertools.combinations(groupings, degree)) if degree else ()
    chosen = tuple(compile_statistic(each, schema) for each in statistics)
    size = sum(math.prod(groupings[name].groups for name in columns) for columns in tables) + len(chosen)
    entries = points * (len(tables) + len(chosen))
    if size > MAX_CELLS or entries > MOST_ENTRIES:
        raise CapacityError(
            f"the workload has {size} statistics and {entries} entries on its points, above {MAX_CELLS} and "
            f"{MOST_ENTRIES}; use fewer bins, points or columns, or a smaller degree",
            code="LW504",
        )
    # Sensitivity of F: 1 for each table (replace-one: 2), and of the others what their own bounds allow.
    is_pure, of_row = budget.notion == "pure", row_sensitivity(terms.relation, 1)
    shares = [Fraction(of_row.l1 if is_pure else of_row.l2_squared)] * len(tables)
    if chosen:
        changes = [Fraction(largest_change(f.lower, f.upper, terms.relation), 1 << f.bits) for f in chosen]
        shares.append(sum((change if is_pure else change**2 for change in changes), Fraction(0)))
    if terms.rows is None and not tables:
        shares.append(Fraction(1))
    costs = iter(budget.split(shares))
    asked: list[WorkloadQuestion] = [
        MarginalCounts(columns=columns, groupings=tuple(groupings[name] for name in columns), cost=next(costs))
        for columns in tables
    ]
    if chosen:
        names = tuple(dict.fromkeys(name for f in chosen for name in f.columns))
        exact = tuple(identity(schema.field(name).domain) for name in names)
        asked.append(LinearStatistics(columns=names, groupings=exact, statistics=chosen, cost=next(costs)))
    return *asked, *(MarginalCounts(columns=(), groupings=(), cost=cost) for cost in costs)


def of_workload(
    every: Sequence[Any], schema: Schema, degree: int, rows: int | None, *, has_statistics: bool
) -> tuple[Any, ...]:
    """Return those of all questions, or answers, that are the workload's: the last ones."""
    tables = math.comb(len(schema.columns), min(degree, len(schema.columns))) if degree else 0
    return tuple(every[-(tables + has_statistics + (rows is None and not tables)) :])


def unit_of(questions: Sequence[WorkloadQuestion]) -> str:
    """Return what errors are measured in: shares of the rows, unless a statistic has other values than from 0 to 1."""
    chosen = [f for each in questions if isinstance(each, LinearStatistics) for f in each.statistics]
    return SHARE if all(f.lower >= 0 and f.upper <= 1 << f.bits for f in chosen) else STATISTIC


# -- What a question is on points.


def statistics_on(question: object, points: Points, schema: Schema) -> "csr_array | None":
    """Return A of a question: each of its statistics on each point, shape (q, m); None where it is no linear map.

    Sums inside cells of the data's directions are not linear, and the number of rows is the same on all points.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - scipy is imported lazily

    count = len(next(iter(points.values())))
    match question:
        case MarginalCounts(columns=columns) if columns:
            groups = [grouping.apply(points[name]) for name, grouping in zip(columns, question.groupings, strict=True)]
            cell = np.ravel_multi_index(tuple(each.astype(np.int64) for each in groups), question.shape)
            return csr_array((np.ones(count), (cell, np.arange(count))), shape=(math.prod(question.shape), count))
        case LinearStatistics(statistics=chosen):
            needs_records = any(isinstance(f, RowStatistic) and f.function for f in chosen)
            listed = list(records(points, schema)) if needs_records else []
            return csr_array(np.stack([_values_on(f, points, listed) / (1 << f.bits) for f in chosen]))
        case CellSums(projection=None, summed="vectors"):
            return csr_array(question.coordinates.vectors(points).T / question.coordinates.unit)
        case SecondMoment() if math.prod(question.shape) * count <= MOST_PRODUCTS:
            vectors = question.coordinates.vectors(points) / question.coordinates.unit
            first, second = question.pairs
            return csr_array((vectors[:, first] * vectors[:, second]).T)
    return None


def _values_on(f: Statistic | RowStatistic, points: Points, listed: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return a statistic on every point, in its own units; not a number where its function is not at hand."""
    if isinstance(f, Statistic):
        return f.values(points)
    if f.function is None:
        return np.full(len(next(iter(points.values()))), np.nan)
    return f.values_of_records(map(dict, listed))


def noisy_means(answer: NoisyCounts | NoisySums, rows: float) -> np.ndarray:
    """Return the noisy mean of each statistic of a question over a number of rows: ndarray of float64, shape (q,)."""
    sums = answer.counts if isinstance(answer, NoisyCounts) else answer.values / answer.question.scale
    return sums.ravel() / rows


def stack(maps: Sequence["csr_array"], targets: Sequence[np.ndarray]) -> "tuple[csr_array, np.ndarray]":
    """Return several maps, and what answers say of each, as one."""
    from scipy.sparse import csr_array, vstack  # noqa: PLC0415 - scipy is imported lazily

    return csr_array(vstack(maps, format="csr")), np.concatenate(targets)


def weighted_statistics(
    answers: Sequence[Answer], points: Points, schema: Schema, noise: tuple[float, float]
) -> "tuple[csr_array, np.ndarray] | None":
    """Return what the answers that place the points say for the fit too; None where that is nothing.

    noise: standard deviation, in records, that a statistic of weight 1 has, and the number of rows, at least 1. Both
    A (q, m) and b (q,) are divided by how much larger the noise of each statistic is: in a sum of squared errors they
    weigh by their precision.
    """
    sd, rows = noise
    maps, targets = [], []
    for answer in answers:
        found = statistics_on(answer.question, points, schema)
        if found is not None and isinstance(answer, NoisyCounts | NoisySums):
            weight = sd / max(answer.tables[0].sd, sd / 8)
            maps.append(found * weight)
            targets.append(noisy_means(answer, rows) * weight)
    return stack(maps, targets) if maps else None


# -- What the answers to a workload say, and how far that can be from the truth.


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredStatistics:
    """Hold the noisy statistics of a workload.

    answers: to tables, then to other statistics; rows: the number n of rows, public, or the mean of the totals of some
    tables, which may be 0 or less; pooled: the noise on each cell of those tables, their cells and their number; None
    where n is public.
    """

    answers: tuple[NoisyCounts | NoisySums, ...]
    rows: float
    pooled: tuple[NoiseLaw, int, int] | None = None

    @property
    def questions(self) -> tuple[Any, ...]:
        """What was asked."""
        return tuple(answer.question for answer in self.answers)

    @property
    def least_rows(self) -> float:
        """The number of rows, at least 1."""
        return max(1.0, self.rows)

    @property
    def sd(self) -> float:
        """The standard deviation, in records, of the noise on each statistic."""
        return max(self.answers[0].tables[0].sd, LEAST_NOISE)

    def targets(self) -> np.ndarray:
        """Return b, the noisy mean of every statistic: ndarray of float64, shape (q,)."""
        return np.concatenate([noisy_means(answer, 1.0) for answer in self.answers]) / self.least_rows

    def program(self, points: Points, schema: Schema) -> "tuple[csr_array, np.ndarray]":
        """Return A and b: every statistic on every point, and its noisy mean."""
        return stack([self._map(each, points, schema) for each in self.questions], [self.targets()])

    def means(self, model: ReleasedModel, schema: Schema) -> np.ndarray:
        """Return A h without A: the mean of every statistic over released rows."""
        points, h = points_of(model), model.weights / model.weights.sum()
        return np.concatenate([self._map(each, points, schema) @ h for each in self.questions])

    def _map(self, question: WorkloadQuestion, points: Points, schema: Schema) -> "csr_array":
        found = statistics_on(question, points, schema)
        assert found is not None
        return found

    def errors(self, means: np.ndarray, failure: Fraction) -> np.ndarray:
        """Return for every statistic a bound on its error that holds for all of them at once, but with probability γ.

        means: float64 (q,), of every statistic over released rows; failure: γ. Returns float64 (q,), at most the width
        of each statistic's bounds.

        With ñ the number of rows and Z the noise: ``|c/n - c̃/ñ| <= (|Z_f| + |Z_n|) / ñ``, as ``|c| <= n``. Each noise
        value passes its K with probability at most ``γ / |F|``, or ``γ / (|F| + 1)`` where n is noisy too. It needs no
        assumption on table, points or solver; post-processing, so free.

        Not in Boedihardjo, Strohmer, Vershynin, whose Theorem 2.3 bounds the error in advance and under assumptions.
        """
        tables = [answer.tables[0] for answer in self.answers]
        each = failure / (sum(table.counts.size for table in tables) + (self.pooled is not None))
        widths = np.concatenate([_widths(question) for question in self.questions])
        if self.rows <= 0.0:
            return widths
        z_f = np.concatenate(
            [np.full(t.counts.size, sum_tail(t.noise.kind, t.noise.parameter, 1, each) / t.scale) for t in tables]
        )
        z_n = 0.0
        if self.pooled is not None:
            law, cells, count = self.pooled
            z_n = sum_tail(law.kind, law.parameter, cells, each) / count
        noisy = np.concatenate([noisy_means(answer, 1.0) for answer in self.answers]) / self.rows
        return np.asarray(np.minimum(np.abs(noisy - means) + (z_f + z_n) / self.rows, widths))


def _widths(question: WorkloadQuestion) -> np.ndarray:
    """Return how wide the bounds of each statistic are."""
    if isinstance(question, LinearStatistics):
        return np.array([upper - lower for lower, upper in question.bounds()]) / question.scale
    return np.ones(math.prod(question.shape))


def statistics_of(answers: Sequence[Any], public_rows: int | None) -> MeasuredStatistics:
    """Return what the answers to a workload say, of the number of rows too.

    It is the mean total of the tables with the fewest cells, as many as make its variance smallest. Which these are
    depends on no answer.
    """
    asked = tuple(answer for answer in answers if answer.question.columns)
    if public_rows is not None:
        return MeasuredStatistics(asked, float(public_rows))
    counted = sorted((each for each in answers if isinstance(each, NoisyCounts)), key=lambda each: each.counts.size)
    cells = np.cumsum([answer.counts.size for answer in counted])
    best = int(np.argmin(cells / np.arange(1.0, cells.size + 1.0) ** 2)) + 1
    total = sum(int(answer.counts.sum()) for answer in counted[:best])
    return MeasuredStatistics(asked, total / best, (counted[0].noise, int(cells[best - 1]), best))


# -- The a-posteriori certificate: it holds whatever was assumed.

MOST_LINES: Final = 200  # with more tables than this the certificate has one line for all of them


def certified_statements(found: MeasuredStatistics, bounds: np.ndarray, confidence: float) -> tuple[Statement, ...]:
    """Return the certificate's lines: over all statistics, for each of up to 200 tables, for each other statistic."""
    said = {"confidence": confidence}
    lines = [Statement("certified_error", float(bounds.max()), {**said, "unit": unit_of(found.questions)})]
    has_lines = sum(not isinstance(each, LinearStatistics) for each in found.questions) <= MOST_LINES
    ends = np.cumsum([answer.tables[0].counts.size for answer in found.answers])
    for question, part in zip(found.questions, np.split(bounds, ends[:-1]), strict=True):
        if isinstance(question, LinearStatistics):
            for each, bound in zip(question.statistics, part, strict=True):
                lines.append(Statement("certified_error_of_statistic", float(bound), {"statistic": each.text, **said}))
        elif has_lines:
            lines.append(
                Statement("certified_error_of_table", float(part.max()), {"columns": question.columns, **said})
            )
    return tuple(lines)


def certified_means(
    schema: Schema,
    certificate: Certificate,
    answers: Sequence[Answer],
    model: ReleasedModel,
    confidence: float,
) -> dict[str, Sequence[object]]:
    """Return the columns of ``Release.certified_errors``, from what a release keeps."""
    settings: Any = certificate.settings
    rows, has_statistics = certificate.public_rows, bool(settings["statistics"])
    found = statistics_of(of_workload(answers, schema, settings["degree"], rows, has_statistics=has_statistics), rows)
    means = found.means(model, schema)
    return {
        "statistic": [text for question in found.questions for text in _texts_of(question, schema)],
        "noisy": found.targets().tolist(),
        "released": means.tolist(),
        "largest_error": found.errors(means, 1 - Fraction(str(confidence))).tolist(),
    }


def _texts_of(question: WorkloadQuestion, schema: Schema) -> Iterator[str]:
    """Yield what each statistic of a question is called."""
    if isinstance(question, LinearStatistics):
        yield from (each.text for each in question.statistics)
        return
    both = zip(question.columns, question.groupings, strict=True)
    for cell in itertools.product(*(labels(grouping, schema.field(name)) for name, grouping in both)):
        yield ", ".join(f"{name}={label}" for name, label in zip(question.columns, cell, strict=True))
