"""Theorems 3 and 5 of the KD-tree paper: their printed numbers, and that their bounds hold on simulated grids."""

import math
from itertools import pairwise

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.samples import kernel_densities
from lapwing.theorems.kd_tree import theorem_3, theorem_5, theorem_5_threshold

SIDE = 4
WIDTH = 1 / SIDE
CENTRES = (np.indices((SIDE, SIDE)).reshape(2, -1).T + 0.5) * WIDTH
PLACES = np.indices((15, 15)).reshape(2, -1).T / 14
BANDWIDTH = 0.5
GRID = {"J": SIDE**2, "w": WIDTH, "d": 2, "bandwidth": BANDWIDTH}
RUNS = 200


def whole_laplace(rng, scale, shape):
    """Draw discrete Laplace noise: the difference of two geometric variables."""
    chance = -math.expm1(-1 / scale)
    return rng.geometric(chance, shape) - rng.geometric(chance, shape)


def realised_distances(points, scale, threshold, rng, runs=RUNS):
    """Return the kernel density distances of noisy grids that keep counts from a threshold on, at least 1."""
    cells = np.minimum((points * SIDE).astype(int), SIDE - 1)
    counts = np.bincount(cells[:, 0] * SIDE + cells[:, 1], minlength=SIDE**2)
    noisy = counts + whole_laplace(rng, scale, (runs, SIDE**2))
    kept = np.where(noisy >= max(threshold, 1), noisy, 0)
    gamma = 1 / (2 * BANDWIDTH**2)
    density = kernel_densities(points, PLACES, gamma=gamma)
    return np.array(
        [np.abs(density - kernel_densities(CENTRES, PLACES, gamma=gamma, weights=each)).max() for each in kept]
    )


def corner(rows):
    """Return rows that crowd in the corner farthest from their cell's centre, the worst for rounding."""
    return np.random.default_rng(rows).random((rows, 2)) ** 6 * 0.01


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_theorem_3_is_the_printed_formula_for_replace_one_neighbours(epsilon: float) -> None:
    rows, delta = 5000, 0.1

    found = theorem_3(scale=2 / epsilon, n=rows, delta=delta, **GRID)

    noise = 2 / (epsilon * rows / (4 * 16 * math.log(1 / delta)) - 1)
    assert found == pytest.approx(noise + 0.25 / (2 * 0.5) * math.sqrt(2 / math.e), rel=1e-12)


def test_add_remove_neighbours_have_the_bound_of_twice_the_epsilon() -> None:
    settings = {"n": 5000, "delta": 0.1, **GRID}

    assert theorem_3(scale=1 / 0.5, **settings) == theorem_3(scale=2 / 1.0, **settings)


def test_theorem_5_is_the_printed_formula_where_the_threshold_is_even() -> None:
    epsilon, n, m, M = 1.0, 10_000, 300.0, 7.0
    delta = math.exp(-4)  # 8 / epsilon * 4 = 32 records

    found = theorem_5(scale=2 / epsilon, n=n, delta=delta, M=M, m=m, **GRID)

    printed = (epsilon * m + 8 * M * 4) / (epsilon * n - epsilon * m - 4 * M * 4) + m / n
    assert theorem_5_threshold(2 / epsilon, delta) == 32
    assert found == pytest.approx(printed + 0.25 / (2 * 0.5) * math.sqrt(2 / math.e), rel=1e-12)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0, 7.7])
@pytest.mark.parametrize("delta", [0.3, 0.01, 1e-6])
def test_whole_noise_passes_half_the_threshold_as_rarely_as_the_proof_needs(scale: float, delta: float) -> None:
    half, q = theorem_5_threshold(scale, delta) // 2, math.exp(-1 / scale)

    assert half >= 2 * scale * math.log(1 / delta)
    assert 2 * q ** (half + 1) / (1 + q) <= delta**2


def test_the_sizes_of_few_noises_sum_to_more_than_theorem_3_allows_as_rarely_as_it_says() -> None:
    # Chernoff's bound proves it from 12 cells on; the largest ratio that was found is 0.79.
    deltas = np.linspace(0.02, 0.5, 25)
    worst = 0.0
    for scale in np.geomspace(0.05, 20, 25):
        q, sizes = math.exp(-1 / scale), np.arange(int(40 * scale) + 40)
        law = np.where(sizes == 0, 1.0, 2 * q**sizes) * (1 - q) / (1 + q)
        total = np.ones(1)
        for cells in range(1, 12):
            total = np.convolve(total, law)
            above = 1 - np.cumsum(total)
            at = np.minimum((2 * cells * scale * np.log(1 / deltas)).astype(int), total.size - 1)
            worst = max(worst, float((above[at] / deltas).max()))

    assert worst < 0.9


@pytest.mark.parametrize("delta", [0.05, 0.3, 0.5])
def test_theorem_3_holds_at_its_probability_on_a_small_grid(delta: float) -> None:
    points, scale = corner(400), 2.0

    realised = realised_distances(points, scale, 0, np.random.default_rng(1))

    bound = theorem_3(scale=scale, n=400, delta=delta, **GRID)
    # Above the share by four standard errors would be a chance of 3e-5 even where the theorem is sharp; it is loose.
    assert np.mean(realised > bound) <= delta + 4 * math.sqrt(delta / RUNS)


def test_theorem_3_without_its_rounding_does_not_hold() -> None:
    points = corner(20_000)

    realised = realised_distances(points, 0.5, 0, np.random.default_rng(1), runs=10)

    settings = {"scale": 0.5, "n": 20_000, "delta": 0.1} | GRID
    bound = theorem_3(**settings)
    noise_only = theorem_3(**settings | {"w": 1e-9})
    assert (realised <= bound).all()
    assert (realised > noise_only).all()


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_theorem_5_holds_at_its_probability_on_a_small_grid(scale: float) -> None:
    rng = np.random.default_rng(3)
    points, delta = np.clip(rng.normal(0.4, 0.12, (3000, 2)), 0, 0.999), 1 / 16
    threshold = theorem_5_threshold(scale, delta)
    cells = np.minimum((points * SIDE).astype(int), SIDE - 1)
    counts = np.bincount(cells[:, 0] * SIDE + cells[:, 1], minlength=SIDE**2)
    heavy, light = np.count_nonzero(counts >= threshold / 2), counts[counts < 1.5 * threshold].sum()

    realised = realised_distances(points, scale, threshold, rng)

    bound = theorem_5(scale=scale, n=3000, delta=delta, M=heavy, m=light, **GRID)
    assert bound < theorem_3(scale=scale, n=3000, delta=delta, **GRID)
    assert np.mean(realised > bound) <= delta


def test_bounds_grow_with_noise_cells_and_width() -> None:
    settings = {"scale": 1.0, "n": 10_000, "delta": 0.1} | GRID

    for name, values in {"scale": (1, 2, 4), "J": (16, 32, 64), "w": (0.1, 0.2), "d": (1, 2)}.items():
        bounds = [theorem_3(**settings | {name: value}) for value in values]
        assert all(small < large for small, large in pairwise(bounds)), name


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"n": 100},
            r"theorem 3 needs more than 2 \* J \* scale \* log\(1 / delta\) = 147.365 rows, got 100; use",
        ),
        ({"delta": 0.6}, "delta must be above 0 and at most 1/2, got 0.6"),
        ({"delta": 0}, "delta must be above 0 and at most 1/2, got 0"),
        ({"scale": 0}, "scale must be finite and above 0, got 0"),
        ({"bandwidth": math.nan}, "bandwidth must be finite and above 0, got nan"),
        ({"J": 0}, "a grid needs at least 1 cell and 1 column, got 0 and 2"),
    ],
)
def test_theorem_3_says_which_condition_fails(wrong, said) -> None:
    with pytest.raises(ParameterError, match=said):
        theorem_3(**{"scale": 2.0, "n": 10_000, "delta": 0.1, **GRID, **wrong})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"J": 101}, "theorem 5 needs at most 1 / delta = 100 cells, got 101; lower delta"),
        ({"n": 136}, r"theorem 5 needs more rows than m \+ M \* threshold / 2 = 138, got 136"),
        ({"m": -1}, "M and m must be at least 0, got 2 and -1"),
        ({"delta": 1}, "delta must be above 0 and below 1, got 1"),
    ],
)
def test_theorem_5_says_which_condition_fails(wrong, said) -> None:
    numbers = {"scale": 2.0, "n": 10_000, "delta": 0.01, "M": 2, "m": 100}

    with pytest.raises(ParameterError, match=said):
        theorem_5(**{**numbers, **GRID, **wrong})
