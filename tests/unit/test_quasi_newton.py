"""The quasi-Newton method finds the bottom of smooth convex functions, and ends."""

import numpy as np
import pytest

from lapwing.maths.quasi_newton import minimize


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

    place, steps = minimize(objective, np.zeros(60), 1e-8, 2000)

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

    place, _ = minimize(objective, np.full(5, 3.0), 1e-7, 500)

    assert np.abs(objective(place)[1]).max() <= 1e-7


def test_no_step_leads_upwards():
    objective, _ = valley(np.array([1.0, 1000.0]), np.array([5.0, -5.0]))
    values = [objective(minimize(objective, np.zeros(2), 0.0, most)[0])[0] for most in range(8)]

    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]


def test_the_start_is_kept_where_it_is_the_bottom_or_no_step_is_allowed():
    objective, _ = valley(np.ones(3), np.ones(3))

    there, steps = minimize(objective, np.ones(3), 1e-9, 100)
    start, none = minimize(objective, np.zeros(3), 1e-9, 0)

    assert (there.tolist(), steps) == ([1.0] * 3, 0)
    assert (start.tolist(), none) == ([0.0] * 3, 0)


def test_steps_end_where_rounding_hides_the_way_down():
    # The value is so large that no step changes it.
    objective, calls = valley(np.logspace(0, 4, 60), np.linspace(-1, 1, 60))

    _, steps = minimize(lambda x: (objective(x)[0] + 1e30, objective(x)[1]), np.zeros(60), 0.0, 3000)

    assert steps == 10
    assert len(calls) < 50
