"""Tables of particles, against one particle at a time."""

import itertools

import numpy as np
import pytest

from helpers.log_linear_twins import counts_by_hand, factor_of, random_factors, random_groups, small_axes
from lapwing.engine.particles import sweep_particles
from lapwing.engine.tables import Axis, cells_of, group_of_groups, pack, particle_tables, table_shape

SIZES = (5, 3, 8, 2)
TOTAL = 1234.5


def setting(seed=1, size=300):
    rng = np.random.default_rng(seed)
    axes = small_axes(rng, SIZES)
    return axes, random_groups(rng, axes, size)


def all_tables(axes):
    """Every table of one to three columns at all combinations of levels, the finest of each set of columns first."""
    return [
        tuple(zip(columns, levels, strict=True))
        for ways in (1, 2, 3)
        for columns in itertools.combinations(range(len(axes)), ways)
        for levels in itertools.product(*(range(len(axes[column].levels)) for column in columns))
    ]


def by_table(axes, counts, tables):
    sizes = [int(np.prod(table_shape(axes, table))) for table in tables]
    return dict(zip(tables, np.split(counts, np.cumsum(sizes)[:-1]), strict=True))


def test_every_table_is_what_counting_particle_by_particle_gives() -> None:
    axes, groups = setting()
    tables = all_tables(axes)

    found = by_table(axes, particle_tables(axes, groups, TOTAL, pack(tables)), tables)

    weights = np.full(groups.shape[1], TOTAL / groups.shape[1])
    for table in tables:
        np.testing.assert_allclose(found[table], counts_by_hand(axes, groups, weights, table), rtol=1e-9, atol=1e-9)
        assert found[table].sum() == pytest.approx(TOTAL, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_tables_does_not_matter(seed: int) -> None:
    axes, groups = setting()
    tables = all_tables(axes)
    mixed = [tables[place] for place in np.random.default_rng(seed).permutation(len(tables))] if seed else tables[::-1]

    found = by_table(axes, particle_tables(axes, groups, TOTAL, pack(mixed)), mixed)

    listed = by_table(axes, particle_tables(axes, groups, TOTAL, pack(tables)), tables)
    for table in tables:
        np.testing.assert_allclose(found[table], listed[table], rtol=1e-9, atol=1e-9)


def test_coarser_tables_are_sums_of_finer_ones() -> None:
    axes, groups = setting()
    fine, coarse = ((0, 0), (2, 0)), ((0, 1), (2, 2))

    found = by_table(axes, particle_tables(axes, groups, TOTAL, pack([fine, coarse])), [fine, coarse])

    summed = np.zeros(table_shape(axes, coarse))
    table = found[fine].reshape(table_shape(axes, fine))
    for one, two in np.ndindex(table.shape):
        summed[axes[0].levels[1][one], axes[2].levels[2][two]] += table[one, two]
    np.testing.assert_allclose(found[coarse], summed.reshape(-1), rtol=1e-12)


def test_no_tables_give_no_counts() -> None:
    axes, groups = setting()

    assert particle_tables(axes, groups, TOTAL, pack([])).shape == (0,)


def test_cells_are_numbered_in_c_order() -> None:
    axes, groups = setting()
    table = ((0, 1), (1, 0), (3, 0))

    cells = cells_of(axes, groups, table)

    along = [axes[column].levels[level][groups[column]] for column, level in table]
    assert cells.tolist() == np.ravel_multi_index(along, table_shape(axes, table)).tolist()


def test_a_level_maps_to_every_coarser_level() -> None:
    axes, _ = setting()

    for axis in axes:
        for fine, coarse in itertools.combinations(range(len(axis.levels)), 2):
            merged = group_of_groups(axis, fine, coarse)

            assert merged.size == axis.sizes[fine]
            assert merged[axis.levels[fine]].tolist() == axis.levels[coarse].tolist()


# -- Sweeps at a fixed theta: what they leave alone, and what they never draw.


SWEPT_TABLES = [((0, 0), (1, 0)), ((1, 1), (2, 0))]


def given_particles(seed=1, size=2000):
    rng = np.random.default_rng(seed)
    axes = small_axes(rng, (4, 3, 5))
    return axes, random_groups(rng, axes, size), random_factors(rng, axes, SWEPT_TABLES)


def test_fixed_columns_stay_and_others_move() -> None:
    axes, groups, factors = given_particles()

    moved = sweep_particles(axes, groups, factors, np.random.default_rng(2), fixed=(0, 2))

    assert (moved[0] == groups[0]).all()
    assert (moved[1] != groups[1]).mean() > 0.3
    assert (moved[2] == groups[2]).all()


def test_particles_given_are_not_modified() -> None:
    axes, groups, factors = given_particles()
    before = groups.copy()

    moved = sweep_particles(axes, groups, factors, np.random.default_rng(2))

    assert (groups == before).all()
    assert (moved != before).any(axis=1).all()
    assert moved.dtype == groups.dtype


def test_the_same_generator_gives_the_same_particles() -> None:
    axes, groups, factors = given_particles()

    one, two = (sweep_particles(axes, groups, factors, np.random.default_rng(3)) for _ in range(2))

    assert (one == two).all()


def test_a_particle_that_leaves_its_coarse_group_is_drawn_inside_of_the_other_one() -> None:
    halves = np.arange(4096) // 2048
    axes = [Axis(np.ones(4096), (np.arange(4096), halves)), Axis(np.ones(2), (np.arange(2),))]
    groups = np.stack((np.zeros(2500), np.arange(2500) % 2)).astype(np.uint16)
    factor = factor_of(axes, ((0, 1), (1, 0)), theta=np.array([12.0, -12.0, -12.0, 12.0]))

    moved = sweep_particles(axes, groups, [factor], np.random.default_rng(5), fixed=(1,))

    # e^-24 is the odds of the other half.
    assert (halves[moved[0]] == groups[1]).all()
    stayed = groups[1] == 0
    assert (moved[0][stayed] == 0).all()
    # 1250 draws of 2048 hit 935 of them on average.
    assert np.unique(moved[0][~stayed]).size > 850


def test_a_value_that_theta_rules_out_is_not_drawn() -> None:
    axes = [Axis(np.array([1.0, 1.0, 1.0]), (np.arange(3),))]
    factor = factor_of(axes, ((0, 0),), theta=np.array([15.0, -15.0, 15.0]))

    moved = sweep_particles(axes, np.ones((1, 10_000), dtype=np.uint8), [factor], np.random.default_rng(6))

    assert np.bincount(moved[0], minlength=3)[1] == 0
