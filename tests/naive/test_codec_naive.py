"""The vectorised codec gives what the slow rules give, on generated cells of every shape."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.naive_codes import naive_code
from lapwing.rows.cells import Numbers, Times, read_numbers, read_times, texts
from lapwing.rows.codec import encode
from lapwing.schema.fields import Field
from lapwing.schema.groupings.category_trees import Prefixes

NUMBER_FIELDS = (
    Field(name="x", type="number", open=True, special=(-1, 0.5)),
    Field(name="x", type="integer", open=True, special=(-99, 2**63 - 1)),
    Field(name="x", type="string", open=True, missing_values=("", "N/A", "3")),
    Field(name="x", type="number", minimum=-3.7, maximum=1e5, special=(-1, 0.5)),
    Field(name="x", type="number", minimum=0, maximum=1e-300),
    Field(name="x", type="number", minimum=-1e308, maximum=7e307),
    Field(name="x", type="number", minimum=-2, maximum=1000, resolution=0.05, special=(99999,)),
    Field(name="x", type="integer", minimum=-5, maximum=300, special=(-99, 999)),
    Field(name="x", type="integer", minimum=-(2**63), maximum=-(2**63) + 2**53 - 1),
    Field(name="x", type="integer", minimum=2**63 - 2**53, maximum=2**63 - 1),
    Field(name="x", type="integer", categories=(0, 7, -1, 2**60, 3)),
    Field(name="x", type="number", categories=(0.1, 0.25, 3.0)),
    Field(name="x", type="string", categories=("a", "1", "1.0", "2.5", "true", "0.1", "07")),
    Field(name="x", type="boolean"),
    Field(name="x", type="date", minimum="1999-12-31", maximum="2024-02-29"),
    Field(name="x", type="datetime", minimum="1999-12-31", maximum="2024-02-29", resolution="minute"),
    Field(name="x", type="integer", minimum=-50, maximum=340, resolution=20, special=(0, 25), scale="log"),
    Field(name="x", type="integer", minimum=-(2**63), maximum=2**63 - 1, resolution=2**11 + 1),
    Field(name="x", type="integer", minimum=-(2**63), maximum=2**63 - 1, resolution=2**63 - 1),
    Field(name="x", type="integer", minimum=-3, maximum=300, resolution=2**62),
    Field(name="x", type="string", categories=("b1", "2.5", "a", "b2", "0.1"), hierarchy=Prefixes((1,))),
    Field(name="x", type="string", categories=("a", "1", "2.5", "rest"), unlisted="rest"),
    Field(
        name="x",
        type="string",
        categories=("1", "19", "2000-01", "-", "20", "07", "1e", "n", "2000-01-01T1"),
        hierarchy=Prefixes((1, 2, 7, 12), fold=True),
        unlisted="n",
        missing_values=("7",),
    ),
    Field(name="x", type="date", minimum="1999-12-31", maximum="2024-02-28", resolution="week"),
    Field(
        name="x", type="date", minimum="1959-12-15", maximum="2024-02-10", resolution="month", special=("2000-02-29",)
    ),
    Field(name="x", type="date", minimum="0001-01-01", maximum="9999-12-31", resolution="year"),
    Field(name="x", type="datetime", minimum="1959-12-15T12:00", maximum="2024-02-10T01:00:00", resolution="month"),
    Field(name="x", type="datetime", minimum="0001-06-01", maximum="9999-03-01", resolution="year"),
)

number_texts = st.text(alphabet="0123456789.eE+-_ \tnaif", max_size=12)
moment_texts = st.from_regex(
    r"\A(19|20|00)[0-9]{2}-[01][0-9]-[0-3][0-9]"
    r"([T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,8})?)?(Z|[+-][0-3][0-9]:?[0-6][0-9])?)?\Z"
)
other_texts = st.sampled_from(["a", "A", "true", "TRUE", "f", "no", "1.0", "07", "7", "", "\u0663", "N/A", "1" * 400])


@settings(max_examples=60)
@given(st.lists(st.one_of(number_texts, moment_texts, other_texts, st.floats().map(repr), st.none()), max_size=30))
def test_text_cells_follow_the_slow_rules(cells):
    for field in NUMBER_FIELDS:
        codes = encode(texts(cells), field)

        assert codes.tolist() == [naive_code(cell, field) for cell in cells], field


NUMBERS = {
    np.float64: st.one_of(st.floats(), st.integers(-400, 400).map(float), st.integers(-99, 99).map(lambda k: k / 20)),
    np.int64: st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-400, 400)),
    np.uint64: st.integers(0, 2**64 - 1),
}


@pytest.mark.parametrize("dtype", NUMBERS)
@settings(max_examples=40)
@given(data=st.data())
def test_numbers_follow_the_slow_rules(dtype, data):
    cells = data.draw(st.lists(NUMBERS[dtype]))
    for field in NUMBER_FIELDS:
        codes = encode(Numbers(np.array(cells, dtype=dtype)), field)

        assert codes.tolist() == [naive_code(cell, field) for cell in cells], field


@settings(max_examples=40)
@given(st.lists(st.datetimes()))
def test_moments_follow_the_slow_rules(cells):
    microseconds = np.array([(cell - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1) for cell in cells])
    for field in NUMBER_FIELDS:
        codes = encode(Times(microseconds.astype(np.int64)), field)

        assert codes.tolist() == [naive_code(cell, field) for cell in cells], field


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_are_read_from_text_to_the_last_bit(values):
    read = read_numbers(pl.Series([repr(value) for value in values]))

    assert np.where(read.is_integer, read.integers, read.reals).tolist() == values


def test_every_century_and_leap_year_has_the_calendars_days():
    days = [dt.date.fromordinal(day) for day in range(1, dt.date.max.toordinal(), 97)]

    microseconds, is_time = read_times(pl.Series([day.isoformat() for day in days]))

    assert is_time.all()
    assert (microseconds // 86_400_000_000).tolist() == [(day - dt.date(1970, 1, 1)).days for day in days]


def test_the_formula_for_real_numbers_is_computed_in_the_stated_order():
    field = Field(name="x", type="number", minimum=-7.3, maximum=11.9)
    x = np.random.default_rng(1).uniform(-8, 13, 10_000)

    codes = encode(Numbers(x), field)

    q = (np.clip(x, -7.3, 11.9) - -7.3) / (11.9 - -7.3)
    assert (codes == np.minimum((q * 2**32).astype(np.int64), 2**32 - 1)).all()
