"""The bounded-Lipschitz distance between finite measures, exact: of any mass, also signed.

It is the largest difference of the integrals of a function that changes at most as fast as the ground metric and whose
size is at most a bound. Dually it is the least cost of turning one measure into the other, where mass is moved at the
price of the distance, and created or destroyed at the price of the bound. What is computed from private rows is
private: nothing here adds noise.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import CapacityError, ParameterError
from lapwing.judge.distances.wasserstein import Metric, ground_distances
from lapwing.judge.metrics import Floats, finite_array, same_space

# -- Signed masses at points: what two weighted samples leave of each other.


def merged(points: Floats, masses: Floats) -> tuple[Floats, Floats]:
    """Return the distinct points among several, and the sum of the signed masses of each.

    points: float64 (n, d), at least one; masses: float64 (n,), of any sign. Returns points: float64 (k, d); masses:
    float64 (k,).

    >>> merged(np.array([[2.0], [1.0], [2.0]]), np.array([0.5, 1.0, -0.5]))
    (array([[1.],
           [2.]]), array([1., 0.]))
    """
    spots, numbers = np.unique(points, axis=0, return_inverse=True)
    # Each side is summed by itself, so that equal samples cancel exactly.
    sides = [np.bincount(numbers.ravel(), np.maximum(sign * masses, 0), len(spots)) for sign in (1, -1)]
    return np.asarray(spots), np.asarray(sides[0] - sides[1], dtype=np.float64)


MAX_ROUTES: Final = 2**18
"""Most pairs of a point with a surplus and one with a lack: 512 of each; up to half a minute."""


def bounded_lipschitz(
    points: npt.ArrayLike,
    masses: npt.ArrayLike,
    others: npt.ArrayLike,
    other_masses: npt.ArrayLike,
    *,
    bound: float = 1.0,
    metric: Metric = "linf",
) -> float:
    """Return the bounded-Lipschitz distance between two finite measures.

    points: finite numbers, at least one row; a point may occur more than once; bound: largest size of the functions,
    above 0, in the unit of the ground metric. The diameter of the domain (spec 02): 1 where each column has length 1
    and the largest coordinate difference counts; metric: ground metric: the largest coordinate difference, their sum,
    or the Euclidean distance. Returns at least 0, in the unit of the ground metric times that of the masses.

    References
    ----------
    He, Vershynin, Zhu, "Algorithmically Effective Differentially Private Synthetic Data", Section 3 (there with
    ``bound`` 1 on a domain of diameter 1). Changed: routes only from points with a surplus to points with a lack.

    Between measures of equal mass it is W1 for the ground metric ``min(distance, 2 * bound)``, so W1 itself where the
    bound is at least half the diameter. Memory ``O(routes)``; solved to the tolerance of SciPy's HiGHS, 1e-7.

    >>> bounded_lipschitz([[0.0]], [1.0], [[0.25]], [1.0])
    0.25
    >>> bounded_lipschitz([[0.0]], [1.5], [[0.25]], [1.0])
    0.75
    """
    if not (bound > 0 and math.isfinite(bound)):
        raise ParameterError(
            f"bound must be finite and above 0, got {bound}; it is the diameter of the domain", code="LW301"
        )
    left, right = same_space(points, others)
    signed = [finite_array(name, values, 1) for name, values in (("masses", masses), ("other_masses", other_masses))]
    if [len(each) for each in signed] != [len(left), len(right)]:
        raise ParameterError("masses must be one for each point; check their number", code="LW802")
    spots, left_over = merged(np.concatenate((left, right)), np.concatenate((signed[0], -signed[1])))
    surplus, lack = left_over > 0, left_over < 0
    costs = np.minimum(ground_distances(spots[surplus], spots[lack], metric), 2 * bound)
    return _transport(costs, left_over[surplus], -left_over[lack], bound)


def _transport(costs: Floats, sent: Floats, wanted: Floats, bound: float) -> float:
    """Return the least cost of sending masses to where they are wanted; what is too much on a side costs the bound."""
    excess = math.fsum(sent) - math.fsum(wanted)
    if not costs.size:
        return bound * abs(excess)
    if costs.size > MAX_ROUTES:
        raise CapacityError(
            f"at most {MAX_ROUTES} pairs of points with a surplus and a lack can be matched; merge points into cells",
            code="LW506",
        )
    # Half a pair that costs min(distance, 2 bound): the excess is all that has no partner.
    if excess > 0:
        costs, wanted = np.column_stack((costs, np.full(len(sent), bound))), np.append(wanted, excess)
    else:
        costs, sent = np.vstack((costs, np.full(len(wanted), bound))), np.append(sent, -excess)
    return _least_cost(costs, sent, wanted)


def _least_cost(costs: Floats, sent: Floats, wanted: Floats) -> float:
    """Return the cost of an optimal transport between equal masses, by a linear program."""
    # Imported when needed: SciPy's optimisers take a while to load.
    from scipy.optimize import linprog  # noqa: PLC0415
    from scipy.sparse import eye_array, kron, vstack  # noqa: PLC0415

    rows, columns = costs.shape
    flows = vstack(
        (kron(eye_array(rows), np.ones((1, columns))), kron(np.ones((1, rows)), eye_array(columns))), format="csc"
    )
    scale = sent.sum()
    # One equation follows from the others; without it rounding cannot make them contradict each other.
    masses = np.concatenate((sent, wanted))[:-1] / scale
    solved = linprog(costs.ravel(), A_eq=flows[:-1], b_eq=masses, method="highs-ds")
    assert solved.success, "masses that are equal in sum can always be sent"
    return max(0.0, float(solved.fun)) * float(scale)
