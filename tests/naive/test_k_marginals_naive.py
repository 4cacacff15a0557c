"""Workload error and k-marginal score against the formulas, cell by cell in fractions."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from lapwing.judge.tables.variation import choose_tables, compare_tables
from lapwing.judge.tables.workload import compare_k_marginals, compare_workloads, workload_error
from lapwing.schema.schemas import Schema

NAMES = "abcd"
SCHEMA = Schema.from_dict(
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
        {field.name: rng.integers(field.domain.size, size=size) for field in SCHEMA.columns} for size in (rows, others)
    )
    found = compare_tables(real, other, SCHEMA, choose_tables(SCHEMA, rng=rng))
    errors = {
        ways: [naive_l1(real, other, table) for table in itertools.combinations(NAMES, ways)] for ways in (1, 2, 3)
    }
    weights = rng.random(len(errors[2]))

    score_2, score_3 = compare_k_marginals({"synthetic": found})
    error = compare_workloads({"synthetic": found})
    weighted = workload_error(found[1], weights=weights)

    assert error.values["synthetic"].value == pytest.approx(float(sum(errors[3]) / 4), abs=ROUNDED)
    assert weighted.value == pytest.approx(sum(map(float, weights * errors[2])) / 6, abs=ROUNDED)
    assert score_2.values["synthetic"].value == pytest.approx(float(500 * (2 - sum(errors[2]) / 6)), abs=ROUNDED)
    assert score_3.values["synthetic"].value == pytest.approx(float(500 * (2 - sum(errors[3]) / 4)), abs=ROUNDED)
