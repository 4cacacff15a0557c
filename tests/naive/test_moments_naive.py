"""Marginals and moments of tables against their definitions: vectors written out, and tensors entry by entry."""

import itertools
import math

import numpy as np
import pytest

from lapwing.judge.moments import compare_moments
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
