"""The accuracy of a release, from released numbers, its certificate and the law of its noise alone."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Number
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.maths.noise_tails import sum_tail
from lapwing.mechanisms.registry import kind_named
from lapwing.model.accuracy import Accuracy, CountAccuracy, MarginalAccuracy, TableAccuracy
from lapwing.model.bounds import Sums, cell_ranges, covering, fitting_cells, most_rows, own_groupings, rows_within
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.statements import ROWS_WITHIN, Statement
from lapwing.model.evidence import AskedTable, MeasuredTable, intervals, views
from lapwing.model.model import ReleasedModel, Spans
from lapwing.model.sampling.conditions import effective_atoms
from lapwing.model.sampling.marginals import marginal
from lapwing.model.statistics.expressions import Condition
from lapwing.release.asked import asked_cells
from lapwing.release.queries import Groups, Parts, failure_of_confidence, listed_columns, query_groupings
from lapwing.schema.groupings.hierarchies import Hierarchy
from lapwing.schema.schemas import Schema


def release_accuracy(release: Parts, failure: Fraction) -> Accuracy:
    """Return what may be said about the accuracy of a release.

    failure: above 0 and below 1: of the bounds of each measured table.

    A function of released numbers: nothing is simulated or drawn. Time: that of one query for each table listed, and
    about 20 ms for each law of noise and number of cells.
    """
    model, certificate, noisy = release.model, release.certificate, release.noisy
    tables = measured_tables(noisy, release.schema)
    known = [(each, counts_of(each.table, model, release.schema)) for each in _with_most_noise(tables)]
    listed = [(each, released) for each, released in known if released is not None]

    def limit(chance: Fraction) -> float:
        return most_rows(noisy, certificate.public_rows, chance)

    marginals = sorted(  # the most uncertain first; names make the order the same every time
        (marginal_accuracy(*each, failure, limit) for each in listed),
        key=lambda it: (-it.variation, -it.largest_error, it.columns, -1 if it.level is None else it.level),
    )
    return Accuracy(
        statements=(
            *_rows_statement(model, certificate, noisy, failure),
            *_all_at_once(listed, model.rows, failure),
            *(each for each in certificate.accuracy if each.code not in ROWS_WITHIN),
            kind_named(certificate.mechanism).not_proved,
        ),
        marginals=tuple(marginals),
        measured=len(tables),
        effective_rows=effective_atoms(model.weights),
        largest_density=largest_density(model, certificate),
    )


def largest_density(model: ReleasedModel, certificate: Certificate) -> float | None:
    """Return the largest density of the released law against the points that it was fitted on, or None without any."""
    setting = kind_named(certificate.mechanism).density
    points = None if setting is None else certificate.settings.get(setting)
    if not isinstance(points, int):
        return None
    if certificate.rules or certificate.public_tables:  # they split points and weigh them again
        return None
    return max(1.0, float(points * model.weights.max() / model.weights.sum()))


def _rows_statement(
    model: ReleasedModel, certificate: Certificate, noisy: Sequence[Answer], failure: Fraction
) -> tuple[Statement, ...]:
    """Say how far the number of rows is from the true one."""
    if certificate.public_rows is not None:
        off = float(abs(model.rows - certificate.public_rows))
        if not off:
            return (Statement("public_number_of_rows", off, {"rows": model.rows}),)
        # Public tables may have another total.
        return (Statement("other_number_of_rows", off, {"public": certificate.public_rows, "rows": model.rows}),)
    found = rows_within(noisy, model.rows, failure)
    if found is None:
        return ()
    value, code = found
    return (Statement(code, value, {"rows": model.rows, "confidence": float(1 - failure)}),)


def _all_at_once(listed: "Sequence[tuple[Bounded, np.ndarray]]", rows: int, failure: Fraction) -> tuple[Statement, ...]:
    """Bound the counts of all listed tables together.

    The table at place i may fail with probability ``failure / (i (i + 1))``. These sum to less than the failure, and
    what a table gets is fixed before its noise is drawn, however many follow and whatever they look at.
    """
    if not listed:
        return ()
    value = max(
        each.sums.largest_error(released, failure / (each.place * (each.place + 1))) for each, released in listed
    )
    fields = {"tables": len(listed), "rows": rows, "confidence": float(1 - failure)}
    return (Statement("every_measured_count", value, fields),)


# -- Which accuracy is asked for: of a release, of one table of it, or of one count.


def chosen_accuracy(
    release: Parts,
    *,
    columns: str | Sequence[str] | None,
    confidence: Number,
    where: Condition | None,
    groups: Groups | None,
) -> Accuracy | TableAccuracy | CountAccuracy:
    """Return what `Release.accuracy` was asked for."""
    failure = failure_of_confidence(confidence)
    if (columns is not None and where is not None) or (groups is not None and columns is None):
        raise ParameterError(
            "accuracy is told of a table (columns, perhaps with groups) or of a condition (where); ask for each "
            "by itself",
            code="LW316",
        )
    public, of = release.certificate.public_rows, (release.model, release.schema, release.noisy)
    if where is not None:
        return count_accuracy(*of, where, failure=failure, public_rows=public)
    if columns is not None:
        return table_accuracy(*of, columns, groups=groups, failure=failure, public_rows=public)
    return release_accuracy(release, failure)


# -- Bounds for the tables that the noisy answers of a release measured.


MOST_CELLS: Final = 2**20  # larger tables are measured, and not listed

_GROUPS: Final = 20  # about how many groups of a column are asked for where it was not counted, as in a query

MOST_TABLES: Final = 100  # tables that are listed: those with the most noise in all


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A noisy table of a release whose noise is bounded; its place is 1 if it was asked for first.

    sums: its counts, each of which makes up a cell by itself.
    """

    place: int
    table: MeasuredTable
    sums: Sums


def measured_tables(noisy: Sequence[Answer], schema: Schema) -> list[Bounded]:
    """Return the tables of the answers, in the order in which they were asked for, each in the first answer it is in.

    noisy: of one release, in the order in which they were given.
    """
    found: dict[object, tuple[int, MeasuredTable]] = {}
    tables = ((answer, table) for answer in noisy for table in views(answer) if table.columns)
    for place, (answer, table) in enumerate(tables, start=1):
        finest = frozenset(zip(table.columns, answer.question.groupings, strict=True))
        found.setdefault((finest, table.level), (place, table))
    return [Bounded(place, table, _sums_of(table, schema)) for place, table in found.values()]


def marginal_accuracy(
    bounded: Bounded, released: np.ndarray, failure: Fraction, most_rows: Callable[[Fraction], float]
) -> MarginalAccuracy:
    """Return the bounds of one table; `most_rows` gives one of the number of rows from a failure probability."""
    table, sums = bounded.table, bounded.sums
    return MarginalAccuracy(
        columns=table.columns,
        cells=sums.cells,
        noise=table.law.sd,
        largest_error=sums.largest_error(released, failure),
        variation=sums.variation(released, failure, most_rows),
        confidence=float(1 - failure),
        level=table.level,
    )


def _cells(table: MeasuredTable, schema: Schema) -> Any:  # noqa: ANN401 - an index of NumPy
    """Return the cells to look at: in a plain table those of misfits are left out, which the model never has."""
    return fitting_cells(schema, table.columns, table.groupings_of(table.columns)) if table.is_plain else ...


def _sums_of(table: MeasuredTable, schema: Schema) -> Sums:
    """Return the counts of a table, each of which makes up a cell by itself."""
    noisy = table.counts[_cells(table, schema)].ravel()
    every = noisy.size
    if table.leaves is not None:
        tree = table.leaves.question.tree
        every = tree.cells - len(tree.split_cells) + sum(len(leaves) for _, leaves in tree.leaves())
    return Sums(noisy, np.broadcast_to(np.int64(1), noisy.shape), table.law, every, table.threshold)


def counts_of(table: MeasuredTable, model: ReleasedModel, schema: Schema) -> np.ndarray | None:
    """Return the model's counts; None where the model does not say, or not in reasonable time."""
    try:
        if table.leaves is not None:
            return _leaf_counts(table.leaves, model)
        return np.asarray(_count_product_table(table, model)[_cells(table, schema)].ravel())
    except CapacityError:
        return None


def _count_product_table(table: MeasuredTable, model: ReleasedModel) -> np.ndarray:
    """Count a product table, in which a run of a tree may hold several reserved codes."""
    released = marginal(model, table.columns, table.groupings_of(table.columns))
    for axis, side in enumerate(table.sides):
        if isinstance(side.by, Hierarchy):
            firsts, known = side.by.alone(side.depth)
            kept = np.moveaxis(released, axis, 0)[:known]
            released = np.moveaxis(np.add.reduceat(kept, firsts, axis=0), 0, axis)
    return np.asarray(released)


def _leaf_counts(answer: NoisyCells, model: ReleasedModel) -> np.ndarray | None:
    """Count the leaves of a tree of cells, of which small ones may have been left out; None if an atom is in none."""
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
    if (found < 0).any():
        return None
    return np.bincount(found, model.weights * (model.rows / model.weights.sum()), minlength=answer.counts.size)


def _with_most_noise(tables: Sequence[Bounded]) -> list[Bounded]:
    """Return the tables to list: small enough ones, by the noise in all their cells, at most `MOST_TABLES`."""
    small = [each for each in tables if each.sums.cells <= MOST_CELLS or each.sums.threshold is not None]
    return sorted(small, key=lambda each: (-each.sums.cells * each.sums.law.mean_absolute, each.place))[:MOST_TABLES]


# -- How accurate a table or a count is.


def table_accuracy(
    model: ReleasedModel,
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
    groupings = None if groups is not None else own_groupings(noisy, names, MOST_CELLS)
    if groupings is None:
        groupings = query_groupings(schema, noisy, names, _GROUPS if groups is None else groups)
    released = marginal(model, names, groupings)
    asked = AskedTable(names, groupings, fitting_cells(schema, names, groupings))
    counts, found = released[asked.cells], covering(noisy, asked)
    of, said = ", ".join(names), _percent(failure)
    common: Any = {"columns": tuple(names), "cells": counts.size, "confidence": float(1 - failure)}
    if found is None:
        ranges = cell_ranges(noisy, asked, failure=failure / 2, public_rows=public_rows)
        # Cells that the leaves of a tree lie across: each with its part of the other half of the failure.
        across = intervals(noisy, AskedTable(names, groupings), failure / (2 * counts.size), public_rows=public_rows)
        lower, upper = (each[asked.cells] for each in ranges)
        is_met = across.terms[asked.cells] > 0
        lower = np.where(is_met, np.maximum(lower, across.lower[asked.cells]), lower)
        upper = np.where(is_met, np.minimum(upper, across.upper[asked.cells]), upper)
        largest = float(np.maximum(counts - lower, upper - counts).max())
        error = None if math.isinf(largest) else largest
        unknown: Any = dict.fromkeys(("noise", "expected_error", "expected_variation", "variation"))
        text = _not_measured(f"table of {of}", error, failure)
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
    model: ReleasedModel,
    schema: Schema,
    noisy: Sequence[Answer],
    where: Condition,
    *,
    failure: Fraction,
    public_rows: int | None,
) -> CountAccuracy:
    """Return how accurate the number of rows that meet a condition is."""
    asked = asked_cells(where, schema)
    count = float(marginal(model, asked.columns, asked.groupings)[asked.cells].sum())
    # The cells are told apart by the condition only: one sum is wanted.
    found = covering(noisy, asked)
    limit = math.inf if public_rows is None else float(public_rows)
    noise: float | None = None
    if found is not None:
        terms, total = int(found.terms.sum()), int(found.noisy.sum())
        reach = sum_tail(found.law.kind, found.law.parameter, terms, failure)
        lower, upper = (min(max(float(end), 0.0), limit) for end in (total - reach, total + reach))
        noise = found.law.sd * math.sqrt(terms)
    else:
        ranges = cell_ranges(noisy, asked, failure=failure, public_rows=public_rows)
        terms, lower, upper = 0, *(min(limit, float(each[asked.cells].sum())) for each in ranges)
    is_known = not math.isinf(upper)
    count = min(max(count, lower), upper)  # the nearest number that the range allows
    error = max(count - lower, upper - count) if is_known else None
    said = f"number of rows with the condition on {', '.join(asked.columns)}"
    text = (
        f"The {said} is about {count:.0f}; with {_percent(failure)} % probability the true one lies from {lower:.0f} "
        f"to {upper:.0f}, by {terms} noisy count{'s' * (terms > 1)}."
    )
    return CountAccuracy(
        columns=tuple(asked.columns),
        count=count,
        is_measured=found is not None,
        terms=terms,
        noise=noise,
        lower=lower if is_known else None,
        upper=upper if is_known else None,
        largest_error=error,
        confidence=float(1 - failure),
        text=_not_measured(said, error, failure) if found is None else text,
    )


def _not_measured(what: str, error: float | None, failure: Fraction) -> str:
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
