"""Finer and finer cells: worked by hand."""

import numpy as np
import pytest

from lapwing.mechanisms.adaptive.cells import wanted_parts
from lapwing.mechanisms.adaptive.ordered_law import (
    Counted,
    settled_masses,
)


def counted(starts, counts, sd):
    return Counted(np.array(starts, dtype=np.int64), np.array(counts, dtype=np.float64), sd)


# -------------------------------------------------------------------------------------------------- least squares


# ---------------------------------------------------------------------------------------------------------- masses


def test_counts_that_noise_explains_are_spread_by_width() -> None:
    counts = counted([0, 10, 20, 60], [110, 90, 405, 395], 20.0)

    assert settled_masses([counts], 100, 1000.0).tolist() == pytest.approx([100, 100, 400, 400], abs=2)


def test_rows_end_where_evidence_ends() -> None:
    starts, counts = range(0, 1000, 10), [0] * 20 + [100] * 20 + [7, -12, 9, 4, -8, 11] * 10

    masses = settled_masses([counted(starts, counts, 10.0)], 1000, 2000.0)

    assert masses[20:40].tolist() == pytest.approx([100] * 20, abs=5)
    assert masses[:19].sum() + masses[41:].sum() == 0


def test_an_atom_keeps_its_own_count_and_what_is_beside_it_is_settled_by_itself() -> None:
    counts = [40, 60, 50, 5000, 45, 55, 50]

    masses = settled_masses([counted(range(0, 70, 10), counts, 8.0)], 70, 5300.0)

    assert masses[3] == pytest.approx(5000, abs=20)
    assert masses[[0, 1, 2, 4, 5, 6]].tolist() == pytest.approx([50] * 6, abs=12)


# ----------------------------------------------------------------------------------------------------------- parts


def test_too_many_parts_are_cut_down_in_proportion() -> None:
    parts = wanted_parts(np.array([5.0, 1000.0, 3000.0]), np.array([500] * 3), 10.0, 100)

    assert parts.tolist() == [1, 25, 75]


def test_a_cell_of_hardly_more_than_two_parts_stays_whole_beside_very_full_ones() -> None:
    parts = wanted_parts(np.array([25.0, 1e6]), np.array([500, 10**9]), 10.0, 128)

    assert parts.tolist() == [1, 127]
