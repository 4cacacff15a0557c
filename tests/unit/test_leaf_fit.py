"""Fits of leaves along a tree: worked examples, hand-over of thin leaves, refusals."""

import numpy as np
import pytest

from helpers.leaf_trees import fitted, levels_of
from lapwing.errors import ParameterError
from lapwing.mechanisms.trees.kd_tree.cells import leaf_least_squares

NEVER = float("-inf")


def masses(tree, total, threshold=NEVER):
    return [mass for _, mass in sorted(fitted(tree, total, threshold).items())]


@pytest.mark.parametrize(
    ("tree", "total", "expected"),
    [
        (5, 5, [5]),
        (5, 8, [8]),
        (-5, 3, [3]),
        ((7, -2), 5, [5, 0]),
        ((7, 2), 9, [7, 2]),
        ((7, 2), 11, [8, 3]),
        ((7, 2), 3, [3, 0]),
        (((4,), 2), 10, [6, 4]),
        # What the root has too much goes to both sides alike, and on each side to its leaves alike.
        (((3, 1), (2, 2)), 12, [4, 2, 3, 3]),
        # A negative leaf takes from its sibling; where that has too little, the next relatives have had it already.
        (((6, -4), 8), 10, [2, 0, 8]),
        (((1, -4), 8), 5, [0, 0, 5]),
        ((0, 0), 0, [0, 0]),
    ],
)
def test_a_node_shares_its_mass_by_the_difference_of_its_children(tree, total, expected):
    assert masses(tree, total) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("tree", "threshold", "expected"),
    [
        ((7, 2), 3, [9, 0]),
        ((2, 7), 3, [0, 9]),
        ((7, 3), 3, [7, 3]),
        # The pair (2, 1) hands its rows to its cousins, which share them alike.
        (((2, 1), (9, 6)), 3, [0, 0, 10.5, 7.5]),
        # Thin leaves whose sibling is full leave the other side of the root alone.
        (((2, 9), (20, 1)), 3, [0, 11, 21, 0]),
        ((((2, 1), 5), 20), 3, [0, 0, 8, 20]),
    ],
)
def test_leaves_below_the_threshold_hand_their_rows_to_their_nearest_relatives(tree, threshold, expected):
    total = sum(expected)

    assert masses(tree, total, threshold) == pytest.approx(expected)


@pytest.mark.parametrize("counts", [[1], [1, 2, 3], []])
def test_counts_that_are_not_one_per_leaf_are_refused(counts):
    levels, _ = levels_of((1, 2))

    with pytest.raises(ParameterError, match="one count per leaf and a total of at least 0; check them"):
        leaf_least_squares(levels, np.array(counts, dtype=np.int64), 3.0, 1.0)
