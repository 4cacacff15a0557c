"""`lapwing anonymize`."""

import json
from typing import Annotated, Any

import typer

from lapwing.anonymous.settings import Categories, Output, Partition, Variant
from lapwing.cli import options
from lapwing.cli.console import busy, is_quiet, speaker
from lapwing.cli.options import flag, number
from lapwing.cli.tables import Data, Database, Sql, given_table
from lapwing.release.files import write_rows
from lapwing.rows.out.outputs import rows_format, whole_files

_KEY = "lapwing"  # of the metadata in a Parquet file


def anonymize(
    context: typer.Context,
    data: Data,
    schema: options.SchemaFile,
    min_group_size: Annotated[
        int, number("--min-group-size", "K", "The k of k-anonymity: units of a group, at least 2.")
    ],
    output: options.RowsOut,
    sql: Sql = None,
    db: Database = None,
    variant: Annotated[Variant, flag("--variant", "Algorithm 1 of the paper, or the default.")] = "default",
    partition: Annotated[Partition, flag("--partition", "How groups are found.")] = "practical",
    no_improve: Annotated[
        bool, flag("--no-improve", "Do not move rows between groups to make these more alike.")
    ] = False,
    draw: Annotated[Output, flag("--draw", "How rows are made from groups.")] = "systematic",
    categories: Annotated[
        Categories, flag("--categories", "Draw categories from a group's shares, or show its most frequent one.")
    ] = "random",
    rows: Annotated[
        int | None, number("--rows", "N", "Rows to write, at least 1. Default: as many as are kept.")
    ] = None,
    seed: Annotated[int | None, number("--seed", "K", "Seed of the rows drawn, 0 to 2^128 - 1.")] = None,
    quiet: options.Quiet = False,
) -> None:
    """Make a k-anonymous table, which is not differentially private."""
    rows_format(output)
    table: Any = given_table(data, sql, db, context)
    about = output.with_name(output.name + ".anonymous.json")

    from lapwing.api.anonymize import anonymize as anonymous_of  # noqa: PLC0415
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    with whole_files([output, about], [path for path in (table.file, schema) if path is not None]) as places:
        with busy("grouping", quiet=is_quiet(context, quiet)):
            made = anonymous_of(
                table,
                schema,
                min_group_size,
                variant=variant,
                partition=partition,
                improve=not no_improve,
                output=draw,
                categories=categories,
                rows=rows,
                seed=seed,
            )
        text = json.dumps(made.to_dict(), indent=2)
        write_rows(iter([made.data]), Schema.load(schema), output, places[0], {_KEY: text})
        places[1].write_text(text + "\n", encoding="utf-8")
    say = speaker(context, quiet)
    say(made.notice)
    groups = f"{made.groups} groups" if made.groups > 1 else "1 group, so all that rows show is the whole table's means"
    say(f"{groups}: information loss {made.information_loss:.3g} %, covariance loss {made.covariance_loss:.3g}")
    say(f"rows: {output}")
    say(f"about them: {about}")
