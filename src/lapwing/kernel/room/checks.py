"""What a question must be before it is answered: of the closed set, of plain values, and of this schema."""

from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from itertools import chain
from types import NoneType
from typing import Any, Final, cast

import numpy as np

from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.linear_statistics.question import RowStatistic, Statistic
from lapwing.kernel.questions.questions import Question
from lapwing.kernel.questions.registered import KINDS, REGISTERED
from lapwing.kernel.questions.shared.cells import CellSplits, CellTree
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.kernel.terms import Terms
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import Hierarchy
from lapwing.schema.schemas import Schema

_PLAIN: Final = frozenset({int, bool, str, NoneType, Fraction, np.ndarray})
_WHOLE: Final = frozenset(
    {Budget, Grouping, Hierarchy, CellTree, CellSplits, Coordinates, Projection, Statistic, RowStatistic}
)
_KNOWN: Final = _PLAIN | _WHOLE | {tuple}


def check_questions(questions: Sequence[Question], terms: Terms, schema: Schema) -> None:
    """Refuse questions that are outside the closed set or do not fit the schema."""
    known: dict[int, object] = {}
    for question in questions:
        _check(question, known, terms, schema)


def _check(question: Question, known: dict[int, object], terms: Terms, schema: Schema) -> None:
    if type(question) not in REGISTERED:
        raise ParameterError(
            f"{type(question).__name__} is no question of the closed set; ask one of {', '.join(KINDS)}",
            code="LW641",
        )
    if not is_plain(question, known):
        raise ParameterError(
            f"a {question.kind} must hold plain values only, no subclasses; build it from the schema",
            code="LW641",
        )
    question.check(terms, schema)
    # Texts that are not listed have no grouping; every other question has one for each column.
    for column, grouping in zip(question.columns, question.groupings, strict=bool(question.groupings)):
        domain = schema.field(column).domain
        if (grouping.values, grouping.reserved) != (domain.values, domain.reserved):
            raise ParameterError(
                f'the grouping of "{column}" is for {grouping.values} values and {grouping.reserved} reserved, '
                f"its domain has {domain.values} and {domain.reserved}; build it from the field's domain",
                code="LW641",
            )


def charge_answers(
    questions: Sequence[Question], budget: Budget, spent: Budget, delta: Fraction
) -> tuple[Budget, Fraction]:
    """Return what is spent, and what is left of delta, once these are answered too; refuse the whole batch otherwise.

    spent: on all before them; delta: what is left for selections of categories.
    """
    for question in questions:
        spent = spent + question.cost
        delta -= question.delta
    if spent.amount > budget.amount:
        raise BudgetError(
            f"the questions would spend {spent.amount} in all, more than the budget {budget.amount}; "
            "ask for less or give the release a larger budget",
            code="LW420",
        )
    if delta < 0:
        raise BudgetError(
            f"the selections of categories would take {-delta} more of delta than is set aside for them; "
            "give a larger delta, or public lists of categories",
            code="LW420",
        )
    return spent, delta


# -- Questions hold plain values only: a subclass could bring code of its own into the room.


def is_plain(question: object, known: dict[int, object] | None = None) -> bool:
    """Tell whether every part of a question is of a known type itself, and not of a subclass.

    known: parts that were looked at, by identity, and what this call adds: questions asked together share long ones.

    >>> is_plain(Budget.pure(1))
    True
    """
    known = {} if known is None else known
    parts = {id(part): part for part in _parts(question)}
    level = [part for number, part in parts.items() if number not in known]
    known.update(parts)
    while level:
        kinds = set(map(type, level))
        if not kinds <= _KNOWN:
            return False
        if kinds != {tuple}:
            level = [each if type(each) is tuple else _parts(each) for each in level if type(each) not in _PLAIN]
        level = list(chain.from_iterable(cast("list[list[object]]", level)))
    return True


def _parts(value: Any) -> list[object]:  # noqa: ANN401 - whatever a question holds
    # A row function is code of the caller's on purpose: it is called in the guard, with one record at a time.
    left_out = "function" if type(value) is RowStatistic else ""
    return [getattr(value, each.name) for each in fields(value) if each.name != left_out]
