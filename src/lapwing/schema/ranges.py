"""The range of a numeric or date field as numbers: where its codes begin, end, and how wide each one is."""

import math
from dataclasses import dataclass
from fractions import Fraction

from lapwing.errors import SchemaError
from lapwing.schema.domains import CONTINUOUS_VALUES, MAX_VALUES
from lapwing.schema.scalars import MICROSECONDS, parse_date, parse_datetime, quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The regular codes of a numeric or date field: code i stands for ``lo + i * step``.

    Parameters
    ----------
    lo, hi : int or float
        First and last value: integers; days (date) or microseconds (datetime) since 1970-01-01; floats (number).
    step : int, Fraction or None
        Distance of neighbouring codes in the unit of `lo`; None where codes are cells of a continuous range.
    values : int
        Number of regular codes.
    """

    lo: int | float
    hi: int | float
    step: int | Fraction | None
    values: int


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
            "write one that is public knowledge into its constraints, or list categories"
        )
    where = f"field {quote(name)}: bounds {quote(minimum)} and {quote(maximum)}"
    if kind == "number":
        found = _number_range(where, minimum, maximum, resolution)
    elif kind == "integer":
        found = _stepped_range(int(minimum), int(maximum), 1)
    elif kind == "date":
        found = _stepped_range(_known(parse_date(minimum)), _known(parse_date(maximum)), 1)
    else:
        found = _datetime_range(minimum, maximum, MICROSECONDS[str(resolution or "second")])
    if found.values < 1:
        raise SchemaError(f"field {quote(name)}: minimum {quote(minimum)} is above maximum {quote(maximum)}; swap them")
    if found.values > MAX_VALUES:
        raise SchemaError(f"{where} leave more than 2**53 values; narrow them or use a coarser type")
    return found


def _number_range(where: str, minimum: str | float, maximum: str | float, resolution: str | float | None) -> Range:
    """Return the range of a number field, counted in fractions where it has a resolution."""
    lo, hi = float(minimum), float(maximum)
    if hi - lo == float("inf"):
        raise SchemaError(f"{where} are too far apart for a float; narrow them")
    if resolution is None:
        return Range(lo=lo, hi=hi, step=None, values=CONTINUOUS_VALUES if lo < hi else int(lo == hi))
    step = Fraction(str(resolution))
    if step < 4 * Fraction(math.ulp(max(abs(lo), abs(hi)))):
        # Neighbouring multiples would be written as the same float and read back as each other.
        raise SchemaError(f"{where} are too large for resolution {quote(resolution)}; use a coarser one")
    count = (Fraction(str(maximum)) - Fraction(str(minimum))) // step + 1
    return Range(lo=lo, hi=hi, step=step, values=int(count))


def _datetime_range(minimum: str | float, maximum: str | float, step: int) -> Range:
    """Return the range of a datetime field; a maximum without a time of day includes that whole day."""
    lo, hi = _known(parse_datetime(minimum)), _known(parse_datetime(maximum))
    if parse_date(maximum) is not None:
        hi += MICROSECONDS["day"] - 1
    return _stepped_range(lo, hi, step)


def _stepped_range(lo: int, hi: int, step: int) -> Range:
    """Return the range of whole steps from `lo` that do not pass `hi`."""
    values = (hi - lo) // step + 1
    return Range(lo=lo, hi=lo + (values - 1) * step, step=step, values=values)


def _known(number: int | None) -> int:
    """Return a parsed bound, which the field's own check has already found readable."""
    assert number is not None
    return number
