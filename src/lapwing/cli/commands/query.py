"""`lapwing query`."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lapwing.cli.console import speaker
from lapwing.cli.options import Model, whole
from lapwing.judge.report.page import aligned

if TYPE_CHECKING:
    import polars as pl


LOWER = 2
"""Place of the interval's lower end behind the columns that were asked for; its upper end and its basis follow."""


def number_or_measured(text: str) -> int | Literal["measured"]:
    """Return the value of ``--groups``."""
    return "measured" if text == "measured" else whole(text)


def query(
    context: typer.Context,
    model: Model,
    column: Annotated[
        list[str], typer.Option("--column", metavar="NAME", help="A column of the table; repeat for more columns.")
    ],
    groups: Annotated[
        str,
        typer.Option(
            "--groups",
            metavar="N|measured",
            help="About how many groups a column with more values is shown in, or the groups in which noisy counts "
            "saw these columns together.",
        ),
    ] = "20",
    confidence: Annotated[
        str, typer.Option("--confidence", metavar="C", help="Of each interval for a true count, between 0 and 1.")
    ] = "0.95",
    weighted: Annotated[
        bool,
        typer.Option("--weighted", help="Weighted totals instead of counts, by the survey weight of the schema."),
    ] = False,
) -> None:
    """Print a table of a saved model over some columns, with intervals for the true counts."""
    wanted = number_or_measured(groups)

    from lapwing.model.intervals import measured_groupings  # noqa: PLC0415
    from lapwing.release.loading import load  # noqa: PLC0415

    release = load(model)
    table = release.query(column, wanted, confidence, weighted=weighted)
    print(table_text(table, len(column)))
    missing = table[table.columns[len(column) + LOWER]].null_count()
    if missing:
        counted = [*column, release.schema.weight] if weighted and release.schema.weight else column
        is_measured = wanted != "measured" and measured_groupings(release.noisy, counted) is not None
        hint = "; --groups measured shows the cells that were counted" if is_measured else ""
        speaker(context, quiet=False)(f"no noisy answer covers {missing} of {table.height} cells{hint}")


def table_text(table: "pl.DataFrame", columns: int) -> str:
    """Return a table of `Release.query` as aligned text.

    Returns count with one decimal, share with four, ``-`` for an end that is unknown.
    """
    numbers = ("{:.1f}", "{:.4f}", "{}", "{}")
    lines = [
        [
            *row[:columns],
            *("-" if each is None else form.format(each) for form, each in zip(numbers, row[columns:-1], strict=True)),
            row[-1],
        ]
        for row in table.iter_rows()
    ]
    return aligned([table.columns, *lines], right=range(columns, columns + len(numbers)))
