"""`lapwing sample`."""

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.commands.conditions import read_condition_rows, read_conditions, support_text
from lapwing.cli.console import is_quiet, speaker
from lapwing.cli.options import Model, Quiet, RowsPlace, Seed
from lapwing.cli.outputs import check_rows, rows_place, write_release_rows
from lapwing.errors import ParameterError
from lapwing.rows.out.outputs import whole_files


def sample(
    context: typer.Context,
    model: Model,
    output: RowsPlace,
    rows: Annotated[
        int | None,
        typer.Option("--rows", metavar="N", help="Rows to draw, at least 1; left out with --where-file."),
    ] = None,
    seed: Seed = None,
    where: Annotated[
        list[str],
        typer.Option(
            "--where",
            metavar="COL=VALUE",
            help="Only rows like this: COL=VALUE, COL=A..B with both ends on an ordered column, COL= for missing, "
            "COL=A,B for any of these; repeat for more.",
        ),
    ] = [],  # noqa: B006 - typer reads the default and passes a new list
    where_file: Annotated[
        Path | None,
        typer.Option(
            "--where-file",
            metavar="FILE",
            help="A .csv or .parquet table of public conditions: one row out for each row, whose values stay.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Draw rows from a saved model, free of budget."""
    target, has_folder = rows_place(output)
    _check(rows, where, where_file)

    from lapwing.release.loading import load  # noqa: PLC0415

    release = load(model)
    say = speaker(context, quiet)
    sources, count = [model], rows or 0
    given: object = read_conditions(where, release.schema)
    if where_file is not None:
        table = read_condition_rows(where_file, release.schema)
        sources, count, given = [model, where_file], table.height, table
        say(support_text(release.support(table)))
    elif given is not None:
        say(f"support: {release.support(given).text}")
    with whole_files([target], sources, [target] if has_folder else []) as (place,):
        found = release.rows(count, seed=seed, where=given)
        write_release_rows(found, count, target, place, quiet=is_quiet(context, quiet))
    say(f"rows: {output}")


def _check(rows: int | None, where: list[str], where_file: Path | None) -> None:
    """Refuse options that leave open how many rows are wanted, or say it twice."""
    if where_file is not None and (where or rows is not None):
        extra = "--where" if where else "--rows"
        raise ParameterError(f"--where-file gives one row for each of its conditions; leave {extra} out", code="LW325")
    if where_file is None and rows is None:
        raise ParameterError(
            "sample needs a number of rows; give --rows N, or conditions with --where-file FILE", code="LW325"
        )
    if rows is not None:
        check_rows(rows)
