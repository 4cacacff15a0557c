"""The coded rows of a Spark frame: coded and counted by the executors, which send nothing but counts.

Codes are made once, cut to the rows of each privacy unit, and kept by Spark; each question that counts is one job.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lapwing.errors import DataError
from lapwing.extras.spark.distributed import (
    RowCoder,
    UnitRows,
    cells_counted,
    cut_sorted,
    fault_of,
    pack_rows,
    part_rows,
    record_type,
    refuse_texts_by_unit,
    tables_of_cells,
    unpack_rows,
)
from lapwing.extras.spark.frames import SparkReader, part_tables
from lapwing.rows.codec import open_texts, read_columns, without_misfits
from lapwing.rows.counting import Codes, KeyedColumn, Table, count_keys, keys_of_parts
from lapwing.rows.frames import arrow_reader, on_column
from lapwing.rows.guard import run_guarded
from lapwing.rows.spelling import dialect_speller
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


_CODED = {"rows": "long", "units": "long", "codes": "binary"}
_BY_UNIT = {"unit": "binary", "hash": "long", "row": "binary"}
_COUNTED = {"cell": "long", "count": "long"}


class SparkSource:
    """Rows of a Spark frame as codes, where they are; with `chunk_rows` Spark keeps none, else all until `close`."""

    __slots__ = ("_coded", "_reader", "_schema", "columns", "rows", "units")
    unmet = 0  # it is a table by itself

    def __init__(self, reader: SparkReader, schema: Schema, chunk_rows: int | None = None) -> None:
        refuse_texts_by_unit(schema)
        reader.jobs.probe()
        self._reader = reader
        self._schema = schema
        self._coded = _coded(reader, schema, chunk_rows or part_rows(len(read_columns(schema))))
        self.columns = tuple(field.name for field in schema.columns)
        with contextlib.ExitStack() as undone:
            if chunk_rows is None:
                self._coded = run_guarded("Spark cannot keep the codes", self._coded.persist)
                undone.callback(self.close)
            sums = reader.jobs.collected(self._coded.groupBy().agg({"rows": "sum", "units": "sum", "fault": "max"}))
            undone.pop_all()
        self.rows = int(sums["sum(rows)"][0].as_py() or 0)
        self.units = int(sums["sum(units)"][0].as_py() or 0)

    def close(self) -> None:
        """Have Spark drop the codes that it keeps, which would be made anew if they were asked for."""
        with contextlib.suppress(DataError):  # the session may have ended before
            run_guarded("Spark cannot drop the codes", self._coded.unpersist)

    def chunks(self, *, apart: bool = False) -> Iterator[Codes]:
        """Yield the codes of all rows, which leave the executors."""
        return self._apart() if apart else without_misfits(self._apart(), self._schema.columns)

    def _apart(self) -> Iterator[Codes]:
        record = record_type(self._schema)
        for row in self._reader.jobs.streamed(self._coded):
            if row.rows:
                yield unpack_rows(row.codes, record, self.columns)

    def count(self, tables: Sequence[Table]) -> list[np.ndarray]:
        """Return the contingency tables; counts alone leave the executors."""
        jobs = self._reader.jobs
        parts = jobs.mapped(self._coded, counted, (self._schema, tuple(tables)), _COUNTED)
        sums = jobs.collected(parts.groupBy("cell").agg({"count": "sum", "fault": "max"}))
        return tables_of_cells(tables, [(_numbers(sums, "cell"), _numbers(sums, "sum(count)"))])

    def count_keys(self, columns: Sequence[KeyedColumn]) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct keys of the rows and their counts; these alone leave the executors."""
        jobs = self._reader.jobs
        words = columns[0].keys.shape[1]
        names = [f"word{word}" for word in range(words)]
        kinds = dict.fromkeys((*names, "count"), "long")
        parts = jobs.mapped(self._coded, keyed, (self._schema, tuple(columns)), kinds)
        sums = jobs.collected(parts.groupBy(*names).agg({"count": "sum", "fault": "max"}))
        keys = np.stack([_numbers(sums, name).view(np.uint64) for name in names])
        return keys_of_parts([(keys, _numbers(sums, "sum(count)"))], words)

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Yield the texts of an opened string column, which leave the executors."""
        field = self._schema.field(column)
        for cells in map(dialect_speller(self._schema), self._reader.chunks((column,), part_rows(1))):
            yield on_column(column, lambda found: open_texts(found, field), cells[column])


def _coded(reader: SparkReader, schema: Schema, rows: int) -> "DataFrame":
    """Return the frame of the codes of the rows that are kept, a chunk in each of its rows."""
    cells, jobs = reader.selected(read_columns(schema)), reader.jobs
    if schema.privacy_unit is None:
        return jobs.mapped(cells, coded, (schema, rows), _CODED)
    by_unit = jobs.mapped(cells, coded_by_unit, (schema, rows), _BY_UNIT)
    together = by_unit.repartition("unit").sortWithinPartitions("unit", "hash", "row")
    return jobs.mapped(together, cut, (schema, rows), _CODED)


def _numbers(table: "pa.Table", name: str) -> np.ndarray:
    found: np.ndarray = table[name].to_numpy().astype(np.int64, copy=False)
    return found


# --------------------------------------------------------------------------------------------------- on executors


def coded(schema: Schema, rows: int, batches: Iterable["pa.RecordBatch"]) -> Iterator[dict[str, Any]]:
    """Give the codes of a partition, chunk by chunk."""
    coder, record = RowCoder(schema), record_type(schema)
    for cells in _cells(coder, rows, batches):
        yield _chunk(pack_rows(coder.codes(cells), record))


def coded_by_unit(schema: Schema, rows: int, batches: Iterable["pa.RecordBatch"]) -> Iterator[dict[str, Any]]:
    """Give the codes and the unit of each row of a partition."""
    import pyarrow as pa  # noqa: PLC0415 - comes with Spark

    coder, record = RowCoder(schema), record_type(schema)
    for cells in _cells(coder, rows, batches):
        part = coder.unit_rows(cells)
        together = pack_rows(part.codes, record)
        ends = np.arange(len(together) + 1, dtype=np.int32) * np.int32(record.itemsize)
        each = pa.Array.from_buffers(
            pa.binary(), len(together), [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(together.tobytes())]
        )
        units = part.units.cast(pl.Binary).to_arrow().cast(pa.binary())
        yield {"unit": units, "hash": part.hashes.view(np.int64), "row": each}


def cut(schema: Schema, rows: int, batches: Iterable["pa.RecordBatch"]) -> Iterator[dict[str, Any]]:
    """Give the codes of the rows that are kept of a partition that is sorted by unit, chunk by chunk."""
    import pyarrow as pa  # noqa: PLC0415 - comes with Spark

    record, columns = record_type(schema), tuple(field.name for field in schema.columns)

    def parts() -> Iterator[UnitRows]:
        for table in part_tables(batches, rows):
            _check_faults_of(table)
            # A setting of Spark's sessions makes the places of cells 64 bits wide.
            stored = table["row"].cast(pa.binary()).combine_chunks()
            units = pl.Series(pl.from_arrow(table["unit"])).cast(pl.String)
            hashes = _numbers(table, "hash").view(np.uint64)
            yield UnitRows(units, hashes, unpack_rows(_bytes_of(stored), record, columns))

    for part in cut_sorted(parts(), schema.max_rows):
        yield _chunk(pack_rows(part.codes, record), part.count)


def counted(schema: Schema, tables: Sequence[Table], batches: Iterable["pa.RecordBatch"]) -> Iterator[dict[str, Any]]:
    """Give the cells of contingency tables that are not empty."""
    cells, counts = cells_counted(_codes(schema, batches), tables)
    yield {"cell": cells, "count": counts}


def keyed(
    schema: Schema, columns: Sequence[KeyedColumn], batches: Iterable["pa.RecordBatch"]
) -> Iterator[dict[str, Any]]:
    """Give the distinct keys, and how many rows have each."""
    keys, counts = run_guarded("a worker cannot count its rows", lambda: count_keys(_codes(schema, batches), columns))
    yield {f"word{word}": each.view(np.int64) for word, each in enumerate(keys)} | {"count": counts}


def _cells(coder: RowCoder, rows: int, batches: Iterable["pa.RecordBatch"]) -> Iterator[dict[str, Any]]:
    for table in part_tables(batches, rows):
        yield from map(coder.spell, arrow_reader(table.rename_columns(list(coder.read))).chunks(coder.read, rows))


def _codes(schema: Schema, batches: Iterable["pa.RecordBatch"]) -> Iterator[Codes]:
    record, columns = record_type(schema), tuple(field.name for field in schema.columns)
    for batch in batches:
        _check_faults_of(batch)
        for stored in batch.column("codes"):
            yield unpack_rows(stored.as_buffer(), record, columns)


def _check_faults_of(part: "pa.Table | pa.RecordBatch") -> None:
    """Raise what an earlier step says, so that the next one says it again."""
    found = part.column("fault").drop_null()
    if len(found):
        raise fault_of(found[0].as_py())


def _chunk(rows: np.ndarray, units: int | None = None) -> dict[str, Any]:
    return {"rows": [len(rows)], "units": [len(rows) if units is None else units], "codes": [rows.tobytes()]}


def _bytes_of(stored: "pa.BinaryArray") -> memoryview:
    """Return the bytes of all cells of a column, one after the other."""
    _, ends, content = stored.buffers()
    first, last = np.frombuffer(ends, np.int32)[[stored.offset, stored.offset + len(stored)]]
    return memoryview(content)[first:last]
