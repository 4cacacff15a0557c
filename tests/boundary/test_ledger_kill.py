"""Kill a releasing process at random moments: every release file must have been paid for, and the ledger must hold."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from helpers.ledgers import running
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.budget.store import is_address

WORKER = Path(__file__).resolve().parents[1] / "helpers" / "ledger_worker.py"
LONGEST_LIFE_SECONDS = 0.02
"""After the line waited for. Making a ledger takes about 10 ms and a release 2 ms, so kills fall on all of these."""
SLOWER = {"ready": 50, "released": 5}
"""How many times longer both take in Postgres, whose driver and connection have to be there first."""
NewPlace = Callable[..., Path | str]


def kill_a_release(ledger: Path | str, folder: Path, run: str, order: str, *, after: str, life_seconds: float) -> None:
    """Start a releasing process and kill it ``life_seconds`` after it has said ``after``."""
    command = [sys.executable, str(WORKER), "release", str(ledger), str(folder), run, order]
    with running([command]) as [process]:
        while (line := process.stdout.readline().strip()) != after:
            assert line, process.stderr.read()
        time.sleep(life_seconds)
        still_running = process.poll() is None
        process.kill()
        assert still_running, process.stderr.read()


def unpaid_releases(ledger: Path | str, folder: Path) -> set[str]:
    """Return the release files without an entry, after checking that the ledger itself is sound."""
    released = {file.name for file in folder.iterdir()}
    opened = Ledger.create_or_open(ledger)
    opened.verify()
    if "data" not in opened.datasets():
        return released
    entries, balance = opened.history("data"), opened.balance("data")
    while entries != (again := opened.history("data")):  # Postgres may end a debit whose process was killed
        entries, balance = again, opened.balance("data")
    debits = [entry for entry in entries if entry.kind == "debit"]
    assert balance.spent == sum((entry.amount for entry in debits), Fraction(0))
    assert balance.selection_spent == sum((entry.selection_delta for entry in debits), Fraction(0))
    assert balance.selection_spent == Fraction(len(debits), 10**18)
    return released - {entry.release_id for entry in debits}


def run_kills(tmp_path: Path, new_place: NewPlace, order: str, kills: int, seed: int) -> Iterator[set[str]]:
    """Kill ``kills`` processes and yield what was unpaid after each.

    Every fourth is to make a fresh ledger and may be killed while it does so; the others are killed while releasing.
    """
    rng = np.random.default_rng(seed)
    for kill in range(kills):
        folder = tmp_path / f"{order}-{kill // 4}"
        folder.mkdir(exist_ok=True)
        if kill % 4 == 0:
            ledger = new_place(folder.name)
        after = "ready" if kill % 4 == 0 else "released"
        life_seconds = rng.uniform(0, LONGEST_LIFE_SECONDS) * (SLOWER[after] if is_address(ledger) else 1)
        kill_a_release(ledger, folder, f"run{kill}", order, after=after, life_seconds=life_seconds)
        yield unpaid_releases(ledger, folder)
        assert after == "ready" or (folder / f"run{kill}-0").exists()


def test_no_release_is_unpaid_after_some_kills(tmp_path: Path, new_place: NewPlace) -> None:
    kills = 4 if is_address(new_place()) else 20  # each takes a second where a driver is loaded

    unpaid = run_kills(tmp_path, new_place, "debit-first", kills=kills, seed=1)

    assert [*unpaid] == [set()] * kills


@pytest.mark.full
def test_no_release_is_unpaid_after_five_hundred_kills(tmp_path: Path, new_place: NewPlace) -> None:
    unpaid = run_kills(tmp_path, new_place, "debit-first", kills=500, seed=2)

    assert [*unpaid] == [set()] * 500


def test_a_debit_killed_at_any_statement_pays_in_both_currencies_or_in_none(new_place: NewPlace) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("the worker needs fork")
    ledger = Ledger.create_or_open(new_place())
    ledger.init("data", unit="zcdp", limit=1, selection_delta=1e-6, relation="add-remove", privacy_unit="row")

    command = [sys.executable, str(WORKER), "steps", str(ledger.path)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    # The last child ran out of statements and was not killed. Before it come the statements that open the store, look
    # and decide, and that of the entry: in SQLite with those of its triggers, which move the two accounts, and the
    # commit; in Postgres all in one message.
    assert len(lines) > (6 if is_address(ledger.path) else 15)
    assert set(lines[:-1]) == {"0 0 0"}
    assert lines[-1] == "1 1/1000 1"  # a pure 1e-9 enters as 1e-12
    assert ledger.verify() == 2


def test_releasing_before_the_debit_is_caught_by_the_same_kills(tmp_path: Path) -> None:
    unpaid = run_kills(tmp_path, lambda name: tmp_path / f"{name}.db", "release-first", kills=200, seed=1)

    # Most of a round is spent inside the debit, so most kills find a file that nobody has paid for, and the first of
    # them is enough. Where others keep the machine busy many may miss, but not all of the 150 that fall on a round.
    assert any(unpaid)
