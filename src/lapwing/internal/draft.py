"""Draft a schema from the names and types of a table's columns: a skeleton with every domain left blank.

A CSV file has no types, so each column gets the narrowest type that all its cells can be read as.
"""

import os
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from lapwing.errors import DataError
from lapwing.judge.metrics import Internal
from lapwing.rows.codec.cells import Texts
from lapwing.rows.codec.parsing import read_numbers, read_times
from lapwing.rows.files.files import TableFile, find_files, open_file
from lapwing.rows.guard import guarded, private_boundary
from lapwing.schema.fields import Field, FieldType
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

_PARQUET = (".parquet", ".pq")
_READ: tuple[FieldType, ...] = ("boolean", "integer", "number", "date", "datetime")
_DATE_LENGTH = 10
_CHUNK_ROWS = 2**18
_TEXT = (nw.String, nw.Categorical, nw.Enum, nw.Object)


@private_boundary
def draft_schema(data: object) -> Internal[Schema]:
    """Return the skeleton of a schema for a table; names and types of columns are looked at, and the cells of CSV.

    Returns a draft: no field has bounds or categories, and its provenance is "drafted" until its owner says otherwise.
    """
    if isinstance(data, str | os.PathLike | list | tuple):
        types = _types_in_file(data)
    else:
        types = guarded("data is not a table whose columns can be read", lambda: _types_of_frame(data))
    if not types:
        raise DataError("the table has no column; give a table with at least one", code="LW110")
    fields = tuple(Field(name=name, type=kind, provenance="drafted") for name, kind in types)
    return Internal(Schema(fields=fields, is_draft=True))


def _types_in_file(source: Any) -> list[tuple[str, FieldType]]:  # noqa: ANN401 - find_files says what it may be
    """Return names and types of the columns of the first file."""
    path = find_files(source)[0]
    if path.suffix.lower() not in _PARQUET:
        return _types_of_texts(open_file(path))
    what = f"file {quote(str(path))} cannot be read as Parquet"
    return guarded(what, lambda: _types_of_frame(pl.scan_parquet(path, glob=False)))


def _types_of_texts(file: TableFile) -> list[tuple[str, FieldType]]:
    """Return names of columns, and the first type that all cells which are not empty can be read as, else string."""
    possible = {name: np.ones(len(_READ), dtype=bool) for name in file.names}
    filled = set()
    for chunk in file.chunks(file.names, _CHUNK_ROWS):
        for name, cells in chunk.items():
            assert isinstance(cells, Texts)
            texts = cells.values.str.strip_chars().replace("", None).drop_nulls()
            if len(texts):
                filled.add(name)
                possible[name] &= _readable(texts)
    return [
        (name, _READ[int(possible[name].argmax())] if name in filled and possible[name].any() else "string")
        for name in file.names
    ]


def _readable(texts: pl.Series) -> np.ndarray:
    """Return, for each type, whether all texts can be read as it."""
    is_flag = texts.str.to_lowercase().is_in(["true", "false"]).to_numpy()
    numbers = read_numbers(texts)
    is_number = (numbers.is_integer | ~np.isnan(numbers.reals)) & ~is_flag
    _, is_time = read_times(texts)
    is_date = is_time & (texts.str.len_chars() == _DATE_LENGTH).to_numpy()
    return np.array([each.all() for each in (is_flag, numbers.is_integer, is_number, is_date, is_time)])


def _types_of_frame(frame: Any) -> list[tuple[str, FieldType]]:  # noqa: ANN401 - any frame that narwhals knows
    """Return names and types of the columns of a data frame."""
    # What PyArrow calls a schema is all that is needed of its tables, batches and datasets.
    empty_table = getattr(getattr(frame, "schema", None), "empty_table", None)
    known = nw.from_native(frame if empty_table is None else empty_table())
    return [(name, _field_type(name, dtype)) for name, dtype in known.collect_schema().items()]


def _field_type(name: str, dtype: nw.dtypes.DType) -> FieldType:
    """Return the schema's type for a column's type."""
    kinds: tuple[tuple[bool, FieldType], ...] = (
        (dtype == nw.Boolean, "boolean"),
        (dtype.is_integer(), "integer"),
        (dtype.is_numeric(), "number"),
        (dtype == nw.Date, "date"),
        (dtype == nw.Datetime, "datetime"),
        (any(dtype == text for text in _TEXT), "string"),
    )
    for is_kind, kind in kinds:
        if is_kind:
            return kind
    raise DataError(
        f"column {quote(name)} is of type {dtype}, which no field can hold; convert or drop it first", code="LW107"
    )
