"""Schemas of linked tables: what they derive, and what they refuse."""

import json

import pytest

import lapwing as lw

KEY = {"name": "home", "type": "integer", "role": "identifier"}
FLAG = {"name": "flag", "type": "boolean"}
SIZE = {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}
PERSON = {"name": "person", "type": "integer", "role": "identifier"}

DAY = {"name": "day", "type": "date", "constraints": {"minimum": "2024-01-01", "maximum": "2024-12-31"}}
STATE = {"name": "state", "type": "string", "categories": ["well", "ill", "dead"]}
CLINIC = {"name": "clinic", "type": "string"}
BEDS = {"name": "beds", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}
CLINICS = [{"clinic": "north", "beds": 3}, {"clinic": "south", "beds": None}]


def described(parent=(KEY, SIZE), child=(KEY, PERSON, FLAG), **changes):
    parts = {"parent": {"fields": list(parent)}, "child": {"fields": list(child)}}
    return {**parts, "key": "home", "maxChildren": 4, **changes}


def names(schema):
    return [field.name for field in schema.fields]


def test_the_parent_gets_the_number_of_children_as_a_public_column():
    schema = lw.LinkedSchema.load(described()).coded["parent"]

    count = schema.field("children")
    assert names(schema) == ["home", "size", "children"]
    assert (count.minimum, count.maximum, count.required, count.provenance) == (0, 4, True, "public")
    assert schema.unit_label == "home:1"


def test_the_child_gets_its_place_the_row_before_and_the_columns_of_its_parent():
    schema = lw.LinkedSchema.load(described()).coded["child"]

    assert names(schema) == ["home", "person", "flag", "row.number", "row.left", "previous.flag", "size", "children"]
    assert schema.unit_label == "home:4"


def test_a_linked_schema_comes_back_from_its_file(tmp_path):
    linked = lw.LinkedSchema.load(described(count="persons", rules=[{"sum": ["persons"], "equals": "size"}]))
    (tmp_path / "L.json").write_text(json.dumps(linked.to_dict()))

    assert lw.LinkedSchema.load(tmp_path / "L.json") == linked
    assert lw.LinkedSchema.load(linked) is linked


def test_rules_go_to_the_tables_whose_columns_they_name():
    own = {"never": {"size": 3}}
    rules = [{"sum": ["children"], "equals": "size"}, {"never": {"size": 1, "flag": False}}]
    source = described(rules=rules)
    source["parent"]["rules"] = [own]

    linked = lw.LinkedSchema.load(source)

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
        lw.LinkedSchema.load(source)

    assert said in str(refused.value)


def test_exact_totals_of_children_are_refused_and_those_of_parents_are_not():
    cells = [[True, 5], [False, 7], [None, 0]]
    table = {"columns": ["flag"], "cells": cells, "source": "register", "provenance": "public"}
    of_parents, of_children = described(parent=(KEY, FLAG), child=(KEY, SIZE)), described()
    of_parents["parent"]["publicTables"] = of_children["child"]["publicTables"] = [table]

    assert lw.LinkedSchema.load(of_parents).coded["parent"].public_tables[0].total == 12
    with pytest.raises(lw.SchemaError, match=r"child: the public table of flag is exact, .*prior"):
        lw.LinkedSchema.load(of_children)
    of_children["child"]["publicTables"] = [{**table, "hold": "prior", "sd": 2}]
    assert len(lw.LinkedSchema.load(of_children).coded["child"].public_tables) == 1


def test_a_dependency_whose_values_are_not_public_is_kept_by_the_model_of_its_table():
    rooms = {**SIZE, "name": "rooms"}
    source = described(parent=(KEY, SIZE, rooms), rules=[{"determines": ["rooms"], "column": "children"}])
    source["parent"]["rules"] = [{"determines": ["size"], "column": "rooms"}]

    linked = lw.LinkedSchema.load(source)

    assert len(linked.coded["parent"].rules) == 2
    assert linked.coded["child"].rules == ()
    with pytest.raises(lw.SchemaError, match="lets rows determine"):
        lw.LinkedSchema.load(described(rules=[{"determines": ["flag"], "column": "size"}]))


def test_a_rule_of_parents_that_names_a_column_of_both_tables_is_refused():
    rules = [{"order": ["children", "parent.size"]}]

    with pytest.raises(lw.SchemaError, match="names a column that no table has beside the others"):
        lw.LinkedSchema.load(described(child=(KEY, FLAG, SIZE), rules=rules))


# ------------------------------------------------------------------------------------------------- any number of tables


def database(**changes):
    """Return homes, their people and pets, and visits of people at public clinics; with other keys by table."""
    tables = {
        "visits": {
            "foreignKeys": {"person": "people", "clinic": "clinics"},
            "maxRows": 3,
            "order": "day",
            "fields": [PERSON, DAY, STATE, CLINIC],
        },
        "homes": {"primaryKey": "home", "fields": [KEY, SIZE]},
        "pets": {"foreignKeys": {"home": "homes"}, "maxRows": 1, "fields": [KEY, FLAG]},
        "people": {
            "primaryKey": "person",
            "foreignKeys": {"home": "homes"},
            "maxRows": 4,
            "count": "persons",
            "order": {"by": "size", "descending": True},
            "fields": [KEY, PERSON, SIZE],
        },
        "clinics": {
            "primaryKey": "clinic",
            "public": CLINICS,
            "fields": [{**CLINIC, "categories": ["north", "south"]}, BEDS],
        },
    }
    for name, more in changes.items():
        tables[name] = {key: value for key, value in {**tables.get(name, {}), **more}.items() if value is not None}
    return {"tables": tables, "rules": [{"when": {"previous.state": "dead"}, "then": {"state": "dead"}}]}


def test_tables_are_a_tree_whose_rows_have_what_is_above_and_before():
    linked = lw.LinkedSchema.load(database())

    assert linked.names == ("homes", "pets", "people", "visits")
    assert {name: [field.name for field in schema.columns] for name, schema in linked.coded.items()} == {
        "homes": ["size", "pets", "persons"],
        "pets": ["flag", "size", "pets", "persons"],
        "people": ["size", "visits", "row.number", "row.left", "gap.size", "homes.size", "pets", "persons"],
        "visits": [
            *(
                "day",
                "state",
                "clinic",
                "row.number",
                "row.left",
                "previous.state",
                "previous.clinic",
                "previous2.state",
                "previous2.clinic",
                "gap.day",
                "size",
                "visits",
            ),
            *("homes.size", "pets", "persons"),
        ],
    }
    assert [schema.unit_label for schema in linked.coded.values()] == ["home:1", "home:1", "home:4", "home:12"]
    assert linked.coded["visits"].field("clinic").categories == ("north", "south")
    assert linked.coded["visits"].field("gap.day").domain.values == 366
    assert [rule.text for rule in linked.coded["visits"].rules] == ["when previous.state is dead, state is dead"]


def test_a_database_comes_back_from_its_file_with_its_public_tables(tmp_path):
    linked = lw.LinkedSchema.load(database())
    (tmp_path / "clinics.csv").write_text("clinic,beds\nnorth,3\nsouth,\n")
    (tmp_path / "L.json").write_text(json.dumps(database(clinics={"public": "clinics.csv"})))
    from_file = lw.LinkedSchema.load(tmp_path / "L.json")

    assert lw.LinkedSchema.load(json.loads(json.dumps(linked.to_dict()))) == linked
    assert lw.LinkedSchema.load(from_file.to_dict()) == from_file
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
    linked = lw.LinkedSchema.load(EVENTS)

    assert (linked.names, linked.given, linked.is_events) == (("person", "stays"), ("stays",), True)
    assert names(linked.coded["person"]) == ["person", "size", "rows"]
    assert linked.as_written("stays").names == ("person", "size", "day", "state")
    assert [len(linked.coded[name].rules) for name in linked.names] == [1, 3]
    assert lw.LinkedSchema.load(linked.to_dict()) == linked
    assert lw.LinkedSchema.load(linked.to_dict()).to_dict() == linked.to_dict()
