"""Files of linked tables: saved releases, which strangers may have written, and those of the command."""

import contextlib
import json
import re
import shlex
import sqlite3
import zipfile
from pathlib import Path

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.linked_homes import KEY, ROOMS, SCHEMA, released, tables
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.targets import certificate_target


@pytest.fixture(scope="module")
def release():
    return released(epsilon=1)


def test_one_door_loads_linked_tables_and_one(release, tmp_path):
    release.save(tmp_path / "linked.lapwing")
    release.tables["parent"].save(tmp_path / "one.lapwing")

    linked, one = lw.load(tmp_path / "linked.lapwing"), lw.load(tmp_path / "one.lapwing")

    assert linked.certificate.to_dict() == release.certificate.to_dict()
    assert one.certificate.to_dict() == release.tables["parent"].certificate.to_dict()
    assert (list(linked.tables), list(one.tables)) == (["parent", "child"], [""])


def rewritten(path, name, change):
    """Change one document of a model file."""
    with zipfile.ZipFile(path) as archive:
        contents = {each.filename: archive.read(each) for each in archive.infolist()}
    contents[name] = json.dumps(change(json.loads(contents[name]))).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in contents.items():
            archive.writestr(each, content)


def of_other_tables(change):
    """Return a change of the tables that a certificate says it is of."""
    return lambda tree: {**tree, "linked": {**tree["linked"], "tables": change(tree["linked"]["tables"])}}


CHANGES = {
    "tables are a path": ("certificate.json", lambda tree: {**tree, "linked": "/etc/passwd"}),
    "public tables are a file": (
        "certificate.json",
        of_other_tables(
            lambda tables: {**tables, "x": {"public": "keys.csv", "primaryKey": "home", "fields": [KEY, ROOMS]}}
        ),
    ),
    "another count": (
        "certificate.json",
        of_other_tables(lambda tables: {**tables, "child": {**tables["child"], "count": "others"}}),
    ),
    "more children": (
        "certificate.json",
        of_other_tables(lambda tables: {**tables, "child": {**tables["child"], "maxRows": 5}}),
    ),
    "a part that cost more": (
        "certificate.json",
        lambda tree: {**tree, "parts": {**tree["parts"], "parent": tree["parts"]["child"]}},
    ),
    "a part is missing": ("certificate.json", lambda tree: {**tree, "parts": {"parent": tree["parts"]["parent"]}}),
    "a model is missing": ("model.json", lambda tree: tree[:1]),
    "answers are missing": ("answers.json", lambda tree: tree[1:]),
    "models exchanged": ("model.json", lambda tree: tree[::-1]),
    "rows are no numbers": ("certificate.json", lambda tree: {**tree, "written_rows": {"parent": "many"}}),
    "the schema is another": (
        "schema.json",
        lambda tree: {"tables": {**tree["tables"], "child": {**tree["tables"]["child"], "maxRows": 5}}},
    ),
    "the schema is of one table": ("schema.json", lambda tree: tree["tables"]["parent"]),
    "another kind": ("manifest.json", lambda tree: {**tree, "kind": "lapwing linked release"}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_model_file_whose_parts_do_not_belong_together_is_refused(what, release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keys.csv").write_text("home,rooms\n1,2\n")
    release.save(tmp_path / "m.lapwing")
    rewritten(tmp_path / "m.lapwing", *CHANGES[what])

    with pytest.raises(lw.DataError, match="not a Lapwing model file") as refused:
        lw.load(tmp_path / "m.lapwing")

    assert "passwd" not in str(refused.value)


def test_a_model_of_one_table_whose_schema_is_of_several_is_refused_and_one_of_several_is_no_prior(release, tmp_path):
    release.tables["parent"].save(tmp_path / "one.lapwing")
    rewritten(tmp_path / "one.lapwing", "schema.json", lambda _: release.schema.to_dict())
    release.save(tmp_path / "all.lapwing")

    with pytest.raises(lw.DataError, match="not a Lapwing model file"):
        lw.load(tmp_path / "one.lapwing")
    for name in ("one", "all"):
        asked = {"epsilon": 1, "mechanism": "PMM", "prior": tmp_path / f"{name}.lapwing"}
        with pytest.raises(lw.DataError, match="this takes a release of one table") as refused:
            lw.synthesize(tables(9)[0], {"fields": [KEY, ROOMS]}, **asked)
        assert refused.value.code == "LW603"


def test_the_command_writes_both_tables_model_and_certificate(tmp_path):
    parents, children = tables(100)
    parents.write_parquet(tmp_path / "homes.parquet")
    children.write_csv(tmp_path / "people.csv")
    (tmp_path / "L.json").write_text(json.dumps(SCHEMA))
    inputs = [tmp_path / "homes.parquet", tmp_path / "people.csv", "--schema", tmp_path / "L.json"]
    output = ["-o", tmp_path / "P.parquet", "-o", tmp_path / "C.csv", "--model", tmp_path / "M.lapwing"]

    said = lapwing("synthesize", *inputs, "--details", "--epsilon", "9", "--rows", "40", "--seed", "3", *output)

    drawn, people = pl.read_parquet(tmp_path / "P.parquet"), pl.read_csv(tmp_path / "C.csv")
    told = json.loads((tmp_path / "P.parquet.certificate.json").read_text())
    assert (said.status, said.out) == (0, "")
    assert "Not kept: how a row depends on rows other than the one before it" in said.err
    assert (
        {name: part["written_rows"] for name, part in told["parts"].items()}
        == {"parent": drawn.height, "child": people.height}
        == {"parent": 40, "child": people.height}
    )
    assert drawn.equals(lw.load(tmp_path / "M.lapwing").sample(40, seed=3)[0])


def test_the_command_takes_a_query_for_each_table_and_remembers_the_look_at_both(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with contextlib.closing(sqlite3.connect(tmp_path / "homes.db")) as connection, connection:
        for name, table in zip(("homes", "people"), tables(60), strict=True):
            names = ", ".join(table.columns)
            connection.execute(f"CREATE TABLE {name} ({names})")
            marks = ", ".join("?" * table.width)
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", table.rows())
    (tmp_path / "L.json").write_text(json.dumps(SCHEMA))
    given = ["--sql", "select * from homes", "--sql", "select * from people", "--db", f"sqlite:///{tmp_path}/homes.db"]
    output = ["-o", tmp_path / "P.csv", "-o", tmp_path / "C.csv"]
    link = ["synthesize", *given, "--schema", tmp_path / "L.json", "--epsilon", "9", *output]

    before, look = lapwing(*link), lapwing("schema", "check", tmp_path / "L.json", *given)
    after = lapwing(*link)

    assert (before.status, look.status, after.status) == (0, 0, 0), before.err + look.err + after.err
    assert "L.json --sql QUERY --sql QUERY --db URL` shows which values are invalid" in before.err
    assert "Not looked at yet" not in after.err
    assert pl.read_csv(tmp_path / "P.csv").height > 0
    one = lapwing("synthesize", *given[:2], *given[4:], *link[7:])
    assert "the schema is of 2 tables, parent, child, got 1; give one for each" in one.error


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_paid_release_whose_rows_cannot_be_written_says_how_to_go_on(is_recorded, tmp_path, monkeypatch):
    for name, table in zip(("homes.csv", "people.csv"), tables(50), strict=True):
        table.write_csv(tmp_path / name)
    (tmp_path / "L.json").write_text(json.dumps(SCHEMA))
    monkeypatch.chdir(tmp_path)
    command = ["synthesize", "homes.csv", "people.csv", "--schema", "L.json", "-o", "p.csv", "-o", "c.csv", "--quiet"]
    small = ["--rho", "1/9", "--mechanism", "independent"]
    if is_recorded:
        Ledger.create_or_open("b.db").init("d", unit="zcdp", limit=1, relation="add-remove", privacy_unit="home:4")
        small += ["--ledger", "b.db"]

    with monkeypatch.context() as patch:
        patch.setattr("lapwing.rows.out.databases.write_rows", full)
        said = lapwing(*command, *small).error

    assert "no space left" in said
    if not is_recorded:
        assert "running again spends again" in said
        return
    paid = Ledger.open("b.db").balance("d").spent
    line = shlex.split(re.search(r"`(.+)` finishes free", said)[1])
    assert lapwing(*line[1:]).status == 0
    assert (tmp_path / "p.csv").exists()
    assert Ledger.open("b.db").balance("d").spent == paid > 0


def full(*_):
    raise lw.DataError("no space left")


def test_the_certificate_of_rows_in_this_folder_stands_beside_it(tmp_path, monkeypatch):
    (tmp_path / "out" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "out" / "below")

    places = [certificate_target(Path(each), None, no_certificate=False) for each in (".", "..", "new")]

    assert [each and each.resolve() for each in places] == [
        tmp_path / "out" / "below.certificate.json",
        tmp_path / "out.certificate.json",
        tmp_path / "out" / "below" / "new.certificate.json",
    ]
