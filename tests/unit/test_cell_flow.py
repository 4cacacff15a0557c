"""Covering negative counts by a flow between neighbouring cells."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from lapwing.mechanisms.psmm.box_cells import Steps, cover_deficits
from lapwing.mechanisms.psmm.mechanism import cover_line

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
