"""A ledger in Postgres at its second debit: after a fork, on another connection, for a role with its own settings."""

import os
from fractions import Fraction

import pytest

from helpers import databases
from helpers.postgres_ledgers import TERMS, paid_ledger, pay
from lapwing.errors import LapwingError
from lapwing.extras.office.stores import postgres as store
from lapwing.extras.office.stores.postgres import transact
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger

pytestmark = pytest.mark.needs("Postgres")

NAMES = ("back\\slash", "quote's", "\\'; DROP TABLE entries; --", "ends in \\", "\\x41", "$1 ? %s")
"""Names that mean something else where a backslash does."""

SETTINGS = {
    "standard_conforming_strings": "off",
    "backslash_quote": "on",
    "search_path": "public",
    "client_encoding": "LATIN1",
}
"""Defaults that the owner of a role may set, each of them for all of its connections."""


@pytest.fixture
def place(postgres):
    return postgres("budget")


def entries_of(server, place, setting):
    """Return the entries of a ledger for a role with a default of its own, as they were paid and as they are kept."""
    databases.run(server.url, f"ALTER ROLE owner SET {setting} = {SETTINGS[setting]}")
    try:
        databases.forget_connections()
        ledger = Ledger.create_or_open(place)
        for name in NAMES:
            ledger.init(f"é {name}", unit="pure", limit=1, **TERMS)
            pay_as(ledger, f"é {name}", "first")
            databases.forget_connections()
            pay_as(ledger, f"é {name}", f"second of {name}")
        kept = [(e.release_id, e.details) for name in NAMES for e in ledger.history(f"é {name}")]
        return ledger.verify(), kept
    finally:
        databases.run(server.url, f"ALTER ROLE owner RESET {setting}")
        databases.forget_connections()


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_role_with_defaults_of_its_own_changes_no_entry(database_server, place, tmp_path, setting):
    (count, kept), (_, filed) = (entries_of(database_server, each, setting) for each in (place, tmp_path / "l.db"))

    assert count == len(kept) == 3 * len(NAMES)
    assert [name for name, _ in kept] == [name for name, _ in filed]


def test_a_store_that_leaves_backslashes_to_the_role_is_seen(database_server, place, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_SETTINGS", store._SETTINGS[:-1])
    assert "standard_conforming_strings" not in " ".join(store._SETTINGS)

    with pytest.raises((LapwingError, KeyError)):
        entries_of(database_server, place, "standard_conforming_strings")


def pay_as(ledger, dataset, name):
    ledger.debit(dataset, name, Budget.pure(Fraction(1, 10)), **TERMS, description={"said": name})


@pytest.mark.parametrize("times", [1, 3])
def test_both_sides_of_a_fork_go_on_debiting(place, times):
    """Neither reads on the other's connection, and none of the debits is lost."""
    ledger = paid_ledger(place)
    pay(ledger, "before")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for number in range(times):
                pay(ledger, f"child {number}")
                assert ledger.find("adult", f"child {number}") is not None
            status = 0
        finally:
            os._exit(status)
    for number in range(times):
        pay(ledger, f"parent {number}")
        assert ledger.find("adult", f"parent {number}") is not None

    assert os.waitpid(child, 0)[1] == 0
    names = {entry.release_id for entry in ledger.history("adult")}
    assert {f"{side} {number}" for side in ("child", "parent") for number in range(times)} <= names
    assert ledger.verify() == 5 + 2 * times


@pytest.mark.parametrize("is_closed", [True, False], ids=["as it is", "planted"])
def test_no_connection_is_held_by_both_sides_of_a_fork(place, monkeypatch, is_closed):
    if not is_closed:
        monkeypatch.setattr(store._close_idle, "__code__", (lambda: None).__code__)
    ledger = paid_ledger(place)
    mine = backend(ledger)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(backend(ledger)).encode())
        os._exit(0)
    os.waitpid(child, 0)

    assert (int(os.read(reading, 20)) not in (mine, backend(ledger))) == is_closed


def backend(ledger):
    """Return the number of the server's process that answers."""
    return transact(ledger.path, "BEGIN", lambda session: session.execute("SELECT pg_backend_pid()")[0][0])
