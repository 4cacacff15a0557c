"""The private table of a command: a path, or a query of a database."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.options import argument, misuse, option

if TYPE_CHECKING:
    from lapwing.rows.elsewhere import Query

    Table = Query | str
    """What the calls of Python take: an address or path, as text."""


Data = Annotated[
    str | None,
    argument(
        "DATA",
        "The private table: a Parquet or CSV file, a folder of them, or s3://BUCKET/rows.parquet.",
        is_optional=True,
    ),
]
Sql = Annotated[str | None, option("--sql", "QUERY", "Instead of DATA: a query of --db.")]
Sqls = Annotated[
    list[str], option("--sql", "QUERY", "Instead of PARENT and CHILD: a query of --db for each, in this order.")
]
Database = Annotated[
    str | None,
    option("--db", "URL", "postgresql://USER@HOST/NAME, sqlite:///FILE or duckdb:///FILE."),
]


def given_table(data: str | None, sql: str | None, db: str | None, context: typer.Context) -> "Table":
    """Return the private table that a command line gives; exactly one of DATA and --sql."""
    found = optional_table(data, sql, db, context)
    if found is None:
        raise misuse("missing argument 'DATA', or --sql and --db", context, code="LW903")
    hold_private(context, found)
    return found


def hold_private(context: typer.Context, *tables: object) -> None:
    """Hold tables for private until the command ends, before it opens anything that is public by its name."""
    from lapwing.schema.named_files import holding_private  # noqa: PLC0415

    context.with_resource(holding_private(*tables))


def optional_table(data: str | None, sql: str | None, db: str | None, context: typer.Context) -> "Table | None":
    """Return the private table that a command line gives, if it gives one; addresses of no use are refused at once."""
    return next(iter(optional_tables((data,), [] if sql is None else [sql], db, context)), None)


def optional_tables(
    paths: Sequence[str | None], sql: Sequence[str], db: str | None, context: typer.Context
) -> "list[Table]":
    """Return the private tables that a command line gives, by paths or by queries of one database."""
    from lapwing.rows.elsewhere import Query, addresses  # noqa: PLC0415

    given = [path for path in paths if path is not None]
    if bool(sql) != (db is not None):
        raise misuse("--sql and --db go together; give both, or DATA alone", context, code="LW316")
    if db is None:
        for path in given:
            addresses([path])
        return list(given)
    if given:
        raise misuse("the private table is given twice; give DATA, or --sql and --db", context, code="LW316")
    return [Query(each, db) for each in sql]


def file_of(table: "Table | None") -> Path | None:
    """Return the file or folder that a private table lies in, which no output may replace."""
    from lapwing.rows.elsewhere import addresses  # noqa: PLC0415

    if isinstance(table, str):
        return None if addresses([table]) else Path(table)
    return None if table is None else table.file


def stem_of(file: Path) -> str:
    """Return the name of a file without what tells its kind.

    >>> stem_of(Path("a/patients.csv.gz"))
    'patients'
    """
    name = file.name.removesuffix(".gz")
    return name.removesuffix(Path(name).suffix)


def default_rows(table: "Table") -> str:
    """Return where synthetic rows go where nothing is said: beside nobody's file, in this folder."""
    is_text = isinstance(table, str) and not table.lower().endswith((".parquet", ".pq"))
    return str(default_file(table, f"synthetic.{'csv' if is_text else 'parquet'}"))


def default_file(table: "Table", ending: str) -> Path:
    """Return a file in this folder that is named after a private table, if that lies in a file or folder."""
    file = file_of(table) if isinstance(table, str) and table != "-" else None
    return Path(f"{'table' if file is None else stem_of(file)}.{ending}")


def given_words(table: "Table") -> list[str]:
    """Return the words of a command line that give a private table, for a command that runs in this process."""
    return [table] if isinstance(table, str) else ["--sql", table.sql, "--db", table.url]


def words_of(*tables: "Table | Path") -> list[str]:
    """Return the words of a command line that give private tables; what may hold a password is not told."""
    from lapwing.rows.elsewhere import addresses  # noqa: PLC0415

    if all(isinstance(table, str | Path) for table in tables):
        return ["DATA" if addresses([table]) else str(table) for table in tables]
    return [*(word for _ in tables for word in ("--sql", "QUERY")), "--db", "URL"]
