"""Rows of a query, from Postgres, SQLite and DuckDB, each cell with its value and none that its driver rounds."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from lapwing.errors import DataError
from lapwing.rows.cells import texts
from lapwing.rows.guard import run_guarded
from lapwing.rows.out.databases import not_installed, sql_name
from lapwing.schema.scalars import quote

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_CLOSED: Final = "the database cannot be opened; check address, user and password, and that it may be read"
_FAILED: Final = (  # it may be a stranger's, as that of a studio's job is: no engine runs more than one SELECT
    "the query cannot be run: it must be one SELECT, of what this database holds itself; if it is, try it in the "
    "database's own shell, where its message may be seen"
)
_FETCHED: Final = 2**16


def _file(query_url: str) -> Path:
    """Return the file of an address such as sqlite:///people.db, which must be there: none is made."""
    file = Path(query_url.partition(":///")[2])
    if not file.is_file():
        raise DataError(
            f"the database file {quote(str(file))} does not exist; a fourth slash begins a path from the root, as in "
            "sqlite:////data/people.db",
            code="LW101",
        )
    return file


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names of a query's columns, and refuse equal ones."""
    if len(set(names)) < len(names):
        raise DataError("the query gives several columns of one name; name them apart with AS", code="LW105")
    return list(names)


# -- SQLite: its cells have types, its columns have none. Every cell is read by itself, as a Python object is.


def _sqlite_rows(sql: str, url: str) -> pl.DataFrame:
    address = f"{_file(url).resolve().as_uri()}?mode=ro"
    with closing(run_guarded(_CLOSED, lambda: sqlite3.connect(address, uri=True))) as connection:
        return run_guarded(_FAILED, lambda: _fetched(connection, sql))


def _fetched(connection: sqlite3.Connection, sql: str) -> pl.DataFrame:
    connection.text_factory = _text
    connection.execute("PRAGMA temp_store = MEMORY")  # what is sorted is never written down
    connection.set_authorizer(_allowed)  # without it VACUUM INTO and ATTACH write files, also from a read-only one
    cursor = connection.execute(sql)
    names = _distinct([each[0] for each in cursor.description or ()])
    parts = [pl.DataFrame(schema=dict.fromkeys(names, pl.String))]
    while rows := cursor.fetchmany(_FETCHED):
        columns = zip(names, zip(*rows, strict=True), strict=True)
        parts.append(pl.DataFrame({name: texts(cells).values for name, cells in columns}))
    return pl.concat(parts)


_READS: Final = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)


def _allowed(action: int, table: str | None, *_: str | None) -> int:
    """Allow what reads, and what SQLite asks for before functions such as json_each give rows, and does not do."""
    is_read = action in _READS or (action == sqlite3.SQLITE_UPDATE and table == "sqlite_master")
    return sqlite3.SQLITE_OK if is_read else sqlite3.SQLITE_DENY


def _text(raw: bytes) -> str | bytes:
    """Return text; bytes that are none stay bytes, and are read as those of a Parquet file."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


# -- DuckDB: a copy in memory, with its own types.


def _duckdb_rows(sql: str, url: str) -> "duckdb.DuckDBPyRelation":
    path = _file(url).resolve()
    file, name = str(path).replace("'", "''"), path.stem.replace('"', '""')
    try:
        import duckdb  # noqa: PLC0415 - the user's own
    except ImportError:
        pass
    else:
        # Without a temporary folder nothing that does not fit in memory is written down.
        connection = run_guarded(_CLOSED, lambda: duckdb.connect(config={"temp_directory": ""}))
        run_guarded(_CLOSED, lambda: connection.execute(f'ATTACH \'{file}\' AS "{name}" (READ_ONLY); USE "{name}"'))
        # Rows of other files would be no private table of the call, and some functions of a SELECT change settings.
        connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        kinds = run_guarded(_FAILED, lambda: [each.type for each in connection.extract_statements(sql)])
        if kinds != [duckdb.StatementType.SELECT]:
            raise DataError(_FAILED, code="LW103")
        _distinct([each.lower() for each in run_guarded(_FAILED, lambda: connection.sql(sql).columns)])
        kept = f"CREATE TEMP TABLE lapwing_rows AS SELECT * FROM ({sql}\n)"  # noqa: S608 - the user's own
        run_guarded(_FAILED, lambda: connection.execute(kept))
        run_guarded(_CLOSED, lambda: connection.execute(f'USE memory; DETACH "{name}"'))
        return run_guarded(_FAILED, lambda: connection.table("temp.lapwing_rows"))
    raise not_installed("a DuckDB file is read by DuckDB", "duckdb")


# -- Postgres, by ADBC. Of types that Arrow has not, Postgres sends its own text.

_AS_IT_IS: Final = (
    *("boolean", "smallint", "integer", "bigint", "real", "double precision", "numeric"),
    *("text", "character varying", "bytea", "time without time zone", "interval"),
)


_FINITE: Final = "CASE WHEN isfinite({0}) THEN {0} END"  # Arrow has no infinite day: it means that there is none
_SENT: Final = {
    **dict.fromkeys(_AS_IT_IS, "{0}"),
    **dict.fromkeys(("date", "timestamp without time zone", "timestamp with time zone"), _FINITE),
    "money": "{0}::numeric",
}


def _postgres_rows(sql: str, url: str) -> "pa.Table":
    try:
        import pyarrow  # noqa: F401, PLC0415 - what ADBC hands rows over in
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - the user's own
    except ImportError:
        pass
    else:
        with closing(run_guarded(_CLOSED, lambda: dbapi.connect(url))) as connection:
            return run_guarded(_FAILED, lambda: _answer(connection, sql))
    raise not_installed("Postgres is read by ADBC and PyArrow", "connect")


def _answer(connection: Any, sql: str) -> "pa.Table":  # noqa: ANN401 - ADBC's
    """Return all rows of a query, each column as its type in Postgres is sent, in one transaction that only reads."""
    with closing(connection.cursor()) as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        cursor.execute("SET LOCAL client_encoding TO 'UTF8'")
        names = _distinct(cursor.adbc_execute_schema(sql).names)
        columns = [f"q.{sql_name(name)}" for name in names]
        asked = ", ".join(f"pg_typeof({column})::text" for column in columns)
        cursor.execute(f"SELECT {asked} FROM (SELECT 1) AS one LEFT JOIN ({sql}\n) AS q ON false")  # noqa: S608
        kinds = cursor.fetchone()
        sent = ", ".join(
            f"{_sent(kind).format(column)} AS {column[2:]}" for kind, column in zip(kinds, columns, strict=True)
        )
        cursor.execute(f"SELECT {sent} FROM ({sql}\n) AS q")  # noqa: S608
        return cursor.fetch_arrow_table()


def _sent(kind: str) -> str:
    """Return the expression in which a column of a type is sent; lists stay lists, which are refused."""
    return "{0}" if kind.endswith("[]") else _SENT.get(kind, "{0}::text")


READERS: Final[dict[str, Callable[[str, str], Any]]] = {
    "postgresql": _postgres_rows,
    "postgres": _postgres_rows,
    "sqlite": _sqlite_rows,
    "duckdb": _duckdb_rows,
}
