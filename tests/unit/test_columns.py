"""Errors of single columns, on codes small enough to count by hand."""

import math

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.judge.columns import PERCENTS, compare_columns, error_sizes
from lapwing.schema.schemas import Schema

NOTHING = (0.0,) * len(PERCENTS)
ALL = (1.0,) * len(PERCENTS)


def number(name="x", most=9, **more):
    constraints = {"minimum": 0, "maximum": most} | ({"required": True} if more.pop("required", False) else {})
    return {"name": name, "type": "integer", "constraints": constraints} | more


def compared(field, real, other):
    """Return the errors of one column."""
    schema = Schema.from_dict({"fields": [field]})
    return compare_columns({"x": np.array(real)}, {"x": np.array(other)}, schema)[0]


def test_a_column_that_is_the_real_one_has_no_error():
    codes = [0, 3, 3, 9, 10, 11]

    found = compared(number(special=[-1]), codes, codes * 2)

    assert (found.missing, found.special) == (0, ((-1, 0.0),))
    assert found.numbers.ranks == NOTHING
    assert (found.numbers.kolmogorov, found.numbers.wasserstein, found.numbers.rank) == (0, 0, 0)
    # Means and deviations are sums of floats.
    assert abs(found.numbers.mean) < 1e-15
    assert abs(found.numbers.deviation) < 1e-15


def test_shares_of_missing_and_special_cells_are_counted_apart_and_have_a_sign():
    found = compared(number(special=[-1, 99]), [0, 10, 10, 12], [10, 11, 12, 12])

    assert found.missing == 0.25
    assert found.special == ((-1, -0.25), (99, 0.25))


def test_a_column_that_must_not_be_missing_has_no_error_of_missing_cells():
    found = compared(number(required=True, special=[-1]), [0, 10], [0, 0])

    assert found.missing is None
    assert found.special == ((-1, -0.5),)


def test_moments_are_in_real_standard_deviations():
    # Mean 2 and deviation 2 against 6 and 4.
    found = compared(number(most=20), [0, 4], [2, 10]).numbers

    assert (found.mean, found.deviation) == (2.0, 1.0)
    assert found.wasserstein == (2 + 6) / 2 / 2


def test_the_largest_distance_of_the_distribution_functions_is_found():
    # At 0: 3/4 against 1/4; at 5: 3/4 against 3/4.
    found = compared(number(), [0, 0, 0, 9], [0, 5, 5, 9]).numbers

    assert found.kolmogorov == 0.5


def test_ranks_of_quantiles_have_a_sign_and_are_0_within_a_jump():
    real = list(range(100))

    # Every other value is 49: half of the real ones lie up to there (0.50), and 49 percent below it.
    found = compared(number(most=99), real, [49] * 10).numbers

    expected = [0.48, 0.44, 0.24, 0.0, -0.25, -0.45, -0.49]
    assert found.ranks == pytest.approx(expected, abs=1e-15)
    assert found.rank == pytest.approx(math.fsum(map(abs, expected)) / 7, abs=1e-15)


def test_an_atom_at_zero_takes_all_quantiles_within_it():
    # 90 of 100 are 0 in both, and the tails differ: only the quantiles of 95 and 99 percent see it.
    found = compared(number(most=99), [0] * 90 + [50] * 10, [0] * 90 + [60] * 10).numbers

    assert found.ranks == (0, 0, 0, 0, 0, 0.05, 0.01)


def test_constants_are_equal_or_have_no_unit():
    same = compared(number(), [3, 3, 10], [3, 10]).numbers
    moved = compared(number(), [3, 3, 10], [4, 10]).numbers

    assert (same.mean, same.deviation, same.wasserstein, same.kolmogorov) == (0, 0, 0, 0)
    assert (moved.mean, moved.deviation, moved.wasserstein, moved.kolmogorov) == (None, None, None, 1)
    assert moved.ranks == pytest.approx([0.99, 0.95, 0.75, 0.5, 0.25, 0.05, 0.01], abs=1e-15)


@pytest.mark.parametrize(("real", "other"), [([10, 10], [1, 2]), ([1, 2], [10])])
def test_a_side_without_regular_value_is_wrong_all_over(real, other):
    found = compared(number(), real, other).numbers

    assert (found.mean, found.deviation, found.wasserstein) == (None, None, None)
    assert (found.ranks, found.kolmogorov) == (ALL, 1)


def test_two_sides_without_regular_value_agree():
    found = compared(number(), [10], [10, 10]).numbers

    assert (found.mean, found.deviation, found.wasserstein, found.ranks, found.kolmogorov) == (0, 0, 0, NOTHING, 0)


def test_categories_and_booleans_have_no_numbers_but_missing_cells():
    for field in [
        {"name": "x", "type": "boolean"},
        {"name": "x", "type": "integer", "categories": [1, 5], "categoriesOrdered": True},
        {"name": "x", "type": "string", "categories": ["a", "b"]},
    ]:
        found = compared(field, [0, 1], [0, 2])

        assert (found.numbers, found.missing, found.special) == (None, 0.5, ())


def test_dates_are_compared_as_numbers():
    day = {"name": "x", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}}

    assert compared(day, [0, 4], [2, 6]).numbers.mean == 1


def test_far_and_fine_codes_keep_their_digits():
    height = {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1}}
    real = 2**32 - 1 - np.arange(2)

    found = compared(height, real, real - 1).numbers

    assert (found.mean, found.deviation, found.wasserstein) == (-2, 0, 2)


def test_codes_of_a_small_type_do_not_wrap():
    real, other = np.array([0, 250], dtype=np.uint8), np.array([250, 0], dtype=np.uint8)

    assert compared(number(most=252), real, other).numbers.wasserstein == 0


def test_sizes_are_listed_by_kind_without_signs_and_without_what_has_no_unit():
    fields = [number("x", special=[-1, 99]), number("y", required=True), {"name": "z", "type": "boolean"}]
    real = {"x": np.array([0, 4, 10, 11]), "y": np.array([5, 5, 5, 5]), "z": np.array([0, 1, 2, 2])}
    other = {"x": np.array([0, 0, 10, 10]), "y": np.array([5, 5, 5, 6]), "z": np.array([0, 0, 0, 1])}

    sizes = error_sizes(compare_columns(real, other, Schema.from_dict({"fields": fields})))

    assert sizes["missing"] == {"x": 0.0, "z": 0.5}
    assert sizes["special"] == {"x": 0.25}
    assert sizes["mean"] == {"x": 1.0}
    assert sizes["deviation"] == {"x": 1.0}
    assert sizes["kolmogorov"] == {"x": 0.5, "y": 0.25}
    assert set(sizes) == {"missing", "special", "mean", "deviation", "rank", "kolmogorov", "wasserstein"}


@pytest.mark.parametrize("codes", [{}, {"x": np.zeros(0, dtype=np.int64)}])
def test_a_column_without_codes_is_refused(codes):
    schema = Schema.from_dict({"fields": [number()]})

    with pytest.raises(ParameterError, match='codes of column "x", at least one row'):
        compare_columns({"x": np.array([1])}, codes, schema)
