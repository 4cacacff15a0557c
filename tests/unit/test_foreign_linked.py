"""Files of several tables, of SDV and Frictionless, become one draft of linked tables: a tree, and questions."""

import json

import pytest

from helpers.foreign_files import FOREIGN
from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.reading import read_foreign, read_foreign_tables

CODES = {"type": "integer", "constraints": {"minimum": 0, "maximum": 9}}


def resource(name, columns, key=None, **foreign):
    fields = [{"name": column, "type": "integer"} if isinstance(column, str) else column for column in columns]
    keys = [{"fields": column, "reference": {"resource": to, "fields": of}} for column, (to, of) in foreign.items()]
    return {"name": name, "schema": {"fields": fields, "primaryKey": key, "foreignKeys": keys}}


def clinic():
    """Return a package of a chain of three tables, and a lookup."""
    return {
        "resources": [
            resource(
                "visits",
                ["visit", "person", {"name": "clinic", "type": "string"}, {"name": "day", "type": "date"}],
                "visit",
                person=("people", "person"),
                clinic=("clinics", "clinic"),
            ),
            resource("clinics", [{"name": "clinic", "type": "string"}, {"name": "beds", **CODES}], ["clinic"]),
            resource("people", ["person", "home", {"name": "age", **CODES}], "person", home=("homes", "home")),
            resource("homes", ["home", {"name": "owned", "type": "boolean"}], "home"),
            {"name": "map", "path": "map.png"},
        ]
    }


def sdv(relationships, **tables):
    described = {
        name: {"columns": {column: {"sdtype": sdtype} for column, sdtype in columns.items()}}
        for name, columns in tables.items()
    }
    links = [
        dict(
            zip(
                ("child_table_name", "child_foreign_key", "parent_table_name", "parent_primary_key"),
                each,
                strict=True,
            )
        )
        for each in relationships
    ]
    return {"METADATA_SPEC_VERSION": "V1", "tables": described, "relationships": links}


def shape(found):
    """Return what the draft says of each table beside its fields."""
    return {
        name: {key: table[key] for key in ("primaryKey", "foreignKeys", "maxRows", "order") if key in table}
        for name, table in found.to_dict()["tables"].items()
    }


def listed(name, fields, **settings):
    """Return a table as the oldest files of SDV have it."""
    return {"name": name, "fields": [{"name": each, **about} for each, about in fields.items()], **settings}


@pytest.mark.parametrize("version", ["V1", "V2", "MULTI_TABLE_V1"])
def test_metadata_of_sdv_give_a_parent_and_its_children(version):
    value = json.loads((FOREIGN / "sdv1-visits.json").read_text()) | {"METADATA_SPEC_VERSION": version}

    found = read_foreign_tables(value)

    assert shape(found) == {
        "patients": {"primaryKey": "patient_id"},
        "visits": {"primaryKey": "visit", "foreignKeys": {"patient_id": "patients"}, "maxRows": None},
    }
    alone = read_foreign(value, table="visits").schema
    assert found.tables["visits"].schema.fields == alone.fields


def test_metadata_of_sdv_before_its_first_version_give_the_same():
    users = {"id": {"type": "id", "subtype": "integer"}, "age": {"type": "numerical", "subtype": "integer"}}
    sessions = {
        "user": {"type": "id", "subtype": "integer", "ref": {"table": "users", "field": "id"}},
        "at": {"type": "datetime", "format": "%d.%m.%Y"},
        "mail": {"type": "categorical", "pii": True, "pii_category": ["email", "x"]},
        "share": {"type": "numerical", "subtype": "float"},
        "ok": {"type": "boolean"},
    }
    old = {"tables": {"sessions": {"fields": sessions}, "users": {"fields": users, "primary_key": "id"}}}

    found = read_foreign_tables(old)

    assert shape(found) == {
        "users": {"primaryKey": "id"},
        "sessions": {"foreignKeys": {"user": "users"}, "maxRows": None},
    }
    assert [(field.name, field.type, field.identifier) for field in found.tables["sessions"].schema.fields] == [
        ("user", "string", True),
        ("at", "date", False),
        ("mail", "string", True),
        ("share", "number", False),
        ("ok", "boolean", False),
    ]
    assert read_foreign(old, table="users").schema.fields == found.tables["users"].schema.fields
    oldest = {"path": "", "tables": [listed("sessions", sessions), listed("users", users, primary_key="id")]}
    assert read_foreign_tables(oldest) == found


def test_a_chain_comes_parents_first_and_a_lookup_is_a_column_of_its_keys():
    found = read_foreign_tables(clinic())

    assert shape(found) == {
        "homes": {"primaryKey": "home"},
        "people": {"primaryKey": "person", "foreignKeys": {"home": "homes"}, "maxRows": None},
        "visits": {
            "primaryKey": "visit",
            "foreignKeys": {"person": "people", "clinic": "clinics"},
            "maxRows": None,
        },
        "clinics": {"primaryKey": "clinic"},
    }
    visits = {field.name: field for field in found.tables["visits"].schema.fields}
    assert [name for name, field in visits.items() if field.identifier] == ["visit", "person"]
    assert (visits["person"].type, visits["clinic"].type) == ("integer", "string")
    assert not any(lack.field == "clinic" for lack in found.tables["visits"].lacks)
    assert [lack.field for lack in found.tables["clinics"].lacks] == [""]


def test_every_thing_that_the_file_does_not_say_is_a_question_and_nothing_is_said_to_be_public():
    drafts = read_foreign_tables(clinic()).to_dict()["tables"]

    asked = {name: [question.partition(":")[0] for question in draft["questions"]] for name, draft in drafts.items()}
    assert asked == {
        "homes": ["whose rows are protected together"],
        "people": ["maxRows", "whether its rows have an order"],
        "visits": ["maxRows", "whether its rows have an order"],
        "clinics": ["whether everybody may see this table"],
    }
    assert all(draft["draft"] for draft in drafts.values())
    assert not any("public" in draft for draft in drafts.values())


def test_of_two_private_parents_the_first_is_taken_and_the_other_asked_about():
    value = sdv(
        [("b", "x", "a", "x"), ("c", "x", "a", "x"), ("d", "y", "b", "y"), ("d", "z", "c", "z")],
        a={"x": "id", "f": "boolean"},
        b={"x": "id", "y": "id", "f": "boolean"},
        c={"x": "id", "z": "id", "f": "boolean"},
        d={"y": "id", "z": "id", "f": "boolean"},
    )

    found = read_foreign_tables(value)

    assert shape(found)["d"] == {"foreignKeys": {"y": "b"}, "maxRows": None}
    assert 'whether "c" is the parent of these rows, and not "b"' in [lack.what for lack in found.tables["d"].lacks]
    value["tables"]["d"]["columns"].pop("f")
    with pytest.raises(SchemaError, match='table "d" has keys alone'):
        read_foreign_tables(value)


def test_a_first_table_of_keys_alone_has_these():
    value = sdv([("b", "x", "a", "x")], a={"x": "id"}, b={"x": "id", "f": "boolean"})

    drafts = read_foreign_tables(value).to_dict()["tables"]

    assert [field["name"] for field in drafts["a"]["fields"]] == ["x"]


def test_keys_that_linked_tables_do_not_have_are_told():
    value = sdv(
        [("b", "x", "a", "x"), ("b", ["y", "z"], "a", ["u", "v"]), ("a", "u", "a", "x")],
        a={"x": "id", "u": "id", "v": "id", "f": "boolean"},
        b={"x": "id", "y": "id", "z": "id", "f": "boolean"},
    )

    found = read_foreign_tables(value)

    assert 'its key of several columns to "a"' in [lack.what for lack in found.tables["b"].lacks]
    assert 'the key "u" to its own table has no counterpart' in found.tables["a"].notes
    assert shape(found)["b"]["foreignKeys"] == {"x": "a"}


@pytest.mark.parametrize(
    "value",
    [
        {"resources": [resource("a", ["x"]), resource("b", ["x"])]},
        sdv([], a={"x": "boolean"}, b={"x": "boolean"}),
        sdv([("a", "y", "a", "x")], a={"x": "id", "y": "id", "f": "boolean"}),
        {"columns": {"a": {"sdtype": "boolean"}}},
        {"age": 85},
    ],
    ids=["package", "no relationship", "to itself", "one table", "another format"],
)
def test_files_without_keys_between_tables_give_none(value):
    assert read_foreign_tables(value) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (sdv([("b", "x", "c", "x")], b={"x": "id"}), 'names the table "c", which is not there'),
        (sdv([("b", "y", "a", "x")], a={"x": "id"}, b={"x": "id"}), 'names "y", which is no column'),
        (sdv([("b", None, "a", "x")], a={"x": "id"}, b={"x": "id"}), "has 0 columns, and 1 it points to"),
        (
            sdv([("b", "x", "a", "x"), ("a", "y", "b", "y")], a={"x": "id", "y": "id"}, b={"x": "id", "y": "id"}),
            'the keys of "a", "b" run in a circle',
        ),
        ({"resources": [resource("a", ["x"], "y")]}, 'the primary key "y" of "a" is no column'),
        (sdv([("b", "x", "\ud800", "x")], **{"\ud800": {"x": "id"}, "b": {"x": "id"}}), "characters that are none"),
        ({"resources": [resource("a", ["x"], x=("b", "x"))]}, 'names the table "b", which is not there'),
        ({"resources": [{"name": "a", "schema": {"fields": [], "foreignKeys": {}}}]}, "no field"),
        ({"resources": [resource("a", ["x"]), {"name": "b", "schema": "b.json"}]}, "is not fetched"),
    ],
    ids=range(9),
)
def test_what_is_broken_is_said(value, said):
    with pytest.raises(SchemaError) as caught:
        read_foreign_tables(value)

    assert said in str(caught.value)
