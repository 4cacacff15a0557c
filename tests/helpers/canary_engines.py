"""Tables on other engines with planted values in their first row: good ones, odd ones and some that fail half-way.

As in `helpers.canary_inputs`, each maker writes what it needs into a folder and returns what a caller would give.
"""

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from duckdb import sqltypes

from helpers.planted_values import TEXT, table


def arrow(rows=40):
    """Return the planted table."""
    return table(rows).to_arrow().cast(_plain(table(rows).to_arrow().schema))


def _plain(schema):
    return pa.schema([field.with_type(pa.string()) if field.name in {"person", "sex"} else field for field in schema])


# -------------------------------------------------------------------------------------------------------------- DuckDB


def queried(sql):
    """Return a maker of a DuckDB relation: a query of the table ``people``."""

    def make(_):
        connection = duckdb.connect()
        connection.from_arrow(arrow()).create("people")
        connection.create_function("fail", fail, [sqltypes.VARCHAR], sqltypes.VARCHAR)
        return connection.sql(sql)

    return make


def fail(cell):
    """Tell in an exception what a cell holds."""
    raise ValueError(f"cannot convert {cell}")


def then(make, change):
    """Return a maker of a relation to which something happens afterwards."""

    def made(folder):
        connection = duckdb.connect()
        relation = make(connection, folder)
        change(connection, folder)
        return relation

    return made


def _of_table(connection, _):
    connection.from_arrow(arrow()).create("people")
    return connection.table("people")


def _of_file(connection, folder):
    pq.write_table(arrow(), folder / "rows.parquet")
    return connection.read_parquet(str(folder / "rows.parquet"))


def _without_file(_, folder):
    (folder / "rows.parquet").unlink()


def _with_damage(_, folder):
    path = folder / "rows.parquet"
    content = bytearray(path.read_bytes())
    content[4:200] = TEXT.encode() * 100
    path.write_bytes(content)


# ------------------------------------------------------------------------------------------------------------ datasets


def _dataset(folder):
    pq.write_table(arrow(), folder / "rows.parquet")
    return ds.dataset(folder / "rows.parquet")


def _cut_dataset(folder):
    found = _dataset(folder)
    path = folder / "rows.parquet"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return found


def _lines(folder):
    """Return a dataset of text whose column of numbers holds a text beyond the first block."""
    table(40).write_csv(folder / "rows.csv")
    return ds.dataset(folder / "rows.csv", format="csv", schema=pa.schema([("sex", pa.int64())]))


ENGINE_FRAMES = {
    "DuckDB": queried("FROM people"),
    "DuckDB cast that fails": queried("SELECT * REPLACE (CAST(sex AS INTEGER) AS age) FROM people"),
    "DuckDB error": queried("SELECT * REPLACE (CASE WHEN age > 120 THEN error(sex) ELSE sex END AS sex) FROM people"),
    "DuckDB code that fails": queried("SELECT * REPLACE (fail(sex) AS sex) FROM people"),
    "DuckDB lists": queried("SELECT * REPLACE ([sex, sex] AS sex) FROM people"),
    "DuckDB records": queried("SELECT * REPLACE ({'a': sex} AS sex) FROM people"),
    "DuckDB rare types": queried(
        "SELECT * REPLACE (sex::BLOB AS sex, age::HUGEINT AS age, TIME '03:04' AS born, INTERVAL 3 DAY AS seen) "
        "FROM people"
    ),
    "DuckDB without a column": queried(f'SELECT * EXCLUDE (height), 1 AS "{TEXT}" FROM people'),
    "DuckDB no rows": queried("FROM people WHERE age < 0"),
    "DuckDB closed": then(_of_table, lambda connection, _: connection.close()),
    "DuckDB without its table": then(_of_table, lambda connection, _: connection.execute("DROP TABLE people")),
    "DuckDB other columns": then(_of_table, lambda connection, _: connection.execute("ALTER TABLE people DROP sex")),
    "DuckDB without its file": then(_of_file, _without_file),
    "DuckDB damaged file": then(_of_file, _with_damage),
    "Arrow dataset": _dataset,
    "Arrow dataset in memory": lambda _: ds.dataset(arrow()),
    "Arrow dataset cut off": _cut_dataset,
    "Arrow dataset of lines": _lines,
    "Arrow reader": lambda _: arrow().to_reader(),
}
"""Makers by name."""

ENGINES_WELL_FORMED = frozenset({"DuckDB", "Arrow dataset", "Arrow dataset in memory"})
