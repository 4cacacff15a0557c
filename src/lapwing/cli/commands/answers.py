"""`lapwing answers`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.console import speaker
from lapwing.cli.options import Model, Quiet
from lapwing.rows.out.outputs import whole_folder

if TYPE_CHECKING:
    from lapwing.release.release import Release


_NAME_LENGTH = 60


def answers(
    context: typer.Context,
    model: Model,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="A new folder: one CSV per noisy table, and index.csv."),
    ],
    quiet: Quiet = False,
) -> None:
    """Write the noisy tables behind a saved model."""
    from lapwing.release.loading import load  # noqa: PLC0415

    release = load(model)
    with whole_folder(output) as folder:
        _write_tables(release, folder)
    speaker(context, quiet)(f"noisy tables: {output}")


def _write_tables(release: "Release", folder: Path) -> None:
    """Write each noisy table, and the index that says which file is which."""
    import polars as pl  # noqa: PLC0415

    index = []
    released = [(answer, each) for answer in release.noisy for each in answer.tables]
    for number, (name, table) in enumerate(release.answer_tables()):
        file = f"{number:04d}-{re.sub(r'[^A-Za-z0-9_-]+', '_', name)[:_NAME_LENGTH]}.csv"
        table.write_csv(folder / file)
        answer, counts = released[number]
        index.append(
            {
                "file": file,
                "columns": " x ".join(answer.question.columns),
                "level": counts.level,
                "cells": table.height,
                "noise": counts.noise.kind,
                "parameter": str(counts.noise.parameter),
                "sd": counts.noise.sd,
            }
        )
    pl.DataFrame(index).write_csv(folder / "index.csv")
