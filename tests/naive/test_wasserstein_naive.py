"""W1 against slow versions written from its definitions: the transport programme, and quantiles in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from helpers.cases import spread
from lapwing.judge.samples import Pieces, wasserstein_assignment, wasserstein_line, wasserstein_pieces

NORMS = {"linf": np.inf, "l1": 1, "l2": 2}
# The solver's own tolerance is 1e-7; coordinates are below 10.
SOLVED = 1e-6


def transport_cost(points, others, weights, other_weights, norm):
    """Return the least cost of moving one weighted sample to the other, as a linear programme."""
    costs = [np.linalg.norm(point - other, norm) for point in points for other in others]
    sends = np.kron(np.eye(len(points)), np.ones(len(others)))
    receives = np.kron(np.ones(len(points)), np.eye(len(others)))
    masses = np.concatenate((weights / weights.sum(), other_weights / other_weights.sum()))
    # One equation follows from the others; without it rounding cannot make them contradict each other.
    solved = linprog(costs, A_eq=np.vstack((sends, receives))[:-1], b_eq=masses[:-1])
    assert solved.success
    return solved.fun


def naive_quantiles(law):
    """Return the pieces of a law's quantile function: mass, start and stop, in order, for disjoint pieces."""
    total = sum(mass for _, _, mass in law)
    return [(mass / total, start, stop) for start, stop, mass in sorted(law)]


def naive_line(law, other):
    """Return the integral of the absolute difference of two quantile functions, one stretch of mass at a time."""
    left, right = naive_quantiles(law), naive_quantiles(other)
    distance = Fraction(0)
    while left and right:
        mass = min(left[0][0], right[0][0])
        ends = []
        for rest in (left, right):
            whole, start, stop = rest.pop(0)
            middle = start + (stop - start) * mass / whole
            ends.append((start, middle))
            if whole > mass:
                rest.insert(0, (whole - mass, middle, stop))
        first, last = ends[0][0] - ends[1][0], ends[0][1] - ends[1][1]
        height = (first**2 + last**2) / (2 * abs(first - last)) if first * last < 0 else (abs(first) + abs(last)) / 2
        distance += mass * height
    return distance


def drawn_law(rng):
    """Return up to seven disjoint pieces with whole ends, some of them points."""
    ends = np.sort(rng.choice(40, 14, replace=False)).reshape(7, 2)
    chosen = ends[: int(rng.integers(1, 8))]
    return [
        (Fraction(int(start)), Fraction(int(start if rng.random() < 0.3 else stop)), Fraction(int(rng.integers(1, 9))))
        for start, stop in chosen
    ]


def as_pieces(law, rng):
    return Pieces(*(np.array([float(part) for part in column]) for column in zip(*rng.permutation(law), strict=True)))


@pytest.mark.parametrize("seed", range(8))
def test_weighted_samples_on_a_line_cost_what_the_programme_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, others = rng.integers(0, 10, int(rng.integers(1, 9))), rng.integers(0, 10, int(rng.integers(1, 9)))
    weights, other_weights = rng.integers(1, 5, points.size), rng.integers(1, 5, others.size)

    distance = wasserstein_line(points, others, weights=weights, other_weights=other_weights)

    expected = transport_cost(points[:, None], others[:, None], weights, other_weights, 1)
    assert distance == pytest.approx(expected, abs=SOLVED)


@pytest.mark.parametrize("seed", range(8))
def test_equal_weights_are_what_no_weights_mean(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, others = rng.normal(size=int(rng.integers(1, 9))), rng.normal(size=int(rng.integers(1, 9)))

    distance = wasserstein_line(points, others)

    expected = transport_cost(points[:, None], others[:, None], np.ones(points.size), np.ones(others.size), 1)
    assert distance == pytest.approx(expected, abs=SOLVED)
    assert distance == pytest.approx(wasserstein_line(points, others, weights=np.ones(points.size)), abs=1e-12)


@spread(("metric", NORMS), ("seed", range(10)))
def test_assigned_samples_cost_what_the_programme_says(seed: int, metric: str) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    points, others = rng.random((rows, columns)), rng.random((rows, columns))

    distance = wasserstein_assignment(points, others, metric=metric)

    assert distance == pytest.approx(
        transport_cost(points, others, np.ones(rows), np.ones(rows), NORMS[metric]), abs=SOLVED
    )


@pytest.mark.parametrize("seed", range(8))
def test_laws_of_pieces_are_as_far_apart_as_their_quantiles_in_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    law, other = drawn_law(rng), drawn_law(rng)

    distance = wasserstein_pieces(as_pieces(law, rng), as_pieces(other, rng))

    # Ends below 40, at most 28 breaks.
    assert distance == pytest.approx(float(naive_line(law, other)), abs=1e-12)
