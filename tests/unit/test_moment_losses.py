"""Covariance and moment losses against their definitions."""

import itertools
import math

import numpy as np
import pytest

from helpers.moment_losses import moment_distance, moment_loss, separated_rows
from lapwing.anonymous.covariance_loss import block_means, covariance_loss


def moment(points, weights, degree):
    """Return the weighted d-th moment, entry by entry."""
    columns = range(points.shape[1])
    entries = [
        sum(w * math.prod(y[i] for i in index) for w, y in zip(weights, points, strict=True))
        for index in itertools.product(columns, repeat=degree)
    ]
    return np.array(entries)


def small_case(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(12, 3)), rng.integers(5, 9, 12)


@pytest.mark.parametrize("seed", range(3))
def test_the_covariance_loss_is_the_difference_of_the_covariances(seed: int) -> None:
    x, labels = small_case(seed)
    weights, means = block_means(x, labels)

    found = covariance_loss(x, labels)

    np.testing.assert_allclose(means, [x[labels == label].mean(axis=0) for label in np.unique(labels)])
    lost = np.cov(x.T, bias=True) - np.cov(means.T, bias=True, aweights=weights)
    assert found == pytest.approx(np.linalg.norm(lost))
    assert found == pytest.approx(moment_loss(x, labels, 2))


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_the_distance_of_moments_is_that_of_all_entries(degree: int) -> None:
    rng = np.random.default_rng(degree)
    x, labels = small_case(degree)
    points, weights = rng.normal(size=(4, 3)), rng.random(4)

    found = moment_distance(x, points, weights, degree)

    wanted = moment(x, np.full(12, 1 / 12), degree) - moment(points, weights, degree)
    assert found == pytest.approx(np.linalg.norm(wanted))
    # Columns of zeros change no entry, and take the other path where the tensor is too large to write out.
    wide = np.pad(x, ((0, 0), (20, 30)))
    assert moment_loss(wide, labels, degree) == pytest.approx(moment_loss(x, labels, degree), rel=1e-6, abs=1e-15)


def test_rows_without_columns_and_blocks_of_one_row_lose_nothing() -> None:
    x, _ = small_case(0)

    assert covariance_loss(np.zeros((3, 0)), np.zeros(3, dtype=int)) == 0
    assert covariance_loss(x, np.arange(12)) == 0


def test_separated_rows_lie_in_the_ball_and_far_from_each_other() -> None:
    x = separated_rows(20, 70, np.random.default_rng(0))

    apart = np.linalg.norm(x[:, None] - x, axis=2)[~np.eye(40, dtype=bool)]
    assert apart.min() > 0.5
    assert np.linalg.norm(x, axis=1).max() <= 1
