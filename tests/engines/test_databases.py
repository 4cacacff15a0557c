"""Queries of real databases: the same codes as from Parquet, by the types of columns, asked once, and read-only."""

import json
import sqlite3
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers import databases
from helpers.command import lapwing
from helpers.containers import arrow_type, in_zone
from helpers.naive_codes import naive_code
from helpers.nasty_cells import CELLS, FIELDS
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

NAMES = [field.name for field in FIELDS]
FLAG = {"fields": [{"name": "flag", "type": "boolean"}, {"name": "age", "type": "integer", "categories": [1, 2]}]}

FLAG_ALONE = {"fields": FLAG["fields"][:1]}


@pytest.fixture(scope="module")
def server():
    with databases.postgres() as url:
        yield url


@pytest.fixture(params=[pytest.param("postgresql", marks=pytest.mark.needs("Postgres")), "sqlite", "duckdb"])
def made(request, tmp_path):
    """Give a maker of queries of cells in one kind of database; None where it cannot hold them."""

    def make(cells, kind, names=NAMES):
        if request.param == "sqlite":
            return databases.in_sqlite(tmp_path, cells, names) if kind in ("floats", "integers", "texts") else None
        if kind == "mixed" or (request.param == "postgresql" and kind == "unsigned"):
            return None
        table = databases.one_column(cells, arrow_type(kind))
        if request.param == "duckdb":
            return databases.in_duckdb(tmp_path, table, names)
        return databases.in_postgres(request.getfixturevalue("server"), table, names)

    make.kind = request.param
    return make


@pytest.mark.parametrize("kind", CELLS)
def test_nasty_cells_have_the_codes_that_parquet_gives(made, kind):
    cells = [cell for cell in CELLS[kind] if made.kind != "postgresql" or cell != "\x00"]  # which it cannot store
    query = made(cells, kind)
    if query is None:
        pytest.skip("this database has no such type")

    chunks = list(code_table(query, Schema(fields=FIELDS)).chunks())

    for field in FIELDS:
        codes = np.concatenate([chunk[field.name] for chunk in chunks]).tolist()
        assert [(cell, code) for cell, code in zip(cells, codes, strict=True)] == [
            (cell, naive_code(in_zone(cell, "UTC"), field))
            for cell in cells  # by the session's clock
        ], field.name


SPILLS = {
    "duckdb": "SELECT current_setting('temp_directory') = '' AS flag",  # no folder: what does not fit is refused
    "sqlite": "SELECT temp_store = 2 AS flag FROM pragma_temp_store",  # 2: in memory
}
"""Whether a connection keeps in memory what its query sorts and joins."""


@pytest.mark.parametrize("kind", SPILLS)
def test_a_database_in_a_file_writes_nothing_of_a_query_down_elsewhere(kind, tmp_path):
    path = tmp_path / "kept.db"
    (databases.duckdb if kind == "duckdb" else sqlite3).connect(path).close()
    path.touch()

    chunks = list(code_table(lw.Query(SPILLS[kind], f"{kind}:///{path}"), Schema.from_dict(FLAG_ALONE)).chunks())

    assert [chunk["flag"].tolist() for chunk in chunks] == [[1]]


@pytest.mark.parametrize("kind", ["integers", "texts"])
def test_a_query_is_asked_once_and_gives_the_same_rows_again(made, kind):
    query = made(CELLS[kind][:6], kind, ["age"])
    schema = Schema.from_dict({"fields": [{"name": "age", "type": "integer", "categories": [5, 1]}]})
    before = code_table(query, schema).count([()])
    if made.kind == "postgresql":
        databases.run(query.url, "DROP TABLE kept")
    elif made.kind == "sqlite":
        with sqlite3.connect(query.url.removeprefix("sqlite:///")) as connection:
            connection.execute("DROP TABLE kept")
    else:  # no lock is left either
        databases.duckdb.connect(query.url.removeprefix("duckdb:///")).execute("DROP TABLE kept").close()

    assert code_table(query, schema, chunk_rows=2).count([()]) == before == [[6]]
    with pytest.raises(lw.DataError, match="the query cannot be run"):
        code_table(lw.Query(query.sql, query.url), schema)


def test_a_release_of_a_query_gives_polars_rows(made):
    query = made([1, 2, None] * 30, "integers", ["flag", "age"])  # 2 is no Boolean

    rows = lw.synthesize(query, FLAG, epsilon=1, misfits=1, seed=1).sample(5)

    assert isinstance(rows, pl.DataFrame)
    assert rows.columns == ["flag", "age"]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO kept VALUES (1) RETURNING *",
        "SELECT 1 AS age) AS q; DROP TABLE kept; SELECT * FROM (SELECT 1",
        "DROP TABLE kept",
        "SELECT nothing FROM kept",
        "SELECT 1 / 0 AS age",
        "WITH gone AS (DELETE FROM kept RETURNING *) SELECT * FROM gone",
    ],
)
def test_a_query_that_would_write_or_fails_is_refused_and_changes_nothing(made, sql):
    kept = made([1, 2], "integers", ["flag", "age"])
    if "1 / 0" in sql and made.kind != "postgresql":
        pytest.skip("there it is null")

    with pytest.raises(lw.DataError) as caught:
        lw.synthesize(lw.Query(sql, kept.url), FLAG, epsilon=1)

    assert caught.value.code in ("LW103", "LW104")
    assert sql not in str(caught.value)
    assert caught.value.__context__ is None
    assert code_table(kept, Schema.from_dict(FLAG)).count([()]) == [[2]]


def test_columns_of_one_name_and_lists_are_refused(made):
    query = made([1, 2], "integers", ["flag", "age"])
    twice = lw.Query("SELECT cell AS age, cell AS age, cell AS flag FROM kept", query.url)

    with pytest.raises(lw.LapwingError) as caught:
        lw.synthesize(twice, FLAG, epsilon=1)
    assert caught.value.code == "LW105"
    if made.kind == "sqlite":
        return
    array = "ARRAY[1, 2]" if made.kind == "postgresql" else "[1, 2]"
    with pytest.raises(lw.DataError, match='column "age" holds several values per cell'):
        lw.synthesize(lw.Query(f"SELECT {array} AS age, true AS flag", query.url), FLAG, epsilon=1)


def test_bytes_and_broken_text_of_sqlite_are_those_of_parquet(tmp_path):
    blobs = [b"red", b"\xff", None, b"5"]
    query = databases.in_sqlite(tmp_path, blobs, NAMES)
    as_text = lw.Query(query.sql.replace("cell AS", "CAST(cell AS TEXT) AS"), query.url)
    pl.DataFrame({name: pl.Series(blobs, dtype=pl.Binary) for name in NAMES}).write_parquet(tmp_path / "blobs.parquet")
    schema = Schema(fields=FIELDS)

    ours, texts, theirs = (
        next(code_table(each, schema).chunks()) for each in (query, as_text, tmp_path / "blobs.parquet")
    )

    for name in NAMES:
        assert ours[name].tolist() == texts[name].tolist() == theirs[name].tolist(), name


def test_a_database_that_is_not_there_is_not_made(tmp_path):
    for url in (f"sqlite:///{tmp_path}/no.db", f"duckdb:///{tmp_path}/no.duckdb"):
        with pytest.raises(lw.DataError, match="does not exist") as caught:
            lw.synthesize(lw.Query("SELECT 1 AS age", url), FLAG, epsilon=1)
        assert caught.value.code == "LW101"
    assert list(tmp_path.iterdir()) == []


def test_commands_take_a_query_for_their_table(made, tmp_path, monkeypatch):
    query = made([1, 2] * 50, "integers", ["flag", "age"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(FLAG))
    blank = {"name": "age", "type": "integer", "provenance": "dp"}
    (tmp_path / "blank.json").write_text(json.dumps({"fields": [FLAG["fields"][0], blank], "draft": True}))
    given = ("--sql", query.sql, "--db", query.url)

    for words in (
        ("schema", "draft", *given, "-o", "d.json"),
        ("schema", "check", "s.json", *given),
        (
            "synthesize",
            *given,
            "--schema",
            "s.json",
            "--epsilon",
            "1",
            "--misfits",
            "1",
            "-o",
            "out.parquet",
            "--transcript",
            "t",
        ),
        ("resume", "t", *given, "-o", "again.parquet"),
        ("evaluate", "out.parquet", *given, "--schema", "s.json"),
        ("anonymize", *given, "--schema", "s.json", "--min-group-size", "5", "-o", "groups.csv"),
        ("schema", "learn", *given, "--schema", "blank.json", "--epsilon", "5", "-o", "learned.json"),
    ):
        said = lapwing(*words)
        assert said.status == 0, (words, said)

    assert pl.read_parquet("out.parquet").equals(pl.read_parquet("again.parquet"))


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (["a.csv", "--sql", "x", "--db", "sqlite:///a.db"], "given twice", "LW316"),
        (["--sql", "x"], "go together", "LW316"),
        (["a.csv", "--db", "sqlite:///a.db"], "go together", "LW316"),
        (["--sql", " ", "--db", "sqlite:///a.db"], "must be one query", "LW304"),
        (["--sql", "x", "--db", "mysql://me:PassWord4711@host/a"], "must begin with postgresql://", "LW303"),
        (["postgresql://me:PassWord4711@host/a"], "of a database give a query", "LW102"),
    ],
)
def test_exactly_one_table_is_given(words, says, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text('{"fields": [{"name": "flag", "type": "boolean"}]}')
    said = lapwing("synthesize", *words, "--schema", "s.json", "--epsilon", "1", "-o", "out.csv")

    assert says in said.error
    assert said.code == code
    assert "PassWord" not in said.err
