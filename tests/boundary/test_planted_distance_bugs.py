"""Bugs of bought evaluations, planted one by one: record and replay flags each of them."""

from dataclasses import replace

import numpy as np
import pytest

import lapwing.kernel.questions.table_distances.answer as room
from helpers.distance_runs import flags_of_evaluations
from helpers.peeking import rows_behind
from lapwing.extras.evaluate import bought as running
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.questions.table_distances.question import TableDistances


def with_sensitivity(patch, change):
    """Let questions be calibrated wrongly: for ``change(question, honest change, relation, max_rows)``."""
    honest = TableDistances.sensitivity

    def sensitivity(self, relation, max_rows):
        wrong = max(1, change(self, honest(self, relation, max_rows).l1, relation, max_rows))
        return Sensitivity(wrong, wrong**2)

    patch.setattr(TableDistances, "sensitivity", sensitivity)


def with_noise(patch, change):
    honest = room.noise_of
    patch.setattr(room, "noise_of", lambda law, size, bits: change(honest(law, size, bits)))


def with_distances(patch, change):
    """Let the room sum up wrongly: ``change(honest, questions, source)``."""
    honest = room.exact_distances
    patch.setattr(room, "exact_distances", lambda questions, source: change(honest, questions, source))


def the_sensitivity_is_halved(patch):
    with_sensitivity(patch, lambda question, change, *terms: change // 2)


def the_scale_is_forgotten_in_the_sensitivity(patch):
    with_sensitivity(patch, lambda question, change, *terms: change >> question.bits)


def the_scale_is_forgotten_in_the_counts(patch):
    honest = room._distance

    def distance(question, totals):
        return honest(question, [total // 2**question.bits for total in totals])

    patch.setattr(room, "_distance", distance)


def tables_are_calibrated_as_one(patch):
    with_sensitivity(patch, lambda question, change, *terms: change // len(question.tables))


def a_row_replaced_counts_as_one_added(patch):
    with_sensitivity(patch, lambda question, change, relation, rows: rows * question.scale)


def a_unit_counts_as_one_row(patch):
    with_sensitivity(patch, lambda question, change, relation, rows: change // rows)


def the_first_table_is_counted_twice(patch):
    def change(honest, questions, source):
        first = [
            replace(each, tables=each.tables[:1], cells=each.cells[:1], expected=each.expected[:1])
            for each in questions
        ]
        return [one + other for one, other in zip(honest(questions, source), honest(first, source), strict=True)]

    with_distances(patch, change)


def rows_in_cells_that_are_not_listed_are_forgotten(patch):
    honest = room._distance

    def distance(question, totals):
        return honest(question, [np.append(total[:-1], 0) for total in totals])

    patch.setattr(room, "_distance", distance)


def shares_are_of_the_exact_number_of_rows(patch):
    honest = running._number_of_rows

    def number_of_rows(asked, terms, costs):
        counted, _, error = honest(asked, terms, costs)
        return counted, max(1, rows_behind(asked).rows), error

    patch.setattr(running, "_number_of_rows", number_of_rows)


def the_noise_is_halved(patch):
    with_noise(patch, lambda noise: noise // 2)


def the_noise_is_rounded_to_rows(patch):
    with_noise(patch, lambda noise: noise >> 16 << 16)


def there_is_no_noise_on_a_distance_of_zero(patch):
    honest = room._perturbed

    def perturbed(question, exact, terms, bits):
        answer = honest(question, exact, terms, bits)
        return replace(answer, values=answer.values * (exact > len(question.tables) << question.bits + 1))

    patch.setattr(room, "_perturbed", perturbed)


def distances_are_never_negative(patch):
    honest = room._perturbed

    def perturbed(question, exact, terms, bits):
        answer = honest(question, exact, terms, bits)
        return replace(answer, values=np.maximum(answer.values, 0))

    patch.setattr(room, "_perturbed", perturbed)


def all_questions_share_their_noise(patch):
    drawn = {}
    honest = room.noise_of

    def noise_of(law, size, bits):
        drawn.setdefault("noise", honest(law, size, bits))
        return drawn["noise"]

    patch.setattr(room, "noise_of", noise_of)


def the_error_of_the_rows_is_the_exact_one(patch):
    honest = running._number_of_rows

    def number_of_rows(asked, terms, costs):
        counted, rows, _ = honest(asked, terms, costs)
        return counted, rows, abs(rows_behind(asked).rows - rows)

    patch.setattr(running, "_number_of_rows", number_of_rows)


BUGS = [
    the_sensitivity_is_halved,
    the_scale_is_forgotten_in_the_sensitivity,
    the_scale_is_forgotten_in_the_counts,
    tables_are_calibrated_as_one,
    a_row_replaced_counts_as_one_added,
    a_unit_counts_as_one_row,
    the_first_table_is_counted_twice,
    rows_in_cells_that_are_not_listed_are_forgotten,
    shares_are_of_the_exact_number_of_rows,
    the_noise_is_halved,
    the_noise_is_rounded_to_rows,
    there_is_no_noise_on_a_distance_of_zero,
    distances_are_never_negative,
    all_questions_share_their_noise,
    the_error_of_the_rows_is_the_exact_one,
]


# Where a mistake shows soonest: rows move far where more is expected than there is, and in single columns.
WHERE = {
    a_row_replaced_counts_as_one_added: {"relations": ("replace-one",), "ways": (1,), "expected_rows": 1000},
    tables_are_calibrated_as_one: {"times": 1, "relations": ("add-remove",)},
    distances_are_never_negative: {"times": 1, "ways": (1,), "expected_rows": None},
}


@pytest.mark.parametrize("plant", BUGS)
def test_a_bug_is_flagged(plant, monkeypatch):
    plant(monkeypatch)

    assert flags_of_evaluations(pairs=20, until_flagged=True, **WHERE.get(plant, {}))
