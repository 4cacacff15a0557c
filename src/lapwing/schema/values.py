"""Codes of a field as numbers, as what synthetic rows show, and as human labels. Pure; no row comes here.

Code space: integers as they are; dates as days since 1970-01-01; datetimes as microseconds since then; numbers as
floats.
"""

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.errors import visible as visible
from lapwing.schema.checks import code_number, field_error
from lapwing.schema.fields import Field, FieldType, Scalar
from lapwing.schema.groupings.domains import Range
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import Hierarchy
from lapwing.schema.scalars import (
    MICROSECONDS,
    category_key,
    date_text,
    datetime_text,
    finite_number,
    parse_date,
    parse_datetime,
    quote,
)

_FIRST_DAY: Final = "0001-01-01"
_LAST_DAY: Final = "9999-12-31"


def any_value(field: Field) -> Field:
    """Return a field that any value of its type fits; what says which values there are is left out."""
    is_time = field.type in ("date", "datetime")
    return Field(
        name=field.name,
        type=field.type,
        minimum=_FIRST_DAY if is_time else None,
        maximum=_LAST_DAY if is_time else None,
        resolution="day" if is_time else None,
        required=field.required,
        special=field.special,
        missing_values=field.missing_values,
        reading=field.reading,
        open=not is_time,
    )


def category_positions(field: Field) -> dict[str, int]:
    """Return the code of each category, by `category_key`; built anew by each call, so callers keep it."""
    if field.categories is None:
        raise field_error(field.name, "has no categories", "LW210")
    return {category_key(value): code for code, value in enumerate(field.categories)}


def stand_in(field: Field, text: str) -> str | None:
    """Return the category under which a text that is not listed is counted; None where it fits nothing."""
    if not text or text in field.missing_values:
        return None
    for length in reversed(field.folds):
        if text[:length] in (field.categories or ()):
            return text[:length]
    return field.unlisted


def special_numbers(field: Field) -> tuple[int | float, ...]:
    """Return the special values of a field as numbers in code space, in the order of their codes."""
    return tuple(code_number(field.type, value) for value in field.special)


def special_codes(field: Field) -> dict[int | float, int]:
    """Return the code of each special value, by its number in code space."""
    first = field.domain.values if field.special else 0
    return {number: first + position for position, number in enumerate(special_numbers(field))}


def exact_cells(field: Field) -> dict[int, float]:
    """Return the cells that stand for one exact number, minimum, maximum or zero, as tables hold many copies of it."""
    found = field.range
    special = special_numbers(field)
    numbers = (float(found.lo), float(found.hi), 0.0)
    return {found.cell(x): x for x in numbers if found.lo <= x <= found.hi and x not in special}


# -- Which numbers synthetic rows show for codes.


Numbers = npt.NDArray[Any]
"""int64 or float64."""
Codes = npt.NDArray[np.int64]

_EXACT: Final = 2**53  # integers up to here are exact as floats


@dataclass(frozen=True, slots=True, eq=False)
class ShownValues:
    """The numbers that synthetic rows show for the regular codes of a field; of texts and booleans their place."""

    field: Field
    values: int
    grid: Range | None  # where they lie, if the field is no list
    listed: Numbers | None  # the number of each code, where the field is a list
    exact: Codes  # cells of a number without resolution that show one number, increasing
    numbers: npt.NDArray[np.float64]  # of these cells

    def ends(self, codes: Codes) -> tuple[Numbers, Numbers]:
        """Return the least and the most that synthetic rows may show for each regular code; equal but for cells."""
        field, grid = self.field, self.grid
        if self.listed is not None:
            found = self.listed[codes]
            return found, found
        assert grid is not None
        numbers: Numbers
        if grid.calendar is not None:
            numbers = grid.calendar.starts(codes)
        elif grid.step is None:
            return self._cell_ends(codes, float(grid.lo), float(grid.hi))
        elif field.type == "number":
            numbers = multiples(codes, Fraction(str(field.minimum)), Fraction(grid.step), self.values - 1)
        else:
            numbers = int(grid.lo) + codes * int(grid.step)
        return numbers, numbers

    def _cell_ends(self, codes: Codes, lo: float, hi: float) -> tuple[Numbers, Numbers]:
        """Return both ends of cells, as far as rounding may carry a value, and exact numbers where cells hold one."""
        cell = (hi - lo) / 2**32
        least = lo + codes * cell
        most = np.maximum(least + cell, lo + (codes + 1) * cell)
        least, most = np.clip(least, lo, hi), np.clip(most, lo, hi)
        place = np.minimum(np.searchsorted(self.exact, codes), max(len(self.exact) - 1, 0))
        if len(self.exact):
            is_exact = self.exact[place] == codes
            least, most = (np.where(is_exact, self.numbers[place], end) for end in (least, most))
        return least, most


def shown_values(field: Field) -> ShownValues:
    """Return the numbers that synthetic rows show for the regular codes of a modelled field."""
    listed: Numbers | None = None
    if field.categories is not None and field.type not in ("string", "boolean"):
        numbers = [code_number(field.type, value) for value in field.categories]
        listed = np.array(numbers, dtype=np.float64 if field.type == "number" else np.int64)
    elif field.is_categorical:
        listed = np.arange(field.domain.values, dtype=np.int64)
    exact = exact_cells(field) if not field.is_categorical and field.domain.continuous else {}
    cells = np.array(sorted(exact), dtype=np.int64)
    return ShownValues(
        field=field,
        values=field.domain.values,
        grid=None if field.is_categorical else field.range,
        listed=listed,
        exact=cells,
        numbers=np.array([exact[cell] for cell in cells.tolist()], dtype=np.float64),
    )


def in_moments(field: Field, numbers: Numbers) -> Numbers:
    """Return days as the microseconds at which they begin, and anything else as it is."""
    return numbers * MICROSECONDS["day"] if field.type == "date" else numbers


def multiples(codes: np.ndarray, first: Fraction, grid: Fraction, last: int) -> np.ndarray:
    """Return ``first + codes * grid`` as the floats that the decimal numbers read as; `last` is the largest code."""
    below = math.lcm(first.denominator, grid.denominator)
    start, stride = int(first * below), int(grid * below)
    largest = max(abs(start), abs(start + last * stride))
    if max(largest, stride, below) <= _EXACT:
        # One division of two exact integers is rounded once, like the reading of a decimal literal.
        return np.asarray((start + codes * stride) / below)
    return np.asarray(float(first) + codes * float(grid))


# -- Human labels of groups of codes: for queries, answer tables and reports.


_LISTED: Final = 3
"""Runs of codes that a label names before it says how many there are."""
_MEANT: Final = 100
"""Values whose labels are shown."""
_SHOWN_LETTERS: Final[dict[object, int]] = {"year": len("2020"), "month": len("2020-12"), "day": len("2020-12-31")}


def described(field: Field) -> str:
    """Return what is said of a field, and what its values mean."""
    meant = [f"{value} = {said}" for value, said in field.labels]
    more = [f"and {len(meant) - _MEANT} more"] if len(meant) > _MEANT else []
    values = "; ".join([*meant[:_MEANT], *more])
    return f"{field.description} ({values})" if field.description and values else field.description or values


def label(grouping: Grouping, field: Field, group: int) -> str:
    """Return the label of one group: a category, ``30-39``, ``[0.5, 1)``, a date, a special value, ``missing``."""
    _check_fit(grouping, field)
    if not 0 <= group < grouping.groups:
        said = f"field {quote(field.name)}: group must be from 0 to {grouping.groups - 1}, got {group}"
        raise ParameterError(said, code="LW280")
    if group >= grouping.regular:
        return _reserved_labels(field)[group - grouping.regular]
    if grouping.kind == "shift":
        start = group << grouping.shift
        runs = [(start, min(start + (1 << grouping.shift), grouping.values))]
    else:
        starts, stops, groups = grouping.pieces()
        own = groups == group
        runs = list(zip(starts[own].tolist(), stops[own].tolist(), strict=True))
    return _few(itertools.starmap(_run_labeller(field), runs), len(runs))


def labels(grouping: Grouping, field: Field) -> list[str]:
    """Return the human labels of all groups, in their order."""
    _check_fit(grouping, field)
    starts, stops, groups = grouping.pieces()
    runs: list[list[tuple[int, int]]] = [[] for _ in range(grouping.regular)]
    for start, stop, group in zip(starts.tolist(), stops.tolist(), groups.tolist(), strict=True):
        if group < grouping.regular:
            runs[group].append((start, stop))
    run_label = _run_labeller(field)
    return [_few(itertools.starmap(run_label, own), len(own)) for own in runs] + _reserved_labels(field)


def run_labels(nested: Hierarchy, level: int, field: Field) -> list[str]:
    """Return the human labels of the runs of one level of a hierarchy, in their order."""
    starts = nested.starts(level)
    cuts = starts[(starts > 0) & (starts < nested.values)]
    texts = labels(Grouping(nested.values, nested.reserved, "cuts", cuts=cuts), field)
    firsts, parts = nested.alone(level)
    return [_few(texts[first:end], end - first) for first, end in itertools.pairwise([*firsts.tolist(), parts])]


def _few(texts: Iterable[str], count: int, what: str = "parts") -> str:
    """Return a few labels, and how many there are."""
    shown = ", ".join(itertools.islice(texts, _LISTED))
    return shown if count <= _LISTED else f"{shown}, ... ({count} {what})"


def _check_fit(grouping: Grouping, field: Field) -> None:
    """Refuse a grouping of another domain."""
    domain = field.domain
    if (grouping.values, grouping.reserved) != (domain.values, domain.reserved):
        is_of = f"the grouping is of {grouping.values}+{grouping.reserved} codes"
        has = f"the field has {domain.values}+{domain.reserved}; build the grouping from this field's domain"
        raise ParameterError(f"field {quote(field.name)}: {is_of}, {has}", code="LW280")


def _reserved_labels(field: Field) -> list[str]:
    """Return the labels of the special values and of the last code."""
    return [_scalar_text(value) for value in field.special] + ["invalid" if field.required else "missing"]


def _run_labeller(field: Field) -> Callable[[int, int], str]:
    """Return the function that labels codes ``start <= code < stop`` of a field."""
    if field.is_categorical:
        return partial(_category_run, field, (False, True) if field.categories is None else field.categories)
    found = field.range
    if found.step is None and found.calendar is None:
        return partial(_interval, float(found.lo), float(found.hi), found.values)
    dash = "-" if field.type in ("integer", "number") and found.lo >= 0 else " to "
    return partial(_stepped_run, partial(_value_text, field, found), dash)


def _value_text(field: Field, found: Range, code: int) -> str:
    """Return the value of a code of whole steps, months or years: a month as 2020-12, a year as 2020."""
    if found.calendar is None:
        value = found.lo + code * (found.step or 1)
        if field.type in ("integer", "number"):
            return str(value) if field.type == "integer" else f"{float(value):.12g}"
    else:
        value = found.calendar.starts(np.array([code]))[0]
    text = date_text(int(value)) if field.type == "date" else datetime_text(int(value))
    return text[: _SHOWN_LETTERS.get(field.resolution)]


def _stepped_run(text: Callable[[int], str], dash: str, start: int, stop: int) -> str:
    """Return the first and last value of a run."""
    return text(start) if stop == start + 1 else f"{text(start)}{dash}{text(stop - 1)}"


def _interval(lo: float, hi: float, values: int, start: int, stop: int) -> str:
    """Return a half-open interval of real numbers, the last one closed."""
    left, right = (lo + (hi - lo) * (code / values) for code in (start, stop))
    return f"[{left:.12g}, {right:.12g}{']' if stop == values else ')'}"


def _category_run(field: Field, categories: tuple[Scalar, ...], start: int, stop: int) -> str:
    """Return a range of ordered categories, a list of others."""
    if field.ordered and stop > start + 2:
        return f"{_scalar_text(categories[start])} to {_scalar_text(categories[stop - 1])}"
    return _few(map(_scalar_text, categories[start : min(stop, start + _LISTED)]), stop - start, "categories")


def _scalar_text(value: Scalar) -> str:
    """Return a schema value as a reader expects to see it."""
    return value if isinstance(value, str) else json.dumps(value)


_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE: Final = re.compile(r"[+-]?\d+", re.ASCII)


# A longer text is no number that a table holds, and Python refuses whole numbers of thousands of digits.
_LONGEST: Final = 40


def number_of(value: object) -> int | float | None:
    """Return a number, also one written as text; None for anything else."""
    if isinstance(value, str):
        text = value[: _LONGEST + 1].strip()
        if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
            return None
        value = int(text) if _WHOLE.fullmatch(text) else float(text)
    return finite_number(value)


def bound_of(value: object, kind: FieldType) -> int | float | str | None:
    """Return a bound of numbers or dates as a schema writes it, or None where it is not written so."""
    if kind in ("integer", "number"):
        return number_of(value)
    parse = parse_date if kind == "date" else parse_datetime
    return value if isinstance(value, str) and parse(value) is not None else None
