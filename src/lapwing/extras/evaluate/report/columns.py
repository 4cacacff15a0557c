"""The internal report's section on single columns: every column's real and synthetic shares side by side."""

import math
from dataclasses import replace
from typing import Final

import numpy as np

from lapwing.extras.evaluate.metrics.columns import ColumnErrors, NumberErrors
from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, SYNTHETIC
from lapwing.extras.evaluate.metrics.overlays import ColumnOverlay
from lapwing.extras.evaluate.metrics.standing import SEVERAL
from lapwing.extras.evaluate.report.charts import bars, histogram
from lapwing.extras.evaluate.report.parts import section, table
from lapwing.extras.evaluate.words import say
from lapwing.present.document import (
    Chart,
    Part,
    Section,
    Table,
    Text,
    clip_text,
    count_text,
    percent,
    signed_points,
    visible_label,
)
from lapwing.schema.schemas import Schema
from lapwing.schema.values import described

DRAWN: Final = 40  # columns with a chart, the worst first; all are in the table
OPEN: Final = 12  # charts that are shown at once; the others are folded away
_TALL: Final = 20  # ordered categories up to which bars lie, so that labels can be read
_BARS: Final = 10  # categories without order that are drawn; all that are told apart are in the figures
_DWARFING: Final = 3  # times as high as the highest bar
_FAR_MEAN: Final = 0.1  # real standard deviations
_FAR_SPREAD: Final = 0.25
_WORTH_A_WORD: Final = 0.01  # of rows: a smaller difference is not called worst


def columns_section(found: Findings, schema: Schema) -> Section:
    """Return the section *Single columns*: charts of at most 40 columns, those that differ most, and a table of all."""
    distances, floors = _differences(found)
    order = sorted(found.overlays.columns, key=lambda each: -distances[each.column])
    meant = {column.name: described(column) for column in schema.columns}
    drawable = [each for each in order if max(each.real.sum(), each.synthetic.sum()) > 0]
    charts = [_chart(each, (distances, floors), meant[each.column]) for each in drawable[:DRAWN]]
    table = _table(found, [each.column for each in order], distances, floors)
    left = len(order) - len(charts)
    more = say("columns.more", drawn=count_text(DRAWN, "worst column"), left=left) if left > 0 else ""
    parts: list[Part] = [Text(say("columns.words") + more), *charts[:OPEN]]
    if len(charts) > OPEN:
        parts.append(Text(say("columns.folded", charts=count_text(len(charts) - OPEN, "more column"))))
    return section("single-columns", (*parts, table), folded=charts[OPEN:])


def differences_chart(found: Findings) -> Chart:
    """Return how far each column is, the worst first, beside a resample of the real rows."""
    distances, floors = _differences(found)
    names = sorted(distances, key=lambda name: -distances[name])[:_TALL]
    series = {what: [each[name] for name in names] for what, each in ((SYNTHETIC, distances), (BOOTSTRAP, floors))}
    more = (
        say("columns.differences.more", shown=len(names), columns=len(distances)) if len(names) < len(distances) else ""
    )
    return bars(
        list(map(clip_text, names)),
        series,
        title=say("columns.differences.title"),
        meaning=say("columns.differences.meaning") + more,
        unit=say("columns.differences.unit"),
        is_share=True,
    )


def _differences(found: Findings) -> tuple[dict[str, float], dict[str, float]]:
    """Return the share of rows that differ in every column, and that of a resample.

    Total variation, or the difference in the bars drawn where that is larger: parts of wide public bounds can hide what
    bars over the real rows show. That of a resample is then the expectation of its mean absolute deviations.
    """
    exact, floors = _distances(found, SYNTHETIC), _distances(found, BOOTSTRAP)
    for each in found.overlays.columns:
        real, synthetic = _all_shares(each)
        drawn = float(np.abs(synthetic - real).sum()) / 2
        if drawn > exact[each.column]:
            exact[each.column] = drawn
            floors[each.column] = float(np.sqrt(real * (1 - real) / (2 * math.pi * found.looked_at)).sum())
    return exact, floors


def _distances(found: Findings, name: str) -> dict[str, float]:
    """Return the total variation of every column's table."""
    single = found.tables[name][0]
    return {table[0]: distance for table, distance in zip(single.tables, single.distances.tolist(), strict=True)}


def _all_shares(overlay: ColumnOverlay) -> np.ndarray:
    """Return the shares of all bars and of all that is told apart, shape (2, shares): real, synthetic."""
    apart = [each[1:] for each in (*overlay.frequent, *overlay.special)] + [pair for _, pair in _gaps(overlay)]
    return np.column_stack((np.array([overlay.real, overlay.synthetic]), np.array(apart).T))


def _chart(overlay: ColumnOverlay, distances: tuple[dict[str, float], dict[str, float]], description: str) -> Chart:
    """Return one column side by side."""
    distance, floor = (each[overlay.column] for each in distances)
    meaning = _meaning(overlay, distance, floor)
    if description:
        meaning += f" The schema says: {clip_text(description, 120)}"
    title = clip_text(overlay.column)
    is_lying = overlay.kind == "category" and (not overlay.is_ordered or len(overlay.labels) <= _TALL)
    series = {"real": overlay.real.tolist(), "synthetic": overlay.synthetic.tolist()}
    if not is_lying:
        return histogram(overlay.labels, overlay.starts, series, title=title, meaning=meaning, unit="share of rows")
    labels, drawn = _drawn(overlay)
    chart = bars(labels, drawn, title=title, meaning=meaning, unit="share of rows", is_share=True)
    return replace(chart, figures=_all_bars(overlay, title))


def _drawn(overlay: ColumnOverlay) -> tuple[list[str], dict[str, list[float]]]:
    """Return the bars of categories: the first, others unless they would dwarf them, and missing cells."""
    keep = len(overlay.labels) if overlay.is_ordered or len(overlay.labels) <= _BARS + 2 else _BARS
    labels = list(map(visible_label, overlay.labels[:keep]))
    real, synthetic = overlay.real[:keep].tolist(), overlay.synthetic[:keep].tolist()
    more = [(label, *pair) for label, pair in _gaps(overlay) if max(pair) > 0]
    if keep < len(overlay.labels) and not _is_dwarfing(overlay):
        more.insert(0, _others(overlay, keep))
    series = {"real": real + [each[1] for each in more], "synthetic": synthetic + [each[2] for each in more]}
    return labels + [each[0] for each in more], series


def _gaps(overlay: ColumnOverlay) -> list[tuple[str, tuple[float, float]]]:
    """Return the shares of missing cells, or of invalid values."""
    gaps = ((say("columns.missing"), overlay.missing), (say("columns.invalid"), overlay.misfit))
    return [(label, pair) for label, pair in gaps if pair is not None]


def _others(overlay: ColumnOverlay, keep: int) -> tuple[str, float, float]:
    """Return the bar for all categories but the first: its label and shares."""
    label = say("columns.others", others=len(overlay.labels) - keep + max(overlay.others - 1, 0))
    return label, float(overlay.real[keep:].sum()), float(overlay.synthetic[keep:].sum())


def _all_bars(overlay: ColumnOverlay, title: str) -> Table:
    """Return the shares of all categories that are told apart, and of missing cells."""
    lines = list(zip(overlay.labels, overlay.real.tolist(), overlay.synthetic.tolist(), strict=True))
    lines += [(label, *pair) for label, pair in _gaps(overlay)]
    told = ((visible_label(label), percent(real, 2), percent(synthetic, 2)) for label, real, synthetic in lines)
    return table("columns.bars", told, numbers=(1, 2), title=title)


def _is_dwarfing(overlay: ColumnOverlay) -> bool:
    """Return whether the bar of all other categories would leave no room for those by themselves."""
    heights = np.maximum(overlay.real, overlay.synthetic)
    return bool(heights[_BARS:].sum() > _DWARFING * heights[:_BARS].max(initial=0.0))


def _meaning(overlay: ColumnOverlay, distance: float, floor: float) -> str:
    """Return the sentence that says what can be seen."""
    text = say("columns.differ", distance=percent(distance), floor=percent(floor))
    differences = overlay.synthetic - overlay.real
    if len(differences) and np.abs(differences).max() >= _WORTH_A_WORD:
        worst = int(np.abs(differences).argmax())
        text += say(
            "columns.most",
            label=visible_label(overlay.labels[worst], 40),
            real=percent(overlay.real[worst]),
            synthetic=percent(overlay.synthetic[worst]),
        )
    apart = [
        say("columns.apart", label=clip_text(label, 40), real=percent(real), synthetic=percent(synthetic))
        for label, real, synthetic in _apart(overlay)
    ]
    if apart:
        text += say("columns.not_drawn", apart=", ".join(apart))
    if overlay.scale == "log":
        text += say("columns.widen")
    return f"{text}."


def _apart(overlay: ColumnOverlay) -> list[tuple[str, float, float]]:
    """Return what has no bar, with its shares."""
    found = [each for each in (*overlay.frequent, *overlay.special) if max(each[1:]) > 0]
    if overlay.kind != "category" or (overlay.is_ordered and len(overlay.labels) > _TALL):
        found += [(label, *pair) for label, pair in _gaps(overlay) if max(pair) > 0]
    elif not overlay.is_ordered and len(overlay.labels) > _BARS + 2 and _is_dwarfing(overlay):
        found.append(_others(overlay, _BARS))
    return found


def _table(found: Findings, order: list[str], distances: dict[str, float], floors: dict[str, float]) -> Table:
    """Return how far all columns are from the real ones, the worst first."""
    errors = {each.column: each for each in found.columns[SYNTHETIC]}
    lines = [
        (clip_text(name), percent(distances[name], 2), percent(floors[name], 2), *_figures(errors[name]))
        for name in order
    ]
    return table(
        "columns.table",
        lines,
        numbers=range(1, 8),
        marked=tuple(
            place
            for place, name in enumerate(order)
            if distances[name] > max(SEVERAL * floors[name], _WORTH_A_WORD) or _is_far(errors[name].numbers)
        ),
    )


def _is_far(numbers: NumberErrors | None) -> bool:
    """Return whether what people compute from a column is clearly off."""
    return numbers is not None and (abs(numbers.mean or 0.0) > _FAR_MEAN or abs(numbers.deviation or 0.0) > _FAR_SPREAD)


def _figures(errors: ColumnErrors) -> tuple[str, ...]:
    """Return the errors of a column as cells."""
    missing = "-" if errors.missing is None else signed_points(errors.missing, 2)
    numbers = errors.numbers
    if numbers is None:
        return missing, "-", "-", "-", "-"
    spread = "-" if numbers.deviation is None else f"{100 * numbers.deviation:+.1f} %"
    moved = "-" if numbers.wasserstein is None else f"{numbers.wasserstein:.3f}"
    mean = "-" if numbers.mean is None else f"{numbers.mean:+.3f}"
    return missing, mean, spread, moved, percent(numbers.rank)
