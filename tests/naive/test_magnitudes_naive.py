"""The public grid of numbers: its cells are those that fractions give; its edges, its ends."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.naive_codes import naive_magnitude
from lapwing.errors import ParameterError
from lapwing.schema.groupings.domains import MAGNITUDE_VALUES, cell_ends, decade_starts, magnitude_codes

decimals = st.builds(
    lambda digits, exponent: float(f"{digits}e{exponent}"), st.integers(-9999, 9999), st.integers(-18, 20)
)
reals = st.one_of(st.floats(allow_nan=False, allow_infinity=False), decimals)
wholes = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-2000, 2000))


@given(reals=st.lists(reals, min_size=1), wholes=st.lists(wholes, min_size=1))
def test_whole_numbers_go_where_they_lie_and_others_where_their_shortest_decimal_does(reals, wholes):
    assert magnitude_codes(np.array(reals)).tolist() == [naive_magnitude(x) for x in reals]
    assert magnitude_codes(np.array(wholes, dtype=np.int64)).tolist() == [naive_magnitude(x) for x in wholes]


@given(reals)
def test_a_number_within_the_grid_lies_between_the_ends_of_its_cell(x):
    low, high = cell_ends(int(magnitude_codes(np.array([x]))[0]))

    if abs(x) < 1e19:
        exact = Fraction(repr(x))
        assert low <= exact <= high
        assert float(low) <= x <= float(high)
        assert exact != (high if x > 0 else low)


ZERO = MAGNITUDE_VALUES // 2
CELLS = range(MAGNITUDE_VALUES)


def code_of(x):
    return int(magnitude_codes(np.array([x]))[0])


def test_the_cells_follow_each_other_without_gap_from_one_end_to_the_other():
    ends = [cell_ends(code) for code in CELLS]

    assert all(low < high for low, high in ends)
    assert all(one[1] == other[0] for one, other in pairwise(ends))
    assert (ends[0][0], ends[-1][1]) == (-(10**19), 10**19)
    assert ends[ZERO] == (-Fraction(1, 10**12), Fraction(1, 10**12))


def test_every_cell_is_the_mirror_image_of_its_opposite():
    for code in CELLS:
        low, high = cell_ends(code)
        assert cell_ends(MAGNITUDE_VALUES - 1 - code) == (-high, -low)


def test_every_end_is_a_decimal_of_two_digits_that_the_nearest_float_is_written_as():
    for end in (end for code in CELLS for end in cell_ends(code)):
        assert Fraction(f"{float(end):.1e}") == Fraction(repr(float(end))) == end


def test_the_end_nearer_to_zero_belongs_to_its_cell_and_the_float_before_it_does_not():
    for code in range(ZERO + 1, MAGNITUDE_VALUES):
        near = float(cell_ends(code)[0])
        before = np.nextafter(near, 0)

        assert [code_of(near), code_of(-near)] == [code, MAGNITUDE_VALUES - 1 - code]
        assert [code_of(before), code_of(-before)] == [code - 1, MAGNITUDE_VALUES - code]


@pytest.mark.parametrize(("x", "code"), [(1e19, -1), (1.7e308, -1), (-1e19, 0), (-1.7e308, 0), (1e-13, ZERO)])
def test_what_lies_beyond_is_in_the_nearest_cell(x, code):
    assert code_of(x) == range(MAGNITUDE_VALUES)[code]


def test_every_group_is_a_decade_of_one_sign_or_zero():
    groups = [range(first, stop) for first, stop in pairwise((0, *decade_starts(), MAGNITUDE_VALUES))]

    assert len(groups) == 63
    assert range(ZERO, ZERO + 1) in groups
    for group in groups:
        low, high = cell_ends(group[0])[0], cell_ends(group[-1])[1]
        near, far = sorted((abs(low), abs(high)))
        assert low == -high or (low * high > 0 and far == 10 * near and len(group) == 90)


def test_a_code_outside_the_grid_has_no_ends():
    for code in (-1, MAGNITUDE_VALUES):
        with pytest.raises(ParameterError, match="from 0 to 5580"):
            cell_ends(code)
