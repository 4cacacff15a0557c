"""Marginals and moments of tables against their definitions: set by set in fractions, tensors entry by entry."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from helpers.cases import spread
from lapwing.extras.evaluate.metrics import moments
from lapwing.extras.evaluate.metrics.moments import compare_moments, marginal_moments
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "flag", "type": "boolean"},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 6, "required": True}},
    {"name": "side", "type": "string", "categories": ["l", "m", "r"]},
    {"name": "pay", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}, "special": [-1]},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
# Means of a few hundred products.
ROUNDED = 1e-12


def naive_vector(row):
    """Return the coordinates of a row of codes."""
    flag, age, side, pay = row
    return [
        *((0, 1) if flag == 2 else (flag, 0)),
        0 if age == 7 else age / 6,
        *((0, 0, 0, 1) if side == 3 else [int(side == place) for place in range(3)] + [0]),
        *((0, 1) if pay >= 4 else (pay / 3, 0)),
    ]


def naive_tensor(vectors, degree):
    """Return the mean product of coordinates for each index."""
    indices = itertools.product(range(len(vectors[0])), repeat=degree)
    return [sum(math.prod(x[i] for i in index) for x in vectors) / len(vectors) for index in indices]


def naive_norm(first, second):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(first, second, strict=True)))


def naive_covariance(vectors):
    return np.cov(np.array(vectors), rowvar=False, bias=True).ravel().tolist()


def naive_marginal_error(first, second, ways):
    """Return the root of formula (1.2) for one release."""
    squares = []
    for chosen in itertools.combinations(range(len(first[0])), ways):
        means = [sum(math.prod(x[i] for i in chosen) for x in vectors) / len(vectors) for vectors in (first, second)]
        squares.append((means[0] - means[1]) ** 2)
    return math.sqrt(sum(squares) / len(squares))


@pytest.mark.parametrize(("rows", "others"), [(1, 2), (2, 1), (40, 70)])
def test_figures_are_those_of_vectors_written_out(rows, others):
    rng = np.random.default_rng([rows, others])
    tables = [
        {column.name: rng.integers(column.domain.size, size=size) for column in SCHEMA.columns}
        for size in (rows, others)
    ]
    vectors = [[naive_vector(row) for row in zip(*table.values(), strict=True)] for table in tables]
    unit = [[[coordinate / 2 for coordinate in x] for x in each] for each in vectors]  # four columns

    found = compare_moments(tables[0], {"other": tables[1]}, SCHEMA, rng=rng)

    keys = {each.metric.key: each.values["other"].value for each in found}
    loss = naive_norm(*map(naive_covariance, unit))
    expected = {f"marginal_error_{ways}": naive_marginal_error(*vectors, ways) for ways in (1, 2, 3)}
    expected |= {"covariance_loss": loss, "moment_bound_2": 16 * loss, "moment_bound_3": 64 * loss}
    expected |= {f"moment_loss_{d}": naive_norm(*(naive_tensor(each, d) for each in unit)) for d in (2, 3)}
    assert keys == pytest.approx(expected, abs=ROUNDED)
    assert all(each.columns == 4 and each.rows is None for each in found)


# Sums of some dozen products of numbers below 1.
ROUNDING = 1e-14


def naive_moments(rows, weights, way):
    """Return for each set of columns the weighted share of rows that has them all, as fractions."""
    exact = [[Fraction(value) for value in row] for row in np.asarray(rows, dtype=float).tolist()]
    masses = [Fraction(weight) for weight in weights]
    return [
        sum(mass * math.prod(row[column] for column in columns) for row, mass in zip(exact, masses, strict=True))
        / sum(masses)
        for columns in itertools.combinations(range(len(exact[0])), way)
    ]


@spread(("seed", range(12)), ("way", [1, 2, 3]))
def test_marginals_of_a_table_are_the_shares_of_rows_that_have_all_columns(seed, way, monkeypatch):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (1 + 5 * seed, 3 + seed % 5), dtype=np.uint8)
    monkeypatch.setattr(moments, "_BLOCK", 1 + seed)

    (found,) = marginal_moments(rows, ways=(way,))

    assert found.tolist() == [float(share) for share in naive_moments(rows, [1] * len(rows), way)]


@pytest.mark.parametrize("seed", range(12))
def test_marginals_of_a_mixture_are_weighted_means_of_products(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    model = rng.random((1 + seed, 3 + seed % 5))
    weights = rng.integers(0, 4, 1 + seed) + (np.arange(1 + seed) == 0)
    monkeypatch.setattr(moments, "_BLOCK", 1 + 3 * seed)

    found = marginal_moments(model, weights=weights)

    for way, each in zip((1, 2, 3), found, strict=True):
        assert each == pytest.approx(
            [float(share) for share in naive_moments(model, weights.tolist(), way)], abs=ROUNDING
        )
