"""How far the kernel density of a noisy grid is from that of the rows, by theorem.

Both are normalised to mass 1, and the kernel is exp(-|x - y|^2 / (2 bandwidth^2)): what
`lapwing.judge.samples.kernel_density_distance` measures with ``gamma = 1 / (2 * bandwidth**2)``. The noise
is Laplace, continuous or discrete, on the count of every cell, with a scale of ``1 / epsilon`` for add-remove and
``2 / epsilon`` (the paper's) for replace-one neighbours; the proofs use the relation nowhere else, because the released
weights are divided by their own sum. Weights are the noisy counts themselves, and lie in the centres of the cells; for
weights that are spread over the cells give twice the width.

The paper's Theorem 6 (Gaussian rows) is left out. It bounds the two counts of Theorem 5, and its proof does so "with
high probability" without saying which, "for large n" without saying how large, and under a condition of Lemma 28 that
the theorem does not name.
"""

import math

from lapwing.errors import ParameterError


def theorem_3(
    *, scale: float, rows: float, cells: float, delta: float, width: float, columns: int, bandwidth: float
) -> float:
    """Return the bound for a grid that keeps every cell with a positive noisy count, whatever the rows.

    scale: of the Laplace noise, in records, above 0: ``1 / epsilon`` or ``2 / epsilon``; rows: number of rows, above
    ``2 * cells * scale * log(1 / delta)``; delta: probability of missing the bound, above 0, at most 1/2; bandwidth: of
    the kernel, sigma, above 0, in the unit of the width. Returns with probability at least ``1 - delta`` the largest
    difference of the kernel densities, over all places, is at most this. It says nothing from 1 on.

    Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees", Theorem 3, threshold 0. What we changed: any
    bandwidth and noise scale, and ``delta <= 1/2`` in place of ``cells <= 1 / delta`` (Lemma 17): the proof needs only
    that the sizes of all noise sum to at most ``2 * cells * scale * log(1 / delta)``. For their sum at once, whole or
    not, Chernoff's bound gives that from 12 cells on; fewer are computed in tests/paper/test_kernel_bounds.py. Negative
    counts that become 0 come nearer to the true ones.

    At epsilon 1 for replace-one neighbours, 100,000 rows on 16 x 16 cells of the unit square:

    >>> round(theorem_3(scale=2, rows=10**5, cells=256, delta=0.05, width=1 / 16, columns=2, bandwidth=0.25), 4)
    0.1705
    """
    _check_above_0(scale=scale, rows=rows, width=width, bandwidth=bandwidth)
    _check_grid(cells, columns)
    if not 0 < delta <= 1 / 2:
        raise ParameterError(f"delta must be above 0 and at most 1/2, got {delta}", code="LW390")
    noise = 2 * cells * scale * math.log(1 / delta)
    if rows <= noise:
        raise ParameterError(
            f"theorem 3 needs more than 2 * cells * scale * log(1 / delta) = {noise:.6g} rows, got {rows}; "
            "use fewer cells",
            code="LW804",
        )
    return 2 * noise / (rows - noise) + _rounding(width, columns, bandwidth)


def theorem_5(
    *,
    scale: float,
    rows: float,
    cells: float,
    delta: float,
    heavy_cells: float,
    light_rows: float,
    width: float,
    columns: int,
    bandwidth: float,
) -> float:
    """Return the bound for a grid that keeps cells with a noisy count of at least `theorem_5_threshold`.

    rows: number of rows, above ``light_rows + heavy_cells * threshold / 2``; cells: of the grid, at least 1 and at most
    ``1 / delta``; delta: probability of missing the bound, above 0 and below 1; heavy_cells: m: cells with at least
    half a threshold of rows. Private, as the next; light_rows: m: rows in cells with fewer than one and a half
    thresholds of rows.

    Kreačić et al., Theorem 5. What we changed: any bandwidth and noise scale, and the threshold ``t`` is rounded up to
    an even number. Written with it, the bound is ``(m + M t) / (n - m - M t / 2) + m / n`` and the rounding to centres.
    The proof holds where no noise is larger than ``t / 2``, which the union over all cells gives. Rounded, it does for
    whole noise too: ``P[|Z| > t / 2] <= exp(-t / (2 scale))``.

    >>> numbers = dict(rows=10**5, cells=256, delta=0.001, heavy_cells=20, light_rows=300)
    >>> round(theorem_5(scale=2, width=1 / 16, columns=2, bandwidth=0.25, **numbers), 4)
    0.1245
    """
    _check_above_0(scale=scale, rows=rows, width=width, bandwidth=bandwidth)
    _check_grid(cells, columns)
    if heavy_cells < 0 or light_rows < 0:
        raise ParameterError(
            f"heavy_cells and light_rows must be at least 0, got {heavy_cells} and {light_rows}", code="LW390"
        )
    threshold = theorem_5_threshold(scale, delta)
    if cells * delta > 1:
        raise ParameterError(
            f"theorem 5 needs at most 1 / delta = {1 / delta:.6g} cells, got {cells}; lower delta", code="LW804"
        )
    kept = rows - light_rows - heavy_cells * threshold / 2
    if kept <= 0:
        raise ParameterError(
            "theorem 5 needs more rows than light_rows + heavy_cells * threshold / 2 = "
            f"{rows - kept:.6g}, got {rows}; use fewer cells",
            code="LW804",
        )
    return (light_rows + heavy_cells * threshold) / kept + light_rows / rows + _rounding(width, columns, bandwidth)


def theorem_5_threshold(scale: float, delta: float) -> int:
    """Return the threshold of `theorem_5`.

    Returns the paper's ``4 * scale * log(1 / delta)`` (its ``8 / epsilon`` is four of its scales), rounded up to an
    even number.

    >>> theorem_5_threshold(2, 0.001)
    56
    """
    _check_above_0(scale=scale)
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be above 0 and below 1, got {delta}", code="LW390")
    return 2 * math.ceil(2 * scale * math.log(1 / delta))


def _rounding(width: float, columns: int, bandwidth: float) -> float:
    """Return how much a kernel density changes at most where rows move to the centres of cubes (Lemmas 15 and 16)."""
    # The lemma's "max" with 1 is a "min": no kernel density changes by more than 1.
    return min(1.0, width / (2 * bandwidth) * math.sqrt(columns / math.e))


def _check_above_0(**numbers: float) -> None:
    """Refuse numbers that are not finite and above 0."""
    for name, number in numbers.items():
        if not (number > 0 and math.isfinite(number)):
            raise ParameterError(f"{name} must be finite and above 0, got {number}", code="LW390")


def _check_grid(cells: float, columns: int) -> None:
    """Refuse a grid without cells or columns."""
    if cells < 1 or columns < 1:
        raise ParameterError(f"a grid needs at least 1 cell and 1 column, got {cells} and {columns}", code="LW390")
