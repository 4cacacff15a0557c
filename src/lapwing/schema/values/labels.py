"""Human labels of groups of codes: for queries, answer tables and reports."""

import itertools
import json
from collections.abc import Callable
from typing import Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.schema.fields import Field, Scalar
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import Hierarchy
from lapwing.schema.ranges import Calendar
from lapwing.schema.scalars import MICROSECONDS, date_text, datetime_text, quote

_LISTED: Final = 3
"""Runs of codes that a label names before it says how many there are."""


def label(grouping: Grouping, field: Field, group: int) -> str:
    """Return the human label of one group.

    Returns a category, ``30-39``, ``[0.5, 1)``, a date, a special value, ``missing`` or ``misfit``.

    >>> from lapwing.schema.groupings.grouping import evenly
    >>> age = Field(name="age", type="integer", minimum=0, maximum=99)
    >>> label(evenly(age.domain, 10), age, 3), label(evenly(age.domain, 10), age, 10)
    ('30-39', 'missing')
    """
    _check_fit(grouping, field)
    if not 0 <= group < grouping.groups:
        raise ParameterError(
            f"field {quote(field.name)}: group must be from 0 to {grouping.groups - 1}, got {group}", code="LW280"
        )
    if group >= grouping.regular:
        return _reserved_labels(field)[group - grouping.regular]
    if grouping.kind == "shift":
        start = group << grouping.shift
        runs = [(start, min(start + (1 << grouping.shift), grouping.values))]
    else:
        starts, stops, groups = grouping.pieces()
        own = groups == group
        runs = list(zip(starts[own].tolist(), stops[own].tolist(), strict=True))
    return _runs_label(_run_labeller(field), runs)


def labels(grouping: Grouping, field: Field) -> list[str]:
    """Return the human labels of all groups, in their order.

    >>> from lapwing.schema.groupings.grouping import identity
    >>> sex = Field(name="sex", type="string", categories=("f", "m"), required=True)
    >>> labels(identity(sex.domain), sex)
    ['f', 'm', 'misfit']
    """
    _check_fit(grouping, field)
    starts, stops, groups = grouping.pieces()
    runs: list[list[tuple[int, int]]] = [[] for _ in range(grouping.regular)]
    for start, stop, group in zip(starts.tolist(), stops.tolist(), groups.tolist(), strict=True):
        if group < grouping.regular:
            runs[group].append((start, stop))
    run_label = _run_labeller(field)
    return [_runs_label(run_label, own) for own in runs] + _reserved_labels(field)


def run_labels(nested: Hierarchy, level: int, field: Field) -> list[str]:
    """Return the human labels of the runs of one level of a hierarchy, in their order.

    >>> from lapwing.schema.groupings.hierarchies import hierarchy
    >>> age = Field(name="age", type="integer", minimum=0, maximum=99)
    >>> run_labels(hierarchy(age.domain, 2), 0, age), run_labels(hierarchy(age.domain, 2), 2, age)
    (['0-99, missing'], ['0-49', '50-99', 'missing'])
    """
    starts = nested.starts(level)
    cuts = starts[(starts > 0) & (starts < nested.values)]
    texts = labels(Grouping(nested.values, nested.reserved, "cuts", cuts=cuts), field)
    firsts, parts = nested.alone(level)
    return [_joined(texts[first:end]) for first, end in itertools.pairwise([*firsts.tolist(), parts])]


def _joined(texts: list[str]) -> str:
    """Return a few labels, and how many there are."""
    shown = ", ".join(texts[:_LISTED])
    return shown if len(texts) <= _LISTED else f"{shown}, ... ({len(texts)} parts)"


def _check_fit(grouping: Grouping, field: Field) -> None:
    """Refuse a grouping of another domain."""
    domain = field.domain
    if (grouping.values, grouping.reserved) != (domain.values, domain.reserved):
        raise ParameterError(
            f"field {quote(field.name)}: the grouping is of {grouping.values}+{grouping.reserved} codes, "
            f"the field has {domain.values}+{domain.reserved}; build the grouping from this field's domain",
            code="LW280",
        )


def _reserved_labels(field: Field) -> list[str]:
    """Return the labels of the special values and of the last code."""
    return [_scalar_text(value) for value in field.special] + ["misfit" if field.required else "missing"]


def _runs_label(run_label: Callable[[int, int], str], runs: list[tuple[int, int]]) -> str:
    """Return the label of a group from its runs of codes."""
    shown = ", ".join(run_label(start, stop) for start, stop in runs[:_LISTED])
    return shown if len(runs) <= _LISTED else f"{shown}, ... ({len(runs)} parts)"


def _run_labeller(field: Field) -> Callable[[int, int], str]:
    """Return the function that labels codes ``start <= code < stop`` of a field."""
    if field.is_categorical:
        return _category_runs(field)
    found = field.range
    lo, hi, step, calendar = found.lo, found.hi, found.step, found.calendar
    if calendar is not None:
        return _stepped_runs(lambda code: _period_text(calendar, code), " to ")
    if step is None:
        return _interval_runs(float(lo), float(hi), found.values)
    if field.type == "date":
        return _stepped_runs(lambda code: date_text(int(lo) + code * int(step)), " to ")
    if field.type == "datetime":
        text = date_text if field.resolution == "day" else datetime_text
        unit = MICROSECONDS["day"] if field.resolution == "day" else 1
        return _stepped_runs(lambda code: text((int(lo) + code * int(step)) // unit), " to ")
    dash = "-" if lo >= 0 else " to "
    if field.type == "integer":
        return _stepped_runs(lambda code: str(int(lo) + code * int(step)), dash)
    return _stepped_runs(lambda code: f"{float(lo + code * step):.12g}", dash)


def _period_text(calendar: Calendar, code: int) -> str:
    """Return a month as 2020-12, a year as 2020."""
    start = int(calendar.starts(np.array([code]))[0])
    text = date_text(start) if calendar.base == "D" else datetime_text(start)
    return text[: len("2020-12")] if calendar.unit == "month" else text[: len("2020")]


def _stepped_runs(text: Callable[[int], str], dash: str) -> Callable[[int, int], str]:
    """Return a labeller by first and last value."""

    def run_label(start: int, stop: int) -> str:
        return text(start) if stop == start + 1 else f"{text(start)}{dash}{text(stop - 1)}"

    return run_label


def _interval_runs(lo: float, hi: float, values: int) -> Callable[[int, int], str]:
    """Return a labeller by half-open intervals of real numbers, the last of them closed."""

    def run_label(start: int, stop: int) -> str:
        left, right = (lo + (hi - lo) * (code / values) for code in (start, stop))
        return f"[{left:.12g}, {right:.12g}{']' if stop == values else ')'}"

    return run_label


def _category_runs(field: Field) -> Callable[[int, int], str]:
    """Return a labeller by categories: a range of ordered ones, a list of others."""
    categories: tuple[Scalar, ...] = (False, True) if field.categories is None else field.categories

    def run_label(start: int, stop: int) -> str:
        if field.ordered and stop > start + 2:
            return f"{_scalar_text(categories[start])} to {_scalar_text(categories[stop - 1])}"
        shown = ", ".join(map(_scalar_text, categories[start : min(stop, start + _LISTED)]))
        return shown if stop <= start + _LISTED else f"{shown}, ... ({stop - start} categories)"

    return run_label


def _scalar_text(value: Scalar) -> str:
    """Return a schema value as a reader expects to see it."""
    return value if isinstance(value, str) else json.dumps(value)
