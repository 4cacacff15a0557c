"""W1 and MMD where they are known in closed form, the errors of their estimates, and what is refused."""

import math

import numpy as np
import pytest
from scipy import stats

from lapwing.errors import CapacityError, ParameterError
from lapwing.extras.evaluate.metrics.samples import (
    MAX_ASSIGNED,
    kernel_densities,
    mean_features,
    mmd,
    mmd_from_features,
    random_frequencies,
    wasserstein_assignment,
    wasserstein_line,
    wasserstein_sliced,
    wasserstein_subsampled,
)

NORMS = {"linf": np.inf, "l2": 2}
# Sums of a few thousand floats between -10 and 10.
ROUNDING = 1e-12


def cloud(seed, rows, columns):
    return np.random.default_rng(seed).random((rows, columns))


@pytest.mark.parametrize(("at", "other"), [(0.0, 0.0), (0.0, 3.0), (-1.5, 2.0), (4.0, 1.0)])
def test_point_masses_are_as_far_apart_as_their_points(at: float, other: float) -> None:
    distance = abs(at - other)

    assert wasserstein_line([at], [other]) == distance
    assert wasserstein_line([at, at, at], [other, other]) == distance
    assert wasserstein_assignment([[at, 0.0]], [[other, 0.0]]) == distance


@pytest.mark.parametrize(("mean", "scale"), [(0.0, 1.0), (0.7, 1.0), (0.0, 2.5), (-3.0, 1.0)])
def test_gaussians_are_as_far_apart_as_their_parameters_say(mean: float, scale: float) -> None:
    quantiles = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    expected = abs(mean) if scale == 1.0 else abs(scale - 1.0) * np.sqrt(2 / np.pi)

    distance = wasserstein_line(quantiles, mean + scale * quantiles)

    # The tails beyond the last quantiles hold less than 1e-4 of the mean distance.
    assert distance == pytest.approx(expected, rel=1e-4, abs=ROUNDING)


@pytest.mark.parametrize("metric", NORMS)
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_a_moved_cloud_is_as_far_as_it_was_moved(metric: str, columns: int) -> None:
    points = cloud(columns, 60, columns)
    step = np.array([0.3, -0.8, 0.1, 0.05])[:columns]

    distance = wasserstein_assignment(points, points[::-1] + step, ground=metric)

    assert distance == pytest.approx(np.linalg.norm(step, NORMS[metric]), abs=ROUNDING)


@pytest.mark.parametrize("sliced", [False, True])
def test_the_standard_error_is_that_of_the_value(sliced: bool) -> None:
    points, others = cloud(1, 300, 2), 1.5 * cloud(2, 250, 2)
    rng = np.random.default_rng(7)

    estimates = [
        wasserstein_sliced(points, others, rng, directions=12)
        if sliced
        else wasserstein_subsampled(points, others, rng, size=30, repeats=12)
        for _ in range(300)
    ]
    spread = np.std([estimate.value for estimate in estimates], ddof=1)
    claimed = np.sqrt(np.mean([estimate.standard_error**2 for estimate in estimates]))

    # Over 300 estimates the spread is known to about 4 %; an error without its root of 12 would be off by 250 %.
    assert spread == pytest.approx(claimed, rel=0.2)


def test_samples_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ParameterError, match="equally many points"):
        wasserstein_assignment(cloud(1, 3, 2), cloud(1, 4, 2))
    with pytest.raises(ParameterError, match="same columns"):
        wasserstein_assignment(cloud(1, 3, 2), cloud(1, 3, 1))


def test_more_points_than_can_be_assigned_are_refused_before_any_work() -> None:
    many = np.zeros((MAX_ASSIGNED + 1, 1))

    with pytest.raises(CapacityError, match=str(MAX_ASSIGNED)):
        wasserstein_assignment(many, many)


# Single-precision sines of angles up to pi.
SINGLE = 1e-6


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


def test_a_small_distance_far_from_the_origin_keeps_its_digits() -> None:
    # Coordinates near 2**26 and differences of 2**-6: |x|^2 + |y|^2 - 2 x.y would round to whole numbers.
    step, away = 2.0**-6, 2.0**26

    found = mmd([[away]], [[away + step]], gamma=1.0)

    assert found == pytest.approx(math.sqrt(-2 * math.expm1(-(step**2))), rel=1e-9)


def test_random_features_are_right_within_their_standard_error() -> None:
    points, others = cloud(1, 400, 2), 0.8 * cloud(2, 300, 2)
    exact = mmd(points, others, gamma=4.0)
    rng = np.random.default_rng(3)

    def estimate():
        frequencies = random_frequencies(2, 200, rng, gamma=4.0)
        return mmd_from_features(mean_features(points, frequencies), mean_features(others, frequencies))

    found = [estimate() for _ in range(60)]

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


@pytest.mark.parametrize("gamma", [0, -1, math.nan, math.inf])
def test_a_gamma_that_is_no_kernels_is_refused(gamma: float) -> None:
    points = cloud(1, 3, 1)

    for refused in (lambda: mmd(points, points, gamma=gamma), lambda: kernel_densities(points, points, gamma=gamma)):
        with pytest.raises(ParameterError, match=r"gamma must be finite and above 0, got .*; it is 1 / \(2"):
            refused()


def test_what_no_kernel_compares_is_refused() -> None:
    points = cloud(1, 3, 2)

    with pytest.raises(ParameterError, match="both samples need the same columns, got 2 and 1 columns"):
        mmd(points, points[:, :1], gamma=1)
    with pytest.raises(ParameterError, match="both samples need the same columns, got 1 and 2 columns"):
        kernel_densities(points, points[:, :1], gamma=1)
    with pytest.raises(ParameterError, match="weights must be one for each point"):
        kernel_densities(points, points, gamma=1, weights=[1.0])
    with pytest.raises(ParameterError, match="weights must be at least 0"):
        kernel_densities(points, points, gamma=1, weights=[1, -1, 1])
    with pytest.raises(ParameterError, match="points must be a non-empty array of numbers with 2 axes"):
        mmd([["a"]], points, gamma=1)
    with pytest.raises(ParameterError, match="points must be finite"):
        mmd([[math.nan, 0.0]], points, gamma=1)
