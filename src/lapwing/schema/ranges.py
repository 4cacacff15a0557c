"""The range of a numeric or date field as numbers: where its codes begin, end, and how wide each one is."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from lapwing.errors import SchemaError
from lapwing.schema.calendars import Calendar
from lapwing.schema.domains import CONTINUOUS_VALUES, MAX_VALUES
from lapwing.schema.scalars import MICROSECONDS, parse_date, parse_datetime, quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The regular codes of a numeric or date field: code i stands for ``lo + i * step``, or for a month or year.

    Parameters
    ----------
    lo, hi : int or float
        First and last value: integers; days (date) or microseconds (datetime) since 1970-01-01; floats (number).
    top : int or float
        Last number that is not beyond the maximum: `hi`, or one that shares its code.
    step : int, Fraction or None
        Distance of neighbouring codes in the unit of `lo`; None where codes are cells of a continuous range, or
        calendar months or years.
    values : int
        Number of regular codes.
    calendar : Calendar or None
        Which months or years the codes are, where they are.
    """

    lo: int | float
    hi: int | float
    top: int | float
    step: int | Fraction | None
    values: int
    calendar: Calendar | None = None

    @property
    def zero(self) -> int:
        """The code of zero in a numeric field; where zero is out of bounds, what it would be if codes went on."""
        if self.lo == self.hi:
            return 0
        if self.step is None:
            code = math.floor((0.0 - self.lo) / (self.hi - self.lo) * CONTINUOUS_VALUES)
        elif isinstance(self.lo, float):
            code = round((0.0 - self.lo) / float(self.step))
        else:
            code = round(Fraction(-self.lo) / self.step)
        return min(code, self.values - 1) if self.lo <= 0 <= self.top else code

    def cell(self, number: float) -> int:
        """Return the code of a number within a continuous range, rounded at every step as the codec rounds."""
        if self.lo == self.hi:
            return 0
        code = math.floor((number - self.lo) / (self.hi - self.lo) * CONTINUOUS_VALUES)
        return min(code, self.values - 1)


def range_of(
    name: str,
    kind: str,
    *,
    minimum: str | float | None,
    maximum: str | float | None,
    resolution: str | float | None,
) -> Range:
    """Return the range that checked and complete bounds describe.

    Raises
    ------
    SchemaError
        Where a bound is blank, the bounds are reversed, or there are more than 2**53 codes.
    """
    if minimum is None or maximum is None:
        missing = "minimum" if minimum is None else "maximum"
        raise SchemaError(
            f"field {quote(name)}: {missing} is missing or blank; "
            "write one that is public knowledge into its constraints, or list categories",
            code="LW210",
        )
    where = f"field {quote(name)}: bounds {quote(minimum)} and {quote(maximum)}"
    if kind == "number":
        found = _number_range(where, minimum, maximum, resolution)
    elif kind == "integer":
        found = _stepped_range(int(minimum), int(maximum), int(resolution or 1))
    elif kind == "date":
        found = _date_range(minimum, maximum, str(resolution or "day"))
    else:
        found = _datetime_range(minimum, maximum, str(resolution or "second"))
    if found.values < 1:
        raise SchemaError(
            f"field {quote(name)}: minimum {quote(minimum)} is above maximum {quote(maximum)}; swap them", code="LW211"
        )
    if found.values > MAX_VALUES:
        raise SchemaError(f"{where} leave more than 2**53 values; narrow them or use a coarser type", code="LW211")
    return found


def _number_range(where: str, minimum: str | float, maximum: str | float, resolution: str | float | None) -> Range:
    """Return the range of a number field, counted in fractions where it has a resolution."""
    lo, hi = float(minimum), float(maximum)
    if hi - lo == float("inf"):
        raise SchemaError(f"{where} are too far apart for a float; narrow them", code="LW211")
    if resolution is None:
        return Range(lo=lo, hi=hi, top=hi, step=None, values=CONTINUOUS_VALUES if lo < hi else int(lo == hi))
    step = Fraction(str(resolution))
    if step < 4 * Fraction(math.ulp(max(abs(lo), abs(hi)))):
        # Neighbouring multiples would be written as the same float and read back as each other.
        raise SchemaError(f"{where} are too large for resolution {quote(resolution)}; use a coarser one", code="LW211")
    count = (Fraction(str(maximum)) - Fraction(str(minimum))) // step + 1
    return Range(lo=lo, hi=hi, top=hi, step=step, values=int(count))


def _date_range(minimum: str | float, maximum: str | float, unit: str) -> Range:
    """Return the range of a date field."""
    lo, hi = _known(parse_date(minimum)), _known(parse_date(maximum))
    if unit in ("month", "year"):
        return _calendar_range(lo, hi, Calendar(unit="month" if unit == "month" else "year", base="D", minimum=lo))
    return _stepped_range(lo, hi, 7 if unit == "week" else 1)


def _datetime_range(minimum: str | float, maximum: str | float, unit: str) -> Range:
    """Return the range of a datetime field; a maximum without a time of day includes that whole day."""
    lo, hi = _known(parse_datetime(minimum)), _known(parse_datetime(maximum))
    if parse_date(maximum) is not None:
        hi += MICROSECONDS["day"] - 1
    if unit in ("month", "year"):
        return _calendar_range(lo, hi, Calendar(unit="month" if unit == "month" else "year", base="us", minimum=lo))
    found = _stepped_range(lo, hi, MICROSECONDS[unit])
    return replace(found, top=int(found.hi) + MICROSECONDS[unit] - 1)  # the last unit is inside as a whole


def _stepped_range(lo: int, top: int, step: int) -> Range:
    """Return the range of whole steps from `lo` that do not pass `top`."""
    values = (top - lo) // step + 1
    return Range(lo=lo, hi=lo + (values - 1) * step, top=top, step=step, values=values)


def _calendar_range(lo: int, top: int, calendar: Calendar) -> Range:
    """Return the range of the months or years up to that of `top`."""
    last = calendar.codes(np.array([top]))
    hi = int(calendar.starts(last)[0])
    return Range(lo=lo, hi=hi, top=top, step=None, values=int(last[0]) + 1 if lo <= top else 0, calendar=calendar)


def _known(number: int | None) -> int:
    """Return a parsed bound, which the field's own check has already found readable."""
    assert number is not None
    return number


def octave_cuts(found: Range) -> tuple[tuple[int, ...], ...]:
    """Return the cuts of a logarithmic scale: around zero, then where the distance from it passes a power of two.

    Examples
    --------
    >>> octave_cuts(range_of("x", "integer", minimum=-3, maximum=20, resolution=None))
    ((3, 4), (2, 5, 7, 11, 19))
    """
    zero, values = found.zero, found.values
    farthest = max(abs(zero), abs(values - zero))
    powers = [2**k for k in range(1, farthest.bit_length())]
    tiers = ({zero, zero + 1}, {zero + power for power in powers} | {zero + 1 - power for power in powers})
    inside = (tuple(sorted(code for code in tier if 1 <= code < values)) for tier in tiers)
    return tuple(tier for tier in inside if tier)
