"""Which directions are cut into how many cells, and the noisy totals and covariance that decide it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.flag_tables import flags
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.terms import Terms
from lapwing.maths.lattice_net import private_net
from lapwing.mechanisms.shared.vectors.row_vectors import row_coordinates
from lapwing.mechanisms.shared.vectors.vector_cells import (
    Totals,
    VectorCovariance,
    chosen_bins,
    covariance_of,
    cut_directions,
    moment_question,
    noise_edge,
    sampling_variance,
    totals_of,
)
from lapwing.mechanisms.vectors.microaggregation.model import net_cells, total_questions
from lapwing.schema.schemas import Schema

ONE = Budget.pure(1)
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"]}
FLAG = {"name": "flag", "type": "boolean", "constraints": {"required": True}}
REAL = {"name": "real", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}


def coordinates(*fields, numbers="intervals", **settings):
    return row_coordinates(Schema.from_dict({"fields": list(fields)}), numbers, 16, **settings)


def of_flags(count, **settings):
    return row_coordinates(flags(count), "intervals", 16, **settings)


def covariance(between, inside):
    between, inside = np.array(between, dtype=float), np.array(inside, dtype=float)
    return VectorCovariance(between, inside, ~np.eye(len(between), dtype=bool), 0.1)


def answered(question, values, scale=Fraction(1)):
    return NoisySums(question, np.asarray(values, dtype=np.int64).reshape(question.shape), NoiseLaw("laplace", scale))


# ------------------------------------------------------------------------------------------------------ edge and bins


@pytest.mark.parametrize(("rows", "sd"), [(10**9, 0.02), (4000, 0.0), (4000, 0.02)])
def test_the_edge_of_noise_is_about_the_largest_eigenvalue_of_independent_columns(rows, sd):
    rng, columns = np.random.default_rng(1), 80
    noise = np.triu(rng.normal(0, math.sqrt(sd**2 + 1 / rows), (columns, columns)), 1)

    largest = np.linalg.eigvalsh(noise + noise.T)[-1]

    even = covariance(np.zeros((columns, columns)), np.eye(columns))
    assert largest == pytest.approx(noise_edge(columns, sd, sampling_variance(even, rows)), rel=0.15)


@pytest.mark.parametrize("seed", range(6))
def test_bins_are_as_many_as_go_into_the_most_cells_and_spread_like_the_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    eigenvalues, most = np.sort(rng.gamma(0.5, 3, 8))[::-1], float(rng.integers(1, 500))

    found = chosen_bins(eigenvalues, 0.5, most, directions=None, bins=None)

    real = np.sqrt(np.maximum(eigenvalues**2 - 0.25, 0.0))
    assert math.prod(found) <= most
    assert list(found) == sorted(found, reverse=True)
    assert len(found) <= np.count_nonzero(eigenvalues > 0.5)
    if found:
        all_bins = np.pad(found, (0, 8 - len(found)), constant_values=1)
        worst = int(np.argmax(real / all_bins**2))
        assert math.prod(found) // all_bins[worst] * (all_bins[worst] + 1) > most
        # No direction loses more than one that could have been cut before its last cut.
        assert all(
            real[i] / (found[i] - 1) ** 2 >= real[j] / found[j] ** 2 - 1e-12
            for i, j in itertools.permutations(range(len(found)), 2)
        )


@pytest.mark.parametrize(
    ("directions", "bins", "most", "expected"),
    [
        (None, None, 20.0, (6, 3)),
        (None, None, 1.9, ()),
        (None, None, 0.0, ()),
        (0, None, 100.0, ()),
        (1, None, 100.0, (100,)),
        (3, None, 1.0, ()),
        (9, None, 8.0, (4, 2)),
        (0, 5, 100.0, ()),
        (2, 5, 1.0, (5, 5)),
        (9, 2, 1.0, (2, 2, 2)),
        (None, 5, 25.0, (5, 5)),
        (None, 5, 24.0, (5,)),
        (None, 5, 4.0, ()),
    ],
)
def test_settings_choose_directions_and_bins(directions, bins, most, expected):
    found = chosen_bins(np.array([3.0, 1.0, 0.1]), 0.5, most, directions=directions, bins=bins)

    assert found == expected


# --------------------------------------------------------------------------------------------------------------- cuts


def test_cells_are_cut_evenly_about_the_mean_up_to_two_standard_deviations():
    rows = [[-1.0, -1], [1, 1], [1, -1], [-1, 1]]

    found = cut_directions(of_flags(2), covariance([[0, 0.5], [0.5, 0]], np.eye(2) * 0.9), np.array([0.2, 0.4]), (4, 2))

    both, apart = found.directions.T / 2**20
    assert both == pytest.approx(np.full(2, 0.5**0.5), abs=1e-6)
    assert sorted(apart.tolist()) == pytest.approx([-(0.5**0.5), 0.5**0.5], abs=1e-6)
    middle, spread = 0.6 / 2**0.5, 1.4**0.5
    assert found.cuts[0] / 2**20 == pytest.approx([middle - spread, middle, middle + spread], abs=1e-5)
    assert abs(found.cuts[1][0]) / 2**20 == pytest.approx(0.2 / 2**0.5, abs=1e-5)
    assert found.cells == 8
    assert len(set(found.cells_of(np.array(rows)).tolist())) == 4


@pytest.mark.parametrize("rows", [0, 1, 2, 100, 50_000, 10**9])
def test_the_paper_s_net_has_at_most_the_root_of_the_rows_in_cells(rows):
    rng = np.random.default_rng(1)
    vectors = rng.integers(0, 2, (200, 6)).astype(float)

    found = net_cells(of_flags(6, coding="unit"), vectors.T @ vectors / 200, rows)

    choice = private_net(max(1, rows), 6)
    if not choice.dimensions:
        assert found is None
        return
    assert found.count == choice.dimensions
    assert found.cells <= math.sqrt(rows)
    assert found.spacing * math.sqrt(found.norm) <= math.sqrt(6) * 2**20 * (1 + 1e-9)
    assert found.spacing / (math.sqrt(6) * 2**20) == pytest.approx(choice.alpha / math.sqrt(choice.dimensions))


# --------------------------------------------------------------------------------------------- totals and covariance


def test_an_exact_number_of_rows_stays_exact():
    exact, noisy = (Totals(rows, sd, np.zeros(1), 1.0) for rows, sd in ((100.0, 0.0), (90.0, 5.0)))

    for found in (exact.pooled(noisy), noisy.pooled(exact), exact.pooled(exact)):
        assert (found.rows, found.rows_sd) == (100.0, 0.0)
    assert noisy.pooled(Totals(-(10.0**6), 5.0, np.zeros(1), 1.0)).rows == 1.0


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_number_of_rows_is_asked_for_where_it_is_private_at_the_noise_of_one_sum(relation):
    rows = 50 if relation == "replace-one" else None
    terms = Terms(relation=relation, rows=rows)
    questions = total_questions(of_flags(4), ONE, terms)

    found = totals_of(tuple(answered(each, np.arange(-3, each.shape[0] * each.width - 3)) for each in questions), terms)

    assert [each.summed for each in questions] == (["rows", "vectors"] if rows is None else ["vectors"])
    assert sum(each.cost.amount for each in questions) == 1
    assert len({each.noise(relation, 1) for each in questions}) == 1
    assert (found.rows, found.rows_sd) == ((1.0, math.sqrt(found.rows_sd**2)) if rows is None else (50.0, 0.0))
    assert found.sums.tolist() == [-3.0, -2.0, -1.0, 0.0]


@pytest.mark.parametrize("bits", [0, 12])
def test_a_covariance_without_diagonal_fills_in_what_lines_and_lists_have_there(bits):
    both = coordinates(FLAG, KIND) if bits == 0 else coordinates(FLAG, REAL | {"name": "r"}, numbers="means")
    rng, rows = np.random.default_rng(2), 400
    codes = {name: rng.integers(0, [2, 4][place] if bits == 0 else 2, rows) for place, name in enumerate(both.columns)}
    vectors = both.vectors(codes)
    question = moment_question(both, ONE)
    products = (vectors.T @ vectors)[question.pairs]
    totals = Totals(float(rows), 0.0, vectors.sum(axis=0) / both.unit, 0.0)

    found = covariance_of(answered(question, products), totals)

    expected = np.cov(vectors / both.unit, rowvar=False, bias=True)
    assert question.diagonal is (bits > 0)
    assert found.between + found.inside == pytest.approx(expected, abs=1e-12)
    assert not found.between[~found.pairs].any()
    assert not found.inside[found.pairs].any()
    assert found.pairs.tolist() == (both.owners[:, None] != both.owners).tolist()
    assert found.sd == pytest.approx(NoiseLaw("laplace", Fraction(1)).sd / both.unit**2 / rows)
