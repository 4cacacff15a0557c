"""What rows of several tables keep and do not keep together, as their certificate says it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.promise import uncovered_warnings
from lapwing.schema.linked.database import LinkedTables

ONE_OF_SEVERAL: Final = Notice("one_of_several")
"""What the certificate of each part warns of, as it may be met without the others."""


def linked_constraints(linked: LinkedTables) -> tuple[Notice, ...]:
    """Return what synthetic rows keep by construction."""
    first, *others = linked.tables
    if linked.is_events:
        belong = [Notice("rows_of_key", {"key": linked.key, "rows": others[0].max_rows})]
    else:
        belong = [
            Notice("rows_belong", {"table": table.name, "parent": table.parent, "rows": table.max_rows})
            for table in others
        ]
    ordered = [
        Notice("events_ordered", {"key": linked.key, "by": table.order.by})
        if linked.is_events
        else Notice("rows_ordered", {"table": table.name, "parent": table.parent, "by": table.order.by})
        for table in (first, *others)
        if table.order is not None
    ]
    public = [
        Notice("keys_public", {"column": column, "table": table.name, "lookup": lookup})
        for table in linked.tables
        for column, lookup in table.lookups.items()
    ]
    fresh = Notice("keys_fresh_of_events" if linked.is_events else "keys_fresh")
    return (*belong, *ordered, *public, *published_tables(linked), fresh)


def not_kept(linked: LinkedTables) -> tuple[Notice, ...]:
    """Return what synthetic rows do not keep."""
    first, *others = linked.tables
    with_prior = tuple(table.name for table in others if table.schema.public_tables)
    alone = [
        Notice("rows_unordered", {"table": table.name, "parent": table.parent})
        for table in others
        if table.max_rows > 1 and table.order is None
    ]
    cut = [
        Notice("events_cut", {"table": table.name, "rows": table.max_rows, "key": linked.key})
        if linked.is_events
        else Notice("rows_cut", {"table": table.name, "rows": table.max_rows, "parent": table.parent})
        for table in others
    ]
    has_rules = any(linked.coded[table.name].rules for table in others)
    return (
        Notice("drawn_after_key", {"key": linked.key}) if linked.is_events else Notice("drawn_after_rows"),
        *alone,
        Notice("depend_where_counted"),
        *cut,
        *([Notice("sums_apart")] if first.own or not linked.is_events else []),
        *([Notice("priors_of_tables", {"tables": with_prior})] if with_prior else []),
        *([Notice("totals_but", {"table": first.name})] if first.schema.public_tables and has_rules else []),
        Notice("identifiers_unused_of_events" if linked.is_events else "identifiers_unused"),
    )


def published_tables(linked: LinkedTables) -> tuple[Notice, ...]:
    """Return which public tables are published as they are."""
    return tuple(
        Notice("published_table", {"table": each.name, "file": each.file or each.name, "rows": len(each.rows)})
        for each in linked.lookups
    )


def warnings_of_all(linked: LinkedTables, parts: Mapping[str, Sequence[Notice]]) -> tuple[Notice, ...]:
    """Return what to know of all tables, each once, with the table that it is about.

    First, in one notice, the lists and bounds that the promise does not cover. Of a table nothing is said again of the
    rows before and above its own.
    """
    uncovered = uncovered_warnings(
        [
            field if linked.is_events else replace(field, name=f"{table.name}.{field.name}")
            for table in linked.tables
            for field in table.own
        ]
    )
    found = list(uncovered)
    for name, warnings in parts.items():
        own = linked.table(name).schema.names
        others = {each.name for each in linked.coded[name].columns if each.name not in own}
        found += [
            replace(each, table=name)
            for each in warnings
            if each != ONE_OF_SEVERAL and each.code != "uncovered" and each.fields.get("column") not in others
        ]
    return tuple(found)
