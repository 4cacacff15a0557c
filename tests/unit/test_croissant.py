"""Croissant beside a release: the schema comes back from it, the promise stands in it, and the files are a set."""

import dataclasses
import hashlib
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from helpers.saved import small_saved
from lapwing.errors import DataError, ParameterError
from lapwing.extras.connect.croissant.written import Beside, croissant_text
from lapwing.extras.connect.metadata.reading import read_foreign
from lapwing.kernel.budget.budget import Budget
from lapwing.model.certificate.cost_lines import RequestedBudget
from lapwing.release.release import Release
from lapwing.rows.out import outputs
from lapwing.schema.purchases import Purchase
from lapwing.schema.schemas import Schema

SAVED = small_saved()
RELEASE = Release.of_one(SAVED)
COLUMNS = {
    "who": {"type": "string", "role": "identifier"},
    "visit": {"type": "integer", "role": "identifier", "constraints": {"minimum": 1, "maximum": 9}},
    "age": make.field("age", (0, 120), special=[-1, -2]),
    "net income/€": make.field("net income/€", (-5.0, 1e6), scale="log"),
    "net income,€": make.field("net income,€", (0.0, 1.0), resolution=0.01),
    "..": make.field("..", bool, required=True),
    "rows": make.field("rows", ["", "a\u202eb", "N"], missingValues=["NA"]),
    "code": make.field("code", ["E11", "E10", "F1"], hierarchy={"prefixes": [1]}),
    "grade": make.field("grade", [3, 1, 2], categoriesOrdered=True),
    "share": [0.5, 1.5],
    "born": ("1900-01-01", "2030-12-31"),
    "seen": make.field(
        "seen", ("2000-01-01", "2030-12-31"), type="datetime", resolution="hour", description="When they came."
    ),
}
EVERYTHING = Schema.from_dict(make.schema(COLUMNS, name="everything"))


def described(schema, certificate=SAVED.certificate, folder=Path("/nowhere"), about=None):
    """Return the Croissant file of rows that need not exist."""
    rows = Beside.of(folder / "rows.csv", b"")
    return croissant_text(schema, certificate, folder / "croissant.json", rows=rows, certified=None, about=about)


def read_back(schema, folder):
    """Return the fields that our own reader finds in what is written about a schema."""
    path = folder / "croissant.json"
    path.write_text(described(schema), encoding="utf-8")
    return read_foreign(path, table="rows").schema.fields


def assumed(schema):
    return tuple(dataclasses.replace(field, provenance="assumed") for field in schema.fields)


def statement(certificate):
    return json.loads(described(SAVED.schema, certificate))["differentialPrivacy"]


def written(folder, suffix=".csv"):
    """Write rows and certificate of the small release, and return their places."""
    rows = folder / f"rows{suffix}"
    frame = RELEASE.sample(20, seed=1)
    frame.write_csv(rows) if suffix == ".csv" else frame.write_parquet(rows)
    certificate = folder / "certificate.json"
    certificate.write_text(dataclasses.replace(RELEASE.certificate, written_rows=20, seed=1).to_json())
    return rows, certificate


@pytest.mark.parametrize("schema", [EVERYTHING, SAVED.schema], ids=["everything", "small"])
def test_everything_but_where_domains_are_known_from_comes_back(schema, tmp_path):
    assert read_back(schema, tmp_path) == assumed(schema)


def test_every_schema_of_the_shared_data_comes_back(shared_data, tmp_path):
    paths = sorted(shared_data.glob("*/schema.json"))
    assert len(paths) >= 20

    for path in paths:
        schema = Schema.load(path)
        assert read_back(schema, tmp_path) == assumed(schema), path.parent.name


def test_the_statement_is_the_certificates_with_plain_figures_of_the_delta_that_was_asked_for():
    found = statement(SAVED.certificate)
    full = SAVED.certificate.to_dict()

    assert (found["epsilon"], found["delta"]) == (2.5, 1e-6)
    of_both = [
        "notion",
        "total",
        "epsilons",
        "relation",
        "privacy_unit",
        "protected",
        "ledger",
        "purchases",
        "warnings",
    ]
    for key in of_both:
        assert found[key] == full[key]
    assert found["software"] == {"name": "lapwing", "version": "0.1.0"}
    assert "costs" not in found


@pytest.mark.parametrize(
    "part", [Fraction(1, 3), Fraction(1, 10), Fraction(3, 10), Fraction(2, 3), Fraction(1)], ids=str
)
def test_plain_figures_are_never_below_the_exact_ones(part):
    pairs = ((part / 10**6, part), (Fraction(1, 2), Fraction(0)))
    asked = RequestedBudget(rho=Fraction(1))
    certificate = dataclasses.replace(
        SAVED.certificate, lines=(), total=Budget("zcdp", Fraction(0)), requested=asked, epsilons=pairs
    )
    text = described(SAVED.schema, certificate)

    epsilon, delta = (Fraction(re.search(rf'"{key}": ([\d.e-]+)', text)[1]) for key in ("epsilon", "delta"))
    assert part <= epsilon < part * (1 + Fraction(1, 10**12))
    assert part / 10**6 <= delta < part * (1 + Fraction(1, 10**12)) / 10**6


TERMS = {"relation": "add-remove", "privacy_unit": "row", "release": "8f14", "lapwing": "0.1.0"}
BOUGHT = Purchase(fields=("age",), notion="zcdp", amount=Fraction(1, 10), delta=Fraction(1, 10**6), **TERMS)
NOTHING = {"lines": (), "total": Budget("pure", Fraction(0)), "epsilons": ()}
PURE = dataclasses.replace(SAVED.certificate, requested=RequestedBudget(epsilon=Fraction(1)), **NOTHING)


@pytest.mark.parametrize(
    "change",
    [
        {"purchases": (BOUGHT, dataclasses.replace(BOUGHT, relation="replace-one"))},
        {"purchases": (BOUGHT, dataclasses.replace(BOUGHT, privacy_unit="visit:5"))},
        {"purchases": (dataclasses.replace(BOUGHT, delta=Fraction(2, 3)),) * 2},
        {"purchases": (dataclasses.replace(BOUGHT, notion="pure", delta=Fraction(2, 3)),) * 2},
        {"purchases": (BOUGHT,), "dp_fields": ("age", "sex")},
        {"purchases": (), "dp_fields": ("sex",)},
    ],
    ids=["relation", "unit", "delta of 1", "pure, delta of 1", "untold", "all untold"],
)
@pytest.mark.parametrize("certificate", [SAVED.certificate, PURE], ids=["zcdp", "pure"])
def test_where_nothing_can_be_promised_of_the_whole_file_there_is_no_figure(certificate, change):
    found = statement(dataclasses.replace(certificate, **change))

    assert (found["epsilon"], found["delta"]) == (None, None)
    assert found["epsilon_of_this_release"] is not None


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_rows_and_certificate_are_named_with_their_hash(tmp_path, suffix):
    rows, certificate = written(tmp_path, suffix)
    RELEASE.to_croissant(tmp_path / "croissant.json", rows=rows, certificate=certificate)

    found = json.loads((tmp_path / "croissant.json").read_text(encoding="utf-8"))
    for file, path in zip(found["distribution"], (rows, certificate), strict=True):
        assert file["contentUrl"] == path.name
        assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert file["contentSize"] == f"{path.stat().st_size} B"
    assert found["differentialPrivacy"]["certificate"]["sha256"] == found["distribution"][1]["sha256"]
    assert found["differentialPrivacy"]["written_rows"] == 20
    assert found["description"].startswith("20 synthetic rows")


def test_the_callers_words_about_the_data_set_are_taken_over_and_what_is_made_from_the_release_is_not():
    found = json.loads(described(SAVED.schema, about={"name": "Ours", "license": "CC0-1.0", "creator": {"name": "We"}}))

    assert (found["name"], found["license"], found["creator"]) == ("Ours", "CC0-1.0", {"name": "We"})
    for key in ("differentialPrivacy", "recordSet", "cr:recordSet", "@type", "@context"):
        with pytest.raises(ParameterError, match="about must not hold"):
            described(SAVED.schema, about={key: 1})
    for about in ([1], {1: 2}, {"name": {1, 2}}, {"name": float("nan")}):
        with pytest.raises(ParameterError, match="about"):
            described(SAVED.schema, about=about)


def test_the_certificate_of_another_release_is_refused(tmp_path):
    rows, certificate = written(tmp_path)
    certificate.write_text(dataclasses.replace(RELEASE.certificate, mechanism="Another").to_json())
    with pytest.raises(ParameterError, match="another release"):
        RELEASE.to_croissant(tmp_path / "croissant.json", rows=rows, certificate=certificate)
    for content in (b"{}", b"\xff", b"[" * 100_000):
        certificate.write_bytes(content)
        with pytest.raises(DataError, match="no certificate"):
            RELEASE.to_croissant(tmp_path / "croissant.json", rows=rows, certificate=certificate)
    assert not (tmp_path / "croissant.json").exists()


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"rows": "missing.csv"}, DataError),
        ({"rows": "rows.txt"}, ParameterError),
        ({"rows": 3}, ParameterError),
        ({"rows": "rows.csv", "certificate": 3}, ParameterError),
        ({"rows": "rows.csv", "certificate": "missing.json"}, DataError),
    ],
    ids=range(5),
)
def test_a_wrong_setting_is_refused(tmp_path, settings, error):
    written(tmp_path)
    places = {key: tmp_path / value if isinstance(value, str) else value for key, value in settings.items()}

    with pytest.raises(error):
        RELEASE.to_croissant(tmp_path / "croissant.json", **places)
    with pytest.raises(ParameterError, match="path"):
        RELEASE.to_croissant(3, rows=tmp_path / "rows.csv")


SYNTHESIZE = "synthesize table.csv --schema schema.json --epsilon 1 -o rows.csv"


def test_the_command_writes_it_before_the_certificate_that_it_names(place, monkeypatch):
    make.files(place, {"table.csv": "flag\n" + "true\nfalse\n" * 50, "schema.json": make.schema({"flag": bool})})
    order, real = [], outputs.os.replace
    monkeypatch.setattr(outputs.os, "replace", lambda old, new: (order.append(Path(new)), real(old, new)))

    done = lapwing(f"{SYNTHESIZE} --mechanism independent --rows 10 --croissant croissant.json --model m.lapwing")

    assert done.status == 0, done.err
    assert "The Croissant file has no license, url or creator, which Croissant asks for" in done.err + done.out
    names = ["m.lapwing", "rows.csv", "croissant.json", "rows.csv.certificate.json"]
    assert [new.name for new in order if new.absolute().parent == place] == names
    found = json.loads((place / "croissant.json").read_text())
    assert sum("a standard deviation of" in line for line in found["rai:dataLimitations"]) == 1
    for part, name in enumerate(("rows.csv", "rows.csv.certificate.json")):
        assert found["distribution"][part]["sha256"] == hashlib.sha256((place / name).read_bytes()).hexdigest()
    lw.load("m.lapwing").to_croissant("again.json", rows="rows.csv", certificate="rows.csv.certificate.json")
    again = json.loads((place / "again.json").read_text())
    assert {**again, "datePublished": ""} == {**found, "datePublished": ""}


def test_the_command_refuses_a_place_that_cannot_name_the_rows_before_anything_is_spent(place):
    make.files(place, {"schema.json": make.schema({"flag": bool}), "deep/note.txt": ""})

    assert "in the folder of" in lapwing(f"{SYNTHESIZE} --croissant deep/croissant.json").error
