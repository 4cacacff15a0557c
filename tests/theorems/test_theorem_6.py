"""Theorem 6 of the KD-tree paper: a case in which its printed bound is broken, and that the corrected one holds."""

import math

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.samples import kernel_densities
from lapwing.theorems.kd_tree import theorem_5, theorem_5_threshold, theorem_6

ROOT_E = math.sqrt(math.e)


def printed(rows, epsilon, delta, sigma, width, d):
    """Return the bound as printed (kernel bandwidth 1), with its first line's conditions checked."""
    assert rows >= (width / (sigma * math.sqrt(2 * math.pi))) ** d
    for power in (2, d):  # as printed, and as the proof needs it
        assert rows / math.log(rows) ** (d / 2) >= 16 * math.log(1 / delta) * (12 * sigma / width) ** power
    exponent = -d / 3 * (math.log(width / (sigma * math.sqrt(2 * math.pi))) - 2)
    first = 8 * math.log(1 / delta) ** (1 / 3) * math.exp(exponent) / (epsilon * rows) ** (1 / 3)
    second = 16 * math.log(1 / delta) * (12 * sigma / width) ** d * math.log(rows) ** (d / 2) / (epsilon * rows)
    return first + second + width * math.sqrt(d) / (2 * ROOT_E)


def test_theorem_6_as_printed_is_broken_where_empty_cells_fill_the_release() -> None:
    # One column, rows N(0, 0.05^2), cells of 0.2 on a box of edge 2 * 10^10: all conditions hold, and no cell count is
    # among them. An empty cell passes t = 8 log(1 / delta) with probability delta^4 / 2, and is then t + 2 on average.
    rows, epsilon, delta, sigma, width, cells = 10**7, 1.0, 0.1, 0.05, 0.2, 10**11
    bound = printed(rows, epsilon, delta, sigma, width, 1)
    threshold, scale = 8 / epsilon * math.log(1 / delta), 2 / epsilon
    empty = cells - 10**4  # no row is 1,000 cells from the mean, but with probability exp(-10^6)
    chance = math.exp(-threshold / scale) / 2
    mean = empty * chance * (threshold + scale)
    variance = empty * chance * ((threshold + scale) ** 2 + scale**2)

    # The noise of all empty cells, but 10^4 of them near the rows, by Chebyshev: above 9/10 of its mean.
    missed = variance / (mean / 10) ** 2
    far_mass = 0.9 * mean
    near_mass = rows + 10**4 * 100 * scale  # rows, and noise beyond 100 scales nowhere: exp(-100) times 10^4
    # The kernel density at the mean: of the rows E exp(-x^2 / 2) = (1 + sigma^2)^(-1/2), less at most 0.01 by
    # Hoeffding's inequality; of far cells nearly nothing.
    failed = missed + 10**4 * math.exp(-100) + math.exp(-2 * rows * 0.01**2)
    gap = (1 + sigma**2) ** -0.5 - 0.01 - near_mass / (near_mass + far_mass)

    assert bound < 0.15
    assert gap > 0.85
    assert failed < 1e-3 < delta


SETTINGS = {"scale": 1.0, "J": 256, "delta": 1 / 256, "w": 0.5, "d": 2, "bandwidth": 1.0}
CENTRES = (np.indices((16, 16)).reshape(2, -1).T + 0.5) / 2 - 4
ROWS, DATA_DELTA, RUNS = 20_000, 0.01, 200


@pytest.mark.parametrize("sigma", [0.3, 0.6])
def test_the_corrected_theorem_6_holds_over_rows_and_noise(sigma: float) -> None:
    rng, threshold = np.random.default_rng(6), theorem_5_threshold(1.0, 1 / 256)
    bound = theorem_6(n=ROWS, sigma=sigma, data_delta=DATA_DELTA, **SETTINGS)
    realised, of_counts = [], []
    for _ in range(RUNS):
        points = np.clip(sigma * rng.standard_normal((ROWS, 2)), -4, 3.999)
        cells = np.floor((points + 4) * 2).astype(int)
        counts = np.bincount(cells[:, 0] * 16 + cells[:, 1], minlength=256)
        noisy = counts + rng.geometric(-math.expm1(-1), 256) - rng.geometric(-math.expm1(-1), 256)
        kept = np.where(noisy >= threshold, noisy, 0)
        real = kernel_densities(points, CENTRES[::9], gamma=0.5)
        made = kernel_densities(CENTRES, CENTRES[::9], gamma=0.5, weights=kept)
        realised.append(np.abs(real - made).max())
        heavy, light = np.count_nonzero(counts >= threshold / 2), counts[counts < 1.5 * threshold].sum()
        of_counts.append(theorem_5(n=ROWS, M=heavy, m=light, **SETTINGS))

    assert bound < 1
    assert np.mean(np.array(realised) > bound) <= DATA_DELTA + 1 / 256
    # What the corrected theorem adds to Theorem 5: its bounds of the two counts.
    assert np.mean(np.array(of_counts) > bound) <= DATA_DELTA
    assert bound < 4 * np.median(of_counts)


def test_the_corrected_theorem_6_falls_with_the_rows_as_fast_as_its_rate() -> None:
    grid = SETTINGS | {"data_delta": 0.01, "w": 1e-2, "J": 10**6, "delta": 1e-6, "bandwidth": 1e4}
    bounds = [theorem_6(n=rows, sigma=0.01, **grid) for rows in (10**6, 10**8)]

    # Nearly as 1 / n, where the paper's falls as n^(-1/3): a factor of 4.6.
    assert bounds[0] / bounds[1] > 50


def test_theorem_6_keeps_the_condition_that_the_paper_dropped() -> None:
    with pytest.raises(ParameterError, match="theorem 5 needs at most 1 / delta = 256 cells, got 10000; lower delta"):
        theorem_6(n=10**6, sigma=1.0, data_delta=0.01, **SETTINGS | {"J": 10_000})
    with pytest.raises(ParameterError, match="data_delta must be above 0 and below 1, got 0"):
        theorem_6(n=10**6, sigma=1.0, data_delta=0, **SETTINGS)
