"""A density on given points that is as even as its noisy linear statistics allow."""

import math
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.mechanisms.linear_statistics.densities import Density, certified_density, check_program, least_error

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# -- The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno, for smooth convex functions.


MEMORY: Final = 20  # steps that the method remembers
LEAST_STEP: Final = 1e-12
"""Steps end where even so small a part of one does not lead down: rounding is all that is left."""

MOST_IDLE: Final = 10  # steps end after so many that led nowhere
Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
_Moves = deque[tuple[np.ndarray, np.ndarray, float]]


def smallest(objective: Objective, start: np.ndarray, precision: float, most_steps: int) -> tuple[np.ndarray, int]:
    """Return where a smooth convex function is smallest, and the number of steps to there.

    objective: returns value and gradient at an ndarray of float64, shape (q,); start: float64 (q,), not modified;
    precision: steps end when no entry of the gradient is larger. Returns place: float64 (q,).

    Nocedal, Wright, "Numerical Optimization" (2006), Algorithms 7.4 and 7.5; steps are halved until they lead down
    (Armijo). Not SciPy's: its small matrix products start threads that wait for each other, ten times the time.

    ``O(q)`` beside one call of the function for each step, rarely two.

    >>> def bowl(x):
    ...     return float(((x - 3) ** 2).sum()), 2 * (x - 3)
    >>> place, steps = smallest(bowl, np.zeros(2), 1e-9, 100)
    >>> place.round(6).tolist()
    [3.0, 3.0]
    """
    place, moves, idle = start, _Moves(maxlen=MEMORY), 0
    value, slope = objective(place)
    for step in range(most_steps):
        if np.abs(slope).max() <= precision or idle == MOST_IDLE:
            return place, step
        direction = _direction(slope, moves)
        descent, part = _dot(slope, direction), 1.0
        while True:
            other = place + part * direction
            other_value, other_slope = objective(other)
            if other_value <= value + 1e-4 * part * descent:
                break
            part /= 2
            if part < LEAST_STEP:
                return place, step
        move, turn = other - place, other_slope - slope
        curvature = _dot(move, turn)
        if curvature > LEAST_STEP * _dot(turn, turn):
            moves.append((move, turn, curvature))
        idle = 0 if other_value < value else idle + 1
        place, value, slope = other, other_value, other_slope
    return place, most_steps


def _direction(slope: np.ndarray, moves: _Moves) -> np.ndarray:
    """Return the gradient times minus the inverse Hessian that the moves tell."""
    if not moves:
        return -slope / max(1.0, math.sqrt(_dot(slope, slope)))
    direction, parts = -slope, []
    for move, turn, curvature in reversed(moves):
        part = _dot(move, direction) / curvature
        parts.append(part)
        direction = direction - part * turn
    _, turn, curvature = moves[-1]
    direction = direction * (curvature / _dot(turn, turn))
    for (move, turn, curvature), part in zip(moves, reversed(parts), strict=True):
        direction = direction + move * (part - _dot(turn, direction) / curvature)
    return direction


def _dot(one: np.ndarray, other: np.ndarray) -> float:
    """Return the inner product without BLAS, whose threads wait for each other."""
    return float((one * other).sum())


MOST_STEPS: Final = 2000  # most steps towards the density; 50 to 300 are taken
MOST_STEPS_OF_BOUND: Final = 200  # most steps towards the lower bound of the best error
PRECISION: Final = 1e-4  # steps end when no statistic is so much of the noise from where the optimum has it
STIFFNESS: Final = 0.1
"""Of the rounded minimax, in squares of the noise; a third or three times as much gives a lower bound as good."""

CORNER: Final = 0.1  # width of the rounding of absolute values of multipliers, in the unit of errors over noise


def max_entropy_density(matrix: "csr_array", targets: np.ndarray, noise: float) -> Density:
    """Return the density that trades evenness against squared errors, by the size of the noise.

    matrix: value of each statistic at each point; q and m at least 1; targets: float64 (q,), noisy statistics, finite;
    noise: standard deviation of the noise on one target, in its unit; above 0. Returns of all densities h on the points
    the one with the smallest ``KL(h || uniform) + |A h - b|^2 / (2 noise)``. Its gap says how much larger its largest
    error is, at most, than the smallest possible.

    In place of Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", Algorithm 1,
    step 2, whose largest error follows the largest noise. Maximum entropy with a ridge: Dudík, Phillips, Schapire,
    "Maximum Entropy Density Estimation with Generalized Regularization" (2007). The weight ``1 / noise`` of the squares
    (and not of one over the variance) lets the points themselves count as much as ``1 / noise`` rows would; what was
    measured is in docs/decisions/0001-to-0020.md.

    The dual has one number y for each statistic, ``log mean exp(-A^T y) + b . y + noise / 2 * |y|^2``, and is smooth:
    at most 2,000 steps of ``O(non-zeros of A)``. The lower bound comes from at most 200 steps on the dual of
    ``KL(h || uniform) + 5 max |A h - b|^2 / noise^2``: the minimax program with its corner rounded off.

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
