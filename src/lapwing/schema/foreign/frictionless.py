"""Frictionless: a data resource, or one of a package. Its Table Schema is our own format, with the dialect beside it.

References
----------
Data Resource and Table Dialect, https://datapackage.org/standard/data-resource/ and /table-dialect/ (versions 1 and 2).
"""

from collections.abc import Iterator, Mapping
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
from lapwing.schema.foreign.linked import ConvertedTables, ForeignTable, Relation, linked_tables
from lapwing.schema.reading import PLAIN_FILE, Dialect
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

# What a dialect may say that a schema cannot, where it is not this.
_PLAIN: Final = {"doubleQuote": True, "escapeChar": None, "skipInitialSpace": False, "commentRows": None}


def is_frictionless(value: object) -> bool:
    """Return whether a value is a resource with a schema of fields, or a package that has one."""
    listed = value.get("resources", [value]) if isinstance(value, Mapping) else None
    schemas = [each.get("schema") for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    return any(isinstance(each, Mapping) and "fields" in each for each in schemas)


def read_frictionless(value: object, name: str, table: str | None) -> Converted:
    """Return the schema of a resource; `table` is its name, and may be None where there is one."""
    resources = _resources(value, name)
    chosen = chosen_table(list(resources), table, name)
    resource = resources[chosen]
    inner, found = _schema(resource, name)
    dialect = _dialect(resource)
    notes = [WRITTEN_OTHERWISE] if dialect is None else []
    if inner.get("foreignKeys"):
        notes.append("foreign keys are left out, as one table of the package was asked for")
    return converted(
        found.fields,
        name=text_or_empty(resource.get("name")),
        unit=found.privacy_unit,
        notes=notes,
        dialect=dialect or PLAIN_FILE,
    )


def read_frictionless_tables(value: object, name: str) -> ConvertedTables | None:
    """Return the draft of all tables of a package, None where no key links them."""
    tables: list[ForeignTable] = []
    relations: list[Relation] = []
    for title, resource in _resources(value, name).items():
        if not isinstance(resource.get("schema"), Mapping | str):
            continue
        inner, found = _schema(resource, name)
        dialect, where = _dialect(resource), f"{name}: resource {quote(title)}"
        relations += _relations(inner, title, where)
        primary = _columns(inner.get("primaryKey"), f"{where}: primaryKey")
        tables.append(
            ForeignTable(
                name=title,
                fields=found.fields,
                key=primary[0] if len(primary) == 1 else "",
                notes=(WRITTEN_OTHERWISE,) if dialect is None else (),
                dialect=dialect or PLAIN_FILE,
            )
        )
    return linked_tables(tables, relations, name)


def _resources(value: object, name: str) -> dict[str, Mapping[str, Any]]:
    """Return the resources of a package, or the one of the file, by their names."""
    whole = check_object(value, name)
    listed = [check_object(each, f"{name}: a resource") for each in whole.get("resources", [whole])]
    found: dict[str, Mapping[str, Any]] = {}
    for place, each in enumerate(listed, 1):
        found.setdefault(text_or_empty(each.get("name")) or f"resource {place}", each)
    return found


def _schema(resource: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], Schema]:
    """Return the Table Schema of a resource, as it is and read."""
    if isinstance(resource.get("schema"), str):
        said = (
            f"{name}: schema is the address {quote(resource['schema'])}, which is not fetched; write it into the file"
        )
        raise refusal(said)
    inner = check_object(resource.get("schema"), f"{name}: schema")
    return inner, Schema.load_draft({key: each for key, each in inner.items() if key != "dialect"})


def _relations(inner: Mapping[str, Any], title: str, where: str) -> Iterator[Relation]:
    """Yield the foreign keys of a resource; one without a resource to point to points to its own."""
    listed = inner.get("foreignKeys") or []
    if not isinstance(listed, list):
        raise refusal(f"{where}: foreignKeys must be a list, got {quote(listed)}")
    for each in listed:
        key = check_object(each, f"{where}: a foreign key")
        to = check_object(key.get("reference"), f"{where}: reference")
        yield Relation(
            child=title,
            columns=_columns(key.get("fields"), f"{where}: fields of a foreign key"),
            parent=text_or_empty(to.get("resource")) or title,
            key=_columns(to.get("fields"), f"{where}: fields of a reference"),
        )


def _columns(value: object, where: str) -> tuple[str, ...]:
    """Return the columns of a key, which is a name or a list of them."""
    listed: list[object] = [] if value is None else value if isinstance(value, list) else [value]
    names = tuple(each for each in listed if isinstance(each, str))
    if len(names) < len(listed):
        raise refusal(f"{where} must be names of columns, got {quote(value)}")
    return names


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
