"""What holds for every tree: consistency, sums, fairness, optimality, and the inequality behind the bounds."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.small_trees import cube_splits, is_consistent, noisy_levels, pairs_of, random_splits, summed_upwards
from lapwing.mechanisms.shared.trees.budget import bound_factor, optimal_shares, paper_shares
from lapwing.mechanisms.shared.trees.model import fair_rounding
from lapwing.mechanisms.shared.trees.trees import AxisSplit, level_shapes, tree_least_squares
from lapwing.mechanisms.trees.pmm.consistency import consistent_counts

seeds = st.integers(0, 2**32 - 1)


def drawn_tree(seed, **settings_of_levels):
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    splits = random_splits(rng, axes=axes, depth=int(rng.integers(0, 6)), single_chance=float(rng.choice([0, 0.4])))
    exact, levels, variances = noisy_levels(rng, splits, axes=axes, **settings_of_levels)
    return rng, splits, exact, levels, variances, axes


@given(seeds, st.floats(0.3, 50), st.floats(0, 1000), st.booleans())
def test_a_fit_is_consistent_and_not_negative(seed: int, scale: float, rows: float, exact_root: bool) -> None:
    rng, splits, _, levels, variances, _ = drawn_tree(seed, scale=scale, rows=rows, exact_root=exact_root, unasked=(2,))

    fit = tree_least_squares(levels, splits, variances)
    rounded = fair_rounding(fit, splits, rng)

    # Counts stay below 10^4, so sums of a few dozen floats agree to 10^-9.
    assert is_consistent(fit, splits, tolerance=1e-9)
    assert is_consistent(rounded, splits)
    assert all(level.dtype == np.int64 for level in rounded)
    if exact_root:
        assert rounded[0].item() == levels[0].item()


@given(seeds, st.floats(0.3, 50))
def test_rounding_moves_each_count_by_less_than_one(seed: int, scale: float) -> None:
    rng, splits, _, levels, variances, _ = drawn_tree(seed, scale=scale)
    fit = tree_least_squares(levels, splits, variances)

    rounded = fair_rounding(fit, splits, rng)

    assert all(np.abs(whole - real).max() < 1 + 1e-9 for whole, real in zip(rounded, fit, strict=True))


@given(seeds, st.floats(0.3, 50), st.sampled_from(["uniform", "proportional"]))
def test_the_greedy_counts_are_consistent_and_comparable(seed: int, scale: float, how: str) -> None:
    _, splits, _, levels, _, axes = drawn_tree(seed, scale=scale)

    final = consistent_counts(levels, splits, how)

    assert is_consistent(final, splits)
    for level, _, left, right in pairs_of(splits, axes):
        gains = [final[level + 1][child] - max(levels[level + 1][child], 0) for child in (left, right)]
        assert min(gains) >= 0 or max(gains) <= 0


@settings(max_examples=300)
@given(st.integers(0, 2**60), st.integers(0, 2**60), st.integers(0, 2**61))
@example(2**58 + 1, 2**58 + 1, 2**59 + 2)
def test_greedy_counts_stay_comparable_where_floats_are_not_exact(a: int, b: int, whole: int) -> None:
    levels = [np.array([whole]), np.array([a, b])]

    for how in ("uniform", "proportional"):
        u, v = consistent_counts(levels, cube_splits(1), how)[1].tolist()

        assert u + v == whole
        assert (u >= a and v >= b) or (u <= a and v <= b)
        assert min(u, v) >= 0


def dense_solution(levels, splits, variances, axes):
    """Generalised least squares for the leaves, by the normal equations with an exact root as a constraint."""
    shape = level_shapes(splits, axes)[-1]
    leaves = math.prod(shape)
    units = [summed_upwards(unit.reshape(shape), splits) for unit in np.eye(leaves)]
    normal, right, constraint = np.zeros((leaves, leaves)), np.zeros(leaves), None
    for level, (counts, variance) in enumerate(zip(levels, variances, strict=True)):
        if counts is None:
            continue
        design = np.stack([unit[level].ravel() for unit in units], axis=1)
        if variance == 0:
            constraint = design, counts.ravel()
            continue
        normal += design.T @ design / variance
        right += design.T @ counts.ravel() / variance
    if constraint is None:
        return np.linalg.solve(normal, right).reshape(shape)
    design, counts = constraint
    whole = np.block([[normal, design.T], [design, np.zeros((len(design),) * 2)]])
    return np.linalg.solve(whole, np.concatenate([right, counts]))[:leaves].reshape(shape)


@settings(max_examples=60)
@given(seeds, st.booleans(), st.sets(st.integers(0, 5)))
def test_without_clipping_the_fit_is_generalised_least_squares(seed: int, exact_root: bool, unasked: set[int]) -> None:
    levels_left_out = tuple(unasked - {0} if exact_root else unasked)
    # So many rows that no estimate comes near 0.
    _, splits, _, levels, variances, axes = drawn_tree(
        seed, rows=10.0**6, scale=20.0, exact_root=exact_root, unasked=levels_left_out
    )

    fit = tree_least_squares(levels, splits, variances)

    # Counts up to 10^6, and normal matrices with condition numbers up to about 10^5.
    np.testing.assert_allclose(fit[-1], dense_solution(levels, splits, variances, axes), rtol=1e-8)


def test_the_dense_solution_notices_wrong_variances() -> None:
    rng = np.random.default_rng(12)
    splits = random_splits(rng, axes=2, depth=4)
    _, levels, variances = noisy_levels(rng, splits, rows=10.0**6, scale=20.0)

    fit = tree_least_squares(levels, splits, [*variances[:-1], 4 * variances[-1]])

    assert np.abs(fit[-1] - dense_solution(levels, splits, variances, 2)).max() > 0.5


def flow(true, final):
    """Spec 01: points that move between two children, 0 where the pairs are comparable (Lemma 4.6)."""
    gains = [after - before for after, before in zip(final, true, strict=True)]
    return min(abs(gain) for gain in gains) if min(gains) < 0 < max(gains) else 0


def excess_transport(exact, final, levels, splits, variances, axes):
    """Realised transport beyond what the pooled noise allows, node by node; spec 01 says it is never above 0."""
    noise = [None if level is None else level - counts for level, counts in zip(levels, exact, strict=True)]
    pooled = pooled_noise(noise, splits, variances)
    worst = abs(final[0].item() - exact[0].item()) - math.ceil(abs(pooled[0].item()) - 1e-9)
    spreads = naive_spreads(splits, variances, axes)
    for level, _, left, right in pairs_of(splits, axes):
        s0, s1 = spreads[level + 1][left], spreads[level + 1][right]
        z0, z1 = pooled[level + 1][left], pooled[level + 1][right]
        allowed = math.ceil(abs(s1 * z0 - s0 * z1) / (s0 + s1) - 1e-9)
        moved = flow([exact[level + 1][child] for child in (left, right)], [final[level + 1][c] for c in (left, right)])
        worst = max(worst, moved - allowed)
    return worst


def naive_spreads(splits, variances, axes):
    shapes = level_shapes(splits, axes)
    spreads = [np.full(shapes[-1], variances[-1])]
    for split, variance, shape in zip(reversed(splits), reversed(variances[:-1]), reversed(shapes[:-1]), strict=True):
        below = summed_upwards(spreads[-1], [split])[0]
        assert below.shape == shape
        spreads.append(1 / (1 / np.float64(variance) + 1 / below))
    return spreads[::-1]


def pooled_noise(noise, splits, variances):
    axes = noise[-1].ndim
    spreads = naive_spreads(splits, variances, axes)
    pooled = [noise[-1].astype(float)]
    for level in range(len(splits) - 1, -1, -1):
        below = summed_upwards(pooled[-1], [splits[level]])[0]
        if noise[level] is not None:
            own = spreads[level] / variances[level]
            below = own * noise[level] + (1 - own) * below
        pooled.append(below)
    return pooled[::-1]


@settings(max_examples=200)
@given(seeds, st.floats(0.3, 30), st.floats(0, 300))
def test_the_realised_transport_is_never_above_the_certificates(seed: int, scale: float, rows: float) -> None:
    rng, splits, exact, levels, variances, axes = drawn_tree(seed, scale=scale, rows=rows, unasked=(1,))

    final = fair_rounding(tree_least_squares(levels, splits, variances), splits, rng)

    assert excess_transport(exact, final, levels, splits, variances, axes) <= 0


def test_the_transport_inequality_fails_for_counts_clipped_before_the_fit() -> None:
    worst = -math.inf
    for seed in range(40):
        rng, splits, exact, levels, variances, axes = drawn_tree(seed, scale=10.0, rows=20.0)
        clipped = [np.maximum(level, 0) for level in levels]
        final = fair_rounding(tree_least_squares(clipped, splits, variances), splits, rng)
        worst = max(worst, excess_transport(exact, final, levels, splits, variances, axes))

    assert worst > 0


FRACTIONS = [np.array([3.4]), np.array([1.6, 1.8]), np.array([0.7, 0.9, 1.75, 0.05])]
DRAWS = 10_000


def largest_bias(draws):
    """Largest distance of a mean count from the given one, in standard errors."""
    worst = 0.0
    for level, real in enumerate(FRACTIONS):
        rounded = np.array([draw[level] for draw in draws])
        error = np.sqrt(np.maximum(rounded.var(axis=0), 1e-3) / len(draws))
        worst = max(worst, float((np.abs(rounded.mean(axis=0) - real) / error).max()))
    return worst


def test_rounding_is_fair_at_every_node() -> None:
    rng = np.random.default_rng(2)

    draws = [fair_rounding(FRACTIONS, cube_splits(2), rng) for _ in range(DRAWS)]

    # Seven means, each beyond 6.5 standard errors with probability below 1e-10.
    assert largest_bias(draws) < 6.5


def test_the_fairness_check_rejects_rounding_to_the_nearest() -> None:
    rng = np.random.default_rng(2)

    def nearest():
        levels = [np.floor(FRACTIONS[0] + rng.random(1))]
        for real in FRACTIONS[1:]:
            left = np.rint(levels[-1] * real[::2] / (real[::2] + real[1::2]))
            levels.append(np.stack([left, levels[-1] - left], axis=1).ravel())
        return levels

    assert largest_bias([nearest() for _ in range(DRAWS)]) > 20


def costs_of_rounding(draws):
    """For many true pairs: mean transport after rounding, less that before, in standard errors."""
    for true in itertools.product(range(4), repeat=2):
        realised = np.array([flow(true, draw.tolist()) for draw in draws])
        error = max(realised.std(), 1e-6) / math.sqrt(len(draws))
        yield (realised.mean() - flow(true, FRACTIONS[1].tolist())) / error


def test_fair_rounding_costs_no_transport_in_expectation() -> None:
    rng = np.random.default_rng(4)

    draws = [fair_rounding(FRACTIONS[:2], cube_splits(1), rng)[1] for _ in range(5000)]

    # Sixteen means, each beyond 6.5 standard errors with probability below 1e-10.
    assert max(abs(cost) for cost in costs_of_rounding(draws)) < 6.5


def test_the_cost_check_rejects_children_that_ignore_their_parent() -> None:
    rng = np.random.default_rng(4)

    draws = []
    for _ in range(5000):
        # Each count alone is fair; the pair is not.
        left = np.floor(FRACTIONS[1][0] + rng.random())
        draws.append(np.array([left, np.floor(FRACTIONS[0][0] + rng.random()) - left]))

    assert max(costs_of_rounding(draws)) > 20


@pytest.mark.parametrize("runs", ["few", "many"])
def test_slices_and_index_arrays_divide_alike(runs: str) -> None:
    rng = np.random.default_rng(1)
    children = np.tile([1, 2], 40) if runs == "many" else np.repeat([1, 2], 40)
    split = AxisSplit(1, np.repeat(np.arange(80), children))
    leaf = rng.integers(0, 9, (1, 120))

    sums = np.zeros((1, 80), dtype=np.int64)
    for family in split.families:
        left = split.at(leaf, family.left)
        split.put(sums, family.parents, left if family.right is None else left + split.at(leaf, family.right))

    assert isinstance(split.families[0].parents, slice) == (runs == "few")
    np.testing.assert_array_equal(sums, summed_upwards(leaf, [split])[0])


# -- Budgets of trees for all inputs.


many_deltas = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30)
notions = st.sampled_from(["pure", "zcdp"])


@settings(max_examples=150, deadline=None)
@given(many_deltas, notions)
def test_the_optimum_is_never_worse_than_the_papers_choice(deltas: list[float], notion: str) -> None:
    optimum = bound_factor(deltas, optimal_shares(deltas, notion), notion)

    # Rounding shares to 2^-20 may cost this much where one of them is a few units.
    assert optimum <= bound_factor(deltas, paper_shares(deltas, notion), notion) * (1 + 1e-4)


@settings(max_examples=100, deadline=None)
@given(many_deltas, notions, st.sampled_from(["noisy", "exact"]))
def test_shares_are_exact_parts_of_one(deltas: list[float], notion: str, root: str) -> None:
    optimal, paper = optimal_shares(deltas, notion, root), paper_shares(deltas, notion, root)

    for shares in (optimal, paper):
        assert sum(shares) == (0 if root == "exact" and len(deltas) == 1 else 1)
        assert min(shares) >= 0
    assert all(paper[1:])


@settings(max_examples=50, deadline=None)
@given(many_deltas, notions, st.floats(1e-3, 1e3))
def test_shares_do_not_depend_on_the_unit_of_length(deltas: list[float], notion: str, unit: float) -> None:
    here, there = optimal_shares(deltas, notion), optimal_shares([unit * delta for delta in deltas], notion)

    ratio = bound_factor(deltas, here, notion) / bound_factor(deltas, there, notion)
    assert abs(ratio - 1) < 2e-4  # each is within 1e-4 of its optimum, as above
