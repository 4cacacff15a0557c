"""The same cells in every kind of table that can hold them."""

import csv
import datetime as dt
import io
import json
import math
from decimal import Decimal
from zoneinfo import ZoneInfo

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa


def _pandas_numpy(cells, kind):
    dtypes = {"floats": "float64", "integers": "int64", "unsigned": "uint64", "booleans": "bool"}
    if kind in dtypes and (None not in cells or kind == "floats"):
        return pd.Series(cells, dtype=dtypes[kind])
    if kind in {"moments", "dates"}:
        return pd.Series(cells, dtype="datetime64[us]")
    if kind == "zoned":
        return pd.Series(cells, dtype="datetime64[us, UTC]").dt.tz_convert("Asia/Kolkata")
    return None


def _pandas_nullable(cells, kind):
    dtypes = {
        "floats": "Float64",
        "integers": "Int64",
        "unsigned": "UInt64",
        "booleans": "boolean",
        "texts": "string",
        "moments": "datetime64[ns]",
    }
    return pd.Series(cells, dtype=dtypes[kind]) if kind in dtypes else None


def _pandas_python_strings(cells, kind):
    return pd.Series(cells, dtype=pd.StringDtype("python")) if kind == "texts" else None


def _pandas_object(cells, kind):
    return pd.Series(cells, dtype=object)


def _pandas_category(cells, kind):
    if kind == "mixed":
        return None
    if kind in {"integers", "unsigned"}:
        # Left to itself, pandas turns whole numbers beside a missing one into floats.
        dtype = "int64" if kind == "integers" else "uint64"
        known = pd.Index(sorted({cell for cell in cells if cell is not None}), dtype=dtype)
        return pd.Series(pd.Categorical(cells, categories=known))
    return pd.Series(pd.Categorical(pd.Series(cells, dtype=None if kind != "dates" else object)))


ZONES = {
    **dict.fromkeys(("pandas with NumPy columns",), "Asia/Kolkata"),
    **dict.fromkeys(("pandas with Arrow columns", "PyArrow"), "America/New_York"),
    **dict.fromkeys(("Polars", "Polars lazy", "Parquet", "Arrow"), "UTC"),
}
"""The zone of zoned columns, by container; the others keep that of each cell."""


def as_held(container, kind, cell):
    """Return a cell as a container holds it."""
    return in_zone(cell, ZONES[container]) if kind == "zoned" and container in ZONES else cell


def in_zone(cell, zone):
    """Return a moment that has a zone in another one, and any other cell as it is."""
    return cell.astimezone(ZoneInfo(zone)) if isinstance(cell, dt.datetime) and cell.tzinfo is not None else cell


def arrow_type(kind):
    """Return the type of PyArrow that holds cells of a kind; None where none does."""
    return {
        "floats": pa.float64(),
        "integers": pa.int64(),
        "unsigned": pa.uint64(),
        "booleans": pa.bool_(),
        "texts": pa.string(),
        "decimals": pa.decimal128(38, 6),
        "moments": pa.timestamp("us"),
        "zoned": pa.timestamp("us", "America/New_York"),
        "dates": pa.date32(),
    }.get(kind)


def _pandas_arrow(cells, kind):
    found = arrow_type(kind)
    return None if found is None else pd.Series(pd.arrays.ArrowExtensionArray(pa.array(cells, type=found)))


def _polars(cells, kind):
    dtypes = {
        "floats": pl.Float64,
        "integers": pl.Int64,
        "unsigned": pl.UInt64,
        "booleans": pl.Boolean,
        "texts": pl.String,
        "decimals": pl.Decimal(38, 6),
        "moments": pl.Datetime("us"),
        "zoned": pl.Datetime("us", "UTC"),
        "dates": pl.Date,
        "mixed": pl.Object,
    }
    return pl.Series(cells, dtype=dtypes[kind])


def _polars_categories(cells, kind):
    return pl.Series(cells, dtype=pl.Categorical) if kind == "texts" else None


def _polars_enum(cells, kind):
    return pl.Series(cells, dtype=pl.Enum(sorted({*cells} - {None}))) if kind == "texts" else None


def _arrow(cells, kind):
    found = arrow_type(kind)
    return (
        None if found is None else pa.chunked_array([pa.array(cells[:3], type=found), pa.array(cells[3:], type=found)])
    )


def _arrow_dictionary(cells, kind):
    return _arrow(cells, kind).dictionary_encode() if kind in {"texts", "integers", "floats"} else None


def as_csv_text(cell):
    """Return how a program would write one cell to a CSV file."""
    if cell is None:
        return ""
    if isinstance(cell, dt.datetime):
        return cell.isoformat(sep=" ")
    return str(cell)


def _make(build, frame):
    def make(names, cells, kind, folder):
        column = build(cells, kind)
        return None if column is None else frame(dict.fromkeys(names, column), folder)

    return make


def _csv(names, cells, kind, folder):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows([[as_csv_text(cell)] * len(names) for cell in cells])
    path = folder / "table.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


def _parquet(names, cells, kind, folder):
    if kind == "mixed":
        return None
    path = folder / "table.parquet"
    pl.DataFrame({name: _polars(cells, kind) for name in names}).write_parquet(path, row_group_size=5)
    return path


def _arrow_file(names, cells, kind, folder):
    if kind == "mixed":
        return None
    path = folder / "table.feather"
    pl.DataFrame({name: _polars(cells, kind) for name in names}).write_ipc(path, record_batch_size=5)
    return path


def _as_json(cell):
    if isinstance(cell, Decimal):
        return str(cell)
    if isinstance(cell, dt.date):
        return json.dumps(as_csv_text(cell))
    return json.dumps(cell)


def _json_lines(names, cells, kind, folder):
    path = folder / "table.jsonl"
    keys = [json.dumps(name) for name in names]
    lines = ["{" + ", ".join(f"{key}: {_as_json(cell)}" for key in keys) + "}" for cell in cells]
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    return path


def _excel(names, cells, kind, folder):
    book = openpyxl.Workbook()
    book.active.append([*names, "row"])
    for row, cell in enumerate(cells, start=2):
        book.active.cell(row, len(names) + 1, 1)  # a row without any cell is none
        for column in range(1, len(names) + 1 if cell is not None else 1):
            here = book.active.cell(row, column, cell)
            here.data_type = "s" if isinstance(cell, str) else here.data_type  # "=x" is no formula
    path = folder / "table.xlsx"
    book.save(path)
    return path


def _of_excel(cell):
    """Return whether a workbook holds a cell as it is: 15 digits, seconds, days from March 1900 on."""
    if isinstance(cell, str):
        return cell.strip() and len(cell) < 2**15 and cell.isprintable()
    if isinstance(cell, dt.datetime):
        return cell.tzinfo is None and cell.year >= 1901 and not cell.microsecond
    if isinstance(cell, dt.date):
        return cell.year >= 1901
    if cell is None or isinstance(cell, bool):
        return True
    return abs(cell) < 1e300 and math.isfinite(cell) and float(f"{cell:.15g}") == cell


HOLDS = {"Excel": _of_excel}
"""Which cells a kind of table can hold, where it is not all of a kind."""

CONTAINERS = {
    "pandas with NumPy columns": _make(_pandas_numpy, lambda d, _: pd.DataFrame(d)),
    "pandas with nullable columns": _make(_pandas_nullable, lambda d, _: pd.DataFrame(d)),
    "pandas with Python strings": _make(_pandas_python_strings, lambda d, _: pd.DataFrame(d)),
    "pandas with object columns": _make(_pandas_object, lambda d, _: pd.DataFrame(d)),
    "pandas with categories": _make(_pandas_category, lambda d, _: pd.DataFrame(d)),
    "pandas with Arrow columns": _make(_pandas_arrow, lambda d, _: pd.DataFrame(d)),
    "Polars": _make(_polars, lambda d, _: pl.DataFrame(d)),
    "Polars with categories": _make(_polars_categories, lambda d, _: pl.DataFrame(d)),
    "Polars with an enum": _make(_polars_enum, lambda d, _: pl.DataFrame(d)),
    "Polars lazy": _make(_polars, lambda d, _: pl.DataFrame(d).lazy()),
    "PyArrow": _make(_arrow, lambda d, _: pa.table(d)),
    "PyArrow with dictionaries": _make(_arrow_dictionary, lambda d, _: pa.table(d)),
    "Parquet": _parquet,
    "CSV": _csv,
    "Arrow": _arrow_file,
    "JSON lines": _json_lines,
    "Excel": _excel,
}
"""Each makes a table whose columns all hold the same cells, or None where it cannot hold them."""
