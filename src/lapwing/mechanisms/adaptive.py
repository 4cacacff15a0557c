"""Adaptive: tables at several resolutions, chosen one by one, and a cloud of particles fitted to them.

ask -> solve -> model, many times: one-way tables; a spanning tree of pairs; then rounds that choose the table which the
model fits worst, measure it, and fit again. The default for three columns or more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.errors import ParameterError, SchemaError
from lapwing.mechanisms.steps.adaptive_costs import Costs, Shares, divided, particles_for, planned_release
from lapwing.mechanisms.steps.candidate_tables import (
    MOST_TRIPLE_COLUMNS,
    Candidates,
    GrowingTriples,
    candidates_of,
    measurement,
    pair_tables,
    preferred_tables,
    product_counts,
    rounded_down,
)
from lapwing.mechanisms.steps.hard_zeros import class_groupings, hard_zeros
from lapwing.mechanisms.steps.one_way import known_rows
from lapwing.mechanisms.steps.particle_fit import Fit, finished, fit_as_model, measured, refitted, tree_fit, with_factor
from lapwing.mechanisms.steps.public_factors import public_factors
from lapwing.mechanisms.steps.refined_columns import ask_columns
from lapwing.mechanisms.steps.resolved_columns import ResolvedColumn, resolved_column
from lapwing.mechanisms.steps.rule_start import bound_counts, linked, rule_fit
from lapwing.numerics.hard_zeros import HardZeros
from lapwing.numerics.log_linear import Cells, Factor
from lapwing.release.curator import Curator
from lapwing.release.model import ReleasedModel
from lapwing.release.planned import Planned
from lapwing.release.questions import NoisyCounts
from lapwing.release.select_worst import SelectWorst
from lapwing.release.terms import Relation, Terms
from lapwing.schema.scalars import told
from lapwing.schema.schemas import Schema

RESOLUTIONS = (32, 16, 8, 4)
"""Most groups of a column at each level."""

_Wanted = tuple[frozenset[int], tuple[frozenset[int], ...]]
"""Columns, and tables, that matter more, by position."""

_NOBODY: _Wanted = (frozenset(), ())
_REFRESH_EVERY = 3
_MOST_LEVELS = 6
_COARSEST = 16  # so that pairs of columns with up to 47 special values are small enough to compete
_LAST = Fraction(3, 2)  # what is left of the budget is one table's when it is less than so many
_MEAN_ABSOLUTE = 0.8  # of noise, in standard deviations: 0.798 Gaussian, 0.71 Laplace


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive:
    """Measure the tables that a growing model fits worst.

    Parameters
    ----------
    one_way_share : float or None, default None
        Least part of the budget for the one-way tables, 0.001 to 0.999: by default 0.2, or 0.3 under pure ε. Where the
        number of rows (public, expected, or bought with 2 % of the budget) shows that tables of two columns would drown
        in noise, they get more, up to all of it; then up to a quarter buys a tree of tables which tell only what is
        missing or special in two columns, if these would not drown.
    tree_share : float, default 0.3
        Part of the rest for the spanning tree of pairs, 0.001 to 0.999.
    selection_share : float or None, default None
        Part of each later step that pays for choosing the table, 0.001 to 0.999; the rest measures it. By default 0.05,
        or 0.15 under pure ε, and 0.4 in a tree of what is missing together (see ``one_way_share``).
    resolutions : tuple of int or None, default None
        Most groups of a column at each level, 2 to 64, decreasing to at most 16, at most 6 levels: by default
        (32, 16, 8, 4), and (16, 8, 4) for more than 30 columns. Missing and special values are groups of their own
        beside them. Pairs compete at every level, triples at the last.
    particles : int or None, default None
        Particles during the fit, 16 to 400,000. By default ``n**2 / (256 sd**2)`` within 20,000 to 60,000, for n noisy
        records and tables measured with noise of that sd: their own noise stays below the tables'.
    rounds : int or None, default None
        Rounds that are planned, 1 to 1000: 50, or 24 under pure ε, and half of that for more than 30 columns; fewer are
        made when the model no longer moves.
    workload : tuple of str or of tuples of str, default ()
        Columns, or tables given by their columns, that matter more: every second round only tables that contain such a
        column, or lie within such a table, compete. The schema's survey weight is such a column by itself.
    target : str or None, default None
        A column whose dependence on the others matters most; the same as this column in ``workload``.

    Raises
    ------
    ParameterError
        If a setting is outside its range.
    SchemaError
        When run, if the workload or target names a column that the schema does not model.

    Notes
    -----
    Guarantee: ε-DP, or ρ-zCDP, at the sum of the costs of all questions, never more than ``budget``, for add-remove and
    replace-one neighbours and any number of rows per unit. Each question's cost is checked before any row is read, and
    the next cost may depend on earlier answers (filters: Rogers et al. 2016; Whitehouse et al. 2023).

    Expected error: no bound is proved for the whole; the certificate names the noise on every table. Time, beside
    counting: ``O(rounds m (tables + d**2))`` for m particles, d columns; memory ``O(m d)`` and the candidates' cells.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", linear statistics on a
    reduced space; McKenna, Mullins, Sheldon, Miklau (2022), AIM, for selecting by misfit. What we changed: the
    density of most entropy; the reduced space is a cloud of particles redrawn as the model grows; tables at several
    resolutions compete with unweighted scores; a spanning tree comes first.

    Examples
    --------
    >>> Adaptive(target="income").rounds is None
    True
    """

    name: ClassVar[str] = "Adaptive"
    summary: ClassVar[str] = "tables of two and three columns, chosen one by one (default for three columns or more)"
    relations: ClassVar[tuple[Relation, ...]] = ("add-remove", "replace-one")

    one_way_share: float | None = None
    tree_share: float = 0.3
    selection_share: float | None = None
    resolutions: tuple[int, ...] | None = None
    particles: int | None = None
    rounds: int | None = None
    workload: tuple[str | tuple[str, ...], ...] = ()
    target: str | None = None

    def __post_init__(self) -> None:
        for key in ("one_way_share", "tree_share", "selection_share"):
            share = getattr(self, key)
            if share is None and key != "tree_share":
                continue
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0.001 <= share <= 0.999:
                raise ParameterError(
                    f"{key} must be a number from 0.001 to 0.999, got {told(share)}; leave it out", code="LW301"
                )
        for key in ("resolutions", "workload"):
            value = getattr(self, key)
            if value is not None and not isinstance(value, list | tuple):
                raise ParameterError(f"{key} must be a list, got {told(value)}; write it in brackets", code="LW304")
        _check_target(self.target)
        if self.resolutions is not None:
            object.__setattr__(self, "resolutions", tuple(self.resolutions))
            _check_resolutions(self.resolutions)
        object.__setattr__(self, "workload", tuple(_entry(entry) for entry in self.workload))
        for key, low, high in (("particles", 16, 400_000), ("rounds", 1, 1000)):
            value = getattr(self, key)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high
            ):
                raise ParameterError(
                    f"{key} must be a whole number from {low} to {high}, got {told(value)}; leave it out",
                    code="LW302",
                )

    @classmethod
    def small(cls) -> "Adaptive":
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(particles=64, rounds=2, resolutions=(3, 2))

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return weighted particles, spending ``budget``.

        Parameters
        ----------
        curator : Curator
            Answers the questions.
        schema : Schema
            With at least one modelled column.
        budget : Budget
            Pure ε or zCDP.
        rng : numpy.random.Generator
            Draws the particles.

        Returns
        -------
        ReleasedModel
            With a log-linear part. Nearly uniform where the noisy number of rows is 0 or less.
        """
        wanted = self._wanted(schema)
        known, left = known_rows(curator, budget)
        costs = self.costs_of(schema, left, known, curator.terms)
        tables, total = ask_columns(curator, schema, costs.one_way_costs)
        records = max(1.0, total)
        refining = class_groupings(schema)
        columns = tuple(
            resolved_column(table, field, records, self.levels_of(schema), refining.get(field.name, ()))
            for table, field in zip(tables, schema.columns, strict=True)
        )
        particles = self.particles or particles_for(total, costs, curator.terms)

        public = public_factors(columns, schema, records)
        start = rule_fit(columns, records, rng, size=particles, zeros=hard_zeros(schema, columns), public=public)
        zeros, free = linked(start)
        asking = _Asking(curator, columns if start is None else start.columns, costs, wanted, zeros)
        edges, left = _tree(asking, left - costs.one_way, records, start, free)
        fit = tree_fit(asking.columns, edges, records, rng, size=particles, zeros=zeros, free=free, public=public)
        fit = _rounds(asking, fit, left, rng)
        fit = finished(fit, rng, size=costs.atoms(total, particles))
        return fit_as_model(fit, round(total))

    def plan(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> Planned:  # noqa: ARG002
        """Return what `run` would ask when nothing is annealed, and the noise of its tables.

        Parameters
        ----------
        schema, budget
            As for `run`.
        terms : Terms
            With a public or expected number of rows.
        rng : numpy.random.Generator
            Not needed: nothing is simulated.
        """
        self._wanted(schema)
        rows = float(terms.rows if terms.rows is not None else terms.expected_rows or 1)
        costs = self.costs_of(schema, budget, rows, terms)
        return planned_release(schema, costs, terms, self.levels_of(schema))

    def levels_of(self, schema: Schema) -> tuple[int, ...]:
        """Return the resolutions: fewer for wide tables, so that they stay quick."""
        return self.resolutions or (RESOLUTIONS if len(schema.columns) <= MOST_TRIPLE_COLUMNS else RESOLUTIONS[1:])

    def costs_of(self, schema: Schema, budget: Budget, rows: float, terms: Terms) -> Costs:
        """Divide the budget, now that a number of rows is known.

        Parameters
        ----------
        schema, budget
            As for `run`, less what the number of rows cost.
        rows : float
            Public, expected or noisy; at least 1.
        terms : Terms
            Of the release.

        Returns
        -------
        Costs
        """
        shares = Shares(
            one_way=self.one_way_share,
            tree=self.tree_share,
            selection=self.selection_share,
            rounds=self.rounds,
            levels=self.levels_of(schema),
        )
        return divided(schema, budget, rows, terms, shares)

    def _wanted(self, schema: Schema) -> _Wanted:
        """Return the columns and tables that matter more, by position; refuse names that the schema lacks."""
        places = {column.name: place for place, column in enumerate(schema.columns)}
        entries = (*self.workload, *(name for name in (self.target, schema.weight) if name is not None))
        named = [name for entry in entries for name in ([entry] if isinstance(entry, str) else entry)]
        unknown = [name for name in named if name not in places]
        if unknown:
            raise SchemaError(
                f"workload or target names {unknown[0]!r}, which is no modelled column; see the schema", code="LW219"
            )
        columns = frozenset(places[entry] for entry in entries if isinstance(entry, str))
        tables = tuple(frozenset(places[name] for name in entry) for entry in entries if not isinstance(entry, str))
        return columns, tables


@dataclass(frozen=True, slots=True, eq=False)
class _Asking:
    """Whom a step asks, about which columns, at which costs, what matters more, and what rules leave empty."""

    curator: Curator
    columns: tuple[ResolvedColumn, ...]
    costs: Costs
    wanted: _Wanted
    zeros: HardZeros | None = None

    def choose(self, candidates: Candidates, counts: np.ndarray, cost: Budget) -> tuple[int, Budget]:
        """Choose a table that a model with these counts fits worst; return its number and what is left of ``cost``."""
        terms = self.curator.terms
        law = measurement(self.columns, candidates.tables[0], cost * (1 - self.costs.selection)).noise(
            terms.relation, terms.max_rows
        )
        question: SelectWorst = candidates.question(counts, law.mean_absolute, cost * self.costs.selection)
        (selected,) = self.curator.ask(question)
        return selected.choice, cost - question.cost

    def measure(self, table: Cells, cost: Budget) -> NoisyCounts:
        """Measure a table."""
        (answer,) = self.curator.ask(measurement(self.columns, table, cost))
        return answer

    def factor(self, table: Cells, cost: Budget, expected: np.ndarray) -> Factor:
        """Measure a table of which a model expects these counts; return it as a factor."""
        return measured(self.columns, table, self.measure(table, cost), expected, self.zeros)


def _tree(
    asking: _Asking, left: Budget, total: float, start: Fit | None, free: Sequence[Factor]
) -> tuple[list[Factor], Budget]:
    """Choose and measure pairs until they span all columns; return them and the budget that is left."""
    columns, edge = asking.columns, asking.costs.edge
    group = list(range(len(columns)))
    for factor in free:
        one, two = (group[column] for column, _ in factor.table)
        group = [one if each == two else each for each in group]
    pairs = pair_tables(columns, asking.costs.most_cells)
    counts = {table: product_counts(columns, table, total) for table in pairs} | bound_counts(start, pairs)
    edges: list[Factor] = []
    for number in range(asking.costs.edges if left.amount else 0):
        open_pairs = [table for table in pairs if group[table[0][0]] != group[table[1][0]]]
        if not open_pairs:  # pairs of columns with very many special values are too large to compete
            break
        candidates = candidates_of(columns, open_pairs, asking.zeros)
        expected = np.concatenate([counts[table] for table in open_pairs])
        is_last = not asking.costs.rounds and number == asking.costs.edges - 1
        price = left if is_last else edge
        choice, rest = asking.choose(candidates, expected, price)
        table = open_pairs[choice]
        cost = rest if is_last else Budget(rest.notion, rounded_down(rest.amount))
        edges.append(asking.factor(table, cost, counts[table]))
        left = left - (price - rest) - cost
        one, two = group[table[0][0]], group[table[1][0]]
        group = [one if each == two else each for each in group]
    return edges, left


def _rounds(asking: _Asking, fit: Fit, left: Budget, rng: np.random.Generator) -> Fit:
    """Choose, measure and fit until the budget is spent; a table gets more of it once the model stands still."""
    columns = asking.columns
    most = asking.costs.most_cells
    pairs = pair_tables(columns, most)
    triples = GrowingTriples(columns, most)
    step, done = asking.costs.table, 0
    while pairs and left.amount > 0:
        known = [tuple(column for column, _ in factor.table) for factor in fit.factors if len(factor.table) == 2]
        tables = [*pairs, *triples.over(known)]
        new, left = _measured_round(asking, fit, tables, step, left, wanted=asking.wanted if done % 2 else _NOBODY)
        done += 1
        for factor in new:
            fit = with_factor(fit, factor)
        before = [fit.counts([factor.table]) for factor in new]
        fit = refitted(fit, rng, is_due=done % _REFRESH_EVERY == 0)
        moved = sum(
            float(np.abs(fit.counts([factor.table]) - old).sum()) for factor, old in zip(new, before, strict=True)
        )
        if moved < sum(factor.sd * _MEAN_ABSOLUTE * factor.target.size for factor in new):
            step = step * asking.costs.annealing
    return fit


def _measured_round(
    asking: _Asking, fit: Fit, tables: list[Cells], step: Budget, left: Budget, *, wanted: _Wanted
) -> tuple[list[Factor], Budget]:
    """Choose and measure the tables of one round; the last of all gets what is left."""
    candidates = candidates_of(asking.columns, tables, asking.zeros)
    counts = fit.counts(tables)
    numbers = preferred_tables(candidates, *wanted)
    if numbers:
        counts = candidates.counts_of(counts, numbers)
        candidates = candidates_of(asking.columns, [tables[number] for number in numbers], asking.zeros)
    new: list[Factor] = []
    while len(new) < asking.costs.winners and left.amount > 0:
        is_last = left.amount < step.amount * _LAST
        cost = left if is_last else step
        choice, rest = asking.choose(candidates, counts, cost)
        paid = rest if is_last else Budget(rest.notion, rounded_down(rest.amount))
        table, expected = candidates.tables[choice], candidates.counts_of(counts, [choice])
        new.append(asking.factor(table, paid, expected))
        left = left - (cost - rest) - paid
    return new, left


def _check_resolutions(sizes: tuple[int, ...]) -> None:
    """Refuse levels that do not grow coarser, or are too many or too fine."""
    is_known = 1 <= len(sizes) <= _MOST_LEVELS and all(type(size) is int and 2 <= size <= 64 for size in sizes)
    if not is_known or list(sizes) != sorted(set(sizes), reverse=True) or sizes[-1] > _COARSEST:
        raise ParameterError(
            f"resolutions must be 1 to 6 decreasing numbers from 2 to 64, the last at most {_COARSEST}, "
            f"got {told(sizes)}",
            code="LW301",
        )


def _check_target(target: object) -> None:
    if not isinstance(target, str | None):
        raise ParameterError(f"target must be the name of a column, got {told(target)}; leave it out", code="LW304")


def _entry(entry: object) -> str | tuple[str, ...]:
    """Return an entry of a workload: a column, or the columns of a table."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, list | tuple) and entry and all(isinstance(name, str) for name in entry):
        return tuple(entry)
    raise ParameterError(
        f"workload must list columns, or tables as lists of columns, got {told(entry)}; name columns", code="LW304"
    )
