"""Small log-linear models for tests, and the plain ways to work with them: loops over cells and full enumeration."""

import itertools

import numpy as np

from lapwing.engine.tables import Axis, Factor


def small_axis(rng, groups, levels=3):
    """Return a column of random masses whose neighbours merge, two by two, from level to level."""
    finest = np.arange(groups)
    found = [finest >> level for level in range(levels) if level == 0 or groups > 1 << (level - 1)]
    return Axis(rng.uniform(0.5, 2.0, groups), tuple(found))


def small_axes(rng, sizes, levels=3):
    return [small_axis(rng, size, levels) for size in sizes]


def random_groups(rng, axes, size):
    """Return particles drawn at random."""
    return np.array([rng.integers(0, axis.base.size, size) for axis in axes], dtype=np.uint16)


def factor_of(axes, table, *, theta=None):
    return Factor(table=table, theta=np.zeros(len(cells_listed(axes, table))) if theta is None else theta)


def random_factors(rng, axes, tables, size=0.7):
    return [factor_of(axes, t, theta=rng.normal(0.0, size, len(cells_listed(axes, t)))) for t in tables]


def cells_listed(axes, table):
    """Return all cells of a table in C order, each a tuple of groups."""
    return list(itertools.product(*(sorted(set(axes[column].levels[level].tolist())) for column, level in table)))


def cell_by_hand(axes, state, table):
    return tuple(int(axes[column].levels[level][state[column]]) for column, level in table)


def counts_by_hand(axes, groups, weights, table):
    """Return a table counted one particle at a time, in C order."""
    found = dict.fromkeys(cells_listed(axes, table), 0.0)
    for state, weight in zip(groups.T.tolist(), weights.tolist(), strict=True):
        found[cell_by_hand(axes, state, table)] += weight
    return np.array(list(found.values()))


def states_of(axes):
    return list(itertools.product(*(range(axis.base.size) for axis in axes)))


def exact_density(axes, factors):
    """Return the law of the model over every state, in C order, shaped by the columns."""
    places = [{cell: place for place, cell in enumerate(cells_listed(axes, factor.table))} for factor in factors]
    masses = []
    for state in states_of(axes):
        logs = sum(np.log(axis.base[group]) for axis, group in zip(axes, state, strict=True))
        for factor, place in zip(factors, places, strict=True):
            logs += factor.theta[place[cell_by_hand(axes, state, factor.table)]]
        masses.append(logs)
    density = np.exp(np.array(masses) - max(masses))
    return (density / density.sum()).reshape([axis.base.size for axis in axes])


def marginal_by_hand(axes, density, table):
    """Return a table of a law over every state, in C order."""
    groups = np.array(states_of(axes)).T
    return counts_by_hand(axes, groups, density.reshape(-1), table)


def drawn_states(rng, axes, density, size):
    """Return particles drawn from a law over every state: shape (columns, size)."""
    chosen = rng.choice(density.size, size, p=density.reshape(-1))
    return np.array(states_of(axes), dtype=np.uint16)[chosen].T


def state_counts(axes, groups):
    """Return how many particles are in each state, in C order."""
    flat = np.ravel_multi_index(tuple(groups.astype(np.intp)), [axis.base.size for axis in axes])
    return np.bincount(flat, minlength=len(states_of(axes)))
