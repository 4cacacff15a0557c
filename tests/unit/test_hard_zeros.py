"""Hard zeros of a log-linear model, by enumeration of every state."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from helpers.log_linear_twins import (
    cells_listed,
    exact_density,
    factor_of,
    marginal_by_hand,
    random_factors,
    small_axes,
    state_counts,
    states_of,
)
from lapwing.numerics.gibbs import swept
from lapwing.numerics.hard_zeros import DEAD, HardZeros, alive_cells, hard_factor, links, mended
from lapwing.numerics.log_linear import Cloud
from lapwing.numerics.raking import raked
from lapwing.numerics.tree_start import drawn_from_tree, tree_factors

SIZES = (4, 5, 3)
STATES = int(np.prod(SIZES))


def setting(seed=0, share=0.6):
    """Return three columns, measured tables, and hard zeros on two pairs and one coarse pair; some states are left."""
    rng = np.random.default_rng(seed)
    axes = small_axes(rng, SIZES)
    factors = random_factors(rng, axes, [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 1), (2, 0))])
    hard = []
    for table in (((0, 0), (1, 0)), ((1, 1), (2, 0)), ((0, 0), (2, 1))):
        alive = rng.random(len(cells_listed(axes, table))) < share
        alive[0] = True
        hard.append(hard_factor(table, alive))
    return rng, axes, factors, HardZeros(tuple(axes), tuple(hard), ((0, 1, 2),))


def is_dead(axes, zeros):
    """Tell for every state, in C order, whether it breaks a rule: looked up state by state."""
    found = []
    for state in states_of(axes):
        broken = False
        for factor in zeros.factors:
            cell = tuple(int(axes[column].levels[level][state[column]]) for column, level in factor.table)
            broken |= bool(factor.theta[cells_listed(axes, factor.table).index(cell)] == DEAD)
        found.append(broken)
    return np.array(found)


@pytest.mark.parametrize("seed", range(4))
def test_sweeps_with_hard_zeros_keep_the_exact_law_and_never_reach_a_dead_cell(seed) -> None:
    rng, axes, factors, zeros = setting(seed)
    law = exact_density(axes, [*factors, *zeros.factors])
    start = np.array(states_of(axes), dtype=np.uint8)[rng.choice(STATES, 60_000, p=law.reshape(-1))].T

    moved = swept(axes, swept(axes, start, (*factors, *zeros.factors), rng), (*factors, *zeros.factors), rng)

    counts, dead = state_counts(axes, moved), is_dead(axes, zeros)
    assert dead.any()
    assert not dead.all()
    assert not counts[dead].any()
    expected = 60_000 * law.reshape(-1)[~dead]
    # Chi-square of at most 60 states: beyond 2.5 times its freedom with chance below 1e-9.
    assert (np.square(counts[~dead] - expected) / expected).sum() < 2.5 * max(30, expected.size)


@pytest.mark.parametrize("seed", range(4))
def test_cells_are_alive_exactly_where_each_rule_leaves_some_finest_cell(seed) -> None:
    _, axes, _, zeros = setting(seed)
    single = replace(zeros, factors=zeros.factors[1:2])

    for table in [((1, 0), (2, 0)), ((1, 1), (2, 1)), ((0, 1), (1, 1), (2, 0)), ((1, 2), (2, 0))]:
        found = alive_cells(single, table)

        wanted = marginal_by_hand(axes, ~is_dead(axes, single), table) > 0
        np.testing.assert_array_equal(np.ones(wanted.size, dtype=bool) if found is None else found, wanted)


def test_a_table_that_no_rule_is_inside_of_has_no_dead_cells() -> None:
    _, _, _, zeros = setting()

    assert alive_cells(zeros, ((0, 0),)) is None


@pytest.mark.parametrize("seed", range(4))
def test_mended_particles_break_no_rule_and_others_stay_as_they_are(seed) -> None:
    rng, _, factors, zeros = setting(seed)
    groups = np.array([rng.integers(0, size, 2000) for size in SIZES], dtype=np.uint8)
    broken = zeros.broken(groups)

    fixed = mended(zeros, groups, factors, rng)

    assert broken.any()
    assert not zeros.broken(fixed).any()
    np.testing.assert_array_equal(fixed[:, ~broken], groups[:, ~broken])


def test_rules_that_nothing_keeps_leave_particles_as_they_were() -> None:
    rng, axes, _, _ = setting()
    nothing = HardZeros(tuple(axes), (hard_factor(((0, 0), (1, 0)), np.zeros(20, dtype=bool)),), ((0, 1),))
    groups = np.array([rng.integers(0, size, 50) for size in SIZES], dtype=np.uint8)

    assert mended(nothing, groups, (), rng).shape == groups.shape


def test_noise_in_dead_cells_moves_no_weight() -> None:
    rng, axes, _, zeros = setting(1)
    table = ((0, 0), (1, 0))
    alive = alive_cells(zeros, table)
    assert alive is not None
    groups = mended(zeros, np.array([rng.integers(0, s, 3000) for s in SIZES], dtype=np.uint8), (), rng)
    target = np.where(alive, rng.uniform(10, 100, alive.size), 0.0)
    total = float(target.sum())
    known = factor_of(axes, table, target=target)
    loud = replace(known, target=np.where(alive, target, 500.0))

    _, (quiet,), _ = raked(axes, Cloud(groups, np.zeros(3000)), [replace(known, alive=alive)], total, sweeps=3)
    cloud, (same,), _ = raked(axes, Cloud(groups, np.zeros(3000)), [replace(loud, alive=alive)], total, sweeps=3)

    assert np.abs(quiet.theta[alive]).max() > 0.1
    np.testing.assert_array_equal(quiet.theta[alive], same.theta[alive])
    assert not same.theta[~alive].any()
    assert cloud.weights(total).sum() == pytest.approx(total)


def test_a_tree_with_hard_zeros_draws_no_dead_pair_and_has_finite_theta() -> None:
    rng, axes, _, zeros = setting(2)
    table = ((0, 0), (1, 0))
    edge = factor_of(axes, table, target=rng.uniform(5, 50, 20))
    edge = replace(edge, alive=alive_cells(zeros, table))

    groups = drawn_from_tree(axes, [edge], 1000.0, 5000, rng)
    (fitted,) = tree_factors(axes, [edge], 1000.0)

    assert edge.alive is not None
    assert edge.alive[groups[0].astype(int) * 5 + groups[1]].all()
    assert np.isfinite(fitted.theta).all()


def test_a_pair_links_where_each_group_of_one_column_has_one_partner() -> None:
    axes = small_axes(np.random.default_rng(0), (4, 3, 3))
    a_function = np.eye(3, dtype=bool)[[0, 1, 1, 2]]
    free = np.ones((3, 3), dtype=bool)
    free[0, 0] = False
    zeros = HardZeros(
        tuple(axes), (hard_factor(((0, 0), (1, 0)), a_function), hard_factor(((1, 0), (2, 0)), free)), ((0, 1, 2),)
    )

    assert links(zeros) == [((0, 0), (1, 0))]


def test_alive_cells_are_found_once_and_keep_no_model_alive() -> None:
    _, axes, _, zeros = setting()
    table = ((0, 0), (1, 0))
    kept = weakref.ref(zeros.factors[0].theta)

    assert alive_cells(zeros, table) is not None
    assert alive_cells(zeros, table) is alive_cells(zeros, table)
    assert alive_cells(replace(zeros, factors=()), table) is None

    del axes, zeros
    gc.collect()
    assert kept() is None
