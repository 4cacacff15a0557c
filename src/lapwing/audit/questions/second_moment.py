"""Products of coordinates, summed row by row in Python's own integers, and seen from outside."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from lapwing.audit.checks.recheck import Recheck
from lapwing.audit.checks.vectors import vectors_of
from lapwing.audit.held import Rows
from lapwing.audit.worst_case import PRICED, PURE, PURE_TERMS, QuestionCase, line_coordinates, people_case
from lapwing.kernel.questions.second_moment.question import SecondMoment


def resummed(question: SecondMoment, source: Rows) -> np.ndarray:
    """Return what a question asks, without noise."""
    rows = list(vectors_of(question.coordinates, source))
    pairs = zip(*(each.tolist() for each in question.pairs), strict=True)
    return np.array([sum(row[i] * row[j] for row in rows) for i, j in pairs], dtype=np.int64)


def _cases() -> Iterator[QuestionCase]:
    """Ask for the product of two coordinates, whose sign a replaced person changes; and for squares from 0 to 1."""
    for cost, terms in PRICED:
        product = SecondMoment(coordinates=line_coordinates(), diagonal=False, cost=cost)
        yield people_case(product, "the product of two columns", terms, other=(0, True, False))
    squares = SecondMoment(coordinates=line_coordinates("unit"), diagonal=True, cost=PURE)
    yield people_case(squares, "squares and product of two columns", PURE_TERMS[-1])


CHECK: Final = Recheck(cases=_cases, recount=lambda answer, source, _: [resummed(answer.question, source)])
