"""Synthetic rows of linked tables, chunk by chunk: into a folder of files, or a database that keeps their keys.

Tables are made in an order in which keys point to what is there already, and the database itself checks them.
"""

import contextlib
import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from lapwing.errors import DataError, LapwingError, ParameterError
from lapwing.rows.out.outputs import Format, has_row_name
from lapwing.rows.out.writers import write_rows
from lapwing.schema.fields import Field
from lapwing.schema.scalars import quote
from lapwing.version import install_command

Kind = Literal["folder", "sqlite", "duckdb", "postgresql"]
"""Where linked tables go."""

Chunk = Mapping[str, pl.DataFrame]
"""Rows of some units, by table."""

Insert = Callable[[str, pl.DataFrame], None]

DATABASE_ENDINGS: Final[dict[str, Kind]] = {".sqlite": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
_ADDRESS: Final = re.compile(r"(postgres|postgresql|sqlite|duckdb):/+", re.IGNORECASE)
# All three databases know these words.
_TYPES: Final[dict[str, tuple[str, Any]]] = {
    "integer": ("BIGINT", pl.Int64),
    "number": ("DOUBLE PRECISION", pl.Float64),
    "boolean": ("BOOLEAN", pl.Boolean),
    "date": ("DATE", pl.Date),
    "datetime": ("TIMESTAMP", pl.Datetime("us")),
    "string": ("TEXT", pl.String),
}
_LONGEST_NAME: Final = 200  # in bytes: most systems take 255, and an ending follows
PLAIN_NAME: Final = re.compile(r"[^./\\:\0][^/\\:\0]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOut:
    """One table to write."""

    name: str
    fields: tuple[Field, ...]
    key: str = ""  # the column that names its rows, if one does
    links: Mapping[str, str] = field(default_factory=dict)  # the table to whose key each foreign key points
    rows: pl.DataFrame | None = None  # of a public table; None for one whose rows come in chunks

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with the columns of the fields, in their order and types."""
        return rows.select(pl.col(each.name).cast(_TYPES[each.type][1]) for each in self.fields)


@dataclass(frozen=True, slots=True)
class TablesTarget:
    """A folder, the file of a database, or the address of one, which may hold a password and is never shown."""

    kind: Kind
    path: Path | None = None
    url: str = field(default="", repr=False)

    @property
    def paths(self) -> list[Path]:
        """The file or folder that it is; none for a server."""
        return [] if self.path is None else [self.path]

    @property
    def folders(self) -> list[Path]:
        """The folder that it is, if it is one."""
        return self.paths if self.kind == "folder" else []

    def __str__(self) -> str:
        return "the database" if self.path is None else str(self.path)


def tables_target(output: str) -> TablesTarget:
    """Return where linked tables go, by its name.

    >>> tables_target("out.duckdb").kind, tables_target("out/").kind, tables_target("sqlite:///out.db").path
    ('duckdb', 'folder', PosixPath('out.db'))
    """
    address = _ADDRESS.match(output)
    if address is not None and address[1].lower().startswith("postgres"):
        return TablesTarget("postgresql", url=output)
    if address is not None:
        return TablesTarget("sqlite" if address[1].lower() == "sqlite" else "duckdb", Path(output.partition(":///")[2]))
    path = Path(output)
    if has_row_name(path) or path == Path("-"):
        raise ParameterError(
            f"linked tables go to a folder or a database, got the file of one table {path.name!r}; name a folder, a "
            ".duckdb, .sqlite or .db file, or postgresql://...",
            code="LW114",
        )
    is_folder = output.endswith(os.sep) or os.path.isdir(output)
    return TablesTarget("folder" if is_folder else DATABASE_ENDINGS.get(path.suffix.lower(), "folder"), path)


def is_database(output: str) -> bool:
    """Return whether a name is that of a database, by its address or ending.

    >>> is_database("out.duckdb"), is_database("postgresql://me@host/name"), is_database("out.parquet")
    (True, True, False)
    """
    return _ADDRESS.match(output) is not None or Path(output).suffix.lower() in DATABASE_ENDINGS


def check_tables(target: TablesTarget, tables: Sequence[TableOut]) -> None:
    """Refuse what the target cannot hold, or would replace: the tables are made in memory, or undone by Postgres."""
    if target.kind == "folder":
        _check_names(tables)
        return
    if target.path is not None and os.path.lexists(target.path):
        raise ParameterError(
            f"{target.path} is there already, and a database is not replaced; give a new name, or remove it first",
            code="LW113",
        )
    with _database(target, ":memory:", keep=False) as opened:
        _begin(opened, tables)


def write_database(
    chunks: Iterable[Chunk], tables: Sequence[TableOut], target: TablesTarget, place: Path | None = None
) -> dict[str, int]:
    """Write chunks, whose keys point to rows so far, to a new database; return each table's number of rows."""
    return _fill_tables(_database(target, str(place or ""), keep=True), chunks, tables)


def write_files(
    chunks: Iterable[Chunk], tables: Sequence[TableOut], files: Mapping[str, tuple[Path, Format]]
) -> dict[str, int]:
    """Write chunks, as `write_database` takes them, to a file for each table; return the number of rows of each."""
    return _fill_tables(_files(files, {table.name: table.fields for table in tables}), chunks, tables)


def _fill_tables(
    opening: contextlib.AbstractContextManager["_Opened"], chunks: Iterable[Chunk], tables: Sequence[TableOut]
) -> dict[str, int]:
    """Write public tables first, and chunk by chunk the others."""
    counts = {table.name: 0 if table.rows is None else table.rows.height for table in tables}
    with opening as opened:
        drawn = [table for table in _begin(opened, tables) if table.rows is None]
        for table, rows in ((table, chunk[table.name]) for chunk in chunks for table in drawn):
            counts[table.name] += rows.height
            opened.insert(table.name, table.frame(rows))
    return counts


@dataclass(frozen=True, slots=True)
class _Opened:
    """What takes statements that make tables, where it knows any, and rows."""

    insert: Insert
    execute: Callable[[str], object] | None = None


def _begin(opened: _Opened, tables: Sequence[TableOut]) -> list[TableOut]:
    """Make the tables and write the public ones; return them in the order in which they are to be filled."""
    named = {table.name: table for table in tables}
    sorter = TopologicalSorter({each.name: each.links.values() for each in tables})
    order = [named[name] for name in sorter.static_order() if name in named]
    for table in order:
        if opened.execute is not None:
            opened.execute(_create_statement(table, named))
        if table.rows is not None:
            opened.insert(table.name, table.frame(table.rows))
    return order


def _create_statement(table: TableOut, tables: Mapping[str, TableOut]) -> str:
    """Return the statement that makes a table."""
    lines = []
    for each in table.fields:
        # Keys of synthetic rows are never missing; a public file may hold what it likes.
        is_there = each.name == table.key or (table.rows is None and (each.required or each.identifier))
        lines.append(f"{sql_name(each.name)} {_TYPES[each.type][0]}{' NOT NULL' if is_there else ''}")
    if table.key:
        lines.append(f"PRIMARY KEY ({sql_name(table.key)})")
    lines += [
        f"FOREIGN KEY ({sql_name(column)}) REFERENCES {sql_name(to)} ({sql_name(tables[to].key)})"
        for column, to in table.links.items()
    ]
    return f"CREATE TABLE {sql_name(table.name)} ({', '.join(lines)})"


def sql_name(text: str) -> str:
    """Return a name as SQL has it."""
    return '"' + text.replace('"', '""') + '"'


def _check_names(tables: Sequence[TableOut]) -> None:
    """Refuse names of tables that name no file, or a file elsewhere, or one that some systems take for another's."""
    folded: dict[str, str] = {}
    for name in (table.name for table in tables):
        if not PLAIN_NAME.fullmatch(name) or len(os.fsencode(name)) > _LONGEST_NAME:
            raise ParameterError(
                f"the table {quote(name)} cannot be the name of a file; rename it, or write to a database", code="LW119"
            )
        if folded.setdefault(name.casefold(), name) != name:
            raise ParameterError(
                f"the tables {quote(folded[name.casefold()])} and {quote(name)} differ in case alone; rename one",
                code="LW119",
            )


# -- Files: rows of a table come in parts, which are kept until the last one is there.


@contextlib.contextmanager
def _files(files: Mapping[str, tuple[Path, Format]], fields: Mapping[str, tuple[Field, ...]]) -> Iterator[_Opened]:
    beside = next(iter(files.values()))[0].parent
    with tempfile.TemporaryDirectory(prefix=".", dir=beside) as spool:
        parts: dict[str, list[Path]] = {name: [] for name in files}

        def insert(table: str, rows: pl.DataFrame) -> None:
            part = Path(spool) / f"{list(parts).index(table)}-{len(parts[table])}.arrow"
            rows.write_ipc(part)
            parts[table].append(part)

        yield _Opened(insert)
        for name, (place, form) in files.items():
            write_rows(map(pl.read_ipc, parts[name]), place, form, fields=fields[name])


# -- Databases. Nobody reads a file before it is whole, and it is thrown away where anything fails.


def _database(target: TablesTarget, place: str, *, keep: bool) -> contextlib.AbstractContextManager[_Opened]:
    """Open a database, the file of one at a place; keep: whether Postgres keeps what is done there."""
    if target.kind == "postgresql":
        return _database_failure(target, _postgres(target.url, keep=keep))
    return _database_failure(target, (_sqlite if target.kind == "sqlite" else _duckdb)(place))


@contextlib.contextmanager
def _database_failure(target: TablesTarget, opening: contextlib.AbstractContextManager[_Opened]) -> Iterator[_Opened]:
    """Say in one sentence what a database says when it fails; it was told of no private row."""
    try:
        with opening as opened:
            yield opened
    except LapwingError:
        raise
    except _errors() as error:
        reason = _reason(error)
    else:
        return
    raise DataError(
        f"the tables cannot be made in {target} ({reason}); rename what it names, or give another database",
        code="LW119",
    )


def _errors() -> tuple[type[Exception], ...]:
    """Return the errors of the databases' libraries that are there."""
    found: list[type[Exception]] = [sqlite3.Error]
    with contextlib.suppress(ImportError):
        import duckdb  # noqa: PLC0415 - the user's own

        found.append(duckdb.Error)
    with contextlib.suppress(ImportError):
        import adbc_driver_manager  # noqa: PLC0415 - the user's own

        found.append(adbc_driver_manager.Error)
    return tuple(found)


def _reason(error: Exception) -> str:
    """Return the first line of what a database says, without what its library puts before it."""
    text = str(error).partition("ERROR:")[2] or str(error)
    return text.strip().partition("\n")[0]


@contextlib.contextmanager
def _sqlite(place: str) -> Iterator[_Opened]:
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as connection:
        for setting in ("foreign_keys = ON", "journal_mode = OFF", "synchronous = OFF"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("BEGIN")

        def insert(table: str, rows: pl.DataFrame) -> None:
            moments = pl.col(pl.Datetime).dt.strftime("%Y-%m-%d %H:%M:%S"), pl.col(pl.Date).dt.strftime("%Y-%m-%d")
            marks = ", ".join("?" * rows.width)
            told = rows.with_columns(*moments).iter_rows()
            connection.executemany(f"INSERT INTO {sql_name(table)} VALUES ({marks})", told)  # noqa: S608 - quoted

        yield _Opened(insert, connection.execute)
        connection.execute("COMMIT")


@contextlib.contextmanager
def _duckdb(place: str) -> Iterator[_Opened]:
    try:
        import duckdb  # noqa: PLC0415 - the user's own
    except ImportError:
        raise not_installed("a DuckDB file is written by DuckDB", "duckdb") from None
    if place != ":memory:":
        os.unlink(place)  # it takes no empty file for a database
    with duckdb.connect(place) as connection:

        def insert(table: str, rows: pl.DataFrame) -> None:
            given = f"{table} rows"  # never the table itself, and found before another table of that name
            connection.register(given, _arrow(rows))
            connection.execute(f"INSERT INTO {sql_name(table)} SELECT * FROM {sql_name(given)}")  # noqa: S608 - quoted
            connection.unregister(given)

        yield _Opened(insert, connection.execute)


@contextlib.contextmanager
def _postgres(url: str, *, keep: bool) -> Iterator[_Opened]:
    try:
        import pyarrow  # noqa: F401, PLC0415 - what ADBC takes rows in
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - the user's own
    except ImportError:
        raise not_installed("Postgres is written to by ADBC and PyArrow", "connect") from None
    with contextlib.closing(_connect(dbapi, url)) as connection, connection.cursor() as cursor:
        yield _Opened(
            lambda table, rows: cursor.adbc_ingest(table, _arrow(rows), mode="append") if rows.height else None,
            cursor.execute,
        )
        if keep:
            connection.commit()
        else:
            connection.rollback()


def _connect(dbapi: Any, url: str) -> Any:  # noqa: ANN401 - ADBC's
    """Return a connection; what it says of an address that is none may repeat a part of it."""
    with contextlib.suppress(dbapi.Error):
        return dbapi.connect(url)
    raise DataError("the database cannot be opened; check address, user and password", code="LW103")


def _arrow(rows: pl.DataFrame) -> Any:  # noqa: ANN401 - a table of PyArrow
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest())


def not_installed(what: str, extra: str) -> DataError:
    """Return the error that a library is not there, and how it comes."""
    return DataError(f"{what}, which is not installed; run {install_command(extra)}", code="LW701")
