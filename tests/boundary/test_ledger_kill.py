"""Kill a releasing process at random moments: every release file must have been paid for, and the ledger must hold."""

import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from lapwing.budget.ledger import Ledger

WORKER = Path(__file__).resolve().parents[1] / "helpers" / "ledger_worker.py"
LONGEST_LIFE_SECONDS = 0.05
"""Making a ledger takes about 10 ms and a release 2 ms, so that kills fall on all of these."""


def kill_a_release(ledger: Path, folder: Path, run: str, order: str, life_seconds: float) -> None:
    """Start a releasing process and kill it ``life_seconds`` after it has loaded its modules."""
    command = [sys.executable, str(WORKER), "release", str(ledger), str(folder), run, order]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(life_seconds)
        still_running = process.poll() is None
        process.kill()
        assert still_running, process.stderr.read()


def unpaid_releases(ledger: Path, folder: Path) -> set[str]:
    """Return the release files without an entry, after checking that the ledger itself is sound."""
    released = {file.name for file in folder.iterdir()}
    opened = Ledger.create_or_open(ledger)
    opened.verify()
    if "data" not in opened.datasets():
        return released
    debits = [entry for entry in opened.history("data") if entry.kind == "debit"]
    assert opened.balance("data").spent == sum((entry.amount for entry in debits), Fraction(0))
    return released - {entry.release_id for entry in debits}


def run_kills(tmp_path: Path, order: str, kills: int, seed: int) -> list[set[str]]:
    """Kill ``kills`` processes, every fourth on a fresh ledger, and return what was unpaid after each."""
    rng = np.random.default_rng(seed)
    unpaid = []
    for kill in range(kills):
        folder = tmp_path / f"{order}-{kill // 4}"
        folder.mkdir(exist_ok=True)
        ledger = folder.with_suffix(".db")
        kill_a_release(ledger, folder, f"run{kill}", order, rng.uniform(0, LONGEST_LIFE_SECONDS))
        unpaid.append(unpaid_releases(ledger, folder))
    assert any(any(folder.iterdir()) for folder in tmp_path.iterdir() if folder.is_dir())
    return unpaid


def test_no_release_is_unpaid_after_twenty_kills(tmp_path: Path) -> None:
    unpaid = run_kills(tmp_path, "debit-first", kills=20, seed=1)

    assert unpaid == [set()] * 20


@pytest.mark.full
def test_no_release_is_unpaid_after_five_hundred_kills(tmp_path: Path) -> None:
    unpaid = run_kills(tmp_path, "debit-first", kills=500, seed=2)

    assert unpaid == [set()] * 500


def test_releasing_before_the_debit_is_caught_by_the_same_kills(tmp_path: Path) -> None:
    unpaid = run_kills(tmp_path, "release-first", kills=20, seed=1)

    # Most of a round is spent inside the debit, so most kills find a file that nobody has paid for.
    assert any(unpaid)
