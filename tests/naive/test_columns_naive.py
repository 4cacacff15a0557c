"""Errors of columns and of gaps against counts row by row, in fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics.columns import (
    PERCENTS,
    compare_columns,
    missing_given,
    missing_together,
    pairs_given,
    pairs_together,
)
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "flag", "type": "boolean"},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 12}, "special": [-1, -2]},
    {"name": "wide", "type": "integer", "constraints": {"minimum": 0, "maximum": 2**40, "required": True}},
    {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
    {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(40)]},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
# Sums of at most 300 floats, divided by one another.
ROUNDED = 1e-12


def drawn_rows(rng, rows):
    """Draw codes, the reserved ones more often than others; a third of the rows agree in all columns."""
    codes = {}
    for field in SCHEMA.columns:
        domain = field.domain
        regular = (domain.values * rng.random(rows) ** 3).astype(np.int64)
        reserved = rng.integers(domain.values, domain.size, size=rows)
        drawn = np.where(rng.random(rows) < 0.3, reserved, regular)
        drawn[: rows // 3] = domain.values // 2
        codes[field.name] = drawn.astype(domain.dtype)
    return codes


def share(codes, code):
    return Fraction(sum(int(each) == code for each in codes), len(codes))


def regular(field, codes):
    return [int(each) for each in codes if each < field.domain.values]


def at_most(values, point):
    return Fraction(sum(value <= point for value in values), len(values))


def naive_moments(values):
    mean = Fraction(sum(values), len(values))
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def naive_rank_error(real, other, percent):
    p = Fraction(percent, 100)
    point = next(value for value in sorted(other) if at_most(other, value) >= p)
    low, high = at_most(real, point - 1), at_most(real, point)
    return low - p if p < low else high - p if p > high else Fraction(0)


def naive_wasserstein(real, other):
    """Return the cost of the monotone coupling, on as many copies of both as make them equally many."""
    many = math.lcm(len(real), len(other))
    pairs = zip(
        *(sorted(value for value in values for _ in range(many // len(values))) for values in (real, other)),
        strict=True,
    )
    return Fraction(sum(abs(a - b) for a, b in pairs), many)


@pytest.mark.parametrize(("rows", "others"), [(7, 5), (60, 90), (120, 77)])
def test_errors_of_columns_are_those_of_counting(rows, others):
    rng = np.random.default_rng([rows, others])
    real_rows, other_rows = drawn_rows(rng, rows), drawn_rows(rng, others)

    for field, found in zip(SCHEMA.columns, compare_columns(real_rows, other_rows, SCHEMA), strict=True):
        real_codes, other_codes, domain = real_rows[field.name], other_rows[field.name], field.domain
        rises = [
            float(share(other_codes, code) - share(real_codes, code)) for code in range(domain.values, domain.size)
        ]
        assert [error for _, error in found.special] == rises[:-1]
        assert found.missing == (rises[-1] if domain.missing else None)
        if field.name in ("flag", "place"):
            assert found.numbers is None
            continue
        real, other = regular(field, real_codes), regular(field, other_codes)
        numbers = found.numbers
        # Whole numbers, divided once.
        assert numbers.ranks == tuple(float(naive_rank_error(real, other, percent)) for percent in PERCENTS)
        assert numbers.kolmogorov == float(max(abs(at_most(real, x) - at_most(other, x)) for x in {*real, *other}))
        (mean, deviation), (other_mean, other_deviation) = naive_moments(real), naive_moments(other)
        assert abs(numbers.mean - float(other_mean - mean) / deviation) < ROUNDED
        assert abs(numbers.deviation - (other_deviation / deviation - 1)) < ROUNDED
        assert abs(numbers.wasserstein - float(naive_wasserstein(real, other)) / deviation) < ROUNDED


def naive_variation(real_cells, other_cells):
    return float(
        sum(
            abs(Fraction(real_cells.count(cell), len(real_cells)) - Fraction(other_cells.count(cell), len(other_cells)))
            for cell in {*real_cells, *other_cells}
        )
        / 2
    )


def naive_part(field, code):
    """Return a sixteenth of the domain, or the code itself where it is reserved or there are fewer."""
    domain = field.domain
    if code >= domain.values:
        return "reserved", code
    return max(part for part in range(16) if part * domain.values // 16 <= code) if domain.values > 16 else code


@pytest.mark.parametrize(("rows", "others"), [(3, 40), (80, 61)])
def test_gaps_are_those_of_counting(rows, others):
    rng = np.random.default_rng([rows, others])
    tables = drawn_rows(rng, rows), drawn_rows(rng, others)

    together = missing_together(*tables, SCHEMA, pairs_together(SCHEMA, rng=rng))
    given = missing_given(*tables, SCHEMA, pairs_given(SCHEMA, rng=rng))

    names = [field.name for field in SCHEMA.columns]
    gaps = [name for name in names if name != "wide"]
    values = {name: SCHEMA.field(name).domain.values for name in names}
    assert together.tables == tuple(itertools.combinations(gaps, 2))
    for (a, b), distance in zip(together.tables, together.distances, strict=True):
        cells = [
            [(int(x) >= values[a], int(y) >= values[b]) for x, y in zip(codes[a], codes[b], strict=True)]
            for codes in tables
        ]
        assert distance == naive_variation(*cells)
    assert set(given.tables) == {(a, b) for a in gaps for b in names if a != b}
    for (a, b), distance in zip(given.tables, given.distances, strict=True):
        last = SCHEMA.field(a).domain.last
        cells = [
            [(int(x) == last, naive_part(SCHEMA.field(b), int(y))) for x, y in zip(codes[a], codes[b], strict=True)]
            for codes in tables
        ]
        assert distance == naive_variation(*cells)
