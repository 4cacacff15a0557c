"""What answers are about, counted the slow way: row by row, from the codes."""

import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

import numpy as np

from lapwing.audit.held import Rows
from lapwing.audit.redistances import remeasured
from lapwing.audit.restatistics import resummed_statistics
from lapwing.audit.resums import resummed
from lapwing.release.cell_sums import CellSums
from lapwing.release.linear_statistics import LinearStatistics
from lapwing.release.questions import Question
from lapwing.release.second_moment import SecondMoment
from lapwing.release.select_worst import SelectWorst
from lapwing.release.table_distances import TableDistances
from lapwing.release.tree_counts import TreeCounts
from lapwing.schema.schemas import Schema


def recounted_tables(question: Question, source: Rows, schema: Schema) -> list[np.ndarray]:
    """Count the tables of an answer.

    Parameters
    ----------
    question : MarginalCounts, TreeCounts, SecondMoment, CellSums, LinearStatistics or TableDistances
    source : Rows
        The private rows.
    schema : Schema
        Of the rows.

    Returns
    -------
    list of ndarray of int64
        One per table, in the order of the answer's tables.
    """
    if isinstance(question, LinearStatistics):
        return [resummed_statistics(question, source, schema)]
    if isinstance(question, TableDistances):
        return [remeasured(question, source)]
    if isinstance(question, SecondMoment | CellSums):
        return [resummed(question, source)]
    if isinstance(question, TreeCounts):
        rows = [
            row for chunk in source.chunks() for row in zip(*(chunk[c].tolist() for c in question.columns), strict=True)
        ]
        return [_recount_level(question, level, rows) for level, cost in enumerate(question.costs) if cost is not None]
    counts = np.zeros(tuple(grouping.groups for grouping in question.groupings), dtype=np.int64)
    for chunk in source.chunks():
        if not question.columns:
            counts += len(next(iter(chunk.values())))
            continue
        groups = [g.apply(chunk[name]) for name, g in zip(question.columns, question.groupings, strict=True)]
        for cell in zip(*(each.tolist() for each in groups), strict=True):
            counts[cell] += 1
    return [counts]


def rescored(question: SelectWorst, source: Rows) -> np.ndarray:
    """Score the candidates of a selection: each table counted by itself, each cell looked at in turn.

    Parameters
    ----------
    question : SelectWorst
        With estimates.
    source : Rows
        The private rows.

    Returns
    -------
    ndarray of int64, shape (candidates,)
    """
    assert question.estimates is not None
    assert question.penalties is not None
    rows = _group_lists(question, source)
    estimates = iter(question.estimates.tolist())
    scores = []
    for candidate, penalty in zip(question.candidates, question.penalties.tolist(), strict=True):
        shape = tuple(question.levels[place][level].groups for place, level in candidate)
        counts = Counter(zip(*(rows[axis] for axis in candidate), strict=True))
        cells = [(counts[cell], next(estimates)) for cell in itertools.product(*map(range, shape))]
        scores.append(sum(abs(count - estimate) for count, estimate in cells if estimate != -1) - penalty)
    return np.array(scores, dtype=np.int64)


def _group_lists(question: SelectWorst, source: Rows) -> dict[tuple[int, int], list[int]]:
    """Return the group of every row, for each column and level that candidates use."""
    axes = sorted({axis for candidate in question.candidates for axis in candidate})
    rows: dict[tuple[int, int], list[int]] = {axis: [] for axis in axes}
    for chunk in source.chunks():
        for place, level in axes:
            rows[place, level] += question.levels[place][level].apply(chunk[question.columns[place]]).tolist()
    return rows


def _recount_level(question: TreeCounts, level: int, rows: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Count one level of a tree: the cell of each row by looking for its codes among the level's cuts."""
    nested = list(zip(question.hierarchies, question.depths(level), strict=True))
    counts = np.zeros(question.shapes[level], dtype=np.int64)
    cuts = [hierarchy.starts(depth)[1:].tolist() for hierarchy, depth in nested]
    for row in rows:
        if all(code < hierarchy.covered for code, (hierarchy, _) in zip(row, nested, strict=True)):
            counts[tuple(map(bisect_right, cuts, row))] += 1
    return counts
