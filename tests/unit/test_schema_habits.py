"""A schema as Python's own containers: names, columns by name, and changes by `|`."""

from dataclasses import replace

import pytest

import lapwing as lw
from lapwing.errors import SchemaError
from lapwing.schema.fields import PrivacyUnit

SCHEMA = lw.Schema.load(
    {
        "missingValues": ["", "NA"],
        "fields": [
            {"name": "id", "type": "integer", "role": "identifier"},
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        ],
    }
)


def test_names_columns_and_sizes_are_as_of_a_mapping():
    assert SCHEMA.names == tuple(SCHEMA) == ("id", "sex", "age")
    assert SCHEMA["age"] is SCHEMA.field("age")
    assert len(SCHEMA) == 3
    assert ("age" in SCHEMA, "Age" in SCHEMA, 0 in SCHEMA) == (True, False, False)
    with pytest.raises(SchemaError, match='no field is called "agge"; did you mean "age"'):
        SCHEMA["agge"]


def test_keys_of_a_field_change_and_all_else_stays():
    changed = SCHEMA | {"age": {"maximum": 120, "special": [-1]}}

    assert (changed["age"].minimum, changed["age"].maximum, changed["age"].special) == (0, 120, (-1,))
    assert changed["age"].missing_values == ("", "NA")
    assert [changed[name] for name in ("id", "sex")] == [SCHEMA[name] for name in ("id", "sex")]
    assert SCHEMA["age"].maximum == 99
    assert changed == SCHEMA | {"age": {"constraints": {"maximum": 120}, "special": [-1]}}
    assert SCHEMA | {} == SCHEMA | SCHEMA == SCHEMA


def test_a_new_name_is_a_column_at_the_end_and_blanks_make_a_draft():
    draft = SCHEMA | {"weight": {"type": "number"}}

    assert (draft.names[-1], draft.is_draft) == ("weight", True)
    assert not (draft | {"weight": {"minimum": 2, "maximum": 200}}).is_draft


def test_another_schema_has_the_word_on_its_fields_and_on_the_table():
    rules = [{"when": {"sex": sex}, "then": {"age": {"minimum": least}}} for sex, least in (("f", 1), ("m", 2))]
    first = lw.Schema.load({**SCHEMA.to_dict(), "name": "a", "rules": rules[:1]})
    unit = PrivacyUnit("id", 3)
    second = lw.Schema.load({**(SCHEMA | {"age": {"maximum": 50}}).to_dict(), "rules": rules})
    second = replace(second, privacy_unit=unit)

    found = first | second

    assert found.names == SCHEMA.names
    assert (found["age"].maximum, found.privacy_unit, found.name) == (50, unit, "a")
    assert found.rules == second.rules  # the first rule once


def test_some_columns_keep_what_is_about_them_alone():
    rule = {"when": {"sex": "f"}, "then": {"age": {"minimum": 1}}}
    unit = {"field": "id", "maxRows": 2}
    table = {
        "columns": ["sex"],
        "cells": [["f", 5], ["m", 6]],
        "source": "x",
        "provenance": "public",
        "hold": "prior",
        "sd": 9,
    }
    whole = lw.Schema.load(
        {
            **(SCHEMA | {"sex": {"required": True}}).to_dict(),
            "weight": "age",
            "privacyUnit": unit,
            "rules": [rule],
            "publicTables": [table],
        }
    )

    assert whole.select(["age", "sex"]).names == ("id", "age", "sex")
    assert whole.select(whole.names) == whole
    sex = whole.select(["sex"])
    assert (sex.names, sex.rules, sex.weight, sex.public_tables) == (("id", "sex"), (), None, whole.public_tables)
    age = whole.select(("age",))
    assert (age.names, age.weight, age.public_tables) == (("id", "age"), "age", ())
    for wrong, said in (("age", "got a str"), (["agge"], 'did you mean "age"'), (3, "got a int")):
        with pytest.raises(SchemaError, match=said):
            whole.select(wrong)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (3, "changes of a schema map columns to keys, or are a Schema, got a int; write for example"),
        ({"age": 3}, 'changes of field "age" must be an object with keys, got 3'),
        ({"age": {"mimimum": 3}}, 'did you mean "minimum"'),
        ({"age": {"maximum": -4}}, "minimum 0 is above maximum -4"),
        ({"new": {}}, 'no field is called "new"; a new column needs a "type"'),
        ({"agge": {"maximum": 3}}, 'no field is called "agge"; did you mean "age"'),
        ({3: {"type": "boolean"}}, "every field needs a name that is a text"),
    ],
)
def test_changes_that_a_schema_cannot_have_are_refused(changes, said):
    with pytest.raises(SchemaError, match=said):
        SCHEMA | changes


def test_a_private_table_is_no_change_and_shows_no_cell():
    import pandas as pd

    with pytest.raises(SchemaError) as caught:
        SCHEMA | pd.DataFrame({"age": [41.125]})
    with pytest.raises(SchemaError, match="got a Series"):
        SCHEMA.select(pd.Series(["41.125"]))
    with pytest.raises(SchemaError, match="got a DataFrame") as headless:
        SCHEMA.select(pd.DataFrame({"41.125": [1]}))

    assert "41" not in str(caught.value) + str(headless.value)
