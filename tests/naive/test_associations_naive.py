"""Correlations and strengths of dependence against slow versions that go row by row and pair by pair."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from lapwing.extras.evaluate.metrics.associations import (
    compare_correlations,
    correlations,
    dependence_cells,
    information_correlations,
)
from lapwing.extras.evaluate.metrics.metric import jackknife_estimate
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 30}, "special": [-1]},
    {"name": "wide", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "grade", "type": "string", "categories": list("abcde"), "categoriesOrdered": True},
    {"name": "city", "type": "string", "categories": list("abcdefghijklmnopqrstuvw")},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
# Sums of a few hundred floats of size 1, in another order.
ROUNDING = 1e-9


def table(seed, rows=400):
    rng = np.random.default_rng(seed)
    ground = rng.random(rows)
    codes = {}
    for column in SCHEMA.columns:
        mixed = np.where(rng.random(rows) < 0.6, ground, rng.random(rows))
        regular = (mixed * column.domain.values).astype(np.int64)
        reserved = rng.integers(column.domain.values, column.domain.size, size=rows)
        codes[column.name] = np.where(rng.random(rows) < 0.1, reserved, regular)
    return codes


@pytest.mark.parametrize("ranked", [False, True])
def test_correlations_are_those_of_rows_where_both_are_regular(ranked: bool) -> None:
    codes, columns = table(1), SCHEMA.columns[:3]

    found = correlations(codes, columns, 1, ranked=ranked)[0]

    for left, right in [(0, 1), (0, 2), (1, 2)]:
        sides = []
        for column in (columns[left], columns[right]):
            values = codes[column.name].astype(float)
            values[codes[column.name] >= column.domain.values] = np.nan
            sides.append(stats.rankdata(values, nan_policy="omit") if ranked else values)
        both = np.isfinite(sides[0]) & np.isfinite(sides[1])
        assert found[left, right] == pytest.approx(stats.pearsonr(sides[0][both], sides[1][both])[0], abs=ROUNDING)
    assert np.array_equal(found, found.T)


def naive_strength(left, right):
    """Return the information correlation of two lists, from counts of their values."""
    rows = len(left)

    def entropy(values):
        return -math.fsum(count / rows * math.log(count / rows) for count in Counter(values).values())

    both = list(zip(left, right, strict=True))
    first, second = entropy(left), entropy(right)
    bias = (len(set(both)) - len(set(left)) - len(set(right)) + 1) / (2 * rows)
    information = min(max(first + second - entropy(both) - bias, 0), first, second)
    freedom = (len(set(left)) - 1) * (len(set(right)) - 1)
    if 2 * rows * (first + second - entropy(both)) <= stats.chi2.isf(0.001, freedom):
        information = 0
    return math.sqrt((1 - math.exp(-2 * information)) / (1 - math.exp(-2 * min(first, second))))


def naive_cells(real, codes, domain, parts):
    """Return what each code becomes: a part, or a name for what is not regular or not common."""
    regular = sorted(code for code in real.tolist() if code < domain.values)
    starts = {regular[part * len(regular) // parts] for part in range(1, parts)}
    common = [code for code, _ in sorted(Counter(regular).items(), key=lambda each: (-each[1], each[0]))[:parts]]
    found = []
    for code in codes.tolist():
        if code >= domain.values:
            found.append("missing" if code == domain.last else "special")
        elif domain.ordered:
            found.append(sum(start <= code for start in starts))
        else:
            found.append(code if code in common else "other")
    return found


def test_strengths_are_those_of_counted_cells() -> None:
    real, other, parts = table(1), table(2), 8
    domains = {column.name: column.domain for column in SCHEMA.columns}

    cells = {name: dependence_cells([real[name], other[name]], domains[name], parts) for name in domains}

    for place, codes in enumerate((real, other)):
        found = information_correlations([cells[name][place] for name in domains], parts + 3, 1)[0]
        slow = [naive_cells(real[name], codes[name], domains[name], parts) for name in domains]
        for left in range(4):
            for right in range(left):
                assert found[left, right] == pytest.approx(naive_strength(slow[left], slow[right]), abs=ROUNDING)


def test_leaving_blocks_out_is_computing_without_them() -> None:
    codes, columns = table(1), SCHEMA.columns
    cells = [dependence_cells([codes[column.name]], column.domain, 8)[0] for column in columns]
    blocks = np.arange(400) * 8 // 400

    with_sums = information_correlations(cells, 11, 8)
    ranked = correlations(codes, columns[:3], 8, ranked=False)

    for block in range(8):
        kept = blocks != block
        direct = information_correlations([each[kept] for each in cells], 11, 1)[0]
        assert with_sums[1 + block] == pytest.approx(direct, abs=ROUNDING)
        fewer = {name: column[kept] for name, column in codes.items()}
        assert ranked[1 + block] == pytest.approx(correlations(fewer, columns[:3], 1, ranked=False)[0], abs=ROUNDING)


def test_the_difference_is_the_mean_over_pairs() -> None:
    real, other = table(1), table(2)
    found = compare_correlations(real, {"synthetic": other}, SCHEMA, rng=np.random.default_rng(0))[0]

    pairs = [correlations(codes, SCHEMA.columns[:3], 1, ranked=False)[0] for codes in (real, other)]
    sizes = [abs(pairs[0][place] - pairs[1][place]) for place in [(0, 1), (0, 2), (1, 2)]]
    assert found.values["synthetic"].value == pytest.approx(sum(sizes) / 3, abs=ROUNDING)


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    blocks = np.random.default_rng(1).normal(size=8)
    figures = np.array([blocks.mean(), *[np.delete(blocks, place).mean() for place in range(8)]])

    assert jackknife_estimate(figures).standard_error == pytest.approx(blocks.std(ddof=1) / math.sqrt(8), abs=ROUNDING)
