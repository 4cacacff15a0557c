"""Bugs of the kind that broke other libraries, planted one by one: record and replay flags each of them."""

import sys
from dataclasses import dataclass

import numpy as np
import pytest

import lapwing.extras.audit.replay
import lapwing.kernel.questions.answering as drawing
import lapwing.kernel.questions.marginal_counts.answer as answering
from helpers.audits import flags_of
from helpers.changed_source import Changed
from helpers.peeking import rows_behind
from helpers.planted_charging import nothing_is_charged
from helpers.swapped import swapped
from lapwing.errors import DataError
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.independent import mechanism as independent
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.rows.source import code_table


def with_samplers(patch, change):
    """Let the room call changed samplers; the audit keeps the true ones."""
    patch.setattr(drawing, "discrete_laplace", lambda scale, size, bits: change(discrete_laplace, scale, size, bits))
    patch.setattr(drawing, "discrete_gaussian", lambda scale, size, bits: change(discrete_gaussian, scale, size, bits))


def half_noise(patch):
    with_samplers(patch, lambda draw, scale, size, bits: draw(scale / 2, size, bits))


def ten_percent_short_noise(patch):
    with_samplers(patch, lambda draw, scale, size, bits: draw(scale * 9 / 10, size, bits))


def first_cell_without_noise(patch):
    def change(draw, scale, size, bits):
        noise = draw(scale, size, bits)
        noise[0] = 0
        return noise

    with_samplers(patch, change)


def the_same_noise_for_every_table(patch):
    kept = {}

    def change(draw, scale, size, bits):
        if len(kept.get("noise", ())) < size:
            kept["noise"] = draw(scale, size, bits)
        return kept["noise"][:size]

    with_samplers(patch, change)


def noise_from_a_fixed_seed(patch):
    with_samplers(patch, lambda draw, scale, size, _: np.random.default_rng(1).integers(-3, 4, size))


def empty_cells_without_noise(patch):
    honest = answering._add_noise

    def change(question, counts, terms, bits):
        answer = honest(question, counts, terms, bits)
        noisy = np.where(counts.reshape(answer.whole.shape) == 0, 0, answer.whole)
        return NoisyCounts(question, noisy, answer.noise)

    patch.setattr(answering, "_add_noise", change)


def clipped_at_the_true_number_of_rows(patch):
    honest = answering._add_noise

    def change(question, counts, terms, bits):
        answer = honest(question, counts, terms, bits)
        return NoisyCounts(question, np.clip(answer.whole, 0, int(counts.sum())), answer.noise)

    patch.setattr(answering, "_add_noise", change)


def scale_from_the_number_of_rows(patch):
    honest = answering._add_noise

    def change(question, counts, terms, bits):
        law = question.noise(terms.relation, terms.max_rows)
        law = type(law)(law.kind, law.parameter / (1 + int(counts.sum())))
        answer = honest(question, counts, terms, bits)
        return NoisyCounts(question, answer.whole, law)

    patch.setattr(answering, "_add_noise", change)


def only_the_first_question_is_charged(patch):
    nothing_is_charged(patch)
    honest = independent.ask_one_way

    def at_full_price(curator, schema, groupings, budget):
        return honest(curator, schema, groupings, budget * len(schema.columns) * 2)

    patch.setattr(independent, "ask_one_way", at_full_price)


def the_number_of_rows_is_shown(patch):
    honest = answering.answer_marginal_counts

    def change(questions, rows, terms, bits):
        sys.stdout.write(f"counted {rows.tables.count([()])[0][0]} rows")
        return honest(questions, rows, terms, bits)

    swapped(patch, "MarginalCounts", lambda _: change)


def an_error_that_depends_on_rows(patch):
    honest = answering.answer_marginal_counts

    def change(questions, rows, terms, bits):
        if rows.tables.count([()])[0][0] > 8:
            raise DataError("too many rows")
        return honest(questions, rows, terms, bits)

    swapped(patch, "MarginalCounts", lambda _: change)


def the_private_number_of_rows_in_the_terms(patch):
    def change(source, schema, relation, expected_rows):
        return Terms(relation=relation, max_rows=schema.max_rows, expected_rows=source.rows + 1)

    patch.setattr(lapwing.extras.audit.replay, "public_terms", change)


def _with_source(patch, change):
    def read(data, schema, **reading):
        return Changed(code_table(data, schema, **reading), change)

    patch.setattr(lapwing.extras.audit.replay, "code_table", read)


def bounds_taken_from_the_data(patch):
    def rescale(codes):
        return {
            name: (values - values.min(initial=0) if not len(values) else values - values.min()).astype(values.dtype)
            for name, values in codes.items()
        }

    _with_source(patch, rescale)


def every_row_is_counted_twice(patch):
    _with_source(patch, lambda codes: {name: np.concatenate([values, values]) for name, values in codes.items()})


def units_own_as_many_rows_as_they_like(patch):
    def untruncated(data, schema, **reading):
        from dataclasses import replace

        return code_table(data, replace(schema, privacy_unit=None), **reading)

    patch.setattr(lapwing.extras.audit.replay, "code_table", untruncated)


NOISE = "is not the exact count plus its noise"
ROOM_BUGS = {
    half_noise: NOISE,
    ten_percent_short_noise: NOISE,
    first_cell_without_noise: NOISE,
    the_same_noise_for_every_table: "drew more secret words than its answers need",
    noise_from_a_fixed_seed: "the recorded run drew fewer secret words",
    empty_cells_without_noise: NOISE,
    clipped_at_the_true_number_of_rows: NOISE,
    scale_from_the_number_of_rows: "its cost needs NoiseLaw",
    only_the_first_question_is_charged: "the answers cost 14, the claim is 1",
    the_number_of_rows_is_shown: "messages differs when",
    an_error_that_depends_on_rows: "error differs when",
    the_private_number_of_rows_in_the_terms: "the public terms differ between",
    bounds_taken_from_the_data: "the answers lose",
    every_row_is_counted_twice: "the answers lose",
    units_own_as_many_rows_as_they_like: "the answers lose",
}
"""Each with what its flag says."""


@pytest.mark.parametrize(("plant", "says"), list(ROOM_BUGS.items()), ids=lambda each: getattr(each, "__name__", ""))
def test_a_bug_in_the_room_is_flagged_for_what_it_is(plant, says, monkeypatch):
    plant(monkeypatch)

    flags = flags_of(Independent.small())

    assert any(says in flag for flag in flags), flags


def test_the_honest_room_is_not_flagged_on_the_same_pairs():
    assert flags_of(Independent.small(), pairs=8) == ()  # more of them: `test_record_and_replay`


def planted(run):
    """Return a mechanism that looks where it must not."""

    @dataclass(frozen=True)
    class Planted(Mechanism):
        name = "Planted"
        summary = "looks at rows"
        relations = Independent.relations

        def run(self, curator, schema, budget, rng):
            return run(curator, schema, budget, rng)

    return Planted()


def groups_from_the_rows(curator, schema, budget, rng):
    groups = 2 + rows_behind(curator).rows
    return Independent(groups=groups).run(curator, schema, budget, rng)


def early_stop_on_exact_counts(curator, schema, budget, rng):
    share = budget / (2 if rows_behind(curator).rows % 2 else 1)
    return Independent.small().run(curator, schema, share, rng)


def rows_out_from_the_rows_in(curator, schema, budget, rng):
    from dataclasses import replace

    return replace(Independent.small().run(curator, schema, budget, rng), rows=rows_behind(curator).rows)


@pytest.mark.parametrize("run", [groups_from_the_rows, early_stop_on_exact_counts, rows_out_from_the_rows_in])
def test_a_mechanism_that_looks_at_rows_is_flagged(run):
    flags = flags_of(planted(run), pairs=80, relations=("add-remove",))

    assert flags
