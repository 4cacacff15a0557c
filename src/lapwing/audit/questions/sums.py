"""Black-box cases of the questions that sum numbers over rows."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from lapwing.audit.worst_case import (
    PRICED,
    PURE,
    QuestionCase,
    Row,
    grouping_of,
    neighbours,
    people_schema,
    terms_of,
)
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coding, Coordinates
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.kernel.terms import Terms
from lapwing.model.statistics.expressions import compiled, row_function

_BOTH, _NEITHER = (0, True, True), (0, False, False)


def sum_cases() -> Iterator[QuestionCase]:
    """Yield the cases of `SecondMoment`, `CellSums` and `LinearStatistics`."""
    yield from _products()
    yield from _squares()
    yield from _cell_rows()
    yield from _totals()
    yield from _damped_means()
    yield from _truths()
    yield from _row_functions()


def _coordinates(coding: Coding = "centred") -> Coordinates:
    """Return a and b as a coordinate each: from -1 to 1, or from 0 to 1."""
    return Coordinates(
        columns=("a", "b"),
        groupings=(grouping_of("a"), grouping_of("b")),
        kinds=("line", "line"),
        listed=(0, 0),
        coding=coding,
    )


def _moment(asked: SecondMoment, label: str, terms: Terms, other: Row) -> QuestionCase:
    return QuestionCase(
        asked=asked,
        label=label,
        sources=neighbours(terms, _BOTH, other),
        terms=terms,
        schema=people_schema(terms.max_rows),
        seen=_values,
    )


def _products() -> Iterator[QuestionCase]:
    """Ask for the product of two coordinates: a replaced person changes its sign."""
    for cost, relation, max_rows in PRICED:
        asked = SecondMoment(coordinates=_coordinates(), diagonal=False, cost=cost)
        yield _moment(asked, "the product of two columns", terms_of(relation, max_rows), (0, True, False))


def _squares() -> Iterator[QuestionCase]:
    """Ask for squares and product of coordinates from 0 to 1: all three are 1, or 0."""
    asked = SecondMoment(coordinates=_coordinates("unit"), diagonal=True, cost=PURE)
    yield _moment(asked, "squares and product of two columns", terms_of("replace-one", 3), _NEITHER)


def _sums(parts: Mapping[str, Any], label: str, terms: Terms) -> QuestionCase:
    return QuestionCase(
        asked=CellSums(coordinates=_coordinates(), **parts),
        label=label,
        sources=neighbours(terms, _BOTH, _NEITHER, [(0, False, True), (0, True, False)]),
        terms=terms,
        schema=people_schema(terms.max_rows),
        seen=_values,
    )


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


def _linear(statistics: tuple[Any, ...], label: str, cost: Budget, terms: Terms) -> QuestionCase:
    schema = people_schema(terms.max_rows)
    return QuestionCase(
        asked=LinearStatistics(
            columns=tuple(field.name for field in schema.columns),
            groupings=tuple(grouping_of(field.name) for field in schema.columns),
            statistics=tuple(compiled(each, schema) for each in statistics),
            cost=cost,
        ),
        label=label,
        sources=neighbours(terms, _BOTH, _NEITHER),
        terms=terms,
        schema=schema,
        seen=_values,
    )


def _truths() -> Iterator[QuestionCase]:
    """Ask for two truths: both hold of the person, and neither of another."""
    for cost, relation, max_rows in PRICED:
        yield _linear(("a", "b"), "two truths", cost, terms_of(relation, max_rows))


def _row_functions() -> Iterator[QuestionCase]:
    """Ask for a function of a record between -1 and 1: a replaced person changes its sign."""
    yield _linear((row_function(_sign),), "a function of a record", PURE, terms_of("replace-one", 3))


def _sign(record: Mapping[str, Any]) -> float:
    return 1.0 if record["a"] else -1.0


def _values(answer: Any) -> list[int]:  # noqa: ANN401
    """Return all numbers of an answer."""
    found: list[int] = answer.values.reshape(-1).tolist()
    return found
