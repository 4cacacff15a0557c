"""A prior: rows that were published before, whose tables pull the model as far as they are near the private ones.

towards -> ask -> weigh. The prior's columns steady the noisy one-way tables; one paid question tells how far its tables
of two columns are from the private ones; they then pull the model until a pair of columns is measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Final

import numpy as np

from lapwing.engine.particles import ridge_of
from lapwing.engine.tables import Cells, Factor, cells_of, coarsened, table_shape
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.room.curator import Curator
from lapwing.mechanisms.adaptive.candidates import rounded_down
from lapwing.mechanisms.adaptive.columns import OneWayTable, ResolvedColumn
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.schema.groupings.grouping import evenly
from lapwing.schema.schemas import Schema

WEIGHING: Final = Fraction(1, 50)
"""Part of the budget that asks how near a prior is, for each of them."""

MOST_TABLES: Final = 400  # of a prior, the strongest: each is felt in every sweep
MOST_CELLS: Final = 400  # of one of them
NEAR: Final = 0.75
"""A prior pulls if its tables are nearer to the private ones than this part of their own distance from independence."""

_MIXED: Final = 0.005  # part of a prior's table that is taken to be independent: no cell is ruled out
_BITS: Final = 4  # expected counts in sixteenths of a row
_LEAST: Final = 0.002  # distance of a prior, in rows per row: none is exact
_SHIFT: Final = 2.0  # standard deviations by which a noisy count moves towards the prior at most
_SPREAD: Final = 0.1  # part of what a prior may be wrong by that is spread over all values alike
_LEAST_SD: Final = 0.3
_ABSOLUTE: Final = 1.25  # standard deviation over mean absolute deviation, of a normal law
_ROUNDS: Final = 30


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """Tables of a prior that pull, and what each may be wrong by: the sum of absolute errors, in records."""

    factors: tuple[Factor, ...] = ()
    error: float = 0.0


NO_GUIDE: Final = Guide()


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """A prior's table of two columns, in records: as it is, and as independent columns would have it."""

    table: Cells
    counts: np.ndarray
    independent: np.ndarray


def towards(
    tables: Sequence[OneWayTable], names: Sequence[str], priors: Sequence[PublicRows], total: float
) -> tuple[OneWayTable, ...]:
    """Return one-way tables drawn towards those of the nearest prior, as far as noise explains their differences.

    names: of their columns. Each count is the mean of both, weighted by the inverse of their variances. What the prior
    may be wrong by is in proportion to its counts: by what its difference has in this column beyond what noise often
    makes, or in typical ones beyond what it makes on average, whichever is more, and at least by what the number of its
    rows leaves open. No count moves by more than two standard deviations of its noise, so that a prior that is far off
    costs little.
    """
    named = dict(zip(names, tables, strict=True))
    prior = min(priors, key=lambda each: _typical_excess(named, each, total))
    least = max(_typical_excess(named, prior, total), total / prior.rows)
    found = {
        name: _steadied(table, prior.codes[name], least, total) for name, table in named.items() if name in prior.codes
    }
    return tuple((named | found).values())


def _typical_excess(named: Mapping[str, OneWayTable], prior: PublicRows, total: float) -> float:
    """Return what a prior's columns typically differ by beyond the noise: may be below 0.

    Without the fifths that changed most and least: a few columns that changed say nothing of the others.
    """
    found = sorted(_excess(named[name], codes, total) for name, codes in prior.codes.items())
    return float(np.mean(found[len(found) // 5 : -(len(found) // 5) or None]))


def _noisy(table: OneWayTable) -> np.ndarray:
    return table.counts if table.masses is None else table.masses


def _expected(table: OneWayTable, codes: np.ndarray, total: float) -> np.ndarray:
    """Return a prior's counts in the cells of a one-way table, of as many records."""
    counted = np.bincount(table.grouping.apply(codes), minlength=table.grouping.groups)[: _noisy(table).size]
    return counted * (total / max(1, int(counted.sum())))


def _excess(table: OneWayTable, codes: np.ndarray, total: float) -> float:
    """Return the squared difference from a prior's counts beyond the noise, for each record: may be below 0."""
    gap = _noisy(table) - _expected(table, codes, total)
    return float((np.square(gap) - max(table.sd, _LEAST_SD) ** 2).sum()) / total


def _chance(table: OneWayTable, total: float) -> float:
    """Return the standard deviation of what noise alone makes of `_excess`."""
    return max(table.sd, _LEAST_SD) ** 2 * float(np.sqrt(2 * _noisy(table).size)) / total


def _steadied(table: OneWayTable, codes: np.ndarray, least: float, total: float) -> OneWayTable:
    """Return a one-way table drawn towards a prior's; least: variance of the prior's counts, for each record."""
    noisy, variance = _noisy(table), max(table.sd, _LEAST_SD) ** 2
    expected, error = _expected(table, codes, total), max(_excess(table, codes, total) - _chance(table, total), least)
    wrong = error * ((1 - _SPREAD) * expected + _SPREAD * total / noisy.size)
    weight = wrong / (wrong + variance)
    shift = np.clip((1 - weight) * (expected - noisy), -_SHIFT * variance**0.5, _SHIFT * variance**0.5)
    steadied, sd = noisy + shift, table.sd * float(np.sqrt(weight.mean()))
    if table.masses is None:
        return replace(table, counts=steadied, sd=sd)
    masses = np.maximum(steadied, 0.0)
    masses *= total / max(float(masses.sum()), _LEAST)
    return replace(table, masses=masses, counts=np.pad(masses, (0, table.counts.size - masses.size)), sd=sd)


def weighed(
    curator: Curator, columns: Sequence[ResolvedColumn], priors: Sequence[PublicRows], total: float, cost: Budget
) -> Guide:
    """Ask how near each prior is, and return the tables of the nearest, with the pull that its distance asks for."""
    told = [list(_strongest(_tables(columns, prior, total))) for prior in priors]
    askable = [(prior, tables) for prior, tables in zip(priors, told, strict=True) if tables]
    answers = curator.ask(*(_question(columns, tables, cost) for _, tables in askable))
    near: list[tuple[float, int, float, PublicRows, list[_Told]]] = []
    for (prior, tables), answer in zip(askable, answers, strict=True):
        unit = answer.question.scale * total
        distance = max(float(answer.values[0]) / unit, answer.noise.sd / unit, _LEAST)
        own = float(np.mean([np.abs(each.counts - each.independent).sum() for each in tables])) / total
        if distance < NEAR * own:
            near.append((distance / own, len(near), distance, prior, tables))
    if not near:
        return NO_GUIDE
    _, _, distance, prior, tables = min(near)
    factors = tuple(_factor(columns, each, distance, prior.rows, total) for each in tables)
    return Guide(factors, distance * total)


def planned_weighing(schema: Schema, cost: Budget) -> TableDistances:
    """Return what stands in a plan for the question how near a prior is: its groups depend on noisy tables."""
    chosen = schema.columns[:2]
    return TableDistances(
        columns=tuple(column.name for column in chosen),
        groupings=tuple(evenly(column.domain, 2) for column in chosen),
        tables=((0, 1),),
        cells=None,
        expected=None,
        bits=_BITS,
        cost=cost,
    )


def paid_apart(budget: Budget, priors: int) -> tuple[Budget, Budget]:
    """Return what the question about one prior costs, and what is left for the rest of the release."""
    cost = Budget(budget.notion, rounded_down(budget.amount * WEIGHING))
    return cost, Budget(budget.notion, budget.amount - cost.amount * priors)


def _tables(columns: Sequence[ResolvedColumn], prior: PublicRows, total: float) -> list[_Told]:
    """Return a prior's tables of two columns, with the margins that this release has."""
    axes = [column.axis for column in columns]
    groups, has = _groups(columns, prior)
    found = []
    for one, two in combinations(np.flatnonzero(has).tolist(), 2):
        table = _finest(columns, one, two)
        if table is None or not groups.shape[1]:
            continue
        shape = table_shape(axes, table)
        margins = [np.bincount(axes[at].levels[level], axes[at].base, axes[at].sizes[level]) for at, level in table]
        first, second = (margin * (total / margin.sum()) for margin in margins)
        independent = np.outer(first, second) / total
        counts = np.bincount(cells_of(axes, groups, table), minlength=independent.size).reshape(shape)
        mixed = counts * (total * (1 - _MIXED) / groups.shape[1]) + _MIXED * independent
        found.append(_Told(table, _raked(mixed, first, second).reshape(-1), independent.reshape(-1)))
    return found


def _groups(columns: Sequence[ResolvedColumn], prior: PublicRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the finest groups of the prior's rows without misfits, uint16 (d, rows), and which columns it has."""
    groups = np.zeros((len(columns), prior.rows), dtype=np.uint16)
    has, fits = np.zeros(len(columns), dtype=bool), np.ones(prior.rows, dtype=bool)
    for place, column in enumerate(columns):
        if column.name in prior.codes:
            has[place] = True
            groups[place] = column.groupings[0].apply(prior.codes[column.name])
            fits &= groups[place] < column.axis.base.size
    return groups[:, fits], has


def _finest(columns: Sequence[ResolvedColumn], one: int, two: int) -> Cells | None:
    """Return the table of two columns with most cells that is small enough."""
    found: Cells | None = None
    most = 0
    for first, second in product(range(len(columns[one].groupings)), range(len(columns[two].groupings))):
        cells = columns[one].axis.sizes[first] * columns[two].axis.sizes[second]
        if most < cells <= MOST_CELLS:
            found, most = ((one, first), (two, second)), cells
    return found


def _raked(counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return a table with other margins and the same odds (Deming and Stephan 1940)."""
    for _ in range(_ROUNDS):
        counts = counts * (first / np.maximum(counts.sum(axis=1), _LEAST))[:, None]
        counts = counts * (second / np.maximum(counts.sum(axis=0), _LEAST))
    return counts


def _question(columns: Sequence[ResolvedColumn], tables: Sequence[_Told], cost: Budget) -> TableDistances:
    """Return the question for the distance of a prior's tables, each column at the coarsest level that one has."""
    coarsest: dict[int, int] = {}
    for at, level in (pair for each in tables for pair in each.table):
        coarsest[at] = max(level, coarsest.get(at, 0))
    places = {at: place for place, at in enumerate(sorted(coarsest))}
    expected = [_whole(columns, each, coarsest) for each in tables]
    return TableDistances(
        columns=tuple(columns[at].name for at in places),
        groupings=tuple(columns[at].groupings[coarsest[at]] for at in places),
        tables=tuple(tuple(places[at] for at, _ in each.table) for each in tables),
        cells=tuple(np.arange(each.size) for each in expected),
        expected=tuple(expected),
        bits=_BITS,
        cost=cost,
    )


def _whole(columns: Sequence[ResolvedColumn], each: _Told, coarsest: Mapping[int, int]) -> np.ndarray:
    """Return the expected counts of a table at coarser levels, in whole sixteenths, with no row among misfits."""
    axes = [column.axis for column in columns]
    table = tuple((at, coarsest[at]) for at, _ in each.table)
    counts = coarsened(axes, each.table, each.counts, table).reshape(table_shape(axes, table))
    sizes = [columns[at].groupings[coarsest[at]].groups for at, _ in each.table]
    whole = np.zeros(sizes, dtype=np.int64)
    whole[: counts.shape[0], : counts.shape[1]] = np.rint(counts * 2**_BITS)
    return whole.reshape(-1)


def _strongest(tables: Sequence[_Told]) -> Iterator[_Told]:
    """Yield the tables that are farthest from independence, in their order."""
    strength = [-float(np.abs(each.counts - each.independent).sum()) for each in tables]
    for place in sorted(np.argsort(strength, kind="stable")[:MOST_TABLES].tolist()):
        yield tables[place]


def _factor(columns: Sequence[ResolvedColumn], each: _Told, distance: float, rows: int, total: float) -> Factor:
    """Return a table as a target that gives way as what it may be wrong by asks for."""
    cells = each.counts.size
    wrong = np.hypot(_ABSOLUTE * distance * total / cells, total / np.sqrt(rows * cells))
    axes = [column.axis for column in columns]
    ridge = ridge_of(axes, each.table, each.counts, float(wrong))
    return Factor(table=each.table, theta=np.zeros(cells), target=each.counts, ridge=ridge)
