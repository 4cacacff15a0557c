"""On every shared data set, decoding the codes of the real rows gives the real rows back."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from conftest import EXAMPLES, SHARED_DATA
from lapwing.rows.codec import encode
from lapwing.rows.engines.frames import series_cells
from lapwing.rows.out.decode import decode
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

FOLDERS = sorted(path.parent for path in SHARED_DATA.glob("*/schema.json")) if SHARED_DATA.is_dir() else []
TABLES = {folder.name: (folder / "schema.json", folder / "data.parquet") for folder in FOLDERS} or {
    "the bundled sample": (EXAMPLES / "adult.schema.json", EXAMPLES / "adult.parquet")
}


@pytest.mark.parametrize("name", TABLES)
def test_decoding_the_codes_of_real_rows_gives_them_back(name):
    schema_path, data_path = TABLES[name]
    schema = replace(Schema.load(schema_path), privacy_unit=None)
    real = pl.read_parquet(data_path)

    source = code_table(data_path, schema)
    chunks = list(source.chunks())
    codes = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in source.columns}
    rows = decode(codes, schema)

    assert rows.columns == [field.name for field in schema.fields]
    for field in schema.columns:
        if field.domain.continuous:
            assert_within_one_cell(real[field.name], rows[field.name], field, codes[field.name])
        else:
            # Equal values also say that none was clamped and none was a misfit.
            assert real[field.name].cast(rows[field.name].dtype).eq_missing(rows[field.name]).all(), field.name


def assert_within_one_cell(real, decoded, field, codes):
    assert real.is_null().equals(decoded.is_null()), field.name
    off = encode(series_cells(decoded), field).astype(np.int64) - codes.astype(np.int64)
    cell = (field.maximum - field.minimum) / 2**32
    assert np.abs(off).max() <= 1, field.name
    assert (real - decoded).abs().fill_null(0).max() <= cell, field.name
    assert real.drop_nulls().is_between(field.minimum, field.maximum).all(), field.name
    assert decoded.drop_nulls().is_between(field.minimum, field.maximum).all(), field.name
