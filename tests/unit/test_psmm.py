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


def test_columns_of_few_values_leave_their_share_to_the_others():
    few = {"name": "few", "type": "integer", "constraints": {"minimum": 0, "maximum": 3, "required": True}}
    many = {"name": "many", "type": "integer", "constraints": {"minimum": 0, "maximum": 999, "required": True}}

    cells = box_cells(Schema.from_dict({"fields": [few, many]}), 400, 1000)

    assert cells.shape == (4, 100)
    assert cells.diameter == pytest.approx(9 / 999)


def test_two_values_categories_missing_and_special_values_are_layers():
    flag = {"name": "flag", "type": "boolean", "constraints": {"required": True}}

    cells = box_cells(Schema.from_dict({"fields": [SIZE, KIND, flag]}), 1000, 1000)

    assert cells.axes == (0,)
    assert cells.shape == (9, 3, 2)
    assert [grouping.groups for grouping in cells.groupings] == [9, 4, 3]
    assert cells.steps().tails.size == 6 * 3 * 2


def test_one_cell_for_each_combination_is_counted_even_where_fewer_are_asked_for():
    _, (answer,) = run(PSMM(cells=1), ROWS, MIXED)

    assert answer.question.shape == (3, 4)


@pytest.mark.parametrize(("epsilon", "cells"), [("0.01", 4), ("0.1", 16), (1, 128), (10, 2048)])
def test_more_budget_gives_more_cells(epsilon, cells):
    data = frame_of(np.full((5, 1), 0.5))

    _, (answer,) = run(PSMM(), data, unit_columns(1), budget=Budget.pure(epsilon), expected_rows=1000)

    assert answer.question.shape == (cells + 1,)


def test_the_cells_do_not_depend_on_the_rows():
    shapes = set()
    for data in (ROWS, NOTHING, ROWS.head(1)):
        _, (answer,) = run(PSMM(), data, MIXED, expected_rows=300)
        shapes.add(answer.question.shape)

    assert len(shapes) == 1


# ------------------------------------------------------------------------------------------------------------ models


def test_rows_with_a_misfit_are_not_stood_for():
    odd = pl.DataFrame({"size": ["0"] * 600, "kind": ["zzz"] * 600})

    model, _ = run(PSMM(cells=50), pl.concat([ROWS, odd]), MIXED, bits=ZeroNoiseBits())

    assert model.rows == 300
    assert marginal(model, ["kind"], [identity(MIXED.field("kind").domain)])[3] == 0


@pytest.mark.parametrize("variant", ["default", "paper"])
@pytest.mark.parametrize("data", [ROWS, NOTHING, ROWS.head(1)], ids=["300 rows", "no row", "one row"])
def test_the_model_stands_for_the_public_number_of_rows(variant, data):
    model, _ = run(PSMM(cells=40, variant=variant), data, MIXED, relation="replace-one", bits=SeededBits(3))

    assert model.rows == data.height


def test_the_model_stands_for_the_sum_of_the_noisy_counts():
    model, (answer,) = run(PSMM(cells=40), ROWS, MIXED, bits=SeededBits(3))

    inside = answer.counts[:, :3].sum()
    assert model.rows == inside != 300
    assert model.weights.sum() == inside
    assert (model.weights > 0).all()


def test_whole_counts_that_nothing_must_be_added_to_stay_whole():
    points = np.random.default_rng(2).random((2000, 2))

    model, _ = run(PSMM(cells=400), frame_of(points), unit_columns(2), bits=SeededBits(1))

    assert (model.weights == np.rint(model.weights)).all()


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("is_required", [True, False])
def test_the_linear_program_sums_to_the_public_number(columns, is_required):
    data = frame_of(np.random.default_rng(1).random((500, columns)))
    schema = unit_columns(columns) if is_required else optional_column(columns)

    public, _ = run(PSMM(cells=64, variant="paper"), data, schema, relation="replace-one", bits=SeededBits(2))
    rescaled, _ = run(PSMM(cells=64), data, schema, relation="replace-one", bits=SeededBits(2))

    assert public.weights.sum() == pytest.approx(500)
    assert rescaled.weights.sum() != pytest.approx(500)
    assert public.rows == rescaled.rows == 500


def test_the_linear_program_leaves_out_misfits_that_noise_does_not_explain():
    points = frame_of(np.random.default_rng(1).random((500, 1)))
    odd = pl.DataFrame({"x0": pl.Series([None] * 300, dtype=pl.Float64)})

    model, _ = run(
        PSMM(cells=64, variant="paper"),
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
    settings = {"epsilon": 1, "mechanism": PSMM(cells=40, variant="paper")}

    with pytest.raises(ParameterError, match="neighbours='replace-one', or variant='default'"):
        lw.synthesize(data, MIXED, ledger=ledger, dataset="d", **settings)
    with pytest.raises(ParameterError, match="neighbours='replace-one', or variant='default'"):
        lw.plan(MIXED, expected_rows=300, **settings)

    assert Ledger.open(ledger).balance("d").spent == 0


def test_what_the_linear_program_adds_does_not_end_up_in_one_cell():
    data, schema = frame_of(np.random.default_rng(1).random((4000, 1))), optional_column()
    largest = []
    for seed in range(8):
        model, _ = run(PSMM(cells=40, variant="paper"), data, schema, relation="replace-one", bits=SeededBits(seed))
        largest.append(model.weights.max())

    # A hundred rows in each cell; noise of standard deviation 2.8 in a cell and 18 in the sum.
    assert max(largest) < 150


def test_a_noisy_sum_of_nothing_gives_the_uniform_model_and_says_so():
    mechanism, rng = PSMM(cells=40), np.random.default_rng(1)
    for seed in range(60):
        model, answers = run(mechanism, NOTHING, MIXED, bits=SeededBits(seed))
        if model.rows == 0:
            break

    (stated, _) = mechanism.statements(MIXED, NoRows.terms, answers, model, rng)

    assert model.rows == 0
    assert model.atoms == 1
    assert (int(model.laws["size"].laws.stops[0]), int(model.laws["kind"].laws.stops[0])) == (7, 3)
    assert "The noisy counts sum to 0 or less: the model is uniform" in stated.text
    assert stated.value == 1.0


def test_the_centre_of_a_cell_is_one_code():
    model, _ = run(
        PSMM(cells=4, placement="centre"), frame_of(np.array([[0.1], [0.9]])), unit_columns(1), bits=ZeroNoiseBits()
    )

    laws = model.laws["x0"].laws
    assert laws.starts.tolist() == [2**29, 3 * 2**29, 5 * 2**29, 7 * 2**29]
    assert (laws.stops - laws.starts == 1).all()


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-6", 10**6])
def test_any_budget_gives_a_model(epsilon):
    for data, schema in ((ROWS, MIXED), (frame_of(np.full((9, 2), 0.5)), unit_columns(2))):
        for seed in range(3):
            model, _ = run(
                PSMM(cells=900, variant="paper"),
                data,
                schema,
                budget=Budget.pure(epsilon),
                relation="replace-one",
                bits=SeededBits(seed),
            )
            model.validate(schema)


# --------------------------------------------------------------------------------------------- statements and plans


def test_a_release_states_a_distance_and_the_largest_cell():
    data = frame_of(np.random.default_rng(1).random((3000, 2)))

    release = lw.synthesize(data, unit_columns(2), epsilon=1, mechanism="psmm", seed=1)

    stated = {statement.code: statement for statement in release.certificate.accuracy}
    assert "With 95 % probability" in stated["distance"].text
    assert stated["largest_cell"].value < stated["distance"].value < 0.3


def test_a_release_of_uneven_sides_says_in_which_distance_its_measure_is_nearest():
    few = {"name": "few", "type": "integer", "constraints": {"minimum": 0, "maximum": 3, "required": True}}
    many = {"name": "many", "type": "integer", "constraints": {"minimum": 0, "maximum": 999, "required": True}}
    data = pl.DataFrame({"few": [1, 2] * 500, "many": [3, 900] * 500})

    release = lw.synthesize(data, {"fields": [few, many]}, epsilon=1, mechanism="psmm", seed=1)

    (largest,) = (each for each in release.certificate.accuracy if each.code == "largest_cell_in_steps")
    assert "nearest in a distance of steps between cells" in largest.text


SOLVED = [("default", "add-remove"), ("default", "replace-one"), ("paper", "replace-one")]


@pytest.mark.parametrize(("variant", "relation"), SOLVED)
def test_a_plan_asks_what_the_release_asks(relation, variant):
    data, mechanism = frame_of(np.full((900, 1), 0.1)), PSMM(variant=variant)
    rows = 900 if relation == "replace-one" else None

    planned = mechanism.plan(
        optional_column(),
        Budget.pure(1),
        Terms(relation=relation, rows=rows, expected_rows=900),
        np.random.default_rng(1),
    )

    _, (answer,) = run(mechanism, data, optional_column(), relation=relation, expected_rows=900)
    (question,) = planned.questions
    assert question.to_dict() == answer.question.to_dict()
    assert [statement.code for statement in planned.accuracy] == [
        "expected_simulated_distance",
        "theorem_3_6",
        "largest_cell",
    ]
    is_exact = (variant, relation) == ("paper", "replace-one")
    assert f"with the factor {2 if is_exact else 3}" in planned.accuracy[1].text


def test_less_error_is_expected_of_more_rows():
    few, many = (lw.plan(unit_columns(2), expected_rows=rows, epsilon=1, mechanism="PSMM") for rows in (10**3, 10**5))

    assert many.accuracy[0].value < few.accuracy[0].value / 3


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


def test_a_placement_in_the_centre_states_more():
    schema = unit_columns(1)
    model, answers = run(PSMM(cells=8), frame_of(np.full((900, 1), 0.3)), schema)

    stated = [
        PSMM(cells=8, placement=placement)
        .statements(schema, Terms(relation="add-remove"), answers, model, np.random.default_rng(1))[0]
        .value
        for placement in ("uniform", "centre")
    ]

    assert stated[1] == pytest.approx(stated[0] + 1 / 16)
