"""Tables: exactly the named tables are measured, and rows meet them."""

import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.linked_homes import SCHEMA as HOMES
from helpers.linked_homes import tables as homes
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.mechanisms.registry import make_mechanism, settings_of
from lapwing.mechanisms.shared.tables import rows as whole
from lapwing.model.sampling.marginals import marginal
from lapwing.rows.source import code_table

SCHEMA = {
    "fields": [
        {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
        {
            "name": "place",
            "type": "string",
            "categories": [f"{region}{district}{town}" for region in "AB" for district in "abc" for town in "123"],
            "hierarchy": {"prefixes": [1, 2]},
        },
        {"name": "income", "type": "number", "constraints": {"minimum": 0, "maximum": 1000}},
    ]
}
NAMED = [
    ["sex", {"columns": ["age", "sex"], "groups": {"age": [18, 65]}}],
    [["sex", "place"], {"columns": ["place", "age"], "groups": {"place": 1, "age": 5}}, ["age"]],
]
ROWS = 3000


def data(seed=0):
    rng = np.random.default_rng(seed)
    places = SCHEMA["fields"][2]["categories"]
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], ROWS),
            "age": rng.integers(0, 99, ROWS),
            "place": rng.choice([*places[:9], None], ROWS),
            "income": rng.uniform(0, 1000, ROWS),
        }
    )


def released(tables, data=data, **settings):
    given = {"epsilon": 2, "delta": "1e-6", "seed": 1, "mechanism": lw.Tables(tables)} | settings
    with pytest.warns(UserWarning, match="named tables"):
        return lw.synthesize(data() if callable(data) else data, SCHEMA, **given)


def noisy(release):
    return [answer for answer in release.noisy if isinstance(answer, NoisyCounts)]


def true_table(frame, answer, schema):
    """Count the rows of a frame as a question does, code by code."""
    chunks = list(code_table(frame, schema).chunks())
    counts = np.zeros(answer.question.shape)
    groups = [
        grouping.apply(np.concatenate([each[name] for each in chunks]))
        for name, grouping in zip(answer.question.columns, answer.question.groupings, strict=True)
    ]
    np.add.at(counts, tuple(groups), 1)
    return counts


def table_of_model(release, answer):
    return marginal(release.model, answer.question.columns, answer.question.groupings)


@pytest.mark.parametrize("tables", NAMED, ids=["one block", "three"])
def test_exactly_the_named_tables_are_measured_and_cost_the_budget(tables):
    release = released(tables)

    asked = [each.question for each in noisy(release)]
    names = [
        (each,) if isinstance(each, str) else tuple(each["columns"] if isinstance(each, dict) else each)
        for each in tables
    ]
    assert [each.columns for each in asked] == names
    spent = sum((answer.question.cost.amount for answer in release.noisy), Fraction(0))
    assert spent == Fraction(24, 25) * release.certificate.total.amount  # the rest counts misfits


@pytest.mark.parametrize("tables", NAMED, ids=["one block", "three"])
def test_rows_have_the_tables_of_the_model_which_are_whole_and_near_the_noisy_ones(tables):
    release = released(tables)
    rows = release.sample()

    assert rows.height == release.model.rows
    for answer in noisy(release):
        model = table_of_model(release, answer)
        assert np.allclose(model, np.rint(model), atol=1e-6)
        assert np.array_equal(true_table(rows, answer, release.schema), np.rint(model))
        off = model - answer.counts
        # The noise that consistency took out, of few cells, and a row or so of rounding.
        assert np.sqrt(np.square(off).mean()) < 4 * answer.noise.sd + 1


def test_with_next_to_no_noise_rows_have_the_true_tables():
    release = released(NAMED[1], epsilon=100_000, delta=None)

    for answer in noisy(release):
        assert np.abs(table_of_model(release, answer) - true_table(data(), answer, release.schema)).max() <= 2


def test_a_table_too_wide_to_list_is_met_by_particles(monkeypatch):
    monkeypatch.setattr(whole, "MOST_CELLS", 1000)

    release = released([["sex", "place"], ["place", "age"], ["age", "sex"]], epsilon=100)

    for answer in noisy(release):
        off = table_of_model(release, answer) - true_table(data(), answer, release.schema)
        assert np.abs(off).sum() / ROWS < 0.05


def test_a_public_number_of_rows_is_met():
    release = released(NAMED[0], neighbours="replace-one")

    assert release.model.rows == ROWS


def test_no_rows_at_all_make_an_empty_release():
    release = released(NAMED[0], data=data().head(0), epsilon=1000)

    assert release.model.rows in range(3)


@pytest.mark.parametrize(
    ("budget", "least", "power"),
    [
        ({"epsilon": 1}, "total", 1 / 3),
        ({"rho": 1}, "total", 1 / 2),
        ({"epsilon": 1}, "largest", 1 / 2),
        ({"rho": 1}, "largest", 1),
    ],
)
def test_the_budget_is_divided_by_the_stated_rule(budget, least, power):
    sizes = {"sex": 3, "place": 19}
    mechanism = lw.Tables(["sex", {"columns": ["place"], "weight": 3}], least=least)
    plan = lw.plan(SCHEMA, expected_rows=ROWS, mechanism=mechanism, **budget)

    amounts = [float(line.cost.amount) for line in plan.lines if line.columns]
    ratio = 3 * sizes["place"] / sizes["sex"] if least == "total" else 3
    assert amounts[-1] / amounts[-2] == pytest.approx(ratio**power, rel=1e-5)


def test_settings_come_back_from_plain_values():
    mechanism = lw.Tables(
        [["sex", "age"], {"columns": ["age"], "groups": {"age": [18, 65]}, "weight": 2}], least="largest"
    )

    plain = settings_of(mechanism)

    assert plain["tables"][1] == {"columns": ["age"], "groups": {"age": [18, 65]}, "weight": 2.0}
    assert make_mechanism("tables", plain) == mechanism


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ("sex", "must be a list"),
        ([7], "a list of columns, or an object"),
        ([{"columns": ["sex"], "cells": 3}], "a list of columns, or an object"),
        ([["sex", "sex"]], "distinct columns"),
        ([{"columns": ["sex"], "groups": {"age": 2}}], "groups of these"),
        ([{"columns": ["age"], "groups": {"age": "decades"}}], "a number, or a list of first values"),
        ([{"columns": ["age"], "weight": 0}], "weight"),
    ],
)
def test_tables_that_cannot_be_are_refused(tables, says):
    with pytest.raises(lw.ParameterError, match=says):
        lw.Tables(tables)


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        (["sexx"], "did you mean sex"),
        ([{"columns": ["place"], "groups": {"place": 3}}], "1 to 2 tiers of its hierarchy"),
        ([{"columns": ["sex"], "groups": {"sex": 1}}], "in no order"),
        ([{"columns": ["age"], "groups": {"age": 101}}], "1 to 100 runs of values"),
        ([{"columns": ["place"], "groups": {"place": ["Aa1"]}}], "has no order"),
        (
            [{"columns": ["age"], "groups": {"age": [10, 30]}}, {"columns": ["age"], "groups": {"age": [20]}}],
            "not nested",
        ),
    ],
)
def test_tables_that_do_not_fit_the_schema_are_refused_before_anything_is_paid(tables, says):
    with pytest.raises(lw.LapwingError, match=says):
        lw.plan(SCHEMA, expected_rows=ROWS, epsilon=1, mechanism=lw.Tables(tables))


@pytest.mark.parametrize("named", NAMED, ids=["one block", "three"])
def test_published_counts_are_those_of_rows_and_add_up_across_tables(named):
    release = released(named)

    frames = lw.tables(release)

    assert {frame["count"].sum() for frame in frames} == {release.model.rows}
    sums = [dict(frame.group_by("age").agg(pl.col("count").sum()).iter_rows()) for frame in frames if "age" in frame]
    assert all(frame["count"].min() >= 0 and (frame["lower"] <= frame["upper"]).all() for frame in frames)
    if len(sums) == 2:  # in five runs of ages, and age by age
        by_age = sums[1]
        assert all(
            sum(count for age, count in by_age.items() if int(low) <= int(age) <= int(high)) == total
            for (low, high), total in ((run.split("-"), total) for run, total in sums[0].items())
        )


def test_small_counts_are_marked_and_none_is_left_out():
    release = released(NAMED[1])

    frames = lw.tables(release, limit=30)

    assert frames[0].height == 2 * 19
    assert all((frame["below_limit"] == (frame["count"] < 30)).all() for frame in frames)
    assert frames[0]["below_limit"].any()


@pytest.mark.parametrize(
    "budget",
    [{"epsilon": 1, "delta": "1e-6"}, {"epsilon": 1, "delta": None}, {"epsilon": 30, "delta": None}],
    ids=["gaussian", "laplace", "little noise"],
)
def test_intervals_hold_the_true_counts_as_often_as_they_say(budget):
    held = []
    for seed in range(15):
        release = released(
            [["sex", "place"], {"columns": ["place"], "groups": {"place": 1}}, "sex"], seed=seed, **budget
        )
        for answer, frame in zip(noisy(release), lw.tables(release), strict=True):
            true = true_table(data(), answer, release.schema)
            true = true[: 2 if answer.question.columns[0] == "sex" else None].ravel()
            lower, upper = (frame[end].to_numpy() for end in ("lower", "upper"))
            held.append((lower <= true) & (true <= upper))

    share = np.concatenate(held).mean()
    # 600 cells, of which those of a release depend on each other.
    assert share >= 0.93


def test_of_linked_tables_each_has_its_own_and_a_column_that_one_lacks_is_refused():
    given = dict(zip(("parent", "child"), homes(60), strict=True))

    with pytest.warns(UserWarning, match="named tables"):
        release = lw.synthesize(given, HOMES, epsilon=20, mechanism=lw.Tables(["kind"]), seed=1)

    assert lw.tables(release.tables["parent"])[0].columns == ["kind", "count", "lower", "upper", "sd"]
    with pytest.raises(lw.SchemaError, match="'age', which is no modelled column"):
        lw.synthesize(given, HOMES, epsilon=20, mechanism=lw.Tables(["age"]))


def test_only_a_release_by_tables_has_them():
    release = lw.synthesize(data(), SCHEMA, epsilon=1, mechanism="Independent")

    with pytest.raises(lw.ParameterError, match="a release by Tables, this one is by Independent"):
        lw.tables(release)


def test_the_command_writes_a_folder_of_tables_rows_model_and_certificate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.json").write_text(json.dumps(NAMED[1]))
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    data().write_csv(tmp_path / "d.csv")
    given = ("tables", "d.csv", "--schema", "s.json", "--tables", "t.json", "--epsilon", 2, "--delta", "1e-6")

    said = lapwing(*given, "--limit", 30, "-o", "out")
    again = lapwing(*given, "-o", "out")

    assert said.status == 0, said.err
    names = ["certificate.json", "model.lapwing", "rows.csv"]
    files = ["table-01-sex-place.csv", "table-02-place-age.csv", "table-03-age.csv"]
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == names + files
    release = lw.load(tmp_path / "out" / "model.lapwing")
    first = pl.read_csv(tmp_path / "out" / files[0])
    assert first["count"].to_list() == lw.tables(release)[0]["count"].to_list()
    assert first.columns == ["sex", "place", "count", "lower", "upper", "sd", "below_limit"]
    assert pl.read_csv(tmp_path / "out" / "rows.csv").height == release.model.rows
    assert again.status == 1  # the folder is there


def test_more_columns_than_an_array_has_axes_are_refused_before_anything_is_paid(tmp_path):
    names = [f"c{place:02}" for place in range(65)]
    schema = {"fields": [{"name": name, "type": "boolean"} for name in names]}
    table = pl.DataFrame({name: [True, False] for name in names})

    with pytest.raises(lw.ParameterError, match="may name 64 different columns, got 65"):
        lw.plan(schema, expected_rows=9, rho=2, mechanism=lw.Tables())
    with pytest.raises(lw.ParameterError, match="may name 64 different columns, got 65"):
        lw.synthesize(table, schema, rho=2, mechanism=lw.Tables(), transcript=tmp_path / "t.jsonl")
    assert not (tmp_path / "t.jsonl").exists()


@pytest.mark.filterwarnings("ignore")
def test_very_many_groups_of_one_column_are_no_work():
    schema = {"fields": [{"name": "w", "type": "integer", "constraints": {"minimum": 0, "maximum": 10**7}}]}
    named = {"columns": ["w"], "groups": {"w": 10**5}}
    mechanism = lw.Tables([named])

    found = lw.synthesize(pl.DataFrame({"w": [1, 2, 3] * 4000}), schema, rho=1, mechanism=mechanism, seed=1)

    assert found.model.rows > 0  # it took minutes, quadratically
    assert (
        "2500 MB"
        in lw.plan(schema, expected_rows=300, rho=1, mechanism=lw.Tables([{**named, "groups": {"w": 10**7}}])).text()
    )


def test_a_limit_is_refused_before_anything_is_paid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data().write_csv("d.csv")
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "t.json").write_text('["sex"]')
    asked = ("tables", "d.csv", "--schema", "s.json", "--tables", "t.json", "--rho", 1, "-o", "out")

    said = lapwing(*asked, "--limit", -1, "--transcript", "t.jsonl")

    assert (said.status, "limit" in said.err) == (1, True)
    assert not (tmp_path / "t.jsonl").exists()


def test_a_column_called_count_names_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("count\n" + "1\n2\n" * 40)
    field = {"name": "count", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}
    (tmp_path / "s.json").write_text(json.dumps({"fields": [field]}))
    (tmp_path / "t.json").write_text('["count"]')

    said = lapwing("tables", "d.csv", "--schema", "s.json", "--tables", "t.json", "--rho", 50, "-o", "out")

    assert said.status == 0, said.err
    assert (tmp_path / "out" / "table-01-count.csv").exists()
