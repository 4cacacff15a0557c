"""The internal report's sections on several columns at once: dependence of pairs, the worst tables, and maps."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from lapwing.extras.evaluate.metrics.associations import Associations
from lapwing.extras.evaluate.metrics.findings import Findings, placed_figures
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.extras.evaluate.metrics.overlays import MapOverlay
from lapwing.extras.evaluate.metrics.standing import APART, PART, SEVERAL, standing
from lapwing.extras.evaluate.metrics.tables.variation import Variation
from lapwing.extras.evaluate.report.heat_maps import heat_map, map_heat
from lapwing.extras.evaluate.report.parts import section, table
from lapwing.extras.evaluate.words import say
from lapwing.present.document import Chart, Part, Section, Table, Text, clip_text, cross_name, percent

WORST: Final = 10  # tables named of each number of columns
_REAL: Final = "real"
_SMALL: Final = 0.01  # of rows: a smaller difference of one column is not marked
_WORTH_A_WORD: Final = 0.05  # of strength: a smaller change is not named
_BRIGHT: Final = 0.98  # of the real map cells are within the shades; the fullest few share the darkest


def pairs_section(found: Findings) -> Section:
    """Return the section *Pairs of columns*: strength of dependence as heat maps, and total variation."""
    parts: list[Part] = []
    if found.associations is None:
        parts.append(Text(say("pairs.one_column")))
    else:
        words = say("pairs.words")
        columns = len(found.associations.columns)
        if columns < len(found.columns[SYNTHETIC]):
            words += say("pairs.more", shown=columns, columns=len(found.columns[SYNTHETIC]))
        parts += [Text(words), *_heat_maps(found.associations)]
    return section("pairs", (*parts, _summary(found)))


def worst_section(found: Findings) -> Section:
    """Return the section *Worst tables*: the ten of one, two and three columns that differ most."""
    tables = [_worst(found, place) for place in range(len(found.tables[SYNTHETIC]))]
    return section("worst-tables", (Text(say("worst.words")), *tables))


def maps_section(found: Findings) -> Section:
    """Return the section *Maps*: pairs of coordinates on one grid, real, synthetic and their difference."""
    maps = found.overlays.maps
    if not maps:
        return section("maps", (Text(say("maps.none")),))
    charts = [chart for each in maps for chart in _map(each, found.looked_at)]
    return section("maps", (Text(say("maps.words")), *charts))


def _heat_maps(found: Associations) -> list[Chart]:
    """Return the strength of dependence of all pairs: real, synthetic, difference."""
    real, synthetic = found.matrices[_REAL], found.matrices[SYNTHETIC]
    names = [clip_text(name) for name in found.columns]
    unit = say("pairs.unit")
    return [
        heat_map(real, names, names, title=say("pairs.real"), meaning=_strongest(found, real), unit=unit),
        heat_map(synthetic, names, names, title=say("pairs.synthetic"), meaning=_kept(found), unit=unit),
        change_map(found),
    ]


def change_map(found: Associations) -> Chart:
    """Return how much stronger or weaker each pair's relation is in the synthetic table."""
    names = [clip_text(name) for name in found.columns]
    change = np.where(np.eye(len(names), dtype=np.bool_), np.nan, found.matrices[SYNTHETIC] - found.matrices[_REAL])
    reach = max(0.1, math.ceil(10 * float(np.nanmax(np.abs(change), initial=0.0))) / 10)
    return heat_map(
        change,
        names,
        names,
        title=say("pairs.change"),
        meaning=_changed(found, change),
        unit=say("pairs.change_unit"),
        domain=(-reach, reach),
        both_ways=True,
    )


def _upper(matrix: np.ndarray) -> np.ndarray:
    """Return the figures of all pairs that have one."""
    values = matrix[np.triu_indices(len(matrix), 1)]
    return np.asarray(values[np.isfinite(values)])


def _largest(columns: tuple[str, ...], matrix: np.ndarray) -> tuple[str, int, int] | None:
    """Return the pair with the largest figure of a matrix, and where it stands."""
    values = np.where(np.triu(np.ones(matrix.shape, dtype=np.bool_), 1) & np.isfinite(matrix), matrix, -np.inf)
    first, second = np.unravel_index(int(values.argmax()), values.shape)
    if not np.isfinite(values[first, second]):
        return None
    return cross_name((columns[first], columns[second])), int(first), int(second)


def _strongest(found: Associations, real: np.ndarray) -> str:
    """Return the sentence about the real table."""
    pair = _largest(found.columns, real)
    if pair is None:
        return say("pairs.no_relation")
    return say("pairs.strongest", pair=pair[0], real=real[pair[1], pair[2]], mean=_upper(real).mean())


def _kept(found: Associations) -> str:
    """Return the sentence about the synthetic table: its mean strength and what references have."""
    means = {name: _upper(matrix) for name, matrix in found.matrices.items()}
    shown = {name: f"{values.mean():.2f}" for name, values in means.items() if len(values)}
    if SYNTHETIC not in shown:
        return say("pairs.no_values")
    beside = [say(f"pairs.beside.{name}", mean=shown[name]) for name in (_REAL, INDEPENDENT) if name in shown]
    said = say("pairs.strength", mean=shown[SYNTHETIC])
    return f"{said}{say('pairs.beside.all', means=', '.join(beside)) if beside else ''}."


def _changed(found: Associations, change: np.ndarray) -> str:
    """Return the sentence about the differences: the largest loss, the largest gain, and their mean size."""
    lost, made = _largest(found.columns, -change), _largest(found.columns, change)
    if lost is None or made is None:
        return say("pairs.nothing")
    real, synthetic = found.matrices[_REAL], found.matrices[SYNTHETIC]
    parts = [say("pairs.off", mean=np.abs(_upper(change)).mean())]
    fresh = found.matrices.get(BOOTSTRAP)
    if fresh is not None and len(_upper(fresh - real)):
        parts[0] += say("pairs.off_fresh", mean=np.abs(_upper(fresh - real)).mean())
    for what, (name, *at) in (("lost", lost), ("made", made)):
        before, after = float(real[at[0], at[1]]), float(synthetic[at[0], at[1]])
        if abs(after - before) >= _WORTH_A_WORD and (after < before) == (what == "lost"):
            parts.append(say(f"pairs.{what}", name=name, real=before, synthetic=after))
    return f"{'; '.join(parts)}."


def _summary(found: Findings) -> Table:
    """Return mean and largest total variation by the number of columns, with the references."""
    places = {each.metric.key: each for each in map(standing, placed_figures(found)) if each is not None}
    lines = []
    for place, tables in enumerate(found.tables[SYNTHETIC]):
        floor, lazy = found.tables[BOOTSTRAP][place], found.tables[INDEPENDENT][place]
        figures = [percent(value, 2) for value in (tables.mean, floor.mean, lazy.mean)]
        most = [percent(value, 2) for value in (tables.maximum, floor.maximum, lazy.maximum)]
        compared = f"{len(tables.tables):,} of {tables.possible:,}"
        words = places[f"total_variation_{tables.ways}"].words
        lines.append((str(tables.ways), compared, *figures, *most, words))
    return table("pairs.table", lines, numbers=range(1, 8))


def _worst(found: Findings, place: int) -> Table:
    """Return the tables with so many columns that differ most, each with the same figure of the references."""
    tables, floor, lazy = (found.tables[name][place] for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT))
    order = np.argsort(-tables.distances, kind="stable")[:WORST].tolist()
    if tables.ways == 1:
        return _worst_columns(tables, floor, order)
    lines, marked = [], []
    for line, at in enumerate(order):
        own, low, high = (float(each.distances[at]) for each in (tables, floor, lazy))
        way = (own - low) / (high - low) if high > APART * low else None
        figures = [percent(value, 2) for value in (own, low, high)]
        lines.append((cross_name(tables.tables[at]), *figures, "-" if way is None else f"{100 * way:.0f} %"))
        if way is not None and way > PART:
            marked.append(line)
    return table(
        "worst.table",
        lines,
        numbers=(1, 2, 3, 4),
        marked=marked,
        ways=tables.ways,
        tables=len(tables.tables),
    )


def _worst_columns(tables: Variation, floor: Variation, order: Sequence[int]) -> Table:
    """Return the single columns that differ most; independent columns are never off there."""
    pairs = [(float(tables.distances[at]), float(floor.distances[at])) for at in order]
    return table(
        "worst.single",
        tuple(
            (cross_name(tables.tables[at]), percent(own, 2), percent(low, 2), f"{own / low:.1f}" if low > 0 else "-")
            for at, (own, low) in zip(order, pairs, strict=True)
        ),
        numbers=(1, 2, 3),
        marked=tuple(line for line, (own, low) in enumerate(pairs) if own > max(SEVERAL * low, _SMALL)),
        tables=len(tables.tables),
    )


def _map(found: MapOverlay, rows: int) -> list[Chart]:
    """Return one map: real, synthetic, difference."""
    is_empty = (found.real == 0) & (found.synthetic == 0)
    change = np.where(is_empty, np.nan, found.synthetic - found.real)
    full = found.real[found.real > 0]
    top = float(np.quantile(full, _BRIGHT)) if len(full) else 1.0
    filled = np.abs(change[~is_empty])
    reach = float(np.quantile(filled, _BRIGHT)) if len(filled) else 1.0
    name = f"{clip_text(found.x, 24)} × {clip_text(found.y, 24)}"
    empty = float(found.synthetic[found.real == 0].sum())
    distance = (float(np.abs(found.synthetic - found.real).sum()) + abs(found.outside[1] - found.outside[0])) / 2
    fresh = float(np.sqrt(found.real * (1 - found.real) / (2 * math.pi * rows)).sum())
    meanings = {
        "real": say("maps.real", share=percent(1 - found.outside[0]), cells=len(full), all=found.real.size),
        "synthetic": say("maps.synthetic", share=percent(1 - found.outside[1]), empty=percent(empty)),
        "difference": say("maps.difference", distance=percent(distance), fresh=percent(min(fresh, 1.0))),
    }
    grids = {"real": found.real, "synthetic": found.synthetic, "difference": change}
    return [
        map_heat(
            grid,
            found.x_edges.tolist(),
            found.y_edges.tolist(),
            x_title=clip_text(found.x, 24),
            y_title=clip_text(found.y, 24),
            title=say(f"maps.title.{kind}", name=name),
            meaning=meanings[kind],
            unit=say("maps.unit"),
            domain=(-reach, reach) if kind == "difference" else (0.0, top),
            both_ways=kind == "difference",
        )
        for kind, grid in grids.items()
    ]
