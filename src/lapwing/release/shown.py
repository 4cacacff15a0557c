"""What a release shows: its noisy answers as frames, the certified error of its statistics, and its report."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from lapwing.errors import ParameterError
from lapwing.kernel.noise_law import NoisyTable
from lapwing.kernel.questions.category_selection.question import SelectedTexts
from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.mechanisms.registry import MECHANISMS, kind_named
from lapwing.model.evidence import MeasuredTable, views
from lapwing.release.queries import Parts, free_name
from lapwing.schema.schemas import Schema
from lapwing.schema.values import labels, run_labels

LISTED_CELLS = 2**16  # larger tables are one line of the frame of all answers


def table_name(answer: Answer, table: NoisyTable) -> str:
    """Return a name of one noisy table: its columns, and its level in a tree."""
    name = "-".join(answer.question.columns) or "rows"
    return name if table.level is None else f"{name}-level-{table.level}"


def _tables(answers: Sequence[Answer]) -> Iterator[tuple[Answer, NoisyTable, MeasuredTable | None]]:
    """Return each noisy table, and how it counts rows; None of sums and of texts."""
    for answer in answers:
        seen = iter(()) if isinstance(answer, NoisySums) else views(answer)
        yield from ((answer, table, next(seen, None)) for table in answer.tables)


def named_tables(answers: Sequence[Answer], schema: Schema) -> list[tuple[str, pl.DataFrame]]:
    """Return each noisy table with its name; see `Release.answer_tables`."""
    return [
        (table_name(answer, table), _frame(answer, table, seen, schema)) for answer, table, seen in _tables(answers)
    ]


def _frame(answer: Answer, table: NoisyTable, seen: MeasuredTable | None, schema: Schema) -> pl.DataFrame:
    """Return one noisy table: a column of labels per field, the noisy count, the standard deviation of its noise.

    Returns one line per cell: the fields, ``noisy_count``, ``noise_sd``. Of sums of vectors, one line per number: the
    cell and the coordinate, or the two coordinates that were multiplied; the noise as the number, in the answer's
    units.
    """
    if isinstance(answer, NoisySums):
        named = _sums(answer, schema)
    elif isinstance(answer, SelectedTexts):
        named = {answer.question.column: pl.Series(answer.texts, dtype=pl.String)}
    elif seen is None:
        named = _number_labels(table.counts)
    elif seen.leaves is not None:
        named = _leaf_columns(seen.leaves, schema)
    else:
        texts = [side.texts(schema.field(name)) for name, side in zip(seen.columns, seen.sides, strict=True)]
        if seen.misfits is not None:
            texts[0].append("invalid")
        cells = np.indices(table.counts.shape).reshape(table.counts.ndim, table.counts.size)
        named = {
            name: pl.Series(each, dtype=pl.String).gather(cell)
            for name, each, cell in zip(seen.columns, texts, cells, strict=True)
        }
    count, sd = (free_name(name, list(named)) for name in ("noisy_count", "noise_sd"))
    return pl.DataFrame({**named, count: table.counts.ravel()}).with_columns(pl.lit(table.noise.sd).alias(sd))


def _number_labels(counts: np.ndarray) -> dict[str, pl.Series]:
    """Return numbers as labels, for a question that has no better ones."""
    return {"number": pl.Series(range(counts.size), dtype=pl.Int64).cast(pl.String)}


def _leaf_columns(answer: NoisyCells, schema: Schema) -> dict[str, pl.Series]:
    """Return the leaves of a tree of cells that were released, each column with the labels of its own level."""
    tree = answer.question.tree
    levels, cells = answer.leaves
    named = {}
    for place, (name, nested) in enumerate(zip(tree.columns, tree.hierarchies, strict=True)):
        depths = tree.depths_of(place)[levels]
        texts = np.empty(len(cells), dtype=np.object_)
        for depth in np.unique(depths).tolist():
            at = depths == depth
            texts[at] = np.array(run_labels(nested, depth, schema.field(name)), dtype=np.object_)[cells[at, place]]
        named[name] = pl.Series(texts.tolist(), dtype=pl.String)
    return named


def _sums(answer: NoisySums, schema: Schema) -> dict[str, pl.Series]:
    """Return what sums of vectors are of, number by number."""
    question = answer.question
    if isinstance(question, LinearStatistics):
        # Sums in fractions of a row are listed in whole numbers of these.
        scaled = "{}" if question.scale == 1 else f"({{}}) * {question.scale}"
        named = {"statistic": pl.Series([scaled.format(each.text) for each in question.statistics], dtype=pl.String)}
    elif isinstance(question, TableDistances):
        what = f"(sum of absolute differences, mean of {len(question.tables)} tables) * {question.scale}"
        named = {"distance": pl.Series([what], dtype=pl.String)}
    elif isinstance(question, SecondMoment):
        names = coordinate_labels(question.coordinates, schema)
        first, second = (pl.Series([names[each] for each in axis.tolist()], dtype=pl.String) for axis in question.pairs)
        named = {"first": first, "second": second}
    elif isinstance(question, CellSums):
        names = coordinate_labels(question.coordinates, schema)
        widths = names if question.summed != "rows" else [question.summed]
        named = {
            "cell": pl.Series(np.repeat(np.arange(question.cells), len(widths))).cast(pl.String),
            "coordinate": pl.Series(widths * question.cells, dtype=pl.String),
        }
    else:
        named = _number_labels(answer.values)
    return named


def coordinate_labels(coordinates: Coordinates, schema: Schema) -> list[str]:
    """Return a label for each coordinate: its column, and the group that it stands for."""
    found = []
    for place, name in enumerate(coordinates.columns):
        grouping = coordinates.groupings[place]
        texts = labels(grouping, schema.field(name))
        start = grouping.regular if coordinates.kinds[place] == "line" else 0
        if start:
            found.append(name)
        found += [f"{name}={text}" for text in texts[start : grouping.regular + coordinates.listed[place]]]
    return found


def answers_in_one_frame(answers: Sequence[Answer], schema: Schema) -> pl.DataFrame:
    """Return all noisy tables below each other; selections and private draws have none and no line.

    Returns columns ``table`` (number), ``columns``, ``level`` (in a tree), ``cell`` (labels joined by " | "),
    ``noisy_count``, ``noise`` (law and exact parameter of each cell), ``noise_sd``. A table of more than 65536 cells is
    one line: the sum of its noisy counts, and the standard deviation of that sum (null where small counts were left
    out, which biases it).
    """
    frames = [pl.DataFrame(schema=_LONG)]
    for number, (answer, table, seen) in enumerate(_tables(answers)):
        frames.append(
            _lines(answer, table, seen, schema).select(
                pl.lit(number, dtype=pl.Int64).alias("table"),
                pl.lit(" x ".join(answer.question.columns)).alias("columns"),
                pl.lit(table.level, dtype=pl.Int64).alias("level"),
                "cell",
                "noisy_count",
                pl.lit(f"{table.noise.kind} {table.noise.parameter}").alias("noise"),
                "noise_sd",
            )
        )
    return pl.concat(frames)


def _lines(answer: Answer, table: NoisyTable, seen: MeasuredTable | None, schema: Schema) -> pl.DataFrame:
    """Return the cells of a table with one label each, or its total where there are too many."""
    cells = table.counts.size
    if cells > LISTED_CELLS:
        total = {"cell": f"all {cells} cells", "noisy_count": int(table.counts.sum())}
        is_biased = isinstance(answer, SelectedTexts) or (seen is not None and seen.threshold is not None)
        deviation = None if is_biased else table.noise.sd * math.sqrt(cells)
        return pl.DataFrame({**total, "noise_sd": deviation}, schema_overrides={"noise_sd": pl.Float64})
    found = _frame(answer, table, seen, schema)
    *names, count, _ = found.columns
    return found.select(
        (pl.concat_str(names, separator=" | ") if names else pl.lit("all rows")).alias("cell"),
        pl.col(count).alias("noisy_count"),
        pl.lit(table.noise.sd).alias("noise_sd"),
    )


_LONG = {
    "table": pl.Int64,
    "columns": pl.String,
    "level": pl.Int64,
    "cell": pl.String,
    "noisy_count": pl.Int64,
    "noise": pl.String,
    "noise_sd": pl.Float64,
}


# -- The certified error of every statistic of a release whose mechanism certifies them.


def certified_table(release: Parts, confidence: float) -> pl.DataFrame:
    """Return the noisy and the released mean of every statistic, and a bound on the error of the latter.

    Returns one line per statistic: ``statistic``, ``noisy``, ``released``, ``largest_error``; shares of the rows, or
    means. Null where a row function is not at hand, as in a release that was read from a file.
    """
    certificate = release.certificate
    means = kind_named(certificate.mechanism).certified_means
    if means is None:
        known = " and ".join(each.name for each in MECHANISMS.values() if each.certified_means is not None)
        raise ParameterError(
            f"certified errors are known for releases of {known}, this one is of "
            f"{certificate.mechanism}; see the intervals of release.query",
            code="LW362",
        )
    is_number = isinstance(confidence, float | int) and not isinstance(confidence, bool)
    if not is_number or not 0.5 <= confidence <= 0.9999:
        raise ParameterError(
            f"confidence must lie from 0.5 to 0.9999, got {confidence!r}; 0.95 suits most uses", code="LW301"
        )
    found = means(release.schema, certificate, release.noisy, release.model, confidence)
    numbers = pl.col("released", "largest_error").fill_nan(None)
    return pl.DataFrame(found, schema_overrides={"statistic": pl.String}).with_columns(numbers)
