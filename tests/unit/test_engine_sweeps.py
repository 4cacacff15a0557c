"""Sweeps at a fixed theta: what they leave alone, and what they never draw."""

import numpy as np

from helpers.log_linear_twins import factor_of, random_factors, random_groups, small_axes
from lapwing.engine.particles import swept
from lapwing.engine.tables import Axis

TABLES = [((0, 0), (1, 0)), ((1, 1), (2, 0))]


def setting(seed=1, size=2000):
    rng = np.random.default_rng(seed)
    axes = small_axes(rng, (4, 3, 5))
    return axes, random_groups(rng, axes, size), random_factors(rng, axes, TABLES)


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


def test_a_particle_that_leaves_its_coarse_group_is_drawn_inside_of_the_other_one() -> None:
    halves = np.arange(4096) // 2048
    axes = [Axis(np.ones(4096), (np.arange(4096), halves)), Axis(np.ones(2), (np.arange(2),))]
    groups = np.stack((np.zeros(2500), np.arange(2500) % 2)).astype(np.uint16)
    factor = factor_of(axes, ((0, 1), (1, 0)), theta=np.array([12.0, -12.0, -12.0, 12.0]))

    moved = swept(axes, groups, [factor], np.random.default_rng(5), fixed=(1,))

    # e^-24 is the odds of the other half.
    assert (halves[moved[0]] == groups[1]).all()
    stayed = groups[1] == 0
    assert (moved[0][stayed] == 0).all()
    # 1250 draws of 2048 hit 935 of them on average.
    assert np.unique(moved[0][~stayed]).size > 850


def test_a_value_that_theta_rules_out_is_not_drawn() -> None:
    axes = [Axis(np.array([1.0, 1.0, 1.0]), (np.arange(3),))]
    factor = factor_of(axes, ((0, 0),), theta=np.array([15.0, -15.0, 15.0]))

    moved = swept(axes, np.ones((1, 10_000), dtype=np.uint8), [factor], np.random.default_rng(6))

    assert np.bincount(moved[0], minlength=3)[1] == 0
