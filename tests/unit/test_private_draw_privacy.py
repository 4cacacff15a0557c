"""The privacy of private draws, attacked: every neighbour of every small table, exact ratios of probabilities."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from helpers.private_draws import asked, kinds_of_rows, sets_up_to, source_of, walsh
from lapwing.kernel.questions.private_draw.answer import exact_weights
from lapwing.kernel.questions.private_draw.question import DrawnRows, row_price
from lapwing.maths.reduced_density import (
    is_well_conditioned,
    largest_odd_family,
    low_sets,
    nearest_density,
    sign_matrix,
)

SMALL = [
    (1, 1, 4, "1/10"),
    (1, 1, 9, "22/25"),
    (2, 1, 4, "1/2"),
    (2, 2, 4, "1/4"),
    (2, 2, 4, "1"),
    (3, 1, 2, "1/2"),
    (3, 2, 2, "1/2"),
    (3, 3, 2, "1"),
    *[
        pytest.param(*case, marks=pytest.mark.full)
        for case in [
            (3, 1, 3, "1/3"),
            (3, 2, 3, "9/10"),
            (3, 3, 4, "1/10"),
            (4, 1, 2, "1"),
            (4, 2, 2, "1/2"),
            (4, 4, 2, "1/10"),
        ]
    ],
]
"""Columns, degree, rows, floor."""


@cache
def weights_of_all_tables(columns, degree, rows, floor):
    """Return the weights of every table of so many rows, misfits among them, by its sorted kinds of rows."""
    kinds = kinds_of_rows(columns)
    question = asked(columns, rows, degree=degree, floor=floor)
    return {
        table: exact_weights(question, source_of([kinds[each] for each in table], columns)).tolist()
        for table in itertools.combinations_with_replacement(range(len(kinds)), rows)
    }


def neighbours(columns, degree, rows, floor):
    """Yield the weights of every two tables that differ in one row."""
    weights = weights_of_all_tables(columns, degree, rows, floor)
    kinds = range(len(kinds_of_rows(columns)))
    for table, own in weights.items():
        for place, kind in itertools.product(range(rows), kinds):
            yield own, weights[tuple(sorted((*table[:place], kind, *table[place + 1 :])))]


def ratios(own, other):
    return [Fraction(one, two) for one, two in zip(own, other, strict=True)]


def largest_ratio(pairs):
    return max(Fraction(*each) for each in {each for own, other in pairs for each in zip(own, other, strict=True)})


@pytest.mark.parametrize(("columns", "degree", "rows", "floor"), SMALL)
def test_no_neighbour_passes_either_term_of_the_bound(columns, degree, rows, floor):
    odd = largest_odd_family(columns, degree)
    least = math.ceil(Fraction(floor) * rows)

    pairs = list(neighbours(columns, degree, rows, floor))
    growths = {(sum(other), sum(own)) for own, other in pairs}

    assert min(min(own) for own, _ in pairs) >= least
    assert largest_ratio(pairs) <= 1 + Fraction(2 * odd, least)
    assert max(Fraction(*growth) - 1 for growth in growths) ** 2 <= Fraction(4 * odd, rows**2)


@pytest.mark.parametrize(("columns", "degree", "rows", "floor"), SMALL)
@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_no_neighbour_loses_more_than_the_price(columns, degree, rows, floor, notion):
    question = asked(columns, rows, degree=degree, floor=floor, notion=notion)
    answer = DrawnRows(question, np.zeros(1, dtype=np.int64))

    losses = {
        answer.privacy_loss(np.array(own), np.array(other))
        for own, other in set(map(_key, neighbours(columns, degree, rows, floor)))
    }

    assert 0 < max(losses) <= question.row_price


@pytest.mark.parametrize(("own", "other"), [([1, 3, 4, 1], [2, 3, 7, 1]), ([5, 1, 1, 2], [1, 1, 1, 1])])
def test_the_loss_of_a_draw_is_that_of_its_probabilities(own, other):
    logs = [math.log((one / sum(own)) / (two / sum(other))) for one, two in zip(own, other, strict=True)]

    losses = [
        DrawnRows(asked(2, 9, degree=1, floor="1/3", notion=notion, draws=3), np.zeros(3, dtype=np.int64)).privacy_loss(
            np.array(own), np.array(other)
        )
        for notion in ("pure", "zcdp")
    ]

    assert list(map(float, losses)) == pytest.approx([3 * max(map(abs, logs)), 3 * (max(logs) - min(logs)) ** 2 / 8])


def _key(pair):
    return tuple(pair[0]), tuple(pair[1])


def test_the_first_term_is_attained():
    for columns, degree, rows, floor in [*SMALL[:5], (3, 1, 3, "1/3")]:
        term = 1 + Fraction(2 * largest_odd_family(columns, degree), math.ceil(Fraction(floor) * rows))

        assert largest_ratio(neighbours(columns, degree, rows, floor)) == term, (columns, degree)


def test_the_bounded_range_is_attained_and_an_eighth_of_epsilon_squared_is_too_little():
    case = (1, 1, 9, "22/25")
    eta = 2 * math.log(1 + 2 / 8)
    epsilon = float(row_price(1, 1, Fraction(22, 25), 9, notion="pure"))

    widths = {math.log(max(ratios(*pair)) / min(ratios(*pair))) for pair in neighbours(*case)}
    divergences = [renyi(own, other, order) / order for own, other in neighbours(*case) for order in (1.0001, 2, 8, 64)]

    assert max(widths) == pytest.approx(eta, rel=1e-12)  # logarithms of doubles
    assert max(divergences) <= eta**2 / 8
    assert max(divergences) > epsilon**2 / 8
    assert float(row_price(1, 1, Fraction(22, 25), 9, notion="zcdp")) == pytest.approx(eta**2 / 8, rel=1e-11)


@pytest.mark.parametrize(("columns", "degree", "rows", "floor"), SMALL)
def test_no_renyi_divergence_passes_rho(columns, degree, rows, floor):
    rho = float(row_price(columns, degree, Fraction(floor), rows, notion="zcdp"))

    for own, other in set(map(_key, neighbours(columns, degree, rows, floor))):
        for order in (1.01, 2, 16):
            assert renyi(own, other, order) <= order * rho + 1e-9  # sums of a few doubles of size at most 10


def renyi(own, other, order):
    """Return the Renyi divergence of an order above 1 between the laws with these weights."""
    laws = [[weight / sum(weights) for weight in weights] for weights in (own, other)]
    total = sum(p * math.exp((order - 1) * math.log(p / q)) for p, q in zip(*laws, strict=True))
    return math.log(total) / (order - 1)


@pytest.mark.parametrize(("columns", "degree"), [(p, d) for p in range(1, 6) for d in range(1, p + 1)])
def test_the_odd_family_is_what_two_points_can_see_differently(columns, degree):
    sets = sets_up_to(columns, degree)
    cube = list(itertools.product((0, 1), repeat=columns))

    seen = max(sum(walsh(each, cube[0]) != walsh(each, point) for each in sets) for point in cube)

    assert largest_odd_family(columns, degree) == seen
    assert low_sets(columns, degree) == len(sets)


# --------------------------------------------------------------------------------------------- the published variant


SETTINGS = [("1/4", "2"), ("2/5", "8/5"), ("1/10", "3"), ("9/20", "3/2"), ("1/20", "6/5")]
"""Floor and ceiling."""


def well_conditioned(columns, degree, size, rng):
    while True:
        points = rng.integers(2**columns, size=size)
        if is_well_conditioned(points, columns, degree):
            return points


def stability(columns, degree, size, floor, ceiling, rows, rng):
    """Return the largest of ``|h - h'|**2 / (8 Δ**3 τ / δ)`` over neighbours of a lopsided table, and densities."""
    signs = sign_matrix(well_conditioned(columns, degree, size, rng), columns, degree)
    sets = sets_up_to(columns, degree)
    floor, ceiling = Fraction(floor), Fraction(ceiling)
    tau = 4 * math.exp(degree) * math.sqrt(len(sets) / size) / rows
    limit = 8 * float(ceiling) ** 3 * tau / float(floor)
    cube = list(itertools.product((0, 1), repeat=columns))
    vectors = np.array([[walsh(each, point[::-1]) for each in sets] for point in cube])
    counts = rng.multinomial(rows - 1, rng.dirichlet(np.full(len(cube), 0.3)))
    densities = [
        nearest_density(signs, counts @ vectors + vectors[each], rows, floor, ceiling)
        for each in rng.choice(len(cube), size=min(3, len(cube)), replace=False)
    ]
    moved = [
        float(sum((one - two) ** 2 for one, two in zip(*pair, strict=True))) / size**2
        for pair in itertools.combinations(densities, 2)
    ]
    return max(moved) / limit, densities


@pytest.mark.parametrize(("floor", "ceiling"), SETTINGS)
@pytest.mark.parametrize("rows", [2, 30, 10**4])
def test_no_neighbour_moves_the_published_density_further_than_the_lemma_says(floor, ceiling, rows):
    rng = np.random.default_rng([rows, len(floor)])

    for columns, degree, size in [(2, 1, 6), (3, 1, 8), (3, 2, 9)]:
        share, densities = stability(columns, degree, size, floor, ceiling, rows, rng)

        assert share <= 1
        for density in densities:
            assert sum(density) == size
            assert Fraction(floor) <= min(density) <= max(density) <= Fraction(ceiling)


@pytest.mark.full
@pytest.mark.parametrize(("floor", "ceiling"), SETTINGS)
def test_no_neighbour_of_many_tables_moves_the_published_density_too_far(floor, ceiling):
    rng = np.random.default_rng(5)
    shares = []

    for rows in (1, 2, 3, 10, 100, 1000, 10**5):
        for columns, degree, size in [(1, 1, 4), (2, 1, 5), (2, 2, 8), (3, 1, 8), (3, 2, 12), (4, 1, 12)]:
            shares += [stability(columns, degree, size, floor, ceiling, rows, rng)[0] for _ in range(5)]

    assert max(shares) <= 1
