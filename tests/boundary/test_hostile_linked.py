"""Transcripts, model files and schemas of linked tables by strangers: what they say is checked before it is used."""

import json
from typing import Any

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import DataError
from lapwing.kernel.budget.ledger import Ledger

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
