"""Bugs of adaptive mechanisms and their room."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from helpers.peeking import peeking, rows_behind
from helpers.planted_audits import replay, replay_of_gaps, replay_of_single_values
from helpers.planting import instead_of, instead_of_answers, nothing_is_charged, seen_by
from helpers.selections import exact_cells, scores_of
from lapwing.extras.audit.held import RecordingBits
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.room import room as rooms
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.mechanisms.adaptive import budget as costs
from lapwing.mechanisms.adaptive import mechanism as adaptive
from lapwing.mechanisms.adaptive import one_way as refined_columns
from lapwing.mechanisms.adaptive import rounds
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.rows.exact_tables import ExactTables

SMALL = Adaptive.small()
# With less budget, noise drowns the generated tables, and no pair is measured.
DEAR = replay(SMALL, times=1000)
# The share moves with the rows where noise is about as large as they are.
CHEAP = replay(SMALL, times=30)
OF_UNKNOWN_SIZE = replay(SMALL, times=30, expected_rows=None)
NARROW = replay(SMALL, relations=("add-remove",), rows_per_unit=(1,), times=100, expected_rows=None)
GAPS = [replay_of_gaps(way) for way in (1, -1)]
VALUES = [replay_of_single_values(way) for way in (1, -1)]


# --------------------------------------------------------------------------------------- the mechanism sees the rows


def the_one_way_share_follows_the_true_number_of_rows(patch):
    source, honest = peeking(patch), adaptive.divide_budget
    patch.setattr(
        adaptive,
        "divide_budget",
        lambda schema, budget, _, *rest: honest(schema, budget, float(max(1, source().rows)), *rest),
    )


@instead_of(adaptive, "public_or_noisy_rows")
def a_number_of_rows_is_bought_and_the_true_one_used(honest, curator, budget):
    return float(max(1, rows_behind(curator).rows)), honest(curator, budget)[1]


@instead_of(adaptive, "public_or_noisy_rows")
def the_number_of_rows_is_looked_up(honest, curator, budget):
    """Take the number of rows that steers the budget from the room, instead of buying it."""
    if isinstance(curator, ReplayCurator):
        return honest(curator, budget)
    return float(max(1, rows_behind(curator).rows)), budget


def the_true_number_of_rows_is_released(patch):
    source, honest = peeking(patch), adaptive.ask_columns
    patch.setattr(adaptive, "ask_columns", lambda *given: (honest(*given)[0], float(source().rows)))


def particles_follow_the_true_number_of_rows(patch):
    source, honest = peeking(patch), adaptive.initialize
    patch.setattr(adaptive, "initialize", lambda *rest, size, **more: honest(*rest, size=size + source().rows, **more))


def public_randomness_follows_the_rows(patch):
    source, honest = peeking(patch), adaptive.initialize

    def fit(columns, total, rng, **more):
        return honest(columns, total, np.random.default_rng(source().rows), **more)

    patch.setattr(adaptive, "initialize", fit)


def exactly(answer, source):
    """Return what an answer would be without noise."""
    question = answer.question
    (exact,) = source.count([tuple(zip(question.columns, question.groupings, strict=True))])
    return replace(answer, whole=exact)


def groups_are_made_from_exact_one_way_tables(patch):
    source, honest = peeking(patch), refined_columns.one_way_table
    patch.setattr(
        refined_columns, "one_way_table", lambda answers: honest([exactly(each, source()) for each in answers])
    )


def cells_of_the_second_stage_are_made_from_exact_counts(patch):
    source, honest = peeking(patch), refined_columns._finer_question

    def following(state, total, cost):
        return honest(replace(state, answers=tuple(exactly(each, source()) for each in state.answers)), total, cost)

    patch.setattr(refined_columns, "_finer_question", following)


def single_values_are_found_by_exact_counts(patch):
    source, honest = peeking(patch), refined_columns._continue_search

    def searched(state, total):
        return honest(replace(state, answers=(*state.answers[:-1], exactly(state.answers[-1], source()))), total)

    patch.setattr(refined_columns, "_continue_search", searched)


def the_empty_part_of_a_domain_is_looked_up(patch):
    source, honest = peeking(patch), refined_columns.denoised_masses

    def settled(stages, codes, total):
        seen = np.concatenate([values.astype(np.int64) for chunk in source().chunks() for values in chunk.values()])
        masses = honest(stages, codes, total)
        return np.where(refined_columns.finest_starts(stages) > seen[seen < codes].max(initial=0), 0.0, masses)

    patch.setattr(refined_columns, "denoised_masses", settled)


def tables_of_gaps_are_asked_only_where_something_is_missing(patch):
    source, honest = peeking(patch), costs._presence_costs

    def presence(usual, schema, *rest, **settings):
        places = {field.name: field.domain.last for field in schema.columns}
        gaps = sum(int((chunk[name] == last).sum()) for chunk in source().chunks() for name, last in places.items())
        return honest(usual, schema, *rest, **settings) if gaps else None

    patch.setattr(costs, "_presence_costs", presence)


def whole_question(hand):
    """Return the question which of a hand to measure, whatever was chosen before."""
    barred = np.zeros(len(hand._candidates.tables), dtype=bool)
    return hand._candidates.question(hand._estimates, 0.0, hand._asking.costs.table, barred)


def scores(asking, question):
    """Return the exact scores of a selection, which no mechanism may know."""
    return scores_of(question, ExactTables(rows_behind(asking.curator)))


@instead_of(rounds._Hand, "__init__")
def exact_tables_of_the_room_become_estimates(honest, hand, asking, candidates, fit):
    honest(hand, asking, candidates, fit)
    exact = exact_cells(whole_question(hand), ExactTables(rows_behind(asking.curator)))
    hand._estimates = candidates.estimates(exact[candidates.places].astype(np.float64))


def rounds_choose_less_on_an_exact_score(patch):
    new_hand = rounds._Hand

    @instead_of(rounds, "_choose")
    def chosen(honest, asking, fit, hands, left, *, tables, rounds):
        (hand,) = [new_hand(asking, candidates, fit) for candidates in hands]
        is_well = scores(asking, whole_question(hand)).max() < 3
        return honest(asking, fit, hands, left, tables=1 if is_well else tables, rounds=rounds)

    chosen(patch)


@instead_of(rounds._Hand, "take")
def the_runner_up_of_one_draw_is_measured_too(honest, hand, choice, taken):
    exact = scores(hand._asking, whole_question(hand))
    exact[choice] = exact.min()
    return honest(hand, int(exact.argmax()), taken)


# ------------------------------------------------------------------------------------------- the room counts wrongly


def selections_are_not_charged(patch):
    nothing_is_charged(patch)
    patch.setattr(SelectWorst, "cost", property(lambda self: Budget(self.notion, Fraction(0))))


def the_last_question_pays_more_than_is_left(patch):
    nothing_is_charged(patch)
    dearer = instead_of(rounds, "measurement")
    dearer(lambda honest, columns, table, cost: honest(columns, table, cost * Fraction(9, 8)))(patch)


def the_last_stage_of_a_wide_column_costs_twice_its_share(patch):
    @instead_of(refined_columns, "_last_question")
    def last(honest, *given):
        following = honest(*given)
        return replace(following, asked=tuple(replace(each, cost=each.cost * 2) for each in following.asked))

    nothing_is_charged(patch)
    last(patch)


@instead_of_answers("SelectWorst")
def a_selection_is_drawn_with_the_sensitivity_of_one_row(honest, questions, rows, terms, bits):
    return honest(questions, rows, replace(terms, max_rows=1, relation="add-remove"), bits)


@instead_of(rooms.Room, "_drawn")
def a_selection_stays_out_of_the_record(honest, room, kind, asked):
    if kind is SelectWorst:
        rooms.ANSWERS["SelectWorst"](asked, room._rows, room._terms, room._bits._bits)
    return honest(room, kind, asked)


def noise_of_a_selection_is_used_again(patch):
    words = []

    @instead_of_answers("SelectWorst")
    def choose(honest, questions, tables, terms, bits):
        recording = RecordingBits(bits)
        answers = honest(questions, tables, terms, recording)
        words.append(recording.playback())
        return answers

    class Again:
        """Give the words of an earlier question once more, then fresh ones."""

        def __init__(self, fresh):
            self.old, self.fresh = words.pop(), fresh

        def words(self, count):
            return self.old.words(count) if count <= self.old.left else self.fresh.words(count)

    @instead_of_answers("MarginalCounts")
    def measure(honest, questions, source, terms, bits):
        return honest(questions, source, terms, Again(bits) if words else bits)

    choose(patch)
    measure(patch)


@instead_of_answers("MarginalCounts")
def noise_stays_in_kept_tables(honest, questions, rows, *rest):
    answers, tables = honest(questions, rows, *rest), rows.tables
    for each in answers:
        axes = zip(each.question.columns, each.question.groupings, strict=True)
        key = tuple(tables._numbers.get(axis, -1) for axis in axes)
        if key in tables._tables:
            tables._tables[key] = each.counts.reshape(-1)
    return answers


USUAL = (DEAR,)
WITHIN = 64
BUGS = (
    *seen_by(CHEAP, the_one_way_share_follows_the_true_number_of_rows, within=64),
    *seen_by(OF_UNKNOWN_SIZE, a_number_of_rows_is_bought_and_the_true_one_used, within=64),
    *seen_by(NARROW, the_number_of_rows_is_looked_up, within=4),
    *seen_by(DEAR, rounds_choose_less_on_an_exact_score, first=18, within=64),
    *seen_by(GAPS, tables_of_gaps_are_asked_only_where_something_is_missing, within=1),
    *seen_by(VALUES, single_values_are_found_by_exact_counts, within=1),
)
