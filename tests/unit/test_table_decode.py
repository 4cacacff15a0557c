"""Released codes become values of the schema's types."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from lapwing.rows.cells import Numbers
from lapwing.rows.codec import encode
from lapwing.rows.out.decode import decode
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema


def values_of(field, codes):
    frame = decode({field.name: np.array(codes)}, Schema(fields=(field,)))
    assert frame.columns == [field.name]
    return frame[field.name]


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


def decimals_of(value):
    """Return the place of the last digit of a float as it is written: 2 of 0.25, -3 of 7000."""
    return -Decimal(repr(value)).normalize().as_tuple().exponent


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


def test_the_misfit_code_is_never_shown():
    field = Field(name="x", type="boolean", required=True)

    with pytest.raises(AssertionError, match="misfit"):
        values_of(field, [0, 2])
