import html
import re
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest

import lapwing as lw
from conftest import EXAMPLES
from helpers.command import lapwing
from helpers.saved import small_saved
from lapwing.extras.evaluate.report.page import Chart, Facts, Table, Text
from lapwing.extras.evaluate.report.released import released_sections
from lapwing.extras.evaluate.report.released_columns import released_columns, released_maps
from lapwing.mechanisms.registry import registration_named
from lapwing.model.accuracy import Accuracy
from lapwing.model.certificate.issued import Issued
from lapwing.model.certificate.verdict import NO_VERDICT, Grade, Verdict
from lapwing.release.release import Release
from lapwing.schema.schemas import Schema
from lapwing.version import install_command

HOSTILE = "</script><script>alert(1)</script>"
NOTHING = Accuracy(statements=(), marginals=(), effective_rows=1.0, largest_density=None)


def small_release():
    saved = small_saved()
    return Release(schema=saved.schema, model=saved.model, certificate=saved.certificate, noisy=saved.answers)


@pytest.fixture(scope="module")
def adult():
    schema = lw.Schema.load(EXAMPLES / "adult.schema.json").select(["age", "sex", "capital_gain", "education"])
    return lw.synthesize(EXAMPLES / "adult.parquet", schema, epsilon=1, mechanism=lw.Independent())


def sections_of(release, accuracy=NOTHING):
    names = [field.name for field in release.schema.columns]
    found = released_sections(
        release.schema,
        release.model,
        release.certificate,
        release.noisy,
        accuracy,
        did=registration_named(release.certificate.mechanism).report,
        columns=released_columns(release.model, release.schema, release.noisy, names, release.certificate.public_rows),
        maps=released_maps(release.model, release.schema),
    )
    return {section.key: section for section in found}


def words_of(section):
    """Return all that a section says, as one text."""
    said = []
    for part in (*section.parts, *section.folded):
        match part:
            case Text():
                said += [part.words, *part.points]
            case Table():
                said += [part.caption, *part.heading, *(cell for line in part.lines for cell in line)]
            case Chart():
                said += [part.title, part.meaning]
            case Facts():
                said += [f"{fact.figure} {fact.what} {fact.note}" for fact in part.facts]
    return "\n".join(said)


def test_a_report_is_the_same_from_memory_from_the_file_in_another_process_and_from_the_command(tmp_path):
    release = small_release()
    release.to_html(tmp_path / "memory.html")
    release.save(tmp_path / "m.lapwing")
    lw.load(tmp_path / "m.lapwing").to_html(tmp_path / "file.html")
    code = "import sys, lapwing; lapwing.load(sys.argv[1]).to_html(sys.argv[2])"
    command = [sys.executable, "-c", code, "m.lapwing", "process.html"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = lapwing("report", tmp_path / "m.lapwing", "-o", tmp_path / "command.html")

    files = {name: (tmp_path / f"{name}.html").read_bytes() for name in ("memory", "file", "process", "command")}

    assert (said.status, said.out) == (0, "")
    assert said.err == f"lapwing: report: {tmp_path / 'command.html'}\n"
    assert len(set(files.values())) == 1
    assert files["memory"].count(b"<svg") >= 4


def test_the_command_writes_the_whole_file_or_nothing(tmp_path):
    small_release().save(tmp_path / "m.lapwing")
    (tmp_path / "other.lapwing").write_text("no model")

    assert "not" in lapwing("report", tmp_path / "other.lapwing", "-o", tmp_path / "r.html").error
    assert "m.lapwing" in lapwing("report", tmp_path / "m.lapwing", "-o", tmp_path / "m.lapwing").error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.lapwing", "other.lapwing"]


def test_the_command_names_the_extra_that_is_missing(tmp_path, monkeypatch):
    small_release().save(tmp_path / "m.lapwing")
    monkeypatch.setitem(sys.modules, "altair", None)

    said = lapwing("report", tmp_path / "m.lapwing", "-o", tmp_path / "r.html")

    assert said.error == f"a report needs altair; run {install_command('evaluate')}"
    assert not (tmp_path / "r.html").exists()


def test_the_first_section_tells_rows_columns_budget_and_what_a_guess_is_worth(adult):
    said = words_of(sections_of(adult)["short"])

    assert f"{adult.certificate.released_rows:,} rows that the model stands for a noisy number" in said
    assert "ε = 1 privacy budget spent" in said
    assert "73.2 % the most that guessing whether a certain row is in the table can be right" in said
    assert "How columns depend on each other was not looked at" in said
    assert "Nothing is proved" in words_of(sections_of(adult)["accuracy"])


def test_warnings_of_the_certificate_are_at_the_top(adult):
    warned = replace(adult, certificate=replace(adult.certificate, warnings=("little is known",)))

    parts = sections_of(warned)["short"].parts

    assert [part.words for part in parts if isinstance(part, Text) and part.is_warning] == ["Little is known."]


def test_the_parts_of_the_cost_sum_to_the_total(adult):
    section = sections_of(adult)["cost"]
    chart, summary = section.parts[1:]

    spent = sum(each["value"] for each in chart.spec["data"]["values"])

    assert spent == pytest.approx(float(adult.certificate.total.amount), rel=1e-12)
    assert sum(int(line[1]) for line in summary.lines) == len(adult.certificate.lines)
    assert len(section.folded[-1].lines) == len(adult.certificate.lines)


def test_a_large_budget_is_called_weak_and_a_small_one_is_not(adult):
    def warnings(release):
        return [part.words for part in sections_of(release)["promise"].parts if part.is_warning]

    table = pl.DataFrame({"flag": [True, False]})
    schema = {"fields": [{"name": "flag", "type": "boolean"}]}
    some, most = (lw.synthesize(table, schema, epsilon=epsilon) for epsilon in (3, 8))

    assert warnings(adult) == []
    assert ["little" in text for text in warnings(some)] == [True]
    assert ["next to nothing" in text for text in warnings(most)] == [True]


def test_what_was_assumed_is_listed_and_warned_of():
    fields = [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "provenance": "assumed"},
        {"name": "sex", "type": "string", "categories": ["f", "m"], "provenance": "public"},
    ]
    release = lw.synthesize(pl.DataFrame({"age": [1], "sex": ["f"]}), {"fields": fields}, epsilon=1, expected_rows=10)

    sections = sections_of(release)

    section, short = sections["assumed"], sections["short"]
    said = words_of(section)
    assert "1 of 2 columns are assumed" in said
    assert "1 of 2 columns are public" in said
    assert "About 10 rows were expected" in said
    assert "recorded in no ledger" in said
    warned = [part.words for part in short.parts if isinstance(part, Text) and "does not cover" in part.words]
    assert ["the bounds of age. A text or a bound" in words for words in warned] == [True]
    assert [line[-1] for line in section.folded[0].lines] == ["assumed", "public"]


FLAG = {"name": "flag", "type": "boolean", "provenance": "public"}
UNIT = {
    "fields": [{"name": "patient", "type": "integer", "role": "identifier"}, FLAG],
    "privacyUnit": {"field": "patient", "maxRows": 3},
}


@pytest.mark.parametrize(
    ("schema", "settings", "said"),
    [
        (
            UNIT,
            {},
            {
                "short": "whether a certain patient is in the table",
                "promise": "at most 3 are used",
                "use": "rows of one patient belong together",
            },
        ),
        (
            {"fields": [FLAG]},
            {"neighbours": "replace-one"},
            {
                "short": "3 rows that the model stands for a public number",
                "promise": "which of two possible contents a row has",
                "assumed": "The number of rows, 3, is public",
                "use": "person with several rows",
            },
        ),
    ],
)
def test_each_kind_of_promise_is_told_in_its_words(schema, settings, said):
    table = pl.DataFrame({"patient": [1, 1, 2], "flag": [True, False, True]})

    found = sections_of(
        lw.synthesize(table.select(each["name"] for each in schema["fields"]), schema, epsilon=1, **settings)
    )

    for key, words in said.items():
        assert words in words_of(found[key])


def test_columns_show_the_model_s_rows_and_the_intervals_of_query(adult):
    names = ["sex", "age"]
    sex, age = released_columns(adult.model, adult.schema, adult.noisy, names, None)

    query = adult.query("sex")

    shown = {cell.label: (round(cell.rows, 6), cell.lower, cell.upper) for cell in sex.cells}
    expected = {
        line["sex"]: (round(line["count"], 6), line["lower"], line["upper"]) for line in query.iter_rows(named=True)
    }
    assert shown == expected
    assert sum(cell.rows for cell in age.cells) == pytest.approx(adult.model.rows, rel=0.01)
    assert all(cell.lower <= cell.upper for cell in age.cells)


def test_a_value_that_most_rows_have_stands_apart(adult):
    (gain,) = released_columns(adult.model, adult.schema, adult.noisy, ["capital_gain"], None)

    assert [cell.label for cell in gain.apart] == ["the value 0"]
    assert gain.apart[0].rows > 0.8 * adult.model.rows
    assert all(cell.start != "0" for cell in gain.cells)


def test_missing_and_special_values_are_told_in_words():
    fields = [
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 99},
            "special": [-1],
            "provenance": "public",
        }
    ]
    table = pl.DataFrame({"age": [5] * 500 + [-1] * 300 + [None] * 200})
    release = lw.synthesize(table, {"fields": fields}, epsilon=100)

    (column,) = released_columns(release.model, release.schema, release.noisy, ["age"], None)

    assert [(cell.label, round(cell.rows, -2)) for cell in column.apart][-2:] == [
        ("the value -1", 300),
        ("missing", 200),
    ]
    meaning = next(part for part in sections_of(release)["columns"].parts if isinstance(part, Chart)).meaning
    assert re.search(r"the value -1 in 30\.\d % of the rows \(true number: \d+ to \d+\); missing in 20\.\d %", meaning)


def test_many_categories_are_cut_to_twenty_and_the_others_together():
    letters = [f"c{place:03d}" for place in range(300)]
    fields = [{"name": "letter", "type": "string", "categories": letters, "provenance": "public"}]
    table = pl.DataFrame({"letter": letters + ["c007"] * 500})
    release = lw.synthesize(table, {"fields": fields}, epsilon=100, mechanism=lw.Independent())

    (column,) = released_columns(release.model, release.schema, release.noisy, ["letter"], None)

    assert len(column.cells) == 21
    assert column.cells[0].label == "c007"
    assert column.cells[-1].label == "280 others"
    assert column.cells[-1].lower is None  # which they are depends on the noise
    assert sum(cell.rows for cell in (*column.cells, *column.apart)) == pytest.approx(release.model.rows)


def test_a_release_of_no_rows_and_every_kind_of_law_has_a_report(tmp_path):
    release = small_release()
    for name, each in (("some", release), ("none", replace(release, model=replace(release.model, rows=0)))):
        each.to_html(tmp_path / f"{name}.html")
        assert (tmp_path / f"{name}.html").read_text().count("<svg") >= 4

    assert "there is nothing to draw from" in (tmp_path / "none.html").read_text()


def test_names_of_the_schema_cannot_run(tmp_path):
    fields = [{"name": HOSTILE, "type": "string", "categories": [HOSTILE, "`", "\u202eb"], "provenance": "public"}]
    schema = {"name": HOSTILE, "fields": fields}
    lw.synthesize(pl.DataFrame({HOSTILE: ["`"]}), schema, epsilon=1).to_html(tmp_path / "r.html")

    text = (tmp_path / "r.html").read_text()

    assert HOSTILE not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "<script" not in text


def test_coordinates_are_drawn_as_a_map():
    real = {"type": "number", "constraints": {"minimum": 0, "maximum": 1}, "provenance": "public"}
    schema = {"fields": [{"name": "lon", **real}, {"name": "lat", **real}]}
    table = pl.DataFrame({"lon": [0.1] * 900 + [0.9] * 100, "lat": [0.9] * 900 + [0.1] * 100})
    release = lw.synthesize(table, schema, epsilon=50)

    (found,) = released_maps(release.model, Schema.load(schema))

    assert found.rows.sum() == pytest.approx(release.model.rows, rel=0.05)
    assert found.rows.shape == (len(found.y_edges) - 1, len(found.x_edges) - 1)
    upper, left = found.y_edges[:-1] > 0.5, found.x_edges[:-1] < 0.5
    assert found.rows[upper][:, left].sum() == pytest.approx(900, rel=0.05)


def test_pairs_that_nobody_counted_are_called_a_guess() -> None:
    fields = [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in "abcd"]
    rows = pl.DataFrame({name: [True, False] * 200 for name in "abcd"})

    alone = lw.synthesize(rows, {"fields": fields}, epsilon=1, mechanism="independent", seed=1)
    tree = lw.synthesize(rows.select("a", "b"), {"fields": fields[:2]}, epsilon=1, mechanism="pmm", seed=1)

    def points(release):
        sections = released_sections(
            release.schema, release.model, release.certificate, release.noisy, release.accuracy(), did=""
        )
        return " ".join(point for part in sections[0].parts if isinstance(part, Text) for point in part.points)

    assert "0 of 6 pairs of columns were counted together" in points(alone)
    assert "guess" not in points(tree)


def declaring(rules=(), tables=(), weight=None):
    """Return a release of a small table whose schema declares these."""
    fields = [
        {"name": name, "type": "integer", "constraints": {"required": True, "minimum": 0, "maximum": 3}}
        for name in ("low", "high", "factor")
    ]
    schema = {"fields": fields, "rules": list(rules), "publicTables": list(tables)}
    schema |= {} if weight is None else {"weight": weight}
    data = pl.DataFrame({name: [at % 4 for at in range(200)] for name in ("low", "high", "factor")})
    return lw.synthesize(data, schema, epsilon=5, mechanism="Independent", seed=1)


def test_the_page_lists_rules_public_tables_and_the_survey_weight(tmp_path):
    rules = [{"order": ["low", "high"]}, {"never": {"low": 0, "high": 3}, "provenance": "assumed"}]
    tables = [
        {
            "columns": ["factor"],
            "source": "Register, table 7",
            "provenance": "public",
            "cells": [["..1", 90], ["2..", 60]],
        }
    ]
    release = declaring(rules, tables, weight="factor")

    release.to_html(tmp_path / "r.html")

    page = (tmp_path / "r.html").read_text()
    order, never = release.certificate.rules
    (table,) = release.certificate.public_tables
    for text in (order.text, never.text):
        assert f">{html.escape(text)}</th>" in page
    for told in (order.kept, f"{100 * order.broke:.2f} %", f"{100 * table.before:.2f} %", table.source, "exactly"):
        assert f">{told}</td>" in page
    assert f"A rule is assumed, by the owner&#39;s decision, not public knowledge: {html.escape(never.text)}." in page
    assert "The survey weight is factor" in page
    assert "the total of the public tables" in page
    said = release.certificate.text()
    assert "The model stands for 150 rows, the total of the public tables." in said
    assert "Survey weight: factor." in said


def test_a_verdict_is_the_first_line_and_set_large(adult):
    grade = Grade(ways=2, word="weak", error=0.2, fresh=0.01, independent=0.3)
    verdict = Verdict(grades=(grade,), learnt=3, pairs=91, not_for=("weak relations",))
    graded = replace(adult.certificate, verdict=verdict)
    first, *_ = released_sections(adult.schema, adult.model, graded, adult.noisy, NOTHING, did="")
    without, *_ = released_sections(
        adult.schema, adult.model, replace(graded, verdict=None), adult.noisy, NOTHING, did=""
    )

    assert first.parts[0] == Text(words=verdict.line, is_headline=True)
    assert first.parts[1] == Text(words="Do not use for: weak relations.")
    assert without.parts[0] == Text(words=NO_VERDICT, is_headline=True)


def test_a_report_is_called_by_the_data_set_or_else_by_the_file(adult, tmp_path):
    nameless = replace(adult, schema=replace(adult.schema, name=""))
    nameless.save(tmp_path / "stays.lapwing")

    lapwing("report", tmp_path / "stays.lapwing", "-o", tmp_path / "file.html")
    adult.to_html(tmp_path / "schema.html")
    issued = Issued.now([], table="ward 7", schema=adult.schema.fingerprint)
    replace(adult, certificate=replace(adult.certificate, issued=issued)).to_html(tmp_path / "issued.html")

    for file, name in (("file", "stays"), ("schema", adult.schema.name), ("issued", "ward 7")):
        page = (tmp_path / f"{file}.html").read_text()
        assert f"<title>Synthetic data: {name}</title>" in page
        assert f">Synthetic data: {name}</h1>" in page


def test_a_report_refers_to_no_file_of_the_handbook(adult, tmp_path):
    adult.to_html(tmp_path / "r.html")

    assert re.search(r"docs/|\.md\b", (tmp_path / "r.html").read_text()) is None
