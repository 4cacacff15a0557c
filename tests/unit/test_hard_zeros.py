"""Hard zeros of a log-linear model, by enumeration of every state."""

import gc
import weakref
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
from lapwing.engine.hard_zeros import MOST_TOGETHER, HardZeros, alive_cells, hard_factor
from lapwing.engine.particles import swept
from lapwing.engine.tables import DEAD

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
    start = np.array(states_of(axes), dtype=np.uint16)[rng.choice(STATES, 60_000, p=law.reshape(-1))].T

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
def test_the_combinations_of_bound_columns_are_those_that_break_no_rule(seed) -> None:
    _, axes, _, zeros = setting(seed)

    ((members, found),) = zeros.together()

    assert members == (0, 1, 2)
    wanted = [state for state, dead in zip(states_of(axes), is_dead(axes, zeros), strict=True) if not dead]
    assert [tuple(each) for each in found.tolist()] == wanted


def test_columns_of_too_many_combinations_or_of_none_are_not_moved_together() -> None:
    axes = small_axes(np.random.default_rng(0), (50, 50, 4))
    large = hard_factor(((0, 0), (1, 0)), np.triu(np.ones((50, 50), dtype=bool)))
    nothing = hard_factor(((1, 0), (2, 0)), np.zeros((50, 4), dtype=bool))

    assert MOST_TOGETHER < 50 * 51 // 2
    assert HardZeros(tuple(axes), (large,), ((0, 1),)).together() == []
    assert HardZeros(tuple(axes), (nothing,), ((1, 2),)).together() == []


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
