"""What holds for W1 between any two laws: it is a metric, it scales with its unit, and its forms agree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.judge.samples import (
    Pieces,
    random_directions,
    wasserstein_assignment,
    wasserstein_line,
    wasserstein_pieces,
    wasserstein_sliced,
)

seeds = st.integers(0, 2**32 - 1)
numbers = st.floats(-1e6, 1e6)
samples = st.lists(numbers, min_size=1, max_size=12)
metrics = st.sampled_from(["linf", "l1", "l2"])
# Sums of some tens of floats below 1e6 in size.
ROUNDING = 1e-8


def drawn_pieces(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9))
    starts = rng.integers(0, 30, count).astype(float)
    return Pieces(starts, starts + rng.integers(0, 9, count), rng.integers(1, 9, count))


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


@given(samples, samples, seeds)
def test_a_weight_is_as_many_copies_of_a_point(points: list, others: list, seed: int) -> None:
    copies = np.random.default_rng(seed).integers(0, 4, len(points))
    copies[0] += 1

    weighted = wasserstein_line(points, others, weights=copies)

    assert weighted == pytest.approx(wasserstein_line(np.repeat(points, copies), others), abs=ROUNDING)


@given(samples, samples, seeds)
def test_points_as_pieces_are_the_same_sample(points: list, others: list, seed: int) -> None:
    weights = np.random.default_rng(seed).integers(1, 9, len(points))
    law = Pieces(np.array(points), np.array(points), weights)
    other = Pieces(np.array(others), np.array(others), np.ones(len(others)))

    distance = wasserstein_pieces(law, other)

    assert distance == pytest.approx(wasserstein_line(points, others, weights=weights), abs=ROUNDING)


@given(seeds, seeds, seeds)
def test_the_distance_between_pieces_is_a_metric(first: int, second: int, third: int) -> None:
    one, two, three = (drawn_pieces(seed) for seed in (first, second, third))
    distance = wasserstein_pieces(one, two)

    assert distance >= 0
    assert wasserstein_pieces(one, one) == 0.0
    assert wasserstein_pieces(two, one) == pytest.approx(distance, abs=1e-12)
    assert distance <= wasserstein_pieces(one, three) + wasserstein_pieces(three, two) + 1e-12


@given(seeds, seeds)
@settings(max_examples=40)
def test_overlapping_pieces_are_near_their_quantiles(first: int, second: int) -> None:
    laws = [drawn_pieces(seed) for seed in (first, second)]
    inside = (np.arange(200) + 0.5) / 200
    points = [(law.starts[:, None] + (law.stops - law.starts)[:, None] * inside).ravel() for law in laws]
    weights = [np.repeat(law.masses, 200) for law in laws]

    sampled = wasserstein_line(*points, weights=weights[0], other_weights=weights[1])

    # Every cell of the grid is at most 8/200 long: each law moves by at most a quarter of that.
    assert wasserstein_pieces(*laws) == pytest.approx(sampled, abs=2 * 0.01 + 1e-9)


@given(seeds, metrics)
@settings(max_examples=50)
def test_the_assigned_distance_is_a_metric(seed: int, metric: str) -> None:
    one, two, three = drawn_clouds(seed, 3)
    distance = wasserstein_assignment(one, two, metric=metric)

    assert distance >= 0
    assert wasserstein_assignment(one, one[::-1], metric=metric) == 0.0
    assert wasserstein_assignment(two, one, metric=metric) == pytest.approx(distance, abs=1e-12)
    beyond = wasserstein_assignment(one, three, metric=metric) + wasserstein_assignment(three, two, metric=metric)
    assert distance <= beyond + 1e-12


@given(seeds, metrics)
@settings(max_examples=50)
def test_the_assigned_distance_is_the_one_on_a_line_for_one_column(seed: int, metric: str) -> None:
    points, others = (cloud[:, :1] for cloud in drawn_clouds(seed))

    distance = wasserstein_assignment(points, others, metric=metric)

    assert distance == pytest.approx(wasserstein_line(points[:, 0], others[:, 0]), abs=1e-12)


@given(seeds)
@settings(max_examples=50)
def test_ground_metrics_are_ordered_and_slices_are_below(seed: int) -> None:
    points, others = drawn_clouds(seed)
    linf, l2, l1 = (wasserstein_assignment(points, others, metric=metric) for metric in ("linf", "l2", "l1"))

    sliced = wasserstein_sliced(points, others, np.random.default_rng(seed), directions=5)

    assert linf <= l2 + 1e-12
    assert l2 <= l1 + 1e-12
    assert sliced.value <= l2 + 1e-12


@given(seeds)
@settings(max_examples=30)
def test_slices_are_the_lines_along_the_directions(seed: int) -> None:
    points, others = drawn_clouds(seed)
    drawn = random_directions(points.shape[1], 4, np.random.default_rng(seed))

    sliced = wasserstein_sliced(points, others, np.random.default_rng(seed), directions=4)

    along = [wasserstein_line(points @ direction, others @ direction) for direction in drawn]
    assert sliced.value == pytest.approx(np.mean(along), abs=1e-12)
