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
