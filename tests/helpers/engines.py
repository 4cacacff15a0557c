"""The same rows on every engine that rows can be on: the real engines, in this process and its workers.

Each maker takes a PyArrow table and an empty folder of its own, and returns what a user would give as data. The rows
come in the same order only where the engine has one.
"""

import functools
from itertools import pairwise

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from helpers import spark_sessions

PARTS = 4
"""Pieces into which rows are cut, where an engine has pieces; one more has no rows."""


def pieces(table):
    """Return the rows in `PARTS` pieces of any length, and a piece without rows between them."""
    cuts = [0, *(table.num_rows * part // PARTS for part in range(1, PARTS)), table.num_rows]
    parts = [table.slice(start, stop - start) for start, stop in pairwise(cuts)]
    return [*parts[:2], table.slice(0, 0), *parts[2:]]


def _written(table, folder, suffix="parquet"):
    for number, part in enumerate(pieces(table)):
        write = pq.write_table if suffix == "parquet" else pyarrow.csv.write_csv
        write(part, folder / f"part-{number}.{suffix}")
    return folder


def _file(table, folder):
    path = folder / "table.parquet"
    pq.write_table(table, path, row_group_size=max(1, table.num_rows // 3))
    return path


def _csv(table, folder):
    path = folder / "table.csv"
    pl.from_arrow(table).write_csv(path)
    return path


# -------------------------------------------------------------------------------------------------------------- DuckDB


@functools.cache
def connection():
    """Return the one connection to a database in memory; relations keep it alive only as long as they live."""
    made = duckdb.connect()
    made.execute("SET threads = 2")
    return made


def _relation(table, _):
    return connection().from_arrow(table)


def _query(table, _):
    return connection().from_arrow(table).filter("1 = 1").union(connection().from_arrow(table.slice(0, 0)))


def _glob(table, folder):
    return connection().read_parquet(str(_written(table, folder) / "*.parquet"))


def _attached(table, folder):
    name = f"attached_{folder.name.replace('-', '_')}"
    connection().execute(f"ATTACH '{folder / 'rows.duckdb'}' AS \"{name}\"")
    connection().from_arrow(table).create(f'"{name}".main.people')
    return connection().table(f'"{name}".main.people')


def _pandas(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


# --------------------------------------------------------------------------------------------------------------- Spark


def _in_session(session, table):
    """Return rows whose moments have no zone, unless they have one."""
    with spark_sessions.quietly():
        from pyspark.sql.pandas.types import from_arrow_schema

        plain = pa.table({name: _plain(table[name]) for name in table.column_names})
        return session.createDataFrame(plain, from_arrow_schema(plain.schema, prefer_timestamp_ntz=True)).repartition(
            PARTS
        )


def _plain(column):
    """Return a column without what Spark does not take: dictionaries, views, moments in seconds."""
    if pa.types.is_dictionary(column.type):
        return _plain(column.cast(column.type.value_type))
    if pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column


def _spark(table, _):
    return _in_session(spark_sessions.classic(), table)


def _connect(table, _):
    return _in_session(spark_sessions.connect(), table)


def _spark_parquet(table, folder):
    return spark_sessions.classic().read.parquet(str(_written(table, folder)))


ENGINES = {
    "pandas": lambda table, _: _pandas(table),
    "Polars": lambda table, _: pl.from_arrow(table),
    "Polars lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "PyArrow": lambda table, _: pa.concat_tables(pieces(table)),
    "PyArrow dataset": lambda table, folder: ds.dataset(_written(table, folder)),
    "PyArrow dataset in memory": lambda table, _: ds.dataset(pa.concat_tables(pieces(table))),
    "Parquet file": _file,
    "Parquet folder": _written,
    "CSV": _csv,
    "DuckDB relation": _relation,
    "DuckDB query": _query,
    "DuckDB files": _glob,
    "DuckDB attached": _attached,
    "Spark": _spark,
    "Spark Connect": _connect,
    "Spark Parquet": _spark_parquet,
}
"""Name of an engine: a maker of its table."""


def each_engine(names=ENGINES, full=()):
    """Return engines to try in turn, some of them in the full suite alone."""
    marks = {
        name: [pytest.mark.full] * (name in full) + [pytest.mark.needs("Spark")] * ("Spark" in name) for name in names
    }
    return [pytest.param(name, marks=marks[name], id=name) for name in names]


def holds(engine, kind):
    """Return whether an engine has a type for cells of a kind of `helpers.nasty_cells`."""
    return not (engine == "CSV" or (kind == "unsigned" and engine.startswith("Spark")))
