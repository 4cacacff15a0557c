"""Read pandas data frames: NumPy, nullable, categorical, Arrow-backed and object columns, each to raw cells.

Nothing here imports pandas: the frame comes from the user's own.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from lapwing.rows.codec.cells import UNREADABLE, Numbers, RawColumn, Texts, Times, texts
from lapwing.rows.engines.frames import arrow_cells, is_nested_arrow, to_microseconds, unreadable
from lapwing.rows.guard import guarded

if TYPE_CHECKING:
    import pandas as pd


class PandasReader:
    """Read a pandas data frame."""

    def __init__(self, frame: "pd.DataFrame") -> None:
        # Shares all cells. From pandas 3 on it stays as it is where the user's own is changed in place.
        self._frame = frame.copy(deep=False)
        self.kind: Literal["pandas"] = "pandas"
        self.known_rows: int | None = len(frame)

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        for start in range(0, len(self._frame), rows):
            yield {name: self._cells(name, start, rows) for name in columns}

    def _cells(self, name: str, start: int, rows: int) -> RawColumn:
        return guarded(unreadable(name), lambda: pandas_cells(self._frame[name].iloc[start : start + rows]))


def is_nested_pandas(dtype: Any) -> bool:  # noqa: ANN401 - a pandas dtype, which has no static type
    """Return whether a pandas type declares several values per cell."""
    if type(dtype).__name__ == "CategoricalDtype":
        return is_nested_pandas(dtype.categories.dtype)
    if type(dtype).__name__ == "ArrowDtype":
        return is_nested_arrow(dtype.pyarrow_dtype)
    # A structured NumPy type.
    return isinstance(dtype, np.dtype) and dtype.names is not None


def pandas_cells(column: "pd.Series") -> RawColumn:
    """Return a pandas column as raw cells.

    Returns types without a rule of their own cell by cell, by `lapwing.rows.codec.cells.text_of`.
    """
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return _numpy_cells(column.to_numpy())
    name = type(dtype).__name__
    if name == "CategoricalDtype":
        values = pandas_cells(column.cat.categories.to_series())
        return _take(values, column.cat.codes.to_numpy().astype(np.int64))
    if name == "ArrowDtype" or (name == "StringDtype" and dtype.storage == "pyarrow"):
        return _arrow_backed(column)
    if name == "DatetimeTZDtype":
        return _numpy_cells(column.dt.tz_convert(None).to_numpy())
    if name == "SparseDtype":
        return _numpy_cells(column.sparse.to_dense().to_numpy())
    if isinstance(getattr(dtype, "numpy_dtype", None), np.dtype):
        return _nullable_cells(column, dtype.numpy_dtype)
    return texts(column.to_numpy(dtype=object))


def _numpy_cells(values: np.ndarray) -> RawColumn:
    kind = values.dtype.kind
    if kind == "b":
        return Numbers(values)
    if kind == "f":
        return Numbers(values.astype(np.float64, copy=False))
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


def _nullable_cells(column: "pd.Series", kind: np.dtype) -> RawColumn:
    """Return a column of a nullable number or Boolean type."""
    nulls = column.isna().to_numpy()
    values = _numpy_cells(column.to_numpy(dtype=kind, na_value=kind.type(0)))
    assert isinstance(values, Numbers)
    return Numbers(values.values, nulls if nulls.any() else None)


def _arrow_backed(column: "pd.Series") -> RawColumn:
    """Return a column that pandas keeps in Arrow's format, by way of the user's own PyArrow."""
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    return arrow_cells(pa.chunked_array(column.array.__arrow_array__()))


def _take(values: RawColumn, positions: np.ndarray) -> RawColumn:
    """Return the cells at given positions; -1 is missing."""
    missing = positions < 0
    if not len(values):
        return Texts(pl.repeat(None, len(positions), dtype=pl.String, eager=True))
    at = np.maximum(positions, 0)
    if isinstance(values, Texts):
        taken = values.values.gather(at)
        return Texts(taken.set(pl.Series(missing), None) if missing.any() else taken)
    nulls = missing if values.nulls is None else missing | values.nulls[at]
    return type(values)(values.values[at], nulls if nulls.any() else None)
