"""Decoding undoes encoding up to the resolution, for every kind of step and for real rows; codes go up with values."""

import datetime as dt
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EXAMPLES, SHARED_DATA
from lapwing.rows.cells import Numbers, texts
from lapwing.rows.codec import encode
from lapwing.rows.frames import series_cells
from lapwing.rows.out.decode import decode
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.groupings.category_trees import Prefixes
from lapwing.schema.schemas import Schema

DAYS = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))
MOMENTS = st.datetimes()
WHOLE = st.integers(-(2**63), 2**63 - 1)


def rows_of(field, codes):
    return decode({"x": codes}, Schema(fields=(field,)))["x"]


def encoded(field, values, dtype):
    return encode(series_cells(pl.Series("x", values, dtype=dtype)), field)


def begins(moment, unit):
    """Return where the month or year of a date or moment begins."""
    first = moment.replace(day=1) if unit == "month" else moment.replace(month=1, day=1)
    return first if type(first) is dt.date else first.replace(hour=0, minute=0, second=0, microsecond=0)


@st.composite
def timed(draw, values, resolutions):
    low, high = sorted((draw(values), draw(values)))
    cells = draw(st.lists(values, min_size=1, max_size=20))
    return low, high, draw(st.sampled_from(resolutions)), sorted(cells)


@settings(max_examples=150)
@given(timed(DAYS, ["day", "week", "month", "year"]))
def test_dates_come_back_as_the_day_on_which_their_step_begins(case):
    low, high, resolution, cells = case
    field = Field(
        name="x", type="date", minimum=low.isoformat(), maximum=high.isoformat(), resolution=resolution, required=True
    )

    codes = encoded(field, cells, pl.Date)
    rows = rows_of(field, codes)

    inside = [min(max(cell, low), high) for cell in cells]
    if resolution in ("month", "year"):
        assert rows.to_list() == [max(low, begins(cell, resolution)) for cell in inside]
    else:
        days = {"day": 1, "week": 7}[resolution]
        assert rows.to_list() == [cell - dt.timedelta((cell - low).days % days) for cell in inside]
    assert (np.diff(codes.astype(np.int64)) >= 0).all()
    assert (encode(series_cells(rows), field) == codes).all()


@settings(max_examples=150)
@given(timed(MOMENTS, ["second", "minute", "hour", "day", "month", "year"]))
def test_moments_come_back_as_the_moment_at_which_their_step_begins(case):
    low, high, resolution, cells = case
    field = Field(
        name="x",
        type="datetime",
        minimum=low.isoformat(),
        maximum=high.isoformat(timespec="microseconds"),
        resolution=resolution,
        required=True,
    )

    codes = encoded(field, cells, pl.Datetime("us"))
    rows = rows_of(field, codes)

    inside = [min(max(cell, low), high) for cell in cells]
    if resolution in ("month", "year"):
        assert rows.to_list() == [max(low, begins(cell, resolution)) for cell in inside]
    else:
        off = [cell - row for cell, row in zip(inside, rows.to_list(), strict=True)]
        step = dt.timedelta(**{f"{resolution}s": 1})
        assert all(dt.timedelta(0) <= value < step for value in off)
    assert (np.diff(codes.astype(np.int64)) >= 0).all()
    assert (encode(series_cells(rows), field) == codes).all()


@settings(max_examples=200)
@given(WHOLE, WHOLE, st.integers(1, 2**63 - 1), st.lists(st.one_of(WHOLE, st.integers(-500, 500)), min_size=1))
def test_whole_numbers_come_back_as_the_nearest_step(one, two, step, cells):
    low, high = sorted((one, two))
    step = max(step, (high - low) // 2**52 + 1)
    field = Field(name="x", type="integer", minimum=low, maximum=high, resolution=step, required=True)
    cells.sort()

    codes = encode(Numbers(np.array(cells)), field)
    rows = rows_of(field, codes).to_list()

    last = low + (field.domain.values - 1) * step
    for cell, row in zip(cells, rows, strict=True):
        assert (row - low) % step == 0
        assert 2 * abs(min(max(cell, low), last) - row) <= step
    assert (np.diff(codes.astype(np.int64)) >= 0).all()
    assert (encode(Numbers(np.array(rows)), field) == codes).all()


@settings(max_examples=200)
@given(
    st.floats(-1e9, 1e9),
    st.floats(1e-9, 1e9),
    st.lists(st.floats(0, 1), max_size=20),
    st.sampled_from(["linear", "log"]),
)
def test_numbers_come_back_within_their_cell_and_landmarks_exactly(low, width, shares, scale):
    high = low + width
    if not high > low:
        return
    field = Field(name="x", type="number", minimum=low, maximum=high, scale=scale, required=True)
    landmarks = [x for x in (low, high, 0.0) if low <= x <= high]
    cells = np.array([*landmarks, *(low + share * width for share in shares)])

    codes = encode(Numbers(cells), field)
    rows = rows_of(field, codes).to_numpy()

    cell = width / 2**32 + 4 * np.spacing(max(abs(low), abs(high)))
    assert np.abs(np.clip(cells, low, high) - rows).max() <= cell
    for x, row in zip(landmarks, rows, strict=False):
        assert row == x or (row == 0.0 and abs(x) <= cell)
    assert not np.signbit(rows[rows == 0.0]).any()
    assert low <= rows.min() <= rows.max() <= high


@settings(max_examples=100)
@given(st.lists(st.text("ab1", min_size=1, max_size=5), min_size=1, max_size=12, unique=True), st.data())
def test_categories_of_a_hierarchy_come_back_as_they_are(categories, data):
    lengths = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True))
    field = Field(name="x", type="string", categories=tuple(categories), hierarchy=Prefixes(tuple(sorted(lengths))))
    cells = data.draw(st.lists(st.one_of(st.sampled_from(categories), st.none()), min_size=1))

    rows = rows_of(field, encode(texts(cells), field))

    assert rows.to_list() == cells


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
