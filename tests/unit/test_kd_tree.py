"""KDTree: what it asks, what its settings refuse, and what its releases keep."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.pmm_runs import frame_of, run, unit_columns
from lapwing.errors import CapacityError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, log_tail
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.trees.kd_tree.mechanism import KDTree
from lapwing.schema.schemas import Schema

SIZE = {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 6}, "special": [99]}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}}
MIXED = Schema.from_dict({"fields": [SIZE, KIND]})
ROWS = pl.DataFrame({"size": ["0", "6", "6", "99", None, "3"] * 50, "kind": ["a", "b", "c", "c", "a", "b"] * 50})
ADD_REMOVE = Terms(relation="add-remove", expected_rows=300)


def kinds(answers):
    return [answer.question.kind for answer in answers]


def planned(mechanism, schema=MIXED, budget=None, terms=ADD_REMOVE):
    return mechanism.plan(schema, budget or Budget.pure(1), terms, np.random.default_rng(1)).questions


@pytest.mark.parametrize("budget", [Budget.pure(1), Budget.zcdp("0.5")], ids=str)
def test_a_number_of_rows_is_bought_only_where_a_setting_needs_one_that_nobody_gives(budget):
    bought = [
        run(mechanism, ROWS, MIXED, budget=budget)[1]
        for mechanism in (KDTree(), KDTree(variant="paper", coarse=1.0, fine=0.2))
    ]
    known = [
        run(KDTree(), ROWS, MIXED, budget=budget, expected_rows=300)[1],
        run(KDTree(), ROWS, MIXED, budget=budget, relation="replace-one")[1],
        run(KDTree(coarse=1.0), ROWS, MIXED, budget=budget)[1],
        run(KDTree(coarse=0.5, tau=9, variant="paper"), ROWS, MIXED, budget=budget)[1],
    ]

    for answers in bought:
        assert kinds(answers) == ["MarginalCounts", "SplitDecisions", "SparseCounts"]
        assert answers[0].question.cost.amount == budget.amount / 50
    for answers in known:
        assert kinds(answers) == ["SplitDecisions", "SparseCounts"]
    for answers in bought + known:
        spent = sum(answer.question.cost.amount for answer in answers)
        assert budget.amount * Fraction(99999, 100000) < spent <= budget.amount


@pytest.mark.parametrize(
    ("max_rows", "relation", "touched"), [(1, "add-remove", 1), (3, "add-remove", 3), (3, "replace-one", 6)]
)
@pytest.mark.parametrize("variant", ["paper", "default"])
def test_noise_covers_all_rows_of_a_unit_on_every_level(max_rows, relation, touched, variant):
    terms = Terms(relation=relation, max_rows=max_rows, expected_rows=90)
    mechanism = KDTree(variant=variant, coarse=0.5, fine=2**-4, split_share=0.5)

    decisions, counts = planned(mechanism, unit_columns(2), Budget.pure(1), terms)

    levels = 2 * math.log2(0.5 / 2**-4) if variant == "paper" else 3
    assert decisions.noise(relation, max_rows) == NoiseLaw("laplace", Fraction(2 * touched) * int(levels))
    assert counts.noise(relation, max_rows) == NoiseLaw("laplace", Fraction(2 * touched))


def test_the_default_tau_is_the_scale_of_the_decisions_noise():
    (decisions, _) = planned(KDTree(coarse=1.0, fine=0.01), unit_columns(2), Budget.pure("0.7"))

    assert decisions.threshold == math.floor(decisions.noise("add-remove", 1).parameter)


def test_the_papers_30_free_and_60_levels_run_and_noise_alone_splits_and_keeps_hardly_a_cell():
    mechanism = KDTree(variant="paper", coarse=1 / 2, fine=1 / 4)
    points, schema = np.full((5000, 30), 0.3), unit_columns(30)

    (decisions, counts) = planned(mechanism, schema, terms=Terms(relation="add-remove", expected_rows=5000))
    model, (decided, kept) = run(mechanism, frame_of(points), schema, bits=SeededBits(1), expected_rows=5000)

    assert (counts.tree.first, counts.tree.depth, counts.tree.cells) == (30, 60, 2**30)
    for question, threshold, least, most in (
        (decisions, decisions.threshold + 1, 0, 1e-6),
        (counts, counts.threshold, 0.2, 1),
    ):
        tail = math.exp(log_tail(question.noise("add-remove", 1).parameter, threshold))
        assert least < 2**30 * tail < most
        assert 2**30 * tail * math.exp(35) > 2**22  # the usual thresholds would fill memory
    assert len(decided.tree.split_cells) <= 3
    assert len(kept.counts) <= 3
    assert kept.counts.max() == pytest.approx(5000, abs=50)
    assert model.rows < 5300


@pytest.mark.parametrize(("relation", "touched"), [("add-remove", 1), ("replace-one", 2)])
def test_lemma_10_is_the_papers_formula(relation, touched):
    rows = 1000 if relation == "replace-one" else None
    terms = Terms(relation=relation, rows=rows, expected_rows=1000)
    mechanism = KDTree(variant="paper", coarse=0.25, fine=1 / 32, split_share=0.5)

    (decisions, _) = planned(mechanism, unit_columns(2), Budget.pure(2), terms)

    h, deeper = 4, 6
    assert decisions.threshold == math.floor(touched * deeper * math.log((2**h + 1000 * deeper) / 1e-6))


def test_with_lemma_10_no_empty_cell_is_split():
    mechanism = KDTree(variant="paper", coarse=0.125, fine=1 / 32)
    for seed in range(30):
        _, (decided, _) = run(
            mechanism, frame_of(np.zeros((0, 2))), unit_columns(2), expected_rows=1000, bits=SeededBits(seed)
        )

        assert not decided.tree.is_split


@pytest.mark.parametrize(
    "mechanism",
    [
        KDTree(),
        KDTree(variant="paper"),
        KDTree(variant="paper", coarse=0.5),
        KDTree(variant="paper", coarse=0.5, tau=9),
        KDTree(fine=0.2),
        KDTree(coarse=1.0, fine=1.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_plan_asks_what_the_release_asks(mechanism, relation):
    terms = Terms(relation=relation, rows=300 if relation == "replace-one" else None, expected_rows=300)

    questions = planned(mechanism, terms=terms)

    _, answers = run(mechanism, ROWS, MIXED, relation=relation, expected_rows=300)
    assert kinds(answers) == [each.kind for each in questions]
    assert answers[0].question.to_dict() == questions[0].to_dict()
    assert [each.question.cost for each in answers] == [each.cost for each in questions]


# ------------------------------------------------------------------------------------------------------------ models


def test_a_fit_of_too_many_free_cells_is_refused_before_anything_is_asked():
    class NoRows:
        """A curator who may not be asked."""

        terms = ADD_REMOVE

    with pytest.raises(CapacityError, match=r"lists all 2\*\*30.0 cells that exist without any split, above 1048576"):
        KDTree(coarse=2**-10).run(NoRows(), unit_columns(3), Budget.pure(1), np.random.default_rng(1))


def test_a_plan_refuses_a_tree_that_noise_alone_would_split_without_end():
    with pytest.raises(CapacityError, match=r"splits about 2\*\*.* empty cells; raise tau or use fewer levels"):
        planned(KDTree(variant="paper", coarse=2**-4, fine=2**-12, tau=-50), unit_columns(4))
