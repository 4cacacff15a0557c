"""Metadata of SDV, SmartNoise SQL, Frictionless and Croissant, as each tool writes it, becomes a schema."""

import pytest
import yaml

from helpers.foreign_files import FOREIGN, SAMPLE
from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.croissant import is_croissant, read_croissant
from lapwing.extras.connect.metadata.reading import read_foreign
from lapwing.extras.connect.metadata.sdv import is_sdv, read_sdv
from lapwing.extras.connect.metadata.smartnoise import is_smartnoise, read_smartnoise
from lapwing.schema.fields import PrivacyUnit
from lapwing.schema.schemas import Schema

# ---------------------------------------------------------------------------------------------------- SDV 1.38 and 2.0


def single(**columns):
    return {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": columns}


def read_sdv_(value, table=None):
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
    (note,) = read_sdv_(single(a={"sdtype": "boolean"}, b={"sdtype": "ssn"})).notes
    assert note.startswith("personal data")


def test_keys_that_are_columns_by_themselves_are_identifiers_and_composite_ones_are_not():
    columns = {"a": {"sdtype": "numerical"}, "b": {"sdtype": "boolean"}, "c": {"sdtype": "categorical"}}
    table = {"columns": columns, "primary_key": ["a", "b"], "alternate_keys": ["c"]}

    found = read_sdv_({"METADATA_SPEC_VERSION": "V2", "tables": {"t": table}})

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
    field = read_sdv_(single(x={"sdtype": "numerical", **column})).schema.field("x")

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
    field = read_sdv_(single(x={"sdtype": "categorical", "range_values": values})).schema.field("x")

    assert (field.type, field.categories) == (kind, categories)


def test_columns_with_sdtypes_are_known_without_a_version():
    assert is_sdv({"columns": {"a": {"sdtype": "id"}}})
    assert is_sdv({"tables": {"t": {"columns": {"a": {"sdtype": "id"}}}}})
    for other in (None, [], {}, {"columns": {"a": {}}}, {"tables": []}, {"tables": {"t": []}}, {"columns": []}):
        assert not is_sdv(other)
    assert isinstance(read_sdv_({"columns": {"a": {"sdtype": "boolean"}}}).schema, Schema)


# ---------------------------------------------------- SmartNoise SQL, as its writer and its published examples have it


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
AGES = {"type": "int", "lower": 0, "upper": 100}

TWO_TABLES = """
"":
  PUMS:
    PUMS: {max_ids: 1, age: {type: int, lower: 0, upper: 100}, pid: {type: int, private_id: True}}
    PUMS2: {max_ids: 3, age: {type: int, lower: 0, upper: 90}, pid: {type: int, private_id: True}}
"""


def people_of(table, wanted=None):
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
    found = people_of(
        {
            "row_privacy": True,
            "a": AGES,
            "b": {**AGES, "nullable": False},
            "c": {**AGES, "nullable": False, "missing_value": 0},
            "d": {**AGES, "nullable": True},
        }
    )

    assert [field.required for field in found.schema.fields] == [False, True, False, False]


@pytest.mark.parametrize("ids", [[], ["p", "q"]], ids=["none", "two"])
def test_without_one_private_id_the_privacy_unit_is_missing(ids):
    found = people_of({"age": AGES, **{name: {"type": "int", "private_id": True} for name in ids}})

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


# ------------------------------ Frictionless resources and packages: their Table Schema, and how their file is written


SALES = [
    {"name": "day", "type": "date", "format": "%d.%m.%Y"},
    {"name": "price", "type": "number", "decimalChar": ",", "groupChar": "."},
    {"name": "kind", "type": "string", "constraints": {"enum": ["a", "b"]}},
]


def resource(name="sales", **parts):
    return {"name": name, "path": f"{name}.csv", "schema": {"fields": SALES}, **parts}


def test_a_resource_gives_its_fields_as_a_draft_with_what_is_missing():
    found = read_foreign(resource())

    assert (found.format, found.schema.name, found.notes) == ("Frictionless metadata", "sales", ())
    assert [field.reading.to_dict() for field in found.schema.fields] == [
        {"format": "%d.%m.%Y"},
        {"decimalChar": ",", "groupChar": "."},
        {},
    ]
    assert [(lack.field, lack.what) for lack in found.lacks] == [
        ("day", "minimum and maximum"),
        ("price", "minimum and maximum"),
    ]
    assert {field.provenance for field in found.schema.fields} == {"assumed"}


def test_a_resource_of_a_package_is_chosen_by_its_name():
    package = {"resources": [resource(), resource("rooms", encoding="latin-1"), {"name": "map", "path": "map.png"}]}

    assert read_foreign(package, table="rooms").schema.dialect.encoding == "latin-1"
    with pytest.raises(SchemaError, match=r'choose one with .*: "sales", "rooms", "map"'):
        read_foreign(package)


@pytest.mark.parametrize(
    ("parts", "read_as"),
    [
        ({"encoding": "utf-8", "dialect": {"delimiter": ",", "header": True}}, {}),
        ({"encoding": "cp1252", "dialect": {"delimiter": ";"}}, {"delimiter": ";", "encoding": "cp1252"}),
        ({"dialect": {"csv": {"delimiter": "\t", "quoteChar": "'"}}}, {"delimiter": "\t", "quoteChar": "'"}),
        ({"dialect": {"header": False}}, {"header": False}),
        ({"dialect": {"headerRows": [3]}}, {"skipRows": 2}),
        ({"dialect": {"headerRows": [1, 2]}}, None),
        ({"dialect": {"headerRows": ["1"]}}, None),
        ({"dialect": {"escapeChar": "\\"}}, None),
        ({"dialect": {"delimiter": "ab"}}, None),
        ({"dialect": "dialect.json"}, None),
        ({"encoding": "klingon"}, None),
    ],
    ids=range(11),
)
def test_how_the_file_is_written_comes_along_or_is_told(parts, read_as):
    found = read_foreign(resource(**parts))

    assert found.schema.dialect.to_dict() == (read_as or {})
    assert any("plain CSV" in note for note in found.notes) == (read_as is None)


def test_a_schema_that_stands_elsewhere_is_not_fetched():
    with pytest.raises(SchemaError, match="is not fetched"):
        read_foreign({"resources": [resource(schema="schema.json"), resource("b")]}, table="sales")


KEPT = {"name": "kept", "type": "boolean"}
BOUNDS = {
    "integer": ({"minimum": "0", "exclusiveMaximum": 10}, (0, 9)),
    "number": ({"minimum": 0.5, "exclusiveMinimum": 0, "maximum": "2.5"}, (0.5, 2.5)),
    "year": ({"exclusiveMinimum": 1999, "minimum": 1990, "maximum": "2020"}, (2000, 2020)),
    "date": ({"minimum": "2020-01-01", "exclusiveMaximum": "2021-01-01"}, ("2020-01-01", "2020-12-31")),
    "datetime": (
        {"minimum": "2020-01-01T00:00:00", "exclusiveMaximum": "2020-01-02T00:00:00"},
        ("2020-01-01T00:00:00", "2020-01-01T23:59:59"),
    ),
}


@pytest.mark.parametrize(
    "kind",
    [
        "string", "number", "integer", "boolean", "object", "array", "list", "datetime", "date", "time", "year",
        "yearmonth", "duration", "geopoint", "geojson", "any", None,
    ],
)  # fmt: skip
@pytest.mark.parametrize("bounds", [True, False])
def test_each_type_of_table_schema_is_read_or_left_out_and_named(kind, bounds):
    limits, ends = BOUNDS.get(kind, ({}, (None, None))) if bounds else ({}, (None, None))
    field = {"name": "v", "constraints": limits} | ({} if kind is None else {"type": kind})

    found = read_foreign(resource(schema={"fields": [field, KEPT]}))

    assert found.schema.field("kept").type == "boolean"
    if found.schema.fields[0].name == "v":
        assert (found.schema.field("v").minimum, found.schema.field("v").maximum) == ends
    else:
        assert any(f"type {kind} are left out" in note and '"v"' in note for note in found.notes)


@pytest.mark.parametrize(
    ("constraints", "categories"),
    [
        ({"minimum": "2019-11", "exclusiveMaximum": "2020-02"}, ("2019-11", "2019-12", "2020-01")),
        ({"enum": ["2020-01", "2020-03"]}, ("2020-01", "2020-03")),
        ({"minimum": "2019-11"}, None),
    ],
)
def test_months_are_ordered_texts_between_their_bounds(constraints, categories):
    field = {"name": "v", "type": "yearmonth", "constraints": constraints}

    found = read_foreign(resource(schema={"fields": [field]})).schema.field("v")

    assert (found.type, found.categories, found.ordered) == ("string", categories, categories is not None)


def test_what_a_schema_cannot_say_is_named():
    fields = [
        {"name": "a", "type": "string", "constraints": {"pattern": "[a-z]", "maxLength": 3}},
        {"name": "b", "type": "number", "constraints": {"exclusiveMinimum": 0, "maximum": 1}},
        {"name": "c", "type": "date", "format": "any", "missingValues": [{"value": "-9", "label": "refused"}]},
    ]

    found = read_foreign(resource(schema={"fields": fields, "missingValues": [{"value": "-", "label": "none"}]}))

    for said in ('pattern is left out: "a"', 'maxLength is left out: "a"', "exclusiveMinimum itself is let in", "ISO"):
        assert any(said in note for note in found.notes)
    assert [field.missing_values for field in found.schema.fields] == [("-",), ("-",), ("-9",)]


# ------------------------------------- Croissant: types, enumerations, keys, columns, and which of several record sets


LISTED = {
    "@type": "cr:RecordSet",
    "@id": "sexes",
    "dataType": "sc:Enumeration",
    "key": {"@id": "sexes/name"},
    "field": [{"@id": "sexes/name", "dataType": "sc:Text"}],
    "data": [{"sexes/name": "f"}, {"sexes/name": "m"}],
}


def rows_of(*fields, sets=(), **of_the_set):
    rows = {"@id": "rows", "field": list(fields), **of_the_set}
    return read_croissant({"name": "people", "recordSet": [*sets, rows]}, "the file")


def field_of(about, *, sets=(LISTED,), **of_the_set):
    return rows_of({"@id": "rows/a", **about}, {"@id": "rows/b"}, sets=sets, **of_the_set).schema.field("a")


def test_what_mlcroissant_wrote_gives_types_and_categories():
    found = read_foreign(FOREIGN / "croissant" / "people.json")

    fields = {field.name: field for field in found.schema.fields}
    assert {name: field.type for name, field in fields.items()} == {
        "id": "integer",
        "age": "integer",
        "height": "number",
        "born": "date",
        "smokes": "boolean",
        "city": "string",
        "note": "string",
    }
    assert fields["id"].identifier
    assert fields["city"].categories == ("Aix", "Brno", "Cork")
    assert [lack.field for lack in found.lacks] == ["age", "height", "born", "note"]
    assert not any(field.required for field in fields.values())
    assert all(field.provenance == "assumed" for field in fields.values())


@pytest.mark.parametrize(
    ("data_type", "kind"),
    [
        ("sc:Integer", "integer"),
        ("https://schema.org/Float", "number"),
        ("cr:UInt8", "integer"),
        ("sc:DateTime", "datetime"),
        ("sc:Time", "string"),
        (["wd:Q515", "sc:Integer"], "integer"),
        ({"@id": "sc:Boolean"}, "boolean"),
        ("wd:Q515", "string"),
        (None, "string"),
    ],
    ids=range(9),
)
def test_types_are_the_atomic_ones(data_type, kind):
    assert field_of({"dataType": data_type}).type == kind


@pytest.mark.parametrize(
    "reference", [{"@id": "sexes/name"}, {"field": {"@id": "sexes/name"}}, {"field": "sexes/name"}], ids=range(3)
)
def test_a_field_that_refers_to_an_enumeration_has_its_categories_and_its_type(reference):
    field = field_of({"references": reference})

    assert (field.type, field.categories) == ("string", ("f", "m"))


def test_lists_constants_images_and_nested_fields_are_told():
    found = rows_of(
        {"@id": "rows/tags", "dataType": "sc:Text", "isArray": True},
        {"@id": "rows/unit", "value": "cm"},
        {"@id": "rows/photo", "dataType": "sc:ImageObject"},
        {
            "@id": "rows/place",
            "subField": [{"@id": "rows/place/lat", "dataType": "sc:Float"}, {"@id": "rows/place/lon"}],
        },
    )

    assert [field.name for field in found.schema.fields] == ["tags", "lat", "lon"]
    assert len(found.notes) == 4


def test_lists_and_identifiers_have_no_categories():
    reference = {"references": {"@id": "sexes/name"}}

    assert field_of({**reference, "isArray": True}).categories is None
    assert field_of(reference, key={"@id": "rows/a"}).categories is None
    assert field_of({**reference, "fieldSettings": {"role": "identifier"}}).categories is None


def test_one_of_several_record_sets_must_be_chosen():
    sets = [{"@id": name, "name": f"set {name}", "field": {"@id": f"{name}/x"}} for name in "ab"]
    with pytest.raises(SchemaError, match=r'choose one with table= or --table: "a", "b"'):
        read_croissant({"recordSet": sets}, "the file")
    assert read_croissant({"recordSet": sets}, "the file", "b").lacks
    assert read_croissant({"recordSet": sets}, "the file", "set b").lacks


def test_it_is_recognised_by_its_record_sets_or_by_what_it_conforms_to():
    assert is_croissant({"cr:recordSet": []})
    assert is_croissant({"conformsTo": ["x", "http://mlcommons.org/croissant/1.0"]})
    assert not any(map(is_croissant, [None, [], {}, {"conformsTo": 1}, {"fields": []}, {"@context": {}}]))


def test_settings_that_are_nested_too_deep_are_refused():
    field = {"@id": "a", "fieldSettings": "[" * 100_000}

    with pytest.raises(SchemaError, match="field"):
        read_croissant({"recordSet": {"field": field}}, "the file")


@pytest.mark.parametrize("unit", [1, [], "a", ":", "a:", "a:x", "a:\u0665", "a:" + "9" * 5000, "b:3"], ids=range(9))
def test_an_odd_privacy_unit_is_a_question(unit):
    rows = {"@id": "rows", "field": [{"@id": "rows/a"}]}
    found = read_croissant({"recordSet": rows, "differentialPrivacy": {"privacy_unit": unit}}, "the file")

    assert found.schema.privacy_unit is None
    assert [lack.what for lack in found.lacks] == ["whose rows are protected together", "categories"]


def test_a_reference_to_nothing_and_types_that_are_not_known_are_noted():
    found = rows_of(
        {"@id": "rows/a", "references": {"@id": "nowhere/name"}},
        {"@id": "rows/b", "dataType": ["cr:Foo", "sc:Float"]},
        {"@id": "rows/c", "dataType": ["sc:Text", "sc:Enumeration"]},
    )

    assert 'a field that is referred to is not in the file: no categories are read: "a"' in found.notes
    assert 'data types beside the one that is read, which are not known here, are left out: "b"' in found.notes


@pytest.mark.full
def test_many_fields_and_record_sets_are_read_in_one_pass():
    sets = [{"@id": f"s{n}", "data": [{"x": 1}], "field": {"@id": f"s{n}/x"}} for n in range(50_000)]
    fields = ({"@id": f"rows/f{n}", "references": {"@id": f"s{n}/x" if n < 50_000 else "none"}} for n in range(100_000))

    found = rows_of(*fields, sets=sets)

    assert len(found.lacks) == 50_000
    assert max(map(len, found.notes)) < 300


def test_deep_nesting_of_fields_is_no_depth_of_calls():
    deep = {"@id": "rows/a", "dataType": "sc:Text"}
    for level in range(5000):
        deep = {"@id": f"rows/{level}", "subField": [deep]}

    assert [field.name for field in rows_of(deep).schema.fields] == ["a"]
