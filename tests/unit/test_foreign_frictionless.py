"""Frictionless resources and packages become schemas: their Table Schema, and how their file is written."""

import pytest

from lapwing.errors import SchemaError
from lapwing.schema.foreign.reading import read_foreign

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
        ({"resources": [1, resource()]}, "must be an object"),
        (resource(schema={"fields": 1}), 'needs a list "fields"'),
        (resource(schema={"fields": [{"name": "a", "type": "geopoint"}]}), "geopoint"),
        (resource(schema={"fields": [{"name": "a", "type": "date", "format": "%d"}]}), "%d"),
    ],
    ids=range(5),
)
def test_a_broken_file_is_refused_in_a_sentence(value, said):
    with pytest.raises(SchemaError, match=said):
        read_foreign(value, table="sales")
