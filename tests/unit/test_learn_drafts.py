import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import ParameterError, SchemaError

DATA = pl.DataFrame({"age": [20, 60] * 500, "town": ["Rome", "Oslo"] * 500, "left": [True, False] * 500})
AGE = {"name": "age", "type": "integer", "provenance": "dp"}
TOWN = {"name": "town", "type": "string", "provenance": "dp"}
LEFT = {"name": "left", "type": "boolean", "provenance": "public"}


def learned(*fields, **settings):
    return lw.Schema.learn(DATA, {"fields": list(fields)}, epsilon=100, **settings)


def test_blanks_can_be_learned_where_the_owner_has_taken_the_mark_of_a_draft_off():
    found = learned(AGE, TOWN, LEFT, delta=1e-6)

    assert not found.is_draft
    assert (found.field("age").minimum, found.field("age").maximum) == (20, 60)
    assert found.field("town").categories == ("Oslo", "Rome", "(other)")


def test_what_was_not_asked_for_stays_blank_and_makes_it_a_draft():
    found = learned(AGE, TOWN, fields=["age"])

    assert found.is_draft
    assert found.field("town").blank == ("categories",)


@pytest.mark.parametrize("fields", [None, ["age"]], ids=["blank", "named"])
def test_a_field_that_only_a_program_has_looked_at_is_not_learned(fields):
    with pytest.raises(ParameterError, match='field "age": its provenance is still drafted; check its type'):
        learned({**AGE, "provenance": "drafted"}, LEFT, fields=fields)


def test_a_draft_that_nobody_has_edited_leads_to_no_release():
    drafted = lw.Schema.draft(DATA)

    with pytest.raises(ParameterError, match="still drafted"):
        lw.Schema.learn(DATA, drafted, epsilon=1, delta=1e-6)
    with pytest.raises(SchemaError, match="draft"):
        lw.synthesize(DATA, drafted, epsilon=1)


def test_a_drafted_field_beside_learned_ones_keeps_the_result_a_draft():
    found = learned(AGE, {**LEFT, "provenance": "drafted"})

    assert found.is_draft
    with pytest.raises(SchemaError, match="draft"):
        lw.synthesize(DATA, found, epsilon=1)


QUESTIONS = ["whose rows are protected together", "whether ages are whole"]


def test_open_questions_are_answered_before_anything_is_learned_or_released(tmp_path):
    known = {**AGE, "constraints": {"minimum": 0, "maximum": 99}, "provenance": "public"}
    with pytest.raises(SchemaError, match=r"an open question: whose rows are protected together \(and 1 more\); answer"):
        lw.Schema.learn(DATA, {"fields": [AGE], "questions": QUESTIONS}, epsilon=1)
    with pytest.raises(SchemaError, match="open question"):
        lw.synthesize(DATA, {"fields": [known], "questions": QUESTIONS[:1]}, epsilon=1)

    schema = lw.Schema.load_draft({"fields": [known], "questions": QUESTIONS})
    schema.save(tmp_path / "s.json")

    assert schema.is_draft
    assert lw.Schema.load_draft(tmp_path / "s.json").questions == tuple(QUESTIONS)
    assert not lw.Schema.load({"fields": [known], "questions": []}).is_draft


@pytest.mark.parametrize("questions", ["one", {}, [1], ["\ud800"]], ids=["text", "object", "number", "half"])
def test_questions_are_a_list_of_texts(questions):
    with pytest.raises(SchemaError, match="questions must be a list of texts"):
        lw.Schema.load({"fields": [LEFT], "questions": questions})


def test_a_draft_that_no_blank_made_one_stays_one():
    known = {**AGE, "constraints": {"minimum": 0, "maximum": 99}, "provenance": "public"}

    found = lw.Schema.learn(DATA, {"fields": [known], "draft": True}, epsilon=100, fields=["age"])

    assert found.is_draft


@pytest.mark.parametrize(
    ("field", "settings"),
    [(TOWN, {"dictionaries": {"town": ["Rome", "Oslo"]}}), ({**AGE, "special": [60]}, {})],
    ids=["dictionary", "special"],
)
def test_what_rests_on_lists_that_are_assumed_stays_assumed(field, settings):
    assumed = learned({**field, "provenance": "assumed"}, **settings)
    bought = learned(field, **settings)

    assert assumed.fields[0].provenance == "assumed"
    assert bought.fields[0].provenance == "dp"
