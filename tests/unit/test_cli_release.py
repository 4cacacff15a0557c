"""synthesize, resume, query, answers, demo: files, notes and refusals."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from helpers.command import lapwing
from helpers.small_people import made_model, synthesize, write_people
from lapwing.cli.commands.synthesize import _report
from lapwing.kernel.budget.budget import requested_budget


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Work in a folder with a table and its schema."""
    monkeypatch.chdir(tmp_path)
    write_people()
    return tmp_path


@pytest.fixture
def model(place):
    return made_model(place)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def init_ledger(limit="3"):
    terms = ("--neighbours", "add-remove", "--privacy-unit", "row")
    assert lapwing("ledger", "init", "people", "--unit", "pure", "--limit", limit, *terms).status == 0


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "OUT.CSV"])
def test_rows_and_certificate_are_written(place, out):
    said = synthesize(out=out)

    assert (said.status, said.out) == (0, "")
    rows = pl.read_csv(out) if out.lower().endswith("csv") else pl.read_parquet(out)
    certificate = json.loads(Path(f"{out}.certificate.json").read_text())
    assert rows.columns == ["age", "sex", "day"]
    assert rows.height == certificate["written_rows"] == certificate["released_rows"]
    assert certificate["total"]["exact"] == "2"
    assert names(place) == sorted(["data.parquet", "s.json", out, f"{out}.certificate.json"])


@pytest.mark.parametrize(
    ("columns", "rows", "epsilon", "mechanism", "hints"),
    [
        (40, 1, 1, "independent", 1),
        (40, 5, 1, "independent", 1),
        (15, 5, 1, "independent", 0),
        (2, 1, 1, "pmm", 0),
        (2, 1, 1e-9, "pmm", 0),
    ],
)
def test_a_delta_is_suggested_only_where_it_would_help_and_with_the_noise_of_the_release(
    place, columns, rows, epsilon, mechanism, hints
):
    fields = [{"name": f"c{number}", "type": "boolean"} for number in range(columns)]
    person = {"name": "person", "type": "integer", "role": "identifier"}
    Path("s.json").write_text(
        json.dumps({"fields": [person, *fields], "privacyUnit": {"field": "person", "maxRows": rows}})
    )
    pl.DataFrame({"person": [1, 2]} | {field["name"]: [True, False] for field in fields}).write_parquet("data.parquet")

    said = synthesize("--rows", "1", "--mechanism", mechanism, "--details", epsilon=str(epsilon))
    noise = json.loads(Path("out.csv.certificate.json").read_text())["costs"][1]["noise"]
    gaussian = rows * (columns / (2 * (1 - 0.04) * float(requested_budget(epsilon=1, delta="1e-9").rho))) ** 0.5

    hint = f"would fall from sd {noise['sd']:.1f} to sd {gaussian:.1f} with --delta 1e-9"
    assert said.status == 0, said.err
    assert (said.err.count("noise per count would"), said.err.count(hint)) == (hints, hints)


@pytest.mark.parametrize(("more", "hints"), [([], 1), (["--delta", "1e-9"], 0)])
def test_the_default_says_once_what_a_delta_gains(place, more, hints):
    fields = [{"name": f"c{number}", "type": "boolean"} for number in range(20)]
    Path("s.json").write_text(json.dumps({"fields": fields}))
    pl.DataFrame({field["name"]: [True, False] * 300 for field in fields}).write_parquet("data.parquet")

    said = synthesize("--rows", "1", "--set", "particles=64", "--details", *more)

    assert said.status == 0, said.err
    assert said.err.count("noise per count of the first table would fall from sd ") == hints


def test_quiet_says_nothing(place):
    said = synthesize("--quiet")

    assert (said.status, said.out, said.err) == (0, "", "")


def test_rows_seed_and_settings_are_followed(place):
    first = synthesize("--rows", "7", "--seed", "5", "--mechanism", "INDEPENDENT", "--set", "groups=16")

    assert first.status == 0, first.err
    certificate = json.loads(Path("out.csv.certificate.json").read_text())
    assert pl.read_csv("out.csv").height == certificate["written_rows"] == 7
    assert certificate["settings"] == {"groups": 16}
    assert certificate["seed"] == 5


def test_without_a_certificate_none_is_written(place):
    assert synthesize("--no-certificate").status == 0
    assert names(place) == ["data.parquet", "out.csv", "s.json"]


def test_overspending_is_refused_and_nothing_is_written(place):
    init_ledger(limit="3")
    synthesize("--ledger", "budget.db", "--quiet")
    Path("out.csv").unlink()
    Path("out.csv.certificate.json").unlink()

    said = synthesize("--ledger", "budget.db")

    assert said.status == 1
    assert "epsilon 1" in said.error
    assert not Path("out.csv").exists()


def test_resume_finishes_a_release_without_paying_twice(place):
    init_ledger()
    synthesize("--ledger", "budget.db", "--transcript", "t.jsonl", "--seed", "3", "--model", "m.lapwing")

    said = lapwing("resume", "t.jsonl", "data.parquet", "-o", "again.csv", "--model", "again.lapwing")

    assert said.status == 0, said.err
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()
    assert Path("again.lapwing").read_bytes() == Path("m.lapwing").read_bytes()
    assert "epsilon 2" in next(line for line in lapwing("ledger", "show").out.splitlines() if line.startswith("spent"))


def test_resume_says_what_it_finishes_before_anything_is_debited(place, monkeypatch):
    init_ledger()
    synthesize("--ledger", "budget.db", "--transcript", "t.jsonl", "--mechanism", "Independent")
    again = ("resume", "t.jsonl", "data.parquet", "-o", "again.csv")
    told = (
        "lapwing: finishing Independent at epsilon 2 for add-remove neighbours and privacy unit row; answers "
        f"recorded: 4; ledger {place}/budget.db, data set people: "
    )

    assert lapwing(*again).err.splitlines()[0] == told + "debited before"
    assert "finishing" not in lapwing(*again, "--quiet").err

    Path("budget.db").unlink()
    init_ledger()
    monkeypatch.setattr("lapwing.kernel.budget.ledger.Ledger.debit", None)  # whoever calls it before fails first
    assert lapwing(*again).err.splitlines()[0] == told + "would now debit epsilon 2"


def test_what_resume_says_of_a_strangers_transcript_is_one_visible_line(place):
    synthesize("--transcript", "t.jsonl", "--mechanism", "Independent")
    header = json.loads(Path("t.jsonl").read_text().splitlines()[0])
    header["settings"]["schema"]["fields"].append({"name": "x\n\x1b[2J", "type": "string", "role": "identifier"})
    header["settings"]["schema"]["privacyUnit"] = {"field": "x\n\x1b[2J", "maxRows": 2}
    Path("t.jsonl").write_text(json.dumps(header) + "\n")

    said = lapwing("resume", "t.jsonl", "data.parquet", "-o", "again.csv").err.splitlines()[0]

    assert said.startswith("lapwing: finishing Independent at epsilon 2 for add-remove neighbours and privacy unit x")
    assert said.endswith("; answers recorded: 0; no ledger")
    assert "\x1b" not in said


def test_column_names_never_lead_out_of_the_folder(place):
    schema = {"fields": [{"name": "../../x", "type": "boolean"}, {"name": "ä" * 300, "type": "boolean"}]}
    Path("s.json").write_text(json.dumps(schema))
    pl.DataFrame({"../../x": [True], "ä" * 300: [False]}).write_parquet("data.parquet")
    synthesize("--model", "m.lapwing", "--mechanism", "Independent")

    said = lapwing("answers", "m.lapwing", "-o", "answers")

    assert said.status == 0, said.err
    assert len(names(Path("answers"))) == 3


def test_the_demo_writes_its_files_and_says_what_was_spent(place):
    said = lapwing("demo")

    assert (said.status, said.out) == (0, "")
    files = ["adult.lapwing", "adult.parquet", "adult.parquet.certificate.json", "adult.report.html"]
    assert names(Path("lapwing-demo")) == files
    assert "Female" in said.err
    assert "lapwing: age  sex" in said.err
    assert said.err.splitlines()[-1].startswith("lapwing: Now your own file: `lapwing start FILE`")
    echoed = [line for line in said.err.splitlines() if not line.startswith("lapwing: ")]
    assert [line.split()[2] for line in echoed] == ["synthesize", "query", "report"]


@pytest.mark.full
def test_a_quiet_demo_says_nothing(place):
    assert lapwing("demo", "--quiet").err == ""


def test_the_demo_does_without_a_report_where_the_extra_is_missing(place, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    said = []

    _report(None, place / "adult.report.html", "adult.lapwing", said.append, said.append)

    assert [each.partition("; run ")[0] for each in said] == ["No report: a report needs altair"]
    assert not (place / "adult.report.html").exists()


LIMITED = """
import resource, sys
from lapwing.cli.main import execute
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
sys.exit(execute(sys.argv[1:]))
"""


def run_with_little_space(limit, *arguments):
    code = LIMITED.format(limit=limit)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, env=os.environ
    )


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_a_full_disk_is_one_line_and_leaves_the_earlier_files(place, out):
    synthesize("--quiet", out=out)
    before = {path: path.read_bytes() for path in place.iterdir()}

    said = run_with_little_space(
        50_000, "synthesize", "data.parquet", "--schema", "s.json", "--epsilon", "1", "--rows", "200000", "-o", out,
        "--mechanism", "independent",
    )  # fmt: skip

    assert said.returncode == 1
    assert said.stderr.count("\n") == 1, said.stderr
    assert f"{out} cannot be written (File too large)" in said.stderr
    assert "running again spends again" in said.stderr
    assert {path: path.read_bytes() for path in place.iterdir()} == before


def test_a_recorded_release_that_met_a_full_disk_says_how_to_finish_it(place):
    init_ledger()
    arguments = "synthesize data.parquet --schema s.json --epsilon 2 --rows 200000 -o out.csv --ledger budget.db"
    arguments += " --mechanism independent"

    said = run_with_little_space(200_000, *arguments.split())
    command = said.stderr.split("`lapwing ")[-1].split("`")[0]
    finished = lapwing(command)

    assert said.stderr.count("\n") == 1
    assert finished.status == 0, finished.err
    assert Path("out.csv").exists()
