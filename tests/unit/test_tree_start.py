"""Particles drawn from a forest of noisy pairs."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.log_linear_twins import exact_density, factor_of, marginal_by_hand, random_factors, small_axes
from lapwing.numerics.log_linear import Axis
from lapwing.numerics.tree_start import drawn_from_tree, tree_factors

TOTAL = 1e6


def chain(seed=1):
    """Four columns; the first three are a chain whose pairs and bases agree."""
    rng = np.random.default_rng(seed)
    axes = small_axes(rng, (4, 5, 3, 2))
    edges = random_factors(rng, axes, [((0, 1), (1, 0)), ((1, 1), (2, 0))], size=1.0)
    density = exact_density(axes, edges)
    bases = [density.sum(axis=tuple(set(range(4)) - {column})) * TOTAL for column in range(4)]
    axes = [replace(axis, base=base) for axis, base in zip(axes, bases, strict=True)]
    return axes, [replace(edge, target=TOTAL * marginal_by_hand(axes, density, edge.table)) for edge in edges], density


def test_theta_of_a_tree_gives_back_its_pair_tables_exactly() -> None:
    axes, edges, _ = chain()

    fitted = tree_factors(axes, edges, TOTAL)

    law = exact_density(axes, fitted)
    for edge in edges:
        np.testing.assert_allclose(TOTAL * marginal_by_hand(axes, law, edge.table), edge.target, rtol=1e-6)


def test_a_tree_of_groups_keeps_what_is_inside_them() -> None:
    axes, edges, density = chain()

    law = exact_density(axes, tree_factors(axes, edges, TOTAL))

    # The edges are all that the density depends on, so the tree is the density itself.
    np.testing.assert_allclose(law, density, rtol=1e-6)


def test_columns_without_edges_follow_their_base() -> None:
    axes, _, _ = chain()

    drawn = drawn_from_tree(axes, (), TOTAL, 50_000, np.random.default_rng(2))

    for column, axis in enumerate(axes):
        share = np.bincount(drawn[column], minlength=axis.base.size) / 50_000
        # Six standard errors of a share.
        np.testing.assert_allclose(share, axis.base / axis.base.sum(), atol=6 * (0.25 / 50_000) ** 0.5)


def test_an_isolated_column_tells_nothing_about_the_others() -> None:
    axes, edges, _ = chain()

    drawn = drawn_from_tree(axes, edges, TOTAL, 50_000, np.random.default_rng(3))

    alone = drawn[3] == 1
    for column in range(3):
        shares = [np.bincount(drawn[column][mask], minlength=5) / mask.sum() for mask in (alone, ~alone)]
        assert np.abs(shares[0] - shares[1]).max() < 6 * (0.25 / min(alone.sum(), (~alone).sum())) ** 0.5 * 2**0.5


def test_noise_below_zero_makes_no_cell_impossible() -> None:
    rng = np.random.default_rng(4)
    axes = small_axes(rng, (4, 4))
    edge = factor_of(axes, ((0, 0), (1, 0)), target=rng.normal(0, 1000, 16), sd=1000.0)

    (fitted,) = tree_factors(axes, [edge], 1.0)
    drawn = drawn_from_tree(axes, [edge], 1.0, 5000, np.random.default_rng(5))

    assert np.isfinite(fitted.theta).all()
    assert np.unique(drawn[0].astype(int) * 4 + drawn[1]).size == 16


@pytest.mark.parametrize(("groups", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_particles_take_one_byte_where_groups_fit(groups: int, dtype: type) -> None:
    axes = [Axis(np.ones(groups), (np.arange(groups),)), Axis(np.ones(2), (np.arange(2),))]

    drawn = drawn_from_tree(axes, (), TOTAL, 10_000, np.random.default_rng(6))

    assert drawn.dtype == dtype
    assert drawn[0].max() == groups - 1


def test_the_same_generator_gives_the_same_particles() -> None:
    axes, edges, _ = chain()

    one, two = (drawn_from_tree(axes, edges, TOTAL, 500, np.random.default_rng(7)) for _ in range(2))

    assert (one == two).all()
