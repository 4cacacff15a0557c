"""The ledger: terms, debits, refusals, limits, and the deltas of selections."""

import json
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest

from helpers import make
from helpers.make import TERMS
from lapwing.errors import BudgetError, DataError, ParameterError
from lapwing.kernel.budget.budget import Budget, BudgetRequest, read_request, requested_budget
from lapwing.kernel.budget.conversions import rho_for
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.release.runs.account_terms import promise_text
from lapwing.release.runs.records import AccountedSink, new_records
from lapwing.schema.schemas import Schema

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


@pytest.mark.parametrize("asked", ["row", "person_id:3", "other:5"])
def test_a_release_of_another_unit_is_told_what_its_schema_must_name(pure: Ledger, asked: str) -> None:
    pure.init("visits", unit="pure", limit=1, relation="add-remove", privacy_unit='person "id":5')

    with pytest.raises(BudgetError) as refused:
        pure.debit("visits", "release", Budget.pure(1), relation="add-remove", privacy_unit=asked, description={})

    assert str(refused.value).endswith(
        f'asks for {asked}; give the schema "privacyUnit": {{"field": "person \\"id\\"", "maxRows": 5}}, or '
        'linked tables a first "primaryKey": "person \\"id\\"" and "maxRows" that multiply to 5 (epsilon 1 left)'
    )


def test_the_only_data_set_needs_no_name_and_one_of_two_does(pure: Ledger) -> None:
    pure.debit(None, "release", Budget.pure("0.1"), **RELEASE)
    assert pure.balance().spent == Fraction(1, 10)
    assert pure.find(None, "release") is not None
    assert len(pure.history()) == 2

    pure.init("taxi", unit="pure", limit=1, **TERMS)

    assert len(pure.export()["entries"]) == 3
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


NAME = "the name of a data set must be 1 to 200 printable characters"
SELECTIONS = "selection_delta must be 0, or at least 1e-18 and below 1, got"
BAD = [
    ({"dataset": ""}, NAME),
    ({"dataset": "two\nlines"}, NAME),
    ({"dataset": "\ud800"}, NAME),
    ({"unit": "renyi"}, "the unit of a ledger must be pure or zcdp, got 'renyi'"),
    ({"limit": -1}, "limit must lie between 0 and 10"),
    ({"limit": "1e7"}, "limit must lie between 0 and 10"),
    ({"limit": float("nan")}, "limit must be a finite number, got 'nan'"),
    ({"unit": "pure", "delta": 1e-9}, "a ledger in pure epsilon has no delta"),
    ({"delta": 1}, "delta must be at least 0 and below 1, got 1"),
    ({"relation": "bounded"}, "the neighbour relation must be add-remove or replace-one, got 'bounded'"),
    ({"privacy_unit": "person"}, "the privacy unit must be row or FIELD:MAXROWS, got 'person'"),
    ({"privacy_unit": "person:0"}, "the privacy unit must be row or FIELD:MAXROWS, got 'person:0'"),
    ({"selection_delta": -1}, f"{SELECTIONS} -1"),
    ({"selection_delta": 1}, f"{SELECTIONS} 1;"),
    ({"selection_delta": "1e-19"}, f"{SELECTIONS} 1e-19"),
    ({"selection_delta": "much"}, "selection_delta must be a finite number, got 'much'"),
    ({"selection_delta": 1e-6, "delta": 1e-6}, "selection_delta must be below delta, .* got 1e-06 of 1e-06"),
    ({"selection_delta": 1e-3, "delta": 1e-6}, "selection_delta must be below delta, .* got 0.001 of 1e-06"),
    ({"unit": "pure", "selection_delta": 1e-9}, "a ledger in pure epsilon has no delta, and so no selections"),
]


@pytest.mark.parametrize(("setting", "sentence"), BAD)
def test_bad_terms_are_refused_and_nothing_is_opened(ledger: Ledger, setting: dict[str, object], sentence: str) -> None:
    settings = {"dataset": "adult", "unit": "zcdp", "limit": 1, **TERMS, **setting}

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


REFUSED: dict[str, tuple[Budget, dict[str, object], str, str]] = {
    "too much": (Budget.pure("0.4"), {}, "new", "has epsilon 0.3 left of its limit epsilon 1, and this release costs "),
    "zcdp": (Budget.zcdp("0.001"), {}, "new", "is kept in pure epsilon and a zcdp release cannot be paid from it"),
    "relation": (Budget.pure("0.1"), {"relation": "replace-one"}, "new", "relation add-remove and this release asks"),
    "relation of what is paid": (Budget.pure("0.7"), {"relation": "replace-one"}, "paid", "asks for replace-one"),
    "privacy unit": (
        Budget.pure("0.1"),
        {"privacy_unit": "person_id:3"},
        "new",
        "under the privacy unit row and this release asks for person_id:3; take privacyUnit out of the schema (epsilon",
    ),
    "selections": (Budget.pure("0.1"), {"delta": Fraction(1, 10**9)}, "new", "allows no selections"),
    # 0.6999999999 rounds up to the units of 0.7, and is another budget all the same.
    **{
        f"another budget, {budget}": (Budget.pure(budget), {}, "paid", "release 'paid' was paid with another budget")
        for budget in ("0.1", "0.6999999999", "0.8")
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_every_refusal_of_a_debit_names_what_is_left_and_changes_nothing(pure: Ledger, name: str) -> None:
    budget, changes, release_id, sentence = REFUSED[name]
    pure.debit("adult", "paid", Budget.pure("0.7"), **RELEASE)
    before = pure.history("adult")

    with pytest.raises(BudgetError) as refused:
        pure.debit("adult", release_id, budget, **(RELEASE | changes))

    assert sentence in str(refused.value)
    assert "epsilon 0.3 left" in str(refused.value)
    assert pure.history("adult") == before


# ---------------------------------------------------------------------------------------------------------- selections


TINY = Fraction(1, 10**18)
MICRO = Fraction(1, 10**6)
EPSILON = Budget.pure("0.1")


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    """Return a ledger with one data set, "adult", that may spend rho 1, and delta 10^-6 on selections."""
    ledger.init("adult", unit="zcdp", limit=1, selection_delta=1e-6, **TERMS)
    return ledger


def test_an_account_allows_no_selections_unless_it_was_opened_so(ledger: Ledger) -> None:
    balance = ledger.init("adult", unit="pure", limit=1, **TERMS)

    assert (balance.selection_delta, balance.selection_spent, balance.selection_left) == (0, 0, 0)
    with pytest.raises(BudgetError) as refused:
        ledger.debit("adult", "release", EPSILON, **RELEASE, delta=Fraction(1, 10**9))
    assert str(refused.value) == (
        "data set 'adult' allows no selections, and the selections of this release spend delta 1e-09; give lists of "
        "categories from public knowledge, or have its owner open an account that allows them "
        "(`lapwing ledger init --selection-delta`; epsilon 1 left)"
    )
    assert ledger.balance().spent == 0
    assert ledger.verify() == 1


def test_a_debit_pays_in_both_currencies(book: Ledger) -> None:
    paid = book.debit("adult", "release", Budget.zcdp("0.25"), **RELEASE, delta=MICRO / 4)

    balance = book.balance("adult")
    assert (balance.spent, balance.left) == (Fraction(1, 4), Fraction(3, 4))
    assert (balance.selection_delta, balance.selection_spent, balance.selection_left) == (
        MICRO,
        MICRO / 4,
        MICRO * 3 / 4,
    )
    assert paid.selection_delta == MICRO / 4
    assert [entry.selection_delta for entry in book.history()] == [MICRO, MICRO / 4]
    assert book.verify() == 2


@pytest.mark.parametrize(("rho", "delta"), [("2", MICRO / 2), ("0.5", MICRO * 2)], ids=["rho", "delta"])
def test_what_lacks_one_currency_pays_in_neither(book: Ledger, rho: str, delta: Fraction) -> None:
    with pytest.raises(BudgetError, match="left of its limit"):
        book.debit("adult", "release", Budget.zcdp(rho), **RELEASE, delta=delta)

    assert (book.balance().spent, book.balance().selection_spent) == (0, 0)
    assert book.find("adult", "release") is None


def test_selections_add_up_exactly_to_what_they_may_spend(book: Ledger) -> None:
    for number in range(4):
        book.debit("adult", f"release-{number}", Budget.zcdp("0.1"), **RELEASE, delta=MICRO / 4)

    assert book.balance().selection_left == 0
    with pytest.raises(BudgetError) as refused:
        book.debit("adult", "one more", Budget.zcdp("0.1"), **RELEASE, delta=TINY)
    assert str(refused.value) == (
        "data set 'adult' has delta 0 left of its limit for selections, 1e-06, and the selections of this release "
        "spend delta 1e-18; ask for a smaller delta, or give lists of categories from public knowledge "
        "(rho 0.6 is left besides)"
    )
    # What selects nothing goes on.
    book.debit("adult", "last", Budget.zcdp("0.6"), **RELEASE)
    assert book.balance().left == 0


def test_what_a_refusal_says_is_left_for_selections_may_be_asked_for(book: Ledger) -> None:
    book.debit("adult", "first", Budget.zcdp("0.1"), **RELEASE, delta=MICRO / 3)

    with pytest.raises(BudgetError) as refused:
        book.debit("adult", "second", Budget.zcdp("0.1"), **RELEASE, delta=MICRO)

    left = str(refused.value).split("has delta ")[1].split(" left")[0]
    assert left == "0.000000666666666666"
    book.debit("adult", "second", Budget.zcdp("0.1"), **RELEASE, delta=Fraction(left))
    assert book.balance().selection_left == 0


def test_a_resumed_release_pays_for_its_selections_once(book: Ledger) -> None:
    first = book.debit("adult", "release", EPSILON, **RELEASE, delta=MICRO)

    again = book.debit("adult", "release", EPSILON, **RELEASE, delta=MICRO)

    assert again == first
    assert book.balance().selection_spent == MICRO
    assert book.verify() == 2


# 10^-6 - 10^-19 rounds up to the units of 10^-6, and is another delta all the same.
@pytest.mark.parametrize("delta", [Fraction(0), MICRO / 2, MICRO - TINY / 10], ids=["none", "half", "rounded"])
def test_a_paid_release_cannot_be_debited_with_another_delta(book: Ledger, delta: Fraction) -> None:
    book.debit("adult", "release", EPSILON, **RELEASE, delta=MICRO)

    with pytest.raises(BudgetError, match="release 'release' was paid with another delta already"):
        book.debit("adult", "release", EPSILON, **RELEASE, delta=delta)


def test_deltas_of_selections_round_up_and_their_limit_rounds_down(ledger: Ledger) -> None:
    ledger.init("adult", unit="zcdp", limit=1, selection_delta=2 * TINY + TINY / 2, **TERMS)

    ledger.debit("adult", "release", EPSILON, **RELEASE, delta=TINY / 3)

    assert ledger.balance().selection_delta == 2 * TINY
    assert ledger.balance().selection_spent == TINY
    with pytest.raises(BudgetError, match=r"has delta 1e-18 left .* spend delta 2e-18; ask for a smaller delta"):
        ledger.debit("adult", "another", EPSILON, **RELEASE, delta=TINY + TINY / 3)


def test_the_largest_allowance_is_counted_exactly(ledger: Ledger) -> None:
    ledger.init("adult", unit="zcdp", limit=1, selection_delta=1 - TINY, **TERMS)

    ledger.debit("adult", "release", EPSILON, **RELEASE, delta=1 - TINY)

    assert ledger.balance().selection_spent == 1 - TINY
    with pytest.raises(BudgetError, match="has delta 0 left"):
        ledger.debit("adult", "another", EPSILON, **RELEASE, delta=1 - TINY)
    assert ledger.verify() == 2


def test_an_epsilon_limit_is_converted_at_what_selections_leave_of_delta(ledger: Ledger) -> None:
    opened = ledger.init("adult", unit="zcdp", limit=1, delta=1e-6, selection_delta=4e-7, **TERMS)
    changed = ledger.set_limit("adult", 2)

    rest = MICRO * 6 / 10
    assert opened.limit == rho_for(Fraction(1), rest) < rho_for(Fraction(1), MICRO)
    assert changed.limit == rho_for(Fraction(2), rest) < rho_for(Fraction(2), MICRO)
    assert (changed.delta, changed.limit_delta, changed.selection_delta) == (MICRO, rest, MICRO * 4 / 10)
    assert changed.describe(changed.limit).endswith("(epsilon 2 at delta 6e-07)")
    assert promise_text(changed) == "epsilon 2 at delta 1e-06"
    assert ledger.verify() == 2


def test_one_learning_run_at_the_terms_of_the_account_uses_it_up(ledger: Ledger) -> None:
    ledger.init("adult", unit="zcdp", limit=1, delta=1e-6, selection_delta=5e-7, **TERMS)

    # Half of delta is for the selections, the other half converts epsilon to rho.
    run = requested_budget(epsilon=1, delta=MICRO / 2)
    ledger.debit("adult", "learn", run, **RELEASE, delta=MICRO / 2)

    assert (ledger.balance().left, ledger.balance().selection_left) == (0, 0)


@pytest.mark.parametrize(
    ("terms", "promise"),
    [
        ({"unit": "zcdp", "limit": "0.5"}, "rho 0.5, but for a chance of 1e-09"),
        ({"unit": "zcdp", "limit": 0, "delta": 1e-6}, "epsilon 0 at delta 1e-06"),
        ({"unit": "zcdp", "limit": "0.310001", "delta": 1e-6}, "epsilon 0.310001 at delta 1e-06"),
    ],
    ids=["zcdp", "closed", "open"],
)
def test_an_allowance_is_told_with_what_it_promises(ledger: Ledger, terms: dict[str, object], promise: str) -> None:
    balance = ledger.init("adult", **terms, selection_delta=1e-9, **TERMS)

    assert promise_text(balance) == promise


def test_no_selections_at_all_may_be_allowed_in_pure_epsilon(ledger: Ledger) -> None:
    assert ledger.init("adult", unit="pure", limit=1, selection_delta=0, **TERMS).selection_delta == 0


@pytest.mark.parametrize("delta", [Fraction(-1, 10), Fraction(1)], ids=["negative", "one"])
def test_a_debit_of_an_impossible_delta_is_refused(book: Ledger, delta: Fraction) -> None:
    with pytest.raises(ParameterError, match="the delta of selections must be at least 0 and below 1"):
        book.debit("adult", "release", EPSILON, **RELEASE, delta=delta)


def test_selections_of_several_data_sets_are_kept_apart(book: Ledger) -> None:
    book.init("taxi", unit="zcdp", limit=1, selection_delta=1e-9, **TERMS)
    book.init("letter", unit="pure", limit=1, **TERMS)

    book.debit("taxi", "release", EPSILON, **RELEASE, delta=Fraction(1, 10**9))
    book.debit("letter", "release", EPSILON, **RELEASE)

    assert book.balance("taxi").selection_left == 0
    assert book.balance("adult").selection_left == MICRO
    with pytest.raises(BudgetError, match="'letter' allows no selections"):
        book.debit("letter", "another", EPSILON, **RELEASE, delta=TINY)
    assert book.verify() == 5


def test_a_refused_account_with_an_allowance_leaves_the_ledger_as_it_was(ledger: Ledger) -> None:
    ledger.init("adult", unit="zcdp", limit=1, **TERMS)
    with pytest.raises(BudgetError, match="is in the ledger already"):
        ledger.init("adult", unit="zcdp", limit=1, selection_delta=1e-9, **TERMS)

    assert ledger.balance("adult").selection_delta == 0
    assert ledger.verify() == 1


@dataclass
class Learning:
    """Settings that are paid for, with selections."""

    schema: Schema
    name: str = "learn"
    request: BudgetRequest = field(default_factory=lambda: read_request(rho="0.25"))
    relation: str = "add-remove"
    selection_delta: Fraction = MICRO / 4
    parts = property(lambda self: {"": self})

    def to_dict(self) -> dict[str, object]:
        return {}


def test_what_settings_say_of_their_selections_is_debited(book: Ledger) -> None:
    settings = Learning(Schema.load(make.schema({"sex": ["f", "m"]})))

    AccountedSink(NoTranscript(), new_records(book.path, "adult", None, settings)).debit(settings)

    assert (book.balance().spent, book.balance().selection_spent) == (Fraction(1, 4), MICRO / 4)
