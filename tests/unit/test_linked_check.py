"""`lapwing schema check` of linked tables: both parts, their rules, and what real rows break."""

import json

import polars as pl
import pytest

from helpers.command import lapwing
from helpers.linked_homes import AGE, KEY, KIND, ROOMS

SCHEMA = {
    "key": "home",
    "maxChildren": 2,
    "count": "persons",
    "parent": {"fields": [KEY, ROOMS, KIND], "rules": [{"never": {"rooms": 9, "kind": "flat"}}]},
    "child": {"fields": [KEY, AGE]},
    "rules": [{"order": ["persons", "rooms"]}, {"when": {"kind": "flat"}, "then": {"age": {"minimum": 18}}}],
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "L.json").write_text(json.dumps(SCHEMA))
    homes = {"home": [1, 2, 3], "rooms": [1, 4, 99], "kind": ["flat", "house", "hut"]}
    pl.DataFrame(homes).write_csv("homes.csv")
    pl.DataFrame({"home": [1, 1, 1, 2, 7], "age": [3, 4, 5, 6, 70]}).write_csv("people.csv")
    return tmp_path


def test_rules_of_both_tables_are_counted_over_the_rows_that_are_used(place):
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
    (place / "E.json").write_text(json.dumps(described))
    stays = {"home": [1, 1, 1, 2], "kind": ["flat", "flat", "flat", "hut"], "age": [9, 8, 700, 3]}
    pl.DataFrame(stays).write_csv("stays.csv")

    said = lapwing("schema", "check", "E.json", "stays.csv")

    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert said.status == 0
    assert "home, as its rows are asked about:" in lines
    assert "stays, as its rows are asked about: 3 rows are used" in lines
    assert {"age 4 0 0 1 0", "kind 4 0 0 0 1", "never kind is flat 2"} <= set(lines)


def test_the_wrong_order_of_tables_is_refused(place):
    assert "parent: file" in lapwing("schema", "check", "L.json", "people.csv", "homes.csv").err
