"""Files of linked tables: saved releases, which strangers may have written, and those of `lapwing link`."""

import contextlib
import json
import re
import sqlite3
import zipfile

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.linked_homes import SCHEMA, released, tables
from lapwing.kernel.budget.ledger import Ledger
from lapwing.verbs import linked as front


@pytest.fixture(scope="module")
def release():
    return released(epsilon=1)


def test_a_file_of_another_kind_is_refused(release, tmp_path):
    release.save(tmp_path / "linked.lapwing")
    release.parent.save(tmp_path / "one.lapwing")

    with pytest.raises(lw.DataError, match=r"(?m)one.lapwing holds one table, not two.* lapwing.load$"):
        lw.load_linked(tmp_path / "one.lapwing")
    with pytest.raises(lw.DataError, match=r"(?m)linked.lapwing holds two linked tables.* lapwing.load_linked$"):
        lw.load(tmp_path / "linked.lapwing")
    for command in ("sample {} --rows 3 -o r.csv", "report {} -o r.html", "query {} --column age"):
        said = lapwing(*command.format(tmp_path / "linked.lapwing").split())
        assert (said.status, "lapwing.load_linked" in said.error) == (1, True)
    with pytest.raises(lw.ParameterError, match="kind must be one of"):
        lw.load_linked(tmp_path / "linked.lapwing", "r")


def rewritten(path, name, change):
    """Change one document of a model file."""
    with zipfile.ZipFile(path) as archive:
        contents = {each.filename: archive.read(each) for each in archive.infolist()}
    contents[name] = json.dumps(change(json.loads(contents[name]))).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in contents.items():
            archive.writestr(each, content)


CHANGES = {
    "linked.json is a path": ("linked.json", lambda _: "/etc/passwd"),
    "another key": ("linked.json", lambda tree: {**tree, "count": "others"}),
    "more children": ("linked.json", lambda tree: {**tree, "maxChildren": 5}),
    "a cheaper part": ("parent-certificate.json", lambda tree: {**tree, "seed": 99}),
    "a cheaper whole": ("certificate.json", lambda tree: {**tree, "max_children": 3}),
    "two of three rows": ("certificate.json", lambda tree: {**tree, "written_rows": [1, 2, 3]}),
    "no format": ("certificate.json", lambda tree: {**tree, "format": 2}),
    "another kind": ("manifest.json", lambda tree: {**tree, "kind": "lapwing release"}),
    "parts exchanged": ("certificate.json", lambda tree: {**tree, "parent": tree["child"], "child": tree["parent"]}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_model_file_whose_parts_do_not_belong_together_is_refused(what, release, tmp_path):
    release.save(tmp_path / "m.lapwing")
    rewritten(tmp_path / "m.lapwing", *CHANGES[what])

    with pytest.raises(lw.DataError, match="not a Lapwing model file") as refused:
        lw.load_linked(tmp_path / "m.lapwing")

    assert "passwd" not in str(refused.value)


def test_link_writes_both_tables_model_and_certificate(tmp_path):
    parents, children = tables(100)
    parents.write_parquet(tmp_path / "homes.parquet")
    children.write_csv(tmp_path / "people.csv")
    (tmp_path / "L.json").write_text(json.dumps(SCHEMA))
    inputs = [tmp_path / "homes.parquet", tmp_path / "people.csv", "--schema", tmp_path / "L.json"]
    output = ["-o", tmp_path / "P.parquet", tmp_path / "C.csv", "--model", tmp_path / "M.lapwing"]

    said = lapwing("link", *inputs, "--epsilon", "9", "--parents", "40", "--seed", "3", *output)

    drawn, people = pl.read_parquet(tmp_path / "P.parquet"), pl.read_csv(tmp_path / "C.csv")
    told = json.loads((tmp_path / "P.parquet.certificate.json").read_text())
    assert (said.status, said.out) == (0, "")
    assert "Not kept: what siblings have to do with each other" in said.err
    assert told["written_rows"] == [drawn.height, people.height] == [40, people.height]
    assert drawn.equals(lw.load_linked(tmp_path / "M.lapwing").sample(40, seed=3)[0])


def test_link_takes_a_query_for_each_table_and_remembers_the_look_at_both(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with contextlib.closing(sqlite3.connect(tmp_path / "homes.db")) as connection, connection:
        for name, table in zip(("homes", "people"), tables(60), strict=True):
            names = ", ".join(table.columns)
            connection.execute(f"CREATE TABLE {name} ({names})")
            marks = ", ".join("?" * table.width)
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", table.rows())
    (tmp_path / "L.json").write_text(json.dumps(SCHEMA))
    given = ["--sql", "select * from homes", "--sql", "select * from people", "--db", f"sqlite:///{tmp_path}/homes.db"]
    output = ["-o", tmp_path / "P.csv", tmp_path / "C.csv"]
    link = ["link", *given, "--schema", tmp_path / "L.json", "--epsilon", "9", *output]

    before, look = lapwing(*link), lapwing("schema", "check", tmp_path / "L.json", *given)
    after = lapwing(*link)

    assert (before.status, look.status, after.status) == (0, 0, 0), before.err + look.err + after.err
    assert "L.json --sql QUERY --sql QUERY --db URL` shows which cells fit nothing" in before.err
    assert "Not looked at yet" not in after.err
    assert pl.read_csv(tmp_path / "P.csv").height > 0
    one = lapwing("link", *given[:2], *given[4:], *link[7:])
    assert "link takes two tables, got 1; give PARENT and CHILD, or --sql twice and --db" in one.error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "p.csv", "c.csv"], "give a budget"),
        (["-o", "p.csv", "c.txt", "--epsilon", "1"], "must end in .parquet or .csv"),
        (["-o", "p.csv", "p.csv", "--epsilon", "1"], "give every output a file of its own"),
        (["-o", "p.csv", "c.csv", "--epsilon", "1", "--parents", "0"], "rows must be at least 1"),
        (["-o", "p.csv", "c.csv", "--epsilon", "1"], "does not exist"),
    ],
    ids=range(5),
)
def test_link_refuses_in_one_line(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    done = lapwing("link", "homes.csv", "people.csv", "--schema", "L.json", *arguments)

    assert said in done.error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_paid_release_whose_rows_cannot_be_written_says_how_to_go_on(is_recorded, tmp_path, monkeypatch):
    for name, table in zip(("homes.csv", "people.csv"), tables(50), strict=True):
        table.write_csv(tmp_path / name)
    (tmp_path / "L.json").write_text(json.dumps(SCHEMA))
    monkeypatch.chdir(tmp_path)
    command = ["link", "homes.csv", "people.csv", "--schema", "L.json", "-o", "p.csv", "c.csv", "--quiet"]
    small = ["--rho", "1/9", "--parent-mechanism", "independent", "--child-mechanism", "independent"]
    if is_recorded:
        Ledger.create_or_open("b.db").init("d", unit="zcdp", limit=1, relation="add-remove", privacy_unit="home:4")
        small += ["--ledger", "b.db"]

    with monkeypatch.context() as patch:
        patch.setattr("lapwing.cli.commands.linked.write_rows", full)
        said = lapwing(*command, *small).error

    assert "no space left" in said
    if not is_recorded:
        assert "running again spends again" in said
        return
    paid = Ledger.open("b.db").balance("d").spent
    transcript = re.search(r"--transcript (\S+) finishes free", said)[1]
    assert lapwing(*command, *small, "--transcript", transcript).status == 0
    assert Ledger.open("b.db").balance("d").spent == paid > 0


def full(*_):
    raise lw.DataError("no space left")


def test_the_front_door_has_them():
    assert lw.synthesize_linked is front.synthesize_linked
