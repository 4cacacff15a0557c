"""Unique values planted in every column, and every place where they must not show."""

import contextlib
import datetime as dt
import gc
import struct
import sys
import traceback
import types
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "lapwing"

TEXT = "CANARY-q7zx"
WHOLE = 3133727193
REAL = 31337.27193125
DAY = dt.date(1913, 3, 17)
MOMENT = dt.datetime(1913, 3, 17, 13, 31, 37)
TRACES = (TEXT, str(WHOLE), str(REAL), "1913-03-17", "1913, 3, 17")
BYTES = (*(trace.encode() for trace in TRACES), struct.pack("<q", WHOLE), struct.pack("<d", REAL))

_SKIPPED = (types.ModuleType, type, types.BuiltinFunctionType, types.CodeType, types.FrameType, types.TracebackType)

SCHEMA: dict[str, Any] = {
    "fields": [
        {"name": "person", "type": "string", "role": "identifier"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
        {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": 2.5}},
        {"name": "sex", "type": "string", "categories": ["f", "m"]},
        {"name": "smokes", "type": "boolean"},
        {"name": "born", "type": "date", "constraints": {"minimum": "1920-01-01", "maximum": "2020-12-31"}},
        {"name": "seen", "type": "datetime", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
    ]
}
PLANTED: dict[str, Any] = {
    "person": TEXT,
    "age": WHOLE,
    "height": REAL,
    "sex": TEXT,
    "smokes": None,
    "born": DAY,
    "seen": MOMENT,
}


def table(rows: int = 40) -> pl.DataFrame:
    """Return an ordinary table with the canary in every column of its first row."""
    ordinary = {
        "person": [f"p{row}" for row in range(rows)],
        "age": list(range(rows)),
        "height": [1.5 + row / 1000 for row in range(rows)],
        "sex": ["fm"[row % 2] for row in range(rows)],
        "smokes": [row % 3 == 0 for row in range(rows)],
        "born": [dt.date(1980, 1, 1)] * rows,
        "seen": [dt.datetime(2020, 6, 1, 12)] * rows,
    }
    return pl.DataFrame({name: [PLANTED[name], *cells][:rows] for name, cells in ordinary.items()}, strict=False)


def schema_with(name: str, /, **changes: Any) -> dict[str, Any]:
    """Return the schema with one field changed."""
    fields = [{**field, **changes} if field["name"] == name else field for field in SCHEMA["fields"]]
    return {**SCHEMA, "fields": fields}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call returned or raised, and the warnings on the way."""

    value: Any
    error: BaseException | None
    warned: str


def watched(call: Callable[[], Any]) -> Outcome:
    """Make a call; keep its result, its exception and all its warnings."""
    value, error = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = call()
        except BaseException as raised:
            error = raised
    return Outcome(value, error, "\n".join(f"{each.category.__name__}: {each.message}" for each in caught))


def traces_in(text: str) -> list[str]:
    """Return the planted values that show in a text."""
    return [trace for trace in TRACES if trace in text]


def traces_in_exception(error: BaseException | None) -> list[str]:
    """Return the planted values in the text, chain, arguments and frames of our package that an exception leads to."""
    found: list[str] = []
    while error is not None:
        found += traces_in("".join(traceback.format_exception(type(error), error, None)))
        found += traces_within([error.args, vars(error)])
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
                found += traces_within([dict(frame.f_locals)])
        error = error.__cause__ or error.__context__
    return found


def traces_in_files(folder: Path, *, but: set[Path]) -> list[str]:
    """Return where planted values show in the files of a folder, hidden and zipped ones included."""
    found = []
    for path in sorted(folder.rglob("*")):
        found += [f"name: {trace!r}" for trace in traces_in(path.name)]
        with contextlib.suppress(FileNotFoundError):  # a process that ends may still try its folder for writing
            if path.is_file() and path not in but:
                content = _content(path)
                found += [f"{path.name}: {trace!r}" for trace in BYTES if trace in content]
    return found


def _content(path: Path) -> bytes:
    """Return all that a file says, unpacked."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            return b"\n".join([*map(str.encode, names), *map(archive.read, names)])
    content = path.read_bytes()
    if content[:4] == b"PAR1":
        content += pl.read_parquet(path).write_csv().encode()
    return content


def traces_within(roots: list[object]) -> list[str]:
    """Return the planted values in all that can be reached, not going through modules, types or other frames."""
    seen = {id(vars(module)) for module in list(sys.modules.values()) if hasattr(module, "__dict__")}
    queue, found = list(roots), []
    while queue and len(seen) < 200_000:
        value = queue.pop()
        if id(value) in seen or isinstance(value, _SKIPPED):
            continue
        seen.add(id(value))
        found += traces_in(_text_of(value))
        queue += gc.get_referents(value)
    return found


def _text_of(value: object) -> str:
    """Return what a cell or a table says, nothing for what only holds other things."""
    if isinstance(value, str | bytes | int | float | dt.date):
        return str(value)
    if isinstance(value, np.ndarray):
        return " ".join(map(str, value.ravel()[:10_000]))
    if isinstance(value, pl.LazyFrame):
        value = watched(value.collect).value
    if isinstance(value, pl.DataFrame | pl.Series):
        return str(value.to_dict(as_series=False) if isinstance(value, pl.DataFrame) else value.to_list())
    if isinstance(value, pa.Table):
        return str(value.to_pydict())
    return value.to_csv() if isinstance(value, pd.DataFrame | pd.Series) else ""
