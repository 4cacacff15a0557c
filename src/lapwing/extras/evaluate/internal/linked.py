"""The comparison of linked tables, and of events in order, with the real ones. Internal: nothing of it is released."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from lapwing.errors import DataError, ParameterError
from lapwing.extras.evaluate.internal.evaluation import ComparedTable, Comparison, Watch, compare_tables, marked_target
from lapwing.extras.evaluate.internal.panels import panel_errors
from lapwing.extras.evaluate.internal.sampled import table_rows
from lapwing.extras.evaluate.metrics.metric import height
from lapwing.extras.evaluate.metrics.panels import Panel, panel_of
from lapwing.extras.evaluate.metrics.prediction.downstream import check_target
from lapwing.extras.evaluate.metrics.prediction.subgroups import check_subgroups
from lapwing.extras.evaluate.metrics.tables.variation import TableRows
from lapwing.extras.evaluate.words import say
from lapwing.maths.arrays import Codes
from lapwing.release.marked import Internal
from lapwing.rows.counting import count_tables
from lapwing.rows.entry import private_boundary
from lapwing.rows.linked import code_linked
from lapwing.rows.source import all_codes
from lapwing.schema.linked.coded import NUMBER, count_field
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.linked.tables import MOST_ROWS, LinkedTable
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

_MOST_OF_UNIT: Final = 2**31 - 1


@private_boundary
def compare_linked(
    real: Mapping[str, object],
    synthetic: Mapping[str, object],
    linked: LinkedTables,
    *,
    target: str | None,
    by: Sequence[str],
    seed: int,
    rng: np.random.Generator,
    watch: Watch,
) -> Internal[dict[str, ComparedTable]]:
    """Compare each linked table with the real one: its columns, those of the rows above, and the rows of one parent.

    Rows are not cut to ``maxRows``; those of equal order come by the public hash. Left out are rows that belong to none
    of the parent, and further rows of one key.
    target: predicted in the table that it is a column of; by: groups in those that have all these columns.
    """
    schemas = {name: compared_schema(linked, name) for name in linked.given}
    targets, groups = _where(linked, target, by, schemas)
    watch(say("step.real_tables"), 0.0)
    rows = _read("the real", real, linked)
    watch(say("step.synthetic_tables"), 0.0)
    others = _read("the synthetic", synthetic, linked, is_written=True)
    found: dict[str, ComparedTable] = {}
    for place, name in enumerate(linked.given):
        table, schema = linked.table(name), schemas[name]
        comparison = Comparison(
            schema=schema,
            target=marked_target(schema) if target is None else target if name in targets else None,
            by=by if name in groups else (),
            seed=seed,
            rng=rng.spawn(1)[0],
            watch=_part_of(watch, place, linked),
        )
        whole = compare_tables(
            _coded(rows[name], schema, seed), _coded(others[name], schema, seed), None, comparison
        ).value
        if table.parent is not None:
            own = schema.select([field.name for field in table.own])
            drawn = rng.spawn(1)[0]
            panels = [_panel(table, own, each, drawn) for each in (rows, others)]
            errors = panel_errors(panels[0], panels[1], own, rng=drawn)
            whole = replace(whole, metrics=(*whole.metrics, *errors.figures), panel=errors)
        found["" if linked.is_events else name] = ComparedTable(whole, schema)
    return Internal(found)


def _where(
    linked: LinkedTables, target: str | None, by: Sequence[str], schemas: Mapping[str, Schema]
) -> tuple[list[str], list[str]]:
    """Return the tables in which a target is predicted, and those whose groups are judged; refuse what is in none."""
    columns = {name: [field.name for field in schema.columns] for name, schema in schemas.items()}
    own = columns if linked.is_events else {name: linked.table(name).schema.names for name in schemas}
    targets = [name for name in schemas if target in columns[name] and target in own[name]]
    groups = [name for name in schemas if by and set(by) <= set(columns[name])]
    for what, asked, where in (("target", [target] if target else [], targets), ("by", by, groups)):
        if asked and not where:
            known = "; ".join(f"{name}: {', '.join(columns[name])}" for name in schemas)
            raise ParameterError(
                f"{what} must be columns of one table, got {', '.join(map(quote, asked))}; they are {known}",
                code="LW304",
            )
    for name in targets:
        check_target(schemas[name], target or "")
    for name in groups:
        check_subgroups(schemas[name], by)
    return targets, groups


def compared_schema(linked: LinkedTables, name: str) -> Schema:
    """Return the schema of what is compared of a table: its columns, and those of the rows that its rows belong to."""
    table, coded = linked.table(name), linked.coded[name]
    counts = {(each.name, count) for each in linked.tables for count in each.counts}
    above = [called for column, called in linked.given_names(name).items() if column not in counts]
    chosen = coded.select([*(field.name for field in table.schema.columns), *above])
    return replace(chosen, privacy_unit=None, name=coded.name or name)


def _read(
    what: str, data: Mapping[str, object], linked: LinkedTables, *, is_written: bool = False
) -> dict[str, dict[str, np.ndarray]]:
    """Return the codes of all rows of all tables, each with its place among the rows of its parent."""
    whole = _uncut(linked, is_written=is_written)
    try:
        sources = code_linked(data, whole)
    except DataError as error:
        said, code = str(error), error.code
    else:
        found = {name: dict(all_codes(each.source, whole.coded[name])) for name, each in sources.items()}
        for table in linked.tables:
            if not height(found[table.name]):
                raise DataError(f"{what} table {table.name} has no row; there is nothing to compare", code="LW110")
            for below in linked.below(table.name):
                field = linked.coded[table.name].field(below.count)
                counts = np.minimum(found[table.name][below.count], below.max_rows)
                found[table.name][below.count] = counts.astype(field.domain.dtype)
        return found
    raise DataError(f"{what} tables cannot be compared: {said}", code=code)


def _coded(codes: Codes, schema: Schema, seed: int) -> TableRows:
    """Return the columns of a coded table that are compared."""
    chosen = {field.name: codes[field.name] for field in schema.columns}
    return table_rows(height(chosen), [chosen], partial(count_tables, [chosen]), schema, seed)


def _uncut(linked: LinkedTables, *, is_written: bool) -> LinkedTables:
    """Return a schema under which rows are not cut; is_written: of synthetic rows, whose texts are plain."""
    depth = max(len(linked.above(name)) for name in linked.names)
    most = min(MOST_ROWS, int(_MOST_OF_UNIT ** (1 / depth)))
    tables = []
    for table in linked.tables:
        plain = table.schema.as_written_out if is_written else table.schema
        fields = tuple(count_field(each.name, most) if each.name in table.counts else each for each in plain.fields)
        schema = replace(plain, fields=fields, rules=(), public_tables=(), weight=None)
        tables.append(replace(table, schema=schema, max_rows=table.max_rows if table.parent is None else most))
    return replace(linked, tables=tuple(tables), rules=())


def _panel(table: LinkedTable, schema: Schema, codes: Mapping[str, Codes], rng: np.random.Generator) -> Panel:
    """Return the rows of a table by the rows of their parent, of which some have none."""
    assert table.parent is not None
    own = codes[table.name]
    order = table.order
    return panel_of(
        {field.name: own[field.name] for field in schema.columns},
        np.cumsum(own[NUMBER] == 0) - 1,
        order=None if order is None else order.by,
        descending=order is not None and order.descending,
        total=height(codes[table.parent]),
        rng=rng,
    )


def _part_of(watch: Watch, place: int, linked: LinkedTables) -> Watch:
    """Return what tells of the steps of one table among several."""
    count = len(linked.given)

    def told(what: str, done: float) -> None:
        watch(what if count == 1 else f"{linked.given[place]}: {what}", (place + done) / count)

    return told
