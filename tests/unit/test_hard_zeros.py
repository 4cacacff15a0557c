"""Hard zeros of a log-linear model, by enumeration of every state."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.log_linear_twins import (
    cells_listed,
    exact_density,
    marginal_by_hand,
    random_factors,
    small_axes,
    state_counts,
    states_of,
)
from lapwing.engine import hard_zeros
from lapwing.engine.hard_zeros import HardZeros, alive_cells, hard_factor
from lapwing.engine.particles import independent, sweep_particles
from lapwing.engine.tables import DEAD, Axis

SKIPPED = (60, 41, 7, 5)
"""Groups of an age, an income and a state, which children (ages below 9) have in their last and first group alone, and
of a column that no rule names."""
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


def skipped(children):
    """Return columns in which children have given masses, and the rules that they follow from each other."""
    rng, axes = np.random.default_rng(1), []
    for size, own, share in zip(SKIPPED, (range(9), [40], [0], [1]), children, strict=True):
        base, is_own = rng.uniform(1, 2, size), np.isin(np.arange(size), list(own))
        base *= np.where(is_own, share / base[is_own].sum(), (1 - share) / base[~is_own].sum())
        axes.append(Axis(base, (np.arange(size),)))
    is_child = [np.arange(60) < 9, np.arange(41) == 40, np.arange(7) == 0]
    rules = [
        hard_factor(((one, 0), (two, 0)), is_child[one][:, None] == is_child[two]) for one, two in ((0, 1), (0, 2))
    ]
    return axes, HardZeros(tuple(axes), tuple(rules), ((0, 1, 2),))


def masses_of(axes):
    return [axis.base for axis in axes]


@pytest.mark.parametrize("seed", range(4))
def test_sweeps_with_hard_zeros_keep_the_exact_law_and_never_reach_a_dead_cell(seed) -> None:
    rng, axes, factors, zeros = setting(seed)
    law = exact_density(axes, [*factors, *zeros.factors])
    start = np.array(states_of(axes), dtype=np.uint16)[rng.choice(STATES, 60_000, p=law.reshape(-1))].T

    moved = sweep_particles(
        axes, sweep_particles(axes, start, (*factors, *zeros.factors), rng), (*factors, *zeros.factors), rng
    )

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


def test_columns_that_others_hold_come_before_those_that_are_free(monkeypatch) -> None:
    monkeypatch.setattr(hard_zeros, "MOST_STARTS", 2)
    axes, zeros = skipped((0.15, 0.15, 0.15, 0.5))
    # Children have one of five things, adults any: single draws give these their shares later.
    free = hard_factor(((0, 0), (3, 0)), (np.arange(60)[:, None] >= 9) | (np.arange(5) == 1))
    both = HardZeros(tuple(axes), (*zeros.factors, free), ((3, 0, 2, 1),))
    rng = np.random.default_rng(0)

    found = both.starts(independent(axes, 10_000, rng), masses_of(axes), rng)

    assert not both.broken(found).any()
    assert abs((found[0] < 9).mean() - 0.15) <= 1e-4  # .08 where what is free comes first
