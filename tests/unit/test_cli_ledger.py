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
