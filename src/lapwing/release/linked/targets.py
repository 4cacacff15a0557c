"""Where rows of linked tables go: a file for each, a folder of them, or a database."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.errors import ParameterError
from lapwing.on_demand import extra
from lapwing.release.files import STANDARD_OUTPUT, Targets, file_options, to_standard_output
from lapwing.rows.out.outputs import Format, is_table_file, rows_format, whole_files
from lapwing.schema.scalars import parse_date, parse_datetime

if TYPE_CHECKING:
    import polars as pl

    from lapwing.model.certificate.issued import Beside
    from lapwing.rows.out.databases import Chunk, TableOut, TablesTarget
    from lapwing.schema.linked.database import LinkedTables
    from lapwing.schema.linked.tables import Lookup


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedTargets:
    """Name the files of one release of linked tables.

    tables: what is written of each; rows: the file of each, none where they go to a database, or of events standard
    output; into: the folder in which these lie, or the database.
    """

    tables: "tuple[TableOut, ...]"
    rows: Mapping[str, Path]
    into: "TablesTarget | None" = None
    model: Path | None = None
    certificate: Path | None = None
    croissant: Path | None = None
    prepared_by: str = ""
    approved_by: str = ""

    @property
    def in_order(self) -> list[Path]:
        """The files in the order in which they appear: a set without certificate is incomplete."""
        return [path for path in (self.model, *self._places, self.croissant, self.certificate) if path is not None]

    @property
    def beside(self) -> Path | None:
        """The rows beside which the certificate stands; None where they go to a server."""
        return next(iter(self._places), None)

    @property
    def _places(self) -> list[Path]:
        found = list(self.rows.values()) if self.into is None else self.into.paths
        return [path for path in found if path != STANDARD_OUTPUT]

    @property
    def folders(self) -> list[Path]:
        """Those of them that are folders."""
        return [] if self.into is None else self.into.folders

    @property
    def options(self) -> list[str]:
        """The options of a command line that name the same files; an address is not shown."""
        place = [word for path in self.rows.values() for word in ("-o", str(path))]
        if self.into is not None:
            where = "URL" if self.into.path is None else f"{self.into}{os.sep * bool(self.folders)}"
            place = ["--into" if len(self.tables) > 1 else "-o", where]  # of events there is one
        return [*place, *file_options(self, self.beside)]

    def replaces(self, file: Path) -> bool:
        """Return whether a file of an earlier folder may be replaced."""
        return is_table_file(file, [table.name for table in self.tables])

    @property
    def named(self) -> list[tuple[str, object]]:
        """What each file is, for who asked for them."""
        rows: list[tuple[str, object]] = [*self.rows.items()] or [("tables", self.into)]
        found = [*rows, ("model", self.model), ("Croissant", self.croissant), ("certificate", self.certificate)]
        return [(what, path) for what, path in found if path not in (None, STANDARD_OUTPUT)]

    def placed(self, place: Mapping[Path, Path]) -> dict[str, Path]:
        """Return where the rows of each table stand until all files are written."""
        folder = next(iter(self.folders), None)
        return {name: place[path] if folder is None else place[folder] / path.name for name, path in self.rows.items()}

    def check_croissant(self) -> None:
        """Refuse a Croissant file of rows that go to no files, or to files that it cannot name."""
        if self.croissant is None:
            return
        if not self.rows or any(path.suffix.lower() not in extra("croissant").ENCODINGS for path in self.rows.values()):
            raise ParameterError(
                "a Croissant file names files of rows, which must be .parquet or .csv; leave --croissant out, or give "
                "a folder or such files",
                code="LW316",
            )
        extra("croissant").check_beside(self.croissant, [*self.rows.values(), self.certificate])

    def write(self, chunks: "Iterable[Chunk]", place: Mapping[Path, Path]) -> "tuple[dict[str, int], list[Beside]]":
        """Write rows; return how many each table has, and what the certificate says of their files."""
        from lapwing.model.certificate.issued import Beside  # noqa: PLC0415
        from lapwing.rows.out.databases import write_database, write_files  # noqa: PLC0415

        if self.into is not None and not self.rows:
            counts = write_database(chunks, self.tables, self.into, next(map(place.get, self.into.paths), None))
            total = sum(counts[table.name] for table in self.tables if table.rows is None)
            return counts, [Beside.read(Path(path.name), place[path], total) for path in self.into.paths]
        if STANDARD_OUTPUT in self.rows.values():
            (name,) = self.rows
            return {name: to_standard_output(chunk[name] for chunk in chunks)}, []
        folder, files = next(iter(self.folders), None), self.placed(place)
        counts = write_files(
            chunks, self.tables, {name: (files[name], rows_format(path)) for name, path in self.rows.items()}
        )
        told = {name: Path("" if folder is None else folder.name) / path.name for name, path in self.rows.items()}
        drawn = {table.name: counts[table.name] for table in self.tables if table.rows is None}
        return counts, [Beside.read(told[name], files[name], drawn.get(name)) for name in self.rows]


def write_into(linked: "LinkedTables", chunks: "Iterable[Chunk]", output: str) -> None:
    """Write rows to a folder or database, whole or not at all; see `LinkedRelease.write`."""
    targets = targets_into(linked, output)
    paths = targets.in_order
    with whole_files(paths, (), targets.folders, targets.replaces) if paths else nullcontext(()) as places:
        targets.write(chunks, dict(zip(paths, places, strict=True)))


def targets_into(linked: "LinkedTables", output: str, form: Format = "parquet", **others: Any) -> LinkedTargets:  # noqa: ANN401
    """Return the targets of all tables in a folder or database; refuse, before anything is spent, what cannot be.

    form: of the files of a folder; others: the other settings of `LinkedTargets`.
    """
    from lapwing.rows.out.databases import check_tables, tables_target  # noqa: PLC0415

    into, tables = tables_target(output), tables_out(linked)
    check_tables(into, tables)
    rows = {table.name: folder / f"{table.name}.{form}" for folder in into.folders for table in tables}
    return LinkedTargets(tables=tables, rows=rows, into=into, **others)


def linked_targets(
    linked: "LinkedTables",
    outputs: Sequence[str],
    into: str | None,
    form: Format = "parquet",
    **others: Any,  # noqa: ANN401
) -> LinkedTargets:
    """Return the targets of all tables, a file for each in the schema's order, or one place; see `targets_into`."""
    if bool(outputs) == (into is not None):
        raise ParameterError(
            f"rows need one place, got {'two' if outputs else 'none'}; give --into PLACE, or -o with a file "
            f"for each of {', '.join(linked.given)}",
            code="LW316",
        )
    if into is not None:
        return targets_into(linked, into, form, **others)
    if len(linked.given) != len(outputs):
        raise ParameterError(
            f"-o names {len(outputs)} files, and there are {len(linked.given)} tables; give --into PLACE", code="LW316"
        )
    files = dict(zip(linked.given, map(Path, outputs), strict=True))
    for path in files.values():
        rows_format(path)
    return LinkedTargets(tables=tables_out(linked)[: len(files)], rows=files, **others)


def events_targets(linked: "LinkedTables", targets: Targets) -> LinkedTargets:
    """Return the targets of events, which are those of one table."""
    into = targets_into(linked, f"{targets.rows}{os.sep}") if targets.has_folder else None
    return LinkedTargets(
        tables=tables_out(linked),
        rows={linked.given[0]: targets.rows} if into is None else into.rows,
        into=None if into is None else into.into,
        model=targets.model,
        certificate=targets.certificate,
        croissant=targets.croissant,
        prepared_by=targets.prepared_by,
        approved_by=targets.approved_by,
    )


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
