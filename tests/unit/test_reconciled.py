"""Tables that rules tie together and noise sets apart: one law between them."""

import numpy as np
import pytest

from helpers.log_linear_twins import factor_of, random_cloud, small_axes
from lapwing.numerics.log_linear import Cloud, marginals
from lapwing.numerics.reconciled import reconciled

TOTAL = 1000.0
ONE, TWO = ((0, 0),), ((1, 0),)


def twins(rng, size=4000):
    """Return two columns of three groups of which every particle has the same."""
    axes = small_axes(rng, (3, 3))
    same = rng.integers(0, 3, size)
    return axes, Cloud(np.stack((same, same)).astype(np.uint8), np.zeros(size))


@pytest.mark.parametrize("sds", [(5.0, 5.0), (3.0, 12.0), (20.0, 2.0)])
def test_two_counts_of_the_same_thing_meet_at_their_mean_by_precision(sds) -> None:
    axes, cloud = twins(np.random.default_rng(0))
    one, two = np.array([500.0, 300.0, 200.0]), np.array([520.0, 290.0, 190.0])
    factors = [
        factor_of(axes, table, target=t, sd=sd) for table, t, sd in zip((ONE, TWO), (one, two), sds, strict=True)
    ]

    found = marginals(axes, reconciled(axes, cloud, factors, TOTAL), TOTAL, [ONE, TWO])

    precision = 1 / np.square(sds)
    mean = (precision[0] * one + precision[1] * two) / precision.sum()
    # The entropy may move a count by a part of its noise.
    np.testing.assert_allclose(found, np.tile(mean, 2), atol=0.1 * min(sds) + 0.2)
    assert np.abs(found[:3] - two).max() > 0.01


def test_tables_that_agree_are_reached_and_weights_stay_smooth() -> None:
    rng = np.random.default_rng(1)
    axes = small_axes(rng, (3, 4))
    cloud = random_cloud(rng, axes, 4000, spread=0.1)
    one, two = TOTAL * rng.dirichlet(np.full(3, 5.0)), TOTAL * rng.dirichlet(np.full(4, 5.0))

    found = reconciled(axes, cloud, [factor_of(axes, ONE, target=one, sd=1.0), factor_of(axes, TWO, target=two)], TOTAL)

    np.testing.assert_allclose(marginals(axes, found, TOTAL, [ONE, TWO]), np.concatenate((one, two)), atol=0.3)
    assert found.groups is cloud.groups


def test_a_group_without_particles_does_no_harm() -> None:
    axes, cloud = twins(np.random.default_rng(2))
    held = Cloud(np.minimum(cloud.groups, 1), cloud.log_weights)
    factors = [factor_of(axes, ONE, target=[400.0, 400.0, 200.0]), factor_of(axes, TWO, target=[500.0, 500.0, 0.0])]

    found = marginals(axes, reconciled(axes, held, factors, TOTAL), TOTAL, [ONE])

    np.testing.assert_allclose(found, [500.0, 500.0, 0.0], atol=0.5)


def test_a_public_table_whose_counts_are_in_cells_without_particles_is_left_out() -> None:
    axes, cloud = twins(np.random.default_rng(3))
    held = Cloud(np.minimum(cloud.groups, 1), cloud.log_weights)
    public = factor_of(axes, TWO, target=[0.0, 0.0, TOTAL], sd=0.0)
    own = factor_of(axes, ONE, target=[700.0, 300.0, 0.0])

    alone = reconciled(axes, held, [own], TOTAL)
    found = reconciled(axes, held, [own, public], TOTAL)

    np.testing.assert_array_equal(found.log_weights, alone.log_weights)
    np.testing.assert_allclose(marginals(axes, found, TOTAL, [ONE]), [700.0, 300.0, 0.0], atol=0.5)
    assert reconciled(axes, held, [public], TOTAL) is held
