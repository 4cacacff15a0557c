"""Averages over classes of functions from a bound on the 1-Wasserstein distance: each holds, and a third fails."""

import math

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.theorems.pmm import (
    kernel_error,
    lipschitz_error,
    network_error,
    product_error,
    ramp_error,
    share_error,
)

RNG = np.random.default_rng(1)
PAIRS = [(x, np.clip(x + RNG.uniform(-0.05, 0.05, x.shape), 0, 1)) for x in (RNG.random((300, 2)) for _ in range(5))]


def moved(x, y):
    """Return what moving each row of x to that of y costs, at least the distance."""
    return float(np.abs(x - y).max(axis=1).mean())


@pytest.mark.parametrize("pair", range(5))
def test_averages_stay_within_the_bounds(pair):
    x, y = PAIRS[pair]
    distance, weights = moved(x, y), np.array([2.0, -3.0])

    def gap(function):
        return abs(float(np.mean(function(x)) - np.mean(function(y))))

    assert gap(lambda z: np.log1p(np.exp(z @ weights))) <= lipschitz_error(distance, 5.0)
    assert gap(lambda z: np.clip((z[:, 0] - 0.4) / 0.2, 0, 1)) <= ramp_error(distance, 0.2)
    assert gap(lambda z: np.exp(-np.square(z - 0.3).sum(axis=1) / (2 * 0.2**2))) <= kernel_error(distance, 0.2, 2)
    assert gap(lambda z: z[:, 0] * z[:, 1]) <= product_error(distance, 2)
    assert gap(lambda z: np.maximum(z @ weights, 0) * 0.5) <= network_error(distance, [5.0, 0.5])


def test_a_third_of_each_bound_fails():
    step, near = 1e-4, np.full(2, 0.3 + 0.2 / math.sqrt(2))

    def kernel(z):
        return math.exp(-float(np.square(z - 0.3).sum()) / (2 * 0.2**2))

    assert 0.5 * step > lipschitz_error(step, 0.5) / 3
    assert step / 0.2 > ramp_error(step, 0.2) / 3
    assert abs(kernel(near) - kernel(near - step)) == pytest.approx(kernel_error(step, 0.2, 2), rel=1e-2)
    assert 1 - (1 - step) ** 2 == pytest.approx(product_error(step, 2), rel=1e-3)
    assert network_error(step, [5.0, 0.5]) == pytest.approx(2.5 * step)


@pytest.mark.parametrize("moves", [0.01, 0.1, 0.3])
def test_shares_up_to_a_threshold_attain_their_bound(moves):
    # Uniform rows of [0, 1]; those up to a threshold of ``moves`` are put just beyond it.
    distance, gap = moves**2 / 2, moves

    assert share_error(distance, 1.0) == pytest.approx(gap)
    assert share_error(distance / 9, 1.0) < gap


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: lipschitz_error(-0.1, 1.0), "distance must be finite and at least 0, got -0.1"),
        (lambda: lipschitz_error(0.1, math.nan), "constant must be finite and at least 0, got nan"),
        (lambda: ramp_error(0.1, 0.0), "margin must be finite and above 0, got 0.0"),
        (lambda: share_error(0.1, 0.5), "density must be finite and at least 1, got 0.5"),
        (lambda: network_error(0.1, [1.0, math.inf]), "norm_1 must be finite and above 0, got inf"),
    ],
)
def test_numbers_out_of_range_are_refused(call, said):
    with pytest.raises(ParameterError, match=f"^{said}"):
        call()
