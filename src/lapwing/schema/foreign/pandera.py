"""Schemas and models of Pandera, for pandas and Polars; it is not imported."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from lapwing.schema.fields import Field, FieldType
from lapwing.schema.foreign.converted import (
    Converted,
    Lack,
    Remarks,
    converted,
    missing_texts,
    refusal,
    scalars,
    text_or_empty,
)
from lapwing.schema.scalars import quote

_TYPES: Final[tuple[tuple[str, FieldType], ...]] = (
    ("int", "integer"),
    ("uint", "integer"),
    ("float", "number"),
    ("double", "number"),
    ("decimal", "number"),
    ("bool", "boolean"),
    ("datetime", "datetime"),
    ("timestamp", "datetime"),
    ("date", "date"),
    ("str", "string"),
    ("object", "string"),
    ("category", "string"),
    ("categorical", "string"),
    ("enum", "string"),
)
_LOW: Final = {"greater_than_or_equal_to": 0, "greater_than": 1}
_HIGH: Final = {"less_than_or_equal_to": 0, "less_than": -1}


def is_pandera(value: object) -> bool:
    """Return whether a value is a model or schema of Pandera."""
    if isinstance(value, type):
        return callable(getattr(value, "to_schema", None))
    columns = getattr(value, "columns", None)
    return isinstance(columns, Mapping) and hasattr(value, "checks") and hasattr(value, "unique")


def read_pandera(value: Any) -> Converted:  # noqa: ANN401 - a model or schema
    """Return the schema that a model or schema of Pandera gives."""
    schema: Any = getattr(value, "to_schema", lambda: value)() if isinstance(value, type) else value
    remarks, lacks = Remarks(), list[Lack]()
    fields = [_field(str(name), column, remarks, lacks) for name, column in schema.columns.items()]
    if not fields:
        raise refusal("the Pandera schema has no column; give one that says what a row is")
    if not isinstance(value, type) and any(column.checks for column in schema.columns.values()):
        way_out = "infer_schema writes the smallest and largest values of a table: put public ones in their place"
        lacks.append(Lack("", "whether the bounds and lists are public", f"{way_out}, or leave them if they are"))
    if schema.checks:
        remarks.add("checks of the whole table have no counterpart; write what every row keeps into rules")
    return converted(fields, "Pandera schema", name=text_or_empty(schema.name), lacks=lacks, notes=remarks.texts())


def _field(name: str, column: Any, remarks: Remarks, lacks: list[Lack]) -> Field:  # noqa: ANN401 - Pandera's
    """Return the field of one column."""
    if getattr(column, "regex", False):
        raise refusal(f"column {quote(name)} is a pattern of names; write the columns out")
    settings: dict[str, Any] = {
        "required": not column.nullable,
        "description": text_or_empty(getattr(column, "description", None)),
    }
    kind = _type_of(column.dtype)
    if kind is None:
        lacks.append(Lack(name, f"its type, which Pandera calls {column.dtype}", "choose one of the schema's types"))
        kind = "string"
    listed, bounds = _checked(name, column.checks, kind, remarks)
    inner = getattr(column.dtype, "categories", None)
    if listed is None and inner is not None:
        listed = scalars(list(inner), f"column {quote(name)}")
    if listed is None or kind == "boolean":
        return Field(name=name, type=kind, **settings, **bounds)
    if kind == "string" and not any(isinstance(value, str) for value in listed):
        kind = "integer" if all(isinstance(value, int) for value in listed) else "number"
    is_ordered = bool(getattr(column.dtype, "ordered", False)) and inner is not None
    return Field(
        name=name,
        type=kind,
        categories=tuple(listed),
        ordered=is_ordered,
        missing_values=missing_texts(listed),
        **settings,
    )


def _type_of(dtype: object) -> FieldType | None:
    """Return the schema's word for a type of Pandera's; None where there is none."""
    said = str(dtype).lower()
    found = [(start, kind) for start, kind in _TYPES if said.startswith(start)]
    return max(found, key=lambda each: len(each[0]))[1] if found else None


def _checked(
    name: str, checks: list[Any], kind: FieldType, remarks: Remarks
) -> tuple[list[str | int | float] | None, dict[str, Any]]:
    """Return the list and the bounds that the checks of a column state."""
    listed, bounds = None, dict[str, Any]()
    for check in checks:
        told, said = str(check.name), dict[str, Any](check.statistics or {})
        if told in ("isin", "equal_to"):
            values = said.get("allowed_values", [said.get("value")])
            listed = scalars(list(values), f"column {quote(name)}")
        elif told in (*_LOW, *_HIGH, "in_range", "between"):
            bounds |= _bounds(told, said, kind, lambda: remarks.add(_OPEN, name))
        else:
            remarks.add("checks other than bounds and lists have no counterpart", name)
    return listed, bounds


_OPEN: Final = "bounds that leave their end out are read as bounds with it"


def _bounds(told: str, said: Mapping[str, Any], kind: FieldType, note: Callable[[], None]) -> dict[str, Any]:
    """Return the bounds that one check states."""
    found = {}
    for key, theirs, open_, include in (
        ("minimum", "min_value", _LOW.get(told, 0), "include_min"),
        ("maximum", "max_value", _HIGH.get(told, 0), "include_max"),
    ):
        bound = said.get(theirs)
        if bound is None:
            continue
        step = open_ or (0 if said.get(include, True) else 1 if key == "minimum" else -1)
        if step and kind == "integer":
            bound += step
        elif step:
            note()
        found[key] = bound.isoformat() if hasattr(bound, "isoformat") else bound
    return found
