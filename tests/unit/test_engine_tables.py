"""Tables of particles, against one particle at a time."""

import itertools

import numpy as np
import pytest

from helpers.log_linear_twins import counts_by_hand, factor_of, random_factors, random_groups, small_axes
from lapwing.engine.particles import sweep_particles
from lapwing.engine.tables import Axis, pack, particle_tables, table_shape

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


# -- Sweeps at a fixed theta: what they leave alone, and what they never draw.


def test_several_sweeps_are_those_of_so_many_calls() -> None:
    rng = np.random.default_rng(1)
    axes = small_axes(rng, (4, 3, 5))
    groups = random_groups(rng, axes, 2000)
    factors = random_factors(rng, axes, [((0, 0), (1, 0)), ((1, 1), (2, 0))])
    one_by_one, rng = groups, np.random.default_rng(4)
    for _ in range(3):
        one_by_one = sweep_particles(axes, one_by_one, factors, rng, fixed=(1,))

    together = sweep_particles(axes, groups, factors, np.random.default_rng(4), sweeps=3, fixed=(1,))

    assert (together == one_by_one).all()


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
