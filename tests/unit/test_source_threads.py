"""Chunks are worked on by several threads: same results, same order, one clean error, nothing left behind."""

import threading
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
