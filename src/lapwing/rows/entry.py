"""The entry of data: what a table is that a caller gives is decided here, once; who is handed its source asks no more.

What can go wrong depends on names, types and files, never on a cell.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Literal, ParamSpec, Protocol, TypeVar

import polars as pl

from lapwing.errors import DataError, ParameterError
from lapwing.on_demand import extra
from lapwing.rows.cells import RawColumn
from lapwing.rows.codec import read_columns
from lapwing.rows.elsewhere import Query, addresses, empty_answer, query_rows, stored_reader
from lapwing.rows.files import (
    DatasetReader,
    FilesReader,
    FileStamps,
    TableFile,
    TypedFile,
    files_of_dataset,
    find_files,
    header_fault,
    is_typed,
    may_have_footer,
    open_file,
)
from lapwing.rows.frames import (
    LazyReader,
    Types,
    arrow_reader,
    batch_reader,
    pandas_reader,
    polars_reader,
    scanned_files,
)
from lapwing.rows.guard import bounded, run_guarded
from lapwing.rows.kinds import Held, Kind, can_fit
from lapwing.rows.out.databases import not_installed
from lapwing.rows.relations import RelationReader, files_of_relation, has_arrow
from lapwing.rows.spelling import dialect_speller
from lapwing.schema.fields import Field
from lapwing.schema.named_files import Origin, holding_private
from lapwing.schema.scalars import names_in_short, quote, safe_repr
from lapwing.schema.schemas import Schema

P = ParamSpec("P")
T = TypeVar("T")


class RowReader(Protocol):
    """A table that can be read, again and again, in one stable order: at least one and at most so many rows at a time.

    `known_rows`, where they can be had without reading it, are private.
    """

    known_rows: int | None

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""


class SpelledReader:
    """Read a table as the dialect of its schema says that white space and case are meant; of: the table as it is."""

    def __init__(self, of: RowReader, schema: Schema) -> None:
        self.of, self.known_rows = of, of.known_rows
        self._spell = dialect_speller(schema)

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        return map(self._spell, self.of.chunks(columns, rows))


class _Frame(RowReader, Protocol):
    @property
    def types(self) -> Types:
        """The columns."""


_LIBRARIES: Final[Mapping[tuple[str, str], tuple[Kind, Callable[[Any], _Frame]]]] = {
    ("polars", "DataFrame"): ("polars", polars_reader),
    ("polars", "LazyFrame"): ("polars", LazyReader),
    ("pandas", "DataFrame"): ("pandas", pandas_reader),
    ("pyarrow", "RecordBatch"): ("pyarrow", batch_reader),
    ("pyarrow", "Table"): ("pyarrow", arrow_reader),
    ("pyarrow", "Dataset"): ("pyarrow", DatasetReader),
    ("duckdb", "DuckDBPyRelation"): ("duckdb", RelationReader),
    ("_duckdb", "DuckDBPyRelation"): ("duckdb", RelationReader),
    ("pyspark", "DataFrame"): ("spark", lambda frame: extra("Spark").SparkReader(frame)),
}
"""What a table is, and how it is read, by its package and the name of its class: no package is imported to ask."""
_FILES_OF: Final[Mapping[Callable[[Any], _Frame], Callable[[Any], list[str] | None]]] = {
    LazyReader: scanned_files,
    DatasetReader: files_of_dataset,
    RelationReader: files_of_relation,
}
"""How the files are known that a table reads anew in each pass; None where they cannot be told."""
_OWN: Final = {package for package, _ in _LIBRARIES} | {"narwhals"}
"""Packages whose streams of Arrow are no tables, or are read otherwise."""


@dataclass(frozen=True, eq=False, repr=False)
class Source(Origin):
    """A table as a caller gave it, of which is decided what it is, and nothing read. Private where the table is.

    form: how it is reached; kind: what synthetic rows come back as; read: makes the reader of a frame or stream.
    """

    form: Literal["files", "store", "query", "frame", "stream"]
    kind: Kind
    read: Callable[[Any], _Frame] | None = None

    @property
    def file(self) -> Path | None:
        """The first file or folder of this machine that it lies in, which no output may replace."""
        return Path(self.paths[0]) if self.paths and self.form != "store" else None

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The files of this machine that it is read from, if it is files."""
        return tuple(file for path in self.paths for file in find_files(path)) if self.form == "files" else ()

    @cached_property
    def table(self) -> Any:  # noqa: ANN401 - of any library
        """What is no files, in its library; a stream is read, and a database asked, once."""
        if self.form == "query":
            return query_rows(self.given)
        if self.form == "stream":
            import pyarrow as pa  # noqa: PLC0415 - the user's own

            return run_guarded("the stream of Arrow cannot be read", lambda: pa.table(self.given))
        return self.given

    @property
    def is_typed(self) -> bool:
        """Whether it says itself of which types its columns are, so that no cell has to be looked at."""
        if self.form == "query":
            return not self.given.url.lower().startswith("sqlite:")
        return self.form != "files" or is_typed(self.files[0])

    @property
    def typed(self) -> Any:  # noqa: ANN401 - of any library
        """A frame whose columns have the types of this one's, which has them; of its rows none need be read."""
        if self.form == "query":
            return empty_answer(self.given)
        if self.form == "files":
            file = open_file(self.files[0])
            assert isinstance(file, TypedFile)
            return pl.DataFrame(schema=file.schema)
        if self.form == "store":
            return pl.DataFrame(schema=stored_reader(self.paths).schema)
        # What PyArrow calls a schema is all that is needed of its tables, batches and datasets.
        return self.table.schema.empty_table() if self.kind == "pyarrow" else self.table

    @property
    def held(self) -> dict[str, Held]:
        """What the types of its columns say of their cells, where it has types."""
        return dict(source_of(self.typed)._reader.types)

    def names(self, schema: Schema) -> list[str]:
        """Return the names of the columns, of several files those of the first."""
        if self.form == "files":
            return _open_file(self.files[0], schema).names
        return [str(name) for name, _ in self._reader.types]

    def open(self, schema: Schema, columns: Sequence[str] | None = None, *, is_paid: bool = False) -> SpelledReader:
        """Return a reader of a table that has every column that the schema models; no other column is ever read.

        columns: those that are read, by default those that the schema models and its privacy unit; is_paid: whether the
        rows will be paid for, so that columns of which no cell can fit, by their types, are refused, and a dialect's
        footer where there is none.

        >>> schema = Schema.from_dict({"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"]}]})
        >>> source_of(pl.DataFrame({"age": [3]})).open(schema)
        Traceback (most recent call last):
        lapwing.errors.DataError: the table has no column "sex"; rename its columns, or rename or drop the field
        `lapwing explain LW104` says why, and what to do
        """
        wanted = list(dict.fromkeys(read_columns(schema) if columns is None else columns))
        fields = {field.name: field if is_paid else None for field in schema.fields if field.name in wanted}
        if is_paid and schema.dialect.skip_footer:
            self._check_footer()
        if self.form == "files":
            return SpelledReader(self._opened_files(wanted, schema, fields), schema)
        _check_names([name for name, _ in self._reader.types], wanted, "the table")
        _check_types(dict(self._reader.types), fields)
        if isinstance(self._reader, RelationReader):
            self._reader.check_case(wanted)
        return SpelledReader(self._reader, schema)

    def _check_footer(self) -> None:
        """Refuse a table that has no rows at its end which are none: they would be paid for as rows of persons."""
        if self.form != "files" or not all(map(may_have_footer, self.files)):
            way_out = 'take its last rows out of it, and "skipFooter" out of the schema\'s "dialect"'
            raise DataError(f"a table that is no CSV file or workbook has no footer; {way_out}", code="LW103")

    @cached_property
    def _reader(self) -> _Frame:
        """What reads a table that is no files."""
        if self.form == "store":
            return stored_reader(self.paths)
        return source_of(self.table)._reader if self.read is None else self.read(self.table)

    @cached_property
    def _stamps(self) -> FileStamps:
        return FileStamps(self.files)

    def _opened_files(self, wanted: list[str], schema: Schema, fields: "_Fields") -> FilesReader:
        stamps = self._stamps
        files = [_open_file(path, schema) for path in self.files]
        for file in files:
            name = f"file {quote(str(file.path))}"
            fault = None if set(wanted) <= set(file.names) else header_fault(file)
            if fault is not None:
                raise DataError(f"{name} {fault}", code="LW116")
            _check_names(file.names, wanted, name)
            _check_types(file.held, fields)
        return FilesReader(files, stamps)


def _open_file(path: Path, schema: Schema) -> TableFile:
    names = schema.dialect.names or [field.name for field in schema.fields]
    listed = {field.name: (*field.special, *(field.categories or ())) for field in schema.fields}
    return open_file(path, schema.dialect, names, listed)


def source_of(data: object) -> Source:
    """Return the source of a table: paths, a frame, a stream of Arrow, a query; a source is one already.

    >>> source_of(["people-1.csv", "people-2.csv"]).form, source_of(pl.DataFrame()).kind
    ('files', 'polars')
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, Query):
        return Source(data, () if data.file is None else (data.file,), "query", "polars")
    parts: tuple[Any, ...] = tuple(data) if isinstance(data, list | tuple) else (data,)
    if parts and all(isinstance(part, str | os.PathLike) for part in parts):
        remote = tuple(addresses(parts))
        return Source(data, remote, "store", "polars") if remote else Source(data, parts, "files", "path")
    native: Any = data
    if type(data).__module__.startswith("narwhals."):
        native = run_guarded("the table cannot be unwrapped", native.to_native)
    library = _library(native)
    if library is not None:
        kind, read = library
        files = _FILES_OF[read](native) if read in _FILES_OF else []
        return Source(native, tuple(files or ()), "frame", kind, read, is_told=files is not None)
    packages = {kind.__module__.partition(".")[0] for kind in type(data).__mro__}
    if isinstance(data, type) or not hasattr(data, "__arrow_c_stream__") or packages & _OWN:
        raise DataError(_no_table(data), code="LW108")
    if not has_arrow():
        raise not_installed("a stream of Arrow is read by PyArrow", "connect")
    return Source(data, (), "stream", "pyarrow", arrow_reader)


def sources_of(data: object) -> Source | Mapping[str, Source] | tuple[Source, ...] | None:
    """Return the sources of one table, or of several by name or in order; of none where there is none.

    A list of paths is one table, unless a schema of as many says otherwise: `tables_by_name`.
    """
    if data is None:
        return None
    if isinstance(data, Mapping):
        return {name: source_of(each) for name, each in data.items()}
    if isinstance(data, list | tuple) and not all(isinstance(each, str | os.PathLike) for each in data):
        return tuple(source_of(each) for each in data)
    return source_of(data)


def tables_by_name(data: object, names: Sequence[str]) -> dict[str, Source]:
    """Return the sources of the tables of a schema of several, given by name, or in order; of one name without.

    Raises a ParameterError where there are others.
    """
    tables = sources_of(data)
    if isinstance(tables, Source) and len(names) == 1:
        tables = (tables,)
    elif isinstance(tables, Source) and tables.form == "files":
        tables = tuple(map(source_of, tables.paths))
    if isinstance(tables, tuple) and len(tables) == len(names):
        tables = dict(zip(names, tables, strict=True))
    if not isinstance(tables, Mapping) or set(tables) != set(names):
        found = ", ".join(map(safe_repr, tables)) if isinstance(tables, Mapping) else "tables without names"
        raise ParameterError(
            f"linked tables must be given by name, those of the schema and no other, got {found}; give "
            f"{{{', '.join(f'{name!r}: ...' for name in names)}}}",
            code="LW252",
        )
    return {name: tables[name] for name in names}


@contextmanager
def entering(data: object) -> Iterator[Any]:
    """Give the sources of private tables, which are held for private until the block ends."""
    found = sources_of(data)
    tables = found.values() if isinstance(found, Mapping) else found if isinstance(found, tuple) else (found,)
    with holding_private(*filter(None, tables)):
        yield found


def private_boundary(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a public call that is given rows: see `bounded`. The call gets their sources, which are held for private.

    Nothing that it reads as public may be one of them.
    """
    return bounded(function, entering)


def _library(data: object) -> tuple[Kind, Callable[[Any], _Frame]] | None:
    """Return what a table of another package is, and how it is read; None of anything else."""
    names = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(data).__mro__)
    return next((_LIBRARIES[name] for name in names if name in _LIBRARIES), None)


def _no_table(data: object) -> str:
    """Say what is wrong with data that is no table."""
    name = type(data).__name__
    if name == "DuckDBPyConnection":
        return "a DuckDB connection is no table; give a relation, such as connection.sql(...) or connection.table(...)"
    if name in ("RecordBatchReader", "Scanner") and type(data).__module__.startswith("pyarrow."):
        return (
            f"a PyArrow {name} can be read once, and a release reads its rows several times; "
            "give a dataset, or the table that read_all() or to_table() returns"
        )
    return (
        f"data of type {name} is not a table; give a pandas, Polars, PyArrow, DuckDB or Spark table, "
        "a lapwing.Query, or the path of a .parquet or .csv file"
    )


# -- The columns that a schema asks for.


_listed = partial(names_in_short, most=5)

_Fields = Mapping[str, Field | None]
"""The fields of the columns that are read, where their types are to be looked at."""


def _check_names(names: Sequence[object], wanted: Sequence[str], where: str) -> None:
    """Refuse a table without the schema's columns. Names of other columns are never shown: they may be a row."""
    if not all(isinstance(name, str) for name in names):
        raise DataError(f"{where} has column names that are not text; rename its columns", code="LW105")
    present = Counter(names)
    absent = [name for name in wanted if name not in present]
    if absent:
        raise DataError(
            f"{where} has no column {_listed(absent)}; rename its columns, or rename or drop the field",
            code="LW104",
        )
    twice = [name for name in wanted if present[name] > 1]
    if twice:
        raise DataError(
            f"{where} has more than one column {_listed(twice)}; rename or drop all but one",
            code="LW105",
        )


_UNFIT: Final[dict[Held, str]] = {
    "several": "holds several values per cell; unnest it into plain columns",
    "none": "is of a type that no field can hold, such as a duration; convert it to numbers or text, or drop it",
    "moments": "holds dates or moments, and its field is of type {}; declare it as date or datetime, or convert it",
    "numbers": "holds numbers, and its field is of type {}; declare it as integer or number, or convert it",
}


def _check_types(held: Mapping[str, Held], fields: _Fields) -> None:
    """Refuse columns that hold several values per cell, and those of which no cell can fit, by their types alone."""
    said: dict[str, list[str]] = {}
    for name, field in fields.items():
        kind = held.get(name, "any")
        if kind == "several" or (field is not None and not can_fit(kind, field)):
            said.setdefault(_UNFIT[kind].format("" if field is None else field.type), []).append(name)
    for what, names in said.items():
        raise DataError(f"column {_listed(names)} {what}", code="LW107")


def with_target(rows: object, target: object) -> Any:  # noqa: ANN401 - a frame of the same library
    """Return a frame with a series as one more column, called by the series' name; position counts, no index does.

    >>> with_target(pl.DataFrame({"a": [1, 2]}), pl.Series("b", [3, 4])).columns
    ['a', 'b']
    """
    import narwhals.stable.v2 as nw  # noqa: PLC0415 - asked for by one habit alone

    column = nw.from_native(target, series_only=True, pass_through=True)
    name = column.name if isinstance(column, nw.Series) else None
    if not isinstance(column, nw.Series) or not isinstance(name, str) or not name:
        raise ParameterError(
            "y must be a named pandas or Polars series, called as its column in the schema; name it, or put it into X",
            code="LW304",
        )
    frame = nw.from_native(source_of(rows).given, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or frame.implementation is not column.implementation:
        raise ParameterError("y goes with a frame in memory of the same library as X; put it into X", code="LW304")
    if name in frame.columns:
        raise ParameterError("X has a column of y's name already; leave y out, or drop it from X", code="LW304")
    if len(frame) != len(column):
        raise DataError("X and y have different numbers of rows; give both of the same rows", code="LW103")
    return run_guarded("X and y cannot be put together", lambda: frame.with_columns(column).to_native())
