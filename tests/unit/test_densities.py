"""Densities on points: what the solvers promise, and what they refuse."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from helpers.even_densities import max_entropy_density
from lapwing.errors import ParameterError
from lapwing.mechanisms.vectors.linear_statistics import densities as module
from lapwing.mechanisms.vectors.linear_statistics.densities import (
    effective_points,
    least_error,
    minimax_density,
)


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


def test_without_the_extra_the_program_ends_in_a_corner_with_the_same_error(monkeypatch):
    pytest.importorskip("highspy")
    # Any density is best that has a mean of 0.45.
    matrix, targets = csr_array(np.tile(np.linspace(0, 1, 100), (2, 1))), np.array([0.35, 0.55])

    middle = minimax_density(matrix, targets)
    monkeypatch.setattr(module, "_by_highspy", lambda matrix, targets: None)
    corner = minimax_density(matrix, targets)

    assert middle.error == pytest.approx(0.1, abs=1e-6)
    assert corner.error == pytest.approx(0.1, abs=1e-6)
    assert effective_points(middle.weights) > 90
    assert effective_points(corner.weights) < 3


def test_an_answer_that_is_no_density_becomes_one_and_its_error_is_measured_again():
    matrix, targets = csr_array([[0.0, 1.0, 1.0]]), np.array([0.5])

    cleaned = module.certified_density(matrix, targets, np.array([-0.1, 0.3, 0.3]), [np.zeros(1)], 7)
    lost = module.certified_density(matrix, targets, np.array([np.nan, 0.0, 0.0]), [np.array([np.nan])], 7)

    assert cleaned.weights.tolist() == [0.0, 0.5, 0.5]
    assert (cleaned.error, cleaned.gap) == (0.5, 0.5)
    assert lost.weights.tolist() == [1 / 3] * 3
    assert lost.gap == lost.error == pytest.approx(1 / 6)


def test_the_best_of_several_bounds_counts():
    matrix, targets, weights = csr_array([[0.0, 1.0]]), np.array([3.0]), np.array([0.5, 0.5])

    for multipliers in ([np.zeros(1), -np.ones(1)], [-np.ones(1), np.zeros(1)]):
        assert module.certified_density(matrix, targets, weights, multipliers, 1).gap == pytest.approx(0.5)


def test_a_bound_with_the_sign_turned_is_none():
    matrix, targets = csr_array([[0.0, 1.0]]), np.array([3.0])

    right, wrong = least_error(matrix, targets, np.array([-5.0])), least_error(matrix, targets, np.array([5.0]))

    assert right == pytest.approx(2.0)
    assert wrong == 0.0


@pytest.mark.parametrize(
    ("shape", "targets", "message"),
    [
        ((0, 3), [], "a density needs at least 1 statistic and 1 point, got 0 and 3; ask for more"),
        ((2, 0), [0.0, 0.0], "a density needs at least 1 statistic and 1 point, got 2 and 0; ask for more"),
        ((2, 3), [0.0], "each of the 2 statistics needs one target, got (1,)"),
        ((1, 3), [np.nan], "statistics and their targets must be finite numbers; check the functions' bounds"),
        ((1, 3), [np.inf], "statistics and their targets must be finite numbers; check the functions' bounds"),
    ],
)
def test_programs_without_a_meaning_are_refused(shape, targets, message):
    matrix = csr_array(np.ones(shape))

    for solve in (minimax_density, lambda *program: max_entropy_density(*program, 0.1)):
        with pytest.raises(ParameterError) as refusal:
            solve(matrix, np.array(targets))

        assert str(refusal.value) == message


@pytest.mark.parametrize("noise", [0.0, -1.0, np.inf, np.nan])
def test_max_entropy_needs_the_size_of_the_noise(noise):
    with pytest.raises(ParameterError) as refusal:
        max_entropy_density(csr_array([[0.0, 1.0]]), np.array([0.5]), noise)

    assert str(refusal.value) == f"noise must be finite and above 0, got {noise}; give its standard deviation"


# -- The quasi-Newton method finds the bottom of smooth convex functions, and ends.
