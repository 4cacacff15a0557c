"""Releases of three tables and of events: keys fit, rows come in order, rules over rows hold, laws come out."""

from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from helpers.linked_homes import BUDGET, DAY, KEY, STATE, THREE, released_three, three_tables
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.room import Room

NAMES = ("homes", "people", "visits")


@pytest.fixture(scope="module")
def release():
    return released_three(mechanism={"homes": "adaptive", "people": "adaptive", "visits": "independent"})


def before(frame, key, column):
    """Return a column of the row before of the same key."""
    return frame.select(pl.col(column).shift().over(key)).to_series()


def in_order(frame, key, column, *, descending=False):
    """Return whether rows of one key stand together, and the column never goes back."""
    steps = (frame[column] - before(frame, key, column)).drop_nulls()
    return frame[key].rle().len() == frame[key].n_unique() and ((-steps if descending else steps) >= 0).all()


# --------------------------------------------------------------------------------------------------------- three tables


def test_every_row_has_a_parent_and_no_parent_more_rows_than_are_used(release):
    found = release.sample(2000)

    homes, people, visits = found
    assert found.names == NAMES
    assert found["people"] is people
    assert homes["home"].to_list() == list(range(1, 2001))
    assert people["person"].to_list() == list(range(1, people.height + 1))
    assert set(people["home"]) <= set(homes["home"])
    assert set(visits["person"]) <= set(people["person"])
    assert people.group_by("home").len()["len"].max() == 4
    assert visits.group_by("person").len()["len"].max() == 3
    assert [frame.columns for frame in found] == [list(frame.columns) for frame in three_tables(2).values()]
    assert set(visits["clinic"]) == {"north", "south"}


def test_rows_of_a_parent_come_in_their_order_rising_or_falling(release):
    _, people, visits = release.sample(2000)

    assert in_order(people, "home", "age", descending=True)
    assert in_order(visits, "person", "day")
    assert (visits["day"] - before(visits, "person", "day")).max() > 5


def test_who_is_dead_stays_so_whatever_the_model_says(release):
    visits = release.sample(2000)["visits"]

    were = before(visits, "person", "state")
    assert (were == "dead").sum() > 50
    assert set(visits.filter(were == "dead")["state"]) == {"dead"}


def test_the_numbers_of_rows_have_their_law(release):
    homes, people, visits = release.sample(3000)

    sizes = homes.join(people.group_by("home").len("size"), on="home", how="left")["size"].fill_null(0)
    went = people.join(visits.group_by("person").len("went"), on="person", how="left")["went"].fill_null(0)
    given = three_tables()
    expected = given["people"].group_by("home").len("size")["size"]
    told = given["visits"].group_by("person").len("went")["went"]
    for found, law in ((sizes, expected), (went, told)):
        shares = [[(column == number).mean() for number in range(5)] for column in (found, law)]
        assert np.abs(np.subtract(*shares)).sum() / 2 < 0.08
    rooms = homes.join(people.group_by("home").len("size"), on="home")
    assert (rooms["rooms"] == rooms["size"]).mean() > 0.8


def test_no_row_and_one_row_of_the_first_table_are_whole_databases(release):
    none, one = release.sample(0), release.sample(1, seed=4)

    assert [frame.height for frame in none] == [0, 0, 0]
    assert [frame.schema for frame in none] == [frame.schema for frame in release.sample(50)]
    assert one["homes"].height == 1
    assert set(one["people"]["home"]) <= {1}


def test_chunks_hold_whole_units_and_keys_count_on(release, monkeypatch):
    monkeypatch.setattr("lapwing.release.linked.rows._UNITS", 40)

    chunks = list(release.frames(100, seed=3))

    assert len(chunks) == 3
    for chunk in chunks:
        assert set(chunk["people"]["home"]) <= set(chunk["homes"]["home"])
        assert set(chunk["visits"]["person"]) <= set(chunk["people"]["person"])
    people = pl.concat([chunk["people"] for chunk in chunks])
    assert people["person"].to_list() == list(range(1, people.height + 1))


def as_csv(table, name, folder):
    table.write_csv(folder / f"{name}.csv")
    return folder / f"{name}.csv"


FORMS = {
    "polars": lambda table, *_: table,
    "pandas": lambda table, *_: table.to_pandas(),
    "pyarrow": lambda table, *_: table.to_arrow(),
    "path": as_csv,
}


def test_tables_of_any_kind_in_a_list_or_by_name_give_the_same_release(tmp_path):
    tables = three_tables(40)
    found = {}
    for kind, form in FORMS.items():
        given = {name: form(table, name, tmp_path) for name, table in reversed(tables.items())}
        drawn = lw.synthesize(given, THREE, epsilon=1, seed=1, mechanism="independent").sample(5)
        found[kind] = type(drawn["visits"])
    listed = lw.synthesize(list(tables.values()), THREE, epsilon=1, seed=1, mechanism="independent").sample(5)

    assert found == {
        "polars": pl.DataFrame,
        "pandas": pd.DataFrame,
        "pyarrow": type(tables["homes"].to_arrow()),
        "path": pl.DataFrame,
    }
    assert [frame.columns for frame in listed] == [frame.columns for frame in tables.values()]


@pytest.mark.parametrize(
    ("data", "settings", "said"),
    [
        (dict(list(three_tables(3).items())[:2]), {}, "must be given by name, those of the schema and no other"),
        (list(three_tables(3).values())[:2], {}, "must be given by name"),
        ({**three_tables(3), "clinics": pl.DataFrame()}, {}, "must be given by name"),
        (None, {"shares": {"homes": 1}}, "shares must be above 0 for each table and sum to 1"),
        (None, {"shares": {"homes": "1/2", "people": "1/4", "visits": "1/8"}}, "sum to 1"),
        (None, {"shares": {"clinics": 1}}, "shares names the table 'clinics'"),
        (None, {"mechanism": {"clinics": "pmm"}}, "mechanism names the table 'clinics'"),
        (None, {"expected_rows": {"clinics": 7}}, "expected_rows names the table 'clinics'"),
        (None, {"expected_rows": {"visits": 0}}, "expected_rows must be a whole number from 1"),
        (None, {"neighbours": "replace-one"}, "events in order take no neighbours"),
    ],
    ids=range(10),
)
def test_tables_and_settings_that_do_not_fit_the_schema_are_refused(data, settings, said):
    with pytest.raises(lw.LapwingError, match=said):
        released_three(data or three_tables(3), **settings)


def test_a_saved_database_is_read_again_and_draws_the_same_rows(release, tmp_path):
    release.save(tmp_path / "m.lapwing")

    again = lw.load(tmp_path / "m.lapwing")

    assert again.certificate.to_dict() == release.certificate.to_dict()
    assert again.schema == release.schema
    for one, other in zip(release.sample(300, seed=5), again.sample(300, seed=5), strict=True):
        assert one.equals(other)


@pytest.mark.parametrize("after", [0, 1, 2, 4])
def test_three_tables_are_debited_once_and_taken_up_where_they_stopped(after, tmp_path, monkeypatch):
    ledger, transcript, ask, asked = tmp_path / "b.db", tmp_path / "t.jsonl", Room.ask, []
    Ledger.create_or_open(ledger).init("d", unit="zcdp", limit=9, relation="add-remove", privacy_unit="home:12")
    settings = {
        "epsilon": None,
        "delta": None,
        "rho": 1,
        "mechanism": lw.Adaptive.small(),
        "shares": None,
        "seed": None,
    }
    tables = three_tables(60)

    def interrupted(self, *questions):
        asked.append(questions)
        if len(asked) > after:
            raise KeyboardInterrupt
        return ask(self, *questions)

    monkeypatch.setattr(Room, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        released_three(tables, ledger=ledger, transcript=transcript, **settings)
    monkeypatch.setattr(Room, "ask", ask)
    paid, kept = Ledger.open(ledger).balance("d").spent, transcript.read_text().splitlines()

    found = lw.resume(transcript, tables)
    again = released_three(tables, ledger=ledger, transcript=transcript, **settings)

    lines = transcript.read_text().splitlines()
    assert Ledger.open(ledger).balance("d").spent == paid > 0
    assert lines[: len(kept)] == kept
    first = sum('"kind": "MisfitRows"' in line for line in lines)  # asked before the mechanisms
    assert len(lines) == 1 + first + sum(len(part.noisy) for part in found.tables.values())
    assert again.certificate.to_dict() == found.certificate.to_dict()
    assert found.certificate.total.amount <= paid


# -------------------------------------------------------------------------------------------------------------- events


WHO = {"name": "who", "type": "integer", "role": "identifier"}
SEX = {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}}
EVENTS = {
    "privacyUnit": {"field": "who", "maxRows": 4},
    "order": "day",
    "constant": ["sex"],
    "fields": [WHO, SEX, DAY, STATE],
    "rules": [{"when": {"previous.state": "dead"}, "then": {"state": "dead"}}],
}


def events(persons=800):
    """Return events of persons, who are asked each third day; women are well after being ill, and men are dead."""
    rng = np.random.default_rng(7)
    rows = []
    for person in range(persons):
        sex, state, day = ("f", "m")[person % 2], "well", int(rng.integers(0, 9))
        for _ in range(int(rng.integers(1, 5))):
            rows.append({"who": person, "sex": sex, "day": day, "state": state})
            after = {"well": "ill" if rng.integers(2) else "well", "ill": "well" if sex == "f" else "dead"}
            state, day = after.get(state, state), day + 3
    return pl.DataFrame(rows)


def test_events_come_out_as_one_table_with_their_gaps_and_transitions():
    found = lw.synthesize(events(), EVENTS, seed=1, **BUDGET).sample(1500)

    assert found.columns == ["who", "sex", "day", "state"]
    assert in_order(found, "who", "day")
    assert found.group_by("who").agg(pl.col("sex").n_unique())["sex"].max() == 1
    were = before(found, "who", "state")
    assert set(found.filter(were == "dead")["state"]) == {"dead"}
    ill = found.filter(were == "ill")
    assert (ill.filter(pl.col("sex") == "f")["state"] == "well").mean() > 0.8
    assert (ill.filter(pl.col("sex") == "m")["state"] == "dead").mean() > 0.8
    gaps = (found["day"] - before(found, "who", "day")).drop_nulls()
    assert (gaps == 3).mean() > 0.8
    law = [(found.group_by("who").len()["len"] == number).mean() for number in range(1, 5)]
    assert np.abs(np.array(law) - 0.25).max() < 0.08


@pytest.mark.parametrize("descending", [False, True])
def test_days_that_are_missing_or_no_days_come_last_and_break_no_order(descending):
    day = {**DAY, "constraints": {"minimum": 0, "maximum": 29}}
    schema = {**EVENTS, "order": {"by": "day", "descending": descending}, "fields": [WHO, SEX, day, STATE], "rules": []}
    cells = events(300).with_columns(pl.col("day").cast(pl.String))
    numbers = pl.int_range(pl.len())
    odd = pl.when(numbers % 7 == 0).then(None).when(numbers % 7 == 1).then(pl.lit("soon")).otherwise(pl.col("day"))

    found = lw.synthesize(cells.with_columns(day=odd), schema, epsilon=20, seed=1).sample(800)

    known = found.filter(pl.col("day").is_not_null())
    assert in_order(known, "who", "day", descending=descending)
    is_none = found.with_columns(pl.col("day").is_null().cast(int))
    assert in_order(is_none, "who", "day")
    assert 0 < is_none["day"].sum() < found.height


WHEN = {
    "date": ({"minimum": "2024-01-01", "maximum": "2024-03-01"}, lambda at: date(2024, 1, 1) + timedelta(days=at)),
    "datetime": (
        {"minimum": "2024-01-01T00:00:00", "maximum": "2024-01-01T01:00:00"},
        lambda at: datetime(2024, 1, 1) + timedelta(minutes=at),
    ),
    "number": ({"minimum": 0, "maximum": 60}, float),
    "integer": ({"minimum": 0, "maximum": 60 * 10**10}, lambda at: at * 10**10),
}


@pytest.mark.parametrize("kind", WHEN)
def test_an_order_by_any_type_ends_within_its_bounds(kind):
    """Gaps that the model draws by themselves lead out of the range now and then."""
    bounds, at = WHEN[kind]
    when = {"name": "when", "type": kind, "constraints": {**bounds, "required": True}}
    schema = {"privacyUnit": {"field": "who", "maxRows": 5}, "order": "when", "fields": [WHO, when]}
    minutes = np.random.default_rng(1).integers(0, 61, 600).tolist()
    table = pl.DataFrame({"who": [row // 4 for row in range(600)], "when": [at(minute) for minute in minutes]})

    found = lw.synthesize(table, schema, epsilon=50, seed=1, mechanism="independent").sample(400)

    assert in_order(found.with_columns(pl.col("when").rank("dense").cast(int)), "who", "when")
    assert at(0) <= found["when"].min() <= at(10)
    assert at(50) <= found["when"].max() <= at(60)


def test_persons_with_one_event_at_most_have_no_row_before():
    one = {**EVENTS, "privacyUnit": {"field": "who", "maxRows": 1}, "rules": [], "constant": []}

    release = lw.synthesize(events(100), one, epsilon=5, seed=1)

    assert release.tables["events"].schema.names == ("who", "sex", "day", "state", "rows")
    assert release.sample(50)["who"].is_unique().all()


def test_a_first_table_of_keys_alone_says_how_many_rows_each_has():
    schema = {
        "tables": {
            "homes": {"primaryKey": "home", "fields": [KEY]},
            "days": {"foreignKeys": {"home": "homes"}, "maxRows": 2, "order": "day", "fields": [KEY, DAY]},
        }
    }
    homes = pl.DataFrame({"home": range(300)})
    days = pl.DataFrame({"home": [*range(200)] * 2, "day": [3] * 200 + [9] * 200})

    release = lw.synthesize({"homes": homes, "days": days}, schema, rho=Fraction(20), seed=1)

    drawn, rows = release.sample(300)
    assert drawn.columns == ["home"]
    assert abs(rows["home"].n_unique() - 200) < 20
    assert (rows.filter(before(rows, "home", "day").is_not_null())["day"] == 9).mean() > 0.9
