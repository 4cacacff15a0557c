"""Errors of single columns and of their gaps, on codes small enough to count by hand."""

import itertools

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics import columns
from lapwing.extras.evaluate.metrics.columns import (
    PERCENTS,
    compare_columns,
    error_sizes,
    missing_given,
    missing_together,
    pairs_given,
    pairs_together,
)
from lapwing.schema.schemas import Schema

NOTHING = (0.0,) * len(PERCENTS)
ALL = (1.0,) * len(PERCENTS)
FIELDS = [
    {"name": "a", "type": "boolean"},
    {"name": "b", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}, "special": [-1]},
    {"name": "c", "type": "boolean", "constraints": {"required": True}},
    {"name": "d", "type": "string", "categories": ["x", "y"]},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})


def number(name="x", most=9, **more):
    constraints = {"minimum": 0, "maximum": most} | ({"required": True} if more.pop("required", False) else {})
    return {"name": name, "type": "integer", "constraints": constraints} | more


def compared(field, real, other):
    """Return the errors of one column."""
    schema = Schema.from_dict({"fields": [field]})
    return compare_columns({"x": np.array(real)}, {"x": np.array(other)}, schema)[0]


@pytest.mark.parametrize(
    ("field", "real", "other", "missing", "special"),
    [
        (number(special=[-1, 99]), [0, 10, 10, 12], [10, 11, 12, 12], 0.25, ((-1, -0.25), (99, 0.25))),
        (number(required=True, special=[-1]), [0, 10], [0, 0], None, ((-1, -0.5),)),
        (number(special=[-1]), [0, 3, 9, 10, 11], [11, 0, 3, 9, 10], 0, ((-1, 0.0),)),
        ({"name": "x", "type": "boolean"}, [0, 1], [0, 2], 0.5, ()),
        ({"name": "x", "type": "string", "categories": ["a", "b"]}, [0, 1], [0, 2], 0.5, ()),
    ],
)
def test_shares_of_missing_and_special_cells_are_counted_apart_and_have_a_sign(field, real, other, missing, special):
    found = compared(field, real, other)

    assert (found.missing, found.special) == (missing, special)
    assert (found.numbers is None) == (field["type"] != "integer")


@pytest.mark.parametrize(
    ("field", "real", "other", "expected"),
    [
        # Mean 2 and deviation 2 against 6 and 4.
        (number(most=20), [0, 4], [2, 10], {"mean": 2.0, "deviation": 1.0, "wasserstein": (2 + 6) / 2 / 2}),
        # At 0: 3/4 against 1/4; at 5: 3/4 against 3/4.
        (number(), [0, 0, 0, 9], [0, 5, 5, 9], {"kolmogorov": 0.5}),
        # 90 of 100 are 0 in both, and the tails differ: only the quantiles of 95 and 99 percent see it.
        (number(most=99), [0] * 90 + [50] * 10, [0] * 90 + [60] * 10, {"ranks": (0, 0, 0, 0, 0, 0.05, 0.01)}),
        # Every other value is 49: half of the real ones lie up to there (0.50), and 49 percent below it.
        (number(most=99), list(range(100)), [49] * 10, {"ranks": (0.48, 0.44, 0.24, 0.0, -0.25, -0.45, -0.49)}),
        (number(), [3, 3, 10], [3, 10], {"mean": 0, "deviation": 0, "wasserstein": 0, "kolmogorov": 0}),
        (number(), [3, 3, 10], [4, 10], {"mean": None, "deviation": None, "wasserstein": None, "kolmogorov": 1}),
        (number(), [10, 10], [1, 2], {"mean": None, "wasserstein": None, "ranks": ALL, "kolmogorov": 1}),
        (number(), [1, 2], [10], {"mean": None, "wasserstein": None, "ranks": ALL, "kolmogorov": 1}),
        (number(), [10], [10, 10], {"mean": 0, "wasserstein": 0, "ranks": NOTHING, "kolmogorov": 0}),
        # The last codes of 2**32: no digit is lost.
        (
            {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
            [2**32 - 1, 2**32 - 2],
            [2**32 - 2, 2**32 - 3],
            {"mean": -2, "deviation": 0, "wasserstein": 2},
        ),
    ],
)
def test_errors_of_numbers_are_those_counted_by_hand(field, real, other, expected):
    found = compared(field, real, other).numbers

    assert {key: getattr(found, key) for key in expected} == {
        key: value if value is None else pytest.approx(value, abs=1e-15) for key, value in expected.items()
    }


def test_codes_of_a_small_type_do_not_wrap():
    real, other = np.array([0, 250], dtype=np.uint8), np.array([250, 0], dtype=np.uint8)

    assert compared(number(most=252), real, other).numbers.wasserstein == 0


def test_sizes_are_listed_by_kind_without_signs_and_without_what_has_no_unit():
    fields = [number("x", special=[-1, 99]), number("y", required=True), {"name": "z", "type": "boolean"}]
    real = {"x": np.array([0, 4, 10, 11]), "y": np.array([5, 5, 5, 5]), "z": np.array([0, 1, 2, 2])}
    other = {"x": np.array([0, 0, 10, 10]), "y": np.array([5, 5, 5, 6]), "z": np.array([0, 0, 0, 1])}

    sizes = error_sizes(compare_columns(real, other, Schema.from_dict({"fields": fields})))

    assert {key: sizes[key] for key in ("missing", "special", "mean", "deviation", "kolmogorov")} == {
        "missing": {"x": 0.0, "z": 0.5},
        "special": {"x": 0.25},
        "mean": {"x": 1.0},
        "deviation": {"x": 1.0},
        "kolmogorov": {"x": 0.5, "y": 0.25},
    }
    assert set(sizes) == {"missing", "special", "mean", "deviation", "rank", "kolmogorov", "wasserstein"}


@pytest.mark.parametrize("codes", [{}, {"x": np.zeros(0, dtype=np.int64)}])
def test_a_column_without_codes_is_refused(codes):
    with pytest.raises(ParameterError, match='codes of column "x", at least one row'):
        compare_columns({"x": np.array([1])}, codes, Schema.from_dict({"fields": [number()]}))


# -- Gaps.


def codes(**columns):
    """Return codes of all columns: those given, and regular ones."""
    rows = len(next(iter(columns.values())))
    return {name: np.array(columns.get(name, [0] * rows)) for name in "abcd"}


@pytest.mark.parametrize(("choose", "pairs"), [(pairs_together, "ab ad bd"), (pairs_given, "ab ac ad da db dc")])
def test_pairs_are_of_columns_with_gaps_and_sampled_by_the_seed_where_there_are_more(choose, pairs, monkeypatch):
    every = choose(SCHEMA, rng=np.random.default_rng(0))
    monkeypatch.setattr(columns, "PAIRS", 2)

    chosen = [choose(SCHEMA, rng=np.random.default_rng(seed)) for seed in range(20)]

    assert every == tuple(tuple(pair) for pair in pairs.split())
    assert chosen[0] == choose(SCHEMA, rng=np.random.default_rng(0))
    assert set(chosen) > {chosen[0]}
    assert {len(pairs) for pairs in chosen} == {2}
    assert set(itertools.chain(*chosen)) == set(every)


def test_cells_that_are_missing_apart_instead_of_together_are_found():
    real, other = codes(a=[2, 2, 0, 1], d=[2, 2, 0, 0]), codes(a=[2, 2, 0, 1], d=[2, 0, 2, 1])

    found = missing_together(real, other, SCHEMA, (("a", "d"), ("a", "b")))

    # Together 2/4 against 1/4, neither 2/4 against 1/4, one alone 0 against 1/4 each.
    assert found.distances.tolist() == [0.5, 0.0]
    assert (found.ways, found.possible, found.worst(1)) == (2, 3, ((("a", "d"), 0.5),))


def test_missing_in_the_wrong_part_of_another_column_is_found():
    real, other = codes(a=[2, 2, 0, 1], b=[3, 3, 95, 95]), codes(a=[2, 0, 2, 1], b=[3, 3, 95, 95])

    found = missing_given(real, other, SCHEMA, (("a", "b"), ("a", "c"), ("d", "a")))

    # a is missing at 3 in half of the rows, against a quarter, and at 95 in none, against a quarter. Over c, which is
    # constant, and for d, which is never missing, over a, the tables agree.
    assert found.distances.tolist() == [0.5, 0.0, 0.0]
    assert found.possible == 6


def test_values_in_the_same_sixteenth_of_the_domain_are_the_same():
    real, near, far = codes(a=[2, 0], b=[0, 99]), codes(a=[2, 0], b=[5, 94]), codes(a=[2, 0], b=[6, 92])

    assert [missing_given(real, each, SCHEMA, (("a", "b"),)).mean for each in (near, far)] == [0, 1]


def test_codes_of_gaps_in_small_types_do_not_wrap():
    many = number("b", most=15, special=list(range(20, 160)))
    wide = Schema.from_dict({"fields": [FIELDS[0], many]})
    # 2 * 156 is 2 * 28 in eight bits.
    real, other = ({"a": np.array([0, 0], np.uint8), "b": np.array([0, code], np.uint8)} for code in (156, 28))

    assert missing_given(real, other, wide, (("a", "b"),)).mean == 0.5
