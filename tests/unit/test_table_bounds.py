"""Bounds for a released table, from its noisy counts and what is known of their noise."""

import numpy as np
import pytest

from lapwing.model.bounds import TableNoise, count_errors, variation_bound

ROUNDING = 1e-12  # of sums of a few floats


def some_table(rng):
    """Return true, released and noisy counts of a small table, some of them as a fit would release them."""
    cells = int(rng.integers(1, 7))
    true = rng.integers(0, 30, cells) * (rng.random(cells) < 0.6)
    noisy = true + rng.integers(-8, 9, cells)
    if rng.random() < 0.7:
        released = np.maximum(noisy - rng.integers(-2, 4), 0).astype(float)
    else:
        released = 20 * rng.random(cells)
    return true, released, noisy


def noise_of(true, noisy, low=0, high=0):
    """Return the sharpest knowledge of the noise that is right."""
    noise = noisy - true
    total = float(noise.sum())
    return TableNoise(
        np.full(noise.size, float(abs(noise).max())), float(abs(noise).sum()), (total - low, total + high)
    )


def test_both_bounds_hold_for_whatever_was_released_wherever_the_noise_is_as_said():
    rng, ratios = np.random.default_rng(1), []

    for _ in range(4000):
        true, released, noisy = some_table(rng)
        if not true.sum() or not released.sum():
            continue
        noise = noise_of(true, noisy, *rng.integers(0, 4, 2))
        distance = abs(released / released.sum() - true / true.sum()).sum() / 2
        bound = variation_bound(released, noisy, noise)
        ratios.append(distance / bound if bound else 1.0)
        assert distance <= bound + ROUNDING
        assert (abs(released - true) <= count_errors(released, noisy, noise.largest)).all()

    # Some come close: the bounds are not just large.
    assert max(ratios) > 0.999


def test_empty_cells_that_a_fit_left_empty_pay_for_their_noise_once():
    cells, size = 1000, 3.0
    noisy = np.zeros(cells)
    noisy[:10] = 500
    noisy[10:] = np.where(np.arange(990) % 2, size, -size)
    released = np.where(noisy > 100, noisy, 0.0)
    noise = TableNoise(np.full(cells, 50.0), cells * size, (0.0, 0.0))

    found = variation_bound(released, noisy, noise)

    assert found == pytest.approx(10 * 50 / 5000)
    # Were the third bound not there: half the absolute noise.
    quiet = TableNoise(np.full(cells, 1e6), cells * size, (0.0, 0.0))
    assert variation_bound(released, noisy, quiet) == pytest.approx(cells * size / 2 / 5000)


def test_a_release_of_nothing_may_be_anywhere():
    noise = TableNoise(np.full(2, 5.0), 8.0, (-3.0, 3.0))

    assert variation_bound(np.zeros(2), np.array([50, 60]), noise) == 1.0
    assert variation_bound(np.ones(2), np.array([-50, -60]), noise) == 1.0


def test_without_a_bound_of_the_absolute_sum_the_largest_noise_still_tells():
    known = TableNoise(np.full(2, 5.0), np.inf, (0.0, np.inf))

    assert variation_bound(np.array([60.0, 40.0]), np.array([60, 40]), known) == pytest.approx(0.1)


def test_a_true_count_is_never_below_zero():
    assert count_errors(np.array([0.0]), np.array([-20]), np.array([25.0])).tolist() == [5.0]
