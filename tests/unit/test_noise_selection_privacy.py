"""The privacy of selection, computed exactly from the laws of its outcomes on 2 and 3 candidates.

The exponential mechanism is epsilon-bounded-range and so (epsilon^2 / 8)-zCDP; permute-and-flip is not.
"""

import itertools
import math

import pytest

ORDERS = (1.000001, 1.5, 2.0, 4.0, 16.0, 128.0)
SENSITIVITY = 4
EPSILONS = (0.1, 1.0, 4.0)
ROUNDING = 1e-12  # the losses below are sums of a few doubles of size at most 4

Law = list[float]


def exponential_law(scores: tuple[int, ...], epsilon: float) -> Law:
    """Return the outcome law of the exponential mechanism."""
    weights = [math.exp(epsilon * (score - max(scores)) / (2 * SENSITIVITY)) for score in scores]
    return [weight / sum(weights) for weight in weights]


def permute_and_flip_law(scores: tuple[int, ...], epsilon: float) -> Law:
    """Return the outcome law of permute-and-flip: candidates in random order, each accepted with its weight."""
    weights = [math.exp(epsilon * (score - max(scores)) / (2 * SENSITIVITY)) for score in scores]
    law = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0 / len(orders)
        for candidate in order:
            law[candidate] += reached * weights[candidate]
            reached *= 1 - weights[candidate]
    return law


def renyi(law: Law, other: Law, order: float) -> float:
    """Return the Renyi divergence of an order above 1."""
    total = sum(p * math.exp((order - 1) * math.log(p / r)) for p, r in zip(law, other, strict=True))
    return math.log(total) / (order - 1)


def neighbours(candidates: int):
    """Return score vectors and their neighbours: every score moves by at most the sensitivity, either way."""
    gaps = range(0, 3 * SENSITIVITY + 1, 2)
    moves = range(-SENSITIVITY, SENSITIVITY + 1, SENSITIVITY)
    for scores in itertools.product([0], *[gaps] * (candidates - 1)):
        for move in itertools.product(moves, repeat=candidates):
            yield scores, tuple(score + step for score, step in zip(scores, move, strict=True))


def worst(mechanism, epsilon: float, order: float) -> float:
    """Return the largest Renyi divergence over the neighbours, divided by its order."""
    pairs = itertools.chain(neighbours(2), neighbours(3))
    return max(renyi(mechanism(a, epsilon), mechanism(b, epsilon), order) / order for a, b in pairs)


def test_both_mechanisms_are_epsilon_dp() -> None:
    for mechanism in (exponential_law, permute_and_flip_law):
        for scores, other in itertools.chain(neighbours(2), neighbours(3)):
            law, after = mechanism(scores, 1.0), mechanism(other, 1.0)
            assert max(math.log(p / r) for p, r in zip(law, after, strict=True)) <= 1.0 + ROUNDING


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_exponential_mechanism_has_range_epsilon(epsilon: float) -> None:
    for scores, other in itertools.chain(neighbours(2), neighbours(3)):
        pairs = zip(exponential_law(scores, epsilon), exponential_law(other, epsilon), strict=True)
        losses = [math.log(p / r) for p, r in pairs]
        assert max(losses) - min(losses) <= epsilon + ROUNDING


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_exponential_mechanism_costs_at_most_an_eighth_of_epsilon_squared(epsilon: float, order: float) -> None:
    assert worst(exponential_law, epsilon, order) <= epsilon**2 / 8 * (1 + 1e-9)  # log(total) loses 1e-10 near order 1


def test_permute_and_flip_charged_an_eighth_of_epsilon_squared_is_caught() -> None:
    equal, moved = (0, 0), (-SENSITIVITY, SENSITIVITY)
    on_two = renyi(permute_and_flip_law(equal, 0.1), permute_and_flip_law(moved, 0.1), 1.000001)
    divergence = worst(permute_and_flip_law, 0.1, 1.000001)

    assert on_two == pytest.approx(0.00455, abs=5e-6)  # spec 09 prints three digits
    assert divergence >= on_two - ROUNDING > 3 * 0.1**2 / 8
    assert divergence <= 0.1**2 / 2


def test_permute_and_flip_does_not_have_range_epsilon() -> None:
    law, other = permute_and_flip_law((0, 0), 0.1), permute_and_flip_law((-SENSITIVITY, SENSITIVITY), 0.1)

    losses = [math.log(p / r) for p, r in zip(law, other, strict=True)]

    assert max(losses) - min(losses) > 0.1 * 1.5
