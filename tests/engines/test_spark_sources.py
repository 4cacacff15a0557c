"""Executors code, cut and count the rows of a Spark frame, and this process gets the counts it would have made."""

import contextlib
import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.source_answers import answers, text_answers
from helpers.spark_sessions import SESSIONS, classic, connect, frame
from lapwing.errors import DataError, LapwingError
from lapwing.extras.spark.source import SparkSource
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.rows.source import code_table, coded_table
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.schemas import Schema

pytestmark = pytest.mark.needs("Spark")

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "who", "type": "integer", "role": "identifier"},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
            {"name": "size", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
        ],
        "privacyUnit": {"field": "who", "maxRows": 2},
    }
)
PLAIN = replace(SCHEMA, privacy_unit=None)


def people(rows=300):
    """Return a table in which some persons have more than two rows, and some rows have no person."""
    rng = np.random.default_rng(8)
    return pl.DataFrame(
        {
            "who": pl.Series(rng.integers(0, rows // 3, rows)).set(pl.Series(rng.random(rows) < 0.1), None),
            "age": rng.integers(0, 100, rows),
            "size": rng.random(rows),
            "sex": rng.choice(["f", "m", "?"], rows),
        }
    )


QUICK = (("classic", PLAIN, None), ("classic", SCHEMA, 20), ("Connect", PLAIN, 20), ("Connect", SCHEMA, None))
"""Each pair of a session, of rows or units, and of codes that are kept or made anew; the full suite has all triples."""


@pytest.mark.parametrize(
    ("opened", "schema", "chunk_rows"),
    [
        pytest.param(*each, marks=[] if each in QUICK else [pytest.mark.full])
        for each in itertools.product(SESSIONS, (PLAIN, SCHEMA), (None, 20))
    ],
    ids=lambda each: ("rows" if each is PLAIN else "units") if isinstance(each, Schema) else str(each),
)
def test_all_answers_are_those_of_this_process(opened, schema, chunk_rows):
    rows = people()

    source = code_table(frame(SESSIONS[opened](), rows.to_arrow()), schema, chunk_rows=chunk_rows)

    assert answers(source, schema) == answers(code_table(rows, schema), schema)
    assert source.rows < 300 or schema is PLAIN


def test_how_rows_are_spread_over_partitions_changes_nothing():
    rows = people().with_columns(pl.lit("f").alias("sex"), pl.lit(0.5).alias("size"))  # many equal rows
    expected = answers(code_table(rows, SCHEMA), SCHEMA)

    for parts in (1, 7):
        spread = frame(classic(), rows.sample(fraction=1, shuffle=True, seed=parts).to_arrow(), parts)

        assert answers(code_table(spread, SCHEMA), SCHEMA) == expected


def test_counts_alone_leave_the_executors(monkeypatch):
    monkeypatch.setattr(SparkSource, "chunks", lambda _: pytest.fail("codes were asked for"))
    monkeypatch.setattr(type(classic()), "createDataFrame", None)

    for mechanism in ("Adaptive", "PMM"):  # the first asks all that Independent asks
        lw.synthesize(people_on_spark(), SCHEMA, epsilon=1, mechanism=mechanism)


def people_on_spark():
    """Return the people as rows that Spark makes itself."""
    return (
        classic()
        .range(300, numPartitions=3)
        .selectExpr("id % 90 as who", "id % 100 as age", "id / 300.0D as size", "if(id % 2 = 0, 'f', 'm') as sex")
    )


def kept():
    """Return the numbers of what Spark keeps; it drops of itself what earlier tests have left."""
    return set(map(int, str(classic()._jsc.sc().getPersistentRDDs().keys().mkString(" ")).split()))


def test_codes_are_kept_by_spark_until_the_table_is_closed(monkeypatch):
    classic().catalog.clearCache()  # a plan that an earlier test has left there is not kept once more
    before = kept()
    with coded_table(people_on_spark(), SCHEMA) as source:
        assert len(kept() - before) == 1
        assert code_table(people_on_spark(), SCHEMA, chunk_rows=50).rows == source.rows
        assert len(kept() - before) == 1
    assert kept() <= before

    monkeypatch.setattr("lapwing.extras.spark.frames.SparkJobs.collected", lambda *_: pytest.fail("lost"))
    with pytest.raises(pytest.fail.Exception, match="lost"):
        code_table(people_on_spark(), SCHEMA)
    assert kept() <= before


@pytest.mark.parametrize("stop", [None, RuntimeError, KeyboardInterrupt])
def test_nothing_is_kept_by_spark_after_a_release_however_it_ends(stop, monkeypatch):
    def run(*_):
        raise stop

    if stop is not None:
        monkeypatch.setattr(Independent, "run", run)
    before = kept()
    with contextlib.suppress(LapwingError, KeyboardInterrupt):
        lw.synthesize(people_on_spark(), SCHEMA, epsilon=1, mechanism="Independent")

    assert kept() <= before


@pytest.mark.parametrize("opened", ["classic", "Connect"])
def test_texts_are_read_without_a_privacy_unit_and_refused_with_one(opened):
    rows = pl.DataFrame({"who": [1, 1, 2], "town": ["York", "", "Bath"]})
    schema = Schema(fields=(SCHEMA.field("who"), Field(name="town", type="string", open=True)))
    data = frame(SESSIONS[opened](), rows.to_arrow())

    assert text_answers(code_table(data, schema), ["town"]) == text_answers(code_table(rows, schema), ["town"])
    with pytest.raises(DataError, match=r'^column "town": texts of a table .* on Spark; write the table to Parquet'):
        code_table(data, replace(schema, privacy_unit=PrivacyUnit("who", 1)))


FEW = ("Adaptive", "PMM")
MORE = ("PSMM", "Grid", "KDTree", "Microaggregation", "Independent", "LinearStatistics")


@pytest.mark.parametrize("mechanism", [*FEW, *(pytest.param(name, marks=pytest.mark.full) for name in MORE)])
def test_every_mechanism_releases_a_frame_of_connect(mechanism):
    release = lw.synthesize(frame(connect(), people(60).to_arrow()), SCHEMA, epsilon=2, mechanism=mechanism)

    assert release.kind == "spark"
    assert release.certificate.to_dict()["mechanism"] == mechanism
