"""Sweeps and resampling: what they leave alone, and how many copies they make."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers.log_linear_twins import factor_of, random_cloud, random_factors, small_axes
from lapwing.numerics.gibbs import draw_rows, resampled, swept
from lapwing.numerics.log_linear import Axis, Cloud

TABLES = [((0, 0), (1, 0)), ((1, 1), (2, 0))]


def setting(seed=1, size=2000):
    rng = np.random.default_rng(seed)
    axes = small_axes(rng, (4, 3, 5))
    return axes, random_cloud(rng, axes, size).groups, random_factors(rng, axes, TABLES)


def test_fixed_columns_stay_and_others_move() -> None:
    axes, groups, factors = setting()

    moved = swept(axes, groups, factors, np.random.default_rng(2), fixed=(0, 2))

    assert (moved[0] == groups[0]).all()
    assert (moved[1] != groups[1]).mean() > 0.3
    assert (moved[2] == groups[2]).all()


def test_particles_given_are_not_modified() -> None:
    axes, groups, factors = setting()
    before = groups.copy()

    moved = swept(axes, groups, factors, np.random.default_rng(2))

    assert (groups == before).all()
    assert (moved != before).any(axis=1).all()
    assert moved.dtype == groups.dtype


def test_the_same_generator_gives_the_same_particles() -> None:
    axes, groups, factors = setting()

    one, two = (swept(axes, groups, factors, np.random.default_rng(3)) for _ in range(2))

    assert (one == two).all()


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_a_share_of_the_drawn_values_is_taken(share: float) -> None:
    axes, groups, _ = setting(size=20_000)
    axes = [Axis(np.ones(axis.base.size), axis.levels) for axis in axes]

    moved = swept(axes, groups, (), np.random.default_rng(4), share=share)

    for column, axis in enumerate(axes):
        expected = share * (1 - 1 / axis.base.size)
        # Six standard errors of a share of 20,000.
        assert (moved[column] != groups[column]).mean() == pytest.approx(expected, abs=6 * (0.25 / 20_000) ** 0.5)


def test_a_column_of_many_groups_is_drawn_in_several_blocks() -> None:
    halves = np.arange(4096) // 2048
    axes = [Axis(np.ones(4096), (np.arange(4096), halves)), Axis(np.ones(2), (np.arange(2),))]
    groups = np.stack((np.zeros(2500), np.arange(2500) % 2)).astype(np.uint16)
    factor = factor_of(axes, ((0, 1), (1, 0)), theta=np.array([12.0, -12.0, -12.0, 12.0]))

    moved = swept(axes, groups, [factor], np.random.default_rng(5), fixed=(1,))

    # 2500 particles are two blocks and a part; e^-24 is the odds of the other half.
    assert (halves[moved[0]] == groups[1]).all()
    assert np.unique(moved[0]).size > 1500


def test_a_value_that_theta_rules_out_is_not_drawn() -> None:
    axes = [Axis(np.array([1.0, 1.0, 1.0]), (np.arange(3),))]
    factor = factor_of(axes, ((0, 0),), theta=np.array([15.0, -15.0, 15.0]))

    moved = swept(axes, np.ones((1, 10_000), dtype=np.uint8), [factor], np.random.default_rng(6))

    assert np.bincount(moved[0], minlength=3)[1] == 0


@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(-8.0, 8.0)), st.integers(1, 300), st.integers(0, 99))
def test_every_particle_is_drawn_as_often_as_expected_to_the_next_whole_number(logs, size, seed) -> None:
    cloud = Cloud(np.arange(logs.size, dtype=np.uint8)[None, :], logs)

    drawn = resampled(cloud, size, np.random.default_rng(seed))

    copies, expected = np.bincount(drawn[0], minlength=logs.size), cloud.weights(float(size))
    assert drawn.shape == (1, size)
    assert (copies >= np.floor(expected - 1e-9)).all()
    assert (copies <= np.ceil(expected + 1e-9)).all()


def test_resampling_keeps_particles_whole() -> None:
    groups = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], dtype=np.uint16)

    drawn = resampled(Cloud(groups, np.array([0.0, 1.0, -np.inf, 2.0])), 50, np.random.default_rng(7))

    assert drawn.dtype == np.uint16
    assert (drawn.sum(axis=0) == 3).all()
    assert 2 not in drawn[0]


def test_the_offset_decides_which_particle_has_the_odd_copy() -> None:
    cloud = Cloud(np.arange(3, dtype=np.uint8)[None, :], np.zeros(3))

    odd = {tuple(np.bincount(resampled(cloud, 4, np.random.default_rng(seed))[0])) for seed in range(40)}

    assert odd == {(2, 1, 1), (1, 2, 1), (1, 1, 2)}


def test_rows_are_drawn_from_their_own_masses() -> None:
    masses = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 1e-300]])
    rows = np.array([0, 1, 2, 0] * 50)

    drawn = draw_rows(masses, rows, np.random.default_rng(8))

    assert drawn.tolist() == [1, 0, 2, 1] * 50
