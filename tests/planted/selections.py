"""Bugs of selections, as published code has them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

import lapwing.kernel.questions.select_worst.answer as answering
import lapwing.rows.exact_tables as kept_tables
from helpers.peeking import rows_behind
from helpers.planted_audits import replay
from helpers.planting import instead_of, instead_of_answers, seen_by
from helpers.selections import Selecting, scores_of
from lapwing.extras.audit.worst_case import UNLIKELY_WORDS
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bernoulli import bernoulli_exp_multiples
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.noise.selection import uniform_below
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.questions.select_worst.question import Selection, SelectWorst
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.rows.exact_tables import ExactTables

SELECTING = replay(Selecting())
ADAPTIVE = replay(Adaptive.small(), relations=("add-remove",), rows_per_unit=(1,), mode=UNLIKELY_WORDS)
DEAR = replay(Adaptive.small(), relations=("add-remove",), rows_per_unit=(1,), mode=UNLIKELY_WORDS, times=10_000)

# ------------------------------------------------------------------------------------------------------------- prices

paying = instead_of(SelectWorst, "cost")
half_is_charged = paying(lambda honest, question: honest(question) / 2)
the_bounded_range_price_is_paid_under_pure_epsilon = paying(
    lambda honest, question: Budget(question.notion, question.epsilon**2 / Fraction(8))
)
the_sensitivity_is_one_whatever_the_relation = instead_of(SelectWorst, "sensitivity")(lambda *_: Sensitivity(1, 1))


# ------------------------------------------------------------------------------------------------------------- scores

scoring = instead_of(answering, "misfit_sums")


@scoring
def scores_are_against_the_true_number_of_rows(honest, question, exact):
    sums = np.add.reduceat(np.maximum(question.estimates, 0), question.offsets[:-1])
    rows = np.add.reduceat(exact, question.offsets[:-1])
    scale = np.repeat(rows / np.maximum(sums, 1), np.diff(question.offsets))
    scaled = np.where(question.estimates < 0, -1, np.rint(question.estimates * scale)).astype(np.int64)
    return honest(replace(question, estimates=scaled), exact)


@scoring
def scores_are_shares_of_the_true_number_of_rows(honest, question, exact):
    """Score misfits in thousandths of the exact number of rows, with the sensitivity of counts."""
    return honest(question, exact) * 1000 // max(1, int(exact[: question.offsets[1]].sum()))


@scoring
def misfits_are_looked_at(honest, question, exact):
    return np.add.reduceat(np.abs(exact - question.estimates), question.offsets[:-1])


@scoring
def empty_cells_are_skipped(honest, question, exact):
    gaps = np.where((exact == 0) | (question.estimates < 0), 0, np.abs(exact - question.estimates))
    return np.add.reduceat(gaps, question.offsets[:-1])


@scoring
def penalties_are_forgotten(honest, question, exact):
    return honest(question, exact) + question.penalties


# ---------------------------------------------------------------------------- draws; the audit keeps the true one

drawing = instead_of(answering, "exponential_mechanism")
the_best_score_is_chosen_without_noise = drawing(lambda draw, scores, *rest: int(scores.argmax()))
the_draw_is_at_twice_the_epsilon = drawing(lambda draw, scores, epsilon, *rest: draw(scores, 2 * epsilon, *rest))
the_sensitivity_is_one_in_the_draw_alone = drawing(
    lambda draw, scores, epsilon, _, bits: draw(scores, epsilon, 1, bits)
)


@drawing
def permute_and_flip_has_the_price_of_bounded_range(draw, scores, epsilon, sensitivity, bits):
    left = list(range(scores.size))
    while True:
        choice = left.pop(int(uniform_below(len(left), 1, bits)[0]))
        rare = int(scores.max() - scores[choice]) * epsilon / (2 * sensitivity)
        if not rare or bernoulli_exp_multiples(np.ones(1, dtype=np.uint64), rare, bits)[0]:
            return choice


@drawing
def the_best_of_the_accepted_is_chosen(draw, scores, epsilon, sensitivity, bits):
    """Take the best of a batch of accepted attempts, as 64 were drawn anyhow; the first alone has the law."""
    top, unsigned = int(scores.argmax()), scores.view(np.uint64)
    while True:
        tried = (uniform_below(scores.size, 64, bits) + top) % scores.size
        hits = tried[bernoulli_exp_multiples(unsigned[top] - unsigned[tried], epsilon / (2 * sensitivity), bits)]
        if hits.size:
            return int(hits[scores[hits].argmax()])


@drawing
def sure_choices_are_not_drawn(draw, scores, epsilon, sensitivity, bits):
    """Take the best candidate without a draw where it leads by far: the others become impossible, not rare."""
    second, first = np.sort(scores)[-2:].tolist() if scores.size > 1 else (0, 0)
    is_sure = (first - second) * epsilon > 16 * sensitivity
    return int(scores.argmax()) if is_sure else draw(scores, epsilon, sensitivity, bits)


@instead_of_answers("SelectWorst")
def the_best_two_of_one_noisy_ranking_are_chosen(honest, questions, rows, terms, bits):
    if len(questions) < 2:
        return honest(questions, rows, terms, bits)
    bound = questions[0].sensitivity(terms.relation, terms.max_rows).l1
    scores = scores_of(questions[0], rows.tables)
    noisy = scores + discrete_laplace(2 * bound / questions[0].epsilon, scores.size, bits)
    best = np.argsort(-noisy, kind="stable")[: len(questions)].tolist()
    return tuple(Selection(question, choice, bound) for question, choice in zip(questions, best, strict=True))


# ------------------------------------------------------------------------------------------------------------- tables


def tables_of_an_earlier_release_are_taken_for_this_one(patch):
    numbers, tables = {}, {}

    @instead_of(ExactTables, "__init__")
    def shared(honest, self, *given):
        honest(self, *given)
        self._numbers, self._tables = numbers, tables

    @instead_of(ExactTables, "_keep")
    def keep(honest, self, *choices):
        honest(self, *choices)
        tables.update(self._tables)

    shared(patch)
    keep(patch)


@instead_of(kept_tables, "_summed")
def coarse_tables_are_cut_not_summed(honest, cells, merges):
    for axis, merge in enumerate(merges):
        if merge is not None:
            order, firsts = merge
            cells = cells.take(order[firsts], axis)
    return cells.reshape(-1)


@instead_of(ExactTables, "count")
def kept_tables_are_told_apart_by_their_columns_alone(honest, self, tables):
    names = {number: name for (name, _), number in self._numbers.items()}
    kept = {tuple(names[number] for number in key): cells for key, cells in self._tables.items()}
    places = [kept.get(tuple(name for name, _ in table)) for table in tables]
    found = zip(honest(self, tables), places, strict=True)
    return [cells if other is None else np.resize(other, cells.size) for cells, other in found]


@instead_of(Selecting, "run")
def epsilon_is_chosen_from_the_rows(honest, mechanism, curator, schema, budget, rng):
    return honest(mechanism, curator, schema, budget / (1 + rows_behind(curator).rows % 2), rng)


USUAL = (SELECTING,)
BUGS = (
    *seen_by(SELECTING, tables_of_an_earlier_release_are_taken_for_this_one),
    *seen_by(
        ADAPTIVE,
        the_best_of_the_accepted_is_chosen,
        scores_are_shares_of_the_true_number_of_rows,
        tables_of_an_earlier_release_are_taken_for_this_one,
        within=16,
    ),
    *seen_by(DEAR, sure_choices_are_not_drawn, within=2),
)
