"""Frictionless resources and packages become schemas: their Table Schema, and how their file is written."""

import pytest

from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.reading import read_foreign

FIELDS = [
    {"name": "day", "type": "date", "format": "%d.%m.%Y"},
    {"name": "price", "type": "number", "decimalChar": ",", "groupChar": "."},
    {"name": "kind", "type": "string", "constraints": {"enum": ["a", "b"]}},
]


def resource(name="sales", **parts):
    return {"name": name, "path": f"{name}.csv", "schema": {"fields": FIELDS}, **parts}


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


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"resources": [resource(schema="schema.json"), resource("b")]}, "is not fetched"),
        (resource(schema={"fields": 1}), 'needs a list "fields"'),
        (resource(schema={"fields": [{"name": "a", "type": "geopoint"}]}), "no column that a field can hold"),
        (resource(schema={"fields": [{"name": "a", "type": "geometry"}]}), "geometry"),
        (resource(schema={"fields": [{"name": "a", "type": "date", "format": "%d"}]}), "%d"),
    ],
    ids=range(5),
)
def test_a_broken_file_is_refused_in_a_sentence(value, said):
    with pytest.raises(SchemaError, match=said):
        read_foreign(value, table="sales")


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
