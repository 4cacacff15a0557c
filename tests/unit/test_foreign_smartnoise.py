"""Metadata of SmartNoise SQL, as its writer and its published examples have it, becomes a schema."""

import pytest
import yaml

from helpers.foreign_files import FOREIGN, SAMPLE
from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.reading import read_foreign
from lapwing.extras.connect.metadata.smartnoise import is_smartnoise, read_smartnoise
from lapwing.schema.fields import PrivacyUnit

AGE = {"type": "int", "lower": 0, "upper": 100}

# The structure of datasets/PUMS_pid.yaml, PUMS_row.yaml, PUMS_dup_twotable.yaml and reddit.yaml of
# opendp/smartnoise-sdk: no schema name of its own, no settings at all, a database without a name, an engine.
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
TWO_TABLES = """
"":
  PUMS:
    PUMS: {max_ids: 1, age: {type: int, lower: 0, upper: 100}, pid: {type: int, private_id: True}}
    PUMS2: {max_ids: 3, age: {type: int, lower: 0, upper: 90}, pid: {type: int, private_id: True}}
"""
ENGINE = """
engine: csv
reddit:
  reddit:
    reddit:
      author: {cardinality: 10000, private_id: true, type: string}
      censor_dims: true
      max_ids: 500
      ngram: {cardinality: 10000, type: string}
      row_privacy: false
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


def test_settings_without_counterpart_are_noted():
    notes = "\n".join(read_foreign(FOREIGN / "smartnoise-visits.yaml", table="clinic.visits").notes)

    for part in (
        "censor_dims, clamp_counts, use_dpsu: settings of queries",
        "sample_max_ids is off",
        "clamp_columns is off",
        "--expected-rows",
        'missing_value has no counterpart: missing cells stay missing here (at "cost")',
        'sensitivity has no counterpart: it follows from the bounds (at "nights")',
        'cardinality counts the categories, and a schema lists them (at "ward")',
    ):
        assert part in notes


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


def test_row_privacy_leaves_no_privacy_unit_and_says_so():
    found = read({"row_privacy": True, "age": AGE, "pid": {"type": "int", "private_id": True}})

    assert (found.schema.privacy_unit, found.schema.is_draft, found.lacks) == (None, False, ())
    assert "row_privacy protects each row by itself" in found.notes[0]


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


def test_an_engine_is_no_database():
    found = read_text(ENGINE)

    assert found.schema.unit_label == "author:500"
    assert [field.name for field in found.schema.columns] == ["ngram"]


def test_settings_that_the_tool_does_not_know_are_read_past_as_it_does():
    # service/datasets/example.yaml of the same repository has min, max and is_key, of before 2020.
    found = read({"row_privacy": True, "a": {"type": "int", "min": 0, "max": 50}})

    assert found.schema.field("a").blank == ("minimum", "maximum")
    assert 'unknown settings were read past, as SmartNoise does (at "a")' in found.notes


def test_unknown_types_are_not_modelled_and_lack_a_type():
    found = read({"row_privacy": True, "age": AGE, "odd": {"type": "unknown"}})

    assert found.schema.field("odd").identifier
    assert [lack.field for lack in found.lacks] == ["odd"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"a": AGE, "b": {"type": "text"}}, 'type "text" is not known'),
        ({"a": {**AGE, "lower": "low"}}, 'lower must be a finite number, got "low"'),
        ({"a": {**AGE, "upper": "1e999"}}, "upper must be a finite number"),
        ({"a": {**AGE, "lower": 0.5}}, "is not a whole number"),
        ({"a": {**AGE, "private_id": True}}, "no field to model"),
    ],
    ids=range(5),
)
def test_what_is_broken_is_said(table, said):
    assert is_smartnoise({"Database": {"public": {"people": table}}})

    with pytest.raises(SchemaError) as caught:
        read(table)

    assert said in str(caught.value)


def test_a_file_of_two_databases_is_refused():
    database = {"public": {"people": {"a": AGE}}}

    with pytest.raises(SchemaError, match='several databases; keep one of "x", "y"'):
        read_smartnoise({"x": database, "y": database}, "the file", None)


def test_a_number_that_yaml_takes_for_a_text_is_a_bound():
    assert read_text(PERSONS).schema.field("income").maximum == 500_000
