"""Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain" (`Microaggregation`, anonymous tables).

| in the paper | in the code | differs because |
|---|---|---|
| Theorems 1.1, 1.7; 5.11, 4.6 | `theorem_5_11`, `theorem_4_6` | the first two state the others; roots of the squares |
| Theorem 1.2, Lemmas 3.2, 3.3, 3.6 | `theorem_1_2`, `net_loss`, `lemma_3_3` | sharper: α² for 4α², half the tail |
| Remark 1.4, Corollary 3.12 | `corollary_3_12` | factor d (d - 1) / 2 for 4^d |
| Remark 1.3, Proposition 3.14 | `proposition_3_14` | faithful; Lemmas 3.15, 3.16 in tests alone |
| Remark 1.5 (Hilbert spaces) | – | tables are finite |
| Lemma 2.1 | `lemma_2_1` | kept as what it bounds: any degree up to p |
| Lemmas 2.4 to 2.7 | `lapwing.kernel` | whole noise |
| Algorithm 1, Lemmas 3.1, 3.8, 3.9 | `lapwing.anonymous.covariance_loss.theorem_partition` | k need not divide n |
| Proposition 3.7, Remark 3.5 | `lapwing.maths.lattice_net.net_size_bound` | exact nearest points, no list of the net |
| Theorem 3.10, Lemma 3.11 | `theorem_3_10`, `trivial_moment_loss` | sharper, attained: d (d - 1) / 2 for 4^d |
| Remark 3.13 | `remark_3_13` | sharper, attained: 2^(d-2) d (d - 1) / 2 for 8^d |
| Theorem 4.1, Remark 4.2 | `theorem_4_1` | constants; any k and n |
| Theorem 4.4, Lemma 4.3, Remark 4.5 | `theorem_4_4`, `lemma_4_3` | constants |
| Theorem 4.6, Lemma 4.7 | `theorem_4_6`, `marginal_error` | sharper: a rounded row costs 1 / (4 m), whatever d |
| Theorem 5.1, Lemma 5.2 | `theorem_5_1` | as Theorems 1.2 and 3.10 |
| Theorem 5.5, Lemmas 5.3, 5.4 | `theorem_5_5`, `ReleaseNoise` | sharper: noise once, a quarter of the damping |
| Theorem 5.8, Lemmas 5.6, 5.7 | `theorem_5_8` | rounding is charged; default: exact sensitivities |
| Theorem 5.9, (5.14) to (5.16) | `theorem_5_9` | t rounded down, as (5.15) needs |
| Theorem 5.10 | `theorem_5_10` | constants |
| Algorithm 2 | `Microaggregation(variant="paper")` | faithful; default: sums, product cells, fitted means |
| – (means as noisy sums) | `noise_of_sums` | the default's estimate of means, by Theorem 5.5's proof |
| – (columns coded -1 and 1) | `centred_marginal_error` | the default's coding, by Theorem 5.11's proof |

Symbols are the paper's: n rows of p columns in the unit ball, k cells or blocks, t dimensions, d the degree of a moment
or marginal, m rows drawn. The paper hides constants behind "C" and "<~". Ours are derived in its own steps:

- The net costs α² (the paper: 4α²). The mean of a cell is nearer to its rows, in mean square, than the net's point is
  (Lemma 3.6).
- The tail of the spectrum costs 1 / (2 √t) (the paper: 1 / √t). The eigenvalue l after the t largest and all behind it
  sum to at most 1 - t l, so their squares sum to at most l (1 - t l), that is 1 / (4 t) (Lemma 3.3).
- Drawing and rounding rows is unbiased given what they are drawn from, so squared errors add, without a factor 2.

Bounds are cut off at what is true of any partition. Errors that hang on noise or a draw are root mean squares, which
add by Minkowski's inequality; the paper states their squares.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from lapwing.errors import ParameterError
from lapwing.maths.lattice_net import NetChoice, anonymous_net, net_size_bound, private_net

# -- Sections 2 and 3: what averaging over the cells of a partition loses.


def lemma_2_1(p: int, d: int) -> float:
    """Return the root of how many index tuples there are for each with distinct indices (Lemma 2.1).

    Parameters
    ----------
    p, d : int
        Columns, and indices of a tuple, 0 to p.

    Returns
    -------
    float
        ``sqrt(p^d / (p (p - 1) ... (p - d + 1)))``, at most the paper's ``2^(d / 2)`` for ``d <= p / 2``.

    Examples
    --------
    >>> round(lemma_2_1(10, 2), 4)
    1.0541
    """
    return math.sqrt(math.prod(p / (p - taken) for taken in range(d)))


def lemma_3_3(t: int, p: int) -> float:
    """Return the largest norm of a second-moment matrix outside of its leading eigenvectors (Lemma 3.3).

    Parameters
    ----------
    t, p : int
        Leading eigenvectors, and columns.

    Returns
    -------
    float
        ``|| (I - P) S (I - P) ||`` is at most ``1 / (2 sqrt(t))``, half of the paper's; 0 where all eigenvectors lead,
        1 where none does.

    Examples
    --------
    >>> lemma_3_3(4, 10)
    0.25
    """
    if t >= p:
        return 0.0
    return 1 / (2 * math.sqrt(t)) if t else 1.0


def net_loss(net: NetChoice, p: int, R: float = 0.0) -> float:
    """Return how much covariance is lost at most by averaging over the cells of a net (Lemmas 3.2, 3.6, 5.2).

    Parameters
    ----------
    net : NetChoice
        Its dimensions t and its α. Where rows or eigenvectors are rounded, α grows by what that moves a row's
        projection.
    p : int
        Columns, at least 0.
    R : float, default 0
        Root-mean-square Frobenius norm of the noise on the second moment S, whose leading eigenvectors are used.

    Returns
    -------
    float
        ``alpha^2 + 1 / (2 sqrt(t)) + 2 || R ||``, at most 1: on the root mean square of the Frobenius norm of the
        covariance lost; without noise, on the norm itself. No tail and no noise where every eigenvector leads.

    Examples
    --------
    >>> round(net_loss(NetChoice(4, 0.5), 20, R=0.01), 3)
    0.52
    """
    if p < 0 or not R >= 0:
        raise ParameterError(f"a net's loss needs columns and noise of at least 0, got {p} and {R}", code="LW390")
    cells = net.alpha**2 if net.dimensions else 0.0
    noise = 2 * R if net.dimensions < p else 0.0
    return min(1.0, cells + lemma_3_3(net.dimensions, p) + noise)


def theorem_1_2(k: int, p: int) -> float:
    """Return the bound on the covariance loss of the best partition into at most k cells (Theorem 1.2).

    Parameters
    ----------
    k, p : int
        Cells, at least 1, and columns.

    Returns
    -------
    float
        ``alpha^2 + 1 / (2 sqrt(t))``, at most 1, for the net of (3.5); the paper: ``C sqrt(log log k / log k)``, by
        ``4 alpha^2 + 1 / sqrt(t)``. Below 1/2 from some 10^12 cells on.

    Examples
    --------
    >>> round(theorem_1_2(1000, 20), 3)
    0.818
    """
    return net_loss(anonymous_net(k, p), p)


def theorem_3_10(covariance_loss: float, d: int) -> float:
    """Return how much of the d-th moment is lost at most where so much covariance is (Theorem 3.10).

    Parameters
    ----------
    covariance_loss : float
        Frobenius norm of the difference of the covariances of rows X and their block means Y, at least 0.
    d : int
        Degree, at least 1.

    Returns
    -------
    float
        On ``|| E X^(d) - E Y^(d) ||``: ``d (d - 1) / 2 * covariance_loss``; nothing for the mean, the loss itself for
        d = 2. Cut off at `trivial_moment_loss`.

    Notes
    -----
    What we changed: the paper's factor ``2^(d-2) (2^d - d - 1) <= 4^d`` comes from the ``2^d`` terms of a binomial.
    Along ``Z_s = Y + s (X - Y)``, which stays in the ball, Taylor's formula for ``Z_s^(d)`` has no first-order term,
    because ``X - Y`` has mean 0 given Y. The second-order terms are ``d (d - 1)`` tensors ``E Z_s^(d-2) (X - Y)^(2)``,
    up to the order of factors. The squared norm of one is ``E <Z_s, Z_s'>^(d-2) <X - Y, X' - Y'>^2`` for independent
    copies, at most ``E <X - Y, X' - Y'>^2``, the squared covariance loss (Lemma 3.11). Their weight is the integral of
    ``1 - s``, 1/2. No smaller factor is true: rows near one unit vector attain it.

    Examples
    --------
    >>> theorem_3_10(0.1, 2), round(theorem_3_10(0.1, 4), 3)
    (0.1, 0.6)
    """
    if not covariance_loss >= 0 or d < 1:
        raise ParameterError(
            f"a covariance loss must be at least 0 and a degree at least 1, got {covariance_loss} and {d}",
            code="LW390",
        )
    return min(d * (d - 1) / 2 * covariance_loss, trivial_moment_loss(d))


def trivial_moment_loss(d: int) -> float:
    """Return the largest distance of the d-th moments of any two laws in the unit ball.

    Parameters
    ----------
    d : int
        Degree, at least 1.

    Returns
    -------
    float
        ``sqrt(2)`` for an even and 2 for an odd degree.

    Examples
    --------
    >>> trivial_moment_loss(3)
    2.0
    """
    return 2.0 if d % 2 else math.sqrt(2)


def corollary_3_12(k: int, p: int, d: int) -> float:
    """Return how much of the d-th moment the best partition into k cells loses at most (Corollary 3.12, Remark 1.4).

    Parameters
    ----------
    k, p, d : int
        Cells, columns, degree.

    Returns
    -------
    float
        On ``|| E X^(d) - E Y^(d) ||``: `theorem_3_10` of `theorem_1_2`.

    Examples
    --------
    >>> round(corollary_3_12(1000, 20, 2), 3)
    0.818
    """
    return theorem_3_10(theorem_1_2(k, p), d)


def remark_3_13(covariance_loss: float, d: int) -> float:
    """Return how much of the d-th central moment is lost at most where so much covariance is (Remark 3.13).

    Parameters
    ----------
    covariance_loss : float
        As for `theorem_3_10`.
    d : int
        Degree, at least 1.

    Returns
    -------
    float
        On ``|| E (X - E X)^(d) - E (Y - E Y)^(d) ||``: ``2^(d - 2) d (d - 1) / 2 * covariance_loss``; nothing for
        d = 1, the loss itself for d = 2. Cut off at ``2^(d - 2)`` times `trivial_moment_loss`.

    Notes
    -----
    What we changed: the paper's factor is ``8^d``, because it scales centred rows, of norm up to 2, into the ball. Ours
    is the proof of `theorem_3_10` for ``Z_s - E X``, of norm at most 2, where only the d - 2 factors beside ``X - Y``
    grow, by 2 each. Rows of which few lie near one unit vector and all others opposite attain it. The cut:
    ``|X - E X|`` has the mean square 1 at most, so the mean of its d-th power is at most ``2^(d - 2)``.

    Examples
    --------
    >>> remark_3_13(0.01, 2), round(remark_3_13(0.01, 4), 3)
    (0.01, 0.24)
    """
    scale = 2.0 ** max(0, d - 2)
    return min(scale * theorem_3_10(covariance_loss, d), scale * trivial_moment_loss(d))


def proposition_3_14(k: int) -> float:
    """Return what every partition into at most k cells loses of some rows' covariance (Proposition 3.14, Remark 1.3).

    Parameters
    ----------
    k : int
        Cells, at least 1.

    Returns
    -------
    float
        ``1 / (80 sqrt(ln(2 k)))``: a lower bound on the Frobenius norm, for some rows in the unit ball of more than
        ``16 ln(2 k)`` columns.

    Examples
    --------
    >>> round(proposition_3_14(1000), 5)
    0.00453
    """
    if k < 1:
        raise ParameterError(f"a partition needs at least 1 cell, got {k}", code="LW390")
    return 1 / (80 * math.sqrt(math.log(2 * k)))


# -- Section 4: anonymous tables.

_ROUNDING = 2.0**-22
"""What rounding rows and eigenvectors to 2^-24 adds to alpha, for each root of columns times dimensions: four of it."""


def theorem_4_1(k: int, p: int, d: int) -> float:
    """Return how far the d-th moment of equal blocks' means is from that of the rows at most (Theorem 4.1).

    Parameters
    ----------
    k, p, d : int
        Blocks, at least 1, columns and degree.

    Returns
    -------
    float
        `theorem_3_10` of ``alpha^2 + 1 / (2 sqrt(t)) + s / k``, where the net for ``floor(sqrt(k))`` cells has s points
        at most, the rounding of `lapwing.anonymous.covariance_loss.theorem_partition` included. The paper:
        ``4^d sqrt(log log k / log k)``.

    Notes
    -----
    Each of s cells leaves over at most a block, merging costs no more than the share of what is merged (Lemma 3.9), and
    cutting costs nothing (3.8). What we changed: k need not divide n.

    Examples
    --------
    >>> round(theorem_4_1(10**6, 20, 2), 3)
    0.818
    """
    if k < 1:
        raise ParameterError(f"a partition needs at least 1 block, got {k}", code="LW390")
    net = anonymous_net(math.isqrt(k), p)
    s = min(math.isqrt(k), math.floor(net_size_bound(net.dimensions, net.alpha)))
    rounded = NetChoice(net.dimensions, net.alpha + _ROUNDING * math.sqrt(p * net.dimensions))
    return theorem_3_10(min(1.0, net_loss(rounded, p) + s / k), d)


def lemma_4_3(moment_error: float, m: int) -> float:
    """Return the error of rows drawn independently from weighted points of the unit ball (Lemma 4.3).

    Parameters
    ----------
    moment_error : float
        Root-mean-square error of the moment of the points, at least 0.
    m : int
        Rows drawn, at least 1.

    Returns
    -------
    float
        ``sqrt(moment_error^2 + 1 / m)``: given the points, the draw has mean 0.

    Examples
    --------
    >>> round(lemma_4_3(0.3, 100) ** 2, 9)
    0.1
    """
    if m < 1:
        raise ParameterError(f"m must be at least 1, got {m}", code="LW390")
    return math.hypot(moment_error, 1 / math.sqrt(m))


def theorem_4_4(k: int, p: int, d: int, m: int) -> float:
    """Return the error of the d-th moment of m rows drawn from the means of k equal blocks (Theorem 4.4).

    Parameters
    ----------
    k, p, d, m : int
        Blocks, columns, degree, and rows drawn.

    Returns
    -------
    float
        Root mean square: `lemma_4_3` of `theorem_4_1`. The paper's, squared: ``16^d log log k / log k + 1 / m``.

    Examples
    --------
    >>> round(theorem_4_4(10**6, 20, 2, 100), 3)
    0.824
    """
    return lemma_4_3(theorem_4_1(k, p, d), m)


def theorem_4_6(k: int, p: int, d: int, m: int) -> float:
    """Return the error of d-way marginals of m anonymous Boolean rows (Theorems 4.6 and 1.7).

    Parameters
    ----------
    k, p, d, m : int
        Blocks, columns, columns of a marginal (1 to p), and rows drawn and rounded.

    Returns
    -------
    float
        As of `marginal_error`, for `theorem_4_1`. The paper's, squared: ``32^d (log log k / log k + 1 / m)``.

    Examples
    --------
    >>> round(theorem_4_6(10**6, 20, 1, 10**4), 3)
    0.005
    """
    return marginal_error(theorem_4_1(k, p, d), p, d, m)


def marginal_error(moment_error: float, p: int, d: int, m: int) -> float:
    """Return the error of d-way marginals of Boolean rows drawn from points and rounded (Lemma 4.7).

    Parameters
    ----------
    moment_error : float
        Root-mean-square error of the points' d-th moment for rows ``{0, 1}^p / sqrt(p)``, at least 0.
    p, d, m : int
        Columns, columns of a marginal (1 to p), and rows drawn.

    Returns
    -------
    float
        Root of the expected mean, over all sets of d columns, of the squared error of the share of rows that are 1 in
        all of them; at most 1.

    Notes
    -----
    What we changed: `lemma_2_1` in place of ``2^d``, so that any degree up to p is allowed. A drawn and rounded row
    hits a marginal with the points' probability, so that the draw costs ``1 / (4 m)``, whatever d.

    Examples
    --------
    >>> round(marginal_error(0.1, 10, 2, 10**6), 4)
    0.1054
    """
    _check_marginal(p, d, m)
    return min(1.0, math.hypot(lemma_2_1(p, d) * moment_error, 1 / (2 * math.sqrt(m))))


def centred_marginal_error(moment_errors: Sequence[float], p: int, m: int) -> float:
    """Return the error of marginals of Boolean rows whose points were fitted in a coding by -1 and 1.

    Parameters
    ----------
    moment_errors : sequence of float
        Root-mean-square errors of the moments of degree 1, 2, ..., d for rows ``(2 x - 1) / sqrt(p)``.
    p, m : int
        Columns, and rows drawn.

    Returns
    -------
    float
        As of `marginal_error`.

    Notes
    -----
    Theorem 5.11 in another coding. A product of d columns is ``2^-d`` times the sum of the products of -1 and 1 over
    all subsets, so by Minkowski's inequality the error is at most ``2^-d`` times the sum over r of
    ``d! / (r! (d - r)!)`` times that of degree r. What the covariance loss of a degree above 1 costs is four times less
    than for `marginal_error`.

    Examples
    --------
    >>> round(centred_marginal_error([0.0, 0.1], 10, 10**6), 4)
    0.0264
    """
    d = len(moment_errors)
    _check_marginal(p, d, m)
    biased = sum(math.comb(d, r) * lemma_2_1(p, r) * error for r, error in enumerate(moment_errors, start=1))
    return min(1.0, math.hypot(biased / 2**d, 1 / (2 * math.sqrt(m))))


def _check_marginal(p: int, d: int, m: int) -> None:
    """Refuse marginals that are not there."""
    if not 1 <= d <= p or m < 1:
        raise ParameterError(
            f"marginals need a degree between 1 and columns={p} and at least 1 row, got degree {d} and {m} rows",
            code="LW390",
        )


# -- Section 5: differential privacy.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseNoise:
    """Sizes of the noise of a release, for rows in the unit ball (Theorem 5.5).

    Parameters
    ----------
    second_moment : float
        Root-mean-square Frobenius norm of the symmetric noise R on the second moment.
    weights : float
        Root-mean-square L1 norm of the noise ρ on the cells' shares of the rows.
    means : float
        Root mean square, over the noise, of the sum over cells of ``w_j * || r_j ||``: how far a mean is moved before
        it is projected, by the cell's share of the rows. By Minkowski's inequality at most the largest root mean square
        of ``|| r_j ||``.
    damping : float
        ``s * b / n`` for s cells, n rows, and means that are sums divided by the count or b if that is more.

    Examples
    --------
    >>> ReleaseNoise(second_moment=0.01, weights=0.001, means=0.02, damping=0.0).means
    0.02
    """

    second_moment: float
    weights: float
    means: float
    damping: float

    def __post_init__(self) -> None:
        for field in fields(self):
            size = getattr(self, field.name)
            if not 0 <= size < math.inf:
                raise ParameterError(
                    f"the noise of {field.name} must be finite and at least 0, got {size}", code="LW390"
                )


def theorem_5_1(net: NetChoice, p: int, d: int, R: float) -> float:
    """Return how far the d-th moment of a net's cells' means is from that of the rows (Theorem 5.1).

    Parameters
    ----------
    net : NetChoice
        As for `net_loss`.
    p, d : int
        Columns and degree.
    R : float
        Root-mean-square Frobenius norm of the noise on the second moment.

    Returns
    -------
    float
        `theorem_3_10` of `net_loss`. The paper: ``4^d (4 alpha^2 + 1 / sqrt(t) + 2 || R ||)``.

    Examples
    --------
    >>> round(theorem_5_1(NetChoice(4, 0.5), 20, 2, R=0.01), 3)
    0.52
    """
    return theorem_3_10(net_loss(net, p, R), d)


def theorem_5_5(net: NetChoice, noise: ReleaseNoise, p: int, d: int) -> float:
    """Return how far the d-th moment of a private release's weighted points is from that of the rows (Theorem 5.5).

    Parameters
    ----------
    net : NetChoice
        The net whose cells are averaged over, as for `net_loss`.
    noise : ReleaseNoise
        Sizes of the noise.
    p, d : int
        Columns and degree.

    Returns
    -------
    float
        On the root-mean-square norm of ``E X^(d) - sum w_j y_j^(d)``, for weights projected on the simplex in L1 (clip,
        then rescale) and means projected on a closed convex set in the unit ball that holds the rows: `theorem_5_1` and
        ``d * (means + damping / 4) + 2 || rho ||``.

    Notes
    -----
    What we changed, beside the first term: projecting on a convex set brings no two points farther apart, so that the
    means' noise counts once, not twice. A cell of c < b rows has the mean ``c / b * y_j``, off by at most
    ``1 - c / b``, which weighs at most ``c / n * (1 - c / b) <= b / (4 n)``: a quarter of ``s b / n`` in place of twice
    as much.

    Examples
    --------
    >>> noise = ReleaseNoise(second_moment=0.01, weights=0.001, means=0.02, damping=0.04)
    >>> round(theorem_5_5(NetChoice(4, 0.5), noise, 20, 2), 3)
    0.582
    """
    lost = theorem_5_1(net, p, d, noise.second_moment)
    means = min(2.0, noise.means + noise.damping / 4)
    weights = min(2.0, 2 * noise.weights)
    return min(lost + d * means + weights, trivial_moment_loss(d))


def theorem_5_8(n: float, p: int, epsilon: float) -> ReleaseNoise:
    """Return the sizes of the paper's noise (Theorem 5.8, Section 5.7 and (5.16)).

    Parameters
    ----------
    n : float
        Rows, at least 1.
    p : int
        Columns, at least 1.
    epsilon : float
        ε, finite and above 0.

    Returns
    -------
    ReleaseNoise
        Of Laplace noise of scale ``6 p / (n epsilon)`` on each entry of the second moment, drawn once for two mirrored
        entries, ``6 / (n epsilon)`` on each weight and ``12 sqrt(p) / (b epsilon)`` on each coordinate of each mean,
        damped at ``b = sqrt(p sqrt(n) / epsilon)``.

    Notes
    -----
    What we changed: the L1 norm of s Laplace variables has the mean square ``s (s + 1)`` times the squared scale, which
    is less than the paper's ``2 s^2``. Cells are counted by Proposition 3.7, at most ``sqrt(n)``.

    Examples
    --------
    >>> noise = theorem_5_8(10**6, 16, 1.0)
    >>> round(noise.second_moment, 5), round(noise.means, 3)
    (0.00217, 2.147)
    """
    if not (1 <= n < math.inf and 0 < epsilon < math.inf) or p < 1:
        raise ParameterError(
            "the paper's noise needs at least 1 row, at least 1 column and a finite epsilon above 0, "
            f"got {n}, {p} and {epsilon}",
            code="LW390",
        )
    net = private_net(n, p)
    s = math.floor(net_size_bound(net.dimensions, net.alpha))
    b = math.sqrt(p * math.sqrt(n) / epsilon)
    return ReleaseNoise(
        second_moment=math.sqrt(2) * 6 * p**2 / (n * epsilon),
        weights=math.sqrt(s * (s + 1)) * 6 / (n * epsilon),
        means=math.sqrt(2 * p) * 12 * math.sqrt(p) / (b * epsilon),
        damping=s * b / n,
    )


def theorem_5_9(n: float, p: int, epsilon: float, d: int) -> float:
    """Return how far the d-th moment of Algorithm 2's weighted points is from that of the rows (Theorem 5.9).

    Parameters
    ----------
    n : float
        Rows, at least 1.
    p : int
        Columns, at least 1.
    epsilon : float
        ε, finite and above 0.
    d : int
        Degree, at least 1.

    Returns
    -------
    float
        On the root-mean-square norm of ``E X^(d) - sum w_j y_j^(d)``: `theorem_5_5` for the paper's net and noise. The
        paper's, squared: ``16^d (log log n / log n + p / (epsilon sqrt(n)))``. No condition on n and ε is left.

    Examples
    --------
    >>> round(theorem_5_9(10**12, 16, 1.0, 2), 3)
    0.576
    """
    return theorem_5_5(private_net(n, p), theorem_5_8(n, p, epsilon), p, d)


def theorem_5_10(n: float, p: int, epsilon: float, d: int, m: int) -> float:
    """Return the error of the d-th moment of m rows drawn from Algorithm 2's points (Theorem 5.10).

    Parameters
    ----------
    n, p, epsilon, d
        As for `theorem_5_9`.
    m : int
        Rows drawn, at least 1.

    Returns
    -------
    float
        Root mean square: `lemma_4_3` of `theorem_5_9`.

    Examples
    --------
    >>> round(theorem_5_10(10**12, 16, 1.0, 2, 100), 3)
    0.585
    """
    return lemma_4_3(theorem_5_9(n, p, epsilon, d), m)


def theorem_5_11(n: float, p: int, epsilon: float, d: int, m: int) -> float:
    """Return the error of d-way marginals of m private Boolean rows of Algorithm 2 (Theorems 5.11 and 1.1).

    Parameters
    ----------
    n, p, epsilon, d
        As for `theorem_5_9`, of rows of 0 and 1; d at most p.
    m : int
        Rows drawn and rounded, at least 1.

    Returns
    -------
    float
        As of `marginal_error`. The paper's, squared: ``32^d (log log n / log n + p / (epsilon sqrt(n)) + 1 / m)``.

    Examples
    --------
    >>> round(theorem_5_11(10**12, 16, 1.0, 2, 10**6), 3)
    0.595
    """
    return marginal_error(theorem_5_9(n, p, epsilon, d), p, d, m)


def noise_of_sums(
    *,
    n: float,
    s: int,
    b: float,
    second_moment: float,
    count_noise: float,
    count_noise_squared: float,
    sum_noise: float,
) -> ReleaseNoise:
    """Return the sizes of the noise where a mean is a noisy sum, divided by the noisy count or b if that is more.

    Parameters
    ----------
    n : float
        Rows, above 0.
    s : int
        Cells, at least 1.
    b : float
        Least divisor, in records, above 0.
    second_moment : float
        As of `ReleaseNoise`.
    count_noise : float
        Standard deviation of the noise η on a cell's count, at least 0.
    count_noise_squared : float
        Root mean square of η²: ``sqrt(6)`` times the variance for continuous Laplace noise, ``sqrt(3)`` times for
        Gaussian.
    sum_noise : float
        Root-mean-square Euclidean norm of the noise ν on a cell's sum, for rows in the unit ball; independent of η.

    Returns
    -------
    ReleaseNoise
        For `theorem_5_5`.

    Notes
    -----
    Theorem 5.5 for another estimate of the means than the paper's. A cell of c rows with the mean y is given
    ``(c y + nu) / D``, ``D = max(c + eta, b)``. That is off by at most ``(|c - D| + || nu ||) / D``, and weighs
    ``c / n``. From ``c = b`` on ``|c - D| <= |eta|`` and ``c / D <= 1 + |eta| / b``. Below, ``c / D < 1`` and
    ``c (D - c) / D <= D / 4 <= (b + |eta|) / 4``. So no cell costs more than
    ``((1 + |eta| / b) (|eta| + || nu ||) + b / 4) / n``, and by Minkowski's inequality all together cost at most s
    times the root mean square of that. It falls as ``s / n``, where the paper's falls as ``1 / b``.

    Examples
    --------
    >>> noise = noise_of_sums(
    ...     n=10**5, s=50, b=20, second_moment=0.0, count_noise=3, count_noise_squared=22, sum_noise=12
    ... )
    >>> noise.weights, round(noise.means + noise.damping / 4, 5)
    (0.0015, 0.01145)
    """
    if not (0 < n < math.inf and 0 < b < math.inf) or s < 1:
        raise ParameterError(
            f"noise of sums needs rows and a divisor above 0 and at least 1 cell, got {n}, {b} and {s}",
            code="LW390",
        )
    moved = count_noise + count_noise_squared / b + (1 + count_noise / b) * sum_noise
    return ReleaseNoise(
        second_moment=second_moment, weights=s * count_noise / n, means=s * moved / n, damping=s * b / n
    )
