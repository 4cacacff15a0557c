"""A tree of cells whose leaves lie on several levels, seen as levels that all cover the table."""

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.kept import Kept
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.trees.flows import CutColumn, cell_metric, flow_costs, is_line, level_sums
from lapwing.mechanisms.shared.trees.trees import AxisSplit
from lapwing.mechanisms.trees.kd_tree import accuracy
from lapwing.mechanisms.trees.kd_tree.accuracy import counted_leaves
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, KDTree
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}},
            {"name": "steps", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}},
            {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}},
        ]
    }
)


def leaves_of(mechanism: KDTree | Grid, seed: int = 1) -> NoisyCells:
    """Return the noisy leaves of a release of 3,000 rows in a corner of the table."""
    rng, kept = np.random.default_rng(seed), Kept()
    frame = pl.DataFrame(
        {
            "x": rng.beta(1, 9, 3000),
            "steps": np.where(rng.random(3000) < 0.9, rng.integers(0, 4, 3000), -1),
            "kind": rng.choice(["a", "b", "c"], 3000, p=[0.8, 0.1, 0.1]),
        }
    ).with_columns(pl.col("steps").replace(-1, None))
    terms, budget = Terms(relation="add-remove", expected_rows=3000), Budget.pure(8)
    room = Room(code_table(frame, SCHEMA), SCHEMA, terms, budget, bits=SeededBits(seed), sink=kept)
    mechanism.run(room, SCHEMA, budget, rng)
    return next(each for each in kept.answers if isinstance(each, NoisyCells))


@pytest.mark.parametrize("seed", range(3))
def test_every_leaf_is_there_once_with_its_count_and_its_sides(seed: int) -> None:
    noisy = leaves_of(KDTree(coarse=0.5), seed)
    counted = counted_leaves(noisy, SCHEMA)
    assert counted is not None
    tree, places = counted

    levels, runs = (each[places] for each in noisy.leaves)
    assert np.unique(levels).size > 2
    assert sorted(places.tolist()) == list(range(noisy.counts.size))
    assert np.array_equal(tree.levels[-1], noisy.counts[places])
    cells = noisy.question.tree
    for axis, (name, nested) in enumerate(zip(cells.columns, cells.hierarchies, strict=True)):
        domain = SCHEMA.field(name).domain
        column = CutColumn(nested, domain, is_line(domain))
        own = [
            column.lengths(int(cells.depths_of(axis)[at]))[1][run]
            for at, run in zip(levels, runs[:, axis], strict=True)
        ]
        assert np.array_equal(tree.metric.lengths[-1][axis], own)


def test_siblings_and_leaves_that_go_on_lie_under_their_parents() -> None:
    noisy = leaves_of(KDTree(coarse=0.5))
    counted = counted_leaves(noisy, SCHEMA)
    assert counted is not None
    tree, _ = counted

    for level, split in enumerate(tree.metric.splits):
        for above, below in zip(tree.metric.lengths[level], tree.metric.lengths[level + 1], strict=True):
            # Where a run of codes on a line is halved, the halves are as long as the whole.
            summed = np.add.reduceat(below, np.flatnonzero(np.diff(split.parent, prepend=-1)))
            many = np.bincount(split.parent)
            is_kept = np.isclose(summed, above) | np.isclose(summed, above * many)
            assert (is_kept | (above == 0)).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_list_of_all_cells_costs_what_their_table_costs(seed: int) -> None:
    noisy = leaves_of(Grid(width=0.25), seed)
    counted = counted_leaves(noisy, SCHEMA)
    assert counted is not None
    listed, places = counted
    cells = noisy.question.tree
    columns = [
        CutColumn(each, SCHEMA.field(n).domain, is_line(SCHEMA.field(n).domain))
        for n, each in zip(cells.columns, cells.hierarchies, strict=True)
    ]
    splits = [
        AxisSplit(axis, cells.hierarchies[axis].parents(cells.schedule[:level].count(axis) + 1))
        for level, axis in enumerate(cells.schedule)
    ]
    table = cell_metric(columns, splits)
    surplus = np.random.default_rng(seed).laplace(0, 3, noisy.counts.size)

    one = flow_costs(level_sums(surplus.reshape(1, *cells.shape), table.splits), table)
    other = flow_costs(level_sums(surplus[places][None], listed.metric.splits), listed.metric)

    assert other == pytest.approx(one)


def test_a_tree_of_more_cells_than_are_listed_states_no_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = leaves_of(KDTree(coarse=0.5))

    monkeypatch.setattr(accuracy, "MOST_LISTED", 20)

    assert counted_leaves(noisy, SCHEMA) is None
