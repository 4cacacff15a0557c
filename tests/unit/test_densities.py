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
    smallest,
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


@pytest.mark.parametrize("is_extra", [True, False])
def test_points_with_the_same_statistics_share_their_weight(is_extra, monkeypatch):
    if is_extra:
        pytest.importorskip("highspy")
    else:
        monkeypatch.setattr(module, "_by_highspy", lambda matrix, targets: None)
    matrix = csr_array(np.array([[0.0, 1.0, 0.0, 1.0, 1.0], [0.5, -0.5, 0.5, 0.5, -0.5]]))

    weights = minimax_density(matrix, np.array([0.6, 0.0])).weights

    assert weights[[0, 2]] == pytest.approx([weights[0]] * 2, abs=1e-6)
    assert weights[[1, 4]] == pytest.approx([0.25] * 2, abs=1e-6)


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


def valley(curvatures, bottom):
    """Return a quadratic function with a gradient, and a counter of its calls."""
    calls = []

    def objective(x):
        calls.append(1)
        return float((curvatures * (x - bottom) ** 2).sum()) / 2, curvatures * (x - bottom)

    return objective, calls


def test_a_narrow_valley_is_walked_in_few_steps():
    curvatures, bottom = np.logspace(0, 4, 60), np.linspace(-1, 1, 60)
    objective, calls = valley(curvatures, bottom)

    place, steps = smallest(objective, np.zeros(60), 1e-8, 2000)

    assert place == pytest.approx(bottom, abs=1e-8)
    # Plain gradient steps take the ratio of the curvatures, 10,000, for each e-th of the distance.
    assert steps < 1500
    assert len(calls) < 1.5 * steps + 10


def test_a_function_that_is_no_quadratic_has_its_gradient_down_to_the_precision():
    rng = np.random.default_rng(1)
    slopes = rng.normal(size=(30, 5))

    def objective(x):
        powers = np.exp(slopes @ x)
        return float(np.log(powers.sum())) + float((x * x).sum()), slopes.T @ powers / powers.sum() + 2 * x

    place, _ = smallest(objective, np.full(5, 3.0), 1e-7, 500)

    assert np.abs(objective(place)[1]).max() <= 1e-7


def test_no_step_leads_upwards():
    objective, _ = valley(np.array([1.0, 1000.0]), np.array([5.0, -5.0]))
    values = [objective(smallest(objective, np.zeros(2), 0.0, most)[0])[0] for most in range(8)]

    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]


def test_the_start_is_kept_where_it_is_the_bottom_or_no_step_is_allowed():
    objective, _ = valley(np.ones(3), np.ones(3))

    there, steps = smallest(objective, np.ones(3), 1e-9, 100)
    start, none = smallest(objective, np.zeros(3), 1e-9, 0)

    assert (there.tolist(), steps) == ([1.0] * 3, 0)
    assert (start.tolist(), none) == ([0.0] * 3, 0)


def test_steps_end_where_rounding_hides_the_way_down():
    # The value is so large that no step changes it.
    objective, calls = valley(np.logspace(0, 4, 60), np.linspace(-1, 1, 60))

    _, steps = smallest(lambda x: (objective(x)[0] + 1e30, objective(x)[1]), np.zeros(60), 0.0, 3000)

    assert steps == 10
    assert len(calls) < 50
