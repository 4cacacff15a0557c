"""Releases by the command line: planned, made, resumed, asked, sampled; the files, notes and refusals of these."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from helpers.small_people import made_model, synthesize, write_people
from helpers.source_tree import PACKAGE
from lapwing.cli.commands.synthesize import _report
from lapwing.kernel.budget.budget import requested_budget
from lapwing.kernel.budget.ledger import Ledger


@pytest.fixture
def place(place):
    """Work in a folder with a table and its schema."""
    write_people()
    return place


def names(folder):
    return sorted(path.name for path in folder.iterdir())


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
    flags = {f"c{number}": bool for number in range(columns)}
    schema = make.schema({"person": "id", **flags}, privacyUnit={"field": "person", "maxRows": rows})
    make.files(place, {"s.json": schema, "data.parquet": make.table(schema, 2)})

    said = synthesize("--rows", "1", "--mechanism", mechanism, "--details", epsilon=str(epsilon))
    noise = json.loads(Path("out.csv.certificate.json").read_text())["costs"][1]["noise"]
    gaussian = rows * (columns / (2 * (1 - 0.04) * float(requested_budget(epsilon=1, delta="1e-9").rho))) ** 0.5

    hint = f"would fall from sd {noise['sd']:.1f} to sd {gaussian:.1f} with --delta 1e-9"
    assert said.status == 0, said.err
    assert (said.err.count("noise per count would"), said.err.count(hint)) == (hints, hints)


@pytest.mark.parametrize(("more", "hints"), [([], 1), (["--delta", "1e-9"], 0)])
def test_the_default_says_once_what_a_delta_gains(place, more, hints):
    schema = make.schema({f"c{number}": bool for number in range(20)})
    make.files(place, {"s.json": schema, "data.parquet": make.table(schema, 600)})

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
    make.ledger("budget.db")
    synthesize("--ledger", "budget.db", "--quiet")
    Path("out.csv").unlink()
    Path("out.csv.certificate.json").unlink()

    said = synthesize("--ledger", "budget.db")

    assert said.status == 1
    assert "epsilon 1" in said.error
    assert not Path("out.csv").exists()


def test_resume_finishes_a_release_without_paying_twice(place):
    make.ledger("budget.db")
    synthesize("--ledger", "budget.db", "--transcript", "t.jsonl", "--seed", "3", "--model", "m.lapwing")

    said = lapwing("resume", "t.jsonl", "data.parquet", "-o", "again.csv", "--model", "again.lapwing")

    assert said.status == 0, said.err
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()
    assert Path("again.lapwing").read_bytes() == Path("m.lapwing").read_bytes()
    assert Ledger.open("budget.db").balance().spent == 2


def test_resume_says_what_it_finishes_before_anything_is_debited(place, monkeypatch):
    make.ledger("budget.db")
    synthesize("--ledger", "budget.db", "--transcript", "t.jsonl", "--mechanism", "Independent")
    again = ("resume", "t.jsonl", "data.parquet", "-o", "again.csv")
    told = (
        "lapwing: finishing Independent at epsilon 2 for add-remove neighbours and privacy unit row; answers "
        f"recorded: 4; ledger {place}/budget.db, data set people: "
    )

    assert lapwing(*again).err.splitlines()[0] == told + "debited before"
    assert "finishing" not in lapwing(*again, "--quiet").err

    Path("budget.db").unlink()
    make.ledger("budget.db")
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
    schema = make.schema({"../../x": bool, "ä" * 300: bool})
    make.files(place, {"s.json": schema, "data.parquet": make.table(schema, 1)})
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
    make.ledger("budget.db")
    arguments = "synthesize data.parquet --schema s.json --epsilon 2 --rows 200000 -o out.csv --ledger budget.db"
    arguments += " --mechanism independent"

    said = run_with_little_space(200_000, *arguments.split())
    command = said.stderr.split("`lapwing ")[-1].split("`")[0]
    finished = lapwing(command)

    assert said.stderr.count("\n") == 1
    assert finished.status == 0, finished.err
    assert Path("out.csv").exists()


# ---------------------------------------------------------------------------------------------------------------- plan


PLANNED = make.schema({"x": (0.0, 1.0)}, required=True)


PLAN = "plan --schema p.json --expected-rows 5000"


def test_it_prints_the_plan_and_writes_nothing(place):
    make.files(place, {"p.json": PLANNED})
    before = names(place)

    said = lapwing(f"{PLAN} --epsilon 0.5")

    assert (said.status, said.err) == (0, "")
    assert said.out == lw.plan(PLANNED, expected_rows=5000, epsilon="0.5").text()
    assert names(place) == before


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("--epsilon 1 --delta 1e-9", {"epsilon": 1, "delta": "1e-9"}),
        ("--rho 0.1 --neighbours replace-one", {"rho": "0.1", "neighbours": "replace-one"}),
        ("--rho 1 --mechanism independent", {"rho": 1, "mechanism": "Independent"}),
        (
            "--rho 1 --mechanism PMM --set depth=3 --set variant=paper",
            {"rho": 1, "mechanism": lw.PMM(depth=3, variant="paper")},
        ),
    ],
)
def test_its_options_are_the_settings_of_the_function(place, options, settings):
    make.files(place, {"p.json": PLANNED})

    assert lapwing(f"{PLAN} {options}").out == lw.plan(PLANNED, expected_rows=5000, **settings).text()


# --------------------------------------------------------------------------------------------------------------- query


def saved(mechanism):
    lw.synthesize("data.parquet", "s.json", epsilon=50, mechanism=mechanism).save("m.lapwing")


@pytest.mark.usefixtures("place")
def test_query_says_on_one_line_where_no_interval_is_known():
    saved("Independent")

    apart = lapwing("query m.lapwing --column sex --column age --groups 3")
    quiet = lapwing("--quiet query m.lapwing --column sex --column age")

    assert apart.err == "lapwing: no noisy answer covers 6 of 6 cells\n"
    assert all(line.endswith("-      -  no noisy answer covers it") for line in apart.out.splitlines()[1:])
    assert (quiet.status, quiet.err) == (0, "")


def test_query_tells_means_and_shares_of_the_population(tmp_path):
    rows = pl.DataFrame({"flag": [True, False] * 500, "age": [40] * 1000})
    release = lw.synthesize(rows, make.schema({"flag": bool, "age": (0, 99)}), epsilon=9, mechanism="Independent")
    release.save(tmp_path / "m.lapwing")

    said = lapwing(
        "query",
        tmp_path / "m.lapwing",
        "--mean",
        "age,flag",
        "--share",
        "age >= 40",
        "--replicates",
        "5",
        "--confidence",
        "0.999999",
    )

    heading, *lines = (re.split(r"\s{2,}", line) for line in said.out.splitlines())
    assert heading == ["population, 0.999999 each", "estimate", "lower", "upper", "standard_error"]
    assert [line[0] for line in lines] == ["mean of age", "mean of flag", "share of age >= 40"]
    for (_, *numbers), near in zip(lines, (40, 0.5, 1), strict=True):
        estimate, lower, upper, error = map(float, numbers)
        assert estimate == pytest.approx(near, rel=0.1)
        assert lower <= estimate <= upper or near == 1  # shares are cut
        assert error < near / 10


@pytest.mark.usefixtures("place")
def test_query_says_how_to_see_cells_that_were_counted():
    saved(lw.PMM(depth=6))

    said = lapwing("query m.lapwing --column day")

    assert said.err.startswith("lapwing: no noisy answer covers ")
    assert said.err.endswith(" of 21 cells; --groups measured shows the cells that were counted\n")
    assert lapwing("query m.lapwing --column day --groups measured").err == ""


# -------------------------------------------------------------------------------------------------------------- sample


def test_sample_draws_rows_that_match(place):
    made_model(place)

    said = lapwing("sample m.lapwing --rows 50 --seed 4 --where sex=f --where age=30..40 -o more.parquet")

    assert (said.status, said.out) == (0, "")
    rows = pl.read_parquet("more.parquet")
    assert rows.height == 50
    assert set(rows["sex"]) == {"f"}
    assert rows["age"].is_between(30, 40).all()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_sample_gives_one_row_for_each_condition_of_a_file(place, ending):
    wanted = pl.DataFrame({"age": [30, 40, 50], "sex": ["f", "m", "f"]})
    made_model(make.files(place, {f"c.{ending}": wanted}))

    said = lapwing(f"sample m.lapwing --where-file c.{ending} -o more.parquet")

    assert said.status == 0, said.err
    assert pl.read_parquet("more.parquet").select("age", "sex").equals(wanted)
    assert re.search(r"support of 3 condition rows, [0-9.]+ effective atoms on average: ", said.err)


# ----------------------------------------------------------------------------------------------------------- anonymize


DATA, ADULT = PACKAGE / "examples" / "adult.parquet", PACKAGE / "examples" / "adult.schema.json"
NOTICE = "k-anonymous with k = 25, not differentially private; homogeneous groups can reveal shared values"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a few hundred rows of Adult."""
    path = tmp_path_factory.mktemp("anonymize") / "small.parquet"
    pl.read_parquet(DATA).head(400).write_parquet(path)
    return path


def anonymize(data, out, *more, size=25):
    return lapwing("anonymize", data, "--schema", ADULT, "--min-group-size", size, "-o", out, *more)


def test_the_notice_is_on_stderr_and_in_both_files(small, tmp_path):
    said = anonymize(small, tmp_path / "out.parquet", "--seed", 1)

    assert (said.status, said.out) == (0, "")
    assert said.err.splitlines()[0] == f"lapwing: {NOTICE}"
    about = json.loads((tmp_path / "out.parquet.anonymous.json").read_text())
    assert (about["notice"], about["k"], about["rows"], about["seed"]) == (NOTICE, 25, 400, 1)
    assert json.loads(pl.read_parquet_metadata(tmp_path / "out.parquet")["lapwing"]) == about
    assert {path.name for path in tmp_path.iterdir()} == {"out.parquet", "out.parquet.anonymous.json"}


def test_the_rows_are_those_of_the_function(small, tmp_path):
    chosen = ("--partition", "mdav", "--no-improve", "--categories", "mode", "--rows", 50, "--seed", 7)

    said = anonymize(small, tmp_path / "out.parquet", *chosen)

    assert said.status == 0
    made = lw.anonymize(small, ADULT, 25, partition="mdav", improve=False, categories="mode", rows=50, seed=7)
    assert pl.read_parquet(tmp_path / "out.parquet").equals(made.data)
    about = json.loads((tmp_path / "out.parquet.anonymous.json").read_text())
    assert about == json.loads(json.dumps(made.to_dict()))
    assert about["settings"] == {
        "min_group_size": 25,
        "variant": "default",
        "partition": "mdav",
        "improve": False,
        "output": "systematic",
        "categories": "mode",
        "rows": 50,
    }
