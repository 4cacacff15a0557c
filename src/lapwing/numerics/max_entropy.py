"""A density on given points that is as even as its noisy linear statistics allow."""

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.numerics.minimax_density import Density, certified_density, check_program, least_error
from lapwing.numerics.quasi_newton import Objective, smallest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_STEPS: Final = 2000
"""Most steps towards the density; 50 to 300 are taken."""

MOST_STEPS_OF_BOUND: Final = 200
"""Most steps towards the lower bound of the best error."""

PRECISION: Final = 1e-4
"""Steps end when no statistic is so much of the noise from where the optimum has it."""

STIFFNESS: Final = 0.1
"""Of the rounded minimax, in squares of the noise; a third or three times as much gives a lower bound as good."""

CORNER: Final = 0.1
"""Width of the rounding of absolute values of multipliers, in the unit of errors over noise."""


def max_entropy_density(matrix: "csr_array", targets: np.ndarray, noise: float) -> Density:
    """Return the density that trades evenness against squared errors, by the size of the noise.

    Parameters
    ----------
    matrix : csr_array of float64, shape (q, m)
        Value of each statistic at each point; q and m at least 1.
    targets : ndarray of float64, shape (q,)
        Noisy statistics, finite.
    noise : float
        Standard deviation of the noise on one target, in its unit; above 0.

    Returns
    -------
    Density
        Of all densities h on the points the one with the smallest ``KL(h || uniform) + |A h - b|^2 / (2 noise)``. Its
        gap says how much larger its largest error is, at most, than the smallest possible.

    Raises
    ------
    ParameterError
        If there is no statistic or no point, the shapes differ, or a number is out of its range.

    References
    ----------
    In place of Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", Algorithm 1,
    step 2, whose largest error follows the largest noise. Maximum entropy with a ridge: Dudík, Phillips, Schapire,
    "Maximum Entropy Density Estimation with Generalized Regularization" (2007). The weight ``1 / noise`` of the squares
    (and not of one over the variance) lets the points themselves count as much as ``1 / noise`` rows would; what was
    measured is in docs/decisions/0011-densities-on-points.md.

    Notes
    -----
    The dual has one number y for each statistic, ``log mean exp(-A^T y) + b . y + noise / 2 * |y|^2``, and is smooth:
    at most 2,000 steps of ``O(non-zeros of A)``. The lower bound comes from at most 200 steps on the dual of
    ``KL(h || uniform) + 5 max |A h - b|^2 / noise^2``: the minimax program with its corner rounded off.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> density = max_entropy_density(csr_array([[0.0, 0.0, 0.0, 1.0]]), np.array([0.5]), noise=0.01)
    >>> density.weights.round(3).tolist()
    [0.17, 0.17, 0.17, 0.489]
    """
    weights, ridge, steps = max_entropy_weights(matrix, targets, noise)
    return certified_density(matrix, targets, weights, [ridge, _rounded(matrix, targets, noise, ridge)], steps)


def max_entropy_weights(matrix: "csr_array", targets: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the weights of `max_entropy_density`, the multipliers and the number of steps; parameters as there."""
    _check(matrix, targets, noise)
    ridge, steps = smallest(_ridge_dual(matrix, targets, noise), np.zeros(len(targets)), PRECISION * noise, MOST_STEPS)
    return _mass_and_weights(matrix.T.tocsr(), ridge)[1], ridge, steps


def best_error(matrix: "csr_array", targets: np.ndarray, noise: float) -> float:
    """Return a proved lower bound for the largest error of every density on the points; parameters as above.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> round(best_error(csr_array([[0.0, 1.0]]), np.array([1.5]), noise=0.01), 2)
    0.5
    """
    _check(matrix, targets, noise)
    start = np.zeros(len(targets))
    return least_error(matrix, targets, _rounded(matrix, targets, noise, start))


def _check(matrix: "csr_array", targets: np.ndarray, noise: float) -> None:
    """Refuse what is no program, or no noise."""
    check_program(matrix, targets)
    if not 0.0 < noise < math.inf:
        raise ParameterError(
            f"noise must be finite and above 0, got {noise}; give its standard deviation", code="LW390"
        )


def _rounded(matrix: "csr_array", targets: np.ndarray, noise: float, start: np.ndarray) -> np.ndarray:
    """Return multipliers near those of the minimax program."""
    dual = _minimax_dual(matrix, targets, STIFFNESS * noise**2)
    return smallest(dual, start, PRECISION * noise, MOST_STEPS_OF_BOUND)[0]


def _ridge_dual(matrix: "csr_array", targets: np.ndarray, noise: float) -> Objective:
    """Return the dual of the ridge, and its gradient, as a function of the multipliers."""
    transposed = matrix.T.tocsr()

    def dual(y: np.ndarray) -> tuple[float, np.ndarray]:
        mass, weights = _mass_and_weights(transposed, y)
        value = mass + float((targets * y).sum()) + noise / 2 * float((y * y).sum())
        return value, targets - matrix @ weights + noise * y

    return dual


def _minimax_dual(matrix: "csr_array", targets: np.ndarray, stiffness: float) -> Objective:
    """Return the dual of the rounded minimax, and its gradient, as a function of the multipliers."""
    transposed = matrix.T.tocsr()

    def dual(y: np.ndarray) -> tuple[float, np.ndarray]:
        sizes = np.sqrt(y * y + CORNER**2)
        norm = float(sizes.sum())
        mass, weights = _mass_and_weights(transposed, y)
        value = mass + float((targets * y).sum()) + stiffness / 2 * norm**2
        return value, targets - matrix @ weights + stiffness * norm * (y / sizes)

    return dual


def _mass_and_weights(transposed: "csr_array", y: np.ndarray) -> tuple[float, np.ndarray]:
    """Return ``log mean exp(-A^T y)``, and the density in proportion to those exponentials."""
    exponents = -(transposed @ y)
    largest = float(exponents.max())
    powers = np.exp(exponents - largest)
    total = float(powers.sum())
    return largest + math.log(total / len(powers)), powers / total
