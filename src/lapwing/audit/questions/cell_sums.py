"""Sums over cells, summed row by row in Python's own integers, and seen from outside."""

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from lapwing.audit.checks.recheck import Recheck
from lapwing.audit.checks.vectors import vectors_of
from lapwing.audit.held import Rows
from lapwing.audit.worst_case import (
    PRICED,
    PURE,
    QuestionCase,
    all_values,
    line_coordinates,
    neighbours,
    people_schema,
    terms_of,
)
from lapwing.kernel.questions.cell_sums.question import MEAN_BITS, CellSums
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.kernel.terms import Terms

_BOTH, _NEITHER = (0, True, True), (0, False, False)


def resummed(question: CellSums, source: Rows) -> np.ndarray:
    """Return what a question asks, without noise.

    Returns int64, shape ``question.shape``.
    """
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


def _cell_rows() -> Iterator[QuestionCase]:
    """Ask for the rows of two cells: a replaced person leaves one for the other."""
    by_a = Projection(
        directions=np.array([[1], [0]]), cuts=(np.zeros(1, dtype=np.int64),), origin=np.zeros(0, dtype=np.int64)
    )
    for cost, relation, max_rows in PRICED:
        parts = {"projection": by_a, "summed": "rows", "cost": cost}
        yield _sums(parts, "rows of two cells", terms_of(relation, max_rows))


def _totals() -> Iterator[QuestionCase]:
    """Ask for totals of two coordinates: a replaced person changes the sign of both."""
    parts = {"projection": None, "summed": "vectors", "cost": PURE}
    yield _sums(parts, "totals of two columns", terms_of("replace-one", 3))


def _damped_means() -> Iterator[QuestionCase]:
    """Ask for damped means of one cell: rows of one kind move them by half of the bound, which is for all."""
    parts = {"projection": None, "summed": "damped means", "damping": 4, "cost": PURE}
    yield _sums(parts, "damped means of two columns", terms_of("add-remove", 1))


def _sums(parts: Mapping[str, Any], label: str, terms: Terms) -> QuestionCase:
    return QuestionCase(
        asked=CellSums(coordinates=line_coordinates(), **parts),
        label=label,
        sources=neighbours(terms, _BOTH, _NEITHER, [(0, False, True), (0, True, False)]),
        terms=terms,
        schema=people_schema(terms.max_rows),
        seen=all_values,
    )


def _cases() -> Iterator[QuestionCase]:
    yield from _cell_rows()
    yield from _totals()
    yield from _damped_means()


CHECK: Final = Recheck(
    cases=_cases,
    recount=lambda answer, source, _: [resummed(answer.question, source)],
)
