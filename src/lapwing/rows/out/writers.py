"""Synthetic rows: in the kind or layout of a frame, or streamed to a file or folder. Sees no private row."""

import contextlib
import gzip
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from lapwing.atomic import unwritable
from lapwing.errors import LapwingError
from lapwing.on_demand import extra
from lapwing.rows.out.decode import decode_column
from lapwing.rows.out.outputs import STATISTICS, Format, part_name
from lapwing.rows.threads import in_order
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from lapwing.rows.kinds import FrameLayout, Kind


def to_frame_kind(frame: pl.DataFrame, kind: "Kind") -> Any:  # noqa: ANN401 - a frame of the user's own library
    """Return a frame as the library of the user's own table knows it.

    ``path`` gives Polars, ``duckdb`` PyArrow, ``spark`` pandas (large tables are drawn by its executors
    instead). Pandas gets the nullable types Int64, Float64, boolean and string, and datetime64[us] for dates and
    moments; without need of PyArrow.

    >>> to_frame_kind(pl.DataFrame({"a": [1, None]}), "pandas").dtypes["a"]
    Int64Dtype()
    """
    with library_of(kind):
        if kind in {"pandas", "spark"}:
            import pandas as pd  # noqa: PLC0415 - the user's own

            return pd.DataFrame({column.name: _pandas_column(column) for column in frame.get_columns()})
        if kind in {"pyarrow", "duckdb"}:
            return frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return frame


@contextlib.contextmanager
def library_of(kind: "Kind") -> Iterator[None]:
    """Say which library frames of a kind need, where it is not installed."""
    missing = None
    try:
        yield
    except ModuleNotFoundError as error:
        missing = error.name or kind
    if missing is not None:
        raise LapwingError(
            f"frames of kind {kind!r} need {missing}, which is not installed; install it, or load "
            "the release with kind='polars'",
            code="LW701",
        )


def write_rows(
    frames: Iterator[pl.DataFrame],
    path: Path,
    format: Format,
    *,
    fields: Sequence[Field] = (),
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write frames, at least one, to one file, without holding them all but in one of SPSS or Stata.

    fields: whose labels the latter get; metadata: for a Parquet file, as others have no place for it.
    """
    first = next(frames, None)
    assert first is not None, "there is at least one frame, without rows if need be"
    writers: dict[Format, Callable[..., None]] = {
        "parquet": partial(_write_parquet, metadata),
        "csv": partial(_write_csv, False),
        "csv.gz": partial(_write_csv, True),
        **dict.fromkeys(STATISTICS, partial(_write_statistics, format, fields)),
    }
    write = writers[format]
    try:
        path.open("wb").close()  # Polars would not say why it cannot
        write(first, frames, path)
    except (OSError, pl.exceptions.ComputeError) as error:
        reason = _reason(error)
    else:
        return
    raise unwritable(path, reason)


def write_parts(
    frame: Callable[[int], pl.DataFrame], count: int, folder: Path, *, frames_per_file: int, threads: int
) -> None:
    """Write `count` frames to a folder as ``part-00000.parquet`` and on; each thread holds one frame at a time."""
    is_over = threading.Event()

    def frames_of(part: int) -> Iterator[pl.DataFrame]:
        for number in range(part * frames_per_file, min((part + 1) * frames_per_file, count)):
            # The first frame is always made, as a file needs its types.
            if not is_over.is_set() or number == part * frames_per_file:
                yield frame(number)

    def write(part: int) -> None:
        write_rows(frames_of(part), folder / part_name(part), "parquet")

    for _ in in_order(write, range(-(-count // frames_per_file)), threads=threads, is_over=is_over):
        pass


def _reason(error: OSError | pl.exceptions.ComputeError) -> str:
    """Return the system's reason, which Polars passes on only as a number inside its message."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    number = re.search(r"os error (\d+)", str(error))
    return os.strerror(int(number[1])) if number else type(error).__name__


def _write_csv(is_zipped: bool, first: pl.DataFrame, frames: Iterator[pl.DataFrame], path: Path) -> None:
    with contextlib.ExitStack() as opened:
        stream: Any = opened.enter_context(path.open("wb"))
        if is_zipped:  # without name and time, so that equal rows are equal files
            stream = opened.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0))
        first.write_csv(stream)
        for frame in frames:
            frame.write_csv(stream, include_header=False)


def _write_statistics(
    format: Format, fields: Sequence[Field], first: pl.DataFrame, frames: Iterator[pl.DataFrame], path: Path
) -> None:
    extra("statistics rows").write_statistics(chain((first,), frames), path, f".{format}", fields)


def _write_parquet(
    metadata: Mapping[str, str] | None, first: pl.DataFrame, frames: Iterator[pl.DataFrame], path: Path
) -> None:
    everything = chain((first,), frames)

    def source(*_: object) -> Iterator[pl.DataFrame]:
        # Polars offers to leave out rows and columns, which a sink of everything never asks for.
        yield from everything

    register_io_source(source, schema=first.schema).sink_parquet(
        path, metadata=None if metadata is None else dict(metadata)
    )


def _pandas_column(column: pl.Series) -> Any:  # noqa: ANN401 - a pandas array, which has no static type
    dtype = column.dtype
    if dtype.is_temporal():
        return column.cast(pl.Datetime("us")).to_numpy().astype("datetime64[us]")
    kinds = ((dtype == pl.Boolean, "bool"), (dtype.is_integer(), "int64"), (dtype.is_float(), "float64"))
    return nullable(column, next((scalar for is_so, scalar in kinds if is_so), "string"))


def nullable(column: pl.Series, scalar: str) -> Any:  # noqa: ANN401 - a pandas array, which has no static type
    """Return cells that are not times as a nullable array of pandas, of a type in NumPy's words."""
    import pandas as pd  # noqa: PLC0415 - the user's own

    if scalar == "string":
        return pd.array(column.cast(pl.String).to_list(), dtype="string")
    filled = column.fill_null(value=False) if scalar == "bool" else column.fill_null(0)
    arrays = {"b": pd.arrays.BooleanArray, "f": pd.arrays.FloatingArray}
    made = arrays.get(scalar[0], pd.arrays.IntegerArray)
    return made(filled.to_numpy().astype(scalar), column.is_null().to_numpy().copy())


# -- In the layout of a frame: its library, order, types and sign of what is missing.


_MOST_CATEGORIES: Final = 2**16
"""Of a column that holds a range rather than a list."""

_WHOLE: Final = re.compile(r"u?int(8|16|32|64)")
_MOMENT: Final = re.compile(r"(?:datetime64|Datetime|timestamp)\[(s|ms|us|ns)(?:, ([^]]+))?\]")
_DECIMAL: Final = re.compile(r"[Dd]ecimal(?:128|256)?\((\d+), (\d+)\)")
_EXACT: Final = 2**53  # whole numbers up to here are floats
_MOST_DIGITS: Final = 38
_EXACT_SHORT: Final = 2**24  # of 32 bits
_MOST_MICROSECONDS: Final = np.iinfo(np.int64).max // 1000
"""Of moments that are counted in nanoseconds."""


def to_layout(frame: pl.DataFrame, layout: "FrameLayout", schema: Schema) -> Any:  # noqa: ANN401 - a frame of any library
    """Return rows of a schema as a frame of a layout, whose types are a function of layout and schema alone.

    A type that does not hold every value of the schema's column gives way to a wider one, and one of another sort to
    the one that the schema gives. NumPy's types are chosen by the schema, since pandas changes them where cells are
    missing: whole numbers are int64, or what a frame of this layout has, where they are required, float64 with NaN
    elsewhere (Int64 where the schema goes beyond 2**53); Booleans are bool, or object.
    """
    if not layout.dtypes:
        return to_frame_kind(frame, layout.kind)
    fields = {field.name: field for field in schema.fields}
    first = [name for name in layout.dtypes if name in fields]
    columns = {
        name: _Column(frame[name], fields[name], layout.dtypes.get(name, ""))
        for name in (*first, *(name for name in fields if name not in first))
    }
    with library_of(layout.kind):
        if layout.kind == "pandas":
            import pandas as pd  # noqa: PLC0415 - the user's own

            return pd.DataFrame({name: _in_pandas(column) for name, column in columns.items()})
        if layout.kind == "pyarrow":
            import pyarrow as pa  # noqa: PLC0415 - the user's own

            return pa.table({name: _in_arrow(column) for name, column in columns.items()})
    return pl.DataFrame({name: _in_polars(column) for name, column in columns.items()})


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """The cells of a column, its field, its type in the layout, and whether they are rows rather than a list."""

    cells: pl.Series
    field: Field
    declared: str
    are_rows: bool = True

    @property
    def may_miss(self) -> bool:
        """Whether a cell may be missing; identifiers are fresh numbers."""
        return self.are_rows and not (self.field.required or self.field.identifier)

    @property
    def values(self) -> pl.Series | None:
        """Every value, in the schema's order, where the schema gives a list or a short range."""
        if self.field.identifier:
            return None
        codes = self.field.domain.values + len(self.field.special)
        if not self.field.is_categorical and (self.field.domain.continuous or codes > _MOST_CATEGORIES):
            return None
        return decode_column(self.field, np.arange(codes)).unique(maintain_order=True)

    @property
    def places(self) -> pl.Series:
        """Where among these values the cells are; null where they are missing."""
        values = self.values
        assert values is not None, "asked only where there is a list"
        places = pl.Series(range(values.len()), dtype=pl.Int32)
        return self.cells.replace_strict(values, places, return_dtype=pl.Int32)

    def ends(self) -> pl.Series:
        """Return values of the schema's column of which one is its smallest and one its largest."""
        domain = self.field.domain
        special = range(domain.values, domain.values + len(self.field.special))
        regular = range(domain.values) if self.field.is_categorical else (0, domain.values - 1)
        return decode_column(self.field, np.array([*regular, *special]))

    @property
    def scalar(self) -> str:
        """The type of numbers, of true and false, or of text, in NumPy's words."""
        dtype, declared = self.cells.dtype, self.declared.removesuffix("[pyarrow]").lower()
        if dtype == pl.Boolean:
            return "bool"
        if not dtype.is_numeric():
            return "string"
        if declared in {"float", "float32", "float16", "halffloat"} and self._holds("float32"):
            return "float32"
        if dtype.is_float():
            return "float64"
        return declared if _WHOLE.fullmatch(declared) and self._holds(declared) else "int64"

    def _holds(self, kind: str) -> bool:
        """Return whether a type holds the schema's values, and tells them apart; fresh numbers have no limit."""
        if self.field.identifier:
            return False
        ends = self.ends().to_list()
        if kind != "float32":
            return bool(np.iinfo(kind).min <= min(ends) and max(ends) <= np.iinfo(kind).max)
        with np.errstate(over="ignore"):
            short = dict(zip(np.array(ends).astype("float32").tolist(), ends, strict=True))
        if len(short) < len({*ends}) or any(each == int(each) != found for found, each in short.items()):
            return False
        steps = 0 if self.field.is_categorical or self.field.domain.continuous else self.field.domain.values - 1
        return steps == 0 or bool(steps * max(map(abs, ends)) <= _EXACT_SHORT * abs(ends[1] - ends[0]))

    @property
    def decimal(self) -> pl.Decimal | None:
        """The layout's decimals; None where it has none here, or they do not hold the schema's values."""
        found = _DECIMAL.match(self.declared)
        if found is None or not self.cells.dtype.is_numeric() or self.field.identifier:
            return None
        digits, places = int(found[1]), int(found[2])
        holds = digits <= _MOST_DIGITS and max(map(abs, self.ends().to_list())) < 10 ** (digits - places) - 1
        return pl.Decimal(digits, places) if holds else None

    @property
    def fits_float(self) -> bool:
        """Whether each whole number of the schema's column is a float of 64 bits."""
        return all(abs(value) <= _EXACT for value in self.ends().to_list())

    @property
    def moment(self) -> tuple[str, str | None] | None:
        """Unit and zone of the layout's moments; None where it has none here."""
        found = _MOMENT.match(self.declared)
        if found is None or not self.cells.dtype.is_temporal():
            return None
        ends = self.ends().cast(pl.Datetime("us")).to_physical().abs()
        return "us" if found[1] == "ns" and (ends > _MOST_MICROSECONDS).any() else found[1], found[2]


def _in_polars(column: _Column) -> pl.Series:
    cells, declared = column.cells, column.declared
    is_listed = declared in {"Categorical", "Enum"} and cells.dtype != pl.Boolean
    if is_listed and (values := column.values) is not None:
        kind = pl.Enum(values.cast(pl.String)) if declared == "Enum" else pl.Categorical()
        return cells.cast(pl.String).cast(kind)
    if column.moment is not None:
        unit, zone = column.moment
        cells = cells.cast(pl.Datetime(unit))  # type: ignore[arg-type] # Polars has no other units
        return cells if zone is None else cells.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    if cells.dtype.is_temporal() or cells.dtype == pl.String:
        return cells
    if column.decimal is not None:
        return cells.cast(column.decimal)
    kinds = {"bool": pl.Boolean, "float32": pl.Float32, "float64": pl.Float64}
    whole = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
    return cells.cast({**kinds, **{kind.__name__.lower(): kind for kind in whole}}[column.scalar])


def _in_arrow(column: _Column) -> "pa.ChunkedArray":
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    is_ordered, is_listed, of = column.declared.removesuffix("[pyarrow]").rpartition("dictionary of ")
    if is_listed and (values := column.values) is not None:
        listed = _in_arrow(replace(column, cells=values, declared=of)).combine_chunks()
        ordered = bool(is_ordered) and column.field.ordered
        return pa.chunked_array([pa.DictionaryArray.from_arrays(column.places.to_arrow(), listed, ordered=ordered)])
    found = column.cells.to_frame().to_arrow(compat_level=pl.CompatLevel.oldest()).column(0)
    if column.moment is not None:
        return found.cast(pa.timestamp(*column.moment))
    if column.cells.dtype.is_temporal():
        is_date = column.cells.dtype == pl.Date and of.startswith("date")
        return found.cast(pa.type_for_alias(of)) if is_date else found
    if column.decimal is not None:
        return column.cells.cast(column.decimal).to_frame().to_arrow(compat_level=pl.CompatLevel.oldest()).column(0)
    named = of if column.scalar == "string" and of in {"large_string", "string_view"} else column.scalar
    return found.cast(pa.type_for_alias(named))


def _in_pandas(column: _Column) -> Any:  # noqa: ANN401 - a pandas array, which has no static type
    import pandas as pd  # noqa: PLC0415 - the user's own

    is_ordered, is_listed, of = column.declared.rpartition("category of ")
    column = replace(column, declared=of)
    if is_listed and (values := column.values) is not None:
        listed = pd.Index(_in_pandas(replace(column, cells=values, are_rows=False)))
        kind = pd.CategoricalDtype(listed, ordered=bool(is_ordered) and column.field.ordered)
        return pd.Categorical.from_codes(column.places.fill_null(-1).to_numpy(), dtype=kind)
    if of.endswith("[pyarrow]"):
        return pd.arrays.ArrowExtensionArray(_in_arrow(column))
    if column.cells.dtype.is_temporal():
        unit, zone = column.moment or ("us", None)
        times = pd.Series(column.cells.cast(pl.Datetime("us")).to_numpy().astype(f"datetime64[{unit}]"))
        return times if zone is None else times.dt.tz_localize("UTC").dt.tz_convert(zone)
    is_nullable = of[:1].isupper() or of in {"boolean", "string"}
    return nullable(column.cells, column.scalar) if is_nullable else _in_numpy(column)


def _in_numpy(column: _Column) -> Any:  # noqa: ANN401 - a NumPy or pandas array
    import pandas as pd  # noqa: PLC0415 - the user's own

    scalar, cells = column.scalar, column.cells
    if scalar == "string":
        given = np.array([np.nan if cell is None else cell for cell in cells.to_list()], dtype=object)
        return pd.array(given, dtype=pd.Series([""]).dtype)  # text, as this version of pandas has it
    if scalar == "bool" and column.may_miss:
        return np.array([np.nan if cell is None else cell for cell in cells.to_list()], dtype=object)
    if scalar != "bool" and not scalar.startswith("float"):
        if column.may_miss and not column.fits_float:
            return nullable(cells, "int64")  # beyond 2**53 a float would be another number
        scalar = "float64" if column.may_miss else scalar
    if scalar.startswith("float"):
        return cells.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(scalar)
    return cells.to_numpy().astype(scalar)
