"""Chunks are worked on by several threads: same results, same order, one clean error, nothing left behind."""

import signal
import sys
import threading
import time
import traceback
import types
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from lapwing.errors import DataError
from lapwing.rows import source as sources
from lapwing.rows import threads
from lapwing.rows.counting import KeyedColumn
from lapwing.rows.guard import guarded, numbers_of_records
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import PrivacyUnit, Schema

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


def no_thread_stays() -> bool:
    # What a thread does after it has said that it is gone takes no time to speak of.
    until = time.monotonic() + 10
    while (is_there := any(map(serves, sys._current_frames().values()))) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_there


def serves(frame: types.FrameType) -> bool:
    """Return whether a thread is one of ours, by what it does."""
    return any(each.f_code is threads._Crew._serve.__code__ for each, _ in traceback.walk_stack(frame))


@pytest.mark.usefixtures("three_workers")
def test_results_come_in_the_order_of_the_items_though_a_later_one_ends_first():
    second_is_done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert second_is_done.wait(20)
        if item == 1:
            second_is_done.set()
        return item * 10

    assert list(threads.in_order(work, range(6))) == [0, 10, 20, 30, 40, 50]


@pytest.mark.usefixtures("three_workers")
def test_no_more_items_are_taken_than_there_are_workers_and_one():
    taken = []

    def items():
        for item in range(50):
            taken.append(item)
            yield item

    results = threads.in_order(abs, items())
    for result in results:
        assert len(taken) <= result + 3 + 1
    assert len(taken) == 50


@pytest.mark.usefixtures("three_workers")
def test_the_first_error_ends_the_work_and_leaves_no_thread():
    begun = []

    def work(item: int) -> int:
        begun.append(item)
        if item in {4, 5}:
            raise DataError(f"item {item}")
        return item

    results = threads.in_order(work, range(1000))
    with pytest.raises(DataError, match="item 4"):
        list(results)
    assert max(begun) < 10
    assert no_thread_stays()


@pytest.mark.usefixtures("three_workers")
def test_a_reader_that_is_left_leaves_no_thread():
    results = threads.in_order(abs, iter(range(1000)))
    assert next(results) == 0
    assert any(map(serves, sys._current_frames().values()))
    results.close()
    assert no_thread_stays()


@pytest.mark.usefixtures("three_workers")
def test_ctrl_c_stops_all_threads():
    begun = []

    def work(item: int) -> None:
        begun.append(item)
        time.sleep(0.2)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    usual = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            threads.each_done(work, range(1000))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
    assert no_thread_stays()
    assert len(begun) < 20


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

    def broken(_: object):
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
        guarded("first", first)
        first_has_ended.set()

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: shown.append(str(message))
        inside = warnings.filters[:]
        runs = [threading.Thread(target=run_first), threading.Thread(target=guarded, args=("second", second))]
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
        guarded("it cannot be read", work)
        thread.join()
        assert warnings.filters == inside
    assert ended.is_set()
    assert shown == []
