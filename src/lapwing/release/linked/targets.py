"""Where rows of linked tables go: a file for each, a folder of them, or a database."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.errors import ParameterError
from lapwing.release.targets import STANDARD_OUTPUT, Targets, staging_places
from lapwing.rows.out.outputs import Format, rows_format, to_standard_output, whole_files
from lapwing.schema.scalars import parse_date, parse_datetime

if TYPE_CHECKING:
    import polars as pl

    from lapwing.model.certificate.issued import Beside
    from lapwing.rows.out.databases import Chunk, TableOut
    from lapwing.schema.linked.database import LinkedTables
    from lapwing.schema.linked.tables import Lookup
    from lapwing.schema.schemas import Schema

ONE_TABLE = "synthetic"
"""What a table without a name is called in a database."""


def write_tables(
    targets: Targets, chunks: "Iterable[Chunk]", place: Mapping[Path, Path]
) -> "tuple[dict[str, int], list[Beside]]":
    """Write rows; return how many each table has, and what the certificate says of their files."""
    from lapwing.model.certificate.issued import Beside  # noqa: PLC0415
    from lapwing.rows.out.databases import write_database, write_files  # noqa: PLC0415

    tables = targets.tables
    if targets.into is not None:
        counts = write_database(chunks, tables, targets.into, next(map(place.get, targets.into.paths), None))
        total = sum(counts[table.name] for table in tables if table.rows is None)
        return counts, [Beside.read(Path(path.name), place[path], total) for path in targets.into.paths]
    if STANDARD_OUTPUT in targets.rows.values():
        (name,) = targets.rows
        return {name: to_standard_output(chunk[name] for chunk in chunks)}, []
    files = staging_places(targets, place)
    counts = write_files(
        chunks, tables, {name: (files[name], rows_format(path)) for name, path in targets.rows.items()}
    )
    folder = "" if targets.folder is None else targets.folder.name
    told = {name: Path(folder) / path.name for name, path in targets.rows.items()}
    drawn = {table.name: counts[table.name] for table in tables if table.rows is None}
    return counts, [Beside.read(told[name], files[name], drawn.get(name)) for name in targets.rows]


def write_into(tables: "tuple[TableOut, ...]", chunks: "Iterable[Chunk]", output: str) -> None:
    """Write rows to a folder or database, whole or not at all; see `Release.write`."""
    targets = targets_into(tables, output)
    paths = targets.in_order
    with whole_files(paths, (), targets.folders, targets.replaces) if paths else nullcontext(()) as places:
        write_tables(targets, chunks, dict(zip(paths, places, strict=True)))


def write_one_into(schema: "Schema", frames: "Iterable[pl.DataFrame]", output: str) -> None:
    """Write the rows of one table to a database, whole or not at all; see `Release.write`."""
    from lapwing.rows.out.databases import TableOut  # noqa: PLC0415

    table = TableOut(name=schema.name or ONE_TABLE, fields=schema.fields)
    write_into((table,), ({table.name: frame} for frame in frames), output)


def targets_into(
    tables: "tuple[TableOut, ...]",
    output: str,
    form: Format = "parquet",
    **others: Any,  # noqa: ANN401
) -> Targets:
    """Return the targets of all tables in a folder or database; refuse, before anything is spent, what cannot be.

    form: of the files of a folder; others: the other settings of `Targets`.
    """
    from lapwing.rows.out.databases import check_tables, tables_target  # noqa: PLC0415

    into = tables_target(output)
    check_tables(into, tables)
    rows = {table.name: folder / f"{table.name}.{form}" for folder in into.folders for table in tables}
    folder = next(iter(into.folders), None)
    return Targets(tables=tables, rows=rows, folder=folder, into=into if folder is None else None, **others)


def linked_targets(
    linked: "LinkedTables",
    outputs: Sequence[str],
    into: str | None,
    form: Format = "parquet",
    **others: Any,  # noqa: ANN401
) -> Targets:
    """Return the targets of all tables, a file for each in the schema's order, or one place; see `targets_into`."""
    if bool(outputs) == (into is not None):
        raise ParameterError(
            f"rows need one place, got {'two' if outputs else 'none'}; give --into PLACE, or -o with a file "
            f"for each of {', '.join(linked.given)}",
            code="LW316",
        )
    if into is not None:
        return targets_into(tables_out(linked), into, form, **others)
    if len(linked.given) != len(outputs):
        raise ParameterError(
            f"-o names {len(outputs)} files, and there are {len(linked.given)} tables; give --into PLACE", code="LW316"
        )
    files = dict(zip(linked.given, map(Path, outputs), strict=True))
    for path in files.values():
        rows_format(path)
    return Targets(tables=tables_out(linked)[: len(files)], rows=files, **others)


def events_targets(linked: "LinkedTables", targets: Targets) -> Targets:
    """Return the targets of events, which are those of one table."""
    if targets.folder is not None:
        rows = targets_into(tables_out(linked), f"{targets.folder}{os.sep}").rows
    else:
        rows = dict.fromkeys(linked.given, targets.rows[""])
    return replace(targets, tables=tables_out(linked), rows=rows)


def tables_out(linked: "LinkedTables") -> "tuple[TableOut, ...]":
    """Return what is written of linked tables: their columns and keys, and the rows of the public ones."""
    from lapwing.rows.out.databases import TableOut  # noqa: PLC0415

    private = [
        TableOut(
            name=table.name,
            fields=table.written,
            key=table.key or "",
            links={**({table.link: table.parent} if table.link and table.parent else {}), **table.lookups},
        )
        for table in linked.tables
    ]
    if linked.is_events:
        person, events = linked.tables
        fields = (*events.written, *person.own)
        private = [TableOut(name=events.name, fields=fields)]
    public = [
        TableOut(name=each.name, fields=each.schema.fields, key=each.key, rows=_public_rows(each))
        for each in linked.lookups
    ]
    return (*private, *public)


def _public_rows(lookup: "Lookup") -> "pl.DataFrame":
    """Return the rows of a public table; days and moments, which are ISO texts there, as what Polars counts."""
    import polars as pl  # noqa: PLC0415

    cells = zip(lookup.schema.fields, zip(*lookup.rows, strict=True), strict=True)
    columns = {}
    for field, column in cells:
        parse = {"date": parse_date, "datetime": parse_datetime}.get(field.type)
        values = column if parse is None else [None if cell is None else parse(cell) for cell in column]
        kinds: dict[str, Any] = {"string": pl.String, "boolean": pl.Boolean, "number": pl.Float64, "date": pl.Int32}
        columns[field.name] = pl.Series(values, dtype=kinds.get(field.type, pl.Int64), strict=False)
    return pl.DataFrame(columns)
