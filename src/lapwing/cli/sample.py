"""`lapwing sample`."""

from typing import Annotated

import typer

from lapwing.cli.conditions import read_conditions
from lapwing.cli.console import counted, is_quiet, speaker
from lapwing.cli.options import Model, Quiet, RowsOut, Seed
from lapwing.cli.outputs import check_rows, rows_format, write_rows
from lapwing.table.outputs import whole_files


def sample(
    context: typer.Context,
    model: Model,
    rows: Annotated[int, typer.Option("--rows", metavar="N", help="Rows to draw, at least 1.")],
    output: RowsOut,
    seed: Seed = None,
    where: Annotated[
        list[str],
        typer.Option(
            "--where",
            metavar="COL=VALUE",
            help="Only rows like this: COL=VALUE, COL=A..B with both ends on an ordered column, COL= for missing; "
            "repeat for more.",
        ),
    ] = [],  # noqa: B006 - typer reads the default and passes a new list
    quiet: Quiet = False,
) -> None:
    """Draw rows from a saved model, free of budget."""
    check_rows(rows)
    rows_format(output)

    from lapwing.api.release import load  # noqa: PLC0415

    release = load(model)
    conditions = read_conditions(where, release.schema)
    with whole_files([output], [model]) as (place,):
        frames = release.frames(rows, seed=seed, where=conditions)
        write_rows(counted(frames, rows, quiet=is_quiet(context, quiet)), output, place)
    speaker(context, quiet)(f"rows: {output}")
