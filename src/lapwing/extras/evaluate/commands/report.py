"""`lapwing report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli import options
from lapwing.cli.commands.saved import open_saved
from lapwing.cli.console import speaker
from lapwing.cli.options import option
from lapwing.cli.tables import stem_of
from lapwing.rows.out.outputs import whole_files

if TYPE_CHECKING:
    from lapwing.release.release import Release


def report(
    context: typer.Context,
    model: options.Model,
    output: Annotated[
        Path | None,
        option(
            "-o --output",
            "report.html",
            "The report: one HTML file, replaced if it is there. Default: M.report.html here.",
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a publishable report about a saved model (needs lapwing[evaluate])."""
    output = Path(f"{stem_of(model)}.report.html") if output is None else output
    options.check_html(output)
    with whole_files([output], [model]) as (place,):
        place.write_text(_report(open_saved(model), stem_of(model)), encoding="utf-8", newline="\n")
    speaker(context, quiet)(f"report: {output}")


def _report(found: "Release", name: str) -> str:
    """Return the report of one table, or of several; name: of the data set, where the release has none."""
    from lapwing.extras.evaluate.released.linked import linked_html  # noqa: PLC0415
    from lapwing.extras.evaluate.released.report import release_html  # noqa: PLC0415

    if found.linked is not None:
        return linked_html(found.tables, found.certificate, name=name)
    return release_html(found, found.accuracy(), name=name)
