"""What a schema says, of one table or of linked ones."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from lapwing.present.document import Document, Fact, Section, Table, count_text, cross_name
from lapwing.present.messages import say
from lapwing.present.stated import label_facts
from lapwing.schema.fields import Field
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.schemas import Schema

_FIRST: Final = 10  # columns that are not folded away
_ORIGINS: Final = ("public", "assumed", "dp", "drafted")


def describe_schema(schema: Schema) -> Document:
    """Return what a schema says."""
    if schema.linked is not None:
        return Document(tuple(_linked(schema, schema.linked)), "Schema", sections=fields_sections(schema))
    table, long = fields_table(schema), f"All {len(schema.columns)} columns"
    first = Table("", table.heading, table.lines[:_FIRST], table.numbers)
    more = (Section("fields", long, (table,)),) * (len(table.lines) > _FIRST)
    return Document(
        tuple(_facts(schema)),
        "Schema",
        schema.name,
        "weak" if schema.is_draft else "",
        sections=(Section("first", "", (first,)), *more),
    )


def _facts(schema: Schema) -> Iterator[Fact]:
    """Yield what is said of one table."""
    origins = Counter[str](field.provenance for field in schema.columns)
    known = ", ".join(f"{origins[each]} {say(f'schema.known.{each}')}" for each in _ORIGINS if origins[each])
    draft = say("schema.draft") if schema.is_draft else ""
    yield Fact("headline", "", f"{draft}{count_text(len(schema.columns), 'column')}, {known}")
    if schema.is_draft:
        yield Fact("said", "", say("schema.draft_means"))
    yield from (Fact("warning", say("label.warning"), each) for each in schema.questions)
    unit = schema.privacy_unit
    used = "" if unit is None else count_text(unit.max_rows, "row")
    yield from label_facts(
        identifiers=", ".join(field.name for field in schema.fields if field.identifier),
        unit=say("schema.row") if unit is None else say("schema.unit", field=unit.field, used=used),
        weight=schema.weight or "",
        rules=str(len(schema.rules) or ""),
        public_tables="; ".join(cross_name(table.columns) for table in schema.public_tables),
        purchases=count_text(len(schema.purchases), "run") if schema.purchases else "",
    )


def _linked(schema: Schema, linked: LinkedTables) -> Iterator[Fact]:
    """Yield what is said of several tables."""
    yield Fact("headline", "", say("schema.events") if linked.is_events else count_text(len(linked.given), "table"))
    most = ", ".join(f"{linked.max_rows(each.name):,} of {each.name}" for each in schema.relations)
    used = f"{linked.max_rows(linked.given[0]):,} rows" if linked.is_events else most
    yield from label_facts(
        key=linked.key,
        unit=say("schema.linked_unit", key=linked.key, used=used),
        order=", ".join(f"{each.name} by {each.order.by}" for each in schema.relations if each.order is not None),
        public_tables=", ".join(each.name for each in linked.lookups),
        rules=str(len(linked.rules) or ""),
    )


def fields_sections(schema: Schema) -> tuple[Section, ...]:
    """Return the columns of each table."""
    return tuple(
        Section("fields", f"{name}: {count_text(len(each.columns), 'column')}", (fields_table(each),))
        for name, each in schema.tables.items()
    )


def fields_table(schema: Schema) -> Table:
    """Return what the schema says about each column."""
    lines = tuple(
        (
            field.name,
            field.type,
            values_text(field),
            "no" if field.required else "yes",
            ", ".join(map(str, field.special[:8])) + (", ..." if len(field.special) > 8 else "") or "-",
            say(f"schema.known.{field.provenance}"),
        )
        for field in schema.columns
    )
    heading = ("column", "type", "values", "may be missing", "special values", "known how")
    return Table("The schema: all of it is taken as public", heading, lines)


def values_text(field: Field) -> str:
    """Return the values that a schema allows in a column."""
    if field.type == "boolean" and field.categories is None:
        return "false, true"
    if field.categories is not None:
        listed = ", ".join(map(str, field.categories[:6]))
        more = ", ..." if len(field.categories) > 6 else ""
        prefixes = "; texts that are not listed count as their listed prefix" if field.folds else ""
        rest = "" if field.unlisted is None else f"; all other texts count as {field.unlisted}"
        return f"{len(field.categories):,} categories: {listed}{more}{prefixes}{rest}"
    if field.minimum is None and field.maximum is None:
        return "not yet said"
    step = "" if field.resolution is None else f", by {field.resolution}"
    return f"{field.minimum} to {field.maximum}{step}"
