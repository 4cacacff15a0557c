"""What a debit and a balance check in constant time: the ends of the chain, the account as sealed, the answers."""

import json
import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest

from helpers.ledgers import with_all_rules_off
from lapwing.errors import BudgetError
from lapwing.kernel.budget import chain, ledger_file
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.chain import append
from lapwing.kernel.budget.ledger import Ledger

TERMS = {"relation": "add-remove", "privacy_unit": "row"}
COST = Budget.pure("1e-6")


@pytest.fixture
def ledger(tmp_path):
    """Return a ledger of two accounts, the first of which has the last entry and noted answers."""
    made = Ledger.create_or_open(tmp_path / "budget.db")
    for name in ("adult", "letter"):
        made.init(name, unit="pure", limit=1, **TERMS)
        for release in ("a", "b", "c"):
            pay(made, release, name)
    made.note_answers("adult", "c", ["0" * 64, "1" * 64])
    pay(made, "d")
    return made


def pay(ledger, release, name="adult"):
    return ledger.debit(name, release, COST, **TERMS, description={})


def steps(path, use):
    """Return how many steps SQLite's machine takes."""
    taken = 0

    def count():
        nonlocal taken
        taken += 1

    connect = sqlite3.connect

    def watched(*arguments, **settings):
        connection = connect(*arguments, **settings)
        connection.set_progress_handler(count, 1)
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_file.sqlite3, "connect", watched)
        use(Ledger(path))
    return taken


def filled(path, entries):
    """Return a ledger file with so many debits, each with an answer."""
    Ledger.create_or_open(path).init("adult", unit="pure", limit=1, **TERMS)
    details = {"budget": ["pure", "0.000001"], "description": {}}

    def fill(connection):
        for number in range(entries):
            new = {"units": 1000, "details": details, "release_id": f"r{number}"}
            append(connection, at="2026-01-01T00:00:00+00:00", kind="debit", dataset="adult", **new)
            connection.execute("INSERT INTO answers VALUES ('adult', ?, 0, ?)", (f"r{number}", "0" * 64))

    ledger_file.transact(path, "BEGIN IMMEDIATE", fill)
    return path


def test_debits_and_balances_take_as_many_steps_after_thousands_of_entries_as_after_ten(tmp_path):
    few, many = filled(tmp_path / "few.db", 10), filled(tmp_path / "many.db", 3000)

    for use in (
        lambda ledger: pay(ledger, "new"),
        lambda ledger: ledger.balance("adult"),
        lambda ledger: ledger.opening("adult"),
        lambda ledger: ledger.find("adult", "r5"),
        lambda ledger: ledger.unpaid(["r1", "none"]),
    ):
        assert steps(many, use) < 1.2 * steps(few, use)
    assert steps(many, Ledger.verify) > 50 * steps(few, Ledger.verify)
    assert Ledger(many).verify() == 3002


@pytest.mark.parametrize(
    ("statement", "culprit"),
    [
        ("UPDATE accounts SET spent_units = 0", "the account of data set 'adult'"),
        ("UPDATE accounts SET limit_units = 5000000000", "the account of data set 'adult'"),
        ("UPDATE accounts SET relation = 'replace-one'", "the account of data set 'adult'"),
        ("UPDATE accounts SET privacy_unit = 'id:3'", "the account of data set 'adult'"),
        ("UPDATE entries SET units = 1 WHERE number = 9", "entry 9"),
        ("UPDATE entries SET hash = 'x' WHERE number = 8", "entry 9"),
        ("DELETE FROM entries WHERE number = 9", "the account of data set 'adult'"),
        ("DELETE FROM entries WHERE number = 8", "entry 9"),
        ("DELETE FROM accounts WHERE dataset = 'adult'", "the account of data set 'adult'"),
        ("DELETE FROM answers", "the list of answers"),
    ],
)
def test_a_debit_and_a_balance_notice_what_they_rest_on(ledger, statement, culprit):
    assert with_all_rules_off(ledger.path, statement)

    for use in (lambda: ledger.balance("adult"), lambda: pay(ledger, "e"), lambda: ledger.find("adult", "d")):
        with pytest.raises(BudgetError, match=f"changed by other means than Lapwing: {culprit}"):
            use()


def test_an_entry_that_would_pay_a_release_for_nothing_is_noticed(ledger):
    assert with_all_rules_off(ledger.path, "UPDATE entries SET release_id = 'free' WHERE number = 3")

    with pytest.raises(BudgetError, match="entry 3 does not fit"):
        pay(ledger, "free")


def test_an_opening_that_was_changed_or_taken_away_is_noticed_by_what_reads_a_policy_from_it(ledger):
    for change in ("UPDATE entries SET details = '{}' WHERE number = 1", "DELETE FROM entries WHERE number = 1"):
        assert with_all_rules_off(ledger.path, change)

        with pytest.raises(BudgetError, match="does not fit"):
            pay(ledger, "e")


def test_an_entry_in_the_middle_is_noticed_by_what_reads_it_and_not_by_a_debit(ledger):
    assert with_all_rules_off(ledger.path, "UPDATE entries SET at = '2020' WHERE number = 6")

    pay(ledger, "e")

    for use in (ledger.verify, lambda: ledger.history("adult"), ledger.head, ledger.export):
        with pytest.raises(BudgetError, match="entry 6 does not fit"):
            use()


def test_an_account_as_an_entry_sealed_it_is_checked_by_verify(ledger):
    entry = next(each for each in ledger.history("adult") if each.release_id == "a")

    assert entry.details["account"] == ["pure", None, "add-remove", "row", 10**9, 1000, 0, 0]
    assert ledger.balance("adult").spent == Fraction(4, 10**6)


def test_a_sync_that_fails_is_said_and_the_same_debit_can_be_made_again(ledger, monkeypatch):
    def failing(descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(ledger_file.os, "fsync", failing)
    with pytest.raises(BudgetError, match=r"failed \(SQLITE_IOERR_FSYNC\); check the disk") as refused:
        pay(ledger, "e")
    monkeypatch.undo()

    assert refused.value.__context__ is None
    pay(ledger, "e")
    assert ledger.balance("adult").spent == Fraction(5, 10**6)


def test_a_second_debit_of_the_same_release_waits_for_the_disk_too(ledger, monkeypatch):
    synced, honest = [], ledger_file.os.fsync
    monkeypatch.setattr(ledger_file.os, "fsync", lambda descriptor: (synced.append(1), honest(descriptor)))

    pay(ledger, "d")

    assert synced == [1]


def test_an_entry_without_a_seal_is_refused_though_its_hash_fits(ledger):
    with closing(sqlite3.connect(ledger.path)) as connection:
        (*row, _), (*_, before) = connection.execute("SELECT * FROM entries ORDER BY number DESC LIMIT 2").fetchall()
    row[6] = chain.canonical_json({key: each for key, each in json.loads(row[6]).items() if key != "account"})
    new = f"details = '{row[6]}', hash = '{chain._digest(before, tuple(row))}'"
    assert with_all_rules_off(ledger.path, f"UPDATE entries SET {new} WHERE number = {row[0]}")

    with pytest.raises(BudgetError, match="the account of data set 'adult' does not fit"):
        Ledger(ledger.path).balance("adult")
    with pytest.raises(BudgetError, match=f"entry {row[0]} does not fit"):
        Ledger(ledger.path).verify()
