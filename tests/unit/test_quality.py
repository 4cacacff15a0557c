"""Likeness on SDMetrics' scale: against its definition in a few lines; the oracle is tests/oracle."""

import itertools

import numpy as np
import pytest
from scipy.stats import ks_2samp
from scipy.stats.contingency import association

from helpers.findings import schema_of
from lapwing.model.quality import compare_quality, trend_column

SCHEMA = schema_of(
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-9]},
    {"name": "hours", "type": "number", "constraints": {"minimum": 0, "maximum": 60}},
    {"name": "city", "type": "string", "categories": [f"c{place}" for place in range(12)]},
    {"name": "owner", "type": "boolean"},
)


def rows(seed, spread, count):
    """Return codes of columns that follow one ground, but for the last; some are special or missing."""
    rng = np.random.default_rng(seed)
    ground = rng.beta(2, 2, count)
    codes = {}
    for field in SCHEMA.columns:
        points = rng.random(count) if field.name == "owner" else ground + rng.normal(0, spread, count)
        regular = (np.clip(points, 0, 0.999) * field.domain.values).astype(np.int64)
        apart = rng.integers(field.domain.values, field.domain.size, count)
        codes[field.name] = np.where(rng.random(count) < 0.1, apart, regular)
    return codes


def score(first, second):  # noqa: PLR0912 - the definition in one piece
    """Return shapes, trends and the pairs that count, by the definition."""
    shapes, trends = [], {}
    tables = []
    for codes in (first, second):
        values = {f.name: np.where(codes[f.name] < f.domain.values, codes[f.name], np.nan) for f in SCHEMA.columns}
        bins = {}
        for name in ("age", "hours"):
            edges = np.histogram_bin_edges(values[name][~np.isnan(values[name])])
            bins[name] = np.digitize(values[name], edges)
        tables.append((values, {**{name: codes[name] for name in ("city", "owner")}, **bins}))
    (real, cells), (other, other_cells) = tables
    for name in real:
        one, two = (each[name][~np.isnan(each[name])] for each in (real, other))
        if name in ("age", "hours"):
            shapes.append(1 - ks_2samp(one, two).statistic)
        else:
            shares = [np.bincount(each.astype(int), minlength=12) / each.size for each in (one, two)]
            shapes.append(1 - np.abs(shares[0] - shares[1]).sum() / 2)
    for pair in itertools.combinations(real, 2):
        if pair == ("age", "hours"):
            there = [np.column_stack([each[name] for name in pair]) for each in (real, other)]
            strong = [np.corrcoef(each[~np.isnan(each).any(axis=1)].T)[0, 1] for each in there]
            if abs(strong[0]) > 0.5:
                trends[pair] = 1 - abs(strong[0] - strong[1]) / 2
        else:
            counts = [
                np.histogram2d(each[pair[0]], each[pair[1]], bins=[range(20)] * 2)[0] for each in (cells, other_cells)
            ]
            seen = counts[0][counts[0].sum(axis=1) > 0][:, counts[0].sum(axis=0) > 0]
            if association(seen.astype(int), method="cramer") > 0.3:
                trends[pair] = np.minimum(*(each / each.sum() for each in counts)).sum()
    return np.mean(shapes), trends


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_mean_of_column_shapes_and_the_trends_of_strong_pairs(seed):
    first, second = rows(seed, 0.1, 3000), rows(seed + 10, 0.25, 2000)
    shape, trends = score(first, second)

    found = compare_quality(first, second, SCHEMA, rng=np.random.default_rng(0))

    assert {each.columns: each.similarity for each in found.relations} == pytest.approx(trends)
    assert 1 < len(trends) < 6
    assert found.shape == pytest.approx(shape)
    assert found.score == pytest.approx((shape + np.mean([*trends.values()])) / 2)


@pytest.mark.parametrize("values", [[10**15], [10**15, 10**15 + 1], [0, 2 * 10**15]])
def test_bins_of_numbers_far_from_zero_are_those_of_the_same_numbers_near_it(values):
    wide = schema_of({"name": "n", "type": "integer", "constraints": {"minimum": 0, "maximum": 2 * 10**15}})
    codes, (field,) = np.array(values * 3), wide.columns

    cells = trend_column(codes, field).cells

    near = codes - codes.min()
    bins = np.histogram_bin_edges(near, 10)
    assert cells.tolist() == np.digitize(near, bins).tolist()
