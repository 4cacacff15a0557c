"""`lapwing evaluate`: the bundled sample against rows made from it, and figures that are bought."""

import json
import re

import jsonschema
import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from helpers.evaluations import METRICS
from helpers.source_tree import PACKAGE

DATA = PACKAGE / "examples" / "adult.parquet"
COLUMNS = ("age", "education", "sex", "capital_gain", "hours_per_week", "income")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a few rows and columns of the sample, rows of an independent release, and the release."""
    path = tmp_path_factory.mktemp("evaluate")
    schema = lw.Schema.load(DATA.with_name("adult.schema.json")).select(COLUMNS)
    schema.save(path / "schema.json")
    release = lw.synthesize(DATA, schema, epsilon=10, mechanism="independent", seed=1)
    release.sample(1200).write_parquet(path / "synthetic.parquet")
    release.save(path / "independent.lapwing")
    pl.read_parquet(DATA).sample(1500, seed=2).write_parquet(path / "real.parquet")
    return path


@pytest.fixture(scope="module")
def synthetic(folder):
    return folder / "synthetic.parquet"


def evaluate(synthetic, *more):
    folder = synthetic.parent
    return lapwing("evaluate", folder / "real.parquet", synthetic, "--schema", folder / "schema.json", *more)


@pytest.fixture(scope="module")
def said(folder, synthetic):
    """Return what is said where all there is is asked for."""
    release = folder / "independent.lapwing"
    files = ["-o", folder / "report.html", "--json", folder / "metrics.json"]
    return evaluate(synthetic, *files, "--target", "income", "--model", release, "--by", "sex", "--details")


@pytest.fixture(scope="module")
def figures(said, folder):
    return json.loads((folder / "metrics.json").read_text())


def test_the_figures_are_printed_and_written_under_the_notice(said, figures, folder):
    assert said.status == 0
    assert said.err.splitlines() == [
        f"lapwing: figures: {folder / 'metrics.json'}",
        f"lapwing: report: {folder / 'report.html'}",
    ]
    jsonschema.Draft202012Validator(METRICS).validate(figures)
    lines = said.out.splitlines()
    assert lines[0] == figures["notice"] == "internal - do not publish"
    (start,) = (place for place, line in enumerate(lines) if line.startswith("tables "))
    for line, each in zip(lines[start + 1 : start + 4], figures["total_variation"]["synthetic"], strict=True):
        shown = [f"{each['ways']}-way", f"{each['tables']} of {each['possible']}", f"{each['mean']:.4f}"]
        assert re.split(r"  +", line)[:3] == shown
        assert " x ".join(each["worst"][0]["columns"]) in line
    (place,) = (place for place, line in enumerate(lines) if line.startswith("income predicted from"))
    trained = {name: float(value) for name, value in (re.split(r"  +", line) for line in lines[place + 1 : place + 4])}
    assert trained == {
        "synthetic rows": round(figures["downstream"]["auc"], 4),
        "real rows": round(figures["downstream"]["ceiling"], 4),
        "the majority class": 0.5,
    }


def test_eight_lines_are_printed_unless_all_are_asked_for(said, synthetic):
    lines = evaluate(synthetic).out.splitlines()

    assert len(lines) == 8
    assert lines[1].startswith("Quality 0.")
    assert lines[-1].startswith("- Every figure and caution: --details")
    assert set(lines[:4]) < set(said.out.splitlines())


def test_the_report_is_one_file_that_says_it_is_internal_and_tells_of_the_release(said, figures, folder):
    page = (folder / "report.html").read_text(encoding="utf-8")

    assert page.startswith("<!doctype html>")
    assert page.count("internal - do not publish") > 2
    assert "The release: " in page
    assert ">Synthetic beside real rows: adult</h1>" in page
    assert "sex=Female" in said.out
    groups = figures["subgroups"]
    assert [group["labels"] for group in groups] == [["Female"], ["Male"]]
    assert sum(group["rows"] for group in groups) == 1500


def test_where_the_schema_has_no_name_the_report_is_called_by_the_file(place):
    rows = pl.DataFrame({"a": [True, False] * 20, "b": [True, True, False, False] * 10})
    make.files(place, {"s.json": make.schema(dict.fromkeys("ab", bool)), "stays.parquet": rows, "out.parquet": rows})

    said = lapwing("evaluate", "stays.parquet", "out.parquet", "--schema", "s.json", "-o", "r.html")

    assert said.status == 0
    assert ">Synthetic beside real rows: stays</h1>" in (place / "r.html").read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------------------- with a budget


BOUGHT = ["evaluate", "real.csv", "synthetic.csv", "--schema", "s.json"]


@pytest.fixture
def files(place):
    """Work in a folder with two tables and their schema."""
    contents = {
        "real.csv": pl.DataFrame({"flag": [True, False] * 50, "kind": ["a"] * 100}),
        "synthetic.csv": pl.DataFrame({"flag": [True] * 40, "kind": ["a", "b"] * 20}),
        "s.json": make.schema({"flag": make.field("flag", bool, required=True), "kind": ["a", "b"]}),
    }
    return make.files(place, contents)


def test_the_figures_are_printed_and_written_as_releasable(files):
    said = lapwing(*BOUGHT, "--epsilon", "1e6", "--json", "m.json")

    assert said.status == 0
    figures = json.loads((files / "m.json").read_text())
    assert said.out.splitlines()[0] == figures["notice"] == "releasable - differentially private"
    # flag: 50 of 100 against 40 of 40; kind: 100 of 100 against 20 of 40
    assert round(figures["total_variation"][0]["mean"], 3) == 0.5
    assert "1-way     2 of 2  0.5000  0.5000 to 0.5000" in said.out
    assert "No --ledger: this evaluation is recorded nowhere" in said.err
    assert len(said.err.splitlines()) == 2  # where the figures are, and that no ledger knows


@pytest.mark.usefixtures("files")
def test_the_ledger_has_a_line_and_repeating_with_the_transcript_adds_none():
    make.ledger("budget.db", 1)
    bought = [*BOUGHT, "--epsilon", "0.5", "--ledger", "budget.db", "--transcript", "t.jsonl"]

    first, again = lapwing(*bought), lapwing(*bought)

    assert (first.status, first.err) == (0, "")
    assert again.out == first.out
    assert lapwing("ledger", "history", "people", "--ledger", "budget.db").out.count("evaluation") == 1


def test_the_release_brings_the_schema_that_it_learned(folder, place):
    real = place / "real.parquet"
    pl.read_parquet(folder / "real.parquet").select("age", "sex", "income").write_parquet(real)
    assert lapwing("synthesize", real, "--epsilon", "3", "-o", "rows.csv", "--model", "m.lapwing").status == 0

    found = lapwing("evaluate", real, "rows.csv", "--model", "m.lapwing")
    assert found.status == 0
    assert found.out.startswith("internal - do not publish\nQuality ")
    release = lw.load("m.lapwing")
    given = lw.evaluate(real, "rows.csv", release.schema).to_dict()
    assert lw.evaluate(real, "rows.csv", model=release).to_dict() == given

    assert "missing option '--schema', or --model" in lapwing("evaluate", real, "rows.csv").error
    with pytest.raises(lw.ParameterError, match="schema is missing; give it, or as model the release"):
        lw.evaluate(real, "rows.csv")
