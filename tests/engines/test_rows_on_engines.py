"""Rows of a release as Spark frames: drawn by the executors, lazy, and the same as everywhere else."""

import datetime as dt
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from helpers.models import random_model
from helpers.spark_sessions import SESSIONS, classic, quietly
from lapwing.extras.spark import rows as distributed_rows
from lapwing.extras.spark.rows import spark_rows
from lapwing.model.rows import row_chunks
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

pytestmark = pytest.mark.needs("Spark")

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "id", "type": "string", "role": "identifier"},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
            {"name": "odd `name`, really", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
            {"name": "flag", "type": "boolean"},
            {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
            {
                "name": "moment",
                "type": "datetime",
                "constraints": {"minimum": "2020-03-08T00:00:00", "maximum": "2020-03-09T00:00:00"},
            },
        ]
    }
)
"""A night in which clocks are set forward where the session's time zone is."""


def chunks(rows=1000, chunk=150):
    """Return rows of which seven chunks are drawn."""
    return row_chunks(random_model(SCHEMA, 20, 1), SCHEMA, rows, np.random.default_rng(5), chunk=chunk)


def drawn_here(found):
    return pl.concat(found.frames())


def on_spark(found, session):
    with quietly():
        return spark_rows(found, session)


def collected(frame):
    with quietly():
        return pl.from_arrow(frame.toArrow())


@pytest.fixture(params=SESSIONS)
def session(request):
    """Return each kind of session."""
    return SESSIONS[request.param]()


@pytest.fixture
def release(tmp_path):
    """Return the path of a saved release of small numbers."""
    schema = {"fields": [{"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}]}
    made = lw.synthesize(pl.DataFrame({"age": list(range(100)) * 5}), lw.Schema.from_dict(schema), epsilon=1)
    made.save(tmp_path / "m.lapwing")
    return tmp_path / "m.lapwing"


# ---------------------------------------------------------------------------------------------------------- Spark


def test_every_type_is_exactly_the_engines_own(session):
    frame = on_spark(chunks(), session)

    assert [(field.name, field.dataType.simpleString(), field.nullable) for field in frame.schema] == [
        ("id", "string", True),
        ("age", "bigint", True),
        ("odd `name`, really", "double", True),
        ("sex", "string", True),
        ("flag", "boolean", True),
        ("day", "date", True),
        ("moment", "timestamp_ntz", True),
    ]
    first = frame.where("moment is not null and day is not null").first()
    assert type(first["day"]) is dt.date
    assert dt.datetime(2020, 3, 8) <= first["moment"] <= dt.datetime(2020, 3, 9)


@pytest.mark.parametrize("most", [1, 3])
def test_the_number_of_partitions_changes_no_row(most, monkeypatch):
    found = chunks()
    monkeypatch.setattr(distributed_rows, "_MOST_PARTITIONS", most)

    frame = on_spark(found, classic())

    assert frame.rdd.getNumPartitions() == most
    assert collected(frame).equals(drawn_here(found))


def test_a_task_that_is_tried_again_draws_the_same_rows(tmp_path):
    mark = tmp_path / "failed once"

    def fail_once(batches):
        for batch in batches:
            if not mark.exists():
                mark.touch()
                raise RuntimeError("a lost executor")
            yield batch

    found = chunks()
    frame = on_spark(found, classic())
    with quietly():
        rows = collected(frame.select("age").mapInArrow(fail_once, "age bigint"))

    assert mark.exists()
    assert rows.equals(drawn_here(found).select("age"))


def test_executors_make_up_the_names_that_are_made_up_here():
    who = Field(name="who", type="string", identifier=True, made_up="name")
    named = Schema(fields=(who, *SCHEMA.fields))
    found = row_chunks(random_model(named, 20, 1), named, 60, np.random.default_rng(5), chunk=20)

    names = collected(on_spark(found, classic()))["who"]

    assert names.equals(drawn_here(found)["who"])
    assert names.n_unique() > 50


def test_executors_with_another_version_are_refused(monkeypatch):
    monkeypatch.setattr(distributed_rows, "installed_versions", lambda: "another")

    with quietly(), pytest.raises(Exception, match="a worker runs another version of Lapwing"):
        spark_rows(chunks(), classic()).count()


def test_a_release_for_spark_gives_lazy_frames_of_the_active_session(release):
    classic()
    spark = lw.load(release, kind="spark")

    with quietly():
        frame, none = spark.sample(600_000, seed=4), spark.sample(0)
        each = spark.sample(seed=1, where=[{"age": 3}, {"age": 4}])

    assert type(frame).__module__.startswith("pyspark.sql")
    assert collected(frame).equals(lw.load(release).sample(600_000, seed=4))
    assert collected(none).height == 0
    assert collected(each)["age"].to_list() == [3, 4]
    assert isinstance(spark.query("age"), pd.DataFrame)


def test_a_release_made_from_a_spark_frame_gives_spark_frames():
    table = pd.DataFrame({"age": [5, 6] * 100})
    schema = lw.Schema.from_dict(
        {"fields": [{"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}]}
    )
    with quietly():
        made = lw.synthesize(classic().createDataFrame(table), schema, epsilon=1)
        rows = made.sample(300, seed=2)

    assert made.kind == "spark"
    assert collected(rows).equals(pl.concat(made.frames(300, seed=2)))


def test_without_a_session_rows_for_spark_are_refused_in_one_sentence(release):
    pytest.importorskip("pyspark")
    program = (
        "import sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "import lapwing as lw\n"
        "lw.load(sys.argv[1], kind='spark').sample(3)\n"
    )

    done = subprocess.run([sys.executable, "-c", program, release], capture_output=True, text=True, check=False)

    assert "ParameterError: rows as a Spark frame need an active Spark session" in done.stderr
    assert "NO_ACTIVE" not in done.stderr


# --------------------------------------------------------------------------------------------------------- DuckDB
