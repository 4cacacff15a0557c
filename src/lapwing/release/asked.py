"""What is asked of a release under a condition, or of some columns: how accurate it is, and tables of what meets it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.questions.linear_statistics.question import Statistic
from lapwing.kernel.questions.questions import Answer
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.accuracy import CountAccuracy, TableAccuracy
from lapwing.model.bounds import cell_ranges, covering, fitting_cells, own_groupings
from lapwing.model.intervals import PUBLIC, CellIntervals, cell_intervals, covering_views
from lapwing.model.sampling.marginals import marginal
from lapwing.model.statistics.expressions import Stat, condition_of
from lapwing.release.queries import Groups, Parts, framed, listed, listed_columns, public_counts, query_groupings
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, cut, identity
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import polars as pl

    from lapwing.model.model import ReleasedModel


Condition = Mapping[str, object] | Stat | str

_GROUPS: Final = 20  # about how many groups of a column are asked for where it was not counted, as in a query

_MOST_CELLS: Final = 2**20
"""Most cells that a condition may divide its columns in, and of a table that is looked at as it was counted."""


@dataclass(frozen=True, slots=True, eq=False)
class AskedCells:
    """Hold the cells of a table that a condition is true in.

    groupings: one per column; no group is cut by the condition; asked: bool, of the table's shape, never cells of
    misfits, which the model does not have.
    """

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    asked: np.ndarray


def asked_cells(where: Condition, schema: Schema) -> AskedCells:
    """Return the cells that a condition is true in."""
    condition = condition_of(where, schema)
    groupings = tuple(_uncut(name, schema.field(name).domain, condition) for name in condition.columns)
    cells = math.prod(grouping.groups for grouping in groupings)
    if cells > _MOST_CELLS:
        raise ParameterError(
            f"where divides its columns in {cells} cells, more than {_MOST_CELLS}; name fewer columns", code="LW507"
        )
    axes = np.meshgrid(*map(_first_codes, groupings), indexing="ij")
    codes = {name: axis.ravel() for name, axis in zip(condition.columns, axes, strict=True)}
    asked = (condition.values(codes) > 0).reshape(axes[0].shape) & fitting_cells(schema, condition.columns, groupings)
    if not asked.any():
        raise ParameterError("where is true for no row that fits the schema; ask for a wider condition", code="LW322")
    return AskedCells(condition.columns, groupings, asked)


def _uncut(name: str, domain: Domain, statistic: Statistic) -> Grouping:
    """Return groups of a column's codes that the steps of a program do not tell apart."""
    steps = [step for step in statistic.program if step[0] in ("in", "number", "lookup") and step[1] == name]
    if all(step[0] == "in" for step in steps):
        edges = np.array([end for step in steps for end in step[2]], dtype=np.int64)
        return cut(domain, np.unique(edges[(edges > 0) & (edges < domain.values)]))
    if domain.values > _MOST_CELLS:
        raise ParameterError(
            f"where computes with column {name!r}, which has {domain.values} values; compare it with constants instead",
            code="LW507",
        )
    return identity(domain)


def _first_codes(grouping: Grouping) -> np.ndarray:
    """Return a code of each group: ndarray of int64."""
    starts, _, group = grouping.pieces()
    _, first = np.unique(group, return_index=True)
    return np.asarray(starts[first], dtype=np.int64)


# -- How accurate a table or a count is.


def table_accuracy(
    model: "ReleasedModel",
    schema: Schema,
    noisy: Sequence[Answer],
    columns: str | Sequence[str],
    *,
    groups: Groups | None,
    failure: Fraction,
    public_rows: int | None,
) -> TableAccuracy:
    """Return how accurate the table of some columns is."""
    names = listed_columns(columns)
    groupings = None if groups is not None else own_groupings(noisy, names, _MOST_CELLS)
    if groupings is None:
        groupings = query_groupings(schema, noisy, names, _GROUPS if groups is None else groups)
    released = marginal(model, names, groupings)
    asked = fitting_cells(schema, names, groupings)
    counts, found = released[asked], covering(noisy, names, groupings, asked)
    of, said = ", ".join(names), _percent(failure)
    common: Any = {"columns": tuple(names), "cells": counts.size, "confidence": float(1 - failure)}
    if found is None:
        ranges = cell_ranges(noisy, names, groupings, asked, failure=failure / 2, public_rows=public_rows)
        # Cells that the leaves of a tree lie across: each with its part of the other half of the failure.
        across = cell_intervals(noisy, names, groupings, failure / (2 * counts.size), public_rows)
        lower, upper = (each[asked] for each in ranges)
        is_met = across.terms[asked] > 0
        lower = np.where(is_met, np.maximum(lower, across.lower[asked]), lower)
        upper = np.where(is_met, np.minimum(upper, across.upper[asked]), upper)
        largest = float(np.maximum(counts - lower, upper - counts).max())
        error = None if math.isinf(largest) else largest
        unknown: Any = dict.fromkeys(("noise", "expected_error", "expected_variation", "variation"))
        text = _guessed(f"table of {of}", error, failure)
        return TableAccuracy(is_measured=False, largest_error=error, text=text, **unknown, **common)
    sizes, rows = found.mean_sizes(), float(counts.sum())
    largest, variation = found.largest_error(counts, failure), found.variation(counts, failure, lambda _: math.inf)
    return TableAccuracy(
        is_measured=True,
        noise=found.law.sd * math.sqrt(float(found.terms.mean())),
        expected_error=float(sizes.mean()),
        expected_variation=min(1.0, float(sizes.sum()) / (2 * rows)) if rows > 0 else 1.0,
        largest_error=largest,
        variation=variation,
        text=f"The table of {of} was measured: its noisy counts are off by {_rows(float(sizes.mean()))} "
        f"rows on average. With {said} % probability none of its {counts.size} released counts is further than "
        f"{_rows(largest)} rows from the true one, and with {said} % probability the total variation distance is "
        f"at most {variation:.3g}.",
        **common,
    )


def count_accuracy(
    model: "ReleasedModel",
    schema: Schema,
    noisy: Sequence[Answer],
    where: Condition,
    *,
    failure: Fraction,
    public_rows: int | None,
) -> CountAccuracy:
    """Return how accurate the number of rows that meet a condition is."""
    cells = asked_cells(where, schema)
    count = float(marginal(model, cells.columns, cells.groupings)[cells.asked].sum())
    # The cells are told apart by the condition only: one sum is wanted.
    found = covering(noisy, cells.columns, cells.groupings, cells.asked)
    limit = math.inf if public_rows is None else float(public_rows)
    noise: float | None = None
    if found is not None:
        terms, total = int(found.terms.sum()), int(found.noisy.sum())
        reach = sum_tail(found.law.kind, found.law.parameter, terms, failure)
        lower, upper = (min(max(float(end), 0.0), limit) for end in (total - reach, total + reach))
        noise = found.law.sd * math.sqrt(terms)
    else:
        ranges = cell_ranges(
            noisy, cells.columns, cells.groupings, cells.asked, failure=failure, public_rows=public_rows
        )
        terms, lower, upper = 0, *(min(limit, float(each[cells.asked].sum())) for each in ranges)
    is_known = not math.isinf(upper)
    count = min(max(count, lower), upper)  # the nearest number that the range allows
    error = max(count - lower, upper - count) if is_known else None
    said = f"number of rows with the condition on {', '.join(cells.columns)}"
    text = (
        f"The {said} is about {count:.0f}; with {_percent(failure)} % probability the true one lies from {lower:.0f} "
        f"to {upper:.0f}, by {terms} noisy count{'s' * (terms > 1)}."
    )
    return CountAccuracy(
        columns=cells.columns,
        count=count,
        is_measured=found is not None,
        terms=terms,
        noise=noise,
        lower=lower if is_known else None,
        upper=upper if is_known else None,
        largest_error=error,
        confidence=float(1 - failure),
        text=_guessed(said, error, failure) if found is None else text,
    )


def _guessed(what: str, error: float | None, failure: Fraction) -> str:
    """Say that something was not measured."""
    if error is None:
        bound = "no bound is proved for it"
    else:
        bound = (
            f"with {_percent(failure)} % probability no count is off by more than {_rows(error)} rows, as the counts "
            "that are near it allow"
        )
    return (
        f"No noisy counts make up the {what}, which is the model's guess; {bound}. `release.replicates` estimates it."
    )


def _percent(failure: Fraction) -> str:
    """Return a confidence as text."""
    return f"{100 * float(1 - failure):.10g}"


def _rows(number: float) -> str:
    """Return a number of rows with at least three digits."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


# -- Tables of those rows of the released model that meet a condition, with intervals for the true counts.


_FAILURE: Final = Fraction(1, 20)
_WIDEST: Final = 2**61  # wider intervals say nothing, and would leave int64


def filtered_table(
    release: Parts, columns: str | Sequence[str], where: Condition, *, groups: int = 20
) -> "pl.DataFrame":
    """Return the table of `Release.query` of those rows that meet a condition, with intervals at 95 %.

    where: as for `Release.accuracy`; groups: as for `Release.query`. Returns no line for cells in which the condition
    is never true; groups of a column that it looks at end where it does; ``share`` is of the rows that meet it. Each
    interval is made from the earliest answer that covers all of the cell's part that meets it.
    """
    schema, model, public_rows = release.schema, release.model, release.certificate.public_rows
    names = listed_columns(columns)
    cells = asked_cells(where, schema)
    shown = [
        _split(schema, name, grouping, cells)
        for name, grouping in zip(names, query_groupings(schema, release.noisy, names, groups), strict=True)
    ]
    others = [name for name in cells.columns if name not in names]
    own = dict(zip(cells.columns, cells.groupings, strict=True))
    every, groupings = [*names, *others], [*shown, *(own[name] for name in others)]
    within = _Within(every, groupings, _asked(cells, every, groupings), tuple(range(len(names), len(every))))
    counts = within.summed(marginal(model, every, groupings))
    found = _intervals(release.noisy, within, _FAILURE)
    public, is_public = _public(schema, within)
    most = np.iinfo(np.int64).max if public_rows is None else public_rows
    lower, upper = (np.where(is_public, public, end.clip(0, most)) for end in (found.lower, found.upper))
    terms = np.where(is_public, PUBLIC, found.terms)
    known = CellIntervals(lower, upper, terms, found.misfits_out & ~is_public)
    return framed(*listed(schema, names, shown, counts, known, called="count", kept=within.is_met))


@dataclass(frozen=True, slots=True, eq=False)
class _Within:
    """A table over the shown columns and those of a condition: where it is true, and which axes are summed out."""

    columns: Sequence[str]
    groupings: Sequence[Grouping]
    asked: np.ndarray
    beyond: tuple[int, ...]

    @property
    def is_met(self) -> np.ndarray:
        """Where the condition can be true in the table of the shown columns."""
        return np.asarray(self.asked.any(axis=self.beyond))

    def summed(self, counts: np.ndarray) -> np.ndarray:
        """Return the table of the shown columns, of what meets the condition."""
        return np.asarray(np.where(self.asked, counts, 0).sum(axis=self.beyond))

    def everywhere(self, is_true: np.ndarray) -> np.ndarray:
        """Return where something is true of all that meets the condition."""
        return np.asarray((is_true | ~self.asked).all(axis=self.beyond))


def _split(schema: Schema, name: str, grouping: Grouping, cells: AskedCells) -> Grouping:
    """Return the groups of a shown column, which also end where the condition on it does."""
    field = schema.field(name)
    if name not in cells.columns or field.is_categorical or grouping.regular == field.domain.values:
        return grouping
    asked = cells.groupings[cells.columns.index(name)]
    starts = np.union1d(grouping.pieces()[0], asked.pieces()[0])
    return cut(field.domain, starts[(starts > 0) & (starts < field.domain.values)])


def _asked(cells: AskedCells, columns: Sequence[str], groupings: Sequence[Grouping]) -> np.ndarray:
    """Return where the condition is true in a table whose groups it does not cut: ndarray of bool, of its shape."""
    places = [columns.index(name) for name in cells.columns]
    met = [
        _group_at(asked, _first_codes(groupings[place])) for asked, place in zip(cells.groupings, places, strict=True)
    ]
    inside = cells.asked[np.ix_(*met)].transpose(np.argsort(places))
    shape = [grouping.groups if axis in places else 1 for axis, grouping in enumerate(groupings)]
    return np.broadcast_to(inside.reshape(shape), tuple(grouping.groups for grouping in groupings))


def _group_at(grouping: Grouping, codes: np.ndarray) -> np.ndarray:
    """Return the group of each code."""
    starts, _, group = grouping.pieces()
    return np.asarray(group[np.searchsorted(starts, codes, side="right") - 1])


def _intervals(noisy: Sequence[Answer], within: _Within, failure: Fraction) -> CellIntervals:
    """Return intervals for what meets the condition, where a noisy answer covers all of it."""
    shape = within.is_met.shape
    lower, upper, terms = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    misfits_out = np.zeros(shape, dtype=np.bool_)
    for answer in noisy:
        is_open, least = terms == 0, np.full(shape, math.inf)
        for view in covering_views(answer, within.columns, within.groupings):
            own, law = within.summed(view.terms), view.noise
            variance = np.where(within.everywhere(view.terms > 0) & (own > 0), own * law.sd**2, math.inf)
            better = is_open & (variance < least)
            if not better.any():
                continue
            sums = within.summed(view.sums())[better]
            kinds, places = np.unique(own[better], return_inverse=True)
            tails = [min(sum_tail(law.kind, law.parameter, each, failure), _WIDEST) for each in kinds.tolist()]
            half = np.array(tails, dtype=np.int64)[places.reshape(-1)]
            lower[better], upper[better] = sums - half, sums + half
            terms[better], misfits_out[better], least[better] = own[better], view.misfits_out, variance[better]
    return CellIntervals(lower, upper, terms, misfits_out)


def _public(schema: Schema, within: _Within) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts that follow from exact public tables, and where they do."""
    counts, known = public_counts(schema, within.columns, within.groupings)
    return within.summed(counts), within.everywhere(known)
