"""A release of linked tables: what rows out keep, what it costs, how it is recorded, saved and taken up again."""

from fractions import Fraction

import polars as pl
import pytest

import lapwing as lw
from helpers.linked_homes import SCHEMA, released, tables
from lapwing.api import running
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.room import Room


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


def test_rules_that_leave_nobody_a_child_are_refused_when_the_schema_is_loaded():
    rules = [{"never": {"age": {"maximum": 50}}}, {"never": {"age": {"minimum": 51}}}]

    with pytest.raises(lw.SchemaError):
        lw.LinkedSchema.load({**SCHEMA, "rules": rules})


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
    assert found.certificate.ledger == found.child.certificate.ledger
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


def test_the_transcript_of_linked_tables_is_not_taken_for_that_of_one(tmp_path):
    released(transcript=tmp_path / "t.jsonl", mechanism="independent")

    with pytest.raises(lw.ParameterError, match="linked tables must be given by name"):
        lw.resume(tmp_path / "t.jsonl", tables()[0])
    with pytest.raises(lw.DataError, match="of another run"):
        released(transcript=tmp_path / "t.jsonl", mechanism="independent", epsilon=3)


def test_what_one_mechanism_refuses_is_refused_before_the_other_is_paid_for(ledger, monkeypatch):
    def check(mechanism, schema, budget, terms):
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
