"""What rules mean on the codes of every sort of column, and which contradict each other."""

import time
from typing import Any

import numpy as np
import pytest

from helpers.ruled_schemas import FIELDS, bounded, schema_of
from lapwing.errors import SchemaError
from lapwing.rows.out.decode import decode, decode_column
from lapwing.schema.fields import Field
from lapwing.schema.rules.codes import OrderPair, components
from lapwing.schema.rules.search import complete_row
from lapwing.schema.schemas import Schema
from lapwing.schema.values import shown_values


def broken(rule: dict[str, Any], **codes: list[int]) -> list[bool]:
    found = [each.broken({name: np.array(own) for name, own in codes.items()}) for each in schema_of(rule).coded_rules]
    return list(map(bool, np.logical_or.reduce(found)))


def test_missing_and_special_values_keep_every_comparison() -> None:
    rule = {"order": ["age", "pay"]}

    assert broken(rule, age=[9, 9, 121, 122, 9], pay=[90, 80, 0, 0, 91]) == [False, True, False, False, False]


def test_misfits_keep_every_rule() -> None:
    misfit = Field(name="flag", type="boolean", required=True).domain.last

    assert broken({"never": {"flag": [True, False], "sex": "f"}}, flag=[0, misfit], sex=[0, 0]) == [True, False]
    assert broken({"allowed": ["flag"], "rows": [[True]]}, flag=[0, 1, misfit]) == [True, False, False]
    assert broken({"when": {"sex": "f"}, "then": {"flag": True}}, flag=[0, misfit], sex=[0, 0]) == [True, False]
    dependency = {"determines": ["sex"], "column": "flag"}
    assert broken(dependency, sex=[0, 0, 0], flag=[1, 1, misfit]) == [False, False, False]


def test_missing_is_a_value_like_any_other_to_a_dependency() -> None:
    assert broken({"determines": ["sex"], "column": "flag"}, sex=[2, 2, 2], flag=[1, 1, 0]) == [False, False, True]


def test_what_a_map_does_not_list_is_free() -> None:
    rule = {"determines": ["sex"], "column": "flag", "values": [["f", True]]}

    assert broken(rule, sex=[0, 0, 1, 1, 2], flag=[0, 1, 0, 1, 0]) == [True, False, False, False, False]


def test_months_and_weeks_are_compared_where_they_begin() -> None:
    # The first month begins at the minimum, 20 January; the second week on 8 January, the fourth on 22 January.
    assert broken({"order": ["week", "month"]}, week=[2, 3, 3], month=[0, 0, 1]) == [False, True, False]


def test_a_date_is_its_midnight_to_a_moment() -> None:
    assert broken({"order": ["day", "hour"]}, day=[1, 1, 1], hour=[23, 24, 25]) == [True, False, False]
    strict = {"order": ["hour", "day"], "strict": True}
    assert broken(strict, day=[1, 1], hour=[23, 24]) == [False, True]


def test_decimals_are_compared_as_rows_show_them() -> None:
    fields = [
        {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1}, "resolution": 0.1},
        {"name": "y", "type": "number", "constraints": {"minimum": 0, "maximum": 1}, "resolution": 0.05},
    ]
    rule = Schema.from_dict({"fields": fields, "rules": [{"order": ["x", "y"]}]}).coded_rules[0]

    assert not rule.broken({"x": np.arange(11), "y": 2 * np.arange(11)}).any()
    assert rule.broken({"x": np.arange(1, 11), "y": 2 * np.arange(1, 11) - 1}).all()


CELLS = {
    "x": {"minimum": -1, "maximum": 2},
    "y": {"minimum": 0, "maximum": 3},
    "z": {"minimum": -3.7, "maximum": 0.1},
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("low", "high"), [("x", "y"), ("y", "x"), ("x", "z")])
def test_cells_of_numbers_are_in_order_only_where_all_their_numbers_are(low: str, high: str, strict: bool) -> None:
    fields = [{"name": name, "type": "number", "constraints": limits} for name, limits in CELLS.items()]
    schema = Schema.from_dict({"fields": fields, "rules": [{"order": [low, high], "strict": strict}]})
    rng = np.random.default_rng(5)
    rows = 20_000
    codes = {name: rng.integers(0, 2**32, rows) for name in CELLS}
    # Every other pair of cells holds nearly the same numbers: the same cell, or one or two beside it.
    near = np.array(
        [
            schema.field(high).range.cell(x)
            for x in decode_column(schema.field(low), codes[low])
            .clip(float(schema.field(high).minimum), float(schema.field(high).maximum))
            .to_list()
        ]
    )
    codes[high][::2] = np.clip(near[::2] + rng.integers(-2, 3, len(near[::2])), 0, 2**32 - 1)
    for name in CELLS:  # and some hold exactly a bound or zero
        codes[name][:300] = rng.choice([0, 2**32 - 1, schema.field(name).range.cell(0.0)], 300)
    is_kept = ~schema.coded_rules[0].broken(codes)

    table = decode(codes, schema)
    lower, upper = (table[name].to_numpy()[is_kept] for name in (low, high))

    assert ((lower < upper) if strict else (lower <= upper)).all()
    assert 1_000 < is_kept.sum() < rows


def test_equal_bounds_of_numbers_keep_an_order_that_is_not_strict() -> None:
    fields = [
        {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
        {"name": "y", "type": "number", "constraints": {"minimum": 1, "maximum": 2}},
    ]
    rule = Schema.from_dict({"fields": fields, "rules": [{"order": ["y", "x"]}]}).coded_rules[0]

    assert rule.broken({"x": np.array([2**32 - 1, 2**32 - 2]), "y": np.array([0, 0])}).tolist() == [False, True]


def test_a_range_of_cells_is_wide_where_it_forbids_and_narrow_where_it_demands() -> None:
    third = Field(name="share", type="number", minimum=0, maximum=1).range.cell(1 / 3)
    near = [third - 1, third, third + 1]

    assert broken({"never": {"share": {"maximum": 1 / 3}}}, share=near) == [True, True, False]
    assert broken({"never": {"share": {"minimum": 1 / 3}}}, share=near) == [False, True, True]
    demanded = {"when": {"sex": "f"}, "then": {"share": {"maximum": 1 / 3}}}
    assert broken(demanded, share=near, sex=[0, 0, 0]) == [False, True, True]


@pytest.mark.parametrize(
    "field",
    [
        Field(name="x", type="integer", minimum=-5, maximum=100, resolution=7),
        Field(name="x", type="number", minimum=-0.3, maximum=1, resolution=0.1),
        Field(name="x", type="number", categories=(2.5, -1.0)),
        Field(name="x", type="integer", categories=(3, 1, 2)),
        Field(name="x", type="date", minimum="2015-01-20", maximum="2017-03-01", resolution="month"),
        Field(name="x", type="datetime", minimum="2015-01-20", maximum="2015-02-01", resolution="hour"),
        Field(name="x", type="datetime", minimum="2015-01-20", maximum="2019-02-01", resolution="year"),
        Field(name="x", type="date", categories=("2015-01-20", "2010-01-01")),
    ],
    ids=["steps", "decimals", "numbers", "integers", "months", "hours", "years", "dates"],
)
def test_the_numbers_of_codes_are_those_that_rows_show(field: Field) -> None:
    codes = np.arange(min(field.domain.values, 50))

    least, most = shown_values(field).ends(codes)

    found = decode_column(field, codes).to_physical().to_numpy()
    assert (least == most).all()
    assert (least == found).all()


LARGE = 2**53 - 2


def test_orders_of_the_largest_domains_are_exact() -> None:
    fields = [bounded("a", 0, LARGE), bounded("b", -LARGE // 2, LARGE // 2)]
    rule = Schema.from_dict({"fields": fields, "rules": [{"order": ["a", "b"], "strict": True}]}).coded_rules[0]
    half = LARGE // 2

    assert isinstance(rule, OrderPair)
    codes = {"a": np.array([half - 1, half]), "b": np.array([LARGE, LARGE])}
    assert rule.broken(codes).tolist() == [False, True]
    boxes = {
        "a": (np.array([half - 1, half]), np.array([LARGE, LARGE])),
        "b": (np.array([0, 0]), np.array([LARGE + 1, LARGE + 1])),
    }
    assert rule.possible(boxes).tolist() == [True, False]


def test_sums_that_could_overflow_are_refused() -> None:
    fields = [bounded("a", 0, LARGE), bounded("b", 0, LARGE)]

    with pytest.raises(SchemaError, match="too large to add up in 64 bits; narrow the bounds"):
        Schema.from_dict({"fields": fields, "rules": [{"sum": {"a": 10**6}, "equals": "b"}]})


def test_whole_numbers_beyond_floats_are_not_compared_with_decimals() -> None:
    decimals = {"name": "b", "type": "number", "constraints": {"minimum": 0, "maximum": 1}}
    fields = [bounded("a", 2**60, 2**60 + 9), decimals]

    with pytest.raises(SchemaError, match=r"beyond 2\*\*53 whole numbers are not compared"):
        Schema.from_dict({"fields": fields, "rules": [{"order": ["a", "b"]}]})


def test_rows_of_the_largest_domains_are_completed() -> None:
    fields = [bounded("a", 0, LARGE), bounded("b", 0, LARGE), bounded("c", 0, LARGE)]
    rules = [{"order": ["a", "b"], "strict": True}, {"sum": {"a": 3, "b": 1}, "equals": "c"}]
    schema = Schema.from_dict({"fields": fields, "rules": rules})

    row = complete_row(schema, {"a": np.array([[10**15, 10**15 + 10]])}, ("a", "b", "c"))

    assert row is not None
    assert row["a"] in range(10**15, 10**15 + 10)
    assert row["a"] < row["b"]
    assert row["c"] == 3 * row["a"] + row["b"]


def test_too_many_combinations_are_refused() -> None:
    fields = [{"name": f"x{place}", "type": "boolean"} for place in range(20)]

    with pytest.raises(SchemaError, match="combinations apart, more than"):
        Schema.from_dict({"fields": fields, "rules": [{"never": {f"x{place}": True for place in range(20)}}]})


def test_causes_come_before_effects() -> None:
    schema = schema_of(
        {"when": {"sex": "f"}, "then": {"age": 3, "flag": True}},
        {"determines": ["flag"], "column": "age"},
        {"order": ["day", "hour"]},
    )

    assert components(schema.coded_rules) == (("sex", "flag", "age"), ("day", "hour"))


def test_codes_that_a_condition_treats_alike_are_one_group_where_they_have_no_order() -> None:
    names = [f"c{place:03}" for place in range(300)]
    fields = [*FIELDS, {"name": "code", "type": "string", "categories": names}]
    rules = [{"never": {"code": names[::2], "sex": "f"}}, {"never": {"code": names[:10], "age": 1}}]
    schema = Schema.from_dict({"fields": fields, "rules": rules})

    assert [rule.groupings[0].regular for rule in schema.coded_rules] == [2, 2]


CONTRADICTIONS = {
    "one": (
        [{"never": {"flag": [True, False]}}],
        "rule 1 (never flag is true or false): no row of the declared values",
    ),
    "two": (
        [
            {"never": {"sex": "f"}},
            {"never": {"flag": True}},
            {"when": {"flag": False}, "then": {"flag2": True}},
            {"never": {"flag2": True}},
        ],
        "rules 2 (never flag is true), 3 (when flag is false, flag2 is true) and 4 (never flag2 is true) contradict "
        "each other",
    ),
    "twice": (
        [{"never": {"sex": "f"}}, *2 * [{"never": {"flag": True}}], {"never": {"flag": False}}],
        "rules 2 (never flag is true) and 4 (never flag is false) contradict each other",
    ),
    "circle": (
        [{"order": ["a", "b", "c"]}, {"order": ["c", "a"], "strict": True}],
        "rules 1 (a <= b <= c) and 2 (c < a) contradict each other",
    ),
    "sum": (
        [
            {"sum": {"a": 1, "b": 1}, "equals": "c"},
            {"never": {"a": {"maximum": 4}}},
            {"never": {"b": {"maximum": 5}}},
            {"never": {"c": {"minimum": 11}}},
        ],
        "rules 1 (a + b = c), 2 (never a is at most 4), 3 (never b is at most 5) and 4",
    ),
    "map": (
        [
            {"determines": ["flag"], "column": "flag2", "values": [[True, False], [False, True]]},
            {"allowed": ["flag", "flag2"], "rows": [[True, True], [False, False]]},
        ],
        "rules 1 (flag determines flag2 (2 values listed)) and 2",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_rules_of_a_component_without_a_row_are_named(case: str) -> None:
    rules, sentence = CONTRADICTIONS[case]
    required = {"type": "boolean", "constraints": {"required": True}}
    fields = [
        *FIELDS,
        {"name": "flag2", **required},
        *(bounded(name, 0, 10**9) for name in ("a", "b", "c")),
    ]

    with pytest.raises(SchemaError) as error:
        Schema.from_dict({"fields": fields, "rules": rules})

    assert str(error.value).startswith(sentence)


def test_columns_that_may_be_missing_make_an_order_in_a_circle_possible() -> None:
    schema = schema_of({"order": ["day", "week"], "strict": True}, {"order": ["week", "day"], "strict": True})
    row = complete_row(schema, {}, ("day", "week"))

    assert row is not None
    assert row["day"] == schema.field("day").domain.last or row["week"] == schema.field("week").domain.last


def test_rules_that_a_search_cannot_decide_are_refused_when_the_schema_is_read() -> None:
    # A sum that is odd and a difference that is even: neither rule sees that by itself.
    fields = [
        *(bounded(name, 0, 10**9) for name in ("a", "b", "e", "f")),
        bounded("c", 1, 10**9 + 1, resolution=2),
        bounded("d", 0, 10**9, resolution=2),
    ]
    rules = [
        {"order": ["e", "f"]},
        {"sum": ["a", "b"], "equals": "c"},
        {"sum": {"a": 1, "b": -1}, "equals": "d"},
    ]

    with pytest.raises(
        SchemaError,
        match=r"^rules 2 \(a \+ b = c\) and 3 .*: no row was found that keeps them all, nor that there is none",
    ):
        Schema.from_dict({"fields": fields, "rules": rules})


def test_a_row_is_found_again_whatever_the_order_in_which_columns_are_asked_for() -> None:
    fields = [bounded(name, 0, 10**6) for name in "abc"]
    rules = [{"sum": ["a", "b"], "equals": "c"}, {"never": {"c": {"maximum": 17}}}]
    schema = Schema.from_dict({"fields": fields, "rules": rules})

    found = [complete_row(schema, {}, tuple(names)) for names in ("abc", "bac", "cba")]

    assert found[0] is not None
    assert found[0] == found[1] == found[2]


def test_steps_that_never_meet_a_sum_are_a_contradiction() -> None:
    fields = [bounded("a", 0, 10**9), bounded("b", 0, 10**9), bounded("c", 1, 10**9 + 1, resolution=2)]

    with pytest.raises(SchemaError, match=r"rule 1 .* no row of the declared values keeps it"):
        Schema.from_dict({"fields": fields, "rules": [{"sum": {"a": 4, "b": 2}, "equals": "c"}]})


def nests(holes: int) -> dict:
    """Return a schema in which one bird more than there are holes wants one of its own."""
    birds = [f"b{place}" for place in range(holes + 1)]
    listed = [f"h{place}" for place in range(holes)]
    pairs = [(one, two) for place, one in enumerate(birds) for two in birds[:place]]
    return {
        "fields": [
            {"name": bird, "type": "string", "categories": listed, "constraints": {"required": True}} for bird in birds
        ],
        "rules": [{"never": {one: hole, two: hole}} for one, two in pairs for hole in listed],
    }


@pytest.mark.parametrize(
    ("holes", "says"),
    [
        (
            5,
            "never b1 is h3 and b0 is h3), 5 (never b1 is h4 and b0 is h4), 6 (never b2 is h0 and b0 is h0), 7 (never ",
        ),
        (7, " and 189 more: no row was found"),
    ],
    ids=["five", "seven"],
)
def test_rules_that_only_many_together_contradict_are_refused_soon(holes: int, says: str) -> None:
    started = time.process_time()

    with pytest.raises(SchemaError) as error:
        Schema.from_dict(nests(holes))

    assert says in str(error.value)
    assert len(str(error.value)) < 600
    assert time.process_time() - started < 15  # a minute or more where every rule is tried to the end
