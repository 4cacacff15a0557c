"""Bugs of moments and sums over cells, as published code has them."""

from dataclasses import replace

import numpy as np

import lapwing.kernel.questions.cell_sums.answer as summing
import lapwing.kernel.questions.second_moment.answer as moments
from helpers.peeking import rows_behind
from helpers.planted_audits import replay
from helpers.planting import in_turn, instead_of, nothing_is_charged, seen_by
from helpers.vector_runs import FORMS, AskingVectors, cuts_of, leading
from helpers.vectors import sums_asked
from lapwing.kernel.noise_law import Sensitivity, row_sensitivity
from lapwing.kernel.questions.cell_sums.question import MEAN_BITS, CellSums, NoisySums
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation

CELLS = replay(Microaggregation(directions=1, bins=2, intervals=2))
NUMBERS = replay(Microaggregation(directions=1, bins=2, numbers="means"))
SMALL_MEANS = replay(replace(Microaggregation.small(), numbers="means"))
PRODUCTS, SQUARES, ONES = (replay(AskingVectors((form,))) for form in ("products", "squares", "ones"))
BALL, SIMPLEX = (replay(AskingVectors((f"products in a {name}",))) for name in ("ball", "simplex"))
ROWS, SUMS, LATTICE = (replay(AskingVectors((form,))) for form in ("rows", "sums", "sums of a lattice"))
TOTALS, MEANS = (replay(AskingVectors((form,))) for form in ("totals", "means"))
ROWS_OF_LATTICE = replay(AskingVectors(("rows of a lattice",)))


def with_answers(place, exact):
    """Let a change of answers be planted: ``change(question, exact, noisy)``, of the question's shape."""

    def planted(change):
        @instead_of(place, "_add_noise")
        def perturbed(honest, question, source, *rest):
            answer = honest(question, source, *rest)
            values = change(question, exact(question, source), answer.values)
            return NoisySums(question, values.astype(np.int64), answer.noise)

        return perturbed

    return planted


# ---------------------------------------------------------------------------------------- bugs of the second moment

with_products = with_answers(
    moments, lambda question, source: moments.exact_products(question.coordinates, source)[question.pairs]
)
noise_of_products = instead_of(moments, "noise_of")
products_draw_half_their_noise = noise_of_products(lambda draw, *given: draw(*given) // 2)
products_draw_a_tenth_less_noise = noise_of_products(lambda draw, *given: draw(*given) * 9 // 10)
each_entry_has_the_mean_of_two_draws = noise_of_products(lambda draw, *given: (draw(*given) + draw(*given)) // 2)
all_products_share_their_noise = noise_of_products(lambda draw, law, size, bits: np.repeat(draw(law, 1, bits), size))
products_of_rare_pairs_are_cut_to_zero = with_products(
    lambda question, exact, noisy: np.where(np.abs(exact) < 1, 0, noisy)
)
the_diagonal_has_no_noise = with_products(
    lambda question, exact, noisy: np.where(np.equal(*question.pairs), exact, noisy)
)
bound_of_products = instead_of(SecondMoment, "sensitivity")
products_are_calibrated_for_a_row_added = bound_of_products(
    lambda honest, question, relation, max_rows: honest(question, "add-remove", max_rows)
)
products_are_calibrated_for_one_row = bound_of_products(
    lambda honest, question, relation, max_rows: honest(question, relation, 1)
)
products_are_calibrated_for_one_entry = bound_of_products(lambda honest, question, *terms: row_sensitivity(*terms))


@bound_of_products
def the_second_moment_is_taken_for_a_mean_of_projections(honest, *given):
    bound = honest(*given)
    return Sensitivity(max(1, bound.l1 // 4), bound.l2_squared // 4)


@instead_of(moments, "exact_products")
def vectors_are_centred_by_the_exact_mean(honest, coordinates, source):
    """Take products of rows about their exact mean: a covariance, with the sensitivity of a second moment."""
    rows = sum(len(next(iter(chunk.values()))) for chunk in source.chunks())
    sums = sum((coordinates.vectors(chunk).sum(axis=0) for chunk in source.chunks()), np.zeros(coordinates.size))
    return honest(coordinates, source) - np.rint(np.outer(sums, sums) / max(rows, 1)).astype(np.int64)


@instead_of(Coordinates, "vectors")
def columns_are_scaled_by_their_largest(honest, coordinates, block):
    """Divide each coordinate by the largest that occurs, as `MaxAbsScaler` does, instead of by the public bound."""
    found = honest(coordinates, block)
    return np.rint(found * (coordinates.unit / np.maximum(np.abs(found).max(axis=0, initial=1), 1)))


@instead_of(SecondMoment, "noise")
def a_second_moment_has_hardly_any_noise(honest, *given):
    law = honest(*given)
    return replace(law, parameter=law.parameter / 1000)


# --------------------------------------------------------------------------------------------- bugs of sums of cells

with_sums = with_answers(summing, summing.exact_sums)
noise_of_cells = instead_of(summing, "noise_of")
cells_draw_half_their_noise = noise_of_cells(lambda draw, *given: draw(*given) // 2)
cells_draw_a_tenth_less_noise = noise_of_cells(lambda draw, *given: draw(*given) * 9 // 10)
all_cells_share_their_noise = noise_of_cells(
    lambda draw, law, size, bits: np.resize(draw(law, max(1, size // 4), bits), size)
)
empty_cells_have_no_noise = with_sums(lambda question, exact, noisy: np.where(exact == 0, 0, noisy))
numbers_are_clipped_at_zero = with_sums(lambda question, exact, noisy: np.maximum(noisy, 0))
counts_are_clipped_at_the_true_number_of_rows = with_sums(lambda question, exact, noisy: noisy.clip(max=exact.sum()))
bound_of_cells = instead_of(CellSums, "sensitivity")
cells_are_calibrated_for_a_row_added = bound_of_cells(
    lambda honest, question, relation, max_rows: honest(question, "add-remove", max_rows)
)
cells_are_calibrated_for_one_row = bound_of_cells(
    lambda honest, question, relation, max_rows: honest(question, relation, 1)
)


@bound_of_cells
def means_are_calibrated_as_if_nothing_were_divided(honest, *given):
    bound = honest(*given)
    return Sensitivity(max(1, bound.l1 // 6), bound.l1**2 // 36 + 1)


@instead_of(Coordinates, "sum_change")
def vectors_are_calibrated_for_one_coordinate(honest, coordinates, relation):
    bound, blocks = honest(coordinates, relation), len(coordinates.columns)
    return Sensitivity(bound.l1 // blocks, bound.l2_squared // blocks)


@instead_of(summing, "_add_noise")
def empty_cells_are_skipped(honest, question, source, terms, bits):
    law, exact = question.noise(terms.relation, terms.max_rows), summing.exact_sums(question, source)
    found, noisy = np.flatnonzero(exact), exact.reshape(-1).copy()
    noisy[found] += summing.noise_of(law, found.size, bits)
    return NoisySums(question, noisy.reshape(exact.shape), law)


@instead_of(Projection, "cells_of")
def cells_are_chosen_about_the_exact_mean(honest, projection, rows):
    return honest(projection, np.rint(2 * (rows - rows.mean(axis=0))))


@instead_of(Projection, "cells_of")
def near_ties_hang_on_other_rows(honest, projection, rows):
    """Let a product be rounded by the size of the whole table, as blocked floating sums are."""
    return honest(projection, rows + (len(rows) % 2) * (rows.sum(axis=1, keepdims=True) == 0))


@instead_of(summing, "exact_sums")
def means_are_divided_by_the_exact_counts(honest, question, source):
    if question.damping is None:
        return honest(question, source)
    sums = honest(replace(question, summed="vectors", damping=None), source)
    rows = honest(replace(question, summed="rows", damping=None), source)
    return (sums << MEAN_BITS) // (np.maximum(rows, 1) * question.coordinates.unit)[:, None]


@instead_of(summing, "exact_sums")
def means_are_damped_by_the_exact_number_of_rows(honest, question, source):
    if question.damping is None:
        return honest(question, source)
    rows = honest(replace(question, summed="rows", damping=None), source).sum()
    return honest(replace(question, damping=max(1, int(rows) // 2)), source)


# ---------------------------------------------------------------------------------------------- bugs of a mechanism


def asked_first(asking):
    """Let a mechanism ask a question that is made by looking at rows, before its own."""

    @instead_of(AskingVectors, "run")
    def run(honest, mechanism, curator, schema, budget, rng):
        asking(curator, schema, budget)
        return honest(mechanism, curator, schema, budget / 2, rng)

    return run


@asked_first
def cells_are_from_exact_eigenvectors(curator, schema, budget):
    question = FORMS["squares"](schema, budget / 4)
    values = moments.exact_products(question.coordinates, rows_behind(curator))[question.pairs]
    curator.ask(sums_asked(question.coordinates, leading(question, values), cost=budget / 4))


@asked_first
def cuts_are_at_the_exact_mean(curator, schema, budget):
    coordinates = FORMS["squares"](schema, budget / 4).coordinates
    total = sum(int(chunk[schema.columns[0].name].astype(int).sum()) for chunk in rows_behind(curator).chunks())
    cells = replace(cuts_of(coordinates), cuts=(np.array([total // 2]), np.array([0])))
    curator.ask(sums_asked(coordinates, cells, cost=budget / 4))


@asked_first
def the_damping_is_by_the_exact_number_of_rows(curator, schema, budget):
    coordinates = FORMS["squares"](schema, budget).coordinates
    damping = 1 + rows_behind(curator).rows // 2
    curator.ask(sums_asked(coordinates, None, "damped means", damping=damping, cost=budget / 4))


@asked_first
def a_share_is_by_the_exact_number_of_rows(curator, schema, budget):
    coordinates = FORMS["squares"](schema, budget).coordinates
    curator.ask(sums_asked(coordinates, None, cost=budget / (3 + rows_behind(curator).rows % 2)))


def a_first_moment_is_not_paid_for(patch):
    @asked_first
    def unpaid(curator, schema, budget):
        question = FORMS["squares"](schema, budget / 2)
        curator.ask(question, sums_asked(question.coordinates, None, cost=budget / 2))

    nothing_is_charged(patch)
    unpaid(patch)


USUAL = (CELLS, SUMS, LATTICE)
WITHIN = 800
BUGS = (
    *in_turn(
        (CELLS, SQUARES),
        each_entry_has_the_mean_of_two_draws,
        products_draw_half_their_noise,
        products_draw_a_tenth_less_noise,
        all_products_share_their_noise,
        products_of_rare_pairs_are_cut_to_zero,
        vectors_are_centred_by_the_exact_mean,
        within=800,
    ),
    *in_turn((NUMBERS, SQUARES, SIMPLEX), the_diagonal_has_no_noise, within=800),
    *seen_by((PRODUCTS, SIMPLEX), products_are_calibrated_for_a_row_added, within=800),
    *seen_by((PRODUCTS, ONES, SIMPLEX), products_are_calibrated_for_one_row, within=800),
    *seen_by((PRODUCTS, ONES), products_are_calibrated_for_one_entry, within=800),
    *seen_by((PRODUCTS, ONES, BALL, SIMPLEX), the_second_moment_is_taken_for_a_mean_of_projections, within=800),
    *seen_by(SMALL_MEANS, columns_are_scaled_by_their_largest, vectors_are_centred_by_the_exact_mean, within=8),
    *seen_by((CELLS, SQUARES), a_second_moment_has_hardly_any_noise),
    *in_turn((CELLS, ROWS, ROWS_OF_LATTICE), counts_are_clipped_at_the_true_number_of_rows, within=800),
    *seen_by((CELLS, ROWS, LATTICE), cells_are_chosen_about_the_exact_mean, within=800),
    *seen_by((ROWS, SUMS), near_ties_hang_on_other_rows, within=800),
    *seen_by(MEANS, means_are_divided_by_the_exact_counts, within=800),
    *seen_by(MEANS, means_are_damped_by_the_exact_number_of_rows, within=800),
    *seen_by((ROWS, TOTALS), cells_are_calibrated_for_a_row_added, within=800),
    *seen_by((CELLS, ROWS, TOTALS, SUMS), cells_are_calibrated_for_one_row, within=800),
    *seen_by((CELLS, TOTALS, SUMS), vectors_are_calibrated_for_one_coordinate, within=800),
    *seen_by(MEANS, means_are_calibrated_as_if_nothing_were_divided, within=800),
    *seen_by(
        ROWS,
        cells_are_from_exact_eigenvectors,
        cuts_are_at_the_exact_mean,
        the_damping_is_by_the_exact_number_of_rows,
        a_share_is_by_the_exact_number_of_rows,
        a_first_moment_is_not_paid_for,
    ),
)
