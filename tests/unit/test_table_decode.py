"""Released codes become values of the schema's types."""

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from lapwing.rows.cells import Numbers
from lapwing.rows.codec import encode
from lapwing.rows.frames import series_cells
from lapwing.rows.out.decode import decode
from lapwing.schema.fields import Field
from lapwing.schema.groupings.category_trees import Prefixes
from lapwing.schema.schemas import Schema


def values_of(field, codes):
    frame = decode({field.name: np.array(codes)}, Schema(fields=(field,)))
    assert frame.columns == [field.name]
    return frame[field.name]


EXAMPLES = [
    (Field(name="x", type="integer", minimum=-3, maximum=5, special=(99,)), [0, 8, 9, 10], [-3, 5, 99, None], pl.Int64),
    (Field(name="x", type="integer", categories=(7, 3)), [1, 0, 2], [3, 7, None], pl.Int64),
    (Field(name="x", type="number", categories=(7, 2.5)), [1, 0, 2], [2.5, 7.0, None], pl.Float64),
    (Field(name="x", type="string", categories=("b", "a")), [1, 0, 2], ["a", "b", None], pl.String),
    (Field(name="x", type="boolean"), [0, 1, 2], [False, True, None], pl.Boolean),
    (Field(name="x", type="boolean", categories=(True, False)), [0, 1, 2], [True, False, None], pl.Boolean),
    (
        Field(name="x", type="date", minimum="2020-02-28", maximum="2020-03-01", special=("1900-01-01",)),
        [0, 1, 2, 3, 4],
        [dt.date(2020, 2, 28), dt.date(2020, 2, 29), dt.date(2020, 3, 1), dt.date(1900, 1, 1), None],
        pl.Date,
    ),
    (Field(name="x", type="date", categories=("2020-02-29",)), [0, 1], [dt.date(2020, 2, 29), None], pl.Date),
    (
        Field(name="x", type="datetime", minimum="2020-02-28T06:00:00", maximum="2020-02-28", resolution="hour"),
        [0, 17, 18],
        [dt.datetime(2020, 2, 28, 6), dt.datetime(2020, 2, 28, 23), None],
        pl.Datetime("us"),
    ),
    (
        Field(name="x", type="datetime", categories=("2020-02-29T01:02:03",)),
        [0, 1],
        [dt.datetime(2020, 2, 29, 1, 2, 3), None],
        pl.Datetime("us"),
    ),
    (
        Field(name="x", type="number", minimum=0, maximum=1, resolution=0.01, special=(-1.5,)),
        [29, 57, 58, 100, 101, 102],
        [0.29, 0.57, 0.58, 1.0, -1.5, None],
        pl.Float64,
    ),
    (Field(name="x", type="number", minimum=2.5, maximum=2.5), [0, 1], [2.5, None], pl.Float64),
    (
        Field(name="x", type="number", minimum=-1, maximum=3, special=(-9,)),
        [0, 2**30, 2**32 - 1, 2**32, 2**32 + 1],
        [-1.0, 0.0, 3.0, -9.0, None],
        pl.Float64,
    ),
    (
        Field(name="x", type="integer", minimum=-150, maximum=1020, resolution=100, special=(0,)),
        [0, 1, 2, 11, 12, 13],
        [-150, -50, 50, 950, 0, None],
        pl.Int64,
    ),
    (
        Field(name="x", type="integer", minimum=-(2**63), maximum=2**63 - 1, resolution=2**62),
        [0, 1, 2, 3, 4],
        [-(2**63), -(2**62), 0, 2**62, None],
        pl.Int64,
    ),
    (
        Field(name="x", type="string", categories=("b1", "a", "b2"), hierarchy=Prefixes((1,))),
        [0, 1, 2, 3],
        ["b1", "b2", "a", None],
        pl.String,
    ),
]


@pytest.mark.parametrize(("field", "codes", "values", "dtype"), EXAMPLES)
def test_codes_become_values_of_the_fields_type(field, codes, values, dtype):
    column = values_of(field, codes)

    assert column.to_list() == values
    assert column.dtype == dtype
    assert encode(series_cells(column), field).tolist() == codes


@pytest.mark.parametrize("ends", [(-1, 1), (0, 300), (-1e6, 1e6), (0, 7e-9), (1e9, 1e9 + 7), (-3e12, 11)])
def test_real_numbers_have_the_fewest_decimals_that_lie_in_their_cell(ends):
    lo, hi = ends
    field = Field(name="x", type="number", minimum=lo, maximum=hi, special=(5e13,))
    codes = np.random.default_rng(1).integers(1, 2**32 - 1, 300)

    values = values_of(field, codes).to_list()

    cell = Fraction(hi) / 2**32 - Fraction(lo) / 2**32
    for code, value in zip(codes.tolist(), values, strict=True):
        start, slack = Fraction(lo) + code * cell, max(cell / 1000, Fraction(math.ulp(max(abs(lo), abs(hi)))))
        assert start - slack <= Fraction(value) < start + cell + slack
        coarser = Fraction(10) ** (1 - decimals_of(value))
        inside = -(-start // coarser) * coarser
        assert not start + slack <= inside < start + cell - slack
    assert values_of(field, [2**32, 2**32 + 1]).to_list() == [5e13, None]


def decimals_of(value):
    """Return the place of the last digit of a float as it is written: 2 of 0.25, -3 of 7000."""
    return -Decimal(repr(value)).normalize().as_tuple().exponent


@pytest.mark.parametrize("ends", [(0, 300), (-40, 60), (-1000.5, 12_345.75)])
def test_numbers_as_people_write_them_come_back_as_they_were(ends):
    field = Field(name="x", type="number", minimum=ends[0], maximum=ends[1])
    numbers = np.array([0.0, 37.2, 41.75, 0.1, 12.0, 59.99, 1.125, 28.571])

    assert values_of(field, encode(Numbers(numbers), field)).to_list() == numbers.tolist()


EXACT = [
    (0, 1, ()),
    (-1, 0, ()),
    (-0.1, 0.2, ()),
    (-3.5, 9.3, ()),
    (-7.3, 11.9, ()),
    (5, 6, ()),
    (-1e308, 7e307, ()),
    (-1e-300, 1, ()),
    (-1, 1e-300, ()),
    (0, 5e-324, ()),
    (-0.1, 0.2, (0,)),
    (0, 8, (0, 8)),
    (-2, -1, (0,)),
]


@pytest.mark.parametrize(("lo", "hi", "special"), EXACT)
def test_minimum_zero_and_maximum_are_shown_exactly_and_only_where_they_are_regular(lo, hi, special):
    field = Field(name="x", type="number", minimum=lo, maximum=hi, special=special)
    known = [float(x) for x in (lo, 0.0, hi) if lo <= x <= hi]

    codes = encode(Numbers(np.array(known)), field).astype(np.int64)
    values = values_of(field, codes).to_numpy()

    # Where zero shares its cell with a bound, both are shown as zero.
    cell = (hi - lo) / 2**32
    near_zero = [
        0.0 if 0.0 in known and x not in special and abs(x) < cell and codes[at] == codes[known.index(0.0)] else x
        for at, x in enumerate(known)
    ]
    assert values.tolist() == near_zero
    assert (encode(Numbers(values), field) == codes).all()
    assert not np.signbit(values[values == 0.0]).any()


def test_no_value_is_minus_zero():
    # The float that ends the cell below zero's lies above zero, so that minus zero is in that cell.
    field = Field(name="x", type="number", minimum=-3.5, maximum=9.3)
    zero = encode(Numbers(np.array([0.0])), field).astype(np.int64)[0]

    values = values_of(field, np.repeat(zero + np.arange(-2, 3), 3000)).to_numpy()

    assert (values == 0.0).sum() > 3000
    assert not np.signbit(values[values == 0.0]).any()


@pytest.mark.parametrize(
    ("lo", "hi"),
    [(0, 1), (-1000, 1000), (0.1, 0.3), (1e9, 1e9 + 1), (0, 1e-300), (-1e308, 7e307), (0, 5e-324), (-1e-12, 1e12)],
)
def test_real_numbers_never_leave_the_bounds_whatever_the_scale(lo, hi):
    field = Field(name="x", type="number", minimum=lo, maximum=hi)
    codes = np.concatenate([np.zeros(500), np.full(500, 2**32 - 1), np.linspace(0, 2**32 - 1, 999)]).astype(np.int64)

    values = values_of(field, codes).to_numpy()

    assert values.min() >= lo
    assert values.max() <= hi
    assert np.isfinite(values).all()
    ulp = np.spacing(max(abs(lo), abs(hi))) / (hi - lo)
    off = np.abs(encode(Numbers(values), field).astype(np.int64) - codes)
    assert off.max() <= max(1, 4 * ulp * 2**32)


def test_multiples_are_the_floats_that_their_decimals_read_as():
    field = Field(name="x", type="number", minimum=-2, maximum=70000, resolution=0.05)

    values = values_of(field, np.arange(field.domain.values)).to_list()

    # Python's int by int division rounds once, like reading the decimal.
    assert values == [(5 * k - 200) / 100 for k in range(field.domain.values)]
    assert encode(Numbers(np.array(values)), field).tolist() == list(range(field.domain.values))


def test_identifiers_are_fresh_numbers_that_count_on():
    schema = Schema(
        fields=(
            Field(name="person", type="string", identifier=True),
            Field(name="flag", type="boolean"),
            Field(name="visit", type="integer", identifier=True),
        )
    )

    frame = decode({"flag": np.array([1, 0])}, schema, first_row=10)

    assert frame.to_dict(as_series=False) == {"person": ["11", "12"], "flag": [True, False], "visit": [11, 12]}
    assert frame.dtypes == [pl.String, pl.Boolean, pl.Int64]


def test_the_misfit_code_is_never_shown():
    field = Field(name="x", type="boolean", required=True)

    with pytest.raises(AssertionError, match="misfit"):
        values_of(field, [0, 2])
