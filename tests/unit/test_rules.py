"""Rules of a schema: how they are read, refused and written, and that they go where the schema goes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import lapwing as lw
from helpers.ruled_schemas import FIELDS, schema_of
from lapwing.errors import SchemaError
from lapwing.schema.rules.rules import rule_to_dict, rules_from
from lapwing.schema.schemas import Schema


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
        (
            {"determines": ["sex"], "column": "flag", "values": [["f", True], ["f", False]]},
            'its values list "f" twice, with different values',
        ),
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
