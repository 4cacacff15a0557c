"""Comparisons of one column with constants, as runs of its codes: exact, and public."""

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.questions.linear_statistics.programs import MOST_LISTED
from lapwing.schema.checks import code_number
from lapwing.schema.conditions import wanted_runs
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import CONTINUOUS_VALUES
from lapwing.schema.scalars import MICROSECONDS, is_finite_number, parse_date, parse_datetime, quote
from lapwing.schema.values import bounds, exact_cells, step

_refused = partial(ParameterError, code="LW340")

Ends = tuple[int, ...]
"""Where runs of codes begin, and the code after each of them."""

_DAY: Final = MICROSECONDS["day"]
_AFTER: Final = (ast.Gt, ast.LtE)
"""The orders that cut after the constant and not before it."""


def equal_ends(field: Field, wanted: object, is_negated: bool) -> Ends:
    """Return the codes that equal one of the wanted values, or those of values that equal none.

    >>> age = Field(name="age", type="integer", minimum=0, maximum=99, special=(-1,))
    >>> equal_ends(age, [5, 6], False), equal_ends(age, -1, True)
    ((5, 7), (0, 100))
    """
    runs = wanted_runs(field, wanted)
    ends = tuple(runs.reshape(-1).tolist())
    if is_negated and ends[-1] <= field.domain.last:
        inner = ends[1:] if ends[0] == 0 else (0, *ends)
        ends = inner[:-1] if inner[-1] == field.domain.last else (*inner, field.domain.last)
    return _checked(field, ends)


def missing_ends(field: Field, is_negated: bool) -> Ends:
    """Return the code of missing, or all others; a ParameterError where the column cannot be missing."""
    start, stop = wanted_runs(field, None)[0].tolist()
    return (0, start) if is_negated else (start, stop)


def ordered_ends(field: Field, order: type[ast.cmpop], constant: object) -> Ends:
    """Return the regular codes that stand before, after, not before or not after a constant.

    >>> age = Field(name="age", type="integer", minimum=0, maximum=99)
    >>> ordered_ends(age, ast.GtE, 65), ordered_ends(age, ast.Lt, 65.5)
    ((65, 100), (0, 66))
    """
    if field.type == "boolean":
        raise _refused(f"column {quote(field.name)} is true or false; write it as it is, or after not")
    if field.categories is not None:
        return _checked(field, _listed_ends(field, order, constant))
    cut = _cut(field, _number(field, order, constant), order in _AFTER)
    start, stop = (0, cut) if order in (ast.Lt, ast.LtE) else (cut, field.domain.values)
    return _checked(field, (start, stop) if start < stop else ())


def plain(constant: object) -> object:
    """Return a constant as a condition on a column takes it: of a fraction, an int or a float.

    >>> plain(Fraction(3)), plain(Fraction(1, 4)), plain("a")
    (3, 0.25, 'a')
    """
    if not isinstance(constant, Fraction):
        return constant
    return int(constant) if constant.denominator == 1 else float(constant)


def line(field: Field) -> tuple[Fraction, Fraction]:
    """Return the number of code 0 of an integer or number field with bounds, and the distance to that of code 1.

    The same for dates and moments that are no months or years. A number without resolution is the middle of its cell.

    >>> line(Field(name="x", type="number", minimum=0.5, maximum=2, resolution=0.1))
    (Fraction(1, 2), Fraction(1, 10))
    >>> line(Field(name="x", type="number", minimum=1, maximum=2**32 + 1))
    (Fraction(3, 2), Fraction(1, 1))
    """
    lo, hi = bounds(field)
    grid = step(field)
    if grid is not None:
        return Fraction(str(field.minimum)) if field.type == "number" else Fraction(lo), Fraction(grid)
    cell = (Fraction(hi) - Fraction(lo)) / CONTINUOUS_VALUES
    return Fraction(lo) + cell / 2, cell


def _checked(field: Field, ends: Ends) -> Ends:
    """Refuse comparisons that can never hold, which are mistakes, and very long ones."""
    if not ends:
        domain = "" if field.is_categorical else f"; its domain goes from {field.minimum} to {field.maximum}"
        raise _refused(f"a comparison of column {quote(field.name)} can never be true{domain}")
    if len(ends) > MOST_LISTED:
        raise _refused(
            f"a comparison of column {quote(field.name)} asks for more than {MOST_LISTED // 2} runs of codes; "
            "ask for a range"
        )
    return ends


def _number(field: Field, order: type[ast.cmpop], constant: object) -> Any:  # noqa: ANN401
    """Return a constant in code space, exactly; where a date stands for moments, its last or its first one."""
    if field.type == "date":
        number: int | Fraction | None = parse_date(constant)
    elif field.type == "datetime":
        number = parse_datetime(constant)
        if number is not None and order in _AFTER and parse_date(constant) is not None:
            number += _DAY - 1
    elif isinstance(constant, Fraction):
        number = constant
    else:
        number = Fraction(str(constant)) if is_finite_number(constant) else None
    if number is None:
        raise _refused(
            f"column {quote(field.name)} holds {field.type} values, but is compared with {quote(plain(constant))}; "
            "use a constant of its type"
        )
    return number


def _cut(field: Field, number: Fraction, is_after: bool) -> int:
    """Return the first regular code at or above a number, or the first one above it."""
    values, found = field.domain.values, field.range
    bisect = bisect_right if is_after else bisect_left
    if not field.domain.continuous:
        return bisect(range(values), number, key=_value_of(field))
    real = float(number)
    if not found.lo <= real <= found.hi:
        return 0 if real < found.lo else values
    cell = found.cell(real)
    # A cell that stands for one number compares as that number; any other that holds the constant is equal to it.
    number_in_cell = exact_cells(field).get(cell, real)
    return cell + (number_in_cell <= real if is_after else number_in_cell < real)


def _value_of(field: Field) -> Callable[[int], Any]:
    """Return the function from a regular code to the number that it stands for, exactly."""
    calendar = field.range.calendar
    if calendar is not None:
        return lambda code: int(calendar.starts(np.array([code]))[0])
    origin, unit = line(field)
    return lambda code: origin + code * unit


def _listed_ends(field: Field, order: type[ast.cmpop], constant: object) -> Ends:
    """Return the codes of categories in an order: numbers and dates by value, texts as the schema lists them."""
    categories = field.categories or ()
    if field.type == "string":
        if not field.ordered:
            raise _refused(
                f"column {quote(field.name)} has no order; list values with in (...), or declare categoriesOrdered"
            )
        numbers: list[Any] = list(range(len(categories)))
        number = int(wanted_runs(field, plain(constant))[0, 0])
    elif field.type in ("date", "datetime"):
        numbers = [code_number(field.type, each) for each in categories]
        number = _number(field, order, constant)
    else:
        numbers = [Fraction(str(each)) for each in categories]
        number = _number(field, order, constant)
    holds = [_HOLDS[order](each, number) for each in numbers]
    edges = [False, *holds, False]
    return tuple(code for code, (one, other) in enumerate(pairwise(edges)) if one != other)


_HOLDS: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Lt: lambda one, other: one < other,
    ast.LtE: lambda one, other: one <= other,
    ast.Gt: lambda one, other: one > other,
    ast.GtE: lambda one, other: one >= other,
}
