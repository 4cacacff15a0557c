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
