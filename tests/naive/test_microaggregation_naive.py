"""MDAV and the moves of records against slow versions written from their definitions, in fractions."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from lapwing.anonymous.microaggregation import information_loss, local_search, mdav

# Points are of order 1 and fewer than 100: float64 sums of squares are right to about 1e-13.
ROUNDING = 1e-11


def away(point, other):
    """Return the squared distance of two points."""
    return sum((a - b) ** 2 for a, b in zip(point, other, strict=True))


def mean(points):
    """Return the mean of some points."""
    return [sum(values) / len(points) for values in zip(*points, strict=True)]


def squared_errors(points, labels):
    """Return the sum of squared distances to the means of the groups."""
    groups = [[point for point, label in zip(points, labels, strict=True) if label == group] for group in set(labels)]
    return sum(away(point, mean(group)) for group in groups for point in group)


def naive_mdav(points, size):
    """Return the groups, in the order in which they are formed, with `max` and `sorted` taking the lowest index."""
    left, groups = list(range(len(points))), []

    def farthest(point):
        return max(left, key=lambda i: away(points[i], point))

    def take_around(point):
        group = sorted(left, key=lambda i: away(points[i], point))[:size]
        groups.append(group)
        for i in group:
            left.remove(i)

    while len(left) >= 3 * size:
        first = points[farthest(mean([points[i] for i in left]))]
        take_around(first)
        take_around(points[farthest(first)])
    if len(left) >= 2 * size:
        take_around(points[farthest(mean([points[i] for i in left]))])
    return [*groups, left]


def as_fractions(x):
    """Return the points as lists of fractions."""
    return [[Fraction(value) for value in point] for point in x.tolist()]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("columns", [1, 3])
def test_mdav_is_the_published_algorithm(size, columns):
    rng = np.random.default_rng([size, columns])
    sites = rng.normal(size=(25, columns))
    # Each site is there about twice: ties between equal points must go to the lowest index.
    x = sites[rng.integers(25, size=47)]

    labels = mdav(x, size)

    groups = naive_mdav(as_fractions(x), size)
    assert [sorted(group) for group in groups] == [np.flatnonzero(labels == g).tolist() for g in range(len(groups))]


def neighbours(labels, size):
    """Yield every partition that one move or one swap makes of a partition, no group below the size."""
    counts = [labels.count(group) for group in range(max(labels) + 1)]
    for i, group in product(range(len(labels)), range(len(counts))):
        if group != labels[i] and counts[labels[i]] > size and counts[group] < 2 * size - 1:
            yield [group if place == i else label for place, label in enumerate(labels)]
    for i, j in product(range(len(labels)), repeat=2):
        if labels[i] < labels[j]:
            swapped = {i: labels[j], j: labels[i]}
            yield [swapped.get(place, label) for place, label in enumerate(labels)]


@pytest.mark.parametrize(("rows", "size"), [(23, 3), (18, 2), (20, 4), (11, 4), (14, 5), (17, 6)])
def test_no_single_move_or_swap_helps_when_the_search_ends(rows, size):
    # At most nine groups: each has all others among its nearest eight.
    x = np.random.default_rng(rows).normal(size=(rows, 2))
    start = np.minimum(np.arange(rows) // size, rows // size - 1)

    found = local_search(x, start, size).tolist()

    points = x.tolist()
    errors = squared_errors(points, found)
    assert errors < squared_errors(points, start.tolist())
    assert min(squared_errors(points, other) for other in neighbours(found, size)) >= errors - ROUNDING


def test_information_loss_is_within_by_total_squares():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(30, 4))
    labels = np.concatenate((np.arange(6), rng.integers(6, size=24)))

    loss = information_loss(x, labels)

    points = as_fractions(x)
    assert loss == pytest.approx(
        float(100 * squared_errors(points, labels.tolist()) / squared_errors(points, [0] * 30))
    )
