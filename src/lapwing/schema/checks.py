"""The rules of one field. Each check returns the value in its one normal form, or raises a SchemaError."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.scalars import (
    category_key,
    date_text,
    datetime_text,
    find_duplicate,
    finite_number,
    is_encodable,
    parse_date,
    parse_datetime,
    quote,
    whole_number,
)
from lapwing.schema.typed import TypedObject

TYPES = ("integer", "number", "string", "boolean", "date", "datetime")
RANGED_TYPES = ("integer", "number", "date", "datetime")
PROVENANCES = ("public", "assumed", "dp", "drafted")

SCALES = ("linear", "log")
_UNITS: Final = {
    "date": ("day", "week", "month", "year"),
    "datetime": ("second", "minute", "hour", "day", "month", "year"),
}

_TYPE_HINTS: Final = {
    "int": "integer",
    **dict.fromkeys(("float", "double", "decimal", "numeric"), "number"),
    **dict.fromkeys(("str", "text", "category", "categorical", "any"), "string"),
    "timestamp": "datetime",
    "yearmonth": "date",
    "bool": "boolean",
}

UNHELD_TYPES: Final = ("array", "duration", "geojson", "geopoint", "list", "object", "time")
"""Types of Table Schema whose cells no field holds."""


def field_error(name: object, said: str, code: str) -> SchemaError:
    """Return the error that a field breaks a rule."""
    return SchemaError(f"field {quote(name)}: {said}", code=code)


def of_field(name: object, values: Mapping[str, Any]) -> TypedObject:
    """Return values of a field, which are read by their types."""
    return TypedObject(values, f"field {quote(name)}")


def _whole_of_64_bits(value: object) -> int | None:
    number = whole_number(value)
    return None if number is None or not -(2**63) <= number < 2**63 else number


def check_name(name: object) -> str:
    """Return a field's name: text, not empty."""
    if not isinstance(name, str) or not name:
        said = f"every field needs a name that is a text of at least one character, got {quote(name)}"
        raise SchemaError(said, code="LW208")
    if not is_encodable(name):
        raise field_error(name, "the name is not valid Unicode; remove the half surrogate pair", "LW208")
    if "\0" in name:
        raise field_error(name, "the name has a zero byte, which no other library keeps; remove it", "LW208")
    return name


def check_type(name: str, kind: object) -> None:
    """Refuse a type that is not one of the six."""
    if isinstance(kind, str) and kind in TYPES:
        return
    hint = _TYPE_HINTS.get(kind.lower()) if isinstance(kind, str) else None
    way_out = f"did you mean {quote(hint)}?" if hint else "choose one of " + ", ".join(TYPES)
    if kind in UNHELD_TYPES:
        way_out = "leave the column out, or write it as numbers or texts of a list"
    said = "has no type" if kind is None else f"type {quote(kind)} is not known"
    raise field_error(name, f"{said}; {way_out}", "LW207")


def check_bound(name: str, kind: str, key: str, value: object) -> int | float | str | None:
    """Return a minimum or maximum in normal form."""
    if value is None:
        return None
    if kind not in RANGED_TYPES:
        raise field_error(name, f"{key} does not apply to type {kind}; remove it", "LW212")
    return check_value(name, kind, key, value)


_RANGED: Final[dict[str, tuple[Callable[[object], int | float | None], str]]] = {
    "integer": (_whole_of_64_bits, "a whole number of 64 bits; write one without quotes"),
    "number": (finite_number, "a finite number; write one without quotes"),
    "date": (parse_date, 'a date; write it as "2010-12-31"'),
    "datetime": (
        parse_datetime,
        'a date and time; write it as "2010-12-31" or "2010-12-31T23:00:00", without time zone',
    ),
}
"""Per type how a value is read as a number, and what it must be."""

_STEPS: Final[dict[str, tuple[Callable[[object], int | float | None], str]]] = {
    "integer": (_whole_of_64_bits, "a whole positive step such as 100"),
    "number": (finite_number, "a positive step such as 0.01"),
}


EXCLUSIVE: Final = {"exclusiveMinimum": ("minimum", 1), "exclusiveMaximum": ("maximum", -1)}
"""Bounds of Table Schema that are no values themselves, with ours and the direction in which the next value lies."""


def inclusive(name: str, field: Mapping[str, Any], constraints: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a field's constraints with the next value inside for each exclusive bound.

    A continuous number has no next one: its bound stands as it is.
    """
    found = {key: value for key, value in constraints.items() if key not in EXCLUSIVE}
    kind, step = field.get("type"), field.get("resolution")
    for key, (bound, sign) in EXCLUSIVE.items():
        given = constraints.get(key)
        if given is None:
            continue
        if found.get(bound) is not None:
            raise field_error(name, f"{key} and {bound} are both given; write one of them", "LW211")
        value: Any = check_bound(name, str(kind), key, given)
        if kind == "integer":
            value += sign
        elif kind == "number" and finite_number(step) is not None:
            value = float(Fraction(str(value)) + sign * Fraction(str(step)))
        elif kind == "date":
            value = date_text(int(parse_date(value) or 0) + sign)
        elif kind == "datetime":
            value = datetime_text(int(parse_datetime(value) or 0) + sign * 1_000_000)
        found[bound] = value
    return found


def check_value(name: str, kind: str, key: str, value: object) -> int | float | str:
    """Return one value of a numeric or date field in normal form: a bound or a special value."""
    read, rule = _RANGED[kind]
    value = value.isoformat() if isinstance(value, date) else value
    number = read(value)
    if number is None:
        is_marker = key == "special value" and isinstance(value, str) and kind in ("integer", "number")
        way_out = "; a text for missing belongs in missingValues" if is_marker else ""
        raise field_error(name, f"{key} {quote(value)} is not {rule}{way_out}", "LW211")
    return number if kind in ("integer", "number") else str(value).replace(" ", "T")


def check_resolution(name: str, kind: str, value: object) -> str | int | float | None:
    """Return a resolution in normal form: a unit of time, or a positive step of a numeric field."""
    if value is None:
        return None
    if kind in _UNITS:
        return of_field(name, {"resolution": value}).one_of("resolution", _UNITS[kind], code="LW207")
    if kind not in _STEPS:
        way_out = "remove it, or use a type of numbers or dates"
        raise field_error(name, f"resolution {quote(value)} does not apply to type {kind}; {way_out}", "LW211")
    read, rule = _STEPS[kind]
    step = read(value)
    if step is None or step <= 0:
        raise field_error(name, f"resolution {quote(value)} must be {rule}", "LW211")
    return step


def check_special(name: str, kind: str, values: object) -> tuple[int | float | str, ...]:
    """Return the special values in normal form: distinct values of a numeric or date field."""
    listed = of_field(name, {"special": values}).listed("special")
    if listed and kind not in RANGED_TYPES:
        raise field_error(name, f"special does not apply to type {kind}; put the values in categories", "LW212")
    special = tuple(check_value(name, kind, "special value", value) for value in listed)
    for value in find_duplicate(special, [code_number(kind, value) for value in special]):
        raise field_error(name, f"special value {quote(value)} is listed twice; remove one", "LW213")
    return special


def code_number(kind: str, value: str | float) -> int | float:
    """Return a checked value as the number that codes are computed from."""
    if kind == "date":
        number: int | float | None = parse_date(value)
    elif kind == "datetime":
        number = parse_datetime(value)
    else:
        number = float(value) if kind == "number" else int(value)
    assert number is not None
    return number


def check_categories(name: str, kind: str, values: object) -> tuple[Any, ...] | None:
    """Return the category list in normal form: of one sort of value, distinct by key."""
    if values is None:
        return None
    listed = of_field(name, {"categories": values}).listed("categories")
    if not listed:
        raise field_error(name, "the category list is empty; list every possible value", "LW213")
    categories = _of_one_sort(name, kind, listed)
    # Two ways to write one moment are one category.
    is_time = kind in ("date", "datetime")
    keys = [code_number(kind, value) for value in categories] if is_time else _keys(categories)
    for value in find_duplicate(categories, keys):
        raise field_error(name, f"category {quote(value)} is listed twice; remove one", "LW213")
    return categories


def _keys(categories: tuple[Any, ...]) -> Sequence[str]:
    """Return the keys of categories of one sort; texts, of which there may be 10**6, are their own keys."""
    return categories if isinstance(categories[0], str) else list(map(category_key, categories))


def _of_one_sort(name: str, kind: str, listed: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the categories as values of the field's type, or of one type for a string field."""
    sorts = set(map(type, listed))
    if kind == "boolean" and sorts == {bool}:
        return listed
    if kind in ("date", "datetime"):
        return tuple(check_value(name, kind, "category", value) for value in listed)
    if kind == "string" and sorts == {str}:
        if not is_encodable("".join(listed)):
            raise field_error(name, "a category is not valid Unicode; remove the half surrogate pair", "LW213")
        return listed
    if kind != "boolean" and sorts <= {int, float}:
        whole = kind == "integer" or (kind == "string" and sorts == {int})
        numbers = tuple(check_value(name, "integer" if whole else "number", "category", value) for value in listed)
        return numbers if whole else tuple(map(float, numbers))
    odd = next(value for value in listed if kind != "string" or not isinstance(value, str))
    raise field_error(
        name,
        f"category {quote(odd)} does not fit type {kind} beside the others; write all categories as values of one type",
        "LW213",
    )


def check_labels(name: str, labels: object, values: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    """Return the labels of the values that a field has, in their order."""
    if not labels:
        return ()
    given = {}
    for pair in of_field(name, {"labels": labels}).listed("labels"):
        own = of_field(name, {"labels": pair})
        own.listed("labels", 2, 2)
        value, said = own.texts("labels")
        given[value] = said
    keys = map(category_key, values)
    return tuple((key, given[key]) for key in keys if given.get(key))


def check_missing_values(name: str, values: object, categories: tuple[Any, ...] | None) -> tuple[str, ...]:
    """Return the texts that are read as missing; none may be a category as well."""
    listed = of_field(name, {"missingValues": values}).texts("missingValues")
    distinct = tuple(dict.fromkeys(listed))
    # The empty text is no number: the usual case needs no look at 10**6 numbers.
    if categories and (isinstance(categories[0], str) or distinct != ("",)):
        both = set(distinct).intersection(_keys(categories))
        for value in sorted(both):
            said = f"{quote(value)} is both a category and a missing value; remove it from one list"
            raise field_error(name, said, "LW213")
    return distinct
