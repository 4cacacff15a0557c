"""`lapwing schema`: draft and check."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli import options
from lapwing.cli.console import first_lines, note, speaker
from lapwing.cli.looking import remember
from lapwing.cli.options import argument, option
from lapwing.cli.tables import (
    Data,
    Database,
    Sql,
    default_file,
    given_table,
    hold_private,
    linked_schema,
    optional_tables,
    private_tables,
    words_of,
)
from lapwing.errors import ParameterError
from lapwing.extras.evaluate.words import say
from lapwing.schema.scalars import align_lines, quote, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lapwing.extras.evaluate.internal.schemas import FieldFit, UnitFit
    from lapwing.extras.evaluate.internal.suggestions import Suggestion
    from lapwing.extras.evaluate.metrics.declared import DeclaredFit
    from lapwing.rows.entry import Source
    from lapwing.schema.linked.database import LinkedTables
    from lapwing.schema.purchases import Purchase
    from lapwing.schema.schemas import Schema


_SHOWN = 40


def draft(
    context: typer.Context,
    data: Data,
    output: Annotated[
        Path | None,
        option("-o --output", "S.json", "A new file: the drafted schema. Default: DATA.schema.json here."),
    ] = None,
    sql: Sql = None,
    db: Database = None,
) -> None:
    """Draft a schema to fill in (internal)."""
    table = given_table(data, sql, db, context)
    output = default_file(table, "schema.json") if output is None else output
    options.refuse_existing(output)

    from lapwing.extras.evaluate.internal.suggestions import look  # noqa: PLC0415
    from lapwing.extras.evaluate.report.page import NOTICE  # noqa: PLC0415

    drafted, suggestions = look(table).value
    drafted.save(output)
    note(say("draft.internal", output=output))
    has_texts = any(field.type == "string" for field in drafted.columns)
    delta, why = (" --delta D", say("draft.lists")) if has_texts else ("", "")
    note(say("draft.unknown", table=" ".join(words_of(table)), schema=output, delta=delta, why=why))
    note(say("draft.unit"))
    asked = ["", say("draft.questions")]
    asked += [f"- {visible(each)}" for each in drafted.questions]
    print("\n".join(["", NOTICE, "", *_suggested(suggestions), *(asked if drafted.questions else ())]))


def check(
    context: typer.Context,
    schema: Annotated[Path, argument("S.json", "The schema.")],
    data: Annotated[
        list[str] | None,
        argument(
            "[DATA]...",
            "Internal: also count the cells of this private table that do not fit, and the rows of its units. "
            "Linked tables: all of them, as for `lapwing synthesize`.",
        ),
    ] = None,
    sql: Annotated[
        list[str], option("--sql", "QUERY", "Instead of DATA: a query of --db; linked tables: one for each.")
    ] = [],  # noqa: B006
    db: Database = None,
    quiet: options.Quiet = False,
) -> None:
    """Validate a schema, also of linked tables (internal with DATA)."""
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    linked = linked_schema(schema, data or [], sql, db, context)
    if linked is not None:
        private = private_tables(data or [], sql, db, linked, context) if data or sql else {}
        _check_linked(linked, private, speaker(context, quiet))
        return
    tables = optional_tables(data or [], sql, db, context)
    if len(tables) > 1:
        raise ParameterError(
            f"{schema} describes one table, got {len(tables)}; leave others out, or give a linked schema", code="LW252"
        )
    table = next(iter(tables), None)
    hold_private(context, *tables)
    checked = Schema.load(schema) if table is None else Schema.load_draft(schema)
    is_open = any(field.blank for field in checked.columns)
    said = _still_open(checked) if is_open else [_summary(checked), *declared_text(checked)]
    print("\n".join([*said, *(_formulas(checked) if is_open else ())]))
    if table is None:
        return

    from lapwing.extras.evaluate.internal.looks import remarks  # noqa: PLC0415
    from lapwing.extras.evaluate.internal.schemas import check_declared, check_table  # noqa: PLC0415
    from lapwing.extras.evaluate.report.page import NOTICE  # noqa: PLC0415

    fits = check_table(table, checked).value
    speaker(context, quiet)(say("check.internal"))
    print("\n".join(["", NOTICE, "", _fits(fits, checked), *remarks(fits, checked, table)]))
    remember([table], checked)
    if is_open:
        return
    if checked.rules or checked.public_tables:
        print("\n".join(broken_text(check_declared(table, checked).value)))
    if checked.privacy_unit is None:
        return

    from lapwing.extras.evaluate.internal.schemas import check_units  # noqa: PLC0415

    print("\n".join(["", *_units(check_units(table, checked).value)]))


def _check_linked(linked: "LinkedTables", tables: "Mapping[str, Source]", speak: "Callable[[str], None]") -> None:
    """Show the schemas of linked tables; count what of the tables does not fit."""
    from lapwing.model.certificate.linked import published_tables  # noqa: PLC0415
    from lapwing.present.document import sentence  # noqa: PLC0415
    from lapwing.schema.short import part_in_words  # noqa: PLC0415

    titles = {name: say("check.asked_of", table=name) for name in linked.names}
    heads = {name: [f"{titles[name]}:", part_in_words(linked, name), ""] for name in linked.names}
    has_files = any(lookup.path is not None for lookup in linked.lookups)
    said = {name: declared_text(each, has_files=has_files) for name, each in linked.coded.items()}
    print("\n\n".join("\n".join([*heads[name], _summary(linked.coded[name]), *said[name]]) for name in said))
    for line in published_tables(linked):
        print(f"\n{sentence(visible(line.text))}")
    if not tables:
        return

    from lapwing.extras.evaluate.internal.looks import remarks  # noqa: PLC0415
    from lapwing.extras.evaluate.internal.schemas import check_linked  # noqa: PLC0415
    from lapwing.extras.evaluate.report.page import NOTICE  # noqa: PLC0415
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    found = check_linked(tables, linked).value
    remember(list(tables.values()), Schema(linked=linked))
    speak(say("check.internal"))
    print("\n".join(["", NOTICE]))
    for name, fit in found.items():
        own = linked.as_written(name)
        if fit.fields:
            print("\n".join(["", f"{name}:", _fits(fit.fields, own), *remarks(fit.fields, own, tables[name])]))
        if fit.units is not None:
            parent = linked.table(name).parent
            print("\n".join(["", say("check.rows_of", table=name, parent=parent), *_units(fit.units)]))
        print("\n".join(["", f"{titles[name]}: {fit.used} rows are used", *broken_text(fit.declared)]))


def _suggested(suggestions: "Sequence[Suggestion]") -> list[str]:
    """Return what columns look like, one line for each, and what their fields may need, one line for each need."""
    lines = [
        (each.name, each.type, str(each.cells), str(each.missing), str(each.distinct), each.within)
        for each in suggestions
    ]
    needs: dict[str, list[str]] = {}
    for each in suggestions:
        for advice in each.advice:
            needs.setdefault(advice, []).append(each.name)
    return [
        align_lines([("column", "type", "cells", "empty", "values", "lie within"), *lines], right=[2, 3, 4]),
        "",
        say("draft.needs"),
        *(f"- {advice}: {', '.join(names)}" for advice, names in needs.items()),
    ]


def _summary(schema: "Schema") -> str:
    """Return what a schema says, on one screen."""
    from lapwing.schema.short import values_in_words  # noqa: PLC0415 - it needs NumPy

    assumed = [field.name for field in schema.columns if field.provenance == "assumed"]
    identifiers = [field.name for field in schema.fields if field.identifier]
    cells = sum(math.log10(field.domain.size) for field in schema.columns)
    facts = [
        ("schema", schema.name or "(no name)"),
        ("state", say("check.draft") if schema.is_draft else "complete"),
        ("columns", f"{len(schema.columns)} modelled, {len(identifiers)} identifiers"),
        ("cells", say("check.cells", cells=cells)),
        ("privacy unit", f"{schema.unit_label}: {_unit(schema)}"),
        ("assumed", _listed(assumed) if assumed else "no field"),
        *(("learned", _learned(each)) for each in schema.purchases),
    ]
    lines = [
        (field.name, field.type, values_in_words(field), str(field.domain.size), field.provenance)
        for field in schema.columns
    ]
    shown = [("column", "type", "values", "codes", "provenance"), *lines[:_SHOWN]]
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join([align_lines(facts), "", align_lines(shown, right=[3]), *more])


def _learned(purchase: "Purchase") -> str:
    """Say what was learned, and at what cost."""
    from lapwing.kernel.plain import at_least  # noqa: PLC0415 - it needs NumPy

    price = f"{'epsilon' if purchase.notion == 'pure' else 'rho'} {at_least(purchase.amount, 4)}"
    chance = f", except with probability {at_least(purchase.delta, 3)}" if purchase.delta else ""
    return f"{_listed(purchase.fields)}, at {price}{chance}"


def _unit(schema: "Schema") -> str:
    """Say whose rows are protected together."""
    unit = schema.privacy_unit
    if unit is None:
        return say("check.each")
    modelled = "" if schema.field(unit.field).identifier else say("check.modelled")
    return say("check.unit", field=unit.field, rows=unit.max_rows) + modelled


def _listed(names: Sequence[str]) -> str:
    """Return names on one line, the first ten of them."""
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"{len(names)} field{'' if len(names) == 1 else 's'}: {', '.join(names[:10])}{more}"


def _fits(fits: "Sequence[FieldFit]", schema: "Schema") -> str:
    """Return how a table fits, one line per column; what is folded or unlisted only where a field has such a rule."""
    names = ["column", "cells", "missing", "special", "out of bounds", "invalid"]
    lines = [[fit.name, *map(str, (fit.cells, fit.missing, fit.special, fit.clamped, fit.misfit))] for fit in fits]
    if any(field.folds or field.unlisted is not None for field in schema.columns):
        names += ["folded", "unlisted"]
        lines = [[*line, str(fit.folded), str(fit.unlisted)] for line, fit in zip(lines, fits, strict=True)]
    return align_lines([names, *lines], right=list(range(1, len(names))))


def _units(found: "UnitFit") -> list[str]:
    """Return how the rows spread over privacy units, and what each maxRows would keep."""
    facts = [
        (f"units (values of {found.field})", str(found.units)),
        ("rows", str(found.rows)),
        (say("check.mean"), f"{found.mean:.3g}"),
        (say("check.largest"), str(found.largest)),
        ("rows without identifier", f"{found.rows_without}{', one unit together' if found.rows_without else ''}"),
    ]
    lines = [
        (
            f"{limit} (the schema's)" if limit == found.max_rows else str(limit),
            str(kept),
            f"{1 - kept / max(1, found.rows):.2%}",
        )
        for limit, kept in found.kept
    ]
    said = [say("check.max_rows", found=found)]
    if found.rows_without > found.max_rows:
        said.append(say("check.without_identifier", found=found))
    return [
        align_lines(facts),
        "",
        align_lines([("maxRows", "rows kept", "rows dropped"), *lines], right=[1, 2]),
        *said,
    ]


def _still_open(schema: "Schema") -> list[str]:
    """Return what a draft leaves open, one line for each field."""
    lines = [(field.name, field.type, ", ".join(field.blank) or "nothing") for field in schema.columns]
    return [
        say("check.open"),
        "",
        align_lines([("column", "type", "open"), *lines]),
    ]


# -- What `lapwing schema check` says of rules and public tables.


_RULES_SHOWN = 40
_LETTERS = 80


def declared_text(schema: "Schema", *, has_files: bool = False) -> list[str]:
    """Return lines on the rules and public tables of a schema, and on values that no row can have.

    has_files: whether values may be those of a file that the schema names, which is quoted nowhere.
    """
    said = []
    if schema.rules:
        lines = [(_clipped(rule.text), rule.provenance) for rule in schema.rules]
        said += ["", _table(("rule", "provenance"), lines, ()), *([] if has_files else _dead(schema))]
    if schema.public_tables:
        tables = [
            (" x ".join(map(visible, each.columns)), str(each.total), each.hold, _clipped(visible(each.source)))
            for each in schema.public_tables
        ]
        said += ["", _table(("public table", "rows", "held", "source"), tables, (1,))]
    return [*said, *_formulas(schema)]


def broken_text(found: "DeclaredFit | None") -> list[str]:
    """Return how many rows of a table break each rule, and its gaps to public tables: lines, none if it has none."""
    if found is None:
        return []
    said = []
    rows = found.rows["real"]
    if found.rules:
        order = sorted(found.rules, key=lambda fit: -fit.broken["real"])
        lines = [(_clipped(fit.rule), str(fit.broken["real"])) for fit in order]
        said += ["", say("check.broken", broken=found.broken["real"], rows=rows)]
        said += [_table(("rule", say("check.breaking")), lines, (1,))]
    if found.totals:
        totals = [
            (" x ".join(map(visible, fit.columns)), str(fit.total), str(rows), f"{fit.gaps['real']:.2%}", fit.hold)
            for fit in found.totals
        ]
        said += ["", _table(("public table", "its rows", "rows", "rows elsewhere", "held"), totals, (1, 2, 3))]
    return [*said, say("check.no_rule")] if found.broken["real"] else said


_FORMULA = re.compile(r"[=+\-@\t\r](?![0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?$)", re.ASCII)


def is_formula(text: str) -> bool:
    """Return whether spreadsheets take a text of a CSV file for a formula: by its first sign, unless it is a number.

    >>> is_formula("=1+1"), is_formula("-1.5"), is_formula("@SUM(A1)"), is_formula("a=b")
    (True, False, True, False)
    """
    return _FORMULA.match(text) is not None


def _formulas(schema: "Schema") -> list[str]:
    """Return which names and categories are formulas in a spreadsheet, one line for each column that has some."""
    lines = []
    for field in schema.fields:
        texts = [field.name, *(each for each in field.categories or () if isinstance(each, str))]
        if found := [quote(each) for each in texts if is_formula(each)]:
            lines.append(f"- {visible(field.name)}: {', '.join(first_lines(found, 10))}".replace("\n", " "))
    said = say("check.formulas")
    return ["", said, *lines] if lines else []


def _dead(schema: "Schema") -> list[str]:
    """Return the values that no row can have under the rules, one line for each column."""
    from lapwing.schema.rules.search import dead_values  # noqa: PLC0415

    lines = []
    for name, labels in dead_values(schema).items():
        more = f" and {len(labels) - 10} more" if len(labels) > 10 else ""
        lines.append(f"- {visible(name)}: {', '.join(map(visible, labels[:10]))}{more}")
    return ["", say("check.dead"), *lines] if lines else []


def _table(heading: tuple[str, ...], lines: Sequence[tuple[str, ...]], right: tuple[int, ...]) -> str:
    """Return the first lines of a table, and how many there are more."""
    more = f"\nand {len(lines) - _SHOWN} more" if len(lines) > _RULES_SHOWN else ""
    return align_lines([heading, *lines[:_RULES_SHOWN]], right=list(right)) + more


def _clipped(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
