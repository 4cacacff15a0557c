"""Readers of Polars, PyArrow and pandas tables; the last two are imported when a table of theirs comes."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np
import polars as pl

from lapwing.errors import DataError
from lapwing.rows.cells import (
    DAY_MICROSECONDS,
    UNREADABLE,
    Numbers,
    RawColumn,
    Texts,
    Times,
    decimals,
    misfits,
    texts,
    widen_floats,
)
from lapwing.rows.guard import native_silence, run_guarded
from lapwing.rows.kinds import Held
from lapwing.schema.scalars import quote

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


T = TypeVar("T")

# Beyond these counts (about 270,000 years) microseconds would overflow.
_MOST_DAYS: Final = 10**8
_MOST_MILLISECONDS: Final = 9 * 10**15
_FIRST_CLOCK, _LAST_CLOCK = (int(np.datetime64(day, "us").astype(np.int64)) for day in ("0002-01-01", "9998-12-31"))

_JOINED_ROWS: Final = 2**14
"""Smaller batches, as those of many small files, are put together: each costs as much as thousands of rows."""


Types = Sequence[tuple[Any, Held]]
"""The names of columns, and what the type of each says of its cells."""


class FrameReader:
    """Read a table in memory: `cells` gives those of a column from a row on, so many at most."""

    def __init__(self, rows: int, cells: Callable[[str, int, int], RawColumn], types: Callable[[], Types]) -> None:
        self.known_rows: int | None = rows
        self._rows = rows
        self._cells = cells
        self._types = types  # of each batch there is a reader, whose types nobody asks for

    @property
    def types(self) -> Types:
        """The columns."""
        return self._types()

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        for start in range(0, self._rows, rows):
            yield {name: run_guarded(unreadable(name), partial(self._cells, name, start, rows)) for name in columns}


def polars_reader(frame: pl.DataFrame) -> FrameReader:
    """Return a reader of a Polars frame."""
    own = frame.clone()  # shares all cells, and stays as it is where the user's own is changed in place
    return FrameReader(
        own.height,
        lambda name, start, rows: series_cells(own.get_column(name).slice(start, rows)),
        lambda: _polars_types(own.schema),
    )


def _polars_types(schema: pl.Schema) -> Types:
    return [(name, polars_held(dtype)) for name, dtype in schema.items()]


def arrow_reader(table: "pa.Table") -> FrameReader:
    """Return a reader of a PyArrow table."""
    return FrameReader(
        table.num_rows,
        lambda name, start, rows: arrow_cells(table.column(name).slice(start, rows)),
        lambda: arrow_types(table.schema),
    )


def batch_reader(batch: "pa.RecordBatch") -> FrameReader:
    """Return a reader of a PyArrow batch."""
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    return arrow_reader(pa.Table.from_batches([batch]))


def arrow_types(schema: "pa.Schema") -> Types:
    """Return names and types of the columns of a PyArrow table."""
    return [(each.name, arrow_held(each.type)) for each in schema]


def batch_chunks(batch: "pa.RecordBatch", columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
    """Yield the cells of a PyArrow batch, at most `rows` rows at a time."""
    return batch_reader(batch).chunks(columns, rows)


def pandas_reader(frame: "pd.DataFrame") -> FrameReader:
    """Return a reader of a pandas frame."""
    # Shares all cells. From pandas 3 on it stays as it is where the user's own is changed in place.
    own = frame.copy(deep=False)
    return FrameReader(
        len(own),
        lambda name, start, rows: pandas_cells(own[name].iloc[start : start + rows]),
        lambda: [(name, pandas_held(dtype)) for name, dtype in zip(own.columns, own.dtypes, strict=True)],
    )


class LazyReader:
    """Read a Polars query batch by batch; every pass runs it anew."""

    def __init__(self, query: pl.LazyFrame, what: str = "the lazy frame cannot be run") -> None:
        self._query = query
        self._what = what
        self.known_rows: int | None = None

    @property
    def schema(self) -> pl.Schema:
        """Names and types as Polars has them."""
        return run_guarded(self._what, self._query.collect_schema)

    @property
    def types(self) -> Types:
        """The columns."""
        return _polars_types(self.schema)

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells in the order of the query, at most `rows` rows at a time."""
        query = self._query.select(columns)
        with native_silence():  # also between batches, when threads of Polars read on
            # Batches as they come: asking for a size makes Polars copy every one of them.
            batches = run_guarded(self._what, lambda: query.collect_batches(lazy=True))
            while (batch := run_guarded(self._what, lambda: _joined(batches, min(rows, _JOINED_ROWS)))) is not None:
                yield from polars_reader(batch).chunks(columns, rows)


_SCAN: Final = re.compile(r" SCAN \[(.+?)(, \.\.\. \d+ other sources?)?\]$", re.MULTILINE)
_STORED_PATH: Final = re.compile(rb"\xa5inner(?:[\xa0-\xbf]|\xd9(.)|\xda(..))", re.DOTALL)
"""How a path begins in a stored query, which is MessagePack; cells of frames never stand there like this."""


def scanned_files(query: pl.LazyFrame) -> list[str] | None:
    """Return the files that a query scans, None where they cannot be told; its plan names the first of many."""
    try:
        plan = run_guarded("the plan cannot be told", lambda: query.explain(optimized=False))
    except DataError:
        return []  # it is refused where its columns are asked for
    scans = _SCAN.findall(plan)
    found = [each for names, _ in scans for each in (names, *names.split(", "))]
    has_others = any(others for _, others in scans)
    stored = _stored_paths(query) if has_others else []
    if len(scans) < plan.count(" SCAN [") or (has_others and not stored):  # scans by Python, as of datasets, name none
        return None
    return [each.removeprefix("file://") for each in (*found, *stored)]


def _stored_paths(query: pl.LazyFrame) -> list[str]:
    """Return the paths that a query is stored with, none if it cannot be stored."""
    try:
        stored = run_guarded("the query cannot be stored", query.serialize)
    except DataError:
        return []
    paths = []
    for head in _STORED_PATH.finditer(stored):
        long = head[1] or head[2]
        size = int.from_bytes(long, "big") if long else stored[head.end() - 1] - 0xA0
        paths.append(os.fsdecode(stored[head.end() : head.end() + size]))
    return paths


def _joined(batches: Iterator[pl.DataFrame], least: int) -> pl.DataFrame | None:
    """Return the next batches as one of at least so many rows, or all that are left; None where there is none."""
    found: list[pl.DataFrame] = []
    height = 0
    while height < least and (batch := next(batches, None)) is not None:
        found.append(batch)
        height += batch.height
    return pl.concat(found) if found else None


def unreadable(name: str) -> str:
    """Return the start of the error sentence for a column that another library cannot hand over."""
    return f"column {quote(name)} cannot be read; convert it to plain numbers or text"


def on_column(name: str, work: Callable[[RawColumn], T], cells: RawColumn) -> T:
    """Do something with the cells of a column, and let no cell out through an exception."""
    return run_guarded(unreadable(name), lambda: work(cells))


def series_cells(column: pl.Series) -> RawColumn:
    """Return a Polars column as raw cells; types without a rule of their own are read cell by cell."""
    dtype = column.dtype
    if dtype == pl.Boolean:
        return Numbers(_filled(column, value=False), _nulls(column))
    if dtype in {pl.Float64, pl.Float32, pl.Float16}:
        # NaN and null are both misfits, so nulls need no mask.
        return Numbers(widen_floats(_filled(column, np.nan)))
    if dtype in {pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32}:
        return Numbers(_filled(column, 0).astype(np.int64), _nulls(column))
    if dtype == pl.UInt64:
        return Numbers(_filled(column, 0), _nulls(column))
    if dtype == pl.String:
        return Texts(column)
    return _rarer_cells(column)


def _rarer_cells(column: pl.Series) -> RawColumn:
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime):
        found, zone = to_microseconds(_filled(column.to_physical(), 0), dtype.time_unit), dtype.time_zone
        if zone is None:
            return Times(found, _nulls(column))

        def clock(moments: np.ndarray) -> np.ndarray:
            utc = pl.Series(moments).cast(pl.Datetime("us", "UTC"))
            return utc.dt.convert_time_zone(zone).dt.replace_time_zone(None).to_physical().to_numpy()

        return Times(found, _nulls(column), own_clock(found, clock))
    if dtype == pl.Date:
        days = _filled(column.to_physical().cast(pl.Int64), 0)
        return Times(np.clip(days, -_MOST_DAYS, _MOST_DAYS) * DAY_MICROSECONDS, _nulls(column))
    if isinstance(dtype, pl.Categorical | pl.Enum) or dtype in {pl.Int128, pl.UInt128}:
        return Texts(column.cast(pl.String))
    if dtype.is_decimal():
        return decimals(column.cast(pl.String))
    if isinstance(dtype, pl.Duration | pl.Time):
        # As Python objects some of them would overflow.
        return misfits(column)
    return texts(column.to_list())


def _filled(column: pl.Series, value: float) -> np.ndarray:
    # Filling runs a whole query, even where nothing is to be filled.
    return (column.fill_null(value) if column.null_count() else column).to_numpy()


def _nulls(column: pl.Series) -> np.ndarray | None:
    return column.is_null().to_numpy() if column.null_count() else None


def to_microseconds(times: np.ndarray, unit: str) -> np.ndarray:
    """Return int64 counts of a unit as microseconds, rounded down, extreme ones cut off."""
    if unit == "us":
        return times
    if unit == "ns":
        return times // 1000
    per_unit = 1000 if unit == "ms" else 1_000_000
    most = _MOST_MILLISECONDS * 1000 // per_unit
    scaled: np.ndarray = np.clip(times, -most, most) * per_unit
    return scaled


def arrow_cells(column: "pa.ChunkedArray") -> RawColumn:
    """Return a PyArrow column of a type that is not nested as raw cells."""
    import pyarrow as pa  # noqa: PLC0415 - the user's own
    import pyarrow.compute as pc  # noqa: PLC0415

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _extended_cells(column)
    if pa.types.is_dictionary(kind):
        return arrow_cells(column.cast(kind.value_type))
    if pa.types.is_run_end_encoded(kind):
        return arrow_cells(pa.chunked_array([pc.run_end_decode(each) for each in column.chunks], kind.value_type))
    if pa.types.is_decimal(kind):
        return decimals(_imported(column.cast(pa.string())))
    if pa.types.is_interval(kind):
        return texts(column.to_pylist())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return _zoned_arrow(column)
    if _is_text(kind):
        return _arrow_texts(column)
    return series_cells(_imported(column))


def arrow_series(column: "pa.ChunkedArray") -> pl.Series:
    """Return a PyArrow column as one of Polars, in which text that is no text stands for its bytes."""
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return _arrow_texts(column.cast(kind)).values if _is_text(kind) else _imported(column)


def _is_text(kind: Any) -> bool:  # noqa: ANN401 - a pyarrow DataType, which has no static type
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _zoned_arrow(column: "pa.ChunkedArray") -> Times:
    """Return moments of a zone; by their own clock too, if PyArrow knows the zone."""
    import pyarrow as pa  # noqa: PLC0415 - the user's own
    import pyarrow.compute as pc  # noqa: PLC0415

    # The same moments in UTC: Polars does not know every name of a zone.
    moments = cast(Times, series_cells(_imported(column.cast(pa.timestamp(column.type.unit)))))

    def clock(moments: np.ndarray) -> np.ndarray:
        shown = pc.local_timestamp(pa.array(moments, pa.timestamp("us", column.type.tz)))
        return np.asarray(shown.cast(pa.int64()).to_numpy())

    with contextlib.suppress(pa.ArrowInvalid):
        return replace(moments, zoned=own_clock(moments.values, clock))
    return moments


def _extended_cells(column: "pa.ChunkedArray") -> RawColumn:
    """Return a column of a type that is made of another one: what it means where that is known, or what is stored."""
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    name = column.type.extension_name
    if name == "arrow.uuid":
        return texts(column.to_pylist())
    stored = column.cast(column.type.storage_type)
    return arrow_cells(stored.cast(pa.bool_()) if name == "arrow.bool8" else stored)


def _arrow_texts(column: "pa.ChunkedArray") -> Texts:
    """Return text; cells whose bytes are no text stand for these bytes."""
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    # Whether all text is UTF-8 PyArrow never checks by itself, and Polars takes on trust.
    with contextlib.suppress(pa.ArrowInvalid):
        column.validate(full=True)
        return Texts(_imported(column))
    stored = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    chunks = [chunk.view(stored[column.type]) for chunk in column.chunks]
    return texts(_imported(pa.chunked_array(chunks)).to_list())


def _imported(column: "pa.ChunkedArray") -> pl.Series:
    found = pl.from_arrow(column)
    assert isinstance(found, pl.Series)
    return found


# -- What a type says of the cells, none of which is looked at.


def polars_held(dtype: Any) -> Held:  # noqa: ANN401 - the class of a type, or one of its values
    """Return what a Polars type says of its cells."""
    if dtype.is_nested():
        return "several"
    if dtype in (pl.Duration, pl.Time):  # no set: their hashes tell units apart
        return "none"
    if dtype.is_temporal():
        return "moments"
    return "numbers" if dtype.is_numeric() or dtype == pl.Boolean else "any"


def arrow_held(kind: Any) -> Held:  # noqa: ANN401 - a pyarrow DataType, which has no static type
    """Return what a PyArrow type says of its cells; several values are also what no library reads cell by cell."""
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    of, is_extended = pa.types, isinstance(kind, pa.BaseExtensionType)
    if is_extended or of.is_dictionary(kind):
        return arrow_held(kind.storage_type if is_extended else kind.value_type)
    if of.is_run_end_encoded(kind):
        return arrow_held(kind.value_type)
    if of.is_nested(kind):
        return "several"
    if of.is_time(kind) or of.is_duration(kind) or of.is_interval(kind):
        return "none"
    if of.is_temporal(kind):
        return "moments"
    is_number = of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind) or of.is_boolean(kind)
    return "numbers" if is_number else "any"


_NUMPY: Final[dict[str, Held]] = dict.fromkeys("mcV", "none")
"""By the letter of a NumPy type. Of the others pandas chooses one by the cells: where one is missing, or is a text."""
_PANDAS: Final[dict[str, Held]] = {"PeriodDtype": "none", "IntervalDtype": "none", "DatetimeTZDtype": "moments"}


def pandas_held(dtype: Any) -> Held:  # noqa: ANN401 - a pandas dtype, which has no static type
    """Return what a pandas type says of its cells."""
    name = type(dtype).__name__
    if name == "CategoricalDtype":
        return pandas_held(dtype.categories.dtype)
    if name == "ArrowDtype":
        return arrow_held(dtype.pyarrow_dtype)
    if name == "SparseDtype":
        return pandas_held(dtype.subtype)
    if isinstance(dtype, np.dtype):
        return "several" if dtype.names is not None else _NUMPY.get(dtype.kind, "any")
    return _PANDAS.get(name, "any")


def pandas_cells(column: "pd.Series") -> RawColumn:
    """Return a pandas column as raw cells; types without a rule of their own are read cell by cell."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return _numpy_cells(column.to_numpy())
    name = type(dtype).__name__
    if name == "CategoricalDtype":
        values = pandas_cells(column.cat.categories.to_series())
        return _take(values, column.cat.codes.to_numpy().astype(np.int64))
    if name == "ArrowDtype" or (name == "StringDtype" and dtype.storage == "pyarrow"):
        import pyarrow as pa  # noqa: PLC0415 - the user's own

        return arrow_cells(pa.chunked_array(column.array.__arrow_array__()))
    if name == "DatetimeTZDtype":
        return _zoned_pandas(column)
    if name == "SparseDtype":
        return _numpy_cells(column.sparse.to_dense().to_numpy())
    if isinstance(getattr(dtype, "numpy_dtype", None), np.dtype):
        kind, nulls = dtype.numpy_dtype, column.isna().to_numpy()
        numbers = _numpy_cells(column.to_numpy(dtype=kind, na_value=kind.type(0)))
        assert isinstance(numbers, Numbers)
        return Numbers(numbers.values, nulls if nulls.any() else None)
    return texts(column.to_numpy(dtype=object))


def _zoned_pandas(column: "pd.Series") -> RawColumn:
    """Return moments of a zone, by their own clock too."""
    import pandas as pd  # noqa: PLC0415 - the user's own

    moments = _numpy_cells(column.dt.tz_convert(None).to_numpy())
    assert isinstance(moments, Times)

    def clock(moments: np.ndarray) -> np.ndarray:
        shown = pd.Series(moments.astype("datetime64[us]")).dt.tz_localize("UTC").dt.tz_convert(column.dt.tz)
        return np.asarray(shown.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(np.int64))

    return replace(moments, zoned=own_clock(moments.values, clock))


def own_clock(moments: np.ndarray, clock: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return what a zone's clock shows at moments; one beyond the years 2 to 9998, where libraries raise, as it is."""
    inside = (moments >= _FIRST_CLOCK) & (moments <= _LAST_CLOCK)
    return np.where(inside, clock(np.where(inside, moments, 0)), moments)


def _numpy_cells(values: np.ndarray) -> RawColumn:
    kind = values.dtype.kind
    if kind == "b":
        return Numbers(values)
    if kind == "f":
        return Numbers(widen_floats(values))
    if kind == "i" or (kind == "u" and values.dtype.itemsize < np.dtype(np.uint64).itemsize):
        return Numbers(values.astype(np.int64, copy=False))
    if kind == "u":
        return Numbers(values)
    if kind == "M":
        missing = np.isnat(values)
        unit = np.datetime_data(values.dtype)[0]
        if unit not in {"s", "ms", "us", "ns"}:
            values, unit = values.astype("datetime64[s]"), "s"
        times = np.where(missing, 0, values.astype(np.int64))
        return Times(to_microseconds(times, unit), missing if missing.any() else None)
    if kind == "O":
        return texts(values)
    return Texts(pl.repeat(UNREADABLE, len(values), dtype=pl.String, eager=True))


def _take(values: RawColumn, positions: np.ndarray) -> RawColumn:
    """Return the cells at given positions; -1 is missing."""
    missing = positions < 0
    if not len(values):
        return Texts(pl.repeat(None, len(positions), dtype=pl.String, eager=True))
    at = np.maximum(positions, 0)
    if isinstance(values, Texts):
        taken, clock = (each.gather(at).set(pl.Series(missing), None) for each in (values.values, values.clock))
        return Texts(taken, zoned=clock)
    nulls = missing if values.nulls is None else missing | values.nulls[at]
    found = replace(values, values=values.values[at], nulls=nulls if nulls.any() else None)
    if isinstance(found, Times) and found.zoned is not None:
        return replace(found, zoned=found.zoned[at])
    return found
