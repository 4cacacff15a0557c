"""Tables that lie elsewhere: the answer of a database to a query, Parquet files in an object store, tables by names.

A database is asked once, and says itself what its columns are. An address may hold a password: no sentence repeats it.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import polars as pl

from lapwing.errors import DataError, ParameterError
from lapwing.on_demand import extra
from lapwing.rows.frames import LazyReader
from lapwing.rows.guard import run_guarded
from lapwing.rows.out.databases import DATABASE_ENDINGS, PLAIN_NAME, sql_name
from lapwing.schema.named_files import TABLES
from lapwing.schema.scalars import quote

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")  # pathlib makes one slash of two
_DATABASES: Final = ("postgresql", "postgres", "sqlite", "duckdb")
_STORES: Final = ("s3", "gs", "az", "https")
_PLACES: Final = ("host", "hostaddr", "port", "dbname", "service")


@dataclass(frozen=True, repr=False)
class Query:
    """Name the rows that a database gives for a query: data wherever a call takes a table.

    Parameters
    ----------
    sql : str
        One ``select`` of what the database itself holds; anything else is refused when it is asked, before it runs.
        Name the columns that the schema models: all that it gives are kept in memory.
    url : str
        ``postgresql://user@host/name`` (``pip install "lapwing[connect]"``), ``sqlite:///file.db`` or
        ``duckdb:///file.duckdb`` (``pip install "lapwing[duckdb]"``). Keep a password out of it: Postgres also takes
        it from ``PGPASSWORD`` or ``~/.pgpass``.

    Raises
    ------
    ParameterError
        If there is no query, or the address is of no such database.

    Notes
    -----
    The database is asked at the first use, read-only, and once: for newer rows make a new query. Functions of Postgres
    have the rights of its user, who may be one that writes files on the server. Synthetic rows are Polars frames.

    Examples
    --------
    >>> Query("select age, town from people", "sqlite:///people.db")
    Query of a sqlite database
    """

    sql: str
    url: str

    def __post_init__(self) -> None:
        if not isinstance(self.sql, str) or not self.sql.strip():
            raise ParameterError("sql must be one query; write for example select age from people", code="LW304")
        if not is_database(self.url):
            raise ParameterError(
                "the address of a database must begin with postgresql://, sqlite:/// or duckdb:///, and is not shown "
                "here; write for example sqlite:///people.db",
                code="LW303",
            )

    def __repr__(self) -> str:
        return f"Query of a {_scheme(self.url)} database"

    @property
    def file(self) -> Path | None:
        """The file of a database that is one."""
        _, slashes, file = self.url.partition(":///")
        return Path(file) if slashes and _scheme(self.url) in ("sqlite", "duckdb") else None

    @cached_property
    def _rows(self) -> "pl.DataFrame | pa.Table | duckdb.DuckDBPyRelation":
        return extra("databases").READERS[_scheme(self.url)](self.sql.strip().rstrip(";"), self.url)


def is_database(text: object) -> bool:
    """Return whether a text is the address of a database that can be asked."""
    return isinstance(text, str) and _scheme(text) in _DATABASES


def query_rows(query: Query) -> Any:  # noqa: ANN401 - tables of three libraries
    """Return the rows of a query, asked for once: a Polars frame of texts from SQLite, whose columns have no types."""
    return query._rows


def empty_answer(query: Query) -> Any:  # noqa: ANN401 - likewise
    """Return a table without rows whose columns have the types of a query's; numbers sent as text are numbers."""
    rows = query_rows(query)
    if _scheme(query.url) == "duckdb":
        return rows.limit(0)
    import pyarrow as pa  # noqa: PLC0415 - it is there, as Postgres was read

    kinds = [pa.decimal128(38, 9) if isinstance(each, pa.OpaqueType) else each for each in rows.schema.types]
    return pa.schema(list(zip(rows.schema.names, kinds, strict=True))).empty_table()


def place_of(query: Query) -> str:
    """Return the host and the name of a query's database: no user, password or other setting.

    >>> place_of(Query("select 1", "postgresql://me:secret@host:1/people?password=secret&port=2"))
    'host:1/people?port=2'
    """
    parts = urlsplit(query.url)
    kept = [(key, value) for key, value in parse_qsl(parts.query) if key in _PLACES]
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}?{urlencode(kept)}"


def _scheme(url: str) -> str:
    return url.partition(":")[0].lower() if ":" in url else ""


# -- Object stores.


def addresses(paths: Sequence[Any]) -> list[str]:
    """Return paths that are addresses of Parquet files in object stores; none where all are on this machine."""
    found = [_ADDRESS.sub(r"\1://", text) for text in map(os.fspath, paths) if _ADDRESS.match(text)]
    if any(_scheme(text) not in _STORES for text in found):
        raise ParameterError(
            f"an address of rows must begin with {'://, '.join(_STORES)}://, and is not shown here; of a database give "
            "a query: --sql and --db, or lapwing.Query",
            code="LW102",
        )
    if found and len(found) < len(paths):
        raise ParameterError("files on this machine and in a store were given together; give one kind", code="LW316")
    for text in found:
        if not urlsplit(text).path.lower().endswith((".parquet", ".pq", "/")):
            raise DataError(
                f"{told_address(text)} is of no known kind; it must end in .parquet or .pq, or in / as a folder",
                code="LW102",
            )
    return found


def told_address(text: str) -> str:
    """Return what of an address may be told: no user, password or signature.

    >>> told_address("https://me:secret@host/people.parquet?signature=secret")
    '"https://host/people.parquet"'
    """
    parts = urlsplit(text)
    return quote(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}")


def stored_reader(paths: Sequence[str | os.PathLike[str]]) -> LazyReader:
    """Return a reader of the Parquet files at addresses."""
    found = [os.fspath(path) for path in paths]
    what = f"the table at {told_address(found[0])} cannot be read; check the address and the keys of the store"
    return LazyReader(run_guarded(what, lambda: pl.scan_parquet(found, hive_partitioning=False)), what)


# -- Tables that are found by their names: files of a folder, or tables of a database.


def tables_from(source: str, columns: Mapping[str, Sequence[str]]) -> dict[str, Query | str]:
    """Return the tables of a folder or database that bear the given names, with the columns that are read, as data."""
    ending = Path(source).suffix.lower()
    if is_database(source) or (ending in DATABASE_ENDINGS and not Path(source).is_dir()):
        url = source if is_database(source) else f"{DATABASE_ENDINGS[ending]}:///{source}"
        return {name: Query(_select(name, listed), url) for name, listed in columns.items()}
    folder = Path(source)
    if not folder.is_dir():
        raise DataError(
            f"{quote(source)} is no folder of tables; give one with a file for each of {', '.join(columns)}, a "
            ".duckdb, .sqlite or .db file, or postgresql://...",
            code="LW101",
        )
    return {name: _table_file(folder, name) for name in columns}


def _select(table: str, columns: Sequence[str]) -> str:
    """Return a query; with the table before it, SQLite takes no name of a column that is not there for a text."""
    listed = ", ".join(f"{sql_name(table)}.{sql_name(column)}" for column in columns)
    return f"SELECT {listed} FROM {sql_name(table)}"  # noqa: S608 - quoted


def _table_file(folder: Path, table: str) -> str:
    """Return the file, or folder of files, of a table."""
    places = [folder / f"{table}{ending}" for ending in ("", *TABLES) if PLAIN_NAME.fullmatch(table)]
    found = [path for path in places if path.exists()]
    if len(found) == 1:
        return str(found[0])
    what = "several files" if found else "no file"
    raise DataError(
        f"the folder {quote(str(folder))} has {what} of the table {quote(table)}; leave one there that is called after "
        f"it, such as {table}.parquet or {table}.csv",
        code="LW101",
    )
