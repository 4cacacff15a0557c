"""Calendar units in which a histogram of a date column can be read."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal

import numpy as np

from lapwing.schema.fields import Field
from lapwing.schema.scalars import MICROSECONDS, date_text, datetime_text

_DAY: Final = MICROSECONDS["day"]
_MONDAY: Final = 4  # days from 1970-01-01, a Thursday, to the first Monday


@dataclass(frozen=True, slots=True)
class _Unit:
    """So many microseconds, weeks, or calendar months."""

    kind: Literal["time", "week", "month"]
    size: int


_UNITS: Final = (
    *(_Unit("time", MICROSECONDS["second"] * size) for size in (1, 10, 30)),
    *(_Unit("time", MICROSECONDS["minute"] * size) for size in (1, 5, 15, 30)),
    *(_Unit("time", MICROSECONDS["hour"] * size) for size in (1, 3, 6, 12)),
    _Unit("time", _DAY),
    _Unit("week", 7 * _DAY),
    *(_Unit("month", size) for size in (1, 3)),
    *(_Unit("month", 12 * size) for size in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
)


def date_edges(field: Field, low: int, high: int, most: int) -> list[tuple[int, str]]:
    """Return where calendar units begin, in the finest unit that cuts a range into at most so many.

    Parameters
    ----------
    field : Field
        A date or datetime without categories.
    low, high : int
        First and last code of the range.
    most : int
        Units inside the range, at least 20.

    Returns
    -------
    list of (int, str)
        First code and label of each unit that has a code, increasing: from the unit of ``low`` to the one behind that
        of ``high``, as far as the field goes.

    Examples
    --------
    >>> day = Field(name="day", type="date", minimum="2020-01-01", maximum="2020-12-31")
    >>> date_edges(day, 0, 365, 38)[:3]
    [(0, '2020-01'), (31, '2020-02'), (60, '2020-03')]
    """
    first, last = (_moment(field, code) for code in (low, high))
    unit = next(unit for unit in _UNITS if _place(unit, last) - _place(unit, first) < most)
    found: dict[int, str] = {}
    for place in range(_place(unit, first), _place(unit, last) + 2):
        start = _start(unit, place)
        if start is None:
            break
        code = _code(field, start)
        if code < field.domain.values:
            # A code that is wider than the unit belongs to the unit that its moment lies in.
            found[code] = _text(unit, place, start)
    return sorted(found.items())


def _moment(field: Field, code: int) -> int:
    """Return when a code begins, in microseconds since 1970."""
    found = field.range
    if found.calendar is not None:
        number = int(found.calendar.starts(np.array([code]))[0])
    else:
        assert found.step is not None, "codes of dates are steps, months or years"
        number = int(found.lo) + code * int(found.step)
    return number * _DAY if field.type == "date" else number


def _code(field: Field, moment: int) -> int:
    """Return the first code that begins at a moment or after it."""
    found = field.range
    number = -(-moment // _DAY) if field.type == "date" else moment
    if number <= found.lo:
        return 0
    if found.calendar is None:
        assert found.step is not None, "codes of dates are steps, months or years"
        return int(-(-(number - int(found.lo)) // int(found.step)))
    code = found.calendar.codes(np.array([number]))
    return int(code[0]) + int(found.calendar.starts(code)[0] < number)


def _place(unit: _Unit, moment: int) -> int:
    """Return which unit since 1970 a moment lies in."""
    if unit.kind == "time":
        return moment // unit.size
    if unit.kind == "week":
        return (moment // _DAY - _MONDAY) // 7
    day = date(1970, 1, 1) + timedelta(days=moment // _DAY)
    return (day.year * 12 + day.month - 1) // unit.size


def _start(unit: _Unit, place: int) -> int | None:
    """Return when a unit begins, in microseconds since 1970; None beyond the calendar."""
    if unit.kind == "time":
        return place * unit.size
    if unit.kind == "week":
        return (7 * place + _MONDAY) * _DAY
    year, month = divmod(place * unit.size, 12)
    return (date(max(year, 1), month + 1, 1) - date(1970, 1, 1)).days * _DAY if year <= date.max.year else None


def _text(unit: _Unit, place: int, start: int) -> str:
    """Return a unit's label: 2020-03, 2020 Q1, 2020, 2020-2024, 2020-03-01, a week by its Monday, or a time."""
    if unit.kind == "time" and unit.size < _DAY:
        return datetime_text(start).replace("T", " ")
    if unit.kind != "month":
        return date_text(start // _DAY)
    year, month = divmod(place * unit.size, 12)
    if unit.size == 1:
        return f"{year:04}-{month + 1:02}"
    if unit.size == 3:
        return f"{year} Q{month // 3 + 1}"
    return str(year) if unit.size == 12 else f"{year}-{year + unit.size // 12 - 1}"
