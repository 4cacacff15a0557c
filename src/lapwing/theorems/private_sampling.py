"""Boedihardjo, Strohmer, Vershynin, "Private sampling", as in Strohmer's slides (`PrivateSampling`).

| in the talk | in the code | differs because |
|---|---|---|
| Lemma (private sampling) | `private_sampling`, `PrivateSampling()` | faithful; also ρ, by bounded range |
| the algorithm (arXiv 2109.14839) | `PrivateSampling(variant="paper")` | default: the whole cube |
| its price of a row | `lapwing.kernel.questions.private_draw.question.row_price` | proved anew, rounded up |
| its accuracy 4 δ | – | asks for more rows than any table has |
| – (how far drawn rows are off) | `draw_error` | Hoeffding's inequality |
| k-anonymity, covariance loss | `lapwing.theorems.covariance_loss` | as its paper |
| statistical framework | `lapwing.theorems.linear_statistics` | as its paper |
"""

import math

from lapwing.errors import ParameterError
from lapwing.theorems.checks import check_above_0


def private_sampling(epsilon: float, log_ratio: float) -> int:
    """Return how many rows may be drawn from a density of the table (Lemma of private sampling).

    Parameters
    ----------
    epsilon : float
        ε, above 0.
    log_ratio : float
        The largest logarithm of the ratio of the densities of two neighbours at a point, above 0.

    Returns
    -------
    int
        k, the largest with ``log_ratio <= epsilon / k``; may be 0.

    Examples
    --------
    >>> private_sampling(1.0, 0.004)
    250
    """
    check_above_0(epsilon=epsilon, log_ratio=log_ratio)
    return math.floor(epsilon / log_ratio * (1 + 1e-12))


def draw_error(cells: int, k: int, gamma: float = 0.05) -> float:
    """Return how far the marginals of k drawn rows are from those of their density.

    Parameters
    ----------
    cells : int
        Cells of all marginals together, at least 1.
    k : int
        Rows drawn, at least 1.
    gamma : float, default 0.05
        Probability of missing the bound, above 0 and below 1.

    Returns
    -------
    float
        ``sqrt(ln(2 cells / gamma) / (2 k))``, a share of rows, at most 1.

    Examples
    --------
    >>> round(draw_error(760, 2381), 4)
    0.0466
    """
    if not (cells >= 1 and k >= 1 and 0 < gamma < 1):
        raise ParameterError(
            f"a draw needs at least 1 cell and 1 row and gamma between 0 and 1, got {cells}, {k} and {gamma}",
            code="LW390",
        )
    return min(1.0, math.sqrt(math.log(2 * cells / gamma) / (2 * k)))
