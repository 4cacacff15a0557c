"""The model between questions: particles that have been moved towards every table that was answered."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.engine.hard_zeros import HardZeros, alive_cells
from lapwing.engine.particles import fitted, heated, independent, ridge_of
from lapwing.engine.tables import Axis, Cells, Factor, coarsened, counted, packed, table_shape
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.mechanisms.adaptive.columns import ResolvedColumn, with_masses
from lapwing.mechanisms.adaptive.prior import NO_GUIDE, Guide
from lapwing.model.model import Indexed, LogLinear, ReleasedModel, narrow

PULL = 0.7  # pull of a measured table, beside what its signal asks for
ONE_WAY_RIDGE = 0.3
"""Ridge of a column by itself, which all tables tell of together, in standard deviations of its noise."""

SNAPSHOTS = 3  # the released particles are those of so many sweeps: where they happen to stand matters less then
_ABSOLUTE = 1.25  # standard deviation over mean absolute deviation, of a normal law
_USUAL_CELLS = 16  # as many observations is worth what the whole prior is wrong by
_SURE_SD = 1e-3  # of a public table without one
_LEAST_SD = 0.3  # of a column's counts, in records: rounding is no smaller


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """An answered table.

    counts: float64 (k,), noisy counts, without misfits; 0 where rules leave a cell empty.
    """

    table: Cells
    counts: np.ndarray
    sd: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Fit:
    """A function of answers, schema, settings and public randomness.

    axes: the columns' groups, with the masses that the particles last followed; groups: uint16 (d, m), the finest
    group of each particle in each column; given: public tables and rules; prior: tables of a prior, which pull as
    measured ones agree with them; factors: all of these as the particles last followed them.
    """

    columns: tuple[ResolvedColumn, ...]
    total: float
    axes: tuple[Axis, ...]
    groups: np.ndarray
    measured: tuple[Measured, ...] = ()
    given: tuple[Factor, ...] = ()
    prior: Guide = NO_GUIDE
    zeros: HardZeros | None = None
    factors: tuple[Factor, ...] = ()

    def counts(self, tables: np.ndarray) -> np.ndarray:
        """Return what the model says of some tables, as `packed` makes them, one after another."""
        return counted(self.axes, self.groups, self.total, tables)


def started(
    columns: tuple[ResolvedColumn, ...],
    total: float,
    rng: np.random.Generator,
    *,
    size: int,
    zeros: HardZeros | None = None,
    public: Sequence[Factor] = (),
    prior: Guide = NO_GUIDE,
) -> Fit:
    """Return what one-way tables, public tables, a prior and rules say together."""
    axes = tuple(column.axis for column in columns)
    groups = independent(axes, size, rng)
    given = (*public, *(() if zeros is None else zeros.factors))
    fit = Fit(columns=columns, total=total, axes=axes, groups=groups, given=given, prior=prior, zeros=zeros)
    if zeros is not None:
        fit = replace(fit, groups=zeros.starts(groups, [_pooled(fit, column) for column in range(len(columns))], rng))
    return moved(fit, rng, pulls=heated() if fit.given or fit.prior.factors else ())


def measured(fit: Fit, table: Cells, answer: NoisyCounts) -> Measured:
    """Return an answered table without misfits; what was counted where no row can be is noise, and thrown away."""
    shape = table_shape(fit.axes, table)
    counts = answer.counts[tuple(slice(size) for size in shape)].astype(np.float64).reshape(-1)
    alive = None if fit.zeros is None else alive_cells(fit.zeros, table)
    return Measured(table, counts if alive is None else np.where(alive, counts, 0.0), answer.noise.sd)


def gain(fit: Fit, new: Sequence[Measured]) -> float:
    """Return the median signal-to-noise ratio of new tables under the model, at least 0.

    Both are roots of sums of squares; a fit leaves about the noise of ``r + c`` cells of a table of r rows and c
    columns.
    """
    counts = fit.counts(packed([each.table for each in new]))
    expected = np.split(counts, np.cumsum([each.counts.size for each in new])[:-1])
    found = []
    for each, model in zip(new, expected, strict=True):
        largest = max(table_shape(fit.axes, each.table))
        told = np.square(each.counts - model).sum() / max(each.sd, _LEAST_SD) ** 2 - each.counts.size
        found.append(told / (largest + each.counts.size / largest))
    return math.sqrt(max(0.0, float(np.median(found))))


def with_measured(fit: Fit, new: Sequence[Measured]) -> Fit:
    """Return the model with more tables, not yet fitted; two measurements of one table are averaged."""
    found = {each.table: each for each in fit.measured}
    for each in new:
        found[each.table] = _mean(found[each.table], each) if each.table in found else each
    return replace(fit, measured=tuple(found.values()))


def moved(fit: Fit, rng: np.random.Generator, *, pulls: Sequence[float], size: int | None = None) -> Fit:
    """Move the particles towards all tables."""
    groups = fit.groups
    if size is not None and size != groups.shape[1]:
        groups = groups[:, rng.permutation(np.arange(size) % groups.shape[1])]
    masses = [_pooled(fit, column) for column in range(len(fit.columns))]
    axes = tuple(replace(column.axis, base=mass) for column, mass in zip(fit.columns, masses, strict=True))
    asked = [*_one_way(fit, axes), *(_factor(each, axes) for each in fit.measured), *_trusted(fit)]
    bound = () if fit.zeros is None else fit.zeros.orders
    groups, factors = fitted(axes, groups, [*asked, *fit.given], fit.total, rng, pulls=pulls, bound=bound)
    return replace(fit, axes=axes, groups=groups, factors=factors)


def finished(fit: Fit, rng: np.random.Generator, *, size: int) -> Fit:
    """Return the model with the particles of several sweeps, and the mean of their theta."""
    fits = [moved(fit, rng, pulls=heated(2, 1, start=0.3), size=size)]
    for _ in range(SNAPSHOTS - 1):
        fits.append(moved(fits[-1], rng, pulls=(1.0,)))
    thetas = zip(*([factor.theta for factor in each.factors] for each in fits), strict=True)
    factors = tuple(
        replace(factor, theta=np.mean(each, axis=0)) for factor, each in zip(fits[-1].factors, thetas, strict=True)
    )
    # One after the other, so that rows which are drawn at even distances are those of one sweep.
    groups = np.stack([each.groups for each in fits], axis=2).reshape(len(fits[0].axes), -1)
    return replace(fits[-1], groups=groups, factors=factors)


def fit_as_model(fit: Fit, rows: int) -> ReleasedModel:
    """Return the particles as atoms, each column by its law inside the particle's group, and the log-linear part."""
    columns, groups = fit.columns, fit.groups
    masses = [axis.base for axis in fit.axes]
    laws = {column.name: Indexed(narrow(each), column.within) for column, each in zip(columns, groups, strict=True)}
    part = LogLinear(
        tables=tuple(tuple(columns[column].name for column, _ in factor.table) for factor in fit.factors),
        groupings=tuple(
            tuple(columns[column].grouping(level) for column, level in factor.table) for factor in fit.factors
        ),
        thetas=tuple(_with_misfits(columns, factor) for factor in fit.factors),
        base={column.name: with_masses(column, mass).base for column, mass in zip(columns, masses, strict=True)},
        free=tuple(place for place, factor in enumerate(fit.factors) if factor.target is not None),
        atoms=laws,
    )
    return ReleasedModel(weights=np.ones(groups.shape[1]), rows=rows, laws=laws, log_linear=part)


def _factor(each: Measured, axes: Sequence[Axis]) -> Factor:
    """Return a measured table with the ridge that its noise and its signal ask for."""
    ridge = ridge_of(axes, each.table, each.counts, each.sd) / PULL
    return Factor(table=each.table, theta=np.zeros(each.counts.size), target=each.counts, ridge=ridge)


def _one_way(fit: Fit, axes: Sequence[Axis]) -> list[Factor]:
    """Return each column by itself, at the finest level that a table uses: what is finer follows its masses."""
    used = [pair for each in fit.measured for pair in each.table]
    used += [pair for factor in (*fit.given, *fit.prior.factors) for pair in factor.table]
    found = []
    for place, (column, axis) in enumerate(zip(fit.columns, axes, strict=True)):
        level = min((level for at, level in used if at == place), default=0)
        target = np.bincount(axis.levels[level], axis.base, axis.sizes[level])
        table = ((place, level),)
        ridge = ONE_WAY_RIDGE * max(column.sd, _LEAST_SD)
        found.append(Factor(table=table, theta=np.zeros(target.size), target=target, ridge=ridge))
    return found


def _trusted(fit: Fit) -> list[Factor]:
    """Return the tables of the prior, each trusted as far as measured tables of its columns agree with it.

    The ridge of a prior's table is its estimated variance: the prior's average, updated by the excess distance to
    measured tables of its columns, each cell as one more observation.
    """
    found = []
    for each in fit.prior.factors:
        columns = {at for at, _ in each.table}
        ratios = [_more_wrong(fit, each, other) for other in fit.measured if columns <= {at for at, _ in other.table}]
        found.append(replace(each, ridge=each.ridge * max(ratios, default=1.0)))
    return found


def _more_wrong(fit: Fit, prior: Factor, other: Measured) -> float:
    """Return how much more a prior's table seems to be wrong by than on average, as a ratio of variances."""
    levels = dict(other.table)
    common = tuple((at, max(level, levels[at])) for at, level in prior.table)
    assert prior.target is not None
    told, noisy = (
        coarsened(fit.axes, table, counts, common)
        for table, counts in ((prior.table, prior.target), (other.table, other.counts))
    )
    variance = other.sd**2 * other.counts.size / told.size
    usual = (_ABSOLUTE * fit.prior.error / told.size) ** 2
    seen = max(0.0, float(np.square(told - noisy).mean()) - variance)
    return (told.size * seen + _USUAL_CELLS * usual) / ((told.size + _USUAL_CELLS) * usual)


def _pooled(fit: Fit, place: int) -> np.ndarray:
    """Return the inverse-variance pooled margin of a column: the records in each of its finest groups.

    Its own counts and the margins of all tables with it are pooled level by level, the finest first; what a coarse
    level says is shared out in proportion to the variances of the groups inside.
    """
    column = fit.columns[place]
    masses = column.axis.base * (fit.total / column.axis.base.sum())
    sd = max(column.sd, _LEAST_SD)
    variance = sd**2 * masses / (masses + sd)  # noise has been taken out of small groups already
    told: dict[int, list[tuple[np.ndarray, float]]] = {}
    for each in fit.measured:
        for at, (other, level) in enumerate(each.table):
            if other == place:
                shape = table_shape(fit.axes, each.table)
                margin = each.counts.reshape(shape).sum(axis=tuple(axis for axis in range(len(shape)) if axis != at))
                told.setdefault(level, []).append((margin, max(each.sd, _LEAST_SD) ** 2 * each.counts.size / shape[at]))
    for factor in fit.given:
        for at, (other, level) in enumerate(factor.table):
            if other == place and factor.target is not None:
                shape = table_shape(fit.axes, factor.table)
                margin = factor.target.reshape(shape).sum(axis=tuple(axis for axis in range(len(shape)) if axis != at))
                told.setdefault(level, []).append((margin, max(factor.ridge, _SURE_SD) ** 2 * margin.size))
    for level in sorted(told):
        precision = sum(1 / each for _, each in told[level])
        mean = np.sum([margin / each for margin, each in told[level]], axis=0) / precision
        groups = column.axis.levels[level]
        gap = mean - np.bincount(groups, masses, mean.size)
        share = variance / (np.bincount(groups, variance, mean.size) + 1 / precision)[groups]
        masses, variance = masses + share * gap[groups], variance * (1 - share)
    masses = np.maximum(masses, np.minimum(column.axis.base, _LEAST_SD))
    return np.asarray(masses * (fit.total / masses.sum()))


def _mean(one: Measured, other: Measured) -> Measured:
    """Return two measurements of one table as one, each weighted by the inverse of its noise's variance."""
    weight = other.sd**2 / (other.sd**2 + one.sd**2) if one.sd or other.sd else 0.5
    counts = weight * one.counts + (1 - weight) * other.counts
    return Measured(one.table, counts, float(np.hypot(weight * one.sd, (1 - weight) * other.sd)))


def _with_misfits(columns: Sequence[ResolvedColumn], factor: Factor) -> np.ndarray:
    """Return theta with a cell for misfits, 0: no base law reaches it."""
    shape = table_shape([column.axis for column in columns], factor.table)
    extra = [(0, int(columns[column].has_misfit)) for column, _ in factor.table]
    return np.asarray(np.pad(factor.theta.reshape(shape), extra))
