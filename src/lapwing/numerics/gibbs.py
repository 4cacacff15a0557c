"""Gibbs sweeps of particles under a log-linear model, and resampling."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from lapwing.numerics.log_linear import Axis, Cells, Cloud, Factor, cells_of, table_shape

_BLOCK_ENTRIES = 2**18
"""Particles times groups at a time: what stays in the cache next to the processor. Changes no draw."""


def swept(
    axes: Sequence[Axis],
    groups: np.ndarray,
    factors: Sequence[Factor],
    rng: np.random.Generator,
    *,
    fixed: Sequence[int] = (),
    share: float = 1.0,
) -> np.ndarray:
    """Draw every column of every particle anew, given its other columns, once.

    Parameters
    ----------
    axes : sequence of Axis
        One per column.
    groups : ndarray of uint8 or uint16, shape (d, m)
        Finest groups; not modified.
    factors : sequence of Factor
        The model.
    rng : numpy.random.Generator
        Public randomness.
    fixed : sequence of int
        Columns that stay as they are.
    share : float, above 0 and at most 1
        Chance that a drawn value is taken; the others stay.

    Returns
    -------
    ndarray, shape (d, m)
        Same dtype.

    Notes
    -----
    For each column: one row gather (m x groups) per table that contains it, one exponential, one cumulative sum and
    one uniform number per particle.
    """
    drawn = groups.copy()
    for column in rng.permutation(len(axes)):
        if column in fixed:
            continue
        fresh = drawn_column(axes, drawn, factors, int(column), rng)
        drawn[column] = fresh if share >= 1 else np.where(rng.random(fresh.size) < share, fresh, drawn[column])
    return drawn


def resampled(cloud: Cloud, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw particles in proportion to their weights, systematically.

    Parameters
    ----------
    cloud : Cloud
        Weighted particles.
    size : int
        Number to draw.
    rng : numpy.random.Generator
        Draws the one offset.

    Returns
    -------
    ndarray, shape (d, size)
        Groups of particles that all weigh the same.
    """
    reached = np.cumsum(cloud.weights(float(size)))
    positions = (np.arange(size) + rng.random()) * (reached[-1] / size)
    return np.asarray(cloud.groups[:, np.minimum(np.searchsorted(reached, positions, side="right"), cloud.size - 1)])


def draw_rows(masses: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one column index for each listed row of a table of non-negative masses: ndarray of intp, shape (n,)."""
    reached = np.cumsum(masses, axis=1)
    uniform = rng.random(rows.size) * reached[rows, -1]
    return np.asarray(np.minimum((reached[rows] <= uniform[:, None]).sum(axis=1), masses.shape[1] - 1))


def drawn_column(
    axes: Sequence[Axis], groups: np.ndarray, factors: Sequence[Factor], column: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw one column of all particles given the others."""
    base = np.log(axes[column].base / axes[column].base.sum()).astype(np.float32)
    (others, first), *rest = _conditionals(axes, factors, column) or [((), np.zeros((1, base.size), dtype=np.float32))]
    first = first + base
    drawn = np.empty(groups.shape[1], dtype=groups.dtype)
    step = max(1, _BLOCK_ENTRIES // base.size)
    for start in range(0, drawn.size, step):
        block = groups[:, start : start + step]
        logits = np.take(first, cells_of(axes, block, others), axis=0, mode="clip")
        gathered = np.empty_like(logits)
        for more, rows in rest:
            np.take(rows, cells_of(axes, block, more), axis=0, out=gathered, mode="clip")
            logits += gathered
        drawn[start : start + step] = _draw_logits(logits, rng)
    return drawn


def _draw_logits(logits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one index per row in proportion to the exponentials."""
    # Groups first: each step then runs along all particles at once, 6 to 10 times as fast as along a few groups.
    reached = np.ascontiguousarray(logits.T)
    reached -= reached.max(axis=0)
    np.exp(reached, out=reached)
    for place in range(1, len(reached)):
        reached[place] += reached[place - 1]
    # Below 1 also after rounding to float32, so that some sum lies above it.
    uniform = rng.random(logits.shape[0], dtype=np.float32) * reached[-1] * np.float32(1 - 2**-20)
    return np.asarray((reached <= uniform).sum(axis=0, dtype=np.uint16))


def _conditionals(axes: Sequence[Axis], factors: Sequence[Factor], column: int) -> list[tuple[Cells, np.ndarray]]:
    """Return the theta rows (cells of the other columns x finest groups) of a column.

    Tables with the same other columns and levels are one.
    """
    rows: dict[Cells, np.ndarray] = defaultdict(lambda: np.zeros((1, 1), dtype=np.float32))
    for factor in factors:
        places = [place for place, (each, _) in enumerate(factor.table) if each == column]
        if not places:
            continue
        (place,) = places
        theta = np.moveaxis(factor.theta.reshape(table_shape(axes, factor.table)), place, -1)
        fine = theta[..., axes[column].levels[factor.table[place][1]]]
        others = tuple(pair for pair in factor.table if pair[0] != column)
        rows[others] = rows[others] + fine.reshape(-1, fine.shape[-1]).astype(np.float32)
    return [(others, np.ascontiguousarray(each)) for others, each in rows.items()]
