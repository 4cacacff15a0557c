"""Finer and finer cells: worked by hand."""

import numpy as np
import pytest

from helpers.refined_counts import fitted_counts
from lapwing.mechanisms.adaptive.one_way import (
    CellCounts,
    branch_masses,
    cell_deviation,
    denoised_masses,
    merged_starts,
    next_parts,
)


def counted(starts, counts, sd):
    return CellCounts(np.array(starts, dtype=np.int64), np.array(counts, dtype=np.float64), sd)


# -------------------------------------------------------------------------------------------------- least squares


def test_one_stage_is_its_own_best_fit() -> None:
    assert fitted_counts([counted([0, 3, 7], [5, -2, 8], 3.0)])[0].tolist() == pytest.approx([5.0, -2.0, 8.0])


def test_two_stages_share_what_they_disagree_about_by_their_variances() -> None:
    coarse, fine = counted([0, 10], [30, 7], 1.0), counted([0, 4, 10], [12, 12, 5], 2.0)

    fitted, _ = fitted_counts([coarse, fine])

    # The first coarse cell: 30 of variance 1 against 24 of variance 8, so 30 - 6 / 9; its halves share the rest evenly.
    # The second: 7 of variance 1 against 5 of variance 4, so 7 - 2 / 5.
    assert fitted.tolist() == pytest.approx([12 + 24 / 9, 12 + 24 / 9, 6.6])


def test_a_stage_without_noise_decides() -> None:
    coarse, fine = counted([0], [100], 0.0), counted([0, 1], [30, 50], 5.0)

    assert fitted_counts([coarse, fine])[0].tolist() == pytest.approx([40, 60])
    assert fitted_counts([counted([0], [100], 5.0), counted([0, 1], [30, 50], 0.0)])[0].tolist() == pytest.approx(
        [30, 50]
    )


@pytest.mark.parametrize(
    ("stages", "deviation"),
    [([(1, 2.0)], 2.0), ([(4, 2.0), (4, 2.0)], 2.0 / 2**0.5), ([(2, 3.0), (8, 3.0)], 3.0 / 5**0.5)],
)
def test_the_noise_of_a_cell_falls_with_every_stage(stages, deviation) -> None:
    made = [counted(range(cells), [0] * cells, sd) for cells, sd in stages]

    # The noise of a coarse cell is spread over the finest in it: a quarter of its variance for each of four.
    assert cell_deviation(made) == pytest.approx(deviation)


# ---------------------------------------------------------------------------------------------------------- masses


def test_one_cell_gets_everything_whatever_its_count_says() -> None:
    assert denoised_masses([counted([0], [-5], 3.0)], 10, 42.0).tolist() == [42.0]


@pytest.mark.parametrize("sd", [0.0, 5.0])
def test_nothing_is_shared_out_where_there_is_nothing(sd) -> None:
    assert denoised_masses([counted([0, 5], [40, -40], sd)], 10, 0.0).tolist() == [0.0, 0.0]


def test_counts_that_noise_explains_are_spread_by_width() -> None:
    counts = counted([0, 10, 20, 60], [110, 90, 405, 395], 20.0)

    assert denoised_masses([counts], 100, 1000.0).tolist() == pytest.approx([100, 100, 400, 400], abs=2)


def test_a_far_cell_of_noise_gets_nothing_and_a_peak_keeps_its_rows() -> None:
    counts = counted([0, 1, 100, 1000, 5000], [3, 950, 40, -3, 4], 3.0)

    masses = denoised_masses([counts], 10_000, 994.0)

    assert masses[3:].tolist() == [0.0, 0.0]
    assert masses[1] == pytest.approx(950, abs=6)
    assert masses.sum() == pytest.approx(994)


def test_runs_that_were_counted_as_one_show_rows_that_noise_hides_in_single_cells() -> None:
    fine = counted(range(40), [900, *[6] * 39], 30.0)
    whole = counted([0, 1, 20], [900, 114, 120], 30.0)

    alone, both = (denoised_masses(stages, 40, 1134.0)[1:].sum() for stages in ([fine], [fine, whole]))

    assert alone == 0
    assert both == pytest.approx(234, abs=30)


def test_rows_end_where_evidence_ends() -> None:
    starts, counts = range(0, 1000, 10), [0] * 20 + [100] * 20 + [7, -12, 9, 4, -8, 11] * 10

    masses = denoised_masses([counted(starts, counts, 10.0)], 1000, 2000.0)

    assert masses[20:40].tolist() == pytest.approx([100] * 20, abs=5)
    assert masses[:19].sum() + masses[41:].sum() == 0


def test_an_atom_keeps_its_own_count_and_what_is_beside_it_is_settled_by_itself() -> None:
    counts = [40, 60, 50, 5000, 45, 55, 50]

    masses = denoised_masses([counted(range(0, 70, 10), counts, 8.0)], 70, 5300.0)

    assert masses[3] == pytest.approx(5000, abs=20)
    assert masses[[0, 1, 2, 4, 5, 6]].tolist() == pytest.approx([50] * 6, abs=12)


def test_cells_without_rows_are_counted_as_one_the_longer_the_farther_they_are() -> None:
    starts = np.arange(0, 200, 10)

    one, two, none = (merged_starts(starts, np.isin(np.arange(20), seen)) for seen in ([0], [0, 19], []))

    assert one.tolist() == [0, 10, 20, 40, 80, 160]
    assert two.tolist() == [0, 10, 20, 40, 80, 100, 120, 160, 180, 190]
    assert none.tolist() == [0, 80, 160]


def test_exact_counts_are_kept_where_no_even_spread_explains_them() -> None:
    counts = [0, 500, 20, 3, 0, 7, 0, 0, 470]

    assert denoised_masses([counted(range(9), counts, 0.0)], 9, 1000.0).tolist() == pytest.approx(counts, abs=1e-4)


def test_branches_share_what_they_have_and_no_more() -> None:
    branches, codes = counted([0, 2, 4], [100, 3, -3], 1.0), counted(range(6), [60, 44, 9, -9, 8, 8], 4.0)

    masses = branch_masses([branches, codes], 100.0)

    # Each branch of variance 1 pooled with its two codes of 16 each: 100 + 4 / 33, 3 - 3 / 33, and -3 + 19 / 33, which
    # is nothing on the simplex: the others lose half of what they have too much.
    first, second = 100 + 4 / 33, 3 - 3 / 33
    over = (first + second - 100) / 2
    assert masses[:2].tolist() == pytest.approx([(first - over) / 2 + 8, (first - over) / 2 - 8])
    assert masses[2:].tolist() == pytest.approx([second - over, 0, 0, 0])


# ----------------------------------------------------------------------------------------------------------- parts


def test_cells_are_cut_in_as_many_parts_as_are_worth_counting_and_no_more_than_they_have_codes() -> None:
    parts = next_parts(np.array([0.0, 19.9, 20.0, 95.0, 95.0]), np.array([9, 9, 9, 100, 3]), 10.0, 128)

    assert parts.tolist() == [1, 1, 2, 9, 3]


def test_too_many_parts_are_cut_down_in_proportion() -> None:
    parts = next_parts(np.array([5.0, 1000.0, 3000.0]), np.array([500] * 3), 10.0, 100)

    assert parts.tolist() == [1, 25, 75]


def test_a_cell_of_hardly_more_than_two_parts_stays_whole_beside_very_full_ones() -> None:
    parts = next_parts(np.array([25.0, 1e6]), np.array([500, 10**9]), 10.0, 128)

    assert parts.tolist() == [1, 127]
