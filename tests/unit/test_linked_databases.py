"""Releases of three tables and of events: keys fit, rows come in order, rules over rows hold, laws come out."""

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.linked_homes import released_three, three_tables

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


def test_chunks_hold_whole_units_and_keys_count_on(release, monkeypatch):
    monkeypatch.setattr("lapwing.release.linked.rows._UNITS", 40)

    chunks = list(release.frames(100, seed=3))

    assert len(chunks) == 3
    for chunk in chunks:
        assert set(chunk["people"]["home"]) <= set(chunk["homes"]["home"])
        assert set(chunk["visits"]["person"]) <= set(chunk["people"]["person"])
    people = pl.concat([chunk["people"] for chunk in chunks])
    assert people["person"].to_list() == list(range(1, people.height + 1))


@pytest.mark.parametrize(
    ("data", "settings", "said"),
    [
        (dict(list(three_tables(3).items())[:2]), {}, "must be given by name, those of the schema and no other"),
        (list(three_tables(3).values())[:2], {}, "must be given by name"),
        ({**three_tables(3), "clinics": None}, {}, "must be given by name"),
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


# -------------------------------------------------------------------------------------------------------------- events


WHO = {"name": "who", "type": "integer", "role": "identifier"}


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
