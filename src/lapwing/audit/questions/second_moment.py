"""Products of coordinates, summed row by row in Python's own integers, and seen from outside."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from lapwing.audit.checks.recheck import Recheck
from lapwing.audit.checks.vectors import vectors_of
from lapwing.audit.held import Rows
from lapwing.audit.worst_case import (
    PRICED,
    PURE,
    QuestionCase,
    Row,
    all_values,
    line_coordinates,
    neighbours,
    people_schema,
    terms_of,
)
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.terms import Terms

_BOTH, _NEITHER = (0, True, True), (0, False, False)


def resummed(question: SecondMoment, source: Rows) -> np.ndarray:
    """Return what a question asks, without noise.

    Returns int64, shape ``question.shape``.
    """
    rows = list(vectors_of(question.coordinates, source))
    pairs = zip(*(each.tolist() for each in question.pairs), strict=True)
    return np.array([sum(row[i] * row[j] for row in rows) for i, j in pairs], dtype=np.int64)


def _products() -> Iterator[QuestionCase]:
    """Ask for the product of two coordinates: a replaced person changes its sign."""
    for cost, relation, max_rows in PRICED:
        asked = SecondMoment(coordinates=line_coordinates(), diagonal=False, cost=cost)
        yield _moment(asked, "the product of two columns", terms_of(relation, max_rows), (0, True, False))


def _squares() -> Iterator[QuestionCase]:
    """Ask for squares and product of coordinates from 0 to 1: all three are 1, or 0."""
    asked = SecondMoment(coordinates=line_coordinates("unit"), diagonal=True, cost=PURE)
    yield _moment(asked, "squares and product of two columns", terms_of("replace-one", 3), _NEITHER)


def _moment(asked: SecondMoment, label: str, terms: Terms, other: Row) -> QuestionCase:
    return QuestionCase(
        asked=asked,
        label=label,
        sources=neighbours(terms, _BOTH, other),
        terms=terms,
        schema=people_schema(terms.max_rows),
        seen=all_values,
    )


def _cases() -> Iterator[QuestionCase]:
    yield from _products()
    yield from _squares()


CHECK: Final = Recheck(
    cases=_cases,
    recount=lambda answer, source, _: [resummed(answer.question, source)],
)
