"""The commands before and after a release of linked tables, and of events: as for one table."""

import json

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.kernel.room.room import Room

WHO = {"name": "who", "type": "integer", "role": "identifier"}
HOME = {"name": "home", "type": "integer", "role": "identifier"}
SEX = {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}}
DAY = {"name": "day", "type": "integer", "constraints": {"minimum": 1, "maximum": 40, "required": True}}
ROOMS = {"name": "rooms", "type": "integer", "constraints": {"minimum": 1, "maximum": 9, "required": True}}
EVENTS = {
    "name": "stays",
    "privacyUnit": {"field": "who", "maxRows": 4},
    "order": "day",
    "constant": ["sex"],
    "fields": [WHO, DAY, SEX],
}
HOMES = {
    "tables": {
        "homes": {"primaryKey": "home", "fields": [HOME, ROOMS]},
        "people": {"foreignKeys": {"home": "homes"}, "maxRows": 3, "fields": [HOME, SEX]},
    }
}
BUDGET = ("--epsilon", 20, "--mechanism", "Independent", "--seed", 1, "--quiet")
PAID = "the answers are kept"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Give a folder with events, homes and the people in them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 5, 300)
    who = np.repeat(np.arange(300), counts)
    sex = np.array(["f", "m"])[np.where(rng.random(300) < 0.8, 0, 1)]
    pl.DataFrame({"who": who, "day": rng.integers(1, 41, who.size), "sex": sex[who]}).write_csv("stays.csv")
    pl.DataFrame({"home": np.arange(300), "rooms": rng.integers(1, 10, 300)}).write_csv("homes.csv")
    pl.DataFrame({"home": who[who < 200], "sex": sex[who[who < 200]]}).write_csv("people.csv")
    for name, schema in (("stays.json", EVENTS), ("homes.json", HOMES)):
        (tmp_path / name).write_text(json.dumps(schema))
    return tmp_path


def done(*arguments):
    said = lapwing(*arguments)
    assert said.status == 0, said.err
    return said


def broken_once(monkeypatch, after):
    """Let the room fail once, after some answers."""
    whole, asked = Room.ask, []

    def ask(self, *questions):
        asked.append(questions)
        if len(asked) == after:
            raise KeyboardInterrupt
        return whole(self, *questions)

    monkeypatch.setattr(Room, "ask", ask)


def test_events_are_one_table_in_and_one_out_and_their_model_draws_persons_like_a_condition(place):
    done("synthesize", "stays.csv", "--schema", "stays.json", *BUDGET, "-o", "rows.parquet", "--model", "m.lapwing")
    drawn, told = pl.read_parquet("rows.parquet"), json.loads((place / "rows.parquet.certificate.json").read_text())

    done("sample", "m.lapwing", "--rows", 50, "--where", "sex=m", "--where", "stays.rows=2..3", "-o", "some.csv")
    some = pl.read_csv("some.csv")

    assert drawn.columns == ["who", "day", "sex"]
    assert told["written_rows"] == told["parts"]["stays"]["written_rows"] == drawn.height
    assert done("certificate", "verify", "rows.parquet.certificate.json", "rows.parquet", "m.lapwing")
    assert drawn.select((pl.col("day").diff().over("who") < 0).sum()).item() == 0
    assert set(some["sex"]) == {"m"}
    assert set(some.group_by("who").len()["len"]) == {2, 3}
    assert some["who"].n_unique() == 50


def test_an_interrupted_release_of_events_is_resumed_and_gives_the_same_rows(place, monkeypatch):
    synthesize = ["synthesize", "stays.csv", "--schema", "stays.json", *BUDGET]
    with monkeypatch.context() as patched:
        broken_once(patched, after=2)
        said = lapwing(*synthesize, "--transcript", "t.jsonl", "-o", "a.csv")
    assert (said.status, PAID in said.error, (place / "a.csv").exists()) == (130, True, False)

    done("resume", "t.jsonl", "stays.csv", "-o", "b.csv", "--quiet")
    done(*synthesize, "--transcript", "t.jsonl", "-o", "c.csv")

    assert (place / "b.csv").read_bytes() == (place / "c.csv").read_bytes()


def test_a_plan_of_linked_tables_has_a_part_for_each_and_says_which_number_is_missing(place):
    plan = ["plan", "--schema", "homes.json", "--epsilon", 2, "--expected-rows", "homes=300"]

    said = done(*plan, "--expected-rows", "people=600", "--share", "homes=1/4", "--share", "people=3/4")
    found = lw.plan("homes.json", expected_rows={"homes": 300, "people": 600}, rho=1)
    first, *lines_of_people = found.parts["people"].lines
    rest = found.parts["people"].total.amount - first.cost.amount
    alone = lw.plan(lw.Schema.load(HOMES).linked.coded["people"], expected_rows=600, rho=rest)

    lines = [line.split() for line in said.out.splitlines()]
    assert ["homes", "25.0%", "ε", "=", "0.5", "300"] in [line[:6] for line in lines]
    assert first.question == "MisfitRows"
    assert tuple(lines_of_people) == alone.lines
    assert sum(found.shares.values()) == 1
    events = done(
        "plan", "--schema", "stays.json", "--epsilon", 2, "--expected-rows", "stays=700", "--expected-rows", "who=300"
    )
    assert "at most 4 of stays" in events.out


def test_a_transcript_or_model_by_another_hand_names_no_file_as_a_public_table(place):
    schema = {"tables": {**HOMES["tables"], "towns": {"public": "stays.csv", "primaryKey": "who", "fields": [WHO]}}}

    with pytest.raises(lw.SchemaError, match="must be a list of rows"):
        lw.Schema.from_dict(schema)
