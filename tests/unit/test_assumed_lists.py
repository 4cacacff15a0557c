"""Lists and bounds that were taken from the table are told in full wherever somebody reads of the promise."""

import json
from html import unescape

import polars as pl

import lapwing as lw
from helpers.command import lapwing

DIAGNOSES = [f"diagnosis {number}" for number in range(95)]
SHORT = [
    {"name": f"{letter}", "type": "string", "categories": ["no", "yes"], "provenance": "assumed"}
    for letter in "abcdefghi"
]
SCHEMA = {
    "fields": [
        *SHORT,
        {"name": "diagnosis", "type": "string", "categories": DIAGNOSES, "provenance": "assumed"},
        {"name": "flag", "type": "boolean", "provenance": "public"},
    ]
}
WARNING = (
    "the promise does not cover what these say, as they were taken from the table: the lists of diagnosis (95 texts), "
    + ", ".join(f"{letter} (2 texts)" for letter in "abcdefghi")
    + ". A text or a bound may be one person's alone: buy them with `lapwing schema learn`, or take them from a public "
    "source"
)


def table():
    columns = {field["name"]: ["no", "yes"] * 30 for field in SHORT}
    return pl.DataFrame(columns | {"diagnosis": DIAGNOSES[:60], "flag": [True, False] * 30})


def test_a_list_of_texts_from_rows_is_named_on_the_terminal_in_the_certificate_and_in_the_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().write_parquet("t.parquet")
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA), encoding="utf-8")

    asked = ("--schema", "s.json", "--epsilon", "1", "--mechanism", "independent")
    said = lapwing("synthesize", "t.parquet", *asked, "-o", "o.parquet", "--model", "m.lapwing")
    lapwing("report", "m.lapwing", "-o", "r.html")

    report = unescape((tmp_path / "r.html").read_text(encoding="utf-8"))
    written = json.loads(next(tmp_path.glob("o*.json")).read_text(encoding="utf-8"))
    assert written["warnings"][0] == WARNING
    assert said.err.count("does not cover") == said.err.count(WARNING) == 1
    assert "taken as given" not in said.err
    assert report.count("oes not cover what") == 1
    assert "the lists of diagnosis (95 texts), a (2 texts)" in report
    assert "says nothing of lists and bounds that were taken from the table" in report


def test_a_schema_that_is_public_has_no_such_warning():
    fields = [{**field, "provenance": "public"} for field in SCHEMA["fields"]]

    certificate = lw.synthesize(table(), {"fields": fields}, epsilon=1, mechanism="Independent").certificate

    assert "does not cover" not in "".join(certificate.warnings)
