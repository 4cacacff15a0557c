"""Bugs of moments and sums over cells, as published code has them, planted one by one: record and replay flags each."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import lapwing.kernel.questions.cell_sums.answer as summing
import lapwing.kernel.questions.second_moment.answer as moments
from helpers.audits import flags_of, in_turn
from helpers.peeking import rows_behind
from helpers.planted_charging import nothing_is_charged
from helpers.vector_runs import FORMS, AskingVectors, cuts_of, leading
from helpers.vectors import sums_asked
from lapwing.kernel.noise_law import Sensitivity, row_sensitivity
from lapwing.kernel.questions.cell_sums.question import MEAN_BITS, CellSums, NoisySums
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation

CELLS = Microaggregation(directions=1, bins=2, intervals=2)
NUMBERS = Microaggregation(directions=1, bins=2, numbers="means")
PRODUCTS, SQUARES, ONES = (AskingVectors((form,)) for form in ("products", "squares", "ones"))
BALL, SIMPLEX = (AskingVectors((f"products in a {name}",)) for name in ("ball", "simplex"))
ROWS, SUMS, LATTICE = (AskingVectors((form,)) for form in ("rows", "sums", "sums of a lattice"))
TOTALS, MEANS = (AskingVectors((form,)) for form in ("totals", "means"))
ROWS_OF_LATTICE = AskingVectors(("rows of a lattice",))


def with_noise(patch, place, change):
    """Let the room draw its noise wrongly: ``change(draw, size)``, where ``draw(size)`` draws it right."""
    honest = place.noise_of
    patch.setattr(place, "noise_of", lambda law, size, bits: change(lambda n: honest(law, n, bits), size))


def with_answers(patch, place, change):
    """Let the room change its answers: ``change(question, exact, noisy)``, of the question's shape."""
    honest = place._perturbed

    def perturbed(question, source, terms, bits):
        answer = honest(question, source, terms, bits)
        if place is moments:
            exact = moments.exact_products(question.coordinates, source)[question.pairs]
        else:
            exact = summing.exact_sums(question, source)
        return NoisySums(question, change(question, exact, answer.values).astype(np.int64), answer.noise)

    patch.setattr(place, "_perturbed", perturbed)


def with_sensitivity(patch, kind, change):
    """Let questions be calibrated wrongly: ``change(honest bound, relation, max_rows)``."""
    honest = kind.sensitivity
    patch.setattr(
        kind, "sensitivity", lambda self, relation, rows: change(honest(self, relation, rows), relation, rows)
    )


# ---------------------------------------------------------------------------------------- bugs of the second moment


def the_diagonal_has_no_noise(patch):
    def change(question, exact, noisy):
        first, second = question.pairs
        return np.where(first == second, exact, noisy)

    with_answers(patch, moments, change)


def each_entry_has_the_mean_of_two_draws(patch):
    with_noise(patch, moments, lambda draw, size: (draw(size) + draw(size)) // 2)


def products_draw_half_their_noise(patch):
    with_noise(patch, moments, lambda draw, size: draw(size) // 2)


def products_draw_a_tenth_less_noise(patch):
    with_noise(patch, moments, lambda draw, size: draw(size) * 9 // 10)


def all_products_share_their_noise(patch):
    with_noise(patch, moments, lambda draw, size: np.repeat(draw(1), size))


def products_of_rare_pairs_are_cut_to_zero(patch):
    with_answers(patch, moments, lambda question, exact, noisy: np.where(np.abs(exact) < 1, 0, noisy))


def vectors_are_centred_by_the_exact_mean(patch):
    honest = moments.exact_products

    def exact_products(coordinates, source):
        rows = sum(len(next(iter(chunk.values()))) for chunk in source.chunks())
        sums = sum((coordinates.vectors(chunk).sum(axis=0) for chunk in source.chunks()), np.zeros(coordinates.size))
        return honest(coordinates, source) - np.rint(np.outer(sums, sums) / max(rows, 1)).astype(np.int64)

    patch.setattr(moments, "exact_products", exact_products)


def products_are_calibrated_for_a_row_added(patch):
    honest = SecondMoment.sensitivity
    patch.setattr(SecondMoment, "sensitivity", lambda self, relation, rows: honest(self, "add-remove", rows))


def products_are_calibrated_for_one_row(patch):
    honest = SecondMoment.sensitivity
    patch.setattr(SecondMoment, "sensitivity", lambda self, relation, rows: honest(self, relation, 1))


def products_are_calibrated_for_one_entry(patch):
    def change(bound, relation, rows):
        return row_sensitivity(relation, rows)

    with_sensitivity(patch, SecondMoment, change)


def the_second_moment_is_taken_for_a_mean_of_projections(patch):
    with_sensitivity(
        patch, SecondMoment, lambda bound, *terms: Sensitivity(max(1, bound.l1 // 4), bound.l2_squared // 4)
    )


MOMENT_BUGS = [
    *in_turn(
        (CELLS, SQUARES),
        (
            each_entry_has_the_mean_of_two_draws,
            products_draw_half_their_noise,
            products_draw_a_tenth_less_noise,
            all_products_share_their_noise,
            products_of_rare_pairs_are_cut_to_zero,
            vectors_are_centred_by_the_exact_mean,
        ),
    ),
    *in_turn((NUMBERS, SQUARES, SIMPLEX), (the_diagonal_has_no_noise,)),
    (PRODUCTS, products_are_calibrated_for_a_row_added),
    (SIMPLEX, products_are_calibrated_for_a_row_added),
    *((each, products_are_calibrated_for_one_row) for each in (PRODUCTS, ONES, SIMPLEX)),
    (PRODUCTS, products_are_calibrated_for_one_entry),
    (ONES, products_are_calibrated_for_one_entry),
    *((each, the_second_moment_is_taken_for_a_mean_of_projections) for each in (PRODUCTS, ONES, BALL, SIMPLEX)),
]


# --------------------------------------------------------------------------------------------- bugs of sums of cells


def empty_cells_have_no_noise(patch):
    with_answers(patch, summing, lambda question, exact, noisy: np.where(exact == 0, 0, noisy))


def empty_cells_are_skipped(patch):
    def perturbed(question, source, terms, bits):
        law, exact = question.noise(terms.relation, terms.max_rows), summing.exact_sums(question, source)
        found, noisy = np.flatnonzero(exact), exact.reshape(-1).copy()
        noisy[found] += summing.noise_of(law, found.size, bits)
        return NoisySums(question, noisy.reshape(exact.shape), law)

    patch.setattr(summing, "_perturbed", perturbed)


def cells_draw_half_their_noise(patch):
    with_noise(patch, summing, lambda draw, size: draw(size) // 2)


def cells_draw_a_tenth_less_noise(patch):
    with_noise(patch, summing, lambda draw, size: draw(size) * 9 // 10)


def all_cells_share_their_noise(patch):
    with_noise(patch, summing, lambda draw, size: np.resize(draw(max(1, size // 4)), size))


def numbers_are_clipped_at_zero(patch):
    with_answers(patch, summing, lambda question, exact, noisy: np.maximum(noisy, 0))


def counts_are_clipped_at_the_true_number_of_rows(patch):
    with_answers(patch, summing, lambda question, exact, noisy: np.minimum(noisy, exact.sum()))


def cells_are_chosen_about_the_exact_mean(patch):
    honest = Projection.cells_of
    patch.setattr(Projection, "cells_of", lambda self, rows: honest(self, np.rint(2 * (rows - rows.mean(axis=0)))))


def near_ties_hang_on_other_rows(patch):
    """Let a product be rounded by the size of the whole table, as blocked floating sums are."""
    honest = Projection.cells_of

    def cells_of(self, rows):
        return honest(self, rows + (len(rows) % 2) * (rows.sum(axis=1, keepdims=True) == 0))

    patch.setattr(Projection, "cells_of", cells_of)


def means_are_divided_by_the_exact_counts(patch):
    honest = summing.exact_sums

    def exact_sums(question, source):
        if question.damping is None:
            return honest(question, source)
        sums = honest(replace(question, summed="vectors", damping=None), source)
        rows = honest(replace(question, summed="rows", damping=None), source)
        return (sums << MEAN_BITS) // (np.maximum(rows, 1) * question.coordinates.unit)[:, None]

    patch.setattr(summing, "exact_sums", exact_sums)


def means_are_damped_by_the_exact_number_of_rows(patch):
    honest = summing.exact_sums

    def exact_sums(question, source):
        if question.damping is None:
            return honest(question, source)
        rows = honest(replace(question, summed="rows", damping=None), source).sum()
        return honest(replace(question, damping=max(1, int(rows) // 2)), source)

    patch.setattr(summing, "exact_sums", exact_sums)


def cells_are_calibrated_for_a_row_added(patch):
    honest = CellSums.sensitivity
    patch.setattr(CellSums, "sensitivity", lambda self, relation, rows: honest(self, "add-remove", rows))


def cells_are_calibrated_for_one_row(patch):
    honest = CellSums.sensitivity
    patch.setattr(CellSums, "sensitivity", lambda self, relation, rows: honest(self, relation, 1))


def vectors_are_calibrated_for_one_coordinate(patch):
    honest = Coordinates.sum_change

    def sum_change(self, relation):
        bound, blocks = honest(self, relation), len(self.columns)
        return Sensitivity(bound.l1 // blocks, bound.l2_squared // blocks)

    patch.setattr(Coordinates, "sum_change", sum_change)


def means_are_calibrated_as_if_nothing_were_divided(patch):
    with_sensitivity(patch, CellSums, lambda bound, *terms: Sensitivity(max(1, bound.l1 // 6), bound.l1**2 // 36 + 1))


CELL_BUGS = [
    *in_turn(
        (CELLS, SUMS, LATTICE),
        (
            empty_cells_have_no_noise,
            empty_cells_are_skipped,
            cells_draw_half_their_noise,
            cells_draw_a_tenth_less_noise,
            all_cells_share_their_noise,
            numbers_are_clipped_at_zero,
        ),
    ),
    *in_turn((CELLS, ROWS, ROWS_OF_LATTICE), (counts_are_clipped_at_the_true_number_of_rows,)),
    *((each, cells_are_chosen_about_the_exact_mean) for each in (CELLS, ROWS, LATTICE)),
    *((each, near_ties_hang_on_other_rows) for each in (ROWS, SUMS)),
    (MEANS, means_are_divided_by_the_exact_counts),
    (MEANS, means_are_damped_by_the_exact_number_of_rows),
    *((each, cells_are_calibrated_for_a_row_added) for each in (ROWS, TOTALS)),
    *((each, cells_are_calibrated_for_one_row) for each in (CELLS, ROWS, TOTALS, SUMS)),
    *((each, vectors_are_calibrated_for_one_coordinate) for each in (CELLS, TOTALS, SUMS)),
    (MEANS, means_are_calibrated_as_if_nothing_were_divided),
]


def named(case):
    return case.__name__ if callable(case) else "-".join(getattr(case, "forms", ("Microaggregation",)))


@pytest.mark.parametrize(("mechanism", "plant"), [*MOMENT_BUGS, *CELL_BUGS], ids=named)
def test_a_bug_in_the_answers_is_flagged(mechanism, plant, monkeypatch):
    plant(monkeypatch)

    assert flags_of(mechanism, pairs=800)


# Of every form: `test_vector_privacy`.
@pytest.mark.parametrize("mechanism", [CELLS, NUMBERS], ids=["cells", "numbers"])
def test_honest_answers_are_not_flagged_on_the_same_pairs(mechanism):
    assert flags_of(mechanism, pairs=8) == ()


# ---------------------------------------------------------------------------------------------- bugs of a mechanism


@dataclass(frozen=True)
class Planted(AskingVectors):
    """Ask questions that are made by looking at rows."""

    asking: object = None

    def run(self, curator, schema, budget, rng):
        self.asking(curator, schema, budget)
        return AskingVectors(("rows",)).run(curator, schema, budget / 2, rng)


def cells_from_exact_eigenvectors(curator, schema, budget):
    question = FORMS["squares"](schema, budget / 4)
    values = moments.exact_products(question.coordinates, rows_behind(curator))[question.pairs]
    curator.ask(sums_asked(question.coordinates, leading(question, values), cost=budget / 4))


def cuts_at_the_exact_mean(curator, schema, budget):
    question = FORMS["squares"](schema, budget / 4)
    total = sum(int(chunk[schema.columns[0].name].astype(int).sum()) for chunk in rows_behind(curator).chunks())
    cells = cuts_of(question.coordinates)
    cells = replace(cells, cuts=(np.array([total // 2]), np.array([0])))
    curator.ask(sums_asked(question.coordinates, cells, cost=budget / 4))


def damping_by_the_exact_number_of_rows(curator, schema, budget):
    coordinates = FORMS["squares"](schema, budget).coordinates
    damping = 1 + rows_behind(curator).rows // 2
    curator.ask(sums_asked(coordinates, None, "damped means", damping=damping, cost=budget / 4))


def a_share_by_the_exact_number_of_rows(curator, schema, budget):
    coordinates = FORMS["squares"](schema, budget).coordinates
    curator.ask(sums_asked(coordinates, None, cost=budget / (3 + rows_behind(curator).rows % 2)))


@pytest.mark.parametrize(
    "asking",
    [
        cells_from_exact_eigenvectors,
        cuts_at_the_exact_mean,
        damping_by_the_exact_number_of_rows,
        a_share_by_the_exact_number_of_rows,
    ],
)
def test_a_mechanism_that_looks_at_rows_is_flagged(asking):
    assert flags_of(Planted(asking=asking), relations=("add-remove",))


def test_a_first_moment_that_nobody_pays_for_is_flagged(monkeypatch):
    nothing_is_charged(monkeypatch)

    def unpaid(curator, schema, budget):
        question = FORMS["squares"](schema, budget / 2)
        curator.ask(question, sums_asked(question.coordinates, None, cost=budget / 2))

    assert flags_of(Planted(asking=unpaid))


@pytest.mark.parametrize("mechanism", [CELLS, SQUARES], ids=named)
def test_a_second_moment_with_hardly_any_noise_is_flagged(mechanism, monkeypatch):
    honest = SecondMoment.noise

    def noise(self, *terms):
        law = honest(self, *terms)
        return replace(law, parameter=law.parameter / 1000)

    monkeypatch.setattr(SecondMoment, "noise", noise)

    assert flags_of(mechanism)
