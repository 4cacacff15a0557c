"""TreeCounts: what it costs, what a neighbour can change, and every place that an answer goes through."""

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits, ZeroNoiseBits
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.tree_counts.answer import exact_levels
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.rows.source import code_table
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 6}, "special": [99]},
    {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
DATA = pl.DataFrame({"size": ["0", "6", "6", "99", None, "3", "3"], "kind": ["a", "b", "c", "c", "a", "zzz", "b"]})
TERMS = Terms(relation="add-remove")
HALF = Fraction(1, 2)


def tree(*, amounts=(None, HALF / 2, None, HALF / 2, HALF), depths=(2, 2), schedule=(0, 1, 0, 1), notion="pure"):
    nested = tuple(hierarchy(SCHEMA.field(n).domain, d) for n, d in zip(("size", "kind"), depths, strict=True))
    return TreeCounts(columns=("size", "kind"), hierarchies=nested, schedule=schedule, notion=notion, amounts=amounts)


def room(*, bits=None, data=DATA, schema=SCHEMA, terms=TERMS, recorded=(), budget=1):
    source = code_table(data, schema)
    return Room(
        source, schema, terms, Budget.pure(budget), bits=bits or ZeroNoiseBits(), sink=NoTranscript(), recorded=recorded
    )


def counted_by_hand(question, data, schema):
    """Count every level by looking up each row's code among the runs."""
    levels = [np.zeros(shape, dtype=np.int64) for shape in question.shapes]
    for chunk in code_table(data, schema).chunks():
        rows = zip(*(chunk[name].tolist() for name in question.columns), strict=True)
        for row, (level, counts) in itertools.product(rows, enumerate(levels)):
            cell = cell_of(question, level, row)
            if cell is not None:
                counts[cell] += 1
    return levels


def cell_of(question, level, row):
    """Return the cell of a row, None where one of its codes is in no run."""
    places = []
    for nested, depth, code in zip(question.hierarchies, question.depths(level), row, strict=True):
        runs = zip(nested.starts(depth).tolist(), nested.stops(depth).tolist(), strict=True)
        places += [place for place, (start, stop) in enumerate(runs) if start <= code < stop]
    return tuple(places) if len(places) == len(row) else None


def test_without_noise_the_released_levels_are_the_exact_tables():
    question = tree()

    (answer,) = room().ask(question)

    expected = counted_by_hand(question, DATA, SCHEMA)
    assert [table.level for table in answer.tables] == [1, 3, 4]
    for table in answer.tables:
        assert table.counts.tolist() == expected[table.level].tolist()
    # "zzz" is no category and kind is required: the row is outside the tree.
    assert answer.levels[4].sum() == 6


@pytest.mark.parametrize("depths", [(0, 0), (1, 0), (0, 2), (4, 1), (4, 2), (3, 2)])
def test_levels_above_the_deepest_are_sums_whatever_the_depths(depths):
    schedule = (0,) * depths[0] + (1,) * depths[1]
    question = tree(depths=depths, schedule=schedule, amounts=(*[None] * sum(depths), HALF))
    table = tuple(zip(question.columns, question.groupings, strict=True))
    (counted,) = code_table(DATA, SCHEMA).count([table])

    levels = exact_levels(question, counted)

    expected = counted_by_hand(question, DATA, SCHEMA)
    assert [level.tolist() for level in levels] == [level.tolist() for level in expected]


def unit_schema(max_rows):
    who = {"name": "who", "type": "integer", "role": "identifier"}
    return Schema.from_dict({"fields": [who, *FIELDS], "privacyUnit": {"field": "who", "maxRows": max_rows}})


def rows_of(who, cells):
    return [{"who": who, "size": size, "kind": kind} for size, kind in cells]


def changes(question, max_rows, relation):
    """Return the change of all levels over neighbours whose changed unit owns up to max_rows + 1 rows."""
    schema = unit_schema(max_rows)
    others = rows_of(1, [("0", "a")] * 2) + rows_of(2, [("6", "b"), (None, "c")])
    values = [("0", "a"), ("6", "c"), ("99", "b"), ("3", "zzz")]
    kinds = {"who": pl.Int64, "size": pl.String, "kind": pl.String}
    sets = [
        rows_of(9, cells)
        for size in range(max_rows + 2)
        for cells in itertools.combinations_with_replacement(values, size)
    ]
    table = tuple(zip(question.columns, question.groupings, strict=True))
    levels = [
        exact_levels(question, code_table(pl.DataFrame(others + extra, schema=kinds), schema).count([table])[0])
        for extra in sets
    ]
    pairs = (
        [(each, levels[0]) for each in levels] if relation == "add-remove" else itertools.product(levels[1:], repeat=2)
    )
    return [[one - two for one, two in zip(first, second, strict=True)] for first, second in pairs]


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_brute_force_attains_the_sensitivity_of_every_level_and_never_passes_it(relation, max_rows):
    question = tree()
    claimed = question.sensitivity(relation, max_rows)

    moved = changes(question, max_rows, relation)

    for level in range(len(question.costs)):
        l1 = max(int(np.abs(change[level]).sum()) for change in moved)
        l2_squared = max(int((change[level] ** 2).sum()) for change in moved)
        if level == 0 and relation == "replace-one":
            # One cell, which a row can leave by becoming a misfit: half of what two cells can change.
            assert (l1, l2_squared) == (claimed.l1 // 2, claimed.l2_squared // 2)
        else:
            assert (l1, l2_squared) == (claimed.l1, claimed.l2_squared)


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_the_worst_neighbour_loses_exactly_the_sum_of_the_levels_costs(relation, max_rows, notion):
    question = tree(notion=notion)
    laws = question.noises(relation, max_rows)
    zeros = [np.zeros(shape, dtype=np.int64) for shape in question.shapes]
    levels = tuple(None if law is None else zero for law, zero in zip(laws, zeros, strict=True))
    answer = NoisyTree(question, levels, laws)

    losses = [answer.privacy_loss(change, zeros) for change in changes(question, max_rows, relation)]

    assert max(losses) == question.cost.amount == 1


def test_every_cell_of_every_released_level_gets_noise_also_the_empty_ones():
    question = tree()
    hits = [np.zeros(shape) for shape in question.shapes]

    for seed in range(120):
        (answer,) = room(bits=SeededBits(seed), data=DATA.clear()).ask(question)
        for table in answer.tables:
            hits[table.level] += table.counts != 0

    assert all((hits[level] > 0).all() for level in (1, 3, 4))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"columns": ("size", "size")}, "name each column once"),
        ({"columns": ()}, "needs distinct columns"),
        ({"hierarchies": ()}, "give one each"),
        ({"schedule": (0, 1, 1, 1)}, "splits 'size' 1 times"),
        ({"schedule": (0, 1, 0, 1, 5), "amounts": (None,) * 5 + (HALF,)}, "positions of the 2 columns"),
        ({"amounts": (None, HALF)}, "needs as many costs"),
        ({"amounts": (None, HALF, None, HALF, None)}, "deepest level of a tree must have a cost"),
        ({"amounts": (Fraction(0), None, None, None, HALF)}, "above 0"),
    ],
)
def test_a_malformed_question_is_refused(parts, message):
    whole = tree()
    given = {key: getattr(whole, key) for key in ("columns", "hierarchies", "schedule", "notion", "amounts")} | parts

    with pytest.raises(ParameterError, match=message):
        TreeCounts(**given)


def test_a_tree_beyond_the_cell_limit_is_refused():
    wide = Domain(2**32, 0, missing=False, ordered=True, continuous=True)
    deep = hierarchy(wide, 14)

    with pytest.raises(CapacityError, match="use fewer levels"):
        TreeCounts(
            columns=("x", "y"),
            hierarchies=(deep, deep),
            schedule=(0, 1) * 14,
            notion="pure",
            amounts=(*[None] * 28, Fraction(1)),
        )
