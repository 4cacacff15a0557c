"""The same rows have the same codes, counts, keys, texts and releases on every engine."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pyarrow as pa
import pytest

import lapwing as lw
from helpers.asked_questions import Asked, asked, exact_parts, shown
from helpers.canary_engines import arrow
from helpers.containers import arrow_type, in_zone
from helpers.engines import ENGINES, each_engine, holds
from helpers.naive_codes import naive_apart, naive_code, naive_text
from helpers.nasty_cells import CELLS, FIELDS
from helpers.planted_values import SCHEMA as PLANTED
from helpers.same_rows import real_columns
from helpers.source_answers import answers, code_answers, text_answers
from helpers.spark_cluster import SCHEMA as MIXED
from helpers.spark_cluster import pairs
from helpers.spark_cluster import people as mixed_people
from lapwing.api.running import run_release
from lapwing.extras.audit.mechanism_pairs import settings_for
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.rows import cache as caches
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

FULL = pytest.mark.full
REAL = ("diabetes130", "eusilc", "mimic-demo-admissions")
"""Tables with privacy units, dates, missing and special values."""

OTHERS = (
    "adult", "bank-marketing", "census-kdd", "houston-crime", "icu-physionet2012", "jester", "letter", "mushrooms",
    "nhanes", "nist-ma2019", "nltcs", "nyc-airbnb", "nycflights13", "rhc-icu", "tarragona", "teacher-climate",
)  # fmt: skip


def people(kind):
    """Return a schema whose privacy units go by a column of a kind, and keep one row."""
    fields = [
        {"name": "who", "type": kind, "role": "identifier"},
        {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}},
    ]
    return Schema.from_dict({"fields": fields, "privacyUnit": {"field": "who", "maxRows": 1}})


PEOPLE = people("string")
SOME = ("PMM", "Adaptive", "evaluation")
QUICK = ("Polars lazy", "DuckDB relation", "Spark")
SLOW = ("Spark Connect", "Spark Parquet")
IN_UNIT = ("pandas", "Polars", "Polars lazy", "Parquet file")
"""Kinds of table whose nasty cells `unit/test_table_nasty_values` reads."""
EACH = each_engine(full=SLOW)
SHORT = each_engine(full=set(ENGINES) - set(QUICK))


def nasty(engine):
    """Return every vector of nasty cells once for each field, as fields and columns of cells."""
    height = max(map(len, CELLS.values()))
    kinds = [kind for kind in CELLS if arrow_type(kind) is not None and holds(engine, kind)]
    fields = {
        f"{kind}: {field.name}": replace(field, name=f"{kind}: {field.name}") for kind in kinds for field in FIELDS
    }
    cells = {kind: CELLS[kind] + [None] * (height - len(CELLS[kind])) for kind in kinds}
    return fields, {name: cells[name.partition(":")[0]] for name in fields}


def zone_of(engine):
    """Return the zone by whose clock an engine shows moments of `arrow_type`: its session's, or the column's own."""
    return "UTC" if engine.startswith("DuckDB") else "America/New_York"


@cache
def slow_codes(name, zone):
    """Return the codes of the nasty cells of a column, in order."""
    kind, _, field = name.partition(": ")
    (field,) = (each for each in FIELDS if each.name == field)
    return [naive_code(in_zone(cell, zone), field) for cell in CELLS[kind]]


@pytest.mark.parametrize("engine", each_engine([name for name in ENGINES if name != "CSV"], full=(*SLOW, *IN_UNIT)))
def test_nasty_cells_have_the_codes_of_the_slow_rules_on_every_engine(engine, tmp_path):
    fields, cells = nasty(engine)
    table = pa.table({name: pa.array(cells[name], arrow_type(name.partition(":")[0])) for name in fields})
    opened = [name for name in fields if name in ("texts: open texts", "floats: open texts", "dates: open texts")]

    source = code_table(ENGINES[engine](table, tmp_path), Schema(fields=tuple(fields.values())))
    found = code_answers(source) | text_answers(source, opened)

    expected = {}
    for name, field in fields.items():
        codes = slow_codes(name, zone_of(engine))
        expected[name] = codes + [naive_code(None, field)] * (len(cells[name]) - len(codes))
    by_column = dict(zip(fields, zip(*found["codes"].elements(), strict=True), strict=True))
    assert [name for name in fields if Counter(by_column[name]) != Counter(expected[name])] == []
    assert found["codes"] == Counter(zip(*expected.values(), strict=True))
    assert found["apart"] == Counter(
        zip(
            *([naive_apart(in_zone(cell, zone_of(engine)), fields[name]) for cell in cells[name]] for name in fields),
            strict=True,
        )
    )
    assert found["dtypes"] == {(name, field.domain.dtype.str) for name, field in fields.items()}
    for name in opened:
        assert found["texts", name] == Counter(naive_text(cell, fields[name]) for cell in cells[name])


def frames(folder, rows):
    """Return the first rows of a real table, and schemas with its privacy unit cut to few rows, and without it."""
    frame, schema = real_columns(folder, rows)
    plain = replace(schema, privacy_unit=None)
    if schema.privacy_unit is None:
        return frame, {"rows": plain}
    return frame, {"units": schema, "few": replace(schema, privacy_unit=cut_unit(schema, 2)), "rows": plain}


def cut_unit(schema, most):
    """Return the privacy unit with so many rows at most."""
    return replace(schema.privacy_unit, max_rows=most)


@pytest.mark.parametrize(
    ("name", "rows"), [("diabetes130", 300), *(pytest.param(name, 4000, marks=FULL) for name in (*REAL, *OTHERS))]
)
@pytest.mark.parametrize("engine", EACH)
def test_real_rows_are_counted_the_same_on_every_engine(engine, name, rows, shared_data, tmp_path):
    frame, schemas = frames(shared_data / name, rows)
    data = ENGINES[engine](frame.to_arrow(), tmp_path)

    for schema in schemas.values():
        found, expected = answers(code_table(data, schema), schema), answers(code_table(frame, schema), schema)

        assert [key for key in expected if found[key] != expected[key]] == []


@pytest.mark.parametrize("engine", EACH)
def test_no_rows_and_one_row_are_counted_on_every_engine(engine, tmp_path):
    table = pa.table({"who": ["a", "a"], "x": [3, 4]})
    for rows in (0, 1, 2):
        (tmp_path / str(rows)).mkdir()
        data = ENGINES[engine](table.slice(0, rows), tmp_path / str(rows))
        for schema in (PEOPLE, replace(PEOPLE, privacy_unit=None)):
            source = code_table(data, schema)

            assert (source.rows, source.units) == ((min(rows, 1),) * 2 if schema is PEOPLE else (rows, rows))
            assert source.count([()])[0].tolist() == [source.rows]
            assert sum(code_answers(source)["codes"].values()) == source.rows


@pytest.mark.parametrize("engine", each_engine())
def test_a_drafted_schema_has_the_same_types_on_every_engine(engine, tmp_path):
    data = ENGINES[engine](arrow().slice(1), tmp_path)

    assert {field.name: field.type for field in lw.Schema.draft(data).fields} == {
        field["name"]: field["type"] for field in PLANTED["fields"]
    }


KEYS = {
    "whole numbers": pa.array([7, 8, 7, None, 7, 8, None, -7, 7, 0] * 3, pa.int64()),
    "floats": pa.array([7.0, 7.5, 7.0, None, float("nan"), -0.0, 0.0, 1e300, 7.5, 2.0**63] * 3, pa.float64()),
    "texts": pa.array(["7", "7.0", "07", None, "", "a", "A", "7 ", "é", "-0.0"] * 3, pa.string()),
    "days": pa.array([0, 1, 0, None, 20_000, 1, -1, None, 0, 7] * 3, pa.date32()),
}


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("texts", "string"),
        *(pytest.param(kind, field, marks=FULL) for kind in KEYS for field in ("string", "integer")),
    ],
)
@pytest.mark.parametrize("engine", EACH)
def test_a_person_keeps_the_same_rows_on_every_engine(engine, kind, field, tmp_path):
    if (engine, kind, field) == ("CSV", "floats", "string"):
        pytest.skip("in a column of names the text NaN is a name")
    frame = pa.table({"who": KEYS[kind], "x": [row * 7 % 10 for row in range(30)]})
    schema = people(field)

    source = code_table(ENGINES[engine](frame, tmp_path), schema)

    expected = code_table(frame, schema)
    assert (source.rows, source.units) == (expected.rows, expected.units)
    assert code_answers(source)["codes"] == code_answers(expected)["codes"]
    assert source.rows < 30


@pytest.mark.needs("Spark")
def test_wide_places_of_cells_lose_no_row_of_a_person_on_spark(tmp_path):
    frame = pa.table({"who": [f"p{row}" for row in range(40)], "x": [row % 10 for row in range(40)]})
    data = ENGINES["Spark"](frame, tmp_path)
    name = "spark.sql.execution.arrow.useLargeVarTypes"
    data.sparkSession.conf.set(name, "true")
    try:
        source = code_table(data, people("string"))
        found = code_answers(source)["codes"]
    finally:
        data.sparkSession.conf.set(name, "false")

    assert (source.rows, source.units) == (40, 40)
    assert found == code_answers(code_table(frame, people("string")))["codes"]


def differences(found, expected):
    """Return which parts are other ones."""
    return sorted(str(key) for key in expected.keys() | found.keys() if found.get(key) != expected.get(key))


@pytest.mark.full  # in CI the test below sees it: the same words on another exact part are another release
@pytest.mark.parametrize("name", [*REAL, "adult"])
@pytest.mark.parametrize("engine", each_engine())
def test_every_question_of_the_room_has_the_same_exact_part_on_every_engine(engine, name, shared_data, tmp_path):
    frame, schema = real_columns(shared_data / name, 60, columns=3)
    every = [run for run in asked(frame, schema, "add-remove") if run.name in SOME]
    data = ENGINES[engine](frame.to_arrow(), tmp_path)

    assert differences(exact_parts(every, data), exact_parts(every, frame)) == []


@pytest.mark.parametrize("name", ["diabetes130", *(pytest.param(name, marks=FULL) for name in (*REAL[1:], "adult"))])
@pytest.mark.parametrize("engine", SHORT)
def test_a_release_of_the_same_secret_words_is_the_same_on_every_engine(engine, name, shared_data, tmp_path):
    frame, schema = real_columns(shared_data / name, 60, columns=3)
    every = [run for run in asked(frame, schema, "add-remove") if run.name in SOME]
    data = ENGINES[engine](frame.to_arrow(), tmp_path)

    for run in every:
        assert differences(shown(run, data), shown(run, frame)) == [], run.name


@cache
def alone():
    """Return a mixed table with persons, misfits and missing cells, and what one machine says of it in memory."""
    frame, schema = mixed_people(1500), Schema.from_dict(MIXED)
    run = Asked(
        "Adaptive", settings_for(Adaptive.small(), schema, "add-remove", pure=False, times=1000), run_release, ()
    )
    return frame, run, everything(run, frame)


def everything(run, data):
    """Return what a source says, its counts of all pairs, and a release of given secret words."""
    source = code_table(data, run.schema)
    counts = {("pair", place): each.tolist() for place, each in enumerate(source.count(pairs(run.schema)))}
    released = {("release", what): content for what, content in shown(run, data).items()}
    return type(source).__name__, answers(source, run.schema) | counts | released


STREAMED = {"Polars": "_Streamed", "Polars lazy": "_Streamed", "Spark": "SparkSource"}


@pytest.mark.parametrize("engine", each_engine(STREAMED))
def test_all_pairs_and_a_release_are_the_same_in_memory_streamed_and_on_clusters(engine, tmp_path, monkeypatch):
    frame, run, (in_memory, expected) = alone()
    monkeypatch.setattr(caches, "CACHE_BYTES", 0)

    found_kind, found = everything(run, ENGINES[engine](frame.to_arrow(), tmp_path))

    assert (in_memory, found_kind) == ("_Cached", STREAMED[engine])
    assert 0 < expected["rows"] < frame.height
    assert differences(found, expected) == []
