"""W1 and MMD are distances between any two samples, scale with their unit, and their forms agree."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.extras.evaluate.metrics.samples import (
    kernel_densities,
    mmd,
    wasserstein_assignment,
    wasserstein_line,
    wasserstein_sliced,
)

seeds = st.integers(0, 2**32 - 1)
numbers = st.floats(-1e6, 1e6)
samples = st.lists(numbers, min_size=1, max_size=12)
metrics = st.sampled_from(["linf", "l2"])
# Sums of some tens of floats below 1e6 in size.
ROUNDING = 1e-8


def drawn_clouds(seed, how_many=2):
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 25)), int(rng.integers(1, 5))
    # Few distinct values, so that there are ties.
    return [rng.integers(0, 6, (rows, columns)) / 5 for _ in range(how_many)]


@given(samples, samples, samples)
def test_the_distance_on_a_line_is_a_metric(first: list, second: list, third: list) -> None:
    distance = wasserstein_line(first, second)

    assert distance >= 0
    assert wasserstein_line(first, first[::-1]) == 0.0
    assert wasserstein_line(second, first) == pytest.approx(distance, abs=ROUNDING)
    assert distance <= wasserstein_line(first, third) + wasserstein_line(third, second) + ROUNDING


@given(samples, samples, numbers, st.floats(-100, 100))
def test_the_distance_on_a_line_moves_and_scales_with_its_points(
    points: list, others: list, shift: float, factor: float
) -> None:
    left, right = np.array(points), np.array(others)
    distance = wasserstein_line(left, right)

    assert wasserstein_line(left + shift, right + shift) == pytest.approx(distance, abs=ROUNDING)
    assert wasserstein_line(left * factor, right * factor) == pytest.approx(abs(factor) * distance, abs=100 * ROUNDING)


@given(samples, samples)
def test_the_distance_is_between_the_means_and_the_ends(points: list, others: list) -> None:
    distance = wasserstein_line(points, others)

    assert distance >= abs(np.mean(points) - np.mean(others)) - ROUNDING
    assert distance <= max(*points, *others) - min(*points, *others) + ROUNDING


@given(seeds, metrics)
@settings(max_examples=50)
def test_the_assigned_distance_is_a_metric(seed: int, metric: str) -> None:
    one, two, three = drawn_clouds(seed, 3)
    distance = wasserstein_assignment(one, two, ground=metric)

    assert distance >= 0
    assert wasserstein_assignment(one, one[::-1], ground=metric) == 0.0
    assert wasserstein_assignment(two, one, ground=metric) == pytest.approx(distance, abs=1e-12)
    beyond = wasserstein_assignment(one, three, ground=metric) + wasserstein_assignment(three, two, ground=metric)
    assert distance <= beyond + 1e-12


@given(seeds, metrics)
@settings(max_examples=50)
def test_the_assigned_distance_is_the_one_on_a_line_for_one_column(seed: int, metric: str) -> None:
    points, others = (cloud[:, :1] for cloud in drawn_clouds(seed))

    distance = wasserstein_assignment(points, others, ground=metric)

    assert distance == pytest.approx(wasserstein_line(points[:, 0], others[:, 0]), abs=1e-12)


@given(seeds)
@settings(max_examples=50)
def test_ground_metrics_are_ordered_and_slices_are_below(seed: int) -> None:
    points, others = drawn_clouds(seed)
    linf, l2 = (wasserstein_assignment(points, others, ground=ground) for ground in ("linf", "l2"))

    sliced = wasserstein_sliced(points, others, np.random.default_rng(seed), directions=5)

    assert linf <= l2 + 1e-12
    assert sliced.value <= l2 + 1e-12


# Roots of sums that are off by some 1e-16.
ROUNDED_ROOT = 1e-7

spots = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5)
gammas = st.floats(1e-3, 30)


@given(spots, spots, spots, gammas)
def test_mmd_is_a_distance(first, second, third, gamma) -> None:
    there = mmd(first, second, gamma=gamma)

    assert mmd(first, first[::-1], gamma=gamma) == 0
    assert abs(there - mmd(second, first, gamma=gamma)) <= ROUNDED_ROOT
    assert there <= mmd(first, third, gamma=gamma) + mmd(third, second, gamma=gamma) + ROUNDED_ROOT
    assert there <= math.sqrt(2) + ROUNDED_ROOT


@given(spots, spots, spots, gammas)
def test_kernel_densities_differ_by_at_most_the_mmd_anywhere(first, second, places, gamma) -> None:
    one, other = (kernel_densities(each, places, gamma=gamma) for each in (first, second))

    assert np.abs(one - other).max() <= mmd(first, second, gamma=gamma) + ROUNDED_ROOT
