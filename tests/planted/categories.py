"""Bugs of lists of texts, as published code has them."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np

import lapwing.kernel.questions.category_selection.answer as room
from helpers import category_runs
from helpers.category_runs import TINY
from helpers.planted_audits import replay_of_lists
from helpers.planting import instead_of, seen_by
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity, row_sensitivity
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.room.room import Room
from lapwing.rows.source import _Again

LISTS = replay_of_lists()
# Where the choice of the first ones matters: many texts reach the threshold, with noise that changes their order.
CROWDED = replay_of_lists(times=4, most=(1, 2), frequent=(60, 61, 62), rows_per_unit=(1,))


# --------------------------------------------------------------------------------------------------- the threshold

thresholds = instead_of(CategorySelection, "threshold")
the_threshold_is_one_too_low = thresholds(lambda honest, *given: honest(*given) - 1)
the_threshold_is_one_too_high = thresholds(lambda honest, *given: honest(*given) + 1)
the_threshold_is_a_deviation_too_low = thresholds(
    lambda honest, question, *terms: honest(question, *terms) - math.ceil(question.noise(*terms).sd)
)
the_threshold_hides_a_unit_of_one_row_only = thresholds(
    lambda honest, question, relation, rows: honest(question, relation, 1) + rows - 1
)
the_threshold_is_for_another_delta = thresholds(
    lambda honest, question, *terms: honest(replace(question, delta=question.delta * 1000), *terms)
)


@thresholds
def the_threshold_hides_one_text_of_a_unit_only(honest, question, relation, rows):
    least, tail = honest(question, relation, rows), math.ceil(question.noise(relation, rows).sd * 3)
    return min(least - 1, rows + tail) if rows > 1 else least


selecting = instead_of(room, "_select")


@selecting
def the_threshold_depends_on_the_number_of_rows(honest, question, exact, terms, bits):
    answer = honest(question, exact, terms, bits)
    least = max(answer.threshold, sum(exact.values()) // 10)
    reaches = answer.counts >= least
    texts = tuple(text for text, stays in zip(answer.texts, reaches.tolist(), strict=True) if stays)
    return SelectedTexts(question, texts, answer.counts[reaches], answer.noise, least)


@selecting
def the_threshold_is_for_the_number_of_texts(honest, question, exact, *rest):
    answer = honest(replace(question, delta=question.delta / max(len(exact), 1)), exact, *rest)
    return SelectedTexts(question, answer.texts, answer.counts, answer.noise, answer.threshold)


# ------------------------------------------------------------------------------------------------------- the noise

drawing = instead_of(room, "noise_of")
there_is_no_noise = drawing(lambda draw, *given: draw(*given) * 0)
the_noise_is_halved = drawing(lambda draw, *given: draw(*given) // 2)
the_noise_is_never_negative = drawing(lambda draw, *given: np.abs(draw(*given)))
all_texts_share_their_noise = drawing(lambda draw, law, size, bits: np.repeat(draw(law, size, bits)[:1], size))


def prefixes_and_whole_texts_share_their_noise(patch):
    drawn = []

    def noise_of(honest, law, size, bits):
        fresh = honest(law, size, bits)
        if not size:
            return fresh
        drawn.append(fresh)
        return np.resize(drawn[-2], size) if len(drawn) % 2 == 0 else fresh

    drawing(noise_of)(patch)


@instead_of(CategorySelection, "noise")
def half_the_noise_is_declared(honest, *given):
    law = honest(*given)
    return NoiseLaw(law.kind, law.parameter / 2)


bounding = instead_of(CategorySelection, "sensitivity")
a_unit_counts_as_one_row = bounding(lambda honest, question, relation, rows: row_sensitivity(relation, 1))
a_row_replaced_counts_as_one_added = bounding(lambda honest, question, relation, rows: Sensitivity(rows, rows**2))


@selecting
def no_noise_is_drawn_for_rare_texts(honest, question, exact, *rest):
    return honest(question, {text: count for text, count in exact.items() if count > 1}, *rest)


# ------------------------------------------------------------------------------------------------------ the choice


def choosing(change):
    """Let the room choose wrongly: ``change(question, exact, noisy, threshold)`` gives texts and counts."""

    @selecting
    def selected(honest, question, exact, terms, bits):
        law = question.noise(terms.relation, terms.max_rows)
        threshold = question.threshold(terms.relation, terms.max_rows)
        noise = room.noise_of(law, len(exact), bits).tolist()
        noisy = {text: count + drawn for (text, count), drawn in zip(exact.items(), noise, strict=True)}
        shown = sorted(change(question, exact, noisy, threshold).items())
        counts = np.array([count for _, count in shown], dtype=np.int64)
        return SelectedTexts(question, tuple(text for text, _ in shown), counts, law, threshold)

    return selected


def first_ones(question, noisy, threshold, order=lambda each: (-each[1], each[0])):
    """Return what reaches the threshold, the first so many by an order."""
    named = sorted(((text, count) for text, count in noisy.items() if count >= threshold), key=order)
    return dict(named[: question.most])


@choosing
def the_threshold_is_compared_with_exact_counts(question, exact, noisy, threshold):
    reaching = {text: max(noisy[text], threshold) for text, count in exact.items() if count >= threshold}
    return first_ones(question, reaching, threshold)


@choosing
def the_most_frequent_text_is_always_shown(question, exact, noisy, threshold):
    if exact:
        first = max(exact, key=exact.get)
        noisy = noisy | {first: max(noisy[first], threshold)}
    return first_ones(question, noisy, threshold)


@choosing
def a_text_below_the_threshold_is_shown(question, exact, noisy, threshold):
    raised = {text: threshold if count == threshold - 1 else count for text, count in noisy.items()}
    return first_ones(question, raised, threshold)


@choosing
def the_first_are_chosen_by_their_exact_counts(question, exact, noisy, threshold):
    return first_ones(question, noisy, threshold, lambda each: (-exact[each[0]], each[0]))


@choosing
def ties_are_broken_by_exact_counts(question, exact, noisy, threshold):
    return first_ones(question, noisy, threshold, lambda each: (-each[1], exact[each[0]], each[0]))


@choosing
def exact_counts_are_shown(question, exact, noisy, threshold):
    return {text: max(exact[text], threshold) for text in first_ones(question, noisy, threshold)}


# ---------------------------------------------------------------------------------------------------- the counting

rows_that_truncation_dropped_are_counted = instead_of(_Again, "texts")(
    lambda honest, again, column: again.rows.texts(column)
)
listing = instead_of(room, "listable_counts")
texts_for_missing_are_listed = listing(lambda honest, question, texts, missing: honest(question, texts, ()))
texts_that_cannot_be_printed_are_listed = instead_of(room, "can_be_listed")(lambda honest, text: True)


@listing
def rows_count_for_a_prefix_and_for_the_whole_text(honest, question, *rest):
    both, whole = honest(question, *rest), honest(replace(question, prefix=None), *rest)
    return {text: both.get(text, 0) + whole.get(text, 0) for text in sorted({*both, *whole})}


@instead_of(room, "exact_texts")
def texts_are_compared_without_case(honest, *given):
    counts, first = honest(*given), {}
    for text in counts:
        first.setdefault(text.lower(), text)
    return Counter(first[text.lower()] for text in counts.elements())


# --------------------------------------------------------------------------------------------- the run and its papers


def a_delta_is_not_charged(patch):
    def charge(self, questions):
        for question in questions:
            self._spent = self._spent + question.cost

    patch.setattr(Room, "_charge", charge)


@instead_of(category_runs, "asked_lists")
def the_certificate_tells_less_delta(honest, *given, **places):
    made = honest(*given, **places)
    return replace(made, certificate=replace(made.certificate, delta=TINY))


def looking(change):
    """Let settings depend on the rows: ``change(source, settings)``."""
    return instead_of(category_runs, "asked_lists")(
        lambda honest, source, settings, *given, **places: honest(source, change(source, settings), *given, **places)
    )


@looking
def as_many_are_listed_as_occur(source, settings):
    texts = {text for chunk in source.texts("town") for text in chunk.to_list()}
    return replace(settings, most=(2, max(1, len(texts))))


@looking
def prefixes_are_as_long_as_the_longest_text(source, settings):
    longest = max((len(text or "") for chunk in source.texts("town") for text in chunk.to_list()), default=1)
    return replace(settings, prefixes=(1, min(max(longest, 1), 200)))


@looking
def the_delta_is_from_the_rows(source, settings):
    return replace(settings, delta=min(TINY, Fraction(1, 10**9 + source.rows)))


USUAL = (LISTS,)
WITHIN = 480
BUGS = (
    *seen_by(CROWDED, the_first_are_chosen_by_their_exact_counts, ties_are_broken_by_exact_counts, within=240),
    *seen_by(
        replay_of_lists(selection_delta=TINY),
        a_delta_is_not_charged,
        within=8,
        says="the lists of texts have a delta of 1/500000000, the claim is 1/1000000000",
    ),
    *seen_by(
        LISTS,
        the_certificate_tells_less_delta,
        within=8,
        says="the certificate tells a delta of 1/1000000000, the lists of texts have 1/500000000",
    ),
)
