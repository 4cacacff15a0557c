"""A look before paying: a table that does not parse costs nothing, and the line names column and cure, no cell."""

import json
import os

import pytest

from helpers import make
from helpers.command import lapwing
from lapwing.cli.looking import is_remembered, remember
from lapwing.rows.elsewhere import Query
from lapwing.rows.entry import source_of
from lapwing.schema.schemas import Schema

HEADER = ["id", "charges", "age", "share", "seen", "town", "smokes"]
ROW = ["1", "9715", "62.8", "0.5", "2020-12-31", "Köln", "true"]
FIELDS = make.fields(
    {
        "charges": (0, 99_999),
        "age": (0.0, 120.0),
        "share": (0.0, 1.0),
        "seen": ("2000-01-01", "2029-12-31"),
        "town": ["Köln", "Ulm"],
        "smokes": bool,
    }
)


def write(folder, cells, sep=",", encoding="utf-8", header=True):
    """Write 40 rows, in which some columns hold other cells."""
    rows = [[cells.get(name, value) for name, value in zip(HEADER, ROW, strict=True)] for _ in range(40)]
    lines = [sep.join(each) for each in ([HEADER] if header else []) + rows]
    (folder / "rows.csv").write_bytes("\n".join(lines).encode(encoding))


@pytest.fixture
def place(place, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    make.ledger("budget.db", 1000)
    return make.files(place, {"s.json": {"fields": FIELDS}, "d.json": make.schema({"charges": "integer"}, draft=True)})


def synthesize(more=""):
    paid = "synthesize rows.csv --schema s.json --epsilon 1 -o out.csv --mechanism independent --ledger budget.db"
    return lapwing(f"{paid} {more}")


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


def test_the_cure_that_is_named_is_one(place):
    write(place, {"charges": "9.715", "age": "62,8", "seen": "31.12.2020", "share": "NA"}, sep=";")
    schema = {"fields": [dict(field) for field in FIELDS], "dialect": {"delimiter": ";"}, "missingValues": ["", "NA"]}
    for place_of, keys in ((0, {"groupChar": ".", "decimalChar": ","}), (1, {"decimalChar": ","})):
        schema["fields"][place_of] |= keys
    schema["fields"][3]["format"] = "%d.%m.%Y"
    (place / "s.json").write_text(json.dumps(schema))

    said = synthesize("--check --rows 10")

    assert said.status == 0, said.err
    assert "2020" in (place / "out.csv").read_text()


def test_a_share_of_misfits_may_be_allowed_and_is_a_number(place):
    write(place, {"smokes": "ja"})

    assert synthesize("--check --misfits 1").status == 0


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

    remember([source_of(Query(query, url.format("me:secret")))], schema)
    remember([source_of("s3://bucket/people.parquet")], schema)

    assert is_remembered([source_of(Query(query, url.format("you")))], schema)
    assert is_remembered([source_of("s3://bucket/people.parquet")], schema)
    assert not is_remembered([source_of(Query(query, url.format("you")))], other)
    assert not is_remembered([source_of(Query(query + " where age > 1", url.format("you")))], schema)
    assert not is_remembered([source_of(Query(query, url.format("you").replace("host:1", "host:2")))], schema)
    assert not is_remembered([source_of("s3://bucket/others.parquet")], schema)
    assert not is_remembered([source_of("-")], schema)


def test_learn_looks_first_too(place):
    write(place, {"charges": '"9,715"'})
    learn = "schema learn rows.csv --schema d.json --epsilon 100 -o new.json --ledger budget.db"

    said = lapwing(learn, "--check")
    recommended = lapwing(learn)

    assert '"groupChar": ","' in said.err
    assert not said.out
    assert "`lapwing schema check d.json rows.csv`" in recommended.err
    assert "most cells are missing or are no integer" in recommended.err + recommended.out


def test_a_draft_can_be_checked_against_its_table(place):
    write(place, {"charges": '"9,715"'})

    said = lapwing("schema", "check", "d.json", "rows.csv")

    assert said.status == 0
    assert said.out.splitlines()[-1] == 'charges: 40 of 40 cells are no integer; write "groupChar": "," in its field'


def test_settings_are_explained_and_words_are_spelt_both_ways(place):
    write(place, {})
    plan = "plan --schema s.json --expected-rows 40 --epsilon 1 --neighbors replace-one"
    settings = "synthesize rows.csv --schema s.json --epsilon 1 -o out.csv --set help"

    helped = lapwing(settings)

    assert helped.status == 0
    assert "rounds : int" in helped.out
    assert not (place / "out.csv").exists()
    assert "replace-one neighbours" in lapwing(plan).out


def test_lists_are_written_with_commas_too(place):
    write(place, {})
    assert synthesize("--model m.lapwing").status == 0

    said = lapwing("query", "m.lapwing", "--column", "town,smokes")

    assert said.out.split()[:2] == ["town", "smokes"]
    assert said.out == lapwing("query", "m.lapwing", "--column", "town", "--column", "smokes").out


def test_files_have_names_of_their_own_where_none_is_given_and_none_is_replaced(place):
    write(place, {})
    paid = "synthesize rows.csv --schema s.json --epsilon 1 --mechanism independent --ledger budget.db"

    assert lapwing("schema draft rows.csv").status == 0
    assert lapwing("schema learn rows.csv --schema d.json --epsilon 1").status == 0
    made = lapwing(paid, "--model", "m.lapwing")
    again = lapwing(paid)
    assert lapwing("report m.lapwing").status == 0

    assert made.status == 0, made.err
    assert (
        again.error == "rows.synthetic.csv is there already and holds an earlier release; give a new file, or remove it"
    )
    for name in ("rows.schema.json", "rows.learned.json", "rows.synthetic.csv", "m.report.html"):
        assert (place / name).exists(), name
    assert "spent         epsilon 1" in lapwing("ledger", "show").out
