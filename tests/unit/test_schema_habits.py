"""A schema as Python's own containers: names, columns by name, and changes by `|`."""

from dataclasses import replace

import pytest

import lapwing as lw
from lapwing.errors import SchemaError
from lapwing.schema.unit import PrivacyUnit

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


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (3, "changes of a schema map columns to keys, or are a Schema, got a int; write for example"),
        ({"age": 3}, 'changes of field "age" must be an object with keys, got 3'),
        ({"age": {"mimimum": 3}}, 'did you mean "minimum"'),
        ({"age": {"maximum": -4}}, "minimum 0 is above maximum -4"),
        ({"new": {}}, 'field "new": has no type'),
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

    assert "41" not in str(caught.value)
