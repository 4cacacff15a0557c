"""Bugs of grids and trees of cells, as published code has them, planted one by one: record and replay flags each."""

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

import lapwing.kernel.questions.sparse_counts.answer as counting
import lapwing.kernel.questions.split_decisions.answer as splitting
from helpers.audits import flags_of, in_turn
from helpers.peeking import rows_behind
from helpers.planted_charging import nothing_is_charged
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.kernel.noise.enclosures import LaplaceTail
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity, row_sensitivity
from lapwing.kernel.questions.shared.cell_rows import CellRows
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.mechanisms.trees.kd_tree.cells import halved_cells
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, KDTree
from lapwing.rows import counting as keys
from mechanism_checks import settings_for

GRID = Grid(width=0.5, threshold=2)
PAPER = KDTree(split_rule="paper", coarse=1.0, fine=0.25, tau=0, fit="threshold")
PRIVTREE = KDTree(split_rule="privtree", coarse=1.0, fine=0.125, tau=0, fit="threshold")
BOTH_LEVELS = KDTree(split_rule="paper", coarse=0.5, fine=0.25, tau=6, fit="threshold")
EVERY_LEAF = KDTree(split_rule="privtree", coarse=1.0, fine=0.25, tau=0, fit="least_squares")


# ------------------------------------------------------------------------------------------ bugs of the decisions


def decisions_declare_half_their_noise(patch):
    honest = SplitDecisions.noise
    patch.setattr(SplitDecisions, "noise", lambda self, *terms: NoiseLaw("laplace", honest(self, *terms).parameter / 2))


def decisions_draw_half_their_noise(patch):
    honest = splitting.discrete_laplace
    patch.setattr(splitting, "discrete_laplace", lambda scale, size, bits: honest(scale / 2, size, bits))


def decisions_draw_a_tenth_less_noise(patch):
    honest = splitting.discrete_laplace
    patch.setattr(splitting, "discrete_laplace", lambda scale, size, bits: honest(scale * 9 / 10, size, bits))


def each_level_has_the_whole_budget(patch):
    patch.setattr(SplitDecisions, "sensitivity", lambda self, relation, max_rows: row_sensitivity(relation, max_rows))


def one_level_fewer_is_paid_for(patch):
    honest = SplitDecisions.deciding.fget
    patch.setattr(SplitDecisions, "deciding", property(lambda self: max(1, honest(self) - 1)))


def replacing_a_row_is_taken_for_removing_it(patch):
    def sensitivity(self, relation, max_rows):
        counts = self.deciding if self.rule == "paper" else 3
        return Sensitivity(counts * max_rows, counts * max_rows**2)

    patch.setattr(SplitDecisions, "sensitivity", sensitivity)


def decisions_are_charged_half(patch):
    honest = SplitDecisions.cost.fget
    patch.setattr(SplitDecisions, "cost", property(lambda self: honest(self) / 2))


def empty_first_cells_are_never_split(patch):
    patch.setattr(splitting, "survivors", lambda population, success, bits: np.empty(0, dtype=np.int64))


def empty_cells_below_are_never_split(patch):
    honest = splitting._splits
    patch.setattr(splitting, "_splits", lambda question, counts, *rest: honest(question, counts, *rest) & (counts > 0))


def empty_cells_have_no_noise(patch):
    def splits(question, counts, depths, law, bits):
        noise = np.where(counts > 0, splitting.discrete_laplace(law.parameter, counts.size, bits), 0)
        return question.biased(counts, depths, law) + noise > question.threshold

    patch.setattr(splitting, "_splits", splits)


def full_cells_are_split_without_noise(patch):
    honest = splitting._splits
    patch.setattr(splitting, "_splits", lambda question, counts, *rest: honest(question, counts, *rest) | (counts > 5))


def all_cells_of_a_level_share_their_noise(patch):
    honest = splitting.discrete_laplace
    patch.setattr(splitting, "discrete_laplace", lambda scale, size, bits: np.repeat(honest(scale, 1, bits), size))


def empty_first_cells_are_split_one_count_too_late(patch):
    patch.setattr(splitting, "LaplaceTail", lambda scale, least: LaplaceTail(scale, least + 1))


def a_threshold_is_reached_instead_of_passed(patch):
    def splits(question, counts, depths, law, bits):
        noise = splitting.discrete_laplace(law.parameter, counts.size, bits)
        return question.biased(counts, depths, law) + noise >= question.threshold

    patch.setattr(splitting, "_splits", splits)


def the_clamp_is_left_out(patch):
    patch.setattr(SplitDecisions, "biased", lambda self, counts, decided, noise: counts - self.step(noise) * decided)


def the_step_is_half_as_long(patch):
    honest = SplitDecisions.step
    patch.setattr(SplitDecisions, "step", lambda self, noise: honest(self, noise) // 2)


DECISIONS = [
    decisions_declare_half_their_noise,
    decisions_draw_half_their_noise,
    decisions_draw_a_tenth_less_noise,
    decisions_are_charged_half,
    empty_cells_below_are_never_split,
    empty_cells_have_no_noise,
    full_cells_are_split_without_noise,
    all_cells_of_a_level_share_their_noise,
]


# --------------------------------------------------------------------------------------------- bugs of the counts


def counts_declare_half_their_noise(patch):
    honest = SparseCounts.noise
    patch.setattr(
        SparseCounts,
        "noise",
        lambda self, *terms: replace(honest(self, *terms), parameter=honest(self, *terms).parameter / 2),
    )


def counts_draw_half_their_noise(patch):
    honest = counting.noise_of
    patch.setattr(
        counting, "noise_of", lambda law, size, bits: honest(NoiseLaw(law.kind, law.parameter / 2), size, bits)
    )


def counts_are_charged_half(patch):
    honest = SparseCounts.cost.fget
    patch.setattr(SparseCounts, "cost", property(lambda self: honest(self) / 2))


def empty_first_leaves_are_left_out(patch):
    def empties(question, excluded, law, bits):
        return excluded[:0], np.empty(0, dtype=np.int64)

    patch.setattr(counting, "_empties", empties)


def empty_listed_leaves_are_left_out(patch):
    honest = counting._kept

    def kept(question, names, exact, law, bits):
        names, noisy = honest(question, names[exact > 0], exact[exact > 0], law, bits)
        return names, noisy

    patch.setattr(counting, "_kept", kept)


def empty_leaves_show_the_threshold(patch):
    patch.setattr(counting, "discrete_laplace_at_least", lambda threshold, scale, size, bits: np.full(size, threshold))


def the_noise_of_empty_leaves_is_not_conditioned(patch):
    def at_least(threshold, scale, size, bits):
        return np.maximum(threshold, counting.noise_of(NoiseLaw("laplace", scale), size, bits))

    patch.setattr(counting, "discrete_laplace_at_least", at_least)


def the_threshold_is_applied_to_exact_counts(patch):
    def kept(question, names, exact, law, bits):
        noisy = exact + counting.noise_of(law, exact.size, bits)
        reaches = exact >= (question.threshold or 0)
        return names[reaches], np.maximum(noisy[reaches], question.threshold or 0)

    patch.setattr(counting, "_kept", kept)


def counts_are_clipped_at_the_true_number_of_rows(patch):
    honest = counting._kept

    def kept(question, names, exact, law, bits):
        names, noisy = honest(question, names, exact, law, bits)
        return names, np.minimum(noisy, max(question.threshold or 0, int(exact.sum())))

    patch.setattr(counting, "_kept", kept)


def rows_are_counted_twice(patch):
    honest = CellRows.counts
    patch.setattr(CellRows, "counts", lambda self, starts, stops: 2 * honest(self, starts, stops))


def rows_outside_the_tree_are_counted_in_some_cell(patch):
    honest = keys._row_keys

    def row_keys(block, columns, coders):
        inside = {
            column.name: np.where(column.grouping.apply(block[column.name]) < len(column.keys), block[column.name], 0)
            for column in columns
        }
        return honest(inside, columns, coders)

    patch.setattr(keys, "_row_keys", row_keys)


COUNTS = [
    counts_declare_half_their_noise,
    counts_draw_half_their_noise,
    counts_are_charged_half,
    counts_are_clipped_at_the_true_number_of_rows,
    rows_are_counted_twice,
    rows_outside_the_tree_are_counted_in_some_cell,
]
EMPTY_FIRSTS = [
    empty_first_leaves_are_left_out,
    empty_leaves_show_the_threshold,
    the_noise_of_empty_leaves_is_not_conditioned,
    the_threshold_is_applied_to_exact_counts,
]


def the_leaves_repeat_the_noise_of_the_decisions(patch):
    kept, decide, count = [], splitting.discrete_laplace, counting.noise_of

    def first(scale, size, bits):
        kept.append(decide(scale, size, bits))
        return kept[-1]

    def second(law, size, bits):
        fresh, known = count(law, size, bits), np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)
        return np.resize(known, size) if known.size else fresh

    patch.setattr(splitting, "discrete_laplace", first)
    patch.setattr(counting, "noise_of", second)


CASES = [
    *in_turn([PAPER, PRIVTREE], [*DECISIONS, the_leaves_repeat_the_noise_of_the_decisions]),
    *itertools.product([PAPER], [each_level_has_the_whole_budget, one_level_fewer_is_paid_for]),
    *itertools.product([PAPER], [replacing_a_row_is_taken_for_removing_it, a_threshold_is_reached_instead_of_passed]),
    *itertools.product([PRIVTREE], [replacing_a_row_is_taken_for_removing_it, the_clamp_is_left_out]),
    *itertools.product([PRIVTREE], [the_step_is_half_as_long]),
    *itertools.product(
        [BOTH_LEVELS], [empty_first_cells_are_never_split, empty_first_cells_are_split_one_count_too_late]
    ),
    *in_turn([GRID, PRIVTREE, EVERY_LEAF], COUNTS),
    *itertools.product([GRID], EMPTY_FIRSTS),
    *itertools.product([PRIVTREE, EVERY_LEAF], [empty_listed_leaves_are_left_out]),
]


def named(case):
    return case.__name__ if callable(case) else f"{case.name}-{getattr(case, 'split_rule', '')}"


@pytest.mark.parametrize(("mechanism", "plant"), CASES, ids=named)
def test_a_bug_in_the_answers_is_flagged(mechanism, plant, monkeypatch):
    plant(monkeypatch)

    assert flags_of(mechanism, pairs=800)


HONEST = [
    *((mechanism, 8) for mechanism in (PAPER, EVERY_LEAF)),  # the others in CI: `test_record_and_replay`
    *(pytest.param(each, 400, marks=pytest.mark.full) for each in (GRID, PAPER, PRIVTREE, BOTH_LEVELS, EVERY_LEAF)),
]


@pytest.mark.parametrize(
    ("mechanism", "pairs"), HONEST, ids=lambda case: str(case) if isinstance(case, int) else named(case)
)
def test_honest_cells_are_not_flagged(mechanism, pairs):
    assert flags_of(mechanism, pairs=pairs) == ()


# ---------------------------------------------------------------------------------------------- bugs of a mechanism


def planted(run):
    """Return a mechanism that looks where it must not."""

    @dataclass(frozen=True)
    class Planted(Mechanism):
        name = "Planted"
        summary = "looks at rows"
        relations = KDTree.relations

        def run(self, curator, schema, budget, rng):
            return run(curator, schema, budget, rng)

    return Planted()


def threshold_from_the_true_number_of_rows(curator, schema, budget, rng):
    return Grid(width=0.5, threshold=1 + rows_behind(curator).rows // 2).run(curator, schema, budget, rng)


def tau_from_the_true_number_of_rows(curator, schema, budget, rng):
    return replace(PRIVTREE, tau=float(rows_behind(curator).rows // 3)).run(curator, schema, budget, rng)


def first_level_from_the_data(curator, schema, budget, rng):
    coarse = 0.5 if rows_behind(curator).rows % 2 else 1.0
    return replace(PAPER, coarse=coarse).run(curator, schema, budget, rng)


def width_from_the_data(curator, schema, budget, rng):
    chunks = rows_behind(curator).chunks()
    largest = max((int(codes.max(initial=0)) for chunk in chunks for codes in chunk.values()), default=0)
    return Grid(width=0.5 if largest % 2 else 0.25, threshold=2).run(curator, schema, budget, rng)


def decisions_are_asked_again_after_a_look_at_the_rows(curator, schema, budget, rng):
    tree = halved_cells(schema, 0.25, 1.0)
    share = Fraction(1, 4) if budget.notion == "pure" else Fraction(1, 8)
    asked = SplitDecisions(tree=tree, rule="privtree", threshold=0, epsilon=share, notion=budget.notion)
    if tree.depth and rows_behind(curator).rows > 3:
        curator.ask(asked)
    return Grid(width=0.5, threshold=2).run(curator, schema, budget / 2, rng)


@pytest.mark.parametrize(
    "run",
    [
        threshold_from_the_true_number_of_rows,
        tau_from_the_true_number_of_rows,
        first_level_from_the_data,
        width_from_the_data,
        decisions_are_asked_again_after_a_look_at_the_rows,
    ],
)
def test_a_mechanism_that_looks_at_rows_is_flagged(run):
    assert flags_of(planted(run), relations=("add-remove",))


def test_decision_counts_that_are_reused_without_a_charge_are_flagged(monkeypatch):
    seen = []
    honest = splitting._splits

    def splits(question, counts, depths, law, bits):
        seen.append(int(counts.sum()))
        return honest(question, counts, depths, law, bits)

    def run(curator, schema, budget, rng):
        seen.clear()
        return replace(PAPER.run(curator, schema, budget, rng), rows=sum(seen))

    monkeypatch.setattr(splitting, "_splits", splits)

    assert flags_of(planted(run), relations=("add-remove",))


def test_a_second_question_that_nobody_pays_for_is_flagged(monkeypatch):
    nothing_is_charged(monkeypatch)

    def run(curator, schema, budget, rng):
        GRID.run(curator, schema, budget, rng)
        return GRID.run(curator, schema, budget, rng)

    assert flags_of(planted(run))


@pytest.mark.parametrize(
    "mechanism", [KDTree(split_rule="paper", tau="lemma10"), KDTree(), Grid()], ids=["lemma10", "default", "grid"]
)
def test_a_noisy_number_of_rows_is_not_flagged(mechanism):
    rng, flagged = np.random.default_rng(4), []

    for pure in (True, False):
        pair = neighbour_pair(rng, "add-remove", 3)
        settings = replace(settings_for(mechanism, pair.schema, "add-remove", pure=pure), expected_rows=None)
        flagged += audit_pair(pair.data, pair.neighbour, settings)

    assert flagged == []
