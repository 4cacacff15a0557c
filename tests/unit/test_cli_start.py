"""`lapwing start`: a stranger's file becomes an evaluated release by answers alone, and goes on where it stopped."""

import contextlib
import io
import json
import random

import openpyxl
import pandas as pd
import polars as pl
import pytest

from helpers.command import lapwing
from lapwing.kernel.budget.budget import requested_budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.schema.catalogue import catalogue
from lapwing.schema.schemas import Schema

HEADER = "Nr;Geschlecht;Alter;Größe;Kosten;Aufnahme;Ort;geheilt;Notiz"
ANSWERS = [
    "y",
    "id",
    "w, m",
    "",
    "",
    "0..100000",
    "2010-01-01..2025-12-31",
    "learn",
    "ja, nein, k.A.",
    "drop",
    "geheilt",
    "y",
]
PAID = ["50", "1e-9", "100", "y"]  # far above noise


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
    assert {name: schema.field(name).provenance for name in ("Alter", "Kosten", "Größe", "Ort")} == {
        **{"Alter": "public", "Kosten": "public"},
        **{"Größe": "dp", "Ort": "dp"},
    }
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
        "y",
    ]
    said = start(monkeypatch, *ANSWERS[:3], *lists, "1", delta, "1", "n")

    assert said.status == 0, said.err
    balance = Ledger.open("patients.budget.db").balance()
    granted = requested_budget(epsilon=1, delta=delta).amount
    assert 0.999 * granted < balance.spent <= granted == balance.limit
    assert len(Schema.load("patients.learned.json").purchases) == 1


def study(rows=300):
    rng = random.Random(1)
    draw = {"sex": (1, 2), "edu": (1, 2, 3, 9), "age": range(18, 90)}
    return pd.DataFrame({"id": range(rows), **{name: rng.choices(each, k=rows) for name, each in draw.items()}})


@contextlib.contextmanager
def in_workbook(place):
    book = openpyxl.Workbook()
    for row in [["id", "sex", "edu", "age"], *study().to_numpy().tolist()]:
        book.active.append(row)
    book.save(place / "study.xlsx")
    yield ["study.xlsx"], "study"


def test_no_text_of_a_cell_is_shown_unless_its_owner_asks_to_look(place, monkeypatch):
    hidden = start(monkeypatch, *ANSWERS)
    (place / "patients.schema.json").unlink()
    shown = start(monkeypatch, *ANSWERS[:7], "look", *ANSWERS[7:])

    assert "Straßburg" not in hidden.err + hidden.out
    assert "Straßburg" in shown.err
    assert "internal - do not publish" in shown.err


def test_every_entry_of_the_catalogue_is_a_field_and_names_its_source():
    for name, entry in catalogue().items():
        (field,) = Schema.from_dict({"fields": [{"name": "x", "domain": name}]}).fields
        assert (field.provenance, bool(entry.source)) == ("public", True)
    assert len(catalogue()["country-2"].keys["categories"]) == 249
    narrowed = Schema.from_dict({"fields": [{"name": "x", "domain": "human-age", "constraints": {"minimum": 18}}]})
    assert (narrowed.field("x").minimum, narrowed.field("x").maximum) == (18, 120)


def test_a_table_that_mostly_does_not_fit_is_not_released_by_pressing_enter(place, monkeypatch):
    with in_workbook(place) as (table, _):
        said = start(monkeypatch, "y", "id", "1, 2", "4, 5", "18..99", "", "", table=table)

    assert said.status == 0
    assert 'more than 10% of the cells of column "edu"' in said.err
    assert "nothing was spent" in said.err
    assert not (place / "study.budget.db").exists()
