"""What `cases/refused.toml` lists is refused in one line, with code, words and a way out, and no file is changed."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from helpers.studio import tree

CASES = {
    (kind, given): said.split(" ", 2)
    for kind, cases in tomllib.loads((Path(__file__).parents[1] / "cases/refused.toml").read_text()).items()
    for given, said in cases.items()
}
COLUMNS = {"age": {"type": "integer", "constraints": {"minimum": 0, "maximum": 120}}, "town": ["Bern", "Ulm"]}
STAYS = {"who": "id", "day": make.field("day", (1, 40), required=True), "sex": ["f", "m"]}
HOMES = {
    "homes": {"primaryKey": "home", "fields": {"home": "id", "rooms": (1, 9)}},
    "people": {"foreignKeys": {"home": "homes"}, "maxRows": 3, "fields": {"home": "id", "sex": ["f", "m"]}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make tables, their schemas, models, a ledger, and files that are none of these."""
    people = make.table(COLUMNS | {"smokes": bool}, 60)
    stays = make.table({"day": (1, 40), "sex": ["f", "m"]}, 90).with_columns(who=np.repeat(np.arange(30), 3))
    unit = {"privacyUnit": {"field": "who", "maxRows": 4}, "order": "day", "constant": ["sex"], "name": "stays"}
    dp = {"age": "integer", "town": "string"}
    contents = {
        "p.csv": people,
        "t.parquet": people,
        "other.csv": people.rename({"age": "Age"}),
        "s.json": make.schema(COLUMNS | {"smokes": bool}),
        "draft.json": {"draft": True, "fields": [*make.fields(dp, provenance="dp"), make.field("smokes", bool)]},
        "stays.csv": stays,
        "stays.json": make.schema(STAYS, **unit),
        "homes.csv": make.table(HOMES["homes"]["fields"], 30),
        "people.csv": make.table(HOMES["people"]["fields"], 30),
        "homes.json": make.database(HOMES),
        "note.txt": "hi",
        "s.yaml": "fields:\n  - name: age\n",
        "p.db": b"",
        "folder/note.txt": "hi",
    }
    place = make.files(tmp_path_factory.mktemp("refused"), contents)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(place)
        made = "synthesize p.csv --schema s.json --epsilon 1 --mechanism independent -o out.csv --model m.lapwing"
        assert lapwing(made).status == 0
        lw.synthesize("stays.csv", "stays.json", epsilon=20, mechanism="Independent", seed=1).save("stays.lapwing")
        make.ledger("b.db", 1)
    return place


@pytest.mark.parametrize(("kind", "given"), CASES, ids=[f"{kind} {given[:60]}" for kind, given in CASES])
def test_a_slip_is_told_in_one_line_with_its_way_out(kind, given, folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder)
    (tmp_path / "s.json").write_text(given)
    before = tree(folder)

    said = lapwing(given) if kind == "commands" else lapwing("schema", "check", tmp_path / "s.json")

    status, code, words = CASES[kind, given]
    assert words in said.error
    assert (said.status, said.code) == (int(status), code)
    assert "invalid value:" not in said.error
    assert tree(folder) == before
