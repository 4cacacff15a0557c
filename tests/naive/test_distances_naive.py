"""Distances of tables against permutations, a linear programme and sums over rows, from points written out."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from lapwing.extras.evaluate.metrics import distances
from lapwing.extras.evaluate.metrics.distances import compare_bounded_lipschitz, compare_densities, compare_wasserstein
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "flag", "type": "boolean"},
    {"name": "side", "type": "string", "categories": ["l", "m", "r"]},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 8}, "special": [-1]},
    *({"name": f"n{place}", "type": "number", "constraints": {"minimum": 0, "maximum": 1}} for place in range(5)),
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
ORDERED = [column for column in SCHEMA.columns if column.name != "side"]
# Sums of a few dozen floats of size 1.
ROUNDED = 1e-12


def drawn(rng, rows):
    return {column.name: rng.integers(column.domain.size, size=rows) for column in SCHEMA.columns}


def naive_points(codes):
    """Return for each row a place and a mark for each ordered column."""
    points = []
    for row in zip(*(codes[column.name].tolist() for column in ORDERED), strict=True):
        point = []
        for code, column in zip(row, ORDERED, strict=True):
            is_regular = code < column.domain.values
            point += [code / (column.domain.values - 1), 0] if is_regular else [0.5, 1]
        points.append(point)
    return points


def naive_wasserstein(points, others, ground):
    """Return the least mean cost over all ways to pair up."""
    return min(sum(map(ground, points, order)) / len(points) for order in itertools.permutations(others))


def linf(x, y):
    return max(abs(a - b) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("rows", [1, 2, 6])
@pytest.mark.parametrize("seed", range(3))
def test_assigned_distances_are_the_cheapest_of_all_pairings(rows, seed):
    rng = np.random.default_rng([rows, seed])
    real, other = drawn(rng, rows), drawn(rng, rows)
    points, others = naive_points(real), naive_points(other)

    first, second, _ = compare_wasserstein(real, {"other": other}, SCHEMA, rng=rng)
    bounded = compare_bounded_lipschitz(real, {"other": other}, SCHEMA, rng=rng)

    assert first.values["other"].value == pytest.approx(naive_wasserstein(points, others, linf), abs=ROUNDED)
    assert second.values["other"].value == pytest.approx(naive_wasserstein(points, others, math.dist), abs=ROUNDED)
    capped = naive_wasserstein(points, others, lambda x, y: min(math.dist(x, y), 2))
    assert bounded.values["other"].value == pytest.approx(capped, abs=ROUNDED)


def largest_integral(points, others, bound):
    """Return the supremum of the definition: a value for each point, as a linear programme over functions."""
    spots = np.concatenate((points, others))
    pairs = list(itertools.permutations(range(len(spots)), 2))
    slopes = np.zeros((len(pairs), len(spots)))
    for place, (i, j) in enumerate(pairs):
        slopes[place, i], slopes[place, j] = 1, -1
    masses = np.concatenate((np.full(len(points), 1 / len(points)), np.full(len(others), -1 / len(others))))
    limits = [math.dist(spots[i], spots[j]) for i, j in pairs]
    solved = linprog(-masses, A_ub=slopes, b_ub=limits, bounds=(-bound, bound))
    assert solved.success
    return -solved.fun


@pytest.mark.parametrize("seed", range(3))
def test_the_bounded_distance_is_the_largest_difference_of_integrals(seed):
    rng = np.random.default_rng(seed)
    real, other = drawn(rng, 20), drawn(rng, 20)
    for column in ORDERED:
        other[column.name][:10] = column.domain.last  # more than 2 away from any row without missing cells

    found = compare_bounded_lipschitz(real, {"other": other}, SCHEMA, rng=rng)
    plain = compare_wasserstein(real, {"other": other}, SCHEMA, rng=rng)[1]

    expected = largest_integral(naive_points(real), naive_points(other), 1.0)
    # The programme is solved to 1e-7.
    assert found.values["other"].value == pytest.approx(expected, abs=1e-6)
    assert found.values["other"].value < plain.values["other"].value


@pytest.mark.parametrize(("rows", "others"), [(1, 1), (25, 40)])
def test_densities_are_sums_over_rows_at_the_places(rows, others, monkeypatch):
    rng = np.random.default_rng([rows, others])
    real, other = drawn(rng, rows), drawn(rng, others)
    real["flag"][0] = real["age"][0] = 2
    for column in ORDERED:
        other[column.name][0] = column.domain.last  # so that every coordinate is used
    real["n0"][0] = real["n1"][0] = real["n2"][0] = real["n3"][0] = real["n4"][0] = 2**31
    places = rng.random((30, 2 * len(ORDERED)))
    monkeypatch.setattr(distances, "_public_places", lambda _coordinates, _rng: marks_behind(places))

    found = compare_densities(real, {"other": other}, SCHEMA, rng=rng)

    def density(table, place):
        points = naive_points(table)
        return sum(math.exp(-3 / len(ORDERED) * math.dist(place, point) ** 2) for point in points) / len(points)

    expected = max(abs(density(real, place) - density(other, place)) for place in places.tolist())
    assert found.values["other"].value == pytest.approx(expected, abs=ROUNDED)


def marks_behind(places):
    """Return places whose coordinates stand as in the tables' points: all places, then all marks."""
    return np.concatenate((places[:, ::2], places[:, 1::2]), axis=1)
