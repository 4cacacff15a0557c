"""Synthetic rows: in the kind of frame that came in, or streamed to a file or folder. Sees no private row."""

import contextlib
import gzip
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from lapwing.errors import LapwingError, UnwritableError
from lapwing.rows.out.outputs import Format, part_name
from lapwing.rows.threads import in_order
from lapwing.schema.scalars import quote

if TYPE_CHECKING:
    from lapwing.rows.kinds import Kind


def to_frame_kind(frame: pl.DataFrame, kind: "Kind") -> Any:  # noqa: ANN401 - a frame of the user's own library
    """Return a frame as the library of the user's own table knows it.

    ``path`` gives Polars, ``duckdb`` PyArrow, ``dask`` and ``spark`` pandas (large tables are drawn by their workers
    instead). Pandas gets the nullable types Int64, Float64, boolean and string, and datetime64[us] for dates and
    moments; without need of PyArrow.

    >>> to_frame_kind(pl.DataFrame({"a": [1, None]}), "pandas").dtypes["a"]
    Int64Dtype()
    """
    with library_of(kind):
        if kind in {"pandas", "dask", "spark"}:
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
    frames: Iterator[pl.DataFrame], path: Path, format: Format, *, metadata: Mapping[str, str] | None = None
) -> None:
    """Write frames, at least one, to one file, without holding them all; a CSV file has no place for metadata."""
    first = next(frames, None)
    assert first is not None, "there is at least one frame, without rows if need be"
    write = partial(_write_parquet, metadata) if format == "parquet" else partial(_write_csv, format == "csv.gz")
    try:
        path.open("wb").close()  # Polars would not say why it cannot
        write(first, frames, path)
    except (OSError, pl.exceptions.ComputeError) as error:
        reason = _reason(error)
    else:
        return
    raise UnwritableError(
        f"file {quote(str(path))} cannot be written ({reason}); choose a place with free space", reason, code="LW112"
    )


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
