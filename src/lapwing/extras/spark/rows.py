"""Rows of a release as frames of Spark, drawn by the executors from the released model. Sees no private row."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from lapwing.errors import ParameterError
from lapwing.extras.spark.distributed import check_installed, installed_versions
from lapwing.model.rows import RowChunks
from lapwing.rows.out.writers import to_frame_kind
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


_MOST_PARTITIONS: Final = 4096
"""Of a Spark frame. Each is a task that unpacks the model once."""

_SPARK_TYPES: Final = {
    "integer": "bigint",
    "number": "double",
    "string": "string",
    "boolean": "boolean",
    "date": "date",
    "datetime": "timestamp_ntz",
}


def spark_rows(chunks: RowChunks, session: "SparkSession") -> Any:  # noqa: ANN401 - a frame of either kind
    """Return rows as a lazy Spark frame, which the executors of a session draw.

    chunks: sent to the executors as it is; released numbers only. Returns the schema's columns as bigint, double,
    string, boolean, date and timestamp_ntz, all nullable. Its partitions in order hold the chunks in order, whatever
    their number and however often a task is tried.
    """
    expected = installed_versions()

    def drawn(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        check_installed(expected)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _arrow(chunks.frame(number)).to_batches()

    numbers = session.range(0, chunks.count, 1, min(chunks.count, _MOST_PARTITIONS))
    return numbers.mapInArrow(drawn, _spark_schema(chunks.schema))


def active_session() -> "SparkSession":
    """Return the session that the user has started, classic or of Connect."""
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - the user's own
    from pyspark.sql import SparkSession  # noqa: PLC0415

    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        pass
    raise ParameterError(
        "rows as a Spark frame need an active Spark session; start one, or load the release with kind='path'",
        code="LW702",
    )


def _spark_schema(schema: Schema) -> str:
    """Return the types of the columns in Spark's own words."""
    quoted = {field.name: "`" + field.name.replace("`", "``") + "`" for field in schema.fields}
    return ", ".join(f"{quoted[field.name]} {_SPARK_TYPES[field.type]}" for field in schema.fields)


def _arrow(frame: pl.DataFrame) -> "pa.Table":
    """Return a frame as Spark reads it: with strings of up to 2**31 bytes a batch."""
    import pyarrow as pa  # noqa: PLC0415 - comes with Spark

    table: pa.Table = to_frame_kind(frame, "pyarrow")
    short = [field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field for field in table.schema]
    return table.cast(pa.schema(short))


def rows_drawn_here(frame: pl.DataFrame, schema: Schema) -> Any:  # noqa: ANN401 - a Spark frame
    """Return rows that were drawn here as a frame of the active session."""
    return active_session().createDataFrame(_arrow(frame), _spark_schema(schema))
