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
from lapwing.extras.evaluate.report.released import released_sections
from lapwing.extras.evaluate.report.released_columns import released_columns, released_maps
from lapwing.mechanisms.registry import registration_named
from lapwing.model.accuracy import Accuracy
from lapwing.model.certificate.issued import Issued
from lapwing.present.document import Chart
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


def test_the_parts_of_the_cost_sum_to_the_total(adult):
    section = sections_of(adult)["cost"]
    chart, summary = section.parts[1:]

    spent = sum(each["value"] for each in chart.spec["data"]["values"])

    assert spent == pytest.approx(float(adult.certificate.total.amount), rel=1e-12)
    assert sum(int(line[1]) for line in summary.lines) == len(adult.certificate.lines)
    assert len(section.folded[-1].lines) == len(adult.certificate.lines)


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
