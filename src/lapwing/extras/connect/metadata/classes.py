"""Classes that say what a row is: models of pydantic, dataclasses, typed dictionaries; and schemas of Pandera.

None of these is imported. Bounds come from ``Annotated``, ``Field`` and annotated-types, lists from ``Literal`` and
``Enum``, and a field is required unless its type takes None.
"""

import dataclasses
import datetime as dt
import types
import typing
import uuid
from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from lapwing.extras.connect.metadata.converted import (
    ConvertedTable,
    Lack,
    Remarks,
    converted_table,
    missing_texts,
    refusal,
    scalars,
    text_or_empty,
)
from lapwing.schema.fields import Field, FieldType
from lapwing.schema.scalars import quote

_ENDS: Final = {"ge": ("minimum", 0), "gt": ("minimum", 1), "le": ("maximum", 0), "lt": ("maximum", -1)}
"""What annotations call bounds, and how far a whole number of an open end lies inside."""
_TYPES: Final[dict[FieldType, tuple[type, ...]]] = {
    "boolean": (bool,),
    "integer": (int,),
    "number": (float, Decimal),
    "datetime": (dt.datetime,),
    "date": (dt.date,),
    "string": (uuid.UUID, str),
}
"""In this order: a bool is an int, and a moment is a date."""


def is_class(value: object) -> bool:
    """Return whether a value is a class with fields that this module reads."""
    is_known = hasattr(value, "model_fields") or dataclasses.is_dataclass(value) or typing.is_typeddict(value)
    return isinstance(value, type) and is_known


def read_class(value: Any) -> ConvertedTable:  # noqa: ANN401 - a class of any of these kinds
    """Return the schema that a class gives."""
    remarks = Remarks()
    fields = [_field(name, hint, remarks) for name, hint in _hints(value)]
    if not fields:
        raise refusal(f"class {value.__name__} has no field; give one that says what a row is")
    form = "pydantic model" if hasattr(value, "model_fields") else "class"
    return converted_table(fields, form, name=text_or_empty(value.__name__), notes=remarks.texts())


def _hints(value: Any) -> Iterable[tuple[str, Any]]:  # noqa: ANN401 - see `read_class`
    """Return the names of columns and their types, with all that is said of them."""
    stated = getattr(value, "model_fields", None)
    if isinstance(stated, Mapping):
        return [
            (getattr(info, "alias", None) or name, typing.Annotated[info.annotation, info])
            for name, info in stated.items()
        ]
    try:
        return list(typing.get_type_hints(value, include_extras=True).items())
    except NameError:
        said = "names a type that is not found where the class stands; define it there"
    raise refusal(f"class {value.__name__} {said}")


def _field(name: str, hint: Any, remarks: Remarks) -> Field:  # noqa: ANN401 - a type
    """Return the field of one annotation."""
    said: list[Any] = []
    kinds = [each for each in _flat(hint, said) if each is not type(None)]
    settings: dict[str, Any] = {"required": len(kinds) == len(_flat(hint, []))}
    values = [value for kind in kinds for value in _listed(kind)]
    if None in values:
        settings["required"] = False
        values = [value for value in values if value is not None]
    if values and all(map(_listed, kinds)):
        return Field(name=name, **settings, **_of_list(name, values), **_described(said))
    found = {_type_of(kind) for kind in kinds}
    kind: FieldType | None = "number" if found == {"integer", "number"} else next(iter(found), None)
    if kind is None or (len(found) > 1 and kind != "number"):
        shown = quote(" | ".join(getattr(each, "__name__", str(each)) for each in kinds))
        way_out = "give it one of int, float, str, bool, date, datetime, Literal or Enum, or leave it out"
        raise refusal(f"field {quote(name)}: no column holds the type {shown}; {way_out}")
    if kinds == [uuid.UUID]:
        return Field(name=name, type="string", identifier=True, **_described(said))
    return Field(name=name, type=kind, **settings, **_bounds(name, kind, said, remarks), **_described(said))


def _flat(hint: Any, said: list[Any]) -> list[Any]:  # noqa: ANN401 - types
    """Return the types that a union puts together; what is said of them is added to the list."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        for each in hint.__metadata__:
            said += [each, *_inside(each)]
        return _flat(parts[0], said)
    if origin in (typing.Required, typing.NotRequired):
        return _flat(parts[0], said)
    if origin in (typing.Union, types.UnionType):
        return [kind for part in parts for kind in _flat(part, said)]
    return [hint]


def _inside(said: Any) -> Iterable[Any]:  # noqa: ANN401 - anything that stands in Annotated
    """Return what pydantic's ``Field`` and groups of annotated-types hold."""
    inner = getattr(said, "metadata", None)
    return inner if isinstance(inner, list | tuple) else ()


def _listed(kind: Any) -> list[Any]:  # noqa: ANN401 - a type
    """Return the values of a ``Literal`` or ``Enum``; nothing for another type."""
    if typing.get_origin(kind) is typing.Literal:
        return [value.value if isinstance(value, Enum) else value for value in typing.get_args(kind)]
    return [each.value for each in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []


def _of_list(name: str, values: list[Any]) -> dict[str, Any]:
    """Return type and categories of listed values."""
    if all(isinstance(value, bool) for value in values):
        return {"type": "boolean"}
    listed = tuple(dict.fromkeys(scalars(values, f"field {quote(name)}")))
    is_number = all(isinstance(value, int | float) for value in listed)
    is_whole = all(isinstance(value, int) for value in listed)
    kind = "integer" if is_whole else "number" if is_number else "string"
    return {"type": kind, "categories": listed, "missing_values": missing_texts(listed)}


def _type_of(kind: Any) -> FieldType | None:  # noqa: ANN401 - a type
    """Return the schema's word for a type; None where there is none."""
    return next((word for word, each in _TYPES.items() if isinstance(kind, type) and issubclass(kind, each)), None)


def _bounds(name: str, kind: FieldType, said: list[Any], remarks: Remarks) -> dict[str, Any]:
    """Return bounds and resolution, by what annotations of several libraries call them."""
    found: dict[str, Any] = {}
    for each in said:
        for key, (end, step) in _ENDS.items():
            bound = getattr(each, key, None)
            if bound is None or kind not in ("integer", "number", "date", "datetime"):
                continue
            found[end] = _end(name, kind, bound, step, remarks)
        step_size, places = getattr(each, "multiple_of", None), getattr(each, "decimal_places", None)
        if kind in ("integer", "number") and step_size not in (None, 1):
            found["resolution"] = _plain(step_size)
        elif kind == "number" and isinstance(places, int):
            found["resolution"] = float(Decimal(1).scaleb(-places))
        if any(getattr(each, key, None) is not None for key in ("pattern", "min_length", "max_length")):
            remarks.add("patterns and lengths of texts have no counterpart", name)
    return found


def _end(name: str, kind: FieldType, bound: Any, step: int, remarks: Remarks) -> Any:  # noqa: ANN401 - see `_plain`
    """Return a bound with its end: one that leaves it out is a step further inside, if it is of whole numbers."""
    if step and kind != "integer":
        remarks.add("bounds that leave their end out are read as bounds with it", name)
        step = 0
    return _plain(bound + step if step else bound)


def _plain(bound: Any) -> Any:  # noqa: ANN401 - a bound of any library
    """Return a bound as a schema writes it."""
    if hasattr(bound, "isoformat"):
        return bound.isoformat()
    return float(bound) if isinstance(bound, Decimal) else bound


def _described(said: Iterable[Any]) -> dict[str, Any]:
    """Return the description that stands beside a type, if there is one."""
    found = [text_or_empty(getattr(each, "description", None)) for each in said]
    return {"description": next(filter(None, found), "")}


# -- Schemas and models of Pandera, for pandas and Polars.


_DTYPES: Final[dict[FieldType, tuple[str, ...]]] = {
    "integer": ("int", "uint"),
    "number": ("float", "double", "decimal"),
    "boolean": ("bool",),
    "datetime": ("datetime", "timestamp"),
    "date": ("date",),
    "string": ("str", "object", "category", "categorical", "enum"),
}
_LOW: Final = {"greater_than_or_equal_to": 0, "greater_than": 1}
_HIGH: Final = {"less_than_or_equal_to": 0, "less_than": -1}


def is_pandera(value: object) -> bool:
    """Return whether a value is a model or schema of Pandera."""
    if isinstance(value, type):
        return callable(getattr(value, "to_schema", None))
    columns = getattr(value, "columns", None)
    return isinstance(columns, Mapping) and hasattr(value, "checks") and hasattr(value, "unique")


def read_pandera(value: Any) -> ConvertedTable:  # noqa: ANN401 - a model or schema
    """Return the schema that a model or schema of Pandera gives."""
    schema: Any = getattr(value, "to_schema", lambda: value)() if isinstance(value, type) else value
    remarks, lacks = Remarks(), list[Lack]()
    fields = [_column_field(str(name), column, remarks, lacks) for name, column in schema.columns.items()]
    if not fields:
        raise refusal("the Pandera schema has no column; give one that says what a row is")
    if not isinstance(value, type) and any(column.checks for column in schema.columns.values()):
        way_out = "infer_schema writes the smallest and largest values of a table: put public ones in their place"
        lacks.append(Lack("", "whether the bounds and lists are public", f"{way_out}, or leave them if they are"))
    if schema.checks:
        remarks.add("checks of the whole table have no counterpart; write what every row keeps into rules")
    return converted_table(
        fields, "Pandera schema", name=text_or_empty(schema.name), lacks=lacks, notes=remarks.texts()
    )


def _column_field(name: str, column: Any, remarks: Remarks, lacks: list[Lack]) -> Field:  # noqa: ANN401 - Pandera's
    """Return the field of one column."""
    if getattr(column, "regex", False):
        raise refusal(f"column {quote(name)} is a pattern of names; write the columns out")
    settings: dict[str, Any] = {
        "required": not column.nullable,
        "description": text_or_empty(getattr(column, "description", None)),
    }
    kind = _dtype_of(column.dtype)
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


def _dtype_of(dtype: object) -> FieldType | None:
    """Return the schema's word for a type of Pandera's; None where there is none."""
    said = str(dtype).lower()
    found = [(start, kind) for kind, starts in _DTYPES.items() for start in starts if said.startswith(start)]
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
            bounds |= _checked_bounds(name, kind, told, said, remarks)
        else:
            remarks.add("checks other than bounds and lists have no counterpart", name)
    return listed, bounds


def _checked_bounds(name: str, kind: FieldType, told: str, said: Mapping[str, Any], remarks: Remarks) -> dict[str, Any]:
    """Return the bounds that one check states."""
    found = {}
    for key, short, stated, inwards in (("minimum", "min", _LOW, 1), ("maximum", "max", _HIGH, -1)):
        bound = said.get(f"{short}_value")
        if bound is not None:
            step = stated.get(told, 0) or (0 if said.get(f"include_{short}", True) else inwards)
            found[key] = _end(name, kind, bound, step, remarks)
    return found
