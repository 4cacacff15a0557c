"""Croissant becomes schemas: types, enumerations, keys, columns, and which of several record sets."""

import pytest

from helpers.foreign_files import FOREIGN
from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.croissant import is_croissant, read_croissant
from lapwing.extras.connect.metadata.reading import read_foreign

LISTED = {
    "@type": "cr:RecordSet",
    "@id": "sexes",
    "dataType": "sc:Enumeration",
    "key": {"@id": "sexes/name"},
    "field": [{"@id": "sexes/name", "dataType": "sc:Text"}],
    "data": [{"sexes/name": "f"}, {"sexes/name": "m"}],
}


def read(*fields, sets=(), **of_the_set):
    rows = {"@id": "rows", "field": list(fields), **of_the_set}
    return read_croissant({"name": "people", "recordSet": [*sets, rows]}, "the file")


def field_of(about, *, sets=(LISTED,), **of_the_set):
    return read({"@id": "rows/a", **about}, {"@id": "rows/b"}, sets=sets, **of_the_set).schema.field("a")


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
    found = read(
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


@pytest.mark.parametrize(
    "record_set",
    [
        None,
        1,
        [1],
        [],
        {},
        {"field": [{}]},
        {"field": [{"@id": "a"}, {"@id": "a"}]},
        {"field": {"@id": "rows/\ud800"}},
        {"field": {"@id": "a", "fieldSettings": {"special": "x"}}},
        {"field": {"@id": "a", "fieldSettings": "{{"}},
        {"field": {"@id": "a", "fieldSettings": "[" * 100_000}},
        {"field": {"@id": "a", "dataType": "sc:Integer", "minValue": 9, "maxValue": 1}},
        {"field": {"@id": "a", "references": {"@id": "a"}}, "data": [{"b": 1}]},
        {"field": {"@id": "a", "references": {"@id": "a"}}, "data": [{"a": [1]}]},
    ],
    ids=range(14),
)
def test_a_broken_file_is_refused_in_a_sentence(record_set):
    with pytest.raises(SchemaError, match=r"the file|field|schema"):
        read_croissant({"recordSet": record_set, "conformsTo": "http://mlcommons.org/croissant/1.1"}, "the file")


@pytest.mark.parametrize("unit", [1, [], "a", ":", "a:", "a:x", "a:\u0665", "a:" + "9" * 5000, "b:3"], ids=range(9))
def test_an_odd_privacy_unit_is_a_question(unit):
    rows = {"@id": "rows", "field": [{"@id": "rows/a"}]}
    found = read_croissant({"recordSet": rows, "differentialPrivacy": {"privacy_unit": unit}}, "the file")

    assert found.schema.privacy_unit is None
    assert [lack.what for lack in found.lacks] == ["whose rows are protected together", "categories"]


def test_a_reference_to_nothing_and_types_that_are_not_known_are_noted():
    found = read(
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

    found = read(*fields, sets=sets)

    assert len(found.lacks) == 50_000
    assert max(map(len, found.notes)) < 300


def test_deep_nesting_of_fields_is_no_depth_of_calls():
    deep = {"@id": "rows/a", "dataType": "sc:Text"}
    for level in range(5000):
        deep = {"@id": f"rows/{level}", "subField": [deep]}

    assert [field.name for field in read(deep).schema.fields] == ["a"]
