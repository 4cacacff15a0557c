"""W1 and MMD against slow versions from their definitions: the transport programme, and double loops."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from helpers.cases import spread
from lapwing.extras.evaluate.metrics import samples
from lapwing.extras.evaluate.metrics.samples import kernel_densities, mmd, wasserstein_assignment, wasserstein_line

NORMS = {"linf": np.inf, "l2": 2}
# The solver's own tolerance is 1e-7; coordinates are below 10.
SOLVED = 1e-6


def transport_cost(points, others, weights, other_weights, norm):
    """Return the least cost of moving one weighted sample to the other, as a linear programme."""
    costs = [np.linalg.norm(point - other, norm) for point in points for other in others]
    sends = np.kron(np.eye(len(points)), np.ones(len(others)))
    receives = np.kron(np.ones(len(points)), np.eye(len(others)))
    masses = np.concatenate((weights / weights.sum(), other_weights / other_weights.sum()))
    # One equation follows from the others; without it rounding cannot make them contradict each other.
    solved = linprog(costs, A_eq=np.vstack((sends, receives))[:-1], b_eq=masses[:-1])
    assert solved.success
    return solved.fun


@pytest.mark.parametrize("seed", range(8))
def test_samples_on_a_line_cost_what_the_programme_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, others = rng.normal(size=int(rng.integers(1, 9))), rng.normal(size=int(rng.integers(1, 9)))

    distance = wasserstein_line(points, others)

    expected = transport_cost(points[:, None], others[:, None], np.ones(points.size), np.ones(others.size), 1)
    assert distance == pytest.approx(expected, abs=SOLVED)


@spread(("metric", NORMS), ("seed", range(10)))
def test_assigned_samples_cost_what_the_programme_says(seed: int, metric: str) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    points, others = rng.random((rows, columns)), rng.random((rows, columns))

    distance = wasserstein_assignment(points, others, ground=metric)

    assert distance == pytest.approx(
        transport_cost(points, others, np.ones(rows), np.ones(rows), NORMS[metric]), abs=SOLVED
    )


# Of MMD^2, a sum of some hundred products of numbers below 1.
ROUNDING = 1e-14


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
    first, second = ((points, np.ones(len(points))) for points, _ in (drawn(rng, columns), drawn(rng, columns)))
    monkeypatch.setattr(samples, "_BLOCK", 1 + seed % 7)

    found = mmd(first[0], second[0], gamma=gamma)

    assert found**2 == pytest.approx(naive_mmd_squared(first, second, gamma), abs=ROUNDING)


@pytest.mark.parametrize("seed", range(6))
def test_kernel_densities_are_sums_over_points(seed: int, monkeypatch) -> None:
    rng = np.random.default_rng(seed)
    (points, weights), places = drawn(rng, 2), rng.random((9, 2))
    monkeypatch.setattr(samples, "_BLOCK", 1 + seed)

    found = kernel_densities(points, places, gamma=2.0, weights=weights)

    expected = [inner_product(points, weights, [place], np.ones(1), 2.0) for place in places]
    assert found == pytest.approx(expected, abs=ROUNDING)
