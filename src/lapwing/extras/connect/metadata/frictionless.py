"""Frictionless: a data resource, or one of a package. Its Table Schema is our own format, with the dialect beside it.

What Table Schema allows and a schema does not is written otherwise, or left out and named.

References
----------
Data Resource and Table Dialect, https://datapackage.org/standard/data-resource/ and /table-dialect/ (versions 1 and 2).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from lapwing.extras.connect.metadata.converted import (
    MISREAD,
    WRITTEN_OTHERWISE,
    ConvertedTable,
    Remarks,
    chosen_table,
    converted_table,
    dialect_of,
    refusal,
    text_or_empty,
)
from lapwing.extras.connect.metadata.linked import ConvertedTables, ForeignTable, Relation, linked_tables
from lapwing.schema.checks import EXCLUSIVE, UNHELD_TYPES
from lapwing.schema.files import CONSTRAINT_KEYS, DESCRIBING, FIELD_KEYS, TABLE_KEYS
from lapwing.schema.reading import PLAIN_FILE, Dialect
from lapwing.schema.scalars import names_in_short, quote
from lapwing.schema.schemas import Schema
from lapwing.schema.typed import TypedObject, check_object
from lapwing.schema.values import number_of

# What a dialect may say that a schema cannot, where it is not this.
_PLAIN: Final = {"doubleQuote": True, "escapeChar": None, "skipInitialSpace": False, "commentRows": None}


def is_frictionless(value: object) -> bool:
    """Return whether a value is a resource with a schema of fields, or a package that has one."""
    listed = value.get("resources", [value]) if isinstance(value, Mapping) else None
    schemas = [each.get("schema") for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    return any(isinstance(each, Mapping) and "fields" in each for each in schemas)


def read_frictionless(value: object, name: str, table: str | None) -> ConvertedTable:
    """Return the schema of a resource; `table` is its name, and may be None where there is one."""
    resources = _resources(value, name)
    chosen = chosen_table(list(resources), table, name)
    resource = resources[chosen]
    inner, found, notes = _schema(resource, name)
    dialect = _dialect(resource)
    notes += [WRITTEN_OTHERWISE] if dialect is None else []
    if inner.get("foreignKeys"):
        notes.append("foreign keys are left out, as one table of the package was asked for")
    return converted_table(
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
        inner, found, notes = _schema(resource, name)
        dialect, where = _dialect(resource), f"{name}: resource {quote(title)}"
        relations += _relations(inner, title, where)
        primary = TypedObject(inner, where, MISREAD).columns("primaryKey")
        tables.append(
            ForeignTable(
                name=title,
                fields=found.fields,
                key=primary[0] if len(primary) == 1 else "",
                notes=(*notes, WRITTEN_OTHERWISE) if dialect is None else tuple(notes),
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


def _schema(resource: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], Schema, list[str]]:
    """Return the Table Schema of a resource, as it is and read, and what is left out of it."""
    if isinstance(resource.get("schema"), str):
        said = (
            f"{name}: schema is the address {quote(resource['schema'])}, which is not fetched; write it into the file"
        )
        raise refusal(said)
    inner = check_object(resource.get("schema"), f"{name}: schema")
    remarks = Remarks()
    plain = _known({key: each for key, each in inner.items() if key != "dialect"}, TABLE_KEYS, remarks)
    if isinstance(plain.get("fields"), list):
        kept = [each for each in plain["fields"] if not _is_left_out(each, remarks)]
        if plain["fields"] and not kept:
            raise refusal(f"{name} describes no column that a field can hold; give a file with columns")
        plain["fields"] = [_field(each, remarks) if isinstance(each, Mapping) else each for each in kept]
    return inner, Schema.load_draft(_without_labels(plain)), list(remarks.texts())


def _is_left_out(field: object, remarks: Remarks) -> bool:
    """Return whether no field holds a column of this type, and say so."""
    kind = field.get("type") if isinstance(field, Mapping) else None
    if kind not in UNHELD_TYPES or not isinstance(field, Mapping):
        return False
    remarks.add(f"columns of type {kind} are left out, as no field holds them", str(field.get("name")))
    return True


def _field(field: Mapping[str, Any], remarks: Remarks) -> Mapping[str, Any]:
    """Return a field of Table Schema as our own format writes it."""
    title = str(field.get("name"))
    found = _without_labels(_known(field, FIELD_KEYS, remarks, title))
    kind = found["type"] = "string" if found.get("type") in (None, "any") else found["type"]
    given = found.get("constraints")
    if isinstance(given, Mapping):
        given = _known(given, CONSTRAINT_KEYS, remarks, title)
        limits = {key: _number(value) if kind in _NUMBERS and key in _BOUNDS else value for key, value in given.items()}
        found["constraints"] = _tighter(limits)
        for key in found["constraints"]:
            if key in _UNREAD:
                remarks.add(f"{key} is left out", title)
            elif key in EXCLUSIVE and kind == "number" and found.get("resolution") is None:
                remarks.add(f"the value of {key} itself is let in", title)
    if kind in ("date", "datetime") and found.get("format") == "any":
        remarks.add("dates of any format are read as ISO 8601 writes them", title)
    if kind == "yearmonth":
        remarks.add("columns of type yearmonth are read as ordered texts", title)
        return _months(found)
    return found


def _known(source: Mapping[str, Any], keys: Collection[str], remarks: Remarks, *title: str) -> dict[str, Any]:
    """Return an object without the keys that it may have of its own, and name them."""
    own = source.keys() - {*keys, *DESCRIBING}
    if own:
        remarks.add(f"what the file says beside Table Schema is left out ({names_in_short(sorted(own))})", *title)
    return {key: each for key, each in source.items() if key not in own}


_NUMBERS: Final = ("integer", "number", "year")
_BOUNDS: Final = ("minimum", "maximum", *EXCLUSIVE)
_UNREAD: Final = ("pattern", "minLength", "maxLength", "jsonSchema")
_MOST_MONTHS: Final = 2400


def _number(value: object) -> object:
    """Return a bound of numbers, which Table Schema may also write as a text."""
    number = number_of(value) if isinstance(value, str) else None
    return value if number is None else number


def _tighter(limits: dict[str, Any]) -> dict[str, Any]:
    """Return constraints of which no bound stands beside a tighter one on its side."""
    for key, (bound, sign) in EXCLUSIVE.items():
        own, other = limits.get(key), limits.get(bound)
        if own is None or other is None or isinstance(own, str) != isinstance(other, str):
            continue
        is_tighter = own >= other if sign > 0 else own <= other
        limits = {each: value for each, value in limits.items() if each != (bound if is_tighter else key)}
    return limits


def _months(field: dict[str, Any]) -> dict[str, Any]:
    """Return a field of months as ordered texts: those between its bounds, where it has both."""
    limits = dict(field.get("constraints") or {})
    ends = []
    for key, exclusive in zip(("minimum", "maximum"), EXCLUSIVE, strict=True):
        month, outside = _month(limits.pop(key, None)), _month(limits.pop(exclusive, None))
        ends.append(month if outside is None else outside + EXCLUSIVE[exclusive][1])
    first, last = ends
    listed = limits.get("enum", field.get("categories"))
    if listed is None and first is not None and last is not None and 0 < last - first < _MOST_MONTHS:
        listed = [f"{at // 12:04}-{at % 12 + 1:02}" for at in range(first, last + 1)]
    limits.pop("enum", None)
    is_ordered = {} if listed is None else {"categoriesOrdered": True}
    return {**field, "type": "string", "constraints": limits, "categories": listed, **is_ordered}


def _month(value: object) -> int | None:
    """Return a month such as 2020-12 as the number of months before it."""
    found = re.fullmatch("([0-9]{4})-(0[1-9]|1[0-2])", value) if isinstance(value, str) else None
    return None if found is None else int(found[1]) * 12 + int(found[2]) - 1


def _without_labels(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object whose codes for missing stand without what they mean."""
    listed = about.get("missingValues")
    if not isinstance(listed, list):
        return dict(about)
    return {**about, "missingValues": [each.get("value") if isinstance(each, Mapping) else each for each in listed]}


def _relations(inner: Mapping[str, Any], title: str, where: str) -> Iterator[Relation]:
    """Yield the foreign keys of a resource; one without a resource to point to points to its own."""
    for link in TypedObject(inner, where, MISREAD).objects("foreignKeys"):
        to = link.inner("reference", None)
        parent = text_or_empty(to("resource")) or title
        yield Relation(child=title, columns=link.columns("fields"), parent=parent, key=to.columns("fields"))


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
