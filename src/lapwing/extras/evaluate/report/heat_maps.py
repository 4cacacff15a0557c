"""Heat maps of a report: matrices and maps as shades, in steps."""

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lapwing.extras.evaluate.report.charts import altair, distinct, figure_text, full_width, ramp, skip_validation
from lapwing.present.document import Chart, Table

_NUMBER: Final = "isFinite(datum.value) ? format(datum.value, abs(datum.value) >= 1000 ? ',.0f' : '.2~r') : ''"
_ALL_SHOWN: Final = 30  # rows and columns of a matrix that all have their name beside it
_WHOLE: Final = 10  # rows and columns of a matrix that fits a printed page


@skip_validation
def heat_map(
    matrix: np.ndarray,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    *,
    title: str,
    meaning: str,
    unit: str,
    domain: tuple[float, float] = (0.0, 1.0),
    both_ways: bool = False,
) -> Chart:
    """Return a matrix as shades, NaN left blank; its figures are the whole matrix up to 10 x 10, else the 50 largest.

    domain: the figures of the lightest and the darkest shade; both_ways: shades part from zero in two colours.
    """
    alt = altair()
    across, down = distinct(column_labels, 24), distinct(row_labels, 24)
    values = np.asarray(matrix, dtype=np.float64)
    lines = [
        {"row": down[i], "column": across[j], "value": float(values[i, j])}
        for i, j in np.argwhere(np.isfinite(values)).tolist()
    ]
    plain = {"ticks": False, "domain": False}
    # All names are shown where there is room on a screen; of more, some are left out.
    overlaps = ["greedy" if len(each) > _ALL_SHOWN else False for each in (across, down)]
    axes = (
        alt.Axis(labelAngle=-60, labelOverlap=overlaps[0], labelSeparation=2, **plain),
        alt.Axis(labelOverlap=overlaps[1], **plain),
    )
    size = max(4, min(24, 560 // max(1, len(row_labels))))
    chart = alt.Chart().mark_rect()
    chart = chart.encode(
        x=alt.X("column:N", sort=across, scale=alt.Scale(domain=across), title=None, axis=axes[0]),
        y=alt.Y("row:N", sort=down, scale=alt.Scale(domain=down), title=None, axis=axes[1]),
        color=_shades(alt, unit, domain, both_ways=both_ways),
    )
    figures = _matrix_figures(title, values, row_labels, column_labels, unit)
    return full_width(chart, lines, max(60, size * len(row_labels)), title=title, meaning=meaning, figures=figures)


@skip_validation
def map_heat(
    matrix: np.ndarray,
    x_edges: Sequence[float],
    y_edges: Sequence[float],
    *,
    x_title: str,
    y_title: str,
    title: str,
    meaning: str,
    unit: str,
    domain: tuple[float, float] | None = None,
    both_ways: bool = False,
) -> Chart:
    """Return a grid over two numeric columns as shades, lowest y first; 0 is blank unless ``both_ways``."""
    alt = altair()
    values = np.asarray(matrix, dtype=np.float64)
    most = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    kept = np.isfinite(values) & (both_ways | (values != 0))
    lines = [
        {"x": x_edges[j], "x2": x_edges[j + 1], "y": y_edges[i], "y2": y_edges[i + 1], "value": float(values[i, j])}
        for i, j in np.argwhere(kept).tolist()
    ]
    ends = [alt.Scale(domain=[float(each[0]), float(each[-1])], nice=False, zero=False) for each in (x_edges, y_edges)]
    chart = alt.Chart().mark_rect()
    chart = chart.encode(
        x=alt.X("x:Q", title=x_title, scale=ends[0], axis=alt.Axis(grid=False, labelOverlap=True)),
        x2="x2:Q",
        y=alt.Y("y:Q", title=y_title, scale=ends[1], axis=alt.Axis(grid=False)),
        y2="y2:Q",
        color=_shades(alt, unit, domain or ((-most, most) if both_ways else (0.0, most)), both_ways=both_ways),
    )
    labels = [[f"{low:.6g} to {high:.6g}" for low, high in itertools.pairwise(each)] for each in (y_edges, x_edges)]
    figures = _largest(title, values, labels[0], labels[1], (y_title, x_title, unit))
    return full_width(chart, lines, 380, title=title, meaning=meaning, figures=figures)


def _shades(alt: Any, unit: str, domain: tuple[float, float], *, both_ways: bool) -> Any:  # noqa: ANN401
    """Return the shades of a heat map, in steps: a page changes their colours without drawing anew."""
    scale = alt.Scale(type="quantize", domain=list(domain), range=ramp(both_ways=both_ways))
    legend = alt.Legend(
        orient="top", titleOrient="left", titleAnchor="middle", gradientLength=180, labelExpr=_NUMBER, labelSeparation=6
    )
    return alt.Color("value:Q", title=unit, scale=scale, legend=legend)


def _matrix_figures(
    caption: str, values: np.ndarray, row_labels: Sequence[str], column_labels: Sequence[str], unit: str
) -> Table:
    """Return a small matrix whole, and the largest figures of a large one."""
    if max(values.shape) > _WHOLE:
        return _largest(caption, values, row_labels, column_labels, ("row", "column", unit))
    lines = tuple((label, *map(figure_text, line)) for label, line in zip(row_labels, values.tolist(), strict=True))
    return Table(caption, ("", *column_labels), lines, numbers=tuple(range(1, 1 + values.shape[1])))


def _largest(
    caption: str,
    values: np.ndarray,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    heading: tuple[str, str, str],
) -> Table:
    """Return the 50 figures of a matrix that are largest in size."""
    sizes = np.where(np.isfinite(values), np.abs(values), -1.0).ravel()
    order = [place for place in np.argsort(-sizes, kind="stable")[:50].tolist() if sizes[place] > 0]
    cells = [divmod(place, values.shape[1]) for place in order]
    lines = tuple((row_labels[i], column_labels[j], figure_text(float(values[i, j]))) for i, j in cells)
    return Table(f"{caption}: the largest", heading, lines, numbers=(2,))
