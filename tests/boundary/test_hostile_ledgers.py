"""Ledgers of strangers: any SQLite file gives an answer or one sentence of ours, at once."""

import random
import shutil
import sqlite3
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from helpers.hostile import damaged, outcome, watched
from lapwing.errors import BudgetError, LapwingError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger

TERMS = {"relation": "add-remove", "privacy_unit": "row"}
VALUES = [
    *("NULL", "-1", "0", "9223372036854775807", "1e300", "'x'", "x'00ff'", "zeroblob(1000000)", "'1/0'", "'[]'"),
    *("'{}'", "'null'", "char(27, 91)", "'1e999999999'", "0.5", "'zcdp'", "'pure'", "'NaN'"),
    *('\'{"selection_units": "x"}\'', "'{\"selection_units\": 1e400}'", "replace(hex(zeroblob(3000)), '00', '[')"),
]
ENDLESS = """CREATE VIEW accounts AS
WITH RECURSIVE endless(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM endless)
SELECT number AS dataset, 'pure' AS unit, NULL AS delta, 'add-remove' AS relation, 'row' AS privacy_unit,
    1 AS limit_units, 0 AS spent_units FROM endless"""


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("ledger") / "good.db"
    ledger = Ledger.create_or_open(path)
    ledger.init("adult", unit="pure", limit=10, **TERMS)
    ledger.debit("adult", "r1", Budget.pure(1), **TERMS, description={"mechanism": "Test"})
    ledger.note_answers("adult", "r1", ["a" * 64])
    ledger.init("other", unit="zcdp", limit=1, delta="1e-6", selection_delta="1e-9", **TERMS)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def _used(path: Path) -> set[str]:
    """Do everything that a ledger can do."""
    ledger = Ledger(path)
    calls = [partial(Ledger.open, path), ledger.datasets, ledger.verify]
    for name in ("adult", "other"):
        calls += [partial(call, name) for call in (ledger.balance, ledger.history)]
        paid = partial(ledger.debit, name, "r2", Budget.pure("0.1"), **TERMS, description={})
        calls += [partial(ledger.find, name, "r1"), paid, partial(ledger.note_answers, name, "r2", ["b" * 64])]
        calls += [partial(ledger.set_limit, name, 20)]
    return {outcome(call) for call in calls}


def _changed(path: Path, rng: random.Random) -> None:
    """Put odd values into a few places, as whoever has the file can."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for _ in range(rng.choice([1, 1, 2, 4])):
            table = rng.choice(["accounts", "entries", "answers", "selections"])
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            what = rng.choice(
                [
                    *[f"UPDATE {table} SET {rng.choice(columns)} = {rng.choice(VALUES)}"] * 6,
                    f"DELETE FROM {table}",
                    f"INSERT INTO {table} VALUES ({', '.join(rng.choice(VALUES) for _ in columns)})",
                    f"ALTER TABLE {table} RENAME TO {table}_",
                    f"PRAGMA user_version = {rng.choice([0, 1, 3, -5])}",
                ]
            )
            with suppress(sqlite3.Error):
                connection.execute(what)
                columns = columns[:0] if what.startswith("ALTER") else columns
            if not columns:
                break
        for _, statement in triggers:
            with suppress(sqlite3.Error):
                connection.execute(statement)


@pytest.mark.parametrize("name", ["opened", "verified", "asked", "paid"])
def test_a_view_without_end_is_refused_at_once(name, good, tmp_path):
    path = tmp_path / "ledger.db"
    path.write_bytes(good)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("DROP TABLE accounts")
        connection.execute(ENDLESS)
    ledger = Ledger(path)
    calls = {
        "opened": partial(Ledger.open, path),
        "verified": ledger.verify,
        "asked": partial(ledger.balance, "adult"),
        "paid": partial(ledger.debit, "adult", "r2", Budget.pure(1), **TERMS, description={}),
    }

    started = time.process_time()
    with pytest.raises(BudgetError, match="changed by other means"):
        calls[name]()

    assert time.process_time() - started < 2


def test_a_table_of_another_program_in_the_file_is_refused(good, tmp_path):
    (tmp_path / "ledger.db").write_bytes(good)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        connection.execute("CREATE TABLE notes (text)")

    with pytest.raises(BudgetError, match="its tables or triggers do not fit"):
        Ledger.open(tmp_path / "ledger.db")


@pytest.mark.parametrize("count", [25, pytest.param(2_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("how", ["bytes", "values"])
def test_a_changed_ledger_answers_or_refuses_in_our_words(how, count, good, tmp_path):
    rng, found = random.Random(how), set()
    folder = tmp_path / "in"

    for _ in range(count):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "l.db").write_bytes(damaged(good, rng) if how == "bytes" else good)
        if how == "values":
            _changed(folder / "l.db", rng)
        with watched(folder):
            found |= _used(folder / "l.db")

    assert found <= {"read", *(kind.__name__ for kind in LapwingError.__subclasses__())}
    assert {"BudgetError" if how == "values" else "DataError"} <= found
