"""The private table of a command: a path, or a query of a database."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.options import argument, misuse, option

if TYPE_CHECKING:
    from lapwing.rows.entry import Source
    from lapwing.schema.linked.database import LinkedTables
    from lapwing.schema.named_files import Origin


Data = Annotated[
    str | None,
    argument(
        "DATA",
        "The private table: a Parquet or CSV file, a folder of them, or s3://BUCKET/rows.parquet.",
        is_optional=True,
    ),
]
Tables = Annotated[
    list[str] | None,
    argument(
        "DATA",
        "The private table: a Parquet or CSV file, a folder of them, or s3://BUCKET/rows.parquet. Linked tables: one "
        "for each in the schema's order, or as NAME=DATA; or one folder or database of them all.",
        is_optional=True,
    ),
]
Sql = Annotated[str | None, option("--sql", "QUERY", "Instead of DATA: a query of --db.")]
Sqls = Annotated[
    list[str], option("--sql", "QUERY", "Instead of DATA: a query of --db; linked tables: one for each, in order.")
]
Database = Annotated[
    str | None,
    option("--db", "URL", "postgresql://USER@HOST/NAME, sqlite:///FILE or duckdb:///FILE."),
]


def given_table(data: str | None, sql: str | None, db: str | None, context: typer.Context) -> "Source":
    """Return the private table that a command line gives; exactly one of DATA and --sql."""
    found = optional_table(data, sql, db, context)
    if found is None:
        raise misuse("missing argument 'DATA', or --sql and --db", context, code="LW903")
    hold_private(context, found)
    return found


def linked_schema(
    schema: Path, given: Sequence[str], sql: Sequence[str], db: str | None, context: typer.Context
) -> "LinkedTables | None":
    """Return a schema of linked tables, none of whose public tables is a file of the private ones; None of one table.

    given, sql, db: the private tables, which are held for private.
    """
    from lapwing.schema.files import is_of_several  # noqa: PLC0415
    from lapwing.schema.linked.reading import private_names  # noqa: PLC0415
    from lapwing.schema.named_files import TABLES, Origin  # noqa: PLC0415
    from lapwing.schema.schemas import Schema  # noqa: PLC0415
    from lapwing.schema.typed import read_json  # noqa: PLC0415

    found = read_json(schema)
    if not is_of_several(found):
        return None
    places = [part for text in given for part in (text, text.partition("=")[2]) if part]
    if len(places) == 1 and Path(places[0]).is_dir():  # where public tables may lie beside the private ones
        tables = {f"{name}{ending}" for name in private_names(found) for ending in ("", *TABLES)}  # as `tables_from`
        places = [str(each) for each in Path(places[0]).iterdir() if each.name in tables]
    queries = [] if db is None else optional_tables((), sql, db, context)
    hold_private(context, *(Origin(place, (place,)) for place in places), *queries)
    linked: LinkedTables | None = Schema.load(schema).linked
    return linked


def private_tables(
    given: Sequence[str], sql: Sequence[str], db: str | None, linked: "LinkedTables | None", context: typer.Context
) -> "dict[str, Source]":
    """Return the private tables by name, in the schema's order; one table, without a schema of several, under ``""``.

    given: one for each in the schema's order, or as NAME=DATA; or one folder or database of them all.
    """
    if linked is None:
        if len(given) > 1 or len(sql) > 1:
            raise misuse("the schema is of one table; give one DATA, or one --sql", context, code="LW903")
        return {"": given_table(next(iter(given), None), next(iter(sql), None), db, context)}
    named = dict(text.split("=", 1) for text in given if text.partition("=")[0] in linked.given)
    if len(given) == 1 < len(linked.given) and not named and not sql:
        from lapwing.rows.elsewhere import tables_from  # noqa: PLC0415
        from lapwing.rows.entry import tables_by_name  # noqa: PLC0415

        columns = {name: linked.as_written(name).names for name in linked.given}
        return tables_by_name(tables_from(given[0], columns), linked.given)
    tables = optional_tables(tuple(named.values()) if len(named) == len(given) else given, sql, db, context)
    names = tuple(named) if named else linked.given
    if len(tables) != len(linked.given) or set(names) != set(linked.given):
        said = f"the schema is of {len(linked.given)} tables, {', '.join(linked.given)}, got {len(tables)}"
        raise misuse(f"{said}; give one for each, or as many --sql and one --db", context, code="LW903")
    found = dict(zip(names, tables, strict=True))
    return {name: found[name] for name in linked.given}


def hold_private(context: typer.Context, *tables: "Origin") -> None:
    """Hold tables for private until the command ends, before it opens anything that is public by its name."""
    from lapwing.schema.named_files import holding_private  # noqa: PLC0415

    context.with_resource(holding_private(*tables))


def optional_table(data: str | None, sql: str | None, db: str | None, context: typer.Context) -> "Source | None":
    """Return the private table that a command line gives, if it gives one; addresses of no use are refused at once."""
    return next(iter(optional_tables((data,), [] if sql is None else [sql], db, context)), None)


def optional_tables(
    paths: Sequence[str | None], sql: Sequence[str], db: str | None, context: typer.Context
) -> "list[Source]":
    """Return the private tables that a command line gives, by paths or by queries of one database."""
    from lapwing.rows.elsewhere import Query  # noqa: PLC0415
    from lapwing.rows.entry import source_of  # noqa: PLC0415

    given = [path for path in paths if path is not None]
    if bool(sql) != (db is not None):
        raise misuse("--sql and --db go together; give both, or DATA alone", context, code="LW316")
    if db is None:
        return [source_of(path) for path in given]
    if given:
        raise misuse("the private table is given twice; give DATA, or --sql and --db", context, code="LW316")
    return [source_of(Query(each, db)) for each in sql]


def stem_of(file: Path) -> str:
    """Return the name of a file without what tells its kind.

    >>> stem_of(Path("a/patients.csv.gz"))
    'patients'
    """
    name = file.name.removesuffix(".gz")
    return name.removesuffix(Path(name).suffix)


def default_rows(table: "Source") -> str:
    """Return where synthetic rows go where nothing is said: beside nobody's file, in this folder."""
    is_text = table.form in ("files", "store") and not str(table.given).lower().endswith((".parquet", ".pq"))
    return str(default_file(table, f"synthetic.{'csv' if is_text else 'parquet'}"))


def default_file(table: "Source", ending: str) -> Path:
    """Return a file in this folder that is named after a private table, if that lies in a file or folder."""
    file = table.file if table.form == "files" and table.given != "-" else None
    return Path(f"{'table' if file is None else stem_of(file)}.{ending}")


def given_words(table: "Source") -> list[str]:
    """Return the words of a command line that give a private table, for a command that runs in this process."""
    return ["--sql", table.given.sql, "--db", table.given.url] if table.form == "query" else [table.given]


def words_of(*tables: "Source") -> list[str]:
    """Return the words of a command line that give private tables; what may hold a password is not told."""
    if any(table.form == "query" for table in tables):
        return [*(word for _ in tables for word in ("--sql", "QUERY")), "--db", "URL"]
    return ["DATA" if table.form == "store" else str(table.given) for table in tables]
