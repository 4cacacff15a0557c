"""Open any kind of table under a schema, and read its rows as chunks of raw cells.

What can go wrong depends on names, types and files, never on a cell; what DuckDB says may quote one, and is not told.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

import polars as pl

from lapwing.errors import DataError, ParameterError
from lapwing.on_demand import extra
from lapwing.rows.cells import RawColumn
from lapwing.rows.codec import read_columns
from lapwing.rows.elsewhere import Query, addresses, query_rows, stored_rows
from lapwing.rows.files import DatasetReader, FilesReader, FileStamps, find_files, header_fault, open_file
from lapwing.rows.frames import (
    FrameReader,
    LazyReader,
    arrow_held,
    arrow_reader,
    as_table,
    batch_chunks,
    pandas_held,
    pandas_reader,
    polars_held,
    polars_reader,
)
from lapwing.rows.guard import guarded
from lapwing.rows.kinds import Held, can_fit
from lapwing.rows.out.databases import not_installed, sql_name
from lapwing.schema.fields import Field
from lapwing.schema.scalars import names_in_short, quote
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

T = TypeVar("T")

_WHAT: Final = (
    "the DuckDB relation cannot be run; keep its connection open and free of other results, and what it reads in place"
)
_INTERRUPTED: Final = "Query interrupted"

# Whatever the connection's settings of Arrow are, these arrive as the text that DuckDB itself writes: numbers of more
# digits than Arrow's decimals hold, and bytes of which only DuckDB knows the meaning.
_AS_TEXT: Final = frozenset({"hugeint", "uhugeint", "bignum", "varint", "uuid", "bit"})
_HELD_BY: Final[dict[Held, tuple[str, ...]]] = {
    "several": ("list", "array", "struct", "map", "union", "variant"),
    "none": ("time", "time with time zone", "time_ns", "interval"),
    "moments": ("date", "timestamp", "timestamp with time zone", "timestamp_s", "timestamp_ms", "timestamp_ns"),
    "numbers": (
        "boolean",
        "tinyint",
        "smallint",
        "integer",
        "bigint",
        "hugeint",
        "decimal",
        "utinyint",
        "usmallint",
        "uinteger",
        "ubigint",
        "uhugeint",
        "float",
        "double",
    ),
}
_HELD: Final = {name: held for held, names in _HELD_BY.items() for name in names}


class RelationReader:
    """Read a DuckDB relation, batch by batch, in the order that DuckDB gives."""

    def __init__(self, relation: "duckdb.DuckDBPyRelation") -> None:
        if not _has_arrow():
            raise not_installed("DuckDB hands rows over by PyArrow", "duckdb")
        self._relation = relation
        self.kind: Literal["duckdb", "polars"] = "duckdb"
        self.known_rows: int | None = None
        self.names: list[str] = guarded(_WHAT, lambda: list(relation.columns))
        self._types: dict[str, str] = dict(
            zip(self.names, guarded(_WHAT, lambda: [each.id for each in relation.types]), strict=True)
        )

    @property
    def held(self) -> dict[str, Held]:
        """What the type of each column says of its cells."""
        return {name: _HELD.get(kind, "any") for name, kind in self._types.items()}

    def check_case(self, wanted: Sequence[str]) -> None:
        """Refuse names that another column has in another case: in SQL they are one."""
        folded = Counter(name.lower() for name in self.names)
        for name in wanted:
            if folded[name.lower()] > 1:
                raise DataError(
                    f"the relation has a column that differs from {quote(name)} in case alone; rename or drop it",
                    code="LW105",
                )

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        reader = guarded(_WHAT, lambda: _interruptible(lambda: self._stream(columns, rows)))
        try:
            while (batch := guarded(_WHAT, lambda: _interruptible(lambda: next(reader, None)))) is not None:
                yield from batch_chunks(batch, columns, rows)
        finally:
            # The connection takes no other query while a result is open.
            guarded(_WHAT, reader.close)

    def _stream(self, columns: Sequence[str], rows: int) -> "pa.RecordBatchReader":
        selected: Any = self._relation.project(", ".join(self._expression(name) for name in columns))
        if list(selected.columns) != list(columns):
            raise DataError(
                "the DuckDB relation's columns changed or have names that SQL reads otherwise; rename them",
                code="LW105",
            )
        open_stream = getattr(selected, "to_arrow_reader", None) or selected.fetch_record_batch  # the latter before 1.5
        stream: pa.RecordBatchReader = open_stream(rows)
        return stream

    def _expression(self, name: str) -> str:
        column = sql_name(name)
        kind = self._types[name]
        if kind in _AS_TEXT:
            return f"CAST({column} AS VARCHAR) AS {column}"
        if kind == "time with time zone":  # no field holds a time of day, and Arrow has none with a zone
            return f"CAST({column} AS TIME) AS {column}"
        return column


def _has_arrow() -> bool:
    try:
        import pyarrow  # noqa: F401, PLC0415 - the user's own
    except ImportError:
        return False
    return True


def _interruptible(work: Callable[[], T]) -> T:
    """Run a query; where Ctrl-C ends it, which DuckDB tells as an error of its own, let it be what it is."""
    try:
        return work()
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
    raise KeyboardInterrupt


_listed = partial(names_in_short, most=5)


_Fields = Mapping[str, Field | None]
"""The fields of the columns that are read, where their types are to be looked at."""


class EngineReader(Protocol):
    """A table whose rows an engine keeps, codes and counts."""

    kind: Literal["spark"]
    known_rows: int | None

    @property
    def names(self) -> list[str]:
        """The names of all columns."""

    @property
    def held(self) -> dict[str, Held]:
        """What the type of each column says of its cells."""

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""


RowReader = FrameReader | LazyReader | FilesReader | RelationReader | DatasetReader | EngineReader
"""A table that can be read, again and again, in one stable order: at least one and at most so many rows at a time.

Its `kind` is what the user's table is; `known_rows`, where they can be had without reading it, are private.
"""


def open_table(
    data: object, schema: Schema, columns: Sequence[str] | None = None, *, is_paid: bool = False
) -> RowReader:
    """Return a reader of a table that has every column that the schema models; no other column is ever read.

    columns: those that are read, by default those that the schema models and its privacy unit; is_paid: whether the
    rows will be paid for, so that columns of which no cell can fit, by their types, are refused; a path may be a file,
    a folder, or a pattern such as ``data/*.parquet``.

    >>> schema = Schema.from_dict({"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"]}]})
    >>> open_table(pl.DataFrame({"age": [3]}), schema)
    Traceback (most recent call last):
    lapwing.errors.DataError: the table has no column "sex"; rename its columns, or rename or drop the field
    `lapwing explain LW104` says why, and what to do
    """
    wanted = list(dict.fromkeys(read_columns(schema) if columns is None else columns))
    fields = {field.name: field if is_paid else None for field in schema.fields if field.name in wanted}
    if isinstance(data, Query):
        reader = _open_frame(query_rows(data), wanted, fields)
        assert isinstance(reader, FrameReader | RelationReader)
        reader.kind = "polars"
        return reader
    paths = data if isinstance(data, list | tuple) else [data]
    if not paths or not all(isinstance(part, str | os.PathLike) for part in paths):
        return _open_frame(data, wanted, fields)
    remote = addresses(paths)
    return _open_remote(remote, wanted, fields) if remote else _open_files(data, wanted, schema, fields)


def _open_remote(found: list[str], wanted: list[str], fields: _Fields) -> RowReader:
    query, what = stored_rows(found)
    types = guarded(what, query.collect_schema)
    _check_names(types.names(), wanted, "the table")
    _check_types({name: polars_held(dtype) for name, dtype in types.items()}, fields)
    return LazyReader(query, what)


def _open_files(source: Any, wanted: list[str], schema: Schema, fields: _Fields) -> RowReader:  # noqa: ANN401 - checked by the caller
    paths = find_files(source)
    stamps = FileStamps(paths)
    names = schema.dialect.names or [field.name for field in schema.fields]
    listed = {field.name: (*field.special, *(field.categories or ())) for field in schema.fields}
    files = [open_file(path, schema.dialect, names, listed) for path in paths]
    for file in files:
        name = f"file {quote(str(file.path))}"
        fault = None if set(wanted) <= set(file.names) else header_fault(file)
        if fault is not None:
            raise DataError(f"{name} {fault}", code="LW116")
        _check_names(file.names, wanted, name)
        _check_types(file.held, fields)
    return FilesReader(files, stamps)


def _open_frame(data: Any, wanted: list[str], fields: _Fields) -> RowReader:  # noqa: ANN401 - that is what is found out here
    if type(data).__module__.startswith("narwhals."):
        data = guarded("the table cannot be unwrapped", data.to_native)
    reader, names, held = _opened(at_hand(data))
    _check_names(names, wanted, "the table")
    _check_types(held, fields)
    if isinstance(reader, RelationReader):
        reader.check_case(wanted)
    return reader


_KNOWN: Final = frozenset({"pandas", "polars", "pyarrow", "duckdb", "_duckdb", "pyspark", "narwhals"})


def at_hand(data: object) -> Any:  # noqa: ANN401 - the same, or a PyArrow table
    """Return a table as it is; a stream of Arrow from a library that is not known is read into memory, once."""
    packages = {kind.__module__.partition(".")[0] for kind in type(data).__mro__}
    if isinstance(data, type) or not hasattr(data, "__arrow_c_stream__") or packages & _KNOWN:
        return data
    if not _has_arrow():
        raise not_installed("a stream of Arrow is read by PyArrow", "connect")
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    return guarded("the stream of Arrow cannot be read", lambda: pa.table(data))


def _opened(data: Any) -> tuple[RowReader, Sequence[Any], dict[Any, Held]]:  # noqa: ANN401 - that is what is found out here
    """Return a reader of a frame, the names of its columns, and what their types say of the cells."""
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        what = "the lazy frame cannot be run"
        schema = data.schema if isinstance(data, pl.DataFrame) else guarded(what, data.collect_schema)
        frame = polars_reader(data) if isinstance(data, pl.DataFrame) else LazyReader(data, what)
        return frame, schema.names(), {name: polars_held(dtype) for name, dtype in schema.items()}
    if is_a(data, "pandas", {"DataFrame"}):
        types = zip(data.columns, data.dtypes, strict=True)
        return pandas_reader(data), list(data.columns), {name: pandas_held(dtype) for name, dtype in types}
    if is_a(data, "pyarrow", {"RecordBatch", "Table"}):
        table = as_table(data)
        return arrow_reader(table), table.schema.names, {each.name: arrow_held(each.type) for each in table.schema}
    reader = _engine_reader(data)
    return reader, reader.names, reader.held


def _engine_reader(data: Any) -> "RelationReader | DatasetReader | EngineReader":  # noqa: ANN401
    """Return the reader of a table that its own library runs."""
    if _is_relation(data, "DuckDBPyRelation"):
        return RelationReader(data)
    if is_a(data, "pyarrow", {"Dataset"}):
        return DatasetReader(data)
    if not is_a(data, "pyspark", {"DataFrame"}):
        raise DataError(_no_table(data), code="LW108")
    if type(data).__module__.startswith("pyspark.pandas."):
        data = guarded("the Spark frame cannot be used", data.to_spark)
    reader: EngineReader = extra("Spark").SparkReader(data)
    return reader


def _is_relation(data: object, name: str) -> bool:
    return is_a(data, "duckdb", {name}) or is_a(data, "_duckdb", {name})


def _no_table(data: object) -> str:
    """Say what is wrong with data that is no table."""
    if _is_relation(data, "DuckDBPyConnection"):
        return "a DuckDB connection is no table; give a relation, such as connection.sql(...) or connection.table(...)"
    if is_a(data, "pyarrow", {"RecordBatchReader", "Scanner"}):
        return (
            f"a PyArrow {type(data).__name__} can be read once, and a release reads its rows several times; "
            "give a dataset, or the table that read_all() or to_table() returns"
        )
    return (
        f"data of type {type(data).__name__} is not a table; give a pandas, Polars, PyArrow, DuckDB or Spark table, "
        ", a lapwing.Query, or the path of a .parquet or .csv file"
    )


def is_a(data: object, package: str, names: set[str]) -> bool:
    """Return whether an object is one of another package's tables, without importing that package."""
    return any(kind.__name__ in names and kind.__module__.partition(".")[0] == package for kind in type(data).__mro__)


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
    frame = nw.from_native(rows, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or frame.implementation is not column.implementation:
        raise ParameterError("y goes with a frame in memory of the same library as X; put it into X", code="LW304")
    if name in frame.columns:
        raise ParameterError("X has a column of y's name already; leave y out, or drop it from X", code="LW304")
    if len(frame) != len(column):
        raise DataError("X and y have different numbers of rows; give both of the same rows", code="LW103")
    return guarded("X and y cannot be put together", lambda: frame.with_columns(column).to_native())
