"""Densities on given points whose linear statistics are as near as possible to noisy ones, and how near that is."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from lapwing.errors import ParameterError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


MOST_STEPS: Final = 200  # most steps of the interior point method; it takes about 25
ROUNDING: Final = 1e-12  # what rounding may add to a lower bound, for each unit of the targets' size


@dataclass(frozen=True, slots=True)
class Density:
    """Weights of points, and how far their statistics are from the targets.

    weights: float64 (m,), non-negative, of sum 1, read-only; error: largest absolute difference between a statistic of
    the weighted points and its target; gap: at least 0. No density on these points has an error below ``error - gap``;
    this is proved, by the dual.
    """

    weights: np.ndarray
    error: float
    gap: float
    iterations: int


def minimax_density(matrix: "csr_array", targets: np.ndarray) -> Density:
    """Return a density on points whose largest error is the smallest possible.

    Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", Algorithm 1, step 2: a
    linear program with ``m + 1`` variables.

    HiGHS through ``highspy`` (the extra ``lp``) by interior points without crossover, which ends in the middle of all
    best densities; without the extra SciPy's ``highs-ds``, which ends in a corner of them: the same error against the
    targets, and up to twice the error against the truth (docs/decisions/0001-to-0020.md). The program
    chases the largest noise: the density of `max_entropy_weights` has the smaller error against the truth.

    >>> from scipy.sparse import csr_array
    >>> density = minimax_density(csr_array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), np.array([0.2, 0.6]))
    >>> density.weights.round(6).tolist(), density.error < 1e-6
    ([0.4, 0.4, 0.2], True)
    """
    check_program(matrix, targets)
    # Targets far outside [-1, 1] (little budget) would upset absolute tolerances.
    size = max(1.0, float(np.abs(targets).max()))
    solved = _by_highspy(matrix / size, targets / size) or _by_scipy(matrix / size, targets / size)
    weights, multipliers, iterations = solved
    return certified_density(matrix, targets, weights, [multipliers], iterations)


def check_program(matrix: "csr_array", targets: np.ndarray) -> None:
    """Refuse statistics and targets that make no program."""
    statistics, points = matrix.shape
    if not statistics or not points:
        raise ParameterError(
            f"a density needs at least 1 statistic and 1 point, got {statistics} and {points}; ask for more",
            code="LW390",
        )
    if targets.shape != (statistics,):
        raise ParameterError(f"each of the {statistics} statistics needs one target, got {targets.shape}", code="LW390")
    if not (np.isfinite(targets).all() and np.isfinite(matrix.data).all()):
        raise ParameterError(
            "statistics and their targets must be finite numbers; check the functions' bounds", code="LW390"
        )


def certified_density(
    matrix: "csr_array", targets: np.ndarray, weights: np.ndarray, multipliers: list[np.ndarray], iterations: int
) -> Density:
    """Return a solver's answer as a density, with its error and what is proved about it."""
    density = np.maximum(weights, 0.0)
    total = float(density.sum())
    points = len(density)
    density = density / total if 0.0 < total < math.inf else np.full(points, 1.0 / points)
    density.setflags(write=False)
    error = float(np.abs(matrix @ density - targets).max())
    proved = max(least_error(matrix, targets, each) for each in multipliers)
    return Density(density, error, max(0.0, error - proved), iterations)


def least_error(matrix: "csr_array", targets: np.ndarray, multipliers: np.ndarray) -> float:
    """Return a proved lower bound for the largest error of every density on the points.

    multipliers: float64 (q,), any numbers y; the bound is good where they are near the program's dual solution. Returns
    at least 0: ``min_i (A^T y)_i - b . y`` for y scaled to an L1 norm of 1, less what rounding may do to it.

    Weak duality: ``max_f |A h - b|_f >= y . (A h - b)`` for every y of L1 norm at most 1, and ``y . A h`` is a mean of
    the ``(A^T y)_i`` with weights h.

    >>> from scipy.sparse import csr_array
    >>> round(least_error(csr_array([[0.0, 1.0], [1.0, 1.0]]), np.array([0.5, -0.25]), np.array([0.0, 1.0])), 6)
    1.25
    """
    norm = float(np.abs(multipliers).sum())
    if not 0.0 < norm < math.inf:
        return 0.0
    scaled = multipliers / norm
    bound = float((matrix.T @ scaled).min()) - float((scaled * targets).sum())
    size = max(1.0, float(np.abs(targets).max()), float(np.abs(matrix.data).max(initial=0.0)))
    return max(0.0, bound - ROUNDING * size)


def effective_points(weights: np.ndarray) -> float:
    """Return how many points of equal weight are as many as these.

    weights: float64 (m,), non-negative, of sum 1. Returns ``1 / sum h_i^2``, from 1 to m. Near 1 the density has
    collapsed onto few points, and rows drawn from it are copies of those.

    Kish (1965), effective sample size of weighted observations.

    >>> effective_points(np.array([0.5, 0.5, 0.0]))
    2.0
    """
    return 1.0 / float(np.square(weights).sum())


# The program in variables h_1..h_m and t: minimise t, where A h - t <= b, -A h - t <= -b, and h sums to 1.


def _constraints(matrix: "csr_array") -> "csr_array":
    """Return the inequalities' coefficients: csr_array of float64, shape (2 q, m + 1)."""
    from scipy.sparse import csr_array, hstack, vstack  # noqa: PLC0415 - SciPy takes a while to load

    aside = csr_array(np.full((2 * matrix.shape[0], 1), -1.0))
    return hstack([vstack([matrix, -matrix]), aside], format="csr")


def _by_scipy(matrix: "csr_array", targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return weights, dual vector and iterations of the dual simplex method."""
    from scipy.optimize import linprog  # noqa: PLC0415
    from scipy.sparse import csr_array  # noqa: PLC0415

    statistics, points = matrix.shape
    solved = linprog(
        np.append(np.zeros(points), 1.0),
        A_ub=_constraints(matrix),
        b_ub=np.concatenate((targets, -targets)),
        A_eq=csr_array(np.append(np.ones(points), 0.0)[None, :]),
        b_eq=[1.0],
        method="highs-ds",
    )
    assert solved.success, "a uniform density and a large t are always feasible, and t is bounded below"
    # Marginals of "<=" rows are at most 0.
    marginals = np.asarray(solved.ineqlin.marginals)
    weights = _shared(matrix, np.asarray(solved.x[:-1]))
    return weights, marginals[statistics:] - marginals[:statistics], int(solved.nit)


def _shared(matrix: "csr_array", weights: np.ndarray) -> np.ndarray:
    """Return weights where points with the same statistics share evenly; a corner gives all to one of them."""
    columns = matrix.T.tocsr()
    columns.sort_indices()
    places: dict[tuple[bytes, bytes], int] = {}
    labels = np.empty(len(weights), dtype=np.int64)
    for point, (start, stop) in enumerate(pairwise(columns.indptr)):
        key = columns.indices[start:stop].tobytes(), columns.data[start:stop].tobytes()
        labels[point] = places.setdefault(key, len(places))
    return (np.bincount(labels, weights) / np.bincount(labels))[labels]


def _by_highspy(matrix: "csr_array", targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Return weights, dual vector and iterations of the interior point method; None without the extra."""
    try:
        import highspy  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    from scipy.sparse import csr_array, vstack  # noqa: PLC0415

    statistics, points = matrix.shape
    sums_to_1 = csr_array(np.append(np.ones(points), 0.0)[None, :])
    rows = csr_array(vstack([_constraints(matrix), sums_to_1]))
    solver = highspy.Highs()
    for name, value in _SETTINGS.items():
        solver.setOptionValue(name, value)
    solver.addVars(points + 1, np.zeros(points + 1), np.full(points + 1, math.inf))
    solver.changeColCost(points, 1.0)
    least = np.append(np.full(2 * statistics, -math.inf), 1.0)
    most = np.concatenate((targets, -targets, [1.0]))
    solver.addRows(len(most), least, most, rows.nnz, rows.indptr, rows.indices, rows.data)
    solver.run()
    answer = solver.getSolution()
    marginals = np.asarray(answer.row_dual)
    dual = marginals[statistics : 2 * statistics] - marginals[:statistics]
    return np.asarray(answer.col_value)[:-1], dual, int(solver.getInfo().ipm_iteration_count)


_SETTINGS: Final = {
    "output_flag": False,
    "presolve": "off",  # it would give all the weight of equal points to one of them
    "solver": "ipm",
    "run_crossover": "off",
    "threads": 1,
    "ipm_iteration_limit": MOST_STEPS,
}


# -- The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno, for smooth convex functions.


MEMORY: Final = 20  # steps that the method remembers
LEAST_STEP: Final = 1e-12
"""Steps end where even so small a part of one does not lead down: rounding is all that is left."""

MOST_IDLE: Final = 10  # steps end after so many that led nowhere
Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
_Moves = deque[tuple[np.ndarray, np.ndarray, float]]


def smallest(objective: Objective, start: np.ndarray, precision: float, most_steps: int) -> tuple[np.ndarray, int]:
    """Return where a smooth convex function is smallest, and the number of steps to there.

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


MOST_STEPS_OF_RIDGE: Final = 2000  # most steps towards the density; 50 to 300 are taken
MOST_STEPS_OF_BOUND: Final = 200  # most steps towards the lower bound of the best error
PRECISION: Final = 1e-4  # steps end when no statistic is so much of the noise from where the optimum has it
STIFFNESS: Final = 0.1
"""Of the rounded minimax, in squares of the noise; a third or three times as much gives a lower bound as good."""

CORNER: Final = 0.1  # width of the rounding of absolute values of multipliers, in the unit of errors over noise


def max_entropy_weights(matrix: "csr_array", targets: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the density that trades evenness against squared errors, its multipliers and the number of steps.

    noise: standard deviation of the noise on one target, in its unit; above 0. Of all densities h on the points it has
    the smallest ``KL(h || uniform) + |A h - b|^2 / (2 noise)``.

    In place of Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", Algorithm 1,
    step 2, whose largest error follows the largest noise. Maximum entropy with a ridge: Dudík, Phillips, Schapire,
    "Maximum Entropy Density Estimation with Generalized Regularization" (2007). The weight ``1 / noise`` of the squares
    (and not of one over the variance) lets the points themselves count as much as ``1 / noise`` rows would; what was
    measured is in docs/decisions/0001-to-0020.md.

    The dual has one number y for each statistic, ``log mean exp(-A^T y) + b . y + noise / 2 * |y|^2``, and is smooth:
    at most 2,000 steps of ``O(non-zeros of A)``.

    >>> from scipy.sparse import csr_array
    >>> weights, _, _ = max_entropy_weights(csr_array([[0.0, 0.0, 0.0, 1.0]]), np.array([0.5]), noise=0.01)
    >>> weights.round(3).tolist()
    [0.17, 0.17, 0.17, 0.489]
    """
    _check(matrix, targets, noise)
    ridge, steps = smallest(
        _ridge_dual(matrix, targets, noise), np.zeros(len(targets)), PRECISION * noise, MOST_STEPS_OF_RIDGE
    )
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
