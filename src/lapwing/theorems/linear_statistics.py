"""Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework" (`LinearStatistics`).

| in the paper | in the code | differs because |
|---|---|---|
| Algorithm 1 | `LinearStatistics(variant="paper")` | faithful, whole noise; default: maximum entropy |
| (2.2), (2.3), Rényi condition number | the argument K | from the rows it is private: bench/linear_statistics.py |
| (3.4), (3.5), Lemma 3.1 | `QueryFamily` | a sensitivity for each kind of statistic |
| Theorem 2.2 | `theorem_2_2` | its number is replace-one's; values of 0 and 1 need half |
| Lemma 3.2 | `lemma_3_2` | corrected: 2 δ^-2 ln(2 F / γ) for values in [-1, 1] |
| Lemma 3.3 | `lemma_3_3` | faithful |
| Theorem 2.3, (3.6) to (3.9) | `theorem_2_3`, `Needs` | as Theorem 2.2 and Lemma 3.2 |
| Corollary 2.4 | `corollary_2_4` | corrected: all patterns are counted; constants |
| Section 4: another law of points μ | `LinearStatistics(mu="independent")` | answered: private, public, a function |

F is a finite family of functions from records to [-1, 1] that contains the constant 1; δ, γ and K as in the paper;
``log`` is natural.

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

    Parameters
    ----------
    statistics : int
        F, at least 1: statistics, every cell of a table counted, and the constant 1.
    values : {"signed", "zero-one"}, default "signed"
        Whether the functions go into [-1, 1], or take the values 0 and 1 alone.
    tables : int or None, default None
        Where all statistics are cells of so many tables (the constant aside): each record is in one cell of each.

    Examples
    --------
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
        """Return the L1 sensitivity of all sums together, in records: of means over n rows, divided by n (3.4, 3.5)."""
        if neighbours not in get_args(Neighbours):
            raise ParameterError(
                f"neighbours must be one of {', '.join(get_args(Neighbours))}, got {neighbours!r}", code="LW390"
            )
        is_twice = neighbours == "replace-one" and (self.tables is not None or self.values == "signed")
        return (self.tables or self.statistics) * (2 if is_twice else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What an accuracy needs.

    Parameters
    ----------
    delta : float
        The theorem's δ; it promises an accuracy of 8 δ.
    rows, draws, points : int
        The paper's n, k and m.
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
    """Return how many rows make the noise at most δ (Theorem 2.2).

    Parameters
    ----------
    family : QueryFamily
        What is asked.
    neighbours : {"add-remove", "replace-one"}
        Relation of tables: the number of rows is noisy, or public.
    epsilon : float
        ε, finite and above 0.
    delta : float
        δ, above 0, at most 1/2.
    gamma : float
        γ, probability of missing the bound, above 0 and below 1/4.

    Returns
    -------
    int
        Rows from which on, with probability at least 1 - γ, no noisy mean is farther than δ from the true one.

    Notes
    -----
    What we changed, of the paper's ``n >= 2 / (delta epsilon) * |F| log(|F| / gamma)``: whole noise, a sensitivity for
    each kind of statistic, a noisy number of rows.

    Examples
    --------
    All two-way tables of 16 Boolean columns at ε = 1, noise at most 0.05:

    >>> pairs = QueryFamily(statistics=481, values="zero-one", tables=120)
    >>> theorem_2_2(pairs, "add-remove", epsilon=1, delta=0.05, gamma=0.05)
    45145
    """
    _check_theorem(delta, gamma)
    noise = _largest_noise(family, neighbours, epsilon, gamma)
    return _whole(noise / delta if neighbours == "replace-one" else noise * (1 + 2 / delta))


def theorem_2_3(
    family: QueryFamily,
    neighbours: Neighbours,
    *,
    epsilon: float,
    delta: float,
    gamma: float,
    K: float,
) -> Needs:
    """Return what an accuracy of 8 δ needs (Theorem 2.3).

    Parameters
    ----------
    family, neighbours, epsilon, delta, gamma
        As for `theorem_2_2`.
    K : float
        At least 1: upper bound for the Rényi condition number of the rows' population ν with respect to the law μ of
        the points.

    Returns
    -------
    Needs
        With that many rows, drawn independently from ν, points, drawn independently from μ, and draws from the density
        that fits the noisy means best, with probability at least 1 - 4 γ every mean over the draws is within 8 δ of the
        one over the rows. The gap of a density that does not fit best is to be added.

    Notes
    -----
    What we changed: ``2 delta^-2 log(2 |F| / gamma)`` rows and draws for values in [-1, 1]; noise as in `theorem_2_2`.

    Examples
    --------
    >>> pairs = QueryFamily(statistics=481, values="zero-one", tables=120)
    >>> theorem_2_3(pairs, "add-remove", epsilon=1, delta=0.05, gamma=0.05, K=4.3)
    Needs(delta=0.05, rows=45145, draws=3669, points=16546400)
    """
    draws = lemma_3_2(family, delta=delta, gamma=gamma)
    return Needs(
        delta=delta,
        rows=max(draws, theorem_2_2(family, neighbours, epsilon=epsilon, delta=delta, gamma=gamma)),
        draws=draws,
        points=lemma_3_3(family, delta=delta, gamma=gamma, K=K),
    )


def corollary_2_4(
    p: int,
    d: int,
    neighbours: Neighbours,
    *,
    epsilon: float,
    delta: float,
    gamma: float,
    K: float,
) -> Needs:
    """Return what all marginals of Boolean columns need for an accuracy of 8 δ (Corollary 2.4).

    Parameters
    ----------
    p : int
        Columns, at least 1.
    d : int
        1 to p: marginals of up to so many columns, each combination of 0 and 1 in them.
    neighbours, epsilon, delta, gamma
        As for `theorem_2_2`.
    K : float
        As for `theorem_2_3`. With uniform points it is ``2^p`` times the sum of the squared chances of all
        combinations, which may be ``2^p``: then so many points are needed, whatever d.

    Returns
    -------
    Needs
        As of `theorem_2_3`.

    Notes
    -----
    What we changed: constants in place of ``n >> F log F`` and ``k >> log F``, which are meant as "of a larger order":
    the noise needs ``n >= 2 F log(F / gamma) / (epsilon delta)``, so with ``n = F log F`` ε times δ is at least 2
    (replace-one, values in [-1, 1]). And the paper counts one statistic for each of the ``C(p, <= d)`` sets of columns,
    its "all are 1", while its marginals have any pattern; of these there are ``sum_i C(p, i) 2^i``. They are cells of
    one table per set, so that the sensitivity stays the number of sets.

    Examples
    --------
    >>> corollary_2_4(16, 2, "add-remove", epsilon=1, delta=0.05, gamma=0.05, K=4.3).rows
    51521
    """
    if not 1 <= d <= p:
        raise ParameterError(f"d must be from 1 to p={p}, got {d}", code="LW390")
    sets = [math.comb(p, size) for size in range(1, d + 1)]
    cells = sum(count * 2**size for size, count in enumerate(sets, start=1))
    family = QueryFamily(statistics=1 + cells, values="zero-one", tables=sum(sets))
    return theorem_2_3(family, neighbours, epsilon=epsilon, delta=delta, gamma=gamma, K=K)


def lemma_3_2(family: QueryFamily, *, delta: float, gamma: float) -> int:
    """Return how many independent draws have all means within δ of the expectations (Lemma 3.2).

    Parameters
    ----------
    family, delta, gamma
        As for `theorem_2_2`.

    Returns
    -------
    int
        ``2 delta^-2 log(2 |F| / gamma)`` for values in [-1, 1], ``delta^-2 log(|F| / gamma)`` for 0 and 1; with
        probability at least 1 - γ. What we changed: Hoeffding's inequality in place of Bernstein's.

    Examples
    --------
    >>> lemma_3_2(QueryFamily(statistics=11), delta=0.1, gamma=0.2)
    941
    """
    _check_theorem(delta, gamma)
    return _whole(_squared_deviation(family, gamma) / delta**2)


def lemma_3_3(family: QueryFamily, *, delta: float, gamma: float, K: float) -> int:
    """Return how many points a reduced space needs (Lemma 3.3 and the proof of Theorem 2.3).

    Parameters
    ----------
    family, delta, gamma, K
        As for `theorem_2_3`.

    Returns
    -------
    int
        ``delta^-2 K |F| / gamma``: with probability at least 1 - γ some density on the points has all means within 4 δ
        of the population's.

    Examples
    --------
    >>> lemma_3_3(QueryFamily(statistics=11), delta=0.1, gamma=0.2, K=1.5)
    8250
    """
    _check_theorem(delta, gamma)
    if not 1 <= K < math.inf:
        raise ParameterError(f"K must be finite and at least 1, got {K}", code="LW390")
    return _whole(K * family.statistics / gamma / delta**2)


def _check_theorem(delta: float, gamma: float) -> None:
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
