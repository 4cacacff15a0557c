"""A process that uses a ledger, to be raced against others or killed.

    python ledger_worker.py race LEDGER WORKER DATASETS      debit 1 unit until refused, for each; print how many it was
    python ledger_worker.py release LEDGER FOLDER RUN ORDER  pay for release after release and write each as a file
    python ledger_worker.py steps LEDGER                     debit, killed before the first, second, ... statement
    python ledger_worker.py serve LEDGER WORKER              debit 1 unit until refused; name each that was paid

DATASETS are names and how many units of delta the selections of each debit spend, as in "data=0,texts=3". ORDER is
"debit-first", as Lapwing does it, or "release-first", the planted mistake that the kill test must catch.
"""

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path

from lapwing.errors import BudgetError
from lapwing.extras.office.stores.postgres import PostgresSession
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger

TERMS = {"relation": "add-remove", "privacy_unit": "row"}
UNIT = Budget("pure", Fraction(1, 10**9))
DELTA_UNIT = Fraction(1, 10**18)


def say(line: str) -> None:
    """Write one line to the process that started this one."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def race(path: str, worker: str, datasets: str) -> None:
    """Debit one dataset after the other until nothing is left; the first line says that the work starts."""
    ledger = Ledger.open(path)
    say("ready")
    sys.stdin.readline()
    say(" ".join(str(paid_until_refused(ledger, worker, *each.split("="))) for each in datasets.split(",")))


def paid_until_refused(ledger: Ledger, worker: str, dataset: str, delta: str) -> int:
    """Return how many debits of a dataset were paid before one was refused."""
    for paid in count():
        release, selected = f"{worker}-{paid}", int(delta) * DELTA_UNIT
        said = failure_of(partial(ledger.debit, dataset, release, UNIT, **TERMS, description={}, delta=selected))
        if said is not None:
            if "left of its limit" not in said:
                raise AssertionError(said)
            return paid
    raise AssertionError("count has no end")


def release(path: str, folder: str, run: str, order: str) -> None:
    """Open or make the ledger, then pay for releases and write them until killed; say when the first is done."""
    say("ready")
    ledger = Ledger.create_or_open(path)
    if "data" not in ledger.datasets():
        ledger.init("data", unit="zcdp", limit=1000, selection_delta=1e-6, **TERMS)
    for number in count():
        name = f"{run}-{number}"
        steps = [
            lambda name=name: ledger.debit("data", name, UNIT, **TERMS, description={"run": run}, delta=DELTA_UNIT),
            lambda name=name: Path(folder, name).write_text("released", encoding="ascii"),
        ]
        for step in steps if order == "debit-first" else reversed(steps):
            step()
        if number == 0:
            say("released")


def serve(path: str, worker: str) -> None:
    """Debit until nothing is left; where the ledger is not there, try the same debit again until it is."""
    ledger = Ledger(path)
    for number in count():
        name = f"{worker}-{number}"
        while (said := failure_of(partial(ledger.debit, "data", name, UNIT, **TERMS, description={}))) is not None:
            if "left of its limit" in said:
                return
            if "cannot be reached, or failed" not in said:
                raise AssertionError(said)
            time.sleep(0.05)
        say(name)


def failure_of(work: Callable[[], object]) -> str | None:
    """Return what a ledger says against something; None where it is done."""
    try:
        work()
    except BudgetError as error:
        return str(error)
    return None


def steps(path: str) -> None:
    """Debit in child after child, each killed one statement later; print the number that each was killed at."""
    ledger = Ledger.open(path)
    for step in count(1):
        child = os.fork()
        if child == 0:
            kill_at_statement(step)
            ledger.debit("data", f"step{step}", UNIT, **TERMS, description={}, delta=DELTA_UNIT)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        balance = ledger.balance("data")
        is_found = ledger.find("data", f"step{step}") is not None
        say(f"{int(is_found)} {balance.spent / UNIT.epsilon} {balance.selection_spent / DELTA_UNIT}")
        if not os.WIFSIGNALED(status):
            return


def kill_at_statement(step: int) -> None:
    """Let this process kill itself when it starts a statement of the store: those of SQLite's triggers count too."""
    started = count(1)
    connect = sqlite3.connect

    def watch(_: str) -> None:
        if next(started) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(*arguments: object, **settings: object) -> sqlite3.Connection:
        connection = connect(*arguments, **settings)
        connection.set_trace_callback(watch)
        return connection

    sqlite3.connect = watched
    rows, script = PostgresSession._rows, PostgresSession.script
    PostgresSession._rows = lambda session, *asked: (watch(asked[0]), rows(session, *asked))[1]
    PostgresSession.script = lambda session, statements: (watch(""), script(session, statements))[1]


if __name__ == "__main__":
    {"race": race, "release": release, "steps": steps, "serve": serve}[sys.argv[1]](*sys.argv[2:])
