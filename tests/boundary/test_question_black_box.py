"""Black box: how far the answer to each question tells two neighbours apart, as far as runs alone can certify.

That few runs of no question certify more than it claims is seen by the audit of everything (`test_audit_command`).

Only a second net: record and replay looks at exact losses. The planted bugs say how much it catches, and with how many
runs.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import lapwing.kernel.questions.category_selection.answer as selecting_texts
import lapwing.kernel.questions.cell_sums.answer as summing
import lapwing.kernel.questions.linear_statistics.answer as adding
import lapwing.kernel.questions.marginal_counts.answer as counting
import lapwing.kernel.questions.misfit_rows.answer as looking
import lapwing.kernel.questions.private_draw.answer as drawing
import lapwing.kernel.questions.second_moment.answer as multiplying
import lapwing.kernel.questions.select_worst.answer as choosing
import lapwing.kernel.questions.sparse_counts.answer as counting_cells
import lapwing.kernel.questions.split_decisions.answer as splitting
import lapwing.kernel.questions.table_distances.answer as measuring
import lapwing.kernel.questions.tree_counts.answer as counting_trees
from lapwing.extras.audit.run import question_cases
from lapwing.extras.audit.worst_case import certified_loss, certified_rho
from lapwing.kernel.noise_law import NoiseLaw, row_sensitivity
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.registered import KINDS

FEW = 300
"""Below 230 runs the bound stays below an epsilon of 2 even where no answer is common to both tables."""

MANY = 100_000

CASES = {
    f"{case.question}: {case.label}, {case.relation}, {case.max_rows}, {case.cost.notion}": case
    for case in question_cases()
}


def loss_of(case, runs):
    """Return what is certified of a case."""
    return case.certified(*case.run(runs))


def case_of(question, relation, max_rows, notion="pure", words=""):
    """Return the first case of a question that is asked so."""
    asked = (question, relation, max_rows, notion)
    return next(
        case
        for case in CASES.values()
        if (case.question, case.relation, case.max_rows, case.cost.notion) == asked and words in case.label
    )


# ------------------------------------------------------------------------------------------------------ the questions


def test_every_question_has_a_case_of_both_relations_and_of_one_and_three_rows_per_unit():
    asked = {(case.question, case.relation, case.max_rows) for case in CASES.values()}

    kinds = set(KINDS)
    everywhere = set(itertools.product(kinds - {"PrivateDraw"}, ("add-remove", "replace-one"), (1, 3)))
    assert asked == everywhere | {("PrivateDraw", "replace-one", 1)}


def test_every_question_that_gaussian_noise_may_answer_has_a_case_of_it():
    laplace_alone = {"SplitDecisions"}

    with_rho = {case.question for case in CASES.values() if case.cost.notion == "zcdp"}

    assert with_rho == set(KINDS) - laplace_alone


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_few_runs_certify_more_than_is_claimed_where_the_tables_have_no_answer_in_common(case):
    first, second = np.zeros((FEW, 1)), np.ones((FEW, 1))

    assert case.certified(first, second) > case.claim


@pytest.mark.full
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_many_runs_of_a_question_lose_no_more_than_it_claims_and_not_much_less(case):
    least = 0 if case.at_delta > 1e-6 else 0.2

    assert least * case.claim <= loss_of(case, MANY) <= case.claim


# ----------------------------------------------------------------------------------------------------- planted bugs


def a_part_of_the_noise(part):
    """Let the room draw noise of so much of its scale."""

    def plant(patch, module):
        honest = module.noise_of

        def noise_of(law, size, bits):
            factor = part if law.kind == "laplace" else part**2
            return honest(NoiseLaw(law.kind, law.parameter * factor), size, bits)

        patch.setattr(module, "noise_of", noise_of)

    return plant


half_of_the_noise = a_part_of_the_noise(Fraction(1, 2))
four_fifths_of_the_noise = a_part_of_the_noise(Fraction(4, 5))


def noise_that_is_rounded_to_its_sign(patch, module):
    honest = module.noise_of
    patch.setattr(module, "noise_of", lambda law, size, bits: np.sign(honest(law, size, bits)))


def half_of_the_noise_of_cells(patch, module):
    honest = module.discrete_laplace
    patch.setattr(module, "discrete_laplace", lambda scale, size, bits: honest(scale / 2, size, bits))


def noise_of_cells_that_is_rounded_to_its_sign(patch, module):
    honest = module.discrete_laplace
    patch.setattr(module, "discrete_laplace", lambda scale, size, bits: np.sign(honest(scale, size, bits)))


def empty_cells_without_noise(patch, module):
    patch.setattr(module, "survivors", lambda population, tail, bits: np.empty(0, dtype=np.int64))


def a_score_that_moves_by_half(patch, module):
    honest = module.exponential_mechanism
    patch.setattr(
        module, "exponential_mechanism", lambda scores, epsilon, bound, bits: honest(scores, 2 * epsilon, bound, bits)
    )


def no_floor_under_the_density(patch, module):
    honest = module.exact_weights

    def weights(question, source):
        found = honest(question, source)
        return np.where(found > question.least, found, 0)

    patch.setattr(module, "exact_weights", weights)


def the_likeliest_row(patch, module):
    patch.setattr(module, "weighted_draws", lambda weights, size, bits: np.full(size, weights.argmax()))


def every_text_is_shown(patch, module):
    patch.setattr(CategorySelection, "threshold", lambda self, relation, rows: -(10**6))


def the_threshold_is_the_rows_of_a_unit(patch, module):
    patch.setattr(CategorySelection, "threshold", lambda self, relation, rows: rows)


def a_unit_counts_as_one_row(*kinds):
    """Let questions be calibrated to one row."""

    def plant(patch, module):
        for kind in kinds:
            patch.setattr(kind, "sensitivity", lambda self, relation, rows: row_sensitivity("add-remove", 1))

    return plant


one_row_of_a_unit = a_unit_counts_as_one_row(MarginalCounts, CategorySelection)


CHEAP = {
    "a table for one row": (one_row_of_a_unit, counting, ("MarginalCounts", "replace-one", 3), 800),
    "tree: signs": (noise_that_is_rounded_to_its_sign, counting_trees, ("TreeCounts", "replace-one", 3), 600),
    "a score: half": (a_score_that_moves_by_half, choosing, ("SelectWorst", "replace-one", 3, "zcdp"), 1500),
    "distance: signs": (noise_that_is_rounded_to_its_sign, measuring, ("TableDistances", "replace-one", 1), 600),
    "splits: empty": (empty_cells_without_noise, splitting, ("SplitDecisions", "add-remove", 3), 1400),
    "grid: signs": (noise_that_is_rounded_to_its_sign, counting_cells, ("SparseCounts", "add-remove", 3), 700),
    "products: half": (half_of_the_noise, multiplying, ("SecondMoment", "add-remove", 1, "zcdp"), 1400),
    "sums: half": (half_of_the_noise, summing, ("CellSums", "add-remove", 3), 2000),
    "truths: half": (half_of_the_noise, adding, ("LinearStatistics", "replace-one", 1), 2000),
    "misfits: half": (half_of_the_noise, looking, ("MisfitRows", "replace-one", 1), 2000),
    "draws: likeliest": (the_likeliest_row, drawing, ("PrivateDraw", "replace-one", 1, "zcdp"), 300),
    "texts: signs": (noise_that_is_rounded_to_its_sign, selecting_texts, ("CategorySelection", "replace-one", 3), 800),
    "texts for one row": (one_row_of_a_unit, selecting_texts, ("CategorySelection", "replace-one", 3), 800),
    "texts: all": (every_text_is_shown, selecting_texts, ("CategorySelection", "add-remove", 1, "pure", "alone"), 800),
    "texts: low": (
        the_threshold_is_the_rows_of_a_unit,
        selecting_texts,
        ("CategorySelection", "replace-one", 3, "pure", "alone"),
        1500,
    ),
}
"""Of each question: what is planted where, the case, and the runs that certify it."""

COSTLY = {
    "table: half": (half_of_the_noise, counting, ("MarginalCounts", "add-remove", 1), 1600),
    "table: half, rho": (half_of_the_noise, counting, ("MarginalCounts", "replace-one", 3, "zcdp"), 6400),
    "table: four fifths": (four_fifths_of_the_noise, counting, ("MarginalCounts", "add-remove", 3), 20_000),
    "tree: half": (half_of_the_noise, counting_trees, ("TreeCounts", "add-remove", 1), 3200),
    "tree: half, rho": (half_of_the_noise, counting_trees, ("TreeCounts", "replace-one", 3, "zcdp"), 3200),
    "a score: half": (a_score_that_moves_by_half, choosing, ("SelectWorst", "replace-one", 1), 12_800),
    "distance: half": (half_of_the_noise, measuring, ("TableDistances", "replace-one", 1), 3200),
    "distance: half, rho": (half_of_the_noise, measuring, ("TableDistances", "add-remove", 1, "zcdp"), 3200),
    "splits: half": (half_of_the_noise_of_cells, splitting, ("SplitDecisions", "add-remove", 3), 50_000),
    "splits: signs": (
        noise_of_cells_that_is_rounded_to_its_sign,
        splitting,
        ("SplitDecisions", "add-remove", 3),
        6400,
    ),
    "grid: half": (half_of_the_noise, counting_cells, ("SparseCounts", "add-remove", 3), 6400),
    "grid: half, rho": (half_of_the_noise, counting_cells, ("SparseCounts", "replace-one", 3, "zcdp"), 3200),
    "grid: empty": (empty_cells_without_noise, counting_cells, ("SparseCounts", "add-remove", 1), 6400),
    "leaves: signs": (
        noise_that_is_rounded_to_its_sign,
        counting_cells,
        ("SparseCounts", "replace-one", 3, "pure", "tree"),
        800,
    ),
    "products: half": (half_of_the_noise, multiplying, ("SecondMoment", "replace-one", 1), 1600),
    "sums: half, rho": (half_of_the_noise, summing, ("CellSums", "replace-one", 3, "zcdp"), 3200),
    "truths: half, rho": (half_of_the_noise, adding, ("LinearStatistics", "add-remove", 1, "zcdp"), 3200),
    "draws: no floor": (no_floor_under_the_density, drawing, ("PrivateDraw", "replace-one", 1), 6400),
    "texts: half": (half_of_the_noise, selecting_texts, ("CategorySelection", "add-remove", 1), 1600),
}


PLANTED = (*CHEAP.values(), *COSTLY.values())


def test_something_is_planted_in_every_question():
    assert {asked[0] for _, _, asked, _ in PLANTED} == set(KINDS)


@pytest.mark.parametrize(("plant", "module", "asked", "runs"), CHEAP.values(), ids=CHEAP)
def test_a_planted_bug_is_certified(plant, module, asked, runs, monkeypatch):
    case = case_of(*asked)
    plant(monkeypatch, module)

    assert loss_of(case, runs) > case.claim


@pytest.mark.full
@pytest.mark.parametrize(("plant", "module", "asked", "runs"), COSTLY.values(), ids=COSTLY)
def test_a_subtle_planted_bug_is_certified(plant, module, asked, runs, monkeypatch):
    case = case_of(*asked)
    plant(monkeypatch, module)

    assert loss_of(case, runs) > case.claim


# ---------------------------------------------------------------------------------------------------------- the bound


def test_a_bound_is_above_the_true_loss_no_more_often_than_it_says():
    rng, mistake, trials = np.random.default_rng(1), 0.2, 400

    pairs = [(rng.laplace(1, 1, (400, 1)), rng.laplace(0, 1, (400, 1))) for _ in range(trials)]

    above = sum(certified_loss(*pair, mistake=mistake) > 1 for pair in pairs)
    assert above <= mistake * trials


def test_a_bound_on_rho_is_above_the_true_one_no_more_often_than_it_says():
    rng, mistake, trials = np.random.default_rng(2), 0.2, 400

    pairs = [(rng.normal(1, 1, (400, 1)), rng.normal(0, 1, (400, 1))) for _ in range(trials)]

    above = sum(certified_rho(*pair, mistake=mistake) > 1 / 2 for pair in pairs)
    assert above <= mistake * trials


@pytest.mark.parametrize("bound", [certified_loss, certified_rho])
def test_what_is_certified_is_certified_of_both_orders_of_the_tables(bound):
    rng = np.random.default_rng(3)
    one, other = rng.laplace(1, 1, (10_000, 1)), rng.laplace(0, 1, (10_000, 1))

    assert bound(one, other) == pytest.approx(bound(other, one), abs=1e-12)


def test_what_two_features_say_together_is_learned():
    rng = np.random.default_rng(4)
    one, other = rng.laplace([1, 0], 1, (40_000, 2)), rng.laplace([0, 1], 1, (40_000, 2))

    alone, together = certified_loss(one[:, :1], other[:, :1]), certified_loss(one, other)

    assert alone <= 1 < together <= 2


def test_what_happens_with_probability_delta_needs_no_explanation():
    seldom = np.tile([1, *[0] * 19], 2000)[:, None]

    without, within = certified_loss(seldom, 0 * seldom), certified_loss(seldom, 0 * seldom, delta=0.05)

    assert without > 4
    assert within == 0


def test_an_approximate_rho_leaves_out_what_delta_explains():
    seldom = np.tile([1, *[0] * 19], 2000)[:, None]

    assert certified_rho(seldom, 0 * seldom, delta=0.05) == 0 < certified_rho(seldom, 0 * seldom)


def test_equal_tables_lose_nothing():
    rng = np.random.default_rng(5)

    runs = rng.laplace(0, 1, (2, 5_000, 3))

    assert certified_loss(*runs) == certified_rho(*runs) == 0
