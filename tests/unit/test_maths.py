"""Mathematics that others stand on: projections, intervals, nets, covariances, and quasi-Newton steps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom, t

import lapwing as lw
from helpers.flag_tables import MIXED, flags, frame_of_flags, latent_rows, mixed_rows
from lapwing.errors import CapacityError, ParameterError
from lapwing.maths.arrays import project_to_simplex
from lapwing.maths.bootstrap_interval import combine_estimates
from lapwing.maths.lattice_net import (
    NetChoice,
    anonymous_net,
    lattice_points,
    lattice_ranks,
    nearest_lattice_points,
    net_size_bound,
    private_net,
)
from lapwing.maths.quasi_newton import minimize as newton_minimize

VALUES = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e6, 1e6))


def _kkt_gap(values: np.ndarray, projected: np.ndarray) -> float:
    """Return how far a point is from satisfying the optimality conditions, with the best multiplier."""
    gradient = projected - values
    multiplier = gradient[projected > 0].mean()
    on_support = np.abs(gradient - multiplier)[projected > 0].max()
    off_support = np.maximum(multiplier - gradient[projected == 0], 0).max(initial=0.0)
    return max(float(on_support), float(off_support))


@given(VALUES, st.floats(1e-3, 1e6))
def test_the_projection_satisfies_the_optimality_conditions(values: np.ndarray, total: float):
    projected = project_to_simplex(values, total)

    assert (projected >= 0).all()
    # Sums and thresholds of at most 40 numbers up to 1e6 carry rounding errors of about 40 * 1e6 * 2^-52 = 1e-8.
    assert projected.sum() == pytest.approx(total, rel=1e-12)
    assert _kkt_gap(values, projected) <= 1e-7 * max(1.0, total / 1e6)


def test_a_point_moved_off_the_projection_fails_the_optimality_conditions():
    values = np.array([3.0, 1.0, -2.0])
    projected = project_to_simplex(values, 2.0)

    planted = projected + np.array([-0.01, 0.01, 0.0])

    assert _kkt_gap(values, projected) < 1e-12
    assert _kkt_gap(values, planted) > 5e-3


@pytest.mark.parametrize("total", [-1.0, float("nan"), float("inf")])
def test_a_total_that_is_no_mass_is_refused(total: float):
    with pytest.raises(ParameterError, match="total of a projection"):
        project_to_simplex(np.ones(2), total)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [float("inf")]])
def test_values_that_cannot_be_projected_are_refused(values: list[float]):
    with pytest.raises(ParameterError, match="finite values"):
        project_to_simplex(np.array(values), 1.0)


FALSE_ALARMS = 1e-9


def test_the_interval_is_centred_on_twice_the_estimate_less_the_mean_of_the_replicates():
    at_model, simulated = np.array([3.0, 5.0, 4.0, 4.0, 4.0]), np.array([5.0, 6.0, 4.0, 6.0, 7.0])

    found = combine_estimates(at_model, simulated, 0.9)

    error = np.sqrt(1.2 * np.var(simulated, ddof=1))
    assert found.estimate == pytest.approx(4 - 1.6)
    assert found.standard_error == pytest.approx(error)
    assert (found.upper - found.lower) / 2 == pytest.approx(t.ppf(0.95, 4) * error)
    assert found.confidence == 0.9


@pytest.mark.parametrize("drawing", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("replicates", [4, 20])
def test_it_covers_where_errors_are_normal_however_large_bias_and_drawing_are(drawing, replicates):
    rng = np.random.default_rng(1)
    runs, truth, bias = 5000, 10.0, 3.0
    model = truth + bias + rng.normal(size=(runs, 1))
    at_model = model + np.sqrt(drawing) * rng.normal(size=(runs, replicates))
    simulated = model + bias + np.sqrt(1 + drawing) * rng.normal(size=(runs, replicates))

    found = [combine_estimates(*each, 0.9) for each in zip(at_model, simulated, strict=True)]
    covered = sum(each.lower <= truth <= each.upper for each in found)
    shorter = sum(abs(each.estimate - truth) <= 0.8 * (each.upper - each.estimate) for each in found)

    assert covered >= binom.ppf(FALSE_ALARMS, runs, 0.9)
    if drawing == 0:
        # Exact then: the test would notice intervals that are a fifth too short, or too long.
        assert covered <= binom.isf(FALSE_ALARMS, runs, 0.9)
        assert shorter < binom.ppf(FALSE_ALARMS, runs, 0.9)


@pytest.mark.parametrize(
    ("at_model", "simulated", "confidence", "message"),
    [
        ([1.0] * 3, [1.0] * 3, 0.9, "an interval needs at least 4 estimates of either kind, got 3"),
        ([1.0] * 4, [1.0] * 5, 0.9, "an interval needs at least 4 estimates of either kind, got 5"),
        ([1.0] * 4, [1.0] * 4, 1.0, "confidence must be above 0 and below 1, got 1.0; 0.95 is usual"),
        (
            [1.0, np.nan, 1.0, 1.0],
            [1.0, np.inf, 1.0, 1.0],
            0.9,
            "the estimate is no finite number on 2 of 8 samples; estimate something that every sample has, or draw "
            "more rows",
        ),
    ],
)
def test_what_cannot_be_combined_is_refused(at_model, simulated, confidence, message):
    with pytest.raises(ParameterError) as refused:
        combine_estimates(np.array(at_model), np.array(simulated), confidence)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("z", "spacing", "budget", "message"),
    [
        ([[0]], 0, 1, "the spacing of a lattice must be at least 1, got 0"),
        ([[0]], 1, -1, "the budget of a lattice must be between 0 and 10000, got -1"),
        ([[0]], 1, 10_001, "the budget of a lattice must be between 0 and 10000, got 10001"),
        (
            [[2**61]],
            5,
            4,
            "rows of 1 coordinates are too large for a spacing of 5 and a budget of 4; use a smaller scale",
        ),
        ([[-(2**63)]], 5, 0, "rows of 1 coordinates are too large for a spacing of 5 and a budget of 0"),
        ([[1]], 2**61, 4, "rows of 1 coordinates are too large"),
        ([[0]], 2**62, 0, "rows of 1 coordinates are too large"),
    ],
)
def test_settings_that_cannot_be_decided_in_int64_are_refused(z, spacing: int, budget: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        nearest_lattice_points(np.array(z, dtype=np.int64), spacing, budget)


def test_the_largest_rows_allowed_are_decided_without_overflow() -> None:
    z = np.array([[2**54, 2**54 - 1] + [0] * 98, [-(2**54), 2**54] + [1] * 98])

    found = nearest_lattice_points(z, 1, 100)

    assert (found[:, :2] == [[7, 7], [-7, 7]]).all()
    assert ((found**2).sum(axis=1) <= 100).all()


@pytest.mark.parametrize(("t", "alpha"), [(1, 0.501), (2, 0.6), (4, 0.6)])
def test_every_row_of_the_unit_ball_is_nearer_than_alpha_to_its_point(t: int, alpha: float) -> None:
    rng = np.random.default_rng(0)
    radius = 2**40
    directions = rng.normal(size=(20_000, t))
    lengths = rng.random((20_000, 1)) ** (1 / 8)
    z = (radius * lengths * directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(np.int64)
    spacing = int(radius * alpha / math.sqrt(t))

    found = nearest_lattice_points(z, spacing, math.floor(t / alpha**2))

    distances = np.linalg.norm(z - spacing * found, axis=1) / radius
    # In one dimension the end of the ball is nearly alpha away from the last point.
    assert (0.99 * alpha if t == 1 else 0) < distances.max() < alpha


def test_more_points_than_allowed_are_refused_before_memory_is_taken() -> None:
    message = "a net of 1000 dimensions and budget 1000 has more than the 5000 points allowed; use fewer dimensions"
    with pytest.raises(CapacityError, match=message):
        lattice_points(1000, 1000, 5000)
    with pytest.raises(CapacityError, match="has more than the 4 points allowed"):
        lattice_points(2, 1, 4)
    with pytest.raises(CapacityError, match="has more than the 4 points allowed"):
        lattice_points(1, 10**30, 4)

    assert len(lattice_points(10_000, 0, 1)) == 1


def test_a_ball_of_negative_dimension_or_budget_is_refused() -> None:
    with pytest.raises(ParameterError, match="needs t and budget of at least 0, got -1 and 2"):
        lattice_points(-1, 2, 10)
    with pytest.raises(ParameterError, match="needs t of at least 0 and alpha above 0, got 2 and 0"):
        net_size_bound(2, 0)


@pytest.mark.parametrize("point", [[1, 1], [2, 0], [0, -9]])
def test_a_point_outside_the_net_has_no_rank(point: list[int]) -> None:
    net = lattice_points(2, 1, 10)

    with pytest.raises(ParameterError, match="every point must be a row of the net"):
        lattice_ranks(np.array([point]), net)


@pytest.mark.parametrize("t", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.9])
def test_the_ball_holds_no_more_points_than_proposition_3_7_says(t: int, alpha: float) -> None:
    points = len(lattice_points(t, math.floor(t / alpha**2), 10**6))

    bound = net_size_bound(t, alpha)

    assert points <= bound <= (7 / alpha) ** t


def test_proposition_3_7_with_a_third_of_its_constant_fails() -> None:
    points = len(lattice_points(4, math.floor(4 / 0.3**2), 10**6))

    assert points > net_size_bound(4, 0.3) / 3**4


# -- The net that formulas (3.5) and (5.14) choose.
RADIUS = 2**48


@pytest.mark.parametrize(("cells", "dimensions"), [(1, 0), (2, 0), (3, 0), (9, 0), (10, 1), (100, 2), (10**6, 5)])
def test_formula_3_5(cells: int, dimensions: int) -> None:
    choice = anonymous_net(cells, columns=50)

    assert choice.dimensions == dimensions
    if cells >= 3:
        assert choice.alpha**4 == pytest.approx(math.log(math.log(cells)) / math.log(cells))
        assert (7 / choice.alpha) ** choice.dimensions <= cells < (7 / choice.alpha) ** (choice.dimensions + 1)


@pytest.mark.parametrize(("rows", "dimensions"), [(-5.0, 0), (0, 0), (2, 0), (3, 0), (316, 1), (10**6, 2), (10**12, 4)])
def test_formula_5_14(rows: float, dimensions: int) -> None:
    choice = private_net(rows, columns=50)

    assert choice.dimensions == dimensions
    if rows > 2:
        assert choice.alpha**-4 == pytest.approx(math.log(rows))
        assert (7 / choice.alpha) ** choice.dimensions <= math.sqrt(rows)


@pytest.mark.parametrize("rows", [10**3, 10**6, 10**9])
def test_the_lattice_of_a_choice_has_no_more_points_than_planned(rows: int) -> None:
    choice = private_net(rows, columns=50)

    points = lattice_points(choice.dimensions, choice.budget(RADIUS), 10**6)

    assert len(points) <= math.sqrt(rows)


@pytest.mark.parametrize(
    ("dimensions", "alpha", "budget"), [(0, 1.0, 0), (1, 0.5, 4), (2, 0.5, 7), (4, 0.5, 16), (3, 0.7, 6)]
)
def test_the_lattice_fits_the_ball_and_is_alpha_fine(dimensions: int, alpha: float, budget: int) -> None:
    choice = NetChoice(dimensions, alpha)

    spacing = choice.spacing(RADIUS)

    assert choice.budget(RADIUS) == budget
    assert spacing**2 * choice.budget(RADIUS) <= RADIUS**2
    if dimensions:
        assert spacing == pytest.approx(RADIUS * alpha / math.sqrt(dimensions))


def test_choices_without_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match="needs dimensions of at least 0 and alpha above 0, got 1 and 0"):
        NetChoice(1, 0)
    with pytest.raises(ParameterError, match="needs at least 1 cell and 0 columns, got 0 and 3"):
        anonymous_net(0, 3)
    with pytest.raises(ParameterError, match="needs at least 1 cell and 0 columns, got 10 and -1"):
        private_net(10, -1)


ROWS = latent_rows(np.random.default_rng(1), 3000, 4)
TRUE = np.cov(2.0 * ROWS.T - 1.0, bias=True)
BETWEEN = ~np.eye(4, dtype=bool)


def found(seed, **settings):
    mechanism = lw.Microaggregation(directions=1, bins=2)
    data, schema = settings.pop("table", (frame_of_flags(ROWS), flags(4)))
    return lw.synthesize(data, schema, mechanism=mechanism, seed=seed, **{"epsilon": 5, **settings})


@pytest.mark.parametrize("settings", [{}, {"neighbours": "replace-one"}, {"epsilon": None, "rho": "0.1"}])
def test_the_error_is_within_its_bound_and_not_far_below(settings):
    """Each fails in 5 % of releases at most; fifteen of them, all at once, with a chance below 1e-9."""
    errors, bounds = [], []
    for seed in range(15):
        told = lw.covariance(found(seed, **settings))
        errors.append(np.linalg.norm((told.matrix - TRUE)[BETWEEN]))
        bounds.append(told.largest_error)

    assert np.count_nonzero(np.greater(errors, bounds)) <= 8
    assert np.median(bounds) < 6 * np.median(errors)


def test_coordinates_are_named_and_a_saved_release_tells_the_same(tmp_path):
    release = found(1, table=(mixed_rows(2000), MIXED))
    release.save(tmp_path / "model.lapwing")

    told = lw.covariance(release, confidence=0.9)
    back = lw.covariance(lw.load(tmp_path / "model.lapwing"), confidence=0.9)

    assert told.coordinates[0] == "f0"
    assert told.coordinates[-5:] == tuple(f"kind={letter}" for letter in "abcde")
    assert np.array_equal(told.matrix, told.matrix.T)
    assert not told.matrix.flags.writeable
    assert np.array_equal(told.matrix, back.matrix)
    assert (told.largest_error, told.confidence) == (back.largest_error, 0.9)
    assert told.largest_error < lw.covariance(release, confidence=0.999).largest_error


def test_releases_without_a_second_moment_and_odd_confidences_are_refused():
    release = lw.synthesize(frame_of_flags(ROWS), flags(4), epsilon=1, mechanism="independent", seed=1)

    with pytest.raises(ParameterError, match=r"^a covariance needs a release that holds a second moment"):
        lw.covariance(release)
    for confidence in (True, 0.4, 1, "0.9"):
        with pytest.raises(ParameterError, match=r"^confidence must lie from 0.5 to 0.9999, got"):
            lw.covariance(found(1), confidence)


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

    place, steps = newton_minimize(objective, np.zeros(60), 1e-8, 2000)

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

    place, _ = newton_minimize(objective, np.full(5, 3.0), 1e-7, 500)

    assert np.abs(objective(place)[1]).max() <= 1e-7


def test_steps_end_where_rounding_hides_the_way_down():
    # The value is so large that no step changes it.
    objective, calls = valley(np.logspace(0, 4, 60), np.linspace(-1, 1, 60))

    _, steps = newton_minimize(lambda x: (objective(x)[0] + 1e30, objective(x)[1]), np.zeros(60), 0.0, 3000)

    assert steps == 10
    assert len(calls) < 50
