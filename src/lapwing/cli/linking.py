"""What commands of linked tables share: the tables that they are given, and the files that they write."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapwing.cli import options
from lapwing.cli.console import Say
from lapwing.cli.options import option
from lapwing.cli.outputs import check_drawn, produce, say_paid
from lapwing.cli.tables import default_rows, hold_private, optional_tables
from lapwing.errors import ParameterError
from lapwing.kernel.room.begun import Finish
from lapwing.on_demand import extra
from lapwing.release.files import certificate_target
from lapwing.release.linked.files import write_linked
from lapwing.release.linked.targets import LinkedTargets, tables_out, targets_into
from lapwing.rows.out.outputs import rows_format
from lapwing.schema.scalars import quote

if TYPE_CHECKING:
    from lapwing.cli.tables import Table
    from lapwing.release.linked.release import LinkedRelease
    from lapwing.schema.linked.database import LinkedSchema


Into = Annotated[
    str | None,
    option("--into", "PLACE", "Where all tables go: a folder, a new .duckdb, .sqlite or .db file, or postgresql://..."),
]
Shares = Annotated[list[str], option("--share", "TABLE=P", "A table's part of the budget; of all, they sum to 1.")]


def linked_schema(
    schema: Path, given: Sequence[str], sql: Sequence[str], db: str | None, context: typer.Context
) -> "LinkedSchema":
    """Return a schema of linked tables, of whose public tables none is a file of the private ones that are given."""
    from lapwing.rows.elsewhere import Query  # noqa: PLC0415
    from lapwing.rows.files import KNOWN  # noqa: PLC0415
    from lapwing.schema.linked.database import LinkedSchema  # noqa: PLC0415
    from lapwing.schema.linked.reading import private_names  # noqa: PLC0415

    names = private_names(schema)
    places = [part for text in given for part in (text, text.partition("=")[2]) if part]
    if len(places) == 1 and Path(places[0]).is_dir():  # where public tables may lie beside the private ones
        tables = {f"{name}{ending}" for name in names for ending in ("", *KNOWN)}  # as `tables_from` finds them
        places = [str(each) for each in Path(places[0]).iterdir() if each.name in tables]
    hold_private(context, places, [] if db is None else [Query(each, db) for each in sql])
    return LinkedSchema.load(schema)


def private_tables(
    given: Sequence[str], sql: Sequence[str], db: str | None, linked: "LinkedSchema", context: typer.Context
) -> "dict[str, Table]":
    """Return the private tables by name: in the schema's order, or as NAME=DATA."""
    named = dict(text.split("=", 1) for text in given if text.partition("=")[0] in linked.given)
    if len(given) == 1 < len(linked.given) and not named and not sql:
        from lapwing.rows.elsewhere import tables_from  # noqa: PLC0415

        return tables_from(given[0], {name: linked.as_written(name).names for name in linked.given})
    tables = optional_tables(tuple(named.values()) if len(named) == len(given) else given, sql, db, context)
    names = tuple(named) if named else linked.given
    if len(tables) != len(linked.given) or set(names) != set(linked.given):
        said = f"the schema is of {len(linked.given)} tables, {', '.join(linked.given)}, got {len(tables)}"
        raise options.misuse(f"{said}; give one for each, or as many --sql and one --db", context, code="LW903")
    found = dict(zip(names, tables, strict=True))
    return {name: found[name] for name in linked.given}


def by_table(what: str, texts: Sequence[str], names: Sequence[str], *, is_for_all: bool = False) -> dict[str, Any]:
    """Return settings by table, which are given as TABLE=VALUE, or as VALUE for every table where this may be."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals and not is_for_all:
            way_out = f"name the table, one of {', '.join(names)}"
            raise ParameterError(f"{what} must be TABLE=VALUE, got {quote(text)}; {way_out}", code="LW307")
        found |= {name: value} if equals else dict.fromkeys(names, text)
    return found


def expected_by_table(texts: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Return expected numbers of rows, which are given as TABLE=N."""
    found = by_table("expected-rows", texts, names)
    for text in (each for each in found.values() if not each.isdecimal()):
        raise ParameterError(f"expected rows must be whole, got {quote(text)}; give a public guess", code="LW315")
    return {name: int(text) for name, text in found.items()}


def is_text(tables: "Mapping[str, Table]") -> bool:
    """Return whether all private tables are files of text by their names."""
    return all(default_rows(table).endswith(".csv") for table in tables.values())


def linked_targets(
    linked: "LinkedSchema",
    outputs: Sequence[str],
    into: tuple[str | None, bool],
    certificate: tuple[Path | None, bool] | None = None,
    **others: Any,  # noqa: ANN401
) -> LinkedTargets:
    """Return the files that the options name; others: the other settings of `LinkedTargets`.

    outputs: a file for each table, in the schema's order; into: the option, and whether a folder gets files of text;
    certificate: the option, and whether none is wanted; None where there is no release.
    """
    place, has_text = into
    if bool(outputs) == (place is not None):
        raise ParameterError(
            f"rows need one place, got {'two' if outputs else 'none'}; give --into PLACE, or -o with a file "
            f"for each of {', '.join(linked.given)}",
            code="LW316",
        )
    if place is not None:
        targets = targets_into(linked, place, "csv" if has_text else "parquet", **others)
    elif len(linked.given) != len(outputs):
        raise ParameterError(
            f"-o names {len(outputs)} files, and there are {len(linked.given)} tables; give --into PLACE", code="LW316"
        )
    else:
        files = dict(zip(linked.given, map(Path, outputs), strict=True))
        for path in files.values():
            rows_format(path)
        targets = LinkedTargets(tables=tables_out(linked)[: len(files)], rows=files, **others)
    if certificate is not None:
        targets = replace(targets, certificate=_certificate(targets.beside, *certificate))
    targets.check_croissant()
    return targets


def _certificate(rows: Path | None, given: Path | None, is_unwanted: bool) -> Path | None:
    """Return where the certificate goes; beside a database server there is no place."""
    if rows is None and given is None and not is_unwanted:
        raise ParameterError(
            "a certificate stands beside the rows, and a database server has no such place; name it "
            "with --certificate C.json, or give --no-certificate",
            code="LW316",
        )
    if rows is None:
        return None if is_unwanted else given
    return certificate_target(rows, given, no_certificate=is_unwanted)


def produce_linked(
    make: "Callable[[], LinkedRelease]",
    targets: LinkedTargets,
    inputs: Sequence[Path | None],
    *,
    rows: int | None,
    finish: Finish,
    quiet: bool,
    seed: int | None = None,
) -> "LinkedRelease":
    """Make a release of linked tables and write its files."""
    check_drawn(rows, seed)

    def made() -> "LinkedRelease":
        with extra("policy").named(preparedBy=targets.prepared_by or None, approvedBy=targets.approved_by or None):
            return make()

    return produce(
        made,
        lambda release, place: write_linked(release, targets, place, rows=rows, seed=seed),
        targets.in_order,
        inputs,
        finish=finish,
        quiet=quiet,
        folders=targets.folders,
        replaces=targets.replaces,
    )


def say_linked(release: "LinkedRelease", targets: LinkedTargets, say: Say, *, details: bool = True) -> None:
    """Say what was spent, and where the files are."""
    say_paid(release.certificate, say, details=details)
    for what, path in targets.named:
        say(f"{what}: {path}")
