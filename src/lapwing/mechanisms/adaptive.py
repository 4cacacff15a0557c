"""Adaptive: marginals at several resolutions, chosen one by one, and a cloud of particles fitted to them.

ask -> solve -> model, many times: one-way tables; a spanning tree of pairs; then rounds that choose the table which the
model fits worst, measure it, and fit again. The default for three columns or more.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.errors import ParameterError
from lapwing.mechanisms.steps.candidate_tables import (
    Candidates,
    all_triples,
    candidates_of,
    grown_triples,
    mean_absolute,
    measurement,
    pair_tables,
    rounded_down,
    triple_tables,
    without_misfits,
)
from lapwing.mechanisms.steps.one_way import ask_one_way, one_way_grouping, pooled_total
from lapwing.mechanisms.steps.particle_fit import cloud_as_model, finished, fitted
from lapwing.mechanisms.steps.resolved_columns import ResolvedColumn, resolved_column
from lapwing.numerics.log_linear import Axis, Cells, Cloud, Factor, marginals
from lapwing.numerics.raking import raked
from lapwing.numerics.tree_start import drawn_from_tree, tree_factors
from lapwing.release.curator import Curator
from lapwing.release.model import ReleasedModel
from lapwing.release.questions import NoisyCounts
from lapwing.release.terms import Relation
from lapwing.schema.schemas import Schema

RESOLUTIONS = (16, 8, 4)
_REFRESH_EVERY = 3
_MOST_ATOMS = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive:
    """Measure the tables that a growing model fits worst.

    Guarantee: see Notes.
    """

    name: ClassVar[str] = "Adaptive"
    summary: ClassVar[str] = "tables of two and three columns, chosen one by one (default for three columns or more)"
    relations: ClassVar[tuple[Relation, ...]] = ("add-remove", "replace-one")

    one_way_share: float | None = None
    tree_share: float = 0.3
    selection_share: float = 0.05
    resolutions: tuple[int, ...] = RESOLUTIONS
    particles: int | None = None
    rounds: int | None = None
    winners: int | None = None

    @classmethod
    def small(cls) -> "Adaptive":
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(particles=20, rounds=3, resolutions=(3, 2))

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return weighted particles, spending ``budget``."""
        plan = _Shares.of(self, schema, budget)
        tables = ask_one_way(curator, schema, _groupings(schema), plan.one_way, _by_width(schema))
        total = pooled_total(tables, curator.terms.rows)
        records = max(1.0, total)
        columns = tuple(
            resolved_column(table, field, records, self.resolutions)
            for table, field in zip(tables, schema.columns, strict=True)
        )
        fit = _Fit.start(columns, records, rng, self.particles or 20_000)
        left = budget - plan.one_way
        if len(columns) > 1:
            fit, left = _with_tree(curator, fit, plan, left)
            fit = _with_rounds(curator, fit, plan, left)
        atoms = min(_MOST_ATOMS, max(fit.cloud.size, 2 * round(total)))
        if self.particles and self.particles < 1000:
            atoms = self.particles
        cloud, factors = finished(fit.axes, fit.cloud, fit.factors, records, rng, size=atoms)
        return cloud_as_model(columns, cloud, factors, round(total))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shares:
    """What each step may cost; functions of schema, settings and budget alone."""

    one_way: Budget
    edge: Budget
    rounds: int
    winners: int
    selection: Fraction

    @classmethod
    def of(cls, settings: Adaptive, schema: Schema, budget: Budget) -> "_Shares":
        d = len(schema.columns)
        share = _exact(settings.one_way_share if settings.one_way_share is not None else 0.2)
        if d == 1:
            share = Fraction(1)
        one_way = budget * share
        rest = budget - one_way
        edge = rest * (_exact(settings.tree_share) / max(1, d - 1)) if d > 1 else rest
        rounds = settings.rounds or (50 if budget.notion == "zcdp" else 24)
        winners = settings.winners or max(1, d // 20)
        return cls(
            one_way=one_way, edge=edge, rounds=rounds, winners=winners, selection=_exact(settings.selection_share)
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Fit:
    """The model between two rounds."""

    columns: tuple[ResolvedColumn, ...]
    cloud: Cloud
    factors: tuple[Factor, ...]
    total: float
    rng: np.random.Generator

    @property
    def axes(self) -> list[Axis]:
        return [column.axis for column in self.columns]

    @classmethod
    def start(cls, columns: tuple[ResolvedColumn, ...], total: float, rng: np.random.Generator, size: int) -> "_Fit":
        """Return independent columns."""
        factors = tuple(
            Factor(
                table=((place, 0),),
                target=column.axis.base * (total / column.axis.base.sum()),
                sd=column.sd,
                theta=np.zeros(column.axis.base.size),
            )
            for place, column in enumerate(columns)
        )
        groups = drawn_from_tree([column.axis for column in columns], (), total, size, rng)
        return cls(columns=columns, cloud=Cloud(groups, np.zeros(size)), factors=factors, total=total, rng=rng)

    def counts(self, tables: Sequence[Cells]) -> np.ndarray:
        return marginals(self.axes, self.cloud, self.total, tables)

    def with_measured(self, table: Cells, answer: NoisyCounts) -> "_Fit":
        """Return the model with one more table, not yet fitted."""
        target, sd = without_misfits(self.columns, table, answer.counts), answer.noise.sd
        found = [factor for factor in self.factors if factor.table == table]
        if not found:
            new = Factor(table=table, target=target, sd=sd, theta=np.zeros(target.size))
            return replace(self, factors=(*self.factors, new))
        (old,) = found
        weight = sd**2 / (sd**2 + old.sd**2) if sd or old.sd else 0.5
        both = replace(
            old,
            target=weight * old.target + (1 - weight) * target,
            sd=sd * old.sd / math.hypot(sd, old.sd) if sd and old.sd else 0.0,
        )
        return replace(self, factors=tuple(both if factor is old else factor for factor in self.factors))

    def fitted(self, *, is_due: bool) -> "_Fit":
        cloud, factors = fitted(self.axes, self.cloud, self.factors, self.total, self.rng, is_due=is_due)
        return replace(self, cloud=cloud, factors=factors)


def _with_tree(curator: Curator, fit: _Fit, plan: _Shares, left: Budget) -> tuple[_Fit, Budget]:
    """Select and measure a spanning tree of pairs, and draw the particles from it."""
    pairs = pair_tables(fit.columns)
    axes = fit.axes
    group = list(range(len(axes)))
    edges: list[Factor] = []
    independent = _products(axes, fit.total)
    while True:
        open_pairs = [t for t in pairs if group[t[0][0]] != group[t[1][0]]]
        if not open_pairs:
            break
        candidates = candidates_of(fit.columns, open_pairs)
        bias = _bias(curator, candidates, plan, plan.edge)
        select = candidates.question(
            np.concatenate([independent(t) for t in open_pairs]), bias, plan.edge * plan.selection
        )
        (selected,) = curator.ask(select)
        table = open_pairs[selected.choice]
        cost = Budget(left.notion, rounded_down(plan.edge.amount - select.cost.amount))
        (answer,) = curator.ask(measurement(fit.columns, table, cost))
        left = left - select.cost - cost
        edges.append(
            Factor(
                table=table,
                target=without_misfits(fit.columns, table, answer.counts),
                sd=answer.noise.sd,
                theta=np.zeros(0),
            )
        )
        one, two = group[table[0][0]], group[table[1][0]]
        group = [one if each == two else each for each in group]
    cloud = Cloud(drawn_from_tree(axes, edges, fit.total, fit.cloud.size, fit.rng), np.zeros(fit.cloud.size))
    factors = (*fit.factors, *tree_factors(axes, edges, fit.total))
    cloud, factors, _ = raked(axes, cloud, factors, fit.total, sweeps=4)
    return replace(fit, cloud=cloud, factors=factors), left


def _products(axes: Sequence[Axis], total: float):
    masses = [[np.bincount(level, axis.base / axis.base.sum()) for level in axis.levels] for axis in axes]

    def product(table: Cells) -> np.ndarray:
        (a, la), (b, lb) = table
        return np.outer(masses[a][la], masses[b][lb]).reshape(-1) * total

    return product


def _with_rounds(curator: Curator, fit: _Fit, plan: _Shares, left: Budget) -> _Fit:
    pairs = pair_tables(fit.columns)
    triples = all_triples(len(fit.columns))
    candidates = candidates_of(fit.columns, [*pairs, *triple_tables(fit.columns, triples)])
    each = left / (plan.rounds * plan.winners)
    done = 0
    grown: list = []
    while left.amount > 0:
        moved = noise = 0.0
        if len(fit.columns) > 30:
            sets = grown_triples([tuple(c for c, _ in f.table) for f in fit.factors if len(f.table) == 2])
            if sets != grown:
                grown = sets
                candidates = candidates_of(fit.columns, [*pairs, *triple_tables(fit.columns, grown)])
        counts = fit.counts(candidates.tables)
        offsets = np.concatenate(([0], np.cumsum(candidates.cells)))
        before = fit
        for _ in range(plan.winners):
            spend = each if left.amount >= each.amount * Fraction(3, 2) else left
            bias = _bias(curator, candidates, plan, spend)
            select = candidates.question(counts, bias, spend * plan.selection)
            (selected,) = curator.ask(select)
            table = candidates.tables[selected.choice]
            cost = spend - select.cost
            if spend is not left:
                cost = Budget(left.notion, rounded_down(cost.amount))
            (answer,) = curator.ask(measurement(fit.columns, table, cost))
            left = left - select.cost - cost
            fit = fit.with_measured(table, answer)
            old = counts[offsets[selected.choice] : offsets[selected.choice + 1]]
            noise += mean_absolute(answer.noise) * old.size
            moved -= 0
            last = (table, old)
            if left.amount <= 0:
                break
        done += 1
        fit = fit.fitted(is_due=done % _REFRESH_EVERY == 0)
        moved = np.abs(fit.counts([last[0]]) - last[1]).sum()
        if moved < mean_absolute(answer.noise) * last[1].size:
            each = each * (4 if left.notion == "zcdp" else 2)
    return fit


def _bias(curator: Curator, candidates: Candidates, plan: _Shares, spend: Budget) -> float:
    """Return the expected absolute noise of a cell of a table that is measured for this cost."""
    cost = spend * (1 - plan.selection)
    return mean_absolute(
        measurement(candidates.columns, candidates.tables[0], cost).noise(
            curator.terms.relation, curator.terms.max_rows
        )
    )


def _groupings(schema: Schema):
    return {column.name: one_way_grouping(column, 128) for column in schema.columns}


def _by_width(schema: Schema) -> list[Fraction]:
    """Return shares of the one-way tables in proportion to the square root of their cells."""
    return [Fraction(math.isqrt(10_000 * grouping.groups), 100) for grouping in _groupings(schema).values()]


def _exact(share: float) -> Fraction:
    return Fraction(str(share))
