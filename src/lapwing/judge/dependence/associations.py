"""How strongly every pair of columns depends on each other, and how far a table's dependences are from the real ones.

One measure serves columns of every type: the information correlation (`lapwing.judge.dependence.dependence.strength`).
It needs
no order and no unit, sees dependence of any form, counts missing and special values as values of their own, is the size
of the correlation for two normal columns, 0 for independent ones and 1 where one column tells the other. A different
measure for each pair of types (rank correlation, correlation ratio, Cramér's V) could not be compared across a matrix.
The maximal correlation could, but one row that is rare in both columns makes it 1.

What is computed from private rows is private: nothing here adds noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.judge.dependence.dependence import (
    BLOCKS,
    correlations,
    dependence_cells,
    information_correlations,
    jackknife_error,
    parts_for,
)
from lapwing.judge.metrics import Compared, Estimate, Floats, Metric, height, some_rows
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]

REAL: Final = "real"

MOST_COLUMNS: Final = 60
"""Columns that are compared with each other; of more, so many are drawn."""

MOST_ROWS: Final = 2**17
"""Rows of a table that are compared; of more, so many are drawn."""

PEARSON: Final = Metric(
    key="correlation_difference",
    title="Correlations",
    unit="correlation",
    meaning="Mean size of the difference between a correlation of two ordered columns and the real one, 0 to 2.",
    best=0.0,
    reference="Pearson's correlation, over the rows in which both columns have a regular value.",
)

SPEARMAN: Final = Metric(
    key="rank_correlation_difference",
    title="Rank correlations",
    unit="correlation",
    meaning="Mean size of the difference between a rank correlation of two ordered columns and the real one, 0 to 2.",
    best=0.0,
    reference="Spearman's correlation, over the rows in which both columns have a regular value.",
)

ASSOCIATION: Final = Metric(
    key="association_difference",
    title="Strength of dependence",
    unit="information correlation",
    meaning="Mean size of the difference between how strongly two columns depend on each other and how strongly they "
    "do in the real table, 0 to 1.",
    best=0.0,
    reference="Linfoot, An informational measure of correlation (1957), scaled to reach 1.",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Associations:
    """Hold how strongly the columns of several tables depend on each other.

    matrices: mapping of str to float64 (d, d), by the name of the table, ``real`` among them: symmetric, 0
    (independent) to 1 (one column tells the other), diagonal 1; nan where a column has one value only.
    """

    columns: tuple[str, ...]
    matrices: Mapping[str, np.ndarray]


def compare_associations(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> Associations | None:
    """Return how strongly every pair of columns depends on each other, in the real table and in others.

    real_codes: mapping of str to integers (n,), codes of every modelled column of the schema, at least one row; rng:
    chooses 60 columns where there are more, and 2**17 rows of tables with more. Returns none where the schema has fewer
    than two columns.

    References
    ----------
    `lapwing.judge.dependence.dependence.strength`.

    A column is taken in 2 to 16 parts of its regular codes, so that a table of two columns has five rows a cell: runs
    with equal real counts where it is ordered, the most common real categories where it is not (the others together are
    one part more). Special values together, and missing (or misfit), are values like any other. A dependence that lies
    within parts is not seen. Time ``O(d**2 n)`` for each table, memory ``O(d n)``.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> real = {"a": np.arange(40) % 2, "b": np.arange(40) % 2}
    >>> other = {"a": np.arange(40) % 2, "b": np.arange(40) // 2 % 2}
    >>> found = compare_associations(real, {"other": other}, schema, rng=np.random.default_rng(0))
    >>> found.matrices["real"][0, 1].item(), found.matrices["other"][0, 1].item()
    (1.0, 0.0)
    """
    columns = _some_columns(schema.columns, rng)
    if len(columns) < 2:
        return None
    tables, _ = _some_of_each(real_codes, others, columns, rng)
    found = _strengths(tables, columns, blocks=1)
    return Associations(
        columns=tuple(column.name for column in columns), matrices={name: each[0] for name, each in found.items()}
    )


def compare_correlations(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> tuple[Compared, ...]:
    """Return how far correlations of ordered columns and strengths of dependence of all are from the real ones.

    Returns of `PEARSON` and `SPEARMAN` where two columns are ordered, and of `ASSOCIATION` where there are two columns:
    the mean over pairs. A pair counts where the real or the other table has a figure. Where one has none, because a
    column has one value only, it counts as 0 there: nothing depends on a constant.

    Chance alone makes all of them larger than 0, the more so the fewer the rows: compare with the bootstrap. Exact
    where all rows and columns are used; else the standard error is that of a jackknife over 8 blocks of rows.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> real = {"a": np.arange(40) % 2, "b": np.arange(40) % 2}
    >>> other = {"a": np.arange(40) % 2, "b": np.arange(40) // 2 % 2}
    >>> found = compare_correlations(real, {"other": other}, schema, rng=np.random.default_rng(0))
    >>> [(each.metric.key, round(each.values["other"].value, 9)) for each in found]
    [('correlation_difference', 1.0), ('rank_correlation_difference', 1.0), ('association_difference', 1.0)]
    """
    found = []
    ordered = _some_columns([column for column in schema.columns if column.domain.ordered], rng)
    if len(ordered) > 1:
        tables, rows = _some_of_each(real_codes, others, ordered, rng)
        blocks = 1 if rows is None else BLOCKS
        for metric in (PEARSON, SPEARMAN):
            figures = {
                name: correlations(codes, ordered, blocks, ranked=metric is SPEARMAN) for name, codes in tables.items()
            }
            found.append(_compared(metric, figures, rows, len(ordered)))
    columns = _some_columns(schema.columns, rng)
    if len(columns) > 1:
        tables, rows = _some_of_each(real_codes, others, columns, rng)
        strengths = _strengths(tables, columns, blocks=1 if rows is None else BLOCKS)
        found.append(_compared(ASSOCIATION, strengths, rows, len(columns)))
    return tuple(found)


def _some_columns(columns: Sequence[Field], rng: np.random.Generator) -> list[Field]:
    """Return all columns, or a sample of them in their order."""
    if len(columns) <= MOST_COLUMNS:
        return list(columns)
    return [columns[place] for place in np.sort(rng.choice(len(columns), MOST_COLUMNS, replace=False)).tolist()]


def _some_of_each(
    real_codes: Codes, others: Mapping[str, Codes], columns: Sequence[Field], rng: np.random.Generator
) -> tuple[dict[str, Codes], int | None]:
    """Return rows of every table, the real one first, and how many of each where not all are used."""
    tables = {REAL: real_codes, **others}
    names = [column.name for column in columns]
    is_all = max(map(height, tables.values())) <= MOST_ROWS
    some: dict[str, Codes] = {name: some_rows(codes, names, MOST_ROWS, rng) for name, codes in tables.items()}
    return some, None if is_all else MOST_ROWS


def _strengths(tables: Mapping[str, Codes], columns: Sequence[Field], *, blocks: int) -> dict[str, Floats]:
    """Return the information correlations of each table, as `information_correlations` does."""
    parts = parts_for(min(map(height, tables.values())))
    by_column = [
        dependence_cells([codes[column.name] for codes in tables.values()], column.domain, parts) for column in columns
    ]
    return {
        name: information_correlations(cells, parts + 3, blocks)
        for name, cells in zip(tables, zip(*by_column, strict=True), strict=True)
    }


def _compared(metric: Metric, figures: Mapping[str, Floats], rows: int | None, columns: int) -> Compared:
    """Return how far the figures of each table are from the real ones: the mean over pairs, and its error."""
    return Compared(
        metric=metric,
        values={name: _distance(figures[REAL], each) for name, each in figures.items() if name != REAL},
        rows=rows,
        columns=columns,
    )


def _distance(real: Floats, other: Floats) -> Estimate:
    """Return the mean size of the differences over the pairs that have a figure in one of the tables."""
    places = np.triu_indices(real.shape[1], 1)
    pairs, other_pairs = (each[:, places[0], places[1]] for each in (real, other))
    is_counted = ~(np.isnan(pairs) & np.isnan(other_pairs))
    sizes = np.abs(np.nan_to_num(pairs) - np.nan_to_num(other_pairs))
    means = (sizes * is_counted).sum(axis=1) / np.maximum(is_counted.sum(axis=1), 1)
    return Estimate(value=float(means[0]), standard_error=jackknife_error(means))
