"""How accurate a table or a count will be, told before it is asked for."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from lapwing.kernel.questions.questions import Answer
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.accuracy import CountAccuracy, TableAccuracy
from lapwing.model.queries.asked import Covering, cell_ranges, covering, own_groupings, table_bounds
from lapwing.model.sampling.marginals import marginal
from lapwing.release.accuracy.conditions import Condition, asked_cells
from lapwing.release.queries.queries import Groups, listed_columns, query_groupings
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    from lapwing.model.model import ReleasedModel
    from lapwing.schema.groupings.grouping import Grouping


_GROUPS: Final = 20
"""About how many groups of a column are asked for where it was not counted, as in a query."""

_MOST_CELLS: Final = 2**20


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
    asked = _without_misfits(schema, names, groupings)
    found = covering(noisy, names, groupings, asked)
    if found is not None:
        return _measured(names, released[asked], found, failure)
    lower, upper = cell_ranges(noisy, names, groupings, asked, failure=failure, public_rows=public_rows)
    counts = released[asked]
    return _unmeasured(
        names, float(np.maximum(counts - lower[asked], upper[asked] - counts).max()), counts.size, failure
    )


def _measured(names: Sequence[str], released: np.ndarray, found: Covering, failure: Fraction) -> TableAccuracy:
    """Return what the noisy counts say about their own table."""
    sizes, rows = found.mean_sizes(), float(released.sum())
    largest, variation = table_bounds(released, found, failure)
    said = _percent(failure)
    return TableAccuracy(
        columns=tuple(names),
        cells=released.size,
        is_measured=True,
        noise=found.law.sd * math.sqrt(float(found.terms.mean())),
        expected_error=float(sizes.mean()),
        expected_variation=min(1.0, float(sizes.sum()) / (2 * rows)) if rows > 0 else 1.0,
        largest_error=largest,
        variation=variation,
        confidence=float(1 - failure),
        text=(
            f"The table of {', '.join(names)} was measured: its noisy counts are off by {_rows(float(sizes.mean()))} "
            f"rows on average. With {said} % probability none of its {released.size} released counts is further than "
            f"{_rows(largest)} rows from the true one, and with {said} % probability the total variation distance is "
            f"at most {variation:.3g}."
        ),
    )


def _unmeasured(names: Sequence[str], largest: float, cells: int, failure: Fraction) -> TableAccuracy:
    """Return what the counts of fewer columns say about a table."""
    error = None if math.isinf(largest) else largest
    return TableAccuracy(
        columns=tuple(names),
        cells=cells,
        is_measured=False,
        noise=None,
        expected_error=None,
        expected_variation=None,
        largest_error=error,
        variation=None,
        confidence=float(1 - failure),
        text=_guessed(f"table of {', '.join(names)}", error, failure),
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


def _without_misfits(schema: Schema, columns: Sequence[str], groupings: "Sequence[Grouping]") -> np.ndarray:
    """Return the cells of rows that fit the schema in these columns: ndarray of bool."""
    asked = np.ones(tuple(grouping.groups for grouping in groupings), dtype=np.bool_)
    for axis, name in enumerate(columns):
        if not schema.field(name).domain.missing:
            np.moveaxis(asked, axis, 0)[-1] = False
    return asked


def _guessed(what: str, error: float | None, failure: Fraction) -> str:
    """Say that something was not measured."""
    if error is None:
        bound = "no bound is proved for it"
    else:
        bound = (
            f"with {_percent(failure)} % probability no count is off by more than {_rows(error)} rows, as the counts "
            "of fewer columns allow"
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
