"""Rules of a schema: how they are written and meant, and which contradict each other."""

import datetime as dt
import json
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.cases import spread
from helpers.natural_rules import TABLES, declared, fields_of
from helpers.plain_rules import broken_rows
from helpers.ruled_schemas import FIELDS, bounded, schema_of
from lapwing.errors import SchemaError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.maths.noise_tails import sum_tail
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.model.certificate.declared import broken_at_least, sum_reach
from lapwing.rows.out.decode import decode, decode_column
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import prefix_grouping
from lapwing.schema.rules.codes import OrderPair, components
from lapwing.schema.rules.rules import rule_to_dict, rules_from
from lapwing.schema.rules.search import complete_row
from lapwing.schema.schemas import Schema
from lapwing.schema.values import shown_values


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"description": "x"}, "rule 1 says nothing; write exactly one of the keys order, sum, determines"),
        ({"order": ["age", "pay"], "never": {"age": 1}}, "rule 1 has order and never; write exactly one"),
        ({"order": ["age", "id"]}, 'rule 1 (age <= id): column "id" is an identifier, which is not modelled'),
        ({"never": {"sex": "x"}}, 'rule 1 (never sex is x): column "sex" must be one of its categories, got "x"'),
        ({"order": ["age", "day"]}, 'columns "age" and "day" have types that no order compares'),
        ({"sum": ["age"], "equals": "day"}, 'column "day" has type date; add up integers or numbers'),
        ({"sum": ["age"], "equals": "share"}, 'column "share" is a number without resolution'),
        ({"determines": ["sex"], "column": "flag", "values": [["f", True], ["f", False]]}, 'its values list "f"'),
    ],
)
def test_a_rule_is_refused_in_a_sentence_that_names_it(rule: Any, sentence: str) -> None:
    with pytest.raises(SchemaError) as error:
        schema_of(rule)

    assert sentence in str(error.value)


TEXTS = {
    "age < pay": {"order": ["age", "pay"], "strict": True},
    "day <= hour <= week": {"order": ["day", "hour", "week"]},
    "100 age - pay = share": {"sum": {"age": 100, "pay": -1}, "equals": "share"},
    "sex and age determine flag": {"determines": ["sex", "age"], "column": "flag"},
    "sex determines flag (1 values listed)": {"determines": "sex", "column": "flag", "values": [["f", True]]},
    "when age is at most 14 or -1 and flag is true, sex is missing": {
        "when": {"age": [{"maximum": 14}, -1], "flag": True},
        "then": {"sex": None},
    },
    "never age is 3 to 4 and sex is f": {"never": {"age": {"minimum": 3, "maximum": 4}, "sex": "f"}},
    "sex and flag are one of 2 combinations": {"allowed": ["sex", "flag"], "rows": [["f", True], [None, False]]},
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_rule_in_words_stands_on_one_line(text: str) -> None:
    (rule,) = rules_from([TEXTS[text]])

    assert rule.text == text
    assert rules_from([rule_to_dict(rule)]) == (rule,)
    assert rules_from([rule]) == (rule,)


def test_words_of_a_rule_hide_nothing_and_stay_short() -> None:
    (rule,) = rules_from([{"never": {"a\n\x1b[2Jb": ["x" * 500]}}])

    assert "\n" not in rule.text
    assert "\x1b" not in rule.text
    assert len(rule.text) < 250


def test_what_a_rule_is_for_and_whether_it_is_assumed_is_kept_in_its_file(tmp_path: Path) -> None:
    rule = {"never": {"age": 1, "sex": "f"}, "description": "by law", "provenance": "assumed"}

    schema_of(rule).save(tmp_path / "s.json")

    assert json.loads((tmp_path / "s.json").read_text())["rules"] == [rule]
    loaded = Schema.load(tmp_path / "s.json").rules[0]
    assert (loaded.description, loaded.provenance) == ("by law", "assumed")


def test_a_changed_schema_keeps_its_rules_and_looks_at_them_again() -> None:
    schema = schema_of({"never": {"sex": "m"}}, privacyUnit={"field": "id", "maxRows": 2})

    changed = replace(schema, privacy_unit=None)

    assert changed.rules == schema.rules
    assert len(changed.coded_rules) == 1
    with pytest.raises(SchemaError, match="rule 1"):
        replace(
            schema,
            fields=tuple(
                replace(field, categories=("f",)) if field.name == "sex" else field for field in schema.fields
            ),
        )


def test_of_a_draft_only_the_columns_of_rules_are_looked_at() -> None:
    blank = {"name": "town", "type": "string", "categories": None}
    table = {"draft": True, "fields": [*FIELDS, blank], "rules": [{"never": {"town": "Oslo", "sex": "neither"}}]}

    draft = Schema.load_draft(table)

    assert len(draft.rules) == 1
    with pytest.raises(SchemaError, match="draft"):
        _ = draft.coded_rules
    with pytest.raises(SchemaError, match='no field is called "tow"'):
        Schema.load_draft({**table, "rules": [{"never": {"tow": "Oslo"}}]})


def test_bounds_that_were_paid_for_are_kept_where_the_rules_do_not_go_with_them() -> None:
    rows = pl.DataFrame({"age": [20 + row % 40 for row in range(500)], "sex": ["f"] * 500})
    blank = {"name": "age", "type": "integer", "provenance": "dp"}
    rules = [{"never": {"age": {"minimum": 1000}, "sex": "f"}}]

    found = lw.Schema.learn(rows, {"fields": [blank, FIELDS[2]], "rules": rules}, epsilon=100)

    assert found.is_draft
    assert found.field("age").maximum is not None
    assert "rule 1" in found.questions[0]
    with pytest.raises(SchemaError, match="open question"):
        lw.synthesize(rows, found, epsilon=1)


def broken(rule: dict[str, Any], **codes: list[int]) -> list[bool]:
    found = [each.broken({name: np.array(own) for name, own in codes.items()}) for each in schema_of(rule).coded_rules]
    return list(map(bool, np.logical_or.reduce(found)))


def test_misfits_keep_every_rule() -> None:
    misfit = Field(name="flag", type="boolean", required=True).domain.last

    assert broken({"never": {"flag": [True, False], "sex": "f"}}, flag=[0, misfit], sex=[0, 0]) == [True, False]
    assert broken({"allowed": ["flag"], "rows": [[True]]}, flag=[0, 1, misfit]) == [True, False, False]
    assert broken({"when": {"sex": "f"}, "then": {"flag": True}}, flag=[0, misfit], sex=[0, 0]) == [True, False]
    dependency = {"determines": ["sex"], "column": "flag"}
    assert broken(dependency, sex=[0, 0, 0], flag=[1, 1, misfit]) == [False, False, False]


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
        (5, "never b1 is h3 and b0 is h3), 5 (never b1 is h4 and b0 is h4), 6 (never b2 is h0 and b0 is h0), 7"),
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


PLAIN_FIELDS = [
    {"name": "low", "type": "integer", "special": [-1]},
    {"name": "high", "type": "integer"},
    {"name": "size", "type": "string", "categories": ["small", "large", "huge"]},
    {"name": "end", "type": "string", "categories": ["small", "large", "huge"]},
    {"name": "born", "type": "date"},
    {"name": "code", "type": "string"},
    {"name": "group", "type": "string"},
]
GOOD = {
    "low": [1, -1, None, 3, 2],
    "high": [2, 0, 5, 6, 4],
    "size": ["small", "small", "large", None, "huge"],
    "end": ["large", "small", "huge", "small", None],
    "born": [dt.date(2000, 1, day) for day in (1, 2, 3, 4, 5)],
    "code": ["a", "a", "b", None, "b"],
    "group": ["x", "x", "y", "z", "y"],
}
RULES = {
    "order": {"order": ["low", "high"], "strict": True},
    "order of categories": {"order": ["size", "end"]},
    "sum": {"sum": {"low": 2}, "equals": "high"},
    "dependency": {"determines": ["code"], "column": "group"},
    "listed dependency": {"determines": ["code"], "column": "group", "values": [["a", "x"], [None, "z"]]},
    "implication": {"when": {"born": {"minimum": "2000-01-04"}}, "then": {"size": [None, "huge"], "high": [6, 4]}},
    "never": {"never": {"low": {"minimum": 3}, "size": "small"}},
    "allowed": {"allowed": ["code", "group"], "rows": [["a", "x"], ["b", "y"], [None, "z"]]},
}
PLANTED = {
    "order": [("high", 0, 1), ("low", 1, 0)],
    "order of categories": [("end", 2, "small"), ("size", 3, "huge")],
    "sum": [("high", 0, 3), ("low", 4, 1)],
    "dependency": [("group", 0, "y"), ("group", 4, None)],
    "listed dependency": [("group", 1, "y"), ("group", 3, None)],
    "implication": [("size", 3, "large"), ("high", 4, None), ("born", 0, dt.date(2001, 1, 1))],
    "never": [("size", 3, "small")],
    "allowed": [("group", 0, "z"), ("code", 3, "a")],
}


@pytest.mark.parametrize(("name", "planted"), [(name, each) for name, cells in PLANTED.items() for each in cells])
def test_the_plain_checker_finds_a_planted_violation(name, planted):
    column, place, value = planted
    cells = list(GOOD[column])
    cells[place] = value

    assert broken_rows(pl.DataFrame(GOOD).with_columns(pl.Series(column, cells)), RULES[name], PLAIN_FIELDS) == 1


@pytest.mark.parametrize("name", TABLES)
def test_no_real_row_breaks_a_natural_rule(name, shared_data):
    table = pl.read_parquet(shared_data / name / "data.parquet")

    broken = [broken_rows(table, rule, fields_of(shared_data, name)) for rule in declared(name)["rules"]]

    assert len(broken) >= 5
    assert not any(broken)


CONTRARY_FIELDS = [
    {"name": "role", "type": "string", "categories": ["husband", "wife", "other"], "constraints": {"required": True}},
    {"name": "sex", "type": "string", "categories": ["f", "m"]},
    {"name": "hours", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
]
CUT = ("hours", "age")
CONTRARY = [
    {"when": {"role": "husband"}, "then": {"sex": "f"}},
    {"order": ["hours", "age"]},
    {"never": {"role": "wife"}},
    {"never": {"role": "other", "sex": "f", "age": {"maximum": 50}}},
    {"sum": {"hours": 1}, "equals": "age"},
    {"determines": ["role"], "column": "sex"},
]


def rows(count: int) -> dict[str, np.ndarray]:
    """Return codes: half are husbands and men, a quarter wives; all work 60 hours and are 30 years old."""
    place = np.arange(count)
    return {
        "role": np.where(place % 2 == 0, 0, np.where(place % 4 == 1, 1, 2)),
        "sex": (place % 2 == 0).astype(int),
        "hours": np.full(count, 60),
        "age": np.full(count, 30),
    }


def counted(schema: Schema, codes: dict[str, np.ndarray], names: tuple[str, ...], *, shift: int = 0) -> NoisyCounts:
    """Return the exact table of some columns as an answer with a small noise law."""
    groupings = tuple(prefix_grouping(schema.field(name).domain, shift if name in CUT else 0) for name in names)
    question = MarginalCounts(columns=names, groupings=groupings, cost=Budget.pure(Fraction(1)))
    counts = np.zeros(question.shape, dtype=np.int64)
    np.add.at(counts, tuple(grouping.apply(codes[name]) for grouping, name in zip(groupings, names, strict=True)), 1)
    return NoisyCounts(question, counts, question.noise("add-remove", 1))


CONTRARY_TABLES = {
    "implication": ([("role", "sex")], 0, {0: 0.5, 2: 0.25}),
    "one column": ([("role",)], 0, {2: 0.25}),
    "three columns and one more": ([("age", "role", "hours", "sex")], 3, {0: 0.5, 1: 1, 2: 0.25, 3: 0.25, 4: 1}),
    "order by one-way tables": ([("hours",), ("age",)], 0, {1: 1, 4: 1}),
    "groups that cannot tell": ([("hours", "age"), ("hours",), ("age",)], 6, {}),
    "one-way tables that cannot tell": ([("role",), ("sex",)], 0, {2: 0.25}),
    "no table": ([], 0, {}),
}


@pytest.mark.parametrize("case", CONTRARY_TABLES)
def test_counts_tell_how_many_rows_break_a_rule_at_least(case):
    names, shift, wanted = CONTRARY_TABLES[case]
    schema = Schema.from_dict({"fields": CONTRARY_FIELDS, "rules": CONTRARY})
    answers = [counted(schema, rows(100_000), each, shift=shift) for each in names]

    found = broken_at_least(schema, answers)

    # Less some five deviations of at most 1.4 rows of at most 10,000 cells.
    assert found == {schema.rules[place].text: pytest.approx(share, abs=0.02) for place, share in wanted.items()}
    assert all(found[schema.rules[place].text] <= share for place, share in wanted.items())


def test_one_way_tables_bound_an_implication():
    fields = [{"name": name, "type": "boolean"} for name in ("rich", "old")]
    schema = Schema.from_dict({"fields": fields, "rules": [{"when": {"rich": True}, "then": {"old": True}}]})
    codes = {"rich": np.arange(10_000) % 10 < 7, "old": np.arange(10_000) % 10 < 2}
    answers = [counted(schema, {name: each.astype(int) for name, each in codes.items()}, (name,)) for name in codes]

    found = broken_at_least(schema, answers)

    assert found == {"when rich is true, old is true": pytest.approx(0.5, abs=0.01)}


def contrary_rows(count: int) -> pl.DataFrame:
    """Return decoded rows that break rules."""
    codes = rows(count)
    roles = ["husband", "wife", "other"]
    return pl.DataFrame(
        {
            "role": [roles[code] for code in codes["role"]],
            "sex": ["fm"[code] for code in codes["sex"]],
            "hours": codes["hours"],
            "age": codes["age"],
        },
    )


@pytest.mark.parametrize("name", ["adaptive", "independent"])
def test_a_certificate_warns_of_rules_that_real_rows_break(name):
    release = lw.synthesize(
        contrary_rows(3000),
        {"fields": CONTRARY_FIELDS, "rules": CONTRARY[1:3]},
        epsilon=4,
        mechanism=MECHANISMS[name].small(),
        seed=1,
    )

    told = [each.fields["rule"] for each in release.certificate.warnings if each.code == "rule_broken"]

    assert told == ["hours <= age", "never role is wife"]


@pytest.mark.parametrize("seed", range(2))
def test_rows_that_keep_the_rules_are_not_accused(seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, 400)
    data = pl.DataFrame(
        {
            "role": rng.choice(["husband", "other"], 400),
            "sex": ["f"] * 400,
            "hours": (age * rng.random(400)).astype(int),
            "age": age,
        },
    )
    release = lw.synthesize(data, {"fields": CONTRARY_FIELDS, "rules": CONTRARY[:3]}, epsilon=0.3, seed=seed)

    assert not [each for each in release.certificate.warnings if each.code == "rule_broken"]


def test_hundreds_of_rules_that_hold_are_not_accused_by_laplace_noise():
    names = [f"c{place}" for place in range(600)]
    schema = Schema.from_dict(
        {
            "fields": [{"name": "code", "type": "string", "categories": names}],
            "rules": [{"never": {"code": name}} for name in names[:400]],
        },
    )
    codes = {"code": np.random.default_rng(0).integers(400, 600, 1000)}
    exact = counted(schema, codes, ("code",))
    rng = np.random.default_rng(1)
    noise = rng.geometric(1 - np.exp(-1.0), (20, 2, exact.counts.size))
    assert exact.noise == NoiseLaw("laplace", Fraction(1))

    accused = [
        len(broken_at_least(schema, [NoisyCounts(exact.question, exact.counts + one - two, exact.noise)]))
        for one, two in noise
    ]

    # Beyond four standard deviations, 5.4 of 1.36 each, goes one count in 500: 16 of these 8,000.
    assert sum(accused) == 0


@spread(
    ("kind", ["laplace", "gaussian"]),
    ("terms", [1, 5, 300]),
    ("parameter", [Fraction(1, 3), Fraction(7), Fraction(4000)]),
    ("failure", [1e-3, 1e-7]),
)
def test_a_sum_of_noise_stays_within_its_reach(kind, terms, parameter, failure):
    # Of one side; `sum_tail` says it of both.
    least = sum_tail(kind, parameter, terms, 2 * failure)

    reach = sum_reach(((NoiseLaw(kind, parameter), terms),), failure)

    assert least <= reach <= 1.6 * least + 2
