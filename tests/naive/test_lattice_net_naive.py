"""Nearest lattice points and their list, against a walk over the whole ball."""

import itertools
import math

import numpy as np
import pytest

from lapwing.maths.lattice_net import lattice_points, lattice_ranks, nearest_lattice_points


def ball(t, budget):
    side = range(-math.isqrt(budget), math.isqrt(budget) + 1)
    return [k for k in itertools.product(side, repeat=t) if sum(each * each for each in k) <= budget]


def nearest_by_walk(row, spacing, net):
    """Return the first of the nearest points; ``net`` is in lexicographic order, and Python's integers are exact."""
    return min(net, key=lambda k: (sum((int(z) - spacing * each) ** 2 for z, each in zip(row, k, strict=True)), k))


@pytest.mark.parametrize(
    ("t", "budget", "spacing"),
    [(0, 3, 2), (1, 9, 7), (2, 0, 10), (2, 1, 1), (2, 6, 7), (3, 2, 2), (3, 5, 10), (3, 9, 1), (4, 3, 7), (4, 6, 10)],
)
def test_the_nearest_point_is_that_of_a_walk_ties_included(t: int, budget: int, spacing: int) -> None:
    rng = np.random.default_rng([t, budget, spacing])
    reach = spacing * (math.isqrt(budget) + 2)
    # Half multiples of the spacing are ties of rounding; equal sizes are ties on the sphere.
    inside = rng.integers(-reach, reach + 1, (40, t))
    halves = rng.integers(-3, 4, (20, t)) * spacing // 2
    equal = rng.integers(1, reach + 1, (20, 1)) * rng.choice([-1, 0, 1], (20, t))
    far = rng.integers(-1000 * reach, 1000 * reach, (10, t))
    z = np.concatenate((inside, halves, equal, far))

    found = nearest_lattice_points(z, spacing, budget)

    net = ball(t, budget)
    assert [tuple(k) for k in found.tolist()] == [nearest_by_walk(row, spacing, net) for row in z]


def test_near_ties_at_a_large_scale_are_decided_by_the_last_unit() -> None:
    side = 2**40
    corner = [[side, side], [side + 1, side], [side, side + 1], [side // 2, 0], [side // 2 + 1, 0], [-side // 2, 0]]

    found = nearest_lattice_points(np.array(corner), side, 1)

    assert found.tolist() == [[0, 1], [1, 0], [0, 1], [0, 0], [1, 0], [-1, 0]]


def test_the_answer_of_a_row_does_not_hang_on_the_others() -> None:
    # Several blocks of rows.
    z = np.random.default_rng(3).integers(-(2**40), 2**40, (20_000, 3))

    together = nearest_lattice_points(z, 2**38, 12)

    np.testing.assert_array_equal(together[::-1], nearest_lattice_points(z[::-1], 2**38, 12))
    for i in range(0, 20_000, 1000):
        np.testing.assert_array_equal(together[[i]], nearest_lattice_points(z[[i]], 2**38, 12))


@pytest.mark.parametrize(("t", "budget"), [(0, 2), (1, 5), (2, 0), (2, 8), (3, 1), (4, 5)])
def test_the_list_of_points_is_the_whole_ball_in_order(t: int, budget: int) -> None:
    wanted = ball(t, budget)

    found = lattice_points(t, budget, len(wanted))

    assert [tuple(k) for k in found.tolist()] == wanted
    assert found.shape == (len(wanted), t)


@pytest.mark.parametrize("t", [0, 1, 3])
def test_ranks_find_each_point_in_any_order_of_the_net(t: int) -> None:
    rng = np.random.default_rng(t)
    net = rng.permutation(lattice_points(t, 6, 1000))
    wanted = rng.integers(0, len(net), 200)

    found = lattice_ranks(net[wanted], net)

    np.testing.assert_array_equal(found, wanted)
