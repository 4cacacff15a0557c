"""Total variation, workload error and k-marginal score against dictionaries of cells, counted in fractions."""

import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.extras.evaluate.metrics.tables.workload import compare_k_marginals, compare_workloads
from lapwing.model.compared import choose_tables
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "flag", "type": "boolean"},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 255, "required": True}},
    {"name": "wide", "type": "integer", "constraints": {"minimum": 0, "maximum": 999}, "special": [-1, -2]},
    {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(700)]},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})


def naive_cell(field, code):
    """Return the cell of a code, as the page on evaluation says."""
    domain = field.domain
    if code >= domain.values:
        return "reserved", code
    if domain.values <= 256 or not domain.ordered:
        return "value", code
    return "part", max(part for part in range(64) if part * domain.values // 64 <= code)


def naive_shares(codes, names):
    """Return the share of each cell that occurs."""
    shares, rows = defaultdict(Fraction), len(codes[names[0]])
    for row in range(rows):
        shares[tuple(naive_cell(SCHEMA.field(name), int(codes[name][row])) for name in names)] += Fraction(1, rows)
    return shares


def naive_variation(real, other, names):
    left, right = naive_shares(real, names), naive_shares(other, names)
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

    found = compare_tables(real, other, SCHEMA, choose_tables(SCHEMA, ways=(1, 2, 3, 5), rng=rng))

    names = [field.name for field in SCHEMA.columns]
    for each in found:
        assert each.tables == tuple(itertools.combinations(names, each.ways))
        for table, distance in zip(each.tables, each.distances, strict=True):
            # Whole numbers, divided once.
            assert distance == float(naive_variation(real, other, table))


NAMES = "abcd"
SMALL = Schema.from_dict(
    {
        "fields": [
            {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": place}}
            for place, name in enumerate(NAMES)
        ]
    }
)
# Means of at most six numbers of size 1, times 1000.
ROUNDED = 1e-9


def naive_l1(real, other, names):
    """Return the sum over cells of the absolute difference of shares."""
    shares = []
    for codes in (real, other):
        cells = Counter(zip(*(codes[name].tolist() for name in names), strict=True))
        total = sum(cells.values())
        shares.append({cell: Fraction(count, total) for cell, count in cells.items()})
    return sum(abs(shares[0].get(cell, 0) - shares[1].get(cell, 0)) for cell in {*shares[0], *shares[1]})


@pytest.mark.parametrize(("rows", "others"), [(1, 1), (20, 7), (150, 200)])
def test_both_are_what_their_formulas_say(rows, others):
    rng = np.random.default_rng([rows, others])
    real, other = (
        {field.name: rng.integers(field.domain.size, size=size) for field in SMALL.columns} for size in (rows, others)
    )
    found = compare_tables(real, other, SMALL, choose_tables(SMALL, rng=rng))
    errors = {
        ways: [naive_l1(real, other, table) for table in itertools.combinations(NAMES, ways)] for ways in (1, 2, 3)
    }

    score_2, score_3 = compare_k_marginals({"synthetic": found})
    error = compare_workloads({"synthetic": found})

    assert error.values["synthetic"].value == pytest.approx(float(sum(errors[3]) / 4), abs=ROUNDED)
    assert score_2.values["synthetic"].value == pytest.approx(float(500 * (2 - sum(errors[2]) / 6)), abs=ROUNDED)
    assert score_3.values["synthetic"].value == pytest.approx(float(500 * (2 - sum(errors[3]) / 4)), abs=ROUNDED)
