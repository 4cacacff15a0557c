"""Means moved towards a noisy covariance: how much it is trusted, and what the fit keeps."""

import numpy as np
import pytest

from lapwing.mechanisms.shared.vectors.means import (
    fitted_means,
    shrunk_covariance,
    weighted_covariance,
    weighted_mean,
)
from lapwing.mechanisms.shared.vectors.row_vectors import rows_in_ball, rows_on_simplex

BETWEEN = ~np.eye(4, dtype=bool)


def box(points):
    return np.clip(points, -1.0, 1.0)


def cells_of(seed, cells=30, columns=4, spread=0.4):
    """Return means of cells in the box, and their weights."""
    rng = np.random.default_rng(seed)
    return box(rng.normal(0, spread, (cells, columns))), rng.dirichlet(np.full(cells, 0.7))


def misfit(means, weights, aim, pairs):
    """Return the sum of squared differences of the pairs' covariances from the aim."""
    own = weighted_covariance(means, weights, weighted_mean(means, weights))
    return float(((own - aim)[pairs] ** 2).sum())


# --------------------------------------------------------------------------------------------------------- shrinking


def test_an_exact_covariance_is_trusted_whole_and_entries_that_do_not_count_stay():
    own, noisy = np.full((4, 4), 0.1), np.full((4, 4), 0.3)

    found, trust = shrunk_covariance(own, noisy, BETWEEN, 0.0)

    assert trust == 1.0
    assert found == pytest.approx(np.where(BETWEEN, 0.3, 0.1))


def test_trust_is_the_share_of_the_difference_that_noise_does_not_explain():
    own, noisy = np.zeros((4, 4)), np.where(BETWEEN, 0.5, 0.0)

    found, trust = shrunk_covariance(own, noisy, BETWEEN, 0.3)

    assert trust == pytest.approx((0.25 - 0.09) / 0.25)
    assert found[BETWEEN] == pytest.approx(np.full(12, 0.5 * trust))


# ----------------------------------------------------------------------------------------------------------- fitting


@pytest.mark.parametrize("seed", range(8))
def test_a_covariance_that_cells_can_have_is_reached_with_the_same_mean(seed):
    means, weights = cells_of(seed, spread=0.2)
    centre = weighted_mean(means, weights)
    turned = centre + (means - centre) @ (np.eye(4) + np.random.default_rng(seed).normal(0, 0.15, (4, 4)))
    aim = weighted_covariance(turned, weights, weighted_mean(turned, weights))

    found = fitted_means(means, weights, aim, BETWEEN, box)

    assert misfit(found, weights, aim, BETWEEN) < 0.02 * misfit(means, weights, aim, BETWEEN)
    assert weighted_mean(found, weights) == pytest.approx(centre, abs=1e-12)


@pytest.mark.parametrize("project", [box, rows_in_ball, rows_on_simplex], ids=["box", "ball", "simplex"])
@pytest.mark.parametrize("seed", range(6))
def test_no_aim_makes_the_misfit_larger_or_leaves_the_set(seed, project):
    rng = np.random.default_rng(seed)
    means, weights = cells_of(seed, spread=0.9)
    means = project(means)
    noise = rng.normal(0, rng.choice([0.01, 0.1, 1.0]), (4, 4))
    aim = weighted_covariance(means, weights, weighted_mean(means, weights)) + noise + noise.T

    found = fitted_means(means, weights, aim, BETWEEN, project)

    assert misfit(found, weights, aim, BETWEEN) <= misfit(means, weights, aim, BETWEEN)
    assert found == pytest.approx(project(found), abs=1e-12)
