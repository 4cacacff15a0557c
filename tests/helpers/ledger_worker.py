"""A process that uses a ledger, to be raced against others or killed.

    python ledger_worker.py race LEDGER                      debit 1 unit until refused; print how many were paid
    python ledger_worker.py release LEDGER FOLDER RUN ORDER  pay for release after release and write each as a file

ORDER is "debit-first", as Lapwing does it, or "release-first", the planted mistake that the kill test must catch.
"""

import sys
from fractions import Fraction
from itertools import count
from pathlib import Path

from lapwing.budget.budget import Budget
from lapwing.budget.ledger import Ledger
from lapwing.errors import BudgetError

TERMS = {"relation": "add-remove", "privacy_unit": "row"}
UNIT = Budget("pure", Fraction(1, 10**9))


def say(line: str) -> None:
    """Write one line to the process that started this one."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def race(path: str, worker: str) -> None:
    """Debit until nothing is left; the first line says that the work starts."""
    ledger = Ledger.open(path)
    say("ready")
    sys.stdin.readline()
    for paid in count():
        try:
            ledger.debit("data", f"{worker}-{paid}", UNIT, **TERMS, description={})
        except BudgetError as error:
            if "left of its limit" not in str(error):
                raise
            say(str(paid))
            return


def release(path: str, folder: str, run: str, order: str) -> None:
    """Open or make the ledger, then pay for releases and write them until killed; say when the first is done."""
    say("ready")
    ledger = Ledger.create_or_open(path)
    if "data" not in ledger.datasets():
        ledger.init("data", unit="pure", limit=1000, **TERMS)
    for number in count():
        name = f"{run}-{number}"
        steps = [
            lambda name=name: ledger.debit("data", name, UNIT, **TERMS, description={"run": run}),
            lambda name=name: Path(folder, name).write_text("released", encoding="ascii"),
        ]
        for step in steps if order == "debit-first" else reversed(steps):
            step()
        if number == 0:
            say("released")


if __name__ == "__main__":
    {"race": race, "release": release}[sys.argv[1]](*sys.argv[2:])
