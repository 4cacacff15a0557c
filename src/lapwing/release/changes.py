"""What moved between two releases beyond their noise, from released numbers alone."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Number
from lapwing.model.bounds import rows_range
from lapwing.model.intervals import cell_intervals
from lapwing.model.sampling.marginals import marginal
from lapwing.release.queries import checked_failure, listed_columns, query_groupings
from lapwing.release.release import Release
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.values import labels

if TYPE_CHECKING:
    import polars as pl

Table = tuple[str, ...]

_ENDS: Final = 2  # an interval of each release for each cell, and of each number of rows


def changes(
    before: Release,
    after: Release,
    columns: Sequence[str | Sequence[str]] | None = None,
    *,
    groups: int = 10,
    confidence: Number = 0.95,
) -> "pl.DataFrame":
    """Return what moved between two releases, beyond the noise of both.

    Parameters
    ----------
    before, after : Release
        Of tables of the same kind: the columns asked for have the same description in both schemas.
    columns : sequence of str or of lists of str, optional
        Columns, or columns together; by default every column by itself that is the same in both.
    groups : int of at least 2, default 10
        About how many groups an ordered column with more values is shown in, as for `Release.query`.
    confidence : number above 0 and below 1, default 0.95
        That all intervals hold at once.

    Returns
    -------
    polars.DataFrame
        One line per cell: ``column`` and ``value``; ``before``, ``after`` and ``change``, shares of the rows as the
        models have them; ``lower`` and ``upper``, between which the true change of the share lies; ``moved``, whether
        that leaves 0 out; null where no noisy answer covers the cell in both.

    Raises
    ------
    ParameterError
        If a column is not in both schemas with the same description, or a setting is out of range.

    Notes
    -----
    Costs no budget. The intervals are those of `Release.query`, free of the models, each at such a confidence that all
    hold at once with the one asked for (Bonferroni); so few cells that did not move are said to. A change of the
    share follows from the counts' intervals and those of the numbers of rows.

    Examples
    --------
    >>> import polars as pl
    >>> from lapwing.verbs.synthesize import synthesize
    >>> schema = {"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]}
    >>> tables = [pl.DataFrame({"flag": [True] * n + [False] * (1000 - n)}) for n in (200, 600)]
    >>> found = changes(*[synthesize(each, schema, epsilon=10, seed=1) for each in tables])
    >>> found["moved"].to_list()
    [True, True]
    """
    import polars as pl  # noqa: PLC0415

    tables = _tables(before, after, columns)
    groupings = {each: query_groupings(before.schema, before.noisy, each, groups) for each in tables}
    cells = sum(int(np.prod([grouping.groups for grouping in each])) for each in groupings.values())
    failure = checked_failure(confidence) / (_ENDS * (cells + 1))
    lines = [line for each in tables for line in _lines(before, after, each, groupings[each], failure)]
    types = {"column": pl.String, "value": pl.String, **dict.fromkeys(_NUMBERS, pl.Float64), "moved": pl.Boolean}
    return pl.DataFrame(lines, schema=types, orient="row")


_NUMBERS: Final = ("before", "after", "change", "lower", "upper")


def _tables(before: Release, after: Release, columns: Sequence[str | Sequence[str]] | None) -> list[Table]:
    """Return the columns of each table; refuse those that are described otherwise in one of the schemas."""
    same = [each.name for each in before.schema.columns if each.name in after.schema.names]
    same = [name for name in same if before.schema.field(name).domain == after.schema.field(name).domain]
    if columns is None:
        return [(name,) for name in same]
    found = [tuple(listed_columns(each)) for each in columns]
    odd = [name for each in found for name in each if name not in same]
    if odd:
        raise ParameterError(
            f"changes are of columns that both releases describe alike, and {odd[0]} is none; leave it out",
            code="LW330",
        )
    return found


def _lines(
    before: Release, after: Release, table: Table, groupings: Sequence[Grouping], failure: Fraction
) -> Iterator[tuple[Any, ...]]:
    """Yield a line for each cell of a table."""
    names = [labels(grouping, before.schema.field(name)) for name, grouping in zip(table, groupings, strict=True)]
    kept = [
        texts if before.schema.field(name).domain.missing else texts[:-1]
        for name, texts in zip(table, names, strict=True)
    ]
    shares, lows, highs = zip(
        *(_shares(release, table, groupings, failure) for release in (before, after)), strict=True
    )
    for cell in np.ndindex(*map(len, kept)):
        was, now = (float(each[cell]) for each in shares)
        lower, upper = float(lows[1][cell] - highs[0][cell]), float(highs[1][cell] - lows[0][cell])
        value = ", ".join(texts[place] for texts, place in zip(kept, cell, strict=True))
        known = (lower, upper, not lower <= 0 <= upper) if np.isfinite(lower + upper) else (None, None, None)
        change = now - was if known[0] is None else min(max(now - was, lower), upper)
        yield (" x ".join(table), value, was, now, change, *known)


def _shares(
    release: Release, table: Table, groupings: Sequence[Grouping], failure: Fraction
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shares of cells under the model, and between which the true ones lie: NaN where nothing tells."""
    counts = marginal(release.model, list(table), groupings)
    public = release.certificate.public_rows
    found = cell_intervals(release.noisy, table, groupings, failure, public)
    told = rows_range(release.noisy, failure) if public is None else (public, public, True)
    least, most = (0.0, 0.0) if told is None else (float(told[0]), float(told[1]))
    is_known = (found.terms > 0) & (least > 0)
    low = np.where(is_known, found.lower / max(most, 1.0), np.nan)
    high = np.where(is_known, np.minimum(found.upper / max(least, 1.0), 1.0), np.nan)
    return counts / max(float(counts.sum()), 1.0), low, high
