"""Fit a cloud of particles to noisy tables: raking, resampling, Gibbs sweeps with a guard, and the released model."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.mechanisms.steps.candidate_tables import without_misfits
from lapwing.mechanisms.steps.resolved_columns import ResolvedColumn
from lapwing.numerics.gibbs import resampled, swept
from lapwing.numerics.hard_zeros import HardZeros, alive_cells, mended
from lapwing.numerics.log_linear import Axis, Cells, Cloud, Factor, marginals, misfit, table_shape
from lapwing.numerics.raking import effective_share, raked
from lapwing.numerics.tree_start import drawn_from_tree, tree_factors
from lapwing.release.model import Indexed, LogLinear, ReleasedModel, narrow
from lapwing.release.questions import NoisyCounts

SWEEPS = 4
"""Raking rounds over all tables in one fit."""

REFRESH_BELOW = 0.6
"""Particles are drawn anew when the effective share of them falls below this."""

_WORSE = 1.3
_KEPT = (1.0, 0.3, 0.1)
_FINAL_REFRESHES = 3


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Fit:
    """The model between two questions: a function of answers, schema, settings and public randomness.

    Parameters
    ----------
    columns : tuple of ResolvedColumn
        All columns.
    cloud : Cloud
        Particles.
    factors : tuple of Factor
        Every table measured so far.
    total : float
        Number of records, positive.
    zeros : HardZeros, optional
        What rules leave empty.
    public : int, default 0
        Number of public tables: the first factors after the one-way tables.
    """

    columns: tuple[ResolvedColumn, ...]
    cloud: Cloud
    factors: tuple[Factor, ...]
    total: float
    zeros: HardZeros | None = None
    public: int = 0

    @property
    def axes(self) -> list[Axis]:
        """The columns' groups."""
        return [column.axis for column in self.columns]

    @property
    def hard(self) -> tuple[Factor, ...]:
        """The tables of hard zeros, which no fit changes."""
        return () if self.zeros is None else self.zeros.factors

    def counts(self, tables: Sequence[Cells]) -> np.ndarray:
        """Return what the model says of some tables, one after another."""
        return marginals(self.axes, self.cloud, self.total, tables)


def tree_fit(
    columns: tuple[ResolvedColumn, ...],
    edges: Sequence[Factor],
    total: float,
    rng: np.random.Generator,
    *,
    size: int,
    zeros: HardZeros | None = None,
    free: Sequence[Factor] = (),
    public: Sequence[Factor] = (),
) -> Fit:
    """Return particles drawn from one-way tables and a forest of pairs, raked to all of them.

    Parameters
    ----------
    columns : tuple of ResolvedColumn
        All columns.
    edges : sequence of Factor
        Measured pairs that form a forest; none for independent columns.
    total : float
        Number of records, positive.
    rng : numpy.random.Generator
        Public randomness.
    size : int
        Number of particles.
    zeros : HardZeros, optional
        What rules leave empty: no particle is there, as far as it can be mended.
    free : sequence of Factor
        Edges that rules give; their theta is among the hard zeros.
    public : sequence of Factor
        Public tables, at levels of the columns' axes.
    """
    axes = [column.axis for column in columns]
    singles = tuple(
        Factor(
            table=((place, 0),),
            target=column.axis.base * (total / column.axis.base.sum()),
            sd=column.sd,
            theta=np.zeros(column.axis.base.size),
            alive=None if zeros is None else alive_cells(zeros, ((place, 0),)),
        )
        for place, column in enumerate(columns)
    )
    factors: tuple[Factor, ...] = (*singles, *public, *tree_factors(axes, edges, total))
    groups = drawn_from_tree(axes, (*edges, *free), total, size, rng)
    if zeros is not None:
        groups = mended(zeros, groups, factors, rng)
    cloud, factors, _ = raked(axes, Cloud(groups, np.zeros(size)), factors, total, sweeps=SWEEPS)
    return Fit(columns=columns, cloud=cloud, factors=factors, total=total, zeros=zeros, public=len(public))


def measured(
    columns: Sequence[ResolvedColumn],
    table: Cells,
    answer: NoisyCounts,
    expected: np.ndarray | None = None,
    zeros: HardZeros | None = None,
) -> Factor:
    """Return an answered table as a factor that the model does not know yet.

    Parameters
    ----------
    columns, table, answer
        What was asked, and the answer.
    expected : ndarray of float64, shape (k,), optional
        What the model says of it. Where noise alone explains how far the answer is from that, the answer tells nothing
        new, and this is the factor's target: a table of noise would only pull the model away.
    zeros : HardZeros, optional
        What rules leave empty: what was counted there is noise, and thrown away.
    """
    target, sd = without_misfits(columns, table, answer.counts), answer.noise.sd
    alive = None if zeros is None else alive_cells(zeros, table)
    if alive is not None:
        target = np.where(alive, target, 0.0)
    if expected is not None:
        # The sum of squares of k Laplace noises: mean k sd**2, variance 5 k sd**4 (Gaussian: 2 k sd**4).
        cells = target.size if alive is None else int(alive.sum())
        noise = sd**2 * (cells + math.sqrt(5 * cells))
        if float(np.square(target - expected).sum()) <= noise:
            target = expected
    return Factor(table=table, target=target, sd=sd, theta=np.zeros(target.size), alive=alive)


def with_factor(fit: Fit, new: Factor) -> Fit:
    """Return the model with one more measured table, not yet fitted; two measurements of one table are averaged."""
    found = [place for place, factor in enumerate(fit.factors) if factor.table == new.table]
    if not found:
        return replace(fit, factors=(*fit.factors, new))
    old = fit.factors[found[0]]
    weight = new.sd**2 / (new.sd**2 + old.sd**2) if new.sd or old.sd else 0.5
    both = replace(
        old,
        target=weight * old.target + (1 - weight) * new.target,
        sd=float(np.hypot(weight * old.sd, (1 - weight) * new.sd)),
    )
    return replace(fit, factors=(*fit.factors[: found[0]], both, *fit.factors[found[0] + 1 :]))


def refitted(fit: Fit, rng: np.random.Generator, *, is_due: bool) -> Fit:
    """Rake, and refresh the particles where it is due or too few of them carry the weight.

    Parameters
    ----------
    fit : Fit
        The model, with new factors.
    rng : numpy.random.Generator
        Public randomness.
    is_due : bool
        Whether to refresh whatever the weights are.
    """
    axes = fit.axes
    cloud, factors, is_damped = raked(axes, fit.cloud, fit.factors, fit.total, sweeps=SWEEPS)
    if is_due or is_damped or effective_share(cloud.log_weights) < REFRESH_BELOW:
        cloud = refreshed(axes, cloud, factors, fit.total, rng, size=cloud.size, hard=fit.hard)
        cloud, factors, _ = raked(axes, cloud, factors, fit.total, sweeps=SWEEPS // 2)
    return replace(fit, cloud=cloud, factors=factors)


def refreshed(
    axes: Sequence[Axis],
    cloud: Cloud,
    factors: Sequence[Factor],
    total: float,
    rng: np.random.Generator,
    *,
    size: int,
    hard: Sequence[Factor] = (),
) -> Cloud:
    """Resample particles by weight and move them by one Gibbs sweep.

    Parameters
    ----------
    axes, cloud, factors, total
        The model; ``total`` is positive.
    rng : numpy.random.Generator
        Public randomness.
    size : int
        Number of particles of the result.
    hard : sequence of Factor
        Tables of hard zeros.

    Returns
    -------
    Cloud
        Of equal weights. Single-site sweeps mix badly where columns are close copies: when the misfit grows by more
        than 30 %, only 30 % or 10 % of the drawn values are taken, or none.
    """
    start = resampled(cloud, size, rng)
    before = misfit(axes, Cloud(start, np.zeros(size)), factors, total)
    for share in _KEPT:
        moved = Cloud(swept(axes, start, (*factors, *hard), rng, share=share), np.zeros(size))
        if misfit(axes, moved, factors, total) <= _WORSE * before:
            return moved
    return Cloud(start, np.zeros(size))


def finished(fit: Fit, rng: np.random.Generator, *, size: int) -> Fit:
    """Return the model with the released number of particles, after a few more fits."""
    axes, cloud, factors = fit.axes, fit.cloud, fit.factors
    for _ in range(_FINAL_REFRESHES):
        cloud = refreshed(axes, cloud, factors, fit.total, rng, size=size, hard=fit.hard)
        cloud, factors, _ = raked(axes, cloud, factors, fit.total, sweeps=SWEEPS)
    # One-way tables and public ones come last: they are the surest. They are the first factors.
    surest, others = factors[: len(axes) + fit.public], factors[len(axes) + fit.public :]
    cloud, surest, _ = raked(axes, cloud, surest, fit.total, sweeps=SWEEPS, is_shrinking=False)
    return replace(fit, cloud=cloud, factors=(*surest, *others))


def fit_as_model(fit: Fit, rows: int) -> ReleasedModel:
    """Return the particles as atoms, each column by its law inside the particle's group, and the log-linear part.

    Parameters
    ----------
    fit : Fit
        The last model.
    rows : int
        Released number of rows.
    """
    columns, factors = fit.columns, (*fit.factors, *fit.hard)
    laws = {
        column.name: Indexed(narrow(groups), column.within)
        for column, groups in zip(columns, fit.cloud.groups, strict=True)
    }
    part = LogLinear(
        tables=tuple(tuple(columns[column].name for column, _ in factor.table) for factor in factors),
        groupings=tuple(tuple(columns[column].grouping(level) for column, level in factor.table) for factor in factors),
        thetas=tuple(_with_misfits(columns, factor) for factor in factors),
        base={column.name: column.base for column in columns},
    )
    return ReleasedModel(weights=fit.cloud.weights(1.0), rows=rows, laws=laws, log_linear=part)


def _with_misfits(columns: Sequence[ResolvedColumn], factor: Factor) -> np.ndarray:
    """Return theta with a cell for misfits, 0: no base law reaches it."""
    shape = table_shape([column.axis for column in columns], factor.table)
    extra = [(0, int(columns[column].has_misfit)) for column, _ in factor.table]
    return np.pad(factor.theta.reshape(shape), extra)
