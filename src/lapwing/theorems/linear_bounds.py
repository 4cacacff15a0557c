"""What linear statistics on a reduced space need: Theorems 2.2 and 2.3 of "Privacy of Synthetic Data".

F is a finite family of functions from records to [-1, 1] that contains the constant 1; delta, gamma and K as in the
paper. ``log`` is natural.

Sensitivity (Theorem 2.2). One record more or less changes each sum by at most 1 (a set of whole tables: by 1 in one
cell of each), one record replaced by at most 2; a sum of 0/1 values by at most 1 either way. Means over a public number
n of rows divide that by n. The paper adds a record *and* divides by the new n: each mean moves by ``|f(x) - mean f| /
(n + 1)``, at most ``2 / n``, so its ``2 |F| / n`` is the replace-one number; ``|F| / n`` suffices for 0/1 values.

Noise. Scale ``sensitivity / epsilon`` on whole sums; ``P(|Z| > k) = 2 q^(k+1) / (1 + q)``, ``q = exp(-1 / scale)``.
With ``k + 1/2 >= scale log(|F| / gamma)`` that is at most gamma / |F|, because ``2 sqrt(q) <= 1 + q``. So no noise is
above ``t = scale log(|F| / gamma) + 1/2``, with probability ``1 - gamma``. Replace-one: means are off by at most
``t / n``. Add-remove: sum and number of rows are noisy both, and ``|c / n - (c + Z) / (n + Z')| <= (|Z| + |Z'|) /
(n + Z') <= 2 t / (n - t)``, because ``|c| <= n``. The constant's share of the failure is that of the number of rows,
whose noise must be no wider than that of a sum.

Sampling (Lemma 3.2). Hoeffding: n values in an interval of length w deviate by delta with probability at most
``2 exp(-2 n delta^2 / w^2)``. Length 2: ``n >= 2 delta^-2 log(2 |F| / gamma)`` makes that gamma / |F|; the paper's
``delta^-2 log(|F| / gamma)`` is too small. Length 1: its number gives ``2 (gamma / |F|)^2``, below gamma / |F| from
``gamma <= |F| / 2`` on. tests/theorems/test_linear_bounds_paper.py has both with exact binomials.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from lapwing.errors import ParameterError

# -- Families of linear statistics: how many there are, and how much one unit changes all of them together.


Values = Literal["signed", "zero-one"]
Neighbours = Literal["add-remove", "replace-one"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFamily:
    """What is asked about a table.

    statistics: |F|, at least 1: statistics, every cell of a table counted, and the constant 1; values: whether the
    functions go into [-1, 1], or take the values 0 and 1 alone; tables: where all statistics are cells of so many
    tables (the constant aside): each record is in one cell of each. None for other statistics.

    All two-way tables of 16 Boolean columns, and the constant:

    >>> QueryFamily(statistics=481, values="zero-one", tables=120).sensitivity("replace-one")
    240
    """

    statistics: int
    values: Values = "signed"
    tables: int | None = None

    def __post_init__(self) -> None:
        if self.statistics < 1:
            raise ParameterError(f"a family needs at least 1 statistic, got {self.statistics}", code="LW390")
        if self.values not in get_args(Values):
            raise ParameterError(
                f"values must be one of {', '.join(get_args(Values))}, got {self.values!r}", code="LW390"
            )
        if self.tables is not None and (self.tables < 1 or self.values != "zero-one"):
            raise ParameterError(
                f"tables must be at least 1 and have zero-one values, got {self.tables} with {self.values!r}",
                code="LW390",
            )

    def sensitivity(self, neighbours: Neighbours) -> int:
        """Return the L1 sensitivity of all sums together, in records.

        Returns of the sums; of the means over a public number n of rows it is that divided by n.

        Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", (3.4) and (3.5).
        """
        if neighbours not in get_args(Neighbours):
            raise ParameterError(
                f"neighbours must be one of {', '.join(get_args(Neighbours))}, got {neighbours!r}", code="LW390"
            )
        is_twice = neighbours == "replace-one" and (self.tables is not None or self.values == "signed")
        return (self.tables or self.statistics) * (2 if is_twice else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What an accuracy needs.

    delta: the theorem's; it promises an accuracy of ``8 * delta``.
    """

    delta: float
    rows: int
    draws: int
    points: int

    @property
    def accuracy(self) -> float:
        """Largest error of every mean over the rows drawn, ``8 * delta``."""
        return 8 * self.delta


def theorem_2_2(family: QueryFamily, neighbours: Neighbours, *, epsilon: float, delta: float, gamma: float) -> int:
    """Return how many rows make the noise at most delta.

    neighbours: relation of tables. Number of rows: noisy, and public. Returns rows from which on, with probability at
    least ``1 - gamma``, no noisy mean is farther than delta from the true one.

    Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", Theorem 2.2, with
    ``n >= 2 / (delta epsilon) * |F| log(|F| / gamma)``. What we changed: whole noise, a sensitivity for each kind of
    statistic, a noisy number of rows.

    All two-way tables of 16 Boolean columns at epsilon 1, noise at most 0.05:

    >>> pairs = QueryFamily(statistics=481, values="zero-one", tables=120)
    >>> theorem_2_2(pairs, "add-remove", epsilon=1, delta=0.05, gamma=0.05)
    45145
    """
    check_theorem(delta, gamma)
    noise = _largest_noise(family, neighbours, epsilon, gamma)
    return _whole(noise / delta if neighbours == "replace-one" else noise * (1 + 2 / delta))


def theorem_2_3(
    family: QueryFamily,
    neighbours: Neighbours,
    *,
    epsilon: float,
    delta: float,
    gamma: float,
    condition_number: float,
) -> Needs:
    """Return what an accuracy of 8 delta needs.

    condition_number: k, at least 1: upper bound for the Renyi condition number ``kappa(nu || mu)`` of the rows'
    population nu with respect to the law mu of the points. Returns with that many rows, drawn independently from nu,
    points, drawn independently from mu, and draws from the density that fits the noisy means best, with probability at
    least ``1 - 4 * gamma`` every mean over the draws is within ``8 * delta`` of the one over the rows.

    Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", Theorem 2.3. We changed:
    ``2 delta^-2 log(2 |F| / gamma)`` rows and draws for values in [-1, 1]; noise as in `theorem_2_2`. The gap of a
    density that does not fit best is to be added to the accuracy.

    >>> pairs = QueryFamily(statistics=481, values="zero-one", tables=120)
    >>> theorem_2_3(pairs, "add-remove", epsilon=1, delta=0.05, gamma=0.05, condition_number=4.3)
    Needs(delta=0.05, rows=45145, draws=3669, points=16546400)
    """
    draws = draws_needed(family, delta=delta, gamma=gamma)
    return Needs(
        delta=delta,
        rows=max(draws, theorem_2_2(family, neighbours, epsilon=epsilon, delta=delta, gamma=gamma)),
        draws=draws,
        points=points_needed(family, delta=delta, gamma=gamma, condition_number=condition_number),
    )


def corollary_2_4(
    columns: int,
    degree: int,
    neighbours: Neighbours,
    *,
    epsilon: float,
    delta: float,
    gamma: float,
    condition_number: float,
) -> Needs:
    """Return what all marginals of Boolean columns need for an accuracy of 8 delta.

    columns: p, at least 1; degree: d, 1 to p: marginals of up to so many columns, each combination of 0 and 1 in them;
    condition_number: of the population for the points' law. With uniform points it is ``2^p`` times the sum of the
    squared chances of all combinations, which may be ``2^p``: then so many points are needed, whatever d.

    Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", Corollary 2.4: `theorem_2_3`
    for marginals. What we changed: constants in place of ``n >> F log F`` and ``k >> log F``, which are meant as "of a
    larger order": the noise needs ``n >= 2 F log(F / gamma) / (epsilon delta)``, so with ``n = F log F`` epsilon times
    delta is at least 2 (replace-one, values in [-1, 1]). And the paper counts one statistic for each of the
    ``C(p, <= d)`` sets of columns, its "all are 1", while its marginals have any pattern; of these there are
    ``sum_i C(p, i) 2^i``. They are cells of one table per set, so that the sensitivity stays the number of sets.

    >>> corollary_2_4(16, 2, "add-remove", epsilon=1, delta=0.05, gamma=0.05, condition_number=4.3).rows
    51521
    """
    if not 1 <= degree <= columns:
        raise ParameterError(f"degree must be from 1 to columns={columns}, got {degree}", code="LW390")
    sets = [math.comb(columns, size) for size in range(1, degree + 1)]
    cells = sum(count * 2**size for size, count in enumerate(sets, start=1))
    family = QueryFamily(statistics=1 + cells, values="zero-one", tables=sum(sets))
    return theorem_2_3(family, neighbours, epsilon=epsilon, delta=delta, gamma=gamma, condition_number=condition_number)


def draws_needed(family: QueryFamily, *, delta: float, gamma: float) -> int:
    """Return how many independent draws have all means within delta of the expectations.

    Returns ``2 delta^-2 log(2 |F| / gamma)`` for values in [-1, 1], ``delta^-2 log(|F| / gamma)`` for 0 and 1; with
    probability at least ``1 - gamma``.

    Boedihardjo, Strohmer, Vershynin, Lemma 3.2; Hoeffding's inequality in place of Bernstein's.

    >>> draws_needed(QueryFamily(statistics=11), delta=0.1, gamma=0.2)
    941
    """
    check_theorem(delta, gamma)
    return _whole(_squared_deviation(family, gamma) / delta**2)


def points_needed(family: QueryFamily, *, delta: float, gamma: float, condition_number: float) -> int:
    """Return how many points a reduced space needs.

    Returns ``delta^-2 K |F| / gamma``: with probability at least ``1 - gamma`` some density on the points has all means
    within ``4 * delta`` of the population's.

    Boedihardjo, Strohmer, Vershynin, Lemma 3.3 and the proof of Theorem 2.3.

    >>> points_needed(QueryFamily(statistics=11), delta=0.1, gamma=0.2, condition_number=1.5)
    8250
    """
    check_theorem(delta, gamma)
    if not 1 <= condition_number < math.inf:
        raise ParameterError(f"condition_number must be finite and at least 1, got {condition_number}", code="LW390")
    return _whole(condition_number * family.statistics / gamma / delta**2)


def check_theorem(delta: float, gamma: float) -> None:
    """Refuse numbers for which the theorems say nothing."""
    if not 0 < delta <= 1 / 2:
        raise ParameterError(f"delta must be above 0 and at most 1/2, got {delta}", code="LW390")
    if not 0 < gamma < 1 / 4:
        raise ParameterError(f"gamma must be above 0 and below 1/4, got {gamma}", code="LW390")


def _squared_deviation(family: QueryFamily, gamma: float) -> float:
    """Return the number of draws times the square of how far their means deviate."""
    if family.values == "zero-one":
        return math.log(family.statistics / gamma)
    return 2 * math.log(2 * family.statistics / gamma)


def _largest_noise(family: QueryFamily, neighbours: Neighbours, epsilon: float, gamma: float) -> float:
    """Return what no noise on a sum exceeds, in records, with probability at least 1 - gamma."""
    if not 0 < epsilon < math.inf:
        raise ParameterError(f"epsilon must be finite and above 0, got {epsilon}", code="LW390")
    return family.sensitivity(neighbours) / epsilon * math.log(family.statistics / gamma) + 1 / 2


def _whole(number: float) -> int:
    """Return the smallest whole number that is not below another, but for the rounding of floats."""
    return math.ceil(number * (1 - 1e-12))
