"""Densities on points against a dense linear program and against plain mirror descent."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

import lapwing as lw
from helpers.cases import spread
from helpers.even_densities import max_entropy_density, minimax_density
from helpers.flag_tables import flags, frame_of_flags
from lapwing.mechanisms.vectors.linear_statistics.mechanism import LinearStatistics


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


TRUTHS = {
    "f0": lambda a, b, c: a,
    "not f0": lambda a, b, c: not a,
    "f0 or f1": lambda a, b, c: a or b,
    "f1 and f2": lambda a, b, c: b and c,
    "f0 and not f2": lambda a, b, c: a and not c,
}


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_release_of_the_papers_variant_solves_the_dense_program_of_its_noisy_answers(relation):
    rows = np.random.default_rng(1).random((200, 3)) < 0.4
    mechanism = LinearStatistics(variant="paper", statistics=tuple(TRUTHS), degree=0, points=400)

    release = lw.synthesize(
        frame_of_flags(rows), flags(3), epsilon="0.2", neighbours=relation, mechanism=mechanism, seed=1
    )

    found = release.certified_errors()
    cube = list(itertools.product((False, True), repeat=3))  # of 400 uniform points each is one
    matrix = np.array([[float(holds(*point)) for point in cube] for holds in TRUTHS.values()])
    noisy = found["noisy"].to_numpy()
    best = naive_minimax(matrix, noisy)
    assert best > 0.01
    assert np.abs(found["released"].to_numpy() - noisy).max() == pytest.approx(best, abs=1e-4)
