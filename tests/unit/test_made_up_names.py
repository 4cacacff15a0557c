"""Identifiers that get names of nobody: a function of seed and row, through every door, and of no private cell."""

import random
import sqlite3
import sys
from pathlib import Path
from typing import Any, get_args

import faker
import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.linked_homes import SCHEMA as SCHEMA_OF_HOMES
from helpers.linked_homes import THREE, released, tables
from lapwing.kernel.budget.ledger import Ledger
from lapwing.model.rows import row_chunks
from lapwing.rows.out.decode import decode
from lapwing.schema.fields import MadeUp
from lapwing.schema.schemas import Schema

KINDS = get_args(MadeUp)
CANARY = "Zzyzx Canary"


def named(what: str, kind: str = "string") -> dict[str, Any]:
    return {"name": what, "type": kind, "role": "identifier", "madeUp": what}


NUMBER = named("record number", "integer") | {"name": "number"}
FIELDS = [*map(named, KINDS), NUMBER, make.field("flag", bool, required=True)]
SCHEMA = {"fields": FIELDS}


@pytest.fixture(scope="module")
def release() -> lw.Release:
    rows = {what: [f"{CANARY} {number}" for number in range(400)] for what in KINDS}
    table = pl.DataFrame({**rows, "number": range(400), "flag": [True, False] * 200})
    return lw.synthesize(table, SCHEMA, epsilon=1, seed=1)


def test_a_seed_gives_the_same_names_whatever_the_chunks(release: lw.Release) -> None:
    frames = [
        pl.concat(row_chunks(release.model, release.schema, 700, np.random.default_rng(5), chunk=chunk).frames())
        for chunk in (1000, 300, 7)
    ]

    names = [frame.drop("flag") for frame in frames]
    assert names[0].equals(names[1])
    assert names[0].equals(names[2])
    assert not names[0].equals(release.sample(700, seed=6).drop("flag"))


def test_every_door_gives_the_same_rows(release: lw.Release, tmp_path: Path) -> None:
    rows = release.sample(50, seed=3)

    release.save(tmp_path / "m.lapwing")
    for name in ("rows.parquet", "rows.csv", "rows.sqlite"):
        release.write(tmp_path / name, 50, seed=3)
    written = pl.read_parquet(tmp_path / "rows.parquet")
    text = pl.read_csv(tmp_path / "rows.csv", schema_overrides={"record number": pl.String})
    assert rows.equals(written)
    assert rows.equals(text)
    assert rows.equals(lw.load(tmp_path / "m.lapwing").sample(50, seed=3))
    with sqlite3.connect(tmp_path / "rows.sqlite") as file:
        (table,) = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchone()
        assert [row[:1] for row in file.execute(f'SELECT "name" FROM "{table}"')] == rows.select("name").rows()


def test_rows_for_conditions_have_names_too(release: lw.Release) -> None:
    asked = pl.DataFrame({"flag": [True, False, True]})

    rows = release.sample(where=asked, seed=1)

    assert rows.equals(release.sample(where=asked, seed=1))
    assert rows["name"].str.contains("^[A-Z][a-z]+ ").all()


def test_what_is_made_up_is_of_its_kind_and_record_numbers_are_unique(release: lw.Release) -> None:
    rows = release.sample(5000, seed=2)

    assert rows["e-mail"].str.contains(r"^\S+@example\.(com|net|org)$").all()
    assert rows["phone"].str.contains(r"^\(\d{3}\) 555-01\d\d$").all()
    assert rows["number"].n_unique() == rows["record number"].n_unique() == 5000
    assert rows["record number"].str.contains(r"^\d{14}$").all()
    assert not any(rows[what].str.contains("\n").any() for what in KINDS)
    assert rows["first name"].n_unique() > 100


def test_no_private_identifier_comes_out(release: lw.Release) -> None:
    rows = release.sample(1000, seed=2)

    assert not any(rows[what].str.contains("Zzyzx").any() for what in KINDS)
    assert CANARY not in release.certificate.to_json()


def test_the_random_state_of_others_stays_as_it_is(release: lw.Release) -> None:
    random.seed(1)
    faker.Faker.seed(1)
    before, shared = random.getstate(), faker.generator.random.getstate()

    release.sample(10, seed=2)

    assert (random.getstate(), faker.generator.random.getstate()) == (before, shared)


def test_columns_of_one_kind_have_names_of_their_own() -> None:
    schema = Schema.from_dict(
        {"fields": [named("name"), {**named("name"), "name": "doctor"}, make.field("flag", bool)]}
    )

    rows = decode({"flag": np.zeros(50, dtype=np.int8)}, schema, made_up="a seed")

    assert (rows["name"] != rows["doctor"]).sum() > 40


def test_the_certificate_says_that_they_are_nobodys(release: lw.Release) -> None:
    (said,) = [each for each in release.certificate.warnings if each.code == "made_up"]

    assert said.fields == {"fields": tuple(what for what in KINDS if what != "record number")}


def test_a_schema_without_them_is_as_it_was() -> None:
    plain = {key: value for key, value in named("name").items() if key != "madeUp"}
    schema, other = (Schema.from_dict({"fields": [each, FIELDS[-1]]}) for each in (plain, named("name")))

    assert "madeUp" not in str(schema.to_dict())
    assert "made_up" not in repr(schema.fields[0])
    assert Schema.from_dict(other.to_dict()) == other
    assert other.fingerprint != schema.fingerprint


# ------------------------------------------------------------------------------------------------------- linked tables


def homes(**of_person: str) -> dict[str, Any]:
    """Return the schema of linked homes whose owners and persons have names."""
    parent, child = SCHEMA_OF_HOMES["parent"]["fields"], SCHEMA_OF_HOMES["child"]["fields"]
    person = {**child[1], "madeUp": "name", **of_person}
    return {
        **SCHEMA_OF_HOMES,
        "parent": {"fields": [*parent, {**person, "name": "owner"}]},
        "child": {"fields": [child[0], person, child[2]]},
    }


def test_identifiers_of_linked_tables_have_names_and_keys_do_not() -> None:
    parents, children = tables(100)
    found = released(homes(), (parents.with_columns(owner=pl.lit(CANARY)), children))

    owners, persons = found.sample(2000, seed=4)

    again = found.sample(2000, seed=4)
    assert owners.equals(again[0])
    assert persons.equals(again[1])
    assert owners["home"].to_list() == list(range(1, 2001))
    assert set(persons["home"]) <= set(owners["home"])
    assert persons["person"].str.contains("^[A-Z]").all()
    assert owners["owner"].str.contains("^[A-Z]").all()
    assert (owners["owner"] != persons["person"][:2000]).sum() > 1900
    assert not owners["owner"].str.contains("Zzyzx").any()
    said = [each for each in found.certificate.warnings if each.code == "made_up"]
    assert {(each.table, *each.fields["fields"]) for each in said} == {("parent", "owner"), ("child", "person")}


@pytest.mark.parametrize("table", ["homes", "people"])
def test_a_key_stays_a_number(table: str) -> None:
    tables = {name: {**own, "fields": [*own["fields"]]} for name, own in THREE["tables"].items()}
    tables[table]["fields"][0] = {**tables[table]["fields"][0], "madeUp": "record number"}

    with pytest.raises(lw.SchemaError, match='must be fresh numbers; remove "madeUp" from it'):
        lw.Schema.load({**THREE, "tables": tables})


def test_the_key_of_events_stays_a_number() -> None:
    unit, day = {**NUMBER, "name": "who"}, make.field("day", (0, 9), required=True)
    schema = {"privacyUnit": {"field": "who", "maxRows": 3}, "order": "day", "fields": [unit, day, FIELDS[-1]]}

    with pytest.raises(lw.SchemaError, match="must be fresh numbers"):
        lw.Schema.load(schema)


# ------------------------------------------------------------------------------------------------- without the library


def test_without_the_library_a_release_is_refused_before_the_debit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faker", None)
    ledger = make.ledger(tmp_path / "b.db", 10, dataset="d").path
    table = pl.DataFrame({"name": ["a"] * 40, "flag": [True, False] * 20})
    asked = {"fields": [FIELDS[0], FIELDS[-1]]}

    with pytest.raises(lw.LapwingError, match="made-up names need faker, which is not installed; run"):
        lw.synthesize(table, asked, epsilon=1, ledger=ledger, dataset="d")
    with pytest.raises(lw.LapwingError, match="made-up names need faker"):
        lw.synthesize(tables(50), homes(), epsilon=1)

    assert Ledger.open(ledger).balance("d").spent == 0


@pytest.mark.parametrize("door", ["sample", "write", "rows for conditions"])
def test_without_the_library_no_row_is_drawn(
    release: lw.Release, door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faker", None)
    doors = {
        "sample": lambda: release.sample(5),
        "write": lambda: release.write(tmp_path / "rows.csv", 5),
        "rows for conditions": lambda: release.sample(where=pl.DataFrame({"flag": [True]})),
    }

    with pytest.raises(lw.LapwingError, match="made-up names need faker"):
        doors[door]()

    assert not list(tmp_path.iterdir())


def test_record_numbers_need_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faker", None)
    table = pl.DataFrame({"number": range(40), "flag": [True, False] * 20})

    found = lw.synthesize(table, {"fields": [NUMBER, FIELDS[-1]]}, epsilon=1)

    assert found.sample(100)["number"].n_unique() == 100
    assert "made_up" not in {each.code for each in found.certificate.warnings}
