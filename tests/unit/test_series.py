"""A series of releases under one budget, and what moved between two of them."""

import warnings
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.questions.table_distances.question import TableDistances

SCHEMA = lw.Schema.from_dict(
    {
        "fields": [
            {"name": "ward", "type": "string", "categories": list("abcd"), "constraints": {"required": True}},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
            {"name": "ill", "type": "boolean", "constraints": {"required": True}},
        ]
    }
)


def visits(rows, seed, ill=0.3):
    rng = np.random.default_rng(seed)
    ward = rng.integers(0, 4, rows)
    age = np.clip(rng.normal(20 * ward + 15, 8), 0, 99).astype(int)
    return pl.DataFrame({"ward": np.array(list("abcd"))[ward], "age": age, "ill": rng.random(rows) < ill})


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LapwingWarning)
        yield


# -- The series.


def test_parts_sum_to_the_whole_and_each_release_learns_from_those_before():
    years = lw.Series(schema=SCHEMA, releases=3, epsilon=1, delta="1e-9", mechanism="adaptive")
    made = []
    for year in range(3):
        made.append(years.release(visits(2000, year), made, seed=1))

    whole = lw.synthesize(visits(100, 1), SCHEMA, epsilon=1, delta="1e-9").certificate.total
    assert [each.certificate.total.amount for each in made] == [whole.amount / 2, whole.amount / 4, whole.amount / 4]
    assert [sum("the prior" in said for said in each.certificate.assumed) for each in made] == [0, 1, 2]
    with pytest.raises(BudgetError, match="the series has 3 releases, and 3 were made"):
        years.release(visits(2000, 4), made)


def test_a_series_makes_each_release_once_and_learns_from_its_own_alone():
    years = lw.Series(schema=SCHEMA, releases=3, epsilon=1, mechanism="adaptive")
    first = years.release(visits(500, 1))
    second = years.release(visits(500, 2), [first])
    larger = lw.synthesize(visits(500, 1), SCHEMA, epsilon=2, mechanism="adaptive")

    for before, error, said in (
        ([], BudgetError, "release 1 of this series was made already"),
        ([first], BudgetError, "release 2 of this series was made already"),
        ([first, first], ParameterError, "release 2 before is given twice"),
        ([second, first], ParameterError, "release 2 before spent epsilon 0.5"),
        ([larger], ParameterError, "release 1 before spent epsilon 2"),
    ):
        with pytest.raises(error, match=said):
            years.release(visits(500, 3), before)
    third = years.release(visits(500, 3), [first, second])
    assert sum(each.certificate.total.amount for each in (first, second, third)) == 1


def test_events_in_order_are_refused_before_the_first_release_is_paid():
    events = {**SCHEMA.to_dict(), "order": "age"}

    with pytest.raises(lw.SchemaError, match='events in "order", and this takes one table'):
        lw.Series(schema=events, releases=3, epsilon=1)


def test_the_ledger_holds_a_whole_series_and_no_release_more(tmp_path):
    book = tmp_path / "budget.db"
    opened = ("ledger", "init", "visits", "--unit", "pure", "--limit", "1", "--neighbours", "add-remove")
    assert lapwing(*opened, "--privacy-unit", "row", "--ledger", str(book)).status == 0
    years = lw.Series(schema=SCHEMA, releases=2, epsilon=1, ledger=book, dataset="visits")

    first = years.release(visits(500, 1))
    years.release(visits(500, 2), [first])

    assert first.certificate.total.amount == Fraction(1, 2)
    with pytest.raises(BudgetError):
        lw.Series(schema=SCHEMA, releases=2, epsilon=1, ledger=book, dataset="visits").release(visits(500, 3))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"releases": 0}, "must be 1 to 10000"),
        ({"releases": 1.5}, "whole number"),
        ({"first_share": 1}, "first_share"),
        ({"epsilon": -1}, "epsilon"),
    ],
)
def test_what_is_no_series_is_refused(changed, said):
    with pytest.raises(ParameterError, match=said):
        lw.Series(**({"schema": SCHEMA, "releases": 2, "epsilon": 1} | changed))


def test_a_prior_is_for_the_first_release_alone():
    years = lw.Series(schema=SCHEMA, releases=2, epsilon=1)
    first = years.release(visits(500, 1), prior=visits(300, 9))

    assert "the prior (a frame) is public" in first.certificate.assumed[0]
    with pytest.raises(ParameterError, match="prior is for the first release of a series"):
        years.release(visits(500, 2), [first], prior=visits(300, 9))


def test_a_later_release_is_planned_with_as_many_priors_as_it_learns_from():
    years = lw.Series(schema=SCHEMA, releases=5, epsilon=1, mechanism="adaptive")

    planned = [years.plan(expected_rows=2000, number=number) for number in (0, 1, 2, 4)]

    assert [each.total.amount for each in planned] == [Fraction(1, 2), *[Fraction(1, 8)] * 3]
    asked = [sum(line.question == TableDistances.kind for line in each.lines) for each in planned]
    assert asked == [0, 1, 2, 2]
    assert planned[2].to_dict() == planned[3].to_dict()


def test_the_plan_of_a_series_is_its_releases_plans(tmp_path):
    SCHEMA.save(tmp_path / "s.json")
    budget = ("--epsilon", "1", "--delta", "1e-9", "--expected-rows", "2000")

    shown = lapwing("series", "plan", "--schema", tmp_path / "s.json", "--releases", "5", *budget)
    single = lapwing("series", "plan", "--schema", tmp_path / "s.json", "--releases", "1", *budget)

    years = lw.Series(schema=SCHEMA, releases=5, epsilon=1, delta="1e-9")
    table, first, second, others = shown.out.split("\nRelease ")
    texts = [years.plan(expected_rows=2000, number=number).text() for number in range(3)]
    assert [first, second, others] == [
        f"{name}:\n\n{text}" for name, text in zip(("1", "2", "3 to 5"), texts, strict=True)
    ]
    assert table.splitlines()[0].split() == ["release", "cost", "asks", "expected", "error"]
    assert [line.split()[:3] for line in table.splitlines()[1:4]] == [
        ["1", "rho", "0.007487"],
        ["2", "rho", "0.001872"],
        ["3", "to", "5"],
    ]
    assert table.splitlines()[4].startswith("Together ε = 1, δ = 1e-9 (ρ = 0.015), for whoever")
    assert single.out.count("Release ") == 1


def test_a_series_of_a_mechanism_that_learns_from_none_is_refused_in_its_plan(tmp_path):
    SCHEMA.save(tmp_path / "s.json")
    given = ("--schema", tmp_path / "s.json", "--releases", "2", "--epsilon", "1", "--expected-rows", "2000")

    refused = lapwing("series", "plan", *given, "--mechanism", "independent")

    assert refused.code == "LW305"


# -- What moved.


def test_what_moved_is_told_and_what_did_not_is_not():
    before, after = (
        lw.synthesize(visits(4000, seed, ill), SCHEMA, epsilon=2, seed=1) for seed, ill in ((1, 0.3), (2, 0.6))
    )

    found = lw.changes(before, after)

    moved = found.filter(pl.col("moved"))
    assert moved["column"].unique().to_list() == ["ill"]
    (line,) = moved.filter(value="true").to_dicts()
    assert line["lower"] < 0.3 < line["upper"]
    assert line["change"] == pytest.approx(line["after"] - line["before"])


@pytest.mark.parametrize("mechanism", ["Independent", pytest.param("Adaptive", marks=pytest.mark.full)])
def test_intervals_hold_at_once_as_often_as_they_say(mechanism):
    tables = [visits(1500, 1), visits(1500, 2, 0.35)]
    truth = {}
    for column, value in (("ill", True), ("ill", False), *(("ward", each) for each in "abcd")):
        shares = [table.filter(pl.col(column) == value).height / table.height for table in tables]
        truth[column, str(value).lower()] = shares[1] - shares[0]
    misses = 0
    for seed in range(40):
        made = (lw.synthesize(table, SCHEMA, epsilon=1, mechanism=mechanism, seed=seed) for table in tables)
        found = lw.changes(*made, confidence=0.8)
        lines = {(each["column"], each["value"]): each for each in found.to_dicts()}
        misses += any(not lines[key]["lower"] <= change <= lines[key]["upper"] for key, change in truth.items())

    assert misses <= 16  # a fifth of them or fewer: a chance of 1e-3 to be exceeded, and of .997 at four fifths


def test_columns_that_are_described_otherwise_are_left_out_or_refused():
    other = SCHEMA | {"age": {"maximum": 120}}
    before = lw.synthesize(visits(300, 1), SCHEMA, epsilon=1)
    after = lw.synthesize(visits(300, 2), other, epsilon=1)

    assert lw.changes(before, after)["column"].unique(maintain_order=True).to_list() == ["ward", "ill"]
    with pytest.raises(ParameterError, match="age is none"):
        lw.changes(before, after, ["age"])


def test_the_commands_make_a_series_and_show_what_moved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("schema.json")
    for year, ill in ((1, 0.2), (2, 0.8)):
        visits(2000, year, ill).write_csv(f"y{year}.csv")
    same = ("--schema", "schema.json", "--releases", "2", "--epsilon", "4")

    one, two = ("--before", "y1.lapwing"), ("--before", "y2.lapwing")
    first = lapwing("series", "next", "y1.csv", *same, "--model", "y1.lapwing", "-o", "s1.csv")
    files = ("--model", "y2.lapwing", "-o", "s2.csv", "--details")
    second = lapwing("series", "next", "y2.csv", *same, *one, *files)
    shown = lapwing("series", "changes", "y1.lapwing", "y2.lapwing", "--column", "ill")
    third = lapwing("series", "next", "y2.csv", *same, *one, *two, "-o", "s3.csv")

    assert (first.status, second.status, third.status) == (0, 0, 1), (first.err, second.err)
    assert "the prior y1.lapwing is a release at ε = 2" in second.err
    assert "2 of 2 shares moved beyond the noise of both releases" in shown.out
    assert "the series has 2 releases, and 2 were made" in third.err
