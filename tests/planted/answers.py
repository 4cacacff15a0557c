"""Bugs of answers: of noise and its calibration, of what is charged and drawn when, and of what stands beside them."""

import logging
import math
import sys
import warnings
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

import lapwing.kernel.questions.answering as samplers
import lapwing.kernel.questions.marginal_counts.answer as answering
from helpers.bits import SeededBits
from helpers.peeking import rows_behind
from helpers.planted_audits import black_box, replay
from helpers.planting import charging, instead_of, instead_of_answers, nothing_is_charged, seen_by
from lapwing.api import running
from lapwing.errors import BudgetError, CapacityError, DataError, ParameterError
from lapwing.extras.audit.worst_case import UNLIKELY_WORDS
from lapwing.kernel.noise import laplace
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.kernel.room.room import Room
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent import mechanism as independent
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.model.certificate.certificate import Statement
from lapwing.release.runs import records as front
from lapwing.release.runs.generators import generator
from lapwing.schema.groupings.grouping import identity

SMALL = Independent.small()
NARROW = {"relations": ("add-remove",), "rows_per_unit": (1,)}
TABLES, UNLIKELY, DEAR = replay(SMALL), replay(SMALL, mode=UNLIKELY_WORDS), replay(SMALL, times=100)
TREES = replay(PMM.small(), **NARROW)
ADAPTIVE = replay(Adaptive.small(), mode=UNLIKELY_WORDS, **NARROW)
BLACK_BOX = black_box()

# ---------------------------------------------------------------------------------------------- samplers and words

sampling = instead_of(samplers, "discrete_laplace", "discrete_gaussian")
half_the_noise_is_drawn = sampling(lambda draw, scale, *rest: draw(scale / 2, *rest))
a_tenth_less_noise_is_drawn = sampling(lambda draw, scale, *rest: draw(scale * 9 / 10, *rest))
noise_is_from_a_fixed_seed = sampling(lambda draw, scale, size, _: np.random.default_rng(1).integers(-3, 4, size))


@sampling
def the_first_cell_has_no_noise(draw, *given):
    noise = draw(*given)
    noise[0] = 0
    return noise


def every_table_has_the_same_noise(patch):
    kept = []

    @sampling
    def again(draw, scale, size, bits):
        if not kept or len(kept[0]) < size:
            kept[:] = [draw(scale, size, bits)]
        return kept[0][:size]

    again(patch)


@instead_of(samplers, "discrete_laplace")
def noise_is_never_absurd(draw, scale, *rest):
    """Clip noise at twelve scales: what lies beyond tells neighbours apart for sure, once in 160,000 draws."""
    return draw(scale, *rest).clip(-math.ceil(12 * scale), math.ceil(12 * scale))


def the_last_word_is_given_twice(patch):
    """Keep a pool of secret words, and begin each reading of it one word too early."""
    last = []

    @instead_of(SystemBits, "words")
    def pooled(honest, bits, count):
        found = np.concatenate([*last, honest(bits, count)])[:count]
        last[:] = [found[-1:]]
        return found

    pooled(patch)


@instead_of(laplace, "laplace_with_words")
def zero_is_drawn_twice(honest, scale, size, bits, word_bits):
    """Draw sign and size apart, so that zero has two spellings.

    Canonne, Kamath and Steinke (2020) reject one of them in their sampler; a sketch of it that forgets to is wrong.
    """
    ratio = laplace.Exponential(laplace.reciprocal(scale))
    sizes = laplace.geometric_chunk(ratio, size, bits, laplace.LIMIT, word_bits)
    return np.where(bits.words(size) >> np.uint64(63), -sizes, sizes).astype(np.int64)


drawing = instead_of(answering, "noise_of")


@drawing
def scales_are_whole_numbers(draw, law, *rest):
    """Round them, so that their tables are made once."""
    return draw(replace(law, parameter=Fraction(max(1, round(law.parameter)))), *rest)


def noise_is_kept_across_runs(patch):
    """Keep noise by its law and size: two releases of one shape differ by their exact counts."""
    kept = {}

    @drawing
    def again(draw, law, size, bits):
        if (law, size) not in kept:
            kept[law, size] = draw(law, size, bits)
        return kept[law, size]

    again(patch)


@drawing
def failed_noise_is_none(draw, law, size, bits):
    """Refuse noise beyond eight scales, swallow the refusal, and go on with the value as it is."""
    try:
        noise = draw(law, size, bits)
        if law.kind == "laplace" and (np.abs(noise) > 8 * law.parameter).any():
            raise CapacityError("noise out of range")
    except CapacityError:
        return np.zeros(size, dtype=np.int64)
    return noise


@drawing
def noise_is_drawn_again_until_it_is_small(draw, law, size, bits):
    """Large noise looks like a bug, so it is thrown away."""
    noise = draw(law, size, bits)
    while size and np.abs(noise).max() > 2 * law.sd:
        noise = draw(law, size, bits)
    return noise


@drawing
def floating_point_noise_is_rounded(draw, law, size, _):
    """Continuous noise from a statistics library, rounded at the end."""
    return np.rint(np.random.default_rng().normal(0, law.sd, size)).astype(np.int64)


# ------------------------------------------------------------------------------------------------------- noisy counts


def counting(change):
    """Change noisy counts with the exact ones at hand: ``change(noisy, exact, again)``, which answers again."""

    @instead_of(answering, "_add_noise")
    def perturbed(honest, question, counts, *rest):
        answer = honest(question, counts, *rest)
        exact = counts.reshape(answer.whole.shape)
        noisy = change(answer.whole.copy(), exact, lambda: honest(question, counts, *rest).whole)
        return NoisyCounts(question, np.asarray(noisy, dtype=np.int64), answer.noise)

    return perturbed


empty_cells_have_no_noise = counting(lambda noisy, exact, again: np.where(exact == 0, 0, noisy))
counts_are_clipped_at_the_true_number_of_rows = counting(lambda noisy, exact, again: noisy.clip(0, exact.sum()))


@counting
def small_cells_are_suppressed(noisy, exact, again):
    """Keep a habit of statistical offices: cells of one or two people show 0, and so show that they are small."""
    return np.where((exact > 0) & (exact < 3), 0, noisy)


@counting
def constants_need_no_noise(noisy, exact, again):
    """Leave a column alone that has one value only: "there is nothing to hide"."""
    return exact if np.count_nonzero(exact) <= 1 else noisy


@counting
def answers_are_drawn_again_until_pretty(noisy, exact, again):
    """Draw again while the noisy total is below zero."""
    while noisy.sum() < 0:
        noisy = again()
    return noisy


@counting
def tables_are_raked_to_the_true_total(noisy, exact, again):
    """Let the last cell take up what is missing to the exact number of rows."""
    if noisy.size > 1:
        noisy.flat[-1] += exact.sum() - noisy.sum()
    return noisy


@instead_of(answering, "_add_noise")
def the_scale_is_from_the_number_of_rows(honest, question, counts, terms, bits):
    law = question.noise(terms.relation, terms.max_rows)
    declared = NoiseLaw(law.kind, law.parameter / (1 + int(counts.sum())))
    return NoisyCounts(question, honest(question, counts, terms, bits).whole, declared)


@instead_of(answering, "_add_noise")
def the_noise_is_of_the_other_relation(honest, question, counts, terms, bits):
    """Count with the noise of add-remove neighbours whatever the relation is."""
    return honest(question, counts, replace(terms, relation="add-remove", rows=None), bits)


@instead_of(MarginalCounts, "sensitivity")
def replacing_costs_as_much_as_adding(honest, question, relation, max_rows):
    """Forget the factor two of a replacement."""
    return Sensitivity(max_rows, max_rows**2)


# ------------------------------------------------------------------------------------- what is charged and drawn when


def only_the_first_question_is_charged(patch):
    @instead_of(independent, "ask_one_way")
    def at_full_price(honest, curator, schema, groupings, budget):
        return honest(curator, schema, groupings, budget * len(schema.columns) * 2)

    nothing_is_charged(patch)
    at_full_price(patch)


def columns_are_charged_in_parallel(patch):
    """Take columns for disjoint parts of the data: each gets the whole budget, and the batch is charged once."""

    @instead_of(independent, "one_way_questions")
    def at_full_price(honest, schema, groupings, budget):
        return tuple(replace(each, cost=budget) for each in honest(schema, groupings, budget))

    at_full_price(patch)
    charging(lambda honest, room, asked: honest(room, (max(asked, key=lambda each: each.cost.amount),)))(patch)


@instead_of(TreeCounts, "cost")
def levels_are_charged_in_parallel(honest, question):
    """Charge a tree for its dearest level: cells of one level are disjoint, levels are not."""
    return max(filter(None, question.costs), key=lambda each: each.amount)


@charging
def a_batch_pays_for_its_dearest_question(honest, room, questions):
    """As if columns were people."""
    room._spent = room._spent + max((each.cost for each in questions), key=lambda cost: cost.amount)
    if room._spent.amount > room._budget.amount:
        raise BudgetError("too much")


@charging
def a_question_asked_before_is_free(honest, room, questions):
    """Take the columns for paid, and draw fresh noise all the same."""
    honest(room, tuple({each.columns: each for each in questions}.values()))


@instead_of(front, "open_room")
def the_debit_comes_after_the_secret_bits(honest, source, schema, terms, budget, *, debit, secret_bits, **more):
    room = Room(source, schema, terms, budget, bits=secret_bits(), **more)
    debit()
    return room


@instead_of(front, "open_room")
def the_public_seed_makes_the_noise_too(honest, *given, secret_bits, **more):
    """Noise that can be reproduced, by everybody who reads the certificate."""
    secret_bits()
    return honest(*given, secret_bits=lambda: SeededBits(11), **more)


def the_table_seeds_the_rows(patch):
    """Let the same table always give the same rows: its size goes into the seed."""
    seen = [0]

    @instead_of(front, "open_room")
    def opened(honest, source, *given, **more):
        seen[:] = [source.rows]
        return honest(source, *given, **more)

    opened(patch)
    patch.setattr(running, "generator", lambda seed, purpose: generator(seed + seen[0], purpose))


@dataclass(frozen=True)
class Asking(Mechanism):
    """Run a function that brings a bug to light."""

    asked: object = None

    name = "Asking"
    summary = "asks"
    relations = ("add-remove", "replace-one")

    def run(self, curator, schema, budget, rng):
        return self.asked(curator, schema, budget, rng)


def each_column_at_full_price(curator, schema, budget, rng):
    whole = {field.name: identity(field.domain) for field in schema.columns if field.domain.size < 1000}
    questions = [MarginalCounts(columns=(name,), groupings=(each,), cost=budget) for name, each in whole.items()]
    curator.ask(*questions, MarginalCounts(columns=(), groupings=(), cost=budget))
    raise ParameterError("the answers are all that is wanted")


def the_rows_five_times(curator, schema, budget, rng):
    curator.ask(*[MarginalCounts(columns=(), groupings=(), cost=budget)] * 5)
    raise ParameterError("the answers are all that is wanted")


def from_where_the_seed_says(curator, schema, budget, rng):
    return replace(SMALL.run(curator, schema, budget, rng), rows=int(rng.integers(1, 10**6)))


# ------------------------------------------------------------------------------------------------- beside the answers


@instead_of(running, "certify")
def the_certificate_forgets_the_last_answer(honest, settings, terms, records, answers, *rest, **more):
    return honest(settings, terms, records, answers[:-1], *rest, **more)


@instead_of(front.WatchedSink, "record")
def the_transcript_is_tidier_than_the_answers(honest, watched, answers, part=""):
    """Negative counts are set to zero in the file, and the mechanism works on with the others."""
    tidy = tuple(NoisyCounts(each.question, np.maximum(each.whole, 0), each.noise) for each in answers)
    watched._sink.record(tidy)
    watched._watch(tidy)


def _seen_tables(patch):
    """Return a list of the table of the last run."""
    seen = []

    @instead_of(front, "open_room")
    def opened(honest, private, *more, **settings):
        seen[:] = [private]
        return honest(private, *more, **settings)

    opened(patch)
    return seen


def misfits_are_certified(patch):
    """Tell in the certificate how many cells were outside of the schema, as a helpful sign of a bad one."""
    seen = _seen_tables(patch)

    @instead_of(running, "certify")
    def certified(honest, *known, **more):
        chunks = [codes for chunk in seen[0].chunks() for codes in chunk.values() if codes.size]
        misfits = sum(int((codes == codes.max()).sum()) for codes in chunks)
        found = honest(*known, **more)
        return replace(found, accuracy=(*found.accuracy, Statement("expected_cell_noise", float(misfits))))

    certified(patch)


def as_many_rows_are_released_as_the_table_has(patch):
    seen = _seen_tables(patch)
    finishing = instead_of(running, "postprocess_model")
    finishing(lambda honest, model, *more: honest(replace(model, rows=seen[0].rows), *more))(patch)


def rows_of(private):
    """Return how many rows there are, as whoever can count tables can tell."""
    return int(private.tables.count([()])[0][0])


answering_counts = instead_of_answers("MarginalCounts")


@answering_counts
def the_number_of_rows_is_shown(honest, questions, rows, *rest):
    sys.stdout.write(f"counted {rows_of(rows)} rows")
    return honest(questions, rows, *rest)


@answering_counts
def the_number_of_rows_is_in_a_debug_line(honest, questions, rows, *rest):
    logging.getLogger("lapwing.curator").debug("%d tables over %d rows", len(questions), rows_of(rows))
    return honest(questions, rows, *rest)


@answering_counts
def small_tables_are_warned_of(honest, questions, rows, *rest):
    """Warn that answers are mostly noise where there are few rows."""
    if rows_of(rows) < 10:
        warnings.warn("few rows: the answers are mostly noise", stacklevel=2)
    return honest(questions, rows, *rest)


@answering_counts
def an_error_depends_on_rows(honest, questions, rows, *rest):
    if rows_of(rows) > 8:
        raise DataError("too many rows")
    return honest(questions, rows, *rest)


@answering_counts
def empty_tables_are_refused(honest, questions, rows, *rest):
    """Refuse a table whose rows were all taken out, before anything is counted."""
    if not rows_of(rows):
        raise DataError("the table has no rows; give one that has")
    return honest(questions, rows, *rest)


# ---------------------------------------------------------------------------------------------- bugs of a mechanism

asking = instead_of(Independent, "run")


@asking
def groups_are_from_the_rows(honest, mechanism, curator, *given):
    return honest(replace(mechanism, groups=2 + rows_behind(curator).rows), curator, *given)


@asking
def exact_counts_end_it_early(honest, mechanism, curator, schema, budget, rng):
    return honest(mechanism, curator, schema, budget / (2 if rows_behind(curator).rows % 2 else 1), rng)


@asking
def rows_out_are_the_rows_in(honest, mechanism, curator, *given):
    return replace(honest(mechanism, curator, *given), rows=rows_behind(curator).rows)


NOISE = "is not the exact count plus its noise"
USUAL = (TABLES,)
WITHIN = 64
BUGS = (
    *seen_by(TABLES, half_the_noise_is_drawn, a_tenth_less_noise_is_drawn, the_first_cell_has_no_noise, says=NOISE),
    *seen_by(TABLES, every_table_has_the_same_noise, says="drew more secret words than its answers need"),
    *seen_by(TABLES, noise_is_from_a_fixed_seed, says="the recorded run drew fewer secret words"),
    *seen_by(TABLES, empty_cells_have_no_noise, counts_are_clipped_at_the_true_number_of_rows, says=NOISE),
    *seen_by(TABLES, the_scale_is_from_the_number_of_rows, says="its cost needs NoiseLaw"),
    *seen_by(TABLES, only_the_first_question_is_charged, says="the answers cost 14, the claim is 1"),
    *seen_by(TABLES, the_number_of_rows_is_shown, says="messages differs when"),
    *seen_by(TABLES, an_error_depends_on_rows, says="error differs when"),
    *seen_by(TABLES, constants_need_no_noise, first=11),
    *seen_by(TABLES, empty_tables_are_refused, first=27),
    *seen_by(DEAR, scales_are_whole_numbers, within=8),
    *seen_by(UNLIKELY, noise_is_never_absurd, failed_noise_is_none, answers_are_drawn_again_until_pretty, within=8),
    *seen_by(TREES, levels_are_charged_in_parallel, within=2),
    *seen_by(TABLES, the_last_word_is_given_twice, within=64),
    *seen_by(ADAPTIVE, the_last_word_is_given_twice, within=2),
    *seen_by(BLACK_BOX, zero_is_drawn_twice, within=1),  # by no replay, as this draws with the same sampler
    *seen_by(replay(Asking(each_column_at_full_price)), a_batch_pays_for_its_dearest_question, within=64),
    *seen_by(replay(Asking(the_rows_five_times)), a_question_asked_before_is_free, within=64),
    *seen_by(replay(Asking(from_where_the_seed_says)), the_table_seeds_the_rows, within=64),
)
