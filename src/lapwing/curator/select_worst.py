"""Answer `SelectWorst`: exact integer scores, one exact draw, only the index leaves.

Proof: ``select_worst.proof.md``.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.noise.bits import BitSource
from lapwing.noise.selection import exponential_mechanism
from lapwing.release.select_worst import Selected, SelectWorst, merged_groups
from lapwing.release.terms import Terms
from lapwing.schema.groupings import Grouping
from lapwing.table.counting import Table
from lapwing.table.source import CodedSource

CACHE_CELLS: Final = 2**25
"""Most cells that the room keeps of exact tables: 256 MiB."""

_Key = tuple[int, ...]


def answer_select_worst(
    questions: Sequence[SelectWorst], source: CodedSource, terms: Terms, bits: BitSource, known: "ExactTables"
) -> tuple[Selected, ...]:
    """Score all candidates on exact counts and draw one of them by the exponential mechanism.

    Parameters
    ----------
    questions : sequence of SelectWorst
        Already charged, with estimates.
    source : CodedSource
        The private rows, at most ``terms.max_rows`` of each unit.
    terms : Terms
        Give the relation that the draw is calibrated for.
    bits : BitSource
        Secret randomness.
    known : ExactTables
        Tables that earlier questions counted; new ones are added.

    Returns
    -------
    tuple of Selected
        In the order of the questions.

    Notes
    -----
    Guarantee: each answer is ε-DP, and ε-bounded range, so (ε²/8)-zCDP, at its question's cost, for add-remove and
    replace-one neighbours with ``terms.max_rows`` rows per unit. One pass over the rows per question that needs tables
    not counted before.
    """
    return tuple(_selected(question, known.cells(question, source), terms, bits) for question in questions)


def _selected(question: SelectWorst, exact: np.ndarray, terms: Terms, bits: BitSource) -> Selected:
    """Draw one candidate."""
    bound = question.sensitivity(terms.relation, terms.max_rows).l1  # [bound]
    choice = exponential_mechanism(misfit_scores(question, exact), question.epsilon, bound, bits)  # [draw]
    return Selected(question, choice, bound)


def misfit_scores(question: SelectWorst, exact: np.ndarray) -> np.ndarray:
    """Return the score of each candidate: the misfit over the cells looked at, less the penalty.

    Parameters
    ----------
    question : SelectWorst
        With estimates and penalties.
    exact : ndarray of int64, shape (k,)
        Exact counts of all candidates' cells.

    Returns
    -------
    ndarray of int64, shape (candidates,)
    """
    assert question.estimates is not None  # the room has refused a question without
    gaps = np.abs(exact - question.estimates)  # [misfit]
    gaps[question.estimates < 0] = 0  # [mask]
    scores: np.ndarray = np.add.reduceat(gaps, question.offsets[:-1]) - question.penalties
    return scores


class ExactTables:
    """Keep the exact tables of past selections, so that the next one need not count them again. Private."""

    __slots__ = ("_numbers", "_tables")

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, Grouping], int] = {}
        self._tables: dict[_Key, np.ndarray] = {}

    def cells(self, question: SelectWorst, source: CodedSource) -> np.ndarray:
        """Return the exact counts of all candidates' cells: ndarray of int64, shape (k,)."""
        keys = self._keys(question)
        missing = {key: place for place, key in enumerate(keys) if key not in self._tables}
        new = dict(zip(missing, _counted(question, list(missing.values()), source), strict=True))
        tables = self._tables | new
        cells = np.concatenate([tables[key] for key in keys])
        self._keep(tables, {key: tables[key] for key in keys})
        return cells

    def _keys(self, question: SelectWorst) -> list[_Key]:
        """Return what identifies each candidate's table: a number per column and grouping."""
        numbers = [
            [self._numbers.setdefault((name, grouping), len(self._numbers)) for grouping in resolutions]
            for name, resolutions in zip(question.columns, question.levels, strict=True)
        ]
        return [tuple([numbers[place][level] for place, level in candidate]) for candidate in question.candidates]

    def _keep(self, *choices: dict[_Key, np.ndarray]) -> None:
        """Keep the first of these sets of tables that is within the limit, or none."""
        fitting = (tables for tables in choices if sum(map(len, tables.values())) <= CACHE_CELLS)  # [keep]
        self._tables = next(fitting, {})


_Merges = tuple[tuple[int, np.ndarray], ...]
"""Axes to merge groups along, each with the coarse group of each fine one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """One table to count, and the candidates that are sums of it."""

    table: Table
    members: tuple[tuple[int, _Merges], ...]


def _counted(question: SelectWorst, places: Sequence[int], source: CodedSource) -> list[np.ndarray]:
    """Count candidates in one pass over the rows: list of ndarray of int64, each with its candidate's cells."""
    by_columns: dict[tuple[int, ...], list[int]] = {}
    for place in places:
        by_columns.setdefault(tuple(position for position, _ in question.candidates[place]), []).append(place)
    plans = [plan for columns, members in by_columns.items() for plan in _plans(question, columns, members)]
    exact = source.count([plan.table for plan in plans]) if plans else []  # [count]
    found = {
        place: _summed(counts.reshape([grouping.groups for _, grouping in plan.table]), merges)
        for plan, counts in zip(plans, exact, strict=True)
        for place, merges in plan.members
    }
    return [found[place] for place in places]


def _plans(question: SelectWorst, columns: tuple[int, ...], places: Sequence[int]) -> Iterator[_Plan]:
    """Plan one table at the finest levels for all candidates over the same columns, or one for each if that is less."""
    depths = [tuple(level for _, level in question.candidates[place]) for place in places]
    finest = _table(question, columns, tuple(map(min, zip(*depths, strict=True))))
    tables = [_table(question, columns, each) for each in depths]
    merges = [found for table in tables if (found := _merges(finest, table)) is not None]
    if len(merges) == len(tables) and _cells(finest) <= sum(map(_cells, tables)):
        yield _Plan(finest, tuple(zip(places, merges, strict=True)))
    else:
        yield from (_Plan(table, ((place, ()),)) for table, place in zip(tables, places, strict=True))


def _table(question: SelectWorst, columns: tuple[int, ...], depths: tuple[int, ...]) -> Table:
    """Return the table over these columns at these levels."""
    return tuple((question.columns[c], question.levels[c][depth]) for c, depth in zip(columns, depths, strict=True))


def _cells(table: Table) -> int:
    """Return the number of cells."""
    return math.prod(grouping.groups for _, grouping in table)


def _merges(fine: Table, coarse: Table) -> _Merges | None:
    """Return how to sum a fine table into a coarse one; None where it cannot be."""
    axes = [axis for axis, (one, other) in enumerate(zip(fine, coarse, strict=True)) if one[1] is not other[1]]
    merged = [(axis, merged_groups(fine[axis][1], coarse[axis][1])) for axis in axes]
    found = tuple((axis, groups) for axis, groups in merged if groups is not None)
    return found if len(found) == len(axes) else None


def _summed(cells: np.ndarray, merges: _Merges) -> np.ndarray:
    """Sum fine cells into coarse ones along some axes: ndarray of int64, shape (cells,)."""
    for axis, groups in merges:  # [sum]
        order = np.argsort(groups, kind="stable")
        firsts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        cells = np.add.reduceat(cells.take(order, axis), firsts, axis=axis)
    return cells.reshape(-1)
