"""Fit a cloud of particles to noisy tables: raking, resampling, Gibbs sweeps with a guard, and the released model."""

from collections.abc import Sequence

import numpy as np

from lapwing.mechanisms.steps.resolved_columns import ResolvedColumn
from lapwing.numerics.gibbs import resampled, swept
from lapwing.numerics.log_linear import Axis, Cloud, Factor, misfit, table_shape
from lapwing.numerics.raking import effective_share, raked
from lapwing.release.model import Indexed, LogLinear, ReleasedModel, narrow

SWEEPS = 4
"""Raking rounds over all tables in one fit."""

REFRESH_BELOW = 0.6
"""Particles are drawn anew when the effective share of them falls below this."""

_WORSE = 1.3
_KEPT = (1.0, 0.3, 0.1)
_FINAL_REFRESHES = 4


def fitted(
    axes: Sequence[Axis],
    cloud: Cloud,
    factors: Sequence[Factor],
    total: float,
    rng: np.random.Generator,
    *,
    is_due: bool,
) -> tuple[Cloud, tuple[Factor, ...]]:
    """Rake, and refresh the particles where it is due or too few of them carry the weight.

    Parameters
    ----------
    axes, cloud, factors, total
        The model; ``total`` is positive.
    rng : numpy.random.Generator
        Public randomness.
    is_due : bool
        Whether to refresh whatever the weights are.

    Returns
    -------
    cloud : Cloud
    factors : tuple of Factor
    """
    cloud, fresh, is_damped = raked(axes, cloud, factors, total, sweeps=SWEEPS)
    if is_due or is_damped or effective_share(cloud.log_weights) < REFRESH_BELOW:
        cloud = refreshed(axes, cloud, fresh, total, rng, size=cloud.size)
        cloud, fresh, _ = raked(axes, cloud, fresh, total, sweeps=SWEEPS // 2)
    return cloud, fresh


def refreshed(
    axes: Sequence[Axis],
    cloud: Cloud,
    factors: Sequence[Factor],
    total: float,
    rng: np.random.Generator,
    *,
    size: int,
) -> Cloud:
    """Resample particles by weight and move them by one Gibbs sweep.

    Parameters
    ----------
    axes, cloud, factors, total, rng
        As for `fitted`.
    size : int
        Number of particles of the result.

    Returns
    -------
    Cloud
        Of equal weights. Single-site sweeps mix badly where columns are close copies: when the misfit grows by more
        than 30 %, only 30 % or 10 % of the drawn values are taken, or none.
    """
    start = resampled(cloud, size, rng)
    before = misfit(axes, Cloud(start, np.zeros(size)), factors, total)
    for share in _KEPT:
        moved = Cloud(swept(axes, start, factors, rng, share=share), np.zeros(size))
        if misfit(axes, moved, factors, total) <= _WORSE * before:
            return moved
    return Cloud(start, np.zeros(size))


def finished(
    axes: Sequence[Axis],
    cloud: Cloud,
    factors: Sequence[Factor],
    total: float,
    rng: np.random.Generator,
    *,
    size: int,
) -> tuple[Cloud, tuple[Factor, ...]]:
    """Return the released number of particles after a few more fits."""
    fresh = tuple(factors)
    for _ in range(_FINAL_REFRESHES):
        cloud = refreshed(axes, cloud, fresh, total, rng, size=size)
        cloud, fresh, _ = raked(axes, cloud, fresh, total, sweeps=SWEEPS)
    return cloud, fresh


def cloud_as_model(
    columns: Sequence[ResolvedColumn], cloud: Cloud, factors: Sequence[Factor], rows: int
) -> ReleasedModel:
    """Return the particles as atoms, each column by its law inside the particle's group, and the log-linear part.

    Parameters
    ----------
    columns : sequence of ResolvedColumn
        All columns.
    cloud, factors
        The model.
    rows : int
        Released number of rows.

    Returns
    -------
    ReleasedModel
    """
    laws = {
        column.name: Indexed(narrow(groups), column.within)
        for column, groups in zip(columns, cloud.groups, strict=True)
    }
    part = LogLinear(
        tables=tuple(tuple(columns[column].name for column, _ in factor.table) for factor in factors),
        groupings=tuple(
            tuple(columns[column].groupings[level] for column, level in factor.table) for factor in factors
        ),
        thetas=tuple(_with_misfits(columns, factor) for factor in factors),
        base={column.name: column.base for column in columns},
    )
    return ReleasedModel(weights=cloud.weights(1.0), rows=rows, laws=laws, log_linear=part)


def _with_misfits(columns: Sequence[ResolvedColumn], factor: Factor) -> np.ndarray:
    """Return theta with a cell for misfits, 0: no base law reaches it."""
    shape = table_shape([column.axis for column in columns], factor.table)
    extra = [(0, int(columns[column].has_misfit)) for column, _ in factor.table]
    return np.pad(factor.theta.reshape(shape), extra)
