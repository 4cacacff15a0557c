"""Bugs of linear statistics, planted one by one: record and replay flags each of them."""

import logging
from dataclasses import replace

import numpy as np
import pytest

import lapwing.kernel.questions.linear_statistics.answer as summing
import lapwing.kernel.questions.linear_statistics.question as asked
import lapwing.rows.source as sources
from helpers.audits import flags_of
from helpers.linear_runs import AskingSums
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.questions.linear_statistics import question as statistics
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics, RowStatistic, Statistic

TRUTHS, NUMBERS, FUNCTIONS = (AskingSums((form,)) for form in ("truths", "numbers", "functions"))
TRUTH, NUMBER, FUNCTION = (AskingSums((form,)) for form in ("one truth", "one number", "one function"))
BOTH, TWICE, NARROW = (AskingSums((form,)) for form in ("both", "twice the same", "narrow function"))


def with_noise(patch, change):
    """Let the room draw its noise wrongly: ``change(draw, size)``, where ``draw(size)`` draws it right."""
    honest = summing.noise_of
    patch.setattr(summing, "noise_of", lambda law, size, bits: change(lambda n: honest(law, n, bits), size))


def with_sums(patch, change):
    """Let the room take wrong sums: ``change(question, exact, source)``."""
    honest = summing.exact_statistics

    def exact_statistics(question, source, schema):
        return np.asarray(change(question, honest(question, source, schema), source), dtype=np.int64)

    patch.setattr(summing, "exact_statistics", exact_statistics)


def with_values(patch, change):
    """Let the room take wrong values of some rows: ``change(values)``, shape (statistics, rows)."""
    honest = summing.row_values
    patch.setattr(summing, "row_values", lambda *asked: np.asarray(change(honest(*asked)), dtype=np.int64))


def with_function_values(patch, change):
    """Let row functions be evaluated wrongly, in the room and by the audit: ``change(function, records, honest)``."""
    honest = RowStatistic.values_of_records

    def values_of_records(self, records):
        return np.asarray(change(self, list(records), lambda these: honest(self, these)), dtype=np.int64)

    patch.setattr(RowStatistic, "values_of_records", values_of_records)


def without_clip(patch):
    """Let the room believe that values lie within their bounds."""

    class Unclipped:
        clip = staticmethod(lambda values, lower, upper: values)

        def __getattr__(self, name):
            return getattr(np, name)

    patch.setattr(summing, "np", Unclipped())


def with_sensitivity(patch, change):
    """Let questions be calibrated wrongly: ``change(question, honest, relation, max_rows)``."""
    honest = LinearStatistics.sensitivity
    patch.setattr(
        LinearStatistics,
        "sensitivity",
        lambda self, *terms: change(self, lambda *others: honest(self, *others), *terms),
    )


# -------------------------------------------------------------------------------------------------- bugs of the noise


def the_last_sum_has_no_noise(patch):
    with_noise(patch, lambda draw, size: np.append(draw(size - 1), 0))


def all_sums_share_their_noise(patch):
    with_noise(patch, lambda draw, size: np.repeat(draw(1), size))


def half_the_sums_use_the_noise_of_the_others(patch):
    with_noise(patch, lambda draw, size: np.resize(draw((size + 1) // 2), size))


def sums_draw_half_their_noise(patch):
    with_noise(patch, lambda draw, size: draw(size) // 2)


def sums_draw_a_tenth_less_noise(patch):
    with_noise(patch, lambda draw, size: draw(size) * 9 // 10)


def the_noise_is_of_whole_rows(patch):
    """Round the noise to whole rows, as an int cast of scaled draws would."""
    with_noise(patch, lambda draw, size: draw(size) >> 16 << 16)


def sums_of_zero_have_no_noise(patch):
    honest = summing._perturbed

    def perturbed(question, source, terms, bits, schema):
        answer, exact = (
            honest(question, source, terms, bits, schema),
            summing.exact_statistics(question, source, schema),
        )
        return replace(answer, values=np.where(exact == 0, 0, answer.values))

    patch.setattr(summing, "_perturbed", perturbed)


def noisy_sums_are_clipped_to_what_rows_can_have(patch):
    honest = summing._perturbed

    def perturbed(question, source, terms, bits, schema):
        answer, most = honest(question, source, terms, bits, schema), source.rows * question.scale
        return replace(answer, values=answer.values.clip(-most, most))

    patch.setattr(summing, "_perturbed", perturbed)


NOISE_BUGS = [
    *(
        (each, plant)
        for each in (TRUTHS, BOTH)
        for plant in (
            the_last_sum_has_no_noise,
            all_sums_share_their_noise,
            half_the_sums_use_the_noise_of_the_others,
            sums_of_zero_have_no_noise,
        )
    ),
    *((each, sums_draw_half_their_noise) for each in (TRUTH, NUMBER, FUNCTION)),
    *((each, sums_draw_a_tenth_less_noise) for each in (TRUTHS, FUNCTIONS)),
    *((each, the_noise_is_of_whole_rows) for each in (NUMBERS, FUNCTION)),
    *((each, noisy_sums_are_clipped_to_what_rows_can_have) for each in (TRUTH, NUMBERS)),
]


# -------------------------------------------------------------------------------------------- bugs of the calibration


def noise_is_calibrated_for_one_statistic(patch):
    def change(question, honest, relation, max_rows):
        most = max(asked.largest_change(*ends, relation) for ends in question.bounds()) * max_rows
        return Sensitivity(most, most**2)

    with_sensitivity(patch, change)


def a_statistic_asked_twice_counts_once(patch):
    def change(question, honest, relation, max_rows):
        once = {each.text: asked.largest_change(*ends, relation) for each, ends in pairs_of(question)}.values()
        return Sensitivity(max_rows * sum(once), max_rows**2 * sum(each**2 for each in once))

    with_sensitivity(patch, change)


def pairs_of(question):
    return zip(question.statistics, question.bounds(), strict=True)


def replacing_is_calibrated_as_adding(patch):
    with_sensitivity(patch, lambda question, honest, relation, max_rows: honest("add-remove", max_rows))


def max_rows_is_forgotten(patch):
    with_sensitivity(patch, lambda question, honest, relation, max_rows: honest(relation, 1))


def max_rows_is_not_squared(patch):
    def change(question, honest, relation, max_rows):
        bound, one = honest(relation, max_rows), honest(relation, 1)
        return replace(bound, l2_squared=max_rows * one.l2_squared)

    with_sensitivity(patch, change)


def the_l2_bound_is_the_largest_entry(patch):
    def change(question, honest, relation, max_rows):
        largest = max(asked.largest_change(*ends, relation) for ends in question.bounds())
        return replace(honest(relation, max_rows), l2_squared=(max_rows * largest) ** 2)

    with_sensitivity(patch, change)


def the_unit_is_forgotten(patch):
    """Calibrate for changes of 1, where 2**16 stands for 1."""

    def change(question, honest, relation, max_rows):
        bound = honest(relation, max_rows)
        return Sensitivity(max(1, bound.l1 // question.scale), max(1, bound.l2_squared // question.scale**2))

    with_sensitivity(patch, change)


def indicators_beside_numbers_are_taken_for_one_unit(patch):
    patch.setattr(LinearStatistics, "bounds", lambda self: tuple((each.lower, each.upper) for each in self.statistics))


def the_width_of_the_bounds_is_taken_for_a_row_removed(patch):
    """Forget that a removed row may have any value, not one near the others."""
    patch.setattr(asked, "largest_change", lambda lower, upper, relation: upper - lower)


def bounds_are_narrower_than_values(patch):
    """Derive bounds wrongly, and leave values unclipped."""
    honest = Statistic.__post_init__

    def narrowed(self):
        honest(self)
        object.__setattr__(self, "lower", max(self.lower, -(2**self.bits) // 8))
        object.__setattr__(self, "upper", min(self.upper, 2**self.bits // 8))

    patch.setattr(Statistic, "__post_init__", narrowed)
    patch.setattr(Statistic, "values", lambda self, codes: statistics.values_of(self.program, codes))
    without_clip(patch)


CALIBRATION_BUGS = [
    *((each, noise_is_calibrated_for_one_statistic) for each in (TRUTHS, NUMBERS, FUNCTIONS)),
    (TWICE, a_statistic_asked_twice_counts_once),
    *((each, replacing_is_calibrated_as_adding) for each in (NUMBER, FUNCTION)),
    *((each, max_rows_is_forgotten) for each in (TRUTH, NUMBER, FUNCTION)),
    *((each, max_rows_is_not_squared) for each in (TRUTH, NUMBER)),
    *((each, the_l2_bound_is_the_largest_entry) for each in (TRUTHS, FUNCTIONS)),
    *((each, the_unit_is_forgotten) for each in (NUMBER, FUNCTION)),
    (BOTH, indicators_beside_numbers_are_taken_for_one_unit),
    (NARROW, the_width_of_the_bounds_is_taken_for_a_row_removed),
    *((each, bounds_are_narrower_than_values) for each in (NUMBER, NUMBERS)),
]


# ---------------------------------------------------------------------------------------------------- bugs of the sums


def rows_are_summed_before_they_are_cut(patch):
    patch.setattr(sources, "kept_rows", lambda units, hashes, *others: np.ones(len(hashes), dtype=bool))


def sums_are_divided_by_the_true_number_of_rows(patch):
    with_sums(patch, lambda question, exact, source: exact * 20 // max(1, source.rows))


def values_are_centred_on_their_mean(patch):
    """Evaluate all rows in one call, which sees the other rows."""
    with_values(patch, lambda values: values - np.rint(values.mean(axis=1, keepdims=True)) if values.size else values)


def values_are_ranked(patch):
    with_values(patch, lambda values: np.sort(values, axis=1) * (np.arange(values.shape[1]) % 2))


def a_sum_of_one_row_is_left_out(patch):
    with_sums(patch, lambda question, exact, source: np.where(np.abs(exact) <= question.scale, 0, exact))


def the_last_block_is_left_out(patch):
    with_values(patch, lambda values: values[:, :-1])


def the_clip_is_forgotten(patch):
    """Believe what a function returns."""
    with_function_values(
        patch,
        lambda function, records, honest: [unclipped(function.function, record) for record in records],
    )
    without_clip(patch)


def unclipped(function, record):
    try:
        return int(float(function(record)) * 2**16)
    except (KeyError, SystemExit, TypeError, ValueError, OverflowError):
        return 0


def a_failing_function_skips_its_row(patch):
    """Leave the row out, which counts 0: outside of the bounds of some functions."""
    honest = summing.row_values

    def row_values(question, block, schema):
        values = honest(question, block, schema)
        lower = np.array([low for low, _ in question.bounds()])[:, None]
        return np.where(values == lower, 0, values)

    patch.setattr(summing, "row_values", row_values)


def a_failing_function_ends_the_sum(patch):
    def change(function, records, honest):
        values = honest(records)
        return np.where(np.logical_or.accumulate(values == function.lower), function.lower, values)

    with_function_values(patch, change)


def a_failing_function_is_logged_with_its_record(patch):
    def change(function, records, honest):
        values = honest(map(dict, records))
        for record, value in zip(records, values.tolist(), strict=True):
            if value == function.lower:
                logging.getLogger("lapwing").debug("no value for %s", record)
        return values

    with_function_values(patch, change)


def records_are_shared_between_functions(patch):
    """Hand out one dict of each row, which the first function may take apart."""
    patch.setattr(summing, "dict", lambda record: record, raising=False)


def functions_see_the_row_before(patch):
    honest = summing.records

    def records(block, schema):
        before = None
        for record in honest(block, schema):
            yield record if before is None else before
            before = record

    patch.setattr(summing, "records", records)


SUM_BUGS = [
    *((each, rows_are_summed_before_they_are_cut) for each in (TRUTHS, FUNCTION)),
    *((each, sums_are_divided_by_the_true_number_of_rows) for each in (TRUTHS, NUMBER)),
    *((each, values_are_centred_on_their_mean) for each in (NUMBERS, FUNCTION)),
    *((each, values_are_ranked) for each in (TRUTHS, FUNCTION)),
    *((each, a_sum_of_one_row_is_left_out) for each in (TRUTHS, FUNCTIONS)),
    (TRUTHS, the_last_block_is_left_out),
    *((each, the_clip_is_forgotten) for each in (FUNCTION, FUNCTIONS)),
    *(
        (FUNCTIONS, plant)
        for plant in (
            a_failing_function_skips_its_row,
            a_failing_function_ends_the_sum,
            a_failing_function_is_logged_with_its_record,
            records_are_shared_between_functions,
            functions_see_the_row_before,
        )
    ),
]


def named(case):
    return case.__name__ if callable(case) else "-".join(case.forms)


def once_each(bugs):
    """Return the first case of each bug, and the others for full runs."""
    planted = [plant for _, plant in bugs]
    return [
        pytest.param(*bug, marks=[pytest.mark.full] * (bug[1] in planted[:place])) for place, bug in enumerate(bugs)
    ]


@pytest.mark.parametrize(("each", "plant"), once_each([*NOISE_BUGS, *CALIBRATION_BUGS, *SUM_BUGS]), ids=named)
def test_a_bug_in_the_answers_is_flagged(each, plant, monkeypatch):
    plant(monkeypatch)

    assert flags_of(each, pairs=800)


def test_honest_answers_are_not_flagged_on_the_same_pairs():
    assert flags_of(AskingSums(("both",)), pairs=8) == ()
