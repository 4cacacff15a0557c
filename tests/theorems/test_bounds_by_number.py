"""Theorems that follow from others say what a release of the paper's own setting does, and no more than it is."""

import math

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ParameterError
from lapwing.theorems import covariance_loss, pmm


def test_corollary_4_4_is_what_a_plan_of_the_published_algorithm_states() -> None:
    schema = lw.Schema.from_dict(
        {"fields": [{"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}]}
    )

    plan = lw.plan(schema, expected_rows=4000, epsilon=1, mechanism=lw.PMM(variant="paper"))

    # The number of misfits costs 0.009.
    (stated,) = (each for each in plan.accuracy if each.code == "published_bound")
    assert stated.value == pytest.approx(pmm.corollary_4_4(4000, 0.991, 1), rel=1e-4)


@pytest.mark.parametrize(("d", "slope"), [(1, -0.85), (2, -1 / 2), (3, -1 / 3)])
def test_corollaries_fall_as_their_rates(d: int, slope: float) -> None:
    sizes = np.log([1e5, 1e7])
    private = np.log([pmm.corollary_4_4(n, 1.0, d) for n in (1e5, 1e7)])

    # One column has log(n)^2 / n, whose slope is above -1 at any n.
    assert np.diff(private) / np.diff(sizes) == pytest.approx(slope, abs=0.05)


def test_corollary_3_7_falls_as_n_to_the_two_thirds_in_one_column() -> None:
    signed = np.log([pmm.corollary_3_7(n, 1.0, 1) for n in (1e4, 1e6)])

    assert np.diff(signed) / math.log(100) == pytest.approx(-2 / 3, abs=0.05)


@pytest.mark.parametrize("m", [1, 100, 10**12])
def test_drawing_rows_adds_its_own_error(m: int) -> None:
    of_blocks, of_points = covariance_loss.theorem_4_1(10**6, 20, 2), covariance_loss.theorem_5_9(10**12, 16, 1.0, 2)

    assert covariance_loss.theorem_4_4(10**6, 20, 2, m) ** 2 == pytest.approx(of_blocks**2 + 1 / m)
    assert covariance_loss.theorem_5_10(10**12, 16, 1.0, 2, m) ** 2 == pytest.approx(of_points**2 + 1 / m)


def test_marginals_of_boolean_rows_have_the_moments_error_and_their_own_draw() -> None:
    of_blocks, of_points = covariance_loss.theorem_4_1(10**6, 20, 1), covariance_loss.theorem_5_9(10**12, 16, 1.0, 1)

    assert covariance_loss.theorem_4_6(10**6, 20, 1, 25) == pytest.approx(math.hypot(of_blocks, 0.1))
    assert covariance_loss.theorem_5_11(10**12, 16, 1.0, 1, 25) == pytest.approx(math.hypot(of_points, 0.1))


def test_the_best_partition_loses_between_its_two_bounds() -> None:
    for k in (10, 10**4, 10**8):
        assert covariance_loss.proposition_3_14(k) < covariance_loss.corollary_3_12(k, 1000, 2)


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"epsilon \* n must be above 1"):
        pmm.corollary_4_4(10, 0.1, 1)
    with pytest.raises(ParameterError, match="use fewer cells"):
        pmm.corollary_3_3(10**5, 2)
    with pytest.raises(ParameterError, match="at least 1 cell"):
        covariance_loss.proposition_3_14(0)
