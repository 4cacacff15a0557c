"""The a-posteriori certificate: how far statistics of released rows can be from the table's, whatever was assumed."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.maths.noise_tails import sum_tail
from lapwing.mechanisms.vectors.linear_statistics.workload import (
    Workload,
    answered_workload,
    noisy_shares,
    points_of,
    workload_answers,
)
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.schema.schemas import Schema
from lapwing.schema.values import labels

WorkloadAnswer = NoisyCounts | NoisySums

MOST_LINES: Final = 200  # with more tables than this the certificate has one line for all of them


@dataclass(frozen=True, slots=True)
class NoisyRows:
    """Hold a number of rows: public, or the mean of the totals of some noisy tables.

    value: as released; may be 0 or less where it is noisy; law: of the noise on each cell; None where the number is
    public; terms, tables: cells that are added up, and the number of tables that the sum is divided by.
    """

    value: float
    law: NoiseLaw | None = None
    terms: int = 0
    tables: int = 1

    def error(self, failure: Fraction) -> float:
        """Return how far the number is from the true one, but with this probability."""
        if self.law is None:
            return 0.0
        return sum_tail(self.law.kind, self.law.parameter, self.terms, failure) / self.tables


def noisy_rows(answers: Sequence[WorkloadAnswer], public: int | None) -> NoisyRows:
    """Return the number of rows that the tables of a workload tell.

    Returns the mean total of the tables with the fewest cells, as many as make its variance smallest. Which these are
    depends on no answer.
    """
    if public is not None:
        return NoisyRows(float(public))
    counted = sorted(
        (answer for answer in answers if isinstance(answer, NoisyCounts)), key=lambda each: each.counts.size
    )
    cells = np.cumsum([answer.counts.size for answer in counted])
    best = int(np.argmin(cells / np.arange(1.0, cells.size + 1.0) ** 2)) + 1
    total = sum(int(answer.counts.sum()) for answer in counted[:best])
    return NoisyRows(total / best, counted[0].noise, int(cells[best - 1]), best)


def certified_errors(
    answers: Sequence[WorkloadAnswer], rows: NoisyRows, shares: np.ndarray, failure: Fraction
) -> np.ndarray:
    """Return for every statistic a bound on its error that holds for all of them at once, but with some probability.

    shares: float64 (q,), the mean of every statistic over released rows, in the order of the answers' numbers. Returns
    float64 (q,), at most the width of each statistic's bounds.

    With ñ the number of rows and Z the noise: ``|c/n - c̃/ñ| <= (|Z_f| + |Z_n|) / ñ``, as ``|c| <= n``. Each noise value
    passes its K with probability at most ``γ / |F|``, or ``γ / (|F| + 1)`` where the number of rows is noisy too. It
    needs no assumption on table, points or solver; post-processing, so free.

    Not in Boedihardjo, Strohmer, Vershynin, whose Theorem 2.3 bounds the error in advance and under assumptions.
    """
    asked = [answer for answer in answers if answer.question.columns]
    size = sum(answer.tables[0].counts.size for answer in asked)
    each = failure / (size + (rows.law is not None))
    noisy, reach, width = [], [], []
    for answer in asked:
        table = answer.tables[0]
        noisy.append(table.counts.ravel() / table.scale)
        tail = sum_tail(table.noise.kind, table.noise.parameter, 1, each)
        reach.append(np.full(table.counts.size, tail / table.scale))
        width.append(_widths(answer))
    widths = np.concatenate(width)
    if rows.value <= 0.0:
        return widths
    own = np.abs(np.concatenate(noisy) / rows.value - shares)
    return np.asarray(np.minimum(own + (np.concatenate(reach) + rows.error(each)) / rows.value, widths))


def certified_statements(workload: Workload, bounds: np.ndarray, confidence: float) -> tuple[Statement, ...]:
    """Return the certificate's lines: over all statistics, for each of up to 200 tables, for each other statistic."""
    said = {"confidence": confidence}
    lines = [Statement("certified_error", float(bounds.max()), {**said, "unit": workload.unit})]
    cells = bounds[: bounds.size - len(workload.statistics)]
    ends = np.cumsum([workload.cells(columns) for columns in workload.tables])
    for columns, part in zip(workload.tables, np.split(cells, ends[:-1]) if ends.size else [], strict=True):
        if len(workload.tables) <= MOST_LINES:
            lines.append(Statement("certified_error_of_table", float(part.max()), {"columns": columns, **said}))
    for each, bound in zip(workload.statistics, bounds[cells.size :], strict=True):
        lines.append(Statement("certified_error_of_statistic", float(bound), {"statistic": each.text, **said}))
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
    public_rows = certificate.public_rows
    workload = answered_workload(schema, settings["degree"], settings["bins"], answers)
    asked = workload_answers(answers, workload, public_rows)
    rows = noisy_rows(asked, public_rows)
    released = workload.means(points_of(model), model.weights, schema)
    texts = [
        ", ".join(f"{name}={label}" for name, label in zip(columns, cell, strict=True))
        for columns in workload.tables
        for cell in itertools.product(*(labels(workload.groupings[name], schema.field(name)) for name in columns))
    ]
    return {
        "statistic": [*texts, *(each.text for each in workload.statistics)],
        "noisy": noisy_shares(asked, max(1.0, rows.value)).tolist(),
        "released": released.tolist(),
        "largest_error": certified_errors(asked, rows, released, 1 - Fraction(str(confidence))).tolist(),
    }


def _widths(answer: WorkloadAnswer) -> np.ndarray:
    """Return how wide the bounds of each statistic are."""
    question = answer.question
    if isinstance(question, LinearStatistics):
        return np.array([upper - lower for lower, upper in question.bounds()]) / question.scale
    return np.ones(math.prod(question.shape))
