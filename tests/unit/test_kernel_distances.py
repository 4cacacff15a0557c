"""MMD where it is known in closed form, its estimate by random features, and what is refused."""

import math

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.judge.samples import (
    box_grid,
    kernel_density_distance,
    mean_features,
    mmd,
    mmd_features,
    mmd_from_features,
    random_frequencies,
)

# Single-precision sines of angles up to pi.
SINGLE = 1e-6


def cloud(seed, rows, columns):
    return np.random.default_rng(seed).random((rows, columns))


@pytest.mark.parametrize("distance", [0.0, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("gamma", [0.5, 3.0])
def test_two_points_are_as_far_apart_as_the_kernel_says(distance: float, gamma: float) -> None:
    found = mmd([[0.0, 0.0]], [[0.0, distance]], gamma=gamma)

    assert found == pytest.approx(math.sqrt(2 - 2 * math.exp(-gamma * distance**2)), abs=1e-8)


def test_equal_laws_are_at_distance_0_in_any_order() -> None:
    points = cloud(1, 700, 3)
    rng = np.random.default_rng(2)

    assert mmd(points, rng.permutation(points), gamma=1.0) == 0
    assert mmd(points, np.concatenate((points, points)), gamma=1.0) == pytest.approx(0, abs=1e-7)
    assert kernel_density_distance(points, points[::-1], points, gamma=1.0) == 0


def test_a_small_distance_far_from_the_origin_keeps_its_digits() -> None:
    # Coordinates near 2**26 and differences of 2**-6: |x|^2 + |y|^2 - 2 x.y would round to whole numbers.
    step, away = 2.0**-6, 2.0**26

    found = mmd([[away]], [[away + step]], gamma=1.0)

    assert found == pytest.approx(math.sqrt(-2 * math.expm1(-(step**2))), rel=1e-9)


def test_weights_stand_for_repeated_points() -> None:
    points, others, times = cloud(1, 30, 2), cloud(2, 20, 2), np.arange(30) % 4

    weighted = mmd(points, others, gamma=2.0, weights=times)

    assert weighted == pytest.approx(mmd(np.repeat(points, times, axis=0), others, gamma=2.0), abs=1e-12)
    assert weighted != pytest.approx(mmd(points, others, gamma=2.0), abs=1e-3)


def test_random_features_are_right_within_their_standard_error() -> None:
    points, others = cloud(1, 400, 2), 0.8 * cloud(2, 300, 2)
    exact = mmd(points, others, gamma=4.0)
    rng = np.random.default_rng(3)

    found = [mmd_features(points, others, rng, gamma=4.0, features=200) for _ in range(60)]

    deviations = [(each.value - exact) / each.standard_error for each in found]
    # The delta method's bias is below a tenth of a standard error here; the mean of 60 has a spread of 0.13.
    assert abs(np.mean(deviations)) < 0.6
    assert 0.7 < np.std(deviations) < 1.4


def test_features_are_means_of_sines_and_cosines() -> None:
    points, weights = 1000 * cloud(1, 2500, 2), np.arange(2500)
    frequencies = random_frequencies(2, 5, np.random.default_rng(2), gamma=3.0)

    found = mean_features(points, frequencies, weights)

    phases = (points[:, np.newaxis] * frequencies).sum(axis=2)
    expected = (weights[:, np.newaxis] * np.exp(1j * phases)).sum(axis=0) / weights.sum()
    assert found == pytest.approx(expected, abs=SINGLE)


def test_frequencies_follow_the_kernels_spectral_law() -> None:
    frequencies = random_frequencies(2, 40_000, np.random.default_rng(1), gamma=3.0)
    shift = np.array([0.2, -0.3])

    kernel = np.cos((frequencies * shift).sum(axis=1)).mean()

    # The mean of 40,000 cosines: a standard error of at most 0.004.
    assert kernel == pytest.approx(math.exp(-3.0 * 0.13), abs=0.02)


def test_equal_features_have_no_distance_and_no_error() -> None:
    features = mean_features(cloud(1, 50, 2), np.ones((3, 2)))

    found = mmd_from_features(features, features)

    assert (found.value, found.standard_error) == (0, 0)


def test_densities_differ_by_at_most_the_mmd() -> None:
    points, others = cloud(1, 200, 2), cloud(2, 100, 2) ** 2
    grid = box_grid([-0.5, -0.5], [1.5, 1.5], 21)

    found = kernel_density_distance(points, others, grid, gamma=8.0)

    assert 0 < found <= mmd(points, others, gamma=8.0)
    assert found >= kernel_density_distance(points, others, grid[::7], gamma=8.0)


@pytest.mark.parametrize("gamma", [0, -1, math.nan, math.inf])
def test_a_gamma_that_is_no_kernels_is_refused(gamma: float) -> None:
    points = cloud(1, 3, 1)

    for refused in (
        lambda: mmd(points, points, gamma=gamma),
        lambda: mmd_features(points, points, np.random.default_rng(1), gamma=gamma),
        lambda: kernel_density_distance(points, points, points, gamma=gamma),
    ):
        with pytest.raises(ParameterError, match=r"gamma must be finite and above 0, got .*; it is 1 / \(2"):
            refused()


def test_what_cannot_be_compared_is_refused() -> None:
    points = cloud(1, 3, 2)

    with pytest.raises(ParameterError, match="both samples need the same columns, got 2 and 1 columns"):
        mmd(points, points[:, :1], gamma=1)
    with pytest.raises(ParameterError, match="both samples need the same columns, got 1 and 2 columns"):
        kernel_density_distance(points, points, points[:, :1], gamma=1)
    with pytest.raises(ParameterError, match="weights must be one for each point"):
        mmd(points, points, gamma=1, weights=[1.0])
    with pytest.raises(ParameterError, match="other_weights must be at least 0"):
        mmd(points, points, gamma=1, other_weights=[1, -1, 1])
    with pytest.raises(ParameterError, match="at least 1 dimension and 2 frequencies, got 2 and 1"):
        mmd_features(points, points, np.random.default_rng(1), gamma=1, features=1)
    with pytest.raises(ParameterError, match="at least 2 steps"):
        box_grid([0.0], [1.0], 1)
