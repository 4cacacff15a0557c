"""PSMM: what it asks, which cells it counts, and what its model stands for."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.pmm_runs import frame_of, run, unit_columns
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import accuracy_statements
from lapwing.mechanisms.trees.psmm.accuracy import counted_cells, released_statements
from lapwing.mechanisms.trees.psmm.box_cells import box_cells
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

SIZE = {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 6}, "special": [99]}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}}
MIXED = Schema.from_dict({"fields": [SIZE, KIND]})
ROWS = pl.DataFrame({"size": ["0", "6", "6", "99", None, "3"] * 50, "kind": ["a", "b", "c", "c", "a", "b"] * 50})
NOTHING = ROWS.clear()


class NoRows:
    """A curator who may not be asked."""

    terms = Terms(relation="add-remove")


def optional_column(columns=1):
    """Return a schema of numbers from 0 to 1 that may be missing, so that no row can be a misfit."""
    number = {"type": "number", "constraints": {"minimum": 0, "maximum": 1}, "special": [7]}
    return Schema.from_dict({"fields": [{"name": f"x{place}", **number} for place in range(columns)]})


# -------------------------------------------------------------------------------------------------------- settings


def test_more_than_three_ordered_columns_are_refused_before_anything_is_asked():
    with pytest.raises(ParameterError, match=r"at most 3 ordered columns, got 4 \(x0, x1, x2, x3\); leave columns out"):
        PSMM().run(NoRows(), unit_columns(4), Budget.pure(1), np.random.default_rng(1))


def test_too_many_combinations_of_categories_are_refused_before_anything_is_asked():
    kinds = [{"name": f"k{i}", "type": "string", "categories": list("abcdefghi")} for i in range(3)]
    schema = Schema.from_dict({"fields": kinds})

    with pytest.raises(CapacityError, match=r"here 1000, above 999; leave columns out, or use Adaptive"):
        PSMM(max_cells=999).run(NoRows(), schema, Budget.pure(1), np.random.default_rng(1))

    model, _ = run(PSMM(max_cells=1000), pl.DataFrame({"k0": ["a"], "k1": ["b"], "k2": ["c"]}), schema)
    assert model.atoms <= 1000


def test_a_counted_table_far_larger_than_its_cells_is_refused():
    flags = [{"name": f"f{i}", "type": "boolean", "constraints": {"required": True}} for i in range(16)]

    with pytest.raises(CapacityError, match="a cell for each combination"):
        box_cells(Schema.from_dict({"fields": flags}), 1, 65_536)


# ----------------------------------------------------------------------------------------------- questions and cells


@pytest.mark.parametrize("budget", [Budget.pure(1), Budget.zcdp("0.5")], ids=str)
def test_a_number_of_rows_is_bought_only_where_it_is_needed_and_nobody_gives_one(budget):
    _, bought = run(PSMM(), ROWS, MIXED, budget=budget)
    others = [
        run(PSMM(), ROWS, MIXED, budget=budget, expected_rows=300)[1],
        run(PSMM(), ROWS, MIXED, budget=budget, relation="replace-one")[1],
        run(PSMM(cells=20), ROWS, MIXED, budget=budget)[1],
    ]

    assert [answer.question.columns for answer in bought] == [(), ("size", "kind")]
    assert bought[0].question.cost.amount + bought[1].question.cost.amount == budget.amount
    for answers in others:
        assert [answer.question.columns for answer in answers] == [("size", "kind")]
        assert answers[0].question.cost == budget


@pytest.mark.parametrize(
    ("columns", "wanted", "shape"),
    [(1, 1, (1,)), (1, 1000, (1000,)), (2, 99, (9, 9)), (2, 100, (10, 10)), (3, 999, (9, 9, 9))],
)
def test_a_box_is_cut_into_equal_runs_of_each_column(columns, wanted, shape):
    cells = box_cells(unit_columns(columns), wanted, 2**20)

    assert cells.shape == shape
    assert cells.diameter == pytest.approx(1 / shape[0])
    assert cells.is_exact
    assert all((sides == 1).all() and sides.size == shape[0] - 1 for sides in cells.sides)


def test_two_values_categories_missing_and_special_values_are_layers():
    flag = {"name": "flag", "type": "boolean", "constraints": {"required": True}}

    cells = box_cells(Schema.from_dict({"fields": [SIZE, KIND, flag]}), 1000, 1000)

    assert cells.axes == (0,)
    assert cells.shape == (9, 3, 2)
    assert [grouping.groups for grouping in cells.groupings] == [9, 4, 3]
    assert cells.steps().tails.size == 6 * 3 * 2


# ------------------------------------------------------------------------------------------------------------ models


def test_rows_with_a_misfit_are_not_stood_for():
    odd = pl.DataFrame({"size": ["0"] * 600, "kind": ["zzz"] * 600})

    model, _ = run(PSMM(cells=50), pl.concat([ROWS, odd]), MIXED, bits=ZeroNoiseBits())

    assert model.rows == 300
    assert marginal(model, ["kind"], [identity(MIXED.field("kind").domain)])[3] == 0


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("is_required", [True, False])
def test_the_linear_program_sums_to_the_public_number(columns, is_required):
    data = frame_of(np.random.default_rng(1).random((500, columns)))
    schema = unit_columns(columns) if is_required else optional_column(columns)

    public, _ = run(PSMM(cells=64, surplus="lp"), data, schema, relation="replace-one", bits=SeededBits(2))
    rescaled, _ = run(PSMM(cells=64), data, schema, relation="replace-one", bits=SeededBits(2))

    assert public.weights.sum() == pytest.approx(500)
    assert rescaled.weights.sum() != pytest.approx(500)
    assert public.rows == rescaled.rows == 500


def test_the_linear_program_leaves_out_misfits_that_noise_does_not_explain():
    points = frame_of(np.random.default_rng(1).random((500, 1)))
    odd = pl.DataFrame({"x0": pl.Series([None] * 300, dtype=pl.Float64)})

    model, _ = run(
        PSMM(cells=64, surplus="lp"),
        pl.concat([points, odd]),
        unit_columns(1),
        relation="replace-one",
        bits=SeededBits(2),
    )

    assert model.weights.sum() == pytest.approx(500, abs=12)  # noise of standard deviation 2.8 on the misfits
    assert model.rows == 800


@pytest.mark.parametrize("data", [ROWS, NOTHING], ids=["rows", "no row"])
def test_the_linear_program_is_refused_without_a_public_number(data, tmp_path):
    ledger = tmp_path / "spent.ledger"
    Ledger.create_or_open(ledger).init("d", unit="pure", limit=2, relation="add-remove", privacy_unit="row")
    settings = {"epsilon": 1, "mechanism": PSMM(cells=40, surplus="lp")}

    with pytest.raises(ParameterError, match="neighbours='replace-one', or surplus='rescale'"):
        lw.synthesize(data, MIXED, ledger=ledger, dataset="d", **settings)
    with pytest.raises(ParameterError, match="neighbours='replace-one', or surplus='rescale'"):
        lw.plan(MIXED, expected_rows=300, **settings)

    assert Ledger.open(ledger).balance("d").spent == 0


def test_a_noisy_sum_of_nothing_gives_the_uniform_model_and_says_so():
    mechanism, rng = PSMM(cells=40), np.random.default_rng(1)
    for seed in range(60):
        model, answers = run(mechanism, NOTHING, MIXED, bits=SeededBits(seed))
        if model.rows == 0:
            break

    (stated, _) = accuracy_statements(mechanism, MIXED, NoRows.terms, answers, model, rng=rng)

    assert model.rows == 0
    assert model.atoms == 1
    assert (int(model.laws["size"].laws.stops[0]), int(model.laws["kind"].laws.stops[0])) == (7, 3)
    assert "the noisy counts sum to 0 or less: the model is uniform" in stated.text
    assert stated.value == 1.0


# --------------------------------------------------------------------------------------------- statements and plans


@pytest.mark.parametrize("scale", [10, 60])
def test_the_stated_distance_counts_what_was_moved_and_what_the_noise_may_hide(scale):
    kinds = {"name": "kind", "type": "string", "categories": ["a", "b"]}
    schema = Schema.from_dict({"fields": [kinds]})
    cells, noise = box_cells(schema, 3, 3), NoiseLaw("laplace", Fraction(scale))
    counted = counted_cells(schema, cells, noise, np.array([4000, -90, 0]), None)

    (distance, _) = released_statements(
        cells, counted, np.array([3910.0, 0.0, 0.0]), "uniform", np.random.default_rng(1)
    )

    # 90 were moved, and three noises of this scale move more than twice, and less than ten times it.
    assert 90 + 2 * scale < distance.value * 3910 < 90 + 10 * scale
