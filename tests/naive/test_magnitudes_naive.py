"""The cells of numbers are those that fractions give."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.naive_codes import naive_magnitude
from lapwing.schema.groupings.domains import cell_ends, magnitude_codes

decimals = st.builds(
    lambda digits, exponent: float(f"{digits}e{exponent}"), st.integers(-9999, 9999), st.integers(-18, 20)
)
reals = st.one_of(st.floats(allow_nan=False, allow_infinity=False), decimals)
wholes = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-2000, 2000))


@given(st.lists(reals, min_size=1))
def test_floats_go_where_their_shortest_decimal_lies(numbers):
    codes = magnitude_codes(np.array(numbers))

    assert codes.tolist() == [naive_magnitude(x) for x in numbers]


@given(st.lists(wholes, min_size=1))
def test_whole_numbers_go_where_they_lie(numbers):
    codes = magnitude_codes(np.array(numbers, dtype=np.int64))

    assert codes.tolist() == [naive_magnitude(x) for x in numbers]


@given(reals)
def test_a_number_within_the_grid_lies_between_the_ends_of_its_cell(x):
    low, high = cell_ends(int(magnitude_codes(np.array([x]))[0]))

    if abs(x) < 1e19:
        exact = Fraction(repr(x))
        assert low <= exact <= high
        assert float(low) <= x <= float(high)
        assert exact != (high if x > 0 else low)
