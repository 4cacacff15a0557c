"""SparseCounts: what it refuses, what it costs, its privacy loss, and its record."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import CountingBits, SeededBits
from helpers.cells import ADD_REMOVE, above, answered, coded, counts_asked, point, tree_over, whole_numbers
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript

SCHEMA = whole_numbers(x=8, y=3)
TREE = tree_over(SCHEMA, 3).grown(np.array([[0, 0], [3, 1]]), (np.array([True, False, True]),))
GRID = tree_over(SCHEMA, 5)
ROWS = [(0, 0), (0, 1), (1, 1), (7, 2), (7, 2), (3, 0), (None, 0)]


@functools.cache
def small():
    return coded(SCHEMA, ROWS)


def room(*, bits=None, budget=2, recorded=(), schema=SCHEMA, source=None):
    bits = bits or SystemBits()
    return Room(
        source or small(), schema, ADD_REMOVE, Budget.pure(budget), bits=bits, sink=NoTranscript(), recorded=recorded
    )


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threshold": 1.5}, "threshold of counts must be from -2\\*\\*60 to 2\\*\\*60, got 1.5"),
        ({"threshold": False}, "threshold of counts"),
        ({"threshold": 2**60 + 1}, "threshold of counts"),
        ({"threshold": -(2**60) - 1}, "threshold of counts"),
        ({"epsilon": 1}, "must be a Fraction above 0, got 1"),
        ({"epsilon": Fraction(0)}, "must be a Fraction above 0"),
        ({"notion": "both"}, "'pure' or 'zcdp'"),
    ],
)
def test_a_malformed_question_is_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        SparseCounts(**{"tree": TREE, "threshold": 1, "epsilon": Fraction(1), "notion": "pure"} | changes)


def test_noise_beyond_64_bits_is_refused():
    with pytest.raises(ParameterError, match="gives noise above 2\\*\\*50 records"):
        counts_asked(TREE, epsilon=Fraction(1, 2**52)).noise("add-remove", 1)


def answer(**changes):
    """Return an answer by hand over 6 first leaves (2 of 8 are split) and the listed ones."""
    parts = {
        "question": counts_asked(TREE, threshold=2),
        "first_cells": np.array([[0, 1], [2, 0]]),
        "listed_places": np.array([0, 3]),
        "counts": np.array([2, 9, 3, 4]),
        "noise": NoiseLaw("laplace", Fraction(1)),
    }
    return NoisyCells(**parts | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"first_cells": np.array([[0, 1], [2, 0]], dtype=np.int32)},
            "first_cells of noisy cells must be int64 of shape",
        ),
        ({"first_cells": np.array([[0], [2]])}, "first_cells of noisy cells must be int64 of shape \\(2, 2\\)"),
        ({"listed_places": np.array([[0, 3]])}, "listed_places of noisy cells must be int64"),
        ({"counts": np.array([2, 9, 3])}, "counts of noisy cells must be int64 of shape \\(4,\\)"),
        ({"counts": np.array([2.0, 9, 3, 4])}, "counts of noisy cells must be int64"),
        ({"counts": np.array([2, 9, 3, 1])}, "must reach the threshold 2"),
        ({"noise": NoiseLaw("gaussian", Fraction(1))}, "carry Laplace noise, got gaussian"),
        ({"first_cells": np.array([[2, 0], [0, 1]])}, "distinct leaves of the tree, in its order"),
        ({"first_cells": np.array([[0, 1], [0, 1]])}, "distinct leaves of the tree"),
        ({"first_cells": np.array([[0, 0], [2, 0]])}, "distinct leaves of the tree"),  # split, so no leaf
        ({"first_cells": np.array([[0, 1], [4, 0]])}, "distinct leaves of the tree"),
        ({"first_cells": np.array([[0, 1], [2, -1]])}, "distinct leaves of the tree"),
        ({"listed_places": np.array([3, 0])}, "distinct leaves of the tree"),
        ({"listed_places": np.array([3, 3])}, "distinct leaves of the tree"),
        ({"listed_places": np.array([-1, 3])}, "distinct leaves of the tree"),
        ({"listed_places": np.array([0, 5])}, "distinct leaves of the tree"),
        ({"question": counts_asked(TREE, threshold=None)}, "distinct leaves of the tree"),  # it wants all of them
    ],
)
def test_an_answer_that_does_not_fit_its_question_is_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        answer(**changes)


# ------------------------------------------------------------------------------------------ its price and capacity


def test_the_noise_is_that_of_one_count_and_the_price_epsilon_or_half_its_square():
    question = counts_asked(TREE, epsilon=Fraction(1, 2))

    assert question.sensitivity("replace-one", 3) == Sensitivity(6, 18)
    assert [question.noise(*terms).parameter for terms in (("add-remove", 1), ("replace-one", 1))] == [2, 4]
    assert question.noise("replace-one", 3).parameter == 12
    assert question.cost == Budget.pure("1/2")
    assert counts_asked(TREE, epsilon=Fraction(1, 2), notion="zcdp").cost == Budget.zcdp("1/8")


def test_in_rho_all_leaves_have_gaussian_noise_and_filtered_ones_laplace_noise():
    every, filtered = (
        counts_asked(TREE, epsilon=Fraction(1, 2), notion="zcdp", threshold=threshold) for threshold in (None, 1)
    )

    assert every.noise("add-remove", 3) == NoiseLaw("gaussian", Fraction(36))
    assert every.noise("replace-one", 1) == NoiseLaw("gaussian", Fraction(8))
    assert filtered.noise("add-remove", 1) == NoiseLaw("laplace", Fraction(2))
    found = answered(every, small(), SystemBits())
    assert found.noise == NoiseLaw("gaussian", Fraction(4))
    assert found.privacy_loss({(0, 1): 5}, {(0, 1): 4, (0, 2): 1}) == Fraction(1, 4)
    assert found.privacy_loss({(0, 1): 5}, {(0, 1): 4}) == every.cost.rho


@pytest.mark.parametrize(
    ("columns", "threshold", "epsilon"),
    [
        (4, 1, Fraction(1)),
        (4, None, Fraction(1)),
        (4, -(2**60), Fraction(1)),
        (200, 700, Fraction(1)),  # 2**1600 cells, each with chance exp(-700)
        (200, 800, Fraction(1)),  # a chance that no float holds
        (500, 2000, Fraction(1)),
        (4, 0, Fraction(10) ** 400),
    ],
)
def test_too_many_empty_cells_are_refused_before_any_draw(columns, threshold, epsilon):
    schema = whole_numbers(**{f"x{i}": 2**8 for i in range(columns)})
    bits = CountingBits(SeededBits(1))
    question = counts_asked(tree_over(schema, 8 * columns), threshold=threshold, epsilon=epsilon)

    with pytest.raises(CapacityError, match="raise it or use wider cells"):
        room(bits=bits, schema=schema, source=coded(schema, []), budget=10**401).ask(question)
    assert bits.count == 0


@pytest.mark.parametrize(("columns", "threshold"), [(4, 40), (20, 130)])
def test_a_grid_beyond_all_memory_is_answered(columns, threshold):
    schema = whole_numbers(**{f"x{i}": 2**8 for i in range(columns)})
    rows = [(3,) * columns] * 500 + [tuple(range(columns))]

    (found,) = room(schema=schema, source=coded(schema, rows)).ask(
        counts_asked(tree_over(schema, 8 * columns), threshold=threshold)
    )

    assert [3] * columns in found.first_cells.tolist()
    assert len(found.first_cells) < 20


# ---------------------------------------------------------------------------------------------------- in the room


@pytest.mark.parametrize("threshold", [1, 2, 3])
def test_a_large_budget_counts_the_leaves_exactly(threshold):
    grid = counts_asked(GRID, threshold=threshold, epsilon=Fraction(10**6))
    tree = counts_asked(TREE, threshold=threshold, epsilon=Fraction(10**6))

    flat, leaves = room(budget=10**7).ask(grid, tree)

    cells = [((0, 0), 1), ((0, 1), 1), ((1, 1), 1), ((3, 0), 1), ((7, 2), 2)]
    kept = [(list(cell), count) for cell, count in cells if count >= threshold]
    assert list(zip(flat.first_cells.tolist(), flat.counts.tolist(), strict=True)) == kept
    assert int(leaves.counts.sum()) == sum(count for count in (1, 2, 1, 2) if count >= threshold)
    assert leaves.tables[0].counts is leaves.counts


def test_without_a_threshold_every_leaf_is_counted():
    (found,) = room(budget=10**7).ask(counts_asked(TREE, threshold=None, epsilon=Fraction(10**6)))

    assert len(found.counts) == 6 + sum(len(cells) for _, cells in TREE.leaves())
    assert found.counts.sum() == len(ROWS) - 1
    assert (found.counts == 0).any()


# ------------------------------------------------------------------------------------------------- its privacy loss


def leaf_counts(rows):
    """Return the rows of the leaves of x, 0 to 3 and 4 to 5 whole, and 6 and 7 alone."""
    found = {}
    for row in rows:
        leaf = (2, row // 2) if row < 6 else (3, row)
        found[leaf] = found.get(leaf, 0) + 1
    return found


def probability(found, exact, leaves):
    """Return the chance of an answer: the product over all leaves, shown or not."""
    levels, cells = found.leaves
    named = zip(levels.tolist(), cells[:, 0].tolist(), found.counts.tolist(), strict=True)
    shown, chance = {(level, cell): count for level, cell, count in named}, 1.0
    scale, threshold = float(found.noise.parameter), found.question.threshold
    for leaf in leaves:
        count = exact.get(leaf, 0)
        chance *= point(scale, shown[leaf] - count) if leaf in shown else 1 - above(scale, threshold - count)
    return chance


@pytest.mark.parametrize("threshold", [3, 1, 0, -2, None])
def test_the_privacy_loss_is_the_ratio_of_the_chances_of_all_leaves(threshold):
    schema, rng = whole_numbers(x=8), np.random.default_rng(5)
    tree = tree_over(schema, 2).grown(np.array([[3]]), ())

    for trial in range(60):
        rows = rng.integers(0, 8, 7).tolist()
        other = rows[trial % 3 :] + rng.integers(0, 8, trial % 4).tolist()
        question = counts_asked(tree, threshold=threshold, epsilon=Fraction(2, 3))
        found = answered(question, coded(schema, [(row,) for row in rows]), SeededBits(trial))
        one, two = leaf_counts(rows), leaf_counts(other)

        leaves = [(2, 0), (2, 1), (2, 2), (3, 6), (3, 7)]
        ratio = probability(found, one, leaves) / probability(found, two, leaves)
        assert float(found.privacy_loss(one, two)) == pytest.approx(abs(math.log(ratio)), abs=1e-12)


# ------------------------------------------------------------------------------------------------------- its record
