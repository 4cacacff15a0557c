"""Trees of cells: their shape, how often they are split, their sparse counts, and the records of both."""

import functools
import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import CountingBits, SeededBits
from helpers.cases import spread
from helpers.cells import (
    ADD_REMOVE,
    above,
    answered,
    coded,
    counts_asked,
    needed,
    point,
    split_set,
    splits_asked,
    tree_over,
    whole_numbers,
)
from lapwing.errors import CapacityError, ParameterError
from lapwing.extras.audit.checks.cells import loss_flags, recounted_cells
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity
from lapwing.kernel.questions.shared import cells as listing
from lapwing.kernel.questions.shared import cells as module
from lapwing.kernel.questions.shared.cells import CellSplits, CellTree
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.trees.cell_levels import epsilon_of
from lapwing.mechanisms.trees.kd_tree.cells import halving_tree
from lapwing.schema.groupings.hierarchies import diameters, hierarchy
from lapwing.schema.schemas import Schema

SCHEMA = whole_numbers(x=8, y=3)
TREE = tree_over(SCHEMA, 2)  # cut x, y, x, y, x: 2 x 2 cells on level 2


def cells(*rows, columns=2):
    return np.array(rows, dtype=np.int64).reshape(-1, columns)


def flags(*values):
    return np.array(values, dtype=bool)


def parts(tree, **changes):
    whole = {name: getattr(tree, name) for name in ("columns", "hierarchies", "schedule", "first")} | changes
    return whole | {"splits": CellSplits(whole.pop("chosen", tree.split_cells), whole.pop("decisions", ()))}


# ------------------------------------------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": (), "hierarchies": (), "schedule": (), "first": 0}, "needs distinct columns"),
        ({"columns": ("x", "x")}, "name each column once"),
        ({"columns": ("x",)}, "1 columns and 2 hierarchies"),
        ({"schedule": (0, 1, 0, 1, 2)}, "positions of the 2 columns"),
        ({"schedule": (0, 1, 0, 1, -1)}, "positions of the 2 columns"),
        ({"schedule": (0, 1, 0, 1)}, "the schedule divides 'x' 2 times, its hierarchy has 3 levels"),
        ({"schedule": (0, 1, 0, 1, 0, 1)}, "the schedule divides 'y' 3 times"),
        ({"first": -1}, "the first level of a tree of cells must lie from 0 to its 5 levels"),
        ({"first": 6}, "the first level of a tree of cells must lie from 0 to its 5 levels"),
        ({"chosen": np.zeros((1, 2))}, "split cells must be int64 with 2 columns, got float64"),
        ({"chosen": cells((0, 0, 0), columns=3)}, "split cells must be int64 with 2 columns"),
        ({"chosen": np.zeros(2, dtype=np.int64)}, "split cells must be int64 with 2 columns"),
        ({"first": 5, "chosen": cells((0, 0))}, "no level below the split ones"),
        ({"chosen": cells((2, 0))}, "lies outside its level"),
        ({"chosen": cells((0, -1))}, "lies outside its level"),
        ({"chosen": cells((1, 0), (0, 1))}, "in the order of their ranks"),
        ({"chosen": cells((1, 0), (1, 0))}, "distinct"),
        ({"decisions": (flags(True),)}, "needs 0 decisions on 0 levels, one per cell that can be divided, got 1 on 1"),
        ({"chosen": cells((1, 1))}, "needs 2 decisions on 1 levels, one per cell that can be divided, got 0 on 0"),
        ({"chosen": cells((1, 1)), "decisions": (flags(True),)}, "needs 2 decisions on 1 levels.*, got 1 on 1"),
        ({"chosen": cells((1, 1)), "decisions": (flags(False, False), flags())}, "on 1 levels.*, got 2 on 2"),
        ({"chosen": cells((1, 1)), "decisions": (flags(True, False),)}, "needs 4 decisions on 2 levels.*, got 2 on 1"),
    ],
)
def test_a_malformed_tree_is_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        CellTree(**parts(TREE, **changes))


def test_a_tree_that_lists_too_many_cells_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_CELLS", 3)

    with pytest.raises(CapacityError, match="lists more than 3 numbers"):
        TREE.grown(cells((0, 0), (0, 1), (1, 0), (1, 1)), ())
    monkeypatch.setattr(module, "MAX_CELLS", 8)
    with pytest.raises(CapacityError, match="lists more than 8 numbers, one per cell and column"):
        TREE.grown(cells((0, 0), (1, 1)), (flags(True, True),))


# ------------------------------------------------------------------------------------------------ levels and cells
@pytest.mark.parametrize("columns", [7, 8, 30])
def test_ranks_beyond_64_bits_are_whole_numbers_and_come_back(columns):
    schema = whole_numbers(**{f"x{i}": 300 for i in range(columns)})
    tree = tree_over(schema, 8 * columns, depths=(8,) * columns)
    rng = np.random.default_rng(columns)
    some = rng.integers(0, 256, (50, columns))
    some[0], some[1] = 255, 0

    ranks = tree.ranks_of(some)

    assert tree.cells == 256**columns
    assert int(ranks[0]) == tree.cells - 1
    assert int(ranks[1]) == 0
    assert tree.cells_of(ranks).tolist() == some.tolist()
    assert [int(rank) for rank in ranks] == [int.from_bytes(bytes(row.tolist()), "big") for row in some]


def test_a_run_that_a_level_does_not_divide_goes_on_as_it_is_and_decides_nothing():
    # y is cut 0 | 1 2, then 0 | 1 | 2: on level 3 only its second run can be divided.
    tree = TREE.grown(cells((0, 0), (1, 1)), (flags(True, False), flags(False, False, False, False)))

    (third, listed), (fourth, below) = tree.levels()

    assert (third, listed.tolist()) == (3, [[0, 0], [1, 0], [2, 1], [3, 1]])
    assert tree.divisible(3, listed).tolist() == [False, False, True, True]
    assert tree.next_level(3, listed).tolist() == [True, True, True, False]
    assert (fourth, below.tolist()) == (4, [[0, 0], [1, 0], [2, 1], [2, 2]])
    assert [(level, cells.tolist()) for level, cells in tree.leaves()] == [(3, [[3, 1]]), (4, below.tolist())]


NEEDED = {"required": True}
FIELDS = {
    "x": {"type": "number", "constraints": {"minimum": 0, "maximum": 1, **NEEDED}},
    "optional": {"type": "number", "constraints": {"minimum": -5, "maximum": 3}, "special": [99, 98]},
    "few": {"type": "integer", "constraints": {"minimum": 0, "maximum": 6, **NEEDED}},
    "many": {"type": "integer", "constraints": {"minimum": 0, "maximum": 999}},
    "day": {"type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31", **NEEDED}},
    "income": {"type": "integer", "constraints": {"minimum": -20, "maximum": 5000}, "scale": "log"},
    "flag": {"type": "boolean", "constraints": NEEDED},
    "kind": {"type": "string", "categories": ["a", "b", "c", "d", "e"]},
    "sole": {"type": "string", "categories": ["a"], "constraints": NEEDED},
    "code": {
        "type": "string",
        "categories": ["b12", "a11", "b22", "a12", "b11"],
        "hierarchy": {"prefixes": [1, 2]},
        "constraints": NEEDED,
    },
}
TABLES = [
    ("x",),
    ("x", "few"),
    ("few", "x"),
    ("x", "many", "day"),
    ("optional", "kind"),
    ("income", "x"),
    ("flag", "sole", "code"),
    ("sole",),
    tuple(FIELDS),
]


def schema_of(*names):
    return Schema.from_dict({"fields": [{"name": name, **FIELDS[name]} for name in names]})


def edges_of(domain):
    """Return the longest run of each level of a column, measured run by run."""
    nested = hierarchy(domain, 15)
    return [float(diameters(nested, domain, level).max()) for level in range(nested.depth + 1)]


def brute_force(schema, fine, coarse):
    """Cut cell by cell as the specification says: in turn, the columns that are too long, until none is."""
    edges = [edges_of(column.domain) for column in schema.columns]
    depths, schedule, first = [0] * len(edges), [], None
    while True:
        lengths = [each[depth] for each, depth in zip(edges, depths, strict=True)]
        if first is None and max(lengths) <= coarse:
            first = len(schedule)
        too_long = [place for place, length in enumerate(lengths) if length > fine]
        if not too_long:
            return tuple(schedule), len(schedule) if first is None else first, depths
        place = min(too_long, key=lambda place: (depths[place], place))
        depths[place] += 1
        schedule.append(place)


@spread(
    ("names", TABLES), (("fine", "coarse"), [(1, 1), (0.5, 1), (0.3, 0.3), (0.1, 0.5), (0.02, 0.26), (0.004, 0.004)])
)
def test_the_schedule_and_the_first_level_are_those_of_brute_force(names, fine, coarse):
    schema = schema_of(*names)

    tree = halving_tree(schema, fine, coarse)

    schedule, first, depths = brute_force(schema, fine, coarse)
    assert tree.schedule == schedule
    assert tree.first == first
    assert [nested.depth for nested in tree.hierarchies] == depths
    assert tree.columns == names
    assert not tree.is_split


def test_a_column_that_would_be_cut_too_often_is_named():
    with pytest.raises(
        CapacityError, match="column 'x' would be cut 32 times to reach an edge of 1e-10, above 20; use a longer edge"
    ):
        halving_tree(schema_of("few", "x"), 1e-10, 1.0)


def test_a_tree_with_too_many_levels_is_refused():
    columns = [{"name": f"x{i}", **FIELDS["x"]} for i in range(256)]

    with pytest.raises(CapacityError, match="a tree over 256 columns would have 4352 levels, above 4096; use a longer"):
        halving_tree(Schema.from_dict({"fields": columns}), 2**-17, 1.0)


@pytest.mark.parametrize("rho", ["1e-12", "0.001", "0.125", "0.3", 2, "12345.678", "1e6"])
def test_a_zcdp_budget_buys_the_root_of_twice_itself_rounded_down_to_six_digits(rho):
    epsilon = epsilon_of(Budget.zcdp(rho))

    exact = Fraction(str(rho))
    assert epsilon**2 / 2 <= exact < (epsilon * (1 + Fraction(1, 10**5))) ** 2 / 2
    assert len(str(epsilon.numerator)) <= 7


SPARSE_TREE = tree_over(SCHEMA, 3).grown(np.array([[0, 0], [3, 1]]), (np.array([True, False, True]),))
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
        SparseCounts(**{"tree": SPARSE_TREE, "threshold": 1, "epsilon": Fraction(1), "notion": "pure"} | changes)


def test_noise_beyond_64_bits_is_refused():
    for asked, tree in ((counts_asked, SPARSE_TREE), (splits_asked, TREE)):
        with pytest.raises(ParameterError, match="gives noise above 2\\*\\*50 records"):
            asked(tree, epsilon=Fraction(1, 2**52)).noise("add-remove", 1)


def answer(**changes):
    """Return an answer by hand over 6 first leaves (2 of 8 are split) and the listed ones."""
    parts = {
        "question": counts_asked(SPARSE_TREE, threshold=2),
        "first_cells": np.array([[0, 1], [2, 0]]),
        "listed_places": np.array([0, 3]),
        "counts": np.array([2, 9, 3, 4]),
        "noise": NoiseLaw("laplace", Fraction(1)),
    }
    return NoisyCells(**parts | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first_cells": np.array([[0, 1], [2, 0]], dtype=np.int32)}, "first_cells of noisy cells must be int64 of"),
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
        ({"question": counts_asked(SPARSE_TREE, threshold=None)}, "distinct leaves of the tree"),
    ],
)
def test_an_answer_that_does_not_fit_its_question_is_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        answer(**changes)


# ------------------------------------------------------------------------------------------ its price and capacity
def test_the_noise_is_that_of_one_count_and_the_price_epsilon_or_half_its_square():
    question = counts_asked(SPARSE_TREE, epsilon=Fraction(1, 2))

    assert question.sensitivity("replace-one", 3) == Sensitivity(6, 18)
    assert [question.noise(*terms).parameter for terms in (("add-remove", 1), ("replace-one", 1))] == [2, 4]
    assert question.noise("replace-one", 3).parameter == 12
    assert question.cost == Budget.pure("1/2")
    assert counts_asked(SPARSE_TREE, epsilon=Fraction(1, 2), notion="zcdp").cost == Budget.zcdp("1/8")


def test_in_rho_all_leaves_have_gaussian_noise_and_filtered_ones_laplace_noise():
    every, filtered = (
        counts_asked(SPARSE_TREE, epsilon=Fraction(1, 2), notion="zcdp", threshold=threshold) for threshold in (None, 1)
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


def test_without_a_threshold_every_leaf_is_counted():
    (found,) = room(budget=10**7).ask(counts_asked(SPARSE_TREE, threshold=None, epsilon=Fraction(10**6)))

    assert len(found.counts) == 6 + sum(len(cells) for _, cells in SPARSE_TREE.leaves())
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


WIDE = whole_numbers(**{f"x{i}": 2**8 for i in range(200)})


def splits_room(*, bits=None, budget=2, terms=ADD_REMOVE, recorded=(), schema=SCHEMA, source=None):
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
def test_a_malformed_question_is_refused_splits(changes, message):
    parts = {"tree": TREE, "rule": "paper", "threshold": 1, "epsilon": Fraction(1), "notion": "pure"}

    with pytest.raises(ParameterError, match=message):
        SplitDecisions(**parts | changes)


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
        splits_room(bits=bits, schema=WIDE, source=coded(WIDE, [])).ask(question)
    assert bits.count == 0


def test_the_empty_cells_that_are_split_are_all_where_the_threshold_is_far_below_zero():
    question = splits_asked(tree_over(WIDE, 0), threshold=-(2**59), epsilon=Fraction(1))

    with pytest.raises(CapacityError, match=r"1600 levels below splits about 2\*\*1600\.0 empty"):
        question.check(Terms(relation="add-remove"), WIDE)


def test_a_tree_of_many_first_cells_that_hardly_ever_split_is_answered():
    schema = whole_numbers(**{f"x{i}": 2**8 for i in range(20)})
    question = splits_asked(tree_over(schema, 150), threshold=125 * 10, epsilon=Fraction(1))

    (answer,) = splits_room(schema=schema, source=coded(schema, [tuple(range(20)), (0,) * 20])).ask(question)

    assert len(answer.tree.split_cells) < 40  # 2**150 exp(-125) / 2 = exp(-21.7) are expected


def test_a_noisy_tree_that_grows_too_large_is_refused_by_its_decisions_alone(monkeypatch):
    monkeypatch.setattr(listing, "MAX_CELLS", 6)

    with pytest.raises(CapacityError, match="use fewer levels"):
        answered(splits_asked(TREE, threshold=-60), small(), SeededBits(1))


PASSING = tree_over(SCHEMA, 0, schedule=(1, 1, 0, 0, 0))  # y = 0 is alone from level 1 on, so level 1 passes it on
ZEROS = [(0, 0)] * 4


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
def splits_probability(question, answer, rows):
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

        true = abs(math.log(splits_probability(question, answer, rows) / splits_probability(question, answer, other)))
        assert float(told) == pytest.approx(true, abs=1e-9)  # sums of 200 floats; what is left out is below 1e-19
