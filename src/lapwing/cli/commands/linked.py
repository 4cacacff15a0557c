"""`lapwing link`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from lapwing.cli import options
from lapwing.cli.console import is_quiet, speaker
from lapwing.cli.linking import (
    Into,
    Shares,
    by_table,
    expected_by_table,
    is_text,
    linked_schema,
    linked_targets,
    private_tables,
    produce_linked,
    say_linked,
)
from lapwing.cli.looking import recommendation, said_in_time
from lapwing.cli.options import argument, option
from lapwing.cli.outputs import resuming
from lapwing.cli.tables import Database, Sqls, file_of

if TYPE_CHECKING:
    from lapwing.release.linked.release import LinkedRelease


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
    croissant: options.CroissantOut = None,
    prepared_by: options.PreparedBy = None,
    approved_by: options.ApprovedBy = None,
    check: options.Check = False,
    misfits: options.Misfits = "0.1",
    quiet: options.Quiet = False,
) -> None:
    """Turn linked private tables into synthetic ones: rows that belong together, with keys that fit."""
    options.check_budget(epsilon, rho, context)

    from lapwing.api.synthesize import synthesize as release_of  # noqa: PLC0415

    linked = linked_schema(schema, tables or [], sql, db, context)
    private = private_tables(tables or [], sql, db, linked, context)
    targets = linked_targets(
        linked,
        [] if output is None else list(map(str, output)),
        (into, is_text(private)),
        (certificate, no_certificate),
        model=model,
        croissant=croissant,
        prepared_by=prepared_by or "",
        approved_by=approved_by or "",
    )
    say = speaker(context, quiet)

    def made() -> "LinkedRelease":
        hint = recommendation(list(private.values()), linked, schema, check=check, misfits=misfits)
        with said_in_time(hint, say):
            release = release_of(
                private,
                linked,
                epsilon=epsilon,
                delta=delta,
                rho=rho,
                shares=by_table("share", share, linked.names) or None,
                mechanism=by_table("mechanism", mechanism, linked.names, is_for_all=True) or None,
                expected_rows=expected_by_table(expected_rows, linked.names),
                ledger=ledger,
                dataset=dataset,
                transcript=transcript,
                seed=seed,
            )
        return cast("LinkedRelease", release)

    release = produce_linked(
        made,
        targets,
        [*map(file_of, private.values()), schema, options.file_of_ledger(ledger), transcript],
        rows=rows,
        finish=resuming(list(private.values()), targets, rows=rows),
        quiet=is_quiet(context, quiet),
    )
    say_linked(release, targets, say)
