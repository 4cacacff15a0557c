"""The steps of the covariance loss theorems, with constants.

The paper hides constants behind "C" and "<~". Ours are derived in its own steps, some of which give more than it takes:

- The net costs ``alpha^2`` (the paper: ``4 alpha^2``). The mean of a cell is nearer to its rows, in mean square, than
  the net's point is (Lemma 3.6).
- The tail of the spectrum costs ``1 / (2 sqrt(t))`` (the paper: ``1 / sqrt(t)``). The eigenvalue l after the t largest
  and all behind it sum to at most ``1 - t l``, so their squares sum to at most ``l (1 - t l)``, that is ``1 / (4 t)``
  (Lemma 3.3).
- Tensors cost ``d (d - 1) / 2`` (the paper: ``4^d``), see `tensorisation_bound`.
- Drawing and rounding rows is unbiased given what they are drawn from, so squared errors add, without a factor 2.

All bounds are for rows in the unit ball, and are cut off at what is true of any partition. Errors that hang on noise or
a draw are root mean squares, which add by Minkowski's inequality.
"""

import math
from collections.abc import Sequence

from lapwing.errors import ParameterError
from lapwing.maths.lattice_net import NetChoice


def tensorisation_bound(covariance_loss: float, degree: int) -> float:
    """Return how much of the d-th moment is lost at most where so much covariance is.

    covariance_loss: frobenius norm of the difference of the covariances of rows and their block means, at least 0.
    Returns for rows in the unit ball and any partition ``|| E X^(d) - E Y^(d) ||`` is at most ``d * (d - 1) / 2 *
    covariance_loss``: nothing for the mean, the covariance loss itself for d = 2. Cut off at ``sqrt(2)`` for an even
    and 2 for an odd degree.

    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Theorem 3.10. What we changed: their factor
    ``2^(d-2) (2^d - d - 1) <= 4^d`` comes from the ``2^d`` terms of a binomial. Along ``Z_s = Y + s (X - Y)``, which
    stays in the ball, Taylor's formula for ``Z_s^(d)`` has no first-order term, because ``X - Y`` has mean 0 given Y.
    The second-order terms are ``d (d - 1)`` tensors ``E Z_s^(d-2) (X - Y)^(2)``, up to the order of factors. The
    squared norm of one is ``E <Z_s, Z_s'>^(d-2) <X - Y, X' - Y'>^2`` for independent copies, at most
    ``E <X - Y, X' - Y'>^2``, the squared covariance loss (Lemma 3.11). Their weight is the integral of ``1 - s``, 1/2.
    No smaller factor is true: rows near one unit vector attain it.

    >>> tensorisation_bound(0.1, 2), round(tensorisation_bound(0.1, 4), 3)
    (0.1, 0.6)
    """
    if not covariance_loss >= 0 or degree < 1:
        raise ParameterError(
            f"a covariance loss must be at least 0 and a degree at least 1, got {covariance_loss} and {degree}",
            code="LW390",
        )
    return min(degree * (degree - 1) / 2 * covariance_loss, trivial_moment_loss(degree))


def trivial_moment_loss(degree: int) -> float:
    """Return the largest distance of the d-th moments of any two laws in the unit ball.

    Returns ``sqrt(2)`` for an even and 2 for an odd degree.

    >>> trivial_moment_loss(3)
    2.0
    """
    return 2.0 if degree % 2 else math.sqrt(2)


def centred_tensorisation_bound(covariance_loss: float, degree: int) -> float:
    """Return how much of the d-th central moment is lost at most where so much covariance is.

    Returns for rows X in the unit ball and any partition ``|| E (X - E X)^(d) - E (Y - E Y)^(d) ||`` is at most
    ``2^(d - 2) d (d - 1) / 2 * covariance_loss``: nothing for d = 1, the covariance loss itself for d = 2. Cut off at
    ``2^(d - 2)`` times `trivial_moment_loss`.

    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Remark 3.13, whose factor is ``8^d``: it
    scales centred rows, of norm up to 2, into the ball. What we changed: the proof of `tensorisation_bound` for
    ``Z_s - E X``, of norm at most 2, where only the d - 2 factors beside ``X - Y`` grow, by 2 each. Rows of which few
    lie near one unit vector and all others opposite attain it. The cut: ``|X - E X|`` has the mean square 1 at most,
    so the mean of its d-th power is at most ``2^(d - 2)``.

    >>> centred_tensorisation_bound(0.01, 2), round(centred_tensorisation_bound(0.01, 4), 3)
    (0.01, 0.24)
    """
    scale = 2.0 ** max(0, degree - 2)
    return min(scale * tensorisation_bound(covariance_loss, degree), scale * trivial_moment_loss(degree))


def spectral_tail(dimensions: int, columns: int) -> float:
    """Return the largest norm of a second-moment matrix outside of its leading eigenvectors.

    Returns ``|| (I - P) S (I - P) ||`` is at most ``1 / (2 sqrt(t))`` for rows in the unit ball; 0 where all
    eigenvectors lead, 1 where none does.

    Boedihardjo, Strohmer, Vershynin, Lemma 3.3, with half of their bound.

    >>> spectral_tail(4, 10)
    0.25
    """
    if dimensions >= columns:
        return 0.0
    return 1 / (2 * math.sqrt(dimensions)) if dimensions else 1.0


def net_loss(choice: NetChoice, columns: int, second_moment: float = 0.0) -> float:
    """Return how much covariance is lost at most by averaging over the cells of a net.

    choice: the net. Where rows or eigenvectors are rounded, its alpha grows by what that moves a row's projection;
    second_moment: root-mean-square Frobenius norm of the noise R on the second moment ``S + R`` whose leading
    eigenvectors are used; at least 0. Returns ``alpha^2 + 1 / (2 sqrt(t)) + 2 || R ||``, at most 1: a bound on the root
    mean square of the Frobenius norm of the covariance lost. Without noise, on the norm itself.

    Boedihardjo, Strohmer, Vershynin, Lemmas 3.2, 3.6 and 5.2; with `tensorisation_bound`, Theorem 5.1. What we changed:
    ``alpha^2`` for ``4 alpha^2``, half of the tail, and no tail and noise where every eigenvector leads.

    >>> round(net_loss(NetChoice(4, 0.5), columns=20, second_moment=0.01), 3)
    0.52
    """
    if columns < 0 or not second_moment >= 0:
        raise ParameterError(
            f"a net's loss needs columns and noise of at least 0, got {columns} and {second_moment}", code="LW390"
        )
    cells = choice.alpha**2 if choice.dimensions else 0.0
    noise = 2 * second_moment if choice.dimensions < columns else 0.0
    return min(1.0, cells + spectral_tail(choice.dimensions, columns) + noise)


def with_drawn_rows(moment_error: float, synthetic_rows: int) -> float:
    """Return the error of rows drawn independently from weighted points of the unit ball.

    moment_error: root-mean-square error of the moment of the points, at least 0. Returns ``sqrt(moment_error^2 + 1 /
    m)``: given the points, the draw has mean 0.

    Boedihardjo, Strohmer, Vershynin, Lemma 4.3; for the bound of Theorem 4.1 this is Theorem 4.4, and for that of
    Theorem 5.9 Theorem 5.10 (squared there).

    >>> round(with_drawn_rows(0.3, 100) ** 2, 9)
    0.1
    """
    if synthetic_rows < 1:
        raise ParameterError(f"synthetic_rows must be at least 1, got {synthetic_rows}", code="LW390")
    return math.hypot(moment_error, 1 / math.sqrt(synthetic_rows))


def marginal_error(moment_error: float, columns: int, degree: int, synthetic_rows: int) -> float:
    """Return the error of d-way marginals of Boolean rows drawn from points and rounded.

    moment_error: root-mean-square error of the points' d-th moment for rows ``{0, 1}^p / sqrt(p)``, at least 0. Returns
    root of the expected mean, over all sets of d columns, of the squared error of the share of rows that are 1 in all
    of them; at most 1.

    Boedihardjo, Strohmer, Vershynin, Theorems 4.6 and 5.11 (squared there, ``32^d (... + 1 / m)`` for ``d <= p / 2``),
    from the bounds of Theorems 4.1 and 5.9. What we changed: Lemma 2.1's ``2^d`` is kept as what it bounds, so that any
    degree up to p is allowed. A drawn and rounded row hits a marginal with the points' probability (Lemma 4.7), so that
    the draw costs ``1 / (4 m)``, whatever d.

    >>> round(marginal_error(0.1, 10, 2, 10**6), 4)
    0.1054
    """
    _check_marginal(columns, degree, synthetic_rows)
    biased = distinct_indices(columns, degree) * moment_error
    return min(1.0, math.hypot(biased, 1 / (2 * math.sqrt(synthetic_rows))))


def centred_marginal_error(moment_errors: Sequence[float], columns: int, synthetic_rows: int) -> float:
    """Return the error of marginals of Boolean rows whose points were fitted in a coding by -1 and 1.

    moment_errors: root-mean-square errors of the moments of degree 1, 2, ..., d for rows ``(2 x - 1) / sqrt(p)``, at
    least 0 each.

    Boedihardjo, Strohmer, Vershynin, Theorem 5.11. What we changed: the coding. A product of d columns is ``2^-d``
    times the sum of the products of -1 and 1 over all subsets, so by Minkowski's inequality the error is at most
    ``2^-d`` times the sum over r of ``d! / (r! (d - r)!)`` times that of degree r. What the covariance loss of a degree
    above 1 costs is four times less than for `marginal_error`.

    >>> round(centred_marginal_error([0.0, 0.1], 10, 10**6), 4)
    0.0264
    """
    degree = len(moment_errors)
    _check_marginal(columns, degree, synthetic_rows)
    biased = sum(
        math.comb(degree, r) * distinct_indices(columns, r) * error for r, error in enumerate(moment_errors, start=1)
    )
    return min(1.0, math.hypot(biased / 2**degree, 1 / (2 * math.sqrt(synthetic_rows))))


def distinct_indices(columns: int, degree: int) -> float:
    """Return the root of how many index tuples there are for each with distinct indices.

    Returns ``sqrt(p^d / (p (p - 1) ... (p - d + 1)))``, at most ``2^(d / 2)`` for ``d <= p / 2``.

    Boedihardjo, Strohmer, Vershynin, Lemma 2.1.

    >>> round(distinct_indices(10, 2), 4)
    1.0541
    """
    return math.sqrt(math.prod(columns / (columns - taken) for taken in range(degree)))


def _check_marginal(columns: int, degree: int, synthetic_rows: int) -> None:
    """Refuse marginals that are not there."""
    if not 1 <= degree <= columns or synthetic_rows < 1:
        raise ParameterError(
            f"marginals need a degree between 1 and columns={columns} and at least 1 row, "
            f"got degree {degree} and {synthetic_rows} rows",
            code="LW390",
        )
