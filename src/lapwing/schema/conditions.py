"""What a condition on one column asks for, as runs of codes. Public values only; no row comes here."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any, cast

import numpy as np

from lapwing.errors import ParameterError
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain, Range
from lapwing.schema.scalars import (
    MICROSECONDS,
    asked_about,
    category_key,
    is_finite_number,
    parse_date,
    parse_datetime,
    quote,
)
from lapwing.schema.short import shortened
from lapwing.schema.values import category_positions, exact_cells, special_codes, stand_in

_CELLS = 2**32
_FORMS = {
    "integer": "a number",
    "number": "a number",
    "date": "a day such as 2020-01-31",
    "datetime": "a moment such as 2020-01-31T13:45:00",
}
_NAMES_OF_MISSING = ("NAType", "NaTType")  # of pandas, which this package does not need


@dataclass(frozen=True, slots=True, repr=False)
class Between:
    """Ask for a range of an ordered column, both ends included; special values and missing are not in it.

    Parameters
    ----------
    low, high : number, date or its ISO text, or category
        The ends, ``low`` at most ``high``; one of them may be None, for the end of the column's domain. Of a column of
        whole numbers 18 to 64 are ``between(18, 64)``, and all from 65 on ``between(65, None)``.

    Examples
    --------
    >>> Between(18, 65), Between(18, None), Between(None, "2020-01-31")
    (18 <= value <= 65, 18 <= value, value <= '2020-01-31')
    """

    low: object
    high: object

    def __repr__(self) -> str:
        low = "" if self.low is None else f"{shortened(self.low)} <= "
        return f"{low}value" + ("" if self.high is None else f" <= {shortened(self.high)}")


def range_to_dict(item: Between) -> dict[str, object]:
    """Return a range in the file format."""
    ends = {"minimum": item.low, "maximum": item.high}
    return {key: end for key, end in ends.items() if end is not None} or ends


def _refusal(field: Field, said: str) -> ParameterError:
    """Return the error that a column holds nothing like what a condition asks for."""
    return ParameterError(f"where: column {quote(field.name)} {said}", code="LW323")


def wanted_runs(field: Field, wanted: object, asker: str = "where") -> np.ndarray:
    """Return the codes that a condition asks for: int64 (runs, 2), disjoint and increasing.

    None, NaN and pandas' NA ask for missing. A value means its cell or the nearest step, a range the cells in it, or
    the steps that begin in it.
    """
    return wanted_reader(field, asker)(wanted)


def wanted_reader(field: Field, asker: str = "where") -> Callable[[object], np.ndarray]:
    """Return what `wanted_runs` does for one column, for many conditions: a list of values is looked through once."""
    domain = field.domain
    codes = _listed(field) if field.is_categorical else _axis(field, domain)

    def runs(wanted: object) -> np.ndarray:
        listed = wanted.tolist() if isinstance(wanted, np.ndarray) and wanted.ndim == 1 else wanted
        items = list(listed) if isinstance(listed, list | tuple | set | frozenset | range) else [listed]
        if not items:
            said = f"{asker} asks column {quote(field.name)} for no value at all; list at least one"
            raise ParameterError(said, code="LW320")
        try:
            return merged_runs(_run(codes, domain, item) for item in items)
        except ParameterError as error:
            message, code = str(error).removeprefix("where"), error.code
        raise ParameterError(asker + message, code=code)

    return runs


def where_runs(field: Field, wanted: object) -> np.ndarray:
    """Return what `wanted_runs` does for what somebody wrote, who may have meant a pair or a slice as a range."""
    asked = f"where asks column {quote(field.name)} for a"
    if isinstance(wanted, slice):
        ends = ", ".join(map(_shown, (wanted.start, wanted.stop)))
        raise ParameterError(f"{asked} slice; write lw.between({ends}), which has both ends", code="LW320")
    if isinstance(wanted, tuple) and len(wanted) == 2 and field.domain.ordered and not field.is_categorical:
        pair = ", ".join(map(_shown, wanted))
        said = f"pair, which may mean a range or two values; write lw.between({pair}) or [{pair}]"
        raise ParameterError(f"{asked} {said}", code="LW320")
    return wanted_runs(field, wanted)


def merged_runs(runs: Iterable[tuple[int, int]]) -> np.ndarray:
    """Sort runs and join those that touch."""
    joined: list[list[int]] = []
    for start, stop in sorted(runs):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], stop)
        else:
            joined.append([start, stop])
    return np.array(joined, dtype=np.int64)


def _run(codes: "_Listed | _Axis", domain: Domain, item: object) -> tuple[int, int]:
    """Return the run of codes of one value or range."""
    asked = f"where asks column {quote(codes.field.name)} for"
    if isinstance(item, Mapping):
        low, high = item.get("minimum"), item.get("maximum")
        hint = f", or for a range write lw.between({low}, {high})" if domain.ordered else ""
        raise ParameterError(f"{asked} an object; name a value{hint}", code="LW320")
    if isinstance(item, Between):
        if not domain.ordered:
            raise ParameterError(f"{asked} a range, but it has no order; list values", code="LW320")
        return codes.between(_closed(codes.field, item))
    plain = _plain(item)
    is_nan = isinstance(plain, float) and math.isnan(plain)
    if plain is None or is_nan or type(plain).__name__ in _NAMES_OF_MISSING:
        if not domain.missing:
            raise ParameterError(f"{asked} missing, but it is required; name a value", code="LW323")
        return domain.last, domain.size
    code = codes.code(item)
    return code, code + 1


def _closed(field: Field, item: Between) -> Between:
    """Return a range whose open end is that of the column's domain."""
    if item.low is None and item.high is None:
        raise ParameterError(f"where asks column {quote(field.name)} for a range without ends; name one", code="LW320")
    ends: Sequence[object] = (field.minimum, field.maximum)
    if field.is_categorical:
        ends = field.categories or (False, True)
    return Between(ends[0] if item.low is None else item.low, ends[-1] if item.high is None else item.high)


def _plain(value: object) -> object:
    """Return a NumPy scalar as the Python value it stands for, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, slots=True)
class _Listed:
    """The codes of a field with a list of values: categories by key (moments by number), booleans as they are."""

    field: Field
    positions: dict[Any, int]

    def code(self, value: object) -> int:
        """Return the code of one listed value."""
        field, plain = self.field, _plain(value)
        key: object = None
        if field.categories is None:
            key = plain if isinstance(plain, bool) else None
        elif field.type in ("date", "datetime"):
            key = _number(field, plain)
        elif isinstance(plain, str | bool) or is_finite_number(plain):
            key = category_key(cast("str | float", plain))
        if key not in self.positions:
            kind = "true or false" if field.categories is None else "one of its categories"
            raise _refusal(field, f"must be {kind}, got {_shown(value)}; {self._way_out(key)}")
        return self.positions[key]

    def _way_out(self, key: object) -> str:
        """Return what a value that is not listed is counted under, or a question about the nearest ones."""
        shown_as = None if key is None else stand_in(self.field, str(key))
        if shown_as is not None:
            return f"it is counted under {quote(shown_as)}: ask for that"
        return asked_about(key if self.field.type == "string" else None, self.positions, "see the schema")

    def between(self, item: Between) -> tuple[int, int]:
        """Return the run of codes between two listed values."""
        first, last = self.code(item.low), self.code(item.high)
        _check_order(self.field, item, first, last)
        return first, last + 1


def _listed(field: Field) -> _Listed:
    """Return the code of each listed value."""
    if field.categories is None:
        return _Listed(field, {False: 0, True: 1})
    if field.type in ("date", "datetime"):
        return _Listed(field, {_number(field, value): code for code, value in enumerate(field.categories)})
    return _Listed(field, category_positions(field))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """The codes of a numeric or date field: code i begins at ``origin + i * unit``, or with a month or year."""

    field: Field
    found: Range
    values: int
    is_continuous: bool
    origin: Fraction
    unit: Fraction
    specials: dict[int | float, int]

    @property
    def limit(self) -> Fraction:
        """The position of the last number in the domain."""
        field = self.field
        return self.position(cast("float", field.maximum) if field.type == "number" else self.found.top)

    def position(self, number: float) -> Fraction:
        """Return how many units a number lies above the origin; within a month or year, a half for all numbers."""
        calendar = self.found.calendar
        if calendar is not None:
            code = calendar.codes(np.array([number]))
            start = int(calendar.starts(code)[0])
            return Fraction(2 * int(code[0]) + (number > start) - (number < start), 2)
        has_resolution = self.field.type == "number" and not self.is_continuous
        exact = Fraction(str(number)) if has_resolution else Fraction(number)
        return (exact - self.origin) / self.unit

    def code(self, value: object) -> int:
        """Return the code of one number, date or moment; a number goes to the nearest step."""
        field = self.field
        number = _number(field, value)
        if number is not None and number in self.specials:
            return self.specials[number]
        if number is None or not self._holds(number):
            is_misspelt = number is None and field.type in ("date", "datetime")
            way_out = f"write {_FORMS[field.type]}" if is_misspelt else "name a value in its domain"
            said = f"holds {field.type} values from {field.minimum} to {field.maximum}, got {_shown(value)}"
            raise _refusal(field, f"{said}; {way_out}")
        if self.is_continuous:
            return self.found.cell(float(number))
        position = self.position(number)
        return min(round(position) if field.type in ("integer", "number") else math.floor(position), self.values - 1)

    def _holds(self, number: float) -> bool:
        """Return whether a number is one that the field may hold."""
        if self.field.type == "number":
            return 0 <= self.position(number) <= self.limit
        return self.found.lo <= number <= self.found.top and number == math.floor(number)

    def between(self, item: Between) -> tuple[int, int]:
        """Return the run of codes whose values lie in a range."""
        field = self.field
        low, high = self._end(item.low, "lower"), self._end(item.high, "upper")
        if field.type == "datetime" and parse_date(_text(item.high)) is not None:
            high += MICROSECONDS["day"] - 1  # a day without a time is the whole day, as in the schema
        _check_order(field, item, low, high)
        first, last = max(self.position(low), Fraction(0)), min(self.position(high), self.limit)
        if self.is_continuous:
            start, stop = _cells(self, (low, high), (first, last))
        else:
            start, stop = math.ceil(first), min(math.floor(last) + 1, self.values)
        if start >= stop:
            said = f"has no value from {_shown(item.low)} to {_shown(item.high)}"
            raise _refusal(field, f"{said}; its domain goes from {field.minimum} to {field.maximum}")
        return start, stop

    def _end(self, end: object, which: str) -> int | float:
        """Return one end of a range in code space."""
        number = _number(self.field, end)
        if number is None:
            kind = self.field.type
            said = f"holds {kind} values, got {_shown(end)} as the {which} end of a range; write {_FORMS[kind]}"
            raise _refusal(self.field, said)
        return number


def _axis(field: Field, domain: Domain) -> _Axis:
    """Return where the codes of a numeric or date field lie."""
    found, is_continuous = field.range, domain.continuous
    origin = Fraction(str(field.minimum)) if field.type == "number" and not is_continuous else Fraction(found.lo)
    unit = ((Fraction(found.hi) - origin) / _CELLS or Fraction(1)) if found.step is None else Fraction(found.step)
    return _Axis(
        field=field,
        found=found,
        values=domain.values,
        is_continuous=is_continuous,
        origin=origin,
        unit=unit,
        specials=special_codes(field),
    )


def _number(field: Field, value: object) -> int | float | None:
    """Return a value in code space; None if it is no value of the field's type."""
    plain = _plain(value)
    if field.type == "date":
        return parse_date(plain.isoformat().removesuffix("T00:00:00") if isinstance(plain, datetime) else _text(plain))
    if field.type == "datetime":
        return parse_datetime(_text(plain))
    return cast("int | float", plain) if is_finite_number(plain) else None


def _cells(axis: _Axis, ends: tuple[float, float], positions: tuple[Fraction, Fraction]) -> tuple[int, int]:
    """Return the run of cells inside a range, or that show exactly a number in it, so that synthetic rows are in it."""
    start, stop = math.ceil(positions[0]), math.floor(positions[1])
    for code, number in exact_cells(axis.field).items():
        if ends[0] <= number <= ends[1]:
            start, stop = min(start, code), max(stop, code + 1)
        # Rounding may put a number into the cell beside its own.
        elif code == start and number < ends[0]:
            start += 1
        elif code == stop - 1 and number > ends[1]:
            stop -= 1
    if start >= stop and positions[0] <= positions[1]:  # a range inside one cell means that cell
        start = min(math.floor(positions[0]), axis.values - 1)
        stop = start + 1
    return start, stop


def _check_order(field: Field, item: Between, low: float, high: float) -> None:
    """Refuse a range whose ends stand the wrong way round."""
    if low > high:
        said = f"a range from {_shown(item.low)} to {_shown(item.high)}; write the lower end first"
        raise ParameterError(f"where asks column {quote(field.name)} for {said}", code="LW320")


def _shown(value: object) -> str:
    """Return a setting as it should stand in a sentence."""
    return quote(_text(value))


def _text(value: object) -> object:
    """Return a date or moment as its ISO text, and anything else as it is."""
    return value.isoformat() if isinstance(value, date) else value
