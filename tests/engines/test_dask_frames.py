"""Dask frames: counted by their workers, whatever the scheduler and the partitions, and one sentence for a failure."""

import gc
import os
import weakref
from dataclasses import replace

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from helpers.source_answers import answers
from lapwing.errors import DataError
from lapwing.rows.engines import dask_frames as dask_source
from lapwing.rows.engines import distributed
from lapwing.rows.engines.dask_frames import Fault, coded_by_unit, cut, on_worker
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.schemas import Schema

PEOPLE = Schema(
    fields=(
        Field(name="who", type="string", identifier=True),
        Field(name="x", type="integer", minimum=0, maximum=9),
        Field(name="kind", type="string", categories=("a", "b", "c")),
    ),
    privacy_unit=PrivacyUnit("who", 2),
)
ROWS = replace(PEOPLE, privacy_unit=None)
RUN = "the Dask frame cannot be computed; see that its sources are in place, and its workers have Lapwing"


def people(rows=600):
    order = np.random.default_rng(5).permutation(rows)
    who = [[f"p{row % 97}", None, f"{row % 5}.0", str(row % 5)][row % 4] for row in order]
    return pd.DataFrame({"who": who, "x": order % 13, "kind": [("a", "b", "c", "d")[row % 4] for row in order]})


def framed(rows, parts=5):
    return dd.from_pandas(rows, npartitions=parts, sort=False)


def refusal(work):
    with pytest.raises(DataError) as caught:
        work()
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize("schema", [ROWS, PEOPLE], ids=["rows", "units"])
@pytest.mark.parametrize("method", ["disk", "tasks"])
@pytest.mark.parametrize("parts", [1, 2, 9])
def test_answers_do_not_hang_on_partitions_nor_on_how_units_are_brought_together(parts, method, schema):
    rows = people()
    with dask.config.set({"scheduler": "threads", "dataframe.shuffle.method": method}):
        found = answers(code_table(framed(rows, parts), schema), schema)

    expected = answers(code_table(rows, schema), schema)
    assert [key for key in expected if found[key] != expected[key]] == []
    assert found["rows"] < 600 or schema is ROWS


@pytest.mark.parametrize(("chunk_rows", "times"), [(None, 1), (50, 3)], ids=["held", "anew"])
def test_people_are_cut_once_and_held_as_long_as_the_source_is(monkeypatch, chunk_rows, times):
    found = []

    def cut_and_seen(part, schema):
        codes, units = cut(part, schema)
        found.append(weakref.ref(codes["x"]))
        return codes, units

    monkeypatch.setattr(dask_source, "cut", cut_and_seen)
    with dask.config.set(scheduler="threads"):
        source = code_table(framed(people(), 4), PEOPLE, chunk_rows=chunk_rows)
        counts = [source.count([()])[0].tolist() for _ in range(2)]
        assert counts == [[source.rows]] * 2

    assert len(found) == 4 * times
    gc.collect()
    assert any(each() is not None for each in found) == (chunk_rows is None)
    del source
    gc.collect()
    assert all(each() is None for each in found)


def test_opened_texts_of_people_are_refused():
    schema = Schema(
        fields=(PEOPLE.fields[0], Field(name="kind", type="string", open=True)), privacy_unit=PrivacyUnit("who", 1)
    )

    assert refusal(lambda: code_table(framed(people()), schema)) == (
        'column "kind": texts of a table with a privacy unit cannot be learned on Dask; '
        "write the table to Parquet and give the path, or list the categories in the schema"
    )


def test_only_the_columns_of_the_schema_are_computed():
    frame = framed(people())
    seen = []
    with dask.config.set(scheduler="sync"):
        source = code_table(frame.map_partitions(watched, seen.append, meta=frame._meta), ROWS)
        source.count([()])
    rows = [sorted(part.columns) for part in source._reader.selected(("x",)).partitions]

    assert rows == [["x"]] * 5


def watched(part, see):
    see(len(part))
    return part


def test_keys_of_tasks_and_what_they_are_told_hold_no_cell():
    rows = people().assign(who="secret-4711")
    source = code_table(framed(rows), PEOPLE)
    own = [str(key) for part in source._parts for key in part.dask if "lapwing" in str(key)]

    assert [key for part in source._parts for key in part.dask if "4711" in str(key)] == []
    assert own == []


def test_workers_with_another_version_are_refused(monkeypatch):
    source = code_table(framed(people()), ROWS)
    honest, asked = distributed.installed, []
    # The driver asks first, when it makes the tasks.
    monkeypatch.setattr("lapwing.rows.engines.distributed.installed", lambda: asked.append(1) or "other")

    assert honest() != "other"
    assert refusal(lambda: source.count([()])) == (
        "a worker runs another version of Lapwing, Polars or NumPy than this process; install the same on all"
    )
    assert asked


def failing(part):
    raise ValueError(f"secret {part['who'].iloc[0]}")


def test_a_partition_that_fails_is_not_quoted(caplog, capfd):
    frame = framed(people().assign(who="secret-4711"))
    failed = frame.map_partitions(failing, meta=people(4))

    assert refusal(lambda: code_table(failed, PEOPLE).count([()])) == f"{RUN} (ValueError)"
    said = capfd.readouterr()
    assert "secret-4711" not in said.out + said.err + caplog.text


def test_a_fault_found_while_units_are_brought_together_is_told():
    part = coded_by_unit(people().drop(columns="kind"), PEOPLE, 50)

    (told,) = part["unit"]
    assert told == '!LW103 column "kind" cannot be read; convert it to plain numbers or text (KeyError)'


def test_faults_pass_through_later_steps():
    assert on_worker(len, Fault("LW103 first"), ("other", 1)) == Fault("LW103 first")


def test_a_step_that_fails_unforeseen_is_no_failed_task_and_quotes_no_row(monkeypatch, capfd):
    def failing_step(part):
        os.write(2, b"assertion failed: secret-4711")
        raise ValueError(f"secret {part}")

    monkeypatch.setattr(distributed.RowCoder, "unit_rows", lambda _, cells: failing_step(cells))
    units = coded_by_unit(people(), PEOPLE, 50)["unit"].tolist()
    found = on_worker(failing_step, "secret-4711", (distributed.installed(),))

    assert found == Fault("LW103 a worker stopped in the middle of its rows (ValueError)")
    assert units == ["!LW103 a worker stopped in the middle of its rows (ValueError)"]
    assert capfd.readouterr().err == ""


def test_sources_that_are_gone_are_one_sentence(tmp_path):
    path = tmp_path / "rows.parquet"
    people().to_parquet(path)
    source = code_table(dd.read_parquet(path), ROWS)
    path.unlink()

    assert refusal(lambda: source.count([()])) == f"{RUN} (FileNotFoundError)"
