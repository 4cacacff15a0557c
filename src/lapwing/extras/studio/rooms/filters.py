"""Conditions on columns as the fields of a form: boxes for values, two ends for what is ordered, a text for long lists.

Fields are called by the column's place in the schema: ``w3`` boxes, ``f3`` and ``u3`` the ends, ``t3`` the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from lapwing.errors import ParameterError
from lapwing.model.statistics.expressions import read_conditions
from lapwing.schema.conditions import wanted_of
from lapwing.schema.fields import Field
from lapwing.schema.scalars import category_key
from lapwing.schema.schemas import Schema

Form = Sequence[tuple[str, str]]
T = TypeVar("T")

MISSING: Final = "missing"
"""Value of the box for cells without a value."""

_MOST_BOXES: Final = 40
_DIGITS: Final = 9
_MOST_COLUMNS: Final = 100
"""Columns with fields of their own; those after them are named in lines of text."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The fields of one column.

    boxes: values and what is shown of them; low, high: the ends that are possible, None where there are none; is_text:
    whether values are typed.
    """

    place: int
    name: str
    boxes: tuple[tuple[str, str], ...]
    low: object = None
    high: object = None
    is_text: bool = False

    def is_used(self, typed: "TypedForm") -> bool:
        """Return whether the form says anything of this column."""
        return any(typed.all(f"{letter}{self.place}", filled=True) for letter in "wfut")


@dataclass(frozen=True, slots=True)
class TypedForm:
    """A form as it was sent, to be shown again."""

    form: Form = ()

    def all(self, name: str, *, filled: bool = False) -> list[str]:
        """Return all values of a field; `filled`: those that are not empty."""
        return [value for key, value in self.form if key == name and (value.strip() or not filled)]

    def one(self, name: str, usual: str = "") -> str:
        """Return the last value of a field."""
        return next(reversed(self.all(name)), usual)


def filters(schema: Schema) -> list[Filter]:
    """Return the fields of the first columns of a schema."""
    return [_filter(place, field) for place, field in enumerate(schema.columns[:_MOST_COLUMNS])]


def has_more(schema: Schema) -> bool:
    """Return whether there are columns without fields of their own."""
    return len(schema.columns) > _MOST_COLUMNS


def where_of(schema: Schema, typed: TypedForm) -> dict[str, Any]:
    """Return the conditions that a form holds; none where it holds none."""
    found: dict[str, Any] = {}
    for place, field in enumerate(schema.columns[:_MOST_COLUMNS]):
        wanted = _wanted(place, field, typed)
        if wanted:
            found[field.name] = wanted
    lines = [line.strip() for line in typed.one("more").splitlines() if line.strip()]
    for name, value in (read_conditions(lines, schema) or {}).items():
        if name in found:
            raise ParameterError(f"column {name!r} is asked for twice; say it once", code="LW320")
        found[name] = value
    return found


def named_value(values: Sequence[T], place: str) -> T:
    """Return the value at a place that a form names."""
    if place.isdecimal() and len(place) < _DIGITS and int(place) < len(values):
        return values[int(place)]
    raise ParameterError("this form is of another release; load the page again", code="LW320")


def _filter(place: int, field: Field) -> Filter:
    """Return the fields of a column."""
    missing = ((MISSING, ""),) if field.domain.missing else ()
    values = _values(field)
    if not field.is_categorical:
        boxes = tuple((str(number), str(value)) for number, value in enumerate(field.special))
        return Filter(place, field.name, (*boxes, *missing), field.minimum, field.maximum)
    if len(values) > _MOST_BOXES:
        return Filter(place, field.name, missing, is_text=True)
    listed = tuple((str(number), _shown(value)) for number, value in enumerate(values))
    return Filter(place, field.name, (*listed, *missing))


def _shown(value: Any) -> str:  # noqa: ANN401 - a category
    return str(value).lower() if isinstance(value, bool) else category_key(value)


def _values(field: Field) -> Sequence[Any]:
    """Return the values that have boxes, or would have them if they were few."""
    if not field.is_categorical:
        return field.special
    return (False, True) if field.categories is None else field.categories


def _wanted(place: int, field: Field, typed: TypedForm) -> list[Any]:
    """Return what a form asks of one column: any of these."""
    values = _values(field)
    wanted: list[Any] = []
    for box in typed.all(f"w{place}"):
        if box == MISSING and field.domain.missing:
            wanted.append(None)
        else:
            wanted.append(named_value(values, box))
    ends = [typed.one(f"{letter}{place}").strip() for letter in "fu"]
    text = typed.one(f"t{place}").strip()
    for asked in ("..".join(ends) if any(ends) else "", text):
        found = wanted_of(field, asked) if asked else []
        wanted += found if isinstance(found, list) else [found]
    return wanted
