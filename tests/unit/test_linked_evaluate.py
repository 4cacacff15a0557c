"""Linked tables and events against the real ones: each table, the rows above, and the rows of one parent."""

import json

import jsonschema
import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.evaluations import METRICS
from helpers.linked_homes import AGE, KEY, KIND, ROOMS, tables

SCHEMA = {
    "tables": {
        "homes": {"primaryKey": "home", "fields": [KEY, ROOMS, KIND]},
        "people": {"foreignKeys": {"home": "homes"}, "maxRows": 2, "fields": [KEY, AGE]},
    }
}
EVENTS = {
    "privacyUnit": {"field": "home", "maxRows": 2},
    "order": "age",
    "fields": [KEY, AGE, {"name": "state", "type": "string", "categories": ["well", "ill"]}],
}


def figures(found):
    return {each.metric.key: {name: value.value for name, value in each.values.items()} for each in found.metrics}


def by_name(homes=300):
    return dict(zip(("homes", "people"), tables(homes), strict=True))


def test_persons_who_lost_their_homes_are_at_a_distance_and_their_own_columns_are_not():
    real = by_name()
    people = real["people"].with_columns(pl.col("age").shuffle(seed=1))

    found = lw.evaluate(real, real | {"people": people}, SCHEMA)

    same = lw.evaluate(real, real, SCHEMA)
    homes, lost, kept = (each.findings for each in (found.parts["homes"], found.parts["people"], same.parts["people"]))
    assert [each.mean for each in homes.tables["synthetic"]] == [0, 0, 0]
    assert [each.mean > 0.1 for each in lost.tables["synthetic"]] == [False, True, True]
    assert [each.mean for each in kept.tables["synthetic"]] == [0, 0, 0]
    # Ages are of the old in flats and of the young in houses: shuffled, two of one home do not know of each other.
    assert figures(lost)["transitions"]["synthetic"] > 2 * figures(kept)["transitions"]["synthetic"]
    assert figures(kept)["siblings"]["synthetic"] == 0
    # Up to 4 persons of a home are compared, though 2 are used.
    assert kept.rows == real["people"].height
    assert figures(lost)["rows_per_unit"] == {"synthetic": 0, "bootstrap": pytest.approx(0, abs=0.1), "independent": 0}


def test_homes_without_persons_count_among_the_numbers_of_rows():
    real = by_name(100)
    half = real["people"].filter(pl.col("home") >= 50)

    found = lw.evaluate(real, real | {"people": half}, SCHEMA).parts["people"].findings

    assert figures(found)["rows_per_unit"]["synthetic"] == 0.5


def test_events_are_one_evaluation_with_their_gaps_and_transitions():
    rng = np.random.default_rng(1)
    state = rng.random(300) < 0.5
    rows = pl.DataFrame(
        {
            "home": np.repeat(np.arange(300), 3),
            "age": np.tile([10, 20, 40], 300),
            "state": np.where(np.repeat(state, 3), "ill", "well"),
        }
    )
    closer = rows.with_columns(age=pl.col("age") // 10, state=pl.col("state").shuffle(seed=1))

    found = lw.evaluate(rows, closer, EVENTS, target="state", by="state")

    said = figures(found.findings)
    assert (said["gaps"]["synthetic"], said["gaps"]["bootstrap"], said["rows_per_unit"]["synthetic"]) == (1, 0, 0)
    # Whoever is ill stays so; shuffled, half of those who follow differ.
    assert said["next_states"]["synthetic"] == pytest.approx(0.5, abs=0.1)
    assert found.findings.panel.agreement["real"] == {"state": 1}
    assert (found.findings.downstream.target, len(found.findings.subgroups)) == ("state", 2)
    jsonschema.Draft202012Validator(METRICS).validate(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert "Rows that belong together" in found.html()


def test_the_command_takes_folders_and_writes_a_part_for_each_table(tmp_path):
    for place, homes in (("real", 200), ("made", 150)):
        (tmp_path / place).mkdir()
        for name, table in by_name(homes).items():
            table.write_csv(tmp_path / place / f"{name}.csv")
    (tmp_path / "db.json").write_text(json.dumps(SCHEMA))
    folders = [tmp_path / "real", tmp_path / "made", "--schema", tmp_path / "db.json"]
    files = ["--json", tmp_path / "e.json", "-o", tmp_path / "e.html"]

    said = lapwing("evaluate", *folders, *files, "--target", "kind")

    assert said.status == 0, said.err
    assert said.out.startswith("internal - do not publish\n\nhomes\n=====\n")
    assert "rows of one parent agree in" in said.out
    whole = json.loads((tmp_path / "e.json").read_text())
    for each in whole["tables"].values():
        jsonschema.Draft202012Validator(METRICS).validate({"notice": whole["notice"], **each})
    assert [each["downstream"] is None for each in whole["tables"].values()] == [False, True]
    assert whole["tables"]["people"]["rows"] == {
        "real": by_name(200)["people"].height,
        "synthetic": by_name(150)["people"].height,
        "sampled": None,
    }
    page = (tmp_path / "e.html").read_text()
    assert "people: Rows that belong together" in page
    assert "homes: Rows that belong together" not in page


@pytest.mark.parametrize(
    ("settings", "code", "said"),
    [
        ({"epsilon": 1}, "LW317", "compared internally alone"),
        ({"target": "wage"}, "LW304", 'got "wage"; they are homes: rooms, kind, people; people: age, rooms, kind'),
        ({"by": ["age", "wage"]}, "LW304", 'by must be columns of one table, got "age", "wage"'),
    ],
)
def test_what_cannot_be_compared_is_refused(settings, code, said):
    with pytest.raises(lw.ParameterError, match=said) as refused:
        lw.evaluate(by_name(20), by_name(20), SCHEMA, **settings)

    assert refused.value.code == code


def test_a_table_without_rows_is_named():
    real = by_name(20)

    with pytest.raises(lw.DataError, match="the synthetic table people has no row"):
        lw.evaluate(real, real | {"people": real["people"].clear()}, SCHEMA)
