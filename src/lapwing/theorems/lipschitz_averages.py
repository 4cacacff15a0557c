"""How far an average can be off where two laws are close in the 1-Wasserstein distance, by the kind of function.

By Kantorovich and Rubinstein, ``|E f(X) - E f(Y)|`` is at most the Lipschitz constant of f times W1. He, Vershynin,
Zhu, "Algorithmically Effective Differentially Private Synthetic Data", (1.1) and Section 3, name the class of all
Lipschitz functions; these are members of it that analyses use, with their constants. W1 is that of certificates: each
column has length 1, and the largest coordinate counts, so a gradient is measured by the sum of its absolute values.
"""

import math

from lapwing.errors import ParameterError


def lipschitz_error(distance: float, constant: float, spread: float = math.inf) -> float:
    """Return how far the average of a function with this Lipschitz constant is off at most.

    distance: W1, at least 0; spread: the largest value of the function minus the least. A mean of one column has the
    constant 1 (its columns' length being 1), a linear score the sum of its absolute weights, the logistic and the hinge
    loss of a score its constant.

    >>> lipschitz_error(0.01, 3.0), lipschitz_error(0.5, 3.0, spread=1.0)
    (0.03, 1.0)
    """
    _check(distance=distance, constant=constant, spread=spread)
    return min(distance * constant, spread)


def ramp_error(distance: float, margin: float) -> float:
    """Return how far the share of rows beyond a threshold is off at most, if rows within a margin count in part.

    margin: above 0: over so much of a column, of length 1, the count rises evenly from 0 to 1.

    >>> ramp_error(0.01, 0.1)
    0.1
    """
    _check_above_0(margin=margin)
    return lipschitz_error(distance, 1 / margin, spread=1.0)


def share_error(distance: float, density: float) -> float:
    """Return how far the share of rows up to any threshold is off at most, if one of the laws has a bounded density.

    density: of one column of length 1, at least 1 somewhere, so a bound below 1 is none. Where the shares differ by s
    at a threshold, they differ on a stretch beside it that shrinks no faster than the density lets them, so that the
    distance is at least ``s^2 / (2 density)``.

    >>> share_error(0.005, 1.0)
    0.1
    """
    _check(distance=distance)
    if not 1 <= density < math.inf:
        raise ParameterError(f"density must be finite and at least 1, got {density}", code="LW390")
    return min(1.0, math.sqrt(2 * distance * density))


def kernel_error(distance: float, bandwidth: float, columns: int) -> float:
    """Return how far a kernel density is off at most, at any place.

    bandwidth: sigma of ``exp(-|x - y|^2 / (2 sigma^2))``, above 0, columns having length 1. The kernel's slope is at
    most ``1 / (sigma sqrt(e))`` in the Euclidean norm, which is at most ``sqrt(columns)`` times the largest coordinate.

    >>> round(kernel_error(0.01, 0.25, 2), 4)
    0.0343
    """
    _check_above_0(bandwidth=bandwidth, columns=columns)
    return lipschitz_error(distance, math.sqrt(columns / math.e) / bandwidth, spread=1.0)


def product_error(distance: float, columns: int) -> float:
    """Return how far the mean of a product of columns, each from 0 to 1, is off at most: a mixed moment.

    >>> product_error(0.01, 2)
    0.02
    """
    _check_above_0(columns=columns)
    return lipschitz_error(distance, columns, spread=1.0)


def network_error(distance: float, norms: list[float]) -> float:
    """Return how far the average output of a network with 1-Lipschitz activations is off at most.

    norms: for each layer, the largest sum of absolute weights of a unit.

    >>> network_error(0.01, [2.0, 3.0])
    0.06
    """
    _check_above_0(**{f"norm_{place}": norm for place, norm in enumerate(norms)})
    return lipschitz_error(distance, math.prod(norms))


def _check(**numbers: float) -> None:
    """Refuse numbers below 0."""
    for name, number in numbers.items():
        if not number >= 0:
            raise ParameterError(f"{name} must be at least 0, got {number}", code="LW390")


def _check_above_0(**numbers: float) -> None:
    """Refuse numbers that are not finite and above 0."""
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            raise ParameterError(f"{name} must be finite and above 0, got {number}", code="LW390")
