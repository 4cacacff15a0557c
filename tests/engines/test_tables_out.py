"""Linked tables go to folders and real databases with their keys, whole or not at all, and are read from there."""

import contextlib
import datetime as dt
import sqlite3

import duckdb
import polars as pl
import pytest
from adbc_driver_postgresql import dbapi

import lapwing as lw
from helpers import databases
from lapwing.errors import DataError, LapwingError, ParameterError
from lapwing.rows.elsewhere import tables_from
from lapwing.rows.out.databases import TableOut, check_tables, tables_target, write_database, write_files
from lapwing.rows.out.outputs import is_table_file, whole_files
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema


def key(name):
    return Field(name=name, type="integer", identifier=True)


HOME = (key("home"), Field(name="owned", type="boolean"), Field(name="value", type="number", minimum=0, maximum=9))
PERSON = (key("person"), key("home"), Field(name="näme", type="string", categories=("a'b", 'c"d')))
CLINIC = (Field(name="clinic", type="string", identifier=True), Field(name="beds", type="integer", categories=(1, 2)))
VISIT = (
    key("person"),
    Field(name="clinic", type="string", categories=("x", "y")),
    Field(name="day", type="date", minimum="2020-01-01", maximum="2020-12-31"),
    Field(name="at", type="datetime", minimum="2020-01-01T00:00:00", maximum="2020-12-31T00:00:00"),
    Field(name="order", type="integer", minimum=0, maximum=9, required=True),
)
CLINICS = pl.DataFrame({"beds": [1, 2], "clinic": ["x", "y"]})
# Public tables come last, and children before their parents, as a schema may have them.
TABLES = (
    TableOut(name="visits of a person", fields=VISIT, links={"person": "people", "clinic": "clinics"}),
    TableOut(name="homes", fields=HOME, key="home"),
    TableOut(name="people", fields=PERSON, key="person", links={"home": "homes"}),
    TableOut(name="clinics", fields=CLINIC, key="clinic", rows=CLINICS),
)
HOMES = [(1, True, 0.5), (2, None, None), (3, False, 9.0)]
PEOPLE = [(1, 1, "a'b"), (2, 1, None), (3, 3, 'c"d')]
VISITS = [
    (1, "x", dt.date(2020, 2, 29), dt.datetime(2020, 1, 1, 12, 30, 5), 0),
    (1, "y", None, None, 1),
    (3, None, dt.date(2020, 12, 31), dt.datetime(2020, 6, 1), 9),
]


def frame(rows, fields):
    kinds = {
        "integer": pl.Int64,
        "boolean": pl.Boolean,
        "number": pl.Float64,
        "date": pl.Date,
        "datetime": pl.Datetime("us"),
    }
    return pl.DataFrame(rows, schema={each.name: kinds.get(each.type, pl.String) for each in fields}, orient="row")


def chunks():
    """Yield two chunks of whole units."""
    yield {
        "homes": frame(HOMES[:2], HOME),
        "people": frame(PEOPLE[:2], PERSON),
        TABLES[0].name: frame(VISITS[:2], VISIT),
    }
    yield {
        "homes": frame(HOMES[2:], HOME),
        "people": frame(PEOPLE[2:], PERSON),
        TABLES[0].name: frame(VISITS[2:], VISIT),
    }


@pytest.fixture(scope="module")
def server():
    with databases.postgres() as url:
        yield url


@pytest.fixture(params=[pytest.param("postgresql", marks=pytest.mark.needs("Postgres")), "sqlite", "duckdb"])
def address(request, tmp_path):
    """Give the address of a database without tables."""
    if request.param != "postgresql":
        yield f"{request.param}:///{tmp_path}/out.{request.param}"
        return
    url = request.getfixturevalue("server")
    databases.run(url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    yield url


def write(output, drawn=None, tables=TABLES, form="parquet"):
    target = tables_target(str(output))
    check_tables(target, tables)
    drawn = chunks() if drawn is None else drawn
    if target.path is None:
        return write_database(drawn, tables, target)
    names = [table.name for table in tables]
    folders = [target.path] if target.kind == "folder" else []
    with whole_files([target.path], [], folders, lambda file: is_table_file(file, names)) as (place,):
        if not folders:
            return write_database(drawn, tables, target, place)
        return write_files(drawn, tables, {name: (place / f"{name}.{form}", form) for name in names})


def rows_of(address, table):
    """Return the rows that a database gives, without Lapwing."""
    sql = f'SELECT * FROM "{table}"'
    file = address.partition(":///")[2]
    if address.startswith("postgresql"):
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()
    connect = sqlite3.connect if address.startswith("sqlite") else duckdb.connect
    with contextlib.closing(connect(file)) as connection:
        return connection.execute(sql).fetchall()


def refused(address, *lines):
    """Return whether a database refuses lines of SQL, for its keys."""
    file = address.partition(":///")[2]
    try:
        if address.startswith("postgresql"):
            databases.run(address, *lines)
            return False
        connect = sqlite3.connect if address.startswith("sqlite") else duckdb.connect
        with contextlib.closing(connect(file)) as connection:
            if address.startswith("sqlite"):
                connection.execute("PRAGMA foreign_keys = ON")
            for line in lines:
                connection.execute(line)
    except (dbapi.Error, sqlite3.IntegrityError, duckdb.ConstraintException):
        return True
    return False


def test_a_database_holds_every_row_and_keeps_the_keys_itself(address):
    counts = write(address)

    assert counts == {TABLES[0].name: 3, "homes": 3, "people": 3, "clinics": 2}
    texts = [tuple(None if cell is None else str(cell) for cell in row) for row in VISITS]
    for table, rows in (("homes", HOMES), ("people", PEOPLE), ("clinics", [("x", 1), ("y", 2)])):
        assert rows_of(address, table) == rows
    found = rows_of(address, TABLES[0].name)
    assert [tuple(None if cell is None else str(cell) for cell in row) for row in found] == texts
    assert refused(address, "INSERT INTO homes VALUES (1, NULL, NULL)")
    assert refused(address, "INSERT INTO people VALUES (9, 8, NULL)")
    assert refused(address, f"INSERT INTO \"{TABLES[0].name}\" VALUES (1, 'z', NULL, NULL, 1)")
    assert refused(address, f"INSERT INTO \"{TABLES[0].name}\" VALUES (1, 'x', NULL, NULL, NULL)")
    assert not refused(address, "INSERT INTO people VALUES (9, 2, NULL)")


def test_a_key_that_points_to_no_row_leaves_nothing(address, tmp_path):
    def broken():
        yield from chunks()
        yield {"homes": frame([], HOME), "people": frame([(7, 7, None)], PERSON), TABLES[0].name: frame([], VISIT)}

    with pytest.raises(DataError, match="the tables cannot be made in") as caught:
        write(address, broken())

    assert caught.value.__cause__ is None
    assert caught.value.code == "LW119"
    assert not list(tmp_path.iterdir())
    if address.startswith("postgresql"):
        assert refused(address, "SELECT * FROM homes")


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_folder_holds_a_file_for_each_table(tmp_path, form):
    write(tmp_path / "out", form=form)

    read = pl.read_parquet if form == "parquet" else pl.read_csv
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(
        f"{table.name}.{form}" for table in TABLES
    )
    assert read(tmp_path / "out" / f"people.{form}").rows() == PEOPLE
    assert read(tmp_path / "out" / f"clinics.{form}").rows() == [("x", 1), ("y", 2)]
    if form == "parquet":
        assert read(tmp_path / "out" / f"{TABLES[0].name}.parquet").rows() == VISITS


def test_a_folder_of_these_tables_is_replaced_and_another_is_not(tmp_path):
    write(tmp_path / "out", form="csv")
    write(tmp_path / "out")
    assert {file.suffix for file in (tmp_path / "out").iterdir()} == {".parquet"}
    (tmp_path / "out" / "notes.txt").write_text("mine")

    with pytest.raises(ParameterError, match="holds other files"):
        write(tmp_path / "out")

    assert (tmp_path / "out" / "notes.txt").exists()


def test_what_is_in_a_database_already_is_refused_before_anything_is_made(address, tmp_path):
    write(address)
    before = {table.name: rows_of(address, table.name) for table in TABLES}

    with pytest.raises(LapwingError, match=r"is there already|already exists"):
        check_tables(tables_target(address), TABLES)

    assert {table.name: rows_of(address, table.name) for table in TABLES} == before


def test_a_trial_leaves_nothing_behind(address, tmp_path):
    check_tables(tables_target(address), TABLES)

    assert not list(tmp_path.iterdir())
    if address.startswith("postgresql"):
        assert refused(address, "SELECT * FROM homes")


@pytest.mark.parametrize("ending", ["sqlite", "duckdb"])
def test_names_that_a_database_takes_for_one_are_refused_in_its_own_words(tmp_path, ending):
    table = TableOut(name="t", fields=(key("a"), key("A")))

    with pytest.raises(DataError, match=r"(?i)the tables cannot be made in .*a.* already exists|duplicate column"):
        check_tables(tables_target(str(tmp_path / f"out.{ending}")), [table])


@pytest.mark.parametrize("name", ["../homes", "a/b", ".hidden", "c:d", "e\\f"])
def test_a_table_whose_name_leads_elsewhere_is_not_written_to_a_folder(tmp_path, name):
    with pytest.raises(ParameterError, match="cannot be the name of a file"):
        write(tmp_path / "out", iter(()), [TableOut(name=name, fields=HOME)])


def test_a_target_is_chosen_by_its_name(tmp_path):
    (tmp_path / "is.db").mkdir()
    kinds = {
        "out": "folder",
        "out/": "folder",
        "a.duckdb": "duckdb",
        "a.sqlite": "sqlite",
        "A.DB": "sqlite",
        "sqlite:///a.x": "sqlite",
        "duckdb:///a": "duckdb",
        "postgres://h/n": "postgresql",
        str(tmp_path / "is.db"): "folder",
    }

    assert {name: tables_target(name).kind for name in kinds} == kinds
    with pytest.raises(ParameterError, match="got the file of one table"):
        tables_target("rows.csv")


def test_an_address_is_never_told(server):
    wrong = server.replace(databases.PASSWORD, "WrongPassWord")
    target = tables_target(wrong)

    with pytest.raises(DataError, match="the database cannot be opened") as caught:
        check_tables(target, TABLES)

    for text in (str(caught.value), repr(target), str(target)):
        assert "WrongPassWord" not in text
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("form", ["parquet", "csv", "database"])
def test_what_was_written_is_read_by_the_names_of_the_tables(address, tmp_path, form):
    output = address if form == "database" else tmp_path / "out"
    write(output, **({} if form == "database" else {"form": form}))

    found = tables_from(str(output), {table.name: [each.name for each in table.fields] for table in TABLES})

    assert list(found) == [table.name for table in TABLES]
    for table, rows in ((TABLES[0], VISITS), (TABLES[1], HOMES), (TABLES[2], PEOPLE)):
        schema = Schema(fields=table.fields)
        given = code_table(frame(rows, table.fields), schema)
        read = code_table(found[table.name], schema)
        for ours, theirs in zip(given.chunks(), read.chunks(), strict=True):
            assert {name: codes.tolist() for name, codes in ours.items()} == {
                name: codes.tolist() for name, codes in theirs.items()
            }


def test_files_are_found_by_the_names_of_tables_and_none_is_guessed(tmp_path):
    (tmp_path / "homes.csv").write_text("home\n1\n")
    (tmp_path / "people").mkdir()
    (tmp_path / "out.sqlite").touch()

    found = tables_from(str(tmp_path), {"homes": ["home"], "people": []})

    assert found == {"homes": str(tmp_path / "homes.csv"), "people": str(tmp_path / "people")}
    assert isinstance(tables_from(str(tmp_path / "out.sqlite"), {"homes": ["home"]})["homes"], lw.Query)
    with pytest.raises(DataError, match='has no file of the table "visits"'):
        tables_from(str(tmp_path), {"visits": []})
    (tmp_path / "homes.parquet").touch()
    with pytest.raises(DataError, match='has several files of the table "homes"'):
        tables_from(str(tmp_path), {"homes": ["home"]})
    with pytest.raises(DataError, match="is no folder of tables"):
        tables_from(str(tmp_path / "homes.csv"), {"homes": ["home"]})
