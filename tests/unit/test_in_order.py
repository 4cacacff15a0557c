"""Work in several threads whose results come in order, one clean error, and nothing left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import polars  # noqa: F401 - its handling of signals is what a wait must cope with
import polars as pl
import pytest

from lapwing.errors import DataError
from lapwing.rows import source as sources
from lapwing.rows import threads
from lapwing.rows.counting import KeyedColumn
from lapwing.rows.guard import numbers_of_records, run_guarded
from lapwing.rows.source import code_table
from lapwing.rows.threads import in_order
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order_however_long_each_takes(threads):
    def slow(number):
        time.sleep(0.01 * (number % 3))
        return number

    assert list(in_order(slow, range(10), threads=threads)) == list(range(10))


def test_no_more_results_wait_than_are_stated():
    begun = []

    def work(number):
        begun.append(number)
        return number

    results = in_order(work, range(100), threads=2)
    assert next(results) == 0
    time.sleep(0.1)

    assert len(begun) <= 4
    results.close()


def test_an_exception_ends_it_and_sets_the_event_before_running_calls_are_waited_for():
    is_over, ended_early = threading.Event(), []

    def work(number):
        if number == 0:
            raise ValueError("no more")
        ended_early.append(is_over.wait(30))

    with pytest.raises(ValueError, match="no more"):
        list(in_order(work, range(3), threads=2, is_over=is_over))

    assert all(ended_early)
    assert is_over.is_set()


def test_an_interrupt_ends_it_without_the_calls_that_have_not_begun():
    is_over, begun = threading.Event(), []

    def work(number):
        begun.append(number)
        is_over.wait(30)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background of a shell
    stop = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        list(in_order(work, range(3), threads=2, is_over=is_over))
    stop.join()
    signal.signal(signal.SIGINT, before)

    assert sorted(begun) == [0, 1]


@pytest.mark.parametrize(("items", "threads"), [(1, 4), (3, 1)], ids=["item", "thread"])
def test_a_lone_item_or_thread_is_the_callers(items, threads):
    found = list(in_order(lambda _: threading.get_ident(), range(items), threads=threads))

    assert found == [threading.get_ident()] * items


SURPRISED = """
import gc, sys, _thread, time
from lapwing.rows import threads

threads._LONGEST_WAIT = 0.01
gc.disable()

def left():
    cycle = [threads.in_order(abs, range(9), threads=2)]
    next(cycle[0])
    cycle.append(cycle)

def work(item):
    time.sleep(0.001)
    return item

def run(at):
    events = 0
    def surprise(frame, event, _):
        nonlocal events
        events += event in ("call", "c_return")  # where Python itself looks for signals
        if events == at:
            events += 1
            SURPRISE
    sys.setprofile(surprise)
    try:
        assert list(threads.in_order(work, range(4), threads=2)) == [0, 1, 2, 3]
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return events > at

def stays():
    until = time.monotonic() + 10
    while _thread._count() and time.monotonic() < until:
        time.sleep(0.001)
    return _thread._count()

at = 1
while left() or run(at):
    gc.collect()
    assert not stays()
    at += 1
left()
print(at)
"""


@pytest.mark.parametrize("surprise", ["raise KeyboardInterrupt", "gc.collect()"], ids=["interrupt", "garbage"])
def test_neither_an_interrupt_nor_a_left_iterator_in_garbage_leaves_threads_that_wait_for_ever(surprise):
    command = [sys.executable, "-c", SURPRISED.replace("SURPRISE", surprise)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


def test_an_iterator_that_ends_in_one_of_its_own_threads_as_garbage_may_waits_for_nobody():
    is_left, is_closed, found = threading.Event(), threading.Event(), []

    def work(item):
        if item == 1:
            is_left.wait(20)
            found[0].close()
            is_closed.set()
        return item

    found.append(in_order(work, range(9), threads=2))
    assert next(found[0]) == 0
    is_left.set()

    assert is_closed.wait(20)


FORKED = """
import os
from lapwing.rows.threads import in_order

left = in_order(abs, range(9), threads=2)
next(left)
child = os.fork()
left.close()
if child:
    assert os.waitpid(child, 0)[1] == 0
else:
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_waits_for_no_thread_of_the_other():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], timeout=30, check=True)


FIELDS = (
    Field(name="person", type="string", identifier=True),
    Field(name="town", type="string", categories=("Bern", "Chur", "Genf")),
    Field(name="age", type="integer", minimum=0, maximum=9),
)
SCHEMA = Schema(fields=FIELDS)
WITH_UNITS = replace(SCHEMA, privacy_unit=PrivacyUnit("person", 2))


def frame(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(rows)
    towns = np.array(["Bern", "Chur", "Genf", "Uri"])[rng.integers(0, 4, rows)]
    people = [f"p{number}" for number in rng.integers(0, max(rows // 3, 1), rows)]
    return pl.DataFrame({"person": people, "town": towns, "age": rng.integers(-2, 12, rows)})


@pytest.fixture(name="three_workers")
def fixture_of_three_workers(monkeypatch):
    monkeypatch.setattr(threads, "workers", lambda: 3)


@pytest.mark.parametrize("schema", [SCHEMA, WITH_UNITS], ids=["rows", "units"])
@pytest.mark.parametrize("cache", [0, 2**28])
def test_every_answer_is_the_same_with_one_thread_and_with_many(monkeypatch, schema, cache):
    monkeypatch.setattr(sources, "MAX_CHUNK_ROWS", 16)
    field = schema.field("town").domain
    every = identity(field)
    keys = np.arange(every.groups, dtype=np.uint64)[:, None]
    answers = []
    for count in (1, 4):
        monkeypatch.setattr(threads, "workers", lambda count=count: count)
        source = code_table(frame(1000), schema, memory=cache)
        town = (("town", every),)
        both = (("town", every), ("age", identity(schema.field("age").domain)))
        told = [counts.tolist() for counts in source.count([town, both, ()])]
        told += [part.tolist() for part in source.count_keys([KeyedColumn("town", every, keys)])]
        told += [np.concatenate([chunk["age"] for chunk in source.chunks()]).tolist(), source.rows, source.units]
        assert [sum(counts) for counts in told[:3]] == [source.rows] * 3
        answers.append(told)
    assert answers[0] == answers[1]
    assert 0 < answers[0][-2] <= 1000


@pytest.mark.usefixtures("three_workers")
def test_tables_of_more_cells_than_rows_are_counted_whole_by_many_threads(monkeypatch):
    monkeypatch.setattr(sources, "MAX_CHUNK_ROWS", 5)
    wide = Schema(fields=(Field(name="n", type="integer", minimum=0, maximum=9999),))
    rows = np.random.default_rng(3).integers(0, 40, 2000)
    (counts,) = code_table(pl.DataFrame({"n": rows}), wide).count([(("n", identity(wide.field("n").domain)),)])
    assert counts[:40].tolist() == np.bincount(rows, minlength=40).tolist()
    assert counts.sum() == 2000


@pytest.mark.usefixtures("three_workers")
def test_an_error_in_a_thread_quotes_no_cell(monkeypatch):
    monkeypatch.setattr(sources, "MAX_CHUNK_ROWS", 7)

    def broken(_: object, **__: object):
        def encode(cells: object) -> None:
            raise ValueError(f"cell {cells}: canary")

        return encode

    monkeypatch.setattr(sources, "encoder", broken)
    with pytest.raises(DataError) as found:
        code_table(frame(100), SCHEMA)
    assert "canary" not in str(found.value)
    assert str(found.value).endswith("(ValueError)")
    assert found.value.__context__ is None
    assert found.value.__cause__ is None


def test_warnings_of_all_threads_are_dropped_and_the_filters_come_back():
    before = warnings.filters[:]
    both = threading.Barrier(2)
    first_has_ended = threading.Event()
    shown: list[str] = []

    def first() -> None:
        both.wait(20)

    def second() -> None:
        both.wait(20)
        assert first_has_ended.wait(20)
        warnings.warn("a cell", stacklevel=1)

    def run_first() -> None:
        run_guarded("first", first)
        first_has_ended.set()

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: shown.append(str(message))
        inside = warnings.filters[:]
        runs = [threading.Thread(target=run_first), threading.Thread(target=run_guarded, args=("second", second))]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        assert warnings.filters == inside
    assert shown == []
    assert warnings.filters == before


def test_a_function_of_records_that_ends_beside_guarded_work_lets_no_warning_of_it_be_shown():
    begun, goes_on, ended = threading.Event(), threading.Event(), threading.Event()
    shown = []

    def of_record(_):
        begun.set()
        goes_on.wait(10)
        return 1

    def of_records():
        assert list(numbers_of_records(of_record, [{}])) == [1]
        ended.set()

    def work():
        goes_on.set()
        ended.wait(10)
        warnings.warn("a cell", stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: shown.append(str(message))
        inside = warnings.filters[:]
        thread = threading.Thread(target=of_records)
        thread.start()
        begun.wait(10)
        run_guarded("it cannot be read", work)
        thread.join()
        assert warnings.filters == inside
    assert ended.is_set()
    assert shown == []
