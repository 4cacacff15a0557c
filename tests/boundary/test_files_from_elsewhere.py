"""What strangers' schemas and transcripts, and links, got out of a private file: nothing any more."""

import json
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.planted_values import watched
from lapwing.errors import DataError, LapwingError, LapwingWarning, ParameterError, SchemaError
from lapwing.model.certificate.certificate import Certificate
from lapwing.release.runs import public_rows
from lapwing.schema.schemas import Schema

HOME = {"name": "home", "type": "integer", "role": "identifier"}
SCHEMA: dict[str, Any] = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        {"name": "ill", "type": "string", "categories": ["yes", "no"]},
    ]
}
ROWS = pl.DataFrame({"age": [30, 60] * 40, "ill": ["yes", "no"] * 40})
SECRET = "HIV positive"


def linked(public: Any, *fields: dict[str, str], key: str = "home", **more: Any) -> dict[str, Any]:
    """Return a schema of homes, people and codes that these refer to."""
    listed = fields or ({"name": "home", "type": "integer"}, {"name": "diagnosis", "type": "integer"})
    rooms = {"name": "rooms", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}}
    people = [HOME, {"name": "clinic", "type": "integer"}, {"name": "adult", "type": "boolean"}]
    return {
        "tables": {
            "homes": {"primaryKey": "home", "fields": [HOME, rooms]},
            "people": {"foreignKeys": {"home": "homes", "clinic": "codes"}, "maxRows": 2, "fields": people},
            "codes": {"public": public, "primaryKey": key, "fields": list(listed)},
        },
        **more,
    }


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """Return a folder with two private tables and a schema, the folder in which everything is called."""
    monkeypatch.chdir(tmp_path)
    Path("patients.csv").write_text(f"home,diagnosis,rooms\n1,{SECRET},2\n2,{SECRET},2\n")
    Path("people.csv").write_text("home,clinic,adult\n1,1,true\n2,2,false\n")
    return tmp_path


def _save(schema: dict[str, Any]) -> None:
    Path("s.json").write_text(json.dumps(schema))


TABLES = {"homes": "patients.csv", "people": "people.csv"}
PAID: dict[str, Any] = {"epsilon": 2, "mechanism": "independent"}
LOOKS: dict[str, Callable[[], object]] = {
    "load": lambda: Schema.load("s.json").linked,
    "plan": lambda: lw.plan("s.json", epsilon=1, expected_rows={"homes": 9, "people": 9}),
    "lapwing schema check": lambda: lapwing("schema", "check", "s.json"),
}
RUNS: dict[str, Callable[[], object]] = {
    "synthesize": lambda: lw.synthesize(TABLES, "s.json", **PAID),
    "synthesize by paths": lambda: lw.synthesize({k: Path(v).absolute() for k, v in TABLES.items()}, "s.json", **PAID),
    "evaluate": lambda: lw.evaluate(TABLES, TABLES, "s.json"),
    "lapwing synthesize": lambda: lapwing(
        "synthesize", *TABLES.values(), "--schema", "s.json", "--epsilon", 2, "--into", "out"
    ),
    "lapwing schema check": lambda: lapwing("schema", "check", "s.json", *TABLES.values()),
}


def _said(call: Callable[[], object]) -> str:
    outcome = watched(call)
    return f"{outcome.value!r} {outcome.error!r} {outcome.warned}"


@pytest.mark.parametrize("call", [*LOOKS.values(), *RUNS.values()], ids=[*LOOKS, *RUNS])
def test_a_schema_that_names_a_private_table_prints_no_cell_of_it(call, place):
    _save(linked("patients.csv"))

    said = _said(call)

    assert "cannot be used" in said or "private table itself" in said
    assert SECRET not in said
    assert not Path("out").exists()


@pytest.mark.parametrize("call", RUNS.values(), ids=RUNS)
def test_a_lookup_that_is_a_table_of_the_call_is_refused_as_that_though_it_fits(call, place):
    _save(linked("patients.csv", {"name": "home", "type": "integer"}))
    assert Schema.load("s.json").linked.lookups[0].rows == ((1,), (2,))

    assert "private table itself" in _said(call)


def test_a_lookup_that_was_read_before_the_tables_were_known_is_refused_by_its_file(place):
    _save(linked("codes.csv", {"name": "home", "type": "integer"}))
    os.link("patients.csv", "codes.csv")
    loaded = Schema.load("s.json")
    os.unlink("codes.csv")

    with pytest.raises(ParameterError, match="private table itself"):
        lw.synthesize(TABLES, loaded, **PAID)


@pytest.mark.parametrize("tables", [["."], ["patients.db"], ["homes=patients.csv", "people=people.csv"]])
def test_tables_by_folder_database_and_name_are_the_tables_of_the_call(tables, place):
    os.link("patients.csv", "homes.csv")
    with sqlite3.connect("patients.db") as connection:
        connection.executescript("create table homes (home, rooms); create table people (home, clinic, adult);")
    _save(linked("patients.db" if "patients.db" in tables else "patients.csv"))

    assert "private table itself" in _said(lambda: lapwing("synthesize", *tables, "--schema", "s.json", *_INTO))


_INTO = ("--epsilon", 2, "--mechanism", "independent", "--into", "out")


def test_public_tables_may_lie_in_the_folder_of_the_private_ones(place):
    os.link("patients.csv", "homes.csv")
    Path("codes.csv").write_text("home\n1\n2\n")
    _save(linked("codes.csv", {"name": "home", "type": "integer"}))

    assert lapwing("synthesize", ".", "--schema", "s.json", *_INTO).status == 0


_CONTENTS = {
    "not there": None,
    "not UTF-8": b"home,diagnosis\n1,\xff\n",
    "a misfit": b"home,diagnosis\n1,SECRET\n",
    "another misfit": b"home,diagnosis\nSECRET,1\n",
    "a key twice": b"home,diagnosis\n1,1\n1,1\n",
    "a key that is missing": b"home,diagnosis\n,1\n",
    "no rows": b"home,diagnosis\n",
    "nothing": b"",
    "other columns": b"SECRET\n1\n",
    "too long a cell": b"home,diagnosis\n1," + b"9" * 200_000 + b"\n",
}


def test_of_a_lookups_file_one_sentence_is_told_whatever_is_in_it(place):
    _save(linked("codes.csv"))
    said = set()
    for content in _CONTENTS.values():
        Path("codes.csv").unlink(missing_ok=True)
        if content is not None:
            Path("codes.csv").write_bytes(content)
        with pytest.raises(SchemaError) as raised:
            Schema.load("s.json")
        said.add(str(raised.value))
        assert raised.value.__cause__ is None

    assert len(said) == 1


def test_a_refusal_of_the_schema_quotes_no_key_of_a_lookups_file(place):
    Path("codes.csv").write_text("home,note\nSECRET,1\nother,2\n")
    fields = ({"name": "home", "type": "string"}, {"name": "note", "type": "string"})
    schema = linked("codes.csv", *fields, rules=[{"when": {"adult": True}, "then": {"clinic": ["SECRE"]}}])
    schema["tables"]["people"]["fields"][1]["type"] = "string"
    _save(schema)

    with pytest.raises(SchemaError, match="does not fit the rows") as raised:
        Schema.load("s.json")
    assert "SECRET" not in str(raised.value)

    schema["tables"]["people"]["maxRows"] = 0
    _save(schema)
    with pytest.raises(SchemaError, match="people: maxRows"):  # has nothing to do with the file
        Schema.load("s.json")


def test_a_link_beside_a_schema_leads_to_no_file_elsewhere(place, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "codes.csv"
    other.write_text("home,diagnosis\n1,1\n")
    os.symlink(other, "codes.csv")
    _save(linked("codes.csv"))

    with pytest.raises(SchemaError, match="cannot be used"):
        Schema.load("s.json")


# -- What is published as it is, is named.


def test_what_is_published_as_it_is_is_named_in_the_plan_before_the_release_and_in_the_certificate(place):
    Path("salaries.csv").write_text("home,salary\n1,7\n2,8\n3,9\n")
    _save(linked("salaries.csv", {"name": "home", "type": "integer"}, {"name": "salary", "type": "integer"}))
    line = "published as it is: salaries.csv, 3 rows"

    assert line in lw.plan("s.json", epsilon=1, expected_rows={"homes": 9, "people": 9}).text()
    checked = lapwing("schema", "check", "s.json")
    assert line in checked.out
    refused = lapwing("synthesize", *TABLES.values(), "--schema", "s.json", *_INTO, "--ledger", "none.db")
    assert refused.status != 0  # nothing was spent
    assert line in refused.err
    said = lapwing("synthesize", *TABLES.values(), "--schema", "s.json", *_INTO, "--transcript", "t.jsonl")
    assert said.status == 0
    assert line in said.err
    kept = json.loads(Path("out.certificate.json").read_text())
    assert kept["published"] == [{"code": "published_table", "table": "codes", "file": "salaries.csv", "rows": 3}]
    assert line in Certificate.from_dict(kept).text()
    with pytest.warns(LapwingWarning, match=re.escape(line)):
        resumed = lw.resume("t.jsonl", TABLES)
    assert line in str(resumed.certificate)
    assert line in lapwing("resume", "t.jsonl", *TABLES.values(), "--into", "again").err


# -- Transcripts by strangers.


@pytest.fixture(scope="module")
def heads(tmp_path_factory) -> dict[str, Any]:
    """Return the headers of releases with a prior and with points of the owner's."""
    folder = tmp_path_factory.mktemp("heads")
    ROWS.write_csv(folder / "public.csv")
    mu = lw.LinearStatistics(degree=1, mu=str(folder / "public.csv"))
    lw.synthesize(ROWS, SCHEMA, epsilon=2, prior=folder / "public.csv", transcript=folder / "prior.jsonl")
    lw.synthesize(ROWS, SCHEMA, epsilon=2, mechanism=mu, transcript=folder / "mu.jsonl")
    return {name: json.loads((folder / f"{name}.jsonl").read_text().splitlines()[0]) for name in ("prior", "mu")}


def _evil(head: dict[str, Any], name: str, path: object, **changes: Any) -> Path:
    evil = json.loads(json.dumps(head))
    for field in evil["settings"]["schema"]["fields"]:
        field.update(changes.get(field["name"], {}))
    evil["settings"]["mechanism"]["settings"][name] = [str(path)] if name == "prior" else str(path)
    for key in changes.get("without", ()):
        evil["settings"].pop(key, None)
    Path("evil.jsonl").write_text(json.dumps(evil) + "\n")
    return Path("evil.jsonl")


_LISTS: list[dict[str, Any]] = [
    {},
    {"ill": {"categories": ["yes"]}},
    {"ill": {"categories": ["no"]}, "age": {"constraints": {"minimum": 60, "maximum": 60}}},
    {"age": {"constraints": {"minimum": 90, "maximum": 99}}},
    {"without": ["files", "priors", "points"]},
    {"without": ["priors", "points"]},
]


@pytest.mark.parametrize("name", ["prior", "mu"])
def test_nothing_of_a_named_file_is_coded_before_its_bytes_are_those_recorded(name, heads, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ROWS.write_csv("table.csv")
    pl.DataFrame({"age": [30, 60, 60], "ill": ["yes", "no", "no"]}).write_csv("private.csv")
    read = []
    for each in ("with_priors", "with_public_points"):
        own = getattr(public_rows, each)
        monkeypatch.setattr(
            public_rows, each, lambda *given, own=own, **more: (read.append(own), own(*given, **more))[1]
        )

    evil = _evil(heads[name], name, "private.csv")
    assert isinstance(watched(lambda: lw.resume(evil, "table.csv")).error, DataError)

    assert read == []


@pytest.mark.parametrize("name", ["prior", "mu"])
def test_a_strangers_transcript_tells_nothing_of_a_file_that_it_names(name, heads, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ROWS.write_csv("table.csv")
    pl.DataFrame({"age": [30, 60, 60], "ill": ["yes", "no", "no"]}).write_csv("private.csv")
    Path("empty.csv").write_text("")
    Path("folder").mkdir()
    said = set()
    for path in ("private.csv", tmp_path / "private.csv", "empty.csv", "nowhere.csv", "folder", "x\0y"):
        for changes in _LISTS:
            evil = _evil(heads[name], name, path, **changes)
            outcome = watched(lambda evil=evil: lw.resume(evil, "table.csv"))
            assert isinstance(outcome.error, DataError)
            assert not outcome.warned
            said |= {str(outcome.error), lapwing("resume", evil, "table.csv", "-o", "out.csv").error}

    assert len(said) == 1
    assert "is not the one of its release" in said.pop()


@pytest.mark.parametrize("name", ["prior", "mu"])
def test_a_transcript_that_names_the_table_of_the_call_is_refused_as_that(name, heads, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ROWS.write_csv("table.csv")
    os.link("table.csv", "other.csv")
    evil = _evil(heads[name], name, "other.csv")

    with pytest.raises(ParameterError, match="private table itself"):
        lw.resume(evil, "table.csv")


def test_a_private_table_is_no_ledger_of_a_strangers_transcript(heads, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ROWS.write_csv("table.csv")
    os.link("table.csv", "other.db")
    Path("other.db.transcripts").mkdir()
    head = json.loads(json.dumps(heads["mu"]))
    head["records"] |= {"ledger": str(tmp_path / "other.db"), "dataset": "d"}
    head["hold"] = f"{tmp_path}/other.db.transcripts/{head['records']['release_id']}.jsonl"
    Path("evil.jsonl").write_text(json.dumps(head) + "\n")

    with pytest.raises(ParameterError, match="ledger that the transcript names is the private table itself"):
        lw.resume("evil.jsonl", "table.csv")


# -- Links, and whatever is given as public.


def _of_sqlite() -> lw.Query:
    with sqlite3.connect("table.db") as connection:
        connection.execute("create table rows as select 30 as age, 'yes' as ill")
    return lw.Query("select age, ill from rows", "sqlite:///table.db")


def _made(data: object, mechanism: Any) -> object:
    return lw.synthesize(data, SCHEMA, epsilon=1, mechanism=mechanism)


_DRAFT = {"draft": True, "fields": [{"name": "ill", "type": "string", "provenance": "dp"}]}
PUBLIC: dict[str, Callable[[Any, str], object]] = {
    "prior": lambda data, file: lw.synthesize(data, SCHEMA, epsilon=1, prior=file),
    "priors": lambda data, file: lw.synthesize(data, SCHEMA, epsilon=1, prior=[ROWS, [file]]),
    "prior among settings": lambda data, file: lw.synthesize(
        data, SCHEMA, epsilon=1, mechanism=lw.Adaptive(prior=file)
    ),
    "mu": lambda data, file: lw.synthesize(data, SCHEMA, epsilon=1, mechanism=lw.LinearStatistics(degree=1, mu=file)),
    "points of a callable": lambda data, file: lw.synthesize(
        data, SCHEMA, epsilon=1, mechanism=lw.LinearStatistics(mu=lambda _points, _rng: file)
    ),
    "public table": lambda data, file: lw.synthesize(data, SCHEMA, epsilon=1, public_tables=[file]),
    "synthetic table": lambda data, file: lw.evaluate(data, file, SCHEMA, epsilon=1),
    "model": lambda data, file: lw.evaluate(data, ROWS, SCHEMA, model=file),
    "dictionary": lambda data, file: lw.Schema.learn(data, _DRAFT, epsilon=1, dictionaries={"ill": file}),
    "estimator": lambda data, file: lw.Synthesizer(SCHEMA, epsilon=1, prior=file).fit(data),
}
GIVEN: dict[str, Callable[[], Any]] = {
    "path": lambda: "table.csv",
    "list": lambda: [Path("table.csv")],
    "folder": lambda: "folder",
    "pattern": lambda: "folder/*.csv",
    "query": _of_sqlite,
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("call", PUBLIC.values(), ids=PUBLIC)
def test_a_link_of_the_private_table_is_nowhere_public(call, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    ROWS.write_csv("table.csv")
    os.link("table.csv", "folder/part.csv")
    data = given()
    os.link("table.db" if isinstance(data, lw.Query) else "table.csv", "link.csv")

    with pytest.raises(LapwingError) as raised:
        call(data, "link.csv")

    assert raised.value.code == "LW351"


@pytest.mark.parametrize("call", PUBLIC.values(), ids=PUBLIC)
def test_a_table_in_memory_is_nowhere_public(call):
    frame = ROWS.clone()

    with pytest.raises(LapwingError) as raised:
        call(frame, frame)

    assert raised.value.code in ("LW351", "LW304", "LW361", "LW108")  # or no frame is taken there
