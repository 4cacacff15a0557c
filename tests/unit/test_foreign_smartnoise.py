"""Metadata of SmartNoise SQL, as its writer and its published examples have it, becomes a schema."""

import pytest
import yaml

from helpers.foreign_files import FOREIGN, SAMPLE
from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.reading import read_foreign
from lapwing.extras.connect.metadata.smartnoise import is_smartnoise, read_smartnoise
from lapwing.schema.fields import PrivacyUnit

PERSONS = """
Database:
  PUMS:
    PUMS:
      rows: 1000
      age: {type: int, lower: 0, upper: 100}
      sex: {type: string}
      income: {type: int, lower: 0, upper: 5e5}
      pid: {type: int, private_id: True}
"""
AGE = {"type": "int", "lower": 0, "upper": 100}

TWO_TABLES = """
"":
  PUMS:
    PUMS: {max_ids: 1, age: {type: int, lower: 0, upper: 100}, pid: {type: int, private_id: True}}
    PUMS2: {max_ids: 3, age: {type: int, lower: 0, upper: 90}, pid: {type: int, private_id: True}}
"""


def read(table, wanted=None):
    return read_smartnoise({"Database": {"public": {"people": table}}}, "the file", wanted)


def read_text(text, wanted=None):
    value = yaml.safe_load(text)
    assert is_smartnoise(value)
    return read_smartnoise(value, "the file", wanted)


def test_what_the_tool_wrote_of_the_sample_gives_its_bounds_back():
    found = read_foreign(FOREIGN / "smartnoise-adult.yaml")

    assert (found.format, found.schema.name, found.schema.privacy_unit) == ("SmartNoise SQL metadata", "adult", None)
    assert {field.name for field in found.schema.fields} == {field.name for field in SAMPLE.fields}
    for field in SAMPLE.fields:
        taken = found.schema.field(field.name)
        assert (taken.type, taken.minimum, taken.maximum) == (field.type, field.minimum, field.maximum)
        assert (taken.required, taken.provenance) == (field.required, "assumed")
    assert {lack.field for lack in found.lacks} == {field.name for field in SAMPLE.fields if field.categories}


def test_a_private_id_and_max_ids_are_the_privacy_unit():
    schema = read_foreign(FOREIGN / "smartnoise-visits.yaml", table="visits").schema

    assert schema.privacy_unit == PrivacyUnit("patient", 5)
    assert schema.field("patient").identifier
    assert read_text(PERSONS).schema.privacy_unit == PrivacyUnit("pid", 1)


def test_nullable_is_required_only_where_the_file_says_so():
    found = read(
        {
            "row_privacy": True,
            "a": AGE,
            "b": {**AGE, "nullable": False},
            "c": {**AGE, "nullable": False, "missing_value": 0},
            "d": {**AGE, "nullable": True},
        }
    )

    assert [field.required for field in found.schema.fields] == [False, True, False, False]


@pytest.mark.parametrize("ids", [[], ["p", "q"]], ids=["none", "two"])
def test_without_one_private_id_the_privacy_unit_is_missing(ids):
    found = read({"age": AGE, **{name: {"type": "int", "private_id": True} for name in ids}})

    assert found.schema.privacy_unit is None
    assert found.schema.is_draft
    assert [(lack.field, lack.what) for lack in found.lacks] == [("", "whose rows are protected together")]


def test_a_table_is_chosen_by_its_name_with_or_without_schema():
    assert read_text(TWO_TABLES, "PUMS2").schema.max_rows == 3
    assert read_text(TWO_TABLES, "PUMS.PUMS").schema.max_rows == 1
    with pytest.raises(SchemaError, match=r'choose one with table= or --table: "PUMS\.PUMS", "PUMS\.PUMS2"'):
        read_text(TWO_TABLES)
    with pytest.raises(SchemaError, match='no table "PUMS3"'):
        read_text(TWO_TABLES, "PUMS3")


def test_a_file_of_two_databases_is_refused():
    database = {"public": {"people": {"a": AGE}}}

    with pytest.raises(SchemaError, match='several databases; keep one of "x", "y"'):
        read_smartnoise({"x": database, "y": database}, "the file", None)
