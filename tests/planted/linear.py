"""Bugs of linear statistics: of noise, calibration and sums, of row functions and of the mechanism."""

import logging
import sys
from dataclasses import replace

import numpy as np

import lapwing as lw
import lapwing.kernel.questions.linear_statistics.answer as summing
import lapwing.kernel.questions.linear_statistics.question as asked
import lapwing.rows.source as sources
from helpers.linear_runs import FORMS, SIGN, AskingSums, model_of, question_of, share_known
from helpers.peeking import rows_behind
from helpers.planted_audits import replay
from helpers.planting import instead_of, nothing_is_charged, seen_by
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics, RowStatistic, Statistic
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.mechanisms.vectors.linear_statistics import mechanism
from lapwing.mechanisms.vectors.linear_statistics.statistics import MeasuredStatistics

TRUTHS, NUMBERS, FUNCTIONS = (replay(AskingSums((form,))) for form in ("truths", "numbers", "functions"))
TRUTH, NUMBER, FUNCTION = (replay(AskingSums((form,))) for form in ("one truth", "one number", "one function"))
MIXED, TWICE, NARROW = (replay(AskingSums((form,))) for form in ("both", "twice the same", "narrow function"))
FEW_FUNCTIONS = replay(AskingSums(("functions",)), relations=("add-remove",), rows_per_unit=(1,))
ONE_MEAN = replay(lw.LinearStatistics(statistics=(SIGN,), degree=0, mu="uniform", points=20))


def _without_clip(patch):
    """Let the room believe that values lie within their bounds."""

    class Unclipped:
        clip = staticmethod(lambda values, lower, upper: values)

        def __getattr__(self, name):
            return getattr(np, name)

    patch.setattr(summing, "np", Unclipped())


# -------------------------------------------------------------------------------------------------- bugs of the noise

drawing = instead_of(summing, "noise_of")
the_last_sum_has_no_noise = drawing(lambda draw, law, size, bits: np.append(draw(law, size - 1, bits), 0))
all_sums_share_their_noise = drawing(lambda draw, law, size, bits: np.repeat(draw(law, 1, bits), size))
half_the_sums_use_the_noise_of_the_others = drawing(
    lambda draw, law, size, bits: np.resize(draw(law, (size + 1) // 2, bits), size)
)
sums_draw_half_their_noise = drawing(lambda draw, *given: draw(*given) // 2)
sums_draw_a_tenth_less_noise = drawing(lambda draw, *given: draw(*given) * 9 // 10)
the_noise_is_of_whole_rows = drawing(lambda draw, *given: draw(*given) >> 16 << 16)  # as an int cast of scaled draws


@instead_of(summing, "_add_noise")
def sums_of_zero_have_no_noise(honest, question, source, terms, bits, schema):
    answer = honest(question, source, terms, bits, schema)
    return replace(answer, values=answer.values * (summing.exact_statistics(question, source, schema) != 0))


@instead_of(summing, "_add_noise")
def noisy_sums_are_clipped_to_what_rows_can_have(honest, question, source, *rest):
    answer, most = honest(question, source, *rest), source.rows * question.scale
    return replace(answer, values=answer.values.clip(-most, most))


# -------------------------------------------------------------------------------------------- bugs of the calibration


def changes_of(question, relation):
    return [asked.largest_change(*ends, relation) for ends in question.bounds()]


bounding = instead_of(LinearStatistics, "sensitivity")
replacing_is_calibrated_as_adding = bounding(
    lambda honest, question, relation, max_rows: honest(question, "add-remove", max_rows)
)
max_rows_is_forgotten = bounding(lambda honest, question, relation, max_rows: honest(question, relation, 1))


@bounding
def noise_is_calibrated_for_one_statistic(honest, question, relation, max_rows):
    most = max(changes_of(question, relation)) * max_rows
    return Sensitivity(most, most**2)


@bounding
def a_statistic_asked_twice_counts_once(honest, question, relation, max_rows):
    texts = [each.text for each in question.statistics]
    once = dict(zip(texts, changes_of(question, relation), strict=True)).values()
    return Sensitivity(max_rows * sum(once), max_rows**2 * sum(each**2 for each in once))


@bounding
def max_rows_is_not_squared(honest, question, relation, max_rows):
    l2_squared = max_rows * honest(question, relation, 1).l2_squared
    return replace(honest(question, relation, max_rows), l2_squared=l2_squared)


@bounding
def the_l2_bound_is_the_largest_entry(honest, question, relation, max_rows):
    largest = max(changes_of(question, relation))
    return replace(honest(question, relation, max_rows), l2_squared=(max_rows * largest) ** 2)


@bounding
def the_unit_is_forgotten(honest, question, *terms):
    """Calibrate for changes of 1, where 2**16 stands for 1."""
    bound = honest(question, *terms)
    return Sensitivity(max(1, bound.l1 // question.scale), max(1, bound.l2_squared // question.scale**2))


@instead_of(LinearStatistics, "bounds")
def indicators_beside_numbers_are_taken_for_one_unit(honest, question):
    return tuple((each.lower, each.upper) for each in question.statistics)


@instead_of(asked, "largest_change")
def the_width_of_the_bounds_is_taken_for_a_row_removed(honest, lower, upper, relation):
    """Forget that a removed row may have any value, not one near the others."""
    return upper - lower


def bounds_are_narrower_than_values(patch):
    """Derive bounds wrongly, and leave values unclipped."""

    @instead_of(Statistic, "__post_init__")
    def narrowed(honest, statistic):
        honest(statistic)
        object.__setattr__(statistic, "lower", max(statistic.lower, -(2**statistic.bits) // 8))
        object.__setattr__(statistic, "upper", min(statistic.upper, 2**statistic.bits // 8))

    narrowed(patch)
    patch.setattr(Statistic, "values", lambda self, codes: asked.values_of(self.program, codes))
    _without_clip(patch)


# ---------------------------------------------------------------------------------------------------- bugs of the sums


@instead_of(sources, "kept_rows")
def rows_are_summed_before_they_are_cut(honest, units, hashes, *others):
    return np.ones(len(hashes), dtype=bool)


@instead_of(summing, "exact_statistics")
def sums_are_divided_by_the_true_number_of_rows(honest, question, source, *rest):
    return honest(question, source, *rest) * 20 // max(1, source.rows)


@instead_of(summing, "exact_statistics")
def a_sum_of_one_row_is_left_out(honest, question, *rest):
    exact = honest(question, *rest)
    return np.where(np.abs(exact) <= question.scale, 0, exact)


@instead_of(summing, "row_values")
def values_are_centred_on_their_mean(honest, *given):
    """Evaluate all rows in one call, which sees the other rows."""
    values = honest(*given)
    return values - np.rint(values.mean(axis=1, keepdims=True)).astype(np.int64) if values.size else values


@instead_of(summing, "row_values")
def values_are_ranked(honest, *given):
    values = honest(*given)
    return np.sort(values, axis=1) * (np.arange(values.shape[1]) % 2)


@instead_of(summing, "row_values")
def a_failing_function_skips_its_row(honest, question, *rest):
    """Leave the row out, which counts 0: outside of the bounds of some functions."""
    values = honest(question, *rest)
    return np.where(values == np.array([low for low, _ in question.bounds()])[:, None], 0, values)


the_last_row_is_left_out = instead_of(summing, "row_values")(lambda honest, *given: honest(*given)[:, :-1])

# In the room and by the audit.
evaluating = instead_of(RowStatistic, "values_of_records")


def the_clip_is_forgotten(patch):
    """Believe what a function returns."""

    def unclipped(function, record):
        try:
            return int(float(function(record)) * 2**16)
        except (KeyError, SystemExit, TypeError, ValueError, OverflowError):
            return 0

    def values(honest, function, records):
        return np.array([unclipped(function.function, record) for record in records], dtype=np.int64)

    evaluating(values)(patch)
    _without_clip(patch)


@evaluating
def a_failing_function_ends_the_sum(honest, function, records):
    values = honest(function, records)
    return np.where(np.logical_or.accumulate(values == function.lower), function.lower, values)


@evaluating
def one_failure_is_for_all(honest, function, records):
    """Catch what a row function raises around the loop over rows, so that one bad row changes the sum of all."""
    listed = list(records)
    try:
        for each in listed:
            function.function(dict(each))
    except BaseException:  # as the real guard: a function may exit
        return np.full(len(listed), function.lower << 16, dtype=np.int64)
    return honest(function, listed)


@evaluating
def a_failing_function_is_logged_with_its_record(honest, function, records):
    records = list(records)
    values = honest(function, map(dict, records))
    for record, value in zip(records, values.tolist(), strict=True):
        if value == function.lower:
            logging.getLogger("lapwing").debug("no value for %s", record)
    return values


def records_are_shared_between_functions(patch):
    """Hand out one dict of each row, which the first function may take apart."""
    patch.setattr(summing, "dict", lambda record: record, raising=False)


@instead_of(summing, "records")
def functions_see_the_row_before(honest, *given):
    before = None
    for record in honest(*given):
        yield record if before is None else before
        before = record


# --------------------------------------------------------------------- functions that break what is assumed of them


def with_function(make):
    """Let the mechanism ask for the sum of another function of one record."""

    def plant(patch):
        function = lw.row_function(make())
        patch.setitem(FORMS, "one function", lambda schema: [function])

    return plant


@with_function
def a_function_counts_its_calls():
    calls = []

    def counting(record):
        calls.append(1)
        return len(calls) % 2

    return counting


@with_function
def a_function_counts_each_value_once():
    seen = set()

    def remembering(record):
        first = str(next(iter(record.values())))
        is_new = first not in seen
        seen.add(first)
        return is_new

    return remembering


@with_function
def a_function_shows_the_record():
    return lambda record: 0 * sys.stdout.write(str(share_known(record)))


# ------------------------------------------------------------------------------------------------ bugs of a mechanism


def asking(ask):
    """Let a mechanism ask otherwise: ``ask(curator, schema, budget)`` returns answers."""
    return instead_of(AskingSums, "run")(
        lambda honest, mechanism, curator, schema, budget, rng: model_of(schema, ask(curator, schema, budget))
    )


def first_codes(curator, schema):
    """Return the codes of the first column."""
    chunks = [chunk[schema.columns[0].name].astype(int) for chunk in rows_behind(curator).chunks()]
    return np.concatenate([np.zeros(1, int), *chunks])


def changed(question, **changes):
    return replace(question, statistics=tuple(replace(each, **changes) for each in question.statistics))


@asking
def a_threshold_is_at_the_exact_mean(curator, schema, budget):
    text, cut = FORMS["one truth"](schema)[0], int(first_codes(curator, schema).mean())
    step = ("in", schema.columns[0].name, (cut, cut + 1))
    statistics = (Statistic(text=text, program=(step,)),)
    return curator.ask(replace(question_of([text], schema, budget), statistics=statistics))


@asking
def bounds_are_of_the_values_that_there_are(curator, schema, budget):
    lower = -(2**16) if rows_behind(curator).rows % 2 else 0
    return curator.ask(changed(question_of([SIGN], schema, budget), lower=lower))


@asking
def a_share_is_by_the_exact_number_of_rows(curator, schema, budget):
    return curator.ask(question_of(FORMS["truths"](schema), schema, budget / (2 + rows_behind(curator).rows % 2)))


@asking
def a_name_tells_a_row(curator, schema, budget):
    name = str(first_codes(curator, schema).max())
    return curator.ask(changed(question_of([SIGN], schema, budget), text=name))


def statistics_are_asked_twice_and_paid_once(patch):
    nothing_is_charged(patch)
    asking(lambda curator, schema, budget: curator.ask(*[question_of(FORMS["truths"](schema), schema, budget)] * 2))(
        patch
    )


@instead_of(mechanism.LinearStatistics, "_measured_mu")
def points_are_the_rows_themselves(honest, asked_of, curator, *others):
    codes = [dict(chunk) for chunk in rows_behind(curator).chunks()]
    return PublicRows(codes[0], "rows") if rows_behind(curator).rows else None


def _exact_means(patch):
    """Return a function that looks at the rows behind the mechanism: the exact sums of a question."""
    seen = []

    @instead_of(mechanism.LinearStatistics, "_measured_mu")
    def watched(honest, asked_of, curator, schema, *others):
        seen[:] = [rows_behind(curator), schema]
        return honest(asked_of, curator, schema, *others)

    watched(patch)
    return lambda question: summing.exact_statistics(question, *seen) / question.scale


def the_density_fits_the_exact_sums(patch):
    exact = _exact_means(patch)
    patch.setattr(MeasuredStatistics, "targets", lambda found: exact(found.questions[0]) / found.least_rows)


def the_certificate_compares_with_the_exact_sums(patch):
    exact = _exact_means(patch)

    @instead_of(MeasuredStatistics, "errors")
    def errors(honest, found, *others):
        return honest(found, *others) + abs(exact(found.questions[0])) / 2**20

    errors(patch)


USUAL = (TRUTHS,)
BUGS = (
    *seen_by(
        TRUTHS,
        the_last_sum_has_no_noise,
        all_sums_share_their_noise,
        half_the_sums_use_the_noise_of_the_others,
        sums_of_zero_have_no_noise,
        also=[MIXED],
    ),
    *seen_by(TRUTH, sums_draw_half_their_noise, also=[NUMBER, FUNCTION], within=800),
    *seen_by(TRUTHS, sums_draw_a_tenth_less_noise, also=[FUNCTIONS], within=800),
    *seen_by(NUMBERS, the_noise_is_of_whole_rows, also=[FUNCTION], within=800),
    *seen_by(TRUTH, noisy_sums_are_clipped_to_what_rows_can_have, also=[NUMBERS], within=800),
    *seen_by(TRUTHS, noise_is_calibrated_for_one_statistic, also=[NUMBERS, FUNCTIONS], within=800),
    *seen_by(TWICE, a_statistic_asked_twice_counts_once, within=800),
    *seen_by(NUMBER, replacing_is_calibrated_as_adding, the_unit_is_forgotten, also=[FUNCTION], within=800),
    *seen_by(TRUTH, max_rows_is_forgotten, also=[NUMBER, FUNCTION], within=800),
    *seen_by(TRUTH, max_rows_is_not_squared, also=[NUMBER], within=800),
    *seen_by(TRUTHS, the_l2_bound_is_the_largest_entry, also=[FUNCTIONS], within=800),
    *seen_by(MIXED, indicators_beside_numbers_are_taken_for_one_unit, within=800),
    *seen_by(NARROW, the_width_of_the_bounds_is_taken_for_a_row_removed, within=800),
    *seen_by(NUMBER, bounds_are_narrower_than_values, also=[NUMBERS], within=800),
    *seen_by(TRUTHS, rows_are_summed_before_they_are_cut, values_are_ranked, also=[FUNCTION], within=800),
    *seen_by(TRUTHS, sums_are_divided_by_the_true_number_of_rows, also=[NUMBER], within=800),
    *seen_by(NUMBERS, values_are_centred_on_their_mean, also=[FUNCTION], within=800),
    *seen_by(TRUTHS, a_sum_of_one_row_is_left_out, also=[FUNCTIONS], within=800),
    *seen_by(TRUTHS, the_last_row_is_left_out, within=800),
    *seen_by(FUNCTION, the_clip_is_forgotten, also=[FUNCTIONS], within=800),
    *seen_by(
        FUNCTIONS,
        a_failing_function_skips_its_row,
        a_failing_function_ends_the_sum,
        a_failing_function_is_logged_with_its_record,
        records_are_shared_between_functions,
        functions_see_the_row_before,
        within=800,
    ),
    *seen_by(FEW_FUNCTIONS, one_failure_is_for_all, within=6),
    *seen_by(FUNCTION, a_function_counts_its_calls, a_function_counts_each_value_once, a_function_shows_the_record),
    *seen_by(
        ONE_MEAN,
        points_are_the_rows_themselves,
        the_density_fits_the_exact_sums,
        the_certificate_compares_with_the_exact_sums,
    ),
)
