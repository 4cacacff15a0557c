"""A file from elsewhere opens nothing: a private table behind every path of every format, under every spelling.

Each leaf of a good file, and each key that might be followed, is replaced by the path of a private table; then the
calls and commands that take such a file are made. Whatever they do, no cell of the table shows anywhere, and under the
names that the file gives nothing is opened.
"""

import io
import json
import os
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from pyarrow.dataset import dataset

import lapwing as lw
from helpers.command import lapwing
from helpers.named_paths import DATA, openings, places, planted, spellings
from helpers.planted_values import TEXT, WHOLE, traces_in, traces_in_exception, traces_in_files, watched
from lapwing.errors import LapwingError, ParameterError
from lapwing.rows.entry import source_of
from lapwing.schema.named_files import holding_private, refuse_private

HOME = {"name": "home", "type": "integer", "role": "identifier"}
AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}}
ILL = {"name": "ill", "type": "string", "categories": ["yes", "no"]}
CENSUS = {"columns": ["ill"], "cells": [["yes", 30], ["no", 30]], "source": "census", "provenance": "public"}
SCHEMA: dict[str, Any] = {"fields": [HOME, AGE, ILL]}
LINKED: dict[str, Any] = {
    "tables": {
        "homes": {"primaryKey": "home", "fields": [HOME, AGE, ILL]},
        "people": {
            "foreignKeys": {"home": "homes", "code": "codes"},
            "maxRows": 2,
            "fields": [HOME, {"name": "adult", "type": "boolean"}, {"name": "code", "type": "integer"}],
        },
        "codes": {
            "public": "codes.csv",
            "primaryKey": "home",
            "fields": [{"name": "home", "type": "integer"}, {"name": "note", "type": "string"}],
        },
    },
    "rules": [{"when": {"adult": True}, "then": {"code": [1]}}],
}
ROWS = pl.DataFrame({"home": range(60), "age": [*range(9), WHOLE] * 6, "ill": [*["yes", "no"] * 29, TEXT, TEXT]})
CLEAN = ROWS.with_columns(pl.col("age").clip(0, 9), pl.lit("no").alias("ill"))
PEOPLE = pl.DataFrame({"home": [*range(60)], "adult": [True] * 60, "code": [1] * 60})
ONE: dict[str, Any] = {"epsilon": 2, "mechanism": "independent", "misfits": 1}


def _data(folder: Path) -> dict[str, str]:
    return {"homes": str(folder / DATA), "people": str(folder / "people.csv")}


def _resumed(path: Path, folder: Path) -> Any:
    data: Any = _data(folder) if "linked" in path.name else folder / DATA
    return lw.resume(path, data).sample(3)


def _json_text(tree: Any) -> str:
    return json.dumps(tree)


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _first_line(rest: list[Any]) -> Callable[[Any], str]:
    return lambda head: "".join(json.dumps(line) + "\n" for line in (head, *rest))


def _entry(content: bytes, name: str) -> Callable[[Any], bytes]:
    """Return what writes a model file anew with another JSON document in it."""

    def written(tree: Any) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
            for each in old.namelist():
                new.writestr(each, json.dumps(tree) if each == name else old.read(each))
        return stream.getvalue()

    return written


def _calls(name: str, path: Path, folder: Path) -> list[Callable[[], object]]:
    """Return the calls and commands that take a file of a format."""
    data, table = _data(folder), folder / DATA
    out, new = folder / "out", folder / "new.jsonl"
    if name == "schema":
        return [
            lambda: lw.synthesize(table, path, **ONE).sample(3),
            lambda: lw.evaluate(table, folder / "clean.csv", path, rho=1),
            lambda: lapwing("schema", "check", path, table),
            lambda: lapwing("plan", "--schema", path, "--epsilon", 1, "--expected-rows", 60),
        ]
    if name == "linked":
        given = (*data.values(), "--schema", path)
        return [
            lambda: lw.synthesize(data, path, epsilon=2, mechanism="independent").sample(3),
            lambda: lw.plan(path, epsilon=1, expected_rows={"homes": 60, "people": 60}).text(),
            lambda: lw.evaluate(data, data, path),
            lambda: lapwing("schema", "check", path, *data.values()),
            lambda: lapwing("synthesize", *given, "--epsilon", 2, "--mechanism", "independent", "--into", out),
        ]
    if name == "public table":
        return [
            lambda: lw.synthesize(table, SCHEMA, public_tables=path, **ONE),
            lambda: lapwing("synthesize", table, "--schema", folder / "s.json", "--epsilon", 2, "--public-table", path),
        ]
    if name.startswith("transcript"):
        return [
            lambda: _resumed(path, folder),
            lambda: lapwing("resume", path, *(data.values() if "linked" in name else [table]), "-o", f"{out}.csv"),
        ]
    if name == "again":
        return [
            lambda: lw.evaluate(table, folder / "clean.csv", SCHEMA, rho=1, transcript=path),
            lambda: lw.Schema.learn(table, _draft(), epsilon=2, transcript=path),
        ]
    if name.startswith("model"):
        return [
            lambda: lw.load(path).sample(3),
            lambda: lw.synthesize(table, SCHEMA, epsilon=2, prior=path, transcript=new, misfits=1).sample(3),
            lambda: lw.evaluate(table, folder / "clean.csv", SCHEMA, model=path),
        ]
    if name.startswith("certificate"):
        return [
            lambda: lapwing("certificate", "show", path),
            lambda: lapwing("certificate", "verify", path, folder / "clean.csv"),
        ]
    if name == "policy":
        return [lambda: lapwing("--policy", path, "synthesize", table, "--schema", folder / "s.json", "--epsilon", 2)]
    return [lambda: lw.Schema.from_foreign(path), lambda: lapwing("schema", "convert", path, "-o", folder / "c.json")]


def _draft() -> dict[str, Any]:
    return {"draft": True, "fields": [{"name": "age", "type": "integer", "provenance": "dp"}]}


def _toml(tree: Any) -> str:
    """Return a policy; what no TOML can say is left out."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in tree.items()) if isinstance(tree, dict) else tree


_FOREIGN: dict[str, Any] = {
    "frictionless": {
        "resources": [{"name": "t", "path": "t.csv", "schema": {"fields": [{"name": "a", "type": "any"}]}}]
    },
    "croissant": {
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "distribution": [{"@type": "cr:FileObject", "@id": "f", "contentUrl": "t.csv"}],
        "recordSet": [{"@id": "r", "field": [{"@id": "a", "name": "a", "dataType": "sc:Integer"}]}],
    },
    "sdv": {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": {"a": {"sdtype": "numerical"}}},
}


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> dict[str, tuple[str, Any, Callable[[Any], str | bytes]]]:
    """Return a good file of each format: its name, its JSON values, and what writes them."""
    folder = tmp_path_factory.mktemp("good")
    CLEAN.with_columns(people=pl.lit(1)).write_csv(folder / "clean.csv")
    clean = {"homes": CLEAN, "people": PEOPLE}
    linked = json.loads(json.dumps(LINKED))
    linked["tables"]["codes"]["public"] = [[1, "x"], [2, "y"]]
    release = lw.synthesize(
        CLEAN, SCHEMA, epsilon=2, prior=folder / "clean.csv", transcript=folder / "prior.jsonl", misfits=1
    )
    mu = lw.LinearStatistics(degree=1, mu=str(folder / "clean.csv"))
    lw.synthesize(CLEAN, SCHEMA, epsilon=2, mechanism=mu, transcript=folder / "mu.jsonl")
    call: dict[str, Any] = {"epsilon": 2, "mechanism": {"homes": mu, "people": "independent"}}
    both: Any = lw.synthesize(clean, linked, transcript=folder / "linked.jsonl", **call)
    lw.evaluate(CLEAN, CLEAN.head(50), SCHEMA, rho=1, transcript=folder / "bought.jsonl")
    release.save(folder / "m.lapwing")
    model = (folder / "m.lapwing").read_bytes()
    found: dict[str, tuple[str, Any, Callable[[Any], str | bytes]]] = {
        "schema": ("f.json", {**SCHEMA, "publicTables": [CENSUS]}, _json_text),
        "linked": ("f.json", LINKED, _json_text),
        "public table": ("f.json", CENSUS, _json_text),
        "certificate": ("f.json", release.certificate.to_dict(), _json_text),
        "certificate of linked": ("f.json", both.certificate.to_dict(), _json_text),
        "policy": ("f.toml", {"mechanisms": ["independent"], "leastGroup": 1}, _toml),
        **{name: ("f.json", tree, _json_text) for name, tree in _FOREIGN.items()},
    }
    for name in ("prior", "mu", "linked"):
        head, *rest = _lines(folder / f"{name}.jsonl")
        found[f"transcript of {name}"] = (f"{name}.jsonl", head, _first_line(rest))
    head, *rest = _lines(folder / "bought.jsonl")
    found["again"] = ("bought.jsonl", head, _first_line(rest))
    with zipfile.ZipFile(io.BytesIO(model)) as archive:
        for name in ("certificate.json", "schema.json", "model.json"):
            found[f"model, {name}"] = ("f.lapwing", json.loads(archive.read(name)), _entry(model, name))
    return found


FORMATS = (
    *("schema", "linked", "public table", "certificate", "certificate of linked", "policy", *_FOREIGN),
    *("transcript of prior", "transcript of mu", "transcript of linked", "again"),
    *(f"model, {name}.json" for name in ("certificate", "schema", "model")),
)


def _folder(place: Path) -> tuple[Path, dict[str, str]]:
    """Make a folder with the private table, its other names, and what is public beside it."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    ROWS.write_csv(place / DATA)
    CLEAN.write_csv(place / "clean.csv")
    PEOPLE.write_csv(place / "people.csv")
    (place / "codes.csv").write_text("home,note\n1,x\n2,y\n")
    (place / "s.json").write_text(json.dumps(SCHEMA))
    return place, spellings(place)


def _hold(call: Callable[[], object], folder: Path, capfd: pytest.CaptureFixture[str]) -> BaseException | None:
    """Make a call, and hold that it opens the private table by the call's name alone, and that no cell shows."""
    private = {each for each in folder.rglob("*") if each.is_file() and each.samefile(folder / DATA)}
    capfd.readouterr()
    with openings(folder / DATA) as opened:
        outcome = watched(call)
    said = f"{outcome.value!r}" if not isinstance(outcome.value, pl.DataFrame) else outcome.value.write_csv()
    out, err = capfd.readouterr()
    assert outcome.error is None or isinstance(outcome.error, LapwingError), outcome.error
    assert not {each for each in opened if Path(each) != folder / DATA}, opened
    assert not traces_in("\n".join([said, out, err, outcome.warned])), (said, out, err, outcome.warned)
    assert not traces_in_exception(outcome.error)
    assert not traces_in_files(folder, but=private)
    return outcome.error


@pytest.mark.parametrize("count", [2, pytest.param(100, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", FORMATS)
def test_a_private_table_behind_any_path_of_any_file_is_neither_opened_nor_shown(
    name, count, good, tmp_path, monkeypatch, capfd
):
    file, tree, write = good[name]
    every = [(place, kind) for place in places(tree) for kind in range(6)]
    rng = random.Random(54)
    for place, kind in rng.sample(every, min(count, len(every))):
        folder, names = _folder(tmp_path / "in")
        monkeypatch.chdir(folder)
        content = write(planted(tree, place, list(names.values())[kind]))
        path = folder / file
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        for call in _calls(name, path, folder):
            shutil.rmtree(folder / "out", ignore_errors=True)
            _hold(call, folder, capfd)


_FOLLOWED = {
    "linked": ("tables", "codes", "public"),
    "transcript of prior": ("settings", "mechanism", "settings", "prior"),
    "transcript of mu": ("settings", "mechanism", "settings", "mu"),
    "transcript of linked": ("settings", "parts", "homes", "mechanism", "settings", "mu"),
}


@pytest.mark.parametrize("kind", ["same", "absolute", "dotted", "through a folder", "hard link", "symbolic link"])
@pytest.mark.parametrize("name", _FOLLOWED)
def test_paths_that_are_followed_refuse_the_table_of_the_call_by_whatever_name(
    name, kind, good, tmp_path, monkeypatch, capfd
):
    file, tree, write = good[name]
    folder, names = _folder(tmp_path / "in")
    monkeypatch.chdir(folder)
    (folder / file).write_bytes(os.fsencode(write(planted(tree, _FOLLOWED[name], names[kind]))))

    error = _hold(_calls(name, folder / file, folder)[0], folder, capfd)

    is_elsewhere = name == "linked" and kind in ("absolute", "through a folder")
    assert isinstance(error, LapwingError)
    assert error.code == ("LW250" if is_elsewhere else "LW351")


_READ_ANEW: dict[str, tuple[str, Callable[[], Any]]] = {
    "lazy CSV": ("h.csv", lambda: pl.scan_csv("h.csv")),
    "an address": ("h.csv", lambda: pl.scan_csv(Path("h.csv").resolve().as_uri())),
    "a name like a list": ("h, x.csv", lambda: pl.scan_csv("h, x.csv")),
    "one of two": ("h7.csv", lambda: pl.scan_csv(["h.csv", "h7.csv"])),
    "one of many": ("h7.csv", lambda: pl.scan_csv("h*.csv")),
    "one of many folders": ("f2/h.csv", lambda: pl.scan_csv([f"f{number}/h.csv" for number in range(3)])),
    "a pattern of folders": ("f2/h.csv", lambda: pl.scan_csv("f*/h.csv")),
    "a scan by Python": ("h.csv", lambda: pl.scan_pyarrow_dataset(dataset("h.csv", format="csv"))),
    "after steps": ("h.csv", lambda: pl.concat([ROWS.lazy(), pl.scan_csv("h.csv").filter(pl.col("home") > 0)])),
    "lazy JSON": ("h.jsonl", lambda: pl.scan_ndjson("h.jsonl")),
    "lazy Parquet": ("h.parquet", lambda: pl.scan_parquet("h.parquet")),
    "lazy Arrow": ("h.arrow", lambda: pl.scan_ipc("h.arrow")),
    "dataset": ("h.csv", lambda: dataset("h.csv", format="csv")),
    "relation": ("h'.csv", lambda: duckdb.sql("SELECT *, 'it''s' AS s FROM 'h''.csv' WHERE home >= 0")),
    "a quoted name": ("h.csv", lambda: duckdb.sql('FROM "h.csv"').filter("home >= 0")),
    "a function": ("h.parquet", lambda: duckdb.read_parquet("h.parquet")),
    "a pattern": ("h7.csv", lambda: duckdb.sql("FROM read_csv('h*.csv')")),
    "a pattern of endings": ("h.parquet", lambda: duckdb.sql("FROM read_parquet('h.par*')")),
    "all of a folder": ("f2/h.csv", lambda: duckdb.sql("FROM read_csv('f2/*')")),
    "an address in SQL": (
        "h.csv",
        lambda: duckdb.sql(f"FROM read_csv('{Path('h.csv').resolve().as_uri()}') WHERE '/' <> '.'"),
    ),
    "no ending": ("rows", lambda: duckdb.sql("FROM read_csv('rows')")),
    "a union": ("h.csv", lambda: duckdb.sql("FROM 'h.parquet'").union(duckdb.sql("FROM 'h.csv'"))),
}
"""Tables that read a file in each pass, and the file."""


@pytest.mark.parametrize("kind", _READ_ANEW)
def test_a_file_that_a_query_reads_is_a_private_table_too(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = [f"f{number}/h.csv" for number in range(3)]
    for name in ("h.csv", "h, x.csv", "h'.csv", "rows", *folders, *(f"h{number}.csv" for number in range(9))):
        Path(name).parent.mkdir(exist_ok=True)
        ROWS.write_csv(name)
    ROWS.write_ndjson("h.jsonl")
    ROWS.write_parquet("h.parquet")
    ROWS.write_ipc("h.arrow")
    file, read = _READ_ANEW[kind]
    Path("s.json").write_text(json.dumps(planted(LINKED, _FOLLOWED["linked"], file)))

    with openings(tmp_path / file) as opened, pytest.raises(LapwingError) as caught:
        lw.synthesize({"homes": read(), "people": PEOPLE}, "s.json", epsilon=1)

    assert caught.value.code == "LW351"
    assert opened == []


def test_where_either_table_does_not_tell_its_files_they_may_be_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ROWS.write_csv("h.csv")
    ROWS.write_csv("other.csv")
    untold = pl.scan_pyarrow_dataset(dataset("h.csv", format="csv"))

    for private, public in [(untold, "other.csv"), ("h.csv", untold), (untold, untold)]:
        with holding_private(source_of(private)), pytest.raises(ParameterError, match="itself") as caught:
            refuse_private(source_of(public), "the prior")
        assert caught.value.code == "LW351"

    for private, public in [(untold, ROWS), (ROWS, untold), ("h.csv", "other.csv")]:
        with holding_private(source_of(private)):
            refuse_private(source_of(public), "the prior", None)


def test_no_cell_is_a_path_of_a_query(tmp_path):
    for name in ("a", "b", "c"):
        pl.DataFrame({"x": ["text"]}).write_csv(tmp_path / name)
    files = [tmp_path / name for name in ("a", "b", "c")]
    cells = pl.LazyFrame({"x": ["\u00a5inner\u0640" + "p" * 200]})

    assert {*source_of(pl.concat([cells, pl.scan_csv(files)])).paths} == {str(file) for file in files}
