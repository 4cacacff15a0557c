"""Trees against slow versions written from spec 01 and the paper: one node at a time, by recursion."""

import math

import numpy as np
import pytest

from helpers.small_trees import children_of, noisy_levels, pairs_of, random_splits
from lapwing.mechanisms.shared.trees.simulation import NoiseTree, simulated_bound
from lapwing.mechanisms.shared.trees.trees import level_shapes, node_variances, pooled_variances, tree_least_squares
from lapwing.mechanisms.trees.pmm.consistency import consistent_counts

SEEDS = range(10)


def naive_pooling(levels, splits, variances, level, cell, pooled):
    """Fill ``pooled[level, cell] = (estimate, variance)``, children first."""
    own = None if levels[level] is None else (float(levels[level][cell]), variances[level])
    if level == len(splits):
        pooled[level, cell] = own
        return own
    below = [
        naive_pooling(levels, splits, variances, level + 1, child, pooled) for child in children_of(cell, splits[level])
    ]
    estimate, variance = sum(z for z, _ in below), sum(s for _, s in below)
    if own is not None and own[1] == 0:
        estimate, variance = own
    elif own is not None:
        precision = 1 / own[1] + 1 / variance
        estimate = (own[0] / own[1] + estimate / variance) / precision
        variance = 1 / precision
    pooled[level, cell] = estimate, variance
    return estimate, variance


def naive_division(splits, pooled, level, cell, whole, final):
    final[level, cell] = whole
    if level == len(splits):
        return
    below = children_of(cell, splits[level])
    if len(below) == 1:
        naive_division(splits, pooled, level + 1, below[0], whole, final)
        return
    (z0, s0), (z1, s1) = (pooled[level + 1, child] for child in below)
    if s0 == s1:
        first = (whole + min(max(z0 - z1, -whole), whole)) / 2
    else:
        # argmin of (x - z0)²/s0 + (whole - x - z1)²/s1 over [0, whole]: a parabola, so clip its vertex.
        first = min(max((z0 / s0 + (whole - z1) / s1) / (1 / s0 + 1 / s1), 0.0), whole)
    naive_division(splits, pooled, level + 1, below[0], first, final)
    naive_division(splits, pooled, level + 1, below[1], whole - first, final)


def naive_least_squares(levels, splits, variances, axes):
    pooled, final, root = {}, {}, (0,) * axes
    naive_pooling(levels, splits, variances, 0, root, pooled)
    naive_division(splits, pooled, 0, root, max(pooled[0, root][0], 0.0), final)
    return [
        np.array([final[level, cell] for cell in np.ndindex(shape)]).reshape(shape)
        for level, shape in enumerate(level_shapes(splits, axes))
    ]


def setting(seed):
    """One of many kinds of tree: one to three axes, single children or none, levels left out, an exact root."""
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    splits = random_splits(rng, axes=axes, depth=int(rng.integers(0, 7)), single_chance=float(rng.choice([0, 0.4])))
    unasked = tuple(np.flatnonzero(rng.random(len(splits) + 1) < 0.3).tolist())
    exact_root = bool(rng.random() < 0.3)
    unasked = tuple(level for level in unasked if level > 0 or not exact_root)
    _, levels, variances = noisy_levels(rng, splits, axes=axes, unasked=unasked, exact_root=exact_root)
    return splits, levels, variances, axes


@pytest.mark.parametrize("seed", SEEDS)
def test_least_squares_agrees_with_recursion_over_nodes(seed: int) -> None:
    splits, levels, variances, axes = setting(seed)

    fit = tree_least_squares(levels, splits, variances)

    naive = naive_least_squares(levels, splits, variances, axes)
    assert len(fit) == len(naive)
    for fast, slow in zip(fit, naive, strict=True):
        # Counts are below 10^3: float rounding over a dozen operations stays far below 10^-9.
        np.testing.assert_allclose(fast, slow, atol=1e-9)


def test_least_squares_agrees_where_groups_divide_irregularly() -> None:
    rng = np.random.default_rng(5)
    splits = random_splits(rng, axes=1, depth=9, single_chance=0.35)
    _, levels, variances = noisy_levels(rng, splits, axes=1)

    fit = tree_least_squares(levels, splits, variances)

    assert not isinstance(splits[-1].families[0].parents, slice)
    np.testing.assert_allclose(fit[-1], naive_least_squares(levels, splits, variances, 1)[-1], atol=1e-9)


def test_the_twin_notices_clipping_before_the_fit() -> None:
    rng = np.random.default_rng(6)
    splits = random_splits(rng, axes=2, depth=5)
    _, levels, variances = noisy_levels(rng, splits, rows=10.0)
    assert min(level.min() for level in levels) < 0
    clipped = [np.maximum(level, 0) for level in levels]

    fit = tree_least_squares(clipped, splits, variances)

    naive = naive_least_squares(levels, splits, variances, 2)
    assert max(np.abs(fast - slow).max() for fast, slow in zip(fit, naive, strict=True)) > 0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_pooled_variances_are_those_of_every_node(seed: int) -> None:
    splits, levels, variances, axes = setting(seed)
    pooled: dict = {}
    naive_pooling(levels, splits, variances, 0, (0,) * axes, pooled)

    spreads, _ = node_variances(splits, variances, axes)

    binary_bound = pooled_variances(variances)
    for (level, cell), (_, variance) in pooled.items():
        shape = level_shapes(splits, axes)[level]
        assert np.broadcast_to(spreads[level], shape)[cell] == pytest.approx(variance, rel=1e-12)
        assert variance <= binary_bound[level] * (1 + 1e-12)
    if all(split.is_binary for split in splits):
        assert [float(spread.flat[0]) for spread in spreads] == pytest.approx(binary_bound, rel=1e-12)


def comparable_pairs(a, b, whole):
    for u in range(whole + 1):
        v = whole - u
        if (u >= a and v >= b) or (u <= a and v <= b):
            yield u, v


def distance_squared(pair, a, b, how):
    u, v = pair
    if how == "uniform" or a + b == 0:
        return (u - a) ** 2 + (v - b) ** 2
    # To the ray through (a, b): the cross product; all candidates are on its side of the origin.
    return (u * b - v * a) ** 2


@pytest.mark.parametrize("how", ["uniform", "proportional"])
@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_pairs_are_nearest_among_all_comparable_pairs(seed: int, how: str) -> None:
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    splits = random_splits(rng, axes=axes, depth=5)
    _, levels, _ = noisy_levels(rng, splits, axes=axes, scale=4.0)

    final = consistent_counts(levels, splits, how)

    assert final[0].item() == max(levels[0].item(), 0)
    for level, cell, left, right in pairs_of(splits, axes):
        a, b = (max(int(levels[level + 1][child]), 0) for child in (left, right))
        pairs = list(comparable_pairs(a, b, int(final[level][cell])))
        chosen = int(final[level + 1][left]), int(final[level + 1][right])
        assert chosen in pairs
        best = min(distance_squared(pair, a, b, how) for pair in pairs)
        assert distance_squared(chosen, a, b, how) == best


def test_the_greedy_twin_notices_a_pair_that_is_not_comparable() -> None:
    # Noisy children (5, 1) under 4: halving would give (2, 2), which moves a point for nothing.
    assert (2, 2) not in list(comparable_pairs(5, 1, 4))
    assert (4, 0) in list(comparable_pairs(5, 1, 4))


def naive_transport(noise, splits, variances, diameters, axes):
    """Sum the transport along the tree, from the pooled noise of one draw."""
    pooled: dict = {}
    naive_pooling(noise, splits, variances, 0, (0,) * axes, pooled)
    total = abs(pooled[0, (0,) * axes][0]) * diameters[0].item()
    for level, cell, left, right in pairs_of(splits, axes):
        (z0, s0), (z1, s1) = pooled[level + 1, left], pooled[level + 1, right]
        total += abs(s1 * z0 - s0 * z1) / (s0 + s1) * diameters[level][cell]
    return total


def simulation_setting(seed):
    rng = np.random.default_rng(seed)
    splits = random_splits(rng, axes=2, depth=4, single_chance=0.25)
    diameters = [rng.random(shape) for shape in level_shapes(splits, 2)]
    tree = NoiseTree(
        splits=tuple(splits), diameters=tuple(diameters), kind="laplace", parameters=(3.0, math.inf, 2.0, 4.0, 3.0)
    )
    draws = []
    for _ in range(1500):
        noise = []
        for parameter, sizes in zip(tree.parameters, diameters, strict=True):
            if math.isinf(parameter):
                noise.append(None)
                continue
            chance = -math.expm1(-1 / parameter)
            noise.append(rng.geometric(chance, sizes.shape) - rng.geometric(chance, sizes.shape))
        draws.append(naive_transport(noise, splits, tree.variances, diameters, 2))
    return tree, np.array(draws)


@pytest.mark.parametrize("seed", [1, 2])
def test_simulated_bounds_agree_with_one_node_at_a_time(seed: int) -> None:
    tree, draws = simulation_setting(seed)
    rng = np.random.default_rng(seed + 100)

    mean = simulated_bound(tree, rows=2.0, simulations=20_000, rng=rng) - tree.resolution

    naive_mean = draws.mean() / 2
    # Six standard errors of the naive mean; the fast one has a thirteenth of its variance.
    assert abs(mean - naive_mean) < 6.5 * draws.std() / 2 / math.sqrt(len(draws))


def test_the_naive_draws_reject_a_simulation_with_a_fifth_less_noise() -> None:
    tree, draws = simulation_setting(1)
    less = NoiseTree(
        splits=tree.splits,
        diameters=tree.diameters,
        kind="laplace",
        parameters=tuple(0.8 * parameter for parameter in tree.parameters),
    )

    mean = simulated_bound(less, rows=2.0, simulations=2000, rng=np.random.default_rng(3)) - tree.resolution

    assert draws.mean() / 2 - mean > 6.5 * draws.std() / 2 / math.sqrt(len(draws))
