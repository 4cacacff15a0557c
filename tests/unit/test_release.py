"""The release: rows, tables, answers, files."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw

SCHEMA = {
    "fields": [
        {"name": "id", "type": "integer", "role": "identifier"},
        {"name": "count", "type": "integer", "constraints": {"minimum": 0, "maximum": 999}},
        {"name": "kind", "type": "string", "categories": ["a", "b"], "constraints": {"required": True}},
        {"name": "size", "type": "number", "constraints": {"minimum": 0, "maximum": 2, "required": True}},
    ]
}
DATA = pl.DataFrame(
    {"id": range(90), "count": [5, None, 700] * 30, "kind": ["a"] * 60 + ["b"] * 30, "size": [0.5, 1.5] * 45}
)


@pytest.fixture(scope="module")
def release():
    return lw.synthesize(DATA, SCHEMA, epsilon=20, mechanism="Independent", seed=3, misfits=1)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (DATA, pl.DataFrame),
        (DATA.lazy(), pl.DataFrame),
        (pd.DataFrame(DATA.to_dict(as_series=False)), pd.DataFrame),
        (DATA.to_arrow(), pa.Table),
    ],
    ids=["polars", "lazy", "pandas", "pyarrow"],
)
def test_rows_come_back_in_the_kind_of_frame_that_came_in(data, kind):
    release = lw.synthesize(data, SCHEMA, epsilon=1)

    assert isinstance(release.sample(7), kind)
    assert isinstance(release.query(["kind"]), kind)
    assert len(release.sample(7)) == 7


def test_the_same_seed_gives_the_same_rows_and_no_seed_others(release):
    unseeded = lw.synthesize(DATA, SCHEMA, epsilon=20)

    assert release.sample(50).equals(release.sample(50))
    assert release.sample(50, seed=1).equals(release.sample(50, seed=1))
    assert not release.sample(50, seed=1).equals(release.sample(50, seed=2))
    assert not unseeded.sample(50).equals(unseeded.sample(50))


@pytest.mark.parametrize("n", [-1, 2.5, True, "3"])
def test_a_number_of_rows_that_is_none_is_refused(release, n):
    with pytest.raises(lw.ParameterError, match="number of rows"):
        release.sample(n)


@pytest.mark.parametrize("seed", [-1, 1.5, True, 2**128, "7"])
def test_a_seed_that_is_none_is_refused(release, seed):
    with pytest.raises(lw.ParameterError, match="seed must be a whole number"):
        release.sample(3, seed=seed)


def test_rows_meet_their_conditions(release):
    rows = release.sample(40, where={"kind": ["b"], "size": lw.between(1, 2), "count": None})

    assert rows["kind"].unique().to_list() == ["b"]
    assert rows["size"].min() >= 1 - 1e-9
    assert rows["count"].null_count() == 40


def test_a_query_adds_up_to_the_released_rows_and_keeps_a_column_called_count(release):
    table = release.query(["count", "kind"])

    assert table.columns == ["count", "kind", "count_", "share", "lower", "upper", "basis"]
    assert table["count_"].sum() == pytest.approx(release.model.rows)
    assert table["share"].sum() == pytest.approx(1)
    assert "missing" in table["count"].to_list()
    assert "misfit" not in table["kind"].to_list()


@pytest.mark.parametrize("columns", [[], ["kind", "kind"], 5, [5]])
def test_a_query_over_no_list_of_columns_is_refused(release, columns):
    with pytest.raises(lw.ParameterError, match="a column name or a list of distinct ones"):
        release.query(columns)


def test_a_query_needs_at_least_two_groups(release):
    with pytest.raises(lw.ParameterError, match="groups must be at least 2"):
        release.query(["size"], groups=1)


@pytest.mark.parametrize("groups", [True, 1.5, "all"])
def test_groups_are_a_number_or_measured(release, groups):
    with pytest.raises(lw.ParameterError) as refused:
        release.query(["size"], groups=groups)

    assert str(refused.value) == f"groups must be at least 2, or 'measured', got {groups!r}"


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95])
def test_a_confidence_lies_between_0_and_1(release, confidence):
    with pytest.raises(lw.ParameterError) as refused:
        release.query("kind", confidence=confidence)

    assert str(refused.value) == f"confidence must be above 0 and below 1, got {confidence}; 0.95 is usual"


def test_an_interval_lies_around_its_noisy_count(release):
    table = release.query("kind", confidence=0.9)
    noisy = release.noisy[1].counts

    # Laplace noise of scale 3/20 is 0 with probability .997.
    assert table["lower"].to_list() == table["upper"].to_list() == noisy[:2].tolist()
    assert table["basis"].to_list() == ["1 noisy count"] * 2
    wider = release.query("kind", confidence=0.9999)
    assert (wider["upper"] - wider["lower"]).to_list() == [2, 2]


def test_cells_that_no_answer_covers_have_no_interval(release):
    table = release.query(["kind", "size"], groups=2)

    assert table["lower"].null_count() == table["upper"].null_count() == table.height == 4
    assert table["basis"].unique().to_list() == ["no noisy answer covers it"]


def test_a_column_called_like_an_end_of_the_interval_keeps_its_name():
    schema = {"fields": [{"name": name, "type": "boolean"} for name in ("lower", "basis")]}
    data = pl.DataFrame({"lower": [True, False] * 20, "basis": [True] * 40})

    table = lw.synthesize(data, schema, epsilon=9, mechanism="Independent").query(["lower", "basis"])

    assert table.columns == ["lower", "basis", "count", "share", "lower_", "upper", "basis_"]


def test_runs_end_where_a_column_was_counted():
    schema = {"fields": [{"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 999}}]}
    data = pl.DataFrame({"x": range(1000)})
    release = lw.synthesize(data, schema, epsilon=9, mechanism=lw.Independent(groups=37))

    tenths, measured = release.query("x", groups=10), release.query("x", groups="measured")

    assert tenths.height == 10 + 1
    assert measured.height == release.noisy[0].counts.size
    for table in (tenths, measured):
        assert table["lower"].null_count() == 0
        assert table["count"].sum() == pytest.approx(release.model.rows)


def test_columns_that_were_never_counted_together_have_no_measured_groups(release):
    with pytest.raises(lw.ParameterError) as refused:
        release.query(["kind", "size"], groups="measured")

    assert str(refused.value) == "no noisy answer counted kind, size together; give a number of groups such as 20"


def test_a_public_number_of_rows_bounds_the_intervals():
    schema = {"fields": [{"name": "x", "type": "boolean"}]}
    data = pl.DataFrame({"x": [True] * 30})

    table = lw.synthesize(data, schema, epsilon=0.05, neighbours="replace-one", mechanism="Independent").query("x")

    assert table["lower"].min() >= 0
    assert table["upper"].max() <= 30


def test_answers_show_every_noisy_count_with_its_noise(release):
    answers = release.answers

    cells = sum(answer.whole.size for answer in release.noisy)
    assert answers.height == cells
    assert answers["noisy_count"].sum() == sum(int(answer.whole.sum()) for answer in release.noisy)
    assert answers["noise"].unique().to_list() == ["laplace 3/20"]
    assert (answers["noise_sd"] == release.noisy[0].noise.sd).all()


def test_a_saved_release_is_the_same_release(release, tmp_path):
    release.save(tmp_path / "r.lapwing")

    again = lw.load(tmp_path / "r.lapwing")

    assert again.certificate == release.certificate
    assert again.sample(20, seed=2).equals(release.sample(20, seed=2))
    assert again.answers.equals(release.answers)
    assert np.array_equal(again.model.weights, release.model.weights)


@pytest.mark.parametrize(
    ("kind", "frame"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table), ("path", pl.DataFrame)],
)
def test_a_saved_release_gives_rows_in_the_kind_of_frame_that_is_asked_for(release, tmp_path, kind, frame):
    release.save(tmp_path / "r.lapwing")

    assert isinstance(lw.load(tmp_path / "r.lapwing", kind=kind).sample(3), frame)


def test_an_unknown_kind_of_frame_is_refused(tmp_path):
    with pytest.raises(lw.ParameterError, match=r"kind must be one of pandas, polars, .* duckdb, spark, got 'modin'"):
        lw.load(tmp_path / "r.lapwing", kind="modin")


def test_a_saved_release_holds_no_value_of_the_table(tmp_path):
    data = DATA.with_columns(kind=pl.lit("canary-7431"))

    lw.synthesize(data, SCHEMA, epsilon=1, misfits=1).save(tmp_path / "r.lapwing")

    import zipfile

    with zipfile.ZipFile(tmp_path / "r.lapwing") as file:
        assert all(b"canary" not in file.read(name) for name in file.namelist())


def test_the_requested_pair_comes_first_in_the_certificate_of_an_unusual_delta():
    certificate = lw.synthesize(DATA, SCHEMA, epsilon=1, delta=1e-5, mechanism="Independent").certificate

    assert [float(delta) for delta, _ in certificate.epsilons] == [1e-5, 1e-6, 1e-9, 1e-12]
    assert "Cost: epsilon 1 at delta 1e-05 (rho 0.0306) for 3 noisy tables" in certificate.text()


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        ({"epsilon": 10}, []),
        ({"epsilon": 10.5}, ["weak_epsilon"]),
        ({"epsilon": 1, "delta": 1e-3}, []),
        ({"epsilon": 1, "delta": 0.01}, ["weak_delta"]),
        ({"rho": 2}, ["weak_epsilon"]),
        ({"epsilon": 99.5}, ["weak_epsilon"]),
        ({"epsilon": 100}, ["no_epsilon"]),
        ({"epsilon": 10**6}, ["no_epsilon"]),
        ({"epsilon": 1, "delta": 0.5}, ["no_delta"]),
        ({"epsilon": 1, "delta": 0.1}, ["no_delta"]),
    ],
)
def test_a_weak_promise_is_warned_of(budget, says):
    warnings = lw.synthesize(DATA, SCHEMA, **budget).certificate.warnings

    assert [each.code for each in warnings if {"epsilon", "delta"} & {*each.fields}] == says


def test_the_number_of_rows_is_kept_under_replace_one():
    release = lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism="Independent", neighbours="replace-one", misfits=1)

    assert release.model.rows == release.certificate.public_rows == 90
    assert release.noisy[0].noise.parameter == 6


def test_the_root_package_names_what_it_exports():
    assert set(lw.__all__) <= set(dir(lw))
    for name in lw.__all__:
        assert getattr(lw, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonesuch'"):
        lw.nonesuch  # noqa: B018


@pytest.mark.parametrize(("kind", "needed"), [("pandas", "pandas"), ("spark", "pyspark")])
def test_rows_in_frames_of_a_library_that_is_missing_name_it_and_the_way_out(
    kind, needed, release, tmp_path, monkeypatch
):
    release.save(tmp_path / "r.lapwing")
    loaded = lw.load(tmp_path / "r.lapwing", kind=kind)
    for module in [name for name in sys.modules if name.split(".")[0] == needed]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, needed, None)

    with pytest.raises(lw.LapwingError, match=f"need {needed}.*, which is not installed; install it, or load"):
        loaded.sample(3)
