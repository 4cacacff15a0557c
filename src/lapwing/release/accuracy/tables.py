"""Bounds for the tables that the noisy answers of a release measured.

The noise of a table is independent of everything that was known when the table was asked for, also of the choice to ask
for it. So each bound below, for the table that was asked for at some place of the list, holds with its probability. The
first answer stands for columns that were counted again in the same groups later, because whether that happens can
depend on the noise of the first; see `lapwing.model.queries.intervals`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.errors import CapacityError
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.maths.noise_norms import absolute_noise, largest_noise
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.accuracy import MarginalAccuracy
from lapwing.model.model import ReleasedModel, Spans
from lapwing.model.queries.asked import TableNoise, count_errors, variation_bound
from lapwing.model.queries.intervals import runs_grouping
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.hierarchies import Hierarchy
from lapwing.schema.schemas import Schema

MOST_CELLS: Final = 2**20
"""Larger tables are measured, and not listed."""

MOST_TABLES: Final = 100
"""Tables that are listed: those with the most noise in all."""

_OF_SUM: Final = Fraction(1, 5)
_OF_EACH: Final = Fraction(2, 5)
"""How the failure of a distance is shared: the noise's sum; its largest value, and the sum of its absolute values."""

Counts = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTable:
    """Hold one noisy table of a release.

    place: 1 for the table that was asked for first; counts: from the model to its counts and the noisy ones, ndarrays
    of shape (k,); None where the model does not say; threshold: where smaller noisy counts were left out: then k is the
    number of those that were kept.
    """

    place: int
    columns: tuple[str, ...]
    level: int | None
    cells: int
    law: NoiseLaw
    counts: Callable[[ReleasedModel], Counts | None]
    threshold: int | None = None


def measured_tables(noisy: Sequence[Answer], schema: Schema) -> list[MeasuredTable]:
    """Return the tables of the answers, in the order in which they were asked for, each in the first answer it is in.

    noisy: of one release, in the order in which they were given.
    """
    found: dict[object, MeasuredTable] = {}
    for place, (groups, each) in enumerate(_tables(noisy, schema), start=1):
        found.setdefault((groups, each.level), replace(each, place=place))
    return list(found.values())


def largest_errors(table: MeasuredTable, counts: Counts, failure: Fraction) -> float:
    """Return how far a count of the released table is from the true one, for all cells at once, in rows.

    counts: tuple of ndarray, of the table. Returns the true counts are those of the rows used that fit the schema in
    the table's columns.
    """
    reach = float(_largest(table, failure))
    errors = count_errors(*counts, np.full(counts[1].size, reach))
    left_out = table.threshold is not None and table.cells > counts[1].size
    unseen = max(0.0, table.threshold - 1 + reach) if left_out and table.threshold is not None else 0.0
    return max(float(errors.max(initial=0.0)), unseen)


def marginal_accuracy(
    table: MeasuredTable, counts: Counts, failure: Fraction, most_rows: Callable[[Fraction], float]
) -> MarginalAccuracy:
    """Return the bounds of one table.

    most_rows: from a failure probability to a bound of the number of rows.
    """
    return MarginalAccuracy(
        columns=table.columns,
        cells=table.cells,
        noise=table.law.sd,
        largest_error=largest_errors(table, counts, failure),
        variation=_variation(table, counts, failure, most_rows),
        confidence=float(1 - failure),
        level=table.level,
    )


def _variation(
    table: MeasuredTable, counts: Counts, failure: Fraction, most_rows: Callable[[Fraction], float]
) -> float:
    """Return the bound of the total variation distance."""
    law, noisy = table.law, counts[1]
    largest = np.full(noisy.size, float(_largest(table, failure * _OF_EACH)))
    rows = most_rows(failure * _OF_SUM)
    total = float(noisy.sum())
    if table.threshold is not None:
        # Of the cells that were left out nothing is known but the number of rows.
        if math.isinf(rows):
            return 1.0
        return variation_bound(*counts, TableNoise(largest, math.inf, (total - rows, math.inf)))
    absolute = absolute_noise(law.kind, law.parameter, {1: table.cells}, failure * _OF_EACH)
    reach = float(sum_tail(law.kind, law.parameter, table.cells, failure * _OF_SUM))
    return variation_bound(*counts, TableNoise(largest, absolute, (-reach, reach)))


def _largest(table: MeasuredTable, failure: Fraction) -> int:
    """Return how far the noise of all cells goes at once."""
    return largest_noise(table.law.kind, table.law.parameter, {1: table.cells}, failure)[1]


def _tables(noisy: Sequence[Answer], schema: Schema) -> Iterator[tuple[object, MeasuredTable]]:
    """Return the tables of all answers, each with what it is a table of; their places are not yet known."""
    for answer in noisy:
        groups = frozenset(zip(answer.question.columns, answer.question.groupings, strict=False))
        match answer:
            case NoisyCounts() if answer.question.columns:
                yield groups, _plain(answer, schema)
            case NoisyTree():
                yield from ((groups, table) for table in _levels(answer))
            case NoisyCells():
                yield groups, _leaves(answer)


def _plain(answer: NoisyCounts, schema: Schema) -> MeasuredTable:
    """Return a table on its own, without the cells of misfits, which the model never has."""
    columns, groupings = answer.question.columns, answer.question.groupings
    inside = tuple(
        slice(0, grouping.groups if schema.field(name).domain.missing else grouping.groups - 1)
        for name, grouping in zip(columns, groupings, strict=True)
    )
    noisy = answer.counts[inside].ravel()

    def counts(model: ReleasedModel) -> Counts:
        return marginal(model, columns, groupings)[inside].ravel(), noisy

    return MeasuredTable(0, columns, None, noisy.size, answer.noise, counts)


def _levels(answer: NoisyTree) -> Iterator[MeasuredTable]:
    """Return the released levels of a tree."""
    question = answer.question
    for table in answer.tables:
        assert table.level is not None
        parts = list(zip(question.hierarchies, question.depths(table.level), strict=True))
        counts = _level_counts(question.columns, parts, table.counts)
        yield MeasuredTable(0, question.columns, table.level, table.counts.size, table.noise, counts)


def _level_counts(
    columns: Sequence[str], parts: Sequence[tuple[Hierarchy, int]], noisy: np.ndarray
) -> Callable[[ReleasedModel], Counts]:
    """Return how the model counts one level, in which a run may hold several reserved codes."""

    def counts(model: ReleasedModel) -> Counts:
        groupings = [runs_grouping(nested, depth) for nested, depth in parts]
        released = marginal(model, columns, groupings)
        for axis, (nested, depth) in enumerate(parts):
            firsts, known = nested.alone(depth)
            kept = np.moveaxis(released, axis, 0)[:known]
            released = np.moveaxis(np.add.reduceat(kept, firsts, axis=0), 0, axis)
        return released.ravel(), noisy.ravel()

    return counts


def _leaves(answer: NoisyCells) -> MeasuredTable:
    """Return the leaves of a tree of cells, of which small ones may have been left out."""
    tree = answer.question.tree
    every = tree.cells - len(tree.split_cells) + sum(len(leaves) for _, leaves in tree.leaves())

    def counts(model: ReleasedModel) -> Counts | None:
        place = _leaf_of_atoms(answer, model)
        if place is None:
            return None
        scale = model.rows / model.weights.sum()
        return np.bincount(place, model.weights * scale, minlength=answer.counts.size), answer.counts

    return MeasuredTable(0, tree.columns, None, every, answer.noise, counts, answer.question.threshold)


def _leaf_of_atoms(answer: NoisyCells, model: ReleasedModel) -> np.ndarray | None:
    """Return the leaf that each atom lies in: ndarray of int64, shape (atoms,); None where one lies in none."""
    tree = answer.question.tree
    spans = [model.laws[name] for name in tree.columns]
    found = np.full(model.atoms, -1, dtype=np.int64)
    levels, cells = answer.leaves
    for level in np.unique(levels).tolist():
        ends = np.empty((2, model.atoms, len(spans)), dtype=np.int64)
        for place, (law, nested) in enumerate(zip(spans, tree.hierarchies, strict=True)):
            if not isinstance(law, Spans):
                return None
            starts = nested.starts(int(tree.depths_of(place)[level]))
            for end, codes in enumerate((law.starts.astype(np.int64), law.stops.astype(np.int64) - 1)):
                ends[end, :, place] = np.searchsorted(starts, codes, side="right") - 1
        own = np.flatnonzero(levels == level)
        _, keys = np.unique(np.concatenate((cells[own], ends[0])), axis=0, return_inverse=True)
        leaf = np.full(int(keys.max()) + 1, -1, dtype=np.int64)
        leaf[keys.ravel()[: own.size]] = own
        met = leaf[keys.ravel()[own.size :]]
        found = np.where((met >= 0) & (ends[0] == ends[1]).all(axis=1), met, found)
    return None if (found < 0).any() else found


def tables_with_most_noise(tables: Sequence[MeasuredTable]) -> list[MeasuredTable]:
    """Return the tables to list: small enough ones, by the noise in all their cells, at most `MOST_TABLES`."""
    small = [each for each in tables if each.cells <= MOST_CELLS or each.threshold is not None]
    return sorted(small, key=lambda each: (-each.cells * each.law.mean_absolute, each.place))[:MOST_TABLES]


def counts_of(table: MeasuredTable, model: ReleasedModel) -> Counts | None:
    """Return the model's counts and the noisy ones; None where the model does not say, or not in reasonable time."""
    try:
        return table.counts(model)
    except CapacityError:
        return None
