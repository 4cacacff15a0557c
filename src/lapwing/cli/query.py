"""`lapwing query`."""

from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.options import Model
from lapwing.cli.text import aligned

if TYPE_CHECKING:
    import polars as pl


def query(
    model: Model,
    column: Annotated[
        list[str], typer.Option("--column", metavar="NAME", help="A column of the table; repeat for more columns.")
    ],
) -> None:
    """Print a table of a saved model over some columns."""
    from lapwing.api.release import load  # noqa: PLC0415

    print(table_text(load(model).query(column)))


def table_text(table: "pl.DataFrame") -> str:
    """Return a table of `Release.query` as aligned text: labels, count with one decimal, share with four."""
    names = table.columns
    formats = {"count": "{:.1f}", "share": "{:.4f}"}
    lines = [
        [formats[name].format(value) if name in formats else str(value) for name, value in zip(names, row, strict=True)]
        for row in table.iter_rows()
    ]
    return aligned([names, *lines], right=[len(names) - 2, len(names) - 1])
