"""Estimates of overlapping tables against least squares on all cells, and whole counts against a slow twin."""

import itertools

import numpy as np
import pytest

from lapwing.engine.rounding import settle_counts
from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.tables.estimates import CountedTable, consistent_estimates
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity, interval_grouping

DOMAINS = {
    name: Domain(values, 0, missing=False, ordered=True, continuous=False)
    for name, values in (("a", 5), ("b", 2), ("c", 3))
}
WHOLE = {name: identity(domain) for name, domain in DOMAINS.items()}
EVEN, ODD = interval_grouping(DOMAINS["a"], [2, 4]), interval_grouping(DOMAINS["a"], [1])
"""Of the six codes of a, three groups: 2, 2, 1 and the one of misfits; and two: 1, 4 and the one of misfits."""
SHAPE = tuple(grouping.groups for grouping in WHOLE.values())
FLAT = [(("a", "b"), {}, 4.0), (("c", "b"), {}, 9.0), (("c",), {}, 0.5), (("a", "c"), {}, 1.0)]
NESTED = [(("a", "b"), {}, 4.0), (("b", "a"), {"a": EVEN}, 9.0), (("a", "c"), {"a": EVEN}, 2.0)]


def groupings_of(columns, groups):
    return tuple(groups.get(name, WHOLE[name]) for name in columns)


def design(columns, groups):
    """Return which cells of the joint table make up each cell of a table: float64 (cells, joint cells)."""
    places = np.indices(SHAPE).reshape(len(SHAPE), -1)
    own = groupings_of(columns, groups)
    shape = tuple(each.groups for each in own)
    cells = np.ravel_multi_index(
        tuple(each.apply(places["abc".index(name)]) for name, each in zip(columns, own, strict=True)), shape
    )
    found = np.zeros((np.prod(shape), places.shape[1]))
    found[cells, np.arange(places.shape[1])] = 1
    return found, shape


def estimated(specs, values, rows=None):
    tables = [
        CountedTable(columns, groupings_of(columns, groups), each.reshape(design(columns, groups)[1]), variance)
        for (columns, groups, variance), each in zip(specs, values, strict=True)
    ]
    found = consistent_estimates(tables, rows)
    return np.concatenate([each.reshape(-1) for each in found.counts]), found


def parts_of(specs, whole):
    return np.split(whole, np.cumsum([design(columns, groups)[0].shape[0] for columns, groups, _ in specs])[:-1])


@pytest.mark.parametrize("specs", [FLAT, NESTED], ids=["flat", "nested"])
def test_estimates_are_unbiased_agree_and_have_the_stated_variance(specs):
    rng = np.random.default_rng(0)
    every = np.concatenate([design(columns, groups)[0] for columns, groups, _ in specs])
    deviations = np.concatenate([np.full(design(*each[:2])[0].shape[0], each[2] ** 0.5) for each in specs])
    noisy = parts_of(specs, every @ rng.poisson(30, every.shape[1]) + deviations * rng.normal(size=len(every)))

    exact, _ = estimated(specs, parts_of(specs, every @ np.arange(every.shape[1], dtype=np.float64)))
    got, found = estimated(specs, noisy)
    # The map is linear: the noise of every measured cell, one by one.
    each_noise = [estimated(specs, parts_of(specs, row))[0] for row in np.diag(deviations)]

    assert np.allclose(exact, every @ np.arange(every.shape[1]))
    # Some joint table has these sums, so tables agree wherever they overlap.
    joint = np.linalg.lstsq(every, got, rcond=None)[0]
    assert np.allclose(every @ joint, got, atol=1e-8)
    stated = np.concatenate([each.reshape(-1) for each in found.variances])
    assert np.allclose(np.square(each_noise).sum(axis=0), stated, rtol=1e-9)
    assert found.total == pytest.approx(joint.sum())


@pytest.mark.parametrize(("specs", "most"), [(FLAT, 1 + 1e-9), (NESTED, 1.03)], ids=["flat", "nested"])
def test_estimates_are_those_of_generalised_least_squares(specs, most):
    every = np.concatenate([design(columns, groups)[0] for columns, groups, _ in specs])
    variances = np.concatenate([np.full(design(*each[:2])[0].shape[0], each[2]) for each in specs])
    best = np.diag(every @ np.linalg.pinv(every.T @ (every / variances[:, None])) @ every.T)

    _, found = estimated(specs, parts_of(specs, np.zeros(len(every))))
    stated = np.concatenate([each.reshape(-1) for each in found.variances])

    assert 1 - 1e-9 < stated.sum() / best.sum() < most


def test_a_public_number_of_rows_is_met_and_lowers_the_variance():
    values = [np.full(design(columns, groups)[0].shape[0], 10.0) for columns, groups, _ in FLAT]

    _, free = estimated(FLAT, values)
    _, held = estimated(FLAT, values, rows=777)

    assert all(each.sum() == pytest.approx(777) for each in held.counts)
    assert all((one < two).all() for one, two in zip(held.variances, free.variances, strict=True))


def test_groupings_that_are_not_nested_are_refused():
    specs = [(("a", "b"), {"a": ODD}, 1.0), (("a",), {"a": EVEN}, 1.0)]

    with pytest.raises(ParameterError, match=r"'a' in ways that are not nested"):
        estimated(specs, [np.zeros(design(columns, groups)[0].shape[0]) for columns, groups, _ in specs])


def naive_squares(counts, cells, wanted):
    sums = np.zeros(wanted.size)
    for own in cells:
        np.add.at(sums, own, counts)
    return np.square(sums - wanted).sum()


def test_whole_counts_end_where_no_single_row_brings_the_squares_down():
    rng = np.random.default_rng(1)
    cells = np.stack([np.arange(12) // 4, 3 + np.arange(12) % 4, np.full(12, 7)])
    wanted = np.array([9.5, 3.25, 7.25, 4.75, 4.75, 5.5, 5.0, 20.0])
    counts = rng.integers(0, 3, 12)
    gaps = sum(np.bincount(own, counts, wanted.size) for own in cells) - wanted

    while settle_counts(counts, cells, gaps, rng.permutation(12), np.full(12, -1e-9)):
        pass

    least = naive_squares(counts, cells, wanted)
    assert counts.min() >= 0
    assert least <= wanted.size * 0.5
    assert np.square(gaps).sum() == pytest.approx(least)
    for at, step in itertools.product(range(12), (-1, 1)):
        moved = counts + step * (np.arange(12) == at)
        assert moved.min() < 0 or naive_squares(moved, cells, wanted) >= least - 1e-9
