"""Grid: what it asks, what its settings refuse, and what its releases keep."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.pmm_runs import frame_of, run, unit_columns
from lapwing.errors import CapacityError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, default_threshold, default_width
from lapwing.schema.schemas import Schema

SIZE = {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 6}, "special": [99]}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}}
MIXED = Schema.from_dict({"fields": [SIZE, KIND]})
ROWS = pl.DataFrame({"size": ["0", "6", "6", "99", None, "3"] * 50, "kind": ["a", "b", "c", "c", "a", "b"] * 50})
SOLE = Schema.from_dict({"fields": [{**KIND, "categories": ["a"]}]})
FLAG = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]})
EXACT = Budget.pure(10**6)


def filtered(**settings):
    """Return settings under which small noisy counts are left out."""
    return Grid(variant="paper", placement="uniform", **settings)


def kinds(answers):
    return [answer.question.kind for answer in answers]


@pytest.mark.parametrize("budget", [Budget.pure(1), Budget.zcdp("0.5")], ids=str)
def test_a_number_of_rows_is_bought_only_where_a_setting_needs_one_that_nobody_gives(budget):
    bought = [run(filtered(**each), ROWS, MIXED, budget=budget)[1] for each in ({}, {"width": 0.5}, {"threshold": 9})]
    known = [
        run(Grid(), ROWS, MIXED, budget=budget, expected_rows=300)[1],
        run(Grid(), ROWS, MIXED, budget=budget, relation="replace-one")[1],
        run(filtered(width=0.5, threshold=9), ROWS, MIXED, budget=budget)[1],
        run(Grid(width=0.5), ROWS, MIXED, budget=budget)[1],
    ]

    for answers in bought:
        assert kinds(answers) == ["MarginalCounts", "SparseCounts"]
        assert answers[0].question.cost.amount == budget.amount / 50
    for answers in known:
        assert kinds(answers) == ["SparseCounts"]
    for answers in bought + known:
        spent = sum(answer.question.cost.amount for answer in answers)
        assert budget.amount * Fraction(99999, 100000) < spent <= budget.amount


@pytest.mark.parametrize(
    ("max_rows", "relation", "scale"),
    [(1, "add-remove", 2), (3, "add-remove", 6), (1, "replace-one", 4), (3, "replace-one", 12)],
)
def test_noise_covers_all_rows_of_a_unit(max_rows, relation, scale):
    terms = Terms(relation=relation, max_rows=max_rows, expected_rows=90)

    planned = filtered(width=0.5, threshold=2).plan(MIXED, Budget.pure("0.5"), terms, np.random.default_rng(1))

    assert planned.questions[0].noise(relation, max_rows) == NoiseLaw("laplace", Fraction(scale))
    assert [each.code for each in planned.accuracy] == ["expected_elsewhere", "cells_of_kept_grid"]


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("per_noise", [0.1, 20, 1e3, 1e5, 1e9])
def test_the_default_width_is_where_noise_and_rounding_are_equal(columns, per_noise):
    width = default_width(columns, per_noise)

    cells = width**-columns
    assert math.log2(width).is_integer()
    assert width <= 1
    assert cells <= 2**18
    if 1 < cells < 2 ** (18 - columns) and width > 2**-16:
        noise = math.sqrt(cells / 2) / per_noise
        assert 2 ** -(1 + columns / 2) <= noise / (0.4 * width) <= 2 ** (1 + columns / 2)


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(1), Fraction(20), Fraction(300)])
@pytest.mark.parametrize(("cells", "rows"), [(4, 1000), (10**6, 1000), (2**400, 10**6), (16, 1)])
def test_the_default_threshold_is_the_least_with_which_empty_cells_bring_one_percent(scale, cells, rows):
    found = default_threshold(NoiseLaw("laplace", scale), cells, float(rows))

    assert brought(scale, cells, found) <= 0.01 * rows * (1 + 1e-9)
    assert found == 1 or brought(scale, cells, found - 1) > 0.01 * rows * (1 - 1e-9)


def brought(scale, cells, threshold):
    """Return the expected rows of all empty cells: P[Z >= t] times the mean of Z from t on, summed term by term."""
    q, total = math.exp(-1 / scale), 0.0
    first = math.exp(math.log(cells) - threshold / scale) * (1 - q) / (1 + q)
    for step in range(math.ceil(60 * scale) + 2):
        total += (threshold + step) * first * math.exp(-step / scale)
    return total


# ------------------------------------------------------------------------------------------------------------ models


def test_duplicates_stay_in_their_one_cell():
    data = frame_of(np.full((500, 2), 0.3))

    model, _ = run(filtered(width=0.25, threshold=100), data, unit_columns(2), budget=EXACT)

    assert (model.atoms, model.rows, model.weights.tolist()) == (1, 500, [500])
    assert (int(model.laws["x1"].starts[0]), int(model.laws["x1"].stops[0])) == (2**30, 2**31)


def test_a_required_flag_is_two_cells():
    data = pl.DataFrame({"flag": [True] * 30 + [False] * 12})

    model, (answer,) = run(filtered(width=0.5, threshold=1), data, FLAG, budget=EXACT)

    assert answer.question.tree.cells == 2
    assert sorted(model.weights.tolist()) == [12, 30]


def test_one_category_alone_is_one_cell():
    model, (answer,) = run(filtered(width=0.5, threshold=1), pl.DataFrame({"kind": ["a"] * 9}), SOLE, budget=EXACT)

    assert (answer.question.tree.depth, answer.question.tree.cells) == (0, 1)
    assert (model.atoms, model.rows) == (1, 9)


# ---------------------------------------------------------------------------------------------- capacity, plan, files


def test_a_huge_grid_with_a_small_threshold_is_refused_before_any_cell_is_counted(tmp_path):
    ledger, path = tmp_path / "budget.db", tmp_path / "t.jsonl"
    Ledger.create_or_open(ledger).init("d", unit="pure", limit=2, relation="add-remove", privacy_unit="row")
    data = frame_of(np.random.default_rng(1).random((20, 6)))

    with pytest.raises(CapacityError, match=r"of 2\*\*60.0 cells about 2\*\*.* would be released with the threshold 3"):
        lw.synthesize(
            data,
            unit_columns(6),
            epsilon=1,
            mechanism=filtered(width=2**-10, threshold=3),
            ledger=ledger,
            dataset="d",
            transcript=path,
        )

    assert Ledger.open(ledger).balance("d").spent == 0  # public numbers refuse it, before the debit
    assert not path.exists() or len(path.read_text().splitlines()) == 1  # the header alone


def test_few_kept_rows_are_a_warning_and_a_share_in_the_certificate():
    data = frame_of(np.random.default_rng(1).random((400, 6)))

    release = lw.synthesize(data, unit_columns(6), epsilon=1, mechanism=filtered(width=2**-6), seed=1)

    (share,) = [each.value for each in release.certificate.accuracy if each.code == "share_kept"]
    assert share < 0.5
    assert any("the cells that were kept hold" in str(warning) for warning in release.certificate.warnings)


def test_a_filtered_table_has_no_deviation_of_its_sum_and_says_that_it_is_biased():
    data = frame_of(np.random.default_rng(1).random((50, 2)))

    release = lw.synthesize(data, unit_columns(2), epsilon=1, mechanism=filtered(width=2**-10, threshold=1))

    listed = release.answers
    assert listed.height == 1
    assert listed["noise_sd"].to_list() == [None]
    assert any("too large on average" in each.text for each in release.certificate.accuracy)


def test_answers_list_each_counted_cell_with_its_labels():
    data = frame_of(np.random.default_rng(1).beta(2, 5, (600, 2)))

    release = lw.synthesize(data, unit_columns(2), epsilon=2, mechanism=Grid(), seed=1)

    (noisy,) = [answer for answer in release.noisy if answer.question.kind == "SparseCounts"]
    frame = release.answers.filter(pl.col("columns") != "")
    assert frame["noisy_count"].to_list() == noisy.counts.tolist()
    assert frame["cell"].str.count_matches(r" \| ", literal=False).unique().to_list() == [1]


def test_a_plan_refuses_what_the_release_would_refuse():
    for mechanism, message in (
        (filtered(width=2**-10, threshold=3), "raise it or use wider cells"),
        (Grid(width=2**-10), "use variant='paper' or longer edges"),
    ):
        with pytest.raises(CapacityError, match=message):
            lw.plan(unit_columns(6), expected_rows=1000, epsilon=1, mechanism=mechanism)


def test_a_huge_grid_with_its_default_threshold_is_no_trouble():
    points = np.random.default_rng(1).normal(0.5, 1e-4, (2000, 6))

    model, _ = run(filtered(width=2**-6), frame_of(points), unit_columns(6), expected_rows=2000)

    assert model.atoms < 200
    assert model.rows > 500


@pytest.mark.parametrize("variant", ["default", "paper"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_plan_asks_what_the_release_asks(variant, relation):
    rows = 300 if relation == "replace-one" else None
    for settings in ({}, {"width": 0.3}, {"threshold": 5}):
        mechanism = Grid(variant=variant, **settings)
        terms = Terms(relation=relation, rows=rows, expected_rows=300)

        planned = mechanism.plan(MIXED, Budget.pure(1), terms, np.random.default_rng(1))

        _, answers = run(mechanism, ROWS, MIXED, relation=relation, expected_rows=300)
        assert [each.to_dict() for each in planned.questions] == [each.question.to_dict() for each in answers]


def test_the_planned_error_bounds_the_mean_total_variation_of_the_cells():
    rng, schema, mechanism = np.random.default_rng(4), unit_columns(1), filtered(width=1 / 16)
    points = rng.beta(2, 5, (4000, 1))
    terms = Terms(relation="add-remove", expected_rows=4000)
    stated, _ = mechanism.plan(schema, Budget.pure("0.5"), terms, rng).accuracy
    real = np.histogram(points[:, 0], bins=16, range=(0, 1))[0] / 4000

    found = []
    for _ in range(20):
        model, _ = run(mechanism, frame_of(points), schema, budget=Budget.pure("0.5"), expected_rows=4000)
        kept = np.zeros(16)
        kept[model.laws["x0"].starts.astype(np.int64) >> 28] = model.weights / model.weights.sum()
        found.append(np.abs(kept - real).sum() / 2)

    assert 0 < np.mean(found) < stated.value < 0.3
