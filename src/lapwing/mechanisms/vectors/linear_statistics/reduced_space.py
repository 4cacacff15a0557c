"""The reduced space of linear statistics: points of the domain, drawn from a known distribution.

That distribution is bought with a part of the budget, uniform, or public; a part of the points is always uniform, so
that each cell has some.
"""

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from lapwing.engine.particles import fitted, heated, independent, ridge_of
from lapwing.engine.tables import Axis, Factor
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.shared.one_way import (
    is_refined,
    one_way_grouping,
    one_way_questions,
    pooled_total,
    product_model,
    public_cells,
    told_counts,
)
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.mechanisms.shared.vectors.model import box_cells, details_and_rest, microaggregated_model, planned_cells
from lapwing.model.model import ReleasedModel, Spans
from lapwing.model.rows import sample_codes
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, cut, identity
from lapwing.schema.schemas import Schema

MeasuredMu = Literal["microaggregation", "tree", "product"]
Mu = Literal["microaggregation", "tree", "product", "uniform"]

MuQuestion = MarginalCounts | SecondMoment | CellSums

ONE_WAY_GROUPS: Final = 128  # about how many groups ordered columns of a product have


def measured_mu(
    curator: Curator, schema: Schema, budget: Budget, kind: tuple[MeasuredMu, int], rng: np.random.Generator
) -> ReleasedModel:
    """Spend a budget on a model whose rows lie where the table's rows lie."""
    name, count = kind
    if name == "microaggregation":
        return microaggregated_model(curator, schema, box_cells(schema), budget)
    if name == "product":
        return product_model(curator, schema, one_way_groupings(schema, ONE_WAY_GROUPS), budget)
    return tree_points(curator, schema, budget, count, rng)


def planned_mu(schema: Schema, budget: Budget, terms: Terms, kind: MeasuredMu, rows: float) -> tuple[MuQuestion, ...]:
    """Return the questions that `measured_mu` would ask for an expected number of rows; parameters as there."""
    if kind == "microaggregation":
        cells = box_cells(schema)
        details, left = details_and_rest(schema, cells.coordinates, budget)
        return (*details, *planned_cells(cells.coordinates, left, terms, cells.settings, rows)[0])
    if kind == "product":
        return one_way_questions(schema, one_way_groupings(schema, ONE_WAY_GROUPS), budget)
    return tree_questions(schema, budget)


def one_way_groupings(schema: Schema, groups: int) -> dict[str, Grouping]:
    """Return the public grouping of each column into about so many groups."""
    return {field.name: one_way_grouping(field, groups) for field in schema.columns}


def drawn_points(
    mu: ReleasedModel | PublicRows | None,
    schema: Schema,
    groupings: Mapping[str, Grouping],
    shape: tuple[int, float],
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Draw the points of the reduced space.

    mu: where most points lie; None for none but uniform ones; groupings: uniform points are uniform on the groups of
    each column, and inside a group on its codes; shape: number m of points, at least 1, and the part of them that is
    uniform. Returns dict of str to int64 (m,), codes. Points of a model are one systematic sample of it, so each has
    its law; public rows are drawn with replacement.
    """
    count, mixed = shape
    uniform = count if mu is None else round(mixed * count)
    found = {
        field.name: _uniform(groupings[field.name], field.domain.missing, uniform, rng) for field in schema.columns
    }
    if mu is None or uniform == count:
        return found
    if isinstance(mu, PublicRows):
        place = rng.integers(mu.rows, size=count - uniform)
        drawn = {name: mu.codes[name][place] for name in found}
    else:
        (drawn,) = sample_codes(mu, schema, count - uniform, rng)
    return {name: np.concatenate((drawn[name].astype(np.int64), codes)) for name, codes in found.items()}


def _uniform(grouping: Grouping, missing: bool, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return codes of groups that are equally likely; the last group only where it means missing."""
    starts, stops, _ = grouping.pieces()
    last = starts.size if missing else starts.size - 1
    place = rng.integers(last, size=count)
    return rng.integers(starts[place], stops[place])


# -- Points that follow all pairs: each pair of columns is counted in coarse groups; particles move towards the tables.


FINE_CELLS: Final = 128  # about how many cells a wide ordered column is counted in by itself
PAIR_GROUPS: Final = 8  # about how many groups an ordered column has in pairs
ONE_WAY_RIDGE: Final = 0.3  # ridge of a column by itself, in standard deviations of its noise
FLOOR: Final = 0.3  # counts that a group has at least, so that nothing becomes impossible because of noise
ONE_WAY_SHARE: Final = Fraction(1, 5)  # part of the budget for columns by themselves, where there are pairs


def tree_points(
    curator: Curator, schema: Schema, budget: Budget, count: int, rng: np.random.Generator
) -> ReleasedModel:
    """Spend a budget on pairs of columns, and move points until they follow them."""
    answers = curator.ask(*tree_questions(schema, budget))
    alone, pairs = answers[: len(schema.columns)], answers[len(schema.columns) :]
    total = max(1.0, pooled_total(alone, curator.terms.rows))
    axes = [_axis(field, answer, total) for field, answer in zip(schema.columns, alone, strict=True)]
    factors = [*_one_way(axes, alone, total), *_pairs(schema, axes, pairs, total)]
    groups, _ = fitted(axes, independent(axes, count, rng), factors, total, rng, pulls=heated())
    laws = {}
    for place, (field, grouping) in enumerate(fine_groupings(schema).items()):
        starts, stops, _ = grouping.pieces()
        laws[field] = Spans(starts[groups[place]], stops[groups[place]])
    rows = curator.terms.rows
    return ReleasedModel(weights=np.ones(count), rows=round(total) if rows is None else rows, laws=laws)


def tree_questions(schema: Schema, budget: Budget) -> tuple[MarginalCounts, ...]:
    """Return the questions of `tree_points`: one for each column, then one for each pair."""
    pairs = list(itertools.combinations(schema.columns, 2))
    of_columns, of_pairs = budget.split([ONE_WAY_SHARE, 1 - ONE_WAY_SHARE] if pairs else [1, 0])
    asked = one_way_questions(schema, fine_groupings(schema), of_columns)
    return asked + tuple(
        MarginalCounts(
            columns=(one.name, other.name),
            groupings=(one_way_grouping(one, PAIR_GROUPS), one_way_grouping(other, PAIR_GROUPS)),
            cost=of_pairs / len(pairs),
        )
        for one, other in pairs
    )


def fine_groupings(schema: Schema) -> Mapping[str, Grouping]:
    """Return the groups of each column by itself; each lies inside one group of the pairs."""
    return {field.name: _fine(field) for field in schema.columns}


def _fine(field: Field) -> Grouping:
    """Return small cells of a wide ordered column, values of others."""
    if not is_refined(field):
        return identity(field.domain)
    return cut(
        field.domain, np.union1d(one_way_grouping(field, PAIR_GROUPS).cuts, public_cells(field, FINE_CELLS).cuts)
    )


def _axis(field: Field, answer: NoisyCounts, total: float) -> Axis:
    """Return a column as the tree sees it: positive masses of its fine groups, and the group of each in pairs."""
    (fine,) = answer.question.groupings
    seen = fine.groups if field.domain.missing else fine.groups - 1  # no point has the misfit code
    masses = np.maximum(project_to_simplex(told_counts(answer)[:seen], total), FLOOR)
    coarse = one_way_grouping(field, PAIR_GROUPS).apply(fine.pieces()[0][:seen])
    return Axis(masses, (np.arange(seen), np.asarray(coarse)))


def _one_way(axes: Sequence[Axis], alone: Sequence[NoisyCounts], total: float) -> list[Factor]:
    """Return each column by itself, in the groups that pairs have."""
    found = []
    for place, (axis, answer) in enumerate(zip(axes, alone, strict=True)):
        target = np.bincount(axis.levels[1], axis.base * (total / axis.base.sum()), axis.sizes[1])
        spread = (axis.base.size / target.size) ** 0.5
        ridge = ONE_WAY_RIDGE * answer.noise.sd * spread
        found.append(Factor(table=((place, 1),), theta=np.zeros(target.size), target=target, ridge=ridge))
    return found


def _pairs(schema: Schema, axes: Sequence[Axis], pairs: Sequence[NoisyCounts], total: float) -> list[Factor]:
    """Return the pairs that noise alone does not explain, without misfits, which no point has."""
    places = {field.name: place for place, field in enumerate(schema.columns)}
    found = []
    for answer in pairs:
        one, other = (places[name] for name in answer.question.columns)
        counts = answer.counts
        for axis, place in enumerate((one, other)):
            if not schema.columns[place].domain.missing:
                counts = np.delete(counts, -1, axis=axis)
        table, target = ((one, 1), (other, 1)), counts.ravel().astype(np.float64)
        joint = project_to_simplex(target, total).reshape(counts.shape)
        product = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / total
        if np.abs(joint - product).sum() <= counts.size * answer.noise.mean_absolute:
            continue
        ridge = ridge_of(axes, table, target, answer.noise.sd)
        found.append(Factor(table=table, theta=np.zeros(target.size), target=target, ridge=ridge))
    return found
