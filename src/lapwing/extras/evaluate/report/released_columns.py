"""The columns of a released model, grouped and drawn: expected rows, and where the true numbers of rows lie."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from lapwing.errors import CapacityError
from lapwing.extras.evaluate.metrics.bars import (
    FREQUENT,
    MOST_BARS,
    choose_bars,
    effective_bars,
    equal_cells,
    start_text,
    value_at,
)
from lapwing.extras.evaluate.metrics.overlays import coordinate_pairs
from lapwing.extras.evaluate.report.charts import bars, histogram
from lapwing.extras.evaluate.report.heat_maps import map_heat
from lapwing.extras.evaluate.report.parts import table
from lapwing.extras.evaluate.words import say
from lapwing.kernel.questions.questions import Answer
from lapwing.model.evidence import AskedTable, intervals, measured_groupings
from lapwing.model.model import ReleasedModel
from lapwing.model.sampling.marginals import marginal
from lapwing.present.document import Chart, Part, Table, Text
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, interval_grouping, lookup
from lapwing.schema.schemas import Schema
from lapwing.schema.values import labels

MOST_COLUMNS: Final = 100  # columns that are drawn
_ROUNDING: Final = 1e-6
_FULLEST: Final = 0.98  # of the cells with rows: the others have the darkest shade
LEAST: Final = 0.5  # expected rows: a cell with fewer is empty


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
    kind: Literal["number", "category"]
    cells: tuple[ReleasedCell, ...]
    apart: tuple[ReleasedCell, ...]
    is_ordered: bool
    rows: int
    is_uneven: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedMap:
    """Hold where on a map the rows of a released model are expected, shape (y cells, x cells)."""

    x: str
    y: str
    x_edges: np.ndarray
    y_edges: np.ndarray
    rows: np.ndarray


def column_parts(columns: Sequence[ReleasedColumn], maps: Sequence[ReleasedMap], total: int) -> tuple[Part, ...]:
    """Return the charts of columns and maps, under a paragraph that says how to read them."""
    points = (say("model.more", shown=len(columns), columns=total),) if len(columns) < total else ()
    return (Text(say("model.words"), points=points), *map(map_chart, maps), *map(column_chart, columns))


def column_chart(column: ReleasedColumn) -> Chart:
    """Return the chart of one column."""
    labels, starts = [cell.label for cell in column.cells], [cell.start for cell in column.cells]
    ends = [cell.lower for cell in column.cells], [cell.upper for cell in column.cells]
    series = {"released": [cell.rows for cell in column.cells]}
    intervals = {"released": ends} if any(end is not None for end in ends[0]) else None
    if column.is_ordered and (column.kind != "category" or len(labels) > 12):
        chart = histogram(
            labels, starts, series, title=column.column, meaning="", unit="rows", is_share=False, intervals=intervals
        )
    else:
        chart = bars(labels, series, title=column.column, meaning="", unit="rows", intervals=intervals)
    return replace(chart, meaning=_meaning(column), figures=_figures(column))


def _meaning(column: ReleasedColumn) -> str:
    """Say what is not among the bars, and how wide they are."""
    words = []
    if column.apart:
        told = "; ".join(f"{cell.label} {_share_text(cell, column.rows)}" for cell in column.apart)
        words.append(say("model.apart", told=told))
    drawn = sum(cell.rows for cell in (*column.cells, *column.apart))
    if drawn < column.rows * (1 - _ROUNDING):
        words.append(say("model.tails", share=_percent(1 - drawn / column.rows)))
    if column.is_uneven:
        words.append(say("model.uneven"))
    if all(cell.lower is None for cell in column.cells):
        words.append(say("model.no_lines"))
    return " ".join(words) or say("model.all")


def _share_text(cell: ReleasedCell, rows: int) -> str:
    """Return the share of a value in words, with its interval."""
    if rows == 0:
        return say("model.no_row")
    is_known = cell.lower is not None and cell.upper is not None
    number = say("model.number", lower=cell.lower, upper=cell.upper) if is_known else ""
    return say("model.told", share=_percent(cell.rows / rows), number=number)


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
    return table("model.figures", lines, numbers=range(1, 5), column=column.column)


def map_chart(found: ReleasedMap) -> Chart:
    """Return a map; the fullest cells share the darkest shade, so that the others can be told apart."""
    rows = np.where(found.rows < LEAST, 0.0, found.rows)
    return map_heat(
        rows,
        found.x_edges.tolist(),
        found.y_edges.tolist(),
        x_title=found.x,
        y_title=found.y,
        title=say("model.pair", x=found.x, y=found.y),
        meaning=say("model.map"),
        unit=say("model.expected"),
        domain=(0.0, float(np.quantile(rows[rows > 0], _FULLEST))) if rows.any() else None,
    )


_MOMENT: Final = re.compile(r"(?<=-\d\d)T(\d\d:\d\d):\d\d")
_FAILURE: Final = Fraction(1, 20)
_LISTED: Final = 20  # categories without an order that have bars of their own
_FINE: Final = 2**16  # groups in which a column is looked at before its bars are chosen
_SAMPLED: Final = 4096
_MOST_RUNS: Final = 64  # of groups as they were counted, before the tails are left out
_GRID: Final = 48
_READABLE: Final = 6.0  # bars, by the exponential of the entropy
_TAIL: Final = 0.002  # share of the rows on each side that is not drawn
_UNEVEN: Final = 2  # times as wide as another: worth a word
_LEAST_SPECIAL: Final = 0.0005  # share of the rows below which a special value is not worth a word


@dataclass(frozen=True, slots=True, eq=False)
class _Shown:
    """A column's groups, how each is called, and which are told apart from the bars."""

    grouping: Grouping
    labels: list[str]
    starts: list[str]
    order: list[int]
    apart: list[int]
    is_uneven: bool = False
    has_intervals: bool = True
    no_interval: int | None = None  # a group whose making depends on counts


def released_columns(
    model: ReleasedModel, schema: Schema, noisy: Sequence[Answer], names: Iterable[str], public_rows: int | None
) -> tuple[ReleasedColumn, ...]:
    """Return what a released model says about some columns.

    Numbers and dates are in at most 64 runs of the groups in which they were first counted, without the tails; where
    these are too wide to show how the model spreads them, in runs of round numbers, without intervals. Of categories
    without order, the 20 that the model expects most often, and all others together.
    """
    return tuple(_column(model, schema.field(name), noisy, public_rows) for name in names)


def released_maps(model: ReleasedModel, schema: Schema) -> tuple[ReleasedMap, ...]:
    """Return the maps of the pairs of columns that are coordinates, on at most 48 x 48 cells."""
    found = (released_map(model, [schema.field(name) for name in pair]) for pair in coordinate_pairs(schema))
    return tuple(each for each in found if each is not None)


def _column(model: ReleasedModel, field: Field, noisy: Sequence[Answer], public_rows: int | None) -> ReleasedColumn:
    """Return what the model says about one column."""
    own = measured_groupings(noisy, [field.name])
    measured = None if own is None else own[0]
    is_list = field.is_categorical and not field.domain.ordered
    shown = _listed(model, field) if is_list else _runs(model, field, measured)
    counts = marginal(model, [field.name], [shown.grouping])
    found = intervals(noisy, AskedTable([field.name], [shown.grouping]), _FAILURE, public_rows=public_rows)

    def cell(group: int, *, is_apart: bool = False) -> ReleasedCell:
        is_fixed = group >= shown.grouping.regular or (shown.has_intervals and group != shown.no_interval)
        is_known = is_fixed and bool(found.terms[group])
        is_value = is_apart and group < shown.grouping.groups - 1
        return ReleasedCell(
            label=say("model.value", label=shown.labels[group]) if is_value else shown.labels[group],
            start=shown.starts[group] if group < len(shown.starts) else shown.labels[group],
            rows=float(counts[group]),
            lower=int(found.lower[group]) if is_known else None,
            upper=int(found.upper[group]) if is_known else None,
        )

    specials = list(range(shown.grouping.regular, shown.grouping.groups - 1))
    is_long = len(specials) > 3  # such as the many codes of a survey: those that hardly a row has are not told
    kept = [group for group in specials if not is_long or counts[group] >= _LEAST_SPECIAL * model.rows]
    last = [shown.grouping.groups - 1] if field.domain.missing else []
    return ReleasedColumn(
        column=field.name,
        kind="category" if field.is_categorical else "number",
        cells=tuple(map(cell, shown.order)),
        apart=tuple(cell(group, is_apart=True) for group in [*shown.apart, *kept, *last]),
        is_ordered=field.domain.ordered,
        is_uneven=shown.is_uneven,
        rows=model.rows,
    )


def most_frequent(model: ReleasedModel, field: Field, most: int) -> tuple[Grouping, np.ndarray]:
    """Return so many categories by themselves and the others together, and their order by falling number of rows."""
    domain = field.domain
    every = identity(domain)
    counts = marginal(model, [field.name], [every])[: domain.values]
    order = np.argsort(-counts, kind="stable")
    if domain.values <= most + 1:
        return every, order
    table = np.full(domain.values, most)
    table[order[:most]] = np.arange(most)
    return lookup(domain, table), order


def _listed(model: ReleasedModel, field: Field) -> _Shown:
    """Return categories by falling number of rows, those beyond the 20th together."""
    domain = field.domain
    grouping, order = most_frequent(model, field, _LISTED)
    texts = labels(grouping, field)
    if domain.values <= _LISTED + 1:
        return _Shown(grouping, texts, texts, order.tolist(), [])
    texts[_LISTED] = say("model.others", others=domain.values - _LISTED)
    return _Shown(grouping, texts, texts, list(range(_LISTED + 1)), [], no_interval=_LISTED)


def _runs(model: ReleasedModel, field: Field, measured: Grouping | None) -> _Shown:
    """Return runs of an ordered column that can be read: as it was counted, or else as the model spreads it."""
    domain = field.domain
    if domain.values <= MOST_BARS or field.is_categorical:
        grouping = evenly(domain, MOST_BARS)
        texts = labels(grouping, field)
        return _Shown(grouping, texts, _starts(field, grouping), list(range(grouping.regular)), [])
    counted = _counted(model, field, measured)
    if counted is not None:
        return counted
    bars = choose_bars(field, model_codes(model, field, measured))
    grouping = interval_grouping(domain, bars.cuts)
    texts = [*bars.labels, *labels(grouping, field)[grouping.regular :]]
    return _Shown(grouping, texts, list(bars.starts), list(range(grouping.regular)), [], has_intervals=False)


def _counted(model: ReleasedModel, field: Field, measured: Grouping | None) -> _Shown | None:
    """Return the groups in which a column was first counted, or runs of them; None where they are too wide to be read.

    The groups are those of one question, and how many of them make a run depends on their number alone, so that the
    intervals keep their coverage. Only which runs are drawn, and which single values are told apart, depends on counts.
    """
    if measured is None or measured.kind == "table":
        return None
    edges = measured.pieces()[0][1 : measured.regular]
    step = -(-measured.regular // _MOST_RUNS)
    singles, shares = _frequent(model, field, measured)
    alone = [edge for code in singles for edge in (code, code + 1) if 0 < edge < field.domain.values]
    grouping = interval_grouping(
        field.domain, np.unique(np.concatenate((edges[step - 1 :: step], np.array(alone, dtype=np.int64))))
    )
    starts, stops = (each[: grouping.regular] for each in grouping.pieces()[:2])
    counts = marginal(model, [field.name], [grouping])[: grouping.regular]
    is_single = np.isin(starts, singles) & (stops == starts + 1)
    rest = np.where(is_single, 0.0, counts)
    if effective_bars(rest) < min(_READABLE, 0.2 * effective_bars(shares)):
        return None
    tail = _TAIL * rest.sum()
    is_drawn = ~is_single & (np.cumsum(rest) > tail) & (np.cumsum(rest[::-1])[::-1] > tail)
    order = np.flatnonzero(is_drawn).tolist()
    widths = (stops - starts)[order]
    return _Shown(
        grouping,
        _without_seconds(labels(grouping, field)),
        _starts(field, grouping),
        order,
        np.flatnonzero(is_single).tolist(),
        is_uneven=len(order) > 0 and int(widths.max()) > _UNEVEN * int(widths.min()),
    )


def _frequent(model: ReleasedModel, field: Field, measured: Grouping) -> tuple[list[int], np.ndarray]:
    """Return the codes that were counted by themselves and would dwarf the others; and the masses of fine groups."""
    starts, stops, _ = measured.pieces()
    counts = marginal(model, [field.name], [measured])[: measured.regular]
    starts, stops = starts[: measured.regular], stops[: measured.regular]
    is_frequent = (stops == starts + 1) & (counts >= FREQUENT * max(counts.sum(), 1e-300))
    if field.type in ("date", "datetime"):
        is_frequent[:] = False
    codes = model_codes(model, field, measured)
    spread = np.bincount(np.unique(codes[~np.isin(codes, starts[is_frequent])], return_inverse=True)[1])
    return starts[is_frequent].tolist(), spread


def _starts(field: Field, grouping: Grouping) -> list[str]:
    """Return where groups begin, short; categories are called as they are."""
    if field.is_categorical:
        return labels(grouping, field)
    return [start_text(field, int(code)) for code in grouping.pieces()[0][: grouping.regular]]


def model_codes(model: ReleasedModel, field: Field, measured: Grouping | None) -> np.ndarray:
    """Return codes that stand for the released law: its quantiles, spread evenly inside fine groups."""
    domain = field.domain
    fine = evenly(domain, _FINE)
    if measured is not None and measured.kind != "table":
        edges = np.union1d(fine.pieces()[0][1 : fine.regular], measured.pieces()[0][1 : measured.regular])
        fine = interval_grouping(domain, edges)
    starts, stops, _ = fine.pieces()
    masses = marginal(model, [field.name], [fine])[: fine.regular]
    total = masses.sum()
    if total <= 0:
        return np.zeros(0, dtype=np.int64)
    ends = np.cumsum(masses) / total
    levels = (np.arange(_SAMPLED) + 0.5) / _SAMPLED
    group = np.minimum(np.searchsorted(ends, levels), fine.regular - 1)
    before = np.where(group > 0, ends[group - 1], 0.0)
    inside = np.clip((levels - before) / np.maximum(ends[group] - before, 1e-300), 0.0, 1 - 1e-9)
    return np.asarray(starts[group] + (inside * (stops[group] - starts[group])).astype(np.int64))


def _without_seconds(texts: list[str]) -> list[str]:
    """Return labels with moments to the minute, unless some would be the same."""
    short = [_MOMENT.sub(r" \1", text) for text in texts]
    return short if len(set(short)) == len(set(texts)) else texts


def released_map(model: ReleasedModel, fields: Sequence[Field]) -> ReleasedMap | None:
    """Return where the model expects rows by two coordinates; None where it says nothing about them."""
    edges = []
    for field in fields:
        codes = model_codes(model, field, None)
        if not len(codes):
            return None
        edges.append(equal_cells(codes, _GRID))
    groupings, insides = [], []
    for field, starts in zip(fields, edges, strict=True):
        cuts = starts[(starts > 0) & (starts < field.domain.values)]
        groupings.append(interval_grouping(field.domain, cuts))
        before = 0 if starts[0] <= 0 else 1
        insides.append(slice(before, before + len(starts) - 1))
    try:
        counts = marginal(model, [field.name for field in fields], groupings)
    except CapacityError:
        return None
    places = [
        np.array([float(value_at(field, int(c))) for c in each]) for field, each in zip(fields, edges, strict=True)
    ]
    rows = counts[insides[0], insides[1]].T
    return ReleasedMap(x=fields[0].name, y=fields[1].name, x_edges=places[0], y_edges=places[1], rows=rows)
