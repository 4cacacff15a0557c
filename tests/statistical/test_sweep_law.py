"""The laws of drawn particles at false-alarm rate 1e-9; the same tests reject a theta that is too small by a fifth."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.log_linear_twins import (
    drawn_states,
    exact_density,
    random_factors,
    small_axes,
    state_counts,
)
from helpers.noise_laws import FALSE_ALARM, chi_square
from lapwing.engine.particles import sweep_particles

DRAWS = 60_000
TABLES = [((0, 0), (1, 0)), ((0, 0), (1, 1)), ((1, 0), (2, 1)), ((0, 1), (1, 1), (2, 0)), ((1, 0),)]


def model(factor=1.0):
    rng = np.random.default_rng(11)
    axes = small_axes(rng, (4, 3, 5))
    return axes, [replace(each, theta=factor * each.theta) for each in random_factors(rng, axes, TABLES, size=1.0)]


def conditional_p_value(column, axes, factors, *, law_of):
    """Return the p-value of one column drawn anew, where the others stand as some public law has them."""
    others = np.random.default_rng(12).dirichlet(np.ones(60)).reshape(4, 3, 5)
    start = drawn_states(np.random.default_rng(column), axes, others, DRAWS)
    fixed = [each for each in range(3) if each != column]

    drawn = sweep_particles(axes, start, factors, np.random.default_rng(20 + column), fixed=fixed)

    density = exact_density(axes, law_of)
    conditional = density / density.sum(axis=column, keepdims=True)
    contexts = state_counts(axes, start).reshape(density.shape).sum(axis=column, keepdims=True) / DRAWS
    return chi_square(state_counts(axes, drawn), (contexts * conditional).reshape(-1))


@pytest.mark.parametrize("column", range(3))
def test_a_drawn_column_follows_its_conditional_law(column: int) -> None:
    axes, factors = model()

    assert conditional_p_value(column, axes, factors, law_of=factors) > FALSE_ALARM


@pytest.mark.parametrize("column", range(3))
def test_a_column_drawn_under_a_smaller_theta_is_noticed(column: int) -> None:
    axes, factors = model()

    assert conditional_p_value(column, axes, model(0.8)[1], law_of=factors) < FALSE_ALARM


def test_a_sweep_keeps_the_law_of_the_model() -> None:
    axes, factors = model()
    density = exact_density(axes, factors)
    start = drawn_states(np.random.default_rng(1), axes, density, DRAWS)

    moved = sweep_particles(axes, start, factors, np.random.default_rng(2))

    assert chi_square(state_counts(axes, moved), density.reshape(-1)) > FALSE_ALARM


@pytest.mark.parametrize(("factor", "is_right"), [(1.0, True), (0.8, False)])
def test_sweeps_from_one_state_reach_the_law_of_the_model(factor: float, is_right: bool) -> None:
    axes, factors = model()
    start, rng = np.zeros((3, DRAWS), dtype=np.uint16), np.random.default_rng(3)

    groups = sweep_particles(axes, start, model(factor)[1], rng, sweeps=15)

    p_value = chi_square(state_counts(axes, groups), exact_density(axes, factors).reshape(-1))
    assert (p_value > FALSE_ALARM) == is_right
