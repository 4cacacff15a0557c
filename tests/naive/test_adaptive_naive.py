"""The particle fit against a slow one: full enumeration, exact tables, iterative proportional fitting, no noise."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from helpers.log_linear_twins import (
    cell_by_hand,
    cells_listed,
    exact_density,
    factor_of,
    marginal_by_hand,
    random_factors,
    small_axes,
    state_counts,
    states_of,
)
from lapwing.mechanisms.steps.particle_fit import finished, refitted, refreshed, tree_fit, with_factor
from lapwing.mechanisms.steps.resolved_columns import ResolvedColumn
from lapwing.numerics.gibbs import swept
from lapwing.numerics.log_linear import Cloud
from lapwing.numerics.raking import effective_share
from lapwing.numerics.tree_start import tree_factors
from lapwing.release.laws import point_laws

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


def naive_sweep(axes, groups, factors, order, rng):
    """Draw the columns of one particle after another, in order, each given the others."""
    theta = [dict(zip(cells_listed(axes, f.table), f.theta.tolist(), strict=True)) for f in factors]
    drawn = []
    for state in groups.T.tolist():
        for column in order:
            masses = []
            for group in range(axes[column].base.size):
                state[column] = group
                logs = sum(theta[i][cell_by_hand(axes, state, f.table)] for i, f in enumerate(factors))
                masses.append(axes[column].base[group] * np.exp(logs))
            reached = np.cumsum(masses)
            state[column] = int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))
        drawn.append(tuple(state))
    return np.array(drawn, dtype=np.uint8).T


def setting(seed):
    """Return three columns, a true law in which all three hang together, and its tables."""
    rng = np.random.default_rng(seed)
    axes = small_axes(rng, (4, 3, 5))
    truth = exact_density(axes, random_factors(rng, axes, [((0, 0), (1, 0), (2, 0))], size=0.8))
    axes = [replace(axis, base=TOTAL * truth.sum(axis=tuple({0, 1, 2} - {column}))) for column, axis in enumerate(axes)]
    factors = [factor_of(axes, t, target=TOTAL * marginal_by_hand(axes, truth, t), sd=0.0) for t in TABLES]
    return axes, truth, factors


def cloud_density(axes, cloud):
    flat = np.ravel_multi_index(tuple(cloud.groups.astype(np.intp)), [axis.base.size for axis in axes])
    return np.bincount(flat, cloud.weights(1.0), len(states_of(axes))).reshape([axis.base.size for axis in axes])


def particle_fit(axes, factors, seed):
    """Fit from independent columns, as the mechanism does: a round, and the last refreshes."""
    rng = np.random.default_rng(seed + 100)
    columns = tuple(
        ResolvedColumn(name=f"x{place}", axis=axis, groupings=(), base=point_laws([0]), within=point_laws([0]), sd=0.0)
        for place, axis in enumerate(axes)
    )
    fit = tree_fit(columns, (), TOTAL, rng, size=PARTICLES)
    for factor in factors[len(axes) :]:
        fit = with_factor(fit, factor)
    fit = finished(refitted(fit, rng, is_due=True), rng, size=PARTICLES)
    return fit.cloud, fit.factors


def sampling_error(density):
    """Return six standard errors of each state's share among the particles, half of which at worst are copies."""
    return 6 * np.sqrt(2 * density * (1 - density) / PARTICLES)


@pytest.mark.parametrize("seed", SEEDS)
def test_fitted_particles_have_the_density_of_the_exact_fit(seed: int) -> None:
    axes, truth, factors = setting(seed)
    exact = naive_fit(axes, TABLES, truth)

    cloud, _ = particle_fit(axes, factors, seed)

    assert (np.abs(cloud_density(axes, cloud) - exact) <= sampling_error(exact)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_fitted_theta_gives_the_density_of_the_exact_fit(seed: int) -> None:
    axes, truth, factors = setting(seed)
    exact = naive_fit(axes, TABLES, truth)

    _, found = particle_fit(axes, factors, seed)

    assert np.abs(exact_density(axes, found) - exact).sum() / 2 < 0.03


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
    axes, _, factors = setting(seed)

    cloud, _ = particle_fit(axes, factors, seed)

    weighted = cloud_density(axes, cloud)
    for factor in factors:
        gap = np.abs(TOTAL * marginal_by_hand(axes, weighted, factor.table) - factor.target)
        # The pseudo-count of a cell is the weight of two particles; tables disagree by that much.
        assert gap.max() < 10 * 2 * TOTAL / PARTICLES
    assert effective_share(cloud.log_weights) > 0.8


def test_a_tree_needs_no_fitting() -> None:
    axes, truth, factors = setting(5)
    edges = [factor for factor in factors if factor.table in {((0, 0), (1, 0)), ((1, 0), (2, 0))}]

    drawn = exact_density(axes, tree_factors(axes, edges, TOTAL))

    exact = naive_fit(axes, [edge.table for edge in edges], truth)
    # Cells below 0.3 records are raised to it: 27 cells of 10,000 records at most.
    assert np.abs(drawn - exact).sum() / 2 < 27 * 0.3 / TOTAL


def gibbs_setting():
    rng = np.random.default_rng(21)
    axes = small_axes(rng, (4, 3, 3))
    tables = [((0, 0), (1, 0)), ((1, 0), (2, 1)), ((0, 1), (1, 0), (2, 0))]
    return axes, random_factors(rng, axes, tables, size=1.0)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_sweep_moves_particles_as_the_naive_one_does(order) -> None:
    axes, factors = gibbs_setting()
    size, groups = 4000, np.zeros((3, 4000), dtype=np.uint8)
    rng = np.random.default_rng(22)
    fast = groups
    for column in order:
        fast = swept(axes, fast, factors, rng, fixed=[each for each in range(3) if each != column])

    slow = naive_sweep(axes, groups, factors, order, rng)

    one, two = (state_counts(axes, each) for each in (fast, slow))
    # Six standard errors of the difference of two counts, and a little for states that are hardly ever seen.
    assert (np.abs(one - two) <= 6 * np.sqrt(one + two) + 6).all()
    assert size == one.sum() == two.sum()


def test_the_naive_sweep_notices_a_theta_left_out() -> None:
    axes, factors = gibbs_setting()
    groups = np.zeros((3, 4000), dtype=np.uint8)
    rng = np.random.default_rng(23)

    whole, less = (naive_sweep(axes, groups, some, (0, 1, 2), rng) for some in (factors, factors[:2]))

    one, two = (state_counts(axes, each) for each in (whole, less))
    assert (np.abs(one - two) > 6 * np.sqrt(one + two) + 6).any()


@pytest.mark.parametrize(
    ("wanted", "share"), [(0.02, 0.0), (0.12, 0.1), (0.3, 0.3), (0.5, 1.0)], ids=["none", "few", "some", "all"]
)
def test_a_refresh_takes_as_many_values_as_the_tables_bear(wanted: float, share: float) -> None:
    rng = np.random.default_rng(24)
    axes = [replace(axis, base=np.ones(8)) for axis in small_axes(rng, (8, 8))]
    copies = np.tile(np.arange(8, dtype=np.uint8), (2, 500))
    cloud = Cloud(copies, np.zeros(copies.shape[1]))
    target = np.where(np.eye(8) == 1, (1 - wanted) / 8, wanted / 56) * TOTAL
    table = factor_of(axes, ((0, 0), (1, 0)), target=target, sd=0.0)

    after = refreshed(axes, cloud, [table], TOTAL, rng, size=4000)

    # Theta is still 0: a value that is drawn anew knows nothing of its copy, and matches it by chance.
    torn = (1 - (1 - share) ** 2) * 7 / 8
    assert (after.groups[0] != after.groups[1]).mean() == pytest.approx(torn, abs=6 * (0.25 / 4000) ** 0.5)
    assert not after.log_weights.any()
