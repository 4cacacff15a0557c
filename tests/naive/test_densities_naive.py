"""Densities on points against a dense linear program and against plain mirror descent."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from helpers.cases import spread
from helpers.even_densities import max_entropy_density, minimax_density


def naive_minimax(matrix, targets):
    """Return the least largest error of a density, by SciPy's own choice of method on the dense program."""
    statistics, points = matrix.shape
    aside = np.ones((statistics, 1))
    solved = linprog(
        [0.0] * points + [1.0],
        A_ub=np.vstack([np.hstack([matrix, -aside]), np.hstack([-matrix, -aside])]),
        b_ub=[*targets, *(-targets)],
        A_eq=[[1.0] * points + [0.0]],
        b_eq=[1.0],
    )
    return solved.fun


def naive_max_entropy(matrix, targets, noise, steps=20_000):
    """Return the density of least KL to uniform plus squared errors over twice the noise, by mirror descent."""
    statistics, points = len(matrix), len(matrix[0])
    rate = 1 / (1 + max(sum(matrix[f][i] ** 2 for f in range(statistics)) for i in range(points)) / noise)
    logs = [0.0] * points
    for _ in range(steps):
        powers = [math.exp(each - max(logs)) for each in logs]
        h = [each / sum(powers) for each in powers]
        errors = [sum(matrix[f][i] * h[i] for i in range(points)) - targets[f] for f in range(statistics)]
        slopes = [sum(matrix[f][i] * errors[f] for f in range(statistics)) / noise for i in range(points)]
        moved = [log - rate * (log + slope) for log, slope in zip(logs, slopes, strict=True)]
        moved = [each - max(moved) for each in moved]
        if max(abs(a - b) for a, b in zip(moved, logs, strict=True)) < 1e-13:
            break
        logs = moved
    return h


def signed_program(seed, statistics, points):
    """Return values in [-1, 1], some of them 0, and targets that no density has."""
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(-1, 1, (statistics, points)) * (rng.random((statistics, points)) < 0.6)
    return matrix, rng.uniform(-1, 1, statistics)


@spread((("statistics", "points"), [(1, 1), (1, 7), (6, 4), (15, 40), (40, 15)]), ("seed", range(4)))
def test_the_minimax_error_is_that_of_the_dense_program(seed, statistics, points):
    matrix, targets = signed_program(seed, statistics, points)

    density = minimax_density(csr_array(matrix), targets)

    best = naive_minimax(matrix, targets)
    assert density.error == pytest.approx(best, abs=1e-6)
    assert density.gap < 2e-6
    assert density.error - density.gap <= best + 1e-12


@pytest.mark.parametrize(("statistics", "points"), [(1, 5), (4, 3), (6, 12)])
@pytest.mark.parametrize("noise", [0.05, 1.0])
def test_the_max_entropy_density_is_that_of_mirror_descent(statistics, points, noise):
    matrix, targets = signed_program(statistics, statistics, points)

    density = max_entropy_density(csr_array(matrix), targets, noise)

    # Steps end within 1e-4 of the noise for each statistic.
    assert density.weights == pytest.approx(naive_max_entropy(matrix.tolist(), targets.tolist(), noise), abs=1e-3)


def test_answers_do_not_depend_on_the_order_of_points_and_statistics():
    matrix, targets = signed_program(5, 6, 9)
    rng = np.random.default_rng(1)
    statistics, points = rng.permutation(6), rng.permutation(9)

    one = max_entropy_density(csr_array(matrix), targets, 0.1)
    other = max_entropy_density(csr_array(matrix[statistics][:, points]), targets[statistics], 0.1)

    assert other.weights == pytest.approx(one.weights[points], abs=1e-4)
