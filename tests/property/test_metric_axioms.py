"""MMD and the bounded-Lipschitz distance are distances between measures, and no larger than other distances."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.judge.samples import bounded_lipschitz, kernel_density_distance, mmd

# Roots of sums that are off by some 1e-16; linear programmes are solved to 1e-7 of masses of at most 5 x 5.
ROUNDING = 1e-7
SOLVED = 1e-5

points = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5)
measures = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(-5, 5, allow_subnormal=False)), min_size=1, max_size=5
)
gammas = st.floats(1e-3, 30)


def spots(measure):
    table = np.array(measure, dtype=np.float64)
    return table[:, :2] / 4, table[:, 2]


@given(points, points, points, gammas)
def test_mmd_is_a_distance(first, second, third, gamma) -> None:
    there = mmd(first, second, gamma=gamma)

    assert mmd(first, first[::-1], gamma=gamma) == 0
    assert abs(there - mmd(second, first, gamma=gamma)) <= ROUNDING
    assert there <= mmd(first, third, gamma=gamma) + mmd(third, second, gamma=gamma) + ROUNDING
    assert there <= math.sqrt(2) + ROUNDING


@given(points, points, points, gammas)
def test_kernel_densities_differ_by_at_most_the_mmd_anywhere(first, second, places, gamma) -> None:
    there = mmd(first, second, gamma=gamma)

    assert kernel_density_distance(first, second, places, gamma=gamma) <= there + ROUNDING


@settings(max_examples=25)  # five linear programmes each
@given(measures, measures, measures, st.floats(0.05, 3))
def test_the_bounded_lipschitz_distance_is_a_distance(first, second, third, bound) -> None:
    left, middle, right = spots(first), spots(third), spots(second)
    there = bounded_lipschitz(*left, *right, bound=bound)

    assert bounded_lipschitz(*left, *left, bound=bound) == 0
    assert abs(there - bounded_lipschitz(*right, *left, bound=bound)) <= SOLVED
    detour = bounded_lipschitz(*left, *middle, bound=bound) + bounded_lipschitz(*middle, *right, bound=bound)
    assert there <= detour + SOLVED


@settings(max_examples=25)
@given(measures, measures, st.floats(0.05, 3))
def test_a_wider_bound_allows_more_and_the_total_is_always_seen(first, second, bound) -> None:
    left, right = spots(first), spots(second)
    there = bounded_lipschitz(*left, *right, bound=bound)

    # The constant function of size `bound` is allowed, and all functions are at most that large.
    assert there >= bound * abs(left[1].sum() - right[1].sum()) - SOLVED
    assert there <= bound * (np.abs(left[1]).sum() + np.abs(right[1]).sum()) + SOLVED
    assert there <= bounded_lipschitz(*left, *right, bound=2 * bound) + SOLVED
