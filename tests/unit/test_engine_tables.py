"""Tables of particles, against one particle at a time."""

import itertools

import numpy as np
import pytest

from helpers.log_linear_twins import counts_by_hand, random_groups, small_axes
from lapwing.engine.tables import cells_of, counted, group_of_groups, table_shape

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

    found = by_table(axes, counted(axes, groups, TOTAL, tables), tables)

    weights = np.full(groups.shape[1], TOTAL / groups.shape[1])
    for table in tables:
        np.testing.assert_allclose(found[table], counts_by_hand(axes, groups, weights, table), rtol=1e-9, atol=1e-9)
        assert found[table].sum() == pytest.approx(TOTAL, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_tables_does_not_matter(seed: int) -> None:
    axes, groups = setting()
    tables = all_tables(axes)
    mixed = [tables[place] for place in np.random.default_rng(seed).permutation(len(tables))]

    found = by_table(axes, counted(axes, groups, TOTAL, mixed), mixed)

    listed = by_table(axes, counted(axes, groups, TOTAL, tables), tables)
    for table in tables:
        np.testing.assert_allclose(found[table], listed[table], rtol=1e-9, atol=1e-9)


def test_coarser_tables_are_sums_of_finer_ones() -> None:
    axes, groups = setting()
    fine, coarse = ((0, 0), (2, 0)), ((0, 1), (2, 2))

    found = by_table(axes, counted(axes, groups, TOTAL, [fine, coarse]), [fine, coarse])

    summed = np.zeros(table_shape(axes, coarse))
    table = found[fine].reshape(table_shape(axes, fine))
    for one, two in np.ndindex(table.shape):
        summed[axes[0].levels[1][one], axes[2].levels[2][two]] += table[one, two]
    np.testing.assert_allclose(found[coarse], summed.reshape(-1), rtol=1e-12)


def test_no_tables_give_no_counts() -> None:
    axes, groups = setting()

    assert counted(axes, groups, TOTAL, []).shape == (0,)


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
