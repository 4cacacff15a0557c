"""Schemas of two linked tables: what they derive, and what they refuse."""

import json

import pytest

import lapwing as lw

KEY = {"name": "home", "type": "integer", "role": "identifier"}
FLAG = {"name": "flag", "type": "boolean"}
SIZE = {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}
PERSON = {"name": "person", "type": "integer", "role": "identifier"}


def described(parent=(KEY, SIZE), child=(KEY, PERSON, FLAG), **changes):
    parts = {"parent": {"fields": list(parent)}, "child": {"fields": list(child)}}
    return {**parts, "key": "home", "maxChildren": 4, **changes}


def names(schema):
    return [field.name for field in schema.fields]


def test_the_parent_gets_the_number_of_children_as_a_public_column():
    schema = lw.LinkedSchema.load(described()).counted

    count = schema.field("children")
    assert names(schema) == ["home", "size", "children"]
    assert (count.minimum, count.maximum, count.required, count.provenance) == (0, 4, True, "public")
    assert schema.unit_label == "home:1"


def test_the_child_gets_the_columns_of_its_parent():
    schema = lw.LinkedSchema.load(described()).joined

    assert names(schema) == ["home", "person", "flag", "size", "children"]
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

    assert [rule.text for rule in linked.counted.rules] == ["never size is 3", "children = size"]
    assert len(linked.joined.rules) == 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"maxChildren": 0}, "maxChildren must be a whole number from 1"),
        ({"maxChildren": True}, "maxChildren must be a whole number from 1"),
        ({"maxChildren": 10_001}, "maxChildren must be a whole number from 1"),
        ({"key": "town"}, 'parent: the key is in both tables, and the schema: no field is called "town"'),
        ({"child": {"fields": [PERSON, FLAG]}}, "child: the key is in both tables"),
        ({"parent": {"fields": [{**KEY, "type": "text"}, SIZE]}}, "parent: "),
        ({"key": "size"}, "must be an identifier"),
        ({"key": 3}, "key must be the name of a column"),
        ({"count": "size"}, "is a column already"),
        ({"count": ""}, "count must be the name of a column"),
        ({"children": 4}, 'unknown key "children"'),
        ({"parent": {"fields": [KEY, SIZE], "privacyUnit": {"field": "home", "maxRows": 1}}}, "privacyUnit of its own"),
        ({"parent": {"fields": [{**KEY, "type": "string"}, SIZE]}}, "the same type and missingValues"),
        ({"parent": {"fields": [{**KEY, "missingValues": ["", "0"]}, SIZE]}}, "the same type and missingValues"),
        ({"child": {"fields": [KEY, FLAG, {**SIZE, "name": "children"}]}}, "is a column already"),
        ({"child": {"fields": [KEY, FLAG, SIZE, {**SIZE, "name": "parent.size"}]}}, "the name stands twice"),
        ({"child": {"fields": [KEY]}}, "no field to model"),
        ({"rules": [{"never": {"nobody": 1}}]}, "nobody"),
    ],
    ids=range(18),
)
def test_what_is_no_linked_schema_is_refused_in_one_sentence(changes, said):
    with pytest.raises(lw.SchemaError) as refused:
        lw.LinkedSchema.load(described() | changes)

    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([{"never": {"size": 99}}], "rule 1 of both tables (never size is 99): "),
        ([{"never": {"size": 1}}, {"never": {"flag": "x"}}], "rule 2 of both tables (never flag is "),
        (
            [{"never": {"size": {"maximum": 5}}}, {"never": {"size": [None, 6, 7, 8]}}],
            "rules 1 of parent (never size is 9), 1 of both tables (never size is at most 5) and 2 of both tables (",
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

    assert lw.LinkedSchema.load(of_parents).counted.public_tables[0].total == 12
    with pytest.raises(lw.SchemaError, match=r"child: the public table of flag is exact, .*prior"):
        lw.LinkedSchema.load(of_children)
    of_children["child"]["publicTables"] = [{**table, "hold": "prior", "sd": 2}]
    assert len(lw.LinkedSchema.load(of_children).joined.public_tables) == 1


@pytest.mark.parametrize("key", ["parent", "child", "key", "maxChildren"])
def test_a_key_that_is_not_there_is_named(key):
    source = described()
    del source[key]

    with pytest.raises(lw.SchemaError, match=f'needs "{key}"'):
        lw.LinkedSchema.load(source)


def test_a_dependency_whose_values_are_not_public_is_kept_by_the_model_of_its_table():
    rooms = {**SIZE, "name": "rooms"}
    source = described(parent=(KEY, SIZE, rooms), rules=[{"determines": ["rooms"], "column": "children"}])
    source["parent"]["rules"] = [{"determines": ["size"], "column": "rooms"}]

    linked = lw.LinkedSchema.load(source)

    assert len(linked.counted.rules) == 2
    assert linked.joined.rules == ()
    with pytest.raises(lw.SchemaError, match="lets children determine"):
        lw.LinkedSchema.load(described(rules=[{"determines": ["flag"], "column": "size"}]))


def test_a_rule_of_parents_that_names_a_column_of_both_tables_is_refused():
    rules = [{"order": ["children", "parent.size"]}]

    with pytest.raises(lw.SchemaError, match="of parents alone"):
        lw.LinkedSchema.load(described(child=(KEY, FLAG, SIZE), rules=rules))
