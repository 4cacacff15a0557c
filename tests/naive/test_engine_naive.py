"""The engine's sweeps against the formula, draw by draw, against the exact law of few particles, and at rest."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from lapwing.engine import particles
from lapwing.engine.particles import fit_particles, independent, pull_schedule, sweep_particles
from lapwing.engine.tables import DEAD, Axis, Factor, cells_of, table_shape


def axis(base, *coarser):
    base = np.asarray(base, dtype=np.float64)
    return Axis(base, (np.arange(base.size), *(np.asarray(each) for each in coarser)))


AXES = [axis([1, 2, 3, 4], [0, 0, 1, 1]), axis([5, 1, 1], [0, 1, 1]), axis([2, 1])]
TABLES = [((0, 0), (1, 0)), ((0, 1), (2, 0)), ((1, 1), (2, 0)), ((0, 0),), ((0, 1), (1, 0), (2, 0))]


def factors_of(rng, tables, total, fixed=()):
    """Return factors with random targets, or random theta where they are fixed."""
    found = []
    for at, table in enumerate(tables):
        size = math.prod(table_shape(AXES, table))
        if at in fixed:
            found.append(Factor(table=table, theta=rng.normal(size=size)))
        else:
            target = rng.dirichlet(np.ones(size)) * total
            found.append(Factor(table=table, theta=np.zeros(size), target=target, ridge=rng.uniform(0, total / 4)))
    return found


def naive_sweep(axes, groups, factors, total, rng, pull, hold=0.0):
    """Draw every column of every particle, by the formula."""
    m, before = groups.shape[1], groups.copy()
    step, order = total / m, rng.permutation(len(axes))
    order = [column for column in order if any(column == each for f in factors for each, _ in f.table)]
    uniforms = rng.random((len(order), m), dtype=np.float32) * np.float32(1 - 2**-20)
    for (at, column), i in itertools.product(enumerate(order), range(m)):
        weights = axes[column].base / axes[column].base.sum()
        logits = np.log(weights)
        for factor in factors:
            if not any(each == column for each, _ in factor.table):
                continue
            others = np.delete(groups, i, axis=1)
            theta = factor.theta
            if factor.target is not None:
                left = np.bincount(cells_of(axes, others, factor.table), minlength=theta.size) * step
                theta = pull / max(factor.ridge, step / 2) * (factor.target - left)
            elif hold:
                left = np.bincount(cells_of(axes, others, factor.table), minlength=theta.size)
                theta = theta + hold * (np.bincount(cells_of(axes, before, factor.table), minlength=theta.size) - left)
            tried = np.repeat(groups[:, i : i + 1], weights.size, axis=1)
            tried[column] = np.arange(weights.size)
            logits = logits + theta[cells_of(axes, tried, factor.table)]
        reached = np.cumsum(np.exp(logits - logits.max()))
        groups[column, i] = np.searchsorted(reached, uniforms[at, i] * reached[-1], side="right")
    return groups


def log_law(groups, factors, total, pull):
    """Return the logarithm of the law of particles by claim 1 of the proof, but for their masses."""
    step, found = total / groups.shape[1], 0.0
    for factor in factors:
        own = np.bincount(cells_of(AXES, groups, factor.table), minlength=factor.theta.size)
        if factor.target is None:
            found += float(own @ factor.theta)
        else:
            gain = pull / max(factor.ridge, step / 2)
            found -= gain / (2 * step) * float(np.square(factor.target - own * step).sum())
    return found


def naive_exchange(groups, factors, total, rng, pull, columns):
    """Let pairs of particles exchange some columns, by the law of all particles before and after."""
    named = [{column for column, _ in factor.table} for factor in factors]
    if all(each <= set(columns) or not each & set(columns) for each in named):
        return groups  # nothing would change
    pairs = groups.shape[1] // 2
    for _ in range(particles.EXCHANGES):
        met = rng.permutation(groups.shape[1])[: 2 * pairs].reshape(pairs, 2)
        uniforms = rng.random(pairs, dtype=np.float32)
        for (one, two), uniform in zip(met, uniforms, strict=True):
            tried = groups.copy()
            tried[np.ix_(columns, [one, two])] = groups[np.ix_(columns, [two, one])]
            if uniform < math.exp(
                min(0.0, log_law(tried, factors, total, pull) - log_law(groups, factors, total, pull))
            ):
                groups = tried
    return groups


BOUND = [(), ((0,),), ((1, 2),), ((0, 2), (1,))]


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.sets(st.integers(0, 4), min_size=1),
    st.sets(st.integers(0, 4)),
    st.sampled_from(BOUND),
)
def test_a_sweep_draws_what_the_formula_draws(seed, size, used, fixed, bound):
    rng = np.random.default_rng(seed)
    # With the finest level of each column in some table nothing is drawn after the sweeps.
    tables = [((0, 0),), ((1, 0),), ((2, 0),), *(TABLES[at] for at in sorted(used))]
    factors = factors_of(rng, tables, 100.0, fixed={3 + at for at in range(len(used)) if at in fixed})
    groups = independent(AXES, size, rng)

    moved, _ = fit_particles(AXES, groups, factors, 100.0, np.random.default_rng(seed), pulls=(0.1, 1.0), bound=bound)

    plain, again = groups.copy(), np.random.default_rng(seed)
    for pull in (0.1, 1.0):
        plain = naive_sweep(AXES, plain, factors, 100.0, again, pull)
        for columns in bound:
            plain = naive_exchange(plain, factors, 100.0, again, pull, columns)
    # A uniform number that lies within float32's error of a border may fall on its other side.
    assert np.count_nonzero((moved != plain).any(axis=0)) <= size // 20


@pytest.mark.parametrize("hold", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_a_sweep_that_holds_tables_draws_what_the_formula_draws(seed, hold):
    rng = np.random.default_rng(seed)
    tables = [((0, 0),), ((1, 0),), ((2, 0),), *TABLES]
    factors = factors_of(rng, tables, 40.0, fixed=range(8))
    groups = independent(AXES, 40, rng)

    moved = sweep_particles(AXES, groups, factors, np.random.default_rng(seed), hold=hold)

    plain = naive_sweep(AXES, groups.copy(), factors, 40.0, np.random.default_rng(seed), 1.0, hold)
    assert np.count_nonzero((moved != plain).any(axis=0)) <= 2


def exact_law(factors, size, total):
    """Return the probability of every state of so many particles, by claim 1 of the proof."""
    cells = list(itertools.product(*(range(each.base.size) for each in AXES[1:])))
    found = {}
    for state in itertools.product(range(len(cells)), repeat=size):
        groups = np.zeros((3, size), dtype=np.uint16)
        groups[1:] = np.array([cells[each] for each in state]).T
        log = sum(math.log(AXES[1 + at].base[group]) for each in state for at, group in enumerate(cells[each]))
        log += log_law(groups, factors, total, 1.0)
        found[state] = log
    logs = np.array(list(found.values()))
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


@pytest.mark.parametrize(("seed", "bound"), [(1, ()), (2, ((1,),))])
def test_few_particles_have_the_law_of_the_proof(seed, bound):
    rng = np.random.default_rng(seed)
    tables = [((1, 0), (2, 0)), ((1, 1), (2, 0)), ((1, 0),)]
    factors = factors_of(rng, tables, 20.0, fixed={2})
    factors = [replace(each, ridge=6.0) if each.target is not None else each for each in factors]
    law, runs, size = exact_law(factors, 3, 20.0), 3000, 3
    seen = np.zeros(law.size)
    groups = independent(AXES, size, rng)
    for _ in range(runs):
        groups, _ = fit_particles(AXES, groups, factors, 20.0, rng, pulls=(1.0,) * 3, bound=bound)
        seen[np.ravel_multi_index(tuple(groups[1] * 2 + groups[2]), (6,) * size)] += 1

    likely = law * runs >= 8
    expected = np.append(law[likely], law[~likely].sum()) * runs
    assert stats.chisquare(np.append(seen[likely], seen[~likely].sum()), expected).pvalue > 1e-4


def test_many_particles_rest_where_the_dual_is_smallest():
    rng, total = np.random.default_rng(3), 1000.0
    factors = [replace(each, ridge=40.0) for each in factors_of(rng, TABLES[:3], total)]
    ends = np.cumsum([factor.theta.size for factor in factors])
    points = np.array(list(itertools.product(*(range(each.base.size) for each in AXES)))).T
    base = np.prod([each.base[groups] for each, groups in zip(AXES, points, strict=True)], axis=0)

    def density(theta):
        logs = sum(
            part[cells_of(AXES, points, f.table)] for f, part in zip(factors, np.split(theta, ends[:-1]), strict=True)
        )
        weights = base * np.exp(logs - logs.max())
        return weights / weights.sum(), logs.max() + math.log(weights.sum())

    def dual(theta):
        return total * density(theta)[1] - theta @ np.concatenate([f.target for f in factors]) + 20.0 * theta @ theta

    best = density(optimize.minimize(dual, np.zeros(ends[-1]), method="L-BFGS-B", options={"maxiter": 2000}).x)[0]

    moved, fit = fit_particles(AXES, independent(AXES, 200_000, rng), factors, total, rng, pulls=pull_schedule(rest=20))

    seen = np.bincount(np.ravel_multi_index(tuple(moved), (4, 3, 2)), minlength=24) / 200_000
    assert np.abs(seen - best).sum() / 2 < 0.01
    given = density(np.concatenate([each.theta for each in fit]))[0]
    assert np.abs(given - best).sum() / 2 < 0.04  # theta has the noise of the particles, over the ridge


def test_what_tables_do_not_tell_apart_is_drawn_by_the_masses():
    rng = np.random.default_rng(4)
    target = np.array([0.0, 900.0, 100.0, 0.0])
    factor = Factor(table=((0, 1), (2, 0)), theta=np.zeros(4), target=target)

    moved, _ = fit_particles(AXES, independent(AXES, 20_000, rng), [factor], 1000.0, rng, pulls=pull_schedule())

    inside = np.bincount(moved[0], minlength=4)
    assert np.bincount(moved[0] // 2 * 2 + moved[2], minlength=4) / 20 == pytest.approx(target, abs=1)
    assert inside[0] / inside[:2].sum() == pytest.approx(1 / 3, abs=0.02)
    assert inside[2] / inside[2:].sum() == pytest.approx(3 / 7, abs=0.06)


def test_nothing_enters_a_dead_cell_or_a_group_without_mass():
    rng = np.random.default_rng(5)
    axes = [axis([1, 0, 3, 4]), AXES[1]]
    dead = np.zeros((4, 3))
    dead[2, 1] = dead[3] = DEAD
    factors = [
        Factor(table=((0, 0), (1, 0)), theta=dead.reshape(-1)),
        Factor(table=((0, 0), (1, 0)), theta=np.zeros(12), target=np.full(12, 100 / 12), ridge=1.0),
    ]

    moved, _ = fit_particles(axes, independent(axes, 5000, rng), factors, 100.0, rng, pulls=pull_schedule())
    again = sweep_particles(axes, moved, factors, rng, sweeps=5)

    for groups in (moved, again):
        seen = np.bincount(np.ravel_multi_index(tuple(groups), (4, 3)), minlength=12).reshape(4, 3)
        assert seen[1].sum() == seen[3].sum() == seen[2, 1] == 0
        assert (seen[0] > 0).all()


def test_fixed_columns_stay_and_a_seed_is_a_seed():
    rng = np.random.default_rng(6)
    factors = factors_of(rng, TABLES, 100.0, fixed=range(5))
    groups = independent(AXES, 500, rng)

    moved = [sweep_particles(AXES, groups, factors, np.random.default_rng(7), sweeps=2, fixed=(1,)) for _ in range(2)]

    assert (moved[0] == moved[1]).all()
    assert (moved[0][1] == groups[1]).all()
    assert (moved[0][0] != groups[0]).any()


# ------------------------------------------------------------------------------------------------------ fresh rows


def naive_unexpected(axes, groups, factors, thetas):
    """Return particles in each cell, less what each of their columns lets expect there given the others."""
    found = [np.zeros(theta.size) for theta in thetas]
    for i, (column, axis_) in itertools.product(range(groups.shape[1]), enumerate(axes)):
        tried = np.repeat(groups[:, i : i + 1], axis_.base.size, axis=1)
        tried[column] = np.arange(axis_.base.size)
        with_column = [at for at, factor in enumerate(factors) if any(each == column for each, _ in factor.table)]
        logits = np.log(axis_.base)
        for at in with_column:
            logits = logits + thetas[at][cells_of(axes, tried, factors[at].table)]
        law = np.exp(logits - logits.max())
        for at in with_column:
            found[at][cells_of(axes, groups[:, i : i + 1], factors[at].table)] += 1
            np.subtract.at(found[at], cells_of(axes, tried, factors[at].table), law / law.sum())
    return found


def explained(axes, groups, factors):
    """Return factors with the theta that explains where particles are; those without a target as they were."""
    found = particles.explaining_theta(axes, groups, factors, [each.target is not None for each in factors])
    return [replace(factor, theta=theta) for factor, theta in zip(factors, found, strict=True)]


def naive_explained(axes, groups, factors, steps, many):
    """Go up the pseudo-likelihood, one step for each part of the particles; with speed in more than `many` tables."""
    thetas, means = [factor.theta for factor in factors], [0.0 for _ in factors]
    speeds = [0.0 for _ in factors]
    most = max(sum(c == column for f in factors for c, _ in f.table) for column in range(len(axes)))
    parts = [*itertools.pairwise(np.linspace(0, groups.shape[1], steps + 1).astype(int))] * (2 if most > many else 1)
    for turn, (start, stop) in enumerate(parts):
        gradients = naive_unexpected(axes, groups[:, start:stop], factors, thetas)
        for at, factor in enumerate(factors):
            if factor.target is None:
                continue
            columns = [column for column, _ in factor.table]
            tables = max(sum(c == column for f in factors for c, _ in f.table) for column in columns)
            counts = np.bincount(cells_of(axes, groups, factor.table), minlength=factor.theta.size)
            step = 1 / tables * gradients[at] / (len(columns) * counts / steps + 2)
            speeds[at] = step + (speeds[at] * (1 - many / tables) if tables > many else 0)
            thetas[at] = thetas[at] + speeds[at]
        if turn >= len(parts) // 2:
            means = [mean + theta / (len(parts) - len(parts) // 2) for mean, theta in zip(means, thetas, strict=True)]
    return means


@pytest.mark.parametrize("many", [1, 2, 16])
@pytest.mark.parametrize("seed", range(3))
def test_theta_for_fresh_rows_is_that_of_the_slow_ascent(seed, many, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(particles, "ASCENT", 4)
    monkeypatch.setattr(particles, "MANY_TABLES", many)
    factors = factors_of(rng, TABLES, 100.0, fixed=(2,))
    groups = independent(AXES, 48, rng)

    found = explained(AXES, groups, factors)

    for factor, theta in zip(found, naive_explained(AXES, groups, factors, 4, many), strict=True):
        np.testing.assert_allclose(factor.theta, theta, rtol=1e-4, atol=1e-4)
    assert found[2].theta is factors[2].theta


def test_tables_of_fresh_rows_are_those_of_the_particles():
    # Thousands of exact counts: theta of `fit_particles` then jumps by 2 with a single particle.
    rng = np.random.default_rng(8)
    axes = [axis([3, 2, 1, 1]), axis([1, 1, 1]), axis([2, 1, 1, 1, 1])]
    law = rng.dirichlet(np.full(60, 0.5)).reshape(4, 3, 5)
    tables = [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 0), (2, 0))]
    targets = [law.sum(axis=axis_).reshape(-1) * 9000 for axis_ in (2, 0, 1)]
    asked = [
        Factor(table=table, theta=np.zeros(target.size), target=target, ridge=0.0)
        for table, target in zip(tables, targets, strict=True)
    ]
    groups, factors = fit_particles(axes, independent(axes, 9000, rng), asked, 9000.0, rng, pulls=pull_schedule(12, 3))

    def error(parts):
        fresh = sweep_particles(axes, independent(axes, 90_000, rng), parts, rng, sweeps=20)
        gaps = [
            np.abs(np.bincount(cells_of(axes, fresh, table), minlength=target.size) / 10 - target).sum() / 2 / 9000
            for table, target in zip(tables, targets, strict=True)
        ]
        return np.mean(gaps)

    assert error(explained(axes, groups, factors)) < 0.03
    assert error(factors) > 0.3


def test_fresh_rows_keep_a_column_that_is_in_many_tables(monkeypatch):
    # One column, and forty that mostly repeat it: steps divided by their number do not arrive.
    rng = np.random.default_rng(9)
    own = rng.choice(6, 20_000, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
    axes = [axis(np.bincount(own)), *(axis([1, 1, 1, 1, 1, 1]) for _ in range(40))]
    others = [np.where(rng.random(own.size) < 0.6, own, rng.integers(0, 6, own.size)) for _ in range(40)]
    groups = np.stack([own, *others]).astype(np.uint16)
    tables = [((0, 0),), *(((0, 0), (place, 0)) for place in range(1, 41))]
    factors = [Factor(table=each, theta=np.zeros(6 ** len(each)), target=np.ones(6 ** len(each))) for each in tables]

    def error():
        fresh = sweep_particles(axes, groups, explained(axes, groups, factors), rng)
        return np.abs(np.bincount(fresh[0], minlength=6) - np.bincount(own)).sum() / 2 / own.size

    quick = error()
    monkeypatch.setattr(particles, "MANY_TABLES", 10**9)

    assert quick < 0.02
    assert error() > 3 * quick
