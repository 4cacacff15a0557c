"""Bugs of adaptive mechanisms and their room, planted one by one: record and replay flags each of them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from helpers.audits import flags_of
from lapwing.audit.bits import PlaybackBits, RecordingBits
from lapwing.budget.budget import Budget
from lapwing.curator import room as rooms
from lapwing.curator.select_worst import misfit_scores
from lapwing.mechanisms import adaptive
from lapwing.mechanisms.adaptive import Adaptive
from lapwing.mechanisms.steps.resolved_columns import one_way_table
from lapwing.release.select_worst import SelectWorst

TIMES = 1000
"""Times a budget of one: with less, noise drowns the generated tables, and no pair is measured."""

PAIRS = 64


def peeking(patch):
    """Let a mechanism keep hold of its curator; return a function that gives the private rows."""
    held = []
    honest = adaptive.ask_one_way

    def ask(curator, *rest):
        held.append(curator)
        return honest(curator, *rest)

    patch.setattr(adaptive, "ask_one_way", ask)
    return lambda: held[-1]._source


def scores(asking, question):
    """Return the exact scores of a selection, which no mechanism may know."""
    room = asking.curator
    return misfit_scores(question, room._counted.cells(question, room._source))


# --------------------------------------------------------------------------------------- the mechanism sees the rows


def the_one_way_share_follows_the_true_number_of_rows(patch):
    source, honest = peeking(patch), adaptive.one_way_share
    patch.setattr(adaptive, "one_way_share", lambda share, _, *rest: honest(share, float(source().rows), *rest))


def the_true_number_of_rows_is_released(patch):
    source = peeking(patch)
    patch.setattr(adaptive, "pooled_total", lambda tables, public_rows: float(source().rows))


def particles_follow_the_true_number_of_rows(patch):
    source, honest = peeking(patch), adaptive.tree_fit
    patch.setattr(adaptive, "tree_fit", lambda *rest, size: honest(*rest, size=size + source().rows))


def public_randomness_follows_the_rows(patch):
    source, honest = peeking(patch), adaptive.tree_fit

    def fit(columns, edges, total, rng, **size):
        return honest(columns, edges, total, np.random.default_rng(source().rows), **size)

    patch.setattr(adaptive, "tree_fit", fit)


def groups_are_made_from_exact_one_way_tables(patch):
    source = peeking(patch)

    def table(answers):
        question = answers[0].question
        (exact,) = source().count([tuple(zip(question.columns, question.groupings, strict=True))])
        return replace(one_way_table(answers), counts=exact.astype(np.float64))

    patch.setattr(adaptive, "one_way_table", table)


def exact_tables_of_the_room_become_estimates(patch):
    honest = adaptive._Asking.choose

    def choose(self, candidates, counts, cost):
        question = candidates.question(counts, 0.0, cost)
        exact = self.curator._counted.cells(question, self.curator._source)
        return honest(self, candidates, exact[candidates.places].astype(np.float64), cost)

    patch.setattr(adaptive._Asking, "choose", choose)


def rounds_stop_early_on_an_exact_score(patch):
    honest = adaptive._measured_round

    def measured(asking, fit, tables, step, left, *, wanted):
        candidates = adaptive.candidates_of(asking.columns, tables)
        question = candidates.question(fit.counts(tables), 0.0, step)
        if scores(asking, question).max() < 3:
            return [], Budget(left.notion, Fraction(0))
        return honest(asking, fit, tables, step, left, wanted=wanted)

    patch.setattr(adaptive, "_measured_round", measured)


def the_runner_up_of_one_draw_is_measured_too(patch):
    honest = adaptive._Asking.choose

    def choose(self, candidates, counts, cost):
        choice, rest = honest(self, candidates, counts, cost)
        exact = scores(self, candidates.question(counts, 0.0, cost))
        exact[choice] = exact.min()
        return int(exact.argmax()), rest

    patch.setattr(adaptive._Asking, "choose", choose)


# ------------------------------------------------------------------------------------------- the room counts wrongly


def without_refusals(patch):
    """Let the room answer whatever it costs."""
    patch.setattr(rooms.Room, "_charge", lambda self, questions: None)


def selections_are_not_charged(patch):
    without_refusals(patch)
    honest = adaptive._Asking.choose
    patch.setattr(adaptive._Asking, "choose", lambda self, *rest: (honest(self, *rest)[0], rest[-1]))


def the_last_question_pays_more_than_is_left(patch):
    without_refusals(patch)
    honest = adaptive._Asking.measure
    patch.setattr(adaptive._Asking, "measure", lambda self, table, cost: honest(self, table, cost * Fraction(9, 8)))


def a_selection_is_drawn_with_the_sensitivity_of_one_row(patch):
    honest = rooms.answer_select_worst

    def answer(questions, source, terms, bits, known):
        return honest(questions, source, replace(terms, max_rows=1, relation="add-remove"), bits, known)

    patch.setattr(rooms, "answer_select_worst", answer)


def a_selection_stays_out_of_the_record(patch):
    honest = rooms.Room._answered

    def answered(self, questions):
        if questions and isinstance(questions[0], SelectWorst):
            honest(self, questions)
        return honest(self, questions)

    patch.setattr(rooms.Room, "_answered", answered)


def noise_of_a_selection_is_used_again(patch):
    words = []
    select, count = rooms.answer_select_worst, rooms.answer_marginal_counts

    def choose(questions, source, terms, bits, known):
        recording = RecordingBits(bits)
        answers = select(questions, source, terms, recording, known)
        words.append(recording.playback())
        return answers

    def measure(questions, source, terms, bits):
        again = Again(words.pop(), bits) if words else bits
        return count(questions, source, terms, again)

    patch.setattr(rooms, "answer_select_worst", choose)
    patch.setattr(rooms, "answer_marginal_counts", measure)


class Again:
    """Give the words of an earlier question once more, then fresh ones."""

    def __init__(self, old: PlaybackBits, fresh):
        self.old, self.fresh = old, fresh

    def words(self, count):
        return self.old.words(count) if count <= self.old.left else self.fresh.words(count)


BUGS = [
    the_one_way_share_follows_the_true_number_of_rows,
    the_true_number_of_rows_is_released,
    particles_follow_the_true_number_of_rows,
    public_randomness_follows_the_rows,
    groups_are_made_from_exact_one_way_tables,
    exact_tables_of_the_room_become_estimates,
    rounds_stop_early_on_an_exact_score,
    the_runner_up_of_one_draw_is_measured_too,
    selections_are_not_charged,
    the_last_question_pays_more_than_is_left,
    a_selection_is_drawn_with_the_sensitivity_of_one_row,
    a_selection_stays_out_of_the_record,
    noise_of_a_selection_is_used_again,
]


@pytest.mark.parametrize("plant", BUGS, ids=lambda plant: plant.__name__)
def test_a_bug_in_adaptive_is_flagged(plant, monkeypatch):
    # The share moves with the rows where noise is about as large as they are.
    times = 30 if plant is the_one_way_share_follows_the_true_number_of_rows else TIMES
    plant(monkeypatch)

    flags = flags_of(Adaptive.small(), pairs=PAIRS, times=times)

    assert flags


def test_honest_releases_are_not_flagged_on_the_same_pairs():
    assert flags_of(Adaptive.small(), pairs=PAIRS, times=TIMES) == ()
