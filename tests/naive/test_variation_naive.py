"""Total variation against dictionaries of cells, counted row by row in fractions."""

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from lapwing.judge.tables.variation import choose_tables, compare_tables, table_variations
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "flag", "type": "boolean"},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 255, "required": True}},
    {"name": "wide", "type": "integer", "constraints": {"minimum": 0, "maximum": 999}, "special": [-1, -2]},
    {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(700)]},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
# Sums of at most 600 weights of about 1/600: rounding is below 1e-15 for each.
ROUNDED = 1e-12


def naive_cell(field, code):
    """Return the cell of a code, as the page on evaluation says."""
    domain = field.domain
    if code >= domain.values:
        return "reserved", code
    if domain.values <= 256 or not domain.ordered:
        return "value", code
    return "part", max(part for part in range(64) if part * domain.values // 64 <= code)


def naive_shares(codes, names, weights):
    """Return the share of each cell that occurs."""
    shares = defaultdict(Fraction)
    total = sum(weights, Fraction(0))
    for row, weight in enumerate(weights):
        shares[tuple(naive_cell(SCHEMA.field(name), int(codes[name][row])) for name in names)] += weight / total
    return shares


def naive_variation(real, other, names, weights, other_weights):
    left, right = naive_shares(real, names, weights), naive_shares(other, names, other_weights)
    return sum((abs(left[cell] - right[cell]) for cell in {*left, *right}), Fraction(0)) / 2


def drawn_rows(rng, rows):
    """Draw codes, the reserved ones more often than others; a third of the rows agree in all columns."""
    codes = {}
    for field in SCHEMA.columns:
        domain = field.domain
        regular = rng.integers(domain.values, size=rows)
        reserved = rng.integers(domain.values, domain.size, size=rows)
        drawn = np.where(rng.random(rows) < 0.2, reserved, regular)
        drawn[: rows // 3] = domain.values // 2
        codes[field.name] = drawn.astype(domain.dtype)
    return codes


@pytest.mark.parametrize(("rows", "others"), [(1, 1), (3, 200), (200, 301)])
def test_distances_are_those_of_dictionaries(rows, others):
    rng = np.random.default_rng([rows, others])
    real, other = drawn_rows(rng, rows), drawn_rows(rng, others)

    found = table_variations(real, other, SCHEMA, ways=(1, 2, 3, 5), rng=rng)

    names = [field.name for field in SCHEMA.columns]
    for each in found:
        assert each.tables == tuple(itertools.combinations(names, each.ways))
        for table, distance in zip(each.tables, each.distances, strict=True):
            # Whole numbers, divided once.
            exact = naive_variation(real, other, table, [Fraction(1)] * rows, [Fraction(1)] * others)
            assert distance == float(exact)


def test_distances_with_weights_are_those_of_dictionaries():
    rng = np.random.default_rng(5)
    real, other = drawn_rows(rng, 150), drawn_rows(rng, 90)
    weights, other_weights = rng.integers(0, 9, 150), rng.random(90)

    found = compare_tables(
        real,
        other,
        SCHEMA,
        choose_tables(SCHEMA, rng=rng),
        weights=weights,
        other_weights=other_weights,
    )

    for each in found:
        for table, distance in zip(each.tables, each.distances, strict=True):
            exact = naive_variation(
                real, other, table, [Fraction(int(w)) for w in weights], [Fraction(w) for w in other_weights]
            )
            assert abs(distance - float(exact)) < ROUNDED
