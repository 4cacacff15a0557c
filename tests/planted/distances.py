"""Bugs of bought evaluations."""

from dataclasses import replace

import numpy as np

import lapwing.kernel.questions.table_distances.answer as room
from helpers.peeking import rows_behind
from helpers.planted_audits import replay_of_evaluations
from helpers.planting import instead_of, seen_by
from lapwing.extras.evaluate import bought as running
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.questions.table_distances.question import TableDistances

EVALUATIONS = replay_of_evaluations()


def bounding(change):
    """Let questions be calibrated wrongly: for ``change(question, honest change, relation, max_rows)``."""

    @instead_of(TableDistances, "sensitivity")
    def sensitivity(honest, question, *terms):
        wrong = max(1, change(question, honest(question, *terms).l1, *terms))
        return Sensitivity(wrong, wrong**2)

    return sensitivity


the_sensitivity_is_halved = bounding(lambda question, change, *terms: change // 2)
the_scale_is_forgotten_in_the_sensitivity = bounding(lambda question, change, *terms: change >> question.bits)
tables_are_calibrated_as_one = bounding(lambda question, change, *terms: change // len(question.tables))
a_row_replaced_counts_as_one_added = bounding(lambda question, change, relation, rows: rows * question.scale)
a_unit_counts_as_one_row = bounding(lambda question, change, relation, rows: change // rows)

summing = instead_of(room, "_distance")
the_scale_is_forgotten_in_the_counts = summing(
    lambda honest, question, totals: honest(question, [total // 2**question.bits for total in totals])
)
rows_in_cells_that_are_not_listed_are_forgotten = summing(
    lambda honest, question, totals: honest(question, [np.append(total[:-1], 0) for total in totals])
)


@instead_of(room, "exact_distances")
def the_first_table_is_counted_twice(honest, questions, source):
    first = [
        replace(each, tables=each.tables[:1], cells=each.cells[:1], expected=each.expected[:1]) for each in questions
    ]
    return [one + other for one, other in zip(honest(questions, source), honest(first, source), strict=True)]


drawing = instead_of(room, "noise_of")
the_noise_is_halved = drawing(lambda draw, *given: draw(*given) // 2)
the_noise_is_rounded_to_rows = drawing(lambda draw, *given: draw(*given) >> 16 << 16)


def all_questions_share_their_noise(patch):
    drawn = []

    def noise_of(honest, *given):
        drawn.append(honest(*given))
        return drawn[0]

    drawing(noise_of)(patch)


@instead_of(room, "_add_noise")
def there_is_no_noise_on_a_distance_of_zero(honest, question, exact, *rest):
    answer = honest(question, exact, *rest)
    return replace(answer, values=answer.values * (exact > len(question.tables) << question.bits + 1))


@instead_of(room, "_add_noise")
def distances_are_never_negative(honest, *given):
    answer = honest(*given)
    return replace(answer, values=np.maximum(answer.values, 0))


counting = instead_of(running, "_number_of_rows")


@counting
def shares_are_of_the_exact_number_of_rows(honest, asked, *rest):
    counted, _, error = honest(asked, *rest)
    return counted, max(1, rows_behind(asked).rows), error


@counting
def the_error_of_the_rows_is_the_exact_one(honest, asked, *rest):
    counted, rows, _ = honest(asked, *rest)
    return counted, rows, abs(rows_behind(asked).rows - rows)


USUAL = (EVALUATIONS,)
BUGS = (
    # Where a mistake shows soonest: rows move far where more is expected than there is, and in single columns.
    *seen_by(
        replay_of_evaluations(relations=("replace-one",), ways=(1,), expected_rows=1000),
        a_row_replaced_counts_as_one_added,
    ),
    *seen_by(replay_of_evaluations(times=1, relations=("add-remove",)), tables_are_calibrated_as_one),
    *seen_by(replay_of_evaluations(times=1, ways=(1,), expected_rows=None), distances_are_never_negative),
)
