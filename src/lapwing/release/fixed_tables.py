"""The named tables of a release by `Tables`: whole counts that add up, intervals, standard deviations."""

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Number
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.mechanisms.shared.tables.estimates import Estimates, consistent_estimates, counted_table
from lapwing.model.model import ReleasedModel
from lapwing.model.sampling.marginals import marginal
from lapwing.release.queries import failure_of_confidence, free_name, group_labels
from lapwing.release.release import Release
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.scalars import check_whole_number
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import polars as pl


def tables(release: Release, confidence: Number = "0.95", limit: int | None = None) -> "list[pl.DataFrame]":
    """Return the tables that a release by `Tables` was made for.

    Parameters
    ----------
    release : Release
        By `Tables`.
    confidence : number, default 0.95
        Of each interval by itself, above 0 and below 1.
    limit : int, optional
        A publication limit: ``below_limit`` says which counts are smaller. No cell is left out.

    Returns
    -------
    list of polars.DataFrame
        One a table, in their order: a column of labels for each of its columns; ``count``, as the rows have it: whole
        and never negative; ``lower`` and ``upper``, around the unbiased estimate before it was rounded, cut at 0;
        ``sd``, the standard deviation of that estimate's noise. Counts have the same sums in all tables, unless rules
        or public tables moved the model: then each is rounded by itself, and may lie outside of its interval, which is
        of what was counted.

    Raises
    ------
    ParameterError
        If the release is not by `Tables`, or a number is out of range.

    Notes
    -----
    Post-processing, which costs nothing. The interval is that of a normal law with the estimate's variance or, where
    noise is Laplace, of a Laplace law where that is wider, and half a row more.

    Examples
    --------
    >>> import polars as pl
    >>> import lapwing as lw
    >>> schema = {"fields": [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in "ab"]}
    >>> rows = pl.DataFrame({"a": [True, False] * 500, "b": [True] * 1000})
    >>> release = lw.synthesize(rows, schema, epsilon=10, mechanism=lw.Tables([["a", "b"], "b"]))
    >>> [table.columns for table in tables(release, limit=10)][1]
    ['b', 'count', 'lower', 'upper', 'sd', 'below_limit']
    """
    failure = failure_of_confidence(confidence)
    check_limit(limit)
    answers = [each for each in release.noisy if isinstance(each, NoisyCounts)]
    if release.certificate.mechanism != "Tables":
        raise ParameterError(
            f"tables are of a release by Tables, this one is by {release.certificate.mechanism}; query it instead",
            code="LW362",
        )
    rows = release.certificate.public_rows
    found = consistent_estimates([counted_table(each) for each in answers], rows)
    reaches = [(laplace_reach if each.noise.kind == "laplace" else normal_reach)(failure) for each in answers]
    measured = [(each.question.columns, each.question.groupings) for each in answers]
    return table_frames(release.schema, release.model, measured, found, reaches, rows=rows, limit=limit)


def check_limit(limit: int | None) -> None:
    """Refuse a publication limit that is no number of rows."""
    if limit is not None:
        check_whole_number("limit", limit, 0, 2**40, code="LW302")


def table_frames(
    schema: Schema,
    model: ReleasedModel,
    measured: Sequence[tuple[tuple[str, ...], tuple[Grouping, ...]]],
    found: Estimates,
    reaches: Sequence[float],
    *,
    rows: int | None,
    limit: int | None = None,
) -> "list[pl.DataFrame]":
    """Return estimated tables with the counts of a model, as `tables` does; reaches: of intervals, in deviations."""
    import polars as pl  # noqa: PLC0415

    frames = []
    for (columns, groupings), reach, estimates, variances in zip(
        measured, reaches, found.counts, found.variances, strict=True
    ):
        shown = [group_labels(schema, *each) for each in zip(columns, groupings, strict=True)]
        inside = tuple(slice(len(texts)) for texts in shown)
        cells = np.indices([len(texts) for texts in shown]).reshape(len(columns), -1)
        counts = np.rint(marginal(model, columns, groupings)[inside]).astype(np.int64).ravel()
        sd = np.sqrt(variances[inside].ravel())
        most, half = 2**62 if rows is None else rows, reach * sd + 0.5
        ends = np.ceil(estimates[inside].ravel() - half), np.floor(estimates[inside].ravel() + half)
        lower, upper = (np.clip(end, 0, most).astype(np.int64) for end in ends)
        named = {
            name: pl.Series([texts[place] for place in cell], dtype=pl.String)
            for name, texts, cell in zip(columns, shown, cells, strict=True)
        }
        numbers = {"count": counts, "lower": lower, "upper": upper, "sd": sd}
        numbers |= {} if limit is None else {"below_limit": counts < limit}
        frames.append(pl.DataFrame(named | {free_name(name, columns): each for name, each in numbers.items()}))
    return frames


def normal_reach(failure: Fraction) -> float:
    """Return how many standard deviations a normal value is off, but with the failure probability."""
    return -NormalDist().inv_cdf(float(failure) / 2)


def laplace_reach(failure: Fraction) -> float:
    """Return the same of sums of Laplace values: that of one value, or of many, where that is wider."""
    return max(normal_reach(failure), math.log(1 / float(failure)) / math.sqrt(2))
