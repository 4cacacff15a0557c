"""Without a schema a column comes back in the type that it had, or is left out, and the certificate says why.

What may change is listed: of NumPy in pandas, types that one missing cell would change; units and zones that readers
guess; types that list values; and what no library has a type for.
"""

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw
from helpers.command import lapwing

ROWS = 1500
WHOLE = np.arange(ROWS) % 50
REAL = WHOLE * 7 % 31 / 10
TRUTH = WHOLE % 2 == 0
WORDS = np.where(TRUTH, "a", "b")
MINUTES = [dt.datetime(2020, 1, 1) + dt.timedelta(minutes=int(each) * 997) for each in range(ROWS)]
ZONED = pl.Series(MINUTES).dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
DAYS = [each.date() for each in MINUTES]
NOTHING = [None] * ROWS
OUT, EMPTY = "left_out_type", "left_out_empty"

NULLABLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")


def holes(column):
    """Return a column of pandas with missing cells."""
    column = column.copy()
    column[WHOLE % 7 == 0] = None
    return column


PANDAS = {
    **{kind: (pd.Series(WHOLE, dtype=kind), "int64") for kind in ("int8", "int32", "int64", "uint8", "uint64")},
    **{kind: (holes(pd.Series(WHOLE, dtype=kind)), kind) for kind in NULLABLE},
    **{kind: (pd.Series(REAL, dtype=kind), kind) for kind in ("float32", "float64")},
    **{kind: (holes(pd.Series(REAL, dtype=kind)), kind) for kind in ("Float32", "Float64")},
    "bool": (pd.Series(TRUTH), "bool"),
    "boolean": (holes(pd.Series(TRUTH, dtype="boolean")), "boolean"),
    "text": (pd.Series(WORDS, dtype="string"), "string"),
    "category": (pd.Series(WORDS).astype("category"), "category"),
    "numbers": (pd.Series(WHOLE % 4).astype("category"), "category"),
    "moment": (pd.Series(MINUTES).astype("datetime64[us]"), "datetime64[us]"),
    "zoned": (pd.Series(ZONED.to_list()).dt.tz_convert("Europe/Berlin"), "datetime64[us, Europe/Berlin]"),
    "duration": (pd.Series(pd.to_timedelta(WHOLE, unit="h")), OUT),
    "period": (pd.Series(pd.PeriodIndex(MINUTES, freq="M")), OUT),
    "interval": (pd.Series(pd.cut(REAL, 4)), OUT),
    "complex": (pd.Series(REAL + 1j), OUT),
    "nan": (pd.Series(np.full(ROWS, np.nan)), EMPTY),
    "none": (pd.Series(NOTHING, dtype=object), EMPTY),
    "NA": (pd.Series([pd.NA] * ROWS, dtype="Int64"), EMPTY),
    "NaT": (pd.Series(pd.to_datetime(NOTHING)), EMPTY),
    "arrow whole": (pd.Series(WHOLE, dtype="int16[pyarrow]"), "int16[pyarrow]"),
    "arrow truth": (pd.Series(TRUTH, dtype="bool[pyarrow]"), "bool[pyarrow]"),
    "arrow day": (pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32())), "date32[day][pyarrow]"),
    "arrow money": (
        pd.Series([Decimal(str(each)) for each in REAL], dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
        "decimal128(9, 2)[pyarrow]",
    ),
    "arrow duration": (pd.Series(pd.to_timedelta(WHOLE, unit="h")).astype("duration[us][pyarrow]"), OUT),
}
POLARS = {
    **{kind: (pl.Series(WHOLE).cast(getattr(pl, kind)), kind) for kind in NULLABLE},
    **{kind: (pl.Series(REAL).cast(getattr(pl, kind)), kind) for kind in ("Float32", "Float64")},
    "Boolean": (pl.Series(TRUTH), "Boolean"),
    "String": (pl.Series(WORDS), "String"),
    "Categorical": (pl.Series(WORDS).cast(pl.Categorical), "Categorical"),
    "Decimal": (pl.Series(REAL).cast(pl.Decimal(9, 2)), "Decimal(precision=9, scale=2)"),
    "Date": (pl.Series(DAYS), "Date"),
    "moment": (pl.Series(MINUTES), "Datetime(time_unit='us', time_zone=None)"),
    "zoned": (ZONED, "Datetime(time_unit='us', time_zone='Europe/Berlin')"),
    "Duration": (pl.Series(WHOLE).cast(pl.Duration("us")), OUT),
    "Time": (pl.Series(MINUTES).dt.time(), OUT),
    "List": (pl.Series([[int(each)] for each in WHOLE]), OUT),
    "Struct": (pl.Series([{"a": int(each)} for each in WHOLE]), OUT),
    "null": (pl.Series(NOTHING), EMPTY),
    "null whole": (pl.Series(NOTHING, dtype=pl.Int16), EMPTY),
    "null real": (pl.Series(NOTHING, dtype=pl.Float64), EMPTY),
    "null moment": (pl.Series(NOTHING, dtype=pl.Datetime("us")), EMPTY),
    "NaN": (pl.Series([float("nan")] * ROWS), EMPTY),
}
ARROW = {
    **{kind: (pa.array(WHOLE, getattr(pa, kind)()), kind) for kind in ("int8", "int16", "int32", "int64", "uint64")},
    "float": (pa.array(REAL.astype("float32")), "float"),
    "double": (pa.array(REAL), "double"),
    "bool": (pa.array(TRUTH), "bool"),
    "string": (pa.array(WORDS.tolist()), "string"),
    "date32": (pa.array(DAYS, pa.date32()), "date32[day]"),
    "moment": (pa.array(MINUTES, pa.timestamp("us")), "timestamp[us]"),
    "zoned": (pa.array(ZONED.to_list(), pa.timestamp("us", "Europe/Berlin")), "timestamp[us, tz=Europe/Berlin]"),
    "decimal": (pa.array(REAL.tolist()).cast(pa.decimal128(9, 2), safe=False), "decimal128(9, 2)"),
    "duration": (pa.array(WHOLE, pa.duration("us")), OUT),
    "time": (pa.array([each.time() for each in MINUTES], pa.time64("us")), OUT),
    "null": (pa.nulls(ROWS), EMPTY),
    "null double": (pa.nulls(ROWS, pa.float64()), EMPTY),
}
LIBRARIES = {
    "pandas": (PANDAS, pd.DataFrame, lambda frame: dict(frame.dtypes)),
    "polars": (POLARS, pl.DataFrame, lambda frame: dict(frame.schema)),
    "pyarrow": (ARROW, pa.table, lambda table: {each.name: each.type for each in table.schema}),
}


def reasons(certificate):
    """Return why each column was left out."""
    return {
        name: each.code for each in certificate.warnings if "left_out" in each.code for name in each.fields["fields"]
    }


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_type_comes_back_or_is_left_out_with_its_reason(library):
    columns, frame, types = LIBRARIES[library]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = lw.synthesize(
            # So that noise that shows what no cell has is no cell: it does in one of thousands of noisy counts.
            frame({name: column for name, (column, _) in columns.items()}),
            epsilon=20_000,
            delta="1e-6",
            seed=1,
        )
        found = types(release.sample(50, seed=1))

    assert {name: str(kind) for name, kind in found.items()} | reasons(release.certificate) == {
        name: expected for name, (_, expected) in columns.items()
    }
    assert not {*found} & {*reasons(release.certificate)}


def test_the_command_keeps_and_leaves_out_the_same_columns(tmp_path):
    left_out = {name for name, (_, expected) in POLARS.items() if expected in (OUT, EMPTY)}
    table = pl.DataFrame({name: POLARS[name][0] for name in (*sorted(left_out), "Int16", "Date")})
    table.write_parquet(tmp_path / "d.parquet")
    budget = ("--epsilon", "500", "--delta", "1e-6", "--seed", "1")

    said = lapwing("synthesize", tmp_path / "d.parquet", *budget, "-o", tmp_path / "out.parquet")
    release = lw.synthesize(table, epsilon=500, delta="1e-6", seed=1)

    assert said.status == 0, said.err
    assert pl.read_parquet_schema(tmp_path / "out.parquet").names() == list(release.schema.names) == ["Int16", "Date"]
    assert all(each.text in said.err for each in release.certificate.warnings if "left_out" in each.code)
