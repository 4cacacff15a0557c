"""`lapwing link`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lapwing.cli import options
from lapwing.cli.console import is_quiet, repeated_line, speaker
from lapwing.cli.looking import recommendation, said_in_time
from lapwing.cli.options import argument, option
from lapwing.cli.outputs import check_rows, produce
from lapwing.cli.tables import Database, Sqls, default_rows, file_of, optional_tables
from lapwing.errors import ParameterError
from lapwing.release.files import certificate_target
from lapwing.release.linked.files import write_linked
from lapwing.release.linked.targets import LinkedTargets, tables_out, targets_into
from lapwing.rows.out.outputs import rows_format
from lapwing.schema.scalars import quote

if TYPE_CHECKING:
    from lapwing.cli.tables import Table
    from lapwing.release.linked.release import LinkedRelease
    from lapwing.schema.linked.database import LinkedSchema


Tables = Annotated[
    list[str] | None,
    argument(
        "PARENT CHILD ...",
        "The private tables, as DATA, in the schema's order; or NAME=DATA; or one folder or database of them all.",
        is_optional=True,
    ),
]
LinkedSchemaFile = Annotated[Path, option("--schema", "L.json", "The tables, their keys, and how many rows are used.")]
BothOut = Annotated[
    tuple[Path, Path] | None,
    option("-o --output", "PARENTS CHILDREN", "Where the rows of two go: .parquet or .csv files, replaced if there."),
]
Into = Annotated[
    str | None,
    option("--into", "PLACE", "Where all tables go: a folder, a new .duckdb, .sqlite or .db file, or postgresql://..."),
]
Shares = Annotated[list[str], option("--share", "TABLE=P", "A table's part of the budget; of all, they sum to 1.")]


def link(
    context: typer.Context,
    tables: Tables,
    schema: LinkedSchemaFile,
    output: BothOut = None,
    into: Into = None,
    sql: Sqls = [],  # noqa: B006 - typer reads the default and passes a new list
    db: Database = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    share: Shares = [],  # noqa: B006 - likewise
    mechanism: Annotated[
        list[str],
        option("--mechanism", "[TABLE=]M", "Mechanism of all or one.", autocompletion=options.mechanism_names),
    ] = [],  # noqa: B006 - likewise
    expected_rows: Annotated[
        list[str], option("--expected-rows", "TABLE=N", "Your public guess of how many rows a table has.")
    ] = [],  # noqa: B006 - likewise
    rows: Annotated[
        int | None, option("--rows", "N", "Rows of the first table to write, at least 1. Default: the noisy number.")
    ] = None,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    transcript: Annotated[
        Path | None,
        option("--transcript", "T", "Keeps every answer; the same command goes on from it, free of charge."),
    ] = None,
    seed: options.Seed = None,
    model: options.ModelOut = None,
    certificate: Annotated[
        Path | None, option("--certificate", "C.json", "Where the certificate goes. Default: beside the rows.")
    ] = None,
    no_certificate: options.NoCertificate = False,
    prepared_by: options.PreparedBy = None,
    approved_by: options.ApprovedBy = None,
    check: options.Check = False,
    misfits: options.Misfits = "0.1",
    quiet: options.Quiet = False,
) -> None:
    """Turn linked private tables into synthetic ones: rows that belong together, with keys that fit."""
    options.check_budget(epsilon, rho, context)
    check_rows(rows)

    from lapwing.runs.policy import named  # noqa: PLC0415
    from lapwing.schema.linked.database import LinkedSchema  # noqa: PLC0415
    from lapwing.verbs.synthesize import synthesize as release_of  # noqa: PLC0415

    linked = LinkedSchema.load(schema)
    private = private_tables(tables or [], sql, db, linked, context)
    targets = linked_targets(
        linked, output, (into, is_text(private)), model, (certificate, no_certificate), (prepared_by, approved_by)
    )
    say = speaker(context, quiet)

    def made() -> "LinkedRelease":
        hint = recommendation(list(private.values()), linked, schema, check=check, misfits=misfits)
        with said_in_time(hint, say), named(preparedBy=prepared_by, approvedBy=approved_by):
            release = release_of(
                private,
                linked,
                epsilon=epsilon,
                delta=delta,
                rho=rho,
                shares=by_table("share", share) or None,
                mechanism=by_table("mechanism", mechanism, linked.names) or None,
                expected_rows={name: _whole(text) for name, text in by_table("expected-rows", expected_rows).items()},
                ledger=ledger,
                dataset=dataset,
                transcript=transcript,
                seed=seed,
            )
        return cast("LinkedRelease", release)

    release = produce(
        made,
        lambda release, place: write_linked(release, targets, place, rows=rows),
        targets.in_order,
        [*map(file_of, private.values()), schema, ledger, transcript],
        way_out=repeated_line,
        quiet=is_quiet(context, quiet),
        folders=targets.folders,
        replaces=targets.replaces,
    )
    for line in release.certificate.text().splitlines():
        say(line)
    for what, path in targets.named:
        say(f"{what}: {path}")


def private_tables(
    given: Sequence[str], sql: Sequence[str], db: str | None, linked: "LinkedSchema", context: typer.Context
) -> "dict[str, Table]":
    """Return the private tables by name: in the schema's order, or as NAME=DATA."""
    named = dict(text.split("=", 1) for text in given if text.partition("=")[0] in linked.given)
    if len(given) == 1 < len(linked.given) and not named and not sql:
        from lapwing.rows.named import tables_from  # noqa: PLC0415

        return tables_from(given[0], {name: linked.as_written(name).names for name in linked.given})
    tables = optional_tables(tuple(named.values()) if len(named) == len(given) else given, sql, db, context)
    names = tuple(named) if named else linked.given
    if len(tables) != len(linked.given) or set(names) != set(linked.given):
        said = f"the schema is of {len(linked.given)} tables, {', '.join(linked.given)}, got {len(tables)}"
        raise options.misuse(f"{said}; give one for each, or as many --sql and one --db", context, code="LW903")
    found = dict(zip(names, tables, strict=True))
    return {name: found[name] for name in linked.given}


def by_table(what: str, texts: Sequence[str], every: Sequence[str] = ()) -> dict[str, Any]:
    """Return settings by table, which are given as TABLE=VALUE, or as VALUE for every table."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals and not every:
            raise ParameterError(f"{what} must be TABLE=VALUE, got {quote(text)}; name the table", code="LW307")
        found |= {name: value} if equals else dict.fromkeys(every, text)
    return found


def _whole(text: str) -> int:
    """Return a whole number."""
    if not text.isdecimal():
        raise ParameterError(f"expected rows must be whole, got {quote(text)}; give a public guess", code="LW315")
    return int(text)


def is_text(tables: "Mapping[str, Table]") -> bool:
    """Return whether all private tables are files of text by their names."""
    return all(default_rows(table).endswith(".csv") for table in tables.values())


def linked_targets(
    linked: "LinkedSchema",
    output: tuple[Path, Path] | None,
    into: tuple[str | None, bool],
    model: Path | None,
    certificate: tuple[Path | None, bool],
    people: tuple[str | None, str | None],
) -> LinkedTargets:
    """Return the files that the options name; into: the option, and whether a folder gets files of text."""
    place, has_text = into
    if (output is None) == (place is None):
        raise ParameterError(
            "rows need one place, got "
            f"{'none' if place is None else 'two'}; give -o PARENTS CHILDREN for two tables, or --into PLACE",
            code="LW316",
        )
    signed: dict[str, Any] = {"model": model, "prepared_by": people[0] or "", "approved_by": people[1] or ""}
    if output is None:
        assert place is not None
        targets = targets_into(linked, place, "csv" if has_text else "parquet", **signed)
        return replace(targets, certificate=_certificate(targets.beside, *certificate))
    if len(linked.given) != len(output):
        raise ParameterError(
            f"-o names two files, and there are {len(linked.given)} tables; give --into PLACE", code="LW316"
        )
    for path in output:
        rows_format(path)
    return LinkedTargets(
        tables=tables_out(linked)[: len(output)],
        rows=dict(zip(linked.given, output, strict=True)),
        certificate=_certificate(output[0], *certificate),
        **signed,
    )


def _certificate(rows: Path | None, given: Path | None, is_unwanted: bool) -> Path | None:
    """Return where the certificate goes; beside a database server there is no place."""
    if rows is None and given is None and not is_unwanted:
        raise ParameterError(
            "a certificate stands beside the rows, and a database server has no such place; name it with --certificate "
            "C.json, or give --no-certificate",
            code="LW316",
        )
    if rows is None:
        return None if is_unwanted else given
    return certificate_target(rows, given, no_certificate=is_unwanted)
