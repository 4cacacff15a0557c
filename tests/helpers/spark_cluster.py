"""A Spark cluster in small: two executors that are processes of their own, one of which is killed while it works."""

import contextlib
import os
import signal
import threading
import time
from itertools import combinations
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl

from helpers.spark_sessions import builder, quietly
from lapwing.schema.groupings.grouping import evenly

MASTER = "local-cluster[2,1,1024]"
"""Two workers of one core, each with an executor: a Java of its own."""

TOWNS = ("Bern", "Chur", "Thun", "Zug")
SCHEMA = {
    "fields": [
        {"name": "person", "type": "string", "role": "identifier"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        {"name": "income", "type": "number", "constraints": {"minimum": 0, "maximum": 1000}},
        {"name": "town", "type": "string", "categories": list(TOWNS)},
        {"name": "member", "type": "boolean"},
        {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
        {"name": "visits", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}},
    ],
    "privacyUnit": {"field": "person", "maxRows": 3},
}


def people(rows):
    """Return rows of persons with one to some ten each, cells that are missing, and cells that do not fit."""
    rng = np.random.default_rng(rows)
    age = rng.integers(0, 100, rows)
    towns = np.where(rng.random(rows) < 0.005, rng.integers(4, 6, rows), age // 25)
    frame = pl.DataFrame(
        {
            "person": [f"p{number}" for number in rng.integers(0, rows // 3, rows)],
            "age": np.where(rng.random(rows) < 0.001, 200, age),
            "income": np.round(rng.gamma(2, 2 + age), 2),
            "town": np.array([*TOWNS, "?", "Basel"])[towns],
            "member": rng.random(rows) < age / 100,
            "day": np.datetime64("2020-01-01") + rng.integers(0, 366, rows),
            "visits": rng.binomial(9, age / 100),
        }
    )
    missing = pl.Series(rng.random(rows) < 0.05)
    return frame.with_columns(pl.when(~missing).then(pl.col("income", "town")))


def written(frame, folder, parts=8):
    """Write rows as a folder of Parquet files, of which each becomes a partition."""
    folder.mkdir()
    size = -(-frame.height // parts)
    for number in range(parts):
        frame.slice(number * size, size).write_parquet(folder / f"part-{number}.parquet")
    return folder


def pairs(schema):
    """Return the tables of all pairs of columns, of at most 32 groups each and those of missing cells and misfits."""
    return [tuple((field.name, evenly(field.domain, 32)) for field in pair) for pair in combinations(schema.columns, 2)]


# ----------------------------------------------------------------------------------------------------- the cluster


@contextlib.contextmanager
def cluster(folder):
    """Start the cluster, and give its session."""
    made, environment = builder(folder, MASTER)
    settings = {
        "spark.plugins": "",
        "spark.executor.memory": "768m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.ui.liveUpdate.period": "0",  # tasks are told of at once
        "spark.sql.files.openCostInBytes": "128m",  # a partition for each file
    }
    for name, value in settings.items():
        made = made.config(name, value)
    import pyspark

    places = {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_WORKER_DIR": str(folder / "workers")}
    with quietly(), mock.patch.dict(os.environ, environment | places):
        session = made.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def driver_java(session):
    """Return the process of Spark's own driver, which is not this one."""
    return session.sparkContext._gateway.proc.pid


def executors(session):
    """Return the processes of the executors that are alive."""
    java = driver_java(session)
    return sorted(pid for pid, parent in _parents() if parent == java and b"ExecutorBackend" in _command(pid))


def _parents():
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            yield int(path.parent.name), int(path.read_text().rpartition(")")[2].split()[1])


def _command(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@contextlib.contextmanager
def one_killed(session, when=lambda: True):
    """Kill an executor as soon as a task runs and `when` is true; give a list of what was killed until then."""
    killed, over, victim = [], threading.Event(), executors(session)[0]

    def kill():
        while not over.is_set():
            if when() and is_busy(session):
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)
                return
            time.sleep(0.001)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()


def is_busy(session):
    """Return whether a task runs."""
    tracker = session.sparkContext.statusTracker()
    stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
    return any(stage is not None and stage.numActiveTasks for stage in stages)
