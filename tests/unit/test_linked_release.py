"""Releases of two, three and more linked tables: rows, rules, what is paid, once, and what a certificate promises."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from helpers.linked_homes import BUDGET, DAY, KEY, SCHEMA, STATE, THREE, released, released_three, tables, three_tables
from lapwing.api import running
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.plain import rational_text
from lapwing.kernel.room.room import Room
from lapwing.release.linked.rows import LinkedRows


@pytest.fixture(scope="module")
def release():
    return released()


@pytest.fixture
def ledger(tmp_path):
    terms = {"unit": "zcdp", "privacy_unit": "home:4", "selection_delta": "1e-5"}
    return make.ledger(tmp_path / "budget.db", 1000, dataset="d", **terms).path


def spent(ledger):
    return Ledger.open(ledger).balance("d").spent


# --------------------------------------------------------------------------------------------------- what rows keep


def test_every_child_has_a_parent_and_every_parent_no_more_children_than_are_used(release):
    parents, children = release.sample(3000)

    assert parents["home"].to_list() == list(range(1, 3001))
    assert set(children["home"]) <= set(parents["home"])
    assert 1 <= children.group_by("home").len()["len"].max() <= 4
    assert children["person"].to_list() == [str(at) for at in range(1, children.height + 1)]
    assert (parents.columns, children.columns) == (["home", "rooms", "kind"], ["home", "person", "age"])


def test_a_rule_between_a_column_and_the_number_of_children_is_kept_in_every_row():
    found = released({**SCHEMA, "rules": [{"sum": ["persons"], "equals": "rooms"}]}, epsilon=1)

    parents, children = found.sample(2000)

    counted = parents.join(children.group_by("home").len("persons"), on="home", how="left")
    assert (counted["persons"].fill_null(0) != counted["rooms"]).sum() == 0


def test_a_rule_between_parent_and_child_is_kept_in_every_row():
    rule = {"when": {"kind": "flat"}, "then": {"age": {"minimum": 50}}}
    found = released({**SCHEMA, "rules": [rule]}, epsilon=1)

    parents, children = found.sample(2000)

    assert children.join(parents, on="home").filter((pl.col("kind") == "flat") & (pl.col("age") < 50)).height == 0


def test_parents_to_whom_rules_leave_no_child_are_not_drawn():
    rules = [{"never": {"kind": "flat", "age": {"maximum": 50}}}, {"never": {"kind": "flat", "age": {"minimum": 51}}}]
    found = released({**SCHEMA, "rules": rules}, epsilon=1)

    parents, children = found.sample(500)

    families = children.join(parents, on="home")
    assert parents.height == 500
    assert set(families["kind"]) == {"house"}


def test_rules_that_leave_nobody_a_child_are_refused_when_the_schema_is_loaded():
    rules = [{"never": {"age": {"maximum": 50}}}, {"never": {"age": {"minimum": 51}}}]

    with pytest.raises(lw.SchemaError):
        lw.Schema.load({**SCHEMA, "rules": rules})


# ------------------------------------------------------------------------------------------------ cost and certificate


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "1/7"}, {"epsilon": 1, "delta": "1e-9"}], ids=str)
def test_the_parts_cost_together_what_was_asked_for(budget):
    found = lw.synthesize(tables(80), SCHEMA, shares={"parent": "1/3", "child": "2/3"}, seed=1, **budget)

    paid = found.certificate
    limit = Fraction(str(budget.get("rho", budget.get("epsilon"))))
    parent, child = paid.parts.values()
    assert paid.total.amount == parent.total.amount + child.total.amount <= limit
    assert (parent.privacy_unit, child.privacy_unit, paid.privacy_unit) == ("home:1", "home:4", "home:4")
    assert parent.requested.epsilon in (Fraction(1, 3), None)
    if "delta" in budget:
        assert paid.epsilons[0][1] <= 1


REGISTER = {"source": "Register of homes", "provenance": "public"}
PUBLIC = {"columns": ["kind"], "cells": [["flat", 100], ["house", 300]], **REGISTER}


@pytest.mark.parametrize("mechanism", ["adaptive", "independent"])
def test_exact_public_totals_of_parents_hold_in_the_parents_out(mechanism):
    parent = {**SCHEMA["parent"], "publicTables": [PUBLIC]}
    settings = {"mechanism": {"parent": mechanism, "child": "independent"}}
    rules = [{"order": ["persons", "rooms"]}]

    found = released({**SCHEMA, "parent": parent, "rules": rules}, epsilon=1, **settings)

    parents, children = found.sample()
    assert dict(parents["kind"].value_counts().iter_rows()) == {"flat": 100, "house": 300}
    assert dict(found.sample(40)[0]["kind"].value_counts().iter_rows()) == {"flat": 10, "house": 30}
    assert set(children["home"]) <= set(parents["home"])
    assert found.certificate.parts["parent"].public_tables[0].source == "Register of homes"


def test_public_totals_hold_where_parents_who_can_have_no_child_are_drawn_again():
    rules = [
        {"never": {"rooms": 2, "age": {"maximum": 50}}},
        {"never": {"rooms": 2, "age": {"minimum": 51}}},
    ]
    parent = {**SCHEMA["parent"], "publicTables": [PUBLIC]}
    found = released({**SCHEMA, "parent": parent, "rules": rules}, epsilon=20)

    parents, children = found.sample()

    assert not (set(children["home"]) & set(parents.filter(pl.col("rooms") == 2)["home"]))
    assert dict(parents["kind"].value_counts().iter_rows()) == {"flat": 100, "house": 300}


def farms(**settings):
    """Return a release of farms, whose people farm, and of other homes, whose people do not; a job says who farms."""
    farm, job, farmer = make.fields({"farm": bool, "job": ["x", "y", "z"], "farmer": bool}, required=True)
    schema = {
        "key": "home",
        "maxChildren": 2,
        "parent": {"fields": [KEY, farm]},
        "child": {"fields": [KEY, job, farmer], "rules": [{"determines": ["job"], "column": "farmer"}]},
        "rules": [{"when": {"farm": is_one}, "then": {"farmer": is_one}} for is_one in (True, False)],
    }
    is_farm = pl.Series([at % 2 == 0 for at in range(100)])
    homes = pl.DataFrame({"home": range(100), "farm": is_farm})
    people = pl.DataFrame({"home": [*range(100)] * 2, "job": ["x"] * 200, "farmer": pl.concat([is_farm, is_farm])})
    return released(schema, (homes, people), delta=None, **settings)


@pytest.mark.parametrize("budget", [100, 0.05])
@pytest.mark.parametrize("mechanism", ["independent", "adaptive"])
def test_a_family_that_the_childrens_own_map_rules_out_is_not_drawn(mechanism, budget):
    """Noise may map all jobs to one kind of child, and then no parent of the other kind has any."""
    found = farms(epsilon=budget, mechanism=mechanism)

    for parents, children in (found.sample(200), found.sample(1), found.sample(1, seed=2)):
        families = children.join(parents, on="home")
        assert (families["farm"] == families["farmer"]).all()


def test_where_no_parent_drawn_can_have_a_child_parents_are_those_of_the_child_model():
    found = farms(epsilon=0.05, mechanism="independent")
    rng = np.random.default_rng(1)
    rows = LinkedRows.settled(found.linked, {name: part.model for name, part in found.tables.items()})

    parents = rows._whose_rows_are_known(300, rng)

    firsts, is_lost = rows._first_rows(parents, rng)
    assert not is_lost.any()
    assert np.array_equal(parents["farm"][firsts["child"].owners], firsts["child"].codes["farmer"])
    assert set(parents) == {"farm", "children"}


def test_two_parts_that_cost_more_than_was_asked_for_have_no_certificate(release):
    whole = release.certificate
    little = {"epsilon": None, "delta": None, "rho": {"exact": "1/999", "decimal": "0.00100101"}}

    with pytest.raises(lw.ParameterError, match="more than the 1/999 that was requested"):
        type(whole).from_dict({**whole.to_dict(), "requested": little})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"expected_rows": {"parent": 0}}, "expected_rows must be a whole number from 1"),
        ({"expected_rows": {"child": 1.5}}, "must be a whole number from 1"),
        ({"mechanism": {"child": "privatesampling"}}, "replace-one"),
        ({"seed": -1}, "seed must be"),
        ({"dataset": "d"}, "give the ledger too"),
    ],
    ids=range(5),
)
def test_settings_out_of_range_are_refused(settings, said):
    with pytest.raises(lw.LapwingError, match=said):
        released(**settings)


# ------------------------------------------------------------------------------------------------- ledger and resume


def test_the_ledger_is_debited_once_for_both_before_the_first_noise(ledger, monkeypatch):
    seen = []
    ask = Room.ask
    monkeypatch.setattr(Room, "ask", lambda self, *asked: seen.append(spent(ledger)) or ask(self, *asked))

    found = released(ledger=ledger)

    entry = Ledger.open(ledger).history("d")[-1]
    assert set(seen) == {spent(ledger)} != {0}
    assert len(Ledger.open(ledger).history("d")) == 2
    assert entry.details["description"]["mechanism"] == "linked Adaptive and Adaptive"
    assert found.certificate.ledger == found.tables["child"].certificate.ledger
    assert found.certificate.ledger.release_id == entry.release_id
    assert found.certificate.total.amount <= spent(ledger)


def test_a_ledger_of_another_unit_refuses_before_anything_is_counted(tmp_path, monkeypatch):
    path = make.ledger(tmp_path / "other.db", 9, dataset="d", unit="zcdp", privacy_unit="home:5").path
    monkeypatch.setattr(Room, "ask", lambda *_: pytest.fail("asked"))

    with pytest.raises(
        lw.BudgetError, match='linked tables a first "primaryKey": "home" and "maxRows" that multiply to 5'
    ):
        released(ledger=path)

    assert spent(path) == 0


SMALL = {"mechanism": lw.Adaptive.small(), "seed": None, "shares": None, "rho": 1, "epsilon": None, "delta": None}


@pytest.mark.parametrize(("of", "after"), [(2, 1), (2, 5), (3, 4)])
def test_an_interrupted_release_goes_on_and_spends_nothing_again(of, after, tmp_path, monkeypatch):
    transcript, ask, asked = tmp_path / "t.jsonl", Room.ask, []
    release, data = (released, tables(60)) if of == 2 else (released_three, three_tables(60))
    terms = {"unit": "zcdp", "privacy_unit": "home:4" if of == 2 else "home:12", "selection_delta": "1e-5"}
    ledger = make.ledger(tmp_path / "budget.db", 9, dataset="d", **terms).path

    def interrupted(self, *questions):
        asked.append(questions)
        if len(asked) > after:
            raise KeyboardInterrupt
        return ask(self, *questions)

    monkeypatch.setattr(Room, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        release(data=data, ledger=ledger, transcript=transcript, **SMALL)
    monkeypatch.setattr(Room, "ask", ask)
    paid, kept = spent(ledger), transcript.read_text().splitlines()

    found = lw.resume(transcript, data)
    again = release(data=data, ledger=ledger, transcript=transcript, **SMALL)

    lines = transcript.read_text().splitlines()
    assert spent(ledger) == paid > 0
    assert lines[: len(kept)] == kept
    first = sum('"kind": "MisfitRows"' in line for line in lines)  # asked before the mechanisms
    assert len(lines) == 1 + first + sum(len(part.noisy) for part in found.tables.values())
    assert again.certificate.to_dict() == found.certificate.to_dict()
    assert found.certificate.total.amount <= paid


def test_the_transcript_of_linked_tables_is_not_taken_for_that_of_one(tmp_path):
    released(transcript=tmp_path / "t.jsonl", mechanism="independent")

    with pytest.raises(lw.ParameterError, match="linked tables must be given by name"):
        lw.resume(tmp_path / "t.jsonl", tables()[0])
    with pytest.raises(lw.DataError, match="of another run"):
        released(transcript=tmp_path / "t.jsonl", mechanism="independent", epsilon=3)


def test_what_one_mechanism_refuses_is_refused_before_the_other_is_paid_for(ledger, monkeypatch):
    def check(mechanism, schema, budget, terms, rng):
        if terms.max_rows == 4:
            raise lw.CapacityError("the child part is too large")

    monkeypatch.setattr(running, "check_mechanism", check)
    with pytest.raises(lw.CapacityError):
        released(ledger=ledger)

    assert spent(ledger) == 0


def test_no_error_shows_a_private_value(tmp_path):
    parents, children = tables(3)
    secret = children.with_columns(pl.lit("canary-7391").alias("age"))

    found = released(data=(parents, secret))
    with pytest.raises(lw.DataError) as refused:
        released(data=(parents, secret.drop("home")))

    assert "canary" not in str(refused.value) + str(found.certificate.to_dict())


# ------------------------------------------------------------------------- a tree of three tables, and events in order


NAMES = ("homes", "people", "visits")


@pytest.fixture(scope="module")
def database():
    return released_three(mechanism={"homes": "adaptive", "people": "adaptive", "visits": "independent"})


def before(frame, key, column):
    """Return a column of the row before of the same key."""
    return frame.select(pl.col(column).shift().over(key)).to_series()


def in_order(frame, key, column, *, descending=False):
    """Return whether rows of one key stand together, and the column never goes back."""
    steps = (frame[column] - before(frame, key, column)).drop_nulls()
    return frame[key].rle().len() == frame[key].n_unique() and ((-steps if descending else steps) >= 0).all()


# --------------------------------------------------------------------------------------------------------- three tables


def test_every_row_has_a_parent_and_no_parent_more_rows_than_are_used(database):
    found = database.sample(2000)

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


def test_rows_of_a_parent_come_in_their_order_rising_or_falling(database):
    _, people, visits = database.sample(2000)

    assert in_order(people, "home", "age", descending=True)
    assert in_order(visits, "person", "day")
    assert (visits["day"] - before(visits, "person", "day")).max() > 5


def test_who_is_dead_stays_so_whatever_the_model_says(database):
    visits = database.sample(2000)["visits"]

    were = before(visits, "person", "state")
    assert (were == "dead").sum() > 50
    assert set(visits.filter(were == "dead")["state"]) == {"dead"}


def test_the_numbers_of_rows_have_their_law(database):
    homes, people, visits = database.sample(3000)

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


def test_no_row_and_one_row_of_the_first_table_are_whole_databases(database):
    none, one = database.sample(0), database.sample(1, seed=4)

    assert [frame.height for frame in none] == [0, 0, 0]
    assert [frame.schema for frame in none] == [frame.schema for frame in database.sample(50)]
    assert one["homes"].height == 1
    assert set(one["people"]["home"]) <= {1}


def test_chunks_hold_whole_units_and_keys_count_on(database, monkeypatch):
    monkeypatch.setattr("lapwing.release.linked.rows._UNITS", 40)

    chunks = list(database.frames(100, seed=3))

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


def test_a_saved_database_is_read_again_and_draws_the_same_rows(database, tmp_path):
    database.save(tmp_path / "m.lapwing")

    again = lw.load(tmp_path / "m.lapwing")

    assert again.certificate.to_dict() == database.certificate.to_dict()
    assert again.schema == database.schema
    for one, other in zip(database.sample(300, seed=5), again.sample(300, seed=5), strict=True):
        assert one.equals(other)


# -------------------------------------------------------------------------------------------------------------- events


WHO, SEX = make.field("who", "id"), make.field("sex", ["f", "m"], required=True)
EVENTS = {
    **{"privacyUnit": {"field": "who", "maxRows": 4}, "order": "day", "constant": ["sex"]},
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

    database = lw.synthesize(events(100), one, epsilon=5, seed=1)

    assert database.tables["events"].schema.names == ("who", "sex", "day", "state", "rows")
    assert database.sample(50)["who"].is_unique().all()


def test_a_first_table_of_keys_alone_says_how_many_rows_each_has():
    rows = {"foreignKeys": {"home": "homes"}, "maxRows": 2, "order": "day", "fields": [KEY, DAY]}
    schema = {"tables": {"homes": {"primaryKey": "home", "fields": [KEY]}, "days": rows}}
    homes = pl.DataFrame({"home": range(300)})
    days = pl.DataFrame({"home": [*range(200)] * 2, "day": [3] * 200 + [9] * 200})

    database = lw.synthesize({"homes": homes, "days": days}, schema, rho=Fraction(20), seed=1)

    drawn, days = database.sample(300)
    assert drawn.columns == ["home"]
    assert abs(days["home"].n_unique() - 200) < 20
    assert (days.filter(before(days, "home", "day").is_not_null())["day"] == 9).mean() > 0.9


# ----------------------------------------------------------------------- what a certificate of several tables promises


AGES = [[{"maximum": 49}, 700], [{"minimum": 50}, 700]]
PRIOR = {"columns": ["age"], "cells": AGES, **REGISTER, "hold": "prior", "sd": 30}
HALVES = {"columns": ["kind"], "cells": [["flat", 300], ["house", 300]]}


def test_answers_that_are_paid_for_stay_when_the_debit_of_the_second_part_fails(ledger, tmp_path, monkeypatch):
    transcript, debit, debits = tmp_path / "t.jsonl", Ledger.debit, []

    def failing(self, *of, **settings):
        debits.append(of)
        if len(debits) == 2:
            raise lw.BudgetError("the ledger is locked")
        return debit(self, *of, **settings)

    monkeypatch.setattr(Ledger, "debit", failing)
    with pytest.raises(lw.BudgetError, match="locked"):
        released(ledger=ledger, transcript=transcript, seed=None)
    paid, kept = spent(ledger), transcript.read_text().splitlines()
    monkeypatch.setattr(Ledger, "debit", debit)

    found = released(ledger=ledger, transcript=transcript, seed=None)

    assert kept
    assert transcript.read_text().splitlines()[: len(kept)] == kept
    assert spent(ledger) == paid > 0
    assert found.certificate.total.amount <= paid


@pytest.mark.parametrize("part", ["parent", "child"])
def test_a_prior_that_a_mechanism_cannot_lean_on_is_refused(part):
    prior = PRIOR if part == "child" else PRIOR | HALVES
    schema = {**SCHEMA, part: {**SCHEMA[part], "publicTables": [prior]}}

    with pytest.raises(lw.ParameterError, match="prior"):
        released(schema, **{f"{part}_mechanism": "Independent"})


def test_a_public_total_of_parents_is_their_expected_number():
    table = PRIOR | HALVES | {"hold": "exact", "sd": None}
    schema = {**SCHEMA, "parent": {**SCHEMA["parent"], "publicTables": [table]}}

    found = released(schema)

    assert found.tables["parent"].certificate.expected_rows == 600
    assert found.tables["child"].certificate.expected_rows is None


def test_a_certificate_whose_epsilon_is_above_what_was_asked_for_is_refused():
    whole = released().certificate
    little = {"epsilon": rational_text(Fraction(1)), "delta": rational_text(Fraction(1, 10**6)), "rho": None}

    with pytest.raises(lw.ParameterError, match=r"more, as .*, than was requested"):
        type(whole).from_dict({**whole.to_dict(), "requested": little})


def test_a_certificate_of_several_tables_says_nothing_that_its_parts_do_not_say():
    whole = released().certificate
    line, *others = whole.lines

    with pytest.raises(lw.ParameterError, match="must say of them all what its parts say"):
        replace(whole, lines=tuple(others), total=whole.total - line.cost)
    with pytest.raises(lw.ParameterError, match="must say of them all what its parts say"):
        replace(whole, warnings=())
    with pytest.raises(lw.ParameterError, match="'costs' of a certificate of linked tables stands in its parts"):
        type(whole).from_dict({**whole.to_dict(), "costs": []})
    name, written = next(iter(whole.parts)), whole.to_dict()
    with pytest.raises(lw.ParameterError, match=f"the part {name} of linked tables must be of one table"):
        type(whole).from_dict({**written, "parts": {**written["parts"], name: written}})
    with pytest.raises(lw.ParameterError, match="a part for each"):
        replace(whole, linked=None)


def test_no_file_of_link_takes_the_place_of_its_transcript(place):
    parents, children = tables(50)
    make.files(place, {"homes.parquet": parents, "people.csv": children, "L.json": SCHEMA})
    link = "synthesize homes.parquet people.csv --schema L.json --epsilon 9 -o P.csv -o C.csv"

    said = lapwing(f"{link} --transcript t.json --certificate t.json")

    assert said.status == 1
    assert "t.json" in said.err
    assert not (place / "P.csv").exists()


def test_exact_totals_of_parents_are_told_with_what_they_do_not_promise():
    table = PRIOR | HALVES | {"hold": "exact", "sd": None}
    schema = {
        **SCHEMA,
        "parent": {**SCHEMA["parent"], "publicTables": [table]},
        "rules": [{"when": {"kind": "flat"}, "then": {"age": {"minimum": 30}}}],
    }

    found = released(schema)

    assert any("public totals of parent are met, except for rows" in line.text for line in found.certificate.not_kept)
    parents, _ = found.sample()
    assert parents.get_column("kind").value_counts().sort("kind").rows() == [("flat", 300), ("house", 300)]
    assert isinstance(parents, pl.DataFrame)
