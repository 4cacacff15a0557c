"""The model between questions: particles that are moved towards all that is known.

Known are one-way tables, measured tables, public tables, rules as hard zeros, and the tables of a prior.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

import numpy as np

from lapwing.engine.hard_zeros import HardZeros, alive_cells, hard_factor
from lapwing.engine.particles import fit_particles, independent, pull_schedule, ridge_of
from lapwing.engine.tables import Axis, Cells, Factor, coarsen, pack, particle_tables, table_shape
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.mechanisms.adaptive.candidates import ResolvedColumn, with_masses
from lapwing.model.model import Indexed, LogLinear, ReleasedModel, narrow
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import common_refinement, group_ends
from lapwing.schema.public_tables.cells import CodedTable, coded_tables
from lapwing.schema.rules.codes import CombinationRule, ComparisonRule, DependencyRule, components
from lapwing.schema.schemas import Schema

PULL = 0.7  # pull of a measured table, beside what its signal asks for
ONE_WAY_RIDGE = 0.3
"""Ridge of a column by itself, which all tables tell of together, in standard deviations of its noise."""
SNAPSHOTS = 3  # the released particles are those of so many sweeps: where they happen to stand matters less then
SD_PER_ABSOLUTE = 1.25  # standard deviation over mean absolute deviation, of a normal law
_USUAL_CELLS = 16  # as many observations is worth what the whole prior is wrong by
_SURE_SD = 1e-3  # of a public table without one
_PASSABLE = -9.0
"""The logarithm by which cells that rules leave empty are rarer until the last sweeps.

Particles have to pass: where many columns follow from each other, no single draw leads from one way of keeping the
rules to another.
"""
LEAST_SD = 0.3  # of a column's counts, in records: rounding is no smaller
MOST_RULE_CLASSES = 64
"""Most groups of regular values that the rules of one column may tell apart together; rules beyond are left to the
drawing of rows."""
MOST_RULE_CELLS = 2**18  # most cells of the table of a rule; larger ones are left to the drawing of rows


@dataclass(frozen=True, slots=True, eq=False)
class PriorTables:
    """Tables of a prior that pull, and what each may be wrong by: the sum of absolute errors, in records."""

    factors: tuple[Factor, ...] = ()
    error: float = 0.0


NO_PRIOR: Final = PriorTables()


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredTable:
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
    measured: tuple[AnsweredTable, ...] = ()
    given: tuple[Factor, ...] = ()
    prior: PriorTables = NO_PRIOR
    zeros: HardZeros | None = None
    factors: tuple[Factor, ...] = ()

    def counts(self, tables: np.ndarray) -> np.ndarray:
        """Return what the model says of some tables, as `pack` makes them, one after another."""
        return particle_tables(self.axes, self.groups, self.total, tables)


def initialize(
    columns: tuple[ResolvedColumn, ...],
    total: float,
    rng: np.random.Generator,
    *,
    size: int,
    zeros: HardZeros | None = None,
    public: Sequence[Factor] = (),
    prior: PriorTables = NO_PRIOR,
) -> Fit:
    """Return what one-way tables, public tables, a prior and rules say together."""
    axes = tuple(column.axis for column in columns)
    groups = independent(axes, size, rng)
    given = (*public, *(() if zeros is None else zeros.factors))
    fit = Fit(columns=columns, total=total, axes=axes, groups=groups, given=given, prior=prior, zeros=zeros)
    if zeros is not None:
        fit = replace(
            fit, groups=zeros.starts(groups, [_pooled_margin(fit, column) for column in range(len(columns))], rng)
        )
    return refit(fit, rng, pulls=pull_schedule() if fit.given or fit.prior.factors else ())


def measured_table(fit: Fit, table: Cells, answer: NoisyCounts) -> AnsweredTable:
    """Return an answered table without misfits; what was counted where no row can be is noise, and thrown away."""
    shape = table_shape(fit.axes, table)
    counts = answer.counts[tuple(slice(size) for size in shape)].astype(np.float64).reshape(-1)
    alive = None if fit.zeros is None else alive_cells(fit.zeros, table)
    return AnsweredTable(table, counts if alive is None else np.where(alive, counts, 0.0), answer.noise.sd)


def median_signal_to_noise(fit: Fit, new: Sequence[AnsweredTable]) -> float:
    """Return the median signal-to-noise ratio of new tables under the model, at least 0.

    Both are roots of sums of squares; a fit leaves about the noise of ``r + c`` cells of a table of r rows and c
    columns.
    """
    counts = fit.counts(pack([each.table for each in new]))
    expected = np.split(counts, np.cumsum([each.counts.size for each in new])[:-1])
    found = []
    for each, model in zip(new, expected, strict=True):
        largest = max(table_shape(fit.axes, each.table))
        told = np.square(each.counts - model).sum() / max(each.sd, LEAST_SD) ** 2 - each.counts.size
        found.append(told / (largest + each.counts.size / largest))
    return math.sqrt(max(0.0, float(np.median(found))))


def add_measured(fit: Fit, new: Sequence[AnsweredTable]) -> Fit:
    """Return the model with more tables, not yet fitted; two measurements of one table are averaged."""
    found = {each.table: each for each in fit.measured}
    for each in new:
        found[each.table] = _mean(found[each.table], each) if each.table in found else each
    return replace(fit, measured=tuple(found.values()))


def refit(
    fit: Fit, rng: np.random.Generator, *, pulls: Sequence[float], size: int | None = None, is_last: bool = False
) -> Fit:
    """Move the particles towards all tables; through cells that rules leave empty, unless these are the last sweeps."""
    groups = fit.groups
    if size is not None and size != groups.shape[1]:
        groups = groups[:, rng.permutation(np.arange(size) % groups.shape[1])]
    masses = [_pooled_margin(fit, column) for column in range(len(fit.columns))]
    axes = tuple(replace(column.axis, base=mass) for column, mass in zip(fit.columns, masses, strict=True))
    asked = [*_one_way(fit, axes), *(_measured_factor(each, axes) for each in fit.measured), *_prior_factors(fit)]
    given = fit.given if is_last else [replace(each, theta=np.maximum(each.theta, _PASSABLE)) for each in fit.given]
    bound = () if fit.zeros is None else fit.zeros.orders
    groups, factors = fit_particles(axes, groups, [*asked, *given], fit.total, rng, pulls=pulls, bound=bound)
    return replace(fit, axes=axes, groups=groups, factors=factors)


def finalize(fit: Fit, rng: np.random.Generator, *, size: int) -> Fit:
    """Return the model with the particles of several sweeps, and the mean of their theta."""
    fits = [refit(fit, rng, pulls=pull_schedule(2, 1, start=0.3), size=size, is_last=True)]
    for _ in range(SNAPSHOTS - 1):
        fits.append(refit(fits[-1], rng, pulls=(1.0,), is_last=True))
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


def _measured_factor(each: AnsweredTable, axes: Sequence[Axis]) -> Factor:
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
        ridge = ONE_WAY_RIDGE * max(column.sd, LEAST_SD)
        found.append(Factor(table=table, theta=np.zeros(target.size), target=target, ridge=ridge))
    return found


def _prior_factors(fit: Fit) -> list[Factor]:
    """Return the tables of the prior, each trusted as far as measured tables of its columns agree with it.

    The ridge of a prior's table is its estimated variance: the prior's average, updated by the excess distance to
    measured tables of its columns, each cell as one more observation.
    """
    found = []
    for each in fit.prior.factors:
        columns = {at for at, _ in each.table}
        ratios = [
            _variance_ratio(fit, each, other) for other in fit.measured if columns <= {at for at, _ in other.table}
        ]
        found.append(replace(each, ridge=each.ridge * max(ratios, default=1.0)))
    return found


def _variance_ratio(fit: Fit, prior: Factor, other: AnsweredTable) -> float:
    """Return how much more a prior's table seems to be wrong by than on average, as a ratio of variances."""
    levels = dict(other.table)
    common = tuple((at, max(level, levels[at])) for at, level in prior.table)
    assert prior.target is not None
    told, noisy = (
        coarsen(fit.axes, table, counts, common)
        for table, counts in ((prior.table, prior.target), (other.table, other.counts))
    )
    variance = other.sd**2 * other.counts.size / told.size
    usual = (SD_PER_ABSOLUTE * fit.prior.error / told.size) ** 2
    seen = max(0.0, float(np.square(told - noisy).mean()) - variance)
    return (told.size * seen + _USUAL_CELLS * usual) / ((told.size + _USUAL_CELLS) * usual)


def _pooled_margin(fit: Fit, place: int) -> np.ndarray:
    """Return the inverse-variance pooled margin of a column: the records in each of its finest groups.

    Its own counts and the margins of all tables with it are pooled level by level, the finest first; what a coarse
    level says is shared out in proportion to the variances of the groups inside.
    """
    column = fit.columns[place]
    masses = column.axis.base * (fit.total / column.axis.base.sum())
    sd = max(column.sd, LEAST_SD)
    variance = sd**2 * masses / (masses + sd)  # noise has been taken out of small groups already
    told: dict[int, list[tuple[np.ndarray, float]]] = {}
    for each in fit.measured:
        for at, (other, level) in enumerate(each.table):
            if other == place:
                shape = table_shape(fit.axes, each.table)
                margin = each.counts.reshape(shape).sum(axis=tuple(axis for axis in range(len(shape)) if axis != at))
                told.setdefault(level, []).append((margin, max(each.sd, LEAST_SD) ** 2 * each.counts.size / shape[at]))
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
    masses = np.maximum(masses, np.minimum(column.axis.base, LEAST_SD))
    return np.asarray(masses * (fit.total / masses.sum()))


def _mean(one: AnsweredTable, other: AnsweredTable) -> AnsweredTable:
    """Return two measurements of one table as one, each weighted by the inverse of its noise's variance."""
    weight = other.sd**2 / (other.sd**2 + one.sd**2) if one.sd or other.sd else 0.5
    counts = weight * one.counts + (1 - weight) * other.counts
    return AnsweredTable(one.table, counts, float(np.hypot(weight * one.sd, (1 - weight) * other.sd)))


def _with_misfits(columns: Sequence[ResolvedColumn], factor: Factor) -> np.ndarray:
    """Return theta with a cell for misfits, 0: no base law reaches it."""
    shape = table_shape([column.axis for column in columns], factor.table)
    extra = [(0, int(columns[column].has_misfit)) for column, _ in factor.table]
    return np.asarray(np.pad(factor.theta.reshape(shape), extra))


# -- Rules as hard zeros, and public tables: known without asking, whatever the rows are.


def modelled_rules(schema: Schema) -> tuple[CombinationRule | ComparisonRule, ...]:
    """Return the rules that groups can tell, few enough of them: a function of the schema alone."""
    found: list[CombinationRule | ComparisonRule] = []
    told: dict[str, list[Grouping]] = {}
    for rule in schema.coded_rules:
        # Within one column, drawing a value again until it keeps the rule gives the same law.
        if isinstance(rule, DependencyRule) or len(rule.columns) == 1:
            continue
        if isinstance(rule, CombinationRule):
            wider = {
                name: [*told.get(name, []), grouping]
                for name, grouping in zip(rule.columns, rule.groupings, strict=True)
            }
            if rule.alive.size > MOST_RULE_CELLS or any(
                _class_count(each) > MOST_RULE_CLASSES for each in wider.values()
            ):
                continue
            told |= wider
        found.append(rule)
    return tuple(found)


def class_groupings(schema: Schema) -> Mapping[str, tuple[Grouping, ...]]:
    """Return for each column that a rule or a public table names the maps which its groups must refine."""
    found: dict[str, dict[Grouping, None]] = {}
    for rule in modelled_rules(schema):
        if isinstance(rule, CombinationRule):
            for name, grouping in zip(rule.columns, rule.groupings, strict=True):
                found.setdefault(name, {})[grouping] = None
    for table in (*coded_tables(schema), *coded_tables(schema, "prior")):
        pairs = list(zip(table.columns, table.groupings, strict=True))
        if table.cell.size <= MOST_RULE_CELLS and all(
            _class_count([*found.get(name, {}), grouping]) <= MOST_RULE_CLASSES for name, grouping in pairs
        ):
            for name, grouping in pairs:
                found.setdefault(name, {})[grouping] = None
    return {name: tuple(each) for name, each in found.items()}


def hard_zeros(schema: Schema, columns: Sequence[ResolvedColumn]) -> HardZeros | None:
    """Return the cells of a model's groups that rules leave empty; None where there are none.

    Returns pairs of columns at their finest groups, all rules on a pair in one table; wider rules at the classes that
    they tell apart. A comparison leaves a cell empty where no codes of its groups keep it.
    """
    rules = modelled_rules(schema)
    if not rules:
        return None
    places = {column.name: place for place, column in enumerate(columns)}
    axes = tuple(column.axis for column in columns)
    factors = [factor for rule in rules if (factor := _rule_factor(rule, columns, places)) is not None]
    orders = tuple(tuple(places[name] for name in order) for order in components(rules))
    single = HardZeros(axes, tuple(factors), orders)
    merged: dict[Cells, Factor] = {}
    for factor in factors:
        table = tuple((column, 0) for column, _ in factor.table) if len(factor.table) == 2 else factor.table
        alive = alive_cells(single, table)
        if alive is not None:
            merged[table] = hard_factor(table, alive)
    return HardZeros(axes, tuple(merged.values()), orders) if merged else None


def _class_count(groupings: Sequence[Grouping]) -> int:
    """Return how many groups of regular codes some maps tell apart together."""
    starts, kinds = common_refinement(groupings)
    return int(np.unique(kinds[:, starts < groupings[0].values], axis=1).shape[1])


def _rule_factor(
    rule: CombinationRule | ComparisonRule, columns: Sequence[ResolvedColumn], places: Mapping[str, int]
) -> Factor | None:
    """Return a rule on the groups of a model; None where its table would be too large."""
    order = sorted(range(len(rule.columns)), key=lambda at: places[rule.columns[at]])
    chosen = [columns[places[rule.columns[at]]] for at in order]
    if isinstance(rule, CombinationRule):
        levels = [column.level_of(rule.groupings[at]) for column, at in zip(chosen, order, strict=True)]
        alive = np.transpose(rule.alive, order)
    else:
        levels = [0] * len(order)
        if math.prod(column.axis.base.size for column in chosen) > MOST_RULE_CELLS:
            return None
        alive = _possible_cells(rule, chosen)
    table = tuple((places[column.name], level) for column, level in zip(chosen, levels, strict=True))
    shape = table_shape([column.axis for column in columns], table)
    return hard_factor(table, alive[tuple(slice(size) for size in shape)])


def _possible_cells(rule: ComparisonRule, columns: Sequence[ResolvedColumn]) -> np.ndarray:
    """Return for each combination of finest groups whether some of their codes keep a comparison."""
    shape = tuple(column.axis.base.size for column in columns)
    groups = np.unravel_index(np.arange(math.prod(shape)), shape)
    boxes = {}
    for column, group in zip(columns, groups, strict=True):
        low, high = group_ends(column.groupings[0])
        boxes[column.name] = (low[group], high[group])
    return np.asarray(rule.possible(boxes)).reshape(shape)


def public_factors(columns: Sequence[ResolvedColumn], schema: Schema, total: float) -> list[Factor]:
    """Return the public tables of a schema whose cells the groups of the columns tell apart.

    total: number of records, positive; counts are scaled to it. Returns without noise, or with the standard deviation
    that a prior states. Combinations of groups that share a cell share its count as independent columns would.
    """
    places = {column.name: place for place, column in enumerate(columns)}
    tables = (*coded_tables(schema), *coded_tables(schema, "prior"))
    told = [
        each
        for each in tables
        if all(
            grouping in columns[places[name]].classes
            for name, grouping in zip(each.columns, each.groupings, strict=True)
        )
    ]
    return [_public_factor(each, columns, places, total) for each in told]


def _public_factor(
    coded: CodedTable, columns: Sequence[ResolvedColumn], places: dict[str, int], total: float
) -> Factor:
    """Return one public table as a factor."""
    order = sorted(range(len(coded.columns)), key=lambda at: places[coded.columns[at]])
    chosen = [columns[places[coded.columns[at]]] for at in order]
    levels = [column.level_of(coded.groupings[at]) for column, at in zip(chosen, order, strict=True)]
    shape = tuple(column.axis.sizes[level] for column, level in zip(chosen, levels, strict=True))
    cell = np.transpose(coded.cell, order)[tuple(slice(size) for size in shape)].reshape(-1)
    masses = [
        np.bincount(column.axis.levels[level], column.axis.base, size)
        for column, level, size in zip(chosen, levels, shape, strict=True)
    ]
    product = reduce(np.multiply.outer, masses).reshape(-1)
    shared = np.bincount(cell + 1, product, coded.counts.size + 1)  # 0: where no row can be
    scale = total / max(1, int(coded.counts.sum()))
    counts = np.concatenate(([0], coded.counts)) * scale
    return Factor(
        table=tuple((places[column.name], level) for column, level in zip(chosen, levels, strict=True)),
        # Where no group of a cell has mass, the model has no row to pull there.
        target=np.divide(counts[cell + 1] * product, shared[cell + 1], out=np.zeros(product.size), where=product > 0),
        ridge=(coded.table.sd or 0.0) * scale,
        theta=np.zeros(math.prod(shape)),
    )
