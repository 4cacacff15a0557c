"""One ordered column: the tree of counts that PMM asks for, then a search of its heaviest cells for single values.

ask -> fit -> model: a first look, which tells misfits; noisy counts of nested cells; which values stand alone in cells
of many rows. Rows of a cell that holds such a value are its, as far as its own count says so; the others lie anywhere.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.cells import least_found
from lapwing.mechanisms.adaptive.columns import PRESENT
from lapwing.mechanisms.adaptive.search import SOUGHT_DEVIATIONS, Search, begun
from lapwing.mechanisms.shared.one_way import told_rows
from lapwing.mechanisms.shared.trees.accuracy import counted_tree, noise_tree, planned_statements, released_statements
from lapwing.mechanisms.shared.trees.model import cells_as_model, fitted_leaves, has_exact_root, known_root
from lapwing.mechanisms.shared.trees.plans import default_plan, tree_shapes
from lapwing.model.certificate.cost_lines import PlannedQuestion
from lapwing.model.certificate.statements import Statement
from lapwing.model.laws import Laws
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import cut
from lapwing.schema.schemas import Schema

LOOK: Final = Fraction(3, 100)
"""Part of the budget for one count of all regular values, beside misfits and reserved ones."""

SEARCH: Final = Fraction(7, 100)
"""Part for the search, where the tree does not end in single values."""

SURE: Final = 1000
"""A value is found where the largest of so many times as many noises would hardly be so large."""

MAX_NODES: Final = 2**22
_TINY: Final = 1e-12

Line = tuple[MarginalCounts, TreeCounts, Budget | None]
"""The first look, the tree, and what a search may cost."""


def line_model(
    curator: Curator, schema: Schema, budget: Budget, rows: float, rng: np.random.Generator
) -> ReleasedModel:
    """Return one atom per leaf with rows; rows: a number that may be known."""
    terms, (field,) = curator.terms, schema.columns
    look, tree, left = line_questions(schema, budget, terms, rows)
    curator.ask(look)
    (noisy,) = curator.ask(tree)
    assert isinstance(noisy, NoisyTree)
    leaves: np.ndarray = fitted_leaves(noisy, known_root(tree, terms.rows, None), rng)
    cells = _regular_cells(tree, field)
    states = leaves[cells[0].size :]
    states[states < PRESENT * min(law.sd for law in noisy.noises if law is not None)] = 0  # noise explains them
    model = cells_as_model(schema, tree, leaves, terms.rows, "uniform")
    masses = leaves[: cells[0].size].astype(np.float64)
    search = None if left is None else begun(field, cells, masses, left, terms)
    if search is None:
        return model
    found, sd = _found(curator, field, search)
    if not found.starts.size:
        return model
    at = np.searchsorted(cells[0], found.starts, "right") - 1
    rest = masses.sum() - found.counts.sum()
    if rest < SOUGHT_DEVIATIONS * sd * found.starts.size**0.5:  # noise may explain all other rows
        gathered = np.bincount(at, found.counts * masses.sum() / found.counts.sum(), leaves.size)
        gathered[cells[0].size :] = leaves[cells[0].size :]
        leaves = gathered
        model = replace(cells_as_model(schema, tree, leaves, terms.rows, "uniform"), rows=model.rows)
    law = model.laws[field.name]
    assert isinstance(law, Indexed)
    laws = {field.name: Indexed(law.index, _with_values(law.laws, leaves, at, found, sd))}
    return ReleasedModel(weights=model.weights, rows=model.rows, laws=laws)


def _regular_cells(tree: TreeCounts, field: Field) -> tuple[np.ndarray, np.ndarray]:
    """Return the first code of each leaf of regular values, which are the first leaves, and the one after its last."""
    (nested,) = tree.hierarchies
    starts, stops = nested.starts(nested.depth), nested.stops(nested.depth)
    is_regular = starts < field.domain.values
    return starts[is_regular], np.minimum(stops[is_regular], field.domain.values)


def line_questions(schema: Schema, budget: Budget, terms: Terms, rows: float) -> Line:
    """Return the first questions, and the budget of the search: none where the tree ends in single values."""
    (field,) = schema.columns
    shapes = tree_shapes(schema, None, MAX_NODES, is_paper=False)
    of_look, of_tree, of_search = budget.split([LOOK, 1 - LOOK - SEARCH, SEARCH])
    look = MarginalCounts(
        columns=(field.name,), groupings=(cut(field.domain, ()),), cost=of_look, apart=field.domain.missing
    )
    (nested,) = (tree := default_plan(shapes, terms, of_tree, None, rows).question(schema, of_tree)).hierarchies
    if (nested.stops(nested.depth) - nested.starts(nested.depth) > 1).any():
        return look, tree, of_search
    both = Budget(budget.notion, of_tree.amount + of_search.amount)
    return look, default_plan(shapes, terms, both, None, rows).question(schema, both), None


def planned_line(schema: Schema, budget: Budget, terms: Terms, rows: float) -> tuple[MarginalCounts | TreeCounts, ...]:
    """Return what `line_model` asks, a search as one question."""
    look, tree, left = line_questions(schema, budget, terms, rows)
    search = () if left is None else (MarginalCounts(columns=look.columns, groupings=look.groupings, cost=left),)
    return (look, tree, *search)


def expected_line(
    schema: Schema, questions: Sequence[PlannedQuestion], terms: Terms, rng: np.random.Generator
) -> tuple[Statement, ...]:
    """Return the distance to expect of what `planned_line` asks."""
    (tree,) = (each for each in questions if isinstance(each, TreeCounts))
    laws = tree.noises(terms.relation, terms.max_rows)
    is_root_exact = terms.rows is not None and tree.costs[0] is None and has_exact_root(tree)
    of_noise = noise_tree(tree, laws, schema, is_root_exact=is_root_exact)
    return planned_statements(tree, of_noise, float(told_rows(terms)), rng)


def line_statements(
    schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
) -> tuple[Statement, ...]:
    """State how far the model is from the table: values that stand alone move rows in their cells, as centres do."""
    noisy = next(answer for answer in answers if isinstance(answer, NoisyTree))
    is_root_exact = terms.rows is not None and has_exact_root(noisy.question)
    tree = noise_tree(noisy.question, noisy.noises, schema, is_root_exact=is_root_exact)
    counted = counted_tree(noisy, tree, schema, terms.rows)
    return released_statements(noisy, tree, counted, model, placement="centre", rng=rng)


def _found(curator: Curator, field: Field, search: Search) -> tuple[Search, float]:
    """Return the single values that stand out, and the noise on their counts."""
    least, sd = 0.0, 0.0
    while search.steps:
        (answer,) = curator.ask(search.question(field))
        assert isinstance(answer, NoisyCounts)
        search, sd = search.narrowed(answer), answer.noise.sd
        least = max(least, least_found(SURE * answer.counts.size, answer.noise))
    is_single = (search.stops - search.starts == 1) & (search.counts > least)
    kept = (each[is_single] for each in (search.starts, search.stops, search.counts))
    return replace(search, **dict(zip(("starts", "stops", "counts"), kept, strict=True))), sd


def _with_values(laws: Laws, leaves: np.ndarray, at: np.ndarray, found: Search, sd: float) -> Laws:
    """Return laws of one piece each with the values found in them; all of a cell where noise may explain the rest."""
    sums = np.bincount(at, found.counts, leaves.size)[at]
    noise = SOUGHT_DEVIATIONS * sd * np.bincount(at, minlength=leaves.size)[at] ** 0.5
    parts = found.counts / np.where(leaves[at] - sums < noise, sums, np.maximum(leaves[at], 1))
    rest = 1 - np.bincount(at, parts, leaves.size)
    leaf = np.concatenate((np.arange(leaves.size), at))
    shares = np.concatenate((np.where(rest > _TINY, rest, 0.0), parts))
    starts, stops = np.concatenate((laws.starts, found.starts)), np.concatenate((laws.stops, found.stops))
    kept = np.flatnonzero(shares > 0)
    kept = kept[np.argsort(leaf[kept], kind="stable")]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(leaf[kept], minlength=leaves.size))))
    return Laws(offsets, starts[kept], stops[kept], shares[kept])
