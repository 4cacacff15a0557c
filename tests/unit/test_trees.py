"""Trees: what they refuse, the corners of their input, and their speed."""

import math
import time

import numpy as np
import pytest

from helpers.small_trees import cube_splits, is_consistent, noisy_levels
from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.trees.model import fair_rounding
from lapwing.mechanisms.shared.trees.trees import AxisSplit, level_shapes, pooled_variances, tree_least_squares
from lapwing.mechanisms.trees.pmm.consistency import consistent_counts


@pytest.mark.parametrize("parent", [[], [1, 1], [0, 2], [0, 0, 0], [0, 1, 0], [-1, 0], [[0, 0]]], ids=str)
def test_a_split_refuses_what_is_no_division(parent: list) -> None:
    with pytest.raises(ParameterError, match="one child or two"):
        AxisSplit(0, np.array(parent, dtype=np.int64))


def test_a_split_refuses_a_negative_axis() -> None:
    with pytest.raises(ParameterError, match="axis of a split"):
        AxisSplit(-1, np.array([0, 0]))


def test_splits_that_do_not_follow_each_other_are_refused() -> None:
    with pytest.raises(ParameterError, match="from the root downwards"):
        level_shapes(cube_splits(3)[::-1], 1)


def test_an_axis_beyond_the_table_is_refused() -> None:
    with pytest.raises(ParameterError, match="divides 1 groups of axis 1"):
        level_shapes([AxisSplit(1, np.array([0, 0]))], 1)


@pytest.mark.parametrize(
    ("levels", "variances", "message"),
    [
        ([[1], [1, 1]], [1.0], "2 levels and variances"),
        ([[1], None], [1.0, math.inf], "deepest level"),
        ([[1], [1, 1]], [1.0, -1.0], "at least 0"),
        ([[1], [1, 1]], [1.0, math.nan], "at least 0"),
        ([None, [1, 1]], [1.0, 1.0], "level 0 must have either"),
        ([[1], [1, 1]], [math.inf, 1.0], "level 0 must have either"),
        ([[1], [1, 1, 1]], [1.0, 1.0], "level 1 must have shape"),
        ([[1, 2], [1, 1]], [1.0, 1.0], "level 0 must have shape"),
    ],
)
def test_levels_that_are_no_tree_are_refused(levels: list, variances: list, message: str) -> None:
    arrays = [None if level is None else np.array(level) for level in levels]

    with pytest.raises(ParameterError, match=message):
        tree_least_squares(arrays, cube_splits(1), variances)


def test_an_unknown_consistency_is_refused() -> None:
    with pytest.raises(ParameterError, match="uniform or proportional"):
        consistent_counts([np.array([1])], [], "greedy")


def test_pooled_variances_follow_the_recursion_of_the_specification() -> None:
    pooled = pooled_variances([4.0, math.inf, 2.0])

    # s_2 = 2, s_1 = 2 s_2 = 4, 1/s_0 = 1/4 + 1/8.
    assert pooled == pytest.approx([8 / 3, 4.0, 2.0])


def test_depth_zero_is_the_root_alone() -> None:
    fit = tree_least_squares([np.array([[7]])], [], [2.0])

    assert [level.tolist() for level in fit] == [[[7.0]]]
    assert [level.tolist() for level in fair_rounding(fit, [], np.random.default_rng(0))] == [[[7]]]
    assert [level.tolist() for level in consistent_counts([np.array([-3])], [])] == [[0]]


def test_a_negative_noisy_root_gives_no_rows_anywhere() -> None:
    levels = [np.array([-50]), np.array([3, -2]), np.array([1, 0, 4, -9])]

    fit = tree_least_squares(levels, cube_splits(2), [1.0, 5.0, 5.0])
    greedy = consistent_counts(levels, cube_splits(2))

    assert all(not level.any() for level in [*fit, *greedy])


def test_sums_that_are_off_in_floats_never_make_a_count_negative() -> None:
    # A sum off by one stands for one that is off by an ulp and meets an unlikely coin.
    levels = [np.array([4.0]), np.array([5.0, 0.0]), np.array([0.0, 5.0, 1.0, 0.0])]

    rounded = fair_rounding(levels, cube_splits(2), np.random.default_rng(1))

    assert is_consistent(rounded, cube_splits(2))


def test_an_exact_root_stays_exact() -> None:
    levels = [np.array([10]), None, np.array([4, 9, -7, 1])]

    fit = tree_least_squares(levels, cube_splits(2), [0.0, math.inf, 8.0])

    assert [level.sum() for level in fit] == [10.0, 10.0, 10.0]


def test_levels_without_any_noise_are_kept_as_they_are() -> None:
    levels = [np.array([10]), np.array([4, 6]), np.array([4, 0, 1, 5])]

    fit = tree_least_squares(levels, cube_splits(2), [0.0, 0.0, 0.0])

    assert [level.tolist() for level in fit] == [level.tolist() for level in levels]


def test_noisy_levels_are_not_modified() -> None:
    _, levels, variances = noisy_levels(np.random.default_rng(1), cube_splits(4, 2))
    before = [level.copy() for level in levels]
    for level in levels:
        level.setflags(write=False)

    fit = tree_least_squares(levels, cube_splits(4, 2), variances)
    fair_rounding(fit, cube_splits(4, 2), np.random.default_rng(1))
    consistent_counts(levels, cube_splits(4, 2))

    assert all((one == other).all() for one, other in zip(levels, before, strict=True))


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_a_million_leaves_take_well_under_a_second(dimension: int) -> None:
    splits = cube_splits(20, dimension)
    rng = np.random.default_rng(0)
    levels = [np.rint(rng.normal(3, 9, shape)).astype(np.int64) for shape in level_shapes(splits, dimension)]

    start = time.process_time()
    rounded = fair_rounding(tree_least_squares(levels, splits, [50.0] * 21), splits, rng)
    spent = time.process_time() - start

    assert rounded[-1].size == 2**20
    assert rounded[-1].sum() == rounded[0].sum()
    assert rounded[-1].min() >= 0
    # About 0.1 s on one core; the limit is the builder's target.
    assert spent < 0.6


def test_single_children_keep_what_their_parent_has() -> None:
    # The second group divides no further: its count is measured twice.
    splits = [AxisSplit(0, np.array([0, 0])), AxisSplit(0, np.array([0, 0, 1]))]
    levels = [np.array([30]), np.array([10, 20]), np.array([4, 6, 26])]

    fit = tree_least_squares(levels, splits, [1.0, 1.0, 1.0])

    assert is_consistent(fit, splits, tolerance=1e-12)
    assert fit[1][1] == fit[2][2]
    assert 20 < fit[1][1] < 26
