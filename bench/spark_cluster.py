"""A runbook that is executed: what is left where parts of a Spark cluster are killed, and how it is finished.

    PYTHONPATH=tests python bench/spark_cluster.py FOLDER [--rows 100000] [--drawn 1000000]

The cluster is `local-cluster[2,1,1024]`: two executors, each a Java of its own; what kills is SIGKILL. FOLDER is new,
and holds table, ledger, transcripts and rows afterwards. From the source tree only: the table and what kills an
executor are those of the tests.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
from scale_engines import tree_cpu_seconds

import lapwing as lw
from helpers.spark_cluster import MASTER, SCHEMA, cluster, driver_java, executors, one_killed, pairs, people, written
from lapwing.kernel.budget.ledger import Ledger
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

ANSWERS = 5
"""After so many answers a release is hurt."""

SEED = 4


def main():
    """Run all parts, and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10**5)
    parser.add_argument("--drawn", type=int, default=10**6)
    parser.add_argument("--drive", help=argparse.SUPPRESS)  # a release in a process of its own
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.drive:
        drive(folder, options.drive)
        return
    folder.mkdir()
    data = written(people(options.rows), folder / "people")
    account = {"unit": "zcdp", "limit": 10, "delta": "1e-9", "relation": "add-remove", "privacy_unit": "person:3"}
    Ledger.create_or_open(folder / "budget.db").init("people", **account)
    hurt_executors(folder, data, options.drawn)
    kill_python(folder, data)
    kill_java(folder)


def release(frame, transcript):
    """Release, paid from the ledger beside the transcript."""
    paid = {"ledger": transcript.parent / "budget.db", "dataset": "people", "transcript": transcript}
    return lw.synthesize(frame, SCHEMA, epsilon=1, delta="1e-9", mechanism="Adaptive", **paid)


def answers(transcript):
    """Return the whole lines of a transcript after its header."""
    text = transcript.read_bytes() if transcript.exists() else b"\n"
    return text[: text.rfind(b"\n") + 1].splitlines()[1:]


def debits(folder):
    """Return how many releases the ledger has been paid for."""
    return sum(entry.kind == "debit" for entry in Ledger.open(folder / "budget.db").history("people"))


@contextmanager
def timed(what):
    """Print what something has cost."""
    cpu = tree_cpu_seconds()
    yield
    print(f"  {what}: {tree_cpu_seconds() - cpu:.0f} CPU s")


# --------------------------------------------------------------------------------------------------------- executors


def hurt_executors(folder, data, drawn):
    """Kill an executor while pairs are counted, one in a release, and one while rows are drawn."""
    with cluster(folder) as session:
        print(f"{MASTER}, executors {executors(session)}")
        frame = session.read.parquet(str(data))
        hurt_counts(frame, data, session)
        with timed("release in peace"):
            release(frame, folder / "t0.jsonl")
        hurt = folder / "t1.jsonl"
        with one_killed(session, lambda: len(answers(hurt)) >= ANSWERS) as killed:
            made = release(frame, hurt)
        print(f"release, executor {killed} killed in it: {len(answers(hurt))} answers, debits {debits(folder) - 1}")
        made.save(folder / "m.lapwing")
        hurt_rows(folder, drawn, session)


def hurt_counts(frame, data, session):
    """Count all pairs on the cluster in peace and hurt, and compare with one machine."""
    schema = Schema.from_dict(SCHEMA)
    alone, tables = code_table(data, schema), pairs(schema)
    expected = alone.count(tables)
    with timed("coding, and counting in peace"):
        source = code_table(frame, schema)
        in_peace = source.count(tables)
    with one_killed(session) as killed:
        while not killed:
            hurt = source.count(tables)
    source.close()
    print(f"{alone.rows} rows of {alone.units} persons, {sum(each.size for each in expected)} cells of all pairs")
    for what, counts in (("in peace", in_peace), (f"executor {killed} killed while it counts", hurt)):
        same = sum(np.array_equal(*each) for each in zip(counts, expected, strict=True))
        print(f"{what}: {same} of {len(tables)} tables as on one machine")


def hurt_rows(folder, drawn, session):
    """Have executors write synthetic rows in peace and hurt, and compare with the command."""
    kind = lw.load(folder / "m.lapwing", kind="spark")
    with timed(f"{drawn} rows written by executors"):
        kind.sample(drawn, seed=SEED).write.parquet(str(folder / "rows0"))
    with one_killed(session) as killed:
        kind.sample(drawn, seed=SEED).write.parquet(str(folder / "rows1"))
    with timed("and by the command"):
        command("sample", folder / "m.lapwing", "--rows", drawn, "--seed", SEED, "-o", folder / "rows.parquet")
    expected = pl.read_parquet(folder / "rows.parquet")
    for what, name in (("in peace", "rows0"), (f"executor {killed} killed while it draws", "rows1")):
        is_same = pl.read_parquet(folder / name / "*.parquet").equals(expected)
        print(f"{what}: {'the same rows' if is_same else 'OTHER ROWS'} as of `lapwing sample --seed {SEED}`")


def command(*arguments):
    """Run `lapwing`."""
    subprocess.run([sys.executable, "-W", "ignore", "-m", "lapwing", *map(str, arguments), "--quiet"], check=True)


# ----------------------------------------------------------------------------------------------------------- drivers


def kill_python(folder, data):
    """Kill the Python of a driver in a release, and finish it on one machine."""
    transcript, paid = folder / "t2.jsonl", debits(folder)
    with driver(folder, transcript.name) as (child, _):
        until(lambda: len(answers(transcript)) >= ANSWERS)
        child.kill()
        child.wait()
    before = answers(transcript)
    print(f"driver's Python killed: {len(before)} answers, debits {debits(folder) - paid}")
    command("resume", transcript, data, "-o", folder / "resumed.parquet", "--model", folder / "resumed.lapwing")
    print(f"`lapwing resume` on one machine: {finished(transcript, before)}, debits {debits(folder) - paid}")


def kill_java(folder):
    """Kill the Java of a driver in a release, and finish it on a new cluster."""
    transcript, paid = folder / "t3.jsonl", debits(folder)
    with driver(folder, transcript.name) as (child, java):
        until(lambda: len(answers(transcript)) >= ANSWERS)
        os.kill(java, signal.SIGKILL)
        said = child.stdout.read().strip()
    before = answers(transcript)
    print(f"driver's Java killed: {len(before)} answers, debits {debits(folder) - paid}; it is said:")
    print("  " + said.replace("; `", ";\n  `"))
    with driver(folder, transcript.name) as (child, _):
        child.wait()
    print(f"`lw.resume` on a new cluster: {finished(transcript, before)}, debits {debits(folder) - paid}")


def finished(transcript, before):
    """Return in words what became of a transcript."""
    now = answers(transcript)
    kept = "those before as they were" if now[: len(before)] == before else "OTHER ANSWERS"
    return f"{len(now)} answers, {kept}"


@contextmanager
def driver(folder, transcript):
    """Start a release in a process of its own; give it, and the process of its Java."""
    program = [sys.executable, "-W", "ignore", __file__, str(folder), "--drive", transcript]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        java = int(child.stdout.readline())
        yield child, java
    until(lambda: not Path(f"/proc/{java}").exists())


def drive(folder, name):
    """Release, or resume what was begun, on a cluster."""
    transcript = folder / name
    with cluster(folder) as session:
        print(driver_java(session), flush=True)
        frame = session.read.parquet(str(folder / "people"))
        try:
            lw.resume(transcript, frame) if transcript.exists() else release(frame, transcript)
        except lw.LapwingError as error:
            print(str(error).replace(str(folder), "FOLDER"), flush=True)
            os._exit(1)  # a session without its Java cannot be stopped


def until(true):
    """Wait, ten minutes at most."""
    end = time.monotonic() + 600
    while not true():
        if time.monotonic() > end:
            raise TimeoutError("nothing happened")
        time.sleep(0.005)


if __name__ == "__main__":
    main()
