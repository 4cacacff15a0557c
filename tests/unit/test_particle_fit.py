"""The fit of particles, and the model that is released of them."""

import numpy as np
import pytest

from helpers.resolved import FIELDS, column_of, named
from lapwing.mechanisms.steps.particle_fit import cloud_as_model, finished, fitted
from lapwing.numerics.log_linear import Cloud, Factor, marginals, table_shape
from lapwing.numerics.tree_start import drawn_from_tree
from lapwing.schema.schemas import Schema

KINDS = tuple(FIELDS)


def setting(kinds, size=300):
    """Return columns, particles drawn from their bases, and a noisy table of the first two."""
    fields = [named(FIELDS[kind], f"x{place}") for place, kind in enumerate(kinds)]
    columns = tuple(column_of(field, seed=place) for place, field in enumerate(fields))
    axes, rng = [column.axis for column in columns], np.random.default_rng(1)
    cloud = Cloud(drawn_from_tree(axes, (), 5000.0, size, rng), np.zeros(size))
    table = ((0, 0), (1, 0))
    cells = int(np.prod(table_shape(axes, table)))
    factor = Factor(table=table, target=rng.dirichlet(np.ones(cells)) * 5000, sd=5.0, theta=np.zeros(cells))
    return Schema(fields=tuple(fields)), columns, axes, cloud, (factor,), rng


def test_the_released_model_fits_a_schema_of_every_kind_of_column() -> None:
    schema, columns, axes, cloud, factors, rng = setting(KINDS)
    cloud, factors = finished(axes, cloud, factors, 5000.0, rng, size=400)

    model = cloud_as_model(columns, cloud, factors, 5000)

    model.validate(schema)
    assert model.atoms == 400
    assert model.rows == 5000
    assert model.log_linear is not None
    assert model.log_linear.tables == (("x0", "x1"),)


def test_misfits_have_no_theta_of_their_own() -> None:
    _, columns, _, cloud, factors, _ = setting(("few categories", "boolean"))
    shaped = Factor(table=factors[0].table, target=factors[0].target, sd=1.0, theta=np.arange(1.0, 16.0))

    part = cloud_as_model(columns, cloud, (shaped,), 5000).log_linear

    assert part is not None
    assert part.thetas[0].shape == (6, 3)
    assert part.thetas[0][:5].reshape(-1).tolist() == list(range(1, 16))
    assert not part.thetas[0][5].any()


@pytest.mark.parametrize("is_due", [True, False])
def test_particles_are_drawn_anew_where_it_is_due(is_due: bool) -> None:
    _, _, axes, cloud, factors, rng = setting(("boolean", "few categories"), size=2000)
    (factor,) = factors
    near = Factor(
        table=factor.table, target=marginals(axes, cloud, 5000.0, [factor.table]), sd=50.0, theta=factor.theta
    )

    after, found = fitted(axes, cloud, (near,), 5000.0, rng, is_due=is_due)

    assert (after.groups is cloud.groups) == (not is_due)
    assert after.groups.shape == cloud.groups.shape
    assert np.isfinite(found[0].theta).all()


def test_particles_are_drawn_anew_where_few_of_them_carry_the_weight() -> None:
    _, _, axes, cloud, factors, rng = setting(("boolean", "few categories"), size=2000)
    (factor,) = factors
    cells = np.eye(factor.target.size)[-1]
    far = Factor(table=factor.table, target=5000.0 * cells, sd=1.0, theta=factor.theta)

    after, _ = fitted(axes, cloud, (far,), 5000.0, rng, is_due=False)

    assert after.groups is not cloud.groups
    share = [marginals(axes, each, 1.0, [factor.table])[-1] for each in (cloud, after)]
    assert share[1] > 2 * share[0]
