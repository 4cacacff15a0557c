"""MMD, kernel densities and the bounded-Lipschitz distance against double loops and their definitions."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from helpers.cases import spread
from lapwing.judge import samples as kernels
from lapwing.judge.samples import bounded_lipschitz, kernel_density_distance, mmd

# Of MMD^2, a sum of some hundred products of numbers below 1.
ROUNDING = 1e-14
# The solver's own tolerance is 1e-7; sums of some dozen masses below 3.
SOLVED = 1e-5
NORMS = {"linf": np.inf, "l1": 1, "l2": 2}


def kernel(point, other, gamma):
    return math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(point, other, strict=True)))


def inner_product(points, weights, others, other_weights, gamma):
    """Return κ(P, Q) of equation (1), pair by pair."""
    total = math.fsum(
        weight * other_weight * kernel(point, other, gamma)
        for point, weight in zip(points, weights, strict=True)
        for other, other_weight in zip(others, other_weights, strict=True)
    )
    return total / (math.fsum(weights) * math.fsum(other_weights))


def naive_mmd_squared(first, second, gamma):
    return (
        inner_product(*first, *first, gamma)
        + inner_product(*second, *second, gamma)
        - 2 * inner_product(*first, *second, gamma)
    )


def drawn(rng, columns):
    """Return a weighted sample of up to 40 points on a coarse grid, so that points recur, some of weight 0."""
    rows = int(rng.integers(1, 40))
    return rng.integers(0, 4, (rows, columns)) / 4, rng.integers(0, 4, rows) + (np.arange(rows) == 0)


@pytest.mark.parametrize("seed", range(12))
def test_mmd_is_equation_1_of_the_paper(seed: int, monkeypatch) -> None:
    rng = np.random.default_rng(seed)
    columns, gamma = 1 + seed % 3, float(rng.uniform(0.1, 5))
    first, second = drawn(rng, columns), drawn(rng, columns)
    monkeypatch.setattr(kernels, "_BLOCK", 1 + seed % 7)

    found = mmd(first[0], second[0], gamma=gamma, weights=first[1], other_weights=second[1])

    assert found**2 == pytest.approx(naive_mmd_squared(first, second, gamma), abs=ROUNDING)


@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_density_distance_is_the_largest_difference_of_sums(seed: int, monkeypatch) -> None:
    rng = np.random.default_rng(seed)
    first, second, places = drawn(rng, 2), drawn(rng, 2), rng.random((9, 2))
    monkeypatch.setattr(kernels, "_BLOCK", 1 + seed)

    found = kernel_density_distance(first[0], second[0], places, gamma=2.0, weights=first[1], other_weights=second[1])

    one = np.ones(1)
    expected = max(
        abs(inner_product(*first, [place], one, 2.0) - inner_product(*second, [place], one, 2.0)) for place in places
    )
    assert found == pytest.approx(expected, abs=ROUNDING)


def largest_integral(points, masses, bound, norm):
    """Return the supremum of the definition: a value for each point, as a linear programme over functions."""
    count = len(points)
    slopes, limits = [], []
    for i in range(count):
        for j in range(count):
            if i != j:
                slopes.append(np.eye(count)[i] - np.eye(count)[j])
                limits.append(np.linalg.norm(points[i] - points[j], norm))
    inequalities = {"A_ub": np.array(slopes), "b_ub": limits} if slopes else {}
    solved = linprog(-masses, **inequalities, bounds=(-bound, bound))
    assert solved.success
    return -solved.fun


@spread(("metric", NORMS), ("seed", range(8)))
def test_the_bounded_lipschitz_distance_is_the_largest_difference_of_integrals(seed: int, metric: str) -> None:
    rng = np.random.default_rng(seed)
    points, others = (rng.integers(0, 5, (int(rng.integers(1, 9)), 2)) / 4 for _ in range(2))
    masses, other_masses = (rng.normal(0.3, 1, len(each)) for each in (points, others))
    bound = float(rng.uniform(0.1, 1.2))

    found = bounded_lipschitz(points, masses, others, other_masses, bound=bound, metric=metric)

    spots, signed = np.concatenate((points, others)), np.concatenate((masses, -other_masses))
    assert found == pytest.approx(largest_integral(spots, signed, bound, NORMS[metric]), abs=SOLVED)
