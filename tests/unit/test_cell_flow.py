"""Covering negative counts by a flow between neighbouring cells."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from lapwing.maths.noise_transport import noise_transport
from lapwing.mechanisms.trees.psmm.box_cells import Steps, cover_deficits
from lapwing.mechanisms.trees.psmm.measures import cover_line, isotonic_l1

FAR = float("inf")


def line(lengths):
    places = np.arange(len(lengths) + 1, dtype=np.int64)
    return Steps(places[:-1], places[1:], np.array(lengths, dtype=np.int64))


def complete(cells, rng):
    """Return steps between all pairs of cells, at arbitrary whole costs."""
    tails, heads = (np.array(each) for each in zip(*itertools.combinations(range(cells), 2), strict=True))
    return Steps(tails, heads, rng.integers(1, 9, tails.size))


def cheapest(counts, steps, free):
    """Return the least cost of covering all deficits but ``free``, by a linear program over the steps."""
    cells, arcs = counts.size, 2 * steps.tails.size
    tails, heads = np.concatenate((steps.tails, steps.heads)), np.concatenate((steps.heads, steps.tails))
    out = np.zeros((cells + 1, arcs + cells))
    out[tails, np.arange(arcs)] += 1
    out[heads, np.arange(arcs)] -= 1
    out[np.arange(cells), arcs + np.arange(cells)] = -1
    out[cells, arcs:] = 1
    prices = np.concatenate((steps.costs, steps.costs, np.zeros(cells)))
    return linprog(prices, A_ub=out, b_ub=np.append(counts, free)).fun


def cost_between(before, after, steps):
    """Return the least cost of moving one table into another of the same sum."""
    return cheapest(before - after, steps, 0)


@given(st.lists(st.integers(-5, 6), min_size=2, max_size=9), st.integers(0, 6), st.integers(0, 10**6))
def test_the_covered_deficits_cost_as_little_as_a_linear_program_finds(counts, free, seed):
    rng, counts = np.random.default_rng(seed), np.array(counts, dtype=np.int64)
    steps = complete(counts.size, rng)
    free = max(free, -int(counts.sum()))

    left = cover_deficits(counts, steps, price=FAR, free=free)

    deficits = -np.minimum(counts, 0).sum()
    assert left.sum() == counts.sum()
    assert -np.minimum(left, 0).sum() == min(free, deficits)
    assert (np.minimum(left, 0) >= np.minimum(counts, 0)).all()
    assert (np.maximum(left, 0) <= np.maximum(counts, 0)).all()
    assert cost_between(counts, left, steps) == pytest.approx(cheapest(counts, steps, free))


@given(st.lists(st.integers(-5, 6), min_size=2, max_size=30), st.integers(0, 10**6))
def test_on_a_line_it_costs_what_isotonic_regression_costs(counts, seed):
    counts, rng = np.array(counts, dtype=np.int64), np.random.default_rng(seed)
    counts[0] += max(0, -int(counts.sum()))
    lengths = rng.integers(1, 5, counts.size - 1)

    left = cover_deficits(counts, line(lengths), price=FAR)

    costs = [
        int((lengths * np.abs(np.cumsum(counts - each))[:-1]).sum()) for each in (left, cover_line(counts, lengths))
    ]
    assert left.min() >= 0
    assert costs[0] == costs[1]


@pytest.mark.parametrize(("price", "left"), [(2.0, [3, 0, -1]), (2.5, [2, 0, 0]), (FAR, [2, 0, 0])])
def test_a_deficit_that_only_dearer_paths_reach_is_left(price, left):
    assert cover_deficits(np.array([3, 0, -1]), line([1, 1]), price=price).tolist() == left


def test_what_is_free_is_kept_for_the_deficits_that_are_dearest():
    counts = np.array([-1, 4, 0, 0, 0, -2])

    left = cover_deficits(counts, line([1] * 5), price=FAR, free=2)

    assert left.tolist() == [0, 3, 0, 0, 0, -2]


def test_an_earlier_choice_is_taken_back_where_that_is_cheaper():
    # The middle deficit is nearest to both; the far one can only be reached from the right.
    counts = np.array([1, -1, 1, 0, -1])

    left = cover_deficits(counts, line([1, 1, 1, 1]), price=FAR)

    assert left.tolist() == [0, 0, 0, 0, 0]


@pytest.mark.parametrize("counts", [[5, 1, 0], [0, 0, 0], [-2, 0, -1]])
def test_counts_of_one_sign_stay_as_they_are(counts):
    assert cover_deficits(np.array(counts), line([1, 1]), price=FAR).tolist() == counts


def test_cells_without_steps_stay_as_they_are():
    nothing = np.zeros(0, dtype=np.int64)

    assert cover_deficits(np.array([3, -1]), Steps(nothing, nothing, nothing), price=FAR).tolist() == [3, -1]


@pytest.mark.parametrize("scale", [1, 2**33, 2**55])
def test_huge_counts_are_moved_whole(scale):
    counts = np.array([5, -3, 7, -2, 1], dtype=np.int64) * scale + np.array([1, 0, 3, 2, 0])

    left = cover_deficits(counts, line([1] * 4), price=FAR)

    assert left.sum() == counts.sum()
    assert left.min() >= 0


def test_counts_above_32_bits_beside_small_deficits_are_exact():
    counts = np.array([2**40, -3, 2**35, -(2**20)], dtype=np.int64)

    left = cover_deficits(counts, line([2, 1, 5]), price=FAR)

    assert left.tolist() == [2**40, 0, 2**35 - 2**20 - 3, 0]


# -- Isotonic regression in absolute error, and covering negative counts on a line.


SEQUENCES = st.lists(st.tuples(st.integers(-6, 6), st.integers(1, 4)), min_size=1, max_size=6)


def error(result, values, weights):
    return int((weights * np.abs(result - values)).sum())


@given(SEQUENCES)
def test_no_other_sequence_is_nearer(pairs):
    values, weights = (np.array(each, dtype=np.int64) for each in zip(*pairs, strict=True))

    result = isotonic_l1(values, weights)

    others = itertools.combinations_with_replacement(sorted(set(values.tolist())), len(values))
    assert (np.diff(result) >= 0).all()
    assert error(result, values, weights) == min(error(np.array(other), values, weights) for other in others)


def test_the_values_of_the_result_are_values_of_the_sequence():
    values = np.random.default_rng(1).integers(-(10**15), 10**15, 2000)

    result = isotonic_l1(values, np.ones(2000, dtype=np.int64))

    assert result.dtype == np.int64
    assert np.isin(result, values).all()


@pytest.mark.parametrize(
    ("counts", "lengths", "covered"),
    [
        ([7], [], [7]),
        ([-7], [], [-7]),
        ([0, 0], [1], [0, 0]),
        ([3, -1, -1], [1, 1], [1, 0, 0]),
        ([2, -1, 2], [1, 9], [1, 0, 2]),
        ([2, -1, 2], [9, 1], [2, 0, 1]),
        ([-2, 1, -2], [1, 9], [-1, 0, -2]),
        ([1, -1, 1, -1], [1, 5, 1], [0, 0, 0, 0]),
    ],
)
def test_negative_counts_on_a_line_are_covered_from_the_nearest(counts, lengths, covered):
    result = cover_line(np.array(counts, dtype=np.int64), np.array(lengths, dtype=np.int64))

    assert result.tolist() == covered


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=40))
def test_a_covered_line_keeps_its_sum_and_has_one_sign(counts):
    counts = np.array(counts, dtype=np.int64)

    result = cover_line(counts, np.ones(counts.size - 1, dtype=np.int64))

    assert result.sum() == counts.sum()
    assert (result * np.sign(counts.sum()) >= 0).all()
    assert counts.sum() != 0 or not result.any()


# -- Upper bounds of the bounded-Lipschitz norm of noise.


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
