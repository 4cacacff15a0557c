"""`lapwing report`."""

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import speaker
from lapwing.cli.options import Model, Quiet, check_html
from lapwing.table.outputs import whole_files


def report(
    context: typer.Context,
    model: Model,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="report.html", help="The report: one HTML file, replaced if it is there."
        ),
    ],
    quiet: Quiet = False,
) -> None:
    """Write a publishable report about a saved model (needs lapwing[report])."""
    from lapwing.api.loading import load  # noqa: PLC0415

    check_html(output)
    with whole_files([output], [model]) as (place,):
        load(model).to_html(place)
    speaker(context, quiet)(f"report: {output}")
