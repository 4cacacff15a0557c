"""Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees" (`KDTree`, `Grid`).

| in the paper | in the code | differs because |
|---|---|---|
| Algorithm 1, Theorem 2, Definition 4 | `Grid(variant="paper")` | the box is public |
| Algorithms 2, 3 | `KDTree(variant="paper")` | all levels that decide are charged |
| Theorems 7, 8 | `lapwing.kernel.questions.split_decisions` | exact shares of the budget |
| Algorithms 4, 5, Lemma 9, Theorem 11 | `lapwing.kernel.noise.geometric` | sharper: exact at any τ |
| Lemmas 10, 29 | `KDTree(variant="paper")` | faithful |
| Theorem 3, Lemmas 15 to 19, Remarks 1 to 4 | `theorem_3` | corrected: δ at most 1/2; "max" is min |
| Theorem 5, Lemmas 20 to 23 | `theorem_5`, `theorem_5_threshold` | corrected: whole threshold |
| Theorem 6, Lemmas 24 to 28, Corollaries 12, 13 | `theorem_6` | **false as printed**; corrected, and 1/n for n^(-1/3) |
| Figures 3 to 5, Tables 1, 2 | bench/paper.py | 3b, 3c, 4 hold; 3a at ε = .1; 5 and tables: data not here |
| Figures 6, 9, 10; 1, 2, 7, 8 | bench/paper.py | hold; pictures of the idea |
| Appendix H, (22) to (27) | `lapwing.mechanisms.trees.kd_tree` | fitted boxes as in Figure 6 |

Both densities are normalised to mass 1, and the kernel is exp(-|x - y|^2 / (2 bandwidth^2)): what
`lapwing.extras.evaluate.metrics.samples.kernel_densities` computes with ``gamma = 1 / (2 * bandwidth**2)``; the paper's
proofs take ``gamma = 1 / 2``. The noise is Laplace, continuous or discrete, on the count of every cell, with a scale of
``1 / epsilon`` for add-remove and ``2 / epsilon`` (the paper's) for replace-one neighbours; the proofs use the relation
nowhere else, because the released weights are divided by their own sum. Weights are the noisy counts themselves, and
lie in the centres of the cells; for weights that are spread over the cells give twice the width.

Theorem 6 (Gaussian rows) is false as printed, if line 4 of Algorithm 1 may take a wider cube than the smallest one that
holds all rows: tests/theorems/test_theorem_6.py computes a case. It drops Theorem 5's condition that there be at most
``1 / delta`` cells, so that empty cells alone can fill the release; its proof bounds counts "with high probability"
without saying which, and "for large n"; and the condition of its Lemma 28 is not among its own.

Symbols: n rows in d columns, J cells of edge w; ``bandwidth`` is the kernel's, which the paper has as 1.
"""

import math

from lapwing.errors import ParameterError
from lapwing.theorems.checks import check_above_0


def theorem_3(*, scale: float, n: float, J: float, delta: float, w: float, d: int, bandwidth: float) -> float:
    """Return the bound for a grid that keeps every cell with a positive noisy count, whatever the rows (Theorem 3).

    Parameters
    ----------
    scale : float
        Of the Laplace noise, in records, above 0: ``1 / epsilon`` or ``2 / epsilon``.
    n : float
        Rows.
    J : float
        Cells of the grid, at least 1.
    delta : float
        δ, probability of missing the bound.
    w : float
        Edge of a cell, in the unit of the columns, above 0.
    d : int
        Columns, at least 1.
    bandwidth : float
        Of the kernel, σ, above 0, in the unit of w.

    Returns
    -------
    float
        With probability at least 1 - δ, at most 1/2, the largest difference of the kernel densities, over all places,
        is at most this. It says nothing from 1 on. It needs more than ``2 J scale log(1 / delta)`` rows.

    Notes
    -----
    Threshold 0. What we changed: any bandwidth and noise scale, and ``delta <= 1/2`` in place of ``J <= 1 / delta``
    (Lemma 17): the proof needs only that the sizes of all noise sum to at most ``2 J scale log(1 / delta)``. For their
    sum at once, whole or not, Chernoff's bound gives that from 12 cells on; fewer are computed in
    tests/theorems/test_kernel_bounds.py. Negative counts that become 0 come nearer to the true ones.

    Examples
    --------
    At ε = 1 for replace-one neighbours, 100,000 rows on 16 x 16 cells of the unit square:

    >>> round(theorem_3(scale=2, n=10**5, J=256, delta=0.05, w=1 / 16, d=2, bandwidth=0.25), 4)
    0.1705
    """
    check_above_0(scale=scale, n=n, w=w, bandwidth=bandwidth)
    _check_grid(J, d)
    if not 0 < delta <= 1 / 2:
        raise ParameterError(f"delta must be above 0 and at most 1/2, got {delta}", code="LW390")
    noise = 2 * J * scale * math.log(1 / delta)
    if n <= noise:
        raise ParameterError(
            f"theorem 3 needs more than 2 * J * scale * log(1 / delta) = {noise:.6g} rows, got {n}; use fewer cells",
            code="LW804",
        )
    return 2 * noise / (n - noise) + _rounding(w, d, bandwidth)


def theorem_5(
    *, scale: float, n: float, J: float, delta: float, M: float, m: float, w: float, d: int, bandwidth: float
) -> float:
    """Return the bound for a grid that keeps cells with a noisy count of at least `theorem_5_threshold` (Theorem 5).

    Parameters
    ----------
    scale, n, J, delta, w, d, bandwidth
        As for `theorem_3`; at most ``1 / delta`` cells, and more than ``m + M t / 2`` rows.
    M : float
        Cells with at least half a threshold t of rows. Private, as the next.
    m : float
        Rows in cells with fewer than one and a half thresholds of rows.

    Returns
    -------
    float
        As of `theorem_3`: ``(m + M t) / (n - m - M t / 2) + m / n`` and the rounding to centres.

    Notes
    -----
    What we changed: any bandwidth and noise scale, and the threshold is rounded up to an even number. The proof holds
    where no noise is larger than ``t / 2``, which the union over all cells gives. Rounded, it does for whole noise too:
    ``P[|Z| > t / 2] <= exp(-t / (2 scale))``.

    Examples
    --------
    >>> numbers = dict(n=10**5, J=256, delta=0.001, M=20, m=300)
    >>> round(theorem_5(scale=2, w=1 / 16, d=2, bandwidth=0.25, **numbers), 4)
    0.1245
    """
    check_above_0(scale=scale, n=n, w=w, bandwidth=bandwidth)
    _check_grid(J, d)
    if M < 0 or m < 0:
        raise ParameterError(f"M and m must be at least 0, got {M} and {m}", code="LW390")
    threshold = theorem_5_threshold(scale, delta)
    if J * delta > 1:
        raise ParameterError(
            f"theorem 5 needs at most 1 / delta = {1 / delta:.6g} cells, got {J}; lower delta", code="LW804"
        )
    kept = n - m - M * threshold / 2
    if kept <= 0:
        raise ParameterError(
            f"theorem 5 needs more rows than m + M * threshold / 2 = {n - kept:.6g}, got {n}; use fewer cells",
            code="LW804",
        )
    return (m + M * threshold) / kept + m / n + _rounding(w, d, bandwidth)


def theorem_6(
    *,
    scale: float,
    n: int,
    J: float,
    delta: float,
    sigma: float,
    w: float,
    d: int,
    bandwidth: float,
    data_delta: float,
) -> float:
    """Return the bound of `theorem_5` for rows drawn independently from a Gaussian (Theorem 6, corrected).

    Parameters
    ----------
    scale, n, J, delta, w, d, bandwidth
        As for `theorem_5`, whose conditions stay.
    sigma : float
        Standard deviation of each column, above 0; columns are independent.
    data_delta : float
        Probability of unusual rows, above 0 and below 1.

    Returns
    -------
    float
        With probability at least ``1 - delta - data_delta`` over noise and rows, the largest difference of the kernel
        densities is at most this.

    Notes
    -----
    For any r, a row leaves the cube of half edge r about the mean with probability at most ``q = d erfc(r / (sigma
    sqrt(2)))``, so by Bernstein's inequality no more than ``u = n q + L / 3 + sqrt(2 n q L + L^2 / 9)`` rows do, ``L =
    log(1 / data_delta)``, but with that probability. At most ``B = (2 r / w + 2)^d`` cells meet the cube. So light
    cells hold at most ``u + 3 t B / 2`` rows, and at most ``B + 2 u / t`` cells are heavy. That holds for each r, and r
    depends on no row: the best of 200 is taken. What we changed: above. The error of the noise is of the order
    ``log(1 / delta) (sigma sqrt(log n) / w)^d / (epsilon n)``, where the paper has ``(epsilon n)^(-1/3)``.

    Examples
    --------
    >>> grid = dict(J=4096, w=0.25, d=2, bandwidth=1.0)
    >>> round(theorem_6(scale=2, n=10**6, delta=1e-4, data_delta=1e-4, sigma=1.0, **grid), 3)
    0.343
    """
    check_above_0(scale=scale, n=n, sigma=sigma, w=w)
    _check_grid(J, d)
    if not 0 < data_delta < 1:
        raise ParameterError(f"data_delta must be above 0 and below 1, got {data_delta}", code="LW390")
    t, found = theorem_5_threshold(scale, delta), []
    for step in range(1, 201):
        r, term = step * sigma / 20, math.log(1 / data_delta)
        leaving = n * min(1.0, d * math.erfc(r / (sigma * math.sqrt(2))))
        outside = min(n, leaving + term / 3 + math.sqrt(2 * leaving * term + term**2 / 9))
        met = min(J, (2 * r / w + 2) ** d)
        found.append((min(n, outside + 1.5 * t * met), min(J, met + 2 * outside / t)))
    m, M = min(found, key=lambda pair: pair[0] + pair[1] * t / 2)
    return theorem_5(scale=scale, n=n, J=J, delta=delta, M=M, m=m, w=w, d=d, bandwidth=bandwidth)


def theorem_5_threshold(scale: float, delta: float) -> int:
    """Return the threshold t of Theorem 5.

    Parameters
    ----------
    scale, delta : float
        As for `theorem_3`.

    Returns
    -------
    int
        In records: the paper's ``4 scale log(1 / delta)`` (its ``8 / epsilon`` is four of its scales), rounded up to an
        even number.

    Examples
    --------
    >>> theorem_5_threshold(2, 0.001)
    56
    """
    check_above_0(scale=scale)
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be above 0 and below 1, got {delta}", code="LW390")
    return 2 * math.ceil(2 * scale * math.log(1 / delta))


def _rounding(w: float, d: int, bandwidth: float) -> float:
    """Return how much a kernel density changes at most where rows move to the centres of cubes (Lemmas 15 and 16)."""
    # The lemma's "max" with 1 is a "min": no kernel density changes by more than 1.
    return min(1.0, w / (2 * bandwidth) * math.sqrt(d / math.e))


def _check_grid(J: float, d: int) -> None:
    """Refuse a grid without cells or columns."""
    if J < 1 or d < 1:
        raise ParameterError(f"a grid needs at least 1 cell and 1 column, got {J} and {d}", code="LW390")
