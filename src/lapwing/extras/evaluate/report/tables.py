"""The internal report's sections on missing cells, rows of one parent, what the schema declares, weighted totals."""

from collections.abc import Iterator, Mapping
from typing import Final

from lapwing.extras.evaluate.metrics.declared import DeclaredFit, WeightedColumn, WeightedFit
from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, REAL, SYNTHETIC
from lapwing.extras.evaluate.metrics.panels import PanelErrors
from lapwing.extras.evaluate.metrics.tables.variation import Variation
from lapwing.extras.evaluate.report.charts import bars
from lapwing.extras.evaluate.report.parts import section, table
from lapwing.extras.evaluate.words import say
from lapwing.present.document import (
    Part,
    Section,
    Table,
    Text,
    clip_text,
    count_text,
    cross_name,
    percent,
    visible_label,
)

DRAWN: Final = 20  # columns and special values with a bar, those with the most such cells
LISTED: Final = 100  # and with a line in the table


def gaps_section(found: Findings) -> Section:
    """Return the section *Missing cells and special values*."""
    shares = _shares(found)
    parts: list[Part] = []
    parts += _shown(shares) if shares else [Text(say("gaps.none"))]
    misfits = [each for each in found.overlays.columns if each.misfit is not None and max(each.misfit) > 0]
    if misfits:
        points = tuple(
            say("gaps.misfit", column=clip_text(each.column), share=percent((each.misfit or (0.0, 0.0))[0], 2))
            for each in misfits
        )
        parts.append(Text(say("gaps.misfits"), points=points[:LISTED]))
    both = {"together": found.together, "given": found.given}
    pairs = [_pair_line(say(f"gaps.{what}"), each) for what, each in both.items() if each is not None]
    if pairs and shares:
        parts.append(table("gaps.pairs", pairs, numbers=range(1, 6)))
    return section("missing-cells", parts)


def _shares(found: Findings) -> list[tuple[str, float, float]]:
    """Return missing and special cells of all columns with their shares, the most frequent first."""
    shares = []
    for each in found.overlays.columns:
        name = clip_text(each.column, 40)
        if each.missing is not None:
            shares.append((say("gaps.missing", column=name), *each.missing))
        shares += [
            (say("gaps.special", column=name, value=clip_text(label, 30)), real, synthetic)
            for label, real, synthetic in each.special
        ]
    return sorted(shares, key=lambda line: -max(line[1:]))


def _shown(shares: list[tuple[str, float, float]]) -> list[Part]:
    """Return a sentence, a chart and a table of shares."""
    used = [each for each in shares if max(each[1:]) > 0]
    if not used:
        return [Text(say("gaps.may", kinds=count_text(len(shares), "kind")))]
    name, real, synthetic = max(used, key=lambda line: abs(line[2] - line[1]))
    meaning = say("gaps.largest", name=name, real=percent(real, 2), synthetic=percent(synthetic, 2))
    drawn = used[:DRAWN]
    labels = [each[0] for each in drawn]
    series = {"real": [each[1] for each in drawn], "synthetic": [each[2] for each in drawn]}
    parts: list[Part] = [
        bars(labels, series, title=say("gaps.chart"), meaning=meaning, unit=say("maps.unit"), is_share=True)
    ]
    if len(used) > DRAWN:
        lines = ((label, percent(real, 2), percent(synthetic, 2)) for label, real, synthetic in used[DRAWN:LISTED])
        parts.append(table("gaps.fewer", lines, numbers=(1, 2)))
    return parts


def _pair_line(what: str, found: Mapping[str, Variation]) -> tuple[str, ...]:
    """Return the figures of all pairs of columns as cells."""
    own = found[SYNTHETIC]
    columns, distance = own.worst(1)[0]
    means = [percent(found[name].mean, 2) for name in _PLACED]
    return (
        what,
        say("gaps.of", compared=len(own.tables), possible=own.possible),
        *means,
        percent(distance, 2),
        cross_name(columns),
    )


# -- The internal report's section on what the schema declares: rules, and public totals.


_COMPARED: Final = (REAL, SYNTHETIC, INDEPENDENT)
_PLACED: Final = (SYNTHETIC, BOOTSTRAP, INDEPENDENT)


def rules_section(found: DeclaredFit) -> Section:
    """Return the section *Rules and public totals*."""
    parts: list[Part] = []
    if found.rules:
        parts += _rules(found)
    if found.totals:
        parts.append(_totals(found))
    return section("rules", parts)


def _rules(found: DeclaredFit) -> list[Part]:
    """Return a sentence and a table: which rows break which rule."""
    real, synthetic = (found.broken[name] for name in (REAL, SYNTHETIC))
    words = say(
        "rules.words",
        rules=count_text(len(found.rules), "rule"),
        synthetic=count_text(synthetic, "synthetic row"),
        real=count_text(real, "real row"),
    )
    order = sorted(found.rules, key=lambda fit: (-fit.broken[SYNTHETIC], -fit.broken[REAL]))[:LISTED]
    lines = [
        (clip_text(fit.rule, 120), *(f"{fit.broken[name]:,}" for name in _COMPARED), fit.provenance) for fit in order
    ]
    more = say("rules.first", shown=LISTED, rules=len(found.rules)) if len(found.rules) > LISTED else ""
    shares = [percent(found.broken[name] / max(1, found.rows[name]), 2) for name in _COMPARED]
    broken = table(
        "rules.table",
        ((say("rules.any"), *shares, ""), *lines),
        numbers=(1, 2, 3),
        marked=tuple(at for at, fit in enumerate(order, 1) if fit.broken[SYNTHETIC] or fit.broken[REAL]),
        more=more,
    )
    return [Text(words, is_warning=bool(real or synthetic)), broken]


def _totals(found: DeclaredFit) -> Table:
    """Return a table: how far each public table is."""
    return table(
        "rules.totals",
        (
            (
                cross_name(fit.columns),
                *(percent(fit.gaps[name], 2) for name in _COMPARED),
                f"{fit.total:,}",
                say(f"declared.held.{fit.hold}"),
                clip_text(fit.source, 100),
            )
            for fit in found.totals[:LISTED]
        ),
        numbers=(1, 2, 3, 4),
    )


HEAVIEST: Final = 60  # cells with a line: of each column those with most weight, as many of each
_FAR: Final = 0.05  # of the total weight: the error of a total that deserves a colour


def panel_section(found: PanelErrors) -> Section:
    """Return the section about rows that belong together: successive rows of one parent, and siblings."""
    parts: list[Part] = [Text(say("panel.words"))]
    lines = tuple(panel_lines(found))
    if lines:
        parts.append(table("panel.table", lines, numbers=range(1, 7)))
    meanings = tuple(f"{each.metric.title}: {each.metric.meaning}" for each in found.figures)
    return section("together", parts, folded=(Text(say("panel.meanings"), points=meanings),))


def panel_lines(found: PanelErrors) -> Iterator[tuple[str, ...]]:
    """Return a line for each column: how often rows of one parent agree, and how far transitions are off."""
    moves = found.columns.get("transitions", {})
    for name, share in found.agreement[REAL].items():
        if moves:
            agree = (share, *(found.agreement[each][name] for each in (SYNTHETIC, INDEPENDENT)))
            apart = (moves[each][name] for each in _PLACED)
            yield (clip_text(name), *(percent(each) for each in agree), *(f"{each:.4f}" for each in apart))


def weighted_section(found: WeightedFit, unweighted: dict[str, float]) -> Section:
    """Return the section *Weighted totals*; unweighted: total variation of each column's plain shares."""
    order = sorted(found.columns, key=lambda each: -each.total_error(SYNTHETIC))
    total, floor = (found.totals[name] / found.total - 1 for name in (SYNTHETIC, BOOTSTRAP))
    words = say(
        "weighted.words",
        weight=clip_text(found.weight),
        total=_relative(total),
        floor=_relative(floor),
        column=clip_text(order[0].column),
    )
    parts: list[Part] = [Text(words), _columns(order, unweighted)]
    return section("weighted-totals", parts, folded=(_cells(order),))


def weighted_lines(found: WeightedFit, most: int) -> list[tuple[str, ...]]:
    """Return lines for a terminal: the total weight, then columns, those with the worst totals first."""
    order = sorted(found.columns, key=lambda each: -each.total_error(SYNTHETIC))
    lines = [
        (
            each.column,
            *(f"{each.total_error(name):.4f}" for name in _PLACED),
            f"{each.share_error(SYNTHETIC):.4f}",
            _mean(each, SYNTHETIC),
        )
        for each in order[:most]
    ]
    whole = (f"{found.totals[name] / found.total - 1:+.4f}" for name in _PLACED)
    return [(say("weighted.total"), *whole, "-", "-"), *lines]


def _columns(order: list[WeightedColumn], unweighted: dict[str, float]) -> Table:
    """Return how far the weighted figures of all columns are from the real ones."""
    lines = [
        (
            clip_text(each.column),
            *(percent(each.total_error(name), 2) for name in _PLACED),
            *(percent(each.share_error(name), 2) for name in (SYNTHETIC, BOOTSTRAP)),
            percent(unweighted.get(each.column), 2),
            _mean(each, SYNTHETIC),
            _mean(each, BOOTSTRAP),
        )
        for each in order
    ]
    return table(
        "weighted.table",
        lines,
        numbers=range(1, 9),
        marked=tuple(place for place, each in enumerate(order) if each.total_error(SYNTHETIC) > _FAR),
        far=percent(_FAR, 0),
    )


def _cells(order: list[WeightedColumn]) -> Table:
    """Return the weighted totals of the heaviest cells."""
    share = max(HEAVIEST // len(order), 2)
    lines = [
        (
            clip_text(each.column),
            visible_label(each.labels[cell]),
            f"{each.real[cell]:,.0f}",
            f"{each.totals[SYNTHETIC][cell]:,.0f}",
            *(_relative(each.totals[name][cell] / each.real[cell] - 1) for name in (SYNTHETIC, BOOTSTRAP)),
        )
        for each in order
        for cell in each.largest(share)
    ]
    return table("weighted.cells", lines, numbers=range(2, 6), cells=count_text(share, "cell"))


def _relative(error: float) -> str:
    """Return a relative error with its sign."""
    return f"{100 * error:+.1f} %"


def _mean(column: WeightedColumn, name: str) -> str:
    """Return the error of a weighted mean."""
    return "-" if column.means is None else f"{column.means[name]:+.3f}"
