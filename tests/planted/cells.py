"""Bugs of grids and trees of cells, as published code has them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

import lapwing.kernel.questions.sparse_counts.answer as counting
import lapwing.kernel.questions.split_decisions.answer as splitting
from helpers.peeking import rows_behind
from helpers.planted_audits import replay
from helpers.planting import in_turn, instead_of, nothing_is_charged, seen_by
from lapwing.extras.audit.worst_case import UNLIKELY_WORDS
from lapwing.kernel.noise.enclosures import LaplaceTail
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity, row_sensitivity
from lapwing.kernel.questions.shared.cell_rows import CellRows
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions
from lapwing.mechanisms.trees.kd_tree.cells import halving_tree
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, KDTree
from lapwing.rows import counting as keys

GRIDS = Grid(width=0.5, threshold=2, variant="paper")
SMALL = KDTree.small()
GRID = replay(GRIDS)
PAPER = replay(KDTree(variant="paper", coarse=1.0, fine=0.25, tau=0))
PRIVTREE = replay(KDTree(coarse=1.0, fine=0.125, tau=0))
BOTH_LEVELS = replay(KDTree(variant="paper", coarse=0.5, fine=0.25, tau=6))
EVERY_LEAF = replay(KDTree(coarse=1.0, fine=0.25, tau=0))
UNLIKELY = replay(SMALL, mode=UNLIKELY_WORDS)
DEAR = replay(SMALL, mode=UNLIKELY_WORDS, times=100)
FINE = replay(
    replace(SMALL, coarse=0.5, fine=0.25),
    relations=("add-remove",),
    rows_per_unit=(1,),
    mode=UNLIKELY_WORDS,
)
HONEST = [
    replay(each, relations=("add-remove",), expected_rows=None) for each in (KDTree(variant="paper"), KDTree(), Grid())
]

# ------------------------------------------------------------------------------------------ bugs of the decisions


@instead_of(SplitDecisions, "noise")
def decisions_declare_half_their_noise(honest, *terms):
    return NoiseLaw("laplace", honest(*terms).parameter / 2)


@instead_of(SplitDecisions, "deciding")
def one_level_fewer_is_paid_for(honest, question):
    return max(1, honest(question) - 1)


@instead_of(SplitDecisions, "sensitivity")
def replacing_a_row_is_taken_for_removing_it(honest, question, relation, max_rows):
    counts = question.deciding if question.rule == "paper" else 3
    return Sensitivity(counts * max_rows, counts * max_rows**2)


@instead_of(splitting, "_splits")
def empty_cells_below_are_never_split(honest, question, counts, *rest):
    return honest(question, counts, *rest) & (counts > 0)


@instead_of(splitting, "_splits")
def lone_rows_are_not_split(honest, question, counts, *rest):
    """Stop a tree at cells of one row, as decision trees do with a least number of samples: an exact count decides."""
    return honest(question, counts, *rest) & (counts > 1)


@instead_of(splitting, "_splits")
def full_cells_are_split_without_noise(honest, question, counts, *rest):
    return honest(question, counts, *rest) | (counts > 5)


@instead_of(splitting, "_splits")
def empty_cells_have_no_noise(honest, question, counts, depths, law, bits):
    noise = np.where(counts > 0, splitting.discrete_laplace(law.parameter, counts.size, bits), 0)
    return question.biased(counts, depths, law) + noise > question.threshold


@instead_of(splitting, "_splits")
def a_threshold_is_reached_instead_of_passed(honest, question, counts, depths, law, bits):
    noise = splitting.discrete_laplace(law.parameter, counts.size, bits)
    return question.biased(counts, depths, law) + noise >= question.threshold


@instead_of(SplitDecisions, "biased")
def the_clamp_is_left_out(honest, question, counts, decided, noise):
    return counts - question.step(noise) * decided


@instead_of(SplitDecisions, "biased")
def depth_without_a_price(honest, question, counts, *rest):
    """Leave out PrivTree's bias against depth, which its constant noise rests on (Zhang, Xiao and Xie 2016)."""
    return counts


drawing = instead_of(splitting, "discrete_laplace")
decisions_draw_half_their_noise = drawing(lambda draw, scale, *rest: draw(scale / 2, *rest))
decisions_draw_a_tenth_less_noise = drawing(lambda draw, scale, *rest: draw(scale * 9 / 10, *rest))
all_cells_of_a_level_share_their_noise = drawing(lambda draw, scale, size, bits: np.repeat(draw(scale, 1, bits), size))
each_level_has_the_whole_budget = instead_of(SplitDecisions, "sensitivity")(
    lambda honest, question, *terms: row_sensitivity(*terms)
)
decisions_are_charged_half = instead_of(SplitDecisions, "cost")(lambda honest, question: honest(question) / 2)
empty_first_cells_are_never_split = instead_of(splitting, "survivors")(lambda *_: np.empty(0, dtype=np.int64))
empty_first_cells_are_split_one_count_too_late = instead_of(splitting, "LaplaceTail")(
    lambda honest, scale, least: LaplaceTail(scale, least + 1)
)
the_step_is_half_as_long = instead_of(SplitDecisions, "step")(lambda honest, *given: honest(*given) // 2)


# --------------------------------------------------------------------------------------------- bugs of the counts


@instead_of(SparseCounts, "noise")
def counts_declare_half_their_noise(honest, *terms):
    return replace(honest(*terms), parameter=honest(*terms).parameter / 2)


@instead_of(counting, "noise_of")
def counts_draw_half_their_noise(honest, law, *rest):
    return honest(NoiseLaw(law.kind, law.parameter / 2), *rest)


@instead_of(counting, "_empties")
def empty_first_leaves_are_left_out(honest, *asked):
    """List noisy counts of the leaves that hold rows alone, which needs a delta (Korolova et al. 2009)."""
    return tuple(each[:0] for each in honest(*asked))


@instead_of(counting, "_keep_large")
def empty_listed_leaves_are_left_out(honest, question, names, exact, *rest):
    return honest(question, names[exact > 0], exact[exact > 0], *rest)


@instead_of(counting, "discrete_laplace_at_least")
def the_noise_of_empty_leaves_is_not_conditioned(honest, threshold, scale, size, bits):
    return np.maximum(threshold, counting.noise_of(NoiseLaw("laplace", scale), size, bits))


@instead_of(counting, "_keep_large")
def the_threshold_is_applied_to_exact_counts(honest, question, names, exact, law, bits):
    noisy = exact + counting.noise_of(law, exact.size, bits)
    reaches = exact >= (question.threshold or 0)
    return names[reaches], np.maximum(noisy[reaches], question.threshold or 0)


@instead_of(counting, "_keep_large")
def counts_are_clipped_at_the_true_number_of_rows(honest, question, names, exact, *rest):
    names, noisy = honest(question, names, exact, *rest)
    return names, np.minimum(noisy, max(question.threshold or 0, int(exact.sum())))


@instead_of(keys, "_row_keys")
def rows_outside_the_tree_are_counted_in_some_cell(honest, block, columns, coders):
    inside = {
        column.name: np.where(column.grouping.apply(block[column.name]) < len(column.keys), block[column.name], 0)
        for column in columns
    }
    return honest(inside, columns, coders)


counts_are_charged_half = instead_of(SparseCounts, "cost")(lambda honest, question: honest(question) / 2)
rows_are_counted_twice = instead_of(CellRows, "counts")(lambda honest, *given: 2 * honest(*given))
empty_leaves_show_the_threshold = instead_of(counting, "discrete_laplace_at_least")(
    lambda honest, threshold, scale, size, bits: np.full(size, threshold)
)


def the_leaves_repeat_the_noise_of_the_decisions(patch):
    kept = []

    def first(honest, *given):
        kept.append(honest(*given))
        return kept[-1]

    def second(honest, law, size, bits):
        fresh, known = honest(law, size, bits), np.concatenate([np.empty(0, dtype=np.int64), *kept])
        return np.resize(known, size) if known.size else fresh

    drawing(first)(patch)
    instead_of(counting, "noise_of")(second)(patch)


# ---------------------------------------------------------------------------------------------- bugs of a mechanism


@instead_of(Grid, "run")
def the_threshold_is_from_the_true_number_of_rows(honest, mechanism, curator, *given):
    return honest(replace(mechanism, threshold=1 + rows_behind(curator).rows // 2), curator, *given)


@instead_of(KDTree, "run")
def tau_is_from_the_true_number_of_rows(honest, mechanism, curator, *given):
    return honest(replace(mechanism, tau=float(rows_behind(curator).rows // 3)), curator, *given)


@instead_of(KDTree, "run")
def the_first_level_is_from_the_data(honest, mechanism, curator, *given):
    return honest(replace(mechanism, coarse=0.5 if rows_behind(curator).rows % 2 else 1.0), curator, *given)


@instead_of(Grid, "run")
def the_width_is_from_the_data(honest, mechanism, curator, *given):
    chunks = rows_behind(curator).chunks()
    largest = max((int(codes.max(initial=0)) for chunk in chunks for codes in chunk.values()), default=0)
    return honest(replace(mechanism, width=0.5 if largest % 2 else 0.25), curator, *given)


@instead_of(Grid, "run")
def decisions_are_asked_after_a_look_at_the_rows(honest, mechanism, curator, schema, budget, rng):
    tree = halving_tree(schema, 0.25, 1.0)
    share = Fraction(1, 4) if budget.notion == "pure" else Fraction(1, 8)
    asked = SplitDecisions(tree=tree, rule="privtree", threshold=0, epsilon=share, notion=budget.notion)
    if tree.depth and rows_behind(curator).rows > 3:
        curator.ask(asked)
    return honest(mechanism, curator, schema, budget / 2, rng)


def counts_of_decisions_are_used_again_without_a_charge(patch):
    seen = []

    @instead_of(splitting, "_splits")
    def watched(honest, question, counts, *rest):
        seen.append(int(counts.sum()))
        return honest(question, counts, *rest)

    @instead_of(KDTree, "run")
    def told(honest, *given):
        seen.clear()
        return replace(honest(*given), rows=sum(seen))

    watched(patch)
    told(patch)


def a_second_question_is_not_paid_for(patch):
    nothing_is_charged(patch)
    instead_of(Grid, "run")(lambda honest, *given: honest(*given) and honest(*given))(patch)


USUAL = (PAPER, PRIVTREE)
WITHIN = 800
BUGS = (
    *seen_by(PAPER, each_level_has_the_whole_budget, one_level_fewer_is_paid_for, within=800),
    *seen_by((PAPER, PRIVTREE), replacing_a_row_is_taken_for_removing_it, within=800),
    *seen_by(PAPER, a_threshold_is_reached_instead_of_passed, within=800),
    *seen_by(PRIVTREE, the_clamp_is_left_out, the_step_is_half_as_long, within=800),
    *seen_by(
        BOTH_LEVELS,
        empty_first_cells_are_never_split,
        empty_first_cells_are_split_one_count_too_late,
        within=800,
    ),
    *in_turn(
        (GRID, PRIVTREE, EVERY_LEAF),
        counts_declare_half_their_noise,
        counts_draw_half_their_noise,
        counts_are_charged_half,
        counts_are_clipped_at_the_true_number_of_rows,
        rows_are_counted_twice,
        rows_outside_the_tree_are_counted_in_some_cell,
        within=800,
    ),
    *seen_by(
        GRID,
        empty_first_leaves_are_left_out,
        empty_leaves_show_the_threshold,
        the_noise_of_empty_leaves_is_not_conditioned,
        the_threshold_is_applied_to_exact_counts,
        within=800,
    ),
    *seen_by((PRIVTREE, EVERY_LEAF), empty_listed_leaves_are_left_out, within=800),
    # Within fewer pairs, where words are unlikely.
    *seen_by(DEAR, lone_rows_are_not_split, depth_without_a_price, within=64),
    *in_turn((PAPER, PRIVTREE), all_cells_of_a_level_share_their_noise, within=800),
    *seen_by(UNLIKELY, all_cells_of_a_level_share_their_noise, within=24),
    *seen_by(FINE, empty_first_leaves_are_left_out, within=4),
    *seen_by(
        GRID,
        the_threshold_is_from_the_true_number_of_rows,
        the_width_is_from_the_data,
        decisions_are_asked_after_a_look_at_the_rows,
        a_second_question_is_not_paid_for,
    ),
    *seen_by(PRIVTREE, tau_is_from_the_true_number_of_rows),
    *seen_by(PAPER, the_first_level_is_from_the_data, counts_of_decisions_are_used_again_without_a_charge),
)
