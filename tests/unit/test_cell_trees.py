"""CellTree: what it refuses, how its cells are numbered and divided, and its record."""

import numpy as np
import pytest

from helpers.cells import random_tree, tree_over, whole_numbers
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.questions.shared import cells as module
from lapwing.kernel.questions.shared.cells import CellSplits, CellTree
from lapwing.schema.schemas import Schema

SCHEMA = whole_numbers(x=8, y=3)
TREE = tree_over(SCHEMA, 2)  # cut x, y, x, y, x: 2 x 2 cells on level 2
MIXED = Schema.from_dict(
    {
        "fields": [
            {"name": "kind", "type": "string", "categories": ["a", "b", "c"]},
            {"name": "size", "type": "number", "constraints": {"minimum": 0, "maximum": 1}, "special": [9]},
        ]
    }
)


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


@pytest.mark.parametrize("schema", [SCHEMA, MIXED])
def test_children_partition_their_parent(schema):
    rng = np.random.default_rng(2)

    for _ in range(20):
        tree = random_tree(rng, schema)
        for level in range(tree.depth):
            shape = [each.groups(depth) for each, depth in zip(tree.hierarchies, tree.depths(level), strict=True)]
            every = np.array(list(np.ndindex(*shape)))
            below, parents = tree.children(level, every)
            axis = tree.schedule[level]
            nested, depths = tree.hierarchies[axis], (tree.depths(level)[axis], tree.depths(level + 1)[axis])
            starts, stops = nested.starts(depths[1])[below[:, axis]], nested.stops(depths[1])[below[:, axis]]

            assert (np.diff(parents) >= 0).all()
            assert (np.bincount(parents) == 1 + tree.divisible(level, every)).all()
            for place, cell in enumerate(every):
                own = parents == place
                assert starts[own][0] == nested.starts(depths[0])[cell[axis]]
                assert stops[own][-1] == nested.stops(depths[0])[cell[axis]]
                assert (stops[own][:-1] == starts[own][1:]).all()
                assert (np.delete(below[own], axis, axis=1) == np.delete(cell, axis)).all()


# ----------------------------------------------------------------------------------------------------- its record
