"""Frictionless: a data resource, or one of a package. Its Table Schema is our own format, with the dialect beside it.

References
----------
Data Resource and Table Dialect, https://datapackage.org/standard/data-resource/ and /table-dialect/ (versions 1 and 2).
"""

from collections.abc import Mapping
from typing import Any, Final

from lapwing.schema.files import check_object
from lapwing.schema.foreign.converted import (
    WRITTEN_OTHERWISE,
    Converted,
    chosen_table,
    converted,
    dialect_of,
    refusal,
    text_or_empty,
)
from lapwing.schema.reading import PLAIN_FILE, Dialect
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

FORMAT: Final = "Frictionless metadata"
# What a dialect may say that a schema cannot, where it is not this.
_PLAIN: Final = {"doubleQuote": True, "escapeChar": None, "skipInitialSpace": False, "commentRows": None}


def is_frictionless(value: object) -> bool:
    """Return whether a value is a resource with a schema of fields, or a package that has one."""
    listed = value.get("resources", [value]) if isinstance(value, Mapping) else None
    schemas = [each.get("schema") for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    return any(isinstance(each, Mapping) and "fields" in each for each in schemas)


def read_frictionless(value: object, name: str, table: str | None) -> Converted:
    """Return the schema of a resource; `table` is its name, and may be None where there is one."""
    whole = check_object(value, name)
    listed = [check_object(each, f"{name}: a resource") for each in whole.get("resources", [whole])]
    names = [text_or_empty(each.get("name")) or f"resource {place}" for place, each in enumerate(listed, 1)]
    chosen = chosen_table(names, table, name)
    resource = listed[names.index(chosen)]
    if isinstance(resource.get("schema"), str):
        said = (
            f"{name}: schema is the address {quote(resource['schema'])}, which is not fetched; write it into the file"
        )
        raise refusal(said)
    inner = check_object(resource.get("schema"), f"{name}: schema")
    found = Schema.load_draft({key: each for key, each in inner.items() if key != "dialect"})
    dialect = _dialect(resource)
    notes = [WRITTEN_OTHERWISE] if dialect is None else []
    if inner.get("foreignKeys"):
        notes.append("foreign keys are left out: a schema describes one table")
    return converted(
        found.fields,
        FORMAT,
        name=text_or_empty(resource.get("name")),
        unit=found.privacy_unit,
        notes=notes,
        dialect=dialect or PLAIN_FILE,
    )


def _dialect(resource: Mapping[str, Any]) -> Dialect | None:
    """Return how the file of a resource is written; None where a schema cannot say so."""
    about = resource.get("dialect", {})
    if not isinstance(about, Mapping):
        return None
    inner = about.get("csv")
    stated = {**about, **(inner if isinstance(inner, Mapping) else {}), "encoding": resource.get("encoding")}
    rows = stated.get("headerRows", [1])
    if not isinstance(rows, list) or len(rows) != 1 or type(rows[0]) is not int:
        return None
    return dialect_of({**stated, "skipRows": rows[0] - 1}, _PLAIN)
