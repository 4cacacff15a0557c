"""Schemas of several tables: trees, events, rules over them, tables that are public, and what a check counts."""

import json

import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from helpers.linked_homes import AGE, KEY, KIND, ROOMS
from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.reading import read_foreign_tables
from lapwing.schema.schemas import Schema

PERSON, FLAG, SIZE = make.fields({"person": "id", "flag": bool, "size": (0, 9)})
DAY, STATE, CLINIC, BEDS = make.fields(
    {"day": ("2024-01-01", "2024-12-31"), "state": ["well", "ill", "dead"], "clinic": "string", "beds": (0, 99)}
)

CLINICS = [{"clinic": "north", "beds": 3}, {"clinic": "south", "beds": None}]


def described(parent=(KEY, SIZE), child=(KEY, PERSON, FLAG), **changes):
    parts = {"parent": {"fields": list(parent)}, "child": {"fields": list(child)}}
    return {**parts, "key": "home", "maxChildren": 4, **changes}


def names(schema):
    return [field.name for field in schema.fields]


def test_the_parent_gets_the_number_of_children_as_a_public_column():
    schema = lw.Schema.load(described()).linked.coded["parent"]

    count = schema.field("children")
    assert names(schema) == ["home", "size", "children"]
    assert (count.minimum, count.maximum, count.required, count.provenance) == (0, 4, True, "public")
    assert schema.unit_label == "home:1"


def test_the_child_gets_its_place_the_row_before_and_the_columns_of_its_parent():
    schema = lw.Schema.load(described()).linked.coded["child"]

    assert names(schema) == ["home", "person", "flag", "row.number", "row.left", "previous.flag", "size", "children"]
    assert schema.unit_label == "home:4"


def test_a_linked_schema_comes_back_from_its_file(tmp_path):
    schema = lw.Schema.load(described(count="persons", rules=[{"sum": ["persons"], "equals": "size"}]))
    schema.save(tmp_path / "L.json")

    assert lw.Schema.load(tmp_path / "L.json") == schema == lw.Schema.from_dict(schema.to_dict())
    assert lw.Schema.load(tmp_path / "L.json").fingerprint == schema.fingerprint
    assert lw.Schema.load(schema) is schema


def test_rules_go_to_the_tables_whose_columns_they_name():
    own = {"never": {"size": 3}}
    rules = [{"sum": ["children"], "equals": "size"}, {"never": {"size": 1, "flag": False}}]
    source = described(rules=rules)
    source["parent"]["rules"] = [own]

    linked = lw.Schema.load(source).linked

    assert [rule.text for rule in linked.coded["parent"].rules] == ["never size is 3", "children = size"]
    assert len(linked.coded["child"].rules) == 3


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([{"never": {"size": 99}}], "rule 1 of all tables (never size is 99): "),
        ([{"never": {"size": 1}}, {"never": {"flag": "x"}}], "rule 2 of all tables (never flag is "),
        (
            [{"never": {"size": {"maximum": 5}}}, {"never": {"size": [None, 6, 7, 8]}}],
            "rules 1 of parent (never size is 9), 1 of all tables (never size is at most 5) and 2 of all tables (",
        ),
    ],
    ids=range(3),
)
def test_a_rule_that_is_refused_has_the_number_of_its_own_list(rules, said):
    source = described(rules=rules)
    source["parent"]["rules"] = [{"never": {"size": 9}}]
    source["child"]["rules"] = [{"never": {"flag": None}}]

    with pytest.raises(lw.SchemaError) as refused:
        lw.Schema.load(source)

    assert said in str(refused.value)


def test_exact_totals_of_children_are_refused_and_those_of_parents_are_not():
    cells = [[True, 5], [False, 7], [None, 0]]
    table = {"columns": ["flag"], "cells": cells, "source": "register", "provenance": "public"}
    of_parents, of_children = described(parent=(KEY, FLAG), child=(KEY, SIZE)), described()
    of_parents["parent"]["publicTables"] = of_children["child"]["publicTables"] = [table]

    assert lw.Schema.load(of_parents).linked.coded["parent"].public_tables[0].total == 12
    with pytest.raises(lw.SchemaError, match=r"child: the public table of flag is exact, .*prior"):
        lw.Schema.load(of_children)
    of_children["child"]["publicTables"] = [{**table, "hold": "prior", "sd": 2}]
    assert len(lw.Schema.load(of_children).linked.coded["child"].public_tables) == 1


def test_a_dependency_whose_values_are_not_public_is_kept_by_the_model_of_its_table():
    rooms = {**SIZE, "name": "rooms"}
    source = described(parent=(KEY, SIZE, rooms), rules=[{"determines": ["rooms"], "column": "children"}])
    source["parent"]["rules"] = [{"determines": ["size"], "column": "rooms"}]

    linked = lw.Schema.load(source).linked

    assert len(linked.coded["parent"].rules) == 2
    assert linked.coded["child"].rules == ()
    with pytest.raises(lw.SchemaError, match="lets rows determine"):
        lw.Schema.load(described(rules=[{"determines": ["flag"], "column": "size"}]))


def test_a_rule_of_parents_that_names_a_column_of_both_tables_is_refused():
    rules = [{"order": ["children", "parent.size"]}]

    with pytest.raises(lw.SchemaError, match="names a column that no table has beside the others"):
        lw.Schema.load(described(child=(KEY, FLAG, SIZE), rules=rules))


# ------------------------------------------------------------------------------------------------- any number of tables


def database(**changes):
    """Return homes, their people and pets, and visits of people at public clinics; with other keys by table."""
    of_homes, by_size = {"foreignKeys": {"home": "homes"}}, {"by": "size", "descending": True}
    people = {"primaryKey": "person", **of_homes, "maxRows": 4, "count": "persons", "order": by_size}
    visits = {"foreignKeys": {"person": "people", "clinic": "clinics"}, "maxRows": 3, "order": "day"}
    clinics = {"primaryKey": "clinic", "public": CLINICS}
    tables = {
        "visits": {**visits, "fields": [PERSON, DAY, STATE, CLINIC]},
        "homes": {"primaryKey": "home", "fields": [KEY, SIZE]},
        "pets": {**of_homes, "maxRows": 1, "fields": [KEY, FLAG]},
        "people": {**people, "fields": [KEY, PERSON, SIZE]},
        "clinics": {**clinics, "fields": [{**CLINIC, "categories": ["north", "south"]}, BEDS]},
    }
    for name, more in changes.items():
        tables[name] = {key: value for key, value in {**tables.get(name, {}), **more}.items() if value is not None}
    return {"tables": tables, "rules": [{"when": {"previous.state": "dead"}, "then": {"state": "dead"}}]}


def test_tables_are_a_tree_whose_rows_have_what_is_above_and_before():
    linked = lw.Schema.load(database()).linked

    assert linked.names == ("homes", "pets", "people", "visits")
    assert {name: [field.name for field in schema.columns] for name, schema in linked.coded.items()} == {
        "homes": ["size", "pets", "persons"],
        "pets": ["flag", "size", "pets", "persons"],
        "people": ["size", "visits", "row.number", "row.left", "gap.size", "homes.size", "pets", "persons"],
        "visits": [
            *("day", "state", "clinic", "row.number", "row.left", "previous.state", "previous.clinic"),
            *("previous2.state", "previous2.clinic", "gap.day", "size", "visits", "homes.size", "pets", "persons"),
        ],
    }
    assert [schema.unit_label for schema in linked.coded.values()] == ["home:1", "home:1", "home:4", "home:12"]
    assert linked.coded["visits"].field("clinic").categories == ("north", "south")
    assert linked.coded["visits"].field("gap.day").domain.values == 366
    assert [rule.text for rule in linked.coded["visits"].rules] == ["when previous.state is dead, state is dead"]


def test_a_database_comes_back_from_its_file_with_its_public_tables(place):
    linked = lw.Schema.load(database()).linked
    written = {"clinics.csv": "clinic,beds\nnorth,3\nsouth,\n", "L.json": database(clinics={"public": "clinics.csv"})}
    make.files(place, written)
    from_file = lw.Schema.load("L.json").linked

    assert lw.Schema.load(json.loads(json.dumps(linked.to_dict()))).linked == linked
    assert lw.Schema.load(from_file.to_dict()).linked == from_file
    assert from_file.lookups[0].keys == linked.lookups[0].keys == ("north", "south")
    assert from_file.coded == linked.coded


EVENTS = {
    "name": "stays",
    "privacyUnit": {"field": "person", "maxRows": 5},
    "order": "day",
    "constant": ["size"],
    "fields": [PERSON, SIZE, DAY, STATE],
    "rules": [
        {"never": {"size": 3}},
        {"never": {"state": None}},
        {"when": {"previous.state": "dead"}, "then": {"state": "dead"}},
    ],
}


def test_events_are_those_of_persons_who_have_the_constant_columns():
    linked = lw.Schema.load(EVENTS).linked

    assert (linked.names, linked.given, linked.is_events) == (("person", "stays"), ("stays",), True)
    assert names(linked.coded["person"]) == ["person", "size", "rows"]
    assert linked.as_written("stays").names == ("person", "size", "day", "state")
    assert [len(linked.coded[name].rules) for name in linked.names] == [1, 3]
    assert lw.Schema.load(linked.to_dict()).linked == linked
    assert lw.Schema.load(linked.to_dict()).linked.to_dict() == linked.to_dict()


# --------------------------------------------------------------------------------- one class, for one table and several


def test_a_schema_has_tables_and_relations_and_one_table_is_a_list_of_one():
    one, several, events = map(lw.Schema.load, ({"name": "x", "fields": [SIZE]}, database(), EVENTS))

    assert dict(one.tables) == {"x": one}
    assert {name: schema.names for name, schema in several.tables.items()} == {
        "homes": ("home", "size"),
        "pets": ("home", "flag"),
        "people": ("home", "person", "size"),
        "visits": ("person", "day", "state", "clinic"),
    }
    assert {name: schema.names for name, schema in events.tables.items()} == {
        "stays": ("person", "size", "day", "state")
    }
    found = [
        [(each.name, each.parent, each.max_rows) for each in schema.relations] for schema in (one, several, events)
    ]
    assert found == [
        [],
        [("pets", "homes", 1), ("people", "homes", 4), ("visits", "people", 3)],
        [("stays", "person", 5)],
    ]


OF_ONE_TABLE = {
    "names": lambda schema: schema.names,
    "columns": lambda schema: schema.columns,
    "target": lambda schema: schema.target,
    "field": lambda schema: schema["size"],
    "in": lambda schema: "size" in schema,
    "len": len,
    "max_rows": lambda schema: schema.max_rows,
    "unit_label": lambda schema: schema.unit_label,
    "names_every_unit": lambda schema: schema.names_every_unit,
    "coded_rules": lambda schema: schema.coded_rules,
    "as_written_out": lambda schema: schema.as_written_out,
    "select": lambda schema: schema.select(["size"]),
    "|": lambda schema: schema | {"size": {"required": True}},
    "of |": lambda schema: lw.Schema.load({"fields": [SIZE]}) | schema,
    "check": lambda schema: schema.check("nothing.csv"),
    "load_draft": lw.Schema.load_draft,
    "learn": lambda schema: lw.Schema.learn("nothing.csv", schema, epsilon=1),
    "anonymize": lambda schema: lw.anonymize("nothing.csv", schema, min_group_size=5),
}


@pytest.mark.parametrize("asked", OF_ONE_TABLE.values(), ids=OF_ONE_TABLE)
@pytest.mark.parametrize("described", [database(), EVENTS], ids=["several", "events"])
def test_what_is_of_one_table_is_refused_of_several_before_a_row_is_read(asked, described):
    with pytest.raises(lw.SchemaError, match="this takes one table") as refused:
        asked(lw.Schema.load(described))

    assert refused.value.code == "LW252"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"linked": {"tables": {}}}, "one private table must be the first"),
        ({"linked": "L.json"}, "the schema of linked tables must be an object"),
        ({"name": "x"}, "name is said of one table"),
        ({"rules": ({"never": {"size": 3}},)}, "rules is said of one table"),
        ({"is_draft": True}, "is_draft is said of one table"),
    ],
    ids=["no tables", "a path", "name", "rules", "draft"],
)
def test_nothing_is_said_of_one_table_beside_several(given, said):
    linked = lw.Schema.load(database()).linked

    with pytest.raises(lw.SchemaError, match=said):
        lw.Schema(**{"linked": linked, **given})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"homes": {"maxRows": 3, "foreignKey": {}}}, "homes"),
        ({"visits": {"maxRows": "3"}}, "visits: maxRows must be a whole number"),
        ({"visits": {"maxRows": None}}, 'visits needs "maxRows"'),
        ({"visits": {"maxRows": 10_001}}, "visits: maxRows"),
        ({"visits": {"maxRow": 3}}, "visits.*maxRow"),
        ({"visits": {"order": {"by": "day", "down": True}}}, "order.*down"),
        ({"people": {"foreignKeys": ["home"]}}, "people: foreignKeys"),
        ({"people": {"primaryKey": 7}}, "people"),
        ({"people": {"dialect": {"ignoreCase": True}}}, 'the key "home" of people must have the same'),
        ({"homes": {"dialect": {"trim": True}}}, 'the key "home" of .* must have the same'),
    ],
    ids=range(10),
)
def test_a_key_that_is_unknown_missing_or_of_another_type_is_refused_with_its_place(changes, said):
    with pytest.raises(lw.SchemaError, match=said):
        lw.Schema.load(database(**changes))


def test_there_are_at_most_a_hundred_tables():
    tables = {f"t{number}": {"fields": [SIZE]} for number in range(101)}

    with pytest.raises(lw.SchemaError, match="100 at most"):
        lw.Schema.load({"tables": tables})


# ------------------------------------------------------------------------------------------------------- public tables


CLINIC_KEY, TOWN = make.fields({"clinic": "id", "town": "string"})


def with_clinics(public, *fields, key=CLINIC_KEY):
    """Return people, their visits, and the clinics that these refer to."""
    visits = [PERSON, make.field("clinic", key["type"], required=True)]
    return {
        "tables": {
            "people": {"primaryKey": "person", "fields": [PERSON, make.field("adult", bool)]},
            "visits": {"foreignKeys": {"person": "people", "clinic": "clinics"}, "maxRows": 3, "fields": visits},
            "clinics": {"public": public, "primaryKey": "clinic", "fields": [key, *fields]},
        }
    }


def test_cells_of_a_file_have_the_types_of_their_fields(place):
    fields = make.fields({"beds": "integer", "share": "number", "urban": "boolean", "since": "date"})
    cells = "urban,clinic,beds,share,since\nTrue,7,10,0.5,2001-02-03\nfalse,8,,2,\n"
    make.files(place, {"c.csv": cells, "db.json": with_clinics("c.csv", *fields)})

    linked = Schema.load("db.json").linked

    assert linked.lookups[0].rows == ((7, 10, 0.5, True, "2001-02-03"), (8, None, 2, False, None))
    assert linked.lookups[0].schema.field("beds").categories == (10,)
    assert Schema.load(linked.to_dict()).linked == linked


def test_a_key_to_a_public_table_has_its_keys_as_categories_which_are_public():
    linked = Schema.load(with_clinics([{"clinic": 8, "town": "x"}, {"clinic": 7}], TOWN)).linked
    field = linked.coded["visits"].field("clinic")

    assert (field.categories, field.provenance, field.required) == ((8, 7), "public", True)


def test_a_domain_that_the_schema_states_stays():
    lookup = Schema.load(with_clinics([[7, 10]], BEDS)).linked.lookups[0]

    assert lookup.schema.field("beds").maximum == 99


@pytest.mark.parametrize(
    ("kind", "cell"),
    [("integer", "x"), ("integer", 1.5), ("number", "1,5"), ("boolean", "maybe"), ("date", "3.2.2001")],
)
def test_a_cell_of_another_type_is_refused(kind, cell):
    with pytest.raises(SchemaError, match=f'clinics: "x" is of type {kind}, and a public row has'):
        Schema.load(with_clinics([[7, cell]], {"name": "x", "type": kind}))


def test_a_draft_whose_questions_are_answered_is_a_schema_of_linked_tables():
    types = {"person": "id", "clinic": "id", "well": "boolean", "adult": "boolean", "strong": "boolean"}
    types["town"] = "categorical"
    columns = {
        "visits": "person clinic well",
        "clinics": "clinic town",
        "people": "person adult",
        "drugs": "person strong",
    }
    links = [("visits", "person", "people"), ("visits", "clinic", "clinics"), ("drugs", "person", "people")]
    draft = read_foreign_tables(
        {
            "METADATA_SPEC_VERSION": "V1",
            "tables": {
                name: {"columns": {each: {"sdtype": types[each]} for each in own.split()}}
                for name, own in columns.items()
            },
            "relationships": [
                {
                    "child_table_name": child,
                    "child_foreign_key": key,
                    "parent_table_name": to,
                    "parent_primary_key": key,
                }
                for child, key, to in links
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
def test_linked_tables_in_a_file_of_a_release_hold_the_rows_of_a_lookup_and_no_path(path, place):
    make.files(place, {"c.csv": "clinic,town\n1,x\n2,y\n", "db.json": with_clinics("c.csv", TOWN)})
    written = Schema.load("db.json").linked.to_dict()
    assert Schema.from_dict(written).linked.lookups[0].rows == ((1, "x"), (2, "y"))

    written["tables"]["clinics"]["public"] = f"{place}{path}" if path.startswith("/") else path

    with pytest.raises(SchemaError, match="must be a list of rows"):
        Schema.from_dict(written)


# ---------------------------------------------------------------------------- `lapwing schema check` of several tables


CHECKED = {
    "key": "home",
    "maxChildren": 2,
    "count": "persons",
    "parent": {"fields": [KEY, ROOMS, KIND], "rules": [{"never": {"rooms": 9, "kind": "flat"}}]},
    "child": {"fields": [KEY, AGE]},
    "rules": [{"order": ["persons", "rooms"]}, {"when": {"kind": "flat"}, "then": {"age": {"minimum": 18}}}],
}


@pytest.fixture
def homes(place):
    contents = {
        "L.json": CHECKED,
        "homes.csv": pl.DataFrame({"home": [1, 2, 3], "rooms": [1, 4, 99], "kind": ["flat", "house", "hut"]}),
        "people.csv": pl.DataFrame({"home": [1, 1, 1, 2, 7], "age": [3, 4, 5, 6, 70]}),
    }
    return make.files(place, contents)


@pytest.mark.usefixtures("homes")
def test_rules_of_both_tables_are_counted_over_the_rows_that_are_used():
    said = lapwing("schema", "check", "L.json", "homes.csv", "people.csv")

    assert said.status == 0
    assert "internal:" in said.err
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert "parent, as its rows are asked about: 3 rows are used" in lines
    assert "child, as its rows are asked about: 3 rows are used" in lines
    assert "persons <= rooms 1" in lines
    assert "when kind is flat, age is at least 18 2" in lines
    assert "rows per unit, largest 3" in lines
    assert any(line.startswith("kind 3 0 0 0 1") for line in lines)
    assert lapwing("schema", "check", "L.json", "child=people.csv", "parent=homes.csv").out == said.out


def test_events_are_counted_as_one_table_and_as_their_persons(place):
    unit = {"privacyUnit": {"field": "home", "maxRows": 2}, "order": "age", "constant": ["kind"], "name": "stays"}
    described = {**unit, "fields": [KEY, KIND, AGE], "rules": [{"never": {"kind": "flat"}}]}
    stays = {"home": [1, 1, 1, 2], "kind": ["flat", "flat", "flat", "hut"], "age": [9, 8, 700, 3]}
    make.files(place, {"E.json": described, "stays.csv": pl.DataFrame(stays)})

    said = lapwing("schema", "check", "E.json", "stays.csv")

    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert said.status == 0
    assert "home, as its rows are asked about:" in lines
    assert "stays, as its rows are asked about: 3 rows are used" in lines
    assert {"age 4 0 0 1 0", "kind 4 0 0 0 1", "never kind is flat 2"} <= set(lines)


@pytest.mark.usefixtures("homes")
def test_the_wrong_order_of_tables_is_refused():
    assert "parent: file" in lapwing("schema", "check", "L.json", "people.csv", "homes.csv").err
