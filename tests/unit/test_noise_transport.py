"""Upper bounds of the bounded-Lipschitz norm of noise."""

import numpy as np
import pytest

from lapwing.mechanisms.psmm.accuracy import noise_transport


def grid(shape, rng, tables=1, layers=1):
    return rng.integers(-5, 6, (tables, layers, *shape)).astype(float)


def ones(shape):
    return [np.ones(size - 1, dtype=np.int64) for size in shape]


def test_on_a_line_noise_of_sum_0_costs_its_cumulative_sums():
    noise = np.array([[[3.0, -1.0, -4.0, 2.0]]])

    assert noise_transport([(noise, [np.array([1, 2, 4])])], 0.25).tolist() == [0.25 * (3 + 2 * 2 + 4 * 2)]


def test_a_sum_is_removed_at_the_price_1():
    assert noise_transport([(np.full((1, 1, 4), -2.0), ones((4,)))], 0.25).tolist() == [8.0]
    assert noise_transport([(np.full((1, 1, 2, 2), 3.0), ones((2, 2)))], 0.5).tolist() == [12.0]


def test_opposite_layers_meet_at_distance_1():
    noise = np.array([[3.0, -2.0, -2.0]])

    # 3 move onto the -4, and 1 is removed.
    assert noise_transport([(noise, [])], 1.0).tolist() == [4.0]


def test_cells_of_a_square_meet_along_the_diagonal():
    noise = np.array([[[[1.0, 0.0], [0.0, -1.0]]]])

    assert noise_transport([(noise, ones((2, 2)))], 0.5).tolist() == [0.5]


def test_axes_of_other_sides_are_joined_one_after_the_other():
    noise = np.array([[[[1.0, 0.0], [0.0, -1.0]]]])

    # Halves go along the short side first (1 + 1) / 2 * 2, then whole halves along the long one, 1 / 2 * 2 * 3.
    assert noise_transport([(noise, [np.array([2]), np.array([3])])], 1.0).tolist() == [1 * 2 + 1 * 3]


def test_a_block_beyond_the_grid_has_no_noise_of_its_own():
    noise = np.zeros((1, 1, 3, 3))
    noise[0, 0, 2, 2], noise[0, 0, 1, 1] = 1.0, -1.0

    # One in the upper left block of 2 x 2, one alone in its block: spread, then blocks of 2 sides meet.
    assert noise_transport([(noise, ones((3, 3)))], 1.0).tolist() == [0.75 + 0.75 + 2 * 1.0]


def test_tables_are_bounded_one_by_one():
    rng = np.random.default_rng(1)
    noise = grid((5, 3), rng, tables=4, layers=2)

    together = noise_transport([(noise, ones((5, 3)))], 0.2)

    alone = [noise_transport([(table[None], ones((5, 3)))], 0.2)[0] for table in noise]
    assert together == pytest.approx(alone)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (64,), (5, 5), (8, 3), (4, 3, 5)])
def test_the_bound_of_the_expectation_is_above_the_mean_and_not_far_from_it(shape):
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 3, (4000, 2, *shape))

    mean = noise_transport([(noise, ones(shape))], 0.1).mean()
    (bound,) = noise_transport([(np.full((1, 2, *shape), 9.0), ones(shape))], 0.1, "variances")

    # The mean of a normal variable's absolute value is 0.8 standard deviations.
    assert mean == pytest.approx(bound * np.sqrt(2 / np.pi), rel=0.03)
