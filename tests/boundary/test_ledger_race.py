"""Several processes race for the last units of a ledger: together they get all of them and not one more."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from lapwing.budget.ledger import Ledger

WORKER = Path(__file__).resolve().parents[1] / "helpers" / "ledger_worker.py"
TERMS = {"relation": "add-remove", "privacy_unit": "row"}


def race(ledger: Ledger, workers: int, delta: int) -> list[int]:
    """Start all workers, let them go at once, and return how many debits of 1 unit each was granted.

    Each debit also spends ``delta`` units on selections.
    """
    processes = [
        subprocess.Popen(
            [sys.executable, str(WORKER), "race", str(ledger.path), f"worker{number}", str(delta)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(workers)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [int(process.communicate()[0]) for process in processes]


@pytest.mark.parametrize(
    ("workers", "units"), [(4, 40), pytest.param(8, 200, marks=pytest.mark.full)], ids=["quick", "full"]
)
def test_racing_processes_get_exactly_what_there_is(tmp_path: Path, workers: int, units: int) -> None:
    ledger = Ledger.create_or_open(tmp_path / "budget.db")
    ledger.init("data", unit="pure", limit=Fraction(units, 10**9), **TERMS)

    granted = race(ledger, workers, delta=0)

    assert sum(granted) == units
    assert ledger.balance("data").left == 0
    assert ledger.verify() == units + 1


@pytest.mark.parametrize(
    ("workers", "units"), [(8, 20), pytest.param(8, 200, marks=pytest.mark.full)], ids=["quick", "full"]
)
def test_processes_racing_for_selections_get_exactly_what_is_allowed(tmp_path: Path, workers: int, units: int) -> None:
    ledger = Ledger.create_or_open(tmp_path / "budget.db")
    # One unit of delta is left over, which pays for no debit of three.
    ledger.init("data", unit="zcdp", limit=1, selection_delta=Fraction(3 * units + 1, 10**18), **TERMS)

    granted = race(ledger, workers, delta=3)

    balance = ledger.balance("data")
    assert sum(granted) == units
    assert balance.selection_left == Fraction(1, 10**18)
    assert balance.spent == Fraction(units, 10**12), "those that were refused for delta paid nothing else"
    assert ledger.verify() == units + 1


def test_racing_to_make_the_ledger_makes_one(tmp_path: Path) -> None:
    code = (
        "import sys; from lapwing.budget.ledger import Ledger; from lapwing.errors import BudgetError\n"
        "ledger = Ledger.create_or_open(sys.argv[1])\n"
        "try: ledger.init('data', unit='pure', limit=1, relation='add-remove', privacy_unit='row')\n"
        "except BudgetError: sys.exit(7)\n"
    )
    path = tmp_path / "budget.db"

    processes = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(4)]
    statuses = sorted(process.wait() for process in processes)

    assert statuses == [0, 7, 7, 7]
    assert Ledger.open(path).verify() == 1
