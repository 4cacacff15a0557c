"""Bad settings and schemas are refused in one clear sentence, and no planted value shows anywhere."""

from pathlib import Path

import pytest

from helpers.bad_input import assert_hidden, assert_refused, command, in_form, save_schema, synthesize
from helpers.command import lapwing
from helpers.planted_values import SCHEMA, schema_with, table, watched
from lapwing.errors import BudgetError, DataError, ParameterError, SchemaError

BAD_SETTINGS = [
    ({"epsilon": 0}, "epsilon must be above 0"),
    ({"epsilon": -1}, "epsilon must be above 0"),
    ({"epsilon": float("nan")}, "epsilon must be a finite number"),
    ({"epsilon": float("inf")}, "epsilon must be a finite number"),
    ({"epsilon": "much"}, "epsilon must be a finite number"),
    ({"epsilon": 1e300}, "epsilon must lie between"),
    ({"epsilon": 1e-30}, "epsilon must lie between"),
    ({"epsilon": 1, "rho": 1}, "got both"),
    ({"epsilon": None, "rho": 0}, "rho must be above 0"),
    ({"epsilon": None, "rho": float("nan")}, "rho must be a finite number"),
    ({"epsilon": None, "rho": 1, "delta": 0.1}, "delta goes with epsilon"),
    ({"epsilon": 1, "delta": -0.1}, "delta must be at least 0"),
    ({"epsilon": 1, "delta": 1}, "delta must be at least 0"),
    ({"epsilon": 1, "delta": 1.5}, "delta must be at least 0"),
    ({"epsilon": 1, "delta": float("nan")}, "delta must be a finite number"),
    ({"expected_rows": 0}, "expected_rows"),
    ({"expected_rows": -5}, "expected_rows"),
    ({"neighbours": "siblings"}, "add-remove"),
    ({"mechanism": "magic"}, "no mechanism"),
    ({"seed": -1}, "seed must be"),
    ({"dataset": "adult"}, "give the ledger too"),
    ({"ledger": "nowhere.db"}, "there is no ledger"),
    ({"transcript": "nowhere/t.jsonl"}, "cannot be written"),
]


@pytest.mark.parametrize(("settings", "says"), BAD_SETTINGS, ids=str)
def test_a_bad_setting_is_refused_and_nothing_is_written(place, capfd, settings, says):
    data = in_form(table(), "parquet", place)
    save_schema()
    options = [(f"--{key.replace('_', '-')}", str(value)) for key, value in settings.items() if value is not None]
    budget = [] if "epsilon" in settings else ["--epsilon", "1"]

    outcome = synthesize(data, **settings)
    said = command(data, "s.json", *budget, *(part for option in options for part in option))

    assert_refused(outcome, (ParameterError, BudgetError, DataError), says)
    assert (said.status, says in said.error) == (1, True), said
    assert_hidden(outcome, capfd, place, [data])


def test_no_budget_is_refused(place):
    outcome = synthesize(table(), epsilon=None)
    said = lapwing("synthesize", "data.csv", "--schema", "s.json", "-o", "out.csv")

    assert_refused(outcome, ParameterError, "got neither")
    assert said.status == 2
    assert "give a budget" in said.error


@pytest.mark.parametrize("rows", [0, -1])
def test_rows_below_one_are_refused_before_anything_is_spent(place, capfd, rows):
    data = in_form(table(), "parquet", place)
    save_schema()

    said = command(data, "s.json", "--epsilon", "1", "--rows", str(rows))

    assert "rows must be a whole number from 1" in said.error
    assert_hidden(watched(lambda: None), capfd, place, [data])


def test_fewer_rows_than_none_are_refused(place, capfd):
    release = synthesize(table()).value

    outcome = watched(lambda: release.sample(-1))

    assert_refused(outcome, ParameterError, "from 0 to")
    assert_hidden(outcome, capfd, place)


BAD_SCHEMAS = [
    (schema_with("age", constraints={"minimum": 120, "maximum": 0}), '"age"'),
    (schema_with("born", constraints={"minimum": "2020-12-31", "maximum": "1920-01-01"}), '"born"'),
    (schema_with("age", constraints={"minimum": 0}), "maximum"),
    (schema_with("age", type="numbre"), '"age"'),
    (schema_with("sex", categories=["f", "f"]), "twice"),
    (schema_with("sex", categories=[]), "empty"),
    (schema_with("sex", name="age"), "twice"),
    (schema_with("height", constraints={"minimum": 0, "maximum": 1e400}), "finite number"),
    ({**SCHEMA, "draft": True}, "draft"),
    ({"fields": []}, "no field to model"),
    ({"fields": [SCHEMA["fields"][0]]}, "no field to model"),
    ({}, '"fields"'),
    ({**SCHEMA, "privacyUnit": {"field": "nobody", "maxRows": 1}}, "nobody"),
    ({**SCHEMA, "privacyUnit": {"field": "person", "maxRows": 0}}, "maxRows"),
]


@pytest.mark.parametrize(("schema", "says"), BAD_SCHEMAS, ids=[str(number) for number in range(len(BAD_SCHEMAS))])
def test_a_bad_schema_is_refused(place, capfd, schema, says):
    data = in_form(table(), "parquet", place)
    save_schema(schema)

    outcome = synthesize(data, schema)

    assert_refused(outcome, SchemaError, says)
    assert says in command(data).error
    assert_hidden(outcome, capfd, place, [data])


@pytest.mark.parametrize(
    "content", ["", "{", "[1, 2]", "null", '{"fields": 3}', "[" * 100_000, "\x00", '{"fields": [3]}']
)
def test_a_file_that_is_no_schema_is_refused(place, capfd, content):
    data = in_form(table(), "parquet", place)
    Path("s.json").write_text(content)

    outcome = synthesize(data, "s.json")

    assert_refused(outcome, SchemaError, "")
    assert command(data).status == 1
    assert_hidden(outcome, capfd, place, [data])


def test_a_table_given_as_schema_is_refused_without_a_word_of_it(place, capfd):
    data = in_form(table(), "csv", place)

    for schema in (data, table(), "nowhere.json", 7):
        outcome = synthesize(data, schema)
        assert_refused(outcome, SchemaError, "")
    assert command(data, str(data)).status == 1
    assert_hidden(outcome, capfd, place, [data])
