"""Public tables that private ones refer to: cells of the type of their field, and lists from what is there."""

import json

import pytest

from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.reading import read_foreign_tables
from lapwing.schema.schemas import Schema

KEY = {"name": "clinic", "type": "integer", "role": "identifier"}
TOWN = {"name": "town", "type": "string"}
PERSON = {"name": "person", "type": "integer", "role": "identifier"}


def schema(public, *fields, key=KEY):
    """Return people, their visits, and the clinics that these refer to."""
    return {
        "tables": {
            "people": {"primaryKey": "person", "fields": [PERSON, {"name": "adult", "type": "boolean"}]},
            "visits": {
                "foreignKeys": {"person": "people", "clinic": "clinics"},
                "maxRows": 3,
                "fields": [PERSON, {"name": "clinic", "type": key["type"], "constraints": {"required": True}}],
            },
            "clinics": {"public": public, "primaryKey": "clinic", "fields": [key, *fields]},
        }
    }


def test_cells_of_a_file_have_the_types_of_their_fields(tmp_path):
    fields = [
        {"name": name, "type": kind}
        for name, kind in (("beds", "integer"), ("share", "number"), ("urban", "boolean"), ("since", "date"))
    ]
    (tmp_path / "c.csv").write_text("urban,clinic,beds,share,since\nTrue,7,10,0.5,2001-02-03\nfalse,8,,2,\n")
    (tmp_path / "db.json").write_text(json.dumps(schema("c.csv", *fields)))

    linked = Schema.load(tmp_path / "db.json").linked

    assert linked.lookups[0].rows == ((7, 10, 0.5, True, "2001-02-03"), (8, None, 2, False, None))
    assert linked.lookups[0].schema.field("beds").categories == (10,)
    assert Schema.load(linked.to_dict()).linked == linked


def test_a_key_to_a_public_table_has_its_keys_as_categories_which_are_public():
    linked = Schema.load(schema([{"clinic": 8, "town": "x"}, {"clinic": 7}], TOWN)).linked
    field = linked.coded["visits"].field("clinic")

    assert (field.categories, field.provenance, field.required) == ((8, 7), "public", True)


def test_a_domain_that_the_schema_states_stays():
    field = {"name": "beds", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}

    lookup = Schema.load(schema([[7, 10]], field)).linked.lookups[0]

    assert lookup.schema.field("beds").maximum == 99


@pytest.mark.parametrize(
    ("kind", "cell"),
    [("integer", "x"), ("integer", 1.5), ("number", "1,5"), ("boolean", "maybe"), ("date", "3.2.2001")],
)
def test_a_cell_of_another_type_is_refused(kind, cell):
    with pytest.raises(SchemaError, match=f'clinics: "x" is of type {kind}, and a public row has'):
        Schema.load(schema([[7, cell]], {"name": "x", "type": kind}))


def test_a_draft_whose_questions_are_answered_is_a_schema_of_linked_tables():
    columns = {"person": {"sdtype": "id"}, "clinic": {"sdtype": "id"}, "well": {"sdtype": "boolean"}}
    links = [("person", "people"), ("clinic", "clinics")]
    draft = read_foreign_tables(
        {
            "METADATA_SPEC_VERSION": "V1",
            "tables": {
                "visits": {"columns": columns},
                "clinics": {"columns": {"clinic": {"sdtype": "id"}, "town": {"sdtype": "categorical"}}},
                "people": {"columns": {"person": {"sdtype": "id"}, "adult": {"sdtype": "boolean"}}},
                "drugs": {"columns": {"person": {"sdtype": "id"}, "strong": {"sdtype": "boolean"}}},
            },
            "relationships": [
                {
                    "child_table_name": child,
                    "child_foreign_key": key,
                    "parent_table_name": to,
                    "parent_primary_key": key,
                }
                for child, (key, to) in [*(("visits", link) for link in links), ("drugs", links[0])]
            ],
        }
    ).to_dict()
    with pytest.raises(SchemaError, match="people has an open question: whose rows are protected together"):
        Schema.load(draft)

    tables = draft["tables"]
    tables["clinics"]["public"] = [["a", "Bern"], ["b", None]]
    for table in tables.values():
        del table["questions"], table["draft"]
        if "maxRows" in table:
            table["maxRows"] = 2
    linked = Schema.load(draft).linked

    assert linked.names == ("people", "visits", "drugs")
    assert linked.coded["visits"].field("clinic").categories == ("a", "b")


@pytest.mark.parametrize("path", ["c.csv", "./c.csv", "/c.csv", "elsewhere.csv", ""])
def test_linked_tables_in_a_file_of_a_release_hold_the_rows_of_a_lookup_and_no_path(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.csv").write_text("clinic,town\n1,x\n2,y\n")
    (tmp_path / "db.json").write_text(json.dumps(schema("c.csv", TOWN)))
    written = Schema.load("db.json").linked.to_dict()
    assert Schema.from_dict(written).linked.lookups[0].rows == ((1, "x"), (2, "y"))

    written["tables"]["clinics"]["public"] = f"{tmp_path}{path}" if path.startswith("/") else path

    with pytest.raises(SchemaError, match="must be a list of rows"):
        Schema.from_dict(written)
