"""Whatever is refused of an anonymous table, and whatever it shows, leads to no planted value."""

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.planted_values import SCHEMA, TRACES, schema_with, table, traces_in, traces_in_exception, watched

FAILURES = {
    "too few rows": lambda: lw.anonymize(table(9), SCHEMA, 10),
    "no such partition": lambda: lw.anonymize(table(), SCHEMA, partition="none"),
    "no such column": lambda: lw.anonymize(table().drop("age"), SCHEMA),
    "no table": lambda: lw.anonymize(table().to_dicts(), SCHEMA),
    "an unknown argument": lambda: lw.anonymize(table(), SCHEMA, k=5),
    "nested cells": lambda: lw.anonymize(table().with_columns(age=pl.concat_list("age", "age")), SCHEMA),
    "too many rows for any memory": lambda: lw.anonymize(table(), SCHEMA, rows=2**60),
    "too many coordinates": lambda: lw.anonymize(table(), wide()),
}


def wide():
    extra = [
        {"name": f"c{number}", "type": "string", "categories": [f"v{value}" for value in range(63)]}
        for number in range(40)
    ]
    return {**SCHEMA, "fields": [*SCHEMA["fields"], *extra]}


@pytest.mark.parametrize("name", FAILURES)
def test_what_is_refused_tells_no_value(name):
    outcome = watched(FAILURES[name])

    assert isinstance(outcome.error, lw.LapwingError)
    assert traces_in_exception(outcome.error) == []
    assert outcome.warned == ""
    assert "\n" not in str(outcome.error)


@pytest.mark.parametrize("settings", [{}, {"variant": "paper"}, {"output": "shuffle"}], ids=str)
@pytest.mark.parametrize("required", [True, False])
def test_rows_out_and_what_is_said_of_them_show_no_value_that_one_row_has(settings, required):
    schema = schema_with("height", constraints={"minimum": 0, "maximum": 1e9, "required": required})

    outcome = watched(lambda: lw.anonymize(table(), schema, **settings, seed=1))

    made = outcome.value
    assert outcome.error is None, outcome.error
    assert outcome.warned == ""
    assert traces_in(f"{made!r} {made.to_dict()} {made.data.write_csv()}") == []
    assert traces_in(table().write_csv()) != [], TRACES


def test_the_command_says_nothing_of_the_rows(tmp_path):
    lw.Schema.from_dict(SCHEMA).save(tmp_path / "s.json")
    table().write_csv(tmp_path / "data.csv")

    said = [
        lapwing(
            "anonymize", tmp_path / "data.csv", "--schema", tmp_path / "s.json",
            "--min-group-size", size, "-o", tmp_path / f"out{size}.csv",
        )
        for size in (10, 1000)
    ]  # fmt: skip

    assert [each.status for each in said] == [0, 1]
    assert traces_in("".join(each.err for each in said)) == []
    files = [path.read_text() for path in tmp_path.glob("out*")]
    assert len(files) == 2
    assert traces_in("".join(files)) == []
