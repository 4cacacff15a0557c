"""The ledger: terms, debits, refusals, limits."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from lapwing.errors import BudgetError, DataError, ParameterError
from lapwing.kernel.budget.budget import Budget, requested_budget
from lapwing.kernel.budget.conversions import rho_for
from lapwing.kernel.budget.ledger import Ledger

TERMS = {"relation": "add-remove", "privacy_unit": "row"}
RELEASE = TERMS | {"description": {"mechanism": "Independent"}}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create_or_open(tmp_path / "budget.db")


@pytest.fixture
def pure(ledger: Ledger) -> Ledger:
    """Return a ledger with one data set, "adult", that may spend epsilon 1."""
    ledger.init("adult", unit="pure", limit=1, **TERMS)
    return ledger


def test_debits_add_up_exactly_to_the_limit_and_then_nothing_is_left(pure: Ledger) -> None:
    for number in range(10):
        pure.debit("adult", f"release-{number}", Budget.pure(0.1), **RELEASE)

    assert pure.balance("adult").left == 0
    # Nobody is told to ask for less than nothing.
    with pytest.raises(BudgetError, match=r"has epsilon 0 left of its limit epsilon 1, .*; raise the limit with"):
        pure.debit("adult", "one more", Budget.pure("1e-9"), **RELEASE)


def test_an_overspend_names_what_is_left_and_changes_nothing(pure: Ledger) -> None:
    pure.debit("adult", "first", Budget.pure("0.7"), **RELEASE)
    before = pure.history("adult")

    with pytest.raises(BudgetError) as caught:
        pure.debit("adult", "second", Budget.pure("0.4"), **RELEASE)

    assert str(caught.value) == (
        "data set 'adult' has epsilon 0.3 left of its limit epsilon 1, and this release costs epsilon 0.4; "
        "ask for less, or raise the limit with `lapwing ledger limit`"
    )
    assert pure.history("adult") == before


def test_a_resumed_release_is_paid_once(pure: Ledger) -> None:
    first = pure.debit("adult", "release", Budget.pure("0.7"), **RELEASE)

    second = pure.debit("adult", "release", Budget.pure("0.7"), **RELEASE)

    assert second == first
    assert pure.find("adult", "release") == first
    assert pure.balance("adult").spent == Fraction(7, 10)


def test_a_resumed_release_is_found_equal_whatever_its_description_is_made_of(pure: Ledger) -> None:
    release = TERMS | {"description": {"columns": ("age", "sex"), "of year": {2024: 1}}}
    first = pure.debit("adult", "release", Budget.pure("0.7"), **release)

    assert pure.debit("adult", "release", Budget.pure("0.7"), **release) == first


def test_a_paid_release_cannot_be_debited_with_another_budget(pure: Ledger) -> None:
    pure.debit("adult", "release", Budget.pure("0.7"), **RELEASE)

    # 0.6999999999 rounds up to the units of 0.7, and is another budget all the same.
    for budget in (Budget.pure("0.1"), Budget.pure("0.6999999999"), Budget.pure("0.8")):
        with pytest.raises(BudgetError, match="release 'release' was paid with another budget already"):
            pure.debit("adult", "release", budget, **RELEASE)


def test_costs_round_up_and_limits_round_down(ledger: Ledger) -> None:
    ledger.init("pure", unit="pure", limit="1.0000000019", **TERMS)
    ledger.init("zcdp", unit="zcdp", limit="1.0000000000019", **TERMS)

    ledger.debit("pure", "third", Budget.pure("1/3"), **RELEASE)
    ledger.debit("zcdp", "third", Budget.zcdp("1/3"), **RELEASE)

    assert ledger.balance("pure").limit == Fraction("1.000000001")
    assert ledger.balance("pure").spent == Fraction("0.333333334")
    assert ledger.balance("zcdp").limit == Fraction("1.000000000001")
    assert ledger.balance("zcdp").spent == Fraction("0.333333333334")


def test_a_pure_release_enters_a_zcdp_account_as_half_its_square(ledger: Ledger) -> None:
    ledger.init("adult", unit="zcdp", limit=1, **TERMS)

    ledger.debit("adult", "release", Budget.pure("0.1"), **RELEASE)

    assert ledger.balance("adult").spent == Fraction("0.005")


def test_an_epsilon_delta_limit_becomes_rho_at_once(ledger: Ledger) -> None:
    balance = ledger.init("adult", unit="zcdp", limit=1, delta=1e-9, **TERMS)

    assert balance.limit == rho_for(Fraction(1), Fraction(1, 10**9))
    assert balance.delta == Fraction(1, 10**9)
    # A release with the same epsilon and delta uses it up exactly.
    ledger.debit("adult", "release", requested_budget(epsilon=1, delta=1e-9), **RELEASE)
    assert ledger.balance("adult").left == 0


def test_what_a_refusal_says_is_left_may_be_asked_for(ledger: Ledger) -> None:
    ledger.init("adult", unit="zcdp", limit=1, delta=1e-9, **TERMS)
    ledger.debit("adult", "first", Budget.zcdp("0.003"), **RELEASE)

    with pytest.raises(BudgetError) as caught:
        ledger.debit("adult", "second", requested_budget(epsilon=1, delta=1e-9), **RELEASE)

    message = str(caught.value)
    assert "limit rho 0.014973057673 (epsilon 1 at delta 1e-09)" in message
    left = message.split("(epsilon ")[1].split(" at")[0]
    assert rho_for(Fraction(left) + Fraction(1, 10**6), Fraction(1, 10**9)) > Fraction("0.011973057673")
    ledger.debit("adult", "second", requested_budget(epsilon=left, delta=1e-9), **RELEASE)


def test_a_zcdp_release_cannot_be_paid_in_pure_epsilon(pure: Ledger) -> None:
    with pytest.raises(BudgetError, match="'adult' is kept in pure epsilon and a zcdp release cannot be paid from it"):
        pure.debit("adult", "release", Budget.zcdp("0.001"), **RELEASE)


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        ({"relation": "replace-one"}, "under the neighbour relation add-remove and this release asks for replace-one"),
        (
            {"privacy_unit": "person_id:3"},
            "under the privacy unit row and this release asks for person_id:3; take privacyUnit out of the schema "
            r"\(epsilon 1 left\)$",
        ),
    ],
)
def test_a_release_under_other_terms_is_refused(pure: Ledger, terms: dict[str, str], sentence: str) -> None:
    with pytest.raises(BudgetError, match=f"(?m){sentence}"):
        pure.debit("adult", "release", Budget.pure("0.1"), **(RELEASE | terms))

    assert pure.balance("adult").spent == 0


@pytest.mark.parametrize("asked", ["row", "person_id:3", "other:5"])
def test_a_release_of_another_unit_is_told_what_its_schema_must_name(pure: Ledger, asked: str) -> None:
    pure.init("visits", unit="pure", limit=1, relation="add-remove", privacy_unit='person "id":5')

    with pytest.raises(BudgetError) as refused:
        pure.debit("visits", "release", Budget.pure(1), relation="add-remove", privacy_unit=asked, description={})

    assert str(refused.value).endswith(
        f'asks for {asked}; give the schema "privacyUnit": {{"field": "person \\"id\\"", "maxRows": 5}}, or '
        'linked tables a first "primaryKey": "person \\"id\\"" and "maxRows" that multiply to 5 (epsilon 1 left)'
    )


def test_a_paid_release_is_not_returned_under_other_terms(pure: Ledger) -> None:
    pure.debit("adult", "release", Budget.pure("0.1"), **RELEASE)

    with pytest.raises(BudgetError, match="replace-one"):
        pure.debit("adult", "release", Budget.pure("0.1"), **(RELEASE | {"relation": "replace-one"}))


def test_the_only_data_set_needs_no_name_and_one_of_two_does(pure: Ledger) -> None:
    pure.debit(None, "release", Budget.pure("0.1"), **RELEASE)
    assert pure.balance().spent == Fraction(1, 10)
    assert pure.find(None, "release") is not None
    assert len(pure.history()) == 2

    pure.init("taxi", unit="pure", limit=1, **TERMS)

    with pytest.raises(BudgetError, match="no data set was named and the ledger holds adult, taxi"):
        pure.balance()
    with pytest.raises(BudgetError, match="there is no data set 'Adult' and the ledger holds adult, taxi"):
        pure.debit("Adult", "release", Budget.pure("0.1"), **RELEASE)


def test_an_empty_ledger_says_that_it_holds_none(ledger: Ledger) -> None:
    assert ledger.datasets() == ()
    with pytest.raises(BudgetError, match="no data set was named and the ledger holds none"):
        ledger.balance()


def test_the_terms_of_a_data_set_are_fixed_once(pure: Ledger) -> None:
    with pytest.raises(BudgetError, match="'adult' is in the ledger already and its terms are fixed"):
        pure.init("adult", unit="zcdp", limit=100, **TERMS)

    assert pure.balance("adult").unit == "pure"


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"dataset": ""}, "the name of a data set must be 1 to 200 printable characters"),
        ({"dataset": "two\nlines"}, "the name of a data set must be 1 to 200 printable characters"),
        ({"dataset": "\ud800"}, "the name of a data set must be 1 to 200 printable characters"),
        ({"unit": "renyi"}, "the unit of a ledger must be pure or zcdp, got 'renyi'"),
        ({"limit": -1}, "limit must lie between 0 and 10"),
        ({"limit": "1e7"}, "limit must lie between 0 and 10"),
        ({"limit": float("nan")}, "limit must be a finite number, got 'nan'"),
        ({"delta": 1e-9}, "a ledger in pure epsilon has no delta"),
        ({"unit": "zcdp", "delta": 1}, "delta must be at least 0 and below 1, got 1"),
        ({"relation": "bounded"}, "the neighbour relation must be add-remove or replace-one, got 'bounded'"),
        ({"privacy_unit": "person"}, "the privacy unit must be row or FIELD:MAXROWS, got 'person'"),
        ({"privacy_unit": "person:0"}, "the privacy unit must be row or FIELD:MAXROWS, got 'person:0'"),
    ],
)
def test_bad_terms_are_refused_and_nothing_is_opened(ledger: Ledger, setting: dict[str, object], sentence: str) -> None:
    settings = {"dataset": "adult", "unit": "pure", "limit": 1, **TERMS, **setting}

    with pytest.raises(ParameterError, match=sentence):
        ledger.init(settings.pop("dataset"), **settings)

    assert ledger.datasets() == ()


def test_a_limit_of_zero_lets_nothing_through(ledger: Ledger) -> None:
    ledger.init("closed", unit="zcdp", limit=0, delta=1e-9, **TERMS)

    with pytest.raises(BudgetError, match="has rho 0 left of its limit rho 0"):
        ledger.debit("closed", "release", Budget.zcdp("1e-12"), **RELEASE)


def test_the_largest_costs_are_refused_and_do_not_overflow(ledger: Ledger) -> None:
    ledger.init("adult", unit="zcdp", limit=10**6, **TERMS)

    with pytest.raises(BudgetError, match="left of its limit rho 1000000,"):
        ledger.debit("adult", "release", Budget.pure(10**9), **RELEASE)


def test_a_debit_of_nothing_or_with_an_odd_name_is_refused(pure: Ledger) -> None:
    with pytest.raises(ParameterError, match="a debit must be above 0"):
        pure.debit("adult", "release", Budget("pure", Fraction(0)), **RELEASE)
    with pytest.raises(ParameterError, match="release_id must be 1 to 200 printable characters"):
        pure.debit("adult", " ", Budget.pure(1), **RELEASE)


@pytest.mark.parametrize("value", [float("nan"), Fraction(1, 3), {1, 2}, b"bytes"])
def test_a_description_that_is_not_json_is_refused(pure: Ledger, value: object) -> None:
    with pytest.raises(ParameterError, match="the description of a debit must hold text, numbers, lists and mappings"):
        pure.debit("adult", "release", Budget.pure(1), **TERMS, description={"odd": value})

    assert pure.balance("adult").spent == 0


def test_the_limit_can_be_raised_and_lowered_but_not_below_what_is_spent(pure: Ledger) -> None:
    pure.debit("adult", "release", Budget.pure("0.7"), **RELEASE)

    raised = pure.set_limit("adult", 2)
    lowered = pure.set_limit("adult", "0.7")

    assert raised.left == Fraction("1.3")
    assert lowered.left == 0
    with pytest.raises(BudgetError, match=r"limit 0\.6 is below what data set 'adult' has spent, epsilon 0\.7"):
        pure.set_limit("adult", 0.6)
    assert [entry.amount for entry in pure.history() if entry.kind == "limit"] == [2, Fraction("0.7")]
    assert pure.verify() == 4


def test_a_new_limit_is_an_epsilon_where_the_first_one_was(ledger: Ledger) -> None:
    ledger.init("adult", unit="zcdp", limit=1, delta=1e-9, **TERMS)

    balance = ledger.set_limit("adult", 2)

    assert balance.limit == rho_for(Fraction(2), Fraction(1, 10**9))


def test_history_tells_what_was_asked_for(pure: Ledger) -> None:
    pure.debit("adult", "release", Budget.pure("1/3"), **RELEASE)

    opened, paid = pure.history("adult")

    assert (opened.number, opened.kind, opened.release_id, opened.amount) == (1, "init", None, 1)
    assert opened.details == {
        "unit": "pure", "delta": None, "limit": "1", "relation": "add-remove", "privacy_unit": "row",
        "account": ["pure", None, "add-remove", "row", 10**9, 0, 0, 0],
    }  # fmt: skip
    assert (paid.number, paid.kind, paid.release_id, paid.amount) == (2, "debit", "release", Fraction("0.333333334"))
    assert paid.details == {
        "budget": ["pure", "1/3"],
        "description": {"mechanism": "Independent"},
        "account": ["pure", None, "add-remove", "row", 10**9, 333333334, 0, 0],
    }
    assert paid.at.endswith("+00:00")
    assert json.dumps(paid.details)
    assert len({opened.hash, paid.hash}) == 2


def test_a_release_that_was_never_paid_is_not_found(pure: Ledger) -> None:
    assert pure.find("adult", "release") is None


def test_a_ledger_that_does_not_exist_is_not_made_by_opening_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no ledger"):
        Ledger.open(tmp_path / "none.db")

    assert list(tmp_path.iterdir()) == []


def refusals(ledger: Ledger) -> dict[str, BudgetError]:
    """Return each refusal that a debit can meet on an account with epsilon 0.3 left."""
    ledger.debit("adult", "paid", Budget.pure("0.7"), **RELEASE)
    asked: dict[str, tuple[Budget, dict[str, object], str]] = {
        "too much": (Budget.pure(1), {}, "new"),
        "zcdp": (Budget.zcdp(1), {}, "new"),
        "relation": (Budget.pure("0.1"), {"relation": "replace-one"}, "new"),
        "privacy unit": (Budget.pure("0.1"), {"privacy_unit": "person:2"}, "new"),
        "selections": (Budget.pure("0.1"), {"delta": Fraction(1, 10**9)}, "new"),
        "another budget": (Budget.pure("0.1"), {}, "paid"),
    }
    found = {}
    for name, (budget, changes, release_id) in asked.items():
        with pytest.raises(BudgetError) as refused:
            ledger.debit("adult", release_id, budget, **(RELEASE | changes))
        found[name] = refused.value
    return found


def test_every_refusal_of_a_debit_names_what_is_left(pure: Ledger) -> None:
    for name, refusal in refusals(pure).items():
        assert "epsilon 0.3 left" in str(refusal), name
