"""Bugs of lists of texts, as published code has them, planted one by one: record and replay flags each of them."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import lapwing.kernel.questions.category_selection.answer as room
from helpers.category_runs import TINY, asked_lists, flags_of_lists
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity, row_sensitivity
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.room.room import Room
from lapwing.rows.source import _Again


def with_threshold(patch, change):
    """Let counts be shown from elsewhere on: ``change(honest threshold, law, max_rows)``."""
    honest = CategorySelection.threshold

    def threshold(self, relation, max_rows):
        return change(honest(self, relation, max_rows), self.noise(relation, max_rows), max_rows)

    patch.setattr(CategorySelection, "threshold", threshold)


def with_noise(patch, change):
    """Let noise be drawn wrongly: ``change(honest noise)``."""
    honest = room.noise_of
    patch.setattr(room, "noise_of", lambda law, size, bits: change(honest(law, size, bits)))


def with_answer(patch, change):
    """Let the room choose wrongly: ``change(question, exact, noisy, law, threshold)`` gives texts and counts."""

    def selected(question, exact, terms, bits):
        law = question.noise(terms.relation, terms.max_rows)
        threshold = question.threshold(terms.relation, terms.max_rows)
        noise = room.noise_of(law, len(exact), bits).tolist()
        noisy = {text: count + drawn for (text, count), drawn in zip(exact.items(), noise, strict=True)}
        shown = sorted(change(question, exact, noisy, threshold).items())
        counts = np.array([count for _, count in shown], dtype=np.int64)
        return SelectedTexts(question, tuple(text for text, _ in shown), counts, law, threshold)

    patch.setattr(room, "_selected", selected)


def kept(question, noisy, threshold, order):
    """Return what reaches the threshold, the first so many by an order."""
    named = sorted(((text, count) for text, count in noisy.items() if count >= threshold), key=order)
    return dict(named[: question.most])


# --------------------------------------------------------------------------------------------------- the threshold


def the_threshold_is_a_deviation_too_low(patch):
    with_threshold(patch, lambda honest, law, rows: honest - math.ceil(law.sd))


def the_threshold_is_one_too_low(patch):
    with_threshold(patch, lambda honest, law, rows: honest - 1)


def the_threshold_is_one_too_high(patch):
    with_threshold(patch, lambda honest, law, rows: honest + 1)


def the_threshold_hides_a_unit_of_one_row_only(patch):
    honest = room.CategorySelection.threshold
    patch.setattr(CategorySelection, "threshold", lambda self, relation, rows: honest(self, relation, 1) + rows - 1)


def the_threshold_hides_one_text_of_a_unit_only(patch):
    def threshold(honest, law, rows):
        tail = math.ceil(law.sd * 3)
        return min(honest - 1, rows + tail) if rows > 1 else honest

    with_threshold(patch, threshold)


def the_threshold_is_for_another_delta(patch):
    honest = CategorySelection.threshold
    patch.setattr(
        CategorySelection,
        "threshold",
        lambda self, relation, rows: honest(replace(self, delta=self.delta * 1000), relation, rows),
    )


def the_threshold_depends_on_the_number_of_rows(patch):
    honest = room._selected

    def selected(question, exact, terms, bits):
        answer = honest(question, exact, terms, bits)
        least = max(answer.threshold, sum(exact.values()) // 10)
        reaches = answer.counts >= least
        texts = tuple(text for text, stays in zip(answer.texts, reaches.tolist(), strict=True) if stays)
        return SelectedTexts(question, texts, answer.counts[reaches], answer.noise, least)

    patch.setattr(room, "_selected", selected)


def the_threshold_is_for_the_number_of_texts(patch):
    honest = room._selected

    def selected(question, exact, terms, bits):
        shared = replace(question, delta=question.delta / max(len(exact), 1))
        answer = honest(shared, exact, terms, bits)
        return SelectedTexts(question, answer.texts, answer.counts, answer.noise, answer.threshold)

    patch.setattr(room, "_selected", selected)


# ------------------------------------------------------------------------------------------------------- the noise


def there_is_no_noise(patch):
    with_noise(patch, lambda noise: noise * 0)


def the_noise_is_halved(patch):
    with_noise(patch, lambda noise: noise // 2)


def the_noise_is_never_negative(patch):
    with_noise(patch, np.abs)


def all_texts_share_their_noise(patch):
    with_noise(patch, lambda noise: np.repeat(noise[:1], noise.size))


def prefixes_and_whole_texts_share_their_noise(patch):
    drawn, honest = [], room.noise_of

    def noise_of(law, size, bits):
        fresh = honest(law, size, bits)
        if not size:
            return fresh
        drawn.append(fresh)
        return np.resize(drawn[-2], size) if len(drawn) % 2 == 0 else fresh

    patch.setattr(room, "noise_of", noise_of)


def half_the_noise_is_declared(patch):
    honest = CategorySelection.noise

    def noise(self, relation, max_rows):
        law = honest(self, relation, max_rows)
        return NoiseLaw(law.kind, law.parameter / 2)

    patch.setattr(CategorySelection, "noise", noise)


def a_unit_counts_as_one_row(patch):
    patch.setattr(CategorySelection, "sensitivity", lambda self, relation, rows: row_sensitivity(relation, 1))


def a_row_replaced_counts_as_one_added(patch):
    patch.setattr(CategorySelection, "sensitivity", lambda self, relation, rows: Sensitivity(rows, rows**2))


def no_noise_is_drawn_for_rare_texts(patch):
    honest = room._selected

    def selected(question, exact, terms, bits):
        return honest(question, {text: count for text, count in exact.items() if count > 1}, terms, bits)

    patch.setattr(room, "_selected", selected)


# ------------------------------------------------------------------------------------------------------ the choice


def the_threshold_is_compared_with_exact_counts(patch):
    def change(question, exact, noisy, threshold):
        reaching = {text: max(noisy[text], threshold) for text, count in exact.items() if count >= threshold}
        return kept(question, reaching, threshold, lambda each: (-each[1], each[0]))

    with_answer(patch, change)


def the_most_frequent_text_is_always_shown(patch):
    def change(question, exact, noisy, threshold):
        if exact:
            first = max(exact, key=exact.get)
            noisy = noisy | {first: max(noisy[first], threshold)}
        return kept(question, noisy, threshold, lambda each: (-each[1], each[0]))

    with_answer(patch, change)


def a_text_below_the_threshold_is_shown(patch):
    def change(question, exact, noisy, threshold):
        raised = {text: threshold if count == threshold - 1 else count for text, count in noisy.items()}
        return kept(question, raised, threshold, lambda each: (-each[1], each[0]))

    with_answer(patch, change)


def the_first_are_chosen_by_their_exact_counts(patch):
    def change(question, exact, noisy, threshold):
        return kept(question, noisy, threshold, lambda each: (-exact[each[0]], each[0]))

    with_answer(patch, change)


def ties_are_broken_by_exact_counts(patch):
    def change(question, exact, noisy, threshold):
        return kept(question, noisy, threshold, lambda each: (-each[1], exact[each[0]], each[0]))

    with_answer(patch, change)


def exact_counts_are_shown(patch):
    def change(question, exact, noisy, threshold):
        chosen = kept(question, noisy, threshold, lambda each: (-each[1], each[0]))
        return {text: max(exact[text], threshold) for text in chosen}

    with_answer(patch, change)


# ---------------------------------------------------------------------------------------------------- the counting


def rows_that_truncation_dropped_are_counted(patch):
    patch.setattr(_Again, "texts", lambda self, column: self.rows.texts(column))


def texts_for_missing_are_listed(patch):
    honest = room.listable_counts
    patch.setattr(room, "listable_counts", lambda question, texts, missing: honest(question, texts, ()))


def texts_that_cannot_be_printed_are_listed(patch):
    patch.setattr(room, "can_be_listed", lambda text: True)


def rows_count_for_a_prefix_and_for_the_whole_text(patch):
    honest = room.listable_counts

    def listable(question, texts, missing):
        both = honest(question, texts, missing)
        whole = honest(replace(question, prefix=None), texts, missing)
        return {text: both.get(text, 0) + whole.get(text, 0) for text in sorted({*both, *whole})}

    patch.setattr(room, "listable_counts", listable)


def texts_are_compared_without_case(patch):
    honest = room.exact_texts

    def exact_texts(column, source):
        counts = honest(column, source)
        first = {}
        for text in counts:
            first.setdefault(text.lower(), text)
        return room.Counter(first[text.lower()] for text in counts.elements())

    patch.setattr(room, "exact_texts", exact_texts)


BUGS = [
    the_threshold_is_a_deviation_too_low,
    the_threshold_is_one_too_low,
    the_threshold_is_one_too_high,
    the_threshold_hides_a_unit_of_one_row_only,
    the_threshold_hides_one_text_of_a_unit_only,
    the_threshold_is_for_another_delta,
    the_threshold_depends_on_the_number_of_rows,
    the_threshold_is_for_the_number_of_texts,
    there_is_no_noise,
    the_noise_is_halved,
    the_noise_is_never_negative,
    all_texts_share_their_noise,
    prefixes_and_whole_texts_share_their_noise,
    half_the_noise_is_declared,
    a_unit_counts_as_one_row,
    a_row_replaced_counts_as_one_added,
    no_noise_is_drawn_for_rare_texts,
    the_threshold_is_compared_with_exact_counts,
    the_most_frequent_text_is_always_shown,
    a_text_below_the_threshold_is_shown,
    the_first_are_chosen_by_their_exact_counts,
    ties_are_broken_by_exact_counts,
    exact_counts_are_shown,
    rows_that_truncation_dropped_are_counted,
    texts_for_missing_are_listed,
    texts_that_cannot_be_printed_are_listed,
    rows_count_for_a_prefix_and_for_the_whole_text,
    texts_are_compared_without_case,
]


# Where the choice of the first ones matters: many texts reach the threshold, with noise that changes their order.
CROWDED = {"times": 4, "most": (1, 2), "frequent": (60, 61, 62), "rows_per_unit": (1,)}
WHERE = {ties_are_broken_by_exact_counts: CROWDED, the_first_are_chosen_by_their_exact_counts: CROWDED}


@pytest.mark.parametrize("plant", BUGS)
def test_a_bug_is_flagged(plant, monkeypatch):
    plant(monkeypatch)

    assert flags_of_lists(pairs=60, **WHERE.get(plant, {}))


def test_a_delta_that_is_not_charged_is_flagged(monkeypatch):
    def charge(self, questions):
        for question in questions:
            self._spent = self._spent + question.cost

    monkeypatch.setattr(Room, "_charge", charge)

    flags = flags_of_lists(pairs=1, selection_delta=TINY)

    assert "the lists of texts have a delta of 1/500000000, the claim is 1/1000000000" in flags


def test_a_certificate_that_tells_less_delta_is_flagged():
    def run(*given, **places):
        made = asked_lists(*given, **places)
        return replace(made, certificate=replace(made.certificate, delta=TINY))

    assert flags_of_lists(pairs=1, run=run) == (
        "the certificate tells a delta of 1/1000000000, the lists of texts have 1/500000000",
    )


def looking(change):
    """Return a run whose settings depend on the rows."""

    def run(source, settings, *given, **places):
        return asked_lists(source, change(source, settings), *given, **places)

    return run


def as_many_as_occur(source, settings):
    texts = {text for chunk in source.texts("town") for text in chunk.to_list()}
    return replace(settings, most=(2, max(1, len(texts))))


def prefixes_as_long_as_the_longest_text(source, settings):
    longest = max((len(text or "") for chunk in source.texts("town") for text in chunk.to_list()), default=1)
    return replace(settings, prefixes=(1, min(max(longest, 1), 200)))


def a_delta_from_the_rows(source, settings):
    return replace(settings, delta=min(TINY, Fraction(1, 10**9 + source.rows)))


@pytest.mark.parametrize("change", [as_many_as_occur, prefixes_as_long_as_the_longest_text, a_delta_from_the_rows])
def test_a_run_that_looks_at_rows_is_flagged(change):
    assert flags_of_lists(pairs=40, run=looking(change))
