"""What holds for masses of finer and finer cells, whatever the counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.refined_counts import fitted_counts
from lapwing.mechanisms.adaptive.one_way import (
    CellCounts,
    branch_masses,
    cell_deviation,
    denoised_masses,
    finest_starts,
    next_parts,
)


@st.composite
def staged(draw, sd=None, exact=False):
    """Return up to three stages, each cutting cells of the one before, and the number of codes."""
    codes = draw(st.sampled_from([1, 2, 7, 40, 1000, 2**53]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    starts, stages = np.zeros(1, dtype=np.int64), []
    truth = np.zeros(0)
    for _ in range(draw(st.integers(1, 3))):
        new = rng.integers(0, codes, int(rng.integers(0, 30)))
        starts = np.unique(np.concatenate((starts, new)))
        stages.append(starts)
    heavy = draw(st.sampled_from([0.05, 1.0, 50.0]))
    truth = np.rint(rng.dirichlet(np.full(starts.size, heavy)) * draw(st.sampled_from([0, 1, 30, 10**4, 10**9])))
    made = []
    for each in stages:
        parent = np.searchsorted(each, starts, "right") - 1
        deviation = draw(st.sampled_from([0.0, 1e-9, 1.0, 30.0, 1e7])) if sd is None else sd
        noise = 0.0 if exact else np.rint(rng.normal(0.0, deviation, each.size))
        made.append(CellCounts(each, np.bincount(parent, truth, each.size) + noise, deviation))
    return made, codes, truth


@given(staged(), st.sampled_from([0.0, 1e-9, 1.0, 57.5, 1e4, 1e12]))
@settings(max_examples=200)
def test_masses_are_never_negative_and_sum_to_the_total(made, total: float) -> None:
    stages, codes, _ = made

    masses = denoised_masses(stages, codes, total)

    assert masses.shape == finest_starts(stages).shape
    assert np.isfinite(masses).all()
    assert masses.min() >= 0
    assert masses.sum() == pytest.approx(total, rel=1e-9)


@given(staged(), st.sampled_from([0.0, 1e-9, 1.0, 57.5, 1e4, 1e12]))
def test_masses_of_branches_are_never_negative_and_sum_to_the_total(made, total: float) -> None:
    stages, _, _ = made

    masses = branch_masses(stages, total)

    assert masses.shape == stages[-1].starts.shape
    assert np.isfinite(masses).all()
    assert masses.min() >= 0
    assert masses.sum() == pytest.approx(total, rel=1e-9)


@given(staged(sd=0.0))
def test_branches_without_noise_give_the_truth_back(made) -> None:
    stages, _, truth = made

    masses = branch_masses(stages, float(truth.sum()))

    assert np.abs(masses - truth).max() <= 1e-6 * max(1.0, float(truth.sum()))


@given(staged())
def test_the_same_counts_give_the_same_masses_and_are_left_as_they_are(made) -> None:
    stages, codes, _ = made
    before = [(stage.starts.copy(), stage.counts.copy()) for stage in stages]

    first, second = (denoised_masses(stages, codes, 1000.0) for _ in range(2))

    assert first.tolist() == second.tolist()
    for stage, (starts, counts) in zip(stages, before, strict=True):
        assert np.array_equal(stage.starts, starts)
        assert np.array_equal(stage.counts, counts)


@given(staged(sd=0.0))
@settings(max_examples=200)
def test_counts_without_noise_give_the_truth_back(made) -> None:
    stages, codes, truth = made

    fitted, _ = fitted_counts(stages)
    masses = denoised_masses(stages, codes, float(truth.sum()))

    scale = max(1.0, float(truth.sum()))
    assert np.abs(fitted - truth).max() <= 1e-6 * scale
    # Counts without noise are taken to have an sd of 1e-3: a few of these per level.
    assert np.abs(masses - truth).max() <= 0.1 + 1e-6 * scale


@given(staged())
def test_one_more_stage_loses_nothing_of_the_total(made) -> None:
    stages, codes, _ = made

    for known in range(1, len(stages) + 1):
        assert denoised_masses(stages[:known], codes, 777.0).sum() == pytest.approx(777.0)


@given(staged())
def test_coarse_cells_that_agree_with_the_finest_change_no_estimate(made) -> None:
    stages, _, _ = made
    finest = stages[-1]
    agreeing = []
    for stage in stages[:-1]:
        parent = np.searchsorted(stage.starts, finest.starts, "right") - 1
        agreeing.append(CellCounts(stage.starts, np.bincount(parent, finest.counts, stage.starts.size), stage.sd))

    fitted, _ = fitted_counts([*agreeing, finest])

    scale = max(1.0, float(np.abs(finest.counts).max()))
    assert np.abs(fitted - finest.counts).max() <= 1e-6 * scale


@given(staged())
def test_every_stage_makes_a_cell_surer(made) -> None:
    stages, _, _ = made

    last = max(stages[-1].sd, 1e-6)
    assert 0 < cell_deviation(stages) <= last * (1 + 1e-9)
    assert cell_deviation(stages[-1:]) == pytest.approx(last)


@given(
    st.lists(st.tuples(st.floats(0, 1e12), st.integers(1, 2**53)), min_size=1, max_size=60),
    st.sampled_from([1.0, 6.0, 1e5]),
    st.integers(2, 200),
)
@settings(max_examples=200)
def test_parts_are_worth_counting_and_not_too_many(cells, worth: float, most: int) -> None:
    masses, widths = np.array([mass for mass, _ in cells]), np.array([width for _, width in cells], dtype=np.int64)

    parts = next_parts(masses, widths, worth, most)

    assert (parts >= 1).all()
    assert (parts <= widths).all()
    assert (parts[parts > 1] * worth <= masses[parts > 1] * (1 + 1e-12)).all()
    assert parts[parts > 1].sum() <= most
