"""What every metric of two tables keeps: equal tables, odd ones, its seed, its input."""

import ast

import numpy as np
import pytest

from helpers import make
from helpers.source_tree import PACKAGE, python_files, syntax
from lapwing.extras.evaluate.metrics import associations, distances, moments
from lapwing.extras.evaluate.metrics.associations import compare_correlations
from lapwing.extras.evaluate.metrics.distances import (
    compare_bounded_lipschitz,
    compare_densities,
    compare_kernels,
    compare_wasserstein,
)
from lapwing.extras.evaluate.metrics.moments import compare_moments
from lapwing.extras.evaluate.metrics.prediction.detection import compare_detection, compare_propensity
from lapwing.schema.schemas import Schema

NUMBERS = {"age": make.field("age", (0, 99), special=[-1, -2]), "wide": (0.0, 1.0)}
SCHEMA = Schema.from_dict(
    make.schema(NUMBERS | {"city": [f"c{place}" for place in range(400)], "flag": bool, "only": ["x"]})
)
COMPARE = {
    compare_bounded_lipschitz: 1e-9,
    compare_correlations: 1e-9,
    compare_densities: 1e-9,
    compare_detection: 0.1,  # rows that train and rows that test are drawn
    compare_kernels: 1e-6,
    compare_moments: 1e-9,
    compare_propensity: 1e-5,
    compare_wasserstein: 1e-9,
}
"""Each with how far equal tables may be from its best figure, by rounding or by drawing."""
SAMPLED = {
    compare_correlations: (associations, "MOST_ROWS"),
    compare_kernels: (distances, "EXACT"),
    compare_moments: (moments, "MOST_ROWS"),
}
EVERY = pytest.mark.parametrize("compare", COMPARE, ids=lambda compare: compare.__name__)


def drawn(rows, seed=1, schema=SCHEMA):
    rng = np.random.default_rng(seed)
    return {each.name: rng.integers(each.domain.size, size=rows).astype(each.domain.dtype) for each in schema.columns}


def alike(rows, place):
    """Return a table of one code: that at a place of all codes of each column."""
    return {
        each.name: np.full(rows, range(each.domain.size)[place], dtype=each.domain.dtype) for each in SCHEMA.columns
    }


def figures(compare, real, other, schema=SCHEMA, seed=0):
    """Return figures and whole results by their keys; none where a metric has nothing to say."""
    found = compare(real, {"other": other}, schema, rng=np.random.default_rng(seed))
    found = () if found is None else found if isinstance(found, tuple) else (found,)
    return {each.metric.key: each.values["other"] for each in found}, {each.metric.key: each for each in found}


def test_every_metric_of_tables_against_the_real_one_is_tried():
    takes = ["real_codes", "others", "schema"]
    nodes = (each for path in python_files(PACKAGE / "extras/evaluate/metrics") for each in ast.walk(syntax(path)))
    found = {
        each.name
        for each in nodes
        if isinstance(each, ast.FunctionDef)
        and [one.arg for one in each.args.args] == takes
        and "MetricResult" in ast.unparse(each.returns)
    }

    assert found == {compare.__name__ for compare in COMPARE}


@EVERY
def test_equal_tables_have_the_best_figure_in_any_order_and_others_a_worse_one(compare):
    real, order = drawn(900), np.random.default_rng(2).permutation(900)
    shifted = real | {"age": real["age"] // 3, "flag": np.minimum(real["flag"], 1)}

    # Of a copy, the detector learns for a row in its training half what its twin in the other half is not.
    copy = drawn(900, seed=5) if compare is compare_detection else {name: codes[order] for name, codes in real.items()}
    same, results = figures(compare, real, copy)
    other, _ = figures(compare, real, shifted)

    assert same
    for key, metric in ((key, each.metric) for key, each in results.items()):
        assert same[key].value == pytest.approx(metric.best, abs=COMPARE[compare])
        assert abs(other[key].value - metric.best) >= abs(same[key].value - metric.best)
        assert metric.title
        assert metric.meaning


@EVERY
@pytest.mark.parametrize("place", [0, -2, -1], ids=["first", "last regular", "last"])
@pytest.mark.parametrize(("rows", "others"), [(1, 1), (1, 4), (1200, 2)])
def test_tables_of_one_code_are_equal_whatever_their_rows(compare, place, rows, others):
    found, results = figures(compare, alike(rows, place), alike(others, place))

    for key, each in found.items():
        assert each.value == pytest.approx(results[key].metric.best, abs=COMPARE[compare])


@EVERY
@pytest.mark.parametrize("rows", [1, 2, 7, 30])
def test_few_rows_and_missing_cells_have_finite_figures(compare, rows):
    for found, _ in (figures(compare, drawn(rows), alike(3, -1)), figures(compare, drawn(rows), drawn(50, seed=2))):
        assert all(0 <= each.value < np.inf and 0 <= each.standard_error < np.inf for each in found.values())


@EVERY
def test_the_seed_fixes_every_figure_and_no_table_is_changed(compare):
    tables = [drawn(300, seed=seed) for seed in (1, 2)]
    for codes in (codes for table in tables for codes in table.values()):
        codes.flags.writeable = False

    one, again = (figures(compare, *tables, seed=3)[0] for _ in range(2))

    assert one == again


@EVERY
def test_a_table_without_what_a_metric_compares_has_no_figure(compare):
    schema = Schema.from_dict(make.schema({"only": ["x"]}, required=True))
    table = {"only": np.zeros(9, dtype=np.uint8)}

    found, results = figures(compare, table, table, schema)

    assert all(
        each.value == pytest.approx(results[key].metric.best, abs=COMPARE[compare]) for key, each in found.items()
    )
    assert not found or compare in (compare_moments, compare_detection)


@pytest.mark.parametrize("compare", SAMPLED, ids=lambda compare: compare.__name__)
def test_of_many_rows_some_are_drawn_and_how_far_off_they_may_be_is_said(compare, monkeypatch):
    real, age = drawn(8000), np.random.default_rng(4).integers(100, size=8000)
    wide = (age * 2.0**25).astype(np.uint32)
    real |= {"age": age.astype(real["age"].dtype), "wide": wide, "flag": (age > 60).astype(np.uint8)}
    other = drawn(8000, seed=3) | {"age": real["age"] // 2}
    monkeypatch.setattr(*SAMPLED[compare], 8000)
    whole, _ = figures(compare, real, other)

    monkeypatch.setattr(*SAMPLED[compare], 2000)
    some, results = figures(compare, real, other)

    assert whole
    for key, exact in whole.items():
        assert exact.standard_error == 0
        assert results[key].rows in (2000, None if compare is compare_kernels else 2000)
        assert 0 < some[key].standard_error < 0.2 * exact.value
        # Five standard errors, which eight blocks know to a quarter.
        assert some[key].value == pytest.approx(exact.value, abs=5 * some[key].standard_error)
        assert some[key].value != exact.value
