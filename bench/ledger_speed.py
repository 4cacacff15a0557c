"""How many debits a second a ledger takes, and how long a balance does, after years of entries.

    python bench/ledger_speed.py [ENTRIES] [WRITERS] [SECONDS] [FOLDER | postgresql://USER@HOST/NAME]

A ledger of ENTRIES debits is made; then WRITERS processes debit for SECONDS. Printed: debits a second, the median and
the longest debit, one balance, one `verify`, and how long the disk takes for one sync. FOLDER is on the disk that is
measured; a database must have no ledger yet, and what is made in it stays. Another version is measured with its `src`
as PYTHONPATH.

On two cores (load 9), syncs of 4 ms, in one run:

    entries, writers      before                      now (log synced after the commit)    synchronous=FULL
    100,000, 1            0.14 debits/s (7.0 s each)  48
    10,000, 16            2.7                         332
    100,000, 16           refused (30 s of waiting)   503 (others: 381, 755, 471)          110, 145, 138

Postgres on the same two cores, the server too, with nothing else running, and SQLite then:

    entries, writers      Postgres (debits/s)    SQLite
    100,000, 16           367                    955
    100,000, 1            385
"""

import os
import statistics
import sys
import tempfile
import time
import uuid
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, repeat
from pathlib import Path

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.chain import append
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.budget.ledger_file import transact
from lapwing.kernel.budget.store import is_address

TERMS = {"relation": "add-remove", "privacy_unit": "row"}
COST = Budget.pure("1e-6")
DETAILS = {"budget": ["pure", "0.000001"], "description": {"mechanism": "Independent", "settings": "a" * 64}}


def made(path: Path, entries: int) -> Ledger:
    """Return a ledger with so many debits."""
    ledger = Ledger.create_or_open(path)
    ledger.init("data", unit="pure", limit=1000, **TERMS)

    def fill(connection) -> None:
        for _ in range(entries):
            new = {"units": 1000, "details": DETAILS, "release_id": uuid.uuid4().hex}
            append(connection, at="2026-01-01T00:00:00+00:00", kind="debit", dataset="data", **new)

    transact(path, "BEGIN IMMEDIATE", fill)
    return ledger


def copied(ledger: Ledger, place: str) -> Ledger:
    """Return a ledger in Postgres with the entries of a file; a part at a time, for each moves the one account."""
    import pyarrow as pa
    from adbc_driver_postgresql import dbapi

    made = Ledger.create_or_open(place)
    made.init("data", unit="pure", limit=1000, **TERMS)
    names = ("number", "at", "kind", "dataset", "release_id", "units", "details", "hash")
    rows = transact(ledger.path, "BEGIN", lambda file: file.execute("SELECT * FROM entries ORDER BY number"))
    with dbapi.connect(place, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER TABLE lapwing_ledger.entries DISABLE TRIGGER entries_stay")
        cursor.execute("DELETE FROM lapwing_ledger.entries")  # the opening has another time than that of the file
        cursor.execute("ALTER TABLE lapwing_ledger.entries ENABLE ALWAYS TRIGGER entries_stay")
        for start in range(0, len(rows), 500):
            part = pa.table(dict(zip(names, zip(*rows[start : start + 500], strict=True), strict=True)))
            cursor.adbc_ingest("entries", part, mode="append", db_schema_name="lapwing_ledger")
        cursor.execute("VACUUM ANALYZE lapwing_ledger.entries")
        cursor.execute("VACUUM FULL ANALYZE lapwing_ledger.accounts")  # one debit at a time leaves nothing behind
    return made


def debits(path: Path | str, begin: float, seconds: float) -> list[float]:
    """Debit from a time on, for some seconds; return how long each debit took."""
    ledger, found = Ledger.open(path), []
    time.sleep(max(begin - time.time(), 0))
    while time.time() < begin + seconds:
        started = time.perf_counter()
        ledger.debit("data", uuid.uuid4().hex, COST, **TERMS, description=DETAILS["description"])
        found.append(time.perf_counter() - started)
    return found


def sync_seconds(folder: Path) -> float:
    """Return the median time of one write that waits for the disk."""
    took = []
    with (folder / "sync").open("wb") as file:
        for _ in range(50):
            started = time.perf_counter()
            file.write(b"x" * 8192)
            file.flush()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - started)
    return statistics.median(took)


def timed(work) -> float:
    """Return how long something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main(entries: int = 100_000, writers: int = 16, seconds: float = 10, folder: str | None = None) -> None:
    """Make, debit and print."""
    place_of_ledger = folder if is_address(folder) else None
    with tempfile.TemporaryDirectory(dir=None if place_of_ledger else folder) as place:
        ledger = made(Path(place, "budget.db"), entries)
        if place_of_ledger is not None:
            ledger = copied(ledger, place_of_ledger)
        path = ledger.path
        with ProcessPoolExecutor(writers) as pool:
            begin = time.time() + 3
            each = pool.map(debits, *(repeat(value, writers) for value in (path, begin, seconds)))
            took = sorted(chain.from_iterable(each))
        print(f"{entries} entries, {writers} writers: {len(took) / seconds:.1f} debits a second")
        print(f"a debit: median {statistics.median(took) * 1e3:.1f} ms, longest {took[-1] * 1e3:.0f} ms")
        print(f"a balance {timed(lambda: ledger.balance('data')) * 1e3:.1f} ms, verify {timed(ledger.verify):.2f} s")
        print(f"a sync of this disk {sync_seconds(Path(place)) * 1e3:.1f} ms")


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, int, float, str), sys.argv[1:], strict=False)))
