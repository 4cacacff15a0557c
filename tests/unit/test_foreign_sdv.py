"""Metadata of SDV, as SDV 1.38 and 2.0 wrote it, becomes a schema."""

import pytest

from helpers.foreign_files import FOREIGN, SAMPLE
from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.reading import read_foreign
from lapwing.extras.connect.metadata.sdv import is_sdv, read_sdv
from lapwing.schema.schemas import Schema


def single(**columns):
    return {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": columns}


def read(value, table=None):
    return read_sdv(value, "the file", table)


def lacks_of(found, field):
    return [lack.what for lack in found.lacks if lack.field == field]


def test_a_first_version_gives_types_and_says_that_domains_are_missing():
    found = read_foreign(FOREIGN / "sdv1-adult.json")

    assert (found.format, found.schema.name, found.schema.is_draft) == ("SDV metadata", "adult", True)
    assert [field.name for field in found.schema.fields] == [field.name for field in SAMPLE.fields]
    assert lacks_of(found, "age") == ["whether the numbers are whole", "minimum and maximum"]
    assert lacks_of(found, "sex") == ["categories"]
    assert {field.provenance for field in found.schema.fields} == {"assumed"}
    assert not any(field.required for field in found.schema.fields)


def test_ranges_that_a_second_version_detected_are_taken_and_released_by_nobody_before_they_are_looked_at():
    found = read_foreign(FOREIGN / "sdv2-adult.json")
    age = found.schema.field("age")

    assert (age.type, age.minimum, age.maximum, age.required) == ("integer", 17, 90, True)
    assert not any(field.blank for field in found.schema.fields)
    assert found.schema.is_draft
    assert [lack.what for lack in found.lacks] == ["whether the ranges and lists in the file are public"]


@pytest.mark.parametrize("version", ["sdv1", "sdv2"])
def test_one_of_several_tables_is_read_and_none_guessed(version):
    path = FOREIGN / f"{version}-visits.json"

    with pytest.raises(SchemaError, match='several tables; choose one with table= or --table: "patients", "visits"'):
        read_foreign(path)
    with pytest.raises(SchemaError, match='no table "wards"; choose one of "patients", "visits"'):
        read_foreign(path, table="wards")
    assert read_foreign(path, table="patients").schema.name == "patients"


@pytest.mark.parametrize("version", ["sdv1", "sdv2"])
def test_each_sdtype_becomes_a_field(version):
    schema = read_foreign(FOREIGN / f"{version}-visits.json", table="visits").schema

    assert [(field.name, field.type, field.identifier) for field in schema.fields] == [
        ("patient_id", "string", True),
        ("visit", "string", True),
        ("email", "string", True),
        ("odd", "string", True),
        ("insured", "boolean", False),
        ("day", "date", False),
        ("arrived", "datetime", False),
        ("nights", "integer", False),
        ("cost", "number", False),
        ("triage", "string", False),
        ("ward", "string", False),
    ]
    assert (schema.field("triage").categories, schema.field("triage").ordered) == (("low", "high"), True)
    assert schema.field("ward").blank == ("categories",)


@pytest.mark.parametrize(
    ("form", "read_as"),
    [
        ("%Y-%m-%d", {}),
        ("%d.%m.%Y", {"format": "%d.%m.%Y"}),
        ("%-d/%-m/%Y", {"format": "%d/%m/%Y"}),
        ("%d %b %Y %I:%M %p", {"format": "%d %b %Y %I:%M %p"}),
        ("%Y-%m-%d %H:%M:%S.%f", None),
        ("%Y-%j", None),
        ("%d.%m.%Y %%", {"format": "%d.%m.%Y %%"}),
        ("any", None),
        (None, None),
    ],
    ids=range(9),
)
def test_the_format_of_moments_comes_along_or_is_told(form, read_as):
    found = read_foreign(single(a={"sdtype": "datetime", "datetime_format": form}))

    assert found.schema.fields[0].reading.to_dict() == (read_as or {})
    assert any("moments must be written" in note for note in found.notes) == (read_as is None)


def test_ranges_of_a_second_version_are_bounds_and_steps():
    schema = read_foreign(FOREIGN / "sdv2-visits.json", table="visits").schema
    cost, day, nights = map(schema.field, ("cost", "day", "nights"))

    assert (cost.minimum, cost.maximum, cost.resolution) == (0, 90000, 0.01)
    assert (day.minimum, day.maximum, day.required) == ("2000-01-01", "2029-12-31", True)
    assert (nights.minimum, nights.maximum) == (0, None)


def test_personal_data_are_identifiers_unless_the_file_says_that_they_are_none():
    found = read_foreign(FOREIGN / "sdv1-visits.json", table="patients")

    assert [field.name for field in found.schema.fields if field.identifier] == ["patient_id", "ssn"]
    assert found.schema.field("city").blank == ("categories",)
    (note,) = read(single(a={"sdtype": "boolean"}, b={"sdtype": "ssn"})).notes
    assert note.startswith("personal data")


def test_keys_that_are_columns_by_themselves_are_identifiers_and_composite_ones_are_not():
    columns = {"a": {"sdtype": "numerical"}, "b": {"sdtype": "boolean"}, "c": {"sdtype": "categorical"}}
    table = {"columns": columns, "primary_key": ["a", "b"], "alternate_keys": ["c"]}

    found = read({"METADATA_SPEC_VERSION": "V2", "tables": {"t": table}})

    assert [field.identifier for field in found.schema.fields] == [False, False, True]
    assert 'primary_key of several columns has no counterpart: "a", "b"' in found.notes


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ({"computer_representation": "UInt8"}, ("integer", None, None)),
        ({"computer_representation": "Float"}, ("number", None, None)),
        ({"decimal_places": 0, "range_min": 1.0, "range_max": 5}, ("integer", 1, None)),
        ({"decimal_places": 2, "range_min": 0, "range_max": 9}, ("number", 0, 0.01)),
        ({"decimal_places": 14, "range_min": 0, "range_max": 9}, ("number", 0, None)),
        ({"decimal_places": 9, "range_min": 0, "range_max": 9}, ("number", 0, None)),
        ({"decimal_places": 2, "range_min": 0}, ("number", 0, None)),
        ({"decimal_places": 10**9, "range_min": 0, "range_max": 9}, ("number", 0, None)),
    ],
    ids=["unsigned", "float", "no places", "places", "precision of a float", "too fine", "half a range", "no step"],
)
def test_a_number_has_what_the_file_states_and_no_more(column, expected):
    field = read(single(x={"sdtype": "numerical", **column})).schema.field("x")

    assert (field.type, field.minimum, field.resolution) == expected


@pytest.mark.parametrize(
    ("values", "kind", "categories"),
    [
        ([True, False], "boolean", None),
        ([True], "boolean", (True,)),
        ([3, 1], "integer", (1, 3)),
        ([0.5, 2.5], "number", (0.5, 2.5)),
        (["b", "", "a"], "string", ("", "a", "b")),
    ],
    ids=["both truths", "one truth", "whole", "numbers", "with the empty text"],
)
def test_a_list_has_the_type_of_its_values(values, kind, categories):
    field = read(single(x={"sdtype": "categorical", "range_values": values})).schema.field("x")

    assert (field.type, field.categories) == (kind, categories)


def test_columns_with_sdtypes_are_known_without_a_version():
    assert is_sdv({"columns": {"a": {"sdtype": "id"}}})
    assert is_sdv({"tables": {"t": {"columns": {"a": {"sdtype": "id"}}}}})
    for other in (None, [], {}, {"columns": {"a": {}}}, {"tables": []}, {"tables": {"t": []}}, {"columns": []}):
        assert not is_sdv(other)
    assert isinstance(read({"columns": {"a": {"sdtype": "boolean"}}}).schema, Schema)
