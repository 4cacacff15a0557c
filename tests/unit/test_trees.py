"""Trees: what they refuse, the corners of their input, and their speed."""

import math

import numpy as np
import pytest

from helpers.small_trees import cube_splits
from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.trees.trees import Split, pooled_variances, tree_least_squares


@pytest.mark.parametrize("parent", [[], [1, 1], [0, 2], [0, 0, 0], [0, 1, 0], [-1, 0], [[0, 0]]], ids=str)
def test_a_split_refuses_what_is_no_division(parent: list) -> None:
    with pytest.raises(ParameterError, match="one child or two"):
        Split(0, np.array(parent, dtype=np.int64))


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


def test_pooled_variances_follow_the_recursion_of_the_specification() -> None:
    pooled = pooled_variances([4.0, math.inf, 2.0])

    # s_2 = 2, s_1 = 2 s_2 = 4, 1/s_0 = 1/4 + 1/8.
    assert pooled == pytest.approx([8 / 3, 4.0, 2.0])
