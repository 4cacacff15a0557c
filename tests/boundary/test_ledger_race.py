"""Several processes race for the last units of a ledger: together they get all of them and not one more."""

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from helpers.ledgers import running
from lapwing.kernel.budget.ledger import Ledger

WORKER = Path(__file__).resolve().parents[1] / "helpers" / "ledger_worker.py"
TERMS = {"relation": "add-remove", "privacy_unit": "row"}
NewPlace = Callable[..., Path | str]


def race(ledger: Ledger, workers: int, datasets: str) -> list[list[int]]:
    """Start all workers, let them go at once, and return how many debits of 1 unit of each dataset they were granted.

    datasets: names, and how many units of delta each debit spends on selections, as ``ledger_worker.py`` takes them.
    """
    command = [sys.executable, str(WORKER), "race", str(ledger.path)]
    with running([*command, f"worker{number}", datasets] for number in range(workers)) as processes:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.communicate() for process in processes]
    assert {err for _, err in said} == {""}
    return [[*map(int, out.split())] for out, _ in said]


@pytest.mark.parametrize(
    ("workers", "units"), [(4, 20), pytest.param(16, 200, marks=pytest.mark.full)], ids=["quick", "full"]
)
def test_racing_processes_get_exactly_what_there_is_and_what_is_allowed_for_selections(
    new_place: NewPlace, workers: int, units: int
) -> None:
    ledger = Ledger.create_or_open(new_place())
    ledger.init("data", unit="pure", limit=Fraction(units, 10**9), **TERMS)
    # One unit of delta is left over, which pays for no debit of three.
    ledger.init("texts", unit="zcdp", limit=1, selection_delta=Fraction(3 * units + 1, 10**18), **TERMS)

    granted = race(ledger, workers, "data=0,texts=3")

    balance = ledger.balance("texts")
    assert [*map(sum, zip(*granted, strict=True))] == [units, units]
    assert ledger.balance("data").left == 0
    assert balance.selection_left == Fraction(1, 10**18)
    assert balance.spent == Fraction(units, 10**12), "those that were refused for delta paid nothing else"
    assert ledger.verify() == 2 * (units + 1)


def test_racing_to_make_the_ledger_makes_one(new_place: NewPlace) -> None:
    code = (
        "import sys; from lapwing.kernel.budget.ledger import Ledger; from lapwing.errors import BudgetError\n"
        "ledger = Ledger.create_or_open(sys.argv[1])\n"
        "try: ledger.init('data', unit='pure', limit=1, relation='add-remove', privacy_unit='row')\n"
        "except BudgetError: sys.exit(7)\n"
    )
    path = new_place()

    with running([[sys.executable, "-c", code, str(path)]] * 4) as processes:
        statuses = sorted(process.wait() for process in processes)

    assert statuses == [0, 7, 7, 7]
    assert Ledger.open(path).verify() == 1


MIXED = """
import sys, threading
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.errors import BudgetError
TERMS = {"relation": "add-remove", "privacy_unit": "row"}
path, worker, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])

def work(name):
    ledger = Ledger.create_or_open(path)
    for dataset in ("one", "two"):
        try:
            ledger.init(dataset, unit="pure", limit=1, **TERMS)
        except BudgetError as error:
            assert "is in the ledger already" in str(error), error
    for number in range(rounds):
        release = f"{name}-{number}"
        ledger.debit("one", release, Budget.pure("1e-9"), **TERMS, description={})
        ledger.note_answers("one", release, ["a" * 64])
        ledger.debit("two", "the same for all", Budget.pure("1e-9"), **TERMS, description={})
        ledger.note_answers("one", release, ["a" * 64, "b" * 64])
        ledger.set_limit("two", 1 + number)
        assert ledger.find("one", release).release_id == release
        assert ledger.balance("two").spent * 10**9 == 1

threads = [threading.Thread(target=work, args=(f"{worker}-{thread}",)) for thread in range(3)]
threading.excepthook = lambda failure: (print(failure.exc_value, flush=True), sys.exit(9))
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.mark.parametrize(
    ("workers", "rounds"), [(2, 3), pytest.param(8, 20, marks=pytest.mark.full)], ids=["quick", "full"]
)
def test_threads_of_several_processes_that_do_all_things_at_once_lose_nothing(
    new_place: NewPlace, workers: int, rounds: int
) -> None:
    path = new_place()
    command = [sys.executable, "-W", "error", "-c", MIXED, str(path)]

    with running([*command, f"w{number}", str(rounds)] for number in range(workers)) as started:
        said = [process.communicate() for process in started]

    ledger = Ledger.open(path)
    releases = workers * 3 * rounds
    assert said == [("", "")] * workers
    assert ledger.balance("one").spent == Fraction(releases, 10**9)
    assert ledger.balance("two").spent == Fraction(1, 10**9)
    assert ledger.verify() == 2 + releases + 1 + releases
