"""Sums over cells, summed row by row in Python's own integers, and seen from outside."""

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from lapwing.extras.audit.held import Rows
from lapwing.extras.audit.questions.second_moment import vectors_of
from lapwing.extras.audit.worst_case import (
    PRICED,
    PURE,
    PURE_TERMS,
    QuestionCase,
    Recheck,
    line_coordinates,
    people_case,
)
from lapwing.kernel.questions.cell_sums.question import MEAN_BITS, CellSums
from lapwing.kernel.questions.shared.projections import Projection


def resummed(question: CellSums, source: Rows) -> np.ndarray:
    """Return what a question asks, without noise."""
    rows = list(vectors_of(question.coordinates, source))
    cells = [0] * len(rows)
    if question.projection is not None:
        cells = [_summed_cell(question.projection, row) for row in rows]
    counts = [0] * question.cells
    sums = [[0] * question.coordinates.size for _ in counts]
    for cell, row in zip(cells, rows, strict=True):
        counts[cell] += 1
        sums[cell] = [total + each for total, each in zip(sums[cell], row, strict=True)]
    if question.summed == "rows":
        return np.array(counts, dtype=np.int64)
    if question.damping is not None:
        divisors = [max(count, question.damping) * question.coordinates.unit for count in counts]
        sums = [
            [total * 2**MEAN_BITS // divisor for total in cell] for cell, divisor in zip(sums, divisors, strict=True)
        ]
    return np.array(sums, dtype=np.int64).reshape(question.shape)


def _summed_cell(projection: Projection, row: list[int]) -> int:
    """Return the cell of one vector: its place among the cuts, or the nearest lattice point by looking at all."""
    axes = projection.directions.T.tolist()
    projected = [sum(each * weight for each, weight in zip(row, axis, strict=True)) for axis in axes]
    if not projection.spacing:
        cell = 0
        for number, cuts in zip(projected, projection.cuts, strict=True):
            cell = cell * (len(cuts) + 1) + bisect_right(cuts.tolist(), number)
        return cell
    reach = math.isqrt(projection.norm)
    points = [
        point
        for point in itertools.product(range(-reach, reach + 1), repeat=projection.count)
        if sum(each * each for each in point) <= projection.norm
    ]
    shifted = [number - offset for number, offset in zip(projected, projection.origin.tolist(), strict=True)]

    def distance(point: tuple[int, ...]) -> int:
        return sum((a - projection.spacing * b) ** 2 for a, b in zip(shifted, point, strict=True))

    return min(range(len(points)), key=lambda place: distance(points[place]))


def _cases() -> Iterator[QuestionCase]:
    """Ask for rows of two cells, one of which a replaced person leaves; for totals, whose signs change; for means."""
    by_a = Projection(
        directions=np.array([[1], [0]]), cuts=(np.zeros(1, dtype=np.int64),), origin=np.zeros(0, dtype=np.int64)
    )
    rows: dict[str, Any] = {"projection": by_a, "summed": "rows"}
    totals: dict[str, Any] = {"projection": None, "summed": "vectors", "cost": PURE}
    # Rows of one kind move the means by half of the bound, which is for all.
    means: dict[str, Any] = {"projection": None, "summed": "damped means", "damping": 4, "cost": PURE}
    asked = [
        *((rows | {"cost": cost}, "rows of two cells", each) for cost, each in PRICED),
        (totals, "totals of two columns", PURE_TERMS[-1]),
        (means, "damped means of two columns", PURE_TERMS[0]),
    ]
    for parts, label, terms in asked:
        sums = CellSums(coordinates=line_coordinates(), **parts)
        yield people_case(sums, label, terms, others=[(0, False, True), (0, True, False)])


CHECK: Final = Recheck(cases=_cases, recount=lambda answer, source, _: [resummed(answer.question, source)])
