"""How a frame holds its columns: its library and the type of each column, as the frame declares it.

Read off types, never off cells: types that list values are noted without them, and of a private table NumPy's types in
pandas, which hang on whether a cell is missing, are not noted.
"""

import os
import re
import sys
import zoneinfo
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal, cast

import numpy as np
import polars as pl

from lapwing.errors import DataError, ParameterError
from lapwing.rows.entry import Source, source_of
from lapwing.rows.files import header_fault, open_file
from lapwing.rows.formats import CsvFile
from lapwing.rows.guard import run_guarded
from lapwing.rows.kinds import FrameLayout, Kind, Like
from lapwing.schema.fields import FieldType
from lapwing.schema.reading import PLAIN_FILE, Dialect
from lapwing.schema.scalars import quote, safe_repr
from lapwing.schema.schemas import Schema
from lapwing.schema.values import number_of

_ARROW: Final = "[pyarrow]"
_REGION: Final = re.compile(r", (?!Etc/)[A-Za-z_]+/[A-Za-z_/+-]+\]")
_GUESSED: Final = re.compile(r"u?int[0-9]+|float[0-9]+|object|str")
_MANY_DIGITS: Final = 6  # of a name, from which on it is rather a date or a number of somebody
_UNIT: Final = re.compile(r"\[(s|ms|us|ns),")
_NUMPY_WHOLE: Final = re.compile(r"\bu?int[0-9]+$")
_LIBRARIES: Final = ("pandas", "polars", "pyarrow")

Column = Literal["boolean", "integer", "number", "date", "datetime", "string", "text", "none"]
"""What is public of a column: its type, "text" where it has none, "none" where no field holds what it does."""


_OPEN: Final = "leaves a quote open in its first line, so that rows would be names; close it, or give a schema"
_SIGNS: Final = (None, ";", "\t", "|")
_ENCODINGS: Final = (None, "windows-1252")


def public_dialect(source: Source) -> Dialect | None:
    """Return how a text file is written, as its first line tells, which has the most names then; None of other tables.

    Of its rows nothing is looked at.
    """
    if source.is_typed or source.form == "query" or not isinstance(open_file(source.files[0]), CsvFile):
        return None
    tried = [Dialect(delimiter=sign, encoding=encoding) for encoding in _ENCODINGS for sign in _SIGNS]
    return max(tried, key=lambda dialect: _names_under(dialect, source.files[0]))


def _names_under(dialect: Dialect, path: Path) -> int:
    """Return how many names the first line has under a dialect; none where it has a fault."""
    file = open_file(path, dialect)
    is_sound = isinstance(file, CsvFile) and file.has_names_alone() and header_fault(file) is None
    return len(file.names) if is_sound else 0


def public_columns(source: Source, dialect: Dialect | None) -> dict[str, Column]:
    """Return what is public of the columns of a table, of which no cell is looked at; dialect: of a text file.

    Numbers of NumPy in pandas, and its objects, have no type that counts as public: one cell of another kind makes
    numbers objects. Nor has what Polars and Arrow found nothing but null in.
    """
    if not source.is_typed:
        return dict.fromkeys(_names(source, dialect), "text")
    import narwhals.stable.v2 as nw  # noqa: PLC0415 - it takes long to load

    what = "the columns of the table cannot be read"
    # Without rows: narwhals would look at objects to tell what they are.
    types = run_guarded(what, lambda: nw.from_native(source.typed).head(0).collect_schema())
    found: dict[str, Column] = {str(name): field_type(dtype) or "none" for name, dtype in types.items()}
    found.update((str(name), "text") for name, dtype in types.items() if dtype == nw.Unknown)
    if source.kind == "pandas":
        found.update((name, "text") for name, dtype in _dtypes(source) if _GUESSED.fullmatch(dtype))
    for name, held in ((str(name), held) for name, held in source.held.items()):
        if held in ("none", "several"):
            found[name] = "none"
        elif held != "any" and found[name] == "string":  # categories that are no texts
            found[name] = "text"
    return found


def _names(source: Source, dialect: Dialect | None) -> list[str]:
    """Return the names of columns without types."""
    if source.form == "query":
        return list(source.table.columns)
    file = open_file(source.files[0], dialect or PLAIN_FILE)
    if not isinstance(file, CsvFile):
        raise DataError(
            f"file {quote(str(file.path))} needs a schema, as its cells alone tell of which types its columns are; "
            "`lapwing schema draft` makes a draft of one",
            code="LW272",
        )
    # First, as what a quote that is left open holds is rows.
    fault = _OPEN if not file.has_names_alone() else header_fault(file)
    if fault is not None:
        raise DataError(f"file {quote(str(file.path))} {fault}", code="LW116")
    if len(set(file.names)) < len(file.names) or any(map(_is_no_name, file.names)):
        raise DataError(
            f"file {quote(str(file.path))}: its first line may be a row and no line of names, as it has a number, a "
            "date, an empty cell or one cell twice; names are shown, so give a schema, with the dialect "
            '{"header": false} if it is a row',
            code="LW272",
        )
    return list(file.names)


def _is_no_name(text: str) -> bool:
    """Tell whether a cell of a first line is rather a value than a name: a number, a date, a key, or nothing."""
    digits, letters = (sum(map(kind, text)) for kind in (str.isdigit, str.isalpha))
    return number_of(text) is not None or not letters or digits >= _MANY_DIGITS


def field_type(dtype: Any) -> FieldType | None:  # noqa: ANN401 - a type of narwhals'
    """Return the type of a field that holds a column's values, if one does."""
    import narwhals.stable.v2 as nw  # noqa: PLC0415 - likewise

    kinds: tuple[tuple[bool, FieldType], ...] = (
        (dtype == nw.Boolean, "boolean"),
        (dtype.is_integer(), "integer"),
        (dtype.is_numeric(), "number"),
        (dtype == nw.Date, "date"),
        (dtype == nw.Datetime, "datetime"),
        (any(dtype == text for text in (nw.String, nw.Categorical, nw.Enum, nw.Object)), "string"),
    )
    return next((kind for is_kind, kind in kinds if is_kind), None)


def layout_of(source: Source, schema: Schema) -> FrameLayout:
    """Return the layout of a private table's modelled columns, without what readers guess: one cell can change that."""
    found = dict(_dtypes(source))
    if source.kind == "pandas":  # whole numbers of NumPy are floats where one is missing, so their width would tell
        found = {name: _NUMPY_WHOLE.sub("object", dtype) for name, dtype in found.items()}
    return FrameLayout(source.kind, {name: _unguessed(found[name]) for name in schema.names if name in found})


def _unguessed(dtype: str) -> str:
    dtype = dtype.rpartition("dictionary of ")[2]
    is_moment = dtype.lower().startswith(("date", "timestamp"))
    if is_moment and _REGION.search(dtype):
        # No reader takes a region for a zone by itself. The unit may be a guess, but of pandas before version 3.
        is_guess = not dtype.startswith("datetime64") or int(sys.modules["pandas"].__version__.partition(".")[0]) > 2
        return _UNIT.sub("[us,", dtype) if is_guess else dtype
    return _ARROW * dtype.endswith(_ARROW) if is_moment else dtype


def layout_like(like: Like, schema: Schema) -> FrameLayout:
    """Return the layout that `Release.sample` is asked for."""
    if isinstance(like, FrameLayout):
        return like
    if isinstance(like, str) and like in _LIBRARIES:
        # NumPy's types, as pandas makes of cells by itself.
        by_name = {each.name: "object" for each in schema.fields} if like == "pandas" else {}
        return FrameLayout(cast("Kind", like), by_name)
    if isinstance(like, str | os.PathLike | list | tuple):
        raise ParameterError(
            f"like must be a frame or one of {', '.join(_LIBRARIES)}, got {safe_repr(like)}; give a frame of the types "
            "you want",
            code="LW303",
        )
    source = source_of(like)
    names = [name for name, _ in _dtypes(source)]
    if names:
        _check_columns(names, schema)
    fields = set(schema.names)
    source.open(schema)
    return FrameLayout(source.kind, {name: dtype for name, dtype in _dtypes(source) if name in fields})


def _check_columns(names: list[str], schema: Schema) -> None:
    """Refuse a frame of other columns; those that the schema does not name are not shown: they may be a row."""
    lacking = [each.name for each in schema.columns if each.name not in names]
    more = len(names) - len({each.name for each in schema.fields} & set(names))
    if lacking or more:
        what = f"lacks {quote(lacking[0])}" if lacking else f"has {more} more"
        raise ParameterError(
            f"like must have each of the schema's columns once and no other column, and {what}; select these columns",
            code="LW104",
        )


def _dtypes(source: Source) -> Iterable[tuple[str, str]]:
    """Yield the columns of a frame and their types; of what is no frame with types of its own, none."""
    if source.form not in ("frame", "stream"):
        return []
    table = source.table
    match source.kind:
        case "polars":
            types = run_guarded("the lazy frame cannot be run", table.collect_schema)
            return [(name, _polars_name(dtype)) for name, dtype in types.items()]
        case "pandas":
            return [(name, _pandas_name(dtype)) for name, dtype in zip(table.columns, table.dtypes, strict=True)]
        case "pyarrow":
            return [(each.name, _arrow_name(each.type)) for each in table.schema]
    return []


def _polars_name(dtype: Any) -> str:  # noqa: ANN401 - the class of a type, or one of its values
    name = getattr(dtype, "__name__", type(dtype).__name__)
    if isinstance(dtype, pl.Decimal):
        return f"Decimal({dtype.precision}, {dtype.scale})"
    return f"Datetime[{dtype.time_unit}{_zone(dtype.time_zone)}]" if isinstance(dtype, pl.Datetime) else str(name)


def _arrow_name(dtype: Any) -> str:  # noqa: ANN401 - a pyarrow DataType, which has no static type
    import pyarrow as pa  # noqa: PLC0415 - the user's own

    if isinstance(dtype, pa.BaseExtensionType):
        return _arrow_name(dtype.storage_type)
    if pa.types.is_dictionary(dtype):
        return f"{'ordered ' * dtype.ordered}dictionary of {_arrow_name(dtype.value_type)}"
    if pa.types.is_timestamp(dtype):
        return f"timestamp[{dtype.unit}{_zone(dtype.tz)}]"
    is_text = pa.types.is_large_string(dtype) or pa.types.is_string(dtype) or pa.types.is_string_view(dtype)
    is_noted = is_text or pa.types.is_primitive(dtype) or pa.types.is_decimal(dtype)
    return str(dtype) if is_noted else "null"


def _pandas_name(dtype: Any) -> str:  # noqa: ANN401 - a pandas dtype, which has no static type
    name = type(dtype).__name__
    if isinstance(dtype, np.dtype):
        if dtype.kind == "f" and dtype.itemsize <= np.dtype("float32").itemsize:
            return "float32"
        is_noted = dtype.kind in "iu" or (dtype.kind == "M" and dtype != np.dtype("datetime64[us]"))
        return dtype.name if is_noted else "object"
    if name == "CategoricalDtype":
        return f"{'ordered ' * bool(dtype.ordered)}category of {_pandas_name(dtype.categories.dtype)}"
    if name == "ArrowDtype":
        return f"{_arrow_name(dtype.pyarrow_dtype)}{_ARROW}"
    if name == "StringDtype":  # that of pandas 3 has NaN where it is missing, and is object where all cells are
        return "object" if isinstance(dtype.na_value, float) else "string"
    if name == "DatetimeTZDtype":
        return f"datetime64[{dtype.unit}{_zone(str(dtype.tz))}]"
    return str(dtype.name) if isinstance(getattr(dtype, "numpy_dtype", None), np.dtype) else "object"


def _zone(name: str | None) -> str:
    """Return the zone of a moment as it stands in the name of its type; UTC where it is none that every system has."""
    if name is None:
        return ""
    return f", {name if name in zoneinfo.available_timezones() else 'UTC'}"
