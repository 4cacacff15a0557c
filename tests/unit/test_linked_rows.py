"""How two tables are joined and counted: by the rows of one key alone, in any engine."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw
from helpers.cases import spread
from lapwing.errors import DataError
from lapwing.rows.linked import code_linked
from lapwing.schema.groupings.grouping import identity

KEY = {"name": "home", "type": "integer", "role": "identifier"}
SIZE = {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}
SCHEMA = lw.LinkedSchema.load(
    {
        "key": "home",
        "maxChildren": 2,
        "parent": {"fields": [KEY, SIZE]},
        "child": {"fields": [KEY, {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}]},
    }
)
HOMES = {"home": [3, 1, 2, 1], "size": [7, 5, 6, 4]}
PEOPLE = {"home": [1, 2, 2, 2, 9, 3], "age": [10, 20, 21, 20, 90, 30]}


def codes_of(source):
    chunks = list(source.chunks())
    return {name: np.concatenate([chunk[name] for chunk in chunks]).tolist() for name in source.columns}


def pair_of(homes=HOMES, people=PEOPLE):
    return code_linked(pl.DataFrame(homes), pl.DataFrame(people), SCHEMA)


def test_each_key_has_one_parent_row_and_children_have_its_columns():
    pair = pair_of()

    parents, children = codes_of(pair.parent), codes_of(pair.child)
    assert parents["size"][:1] == [7]
    assert set(parents["size"][1:]) in ({5, 6}, {4, 6})
    assert sorted(parents["children"]) == [1, 1, 2]
    assert sorted(children["age"]) in ([10, 20, 20, 30], [10, 20, 21, 30])
    assert children["size"][children["age"].index(30)] == 7
    assert children["children"][children["age"].index(30)] == 1
    assert (pair.parent.rows, pair.parent.units, pair.child.rows, pair.child.units) == (3, 3, 4, 3)


def test_which_rows_are_used_does_not_depend_on_their_order():
    rng = np.random.default_rng(1)
    shown = set()
    for _ in range(20):
        order = rng.permutation(4)
        homes = {name: np.array(cells)[order] for name, cells in HOMES.items()}
        order = rng.permutation(6)
        pair = pair_of(homes, {name: np.array(cells)[order] for name, cells in PEOPLE.items()})
        columns = codes_of(pair.child)
        shown.add(tuple(sorted(zip(*columns.values(), strict=True))))
        assert sorted(codes_of(pair.parent)["children"]) == [1, 1, 2]

    assert len(shown) == 1


def test_a_parent_without_children_has_none_and_a_child_without_parent_is_not_used():
    pair = pair_of({"home": [1, 5], "size": [1, 2]}, {"home": [7, 7], "age": [1, 2]})

    assert codes_of(pair.parent)["children"] == [0, 0]
    assert pair.child.rows == 0
    assert pair.child.count([()]) == [np.array([0])]


def test_rows_without_a_key_are_those_of_one_more_key():
    pair = pair_of({"home": [None, None, 1], "size": [1, 2, 3]}, {"home": [None] * 5, "age": [1, 2, 3, 4, 5]})

    assert pair.parent.rows == 2
    assert sorted(codes_of(pair.parent)["children"]) == [0, 2]
    assert pair.child.rows == 2


FORMS = {
    "polars": pl.DataFrame,
    "lazy": lambda cells: pl.DataFrame(cells).lazy(),
    "pandas": pd.DataFrame,
    "pandas text": lambda cells: pd.DataFrame(cells).astype(str),
    "pyarrow": pa.table,
}


@spread(("of_children", FORMS), ("of_parents", FORMS))
def test_the_tables_may_be_of_different_kinds(of_parents, of_children):
    pair = code_linked(FORMS[of_parents](HOMES), FORMS[of_children](PEOPLE), SCHEMA)

    assert codes_of(pair.child) == codes_of(pair_of().child)
    assert codes_of(pair.parent) == codes_of(pair_of().parent)


def test_counts_are_those_of_the_joined_rows():
    source = pair_of().child
    size, age = (identity(SCHEMA.joined.field(name).domain) for name in ("size", "age"))

    (table,) = source.count([(("size", size), ("age", age))])

    joined = codes_of(source)
    expected = np.zeros((size.groups, age.groups), dtype=int)
    np.add.at(expected, (joined["size"], joined["age"]), 1)
    assert np.array_equal(table, expected.reshape(-1))


@pytest.mark.parametrize(
    ("homes", "people", "said"),
    [
        ({"size": [1]}, PEOPLE, 'parent: the table has no column "home"'),
        (HOMES, {"age": [1]}, 'child: the table has no column "home"'),
        (PEOPLE, HOMES, 'parent: the table has no column "size"'),
    ],
    ids=range(3),
)
def test_a_table_without_a_column_is_refused_by_its_part(homes, people, said):
    with pytest.raises(DataError, match=said):
        code_linked(pl.DataFrame(homes), pl.DataFrame(people), SCHEMA)
