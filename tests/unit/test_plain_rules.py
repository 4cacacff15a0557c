"""The plain checker of rules finds what is planted, so that tests that lean on it can fail."""

import datetime as dt

import polars as pl
import pytest

from helpers.natural_rules import TABLES, declared, fields_of
from helpers.plain_rules import broken_rows

FIELDS = [
    {"name": "low", "type": "integer", "special": [-1]},
    {"name": "high", "type": "integer"},
    {"name": "size", "type": "string", "categories": ["small", "large", "huge"]},
    {"name": "end", "type": "string", "categories": ["small", "large", "huge"]},
    {"name": "born", "type": "date"},
    {"name": "code", "type": "string"},
    {"name": "group", "type": "string"},
]
GOOD = {
    "low": [1, -1, None, 3, 2],
    "high": [2, 0, 5, 6, 4],
    "size": ["small", "small", "large", None, "huge"],
    "end": ["large", "small", "huge", "small", None],
    "born": [dt.date(2000, 1, day) for day in (1, 2, 3, 4, 5)],
    "code": ["a", "a", "b", None, "b"],
    "group": ["x", "x", "y", "z", "y"],
}
RULES = {
    "order": {"order": ["low", "high"], "strict": True},
    "order of categories": {"order": ["size", "end"]},
    "sum": {"sum": {"low": 2}, "equals": "high"},
    "dependency": {"determines": ["code"], "column": "group"},
    "listed dependency": {"determines": ["code"], "column": "group", "values": [["a", "x"], [None, "z"]]},
    "implication": {"when": {"born": {"minimum": "2000-01-04"}}, "then": {"size": [None, "huge"], "high": [6, 4]}},
    "never": {"never": {"low": {"minimum": 3}, "size": "small"}},
    "allowed": {"allowed": ["code", "group"], "rows": [["a", "x"], ["b", "y"], [None, "z"]]},
}
PLANTED = {
    "order": [("high", 0, 1), ("low", 1, 0)],
    "order of categories": [("end", 2, "small"), ("size", 3, "huge")],
    "sum": [("high", 0, 3), ("low", 4, 1)],
    "dependency": [("group", 0, "y"), ("group", 4, None)],
    "listed dependency": [("group", 1, "y"), ("group", 3, None)],
    "implication": [("size", 3, "large"), ("high", 4, None), ("born", 0, dt.date(2001, 1, 1))],
    "never": [("size", 3, "small")],
    "allowed": [("group", 0, "z"), ("code", 3, "a")],
}


@pytest.mark.parametrize("name", RULES)
def test_the_plain_checker_accepts_rows_that_keep_a_rule(name):
    assert broken_rows(pl.DataFrame(GOOD), RULES[name], FIELDS) == 0


@pytest.mark.parametrize(("name", "planted"), [(name, each) for name, cells in PLANTED.items() for each in cells])
def test_the_plain_checker_finds_a_planted_violation(name, planted):
    column, place, value = planted
    cells = list(GOOD[column])
    cells[place] = value

    assert broken_rows(pl.DataFrame(GOOD).with_columns(pl.Series(column, cells)), RULES[name], FIELDS) == 1


def test_the_plain_checker_counts_rows_and_not_conditions():
    table = pl.DataFrame({"low": [3, 4, 5, 1], "size": ["small"] * 4})

    assert broken_rows(table, RULES["never"], FIELDS) == 3


def test_the_plain_checker_asks_nothing_of_values_that_a_map_does_not_list():
    table = pl.DataFrame({"code": ["b", "b", "a"], "group": ["y", "z", "x"]})

    assert broken_rows(table, RULES["listed dependency"], FIELDS) == 0


def test_the_plain_checker_counts_every_row_beside_the_commonest_value():
    table = pl.DataFrame({"code": ["a"] * 6 + ["b"] * 3, "group": list("xxxyyzxyy")})

    assert broken_rows(table, RULES["dependency"], FIELDS) == 4


@pytest.mark.parametrize("name", TABLES)
def test_no_real_row_breaks_a_natural_rule(name, shared_data):
    table = pl.read_parquet(shared_data / name / "data.parquet")

    broken = [broken_rows(table, rule, fields_of(shared_data, name)) for rule in declared(name)["rules"]]

    assert len(broken) >= 5
    assert not any(broken)
