"""Public tables that private ones refer to: their rows, from the schema itself or a CSV file beside it."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lapwing.schema.files import check_object, read_content
from lapwing.schema.foreign.converted import bound_of, number_of
from lapwing.schema.linked.coded import told
from lapwing.schema.linked.tables import Lookup, has_name, refusal
from lapwing.schema.scalars import quote, whole_number
from lapwing.schema.schemas import Schema

LINKS: Final = ("primaryKey", "foreignKeys", "maxRows", "count", "order", "public")
"""What the format says of a table beside its schema."""

_TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}


def read_lookup(name: str, source: Mapping[str, Any], beside: Path | None) -> Lookup:
    """Return a public table, from rows or a file in the schema's folder; blank domains are filled from its rows."""
    own, given = {key: value for key, value in source.items() if key not in LINKS}, source["public"]
    fields = own.get("fields")
    if not isinstance(fields, list | tuple) or not all(map(has_name, fields)):
        raise refusal(f'{name} needs a list "fields" with one object per column, which has a "name"')
    path = _place(name, beside, given) if isinstance(given, str) and beside is not None else None
    rows = given if path is None else _file_rows(name, path)
    if not isinstance(rows, list | tuple):
        raise refusal(
            f'{name}: "public" must be a list of rows, or of a schema that is a file a CSV file beside it, got '
            f"{quote(given)}"
        )
    found = tuple(_lookup_row(name, row, fields) for row in rows)
    columns = zip(*found, strict=True) if found else [()] * len(fields)
    own["fields"] = [_of_values(field, cells) for field, cells in zip(fields, columns, strict=True)]
    schema = told(lambda: Schema.load(own), lambda said: f"{name}: {said}")
    key = source.get("primaryKey")
    if key not in schema.names:
        raise refusal(f'{name}: "primaryKey" must name a column of the public table, got {quote(key)}')
    lookup = Lookup(name=name, schema=schema, key=key, rows=found, path=path)
    if not found or len(set(lookup.keys)) < len(found) or None in lookup.keys:
        raise refusal(f"{name}: the public table needs rows, each with its own {key}")
    return lookup


def _lookup_row(name: str, row: object, fields: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Return the cells of a public row in the order of the fields."""
    if isinstance(row, Mapping):
        row = [row.get(field.get("name")) for field in fields]
    if isinstance(row, list | tuple) and len(row) == len(fields):
        return tuple(_lookup_cell(name, field, cell) for field, cell in zip(fields, row, strict=True))
    names = ", ".join(str(field.get("name")) for field in fields)
    raise refusal(f"{name}: a row of the public table must have {len(fields)} cells, {names}")


def _lookup_cell(name: str, field: Mapping[str, Any], cell: object) -> object:
    """Return a public cell as a value of its field's type, as a schema writes it; it may be the text of a CSV file."""
    kind = field.get("type")
    if cell is None or (isinstance(cell, bool) and kind == "boolean"):
        return cell
    value: object = None if isinstance(cell, bool) else str(cell)
    if kind in ("integer", "number"):
        number = number_of(cell)
        value = number if kind == "number" or whole_number(number) is not None else None
    elif kind in ("date", "datetime"):
        value = bound_of(cell, kind)
    elif kind == "boolean":
        value = _TRUTHS.get(str(cell).lower())
    if value is None:
        raise refusal(f"{name}: {quote(field.get('name'))} is of type {kind}, and a public row has {quote(cell)}")
    return value


def _of_values(field: Mapping[str, Any], cells: Sequence[Any]) -> Mapping[str, Any]:
    """Return a field of a public table with the values that it has there, where it has no domain."""
    stated = check_object(field.get("constraints") or {}, f"field {quote(field.get('name'))}: constraints")
    has_domain = field.get("categories") is not None or any(
        stated.get(key) is not None for key in ("minimum", "maximum", "enum")
    )
    values = sorted({cell for cell in cells if cell is not None})
    if has_domain or field.get("role") or field.get("domain") or field.get("type") == "boolean" or not values:
        return field
    return with_values(field, values)


def with_values(field: Mapping[str, Any], values: Sequence[Any]) -> Mapping[str, Any]:
    """Return a field in the file format whose categories are values of a public table."""
    stated = check_object(field.get("constraints") or {}, f"field {quote(field.get('name'))}: constraints")
    kept = {key: value for key, value in stated.items() if key not in ("minimum", "maximum")}
    return {**field, "categories": list(values), "constraints": kept, "provenance": "public"}


def _place(name: str, beside: Path, given: str) -> Path:
    """Return the file of a public table, which is nowhere else: a schema may be a stranger's, and rows are shown."""
    if Path(given).is_absolute() or ".." in Path(given).parts:
        raise refusal(f'{name}: "public" must be a file beside the schema, got {quote(given)}; put it there')
    return beside / given


def _file_rows(name: str, path: Path) -> list[dict[str, str | None]]:
    """Return the rows of a CSV file; an empty cell is missing."""
    try:
        text = read_content(path, "public table").decode("utf-8-sig")
    except UnicodeDecodeError:
        text = None
    if text is None:
        raise refusal(f"{name}: the public table {quote(path.name)} is not UTF-8; write it so")
    try:
        return [{key: value or None for key, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
    except csv.Error:  # a cell of more than 131,072 characters
        said = f"{name}: the public table {quote(path.name)} has too long a cell; shorten it"
    raise refusal(said)
