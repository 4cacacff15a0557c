"""How far the kernel density of a noisy grid is from that of the rows, by theorem.

Both are normalised to mass 1, and the kernel is exp(-|x - y|^2 / (2 bandwidth^2)): what
`lapwing.extras.evaluate.metrics.samples.kernel_densities` computes with ``gamma = 1 / (2 * bandwidth**2)``. The noise
is Laplace, continuous or discrete, on the count of every cell, with a scale of ``1 / epsilon`` for add-remove and
``2 / epsilon`` (the paper's) for replace-one neighbours; the proofs use the relation nowhere else, because the released
weights are divided by their own sum. Weights are the noisy counts themselves, and lie in the centres of the cells; for
weights that are spread over the cells give twice the width.

The paper's Theorem 6 (Gaussian rows) is false as printed: tests/theorems/test_theorem_6.py computes a case. It drops
Theorem 5's condition that there be at most ``1 / delta`` cells, so that empty cells alone can fill the release; its
proof bounds counts "with high probability" without saying which, and "for large n"; and the condition of its Lemma 28
is not among its own. `theorem_6` is a corrected and sharper one.
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
    not, Chernoff's bound gives that from 12 cells on; fewer are computed in tests/theorems/test_kernel_bounds.py.
    Negative counts that become 0 come nearer to the true ones.

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


def theorem_6(
    *,
    scale: float,
    rows: int,
    cells: float,
    delta: float,
    sigma: float,
    width: float,
    columns: int,
    bandwidth: float,
    data_delta: float,
) -> float:
    """Return the bound of `theorem_5` for rows drawn independently from a Gaussian with the covariance sigma^2 I.

    sigma: standard deviation of each column, above 0; data_delta: probability of unusual rows, above 0 and below 1;
    cells, delta: as in `theorem_5`, whose conditions stay. Returns with probability at least ``1 - delta - data_delta``
    over noise and rows the largest difference of the kernel densities is at most this.

    For any r, a row leaves the cube of half edge r about the mean with probability at most ``q = d erfc(r / (sigma
    sqrt(2)))``, so by Bernstein's inequality no more than ``u = n q + L / 3 + sqrt(2 n q L + L^2 / 9)`` rows do, ``L =
    log(1 / data_delta)``, but with that probability. At most ``B = (2 r / w + 2)^d`` cells meet the cube. So light
    cells hold at most ``u + 3 t B / 2`` rows, and at most ``B + 2 u / t`` cells are heavy. That holds for each r, and r
    depends on no row: the best of 200 is taken.

    Kreačić et al., Theorem 6. What we changed: above. The error of the noise is of the order ``log(1 / delta) (sigma
    sqrt(log n) / w)^d / (epsilon n)``, where the paper has ``(epsilon n)^(-1/3)``.

    >>> grid = dict(cells=4096, width=0.25, columns=2, bandwidth=1.0)
    >>> round(theorem_6(scale=2, rows=10**6, delta=1e-4, data_delta=1e-4, sigma=1.0, **grid), 3)
    0.343
    """
    _check_above_0(scale=scale, rows=rows, sigma=sigma, width=width)
    _check_grid(cells, columns)
    if not 0 < data_delta < 1:
        raise ParameterError(f"data_delta must be above 0 and below 1, got {data_delta}", code="LW390")
    threshold, found = theorem_5_threshold(scale, delta), []
    for step in range(1, 201):
        reach, term = step * sigma / 20, math.log(1 / data_delta)
        leaving = rows * min(1.0, columns * math.erfc(reach / (sigma * math.sqrt(2))))
        outside = min(rows, leaving + term / 3 + math.sqrt(2 * leaving * term + term**2 / 9))
        met = min(cells, (2 * reach / width + 2) ** columns)
        found.append((min(rows, outside + 1.5 * threshold * met), min(cells, met + 2 * outside / threshold)))
    light_rows, heavy_cells = min(found, key=lambda pair: pair[0] + pair[1] * threshold / 2)
    return theorem_5(
        scale=scale,
        rows=rows,
        cells=cells,
        delta=delta,
        heavy_cells=heavy_cells,
        light_rows=light_rows,
        width=width,
        columns=columns,
        bandwidth=bandwidth,
    )


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
