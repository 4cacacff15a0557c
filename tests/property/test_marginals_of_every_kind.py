"""With an enormous budget rows are the table's, column by column: each cell, of every kind of column and container.

What remains is whole numbers and less than the sampling of so many rows: `most_off` of the helper is the bound.
"""

import pytest

from helpers.marginal_sweep import CONTAINERS, MECHANISMS, swept

MANY = 500


@pytest.mark.parametrize("seed", range(20))
def test_no_cell_of_a_column_is_off_by_more_than_sampling(seed, tmp_path):
    assert swept(seed, tmp_path).faults == []


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20, MANY))
def test_no_cell_of_a_column_is_off_by_more_than_sampling_in_many_tables(seed, tmp_path):
    assert swept(seed, tmp_path).faults == []


def test_all_tables_together_have_every_mechanism_with_every_container():
    met = {(seed % len(MECHANISMS), seed % len(CONTAINERS)) for seed in range(MANY)}

    assert len(met) == len(MECHANISMS) * len(CONTAINERS)
