"""Public tables that private ones refer to: rows of the schema itself, or of a CSV file beside it.

Of rows in the schema a fault is told with the cell. Of a file one sentence says that it cannot be used, and why is not
told: a schema may be a stranger's, and name whatever lies beside it.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from lapwing.errors import SchemaError
from lapwing.schema.linked.coded import reword_errors
from lapwing.schema.linked.tables import Lookup, fields_of, refusal, table_title
from lapwing.schema.named_files import Identity, open_public_file, refuse_private
from lapwing.schema.scalars import quote, whole_number
from lapwing.schema.schemas import Schema
from lapwing.schema.typed import MAX_BYTES, check_object
from lapwing.schema.values import bound_of, number_of

LINKS: Final = ("primaryKey", "foreignKeys", "maxRows", "count", "order", "public")
"""What the format says of a table beside its schema."""

_TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}
_MADE_UP: Final = {"boolean": True, "date": "2000-01-01", "datetime": "2000-01-01T00:00:00", "string": "x"}


T = TypeVar("T")


class _Unusable(SchemaError):
    """The one sentence about a file of a public table."""


def without_cells(build: Callable[[bool], T]) -> T:
    """Build a schema, and let no refusal depend on what stands in a file: it could quote it, as a rule its categories.

    build: whether made-up rows are to stand in for files.
    """
    try:
        return build(False)
    except _Unusable:
        raise
    except SchemaError as error:
        failure = error
    try:
        build(True)
    except SchemaError as error:
        if str(error) == str(failure):
            raise
    raise refusal("the schema does not fit the rows of its public tables' files; look for what names a value of theirs")


@dataclass(frozen=True, slots=True)
class PublicFiles:
    """Where the files of public tables lie, and whether they stay closed and a made-up row stands in for theirs."""

    folder: Path
    stand_in: bool


def lookup_from(name: str, source: Mapping[str, Any], beside: PublicFiles | None) -> Lookup:
    """Return a public table, from rows or a file in the schema's folder; blank domains are filled from its rows."""
    given, key = source["public"], source.get("primaryKey")
    if key not in [field["name"] for field in fields_of(name, source)]:
        raise refusal(f'{name}: "primaryKey" must name a column of the public table, got {quote(key)}')
    if beside is not None and isinstance(given, str):
        return _of_file(name, source, beside, given)
    if not isinstance(given, list | tuple):
        raise refusal(
            f'{name}: "public" must be a list of rows, or of a schema that is a file a CSV file beside it, got '
            f"{'a text' if isinstance(given, str) else quote(given)}"
        )
    return _of_rows(name, source, given)


def _of_rows(name: str, source: Mapping[str, Any], rows: Sequence[object]) -> Lookup:
    """Return a public table of rows."""
    own, fields = {each: value for each, value in source.items() if each not in LINKS}, source["fields"]
    found = tuple(_row(name, row, fields) for row in rows)
    columns = zip(*found, strict=True) if found else [()] * len(fields)
    own["fields"] = [_of_values(field, cells) for field, cells in zip(fields, columns, strict=True)]
    schema = reword_errors(lambda: Schema.load(own), lambda said: f"{name}: {said}")
    lookup = Lookup(name=name, schema=schema, key=source["primaryKey"], rows=found)
    if not found or len(set(lookup.keys)) < len(found) or None in lookup.keys:
        raise refusal(f"{name}: the public table needs rows, each with its own {lookup.key}")
    return lookup


def _of_file(name: str, source: Mapping[str, Any], beside: PublicFiles, given: str) -> Lookup:
    """Return a public table of a file, which is nowhere else than beside the schema: its rows will be shown."""
    if Path(given).is_absolute() or ".." in Path(given).parts:
        raise refusal(f'{name}: "public" must be a file beside the schema, got {quote(given)}; put it there')
    path = beside.folder / given
    if beside.stand_in:
        return _of_rows(name, source, [[_MADE_UP.get(field.get("type"), 1) for field in source["fields"]]])
    refuse_private(path, table_title(name))
    try:
        rows, identity = _rows_in(path, beside.folder, name)
        return replace(_of_rows(name, source, rows), path=path, identity=identity, file=path.name)
    except (OSError, ValueError, csv.Error, SchemaError):
        raise _Unusable(
            f"{name}: the public table {quote(path.name)} cannot be used; it must be a CSV file in UTF-8 beside the "
            f"schema, with a header, rows that each have their own {source['primaryKey']}, and cells of the types that "
            "its fields state",
            code="LW250",
        ) from None


def _rows_in(path: Path, folder: Path, name: str) -> tuple[list[object], Identity]:
    """Return the rows of a CSV file, where an empty cell is missing, and which file it is; a ValueError if none."""
    if not path.resolve().is_relative_to(folder.resolve()):  # a link that leads elsewhere
        raise ValueError
    with open_public_file(path, table_title(name)) as (file, identity):
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError
    lines = csv.DictReader(io.StringIO(content.decode("utf-8-sig")))
    return [{key: value or None for key, value in row.items()} for row in lines], identity


def _row(name: str, row: object, fields: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Return the cells of a public row in the order of the fields."""
    if isinstance(row, Mapping):
        row = [row.get(field.get("name")) for field in fields]
    if isinstance(row, list | tuple) and len(row) == len(fields):
        return tuple(_cell(name, field, cell) for field, cell in zip(fields, row, strict=True))
    names = ", ".join(str(field.get("name")) for field in fields)
    raise refusal(f"{name}: a row of the public table must have {len(fields)} cells, {names}")


def _cell(name: str, field: Mapping[str, Any], cell: object) -> object:
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
