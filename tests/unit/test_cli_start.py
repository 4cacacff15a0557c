"""`lapwing start`: a stranger's file becomes an evaluated release by answers alone, and goes on where it stopped."""

import contextlib
import datetime as dt
import io
import json
import random
from fractions import Fraction

import openpyxl
import pandas as pd
import polars as pl
import pyreadstat
import pytest

from helpers import databases
from helpers.command import lapwing
from lapwing.extras.evaluate.internal.suggestions import look
from lapwing.kernel.budget.budget import requested_budget
from lapwing.kernel.budget.conversions import rho_for
from lapwing.kernel.budget.ledger import Ledger
from lapwing.schema.catalogue import catalogue
from lapwing.schema.schemas import Schema

HEADER = "Nr;Geschlecht;Alter;Größe;Kosten;Aufnahme;Ort;geheilt;Notiz"
ANSWERS = ["none", "id", "w, m", "", "", "0..100000", "2010-01-01..2025-12-31", "learn", "ja, nein, k.A.", "drop"]
ANSWERS += ["geheilt", "none"]
PAID = ["50", "1e-9", "600", "100", "y"]  # far above noise


def decimal(number, digits=1):
    return f"{number:,.{digits}f}".translate(str.maketrans(",.", ".,"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Write a file as offices do: semicolons, latin-1, decimal commas, thousands, German dates, NA, an id and notes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rng = random.Random(1)
    lines = [HEADER]
    for number in range(600):
        age = "NA" if number % 30 == 0 else decimal(rng.uniform(20, 90))
        costs, height = decimal(rng.lognormvariate(8, 1), 2), decimal(rng.gauss(1.7, 0.1), 2)
        day = f"{rng.randint(1, 28):02d}.{rng.randint(1, 12):02d}.{rng.randint(2015, 2022)}"
        town, cured = rng.choice(["Köln", "Straßburg"]), rng.choice(["ja", "nein", "k.A."])
        cells = [str(1000 + number), rng.choice("mw"), age, height, costs, day, town, cured, f'"frei; text {number}"']
        lines.append(";".join(cells))
    (tmp_path / "patients.csv").write_bytes("\r\n".join(lines).encode("latin-1"))
    return tmp_path


def start(monkeypatch, *answers, table=("patients.csv",)):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in answers)))
    return lapwing("start", *table)


def test_a_stranger_s_file_becomes_a_release_by_answers_alone(place, monkeypatch):
    said = start(monkeypatch, *ANSWERS, *PAID)

    assert said.status == 0, said.err
    rows = pl.read_csv("patients.synthetic.csv")
    assert rows.columns == ["Nr", "Geschlecht", "Alter", "Größe", "Kosten", "Aufnahme", "Ort", "geheilt"]
    assert 0.25 < (rows["geheilt"] == "ja").mean() < 0.42
    assert 50 < rows["Alter"].mean() < 60
    assert rows["Aufnahme"].str.contains(r"^20[12][0-9]-[0-9]{2}-[0-9]{2}$").drop_nulls().all()
    schema = Schema.load("patients.learned.json")
    assert {schema.field(name).provenance for name in ("Alter", "Kosten")} == {"public"}
    assert {schema.field(name).provenance for name in ("Größe", "Ort")} == {"dp"}
    assert schema.target == "geheilt"
    assert schema.dialect.to_dict() == {"delimiter": ";", "encoding": "cp1252"}
    assert json.loads((place / "patients.synthetic.csv.certificate.json").read_text())["ledger"] is not None
    assert "spent         epsilon 0 " not in lapwing("ledger", "show", "--ledger", "patients.budget.db").out
    assert (place / "patients.report.html").exists()
    assert (place / "patients.evaluation.html").exists()

    # Each step shows the plain command that does the same.
    shown = [line.removeprefix("$ lapwing ").split()[:2] for line in said.err.splitlines() if line.startswith("$ ")]
    assert [each[0] if each[0] not in ("schema", "ledger") else " ".join(each) for each in shown] == [
        *("schema draft", "schema check", "ledger init", "schema learn", "synthesize", "report", "evaluate"),
    ]


@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_purchase_and_release_spend_what_was_granted_together(place, monkeypatch, delta):
    """Where ρ adds up, shares of ε would leave 30 % of it unspent."""
    lists = [
        "learn",
        "0..2.5",
        "0..100000",
        "2010-01-01..2025-12-31",
        "Köln, Straßburg",
        "ja, nein, k.A.",
        "drop",
        "",
        "none",
    ]
    said = start(monkeypatch, *ANSWERS[:3], *lists, "1", delta, "100000", "1", "n")

    assert said.status == 0, said.err
    balance = Ledger.open("patients.budget.db").balance()
    granted = requested_budget(epsilon=1, delta=delta).amount
    assert 0.999 * granted < balance.spent <= granted == balance.limit
    assert len(Schema.load("patients.learned.json").purchases) == 1


def test_lists_of_texts_leave_half_of_delta_to_the_rest(place, monkeypatch):
    said = start(monkeypatch, *ANSWERS, "1", "0", "1e-9", "100000", "1", "n")

    assert said.status == 0, said.err
    assert "write a number above 0" in said.err
    balance = Ledger.open("patients.budget.db").balance()
    assert 0.999 * balance.limit < balance.spent <= balance.limit == rho_for(Fraction(1), Fraction(1, 2 * 10**9))
    assert balance.delta == Fraction(1, 10**9)
    assert 0 < balance.selection_spent < balance.selection_delta


def test_doubts_about_the_file_are_told_before_they_are_answered_by_enter(place, monkeypatch):
    rows = [f"{number:05d},{number % 12 + 1:02d}/0{number % 9 + 1}/2021,{number}" for number in range(1, 61)]
    (place / "clinic.csv").write_text("\n".join(["Report 2021", "zip,day,n", *rows, "Source: register"]))

    said = start(monkeypatch, "none", table=["clinic.csv"])

    assert "skipRows 1" in said.err
    assert 'Before you go on: is the line of names the one below "skipRows" lines?' in said.err
    assert "skipFooter 1" in said.err
    assert "Before you go on: is the end of the file (1 of its rows) totals or notes?" in said.err
    (place / "clinic.csv").write_text("\n".join(["zip,day,n", *rows]))

    said = start(monkeypatch, "none", table=["clinic.csv"])

    assert "Before you go on: day: may day and month be the other way round?" in said.err
    assert "digits that begin with a zero, or as in 12E3, are read as text" in said.err


@pytest.mark.parametrize(
    ("cells", "keys"),
    [
        (["Yes", "no"] * 100 + ["yes"], {}),
        (["Yes", "no"] * 100 + ["yes"] * 9, {"ignoreCase": True}),
        (["Yes", "no"] * 100 + ["no "], {"trim": True}),
    ],
)
def test_white_space_and_case_of_a_whole_file_are_asked_for(place, monkeypatch, cells, keys):
    """One cell in another case gives up the case of no other: of a file that is drafted so, all texts change."""
    (place / "t.csv").write_text("\n".join(["sure,n", *(f"{cell},{row % 9}" for row, cell in enumerate(cells))]))
    drafted = look(place / "t.csv").value[0]

    start(monkeypatch, *["n"] * len(keys), "none", "Yes, no", "0..9", "none", table=["t.csv"])

    assert drafted.dialect.to_dict() == keys
    assert len(drafted.questions) == len(keys)
    assert Schema.load_draft("t.schema.json").dialect.to_dict() == {}
    (place / "t.schema.json").unlink()
    start(monkeypatch, *[""] * (len(keys) + 1), "Yes, no", "0..9", "none", table=["t.csv"])
    assert Schema.load_draft("t.schema.json").dialect.to_dict() == keys


STUDY = {"id": "F8.0", "sex": "F8.0", "edu": "F8.0", "age": "F8.0"}


def study(rows=300):
    rng = random.Random(1)
    draw = {"sex": (1, 2), "edu": (1, 2, 3, 9), "age": range(18, 90)}
    return pd.DataFrame({"id": range(rows), **{name: rng.choices(each, k=rows) for name, each in draw.items()}})


def test_a_code_book_is_taken_by_name_and_its_columns_are_not_asked_for(place, monkeypatch):
    labels = {"sex": {1: "male", 2: "female"}, "edu": {1: "low", 2: "mid", 3: "high", 9: "refused"}}
    pyreadstat.write_sav(
        study(),
        place / "study.sav",
        variable_value_labels=labels,
        missing_ranges={"edu": [9]},
        variable_measure={"sex": "nominal"},  # of edu it is not known whether its codes are all that occur
        variable_format=STUDY,
    )

    said = start(
        monkeypatch,
        "y",
        "none",
        "id",
        "codes",
        "18..99",
        "",
        "none",
        *PAID[:2],
        "300",
        "y",
        "100",
        "y",
        table=["study.sav"],
    )

    assert said.status == 0, said.err
    assert "Is the code book in study.sav public" in said.out
    assert "code book: 1 = male; 2 = female" in said.err
    assert "code book: 1 = low; 2 = mid; 3 = high; missing: 9" in said.err
    schema = Schema.load("study.schema.json")
    found = [(each.name, each.categories, each.missing_values, each.provenance) for each in schema.columns]
    assert found == [
        ("sex", (1, 2), ("",), "public"),
        ("edu", (1, 2, 3), ("", "9"), "public"),
        ("age", None, ("",), "public"),
    ]
    assert (place / "study.evaluation.html").exists()


def test_a_code_book_that_is_not_public_is_not_taken(place, monkeypatch):
    pyreadstat.write_sav(study(), place / "study.sav", variable_value_labels={"sex": {1: "male", 2: "female"}})

    start(monkeypatch, "n", "none", "id", "1, 2", "1, 2, 3, 9", "18..99", "y", "", table=["study.sav"])

    described = Schema.load("study.schema.json")
    assert [each.description for each in described.fields] == [""] * 4
    assert described.field("sex").categories == (1, 2)


@contextlib.contextmanager
def in_workbook(place):
    book = openpyxl.Workbook()
    for row in [["id", "sex", "edu", "age"], *study().to_numpy().tolist()]:
        book.active.append(row)
    book.save(place / "study.xlsx")
    yield ["study.xlsx"], "study"


@contextlib.contextmanager
def in_postgres(_):
    with databases.postgres() as url:
        values = ", ".join(str(tuple(row)) for row in study().to_numpy().tolist())
        databases.run(
            url, "CREATE TABLE study (id int, sex int, edu int, age int)", f"INSERT INTO study VALUES {values}"
        )
        yield ["--sql", "select * from study", "--db", url], "table"


@pytest.mark.parametrize("kept", [in_workbook, pytest.param(in_postgres, marks=pytest.mark.needs("Postgres"))])
def test_workbooks_and_databases_are_started_with_too(place, monkeypatch, kept):
    answers = ["none", "id", "1, 2", "1, 2, 3, 9", "18..99", "y", "", "none", *PAID[:2], "300", "y", "100", "y"]
    with kept(place) as (table, name):
        said = start(monkeypatch, *answers, table=table)

    assert said.status == 0, said.err
    assert pl.read_csv(f"{name}.synthetic.csv").columns == ["id", "sex", "edu", "age"]
    assert databases.PASSWORD not in said.out + said.err
    assert not [
        each for each in place.rglob("*") if each.is_file() and databases.PASSWORD.encode() in each.read_bytes()
    ]
    for made in ("schema.json", "budget.db", "lapwing", "report.html", "evaluation.html"):
        assert (place / f"{name}.{made}").exists()
    assert "Not looked at yet" not in said.err


def test_no_text_of_a_cell_is_shown_unless_its_owner_asks_to_look(place, monkeypatch):
    hidden = start(monkeypatch, *ANSWERS)
    (place / "patients.schema.json").unlink()
    shown = start(monkeypatch, *ANSWERS[:7], "look", *ANSWERS[7:])

    assert "Straßburg" not in hidden.err + hidden.out
    assert "Straßburg" in shown.err
    assert "internal - do not publish" in shown.err


def test_an_answer_that_is_none_is_told_so_and_asked_again(place, monkeypatch):
    told = {
        "0..x": "write a range such as 0..120",
        "120..0": "minimum 120 is above",
        "?": "LOW..HIGH from public knowledge",
        "list": "ISO 3166-1 alpha-2",
        "currency": 'domain "currency" is for type string',
    }

    said = start(monkeypatch, *ANSWERS[:3], *told, *ANSWERS[3:])

    assert [says for says in told.values() if said.err.count(says) != 1] == []
    assert Schema.load_draft("patients.schema.json").field("Alter").maximum == 120


def test_rows_of_one_person_are_protected_together(place, monkeypatch):
    start(monkeypatch, "Nr", "3", *ANSWERS[2:])

    assert Schema.load_draft("patients.schema.json").unit_label == "Nr:3"


NAMES_OF_PEOPLE = ("PatientID", "patient_no", "Patienten-Nr", "id_person", "household key", "USUBJID", "MRN", "client")
OTHER_NAMES = ("id", "Nr", "case_id", "household_size", "user_type", "patient_age", "idle", "passport")


@pytest.mark.parametrize("name", [*NAMES_OF_PEOPLE, *OTHER_NAMES])
def test_a_column_whose_name_says_that_it_names_people_is_protected_by_enter(place, monkeypatch, name):
    (place / "t.csv").write_text("\n".join([f"{name},n", *(f"{100 + row // 3},{row % 40}" for row in range(120))]))

    start(monkeypatch, *[""] * 6, table=["t.csv"])

    found = Schema.load_draft("t.schema.json")
    assert found.unit_label == (f"{name}:5" if name in NAMES_OF_PEOPLE else "row")
    assert found.field(name).identifier or name in OTHER_NAMES


@pytest.mark.parametrize(
    ("name", "cell", "unit"),
    [("patient_id", "{row}", "patient_id:1"), ("subject", "topic{few}", "row")],
    ids=["a number for each row", "few texts"],
)
def test_people_are_who_a_column_numbers_and_no_noise_is_bought_for_more_rows_than_each_has(
    name, cell, unit, place, monkeypatch
):
    lines = [f"{cell.format(row=100 + row, few=row % 9)},{row % 40}" for row in range(120)]
    (place / "t.csv").write_text("\n".join([f"{name},n", *lines]))

    start(monkeypatch, *[""] * 6, table=["t.csv"])

    assert Schema.load_draft("t.schema.json").unit_label == unit


SMALL = ("1", "1e-9", "600")  # a budget under which noise hides most of 600 rows
VISITS = ("patient,stay,cost", *(f"P{row // 3},{row % 40},{row % 90}" for row in range(600)))


def test_what_noise_will_hide_is_told_and_cured_before_anything_is_spent(place, monkeypatch):
    (place / "t.csv").write_text("\n".join(VISITS))
    told = "of stay, cost; you have about 600."

    said = start(monkeypatch, *[""] * 6, *SMALL, "given", "0..40", "0..90; step 1", "none", *SMALL, "", table=["t.csv"])

    assert (said.status, (place / "t.budget.db").exists()) == (130, False)
    assert told in said.err
    assert "one: use one row of each person" in said.err
    schema = Schema.load_draft("t.schema.json")
    assert (schema.field("cost").maximum, schema.field("cost").resolution, schema.unit_label) == (90, 1, "patient:5")


def test_by_enter_fewer_rows_of_each_person_come_before_noise_that_hides_most(place, monkeypatch):
    (place / "t.csv").write_text("\n".join(VISITS))

    said = start(monkeypatch, *[""] * 6, *SMALL, "", "budget", "4", *[""] * 20, table=["t.csv"])

    assert said.status == 0, said.err
    assert Schema.load("t.learned.json").unit_label == "patient:1"
    assert said.err.count("What then?") == 0  # it is asked on stdout
    assert said.out.count("What then?") == 2
    assert "two debits" in said.err
    assert said.err.index("you have about 600") < said.err.index("ledger init")


CHANGES = {
    "people": lambda found: found.update(privacyUnit={"field": "patient", "maxRows": 2}),
    "a bound": lambda found: found["fields"][2].update(constraints={"minimum": 0, "maximum": 95}),
    "a column": lambda found: found["fields"].pop(2),
    "a blank column": lambda found: found["fields"][1].update(missingValues=["", "9"]),
}


def test_what_was_learned_under_another_schema_is_not_released(place, monkeypatch):
    (place / "t.csv").write_text("\n".join(VISITS))
    described = ["", "", "", "0..90", "", "", "none"]
    first = start(monkeypatch, *described, *PAID[:3], "1000", "n", table=["t.csv"])
    assert first.status == 0, first.err
    (place / "t.synthetic.csv").unlink()
    written = (place / "t.schema.json").read_text()
    spent = Ledger.open("t.budget.db").balance("t").spent

    for name, change in CHANGES.items():
        changed = json.loads(written)
        change(changed)
        (place / "t.schema.json").write_text(json.dumps(changed))
        said = start(monkeypatch, "", *PAID[:3], table=["t.csv"])
        assert "t.learned.json was not learned from t.schema.json as it is now; " in said.err, (name, said)

    assert Ledger.open("t.budget.db").balance("t").spent == spent
    (place / "t.schema.json").write_text(written)
    (place / "t.lapwing").unlink()
    assert "Release: " in start(monkeypatch, "", *PAID[:2], "n", table=["t.csv"]).err


def test_nobody_is_told_to_run_a_step_that_follows_by_itself(place, monkeypatch):
    (place / "t.csv").write_text("\n".join(VISITS))

    said = start(monkeypatch, *[""] * 30, table=["t.csv"])
    alone = lapwing("schema", "learn", "t.csv", "--schema", "t.schema.json", "--epsilon", "1", "-o", "new.json")

    assert "$ lapwing schema learn" in said.err
    assert "Next:" not in said.out + said.err
    assert "Next: `lapwing synthesize" in alone.out


def test_every_entry_of_the_catalogue_is_a_field_and_names_its_source():
    for name, entry in catalogue().items():
        (field,) = Schema.from_dict({"fields": [{"name": "x", "domain": name}]}).fields
        assert (field.provenance, bool(entry.source)) == ("public", True)
    assert len(catalogue()["country-2"].keys["categories"]) == 249
    narrowed = Schema.from_dict({"fields": [{"name": "x", "domain": "human-age", "constraints": {"minimum": 18}}]})
    assert (narrowed.field("x").minimum, narrowed.field("x").maximum) == (18, 120)


def test_columns_that_do_not_fit_are_asked_for_again_in_the_same_session(place, monkeypatch):
    described = ["none", "id", "1, 2", "4, 5", "18..99", "y", ""]
    with in_workbook(place) as (table, _):
        said = start(monkeypatch, *described, "1..3; special 9", "age", "0..120", "none", *PAID[:2], "300", table=table)

    assert "Once more: edu. edu: 300 of 300 cells are no category of its list" in said.err
    assert "Once more: age." in said.err
    schema = Schema.load("study.schema.json")
    assert (schema.field("edu").maximum, schema.field("edu").special) == (3, (9,))
    assert schema.field("age").maximum == 120
    assert (place / "study.budget.db").exists() == ("ledger init" in said.err)


def test_what_is_asked_again_by_enter_fits_or_is_left_out(place, monkeypatch):
    cells = ["a", "b", "c", "d", "e", "f", "7"]
    lines = [f"{row % 2},{cells[row % 7]},{row % 40}" for row in range(420)]
    (place / "t.csv").write_text("\n".join(["flag,kind,n", *lines]))

    said = start(monkeypatch, "", "4, 5", "x, y", "", "", *[""] * 4, table=["t.csv"])

    schema = Schema.load_draft("t.schema.json")
    assert said.err.count("Once more: ") == 2
    assert (schema.field("flag").categories, schema.field("flag").provenance) == ((0, 1), "assumed")
    assert schema.field("kind").blank == ("categories",)
    (place / "t.schema.json").write_text(json.dumps({"fields": [{"name": "n", "type": "boolean"}, FLAG]}))
    start(monkeypatch, *[""] * 4, table=["t.csv"])
    assert Schema.load_draft("t.schema.json").field("n").type == "integer"


def test_a_small_table_of_which_noise_hides_all_is_released_for_what_it_is(place, monkeypatch):
    (place / "t.csv").write_text(
        "\n".join(["kind,note", *(f"{'ab'[row % 2]},came on day {row}" for row in range(200))])
    )

    said = start(monkeypatch, *[""] * 20, table=["t.csv"])

    assert said.status == 0, said.err
    assert pl.read_csv("t.synthetic.csv").columns == ["kind"]


FLAG = {"name": "flag", "type": "integer", "categories": [0, 1]}


def test_a_range_is_no_text_and_a_text_that_is_none_is_no_part(place, monkeypatch):
    told = {"0..250": "add their type", "0,5..8": "add their type", "learn; mising k.A.": "mising k.A. is none of"}
    answers = [*ANSWERS[:8], *told, "learn; missing k.A.", *ANSWERS[9:]]

    said = start(monkeypatch, *answers)

    assert [says for says in told.values() if says not in said.err] == []
    assert said.err.count("add their type") == 2
    assert Schema.load_draft("patients.schema.json").field("geheilt").missing_values == ("", "k.A.")


PROPOSED = {
    "flag": (lambda row: row % 2, "0, 1"),
    "dead": (lambda row: 9 if row % 50 == 0 else row % 2, "0, 1; missing 9"),
    "years": (lambda row: -9 if row % 5 == 0 else 4 + row % 15, "human-age; missing -9"),
    "pressure": (lambda row: 999 if row % 40 == 0 else 60 + row % 80, "blood-pressure; missing 999"),
    "stay": (lambda row: 999 if row % 40 == 0 else 3 + row % 80, "0..; missing 999"),
    "opinion": (lambda row: 9 if row % 20 == 0 else 1 + row % 5, "likert-5; missing 9"),
    "kilos": (lambda row: "pending" if row % 60 == 0 else f"{row % 70} kg", "learn; type integer; unit"),
    "scale": (lambda row: 1 + row % 9, "0.."),
    "both": (lambda row: row % 30 - 9, "learn"),
    "smokes": (lambda row: ["Yes", "NO ", "no", "yes"][row % 4], "yes, no"),
    "albumin": (lambda row: "k.A." if row % 3 == 0 else f"{row % 50 / 10:.1f}", "0..; step 0.1"),
    "pending": (lambda row: "pending" if row % 60 == 0 else row % 70, "learn; type integer"),
    "unclear": (lambda row: "pending" if row % 3 == 0 else row % 70, "drop"),
    "town": (lambda row: ["Bern", "Uri"][row % 2], "learn"),
    "note": (lambda row: f"came on day {row}", "drop"),
    "code": (lambda row: f"P{row}", "id"),
    "empty": (lambda _: "", "drop"),
    "nr": (lambda row: 1000 + row, "id"),
    "income": (lambda row: row * row, "0.."),
    "age": (lambda row: 18 + row % 70, "human-age"),
    "old": (lambda row: 1800 + row % 70, "0.."),
}


def test_answers_are_proposed_from_the_shape_of_columns_in_public_words(tmp_path):
    lines = [",".join(PROPOSED), *(",".join(str(cell(row)) for cell, _ in PROPOSED.values()) for row in range(600))]
    (tmp_path / "t.csv").write_text("\n".join(lines))

    _, seen = look(tmp_path / "t.csv").value

    assert {each.name: each.answer for each in seen} == {name: answer for name, (_, answer) in PROPOSED.items()}


def test_what_no_date_can_be_is_known_without_the_rows(tmp_path):
    today = dt.datetime.now(dt.UTC).date()
    days = [today - dt.timedelta(days=row % 300) for row in range(600)]
    pl.DataFrame({"past": days, "due": [each + dt.timedelta(days=90) for each in days]}).write_csv(tmp_path / "t.csv")

    _, seen = look(tmp_path / "t.csv").value

    assert [each.answer for each in seen] == [f"..{today}", "learn"]


def test_lists_that_were_taken_from_the_rows_are_assumed_unless_they_are_known_otherwise(place, monkeypatch):
    (place / "t.csv").write_text("\n".join(["flag,n", *(f"{row % 2},{row % 40}" for row in range(400))]))

    start(monkeypatch, *[""] * 5, table=["t.csv"])
    assumed = Schema.load_draft("t.schema.json").field("flag").provenance
    (place / "t.schema.json").unlink()
    start(monkeypatch, "", "", "", "y", "", table=["t.csv"])

    assert (assumed, Schema.load_draft("t.schema.json").field("flag").provenance) == ("assumed", "public")
