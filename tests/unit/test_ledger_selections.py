"""The deltas of selections in the ledger: what is allowed, debits of both currencies, files made before this."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest

from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget import ledger_file
from lapwing.kernel.budget.budget import Budget, BudgetRequest, read_request, requested_budget
from lapwing.kernel.budget.conversions import rho_for
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.release.runs.account_terms import promise_text
from lapwing.release.runs.records import AccountedSink, new_records
from lapwing.schema.schemas import Schema

TERMS = {"relation": "add-remove", "privacy_unit": "row"}
RELEASE = TERMS | {"description": {"mechanism": "learn"}}
TINY = Fraction(1, 10**18)
MICRO = Fraction(1, 10**6)
EPSILON = Budget.pure("0.1")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create_or_open(tmp_path / "budget.db")


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


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"selection_delta": -1}, "selection_delta must be 0, or at least 1e-18 and below 1, got -1"),
        ({"selection_delta": 1}, "selection_delta must be 0, or at least 1e-18 and below 1, got 1;"),
        ({"selection_delta": "1e-19"}, "selection_delta must be 0, or at least 1e-18 and below 1, got 1e-19"),
        ({"selection_delta": "much"}, "selection_delta must be a finite number, got 'much'"),
        ({"selection_delta": 1e-6, "delta": 1e-6}, "selection_delta must be below delta, .* got 1e-06 of 1e-06"),
        ({"selection_delta": 1e-3, "delta": 1e-6}, "selection_delta must be below delta, .* got 0.001 of 1e-06"),
    ],
    ids=["negative", "one", "too small", "no number", "all of delta", "more than delta"],
)
def test_a_bad_allowance_is_refused_and_nothing_is_opened(
    ledger: Ledger, setting: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ParameterError, match=sentence):
        ledger.init("adult", unit="zcdp", limit=1, **setting, **TERMS)

    assert ledger.datasets() == ()


def test_an_account_in_pure_epsilon_has_no_allowance_as_nothing_could_spend_it(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match="a ledger in pure epsilon has no delta, and so no selections"):
        ledger.init("adult", unit="pure", limit=1, selection_delta=1e-9, **TERMS)

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


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM selections",
        "UPDATE selections SET spent_units = 0",
        "UPDATE selections SET limit_units = 2000000000000",
        "UPDATE selections SET dataset = 'other'",
        "UPDATE selections SET spent_units = limit_units + 1",
        "INSERT INTO selections VALUES ('adult', 9, 0)",
        "INSERT OR REPLACE INTO selections VALUES ('adult', 1000000000000, 0)",
        "INSERT INTO selections VALUES ('letter', 9, -9)",
        "INSERT INTO entries VALUES (4, '', 'debit', 'adult', 'd', 1, '{\"selection_units\":750000000001}', '')",
        "INSERT INTO entries VALUES (4, '', 'debit', 'adult', 'd', 1, '{\"selection_units\":-1}', '')",
        "INSERT INTO entries VALUES (4, '', 'debit', 'adult', 'd', 1, '{\"selection_units\":0.5}', '')",
        "INSERT INTO entries VALUES (4, '', 'debit', 'adult', 'd', 1, '{\"selection_units\":9223372036854775807}', '')",
        "INSERT INTO entries VALUES (4, '', 'debit', 'letter', 'd', 1, '{\"selection_units\":1}', '')",
    ],
)
def test_the_file_itself_refuses_what_breaks_the_rules_of_selections(book: Ledger, statement: str) -> None:
    book.init("letter", unit="pure", limit=1, **TERMS)
    book.debit("adult", "release", EPSILON, **RELEASE, delta=MICRO / 4)

    with (
        closing(sqlite3.connect(book.path, isolation_level=None)) as connection,
        pytest.raises(sqlite3.IntegrityError),
    ):
        connection.execute(statement)

    assert book.verify() == 3
    assert book.balance("adult").selection_spent == MICRO / 4


TAMPERING = {
    "a refund": (
        "selections_no_refund",
        "UPDATE selections SET spent_units = 0",
        "the account of selections of data set 'adult'",
    ),
    "a higher limit": (
        "selections_fixed",
        "UPDATE selections SET limit_units = 2000000000000",
        "the account of selections of data set 'adult'",
    ),
    "no limit": ("selections_stay", "DELETE FROM selections", "the account of selections of data set 'adult'"),
    "another delta in an entry": (
        "entries_fixed",
        "UPDATE entries SET details = replace(details, '250000000000', '1') WHERE number = 2",
        "entry 2",
    ),
    "a forgotten table": (None, "DROP TABLE selections", "the list of its tables and triggers"),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_with_selections_is_evident(book: Ledger, name: str) -> None:
    trigger, statement, culprit = TAMPERING[name]
    book.debit("adult", "release", EPSILON, **RELEASE, delta=MICRO / 4)

    with closing(sqlite3.connect(book.path, isolation_level=None)) as connection:
        if trigger is not None:
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(statement)
        for wanted in ledger_file.STATEMENTS:
            if trigger is not None and f"TRIGGER {trigger} " in wanted:
                connection.execute(wanted)

    with pytest.raises(BudgetError, match=f"changed by other means than Lapwing: {culprit} does not fit"):
        book.verify()


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
    schema = Schema.load({"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"]}]})

    settings = Learning(schema)
    AccountedSink(NoTranscript(), new_records(book.path, "adult", None, settings)).debit(settings)

    assert (book.balance().spent, book.balance().selection_spent) == (Fraction(1, 4), MICRO / 4)
