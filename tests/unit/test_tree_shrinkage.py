"""Counts that are shrunk along the tree: consistent, near least squares, and less noisy where there is no structure."""

import math

import numpy as np
import pytest

from helpers.small_trees import is_consistent, noisy_levels, random_splits
from lapwing.mechanisms.shared.trees.shrinkage import shrunk_fit
from lapwing.mechanisms.shared.trees.trees import Split, tree_least_squares


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
    levels, splits = [None, np.array(counts)], [Split(0, np.array([0, 0]))]
    variances = [math.inf, variance]

    fit = shrunk_fit(levels, splits, variances, even(splits))
    plain = tree_least_squares(levels, splits, variances)

    assert fit[0] == plain[0]
    assert abs(fit[1][0] - plain[1][0]) <= math.sqrt(variance / 2) + 1e-9
