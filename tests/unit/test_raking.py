"""Weights moved towards noisy tables, block by block."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.log_linear_twins import factor_of, random_cloud, small_axes
from lapwing.numerics.log_linear import Axis, Cloud, Factor, marginals, misfit
from lapwing.numerics.raking import LEAST_EFFECTIVE, RIDGE, block_step, effective_share, raked

TOTAL = 1000.0
LARGEST_STEP, LARGEST_THETA = 2.0, 15.0

EXTREME_TARGETS = {
    "negative": lambda k: -np.arange(1.0, k + 1) * 1e5,
    "zero": np.zeros,
    "one cell has it all": lambda k: np.eye(k)[0] * TOTAL,
    "far above the total": lambda k: np.full(k, 1e15),
    "sum of almost nothing": lambda k: np.where(np.arange(k) % 2, 500.0, -500.0) + 1e-11,
    "sum of exactly nothing": lambda k: np.arange(k) - (k - 1) / 2,
}


@st.composite
def blocks(draw, *, least_sd=0.0):
    """Draw a table's factor, the model's counts, the total, and the weight of two particles."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cells, total = draw(st.integers(2, 80)), 10 ** draw(st.floats(0.0, 6.0))
    sd = draw(st.sampled_from([0.0, 1e-3, 0.01, 0.1, 3.0])) * total
    model = rng.gamma(draw(st.floats(0.2, 5.0)), size=cells) + 1e-9
    model *= total / model.sum()
    target = model * np.exp(rng.normal(0, draw(st.floats(0.0, 2.0)), cells))
    target = target * total / target.sum() + rng.normal(0, max(sd, least_sd), cells)
    theta = np.clip(rng.normal(0, draw(st.floats(0.0, 8.0)), cells), -LARGEST_THETA, LARGEST_THETA)
    factor = Factor(table=((0, 0),), target=target, sd=sd, theta=theta)
    return factor, model, total, total / 10_000


def grown_mass(factor, model, total, particle, step):
    """Return the mass of each cell after a step, of the model with its pseudo-counts."""
    mass = model + particle + factor.sd / 4
    return mass * (total / mass.sum()) * np.exp(step)


def residuals(factor, grown, total, step):
    """Return what the equation of each cell says that lambda is."""
    return grown + (RIDGE * factor.sd + 1e-9 * total) * (factor.theta + step) - factor.target


@given(blocks())
@settings(max_examples=300)
def test_a_step_keeps_the_total_to_a_millionth(block) -> None:
    factor, model, total, particle = block

    step = block_step(factor, model, total, particle)

    assert np.abs(step).max() <= LARGEST_STEP
    assert np.abs(factor.theta + step).max() <= LARGEST_THETA * (1 + 1e-12)
    assert grown_mass(factor, model, total, particle, step).sum() == pytest.approx(total, rel=2e-6)


@given(blocks())
@settings(max_examples=300)
def test_a_step_solves_the_equation_of_every_cell(block) -> None:
    factor, model, total, particle = block
    factor.target[:] *= total / factor.target.sum() if factor.target.sum() > 0.2 * total else 1.0

    step = block_step(factor, model, total, particle)

    low = np.maximum(-LARGEST_STEP, -LARGEST_THETA - factor.theta)
    high = np.minimum(LARGEST_STEP, LARGEST_THETA - factor.theta)
    lam = residuals(factor, grown_mass(factor, model, total, particle, step), total, step)
    free = (step > low + 1e-9) & (step < high - 1e-9)
    if not free.any() or abs(factor.target.sum() - total) > 4 * factor.sd * step.size**0.5:
        return
    middle = np.median(lam[free])
    assert np.abs(lam[free] - middle).max() <= 1e-5 * total
    # A cell at its upper end would go further, one at its lower end as well.
    assert (lam[step >= high - 1e-9] <= middle + 1e-5 * total).all()
    assert (lam[step <= low + 1e-9] >= middle - 1e-5 * total).all()


def test_a_target_that_lost_misfits_is_scaled_to_the_total() -> None:
    rng = np.random.default_rng(2)
    model = rng.dirichlet(np.ones(12)) * TOTAL
    whole = Factor(table=((0, 0),), target=rng.dirichlet(np.ones(12)) * TOTAL, sd=1.0, theta=np.zeros(12))
    laden = Factor(table=((0, 0),), target=0.7 * whole.target, sd=1.0, theta=np.zeros(12))

    step = block_step(laden, model, TOTAL, 0.1)

    np.testing.assert_allclose(step, block_step(whole, model, TOTAL, 0.1), atol=1e-9)


def test_a_gap_that_noise_explains_is_not_scaled() -> None:
    rng = np.random.default_rng(3)
    model = rng.dirichlet(np.full(12, 5.0)) * TOTAL
    target = model + 3.0  # 36 records too many, of noise with a standard deviation of 20 * sqrt(12) in all
    factor = Factor(table=((0, 0),), target=target, sd=20.0, theta=np.zeros(12))

    step = block_step(factor, model, TOTAL, 0.1)

    lam = residuals(factor, grown_mass(factor, model, TOTAL, 0.1, step), TOTAL, step)
    assert np.ptp(lam) < 1e-5 * TOTAL


@pytest.mark.parametrize("target", EXTREME_TARGETS.values(), ids=EXTREME_TARGETS.keys())
@pytest.mark.parametrize("sd", [0.0, 1.0, 1e12])
def test_extreme_targets_keep_everything_finite(target, sd) -> None:
    rng = np.random.default_rng(4)
    axes = small_axes(rng, (5, 3))
    cloud = random_cloud(rng, axes, 200, spread=0.1)
    tables = [((0, 0),), ((0, 0), (1, 0))]
    factors = [factor_of(axes, table, target=target(size), sd=sd) for table, size in zip(tables, (5, 15), strict=True)]

    after, fitted, _ = raked(axes, cloud, factors, TOTAL, sweeps=30)

    assert np.isfinite(after.log_weights).all()
    assert np.isfinite(after.weights(TOTAL)).all()
    assert effective_share(after.log_weights) >= LEAST_EFFECTIVE * (1 - 1e-9)
    for factor in fitted:
        assert np.abs(factor.theta).max() <= LARGEST_THETA * (1 + 1e-12)


def consistent_setting(seed, *, strength=0.4):
    """Return particles, and tables that another weighting of the same particles has."""
    rng = np.random.default_rng(seed)
    axes = small_axes(rng, (6, 4, 5))
    cloud = random_cloud(rng, axes, 4000, spread=0.0)
    other = Cloud(cloud.groups, strength * (cloud.groups[0] % 2 + cloud.groups[1] * 0.5 - (cloud.groups[2] == 3)))
    tables = [((0, 0),), ((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 1), (2, 1))]
    factors = [factor_of(axes, t, target=marginals(axes, other, TOTAL, [t]), sd=0.0) for t in tables]
    return axes, cloud, factors


@pytest.mark.parametrize("seed", range(5))
def test_one_sweep_moves_a_table_to_its_target(seed: int) -> None:
    axes, cloud, factors = consistent_setting(seed)

    after, _, is_damped = raked(axes, cloud, factors[1:2], TOTAL, sweeps=1)

    # The pseudo-count is the weight of two particles in each of 24 cells, and no cell is that far off.
    assert not is_damped
    assert misfit(axes, after, factors[1:2], TOTAL) < 0.1 * misfit(axes, cloud, factors[1:2], TOTAL)


@pytest.mark.parametrize("seed", range(5))
def test_sweeps_agree_with_all_tables_at_once(seed: int) -> None:
    axes, cloud, factors = consistent_setting(seed)

    after, fitted, _ = raked(axes, cloud, factors, TOTAL, sweeps=30)

    # A pseudo-count of two particles a cell is all that keeps the fit from the targets.
    pseudo = 2 * TOTAL / cloud.size * sum(factor.target.size for factor in factors)
    assert pseudo < 0.1 * misfit(axes, cloud, factors, TOTAL)
    assert misfit(axes, after, factors, TOTAL) < pseudo
    assert after.groups is cloud.groups
    assert [f.table for f in fitted] == [f.table for f in factors]


def test_theta_says_what_became_of_the_weights() -> None:
    axes, cloud, factors = consistent_setting(7)

    after, fitted, _ = raked(axes, cloud, factors, TOTAL, sweeps=3)

    logs = np.zeros(cloud.size)
    for factor in fitted:
        cells = np.zeros(cloud.size, dtype=np.intp)
        for column, level in factor.table:
            cells = cells * axes[column].sizes[level] + axes[column].levels[level][cloud.groups[column]]
        logs += factor.theta[cells]
    gap = after.log_weights - cloud.log_weights - logs
    assert np.ptp(gap) < 1e-9


def test_noise_is_kept_out_of_theta_by_the_ridge() -> None:
    rng = np.random.default_rng(8)
    model = np.full(50, TOTAL / 50)
    noisy = model + rng.normal(0, 5, 50)

    steps = [
        np.abs(block_step(Factor(table=((0, 0),), target=noisy, sd=sd, theta=np.zeros(50)), model, TOTAL, 0.1)).mean()
        for sd in (0.0, 5.0, 50.0)
    ]

    assert steps[0] > 1.1 * steps[1] > 1.65 * steps[2]


@pytest.mark.parametrize("sd", [0.0, 4.0])
def test_a_step_that_does_not_shrink_leaves_a_model_at_its_target(sd: float) -> None:
    model = np.random.default_rng(9).dirichlet(np.ones(20)) * TOTAL
    factor = Factor(table=((0, 0),), target=model.copy(), sd=sd, theta=np.zeros(20))

    still = block_step(factor, model, TOTAL, 1.0, is_shrinking=False)
    shrunk = block_step(factor, model, TOTAL, 1.0)

    assert np.abs(still).max() < 1e-5
    order = np.argsort(model)
    # Shrinking moves mass from small cells to large ones.
    assert (np.diff(shrunk[order]) > 0).all()
    assert shrunk[order[0]] < -0.1
    assert shrunk[order[-1]] > 0


def lonely_setting(start):
    """Return ten groups of particles, and a target that asks for one group alone."""
    axes = [Axis(np.ones(10), (np.arange(10),))]
    groups = np.repeat(np.arange(10, dtype=np.uint8), 100)[None, :]
    factor = factor_of(axes, ((0, 0),), target=np.eye(10)[0] * TOTAL, sd=0.0)
    return axes, Cloud(groups, np.where(groups[0] == 0, start, 0.0)), (factor,)


def test_damping_keeps_enough_particles_in_play() -> None:
    axes, cloud, factors = lonely_setting(0.0)

    after, fitted, is_damped = raked(axes, cloud, factors, TOTAL, sweeps=5)

    assert is_damped
    assert LEAST_EFFECTIVE <= effective_share(after.log_weights) < 0.5
    assert np.ptp(fitted[0].theta) > 1.0
    assert misfit(axes, after, factors, TOTAL) < misfit(axes, cloud, factors, TOTAL)


def test_a_step_is_not_taken_at_all_where_it_would_leave_too_few_particles() -> None:
    axes, cloud, factors = lonely_setting(6.0)
    assert effective_share(cloud.log_weights) < LEAST_EFFECTIVE

    after, fitted, is_damped = raked(axes, cloud, factors, TOTAL, sweeps=3)

    assert is_damped
    np.testing.assert_allclose(after.weights(TOTAL), cloud.weights(TOTAL), rtol=1e-9)
    assert not fitted[0].theta.any()


def test_without_a_sweep_nothing_changes() -> None:
    axes, cloud, factors = consistent_setting(9)

    after, fitted, is_damped = raked(axes, cloud, factors, TOTAL, sweeps=0)

    np.testing.assert_allclose(after.weights(TOTAL), cloud.weights(TOTAL), rtol=1e-12)
    assert not any(factor.theta.any() for factor in fitted)
    assert not is_damped


def test_the_effective_share_counts_equal_weights() -> None:
    assert effective_share(np.full(8, -700.0)) == pytest.approx(1.0)
    assert effective_share(np.array([0.0, 0.0, -800.0, -900.0])) == pytest.approx(0.5)
