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
from lapwing.extras.evaluate.report.released_columns import released_columns
from lapwing.release.release import Release

HOSTILE = "</script><script>alert(1)</script>"


def small_release():
    saved = small_saved()
    return Release(schema=saved.schema, model=saved.model, certificate=saved.certificate, noisy=saved.answers)


@pytest.fixture(scope="module")
def adult():
    schema = lw.Schema.load(EXAMPLES / "adult.schema.json").select(["age", "sex", "capital_gain", "education"])
    return lw.synthesize(EXAMPLES / "adult.parquet", schema, epsilon=1, mechanism=lw.Independent())


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


def test_a_report_refers_to_no_file_of_the_handbook(adult, tmp_path):
    adult.to_html(tmp_path / "r.html")

    assert re.search(r"docs/|\.md\b", (tmp_path / "r.html").read_text()) is None
