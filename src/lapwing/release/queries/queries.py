"""Tables of the released model, with labels."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Number, exact_number
from lapwing.kernel.questions.questions import Answer
from lapwing.model.queries.intervals import PUBLIC, CellIntervals, cell_intervals, measured_groupings
from lapwing.model.sampling.marginals import marginal
from lapwing.model.sampling.weighted import weighted_marginal
from lapwing.release.queries.public_counts import public_counts
from lapwing.release.queries.weighted import weighted_intervals
from lapwing.schema.groupings.grouping import Grouping, cut, evenly, identity
from lapwing.schema.scalars import is_among, told
from lapwing.schema.schemas import Schema
from lapwing.schema.values import labels

if TYPE_CHECKING:
    import polars as pl

    from lapwing.model.model import ReleasedModel


Groups = int | Literal["measured"]

INTERVAL: Final = ("lower", "upper", "basis")
"""Columns of a queried table that tell where the true counts are."""


def asked_table(weighted: object) -> "Callable[..., pl.DataFrame]":
    """Return what answers a query: `query_table`, or `weighted_query_table`."""
    if not isinstance(weighted, bool):
        raise ParameterError(f"weighted must be true or false, got {told(weighted)}", code="LW304")
    return weighted_query_table if weighted else query_table


def query_table(
    model: "ReleasedModel",
    schema: Schema,
    noisy: Sequence[Answer],
    columns: str | Sequence[str],
    *,
    groups: Groups,
    confidence: Number,
    public_rows: int | None,
) -> "pl.DataFrame":
    """Return the model's table over some columns, with intervals for the true counts; see `Release.query`."""
    columns = listed_columns(columns)
    failure = checked_failure(confidence)
    groupings = query_groupings(schema, noisy, columns, groups)
    counts = marginal(model, columns, groupings)
    found = cell_intervals(noisy, columns, groupings, failure, public_rows)
    public, is_public = public_counts(schema, columns, groupings)
    lower, upper = (np.where(is_public, public, ends) for ends in (found.lower, found.upper))
    terms, misfits_out = np.where(is_public, PUBLIC, found.terms), found.misfits_out & ~is_public
    found = CellIntervals(lower, upper, terms, misfits_out)
    return _framed(schema, columns, groupings, counts, found, called="count")


def weighted_query_table(
    model: "ReleasedModel",
    schema: Schema,
    noisy: Sequence[Answer],
    columns: str | Sequence[str],
    *,
    groups: Groups,
    confidence: Number,
    public_rows: int | None,
) -> "pl.DataFrame":
    """Return the model's table of weighted totals, with intervals for the true ones; see `Release.query`."""
    if schema.weight is None:
        raise ParameterError(
            "weighted totals need a survey weight, and the release's schema names none; name the column of weights "
            'under "weight" in the schema before the release, or ask for plain counts',
            code="LW332",
        )
    columns = listed_columns(columns)
    failure = checked_failure(confidence)
    groupings = query_groupings(schema, noisy, columns, groups)
    weight = schema.field(schema.weight)
    totals = weighted_marginal(model, weight, columns, groupings)
    found = weighted_intervals(noisy, weight, columns, groupings, failure=failure, public_rows=public_rows)
    return _framed(schema, columns, groupings, totals, found, called="total")


def _framed(
    schema: Schema,
    columns: Sequence[str],
    groupings: Sequence[Grouping],
    counts: np.ndarray,
    found: CellIntervals,
    *,
    called: str,
) -> "pl.DataFrame":
    """Return one line per cell with its labels, what the model says, and the interval."""
    import polars as pl  # noqa: PLC0415

    shown = [_shown(schema, name, grouping) for name, grouping in zip(columns, groupings, strict=True)]
    inside = tuple(slice(0, len(texts)) for texts in shown)
    counts = counts[inside]
    cells = np.indices(counts.shape).reshape(len(columns), -1)
    frame: dict[str, Any] = {
        name: pl.Series(texts, dtype=pl.String).gather(cell)
        for name, texts, cell in zip(columns, shown, cells, strict=True)
    }
    total = counts.sum()
    share = counts.ravel() / total if total > 0 else np.zeros(counts.size)
    lower, upper, basis = (free_name(name, columns) for name in INTERVAL)
    frame |= {free_name(called, columns): counts.ravel(), free_name("share", columns): share}
    frame |= {lower: found.lower[inside].ravel(), upper: found.upper[inside].ravel()}
    frame[basis] = pl.Series(found.basis()[inside].ravel().tolist(), dtype=pl.String)
    is_known = pl.Series(found.terms[inside].ravel() != 0)
    return pl.DataFrame(frame).with_columns(pl.when(is_known).then(pl.col(lower, upper)))


def listed_columns(columns: str | Sequence[str]) -> list[str]:
    """Return the names of columns, or refuse what is no name or list of distinct ones."""
    listed = [columns] if isinstance(columns, str) else columns
    is_named = isinstance(listed, Sequence) and all(isinstance(each, str) for each in listed)
    if not is_named or not listed or len(set(listed)) != len(listed):
        raise ParameterError(
            f"columns must be a column name or a list of distinct ones, got {told(columns)}", code="LW330"
        )
    return list(listed)


def checked_failure(confidence: Number) -> Fraction:
    """Return the chance of a miss that a confidence allows, above 0 and below 1."""
    failure = 1 - exact_number("confidence", confidence)
    if not 0 < failure < 1:
        raise ParameterError(f"confidence must be above 0 and below 1, got {confidence}; 0.95 is usual", code="LW301")
    return failure


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return a name for a result column: the name itself, with underscores where the table has a column called so."""
    while name in taken:
        name += "_"
    return name


def query_groupings(
    schema: Schema, noisy: Sequence[Answer], columns: Sequence[str], groups: Groups
) -> tuple[Grouping, ...]:
    """Return the groupings under which columns are shown together; see `Release.query`."""
    measured = measured_groupings(noisy, columns)
    if is_among(groups, ("measured",)):
        if measured is None:
            raise ParameterError(
                f"no noisy answer counted {', '.join(columns)} together; give a number of groups such as 20",
                code="LW333",
            )
        return measured
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 2:
        raise ParameterError(f"groups must be at least 2, or 'measured', got {told(groups)}", code="LW302")
    wanted = tuple(query_grouping(schema, name, groups) for name in columns)
    if measured is None:
        return wanted
    return tuple(_moved(schema, *each) for each in zip(columns, wanted, measured, strict=True))


def query_grouping(schema: Schema, name: str, groups: int) -> Grouping:
    """Return the grouping under which a column is shown: value by value where it has few, else nearly equal runs."""
    field = schema.field(name)
    domain = field.domain
    if field.is_categorical or domain.values <= groups:
        return identity(domain)
    return evenly(domain, groups)


def _moved(schema: Schema, name: str, wanted: Grouping, measured: Grouping) -> Grouping:
    """Return runs with their ends moved to the nearest ones that were measured, where these are no fewer."""
    if measured.kind == "table" or measured.regular < wanted.regular or wanted.regular == 1:
        return wanted
    asked, known = (each.pieces()[0][1 : each.regular] for each in (wanted, measured))
    after = np.searchsorted(known, asked).clip(1, known.size - 1) if known.size > 1 else np.zeros_like(asked)
    before = np.maximum(after - 1, 0)
    nearest = np.where(asked - known[before] <= known[after] - asked, known[before], known[after])
    return cut(schema.field(name).domain, np.unique(nearest))


def _shown(schema: Schema, name: str, grouping: Grouping) -> list[str]:
    """Return the labels of a column's groups, without the misfit group, which the model never has."""
    field = schema.field(name)
    texts = labels(grouping, field)
    return texts if field.domain.missing else texts[:-1]
