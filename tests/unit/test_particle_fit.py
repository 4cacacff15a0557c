"""The fit of particles, and the model that is released of them."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.resolved import FIELDS, column_of, named
from lapwing.budget.budget import Budget
from lapwing.mechanisms.steps.candidate_tables import measurement, without_misfits
from lapwing.mechanisms.steps.particle_fit import (
    finished,
    fit_as_model,
    measured,
    refitted,
    tree_fit,
    with_factor,
)
from lapwing.numerics.log_linear import Factor
from lapwing.release.noise_law import NoiseLaw
from lapwing.release.questions import NoisyCounts
from lapwing.schema.schemas import Schema

PAIR = ((0, 0), (1, 0))
TWO = ("boolean", "few categories")


def setting(kinds=TWO, size=300):
    """Return a schema, and a fit of its one-way tables."""
    fields = [named(FIELDS[kind], f"x{place}") for place, kind in enumerate(kinds)]
    columns = tuple(column_of(field, seed=place) for place, field in enumerate(fields))
    rng = np.random.default_rng(1)
    return Schema(fields=tuple(fields)), tree_fit(columns, (), 5000.0, rng, size=size), rng


def factor_of(fit, *, target=None, sd=5.0):
    now = fit.counts([PAIR])
    return Factor(table=PAIR, target=now if target is None else target, sd=sd, theta=np.zeros(now.size))


def test_the_released_model_fits_a_schema_of_every_kind_of_column() -> None:
    schema, fit, rng = setting(tuple(FIELDS))
    fit = with_factor(fit, factor_of(fit, target=rng.dirichlet(np.ones(fit.counts([PAIR]).size)) * 5000))

    model = fit_as_model(finished(fit, rng, size=400), 5000)

    model.validate(schema)
    assert model.atoms == 400
    assert model.rows == 5000
    assert model.log_linear is not None
    assert model.log_linear.tables == (*((f"x{place}",) for place in range(len(FIELDS))), ("x0", "x1"))


def test_misfits_have_no_theta_of_their_own() -> None:
    _, fit, _ = setting(("few categories", "boolean"))
    shaped = Factor(table=PAIR, target=np.zeros(15), sd=1.0, theta=np.arange(1.0, 16.0))

    part = fit_as_model(with_factor(fit, shaped), 5000).log_linear

    assert part is not None
    assert part.thetas[-1].shape == (6, 3)
    assert part.thetas[-1][:5].reshape(-1).tolist() == list(range(1, 16))
    assert not part.thetas[-1][5].any()


def test_one_way_tables_are_the_first_factors() -> None:
    _, fit, _ = setting(("date", "boolean", "few categories"))

    assert [factor.table for factor in fit.factors] == [((0, 0),), ((1, 0),), ((2, 0),)]
    for factor, column in zip(fit.factors, fit.columns, strict=True):
        np.testing.assert_allclose(factor.target, column.axis.base * (5000 / column.axis.base.sum()))
        assert factor.sd == column.sd


def test_released_one_way_tables_are_the_noisy_ones() -> None:
    _, fit, rng = setting(("few categories", "boolean"), size=20_000)
    product = np.outer(fit.factors[0].target, fit.factors[1].target).reshape(-1) / 5000
    noisy = factor_of(fit, target=product + rng.normal(0.0, 60.0, product.size), sd=60.0)

    after = finished(with_factor(fit, noisy), rng, size=20_000)

    for single in after.factors[:2]:
        # The pair alone would be off by 60 records and more in each of a handful of groups.
        assert np.abs(after.counts([single.table]) - single.target).sum() < 0.01 * 5000


def test_an_answer_becomes_a_factor_without_misfits() -> None:
    _, fit, _ = setting(("few categories", "boolean"))
    question = measurement(fit.columns, PAIR, Budget.zcdp("0.125"))
    counts = np.arange(18, dtype=np.int64).reshape(6, 3)
    noise = question.noise("add-remove", 1)

    factor = measured(fit.columns, PAIR, NoisyCounts(question, counts, noise))

    assert noise == NoiseLaw("gaussian", noise.parameter)
    assert factor.sd == 2.0
    assert factor.target.tolist() == [float(count) for count in range(15)]
    assert not factor.theta.any()


@pytest.mark.parametrize(("apart", "is_new"), [(0.0, False), (1.0, False), (1.4, True), (30.0, True)])
def test_an_answer_that_noise_alone_explains_leaves_the_model_as_it_is(apart, is_new) -> None:
    _, fit, _ = setting(("few categories", "boolean"))
    question = measurement(fit.columns, PAIR, Budget.zcdp("0.125"))
    expected = np.linspace(1.0, 90.0, 15)
    counts = np.zeros((6, 3))
    # Each of 15 cells is so many standard deviations of 2 away; noise explains a mean square of 1 + (5 / 15)**0.5.
    counts[:5] = (expected + 2.0 * apart * np.where(np.arange(15) % 2, 1, -1)).reshape(5, 3)
    answer = NoisyCounts(question, np.rint(counts).astype(np.int64), question.noise("add-remove", 1))

    factor = measured(fit.columns, PAIR, answer, expected)

    own = without_misfits(fit.columns, PAIR, answer.counts)
    assert factor.target.tolist() == (own if is_new else expected).tolist()
    assert factor.sd == 2.0


def test_another_table_is_added_behind_the_others() -> None:
    _, fit, _ = setting()
    new = factor_of(fit)

    after = with_factor(fit, new)

    assert after.factors == (*fit.factors, new)
    assert after.cloud is fit.cloud


@pytest.mark.parametrize(("old_sd", "new_sd"), [(3.0, 4.0), (3.0, 0.0), (0.0, 4.0), (0.0, 0.0)])
def test_a_table_measured_twice_is_the_mean_of_least_variance(old_sd: float, new_sd: float) -> None:
    _, fit, _ = setting()
    cells = fit.counts([PAIR]).size
    old = replace(factor_of(fit, target=np.full(cells, 100.0), sd=old_sd), theta=np.arange(float(cells)))
    new = factor_of(fit, target=np.full(cells, 200.0), sd=new_sd)

    both = with_factor(with_factor(fit, old), new).factors[-1]

    weights = np.linspace(0, 1, 100_001)
    variances = np.square(weights * old_sd) + np.square((1 - weights) * new_sd)
    assert both.sd**2 == pytest.approx(variances.min(), abs=1e-6)
    best = weights[variances.argmin()] if old_sd or new_sd else 0.5
    np.testing.assert_allclose(both.target, 200.0 - 100.0 * best, atol=0.01)
    assert both.theta.tolist() == old.theta.tolist()
    assert len(with_factor(with_factor(fit, old), new).factors) == len(fit.factors) + 1


@pytest.mark.parametrize("is_due", [True, False])
def test_particles_are_drawn_anew_where_it_is_due(is_due: bool) -> None:
    _, fit, rng = setting(size=2000)

    after = refitted(with_factor(fit, factor_of(fit, sd=50.0)), rng, is_due=is_due)

    assert (after.cloud.groups is fit.cloud.groups) == (not is_due)
    assert after.cloud.groups.shape == fit.cloud.groups.shape
    assert all(np.isfinite(factor.theta).all() for factor in after.factors)


def test_particles_are_drawn_anew_where_few_of_them_carry_the_weight() -> None:
    _, fit, rng = setting(size=2000)
    now = fit.counts([PAIR])
    rare = np.argsort(now)[now.size // 2]
    far = factor_of(fit, target=5000.0 * np.eye(now.size)[rare], sd=1.0)

    after = refitted(with_factor(fit, far), rng, is_due=False)

    assert after.cloud.groups is not fit.cloud.groups
    assert after.counts([PAIR])[rare] > 1.5 * now[rare] > 0
