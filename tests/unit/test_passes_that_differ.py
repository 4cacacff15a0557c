"""Queries that give other rows on a later pass are refused, whichever column, pass or size it is that differs.

So are those that fail on a row, before anything is paid.
"""

from dataclasses import replace
from itertools import count

import duckdb
import polars as pl
import pyarrow.dataset as ds
import pytest
from pyarrow import csv

from lapwing.errors import DataError
from lapwing.rows.entry import source_of
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.schemas import Schema

NAMES = ("a", "b", "c")
OPEN = tuple(Field(name=name, type="string", open=True) for name in NAMES)
SCHEMA = replace(
    Schema(fields=(Field(name="who", type="integer", identifier=True), *OPEN)), privacy_unit=PrivacyUnit("who", 1)
)
WHOLE = Schema(fields=(Field(name="a", type="integer", minimum=0, maximum=7),))
ROWS = pl.DataFrame({"who": [*range(30)] * 2, **{name: [f"{row % 7}{name}" for row in range(60)] for name in NAMES}})


@pytest.mark.parametrize("column", NAMES)
def test_each_open_column_is_looked_at_before_anything_is_paid(column):
    def changed(rows):
        return rows.reverse() if rows.columns == [column] else rows

    with pytest.raises(DataError):
        code_table(ROWS.lazy().map_batches(changed, projection_pushdown=True), SCHEMA)


@pytest.mark.parametrize("chunk_rows", [7, 25, 60, 1000])
@pytest.mark.parametrize("more", [pl.concat([ROWS.reverse(), ROWS]), ROWS.head(40), pl.concat([ROWS, ROWS.head(1)])])
def test_rows_that_are_more_or_fewer_on_a_later_pass_are_refused(more, chunk_rows):
    passes = count()

    def changed(rows):
        return (ROWS if next(passes) < 2 else more).select(rows.columns)

    with pytest.raises(DataError):
        for _ in code_table(ROWS.lazy().map_batches(changed), SCHEMA, chunk_rows=chunk_rows).chunks():
            pass


LINES = 400_000
SMALL_BLOCKS = ds.CsvFileFormat(read_options=csv.ReadOptions(block_size=2**12))
FAILING = {
    "a guessed type": lambda folder: pl.scan_ndjson(folder / "t.jsonl"),
    "a strict cast": lambda folder: pl.scan_parquet(folder / "t.parquet").cast({"a": pl.Int64}),
    "a cast in DuckDB": lambda _: duckdb.connect().sql(
        "SELECT (CASE i WHEN 9999999 THEN 'x' ELSE '1' END)::INT AS a FROM range(10000000) AS r(i)"
    ),
    "a dataset whose types are guessed": lambda folder: ds.dataset(folder / "t.csv", format=SMALL_BLOCKS),
}
"""Tables that cannot be read because of what is in their last row, long after the first codes overflow the cache."""


@pytest.mark.parametrize("kind", FAILING)
def test_a_row_on_which_a_query_fails_is_met_before_anything_is_paid(kind, tmp_path):
    cells = ["1"] * (LINES - 1) + ["x"]
    pl.DataFrame({"a": cells}).write_parquet(tmp_path / "t.parquet", row_group_size=LINES // 20)
    (tmp_path / "t.csv").write_text("\n".join(["a", *cells]))
    (tmp_path / "t.jsonl").write_text("\n".join(f'{{"a": {cell}}}' for cell in (*cells[:-1], '"x"')))
    table = FAILING[kind](tmp_path)
    if not isinstance(table, ds.Dataset):  # whose threads read ahead
        next(source_of(table).open(WHOLE).chunks(["a"], 1000))  # its first rows can be read

    with pytest.raises(DataError, match=r"cannot be (run|read)") as caught:
        code_table(table, WHOLE, memory=1)

    assert caught.value.code == "LW103"
