"""Missing together, and missing given another column, on tables small enough to count by hand."""

import itertools

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.judge.columns import missing_given, missing_together, pairs_given, pairs_together
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "a", "type": "boolean"},
    {"name": "b", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}, "special": [-1]},
    {"name": "c", "type": "boolean", "constraints": {"required": True}},
    {"name": "d", "type": "string", "categories": ["x", "y"]},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})


def codes(**columns):
    """Return codes of all columns: those given, and regular ones."""
    rows = len(next(iter(columns.values())))
    return {name: np.array(columns.get(name, [0] * rows)) for name in "abcd"}


def rng(seed=0):
    return np.random.default_rng(seed)


def test_together_takes_columns_that_may_be_missing_or_special():
    assert pairs_together(SCHEMA, rng=rng()) == (("a", "b"), ("a", "d"), ("b", "d"))


def test_given_takes_a_column_that_may_be_missing_and_any_other():
    assert pairs_given(SCHEMA, rng=rng()) == (
        ("a", "b"),
        ("a", "c"),
        ("a", "d"),
        ("d", "a"),
        ("d", "b"),
        ("d", "c"),
    )


@pytest.mark.parametrize(("choose", "possible"), [(pairs_together, 3), (pairs_given, 6)])
def test_more_pairs_than_wanted_are_sampled_by_the_seed(choose, possible):
    every = choose(SCHEMA, rng=rng())

    chosen = [choose(SCHEMA, most=2, rng=rng(seed)) for seed in range(20)]

    assert len(every) == possible
    assert chosen[0] == choose(SCHEMA, most=2, rng=rng(0))
    assert set(chosen) > {chosen[0]}
    assert {len(pairs) for pairs in chosen} == {2}
    assert set(itertools.chain(*chosen)) == set(every)


def test_cells_that_are_missing_apart_instead_of_together_are_found():
    real, other = codes(a=[2, 2, 0, 1], d=[2, 2, 0, 0]), codes(a=[2, 2, 0, 1], d=[2, 0, 2, 1])

    found = missing_together(real, other, SCHEMA, (("a", "d"), ("a", "b")))

    # Together 2/4 against 1/4, neither 2/4 against 1/4, one alone 0 against 1/4 each.
    assert found.distances.tolist() == [0.5, 0.0]
    assert (found.ways, found.possible, found.worst(1)) == (2, 3, ((("a", "d"), 0.5),))


def test_a_special_value_counts_as_not_regular():
    real, other = codes(a=[2, 0], b=[100, 5]), codes(a=[2, 0], b=[5, 5])

    assert missing_together(real, other, SCHEMA, (("a", "b"),)).mean == 0.5


def test_missing_in_the_wrong_part_of_another_column_is_found():
    real, other = codes(a=[2, 2, 0, 1], b=[3, 3, 95, 95]), codes(a=[2, 0, 2, 1], b=[3, 3, 95, 95])

    found = missing_given(real, other, SCHEMA, (("a", "b"), ("a", "c"), ("d", "a")))

    # a is missing at 3 in half of the rows, against a quarter, and at 95 in none, against a quarter. Over c, which is
    # constant, and for d, which is never missing, over a, the tables agree.
    assert found.distances.tolist() == [0.5, 0.0, 0.0]
    assert found.possible == 6


def test_values_in_the_same_sixteenth_of_the_domain_are_the_same():
    real, near = codes(a=[2, 0], b=[0, 99]), codes(a=[2, 0], b=[5, 94])

    far = missing_given(real, codes(a=[2, 0], b=[6, 92]), SCHEMA, (("a", "b"),))

    assert missing_given(real, near, SCHEMA, (("a", "b"),)).mean == 0
    assert far.mean == 1


def test_codes_in_small_types_do_not_wrap():
    wide = Schema.from_dict(
        {
            "fields": [
                FIELDS[0],
                {
                    "name": "b",
                    "type": "integer",
                    "constraints": {"minimum": 0, "maximum": 15},
                    "special": list(range(20, 160)),
                },
            ]
        }
    )
    real = {"a": np.array([0, 0], dtype=np.uint8), "b": np.array([0, 156], dtype=np.uint8)}
    other = {"a": np.array([0, 0], dtype=np.uint8), "b": np.array([0, 28], dtype=np.uint8)}

    # 2 * 156 is 2 * 28 in eight bits.
    assert missing_given(real, other, wide, (("a", "b"),)).mean == 0.5


def test_without_a_pair_there_is_nothing_to_compare():
    schema = Schema.from_dict({"fields": [FIELDS[2], {**FIELDS[2], "name": "e"}]})

    assert pairs_together(schema, rng=rng()) == pairs_given(schema, rng=rng()) == ()
    for compare in (missing_together, missing_given):
        with pytest.raises(ParameterError, match="one distance for each of its tables"):
            compare({}, {}, schema, ())
