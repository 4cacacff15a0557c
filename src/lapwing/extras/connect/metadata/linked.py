"""Several tables of a foreign file, and the keys between them → the draft of a schema of linked tables.

Which table is the one of people, and which ones everybody may see, no such file says: the draft asks.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from lapwing.extras.connect.metadata.converted import UNIT_LACK, ConvertedTable, Lack, converted_table, refusal
from lapwing.schema.checks import RANGED_TYPES
from lapwing.schema.fields import Field
from lapwing.schema.files import file_text
from lapwing.schema.reading import PLAIN, PLAIN_FILE, Dialect
from lapwing.schema.scalars import is_encodable, names_in_short, quote


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTable:
    """One of several tables, as a reader of a foreign file found it."""

    name: str
    fields: tuple[Field, ...]
    key: str = ""  # the column that names its rows, if one does
    order: str = ""  # the column by which rows of one key follow one another
    lacks: tuple[Lack, ...] = ()
    notes: tuple[str, ...] = ()
    dialect: Dialect = PLAIN_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A foreign key: columns of a child that hold the key of its parent."""

    child: str
    columns: tuple[str, ...]
    parent: str
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConvertedTables:
    """A foreign file of linked tables, read."""

    tables: Mapping[str, ConvertedTable]  # the protected one first, parents before their children
    entries: Mapping[str, Mapping[str, Any]]  # what is said of each beside its schema
    columns: Mapping[str, tuple[str, ...]]  # of each in the file: a table of keys alone gets one more
    format: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the draft in the file format of linked tables."""
        described = {}
        for name, found in self.tables.items():
            schema = {key: value for key, value in found.schema.to_dict().items() if key != "name"}
            schema["fields"] = [field for field in schema["fields"] if field["name"] in self.columns[name]]
            described[name] = {**self.entries[name], **schema}
        return {"tables": described}

    @property
    def text(self) -> str:
        """The draft as the text of its file."""
        tables = self.to_dict()["tables"].items()
        parts = [f"{json.dumps(name, ensure_ascii=False)}: {file_text(table).rstrip()}" for name, table in tables]
        return '{"tables": {\n' + ",\n".join(parts) + "\n}}\n"


def linked_tables(found: Sequence[ForeignTable], relations: Sequence[Relation], what: str) -> ConvertedTables | None:
    """Return the draft of linked tables, None where no key of one column points to another table."""
    tables = {table.name: table for table in found}
    for table in found:
        _check_table(table, what)
    for each in relations:
        _check_relation(each, tables, what)
    links = {
        name: {each.columns[0]: each.parent for each in relations if each.child == name and _is_link(each)}
        for name in tables
    }
    if not any(links.values()):
        return None
    below = _order(links, what)
    root = max((name for name in tables if not links[name]), key=lambda name: len(_reached(name, links, below)))
    private = _reached(root, links, below)
    parts, entries = {}, {}
    for name in [*private, *(name for name in below if name not in private)]:
        table = _keyed(tables[name], relations)
        if name in private:
            table, own = _child(table, tables[name].fields, links[name], private)
            if not own and all(field.identifier for field in table.fields):
                table = replace(table, fields=(*table.fields, Field(name=f"rows below {name}", type="boolean")))
            parts[name] = _part(table, own, _lacks_of(table, own))
            entries[name] = _entry(table, own)
        else:
            parts[name] = _part(table, [field.name for field in table.fields], [_public_lack(name)])
            entries[name] = {"primaryKey": table.key} if table.key else {}
    columns = {name: tuple(field.name for field in table.fields) for name, table in tables.items()}
    return ConvertedTables(parts, entries, columns)


def _is_link(relation: Relation) -> bool:
    return len(relation.columns) == 1 and relation.child != relation.parent


def _check_table(table: ForeignTable, what: str) -> None:
    """Refuse a name that cannot be written, and a key or order that is no column."""
    if not is_encodable(table.name):
        raise refusal(f"{what}: the name of a table holds characters that are none; correct it")
    names = {"", *(field.name for field in table.fields)}
    for which, column in (("primary key", table.key), ("order", table.order)):
        if column not in names:
            raise refusal(f"{what}: the {which} {quote(column)} of {quote(table.name)} is no column; correct it")


def _check_relation(relation: Relation, tables: Mapping[str, ForeignTable], what: str) -> None:
    """Refuse a relation of tables or columns that are not there."""
    where = f"{what}: a key of {quote(relation.child)}"
    if len(relation.columns) != len(relation.key) or not relation.columns:
        raise refusal(f"{where} has {len(relation.columns)} columns, and {len(relation.key)} it points to; correct it")
    for name, columns in ((relation.child, relation.columns), (relation.parent, relation.key)):
        if name not in tables:
            raise refusal(f"{where} names the table {quote(name)}, which is not there; correct it")
        names = {field.name for field in tables[name].fields}
        for column in columns:
            if column not in names:
                raise refusal(f"{where} names {quote(column)}, which is no column of {quote(name)}; correct it")


def _keyed(table: ForeignTable, relations: Sequence[Relation]) -> ForeignTable:
    """Return a table whose keys are identifiers; what cannot be a key here is told."""
    own = [each for each in relations if each.child == table.name]
    named = [each.key[0] for each in relations if each.parent == table.name and len(each.key) == 1]
    key = next(iter(named), table.key)
    keys = {key, *named, *(each.columns[0] for each in own if len(each.columns) == 1)}
    notes = [
        f"the key {quote(each.columns[0])} to its own table has no counterpart"
        for each in own
        if each.parent == each.child
    ]
    lacks = [
        Lack(
            "",
            f"its key of several columns to {quote(each.parent)}",
            f'make one column of {names_in_short(each.columns)} in both tables, and name it in "foreignKeys"',
        )
        for each in own
        if len(each.columns) > 1
    ]
    return replace(
        table,
        key=key,
        fields=tuple(_as_key(field) if field.name in keys else field for field in table.fields),
        lacks=(*lacks, *table.lacks),
        notes=(*table.notes, *notes),
    )


def _order(links: Mapping[str, Mapping[str, str]], what: str) -> list[str]:
    """Return the tables, parents before their children and else in the order of the file."""
    depth: dict[str, int] = {}
    try:
        for name in TopologicalSorter({name: to.values() for name, to in links.items()}).static_order():
            depth[name] = 1 + max((depth[parent] for parent in links[name].values()), default=0)
        return sorted(links, key=depth.__getitem__)
    except CycleError as error:
        circle = list(dict.fromkeys(error.args[1]))
    raise refusal(
        f"{what}: the keys of {names_in_short(circle)} run in a circle, and linked tables are a tree; remove one "
        "relationship, or read one table with --table"
    )


def _reached(root: str, links: Mapping[str, Mapping[str, str]], order: Sequence[str]) -> dict[str, None]:
    """Return a table and all whose keys lead to it, in order."""
    found = {root: None}
    for name in order:
        if not found.keys().isdisjoint(links[name].values()):
            found[name] = None
    return found


def _child(
    table: ForeignTable, stated: Sequence[Field], links: Mapping[str, str], private: Mapping[str, None]
) -> tuple[ForeignTable, Mapping[str, str]]:
    """Return a private table, of which `stated` are the fields in the file, and its foreign keys: one to its parent."""
    parents = [column for column, parent in links.items() if parent in private]
    public = {column: parent for column, parent in links.items() if parent not in private}
    # A key to a public table is a column like others, whose values are that table's keys.
    fields = tuple(
        field if field.name not in public else own if own.is_categorical else replace(field, identifier=False)
        for field, own in zip(table.fields, stated, strict=True)
    )
    if parents and all(field.identifier for field in fields):
        raise refusal(
            f"table {quote(table.name)} has keys alone, and no column to model; join it with one of the tables that it "
            "links, or read one table with --table"
        )
    lacks = [
        Lack(
            column,
            f"whether {quote(links[column])} is the parent of these rows, and not {quote(links[parents[0]])}",
            'a row has one parent: change "foreignKeys" if so, and remove this question',
        )
        for column in parents[1:]
    ]
    kept = {column: links[column] for column in parents[:1]}
    return replace(table, fields=fields, lacks=(*table.lacks, *lacks)), {**kept, **public}


def _as_key(field: Field) -> Field:
    """Return the field of a column that names rows: an identifier, a text unless it is a whole number."""
    is_whole = field.type == "integer"
    return Field(
        name=field.name,
        type="integer" if is_whole else "string",
        identifier=True,
        required=field.required,
        description=field.description,
        missing_values=field.missing_values,
        reading=field.reading if is_whole else PLAIN,
    )


def _part(table: ForeignTable, read: Iterable[str], lacks: Iterable[Lack]) -> ConvertedTable:
    """Return one table by itself, with what the keys leave open; read: columns whose values a public table says."""
    found = converted_table(
        table.fields, name=table.name, lacks=[*lacks, *table.lacks], notes=table.notes, dialect=table.dialect
    )
    # Of several tables `schema learn` buys nothing.
    lacks = (
        replace(lack, way_out="write them into the file from public knowledge") if lack.is_blank else lack
        for lack in found.lacks
        if not (lack.is_blank and lack.field in read)
    )
    return replace(found, lacks=tuple(lacks))


def _public_lack(name: str) -> Lack:
    return Lack(
        "",
        "whether everybody may see this table",
        f'give it "public": its file, such as "{name}.csv", if it holds nothing of anybody; otherwise leave it out, '
        "and all keys that point to it",
    )


def _lacks_of(table: ForeignTable, links: Mapping[str, str]) -> Iterator[Lack]:
    """Yield what the file does not say of private rows: whose they are, and how many a parent has in which order."""
    if not links:
        whose = f"one {table.key}" if table.key else "one row"
        way_out = f"{whose}, with all rows that lead to it: remove this question if it is whom you protect"
        yield Lack("", UNIT_LACK, way_out)
        return
    column = next(iter(links))
    way_out = f'write how many rows of one {column} are used at most in place of null, such as "maxRows": 5'
    yield Lack("", "maxRows", way_out)
    by = [field.name for field in table.fields if field.type in RANGED_TYPES and not field.identifier]
    if by and not table.order:
        way_out = (
            f'if rows of one {column} follow one another, name the column that says how, such as "order": '
            f"{quote(by[0])}, and remove this question"
        )
        yield Lack("", "whether its rows have an order", way_out)


def _entry(table: ForeignTable, links: Mapping[str, str]) -> dict[str, Any]:
    """Return what the format says of a private table beside its schema; what is open is null."""
    found = {"primaryKey": table.key, "foreignKeys": dict(links), "order": table.order}
    known = {key: value for key, value in found.items() if value}
    return {**known, "maxRows": None} if links else known
