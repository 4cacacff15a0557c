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
from lapwing.extras.evaluate.metrics.declared import compare_declared
from lapwing.extras.evaluate.report.compared import compared_sections
from lapwing.present.document import Table
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


def test_cells_that_do_not_fit_the_schema_break_no_rule_and_lie_in_no_cell_of_a_total():
    odd = KEPT.with_columns(age=pl.Series([3, 40, 50, 60]), sex=pl.Series(["f", "f", "alien", "f"]))
    odd = odd.with_columns(job=pl.Series([None, "full", "full", None]))

    found = evaluated(synthetic=odd).to_dict()["declared"]

    assert found["broken"]["synthetic"] == 0
    assert found["totals"][0]["gaps"]["synthetic"] == pytest.approx(0.25)


def test_a_schema_that_declares_nothing_has_no_such_figures():
    found = evaluated(schema={"fields": [AGE, JOB, SEX]})

    assert found.to_dict()["declared"] is None
    assert "break" not in found.summary()
    assert "rules" not in sections({"fields": [AGE, JOB, SEX]})


def test_the_page_lists_every_rule_and_marks_the_broken_ones():
    section = sections()["rules"]
    rules, totals = [part for part in section.parts if isinstance(part, Table)]

    assert [line[1:3] for line in rules.lines] == [("0 %", "50.00 %"), ("0", "2"), ("0", "1")]
    assert rules.marked == (1, 2)
    assert totals.lines[0][:3] == ("sex", "0 %", "50.00 %")


def sections(schema=SCHEMA):
    checked = Schema.from_dict(schema)
    return {each.key: each for each in compared_sections(evaluated(schema=schema).findings, checked)}


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


def test_a_check_of_a_schema_alone_lists_values_that_no_row_can_have(tmp_path):
    rules = [{"never": {"job": "full"}}, {"when": {"sex": "m"}, "then": {"age": {"maximum": 14}}}]
    rules += [{"when": {"sex": "m"}, "then": {"age": {"minimum": 15}}}]

    said = checked(tmp_path, schema={"fields": [AGE, JOB, SEX], "rules": rules})

    assert "job: full" in said.out
    assert "sex: m" in said.out
    assert "job: none" not in said.out


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


def test_a_table_without_rows_breaks_nothing():
    codes = {name: np.zeros(0, dtype=np.int64) for name in ("age", "job", "sex")}

    found = compare_declared({"real": codes}, Schema.from_dict(SCHEMA))

    assert found.broken == {"real": 0}
