"""SplitDecisions: what it refuses, what it costs, its privacy loss, and its record."""

import functools
import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import CountingBits, SeededBits
from helpers.cells import ADD_REMOVE, answered, coded, needed, point, split_set, splits_asked, tree_over, whole_numbers
from lapwing.errors import CapacityError, ParameterError
from lapwing.extras.audit.checks.cells import loss_flags, recounted_cells
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity
from lapwing.kernel.questions.shared import cells as listing
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms

SCHEMA = whole_numbers(x=8, y=3)
TREE = tree_over(SCHEMA, 2)
ROWS = [(0, 0), (0, 1), (1, 1), (7, 2), (7, 2), (3, 0), (None, 0)]
WIDE = whole_numbers(**{f"x{i}": 2**8 for i in range(200)})


@functools.cache
def small():
    return coded(SCHEMA, ROWS)


def room(*, bits=None, budget=2, terms=ADD_REMOVE, recorded=(), schema=SCHEMA, source=None):
    return Room(
        source or small(),
        schema,
        terms,
        Budget.pure(budget),
        bits=bits or SystemBits(),
        sink=NoTranscript(),
        recorded=recorded,
    )


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rule": "best"}, "must be paper or privtree, got 'best'"),
        ({"threshold": 1.5}, "threshold of splits must be from -2\\*\\*60 to 2\\*\\*60, got 1.5"),
        ({"threshold": True}, "threshold of splits"),
        ({"threshold": 2**60 + 1}, "threshold of splits"),
        ({"threshold": -(2**61)}, "threshold of splits"),
        ({"epsilon": 0.5}, "must be a Fraction above 0, got 0.5"),
        ({"epsilon": Fraction(0)}, "must be a Fraction above 0"),
        ({"epsilon": Fraction(-1)}, "must be a Fraction above 0"),
        ({"notion": "renyi"}, "'pure' or 'zcdp'"),
        ({"tree": tree_over(SCHEMA, 5)}, "with levels below its first"),
        ({"tree": tree_over(SCHEMA, 4).grown(np.array([[0, 0]]), ())}, "a tree without split cells"),
    ],
)
def test_a_malformed_question_is_refused(changes, message):
    parts = {"tree": TREE, "rule": "paper", "threshold": 1, "epsilon": Fraction(1), "notion": "pure"}

    with pytest.raises(ParameterError, match=message):
        SplitDecisions(**parts | changes)


def test_noise_beyond_64_bits_is_refused():
    with pytest.raises(ParameterError, match="gives noise above 2\\*\\*50 records"):
        splits_asked(TREE, epsilon=Fraction(1, 2**52)).noise("add-remove", 1)


def test_an_answer_with_other_noise_is_refused():
    question = splits_asked(TREE)

    with pytest.raises(ParameterError, match="split decisions carry Laplace noise, got gaussian"):
        Splits(question, question.tree.splits, NoiseLaw("gaussian", Fraction(1)))


# ------------------------------------------------------------------------------------------------------ its price


@pytest.mark.parametrize(
    ("rule", "relation", "max_rows", "scale"),
    [
        ("paper", "add-remove", 1, 6),  # three levels decide; epsilon is 1/2
        ("paper", "replace-one", 1, 12),
        ("paper", "add-remove", 3, 18),
        ("paper", "replace-one", 3, 36),
        ("privtree", "add-remove", 1, 6),
        ("privtree", "replace-one", 1, 12),
        ("privtree", "add-remove", 3, 18),
        ("privtree", "replace-one", 3, 36),
    ],
)
def test_the_noise_is_that_of_all_decisions_on_a_path(rule, relation, max_rows, scale):
    question = splits_asked(TREE, rule=rule, epsilon=Fraction(1, 2))

    assert question.noise(relation, max_rows) == NoiseLaw("laplace", Fraction(scale))


def test_the_paper_pays_for_each_level_and_privtree_for_three_whatever_the_depth():
    for first in range(5):
        tree = tree_over(SCHEMA, first)
        assert splits_asked(tree).sensitivity("add-remove", 1) == Sensitivity(5 - first, 5 - first)
        assert splits_asked(tree, rule="privtree").sensitivity("add-remove", 1).l1 == 3


@pytest.mark.parametrize("scale", [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(10, 7), Fraction(2**49)])
def test_the_step_halves_the_tail_of_the_noise_and_no_shorter_one_does(scale):
    step = splits_asked(TREE, rule="privtree").step(NoiseLaw("laplace", scale))

    with localcontext(Context(prec=60)):
        halving = Decimal(scale.numerator) / scale.denominator * Decimal(2).ln()
    assert halving <= step < halving + 1


# --------------------------------------------------------------------------------------------------- its capacity


@pytest.mark.parametrize(
    ("first", "threshold", "epsilon"),
    [
        (40, 3, Fraction(1)),
        (1200, 700 * 400, Fraction(1)),  # 2**1200 cells split with chance exp(-700) each
        (1200, 800 * 400, Fraction(1)),  # a chance that no float holds
        (0, -50, Fraction(1)),  # every empty cell splits, 1600 levels deep
        (1599, 3, Fraction(10) ** 400),
    ],
)
def test_a_tree_whose_empty_cells_split_too_often_is_refused_before_any_draw(first, threshold, epsilon):
    bits = CountingBits(SeededBits(1))
    question = splits_asked(tree_over(WIDE, first), threshold=threshold, epsilon=epsilon)
    if epsilon > 1:
        question.check(Terms(relation="add-remove"), WIDE)  # noise this small never splits an empty cell
        return

    with pytest.raises(CapacityError, match="raise tau or use fewer levels"):
        room(bits=bits, schema=WIDE, source=coded(WIDE, [])).ask(question)
    assert bits.count == 0


def test_the_empty_cells_that_are_split_are_all_where_the_threshold_is_far_below_zero():
    question = splits_asked(tree_over(WIDE, 0), threshold=-(2**59), epsilon=Fraction(1))

    with pytest.raises(CapacityError, match=r"1600 levels below splits about 2\*\*1600\.0 empty"):
        question.check(Terms(relation="add-remove"), WIDE)


def test_a_tree_of_many_first_cells_that_hardly_ever_split_is_answered():
    schema = whole_numbers(**{f"x{i}": 2**8 for i in range(20)})
    question = splits_asked(tree_over(schema, 150), threshold=125 * 10, epsilon=Fraction(1))

    (answer,) = room(schema=schema, source=coded(schema, [tuple(range(20)), (0,) * 20])).ask(question)

    assert len(answer.tree.split_cells) < 40  # 2**150 exp(-125) / 2 = exp(-21.7) are expected


def test_a_noisy_tree_that_grows_too_large_is_refused_by_its_decisions_alone(monkeypatch):
    monkeypatch.setattr(listing, "MAX_CELLS", 6)

    with pytest.raises(CapacityError, match="use fewer levels"):
        answered(splits_asked(TREE, threshold=-60), small(), SeededBits(1))


# ---------------------------------------------------------------------------------------------------- in the room


@pytest.mark.parametrize(
    ("rule", "third", "fourth"),
    [
        # Level 3 divides y: cells with y = 0 are not divided there and decide nothing.
        ("paper", [True, False, False, True], [False, False, True, False, False, True]),
        # The step is 1: two rows are above a threshold of 1 in the first decision of a path only.
        ("privtree", [False, False, False, False], [False, False]),
    ],
)
def test_a_large_budget_decides_by_the_exact_counts(rule, third, fourth):
    question = splits_asked(TREE, rule=rule, threshold=1, epsilon=Fraction(10**6))

    (answer,) = room(budget=10**7).ask(question)

    assert answer.tree.split_cells.tolist() == [[0, 0], [0, 1], [1, 1]]
    assert [each.tolist() for each in answer.tree.decisions] == [third, fourth]


PASSING = tree_over(SCHEMA, 0, schedule=(1, 1, 0, 0, 0))  # y = 0 is alone from level 1 on, so level 1 passes it on
ZEROS = [(0, 0)] * 4


def test_a_level_that_does_not_divide_a_cell_is_no_decision_on_its_path():
    question = splits_asked(PASSING, rule="privtree", threshold=1, epsilon=Fraction(10**6))

    answer = answered(question, coded(SCHEMA, ZEROS), SystemBits())

    # Steps of 1: the four rows count as 4, then (after the passing level) as 3, 2 and 1; the last is not above 1.
    on_the_path = [bool(each[0]) for each in answer.tree.decisions]
    assert on_the_path == [False, True, True, False]  # level 1 decides y > 0 alone


def test_a_level_that_does_not_divide_a_cell_adds_nothing_to_its_loss():
    question = splits_asked(PASSING, rule="privtree", threshold=1, epsilon=Fraction(20))
    seen = set()

    for seed in range(40):
        answer = answered(question, coded(SCHEMA, ZEROS), SeededBits(seed))
        one, other = (recounted_cells(answer, coded(SCHEMA, rows)) for rows in (ZEROS, [*ZEROS, (0, 0)]))
        assert loss_flags(answer, one, other) == []
        seen.add(len(answer.tree.decisions))

    assert max(seen) == 4


# ------------------------------------------------------------------------------------------------- its privacy loss


def probability(question, answer, rows):
    """Return the chance of an answer on a tree of one column, from sums over the noise of every cell that decides."""
    tree, scale = question.tree, float(answer.noise.parameter)
    split, chance = split_set(answer.tree), 1.0
    waiting = [(tree.first, cell) for cell in range(1 << tree.first)]
    while waiting:
        level, cell = waiting.pop()
        if level == tree.depth:
            continue
        count = sum(row >> (tree.depth - level) == cell for row in rows)
        least = needed(question.rule, question.threshold, scale, count, level - tree.first)
        above = math.fsum(point(scale, noise) for noise in range(least, 200))
        chance *= above if (level, cell) in split else 1 - above
        if (level, cell) in split:
            waiting += [(level + 1, 2 * cell), (level + 1, 2 * cell + 1)]
    return chance


def counts_of(answer, rows):
    """Return the rows of all cells from the first level on."""
    tree, found = answer.tree, {}
    for level, row in itertools.product(range(tree.first, tree.depth), rows):
        cell = (level, row >> (tree.depth - level))
        found[cell] = found.get(cell, 0) + 1
    return found


@pytest.mark.parametrize(("rule", "threshold"), [("paper", 1), ("paper", -2), ("privtree", 0), ("privtree", 2)])
def test_the_privacy_loss_is_the_ratio_of_the_chances_of_all_cells(rule, threshold):
    rng = np.random.default_rng(4)

    for trial in range(40):
        question = splits_asked(
            tree_over(whole_numbers(x=16), trial % 3), rule=rule, threshold=threshold, epsilon=Fraction(3, 2)
        )
        rows = rng.integers(0, 16, 6).tolist() + [5] * (trial % 4)
        other = rows[1:] + rng.integers(0, 16, trial % 3).tolist()
        answer = answered(question, coded(whole_numbers(x=16), [(row,) for row in rows]), SeededBits(trial))

        told = answer.privacy_loss(counts_of(answer, rows), counts_of(answer, other))

        true = abs(math.log(probability(question, answer, rows) / probability(question, answer, other)))
        assert float(told) == pytest.approx(true, abs=1e-9)  # sums of 200 floats; what is left out is below 1e-19


# ------------------------------------------------------------------------------------------------------- its record
