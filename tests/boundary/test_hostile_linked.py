"""Transcripts, model files and schemas of linked tables by strangers: what they say is checked before it is used."""

import csv
import itertools
import json
from functools import partial
from typing import Any

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import DataError, ParameterError, SchemaError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.rows.elsewhere import query_rows, tables_from

HOME = {"name": "home", "type": "integer", "role": "identifier"}
SCHEMA: dict[str, Any] = {
    "tables": {
        "homes": {"primaryKey": "home", "fields": [HOME, {"name": "rented", "type": "boolean"}]},
        "people": {
            "foreignKeys": {"home": "homes"},
            "maxRows": 2,
            "fields": [HOME, {"name": "adult", "type": "boolean"}],
        },
    }
}
TABLES = {
    "homes": pl.DataFrame({"home": range(60), "rented": [True, False] * 30}),
    "people": pl.DataFrame({"home": [*range(60)] * 2, "adult": [True] * 60 + [False] * 60}),
}


@pytest.fixture
def header(tmp_path) -> dict[str, Any]:
    """Return the header of a transcript that was debited and not answered, and whose ledger is there."""
    book = Ledger.create_or_open(tmp_path / "budget.db")
    book.init("homes", unit="zcdp", limit=1, relation="add-remove", privacy_unit="home:2")
    call = {"rho": "1/100", "mechanism": "independent", "ledger": tmp_path / "budget.db"}
    lw.synthesize(TABLES, SCHEMA, transcript=tmp_path / "good.jsonl", **call)
    found: dict[str, Any] = json.loads((tmp_path / "good.jsonl").read_text().splitlines()[0])
    found["records"]["release_id"] = "0" * 32
    found["hold"] = f"{tmp_path / 'budget.db'}.transcripts/{'0' * 32}.jsonl"
    return found


def _resumed(header, folder) -> str:
    path = folder / "forged.jsonl"
    path.write_text(json.dumps(header) + "\n")
    with pytest.raises(DataError) as caught:
        lw.resume(path, TABLES)
    assert path.read_text() == json.dumps(header) + "\n"
    assert Ledger.open(folder / "budget.db").balance("homes").spent * 100 == 1
    return str(caught.value)


@pytest.mark.parametrize("rho", ["1000", "1/1000"])
def test_parts_that_spend_other_than_what_is_debited_are_refused_before_anything_is_asked(rho, header, tmp_path):
    header["settings"]["parts"]["people"]["request"]["rho"] = rho

    assert "damaged" in _resumed(header, tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("relation", "replace-one"),
        ("seed", "1"),
        ("seed", -1),
        ("is_seeded", "no"),
        ("schema", "private.csv"),
        ("expected_rows", "9"),
        ("mechanism", {"name": "Adaptive", "settings": {"prior": ["private.csv"]}}),
    ],
)
def test_a_part_whose_settings_no_release_writes_is_refused(key, value, header, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "private.csv").write_text("adult\nSECRET\n")
    header["settings"]["parts"]["people"][key] = value

    assert "damaged" in _resumed(header, tmp_path)


def test_a_header_without_end_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "deep.jsonl"
    path.write_text("[" * 100_000 + "\n")

    for call in (
        lambda: lw.resume(path, TABLES),
        lambda: lw.synthesize(TABLES, SCHEMA, rho=1, mechanism="independent", transcript=path),
    ):
        with pytest.raises(DataError, match="transcript"):
            call()


def _with(**tables: Any) -> dict[str, Any]:
    """Return the schema with other keys in its tables, and more tables."""
    return {
        "tables": {**SCHEMA["tables"], **{name: {**SCHEMA["tables"].get(name, {}), **tables[name]} for name in tables}}
    }


PUBLIC = {"primaryKey": "adult", "fields": [{"name": "adult", "type": "string"}, {"name": "home", "type": "integer"}]}


def test_a_lookup_that_is_a_private_table_is_refused_before_anything_is_spent(tmp_path):
    for name, table in TABLES.items():
        table.write_csv(tmp_path / f"{name}.csv")
    lookup = {"public": "homes.csv", "primaryKey": "home", "fields": [{"name": "home", "type": "integer"}]}
    (tmp_path / "db.json").write_text(json.dumps(_with(towns=lookup)))
    paths = {name: str(tmp_path / f"{name}.csv") for name in TABLES}

    with pytest.raises(ParameterError, match="is the private table itself"):
        lw.synthesize(paths, tmp_path / "db.json", epsilon=1, transcript=tmp_path / "t.jsonl")
    assert not (tmp_path / "t.jsonl").exists()


@pytest.mark.parametrize("elsewhere", ["{0}/secret.csv", "../secret.csv", "below/../../secret.csv"])
def test_a_schema_of_a_stranger_shows_no_file_that_is_not_beside_it(elsewhere, tmp_path):
    (tmp_path / "secret.csv").write_text("adult,home\nSECRET,1\n")
    (tmp_path / "given" / "below").mkdir(parents=True)
    path = tmp_path / "given" / "db.json"
    path.write_text(json.dumps(_with(towns={**PUBLIC, "public": elsewhere.format(tmp_path)})))

    with pytest.raises(SchemaError, match="must be a file beside the schema") as caught:
        lw.Schema.load(path)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("text", ["adult,home\n" + "a" * 200_000 + ",1\n", "\0", "", "adult\n" * 3, "home\n1,2,3\n"])
def test_a_public_file_of_a_stranger_that_is_no_table_is_refused_in_a_sentence(text, tmp_path, request):
    request.addfinalizer(partial(csv.field_size_limit, csv.field_size_limit(2**17)))  # other reads raise it
    (tmp_path / "towns.csv").write_text(text)
    (tmp_path / "db.json").write_text(json.dumps(_with(towns={**PUBLIC, "public": "towns.csv"})))

    with pytest.raises(SchemaError, match="towns: "):
        lw.Schema.load(tmp_path / "db.json")


def test_tables_without_end_are_refused_at_once():
    names = ["homes", *(f"t{place}" for place in range(1200))]
    key = {"type": "integer", "role": "identifier"}
    tables = {
        below: {
            "primaryKey": below,
            "foreignKeys": {above: above},
            "maxRows": 1,
            "fields": [{"name": above, **key}, {"name": below, **key}, {"name": f"{below} x", "type": "boolean"}],
        }
        for above, below in itertools.pairwise(names)
    }
    homes = {"primaryKey": "homes", "fields": [{"name": "homes", **key}]}

    with pytest.raises(SchemaError, match="must be 100 at most, got 1201"):
        lw.Schema.load({"tables": {"homes": homes, **tables}})


@pytest.mark.parametrize("name", ["../secret", "..", "a/../../secret", "{0}/secret"])
def test_the_name_of_a_table_leads_out_of_no_folder_that_is_read(name, tmp_path):
    (tmp_path / "secret.csv").write_text("home\n1\n")
    (tmp_path / "a").mkdir()

    with pytest.raises(DataError, match="no file of the table"):
        tables_from(str(tmp_path / "a"), {name.format(tmp_path): ["home"]})


def test_a_key_that_is_also_the_parents_is_refused():
    with pytest.raises(SchemaError, match="is its own key and that of homes"):
        lw.Schema.load(_with(people={"primaryKey": "home"}))


@pytest.mark.parametrize("names", [("lapwing_rows", "people"), ("homes", "homes rows"), ("homes.x", "homes.x rows")])
def test_no_name_of_a_table_is_taken_for_the_rows_that_are_written(names, tmp_path):
    homes, people = names
    below = {**SCHEMA["tables"]["people"], "foreignKeys": {"home": homes}}
    schema = {"tables": {homes: SCHEMA["tables"]["homes"], people: below}}
    tables = dict(zip(names, TABLES.values(), strict=True))
    release = lw.synthesize(tables, schema, epsilon=5, mechanism="independent", seed=1)
    release.write(tmp_path / "out.duckdb", 20)

    read = lw.Query(f'SELECT count(*) AS rows FROM "{homes}"', f"duckdb:///{tmp_path / 'out.duckdb'}")
    assert query_rows(read).fetchall() == [(20,)]


def test_the_part_of_one_table_is_not_taken_for_all_that_its_release_spent(tmp_path):
    release = lw.synthesize(TABLES, SCHEMA, rho=2, mechanism="independent", seed=1)
    release.tables["people"].save(tmp_path / "people.lapwing")
    schema = {"privacyUnit": {"field": "home", "maxRows": 2}, "fields": [HOME, {"name": "adult", "type": "boolean"}]}

    for prior in (release.tables["people"], tmp_path / "people.lapwing"):
        found = lw.synthesize(TABLES["people"], schema, rho=1, mechanism="kdtree", prior=prior, seed=1)
        assumed = {each.code for each in found.certificate.assumed}
        assert "prior_of_several" in assumed
        assert "prior_summed" not in assumed  # it would be the sum of two of three
