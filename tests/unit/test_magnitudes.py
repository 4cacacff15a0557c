"""The public grid of numbers: its cells, its edges, its ends."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from helpers.naive_codes import naive_magnitude
from lapwing.errors import ParameterError
from lapwing.schema.groupings.domains import MAGNITUDE_VALUES, cell_ends, decade_starts, magnitude_codes

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


def test_a_decimal_that_no_float_holds_lies_in_the_cell_that_begins_with_it():
    assert Fraction(0.3) < Fraction(3, 10)

    assert cell_ends(code_of(0.3)) == (Fraction(3, 10), Fraction(31, 100))
    assert cell_ends(code_of(-0.3)) == (-Fraction(31, 100), -Fraction(3, 10))


def test_whole_numbers_are_compared_exactly():
    beside = np.array([10**18 - 1, 10**18, 99 * 10**16 - 1, -(10**18), 1 - 10**18, 2**53 + 1, 2**63 - 1, -(2**63)])

    assert magnitude_codes(beside).tolist() == [naive_magnitude(x) for x in beside.tolist()]
    assert code_of(10**18 - 1) == code_of(10**18) - 1
    assert code_of(float(10**18 - 1)) == code_of(10**18)


@pytest.mark.parametrize(("x", "code"), [(1e19, -1), (1.7e308, -1), (-1e19, 0), (-1.7e308, 0), (1e-13, ZERO)])
def test_what_lies_beyond_is_in_the_nearest_cell(x, code):
    assert code_of(x) == range(MAGNITUDE_VALUES)[code]


def test_zero_and_what_is_as_good_as_zero_share_a_cell():
    nearly = np.array([0.0, -0.0, 5e-324, -5e-324, 9.99e-13, np.nextafter(1e-12, 0), -np.nextafter(1e-12, 0)])

    assert set(magnitude_codes(nearly).tolist()) == {ZERO}
    assert code_of(0) == ZERO
    assert [code_of(1e-12), code_of(-1e-12)] == [ZERO + 1, ZERO - 1]


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


def test_no_numbers_have_no_codes():
    assert magnitude_codes(np.empty(0)).tolist() == magnitude_codes(np.empty(0, dtype=np.int64)).tolist() == []
