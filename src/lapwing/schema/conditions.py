"""What a condition asks of one column: values, ranges, orders, missing. How they are written, and the codes they mean.

Public values only; no row comes here.
"""

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final, Literal, Protocol, cast

import numpy as np

from lapwing.errors import LapwingError, ParameterError, SchemaError
from lapwing.maths.runs import Runs, merge_runs, runs_where
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Range
from lapwing.schema.scalars import (
    MICROSECONDS,
    category_key,
    did_you_mean,
    finite_number,
    is_encodable,
    is_finite_number,
    parse_date,
    parse_datetime,
    quote,
)
from lapwing.schema.short import short_value
from lapwing.schema.typed import TypedObject
from lapwing.schema.values import category_positions, exact_cells, shown_values, special_codes, stand_in

_CELLS: Final = 2**32
_FEW: Final = 10
_LISTED: Final = 40
_FORMS: Final = {
    "integer": "a number",
    "number": "a number",
    "date": "a day such as 2020-01-31",
    "datetime": "a moment such as 2020-01-31T13:45:00",
}
_NAMES_OF_MISSING: Final = ("NAType", "NaTType")  # of pandas, which this package does not need
_HOLDS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_AFTER: Final = (">", "<=")
"""The orders that cut after the constant and not before it."""

Cells = Literal["inside", "touching", "half open"]
"""Which cells of numbers without resolution a range asks for, where an end of it lies within one."""


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
        low = "" if self.low is None else f"{short_value(self.low)} <= "
        return f"{low}value" + ("" if self.high is None else f" <= {short_value(self.high)}")


@dataclass(frozen=True, slots=True)
class OrderComparison:
    """Ask for the regular values that are less than a constant, or at most it, or more, or at least it.

    Numbers without resolution in the cell of the constant count as equal to it, but for cells that show one number.
    """

    order: str  # <, <=, > or >=
    constant: object


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Ask for codes that have been looked up."""

    runs: Runs


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks for codes: what its refusals begin with, and what they are.

    code: of all its refusals; where there is none, that of the rule that is broken.
    """

    name: str = "where"
    error: type[LapwingError] = ParameterError
    code: str = ""

    def refused(self, said: str, code: str) -> LapwingError:
        """Return the refusal of a condition."""
        return self.error(f"{self.name}: {said}", code=self.code or code)

    def asked(self, field: Field, said: str, code: str = "LW320") -> LapwingError:
        """Return the refusal of what a column is asked for."""
        return self.error(f"{self.name} asks column {quote(field.name)} for {said}", code=self.code or code)


WHERE: Final = Asker()


class HasColumns(Protocol):
    """What a condition needs of a `lapwing.schema.schemas.Schema`, which imports this module."""

    def field(self, name: str) -> Field:
        """Return the field of a name; a SchemaError where there is none."""

    @property
    def columns(self) -> tuple[Field, ...]:
        """The modelled fields."""


Scalar = str | int | float | bool
Item = Scalar | Between | None
Condition = tuple[Item, ...]
"""What a column may be: any of these; None is missing."""

_ENDS: Final = ("minimum", "maximum")


# -- How it stands in a schema: an item, or a list of several.


def condition_from(value: object, where: str, code: str, *, takes_all: bool = False) -> Condition:
    """Return the condition that a value in the file format is; where, code: of the rule that it is part of.

    takes_all: whether a range may be open at both ends, and holds all that is not missing.
    """
    items = value if isinstance(value, list | tuple) else [value]
    if not items:
        raise SchemaError(f"{where} must be a list of at least one entry, got an empty list", code=code)
    return tuple(_item_from(item, where, code, takes_all=takes_all) for item in items)


def _item_from(value: object, where: str, code: str, *, takes_all: bool) -> Item:
    if not isinstance(value, Mapping | Between):
        return scalar_from(value, where, code)
    ends = (value.low, value.high) if isinstance(value, Between) else _ends_from(value, where, code)
    if ends == (None, None) and not takes_all:
        said = 'a range needs "minimum" or "maximum"; write null itself for missing'
        raise SchemaError(f"{where}: {said}", code=code)
    return value if isinstance(value, Between) else Between(*ends)


def _ends_from(value: Mapping[str, object], where: str, code: str) -> tuple[object, ...]:
    TypedObject.of(value, where).only(_ENDS)
    return tuple(scalar_from(value.get(key), where, code) for key in _ENDS)


def scalar_from(value: object, where: str, code: str) -> Scalar | None:
    """Return a value as it stands in a schema: a text, a finite number, true or false; None is missing."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and is_encodable(value)):
        return value
    number = finite_number(value)
    if number is None:
        said = f"must hold texts, finite numbers, true, false or null, got {quote(value)}"
        raise SchemaError(f"{where} {said}", code=code)
    return number


def condition_to_value(condition: Condition | Item) -> object:
    """Return a condition in the file format: a list only where there are several items."""
    if isinstance(condition, tuple):
        items = [condition_to_value(item) for item in condition]
        return items[0] if len(items) == 1 else items
    if not isinstance(condition, Between):
        return condition
    ends = zip(_ENDS, (condition.low, condition.high), strict=True)
    return {key: end for key, end in ends if end is not None}


# -- What somebody wrote.


def items_of(field: Field, wanted: object) -> tuple[object, ...]:
    """Return what `where` asks of a column in Python: one item, or any of several; a pair may have meant a range."""
    if isinstance(wanted, slice):
        ends = ", ".join(map(_shown, (wanted.start, wanted.stop)))
        raise WHERE.asked(field, f"a slice; write lw.between({ends}), which has both ends")
    if isinstance(wanted, tuple) and len(wanted) == 2 and field.domain.ordered and not field.is_categorical:
        pair = ", ".join(map(_shown, wanted))
        said = f"a pair, which may mean a range or two values; write lw.between({pair}) or [{pair}]"
        raise WHERE.asked(field, said)
    listed = wanted.tolist() if isinstance(wanted, np.ndarray) and wanted.ndim == 1 else wanted
    items = tuple(listed) if isinstance(listed, list | tuple | set | frozenset | range) else (listed,)
    if not items:
        raise WHERE.asked(field, "no value at all; list at least one")
    return items


def wanted_runs(field: Field, wanted: object) -> Runs:
    """Return the codes that `where` asks a column for, as `codes_of` does."""
    return codes_of(field, items_of(field, wanted))


def where_runs(schema: HasColumns, where: object) -> dict[str, Runs]:
    """Return the codes that each column of a condition must lie in."""
    if not isinstance(where, Mapping):
        said = f"where must map columns to values, got a {type(where).__name__}; write {{column: value}}"
        raise ParameterError(said, code="LW320")
    return {name: wanted_runs(modelled_field(schema, name), wanted) for name, wanted in where.items()}


def modelled_field(schema: HasColumns, name: str, asker: Asker = WHERE) -> Field:
    """Return a modelled column that a condition names."""
    try:
        field = schema.field(name)
    except SchemaError:
        field = None
    if field is not None and not field.identifier:
        return field
    if field is not None:
        said = f"column {quote(name)} is an identifier, which is not modelled; name another"
        raise asker.refused(said, "LW330")
    columns = [field.name for field in schema.columns]
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    listed = f"columns: {', '.join(itertools.islice(columns, _LISTED))}{more}"
    raise asker.refused(f"no column {quote(name)}; {did_you_mean(name, columns, listed)}", "LW330")


def wanted_of(field: Field, text: str) -> object:
    """Return the value, the range or the list of them that a text asks a field for.

    text: a value, ``a..b``, nothing for missing, or several of these with commas between them.
    """
    read = item_reader(field)
    if "," not in text or text in {category_key(value) for value in field.categories or ()}:
        return read(text)
    return [read(part) for part in text.split(",")]


def item_reader(field: Field) -> Callable[[str], object]:
    """Return what reads one item of a field from a text: a value, ``A..B``, ``A..``, ``..B``, or nothing for missing.

    A text that is no value of the field stays one: whoever looks for its codes refuses it.

    >>> read = item_reader(Field(name="age", type="integer", minimum=0, maximum=99))
    >>> read("30"), read("30..40"), read("65.."), read(""), read("old")
    (30, 30 <= value <= 40, 65 <= value, None, 'old')
    """
    known: dict[str, object] = {category_key(value): value for value in field.categories or ()}
    if field.type == "boolean":
        known = {"true": True, "false": False}

    def value(text: str) -> object:
        listed = text.lower() if field.type == "boolean" else text
        if listed in known:
            return known[listed]
        for kind in (int, float) if field.type in ("integer", "number") else ():
            try:
                number = finite_number(kind(text))
            except ValueError:
                continue
            return text if number is None else number
        return text

    def read(text: str) -> object:
        text = text if text in known else text.strip()
        low, dots, high = text.partition("..")
        if text in known or not (text and dots and field.domain.ordered):
            return value(text) if text or text in known else None
        return Between(*(value(end.strip()) if end.strip() else None for end in (low, high)))

    return read


# -- The codes that it means.


def codes_of(field: Field, items: Iterable[object], asker: Asker = WHERE, cells: Cells = "inside") -> Runs:
    """Return the codes that any of some items asks a column for: int64 (runs, 2), disjoint and increasing.

    items: None, NaN and pandas' NA ask for missing, a value for its cell or the nearest step, a `Between` for the cells
    in it or the steps that begin in it, a `OrderComparison` for what its order says.
    """
    return reader(field, asker, cells)(items)


def reader(field: Field, asker: Asker = WHERE, cells: Cells = "inside") -> Callable[[Iterable[object]], Runs]:
    """Return what `codes_of` does for one column, for many conditions: a list of values is looked through once."""
    codes = _listed(field, asker) if field.is_categorical else _axis(field, asker, cells)

    def runs(items: Iterable[object]) -> Runs:
        return merge_runs(run for item in items for run in _runs(codes, item))

    return runs


def _runs(codes: "_Listed | _Axis", item: object) -> Iterable[tuple[int, int]]:
    """Return the runs of codes of one item."""
    field, asker, domain = codes.field, codes.asker, codes.field.domain
    if isinstance(item, Mapping):
        low, high = item.get("minimum"), item.get("maximum")
        hint = f", or for a range write lw.between({low}, {high})" if domain.ordered else ""
        raise asker.asked(field, f"an object; name a value{hint}")
    if isinstance(item, Codes):
        return item.runs.tolist()  # type: ignore[no-any-return]
    if isinstance(item, OrderComparison):
        return codes.compared(item)
    if isinstance(item, Between):
        if not domain.ordered:
            raise asker.asked(field, "a range, but it has no order; list values")
        if item.low is None and item.high is None:
            raise asker.asked(field, "a range without ends; name one")
        return codes.between(item)
    plain = _plain(item)
    is_nan = isinstance(plain, float) and math.isnan(plain)
    if plain is None or is_nan or type(plain).__name__ in _NAMES_OF_MISSING:
        if not domain.missing:
            raise asker.asked(field, "missing, but it is required; name a value", "LW323")
        return [(domain.last, domain.size)]
    code = codes.code(item)
    return [(code, code + 1)]


@dataclass(frozen=True, slots=True)
class _Listed:
    """The codes of a field with a list of values: categories by key (moments by number), booleans as they are."""

    field: Field
    asker: Asker
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
            said = f"must be {kind}, got {_shown(value)}; {self._way_out(key)}"
            raise _refused(self, said)
        return self.positions[key]

    def _way_out(self, key: object) -> str:
        """Return what a value that is not listed is counted under, or the nearest ones, or the first."""
        field = self.field
        shown_as = None if key is None else stand_in(field, str(key))
        if shown_as is not None:
            return f"it is counted under {quote(shown_as)}: ask for that"
        values: Sequence[object] = field.categories or (False, True)
        listed = ", ".join(map(quote, values[:_FEW])) + (", ..." if len(values) > _FEW else "")
        return did_you_mean(key if field.type == "string" else None, self.positions, f"choose one of {listed}")

    def between(self, item: Between) -> Iterable[tuple[int, int]]:
        """Return the run of codes between two listed values."""
        first = 0 if item.low is None else self.code(item.low)
        last = len(self.positions) - 1 if item.high is None else self.code(item.high)
        _check_order(self, item, first, last)
        return [(first, last + 1)]

    def compared(self, item: OrderComparison) -> Iterable[tuple[int, int]]:
        """Return the codes of categories in an order: numbers and dates by value, texts as the schema lists them."""
        field = self.field
        if field.type == "boolean":
            raise _refused(self, "is true or false; write it as it is, or after not")
        numbers: list[Any] = list(self.positions)  # of dates and moments
        if field.type == "string":
            if not field.ordered:
                raise _refused(self, "has no order; list values with in (...), or declare categoriesOrdered")
            numbers = list(range(len(numbers)))
            number: Any = self.code(item.constant)
        else:
            number = _end(self, item.constant, item.order in _AFTER, "in an order")
            if field.type in ("integer", "number"):
                numbers, number = [Fraction(str(each)) for each in field.categories or ()], Fraction(str(number))
        found = runs_where(np.array([_HOLDS[item.order](each, number) for each in numbers]))
        if not found.size:
            raise _empty(self, item)
        return [(start, stop) for start, stop in found.tolist()]


def _listed(field: Field, asker: Asker) -> _Listed:
    """Return the code of each listed value."""
    if field.categories is None:
        return _Listed(field, asker, {False: 0, True: 1})
    if field.type in ("date", "datetime"):
        return _Listed(field, asker, {_number(field, value): code for code, value in enumerate(field.categories)})
    return _Listed(field, asker, category_positions(field))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """The codes of a numeric or date field: code i begins at ``origin + i * unit``, or with a month or year."""

    field: Field
    asker: Asker
    cells: Cells
    origin: Fraction
    unit: Fraction
    specials: dict[int | float, int]

    @property
    def found(self) -> Range:
        """The range of the field."""
        return self.field.range

    @property
    def values(self) -> int:
        """Regular codes."""
        return self.field.domain.values

    @property
    def is_continuous(self) -> bool:
        """Whether a code is a cell."""
        return self.field.domain.continuous

    @property
    def limit(self) -> Fraction:
        """The position of the last number in the domain."""
        field = self.field
        return self.position(cast("float", field.maximum) if field.type == "number" else self.found.top)

    def position(self, number: float | Fraction) -> Fraction:
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
            raise _refused(self, f"{said}; {way_out}")
        if self.is_continuous:
            return self.found.cell(float(number))
        position = self.position(number)
        return min(round(position) if field.type in ("integer", "number") else math.floor(position), self.values - 1)

    def _holds(self, number: float) -> bool:
        """Return whether a number is one that the field may hold."""
        if self.field.type == "number":
            return 0 <= self.position(number) <= self.limit
        return self.found.lo <= number <= self.found.top and number == math.floor(number)

    def between(self, item: Between) -> Iterable[tuple[int, int]]:
        """Return the runs of codes whose values lie in a range."""
        field = self.field
        ends = [field.minimum if item.low is None else item.low, field.maximum if item.high is None else item.high]
        if self.is_continuous and self.cells == "half open":
            start, stop = (self.code(end) for end in ends)
            stop = self.values if ends[1] == field.maximum else stop
            if start >= stop:
                raise self.asker.asked(field, "a range without any value; write the lower end first")
            return [(start, stop)]
        low = _end(self, ends[0], False, "as the lower end of a range")
        high = _end(self, ends[1], True, "as the upper end of a range")
        _check_order(self, item, low, high)
        if self.is_continuous:
            start, stop = self._cells(low, high)
        else:
            start, stop = self._cut(low, False), self._cut(high, True)
        if start >= stop:
            raise _empty(self, item)
        is_wide = self.is_continuous and self.cells == "touching"
        return [(start, stop), *(self._touching(low, high) if is_wide else ())]

    def compared(self, item: OrderComparison) -> Iterable[tuple[int, int]]:
        """Return the run of codes that stand in an order to a constant."""
        is_after = item.order in _AFTER
        cut = self._cut(_end(self, item.constant, is_after, "in an order"), is_after)
        start, stop = (0, cut) if item.order in ("<", "<=") else (cut, self.values)
        if start >= stop:
            raise _empty(self, item)
        return [(start, stop)]

    def _cut(self, number: Any, is_after: bool) -> int:  # noqa: ANN401 - a number
        """Return the first regular code at or above a number, or the first one above it."""
        if not self.is_continuous:
            position = self.position(number)
            return min(max(math.floor(position) + 1 if is_after else math.ceil(position), 0), self.values)
        real = float(number)
        if not self.found.lo <= real <= self.found.hi:
            return 0 if real < self.found.lo else self.values
        cell = self.found.cell(real)
        # A cell that stands for one number compares as that number; any other that holds the constant is equal to it.
        number_in_cell = exact_cells(self.field).get(cell, real)
        return cell + (number_in_cell <= real if is_after else number_in_cell < real)

    def _cells(self, low: float, high: float) -> tuple[int, int]:
        """Return the run of cells inside a range, or that show a number in it, so that synthetic rows are in it."""
        first, last = max(self.position(low), Fraction(0)), min(self.position(high), self.limit)
        start, stop = math.ceil(first), math.floor(last)
        for code, number in exact_cells(self.field).items():
            if low <= number <= high:
                start, stop = min(start, code), max(stop, code + 1)
            # Rounding may put a number into the cell beside its own.
            elif code == start and number < low:
                start += 1
            elif code == stop - 1 and number > high:
                stop -= 1
        if start >= stop and first <= last:  # a range inside one cell means that cell
            start = min(math.floor(first), self.values - 1)
            stop = start + 1
        return start, stop

    def _touching(self, low: float, high: float) -> Iterator[tuple[int, int]]:
        """Return the cells at the ends of a range that may show a number in it."""
        told = shown_values(self.field)
        for end in (low, high):
            middle = self.found.cell(min(max(end, self.found.lo), self.found.hi))
            near = np.arange(max(middle - 2, 0), min(middle + 3, told.values))
            least, most = told.ends(near)
            for code in near[(most >= low) & (least <= high)].tolist():
                yield code, code + 1


def _axis(field: Field, asker: Asker, cells: Cells) -> _Axis:
    """Return where the codes of a numeric or date field lie."""
    found, is_continuous = field.range, field.domain.continuous
    origin = Fraction(str(field.minimum)) if field.type == "number" and not is_continuous else Fraction(found.lo)
    unit = ((Fraction(found.hi) - origin) / _CELLS or Fraction(1)) if found.step is None else Fraction(found.step)
    return _Axis(
        field=field,
        asker=asker,
        cells=cells,
        origin=origin,
        unit=unit,
        specials=special_codes(field),
    )


def _end(codes: "_Listed | _Axis", end: object, is_after: bool, place: str) -> Any:  # noqa: ANN401 - a number
    """Return a constant in code space; a day without a time ends with its last moment, as in the schema."""
    field = codes.field
    number = _number(field, end)
    if number is None:
        said = f"holds {field.type} values, got {_shown(end)} {place}; write {_FORMS[field.type]}"
        raise _refused(codes, said)
    is_day = field.type == "datetime" and parse_date(_text(end)) is not None
    return number + MICROSECONDS["day"] - 1 if is_after and is_day else number


def _number(field: Field, value: object) -> Any:  # noqa: ANN401 - int, float, Fraction or None
    """Return a value in code space; None if it is no value of the field's type."""
    plain = _plain(value)
    if field.type == "date":
        return parse_date(plain.isoformat().removesuffix("T00:00:00") if isinstance(plain, datetime) else _text(plain))
    if field.type == "datetime":
        return parse_datetime(_text(plain))
    return plain if isinstance(plain, Fraction) or is_finite_number(plain) else None


def _refused(codes: "_Listed | _Axis", said: str) -> LapwingError:
    """Return the error that a column holds nothing like what a condition asks for."""
    return codes.asker.refused(f"column {quote(codes.field.name)} {said}", "LW323")


def _empty(codes: "_Listed | _Axis", item: Between | OrderComparison) -> LapwingError:
    """Return the error that no value of a column lies where a condition asks for one."""
    field = codes.field
    if isinstance(item, OrderComparison):
        said = f"{item.order} {_shown(item.constant)}"
    elif item.low is None or item.high is None:
        said = f"up to {_shown(item.high)}" if item.low is None else f"from {_shown(item.low)} on"
    else:
        said = f"from {_shown(item.low)} to {_shown(item.high)}"
    domain = "" if field.is_categorical else f"; its domain goes from {field.minimum} to {field.maximum}"
    return _refused(codes, f"has no value {said}{domain}")


def _check_order(codes: "_Listed | _Axis", item: Between, low: float, high: float) -> None:
    """Refuse a range whose ends stand the wrong way round."""
    if low > high and item.low is not None and item.high is not None:
        said = f"a range from {_shown(item.low)} to {_shown(item.high)}; write the lower end first"
        raise codes.asker.asked(codes.field, said)


def _plain(value: object) -> object:
    """Return a NumPy scalar as the Python value it stands for, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _shown(value: object) -> str:
    """Return a setting as it should stand in a sentence."""
    return quote(plain_number(value) if isinstance(value, Fraction) else _text(value))


def plain_number(number: Fraction) -> int | float:
    """Return a constant as a condition on a column takes it.

    >>> plain_number(Fraction(3)), plain_number(Fraction(1, 4))
    (3, 0.25)
    """
    return int(number) if number.denominator == 1 else float(number)


def _text(value: object) -> object:
    """Return a date or moment as its ISO text, and anything else as it is."""
    return value.isoformat() if isinstance(value, date) else value
