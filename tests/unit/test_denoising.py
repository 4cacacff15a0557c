"""Noise taken out of the counts of ordered columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lapwing.numerics.denoising import denoised

COUNTS = arrays(np.int64, st.integers(1, 200), elements=st.integers(-1000, 100_000))
SEEDS = range(20)
SD = 12.0


def smooth_law(size):
    """Return a bell on a slope: neighbours differ by less than the noise."""
    at = np.linspace(-3, 3, size)
    return 100 * np.exp(-(at**2)) + 10 * at + 40


def spiky_law(size):
    """Return heaps at every tenth value on an even floor, as reported incomes have."""
    law = np.full(size, 20.0)
    law[::10] = 400.0
    return law


def errors(law):
    """Return the mean squared errors of denoised and of raw counts, over seeds."""
    found = []
    for seed in SEEDS:
        noisy = law + np.random.default_rng(seed).normal(0.0, SD, law.size)
        found.append([np.square(each - law).mean() for each in (denoised(noisy, SD), noisy)])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("size", [37, 64, 128, 250])
def test_a_smooth_law_loses_most_of_its_noise(size: int) -> None:
    after, before = errors(smooth_law(size))

    assert after < 0.55 * before


@pytest.mark.parametrize("size", [37, 64, 128, 250])
def test_a_spiky_law_comes_out_no_worse_than_it_went_in(size: int) -> None:
    after, before = errors(spiky_law(size))

    assert after < 0.85 * before


def test_even_counts_become_nearly_equal() -> None:
    noisy = np.random.default_rng(1).normal(500.0, SD, 128)

    after = denoised(noisy, SD)

    assert noisy.std() > 0.8 * SD
    assert after.std() < 0.4 * SD


@pytest.mark.parametrize("place", [0, 1, 31, 32, 47, 62, 63])
def test_a_peak_stays_wherever_it_stands(place: int) -> None:
    law = np.full(64, 100.0)
    law[place] = 900.0
    noisy = law + np.random.default_rng(place).normal(0.0, SD, 64)

    after = denoised(noisy, SD)

    assert after[place] == pytest.approx(900.0, abs=4 * SD)
    assert np.abs(np.delete(after - law, place)).max() < 4 * SD


def test_the_ends_are_no_neighbours_of_each_other() -> None:
    law = np.repeat([100.0, 120.0], 32)  # a step that noise could be, seen from near by

    after = denoised(law, SD)

    assert after[0] == pytest.approx(100.0, abs=1.0)
    assert after[-1] == pytest.approx(120.0, abs=1.0)
    assert after[31] > 105.0


@given(COUNTS, st.floats(0.0, 1e4))
def test_the_total_is_kept(counts: np.ndarray, sd: float) -> None:
    after = denoised(counts, sd)

    assert after.shape == counts.shape
    assert after.sum() == pytest.approx(counts.sum(), rel=1e-12, abs=1e-6)
    assert after.min() >= counts.min() - 1e-6 - np.ptp(counts)


@given(COUNTS, st.floats(0.0, 1e4))
def test_the_direction_of_the_values_does_not_matter(counts: np.ndarray, sd: float) -> None:
    after = denoised(counts[::-1], sd)

    # Sums of integers and halves of them are exact: no detail lands on the other side of its threshold.
    np.testing.assert_allclose(after, denoised(counts, sd)[::-1], atol=1e-6)


@given(COUNTS)
def test_counts_without_noise_stay_as_they_are(counts: np.ndarray) -> None:
    assert denoised(counts, 0.0).tolist() == counts.tolist()


@pytest.mark.parametrize("size", range(1, 8))
def test_tables_below_eight_cells_stay_as_they_are(size: int) -> None:
    counts = np.arange(size) * 7 - 3

    assert denoised(counts, 1e6).tolist() == counts.tolist()


@pytest.mark.parametrize("sd", [0.0, 10.0])
def test_the_counts_given_are_not_modified(sd: float) -> None:
    counts = np.arange(20.0)

    after = denoised(counts, sd)
    after += 1.0

    assert counts.tolist() == list(range(20))
