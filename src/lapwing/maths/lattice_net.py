"""Integer points of a ball as a net: which of them is nearest, all of them, and how many there are.

Everything is decided on integers. A near-tie falls the same way on every machine, and the answer of a row never hangs
on another row: a floating product could put it elsewhere when its neighbours in memory change.
"""

import math
from dataclasses import dataclass

import numpy as np

from lapwing.errors import CapacityError, ParameterError

# -- How fine a net of how many dimensions the covariance loss theorem asks for: a function of public numbers alone.


@dataclass(frozen=True, slots=True)
class NetChoice:
    """A lattice in the unit ball of the space of a few leading eigenvectors.

    dimensions: leading eigenvectors, t, at least 0; with 0 the net is one point; alpha: points of the ball are nearer
    than this to a point of the net; above 0. Without meaning for 0 dimensions.

    >>> choice = NetChoice(2, 0.5)
    >>> choice.spacing(2**20), choice.budget(2**20)
    (370728, 7)
    """

    dimensions: int
    alpha: float

    def __post_init__(self) -> None:
        if self.dimensions < 0 or not self.alpha > 0:
            raise ParameterError(
                f"a net needs dimensions of at least 0 and alpha above 0, got {self.dimensions} and {self.alpha}",
                code="LW390",
            )

    def spacing(self, radius: int) -> int:
        """Return the side of the lattice ``alpha / sqrt(t) * Z^t`` in units of which the ball's radius is a number."""
        return max(1, math.ceil(radius * self.alpha / math.sqrt(self.dimensions))) if self.dimensions else radius

    def budget(self, radius: int) -> int:
        """Return the largest squared norm of lattice points in the ball, in units of `spacing`."""
        return radius**2 // self.spacing(radius) ** 2 if self.dimensions else 0


def anonymous_net(cells: float, columns: int) -> NetChoice:
    """Return the net of the covariance loss theorem for a number of cells.

    columns: of the rows, p, at least 0; no more dimensions than that. Returns ``alpha = (log log k / log k)**(1/4)``
    and ``t = floor(log k / log(7 / alpha))``; 0 dimensions below 3 cells.

    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", formula (3.5). What we changed: ``t <= p``.

    >>> choice = anonymous_net(1000, columns=20)
    >>> choice.dimensions, round(choice.alpha, 3)
    (3, 0.727)
    """
    _check(cells, columns)
    if cells < 3:
        return NetChoice(0, 1.0)
    log_cells = math.log(cells)
    return _with_alpha(log_cells, (math.log(log_cells) / log_cells) ** 0.25, columns)


def private_net(rows: float, columns: int) -> NetChoice:
    """Return the net of the private covariance loss theorem for a number of rows.

    rows: public or noisy number of rows, n; 0 dimensions up to 2. Returns ``alpha = log(n)**(-1/4)`` and ``t =
    floor(log(sqrt(n)) / log(7 / alpha))``, with at most ``sqrt(n)`` points.

    Boedihardjo, Strohmer, Vershynin, formula (5.14). What we changed: ``t <= p``, and rounded down, as (5.15) needs.

    >>> choice = private_net(10**6, columns=20)
    >>> choice.dimensions, round(choice.alpha, 3)
    (2, 0.519)
    """
    _check(max(rows, 1), columns)
    return NetChoice(0, 1.0) if rows <= 2 else _with_alpha(math.log(rows) / 2, math.log(rows) ** -0.25, columns)


def _with_alpha(log_points: float, alpha: float, columns: int) -> NetChoice:
    """Return a net with as many dimensions as (7 / alpha)^t points allow."""
    return NetChoice(min(columns, math.floor(log_points / math.log(7 / alpha))), alpha)


def _check(cells: float, columns: int) -> None:
    if not 1 <= cells < math.inf or columns < 0:
        raise ParameterError(f"a net needs at least 1 cell and 0 columns, got {cells} and {columns}", code="LW390")


_MOST_BUDGET = 10_000
_BLOCK_NUMBERS = 2**18  # numbers of one block's tables: 2 MB, which stay in the cache


def nearest_lattice_points(z: np.ndarray, spacing: int, budget: int) -> np.ndarray:
    """Return the nearest point of a ball of the lattice ``spacing * Z^t`` to each row.

    z: int64 (n, t), rows in the unit of ``spacing``, inside the ball or not; ``t = 0`` is allowed. Not modified;
    budget: largest squared norm of a point in units of the spacing, between 0 and 10,000. Returns int64 (n, t), for
    each row the integer vector ``k`` with ``sum(k**2) <= budget`` that minimises ``sum((z - spacing * k)**2)``; of
    several the lexicographically smallest. A function of that row alone.

    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Remark 3.5 for the net of Proposition 3.7.
    What we changed: the net is never enumerated.

    With ``m = abs(k)`` the minimiser of ``sum(spacing * m**2 - 2 * abs(z) * m)`` is wanted, because the signs of ``k``
    are those of ``z``. Plain rounding finds it wherever the rounded row lies in the ball. For the other rows a dynamic
    programme goes over coordinates and what is left of the budget: time ``O(t * budget * sqrt(budget))`` a row for
    three or more coordinates (a million rows of three in 0.2 s for a budget of 12, 0.6 s for 50), memory 5 MB beside
    four arrays of the rows' size.

    >>> nearest_lattice_points(np.array([[9, 11], [16, 14]]), spacing=10, budget=2).tolist()
    [[1, 1], [1, 1]]
    >>> nearest_lattice_points(np.array([[-9, 11]]), spacing=10, budget=1).tolist()
    [[0, 1]]
    """
    t = z.shape[1]
    if spacing < 1:
        raise ParameterError(f"the spacing of a lattice must be at least 1, got {spacing}", code="LW390")
    if not 0 <= budget <= _MOST_BUDGET:
        raise ParameterError(
            f"the budget of a lattice must be between 0 and {_MOST_BUDGET}, got {budget}", code="LW390"
        )
    _check_size(z, spacing, budget)
    # The lower of two equally near points is the lexicographically smaller.
    rounded = -((spacing - 2 * z) // (2 * spacing))
    np.clip(rounded, -_MOST_BUDGET, _MOST_BUDGET, out=rounded)
    left = np.flatnonzero((rounded * rounded).sum(axis=1) > budget)
    block = max(1, _BLOCK_NUMBERS // (t * (budget + 1) + 1))
    for start in range(0, left.size, block):
        chosen = left[start : start + block]
        rounded[chosen] = _nearest_on_budget(z[chosen].T, spacing, budget).T
    return rounded


def _check_size(z: np.ndarray, spacing: int, budget: int) -> None:
    """Refuse numbers whose costs could leave int64."""
    largest = max(-int(z.min()), int(z.max())) if z.size else 0
    most = spacing * budget + 2 * (largest + spacing) * (math.isqrt(z.shape[1] * budget) + 1)
    if most >= 2**62:
        raise ParameterError(
            f"rows of {z.shape[1]} coordinates are too large for a spacing of {spacing} and a budget of {budget}; "
            "use a smaller scale",
            code="LW390",
        )


def _nearest_on_budget(z: np.ndarray, spacing: int, budget: int) -> np.ndarray:
    """Return the nearest points of the columns of ``z``, shape (t, n), by dynamic programming."""
    sizes = np.abs(z)
    best = _best_costs(sizes, spacing, budget)
    found = np.empty_like(z)
    left = np.full(z.shape[1], budget)
    each = np.arange(z.shape[1])
    for i, size in enumerate(sizes):
        wanted = best[i][left, each]
        steps = np.full(left.size, -1)
        for step in range(math.isqrt(budget) + 1):
            rest = left - step * step
            fits = (_cost(size, step, spacing) + best[i + 1][np.maximum(rest, 0), each] == wanted) & (rest >= 0)
            # The smaller coordinate is the smaller step to the right of 0, and the larger to the left of it.
            steps[fits & ((steps < 0) | (z[i] < 0))] = step
        found[i] = np.where(z[i] < 0, -steps, steps)
        left -= steps * steps
    return found


def _best_costs(sizes: np.ndarray, spacing: int, budget: int) -> list[np.ndarray]:
    """Return the least cost of coordinates i, i+1, ... for each budget: for each i shape (budget + 1, n)."""
    best = [np.zeros((budget + 1, sizes.shape[1]), dtype=np.int64)]
    for size in sizes[::-1]:
        here = best[0].copy()
        for step in range(1, math.isqrt(budget) + 1):
            cost = _cost(size, step, spacing)
            np.minimum(here[step * step :], cost + best[0][: budget + 1 - step * step], out=here[step * step :])
        best.insert(0, here)
    return best


def _cost(size: np.ndarray, step: int, spacing: int) -> np.ndarray:
    """Return (|z| - spacing * step)^2 - |z|^2, divided by the spacing."""
    return spacing * step * step - 2 * step * size


def lattice_points(t: int, budget: int, most: int) -> np.ndarray:
    """Return all integer vectors in a ball.

    most: refuse more points than this, before memory is taken. Returns int64 (s, t), in lexicographic order; one empty
    vector for ``t = 0``.

    Boedihardjo, Strohmer, Vershynin, Algorithm 1, step 4.

    >>> lattice_points(2, budget=1, most=10).tolist()
    [[-1, 0], [0, -1], [0, 0], [0, 1], [1, 0]]
    """
    if t < 0 or budget < 0:
        raise ParameterError(
            f"a ball of the lattice needs t and budget of at least 0, got {t} and {budget}", code="LW390"
        )
    _check_count(t, budget, most)
    side = np.arange(-math.isqrt(budget), math.isqrt(budget) + 1)
    points = np.zeros((1, 0), dtype=np.int64)
    used = np.zeros(1, dtype=np.int64)
    for _ in range(t):
        norms = (used[:, None] + side**2).reshape(-1)
        kept = norms <= budget
        longer = np.column_stack((np.repeat(points, side.size, axis=0), np.tile(side, len(points))))
        points, used = longer[kept], norms[kept]
    return points


def _check_count(t: int, budget: int, most: int) -> None:
    """Refuse a ball with more than ``most`` points, counted by coordinates and squared norms."""
    # Every coordinate has the values -1, 0 and 1 at least, but for a budget of 0.
    if 2 * math.isqrt(budget) + 1 > most and t > 0:
        raise CapacityError(_too_many(t, budget, most), code="LW502")
    counts = {0: 1}
    for _ in range(t if budget else 0):
        longer: dict[int, int] = {}
        for norm, count in counts.items():
            for step in range(math.isqrt(budget - norm) + 1):
                into = norm + step * step
                longer[into] = longer.get(into, 0) + count * (2 if step else 1)
        counts = longer
        if sum(counts.values()) > most:
            raise CapacityError(_too_many(t, budget, most), code="LW502")


def _too_many(t: int, budget: int, most: int) -> str:
    return (
        f"a net of {t} dimensions and budget {budget} has more than the {most} points allowed; "
        "use fewer dimensions or a coarser net"
    )


def lattice_ranks(points: np.ndarray, net: np.ndarray) -> np.ndarray:
    """Return which row of a net each point is.

    Time ``O(t * n * log s)``: prefixes of the net's rows are numbered, one coordinate after another.

    >>> net = lattice_points(2, budget=1, most=10)
    >>> lattice_ranks(np.array([[0, 0], [1, 0], [0, 0]]), net).tolist()
    [2, 4, 2]
    """
    ranks, prefixes = np.zeros(len(points), dtype=np.int64), np.zeros(len(net), dtype=np.int64)
    lowest, highest = int(net.min(initial=0)), int(net.max(initial=0))
    inside = bool(((points >= lowest) & (points <= highest)).all()) and len(net) > 0
    for i in range(net.shape[1] if inside else 0):
        wanted = ranks * (highest - lowest + 1) + points[:, i]
        known, prefixes = np.unique(prefixes * (highest - lowest + 1) + net[:, i], return_inverse=True)
        ranks = np.minimum(np.searchsorted(known, wanted), known.size - 1)
        inside &= bool((known[ranks] == wanted).all())
    if not inside:
        raise ParameterError(
            "every point must be a row of the net; find points by nearest_lattice_points", code="LW390"
        )
    return np.argsort(prefixes, kind="stable")[ranks]


def net_size_bound(t: int, alpha: float) -> float:
    """Return how many points of the lattice ``alpha / sqrt(t) * Z^t`` the unit ball holds at most.

    alpha: every point of the ball is nearer than this to a point of the lattice in the ball; above 0. Returns ``((1 /
    alpha + 1 / 2) * sqrt(2 * e * pi))**t``, which is below ``(7 / alpha)**t`` for alpha below 1.

    Boedihardjo, Strohmer, Vershynin, Proposition 3.7.

    >>> round(net_size_bound(2, 0.5), 1), len(lattice_points(2, budget=8, most=1000))
    (106.7, 25)
    """
    if t < 0 or not alpha > 0:
        raise ParameterError(f"a net needs t of at least 0 and alpha above 0, got {t} and {alpha}", code="LW390")
    return float(((1 / alpha + 1 / 2) * math.sqrt(2 * math.e * math.pi)) ** t)
