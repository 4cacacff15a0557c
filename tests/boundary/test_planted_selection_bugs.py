"""Bugs of selections, as published code has them, planted one by one: record and replay flags each of them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import lapwing.kernel.questions.select_worst.answer as answering
from helpers.audits import flags_of
from helpers.peeking import rows_behind
from helpers.selections import Selecting, scores_of
from helpers.swapped import swapped
from lapwing.kernel.noise.bernoulli import bernoulli_exp_multiples
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.noise.selection import exponential_mechanism, uniform_below
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.questions.select_worst.question import Selected, SelectWorst
from lapwing.rows.exact_tables import ExactTables


def with_scores(patch, change):
    """Let the room score wrongly: ``change(question, exact)``."""
    patch.setattr(answering, "misfit_sums", change)


def with_draw(patch, change):
    """Let the room draw wrongly: ``change(scores, epsilon, sensitivity, bits)``; the audit keeps the true draw."""
    patch.setattr(answering, "exponential_mechanism", change)


def half_is_charged(patch):
    patch.setattr(SelectWorst, "cost", property(lambda self, honest=SelectWorst.cost: honest.fget(self) / 2))


def the_bounded_range_price_under_pure_epsilon(patch):
    def cost(self):
        from lapwing.kernel.budget.budget import Budget

        return Budget(self.notion, self.epsilon**2 / 8)

    patch.setattr(SelectWorst, "cost", property(cost))


def scores_against_the_true_number_of_rows(patch):
    honest = answering.misfit_sums

    def change(question, exact):
        sums = np.add.reduceat(np.maximum(question.estimates, 0), question.offsets[:-1])
        rows = np.add.reduceat(exact, question.offsets[:-1])
        scale = np.repeat(rows / np.maximum(sums, 1), np.diff(question.offsets))
        scaled = np.where(question.estimates < 0, -1, np.rint(question.estimates * scale)).astype(np.int64)
        return honest(replace(question, estimates=scaled), exact)

    with_scores(patch, change)


def the_best_score_without_noise(patch):
    with_draw(patch, lambda scores, epsilon, sensitivity, bits: int(scores.argmax()))


def a_draw_at_twice_the_epsilon(patch):
    with_draw(patch, lambda scores, epsilon, *rest: exponential_mechanism(scores, 2 * epsilon, *rest))


def sensitivity_one_whatever_the_relation(patch):
    patch.setattr(SelectWorst, "sensitivity", lambda self, relation, max_rows: Sensitivity(1, 1))


def sensitivity_one_in_the_draw_alone(patch):
    with_draw(patch, lambda scores, epsilon, _, bits: exponential_mechanism(scores, epsilon, 1, bits))


def the_best_two_of_one_noisy_ranking(patch):
    honest = answering.answer_select_worst

    def change(questions, rows, terms, bits):
        if len(questions) < 2:
            return honest(questions, rows, terms, bits)
        asked = questions[0]
        bound = asked.sensitivity(terms.relation, terms.max_rows).l1
        scores = scores_of(asked, rows.tables)
        noisy = scores + discrete_laplace(2 * bound / asked.epsilon, scores.size, bits)
        best = np.argsort(-noisy, kind="stable")[: len(questions)].tolist()
        return tuple(Selected(question, choice, bound) for question, choice in zip(questions, best, strict=True))

    swapped(patch, "SelectWorst", lambda _: change)


def permute_and_flip_at_the_price_of_bounded_range(patch):
    def change(scores, epsilon, sensitivity, bits):
        left = list(range(scores.size))
        while True:
            choice = left.pop(int(uniform_below(len(left), 1, bits)[0]))
            rare = int(scores.max() - scores[choice]) * epsilon / (2 * sensitivity)
            if answering_accepts(rare, bits):
                return choice

    with_draw(patch, change)


def answering_accepts(exponent, bits):
    return not exponent or bool(bernoulli_exp_multiples(np.ones(1, dtype=np.uint64), exponent, bits)[0])


def misfits_are_looked_at(patch):
    def change(question, exact):
        return np.add.reduceat(np.abs(exact - question.estimates), question.offsets[:-1])

    with_scores(patch, change)


def empty_cells_are_skipped(patch):
    def change(question, exact):
        gaps = np.where((exact == 0) | (question.estimates < 0), 0, np.abs(exact - question.estimates))
        return np.add.reduceat(gaps, question.offsets[:-1])

    with_scores(patch, change)


def penalties_are_forgotten(patch):
    honest = answering.misfit_sums
    with_scores(patch, lambda question, exact: honest(question, exact) + question.penalties)


def tables_of_an_earlier_release_are_taken_for_this_one(patch):
    honest, kept = ExactTables.__init__, ({}, {})

    def change(self, source, most_cells):
        honest(self, source, most_cells)
        self._numbers, self._tables = kept

    def keep(self, *choices):
        kept[1].update(choices[0])

    patch.setattr(ExactTables, "__init__", change)
    patch.setattr(ExactTables, "_keep", keep)


def coarse_tables_are_cut_not_summed(patch):
    def change(cells, merges):
        for axis, merge in enumerate(merges):
            if merge is not None:
                order, firsts = merge
                cells = cells.take(order[firsts], axis)
        return cells.reshape(-1)

    patch.setattr("lapwing.rows.exact_tables._summed", change)


def kept_tables_are_told_apart_by_their_columns_alone(patch):
    honest = ExactTables.count

    def change(self, tables):
        found = honest(self, tables)
        names = {number: name for (name, _), number in self._numbers.items()}
        kept = {tuple(names[number] for number in key): cells for key, cells in self._tables.items()}
        places = [kept.get(tuple(name for name, _ in table)) for table in tables]
        return [
            cells if other is None else np.resize(other, cells.size) for cells, other in zip(found, places, strict=True)
        ]

    patch.setattr(ExactTables, "count", change)


ROOM_BUGS = [
    half_is_charged,
    the_bounded_range_price_under_pure_epsilon,
    scores_against_the_true_number_of_rows,
    the_best_score_without_noise,
    a_draw_at_twice_the_epsilon,
    sensitivity_one_whatever_the_relation,
    sensitivity_one_in_the_draw_alone,
    the_best_two_of_one_noisy_ranking,
    permute_and_flip_at_the_price_of_bounded_range,
    misfits_are_looked_at,
    empty_cells_are_skipped,
    penalties_are_forgotten,
    tables_of_an_earlier_release_are_taken_for_this_one,
    coarse_tables_are_cut_not_summed,
    kept_tables_are_told_apart_by_their_columns_alone,
]


@pytest.mark.parametrize("plant", ROOM_BUGS, ids=lambda plant: plant.__name__)
def test_a_bug_in_a_selection_is_flagged(plant, monkeypatch):
    plant(monkeypatch)

    flags = flags_of(Selecting())

    assert flags


def test_honest_selections_are_not_flagged_on_the_same_pairs():
    assert flags_of(Selecting(), pairs=16) == ()


@dataclass(frozen=True)
class Peeking(Selecting):
    """Look at the exact scores to choose epsilon."""

    def run(self, curator, schema, budget, rng):
        return super().run(curator, schema, budget / (1 + rows_behind(curator).rows % 2), rng)


def test_a_mechanism_that_chooses_its_epsilon_from_the_rows_is_flagged():
    assert flags_of(Peeking(), pairs=80, relations=("add-remove",))
