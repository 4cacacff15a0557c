"""Transcripts of strangers given to `lapwing resume`: no path in them is followed, whatever they say is checked."""

import json
import random
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import lapwing as lw
from helpers.hostile import changed, damaged, outcome, watched
from lapwing.errors import DataError, LapwingError
from lapwing.kernel.budget.ledger import Ledger

REQUIRED = {"constraints": {"required": True}}
SCHEMA: dict[str, Any] = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 7, "required": True}},
        {"name": "old", "type": "boolean", **REQUIRED},
        {"name": "town", "type": "string", "categories": ["x", "y", "z"], **REQUIRED},
    ]
}
ROWS = pl.DataFrame({"age": [0, 3, 6, 7] * 25, "old": [False, True] * 50, "town": ["x", "y", "y", "z"] * 25})
PUBLIC = ROWS.head(20)
MECHANISMS = ("independent", "pmm", "adaptive", "psmm", "grid", "kdtree", "microaggregation", "linearstatistics")


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> dict[str, list[dict[str, Any]]]:
    """Return the lines of a transcript of each kind."""
    folder = tmp_path_factory.mktemp("good")
    PUBLIC.write_csv(folder / "public.csv")
    ledger = Ledger.create_or_open(folder / "budget.db")
    ledger.init("d", unit="zcdp", limit=10**6, relation="add-remove", privacy_unit="row")
    settings: dict[str, Any] = dict.fromkeys(MECHANISMS)
    calls = {name: {"mechanism": name, "epsilon": 2, "delta": "1e-6"} for name in settings}
    calls["with mu"] = {"mechanism": lw.LinearStatistics(degree=1, mu=str(folder / "public.csv")), "epsilon": 2}
    calls["with ledger"] = {"mechanism": "independent", "epsilon": 1, "ledger": folder / "budget.db"}
    calls["no schema"] = {"epsilon": 200, "delta": "1e-6"}
    for name, call in calls.items():
        schema = None if name == "no schema" else SCHEMA
        lw.synthesize(ROWS, schema, transcript=folder / f"{name}.jsonl", seed=1, **call)
    return {name: _lines(folder / f"{name}.jsonl") for name in calls}


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _write(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _files(folder: Path) -> set[str]:
    return {each.relative_to(folder).as_posix() for each in folder.rglob("*")}


def _refusal(path: Path, lines: list[Any]) -> str:
    with pytest.raises(LapwingError) as caught:
        lw.resume(_write(path, lines), ROWS)
    assert "unexpected" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", [*MECHANISMS, "with mu", "with ledger", "no schema"])
def test_good_transcripts_are_resumed_from_every_line(name, good, tmp_path):
    for kept in range(1, len(good[name]) + 1):
        if name == "no schema" and kept % 6:
            continue  # test_no_schema.py goes on from each
        if name == "with ledger" and kept < len(good[name]):
            continue  # the ledger knows that more answers were given, and refuses
        release = lw.resume(_write(tmp_path / f"{kept}.jsonl", good[name][:kept]), ROWS)

        assert release.sample(5).height == 5


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("columns", "/etc/passwd"),
        ("columns", {"age": "/etc/passwd"}),
        ("columns", {"age": ["integer"]}),
        ("columns", {"": "integer"}),
        ("share", "0"),
        ("share", "1"),
        ("share", 0.2),
        ("seed", -1),
        ("expected_rows", "many"),
        ("request", {"epsilon": "1", "delta": "2", "rho": None}),
    ],
)
def test_what_a_header_without_a_schema_says_is_checked(key, value, good, tmp_path):
    head = json.loads(json.dumps(good["no schema"][0]))
    head["settings"][key] = value

    assert _refusal(tmp_path / "t.jsonl", [head])


@pytest.mark.parametrize("hold", ["{0}/elsewhere/x", "{0}/x", "x", "", None, 5, ["x"], "/dev/null", "../x"])
@pytest.mark.parametrize("name", ["independent", "with ledger"])
def test_what_a_header_says_is_held_makes_no_file_elsewhere(name, hold, good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    head = {**good[name][0], "hold": hold.format(tmp_path) if isinstance(hold, str) else hold}
    before = _files(tmp_path)

    assert "header of the transcript" in _refusal(tmp_path / "t.jsonl", [head, *good[name][1:]])

    assert _files(tmp_path) == before | {"t.jsonl"}


@pytest.mark.parametrize("release", ["../../x", "x/y", "", "A" * 32, 5, None])
def test_a_release_id_is_no_part_of_a_path(release, good, tmp_path):
    head = json.loads(json.dumps(good["with ledger"][0]))
    head["records"]["release_id"] = release
    head["hold"] = f"{head['records']['ledger']}.transcripts/{release}.jsonl"

    assert "header of the transcript" in _refusal(tmp_path / "t.jsonl", [head])


@pytest.mark.parametrize("ledger", [0, 1, ["x"], {}, True, "budget.db", "", "\0"])
def test_a_ledger_is_named_by_a_whole_path_and_nothing_else(ledger, good, tmp_path):
    head = json.loads(json.dumps(good["with ledger"][0]))
    head["records"]["ledger"] = ledger
    head["hold"] = f"{ledger}.transcripts/{head['records']['release_id']}.jsonl"

    with watched(tmp_path):
        assert "header of the transcript" in _refusal(tmp_path / "t.jsonl", [head])


def test_a_schema_in_a_header_is_never_a_path(good, tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    head = json.loads(json.dumps(good["independent"][0]))
    head["settings"]["schema"] = str(tmp_path / "schema.json")
    own = _write(tmp_path / "t.jsonl", [head])

    with watched(own), pytest.raises(DataError, match="header of the transcript"):
        lw.resume(own, ROWS)


def test_private_rows_cannot_be_named_as_the_public_points_of_a_release(good, tmp_path):
    ROWS.tail(30).write_csv(tmp_path / "private.csv")
    head = json.loads(json.dumps(good["with mu"][0]))
    head["settings"]["mechanism"]["settings"]["mu"] = str(tmp_path / "private.csv")
    without = json.loads(json.dumps(head))
    del without["settings"]["points"]

    for each in (head, without):
        assert "is not the one of its release" in _refusal(tmp_path / "t.jsonl", [each])


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("settings", "expected_rows"), "many"),
        (("settings", "seed"), -1),
        (("settings", "seed"), "1"),
        (("settings", "is_seeded"), 1),
        (("settings", "request", "epsilon"), 1.0),
        (("settings", "request", "epsilon"), ["1"]),
        (("settings", "relation"), ["add-remove"]),
        (("settings", "mechanism", "name"), 5),
        (("settings", "mechanism", "settings"), []),
        (("terms", "max_rows"), "1"),
        (("terms", "rows"), "1"),
        (("records", "dataset"), 5),
        (("records",), None),
        (("terms",), [1]),
    ],
)
def test_values_of_other_types_are_refused_by_name_of_the_file(place, value, good, tmp_path):
    head = json.loads(json.dumps(good["independent"][0]))
    inside = head
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value

    assert "t.jsonl" in _refusal(tmp_path / "t.jsonl", [head])


def _rows_of(path: Path) -> pl.DataFrame:
    rows = lw.resume(path, ROWS).sample(3)
    assert isinstance(rows, pl.DataFrame)
    return rows


def _made(good: dict[str, list[dict[str, Any]]], rng: random.Random) -> bytes:
    """Return a transcript of which one line, most often the header, is changed; or some of its bytes."""
    lines = list(good[rng.choice(sorted(good))])
    lines = lines[: rng.choice([1, 2, len(lines)])]
    if rng.random() < 0.2:
        return damaged("".join(json.dumps(line) + "\n" for line in lines).encode(), rng)
    at = 0 if rng.random() < 0.6 else rng.randrange(len(lines))
    lines[at] = changed(lines[at], rng)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@pytest.mark.parametrize("count", [150, pytest.param(12_000, marks=pytest.mark.full)])
def test_changed_transcripts_are_resumed_or_refused_and_touch_nothing_else(count, good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng, results = random.Random(12), set()
    homes = Path(good["with ledger"][0]["records"]["ledger"]).parent

    for _ in range(count):
        shutil.rmtree(tmp_path / "in", ignore_errors=True)
        (tmp_path / "in").mkdir()
        path = tmp_path / "in" / "t.jsonl"
        path.write_bytes(_made(good, rng))
        with watched(path, homes):
            results.add(outcome(partial(_rows_of, path)))
        assert _files(tmp_path) <= {"in", "in/t.jsonl", "in/t.jsonl.lock"}

    assert {"read", "DataError", "SchemaError"} <= results
