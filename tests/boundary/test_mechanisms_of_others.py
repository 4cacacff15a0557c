"""A mechanism gets a curator without a way to the rows; code that is not Lapwing's runs only where it is trusted."""

import gc
import pickle
import types
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import BudgetError, CapacityError, LapwingError, ParameterError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.mechanisms.shared.dry_run import DryCurator

SCHEMA = {
    "fields": [
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
        {"name": "kind", "type": "string", "categories": ["a", "b"]},
    ]
}
DATA = pl.DataFrame({"flag": [True] * 70 + [False] * 30, "kind": ["a", "b"] * 50})


class Derived(lw.Independent):
    """One of Lapwing's with another run."""

    seen: ClassVar[list] = []

    def run(self, curator, schema, budget, rng):
        if not isinstance(curator, DryCurator):
            Derived.seen.append(curator)
        return lw.Independent.run(self, curator, schema, budget, rng)


@dataclass(frozen=True)
class Own(lw.Mechanism):
    """A mechanism by the written recipe, which refuses every table."""

    name: ClassVar[str] = "Own"

    def run(self, curator, schema, budget, rng):
        raise CapacityError("this mechanism takes no table", code="LW501")


def linked_call(mechanism):
    """Refuse a foreign mechanism for one of two linked tables."""
    people = {"fields": [{"name": "home", "type": "integer", "role": "identifier"}, *SCHEMA["fields"]]}
    schema = {"parent": people, "child": people, "key": "home", "maxChildren": 2}
    return lw.synthesize((DATA, DATA), schema, epsilon=1, mechanism={"child": mechanism})


@pytest.mark.parametrize(
    "call",
    [
        lambda mechanism: lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=mechanism),
        lambda mechanism: lw.Synthesizer(SCHEMA, epsilon=1, mechanism=mechanism).fit(DATA),
        linked_call,
    ],
    ids=["synthesize", "Synthesizer", "linked"],
)
def test_code_that_is_not_lapwings_is_refused_unless_it_is_trusted(call):
    Derived.seen.clear()

    with pytest.raises(ParameterError, match=r"Derived is no mechanism of Lapwing's.*give lapwing\.Trusted") as refused:
        call(Derived())

    assert refused.value.code == "LW312"
    assert Derived.seen == []


def test_the_certificate_says_whose_code_was_trusted():
    release = lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=lw.Trusted(Derived()))
    own = lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism="Independent")

    said = f"the code of the mechanism {Derived.__module__}.Derived, which is not Lapwing's"
    assert release.certificate.assumed[0].text.startswith(said)
    assert release.certificate.mechanism == f"{Derived.__module__}.Derived"
    assert said in release.certificate.text()
    assert not any("not Lapwing's" in each.text for each in own.certificate.assumed)


def test_a_release_by_trusted_code_is_saved_and_reported_as_any_other(tmp_path):
    lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=lw.Trusted(Derived()), seed=1).save(tmp_path / "m.lapwing")

    loaded = lw.load(tmp_path / "m.lapwing")

    assert loaded.sample(5).height == 5
    assert loaded.certificate.mechanism == f"{Derived.__module__}.Derived"
    assert "Derived" in repr(loaded)


def test_a_release_by_trusted_code_is_not_taken_up_by_code_of_the_same_name(tmp_path):
    path = tmp_path / "t.jsonl"
    lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=lw.Trusted(Derived()), transcript=path)

    with pytest.raises(LapwingError, match=r"there is no mechanism '.*\.Derived'"):
        lw.resume(path, DATA)


def test_what_a_mechanism_of_any_class_refuses_is_refused_before_the_debit(tmp_path):
    book = tmp_path / "budget.db"
    Ledger.create_or_open(book).init("d", unit="pure", limit=2, relation="add-remove", privacy_unit="row")

    with pytest.raises(CapacityError, match="takes no table"):
        lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=lw.Trusted(Own()), ledger=book)

    assert Ledger.open(book).balance("d").spent == 0


class TooMuch(lw.Independent):
    """Asks for a tenth more than its budget."""

    def run(self, curator, schema, budget, rng):
        return lw.Independent.run(self, curator, schema, budget * Fraction(11, 10), rng)


def test_a_mechanism_that_would_spend_too_much_is_refused_before_the_debit(tmp_path):
    book = tmp_path / "budget.db"
    Ledger.create_or_open(book).init("d", unit="pure", limit=2, relation="add-remove", privacy_unit="row")

    with pytest.raises(
        BudgetError, match=r"would spend 132/125 in all, more than the budget 24/25;"
    ):  # a look at misfits took 1/25
        lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=lw.Trusted(TooMuch()), ledger=book)

    assert Ledger.open(book).balance("d").spent == 0


_PASSED_BY = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)


def reachable(start):
    """Return everything that attributes and parts lead to from an object, but for modules, classes and functions."""
    found, left = {}, [start]
    while left:
        each = left.pop()
        if id(each) in found or isinstance(
            each, types.ModuleType | type | types.FunctionType | types.BuiltinFunctionType
        ):
            continue
        found[id(each)] = each
        left.extend(gc.get_referents(each))
    return list(found.values())


def test_no_attribute_of_what_a_mechanism_is_handed_leads_to_a_row():
    Derived.seen.clear()
    lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=lw.Trusted(Derived()))
    (curator,) = Derived.seen

    found = reachable(curator)

    kinds = {type(each).__name__ for each in found}
    assert "Terms" in kinds
    assert not kinds & {"Room", "ExactTables", "SystemBits", "Drawing"}
    assert not any(isinstance(each, np.ndarray | pl.DataFrame | pl.Series) for each in found)
    assert [name for name in dir(curator) if not name.startswith("_")] == ["ask", "terms"]
    with pytest.raises(AttributeError):
        curator._source  # noqa: B018


def test_the_walk_above_finds_the_rows_behind_the_room_itself():
    from helpers.peeking import rows_behind

    Derived.seen.clear()
    lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=lw.Trusted(Derived()))

    assert any(isinstance(each, np.ndarray) for each in reachable(rows_behind(Derived.seen[0])))


def test_the_desk_can_be_neither_pickled_nor_shown():
    Derived.seen.clear()
    lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=lw.Trusted(Derived()))

    assert repr(Derived.seen[0]) == "CuratorHandle(private)"
    with pytest.raises(ParameterError, match="neither pickled nor copied"):
        pickle.dumps(Derived.seen[0])
