"""`lapwing schema convert`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli import options
from lapwing.cli.console import first_lines, speaker
from lapwing.cli.options import argument, option
from lapwing.schema.scalars import align_lines, visible

if TYPE_CHECKING:
    from lapwing.extras.connect.metadata.converted import ConvertedTable, Lack
    from lapwing.extras.connect.metadata.linked import ConvertedTables


_SHOWN = 40
_LEARNED = 10
_ASSUMED = (
    '{}: every field is "assumed", as a file does not say that its bounds and lists are public; '
    'say where each is from in "provenance"'
)


def convert(
    context: typer.Context,
    foreign: Annotated[
        Path,
        argument(
            "FOREIGN",
            "A description of the table that another tool wrote, JSON or YAML, or a file of SPSS, Stata or SAS.",
        ),
    ],
    output: Annotated[Path, option("-o --output", "S.json", "A new file: the schema.")],
    table: Annotated[
        str | None, option("--table", "T", "One table of several. Default: all tables that keys link.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Make a schema of another tool's metadata, and say what is missing."""
    options.refuse_existing(output)

    from lapwing.atomic import write_whole  # noqa: PLC0415
    from lapwing.extras.connect.metadata.reading import read_foreign, read_foreign_tables  # noqa: PLC0415

    say = speaker(context, quiet)
    linked = read_foreign_tables(foreign) if table is None else None
    if linked is not None:
        write_whole(output, linked.text)
        say(_ASSUMED.format(output))
        print(_tables(linked))
        return
    found = read_foreign(foreign, table=table)
    found.schema.save(output)
    say(_ASSUMED.format(output))
    if found.schema.privacy_unit is None and not any(lack.field == "" for lack in found.lacks):
        say(
            "a row is protected by itself: if a person may own several, protect them together by "
            '"privacyUnit": {"field": the column that names the person, "maxRows": 5} or another number'
        )
    print(_summary(found, output))


def _tables(found: "ConvertedTables") -> str:
    """Return what was read of linked tables, how they hang together, and what is missing of each."""
    lines = []
    for name, part in found.tables.items():
        entry = found.entries[name]
        to = ", ".join(f"{column} -> {parent}" for column, parent in entry.get("foreignKeys", {}).items())
        names = found.columns[name]
        modelled = f"{sum(field.name in names for field in part.schema.columns)} of {len(names)}"
        lines.append(tuple(map(visible, (name, entry.get("primaryKey", ""), to, modelled))))
    shown = [("table", "key", "points to", "columns modelled"), *lines[:_SHOWN]]
    more = [f"and {len(lines) - _SHOWN} more tables"] if len(lines) > _SHOWN else []
    missing = [
        line
        for name, part in list(found.tables.items())[:_SHOWN]
        if part.lacks or part.notes
        for line in ("", f"Table {visible(name)}:", *_missing(part, None), *_notes(part))
    ]
    return "\n".join([align_lines([("read", found.format)]), "", align_lines(shown), *more, *missing])


def _summary(found: "ConvertedTable", output: Path) -> str:
    """Return what was read, what is missing and how to supply it, and what has no place in a schema."""
    from lapwing.extras.connect.metadata.converted import UNIT_LACK  # noqa: PLC0415

    schema = found.schema
    facts = [
        ("read", found.format),
        ("table", schema.name or "(no name)"),
        ("columns", f"{len(schema.columns)} modelled, {len(schema.fields) - len(schema.columns)} identifiers"),
        ("privacy unit", "open" if any(lack.what == UNIT_LACK for lack in found.lacks) else schema.unit_label),
        ("state", "draft: something is missing" if schema.is_draft else "complete"),
    ]
    return "\n".join([align_lines(facts), *_missing(found, output), *_notes(found)])


def _missing(found: "ConvertedTable", output: Path | None) -> list[str]:
    """Return what is missing, field by field, and how to supply it; output: where its schema is alone in a file."""
    if not found.lacks:
        return []
    by_field: dict[str, list[str]] = {}
    for lack in found.lacks:
        by_field.setdefault(lack.field or "(the table)", []).append(lack.what)
    lines = [(name, "; ".join(whats)) for name, whats in by_field.items()]
    shown = align_lines([("field", "missing"), *lines[:_SHOWN]])
    more = [f"and {len(lines) - _SHOWN} more fields"] if len(lines) > _SHOWN else []
    ways_out = ["", "How to supply it:", *_ways_out(found.lacks)]
    ways_out += [] if output is None else _learning(found, output)
    return ["", shown, *more, *ways_out, *_questions(found)]


def _questions(found: "ConvertedTable") -> list[str]:
    """Return where the questions are that no blank shows, and what to do with them."""
    count = len(found.schema.questions)
    if not count:
        return []
    what = "1 question stands" if count == 1 else f"{count} questions stand"
    return [
        "",
        f'{what} in "questions" of the file: remove each once it is answered; before, nothing is learned or released.',
    ]


def _ways_out(lacks: "tuple[Lack, ...]") -> list[str]:
    """Return each way out once, with what it supplies."""
    ways: dict[str, dict[str, None]] = {}
    for lack in lacks:
        ways.setdefault(lack.way_out, {})[lack.what] = None
    lines = [f"- {visible(', '.join(whats))}: {visible(way_out)}" for way_out, whats in ways.items()]
    return first_lines(lines, _SHOWN, "- ")


def _learning(found: "ConvertedTable", output: Path) -> list[str]:
    """Return the command that learns what is blank."""
    blank = [field.name for field in found.schema.columns if field.blank]
    if not blank:
        return []
    # Which texts occur can be asked with a delta only.
    delta = " --delta D" if any(field.blank and field.type == "string" for field in found.schema.columns) else ""
    named = " ".join(shlex.quote(visible(name)) for name in blank[:_LEARNED])
    more = " ..." if len(blank) > _LEARNED else ""
    return [f"  lapwing schema learn DATA --schema {output} --epsilon E{delta} --fields {named}{more} -o NEW.json"]


def _notes(found: "ConvertedTable") -> list[str]:
    """Return what was read and has no place in a schema."""
    if not found.notes:
        return []
    lines = [f"- {visible(text)}" for text in found.notes]
    return ["", "Read, but without a place in the schema:", *first_lines(lines, _SHOWN, "- ")]
