"""Bad and odd private tables in every kind of frame and file, each with planted values in its first row.

Each maker writes what it needs into a folder and returns what a caller would give as data.
"""

import datetime as dt
import gzip
import os
import random

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from helpers.canary_engines import ENGINE_FRAMES, ENGINES_WELL_FORMED
from helpers.planted_values import TEXT, WHOLE, table


class Angry:
    """A cell that fails, telling what it holds, however it is looked at."""

    def __repr__(self):
        raise ValueError(TEXT)

    __str__ = __bool__ = __float__ = __int__ = __len__ = __repr__

    def __eq__(self, other):
        raise ValueError(TEXT)

    __hash__ = __repr__


class Ended(BaseException):
    """No ``Exception``, as a panic of a library that is built on PyO3."""


class Labelled(pa.ExtensionType):
    """Text of another name, whose parameters quote the canary."""

    def __init__(self):
        super().__init__(pa.string(), "lapwing.tests.labelled")

    def __arrow_ext_serialize__(self):
        return TEXT.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, _serialized):
        return cls()


def with_sex(change):
    """Return a maker of a Polars frame with another column of texts."""
    return lambda _: table().with_columns(sex=change)


def failing(what):
    """Return a maker of a lazy frame whose Python code ends in an exception, or in something like it."""

    def fail(cells):
        raise what(f"cannot convert {TEXT}")

    return lambda _: table().lazy().with_columns(pl.col("sex").map_batches(fail, return_dtype=pl.String))


def printing(_):
    """Return a lazy frame that prints as a panic does: past Python, on file descriptor 2."""

    def loud(cells):
        os.write(2, f"thread panicked: left: {TEXT}".encode())
        return cells

    return table().lazy().with_columns(pl.col("sex").map_batches(loud, return_dtype=pl.String))


def of_pandas(change):
    """Return a maker of a pandas frame."""
    return lambda _: change(table().to_pandas())


def objects(frame):
    return pd.DataFrame({name: pd.Series(frame[name].to_list(), dtype=object) for name in frame.columns})


def categorical(frame):
    return frame.assign(**{name: frame[name].astype("category") for name in ("person", "sex", "age")})


def sparse(frame):
    return frame.assign(height=pd.arrays.SparseArray(frame["height"].to_numpy(), fill_value=1.5))


def told_about(frame):
    frame.attrs = {TEXT: TEXT}
    frame.index = pd.MultiIndex.from_product([[TEXT], range(len(frame))], names=[TEXT, "row"])
    return frame


def levels(frame):
    frame.columns = pd.MultiIndex.from_tuples([(TEXT, name) for name in frame.columns])
    return frame


def cells(*odd):
    """Return a change that puts odd cells into the column of texts, and into those of numbers and dates."""

    def change(frame):
        return frame.assign(
            **{name: pd.Series([odd[row % len(odd)] for row in range(len(frame))], dtype=object) for name in CHANGED}
        )

    return change


CHANGED = ("sex", "age", "height", "born", "seen")


def of_arrow(change):
    """Return a maker of a PyArrow table."""
    return lambda _: change(table().to_arrow())


def column_of(frame, name, cells):
    return frame.set_column(frame.schema.get_field_index(name), name, cells)


def texts_of(frame):
    return frame.column("sex").cast(pa.string()).combine_chunks()


def no_text(frame):
    rows = frame.num_rows
    made = pa.array([b"\xff\xfe" + TEXT.encode()] * rows, pa.binary()).view(pa.string())
    return column_of(frame, "sex", made)


def written(name, make):
    """Return a maker of a file."""

    def to(folder):
        path = folder / name
        path.write_bytes(make())
        return path

    return to


def csv_bytes(**settings):
    return table().write_csv(**settings).encode()


def parquet_bytes(rows=40, **settings):
    path = pa.BufferOutputStream()
    pq.write_table(table(rows).to_arrow().replace_schema_metadata({TEXT: TEXT}), path, **settings)
    return path.getvalue().to_pybytes()


def damaged(seed):
    """Return a maker of a Parquet file with wrong bytes in its pages and footer."""

    def make():
        content = bytearray(parquet_bytes(compression="none"))
        chance = random.Random(seed)
        for _ in range(8):
            content[chance.randrange(4, len(content) - 8)] = chance.randrange(256)
        return bytes(content)

    return written("damaged.parquet", make)


def zipped(name, cut=0):
    """Return a maker of a zipped CSV file that has another name inside."""

    def make(folder):
        path = folder / name
        with path.open("wb") as raw, gzip.GzipFile(f"{TEXT}.csv", "wb", fileobj=raw) as stream:
            stream.write(csv_bytes() * 20)
        path.write_bytes(path.read_bytes()[: -cut or None])
        return path

    return make


def folder_of_two(folder):
    both = folder / "both"
    both.mkdir()
    (both / "a.csv").write_bytes(csv_bytes())
    (both / "b.parquet").write_bytes(parquet_bytes())
    return both


def list_of_two(folder):
    both = folder_of_two(folder)
    return [both / "a.csv", both / "b.parquet"]


HEADER = "person,age,height,sex,smokes,born,seen\n"

FRAMES = {
    "Polars": lambda _: table(),
    "Polars without rows": lambda _: table()[:0],
    "Polars categories": with_sex(pl.col("sex").cast(pl.Categorical)),
    "Polars enum": with_sex(pl.col("sex").cast(pl.Enum(["f", "m", TEXT]))),
    "Polars objects": with_sex(pl.Series([Angry(), {TEXT}, TEXT, object()] * 10, dtype=pl.Object)),
    "Polars decimals": lambda _: table().with_columns(pl.col("age", "height").cast(pl.Decimal(30, 10))),
    "Polars wide integers": lambda _: table().with_columns(pl.col("age").cast(pl.Int128) * 10**20),
    "Polars durations": lambda _: table().with_columns(
        age=pl.lit(dt.timedelta(seconds=WHOLE)), born=pl.lit(dt.time(3))
    ),
    "Polars records": with_sex(pl.struct("sex", "age")),
    "Polars lists": with_sex(pl.concat_list("sex", "sex")),
    "Polars bytes": with_sex(pl.col("sex").cast(pl.Binary)),
    "Polars without a column": lambda _: table().drop("height").with_columns(pl.lit(1).alias(TEXT)),
    "Polars under names that are cells": lambda _: table().rename({"sex": TEXT, "age": str(WHOLE)}),
    "lazy": lambda _: table().lazy(),
    "lazy cast that fails": lambda _: table().lazy().with_columns(age=pl.col("sex").cast(pl.Int64)),
    "lazy date that is none": lambda _: table().lazy().with_columns(born=pl.col("sex").str.to_date("%Y")),
    "lazy column that is not there": lambda _: table().lazy().with_columns(age=pl.col(TEXT)),
    "lazy join that fails": lambda _: table().lazy().join(table().lazy(), on="sex", how="left", validate="1:1"),
    "lazy code that fails": failing(ValueError),
    "lazy code that exits": failing(SystemExit),
    "lazy code that ends": failing(Ended),
    "lazy code that is interrupted": failing(KeyboardInterrupt),
    "lazy code that runs out of memory": failing(MemoryError),
    "lazy code that prints": printing,
    "pandas": of_pandas(lambda frame: frame),
    "pandas objects": of_pandas(objects),
    "pandas nullable": of_pandas(lambda frame: frame.convert_dtypes()),
    "pandas Arrow": of_pandas(lambda frame: frame.convert_dtypes(dtype_backend="pyarrow")),
    "pandas categories": of_pandas(categorical),
    "pandas sparse": of_pandas(sparse),
    "pandas with remarks": of_pandas(told_about),
    "pandas with a column twice": of_pandas(lambda frame: frame.rename(columns={"height": "age"})),
    "pandas without names": of_pandas(lambda frame: frame.set_axis(range(frame.shape[1]), axis=1)),
    "pandas with levels": of_pandas(levels),
    "pandas cells that fail": of_pandas(cells(Angry(), TEXT)),
    "pandas cells of many types": of_pandas(
        cells({TEXT: 1}, [TEXT], (TEXT,), {TEXT}, b"CANARY", 10**400, 1j, object())
    ),
    "pandas half characters": of_pandas(cells("\ud800" + TEXT)),
    "Arrow": of_arrow(lambda frame: frame),
    "Arrow dictionary": of_arrow(lambda frame: column_of(frame, "sex", texts_of(frame).dictionary_encode())),
    "Arrow extension": of_arrow(
        lambda frame: column_of(frame, "sex", pa.ExtensionArray.from_storage(Labelled(), texts_of(frame)))
    ),
    "Arrow chunks and nulls": of_arrow(lambda frame: pa.concat_tables([column_of(frame, "sex", pa.nulls(40))] * 3)),
    "Arrow with remarks": of_arrow(lambda frame: frame.replace_schema_metadata({TEXT: TEXT})),
    "Arrow batch": of_arrow(lambda frame: frame.combine_chunks().to_batches()[0]),
    "Arrow bytes that are no text": of_arrow(no_text),
    "Arrow lists": of_arrow(lambda frame: column_of(frame, "sex", pa.array([[TEXT]] * 40))),
    "narwhals": lambda _: nw.from_native(table()),
    "narwhals lazy": lambda _: nw.from_native(table().lazy()),
    "narwhals pandas": lambda _: nw.from_native(table().to_pandas()),
    "NumPy": lambda _: table().to_pandas().to_numpy(),
    "NumPy records": lambda _: np.array([(TEXT, WHOLE)] * 9, dtype=[("sex", "U20"), ("age", "i8")]),
    "Python rows": lambda _: table().to_dicts(),
    "Python columns": lambda _: table().to_dict(as_series=False),
    "Python iterator": lambda _: iter(table().to_dicts()),
    "one column": lambda _: table()["sex"],
    **ENGINE_FRAMES,
}
FILES = {
    "CSV": written("data.csv", csv_bytes),
    "TSV": written("data.tsv", lambda: csv_bytes(separator="\t")),
    "CSV in UTF-16, refused": written("wide.csv", lambda: csv_bytes().decode().encode("utf-16")),
    "CSV without header": written("bare.csv", lambda: csv_bytes(include_header=False)),
    "CSV ragged": written("ragged.csv", f'{HEADER}{TEXT}\n"{TEXT},1,2,f,true,,\n"{TEXT},,{TEXT}'.encode),
    "CSV of bytes": written("odd.csv", lambda: HEADER.encode() + b"\xff\xfe\x00" + TEXT.encode() + b",\xc3,1,f,,,\n"),
    "gzip with a name inside": zipped("data.csv.gz"),
    "gzip cut off": zipped("cut.csv.gz", cut=40),
    "gzip that is none": written("none.csv.gz", csv_bytes),
    "Parquet with remarks": written("data.parquet", parquet_bytes),
    "Parquet cut off": written("cut.parquet", lambda: parquet_bytes(2000)[:-300]),
    "Parquet that is none": written("none.parquet", csv_bytes),
    **{f"Parquet damaged {seed}": damaged(seed) for seed in range(5)},
    "a file of no kind": written("data.xlsx", csv_bytes),
    "folder": folder_of_two,
    "list of files": list_of_two,
}
INPUTS = FRAMES | FILES
NAMED = {
    "DuckDB without a column",
    "Polars without a column",
    "Polars under names that are cells",
    "pandas with levels",
    "CSV without header",
}
"""Tables whose column names hold the canary, which a draft of a schema shows: it is internal, and made of them."""
WELL_FORMED = {
    *ENGINES_WELL_FORMED,
    *(
        "Polars",
        "lazy",
        "pandas",
        "pandas nullable",
        "pandas Arrow",
        "pandas categories",
        "pandas with remarks",
        "Arrow",
    ),
    *("Arrow dictionary", "Arrow with remarks", "Arrow batch", "narwhals", "narwhals lazy", "narwhals pandas"),
    *("CSV", "TSV", "gzip with a name inside", "Parquet with remarks", "folder"),
}
"""Tables that no call refuses, so that what is looked at is more than refusals."""
