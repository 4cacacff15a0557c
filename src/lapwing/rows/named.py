"""Tables that are found by their names: files of a folder, or tables of a database."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from lapwing.errors import DataError
from lapwing.rows.elsewhere import Query, is_database
from lapwing.rows.files import KNOWN
from lapwing.rows.out.databases import DATABASE_ENDINGS, PLAIN_NAME, sql_name
from lapwing.schema.scalars import quote


def tables_from(source: str, columns: Mapping[str, Sequence[str]]) -> dict[str, "Query | str"]:
    """Return the tables of a folder or database that bear the given names, as data that calls take.

    source: a folder, such as ``clinic/`` with ``homes.csv`` and ``people.parquet``; or the file or address of a
    database; columns: of each table those that are read.
    """
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
    return {name: _file(folder, name) for name in columns}


def _select(table: str, columns: Sequence[str]) -> str:
    """Return a query; with the table before it, SQLite takes no name of a column that is not there for a text."""
    listed = ", ".join(f"{sql_name(table)}.{sql_name(column)}" for column in columns)
    return f"SELECT {listed} FROM {sql_name(table)}"  # noqa: S608 - quoted


def _file(folder: Path, table: str) -> str:
    """Return the file, or folder of files, of a table."""
    places = [folder / f"{table}{ending}" for ending in ("", *KNOWN) if PLAIN_NAME.fullmatch(table)]
    found = [path for path in places if path.exists()]
    if len(found) == 1:
        return str(found[0])
    what = "several files" if found else "no file"
    raise DataError(
        f"the folder {quote(str(folder))} has {what} of the table {quote(table)}; leave one there that is called after "
        f"it, such as {table}.parquet or {table}.csv",
        code="LW101",
    )
