"""The noisy answers as frames."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from lapwing.api.queries import free_name
from lapwing.release.questions import NoisyCounts
from lapwing.schema.labels import labels
from lapwing.schema.schemas import Schema


def answer_table(answer: NoisyCounts, schema: Schema) -> pl.DataFrame:
    """Return one noisy table: a column of labels per field, the noisy count, the noise law and its parameter.

    Parameters
    ----------
    answer : NoisyCounts
        A released answer.
    schema : Schema
        Gives the labels.

    Returns
    -------
    polars.DataFrame
        One line per cell: the fields, ``noisy_count``, ``noise_sd``.
    """
    question = answer.question
    cells = np.indices(answer.counts.shape).reshape(len(question.columns), -1)
    named = {
        name: pl.Series(labels(grouping, schema.field(name)), dtype=pl.String).gather(cell)
        for name, grouping, cell in zip(question.columns, question.groupings, cells, strict=True)
    }
    count, sd = (free_name(name, question.columns) for name in ("noisy_count", "noise_sd"))
    return pl.DataFrame({**named, count: answer.counts.ravel()}).with_columns(pl.lit(answer.noise.sd).alias(sd))


def answers_in_one_frame(answers: Sequence[NoisyCounts], schema: Schema) -> pl.DataFrame:
    """Return all noisy tables below each other.

    Returns
    -------
    polars.DataFrame
        Columns ``table`` (number), ``columns``, ``cell`` (labels joined by " | "), ``noisy_count``, ``noise``
        (law and exact parameter), ``noise_sd``.
    """
    frames = [pl.DataFrame(schema=_LONG)]
    for number, answer in enumerate(answers):
        names = list(answer.question.columns)
        cell = pl.concat_str(names, separator=" | ") if names else pl.lit("all rows")
        frames.append(
            answer_table(answer, schema).select(
                pl.lit(number, dtype=pl.Int64).alias("table"),
                pl.lit(" x ".join(names)).alias("columns"),
                cell.alias("cell"),
                pl.col(free_name("noisy_count", names)).alias("noisy_count"),
                pl.lit(f"{answer.noise.kind} {answer.noise.parameter}").alias("noise"),
                pl.lit(answer.noise.sd).alias("noise_sd"),
            )
        )
    return pl.concat(frames)


_LONG = {
    "table": pl.Int64,
    "columns": pl.String,
    "cell": pl.String,
    "noisy_count": pl.Int64,
    "noise": pl.String,
    "noise_sd": pl.Float64,
}
