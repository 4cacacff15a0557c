"""A release of linked tables goes into databases and folders, public tables too, and comes from there again."""

import contextlib
import json
import sqlite3

import duckdb
import polars as pl
import pytest
from adbc_driver_postgresql import dbapi

import lapwing as lw
from helpers import databases
from helpers.command import lapwing


def key(name):
    return {"name": name, "type": "integer", "role": "identifier"}


SCHEMA = {
    "tables": {
        "clinics": {
            "public": "beds.csv",
            "primaryKey": "clinic",
            "fields": [
                key("clinic"),
                {"name": "town", "type": "string"},
                {"name": "opened", "type": "date"},
                {"name": "beds", "type": "integer"},
                {"name": "share", "type": "number"},
                {"name": "urban", "type": "boolean"},
            ],
        },
        "people": {"primaryKey": "person", "fields": [key("person"), {"name": "adult", "type": "boolean"}]},
        "visits": {
            "primaryKey": "visit",
            "foreignKeys": {"person": "people", "clinic": "clinics"},
            "maxRows": 3,
            "fields": [
                key("visit"),
                key("person"),
                {"name": "clinic", "type": "integer", "constraints": {"required": True}},
            ],
        },
        "drugs": {
            "foreignKeys": {"visit": "visits"},
            "maxRows": 2,
            "fields": [key("visit"), {"name": "dose", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}}],
        },
    }
}
CLINICS = [(7, "Bern", "2001-02-03", 10, 0.5, 1), (8, None, None, None, None, None)]
BEDS = "clinic,town,opened,beds,share,urban\n7,Bern,2001-02-03,10,0.5,true\n8,,,,,\n"
BUDGET = ("--epsilon", 10, "--seed", 1, "--mechanism", "Independent")


@pytest.fixture
def clinic(tmp_path):
    """Give a folder with a table of each name, and their schema."""
    (tmp_path / "db.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "beds.csv").write_text(BEDS)
    folder = tmp_path / "rows"
    folder.mkdir()
    people = range(100)
    pl.DataFrame({"person": people, "adult": [person % 3 > 0 for person in people]}).write_csv(folder / "people.csv")
    visits = pl.DataFrame({"visit": range(150), "person": [visit % 75 for visit in range(150)]})
    visits.with_columns(clinic=7 + pl.col("visit") % 2).write_csv(folder / "visits.csv")
    pl.DataFrame({"visit": range(0, 150, 2), "dose": [1] * 75}).write_csv(folder / "drugs.csv")
    return tmp_path


@pytest.fixture(scope="module")
def postgres():
    with databases.postgres() as url:
        yield url


@pytest.fixture
def server(postgres):
    """Give the address of a Postgres database without tables."""
    databases.run(postgres, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return postgres


def link(folder, source, into, *others):
    return lapwing("synthesize", source, "--schema", folder / "db.json", *BUDGET, "--into", into, *others)


def test_tables_of_a_folder_become_a_database_whose_keys_hold(clinic):
    said = link(clinic, clinic / "rows", clinic / "out.sqlite")

    assert said.status == 0, said.error
    with contextlib.closing(sqlite3.connect(clinic / "out.sqlite")) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        counts = {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
        linked = {row[2] for row in connection.execute("PRAGMA foreign_key_list(visits)")}
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("SELECT * FROM clinics").fetchall() == CLINICS
        assert {row[0] for row in connection.execute("SELECT clinic FROM visits")} == {7, 8}
    assert tables == set(SCHEMA["tables"])
    assert linked == {"people", "clinics"}
    written = json.loads((clinic / "out.sqlite.certificate.json").read_text())
    of_each = {name: part["written_rows"] for name, part in written["parts"].items()}
    assert of_each == {name: counts[name] for name in ("people", "visits", "drugs")}
    assert written["issued"]["files"][0]["rows"] == written["written_rows"] == sum(of_each.values())
    assert lapwing("certificate", "verify", clinic / "out.sqlite.certificate.json", clinic / "out.sqlite").status == 0


def test_what_was_written_can_be_linked_again_from_each_kind_of_place(clinic):
    for source, into in (
        (clinic / "rows", "a.duckdb"),
        (f"duckdb:///{clinic}/a.duckdb", "b.db"),
        (clinic / "b.db", "c"),
        (clinic / "c", "d/"),
    ):
        said = link(clinic, source, f"{clinic / into}{'/' * into.endswith('/')}")
        assert said.status == 0, said.error

    assert sorted(file.name for file in (clinic / "c").iterdir()) == sorted(
        f"{name}.parquet" for name in SCHEMA["tables"]
    )
    with duckdb.connect(clinic / "a.duckdb") as connection:
        assert connection.execute("SELECT count(*) FROM visits ANTI JOIN people USING (person)").fetchone() == (0,)
        assert connection.execute("SELECT typeof(opened), typeof(urban) FROM clinics").fetchone() == ("DATE", "BOOLEAN")


@pytest.mark.needs("Postgres")
def test_tables_go_to_postgres_and_come_from_there(clinic, server):
    refused = link(clinic, clinic / "rows", server)
    said = link(clinic, clinic / "rows", server, "--certificate", clinic / "c.json")
    again = link(clinic, server, clinic / "out.db")

    assert "a database server has no such place; name it with --certificate" in refused.error
    assert (said.status, again.status) == (0, 0), said.error + again.error
    assert databases.PASSWORD not in said.err + said.out
    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM drugs JOIN visits USING (visit) JOIN people USING (person)")
        assert cursor.fetchone()[0] == json.loads((clinic / "c.json").read_text())["parts"]["drugs"]["written_rows"]
    once_more = link(clinic, clinic / "rows", server, "--no-certificate", "--ledger", clinic / "none.ledger")
    assert (
        'relation "people" already exists' in once_more.error or 'relation "clinics" already exists' in once_more.error
    )


def test_what_is_there_is_refused_before_anything_is_spent(clinic):
    (clinic / "out.db").write_text("mine")

    said = link(clinic, clinic / "rows", clinic / "out.db", "--transcript", clinic / "t.transcript")

    assert "is there already, and a database is not replaced" in said.error
    assert (clinic / "out.db").read_text() == "mine"
    assert not (clinic / "t.transcript").exists()


@pytest.mark.needs("Postgres")
def test_a_release_writes_itself(clinic, server):
    frames = {name: clinic / "rows" / f"{name}.csv" for name in ("people", "visits", "drugs")}
    with pytest.warns(lw.LapwingWarning, match=r"published as it is: beds.csv, \d+ rows"):
        release = lw.synthesize(frames, clinic / "db.json", epsilon=10, seed=1, mechanism="Independent")

    release.write(clinic / "out", n=50)
    release.write(clinic / "out.duckdb", n=50)
    release.write(server, n=50)

    people = pl.read_parquet(clinic / "out" / "people.parquet")
    assert people.equals(release.sample(50)["people"])
    with duckdb.connect(clinic / "out.duckdb") as connection:
        assert connection.execute("SELECT * FROM people").fetchall() == people.rows()
    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM people")
        assert cursor.fetchall() == people.rows()


ALL_KINDS = [
    {"name": "who", "type": "integer", "role": "identifier"},
    {"name": "town", "type": "string", "categories": ["Bern", 'Chur "x"; DROP']},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}},
    {"name": "size", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "flag", "type": "boolean"},
    {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
    {"name": "at", "type": "datetime", "constraints": {"minimum": "2020-01-01T00:00", "maximum": "2020-12-31T00:00"}},
]


@pytest.fixture(scope="module")
def one_table(tmp_path_factory):
    """Give the model file of a release of one table with a column of each kind."""
    place = tmp_path_factory.mktemp("one") / "m.lapwing"
    data = pl.DataFrame({"who": range(200), "town": ["Bern", None] * 100, "age": [3] * 200, "size": [0.25, None] * 100})
    data = data.with_columns(
        flag=pl.Series([True, None] * 100),
        day=pl.lit("2020-05-06").str.to_date(),
        at=pl.lit("2020-05-06T07:08:09").str.to_datetime(),
    )
    lw.synthesize(data, {"name": "ill", "fields": ALL_KINDS}, epsilon=10, mechanism="independent", seed=1).save(place)
    return place


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_one_table_goes_from_its_model_into_a_database(one_table, tmp_path, kind):
    place = tmp_path / f"out.{kind}"

    said = lapwing("sample", one_table, "--rows", 40, "--seed", 3, "--into", place)
    again = lapwing("sample", one_table, "--rows", 40, "--seed", 3, "--into", place)

    assert (said.status, again.status) == (0, 1)
    assert "LW113" in again.err
    connect = {"sqlite": sqlite3.connect, "duckdb": duckdb.connect}[kind]
    with contextlib.closing(connect(str(place))) as connection:
        found = connection.execute("SELECT * FROM ill").fetchall()
    expected = lw.load(one_table).sample(40, seed=3)
    assert [row[:5] for row in found] == [row[:5] for row in expected.rows()]
    assert [[str(cell)[:19] for cell in row[5:]] for row in found] == [
        [str(cell)[:19] for cell in row[5:]] for row in expected.rows()
    ]


@pytest.mark.needs("Postgres")
def test_one_table_goes_to_a_server_whose_address_is_not_shown(one_table, server):
    said = lapwing("sample", one_table, "--rows", 40, "--seed", 3, "--into", server)

    assert (said.status, said.err) == (0, "lapwing: rows: the database\n")
    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM ill")
        assert cursor.fetchall() == lw.load(one_table).sample(40, seed=3).rows()


def test_write_takes_a_database_too_and_draws_what_was_asked(one_table, tmp_path):
    lw.load(one_table).write(tmp_path / "out.db", 30, seed=3, where={"town": "Bern"})

    with contextlib.closing(sqlite3.connect(tmp_path / "out.db")) as connection:
        assert connection.execute("SELECT town, count(*) FROM ill GROUP BY town").fetchall() == [("Bern", 30)]
