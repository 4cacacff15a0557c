"""A release of linked tables: what rows out keep, what it costs, how it is recorded, saved and taken up again."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.linked_homes import KEY, SCHEMA, released, tables
from lapwing.api import running
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.room import Room
from lapwing.release.linked.rows import LinkedRows


@pytest.fixture(scope="module")
def release():
    return released()


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "budget.db"
    Ledger.create_or_open(path).init(
        "d", unit="zcdp", limit=1000, relation="add-remove", privacy_unit="home:4", selection_delta="1e-5"
    )
    return path


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


PUBLIC = {
    "columns": ["kind"],
    "cells": [["flat", 100], ["house", 300]],
    "source": "Register of homes",
    "provenance": "public",
}


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
    flag = {"type": "boolean", "constraints": {"required": True}}
    job = {"name": "job", "type": "string", "categories": ["x", "y", "z"], "constraints": {"required": True}}
    schema = {
        "key": "home",
        "maxChildren": 2,
        "parent": {"fields": [KEY, {"name": "farm", **flag}]},
        "child": {
            "fields": [KEY, job, {"name": "farmer", **flag}],
            "rules": [{"determines": ["job"], "column": "farmer"}],
        },
        "rules": [{"when": {"farm": is_one}, "then": {"farmer": is_one}} for is_one in (True, False)],
    }
    farm = pl.Series([at % 2 == 0 for at in range(100)])
    homes = pl.DataFrame({"home": range(100), "farm": farm})
    people = pl.DataFrame({"home": [*range(100)] * 2, "job": ["x"] * 200, "farmer": pl.concat([farm, farm])})
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
    rows = LinkedRows(found.linked, {name: part.model for name, part in found.tables.items()})

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
    path = tmp_path / "other.db"
    Ledger.create_or_open(path).init("d", unit="zcdp", limit=9, relation="add-remove", privacy_unit="home:5")
    monkeypatch.setattr(Room, "ask", lambda *_: pytest.fail("asked"))

    with pytest.raises(
        lw.BudgetError, match='linked tables a first "primaryKey": "home" and "maxRows" that multiply to 5'
    ):
        released(ledger=path)

    assert spent(path) == 0


@pytest.mark.parametrize("after", [0, 1, 2, 3, 5])
def test_an_interrupted_release_goes_on_and_spends_nothing_again(after, ledger, tmp_path, monkeypatch):
    transcript, ask, asked = tmp_path / "t.jsonl", Room.ask, []
    small = {"mechanism": lw.Adaptive.small(), "seed": None}

    def interrupted(self, *questions):
        asked.append(questions)
        if len(asked) > after:
            raise KeyboardInterrupt
        return ask(self, *questions)

    monkeypatch.setattr(Room, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        released(ledger=ledger, transcript=transcript, **small)
    monkeypatch.setattr(Room, "ask", ask)
    paid, kept = spent(ledger), transcript.read_text().splitlines()

    found = released(ledger=ledger, transcript=transcript, **small)
    again = released(ledger=ledger, transcript=transcript, **small)

    assert spent(ledger) == paid > 0
    assert transcript.read_text().splitlines()[: len(kept)] == kept
    assert again.certificate.to_dict() == found.certificate.to_dict()
    assert len(transcript.read_text().splitlines()) == 1 + sum(
        len(part.certificate.lines) for part in (found.tables["parent"], found.tables["child"])
    )


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
