"""Queries of real databases: the same codes as from Parquet, by the types of columns, asked once, and read-only."""

import json
import sqlite3
import sys
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
from helpers.studio import in_process
from lapwing.extras.studio.jobs import JOBS, Job
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


SORTED = {
    "duckdb": "SELECT true AS flag FROM (SELECT sha1(i::text) AS t FROM range(200000) AS r(i) ORDER BY t)",
    "sqlite": "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 200000) "
    "SELECT true AS flag FROM (SELECT printf('%040d', i * 7919 % 200003) AS t FROM r ORDER BY t LIMIT 200000)",
}
"""More than SQLite's cache holds."""


@pytest.mark.skipif(sys.platform == "win32", reason="the limit of the size of files is POSIX's")
@pytest.mark.parametrize("kind", SORTED)
def test_a_database_in_a_file_writes_nothing_of_a_query_down_elsewhere(kind, tmp_path):
    import resource

    path = tmp_path / "kept.db"
    (databases.duckdb if kind == "duckdb" else sqlite3).connect(path).close()
    path.touch()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        source = code_table(lw.Query(SORTED[kind], f"{kind}:///{path}"), Schema.from_dict(FLAG_ALONE))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert source.rows == 200_000


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


HOSTILE = {
    "all": (
        "INSERT INTO kept VALUES (1) RETURNING *",
        "WITH gone AS (DELETE FROM kept RETURNING *) SELECT * FROM gone",
        "DROP TABLE kept",
        "SELECT 1 AS age) AS q; DROP TABLE kept; SELECT * FROM (SELECT 1",
        "DROP TABLE kept; SELECT true AS flag, 1 AS age",
        "SELECT true AS flag, 1 AS age; DROP TABLE kept",
        "BEGIN",
        "SELECT nothing FROM kept",
    ),
    "duckdb": (
        "COPY kept TO '{}/out.csv'",
        "COPY kept TO '{}/out.csv' (RETURN_FILES)",
        "COPY kept TO '{}/out.csv'; SELECT true AS flag, 1 AS age",
        "SELECT 1 AS age); COPY kept TO '{}/out.csv'; SELECT * FROM (SELECT 1",
        "EXPORT DATABASE '{}/out'",
        "ATTACH '{}/out.duckdb' AS x",
        "EXPLAIN ANALYZE SELECT 1",
        "CALL enable_logging(storage = 'file', storage_path = '{}/out')",
        "SELECT true AS flag, 1 AS age FROM enable_logging(storage = 'file', storage_path = '{}/out')",
        "SELECT true AS flag, 1 AS age FROM query('COPY kept TO ''{}/out.csv''')",
        "SET threads = 1",
        "PRAGMA enable_profiling",
        "LOAD '{}/other.csv'",
        "SELECT * FROM '{}/other.csv'",
        "SELECT * FROM read_csv('{}/other.csv')",
        "SELECT content AS flag, 1 AS age FROM read_text('{}/other.csv')",
    ),
    "sqlite": (
        "VACUUM INTO '{}/out.db'",
        "ATTACH '{}/out.db' AS x",
        "ATTACH 'file:{}/out.db?mode=rwc' AS x",
        "PRAGMA temp_store_directory = '{}'",
        "PRAGMA wal_checkpoint",
        "CREATE TEMP TABLE x AS SELECT 1",
        "UPDATE sqlite_master SET name = 'x'",
        "SELECT true AS flag, load_extension('{}/other.csv') AS age",
    ),
    "postgresql": (
        "COPY kept TO '{}/out.csv'",
        "COPY kept TO PROGRAM 'touch {}/out'",
        "SELECT true AS flag, lo_import('{}/other.csv') AS age",
        "SELECT true AS flag, set_config('transaction_read_only', 'off', true) AS age",
        "EXPLAIN ANALYZE SELECT 1",
        "CREATE TEMP TABLE x AS SELECT 1",
        "SELECT 1 / 0 AS age",  # null in the others
    ),
}
"""Queries that would write, read elsewhere, change a setting, or fail."""


def _files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_query_that_does_more_than_read_its_database_is_refused_and_changes_nothing(made, tmp_path):
    kept = made([1, 2], "integers", ["flag", "age"])
    (tmp_path / "other.csv").write_text("flag,age\ntrue,1\n")
    tmp_path.chmod(0o777)  # the server is another user
    before = _files(tmp_path)

    for sql in (*HOSTILE["all"], *HOSTILE[made.kind]):
        hostile = sql.replace("{}", str(tmp_path))
        with pytest.raises(lw.DataError) as caught:
            lw.synthesize(lw.Query(hostile, kept.url), FLAG, epsilon=1)
        assert caught.value.code == "LW103", sql
        assert "must be one SELECT" in str(caught.value)
        assert hostile not in str(caught.value)
        assert caught.value.__context__ is None
        assert _files(tmp_path) == before, sql
    assert code_table(kept, Schema.from_dict(FLAG)).count([()]) == [[2]]


@pytest.mark.parametrize(("kind", "sql"), [("duckdb", HOSTILE["duckdb"][2]), ("sqlite", HOSTILE["sqlite"][0])])
def test_no_door_runs_a_query_that_writes(kind, sql, tmp_path, monkeypatch):
    """A studio's job is a file, and may be a stranger's."""
    cells = databases.one_column([1, 2], arrow_type("integers")) if kind == "duckdb" else [1, 2]
    kept = getattr(databases, f"in_{kind}")(tmp_path, cells, ["flag", "age"])
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(json.dumps(FLAG))
    job = Job(name="kept", place=tmp_path / JOBS / "kept", sql=sql.replace("{}", str(tmp_path)), db=kept.url)
    job.save()
    before = _files(tmp_path)

    paid = "synthesize --epsilon 1 --schema s.json -o rows.csv"
    for words in ("schema draft -o d.json", "schema check s.json", paid):
        said = lapwing(*words.split(), "--sql", job.sql, "--db", job.db)
        assert "must be one SELECT" in said.err, said
    visitor = in_process(tmp_path)
    visitor.post("/job/kept/schema/draft", {})
    room = visitor.wait("/job/kept/schema", lambda answer: "data-watch" not in answer.text)

    assert "must be one SELECT" in room.words
    assert _files(tmp_path).items() >= before.items()
    assert [each for each in _files(tmp_path).keys() - before if JOBS not in each.parts] == []


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
