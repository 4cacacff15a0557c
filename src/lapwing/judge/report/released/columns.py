"""The columns of a released model, ready to be drawn: expected rows, and where the true numbers of rows lie."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from lapwing.judge.report.charts.charts import bars, histogram, map_heat
from lapwing.judge.report.page import Chart, Part, Table, Text

MOST_COLUMNS: Final = 100
"""Columns that are drawn."""

_ROUNDING: Final = 1e-6
_FULLEST: Final = 0.98  # of the cells with rows: the others have the darkest shade
_LEAST: Final = 0.5  # expected rows
_SERIES: Final = "released"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedCell:
    """Hold one value, or one run of values, of a column.

    lower, upper: between which the true number of rows lies; None where no noisy answer covers it.
    """

    label: str
    start: str
    rows: float
    lower: int | None
    upper: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedColumn:
    """Hold what a released model says about one column.

    apart: told in words: single numbers that many rows have, special values, missing; is_uneven: whether some runs are
    much wider than others, so that heights of bars are no density.
    """

    column: str
    kind: Literal["number", "date", "category"]
    cells: tuple[ReleasedCell, ...]
    apart: tuple[ReleasedCell, ...]
    is_ordered: bool
    rows: int
    is_uneven: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedMap:
    """Hold where on a map the rows of a released model are.

    x_edges, y_edges: float64 (cells + 1,), where cells begin and end; rows: float64 (y cells, x cells), expected.
    """

    x: str
    y: str
    x_edges: np.ndarray
    y_edges: np.ndarray
    rows: np.ndarray


def column_parts(columns: Sequence[ReleasedColumn], maps: Sequence[ReleasedMap], total: int) -> tuple[Part, ...]:
    """Return the charts of columns and maps, under a paragraph that says how to read them."""
    words = (
        "Bars are the rows that the released model expects. The thin line on a bar is where the true number of rows "
        "lies, with a probability of 95 % for each bar by itself (of 20 such lines, one misses on average); it comes "
        "from the noisy counts alone, so that a bar may end outside it. A bar without a line stands for values that "
        "were not counted in this form: what it shows is the model's guess."
    )
    left_out = total - len(columns)
    points = (
        (f"The first {len(columns)} of {total} columns are drawn. `release.query` gives the others.",)
        if left_out
        else ()
    )
    charts = [column_chart(column) for column in columns]
    return (Text(words=words, points=points), *map(_map_chart, maps), *charts)


def column_chart(column: ReleasedColumn) -> Chart:
    """Return the chart of one column.

    >>> cells = (ReleasedCell(label="f", start="f", rows=30.0, lower=25, upper=36),)
    >>> missing = (ReleasedCell(label="missing", start="missing", rows=10.0, lower=None, upper=None),)
    >>> sex = ReleasedColumn(column="sex", kind="category", cells=cells, apart=missing, is_ordered=False, rows=40)
    >>> column_chart(sex).meaning
    'Apart from the bars: missing in 25.0 % of the rows.'
    """
    labels = [cell.label for cell in column.cells]
    rows = [cell.rows for cell in column.cells]
    ends = ([cell.lower for cell in column.cells], [cell.upper for cell in column.cells])
    intervals = {_SERIES: ends} if any(end is not None for end in ends[0]) else None
    meaning = _meaning(column)
    if column.is_ordered and (column.kind != "category" or len(labels) > 12):
        starts = [cell.start for cell in column.cells]
        chart = histogram(
            labels,
            starts,
            {_SERIES: rows},
            title=column.column,
            meaning=meaning,
            unit="rows",
            is_share=False,
            intervals=intervals,
        )
    else:
        chart = bars(labels, {_SERIES: rows}, title=column.column, meaning=meaning, unit="rows", intervals=intervals)
    return Chart(title=chart.title, meaning=chart.meaning, spec=chart.spec, figures=_figures(column))


def _meaning(column: ReleasedColumn) -> str:
    """Say what is not among the bars, and how wide they are."""
    words = []
    if column.apart:
        told = "; ".join(f"{cell.label} {_told(cell, column.rows)}" for cell in column.apart)
        words.append(f"Apart from the bars: {told}.")
    drawn = sum(cell.rows for cell in (*column.cells, *column.apart))
    if drawn < column.rows * (1 - _ROUNDING):
        words.append(f"The tails are left out: {_percent(1 - drawn / column.rows)} of the rows.")
    if column.is_uneven:
        words.append("The runs are not equally wide.")
    if all(cell.lower is None for cell in column.cells):
        words.append("No lines: what was counted was wider, or the column was not counted by itself.")
    return " ".join(words) or "All rows are in the bars."


def _told(cell: ReleasedCell, rows: int) -> str:
    """Return the share of a value in words, with its interval."""
    if rows == 0:
        return "in no row"
    share = f"in {_percent(cell.rows / rows)} of the rows"
    if cell.lower is None or cell.upper is None:
        return share
    return f"{share} (true number: {cell.lower:,} to {cell.upper:,})"


def _percent(share: float) -> str:
    """Return a share in percent, with a digit more where it is small."""
    return f"{100 * share:.1f} %" if share >= 0.01 else f"{100 * share:.2g} %"


def _figures(column: ReleasedColumn) -> Table:
    """Return the numbers behind a chart, those told in words as well."""
    lines = tuple(
        (
            cell.label,
            f"{cell.rows:,.1f}",
            "-" if column.rows == 0 else f"{100 * cell.rows / column.rows:.2f} %",
            "-" if cell.lower is None else f"{cell.lower:,}",
            "-" if cell.upper is None else f"{cell.upper:,}",
        )
        for cell in (*column.cells, *column.apart)
    )
    heading = (column.column, "rows expected", "share", "true rows from", "to")
    return Table(caption="", heading=heading, lines=lines, numbers=(1, 2, 3, 4))


def _map_chart(found: ReleasedMap) -> Chart:
    """Return a map; the fullest cells share the darkest shade, so that the others can be told apart."""
    rows = np.where(found.rows < _LEAST, 0.0, found.rows)
    return map_heat(
        rows,
        found.x_edges.tolist(),
        found.y_edges.tolist(),
        x_title=found.x,
        y_title=found.y,
        title=f"{found.x} and {found.y}",
        meaning="Where the released model expects rows: the darker, the more; blank below half a row.",
        unit="rows expected",
        domain=(0.0, float(np.quantile(rows[rows > 0], _FULLEST))) if rows.any() else None,
    )
