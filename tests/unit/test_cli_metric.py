"""Grid and KDTree from the command line and as releases: settings, plans, real tables, files, interrupted runs."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.pmm_runs import frame_of
from helpers.transcripts import cut_after
from lapwing.mechanisms.trees.grid.mechanism import Grid
from lapwing.mechanisms.trees.kd_tree.mechanism import KDTree

UNIT = {"type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}
SCHEMA = {"fields": [{"name": "x0", **UNIT}, {"name": "x1", **UNIT}]}
POINTS = frame_of(np.random.default_rng(1).beta(2, 5, (600, 2)))
MECHANISMS = [KDTree(), KDTree(split_rule="paper", fit="threshold"), Grid(), Grid(fit="least_squares")]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Work in a folder with a table and its schema."""
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(json.dumps(SCHEMA))
    POINTS.write_parquet("data.parquet")
    return tmp_path


def synthesize(mechanism, *more):
    options = ("--schema", "s.json", "--epsilon", "2", "--mechanism", mechanism, "-o", "out.csv")
    return lapwing("synthesize", "data.parquet", *options, *more)


def plan(mechanism, *more, rows=5000):
    options = ("--schema", "s.json", "--epsilon", "2", "--mechanism", mechanism, "--expected-rows", rows)
    return lapwing("plan", *options, *more)


def options_of(settings):
    return [part for setting in settings for part in ("--set", setting)]


# -------------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("settings", "made"),
    [
        (["tau=auto"], KDTree()),
        (["tau=lemma10", "split_rule=paper"], KDTree(tau="lemma10", split_rule="paper")),
        (["tau=12.5"], KDTree(tau=12.5)),
        (["tau=-3"], KDTree(tau=-3.0)),
        (["fit=threshold", "threshold=4"], KDTree(fit="threshold", threshold=4)),
        (["coarse=0.5", "fine=0.01"], KDTree(coarse=0.5, fine=0.01)),
        (["split_share=0.4"], KDTree(split_share=0.4)),
        (["placement=centre"], KDTree(placement="centre")),
    ],
    ids=repr,
)
def test_settings_of_a_tree_are_those_of_the_function(place, settings, made):
    said = plan("kdtree", *options_of(settings))

    assert said.status == 0, said.err
    assert said.out == lw.plan(SCHEMA, expected_rows=5000, epsilon=2, mechanism=made).text()


@pytest.mark.parametrize(
    ("settings", "made"),
    [
        (["width=0.1"], Grid(width=0.1)),
        (["threshold=12"], Grid(threshold=12)),
        (["fit=least_squares", "placement=uniform"], Grid(fit="least_squares", placement="uniform")),
    ],
    ids=repr,
)
def test_settings_of_a_grid_are_those_of_the_function(place, settings, made):
    said = plan("grid", *options_of(settings))

    assert said.status == 0, said.err
    assert said.out == lw.plan(SCHEMA, expected_rows=5000, epsilon=2, mechanism=made).text()


@pytest.mark.parametrize(
    ("mechanism", "setting", "says"),
    [
        ("kdtree", "tau=often", "setting tau must be auto, lemma10, or a number, got 'often'; write tau=NUMBER"),
        ("kdtree", "tau=nan", "tau must be auto, lemma10 or a number from -2**60 to 2**60, got nan"),
        ("kdtree", "tau=lemma10", "tau='lemma10' is a choice of split_rule='paper' only, whose lemma it is"),
        ("kdtree", "coarse=wide", "setting coarse must be a number, got 'wide'; write coarse=NUMBER"),
        ("kdtree", "fine=0", "fine must lie above 0 and up to 1, the length of a column, got 0.0"),
        ("kdtree", "split_share=1", "split_share must lie from 0.01 to 0.99, got 1.0; leave it out to choose"),
        ("kdtree", "placement=corner", "placement must be one of uniform, centre, got 'corner'"),
        ("kdtree", "split_rule=best", "split_rule must be one of"),
        ("kdtree", "width=0.5", "KDTree has no setting 'width'; valid keys are coarse, fine, fit, placement"),
        ("grid", "threshold=3.5", "setting threshold must be a whole number, got '3.5'; write threshold=NUMBER"),
        ("grid", "threshold=0", "threshold must be a whole number from 1 to 2**60, got 0; leave it out to choose"),
        ("grid", "width=2", "width must lie above 0 and up to 1, the length of a column, got 2.0"),
        ("grid", "width=1e-9", "would be cut 30 times to reach an edge of 1e-09, above 20; use a longer edge"),
        ("grid", "fit=nearest", "fit must be one of least_squares, threshold, got 'nearest'"),
        ("grid", "tau=3", "Grid has no setting 'tau'; valid keys are fit, placement, threshold, width"),
    ],
)
def test_wrong_settings_are_one_line_and_nothing_is_written(place, mechanism, setting, says):
    for said in (synthesize(mechanism, "--set", setting), plan(mechanism, "--set", setting)):
        assert said.status == 1
        assert says in said.error
    assert sorted(path.name for path in place.iterdir()) == ["data.parquet", "s.json"]


def test_a_plan_that_no_machine_can_hold_is_refused_in_one_line(place):
    too_many = plan("grid", "--set", "width=0.000001", "--set", "threshold=1")
    listed = plan("grid", "--set", "width=0.0005", "--set", "fit=least_squares")

    assert "raise it or use wider cells" in too_many.error
    assert "use fit='threshold' or longer edges" in listed.error


@pytest.mark.parametrize("mechanism", ["grid", "kdtree"])
def test_a_plan_names_its_questions_and_grows_no_worse_with_rows(place, mechanism):
    few, many = plan(mechanism, rows=1000), plan(mechanism, rows=10**6)

    assert (few.status, many.status) == (0, 0)
    assert "in expectation" in " ".join(few.out.split())
    assert few.out != many.out


# ------------------------------------------------------------------------------------------------------ real tables


@pytest.fixture(scope="module", params=MECHANISMS, ids=repr)
def adult(request, adult_path, adult_schema_path):
    """Return the release of four columns of a real table, with its schema and its mechanism."""
    whole = json.loads(adult_schema_path.read_text())
    names = ["age", "sex", "hours_per_week", "education_num"]
    fields = [field for field in whole["fields"] if field["name"] in names]
    schema = {"fields": fields}
    data = pl.read_parquet(adult_path, columns=[field["name"] for field in fields])
    return lw.synthesize(data, schema, epsilon=5, mechanism=request.param, seed=3), data


def test_a_real_table_keeps_the_means_of_its_columns(adult):
    release, data = adult

    rows = release.sample(5000, seed=1)

    for name in ("age", "hours_per_week"):
        spread = data[name].std()
        assert abs(rows[name].mean() - data[name].mean()) < 0.6 * spread
    assert rows["age"].is_between(0, 120).all()


def test_a_release_of_a_real_table_is_saved_and_loaded(adult, tmp_path):
    release, _ = adult
    release.save(tmp_path / "m.lapwing")

    loaded = lw.load(tmp_path / "m.lapwing")

    assert loaded.certificate.to_dict() == release.certificate.to_dict()
    assert loaded.answers.equals(release.answers)
    assert loaded.sample(50, seed=3).equals(release.sample(50, seed=3))
    assert loaded.query("sex").equals(release.query("sex"))


def test_rows_of_a_real_table_are_drawn_under_a_condition_and_queried(adult):
    release, _ = adult

    rows = release.sample(40, seed=2, where={"age": lw.between(20, 60)})

    assert rows.height == 40
    assert rows["age"].is_between(20, 60).all()
    assert release.query(["sex", "age"]).height > 2


@pytest.mark.parametrize("mechanism", ["grid", "kdtree"])
def test_answers_and_queries_of_a_model_are_written_by_the_commands(place, mechanism):
    made = synthesize(mechanism, "--model", "m.lapwing", "--seed", "1", "--quiet")
    answers = lapwing("answers", "m.lapwing", "-o", "answers")
    query = lapwing("query", "m.lapwing", "--column", "x0")
    rows = lapwing(*["sample", "m.lapwing", "--rows", "30", "--seed", "4", "--where", "x0=0.1..0.3", "-o", "more.csv"])

    assert [said.status for said in (made, answers, query, rows)] == [0, 0, 0, 0], [made.err, answers.err, rows.err]
    assert pl.read_csv("more.csv")["x0"].is_between(0.1, 0.3).all()
    tables = [pl.read_csv(path) for path in sorted(Path("answers").glob("*.csv"))]
    (cells,) = [table for table in tables if table.columns == ["x0", "x1", "noisy_count", "noise_sd"]]
    assert cells.height > 20


def test_the_frame_of_answers_lists_each_leaf_with_its_labels(adult):
    release, _ = adult
    (noisy,) = [answer for answer in release.noisy if answer.question.kind == "SparseCounts"]

    frame = release.answers.filter(pl.col("columns") != "")

    if noisy.counts.size <= 2**16:
        assert frame["noisy_count"].to_list() == noisy.counts.tolist()
        assert frame["cell"].str.count_matches(r" \| ", literal=False).unique().to_list() == [3]
    else:
        assert frame["noisy_count"].to_list() == [int(noisy.counts.sum())]


# ------------------------------------------------------------------------------------------------- interrupted runs


@pytest.mark.parametrize("mechanism", [KDTree(), KDTree(fit="threshold"), Grid(), Grid(fit="least_squares")], ids=repr)
def test_an_interrupted_release_keeps_the_answers_it_had_and_draws_the_others(mechanism, tmp_path):
    path = tmp_path / "t.jsonl"
    release = lw.synthesize(POINTS, SCHEMA, epsilon=1, mechanism=mechanism, misfits=1, transcript=path, seed=2)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 1 + len(release.noisy)

    for known in range(len(release.noisy) + 1):
        path.write_bytes(whole)
        path.write_text(cut_after(path, known))
        resumed = lw.resume(path, POINTS)

        kept = [answer.to_dict() for answer in resumed.noisy[:known]]
        assert kept == [answer.to_dict() for answer in release.noisy[:known]]
        assert len(resumed.noisy) == len(release.noisy)
        again = lw.resume(path, POINTS)
        assert again.sample(30).equals(resumed.sample(30))
        if known == len(release.noisy):
            assert path.read_text().split() == whole.decode().split()
            assert resumed.sample(30).equals(release.sample(30))


@pytest.mark.parametrize("mechanism", ["grid", "kdtree"])
def test_a_seed_repeats_the_rows_of_a_resumed_release(place, mechanism):
    made = synthesize(mechanism, "--transcript", "t.jsonl", "--seed", "3", "--model", "m.lapwing")
    resumed = lapwing("resume", "t.jsonl", "data.parquet", "-o", "again.csv", "--model", "again.lapwing")

    assert (made.status, resumed.status) == (0, 0), made.err + resumed.err
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()
    assert Path("again.lapwing").read_bytes() == Path("m.lapwing").read_bytes()
