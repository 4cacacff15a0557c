import re
import subprocess
import sys

import pytest

import lapwing as lw
from conftest import EXAMPLES
from helpers.command import lapwing
from helpers.saved import small_saved
from lapwing.release.release import Release


def small_release():
    saved = small_saved()
    return Release.of_one(saved)


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


def test_a_report_refers_to_no_file_of_the_handbook(adult, tmp_path):
    adult.to_html(tmp_path / "r.html")

    assert re.search(r"docs/|\.md\b", (tmp_path / "r.html").read_text()) is None
