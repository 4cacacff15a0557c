"""Releases of the same people added up."""

import json
from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for
from lapwing.model.certificate.certificate import LedgerEntry
from lapwing.schema.purchases import Purchase

TABLE = pl.DataFrame({"flag": [True, False] * 50, "sex": ["f", "m"] * 50})
SCHEMA = lw.Schema.load(
    {"fields": [{"name": "flag", "type": "boolean"}, {"name": "sex", "type": "string", "categories": ["f", "m"]}]}
)
NOTHING = Budget("zcdp", Fraction(0))
LEARNED = Purchase(
    fields=("sex",),
    notion="zcdp",
    amount=Fraction(1, 100),
    delta=Fraction(1, 10**7),
    relation="add-remove",
    privacy_unit="row",
    release="c9f0f895",
    lapwing="0.1.0",
)


def paid(schema=SCHEMA, **asked):
    return lw.synthesize(TABLE, schema, seed=1, **asked).certificate


def test_rho_adds_up_exactly_and_each_table_is_an_event():
    one, other = paid(rho="1/3"), paid(rho="1/7")

    found = one.compose(other)

    assert Fraction(found["total"]["exact"]) == Fraction(1, 3) + Fraction(1, 7)
    assert len(found["events"]) == len(one.lines) + len(other.lines)
    assert Fraction(1, 3) + Fraction(1, 7) <= sum(Fraction(each["rho"]) for each in found["events"])
    assert {Fraction(each["delta"]["exact"]): Fraction(each["epsilon"]["exact"]) for each in found["epsilons"]} == {
        Fraction(1, 10**places): epsilon_for(Fraction(10, 21), Fraction(1, 10**places))
        for places in (3, 4, 5, 6, 7, 8, 9, 12)
    }
    alarms = [each["false_alarms"] for each in found["trade_off"]]
    hits = [each["found_at_most"] for each in found["trade_off"]]
    assert all(low < high for low, high in zip(alarms, hits, strict=True))
    assert hits == sorted(hits)
    json.dumps(found, allow_nan=False)


def test_pure_releases_add_up_plainly_or_by_their_squares_whichever_is_less():
    one = paid(epsilon="1/8")
    entries = [LedgerEntry(dataset="people", release_id=str(number)) for number in range(41)]

    few = one.compose()
    many = one.compose(*(replace(one, ledger=entry) for entry in entries[1:]))

    assert (few["total"]["exact"], many["total"]["exact"]) == ("1/8", "41/8")
    assert {each["epsilon"]["exact"] for each in few["epsilons"]} == {"1/8"}
    assert all(Fraction(each["epsilon"]["exact"]) < Fraction(41, 8) for each in many["epsilons"])


def test_what_a_schema_cost_is_counted_once_for_all_releases_that_use_it():
    bought = replace(SCHEMA, purchases=(LEARNED,))

    found = paid(bought, rho="0.01").compose(paid(bought, rho="0.02"))

    assert Fraction(found["total"]["exact"]) == Fraction(4, 100)
    assert found["events"][-1] == {"of": "learn sex", "event": "ZCDpEvent", "rho": 0.01, "xi": 0.0}
    assert Fraction(found["delta"]["exact"]) == Fraction(1, 10**7)
    assert all(Fraction(each["delta"]["exact"]) > Fraction(1, 10**7) for each in found["epsilons"])


def one_of_two():
    home = {"name": "home", "type": "integer", "role": "identifier"}
    several = {
        "homes": {"primaryKey": "home", "fields": [home, {"name": "old", "type": "boolean"}]},
        "people": {
            "foreignKeys": {"home": "homes"},
            "maxRows": 2,
            "fields": [home, {"name": "adult", "type": "boolean"}],
        },
    }
    homes = pl.DataFrame({"home": [1, 2], "old": [True, False]})
    people = pl.DataFrame({"home": [1, 2, 2], "adult": [True, True, False]})
    return lw.synthesize({"homes": homes, "people": people}, {"tables": several}, rho="0.01").certificate.parts["homes"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda one: paid(rho="0.01", neighbours="replace-one"), "one neighbour relation"),
        (
            lambda one: replace(one, privacy_unit="who:2", max_rows=2, lines=(), total=Budget("zcdp", Fraction(0))),
            "people",
        ),
        (lambda one: one, "named twice"),
        (lambda one: one_of_two(), "one of several tables"),
    ],
)
def test_releases_that_are_no_sum_are_refused(other, said):
    one = paid(rho="0.01")

    with pytest.raises(lw.BudgetError, match=said) as refused:
        one.compose(other(one))

    assert refused.value.code == "LW418"


def test_of_disjoint_parts_the_largest_counts_at_every_delta():
    """One has more rho, the other a larger delta for lists: neither is the larger one everywhere."""
    most, lists = paid(rho="0.02"), replace(paid(rho="0.0199"), delta=Fraction(1, 10**4), epsilons=())

    apart = most.compose(lists, disjoint=True)

    alone = [
        {each["delta"]["exact"]: Fraction(each["epsilon"]["exact"]) for each in one.compose()["epsilons"]}
        for one in (most, lists)
    ]
    assert Fraction(apart["total"]["exact"]) == Fraction(2, 100)
    assert Fraction(apart["delta"]["exact"]) == Fraction(1, 10**4)
    assert {each["delta"]["exact"]: Fraction(each["epsilon"]["exact"]) for each in apart["epsilons"]} == {
        "1/1000": max(each["1/1000"] for each in alone)
    }
    assert sum(each["rho"] for each in apart["events"]) == pytest.approx(0.02)
    singly = [[each["found_at_most"] for each in one.compose()["trade_off"]] for one in (most, lists)]
    assert [each["found_at_most"] for each in apart["trade_off"]] == [max(pair) for pair in zip(*singly, strict=True)]


def test_the_total_of_disjoint_parts_holds_for_each_of_them():
    """Many small costs are less in rho than one that is smaller than their sum."""
    wide = lw.Schema.load({"fields": [{"name": f"c{place}", "type": "boolean"} for place in range(10)]})
    table = pl.DataFrame({field.name: [True, False] * 50 for field in wide.fields})
    one = lw.synthesize(table, wide, epsilon=1, mechanism="independent", seed=1).certificate
    other, mixed = paid(epsilon="0.7", mechanism="independent"), paid(rho="0.2")

    totals = [each.compose(another, disjoint=True)["total"] for each, another in ((one, other), (other, mixed))]

    assert [(total["notion"], total["exact"]) for total in totals] == [("pure", "1"), ("zcdp", "49/200")]


def test_what_was_learned_of_the_whole_table_counts_for_every_part():
    bought = paid(replace(SCHEMA, purchases=(LEARNED,)), rho="0.01")

    found = bought.compose(paid(rho="0.02"), disjoint=True)

    assert Fraction(found["total"]["exact"]) == Fraction(3, 100)


def test_parts_are_not_disjoint_under_replace_one():
    one, other = (paid(rho=rho, neighbours="replace-one") for rho in ("0.01", "0.02"))

    with pytest.raises(lw.BudgetError, match="may move from one part to another"):
        one.compose(other, disjoint=True)


def test_the_command_prints_the_sum_of_files(tmp_path):
    places = [tmp_path / name for name in ("a.json", "b.json")]
    for place, rho in zip(places, ("0.01", "0.02"), strict=True):
        place.write_text(paid(rho=rho).to_json())

    said = lapwing("certificate", "compose", "--json", *map(str, places))

    assert (said.status, json.loads(said.out)["total"]["exact"]) == (0, "3/100")
    assert lapwing("certificate", "compose", str(places[0]), str(places[0])).status == 1
    apart = lapwing("certificate", "compose", "--json", "--disjoint", *map(str, places))
    assert json.loads(apart.out)["total"]["exact"] == "1/50"
