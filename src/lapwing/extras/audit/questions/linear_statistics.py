"""Sums of statistics, summed row by row in Python's own integers, and seen from outside."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from lapwing.extras.audit.held import Rows
from lapwing.extras.audit.worst_case import (
    PRICED,
    PURE,
    PURE_TERMS,
    QuestionCase,
    Recheck,
    grouping_of,
    people_case,
    people_schema,
)
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics, RowStatistic, Statistic
from lapwing.kernel.terms import Terms
from lapwing.model.statistics.expressions import compile_statistic, row_function
from lapwing.rows.out.decode import records
from lapwing.schema.schemas import Schema

_ONE: Final = 2**16


def resummed_statistics(question: LinearStatistics, source: Rows, schema: Schema) -> np.ndarray:
    """Return what a question asks, without noise."""
    sums = [0] * len(question.statistics)
    for chunk in source.chunks():
        names = list(chunk)
        for codes in zip(*(chunk[name].tolist() for name in names), strict=True):
            row = dict(zip(names, codes, strict=True))
            for place, each in enumerate(question.statistics):
                value = _called(each, row, schema) if isinstance(each, RowStatistic) else _evaluated(each, row)
                value = min(max(value, each.lower), each.upper)
                sums[place] += value * 2 ** (question.bits - each.bits)
    return np.array(sums, dtype=np.int64)


def _called(each: RowStatistic, row: Mapping[str, int], schema: Schema) -> int:
    """Return what a row function makes of one row, in units of ``2**-16``; its lower bound where it fails."""
    (record,) = records({name: np.array([code]) for name, code in row.items()}, schema)
    (value,) = each.values_of_records([record]).tolist()
    return int(value)


def _evaluated(each: Statistic, row: Mapping[str, int]) -> int:
    """Return what a program makes of one row's codes; unknown is None on the way and 0 at the end."""
    stack: list[Any] = []
    for word, *settings in each.program:
        stack = _after(word, settings, stack, row)
    (found,) = stack
    return 0 if found is None else int(found)


def _after(word: str, settings: list[Any], stack: list[Any], row: Mapping[str, int]) -> list[Any]:
    """Return the stack after one step."""
    if word in ("in", "number", "lookup", "constant"):
        return [*stack, _loaded(word, settings, row)]
    if word in ("not", "indicator", "negate", "absolute", "scale"):
        return [*stack[:-1], _of_one(word, settings, stack[-1])]
    return [*stack[:-2], _of_two(word, stack[-2], stack[-1])]


def _loaded(word: str, settings: list[Any], row: Mapping[str, int]) -> Any:  # noqa: ANN401
    """Return a constant, or what a column's code stands for."""
    if word == "constant":
        return settings[0]
    code = row[settings[0]]
    if word == "in":
        return bisect_right(list(settings[1]), code) % 2 == 1
    if word == "lookup":
        return settings[1][code] if code < len(settings[1]) else None
    values, start, step, divisor = settings[1:]
    return math.floor((start + step * code) // divisor) if code < values else None


def _of_one(word: str, settings: list[Any], x: Any) -> Any:  # noqa: ANN401
    """Return a function of one value."""
    if word == "not":
        return not x
    if x is None:
        return None
    if word == "indicator":
        return _ONE if x else 0
    if word == "scale":
        return (2 * settings[0] * x + settings[1]) // (2 * settings[1])
    return -x if word == "negate" else abs(x)


def _of_two(word: str, x: Any, y: Any) -> Any:  # noqa: ANN401
    """Return a function of two values; a comparison with the unknown is false, everything else with it unknown."""
    if word in ("and", "or"):
        return (x and y) if word == "and" else (x or y)
    compares = {"less": "<", "at_most": "<=", "equal": "==", "differs": "!="}
    if x is None or y is None:
        return False if word in compares else None
    if word in compares:
        return {"less": x < y, "at_most": x <= y, "equal": x == y, "differs": x != y}[word]
    if word == "multiply":
        return (2 * x * y + _ONE) // (2 * _ONE)
    return {"add": x + y, "subtract": x - y, "minimum": min(x, y), "maximum": max(x, y)}[word]


def _sign(record: Mapping[str, Any]) -> float:
    return 1.0 if record["a"] else -1.0


def _cases() -> Iterator[QuestionCase]:
    """Ask for two truths, of which neither holds of another person; and for a function whose sign one changes."""
    asked: list[tuple[tuple[Any, ...], str, Budget, Terms]] = [(("a", "b"), "two truths", *each) for each in PRICED]
    asked.append(((row_function(_sign),), "a function of a record", PURE, PURE_TERMS[-1]))
    for statistics, label, cost, terms in asked:
        schema = people_schema(terms.max_rows)
        question = LinearStatistics(
            columns=tuple(field.name for field in schema.columns),
            groupings=tuple(grouping_of(field.name) for field in schema.columns),
            statistics=tuple(compile_statistic(each, schema) for each in statistics),
            cost=cost,
        )
        yield people_case(question, label, terms)


CHECK: Final = Recheck(
    cases=_cases,
    recount=lambda answer, source, schema: [resummed_statistics(answer.question, source, schema)],
)
