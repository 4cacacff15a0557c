"""What fails on a cluster changes no count, or ends in one clear sentence that quotes no cell."""

import logging
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

import lapwing as lw
from helpers import spark_steps
from helpers.spark_sessions import RETRIES, SESSIONS, classic, connect, quietly
from lapwing.errors import DataError
from lapwing.extras.spark import frames as spark_frames
from lapwing.extras.spark.source import SparkSource
from lapwing.kernel.budget.ledger import Ledger
from lapwing.rows.entry import source_of
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

pytestmark = pytest.mark.needs("Spark")

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "name", "type": "string", "role": "identifier"},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}},
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
        ],
        "privacyUnit": {"field": "name", "maxRows": 5},
    }
)
FAILED = r"(?m)^a Spark job over the rows failed; Spark's own log says why \(\w+\)$"


@pytest.fixture
def session(request):
    """Return each kind of session."""
    return SESSIONS[request.param]()


def quickly(opened):
    """Let CI use one kind of session: the executors do the same in both, and the full suite shows it."""
    each = [pytest.param(name, marks=[] if name == opened else [pytest.mark.full]) for name in SESSIONS]
    return pytest.mark.parametrize("session", each, indirect=True)


def people(session):
    """Return two hundred rows, of ten persons and in four partitions."""
    return session.range(200, numPartitions=4).selectExpr(
        "concat('Ada Lovelace ', id % 10) as name", "int(id % 7) as age", "if(id % 3 = 0, 'f', 'm') as sex"
    )


def through(frame, step, *arguments):
    """Return the frame after a step that its workers take."""
    with quietly():
        return frame.mapInArrow(partial(step, *map(str, arguments)), frame.schema)


@quickly("classic")
def test_a_killed_worker_changes_no_count(session, tmp_path):
    whole = code_table(people(session), SCHEMA)
    ages = [(each_code("age"), each_code("sex")), ()]

    hurt = code_table(through(people(session), spark_steps.killed_once, tmp_path), SCHEMA)

    assert [each.tolist() for each in hurt.count(ages)] == [each.tolist() for each in whole.count(ages)]
    assert (hurt.rows, hurt.units) == (50, 10)
    assert [path.name for path in tmp_path.iterdir()] == ["killed-0"]


def each_code(name):
    """Return a column with each of its codes as a group."""
    return name, identity(SCHEMA.field(name).domain)


@quickly("Connect")
def test_workers_that_are_killed_again_and_again_end_in_one_sentence(session, tmp_path, caplog):
    hurt = through(people(session).coalesce(1), spark_steps.killed_always, tmp_path)

    with caplog.at_level(logging.DEBUG), pytest.raises(DataError, match=FAILED) as caught:
        lw.synthesize(hurt, SCHEMA, epsilon=1)

    assert caught.value.__context__ is caught.value.__cause__ is None
    assert len(list(tmp_path.iterdir())) == RETRIES
    assert "Ada" not in caplog.text


def test_codes_that_are_lost_with_their_worker_end_a_release_that_can_be_resumed(tmp_path, monkeypatch):
    switch, asked = tmp_path / "switch", []
    count = SparkSource.count

    def count_and_lose(source, tables):
        asked.append(len(tables))
        if len(asked) == 2:
            classic().catalog.clearCache()
            switch.touch()
        return count(source, tables)

    data = through(people(classic()), spark_steps.killed_while_there_is, switch)
    ledger = Ledger.create_or_open(tmp_path / "budget.db")
    ledger.init("people", unit="pure", limit=3, relation="add-remove", privacy_unit="name:5")
    paid = {"ledger": tmp_path / "budget.db", "dataset": "people", "transcript": tmp_path / "t.jsonl"}
    monkeypatch.setattr(SparkSource, "count", count_and_lose)
    with pytest.raises(DataError, match=rf"{FAILED[:-1]}; lw.resume\('\S+t.jsonl', data\) goes on from what is paid"):
        lw.synthesize(data, SCHEMA, epsilon=1, mechanism=lw.Adaptive.small(), **paid)
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    switch.unlink()

    release = lw.resume(tmp_path / "t.jsonl", data)

    assert (tmp_path / "t.jsonl").read_text().splitlines()[: len(lines)] == lines
    assert ledger.balance("people").spent == 1
    assert release.kind == "spark"
    assert len(asked) > 2


@pytest.mark.parametrize(
    ("session", "read"),
    [
        ("classic", "counted"),
        ("Connect", "streamed"),
        pytest.param("classic", "streamed", marks=pytest.mark.full),
        pytest.param("Connect", "counted", marks=pytest.mark.full),
    ],
    indirect=["session"],
)
def test_what_spark_says_of_a_cell_goes_no_further(session, read, caplog, capfd):
    data = people(session).selectExpr("name", "cast(name as int) as age", "sex")

    with caplog.at_level(logging.DEBUG), pytest.raises(DataError, match=FAILED) as caught:
        code_table(data, SCHEMA) if read == "counted" else list(source_of(data).open(SCHEMA).chunks(("age",), 9))

    assert caught.value.__context__ is caught.value.__cause__ is None
    shown = capfd.readouterr()
    assert "Ada" not in f"{caught.getrepr(style='long', showlocals=True)}{caplog.text}{shown.out}{shown.err}"


@quickly("classic")
def test_a_cluster_of_another_version_is_refused(session, monkeypatch):
    monkeypatch.setattr(spark_frames, "installed_versions", lambda: "an older one")

    with pytest.raises(DataError, match=r"^a worker runs another version of Lapwing, Polars or NumPy than this proc"):
        code_table(people(session), SCHEMA)
    with pytest.raises(DataError, match=r"^a worker runs another version of Lapwing, Polars or NumPy than this proc"):
        next(source_of(people(session)).open(SCHEMA).chunks(("age",), 9))


@quickly("Connect")
def test_a_cluster_without_lapwing_is_refused(session, monkeypatch):
    # Functions are found by the name of their module, and this is one that no worker has.
    monkeypatch.setattr(spark_frames.asked, "__module__", "lapwing_of_nobody")
    monkeypatch.setitem(sys.modules, "lapwing_of_nobody", spark_frames)

    with pytest.raises(DataError, match=r"^Spark's executors cannot run Lapwing; install it on each of them, for the"):
        code_table(people(session), SCHEMA)


def test_a_session_that_was_stopped_is_not_taken_for_workers_without_lapwing():
    """`test_spark_cluster` stops a classic session, for which it has a process of its own."""
    port = classic().conf.get("spark.connect.grpc.binding.port")
    with quietly():
        from pyspark.sql.connect.session import SparkSession

        stopped = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
        data = people(stopped)
        stopped.stop()

    with pytest.raises(DataError, match=r"^the Spark frame cannot be used; is its session still running\?"):
        lw.synthesize(data, SCHEMA, epsilon=1)
    assert code_table(people(connect()), SCHEMA).rows == 50


@quickly("Connect")
def test_ctrl_c_ends_the_job_on_the_cluster(session, tmp_path):
    mark = tmp_path / "begun"
    stopper = threading.Thread(target=_interrupt_after, args=(mark,))
    stopper.start()

    with pytest.raises(KeyboardInterrupt) as caught:
        lw.synthesize(through(people(session), spark_steps.slow, mark), SCHEMA, epsilon=1)
    stopper.join()

    assert caught.value.args == ("interrupted; nothing was spent",)
    until = time.monotonic() + 20
    while (running := classic().sparkContext.statusTracker().getActiveJobsIds()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running
    assert code_table(people(session), SCHEMA).rows == 50


def _interrupt_after(mark):
    until = time.monotonic() + 60
    while not Path(mark).exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
