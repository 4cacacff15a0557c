"""Adaptive's fit against a slow one: full enumeration, exact tables, iterative proportional fitting, no noise."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.log_linear_twins import (
    cell_by_hand,
    cells_listed,
    exact_density,
    marginal_by_hand,
    random_factors,
    small_axes,
    state_counts,
    states_of,
)
from lapwing.engine.particles import explaining_theta, pull_schedule
from lapwing.mechanisms.adaptive.candidates import ResolvedColumn
from lapwing.mechanisms.adaptive.fit import AnsweredTable, add_measured, finalize, initialize, refit
from lapwing.model.laws import point_laws

TOTAL = 10_000.0
PARTICLES = 20_000
SEEDS = range(3)
TABLES = [((0, 0),), ((1, 0),), ((2, 0),), ((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 1), (2, 0))]


def naive_fit(axes, tables, truth, sweeps=200):
    """Return the density of most entropy, relative to the bases, that has these tables of a true law.

    Each table in turn scales every state of each of its cells, until all agree.
    """
    states = states_of(axes)
    density = {state: np.prod([axis.base[at] for axis, at in zip(axes, state, strict=True)]) for state in states}
    targets = [dict(zip(cells_listed(axes, t), marginal_by_hand(axes, truth, t), strict=True)) for t in tables]
    for _ in range(sweeps):
        for table, target in zip(tables, targets, strict=True):
            found = dict.fromkeys(target, 0.0)
            for state in states:
                found[cell_by_hand(axes, state, table)] += density[state]
            for state in states:
                cell = cell_by_hand(axes, state, table)
                density[state] *= target[cell] / found[cell]
    return np.array(list(density.values())).reshape(truth.shape)


def setting(seed):
    """Return three columns, a true law in which all three hang together, and its tables."""
    rng = np.random.default_rng(seed)
    axes = small_axes(rng, (4, 3, 5))
    truth = exact_density(axes, random_factors(rng, axes, [((0, 0), (1, 0), (2, 0))], size=0.8))
    axes = [replace(axis, base=TOTAL * truth.sum(axis=tuple({0, 1, 2} - {column}))) for column, axis in enumerate(axes)]
    return axes, truth, [AnsweredTable(t, TOTAL * marginal_by_hand(axes, truth, t), 1.0) for t in TABLES[len(axes) :]]


def particle_fit(axes, measured, seed):
    """Fit from independent columns, as the mechanism does: a round, and the last sweeps."""
    rng = np.random.default_rng(seed + 100)
    columns = tuple(
        ResolvedColumn(name=f"x{place}", axis=axis, groupings=(), base=point_laws([0]), within=point_laws([0]), sd=0.0)
        for place, axis in enumerate(axes)
    )
    fit = add_measured(initialize(columns, TOTAL, rng, size=PARTICLES), measured)
    return finalize(refit(fit, rng, pulls=pull_schedule()), rng, size=PARTICLES)


def density_of(axes, fit):
    return (state_counts(axes, fit.groups) / fit.groups.shape[1]).reshape([axis.base.size for axis in axes])


def sampling_error(density):
    """Return six standard errors of each state's share among the particles of one sweep."""
    return 6 * np.sqrt(density * (1 - density) / PARTICLES)


@pytest.mark.parametrize("seed", SEEDS)
def test_fitted_particles_have_the_density_of_the_exact_fit(seed: int) -> None:
    axes, truth, factors = setting(seed)
    exact = naive_fit(axes, TABLES, truth)

    fit = particle_fit(axes, factors, seed)

    assert (np.abs(density_of(axes, fit) - exact) <= sampling_error(exact)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_fitted_theta_gives_the_density_of_the_exact_fit(seed: int) -> None:
    axes, truth, factors = setting(seed)
    exact = naive_fit(axes, TABLES, truth)

    fit = particle_fit(axes, factors, seed)

    thetas = explaining_theta(fit.axes, fit.groups, fit.factors, [True] * len(fit.factors))
    factors = [replace(factor, theta=theta) for factor, theta in zip(fit.factors, thetas, strict=True)]
    assert np.abs(exact_density(fit.axes, factors) - exact).sum() / 2 < 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_the_exact_fit_is_told_from_the_truth_and_from_independence(seed: int) -> None:
    axes, truth, _ = setting(seed)

    exact = naive_fit(axes, TABLES, truth)

    independent = exact_density(axes, [])
    for other in (truth, independent):
        assert np.abs(other - exact).sum() / 2 > 0.06
        assert (np.abs(other - exact) > sampling_error(exact)).any()
    for table in TABLES:
        gap = marginal_by_hand(axes, exact, table) - marginal_by_hand(axes, truth, table)
        assert np.abs(gap).max() < 1e-6


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_of_the_fit_are_the_targets(seed: int) -> None:
    axes, _, measured = setting(seed)

    fit = particle_fit(axes, measured, seed)

    for each in measured:
        gap = np.abs(TOTAL * marginal_by_hand(axes, density_of(axes, fit), each.table) - each.counts)
        assert gap.max() < 5  # records, of 10,000: theta is the gap over a ridge of 1.5


def test_two_measurements_of_a_table_are_one_and_the_surer_one_counts_more() -> None:
    axes, _, measured = setting(0)
    other = replace(measured[0], counts=measured[0].counts + 10, sd=2.0)
    rng = np.random.default_rng(1)
    columns = tuple(
        ResolvedColumn(name=f"x{place}", axis=axis, groupings=(), base=point_laws([0]), within=point_laws([0]), sd=0.0)
        for place, axis in enumerate(axes)
    )

    fit = add_measured(initialize(columns, TOTAL, rng, size=100), [*measured, other])

    assert [each.table for each in fit.measured] == [each.table for each in measured]
    np.testing.assert_allclose(fit.measured[0].counts, measured[0].counts + 10 / 5)
    assert fit.measured[0].sd == pytest.approx((4 / 5) ** 0.5)
