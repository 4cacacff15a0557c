"""Rows that come in two parts, as scikit-learn hands them over: X, and one column y beside it."""

from typing import Any

import narwhals.stable.v2 as nw

from lapwing.errors import DataError, ParameterError
from lapwing.rows.guard import guarded


def with_target(rows: object, target: object) -> Any:  # noqa: ANN401 - a frame of the same library
    """Return a frame with a series as one more column, called by the series' name; position counts, no index does.

    >>> import polars as pl
    >>> with_target(pl.DataFrame({"a": [1, 2]}), pl.Series("b", [3, 4])).columns
    ['a', 'b']
    """
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
