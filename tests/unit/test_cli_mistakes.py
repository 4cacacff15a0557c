"""Mistakes that newcomers make: each is one sentence that names setting, rule and value, and a way out."""

import json
import shlex
import sqlite3

import polars as pl
import pytest

from helpers.command import lapwing

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}}
TOWN = {"name": "town", "type": "string", "categories": ["Bern", "Ulm"]}
SMOKES = {"name": "smokes", "type": "boolean"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Make a table, its schema, a model, a ledger, and files that are none of these."""
    folder = tmp_path_factory.mktemp("mistakes")
    table = pl.DataFrame({"age": range(60), "town": ["Bern", "Ulm"] * 30, "smokes": [True, False] * 30})
    table.write_csv(folder / "p.csv")
    table.rename({"age": "Age"}).write_csv(folder / "other.csv")
    (folder / "s.json").write_text(json.dumps({"fields": [AGE, TOWN, SMOKES]}))
    (folder / "note.txt").write_text("hi")
    (folder / "s.yaml").write_text("fields:\n  - name: age\n")
    (folder / "folder").mkdir()
    sqlite3.connect(folder / "p.db").close()
    paths = [str(folder / name) for name in ("p.csv", "s.json", "out.csv", "m.lapwing", "b.db")]
    made = ["--epsilon", "1", "--mechanism", "independent", "-o", paths[2], "--model", paths[3]]
    assert lapwing("synthesize", paths[0], "--schema", paths[1], *made).status == 0
    terms = ["--unit", "pure", "--limit", "1", "--neighbours", "add-remove", "--privacy-unit", "row"]
    assert lapwing("ledger", "init", "people", *terms, "--ledger", paths[4]).status == 0
    return folder


PAID = "synthesize p.csv --schema s.json --epsilon 1 -o x.csv"
COMMANDS = {
    "synthesize nofile.csv --schema s.json --epsilon 1": 'file "nofile.csv" does not exist; give the path',
    "synthesize folder --schema s.json --epsilon 1 -o x.csv": 'folder "folder" holds no .parquet or .csv file',
    "synthesize note.txt --schema s.json --epsilon 1 -o x.csv": "is of no known kind; its name must end in one of",
    "synthesize other.csv --schema s.json --epsilon 1 -o x.csv": 'has no column "age"; rename its columns',
    "synthesize p.csv --schema p.csv --epsilon 1 -o x.csv": "a schema begins with {; a table is given as DATA",
    "synthesize p.csv --schema s.yaml --epsilon 1 -o x.csv": "is not JSON: expecting value at line 1 column 1",
    "synthesize p.csv --schema s.json -o x.csv": "give a budget: --epsilon E",
    "synthesize p.csv --schema s.json --epsilon 1,5 -o x.csv": "epsilon must be a finite number, got '1,5'",
    "synthesize p.csv --schema s.json --eps 1 -o x.csv": "no such option: --eps; did you mean --epsilon?; see",
    "synthesize p.csv --schema s.json --epsilon 1 -o x.txt": "must end in .parquet or .csv (also .csv.gz), got 'x.txt'",
    f"{PAID} --mechanism Adaptiv": "there is no mechanism 'Adaptiv'; did you mean Adaptive?",
    f"{PAID} --mechanism ctgan": "there is no mechanism 'ctgan'; choose one of Adaptive, Independent",
    f"{PAID} --set round=3": "Adaptive has no setting 'round'; did you mean rounds?",
    f"{PAID} --set epochs=3": "Adaptive has no setting 'epochs'; valid keys are",
    f"{PAID} --set rounds": "set must be key=value, got 'rounds'; `--set help` lists the keys",
    f"{PAID} --rows 1e5": "'1e5' is not a whole number; write it as digits alone, such as 100000",
    f"{PAID} --ledger b.db --dataset peple": "there is no data set 'peple' and the ledger holds people",
    "synthesize p.csv --schema s.json --epsilon 2 -o x.csv --ledger b.db": "has epsilon 1 left of its limit epsilon 1",
    f"{PAID} --sql 'select 1'": "--sql and --db go together; give both, or DATA alone",
    f"{PAID} --sql 'select 1' --db sqlite:///p.db": "the private table is given twice; give DATA, or --sql and --db",
    "start -": "the answers are read from standard input; save the rows in a file",
    "sample p.csv --rows 3 -o x.csv": "p.csv is not a Lapwing model file: it does not end like a plain zip archive",
    "query s.json --column age": "give the file that `lapwing synthesize --model M.lapwing` wrote",
    "report p.csv": "give the file that `lapwing synthesize --model M.lapwing` wrote",
    "sample m.lapwing --rows 3 -o x.csv --where agee=3": 'no column "agee"; did you mean "age"?',
    "sample m.lapwing --rows 3 -o x.csv --where income=3": 'no column "income"; columns: age, town, smokes',
    "sample m.lapwing --rows 3 -o x.csv --where town=bern": 'got "bern"; did you mean "Bern"?',
    "sample m.lapwing --rows 3 -o x.csv --where town=Oslo": 'choose one of "Bern", "Ulm"',
    "query m.lapwing --column agee": 'no field is called "agee"; did you mean "age"?',
    "query m.lapwing --column income": 'no field is called "income"; choose one of "age", "town", "smokes"',
    "anonymize p.csv --schema s.json --min-group-size 1 -o x.csv": "a whole number from 2 to 2**40, got 1; give one",
    "anonymize p.csv --schema s.json --min-group-size 5 -o x.csv --partition best": "'--partition': 'best' is",
    "synthesize p.csv p.csv --schema s.json --epsilon 1": "the schema is of one table; give one DATA, or one --sql",
    "link p.csv p.csv --schema s.json --epsilon 1": "no such command 'link'",
    "audit Adaptiv": "did you mean Adaptive?",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_slip_of_a_command_is_told_with_its_way_out(command, place, monkeypatch):
    monkeypatch.chdir(place)
    before = sorted(path.name for path in place.iterdir())

    said = lapwing(*shlex.split(command))

    assert COMMANDS[command] in said.error
    assert "invalid value:" not in said.error
    assert sorted(path.name for path in place.iterdir()) == before


SCHEMAS = [
    ([AGE], 'the schema must be an object with keys, got a list; write for example {"fields": [{"name"'),
    ({"columns": [AGE]}, 'unknown key "columns"; known are fields, name,'),
    (
        {"fields": {"age": AGE}},
        'needs a list "fields" with one object per column, got an object; write for example {"f',
    ),
    ({"fields": ["age"]}, 'a field must be an object with keys, got "age"; write for example {"name": "age", "type"'),
    ({"fields": [{**AGE, "constraints": "0..120"}]}, 'got "0..120"; write for example {"minimum": 0, "maximum": 120}'),
    ({"fields": [{**AGE, "minimun": 3}]}, 'unknown key "minimun"; did you mean "minimum", inside "constraints"?'),
    ({"fields": [{**AGE, "special": 999}]}, "special must be a list, got 999; write [999]"),
    ({"fields": [{**AGE, "special": ["NA"]}]}, "without quotes; a text for missing belongs in missingValues"),
    ({"fields": [{**AGE, "missingValues": "NA"}]}, 'missingValues must be a list, got "NA"; write ["NA"]'),
    (
        {"fields": [{**AGE, "description": {"en": "years"}}]},
        "description must be a text, got an object; write it in quo",
    ),
    ({"fields": [{**AGE, "domain": "human_age"}]}, "is not in the catalogue; did you mean human-age?"),
    ({"fields": [{**TOWN, "categories": "Bern, Ulm"}]}, 'must be a list, got "Bern, Ulm"; write ["Bern", "Ulm"]'),
    (
        {"fields": [{**TOWN, "categories": {"Bern": 1}}]},
        'categories must be a list, got an object; write for example ["a',
    ),
    ({"fields": [AGE], "privacyUnit": "id"}, 'got "id"; write for example {"field": "person_id", "maxRows": 5}'),
    (
        {"fields": [AGE], "privacyUnit": {"field": "agee", "maxRows": 3}},
        'no field is called "agee"; did you mean "age"?',
    ),
    (
        {"fields": [AGE], "dialect": ";"},
        'dialect must be an object with keys, got ";"; write for example {"delimiter": ";"}',
    ),
    (
        {"fields": [AGE], "rules": "age > 3"},
        'got "age > 3"; write for example [{"when": {"smokes": true}, "then": {"age":',
    ),
    (
        {"fields": [AGE], "rules": ["age > 3"]},
        'got "age > 3"; write for example {"when": {"smokes": true}, "then": {"age"',
    ),
    (
        {"fields": [AGE], "rules": [{"if": {"age": 3}, "then": {}}]},
        'unknown key "if"; known are order, sum, determines, when,',
    ),
]


@pytest.mark.parametrize(("schema", "says"), SCHEMAS, ids=range(len(SCHEMAS)))
def test_a_slip_of_a_schema_is_told_with_an_example(schema, says, tmp_path):
    (tmp_path / "s.json").write_text(json.dumps(schema))

    assert says in lapwing("schema", "check", tmp_path / "s.json").error
