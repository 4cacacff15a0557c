"""Densities on points: what the solvers promise."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from helpers.even_densities import max_entropy_density, minimax_density
from lapwing.mechanisms.vectors.linear_statistics.densities import effective_points, least_error


def two_way_program(seed, points, scale):
    """Return the cells of all two-way tables of eight dependent bits at points, noisy shares, and true shares."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((3000, 8)) < np.where(rng.random((3000, 1)) < 0.4, 0.8, 0.15)).astype(int)
    drawn = np.vstack([rows[: points // 2], rng.integers(0, 2, (points - points // 2, 8))])
    cells = [(i, j, a, b) for i in range(8) for j in range(i) for a in (0, 1) for b in (0, 1)]

    def values(table):
        return np.array([(table[:, i] == a) & (table[:, j] == b) for i, j, a, b in cells], dtype=float)

    truth = values(rows).mean(axis=1)
    return csr_array(values(drawn)), truth + rng.laplace(0, scale, len(cells)), truth


def test_both_solvers_agree_within_their_gaps_and_the_program_fits_the_noisy_targets_best():
    matrix, targets, _ = two_way_program(1, 400, 0.02)

    best, even = minimax_density(matrix, targets), max_entropy_density(matrix, targets, 0.02 * np.sqrt(2))

    assert best.error <= even.error + best.gap
    assert even.error - even.gap <= best.error + 1e-9
    assert best.error - best.gap == pytest.approx(best.error, abs=1e-6)
    # The bound says something: four fifths of the best error are proved.
    assert even.error - even.gap > 0.8 * best.error


def test_max_entropy_is_nearer_to_the_truth_than_the_program():
    found = []
    for seed in range(5):
        matrix, targets, truth = two_way_program(seed, 400, 0.02)
        pair = minimax_density(matrix, targets), max_entropy_density(matrix, targets, 0.02 * np.sqrt(2))
        found.append([np.abs(matrix @ each.weights - truth).mean() for each in pair])

    program, even = np.mean(found, axis=0)

    assert even < 0.75 * program


def test_more_noise_makes_the_density_more_even_and_little_noise_makes_it_fit():
    matrix, _, truth = two_way_program(2, 400, 0.02)

    alike = [effective_points(max_entropy_density(matrix, truth, noise).weights) for noise in (1e-4, 0.01, 1.0, 1e4)]
    fitted = max_entropy_density(matrix, truth, 1e-4)

    assert alike == sorted(alike)
    assert alike[-1] == pytest.approx(400, rel=1e-3)
    assert fitted.error < 0.01


def test_the_program_ends_in_the_middle_of_all_best_densities():
    # Any density is best that has a mean of 0.45.
    matrix, targets = csr_array(np.tile(np.linspace(0, 1, 100), (2, 1))), np.array([0.35, 0.55])

    middle = minimax_density(matrix, targets)

    assert middle.error == pytest.approx(0.1, abs=1e-6)
    assert effective_points(middle.weights) > 90


def test_points_with_the_same_statistics_share_their_weight():
    matrix = csr_array(np.array([[0.0, 1.0, 0.0, 1.0, 1.0], [0.5, -0.5, 0.5, 0.5, -0.5]]))

    weights = minimax_density(matrix, np.array([0.6, 0.0])).weights

    assert weights[[0, 2]] == pytest.approx([weights[0]] * 2, abs=1e-6)
    assert weights[[1, 4]] == pytest.approx([0.25] * 2, abs=1e-6)


def test_a_bound_with_the_sign_turned_is_none():
    matrix, targets = csr_array([[0.0, 1.0]]), np.array([3.0])

    right, wrong = least_error(matrix, targets, np.array([-5.0])), least_error(matrix, targets, np.array([5.0]))

    assert right == pytest.approx(2.0)
    assert wrong == 0.0
