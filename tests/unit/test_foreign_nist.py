"""NIST's data dictionary and SDNist's parameters become schemas that say what they say, and no more."""

import pytest

from helpers.foreign_files import FOREIGN
from lapwing.errors import SchemaError
from lapwing.schema.foreign.nist import is_nist, read_nist
from lapwing.schema.foreign.reading import read_foreign


def feature(about, name="A"):
    """Return the field of one feature of a dictionary."""
    return read_nist({name: about}, "the file").schema.field(name)


def typed(about):
    """Return the field of one feature of parameters."""
    return read_nist({"schema": {"A": about, "B": {"dtype": "bool"}}}, "the file").schema.field("A")


def test_the_official_dictionary_gives_codes_bounds_and_what_it_leaves_open():
    found = read_foreign(FOREIGN / "nist" / "data_dictionary.json")

    schema = found.schema
    assert (found.format, len(schema.fields), schema.is_draft) == ("NIST data dictionary", 24, True)
    assert schema.field("MSP").categories == ("N", "1", "2", "3", "4", "5", "6")
    assert (schema.field("AGEP").type, schema.field("AGEP").minimum, schema.field("AGEP").maximum) == ("integer", 0, 99)
    assert (schema.field("DENSITY").type, schema.field("DENSITY").maximum) == ("number", 52864.7)
    assert [(lack.field, lack.what) for lack in found.lacks] == [("INDP", "categories")]
    assert all(not field.required and field.provenance == "assumed" for field in schema.fields)
    assert any("INDP" in note and "elsewhere" in note for note in found.notes)


def test_a_code_beside_bounds_is_special_outside_and_plain_inside():
    field = feature({"values": {"min": 1, "max": 9999, "0": "none", "7": "seven"}})

    assert (field.special, field.minimum) == ((0,), 1)


def test_a_code_that_is_no_number_beside_bounds_is_missing():
    field = feature({"values": {"N": "N/A", "min": 0, "max": 500, "501": "above"}})

    assert (field.missing_values, field.special) == (("", "N"), (501,))


def test_values_beside_the_description_are_read_as_well():
    assert feature({"description": "income", "N": "N/A", "min": -9000, "max": 1341000}).minimum == -9000
    assert feature({"description": "decile", "1": "low", "0": "lowest"}).categories == ("1", "0")


def test_a_step_is_a_resolution_unless_numbers_lie_so_far_apart_anyway():
    assert feature({"values": {"min": 0, "max": 999.999, "step_size": 0.001}}).resolution == 0.001
    assert feature({"values": {"min": 0, "max": 10, "step_size": 1}}).resolution is None
    assert feature({"values": {"min": 0, "max": 100, "step_size": 10}}).resolution == 10


def test_parameters_give_types_by_their_dtype():
    found = read_foreign(FOREIGN / "nist" / "parameters.json")

    schema = found.schema
    assert [field.type for field in schema.fields] == [
        *("string", "integer", "integer", "string", "number", "integer", "number"),
    ]
    assert schema.field("SEX").categories == (1, 2)
    assert (schema.field("MSP").categories, schema.field("MSP").missing_values) == (("1", "2", "3"), ("", "N"))
    assert (schema.field("PINCP").minimum, schema.field("PINCP").missing_values) == (-4600, ("", "N"))
    assert [lack.field for lack in found.lacks] == ["HHWT"]
    assert any("runs" in note for note in found.notes)


def test_required_is_taken_over_only_where_it_is_stated():
    assert typed({"dtype": "int64", "values": [1, 2], "has_null": False}).required
    assert not typed({"dtype": "int64", "values": [1, 2]}).required


def test_values_of_several_sorts_are_texts():
    assert typed({"dtype": "int64", "values": [1, "N"]}).categories == ("1", "N")


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        {"age": 85},
        {"fields": []},
        {"columns": {"a": {"sdtype": "id"}}},
        {"a": {"type": "int"}},
    ],
    ids=range(7),
)
def test_other_files_are_not_taken_for_it(value):
    assert not is_nist(value)


@pytest.mark.parametrize(
    "about",
    [
        {"description": "a", "values": 3},
        {"description": "a", "values": "text"},
        {"description": "a", "values": [[1]]},
        {"description": "a", "values": [True]},
        {"description": "a", "values": {"min": 9, "max": 1}},
        {"description": "a", "values": {"min": 0, "max": 10**400}},
        {"description": "a", "values": {"min": 0, "max": 10**30}},
    ],
    ids=range(7),
)
def test_a_broken_feature_is_refused_by_a_sentence_that_names_it(about):
    if about["values"] == {"min": 0, "max": 10**400}:
        assert feature(about).maximum is None
        return
    with pytest.raises(SchemaError, match='"A"'):
        feature(about)


@pytest.mark.parametrize(
    "about",
    [
        {"dtype": 3},
        {"dtype": "int64", "values": {"1": 1}},
        {"dtype": "int64", "has_null": "yes"},
        {"dtype": "int64", "values": [None]},
    ],
    ids=range(4),
)
def test_broken_parameters_are_refused_by_a_sentence_that_names_the_feature(about):
    with pytest.raises(SchemaError, match='"A"'):
        typed(about)


@pytest.mark.full
def test_many_features_are_read_in_one_pass():
    found = read_nist({f"f{n}": {"description": "d", "link": "l"} for n in range(100_000)}, "the file")

    assert len(found.lacks) == 100_000
    assert len(found.notes) == 2
    assert max(map(len, found.notes)) < 300


def test_codes_that_are_called_min_and_max_are_codes():
    assert feature({"values": {"min": "minimum wage", "max": "more"}}).categories == ("min", "max")
