"""Counts that are shrunk along the tree: consistent, near least squares, and less noisy where there is no structure."""

import math

import numpy as np
import pytest

from helpers.small_trees import cube_splits, is_consistent, noisy_levels, random_splits, summed_upwards
from lapwing.mechanisms.shared.trees.shrinkage import shrunk_fit
from lapwing.mechanisms.shared.trees.trees import AxisSplit, tree_least_squares


def even(splits):
    return [np.full(split.parents, 0.5) for split in splits]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("exact_root", [True, False])
def test_a_shrunk_tree_is_consistent(seed: int, exact_root: bool) -> None:
    rng = np.random.default_rng(seed)
    splits = random_splits(rng, axes=2, depth=5)
    _, levels, variances = noisy_levels(rng, splits, unasked=(1,), exact_root=exact_root)

    fit = shrunk_fit(levels, splits, variances, even(splits))

    assert is_consistent(fit, splits, tolerance=1e-9)


@pytest.mark.parametrize("counts", [[90, 10], [100, 0], [3, -40], [52, 48], [-5, -3]])
@pytest.mark.parametrize("variance", [1.0, 400.0])
def test_a_child_moves_by_one_standard_deviation_at_most(counts: list[int], variance: float) -> None:
    levels, splits = [None, np.array(counts)], [AxisSplit(0, np.array([0, 0]))]
    variances = [math.inf, variance]

    fit = shrunk_fit(levels, splits, variances, even(splits))
    plain = tree_least_squares(levels, splits, variances)

    assert fit[0] == plain[0]
    assert abs(fit[1][0] - plain[1][0]) <= math.sqrt(variance / 2) + 1e-9


def test_without_noise_nothing_is_shrunk() -> None:
    splits = cube_splits(5)
    exact = summed_upwards(np.random.default_rng(1).poisson(9, 32), splits)

    fit = shrunk_fit([None] * 5 + [exact[-1]], splits, [math.inf] * 5 + [0.0], even(splits))

    assert fit[-1] == pytest.approx(exact[-1])


def mean_errors(leaf: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Return what must move along a line on average, after shrinking and by least squares."""
    splits = cube_splits(8)
    found = []
    for _ in range(40):
        noisy = leaf + np.rint(rng.laplace(0, 8, leaf.shape)).astype(np.int64)
        tree = [np.array([int(leaf.sum())]), *[None] * 7, noisy], splits, [0.0, *[math.inf] * 7, 128.0]
        fits = shrunk_fit(*tree, even(splits))[-1], tree_least_squares(*tree)[-1]
        found.append([np.abs(np.cumsum(fit - leaf)).sum() / leaf.sum() / leaf.size for fit in fits])
    shrunk, plain = np.mean(found, axis=0).tolist()
    return shrunk, plain


def test_even_rows_come_out_more_even_and_lumps_stay_lumps() -> None:
    rng, lumps = np.random.default_rng(1), np.zeros(256, dtype=np.int64)
    lumps[[3, 50, 51, 200]] = [800, 700, 300, 200]

    shrunk_even, plain_even = mean_errors(np.full(256, 8), rng)
    shrunk_lumps, plain_lumps = mean_errors(lumps, rng)

    assert shrunk_even < 0.7 * plain_even
    assert shrunk_lumps < 1.25 * plain_lumps
