"""Densities on given points whose linear statistics are as near as possible to noisy ones, and how near that is.

A (q, m) has each statistic on each point, b (q,) its noisy mean; a density h has m weights, non-negative, of sum 1.
"""

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from lapwing.errors import LapwingError
from lapwing.maths.quasi_newton import Objective, minimize
from lapwing.version import install_command

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SETTINGS: Final = {
    "output_flag": False,
    "presolve": "off",  # it would give all the weight of equal points to one of them
    "solver": "ipm",
    "run_crossover": "off",
    "threads": 1,
    "ipm_iteration_limit": 200,  # it takes about 25
}
"""Of HiGHS: interior points without crossover end in the middle of all best densities."""


def check_solver() -> None:
    """Refuse the linear program where the extra ``lp`` is not installed."""
    try:
        import highspy  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise LapwingError(
            f"variant='paper' needs highspy; run {install_command('lp')}, or use variant='default'", code="LW701"
        ) from None


def minimax_density(matrix: "csr_array", targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a density on points whose largest error is the smallest possible, and the program's dual solution.

    Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", Algorithm 1, step 2: the
    linear program in h_1..h_m and t: minimise t, where ``A h - t <= b``, ``-A h - t <= -b``, and h sums to 1.

    By ``highspy`` (the extra ``lp``). SciPy's methods end in a corner of all best densities: the same error against b,
    and up to twice the error against the truth (docs/decisions/0001-to-0020.md). The program chases the largest noise:
    the density of `max_entropy_density` has the smaller error against the truth.

    >>> from scipy.sparse import csr_array
    >>> weights, _ = minimax_density(csr_array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), np.array([0.2, 0.6]))
    >>> weights.round(6).tolist()
    [0.4, 0.4, 0.2]
    """
    check_solver()
    import highspy  # noqa: PLC0415 - an extra
    from scipy.sparse import csr_array, hstack, vstack  # noqa: PLC0415 - SciPy takes a while to load

    statistics, points = matrix.shape
    # Targets far outside [-1, 1] (little budget) would upset absolute tolerances.
    size = max(1.0, float(np.abs(targets).max()))
    matrix, targets = matrix / size, targets / size
    distances = hstack([vstack([matrix, -matrix]), csr_array(np.full((2 * statistics, 1), -1.0))], format="csr")
    rows = csr_array(vstack([distances, csr_array(np.append(np.ones(points), 0.0)[None, :])]))
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
    density = np.maximum(np.asarray(answer.col_value)[:-1], 0.0)
    total = float(density.sum())
    density = density / total if 0.0 < total < math.inf else np.full(points, 1.0 / points)
    return density, marginals[statistics : 2 * statistics] - marginals[:statistics]


MOST_STEPS_OF_RIDGE: Final = 2000  # most steps towards the density; 50 to 300 are taken
PRECISION: Final = 1e-4  # steps end when no statistic is so much of the noise from where the optimum has it


def max_entropy_density(matrix: "csr_array", targets: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the density that trades evenness against squared errors, and its multipliers.

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
    >>> weights, _ = max_entropy_density(csr_array([[0.0, 0.0, 0.0, 1.0]]), np.array([0.5]), noise=0.01)
    >>> weights.round(3).tolist()
    [0.17, 0.17, 0.17, 0.489]
    """

    def ridge(y: np.ndarray) -> tuple[float, np.ndarray]:
        return noise / 2 * float((y * y).sum()), noise * y

    dual, start = _dual(matrix, targets, ridge), np.zeros(len(targets))
    y = minimize(dual, start, PRECISION * noise, MOST_STEPS_OF_RIDGE)[0]
    return _mass_and_weights(matrix.T.tocsr(), y)[1], y


def _dual(matrix: "csr_array", targets: np.ndarray, penalty: Objective) -> Objective:
    """Return ``log mean exp(-A^T y) + b . y`` with a penalty on y, and its gradient, as a function of y."""
    transposed = matrix.T.tocsr()

    def dual(y: np.ndarray) -> tuple[float, np.ndarray]:
        mass, weights = _mass_and_weights(transposed, y)
        size, slope = penalty(y)
        return mass + float((targets * y).sum()) + size, targets - matrix @ weights + slope

    return dual


def _mass_and_weights(transposed: "csr_array", y: np.ndarray) -> tuple[float, np.ndarray]:
    """Return ``log mean exp(-A^T y)``, and the density in proportion to those exponentials."""
    exponents = -(transposed @ y)
    largest = float(exponents.max())
    powers = np.exp(exponents - largest)
    total = float(powers.sum())
    return largest + math.log(total / len(powers)), powers / total


# -- How near any density on the points could be.

MOST_STEPS_OF_BOUND: Final = 200  # most steps towards the lower bound
STIFFNESS: Final = 0.1
"""Of the rounded minimax, in squares of the noise; a third or three times as much gives a lower bound as good."""
CORNER: Final = 0.1  # width of the rounding of absolute values of multipliers, in the unit of errors over noise
ROUNDING: Final = 1e-12  # what rounding may add to a lower bound, for each unit of the targets' size


def best_error(matrix: "csr_array", targets: np.ndarray, noise: float) -> float:
    """Return a proved lower bound for the largest error of every density on the points; parameters as above.

    By the dual of the minimax program, where the norm of y and its square are smooth.

    >>> from scipy.sparse import csr_array
    >>> round(best_error(csr_array([[0.0, 1.0]]), np.array([1.5]), noise=0.01), 2)
    0.5
    """
    stiffness = STIFFNESS * noise**2

    def norm_squared(y: np.ndarray) -> tuple[float, np.ndarray]:
        sizes = np.sqrt(y * y + CORNER**2)
        norm = float(sizes.sum())
        return stiffness / 2 * norm**2, stiffness * norm * (y / sizes)

    dual, start = _dual(matrix, targets, norm_squared), np.zeros(len(targets))
    return least_error(matrix, targets, minimize(dual, start, PRECISION * noise, MOST_STEPS_OF_BOUND)[0])


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
