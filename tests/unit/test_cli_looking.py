"""A look before paying: a table that does not parse costs nothing, and the line names column and cure, no cell."""

import json
import os

import pytest

from helpers.command import lapwing
from lapwing.cli.looking import is_remembered, remember
from lapwing.rows.elsewhere import Query
from lapwing.schema.schemas import Schema

HEADER = ["id", "charges", "age", "share", "seen", "town", "smokes"]
ROW = ["1", "9715", "62.8", "0.5", "2020-12-31", "Köln", "true"]
FIELDS = [
    {"name": "charges", "type": "integer", "constraints": {"minimum": 0, "maximum": 99_999}},
    {"name": "age", "type": "number", "constraints": {"minimum": 0, "maximum": 120}},
    {"name": "share", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "seen", "type": "date", "constraints": {"minimum": "2000-01-01", "maximum": "2029-12-31"}},
    {"name": "town", "type": "string", "categories": ["Köln", "Ulm"]},
    {"name": "smokes", "type": "boolean"},
]


def write(folder, cells, sep=",", encoding="utf-8", header=True):
    """Write 40 rows, in which some columns hold other cells."""
    rows = [[cells.get(name, value) for name, value in zip(HEADER, ROW, strict=True)] for _ in range(40)]
    lines = [sep.join(each) for each in ([HEADER] if header else []) + rows]
    (folder / "rows.csv").write_bytes("\n".join(lines).encode(encoding))


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "s.json").write_text(json.dumps({"fields": FIELDS}))
    terms = ["--unit", "pure", "--limit", "1000", "--neighbours", "add-remove", "--privacy-unit", "row"]
    assert lapwing("ledger", "init", "people", *terms).status == 0
    return tmp_path


def synthesize(*more):
    paid = "synthesize rows.csv --schema s.json --epsilon 1 -o out.csv --mechanism independent --ledger budget.db"
    return lapwing(*paid.split(), *more)


KINDS = {
    "thousands": ({"charges": '"9,715"'}, {}, "charges", '"groupChar": ","'),
    "decimal comma": ({"age": "62,8"}, {"sep": ";"}, "age", '"decimalChar": ","'),
    "dates": ({"seen": "31.12.2020"}, {}, "seen", '"format": "%d.%m.%Y"'),
    "american dates": ({"seen": "12/31/2020"}, {}, "seen", '"format": "%m/%d/%Y"'),
    "missing words": ({"age": "NA"}, {}, "age", 'list "NA" in missingValues'),
    "units": ({"share": "50 %"}, {}, "share", '"bareNumber": false'),
    "currency": ({"charges": "€ 9715"}, {}, "charges", '"bareNumber": false'),
    "fractions": ({"charges": "97.15"}, {}, "charges", '"type": "number"'),
    "other words": ({"smokes": "ja"}, {}, "smokes", "correct its field or the table"),
    "encoding": ({}, {"encoding": "latin-1"}, "town", '"encoding": "cp1252"'),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_parse_costs_nothing_and_its_cure_is_named(place, kind):
    cells, form, column, cure = KINDS[kind]
    if form.get("sep"):
        (place / "s.json").write_text(json.dumps({"fields": FIELDS, "dialect": {"delimiter": form["sep"]}}))
    write(place, cells, **form)

    said = synthesize("--check")

    assert (said.status, said.code) == (1, "LW117")
    assert f'column "{column}"' in said.error
    assert cure in said.error
    assert said.error.endswith("nothing was spent")
    assert not any(cell.strip('"') in said.error for cell in cells.values() if cell != "NA")
    assert "spent         epsilon 0" in lapwing("ledger", "show").out
    assert not (place / "out.csv").exists()


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"sep": ";"}, 'give the schema its "dialect", such as {"delimiter": ";"}'),
        ({"header": False}, 'has no column "charges"'),
    ],
)
def test_a_file_whose_first_line_is_none_of_names_costs_nothing_either(place, form, says):
    write(place, {}, **form)

    assert says in synthesize("--check").error
    assert "spent         epsilon 0" in lapwing("ledger", "show").out


def test_a_look_is_recommended_by_name_until_one_was_taken_and_the_file_is_changed(place):
    write(place, {})
    command = "`lapwing schema check s.json rows.csv`"

    assert command in synthesize().err
    assert command not in synthesize("--quiet").err
    assert lapwing("schema", "check", "s.json", "rows.csv").status == 0
    assert command not in synthesize().err
    write(place, {"age": "3"})
    os.utime(place / "rows.csv", ns=(1, 1))
    assert command in synthesize().err
    assert synthesize("--check").status == 0
    assert command not in synthesize().err


def test_a_look_at_an_address_counts_with_any_user_and_password_and_for_that_schema_and_table_alone(place):
    schema, other = Schema.from_dict({"fields": FIELDS}), Schema.from_dict({"fields": FIELDS[1:]})
    query, url = "select * from people", "postgresql://{}@host:1/people?sslmode=require&password=abc"

    remember([Query(query, url.format("me:secret"))], schema)
    remember(["s3://bucket/people.parquet"], schema)

    assert is_remembered([Query(query, url.format("you"))], schema)
    assert is_remembered(["s3://bucket/people.parquet"], schema)
    assert not is_remembered([Query(query, url.format("you"))], other)
    assert not is_remembered([Query(query + " where age > 1", url.format("you"))], schema)
    assert not is_remembered([Query(query, url.format("you").replace("host:1", "host:2"))], schema)
    assert not is_remembered(["s3://bucket/others.parquet"], schema)
    assert not is_remembered(["-"], schema)


def test_learn_looks_first_too(place):
    write(place, {"charges": '"9,715"'})
    (place / "d.json").write_text(json.dumps({"draft": True, "fields": [{"name": "charges", "type": "integer"}]}))
    learn = [
        "schema",
        "learn",
        "rows.csv",
        "--schema",
        "d.json",
        "--epsilon",
        "100",
        "-o",
        "new.json",
        "--ledger",
        "budget.db",
    ]

    said = lapwing(*learn, "--check")
    recommended = lapwing(*learn)

    assert '"groupChar": ","' in said.err
    assert not said.out
    assert "`lapwing schema check d.json rows.csv`" in recommended.err
    assert "most cells are missing or are no integer" in recommended.err + recommended.out
