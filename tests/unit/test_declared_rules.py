"""Rows that break declared rules and gaps to public totals, in an evaluation, its page, and a check of a schema."""

import json

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.natural_rules import TABLES, fields_of, schema_of
from helpers.plain_rules import broken_rows
from lapwing.extras.evaluate.internal.schemas import check_declared
from lapwing.schema.schemas import Schema

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}}
JOB = {"name": "job", "type": "string", "categories": ["none", "part", "full"]}
SEX = {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}}
RULES = [
    {"when": {"age": {"maximum": 14}}, "then": {"job": None, "sex": ["f", "m"]}},
    {"never": {"job": "full", "sex": "m"}, "provenance": "assumed"},
]
TOTALS = [
    {"columns": ["sex"], "cells": [["f", 3], ["m", 1]], "source": "a register", "provenance": "public", "hold": "exact"}
]
SCHEMA = {"fields": [AGE, JOB, SEX], "rules": RULES, "publicTables": TOTALS}
KEPT = pl.DataFrame({"age": [3, 40, 50, 60], "job": [None, "full", "part", None], "sex": ["f", "f", "m", "f"]})
BROKEN = pl.DataFrame({"age": [3, 4, 50, 60], "job": ["full", None, "full", "none"], "sex": ["m", "m", "m", "f"]})


def evaluated(real=KEPT, synthetic=BROKEN, schema=SCHEMA):
    return lw.evaluate(real, synthetic, schema)


def test_rows_that_break_a_rule_are_counted_in_both_tables():
    found = evaluated().to_dict()["declared"]

    assert [fit["broken"]["real"] for fit in found["rules"]] == [0, 0]
    assert [fit["broken"]["synthetic"] for fit in found["rules"]] == [1, 2]
    assert [fit["provenance"] for fit in found["rules"]] == ["public", "assumed"]
    assert found["broken"]["synthetic"] == 2  # one row breaks both


def test_the_gap_to_a_public_table_is_the_share_of_rows_that_would_have_to_change():
    (fit,) = evaluated().to_dict()["declared"]["totals"]

    assert fit["gaps"]["real"] == 0
    assert fit["gaps"]["synthetic"] == pytest.approx(0.5)
    assert fit["source"] == "a register"


def test_a_check_of_a_schema_with_data_counts_the_rows_that_break_each_rule(tmp_path):
    said = checked(tmp_path, BROKEN)

    assert "internal - do not publish" in said.out
    assert "2 of 4 rows break a rule" in said.out
    counted = said.out.split("break a rule")[1]
    assert line(counted, "never job is full and sex is m").endswith(" 2")
    assert line(counted, "when age is at most 14").endswith(" 1")
    assert counted.splitlines()[-2].split() == ["sex", "4", "4", "50.00%", "exact"]
    # Numbers end below the end of their head.
    head, *numbers = counted.splitlines()[1:4]
    assert {len(each) for each in numbers} == {len(head)}


def test_all_rows_of_a_unit_are_counted():
    people = {"name": "person", "type": "integer", "role": "identifier"}
    schema = SCHEMA | {"fields": [AGE, JOB, SEX, people], "privacyUnit": {"field": "person", "maxRows": 1}}

    found = check_declared(BROKEN.with_columns(person=pl.lit(1)), Schema.from_dict(schema)).value

    assert [fit.broken["real"] for fit in found.rules] == [1, 2]


def checked(tmp_path, data=None, schema=SCHEMA):
    (tmp_path / "s.json").write_text(json.dumps(schema))
    if data is None:
        return lapwing("schema", "check", tmp_path / "s.json")
    data.write_parquet(tmp_path / "rows.parquet")
    return lapwing("schema", "check", tmp_path / "s.json", tmp_path / "rows.parquet")


def line(text, part):
    return next(each.rstrip() for each in text.splitlines() if part in each)


@pytest.mark.parametrize("name", TABLES)
def test_counts_of_rows_that_break_a_rule_are_those_of_the_plain_checker(name, shared_data):
    mapping = schema_of(shared_data, name)
    table = pl.read_parquet(shared_data / name / "data.parquet").head(4000)
    rng = np.random.default_rng(5)
    shuffled = table.select(table[column].shuffle(seed=int(rng.integers(2**31))) for column in table.columns)

    for rows in (table, shuffled):
        found = check_declared(rows, Schema.from_dict(mapping)).value

        plain = [broken_rows(rows, rule, fields_of(shared_data, name)) for rule in mapping["rules"]]
        assert [fit.broken["real"] for fit in found.rules] == plain
    assert any(plain)
