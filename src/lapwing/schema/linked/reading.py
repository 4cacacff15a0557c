"""The file format of linked tables: what is written, and the three forms that are read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.files import field_to_dict
from lapwing.schema.linked.coded import GAP, LEFT, NUMBER, PREVIOUS, SECOND, count_field, reword_errors
from lapwing.schema.linked.lookups import LINKS, PublicFiles, lookup_from, with_values
from lapwing.schema.linked.tables import MOST_ROWS, LinkedTable, Lookup, RowOrder, fields_of, refusal
from lapwing.schema.public_tables.tables import public_tables_from
from lapwing.schema.rules.rules import Rule, rule_to_dict, rules_from
from lapwing.schema.scalars import find_duplicate, quote, visible, whole_number
from lapwing.schema.schemas import Schema
from lapwing.schema.typed import TypedObject, check_object

_TOP: Final = ("tables", "rules")
_TWO: Final = ("parent", "child", "key", "maxChildren", "count", "rules")
_EVENTS: Final = frozenset({"privacyUnit", "order", "constant", "rules", "name"})
_MOST_TABLES: Final = 100
_COUNT: Final = "children"
_ROWS: Final = "rows"
"""What the number of a person's events is called."""


def parts_from(value: object, folder: Path | None, *, stand_in: bool = False) -> dict[str, Any]:
    """Return the settings of LinkedTables from a mapping in one of the three forms.

    folder: in which files of public tables lie; stand_in: leave these closed, and take a made-up row for those of each.
    """
    beside = None if folder is None else PublicFiles(folder, stand_in)
    found = check_object(value, "the schema of linked tables")
    if "tables" in found:
        TypedObject(found, "the schema of linked tables").only(_TOP)
        return _of_tables(check_object(found["tables"], "tables"), found.get("rules"), beside)
    if found.get("order") is not None:
        return _of_events(found)
    return _of_two(found, beside)


def private_names(found: object) -> tuple[str, ...]:
    """Return what the private tables of a schema in the file format are called; none of its public ones is opened."""
    tables = found.get("tables") if isinstance(found, Mapping) else None
    if not isinstance(tables, Mapping):
        return _TWO[:2]
    return tuple(name for name, each in tables.items() if not (isinstance(each, Mapping) and "public" in each))


def to_dict(
    tables: tuple[LinkedTable, ...], rules: tuple[Rule, ...], lookups: tuple[Lookup, ...], columns: tuple[str, ...]
) -> dict[str, Any]:
    """Return linked tables in the file format."""
    described = {table.name: _described(table) for table in tables}
    if columns:
        first, events = tables
        own = {key: value for key, value in described[events.name].items() if key not in {*LINKS, "name"}}
        constant = described[first.name]["fields"][1:]
        totals = [*described[first.name].get("publicTables", ()), *own.get("publicTables", ())]
        fields = {field["name"]: field for field in (*own["fields"], *constant)}
        return {
            **own,
            **({"publicTables": totals} if totals else {}),
            "name": events.name,
            "privacyUnit": {"field": first.key, "maxRows": events.max_rows},
            "order": None if events.order is None else events.order.to_json(),
            **({"constant": [field["name"] for field in constant]} if constant else {}),
            "fields": [fields[column] for column in columns],
            "rules": [*described[first.name].get("rules", ()), *own.get("rules", ()), *map(rule_to_dict, rules)],
        }
    public = {
        each.name: {"primaryKey": each.key, "public": [list(row) for row in each.rows], **each.schema.to_dict()}
        for each in lookups
    }
    return {"tables": {**described, **public}, "rules": list(map(rule_to_dict, rules))}


def _described(table: LinkedTable) -> dict[str, Any]:
    """Return one table in the file format; keys that say nothing are left out."""
    own = table.schema.to_dict()
    own["fields"] = [field for field in own["fields"] if field["name"] not in table.counts]
    keys = {} if table.link is None else {table.link: table.parent}
    links = {
        "primaryKey": table.key,
        "foreignKeys": {**keys, **table.lookups},
        "maxRows": None if table.parent is None else table.max_rows,
        "count": table.count if table.parent is not None and table.count != table.name else None,
        "order": None if table.order is None else table.order.to_json(),
    }
    return {**{key: value for key, value in links.items() if value}, **own}


# -- Two tables: parents and children.


def _of_two(found: Mapping[str, Any], beside: PublicFiles | None) -> dict[str, Any]:
    """Read ``{"parent": ..., "child": ..., "key": ..., "maxChildren": ...}``."""
    own = TypedObject.of(found, "the schema of linked tables", "LW250").only(_TWO)
    key, count = own.text("key", None), own.text("count", _COUNT, is_name=True)
    own.whole("maxChildren", 1, MOST_ROWS)
    tables = {
        "parent": {**own.inner("parent", None).values, "primaryKey": key},
        "child": {
            **own.inner("child", None).values,
            "foreignKeys": {key: "parent"},
            "maxRows": found["maxChildren"],
            "count": count,
        },
    }
    return _of_tables(tables, found.get("rules"), beside)


# -- One table of events of a person.


def _of_events(found: Mapping[str, Any]) -> dict[str, Any]:
    """Read a schema with ``privacyUnit`` and ``order``: persons, who are their events, and these."""
    unit = TypedObject.of(found.get("privacyUnit"), "privacyUnit").only(("field", "maxRows"))
    key, fields = unit("field"), fields_of("the schema of events", found)
    constant = TypedObject(found, "the schema of events", "LW250").listed("constant")
    names = [field["name"] for field in fields]
    for name in (key, *constant):
        if name not in names:
            raise refusal(f"{quote(name)} is no field of the events; fields are {', '.join(map(str, names))}")
    by_name = dict(zip(names, fields, strict=True))
    name = found.get("name") or "events"
    own = {each: value for each, value in found.items() if each not in _EVENTS}
    persons, events, both = _dealt(found.get("rules"), set(constant), set(names) - set(constant))
    totals = public_tables_from(found.get("publicTables"))
    of_persons = [each for each in totals if {*constant, _ROWS}.issuperset(each.columns)]
    tables = {
        str(key): {
            **{each: value for each, value in own.items() if each in ("missingValues", "dialect")},
            "primaryKey": key,
            "fields": [by_name[key], *(by_name[each] for each in constant)],
            "rules": persons,
            "publicTables": [each.to_dict() for each in of_persons],
        },
        name: {
            **own,
            "publicTables": [each.to_dict() for each in totals if each not in of_persons],
            "fields": [by_name[each] for each in names if each not in constant],
            "foreignKeys": {key: str(key)},
            "maxRows": unit("maxRows"),
            "order": found["order"],
            "count": _ROWS,
            "rules": events,
        },
    }
    return {**_of_tables(tables, both, None), "columns": tuple(names)}


def _dealt(rules: object, persons: set[Any], events: set[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the rules of persons, of events, and of both or of the row before."""
    parts: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for rule in rules_from(rules):
        place = 0 if persons.issuperset(rule.columns) else 1 if events.issuperset(rule.columns) else 2
        parts[place].append(rule_to_dict(rule))
    return parts


# -- Any number of tables.


def _of_tables(described: Mapping[str, Any], rules: object, beside: PublicFiles | None) -> dict[str, Any]:
    """Read ``{"tables": {...}, "rules": [...]}``; parents may stand after their child tables."""
    if len(described) > _MOST_TABLES:
        raise refusal(f"linked tables must be {_MOST_TABLES} at most, got {len(described)}; leave others out")
    sources = {name: check_object(value, name) for name, value in described.items()}
    for name, asked in ((name, each.get("questions")) for name, each in sources.items()):
        if isinstance(asked, list) and asked:
            way_out = 'answer it in the schema and take it out of "questions"'
            raise SchemaError(f"{name} has an open question: {visible(str(asked[0]))}; {way_out}", code="LW204")
    lookups = {name: lookup_from(name, each, beside) for name, each in sources.items() if "public" in each}
    private = {name: each for name, each in sources.items() if name not in lookups}
    links = {name: _links(name, each, private, lookups) for name, each in private.items()}
    first = [name for name, (parent, _, _) in links.items() if parent is None]
    if len(first) != 1:
        raise refusal(
            f"one private table must be the first, without a foreign key to another, got {len(first)} "
            f"({', '.join(first) or 'none'}); its key is the privacy unit"
        )
    tables: list[LinkedTable] = []
    waiting = first
    while waiting:
        name, *waiting = waiting
        tables.append(_table(name, private, links, lookups))
        waiting += [each for each, (parent, _, _) in links.items() if parent == name]
    if len(tables) < len(private):
        lost = [name for name in private if name not in {table.name for table in tables}]
        raise refusal(f"the tables {', '.join(lost)} refer to each other in a circle; leave one foreign key out")
    return {"tables": tuple(tables), "rules": rules_from(rules), "lookups": tuple(lookups.values())}


_Links = tuple[str | None, str | None, dict[str, str]]
"""The parent of a table, the column that refers to it, and the columns that refer to public tables."""


def _links(name: str, source: Mapping[str, Any], private: Mapping[str, Any], lookups: Mapping[str, Lookup]) -> _Links:
    """Return what a table refers to."""
    keys = TypedObject(source, name).inner("foreignKeys").values
    for column, table in keys.items():
        if not isinstance(table, str) or table not in (*private, *lookups):
            raise refusal(
                f"{name}: the foreign key {quote(column)} is to {quote(table)}, which is no table; tables are "
                f"{', '.join((*private, *lookups))}"
            )
    parents = {column: table for column, table in keys.items() if table in private}
    if len(parents) > 1:
        raise refusal(
            f"{name}: foreignKeys name {len(parents)} private tables ({', '.join(parents.values())}); a row has one "
            'parent: leave the others out, or declare those that are public with "public"'
        )
    public = {column: table for column, table in keys.items() if table in lookups}
    for column, table in parents.items():
        return table, column, public
    return None, None, public


def _table(
    name: str, private: Mapping[str, Mapping[str, Any]], links: Mapping[str, _Links], lookups: Mapping[str, Lookup]
) -> LinkedTable:
    """Return one private table, whose schema has the numbers of rows of its child tables."""
    source = private[name]
    parent, link, public = links[name]
    if "privacyUnit" in source:
        raise refusal(
            f"{name} has a privacyUnit of its own; the first table's key and maxRows say whose rows are protected, so "
            "remove it"
        )
    below = [each for each, (above, _, _) in links.items() if above == name]
    counts = [(_count_of(each, private[each]), private[each].get("maxRows")) for each in below]
    own = {key: value for key, value in source.items() if key not in LINKS}
    own["fields"] = [_referring(field, public, lookups) for field in fields_of(name, source)]
    names = [field["name"] for field in own["fields"]]
    for count in find_duplicate([*names, *(count for count, _ in counts)]):
        raise refusal(
            f"{name}: {quote(count)} is a column already, and the number of rows of a child table would be called so "
            'too; give another name under "count"'
        )
    own["fields"] += [field_to_dict(count_field(count, whole_number(most) or 1), ("",)) for count, most in counts]
    key = source.get("primaryKey")
    for said in (each for each in names if each.startswith((PREVIOUS, SECOND, GAP)) or each in (NUMBER, LEFT)):
        raise refusal(f"{name}: the column {quote(said)} is called as what is said of the row before; rename it")
    if parent is not None and "maxRows" not in source:
        raise refusal(f'{name} needs "maxRows": the number of rows of one row of {parent} that are used at most')
    if parent is None and key is None:
        raise refusal(f'{name} needs a "primaryKey", whose values are the privacy units')
    return LinkedTable(
        name=name,
        schema=reword_errors(lambda: Schema.load(own), lambda said: f"{name}: {said}"),
        key=key,
        parent=parent,
        link=link,
        max_rows=source.get("maxRows", 1),
        count="" if parent is None else _count_of(name, source),
        order=RowOrder.load(source["order"]) if source.get("order") is not None else None,
        lookups=public,
        counts=tuple(count for count, _ in counts),
    )


def _count_of(name: str, source: Mapping[str, Any]) -> str:
    """Return what the number of a child table's rows is called."""
    return TypedObject(source, name, "LW250").text("count", name, is_name=True)


def _referring(field: Mapping[str, Any], public: Mapping[str, str], lookups: Mapping[str, Lookup]) -> Mapping[str, Any]:
    """Return a field in the file format; one that refers to a public table lists its keys."""
    if field["name"] not in public or field.get("categories") is not None:
        return field
    return with_values(field, lookups[public[field["name"]]].keys)
