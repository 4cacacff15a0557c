from fractions import Fraction

import pytest

from helpers.command import lapwing
from lapwing.kernel.budget import ledger as ledger_module
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger

TERMS = ("--neighbours", "add-remove", "--privacy-unit", "row")


@pytest.fixture
def book(tmp_path):
    return tmp_path / "budget.db"


def init(book, *more):
    return lapwing("ledger", "init", "adult", "--unit", "pure", "--limit", "2", *TERMS, "--ledger", book, *more)


def spend(book, amount):
    Ledger.open(book).debit(
        "adult",
        f"release-{amount}",
        Budget.pure(amount),
        relation="add-remove",
        privacy_unit="row",
        description={"mechanism": "Independent"},
    )


def test_init_opens_an_account(book):
    said = init(book)

    assert (said.status, said.out) == (0, "")
    assert said.err.splitlines() == [
        f"lapwing: data set 'adult' may spend epsilon 2; ledger: {book}",
        "lapwing: Protected: whether any one row is in the table, and what it says (add-remove neighbours).",
    ]
    assert Ledger.open(book).balance("adult").limit == 2


def test_the_ledger_is_budget_db_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    lapwing("ledger", "init", "adult", "--unit", "pure", "--limit", "2", *TERMS)

    assert "epsilon 2" in lapwing("ledger", "show").out
    assert (tmp_path / "budget.db").is_file()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (["--unit", "both"], "must be pure or zcdp"),
        (["--limit", "-1"], "limit must lie between"),
        (["--limit", "many"], "limit must be a finite number"),
        (["--delta", "1e-9"], "has no delta"),
        (["--unit", "zcdp", "--delta", "2"], "delta must be at least 0 and below 1"),
        (["--neighbours", "siblings"], "add-remove or replace-one"),
        (["--privacy-unit", "person"], "row or FIELD:MAXROWS"),
        (["--selection-delta", "1"], "selection_delta must be 0, or at least 1e-18 and below 1"),
        (["--unit", "zcdp", "--delta", "1e-9", "--selection-delta", "1e-9"], "selection_delta must be below delta"),
    ],
)
def test_a_refused_account_leaves_no_file(book, changed, says):
    said = init(book, *changed)

    assert said.status == 1
    assert says in said.error
    assert not book.exists()


def test_an_account_is_opened_once(book):
    init(book)

    assert "is in the ledger already" in init(book).error


def test_a_zcdp_limit_may_be_stated_as_epsilon_at_a_delta(book):
    said = init(book, "--unit", "zcdp", "--delta", "1e-9")

    assert "rho 0.05" in said.err
    assert "at delta 1e-09" in said.err


def test_show_says_what_is_left(book):
    init(book)
    spend(book, "0.75")

    said = lapwing("ledger", "show", "adult", "--ledger", book)

    assert (said.status, said.err) == (0, "")
    lines = dict(line.rsplit("  ", 1) for line in said.out.splitlines())
    assert {key.strip(): value.strip() for key, value in lines.items()} == {
        "data set": "adult",
        "limit": "epsilon 2",
        "spent": "epsilon 0.75",
        "left": "epsilon 1.25",
        "neighbours": "add-remove",
        "privacy unit": "row",
    }


def test_an_account_that_allows_selections_says_so_everywhere(book):
    opened = init(book, "--unit", "zcdp", "--delta", "1e-6", "--selection-delta", "4e-7")
    Ledger.open(book).debit(
        "adult",
        "release",
        Budget.zcdp("0.001"),
        relation="add-remove",
        privacy_unit="row",
        description={"mechanism": "learn"},
        delta=Fraction(1, 10**7),
    )
    raised = lapwing("ledger", "limit", "adult", "3", "--ledger", book)
    shown = lapwing("ledger", "show", "--ledger", book).out
    history = lapwing("ledger", "history", "--ledger", book).out

    assert "(epsilon 2 at delta 6e-07), and delta 4e-07 on selections; ledger: " in opened.err
    assert "Together, all that is released from it will be within epsilon 2 at delta 1e-06." in opened.err
    assert raised.err.endswith("(epsilon 3 at delta 6e-07), and delta 4e-07 on selections\n")
    lines = [tuple(part.strip() for part in line.split("  ", 1)) for line in shown.splitlines()]
    assert lines[4:7] == [
        ("limit for selections", "delta 4e-07"),
        ("spent on selections", "delta 1e-07"),
        ("left for selections", "delta 3e-07"),
    ]
    assert [line.split()[4:] for line in history.splitlines()] == [
        ["selections", "release", "details"],
        ["delta", "4e-07"],
        ["delta", "1e-07", "release", "learn"],
        [],
    ]


def test_show_without_a_name_shows_all_data_sets(book):
    init(book)
    lapwing("ledger", "init", "letter", "--unit", "zcdp", "--limit", "1", *TERMS, "--ledger", book)

    out = lapwing("ledger", "show", "--ledger", book).out

    assert "adult" in out
    assert "letter" in out


def test_history_lists_every_entry(book):
    init(book)
    spend(book, "0.75")
    lapwing("ledger", "limit", "adult", "3", "--ledger", book)

    out = lapwing("ledger", "history", "--ledger", book).out

    assert [line.split()[2] for line in out.splitlines()[1:]] == ["init", "debit", "limit"]
    assert "release-0.75  Independent" in out


def test_a_limit_is_never_set_below_what_is_spent(book):
    init(book)
    spend(book, "1")

    raised = lapwing("ledger", "limit", "adult", "5", "--ledger", book)
    refused = lapwing("ledger", "limit", "adult", "0.5", "--ledger", book)

    assert "may spend epsilon 5" in raised.err
    assert "below what data set 'adult' has spent, epsilon 1" in refused.error


@pytest.mark.parametrize("command", ["show", "history"])
def test_a_ledger_that_is_not_there_is_refused(book, command):
    said = lapwing("ledger", command, "--ledger", book)

    assert said.status == 1
    assert "there is no ledger" in said.error


def test_an_entry_that_is_dated_after_now_is_said(book, monkeypatch):
    init(book)
    assert "Dated after now" not in lapwing("ledger", "verify", "--ledger", book).out
    with monkeypatch.context() as ahead:
        ahead.setattr(ledger_module, "_now", lambda: "2999-01-01T00:00:00+00:00")
        spend(book, "0.5")

    said = lapwing("ledger", "verify", "--ledger", book)

    assert said.status == 0
    assert "\nDated after now: entry 2. A clock was ahead" in said.out


def test_no_hash_of_an_export_tells_by_trial_what_another_account_is(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger_module, "_now", lambda: "2026-01-01T00:00:00+00:00")
    books = [Ledger.create_or_open(tmp_path / name) for name in ("a.db", "b.db")]
    for each in books:
        for dataset in ("adult", "other"):
            each.init(dataset, unit="pure", limit=2, relation="add-remove", privacy_unit="row")
        spend(each.path, "0.5")

    hidden = [[entry["hash"] for entry in each.export("other")["entries"]] for each in books]
    shown = [each.history("adult")[0].details for each in books]

    assert set(hidden[0]).isdisjoint(hidden[1])
    assert shown[0] == shown[1]
    assert "nonce" not in shown[0]
