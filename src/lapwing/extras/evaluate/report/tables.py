"""The internal report's sections on missing cells, rows of one parent, what the schema declares, weighted totals."""

from collections.abc import Iterator, Mapping
from typing import Final

from lapwing.extras.evaluate.metrics.declared import Declared, Weighted, WeightedColumn
from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, REAL, SYNTHETIC
from lapwing.extras.evaluate.metrics.panels import PanelErrors
from lapwing.extras.evaluate.metrics.tables.variation import Variation
from lapwing.extras.evaluate.report.charts import bars
from lapwing.present.document import Part, Section, Table, Text, clipped, counted, crossed, labelled, percent

DRAWN: Final = 20  # columns and special values with a bar, those with the most such cells
LISTED: Final = 100  # and with a line in the table


def gaps_section(found: Findings) -> Section:
    """Return the section *Missing cells and special values*."""
    shares = _shares(found)
    parts: list[Part] = []
    if not shares:
        parts.append(Text("No column may be missing or has declared special values."))
    else:
        parts += _shown(shares)
    misfits = [each for each in found.overlays.columns if each.misfit is not None and max(each.misfit) > 0]
    if misfits:
        words = "Cells outside the schema, which no release can hold: their rows are part of the error of the column."
        points = tuple(
            f"{clipped(each.column)}: {percent((each.misfit or (0.0, 0.0))[0], 2)} of the real cells"
            for each in misfits
        )
        parts.append(Text(words, points=points[:LISTED]))
    pairs = [
        _pair_line(what, each)
        for what, each in (
            ("missing or special together", found.together),
            ("missing, given another column", found.given),
        )
        if each is not None
    ]
    if pairs and shares:
        parts.append(
            Table(
                "Rows that differ in tables of two columns that are taken as missing or not",
                ("tables", "compared", "mean", "resample", "independent", "worst", "worst pair"),
                tuple(pairs),
                numbers=(1, 2, 3, 4, 5),
            )
        )
    return Section("missing-cells", "Missing cells and special values", tuple(parts))


def _shares(found: Findings) -> list[tuple[str, float, float]]:
    """Return missing and special cells of all columns with their shares, the most frequent first."""
    shares = []
    for each in found.overlays.columns:
        name = clipped(each.column, 40)
        if each.missing is not None:
            shares.append((f"{name}: missing", *each.missing))
        shares += [(f"{name} = {clipped(label, 30)}", real, synthetic) for label, real, synthetic in each.special]
    return sorted(shares, key=lambda line: -max(line[1:]))


def _shown(shares: list[tuple[str, float, float]]) -> list[Part]:
    """Return a sentence, a chart and a table of shares."""
    used = [each for each in shares if max(each[1:]) > 0]
    if not used:
        return [Text(f"{counted(len(shares), 'kind')} of such cells may occur; neither table has any.")]
    name, real, synthetic = max(used, key=lambda line: abs(line[2] - line[1]))
    meaning = f"The largest difference is {name}: real {percent(real, 2)}, synthetic {percent(synthetic, 2)}."
    drawn = used[:DRAWN]
    labels = [each[0] for each in drawn]
    series = {"real": [each[1] for each in drawn], "synthetic": [each[2] for each in drawn]}
    parts: list[Part] = [
        bars(labels, series, title="Missing and special cells", meaning=meaning, unit="share of rows", is_share=True)
    ]
    if len(used) > DRAWN:
        lines = tuple((label, percent(real, 2), percent(synthetic, 2)) for label, real, synthetic in used[DRAWN:LISTED])
        caption = "Those with fewer such cells"
        parts.append(Table(caption, ("cells", "real", "synthetic"), lines, numbers=(1, 2)))
    return parts


def _pair_line(what: str, found: Mapping[str, Variation]) -> tuple[str, ...]:
    """Return the figures of all pairs of columns as cells."""
    own = found[SYNTHETIC]
    columns, distance = own.worst(1)[0]
    means = [percent(found[name].mean, 2) for name in _PLACED]
    return what, f"{len(own.tables):,} of {own.possible:,}", *means, percent(distance, 2), crossed(columns)


# -- The internal report's section on what the schema declares: rules, and public totals.


_COMPARED: Final = (REAL, SYNTHETIC, INDEPENDENT)
_PLACED: Final = (SYNTHETIC, BOOTSTRAP, INDEPENDENT)


def rules_section(found: Declared) -> Section:
    """Return the section *Rules and public totals*."""
    parts: list[Part] = []
    if found.rules:
        parts += _rules(found)
    if found.totals:
        parts.append(_totals(found))
    return Section("rules", "Rules and public totals", tuple(parts))


def _rules(found: Declared) -> list[Part]:
    """Return a sentence and a table: which rows break which rule."""
    real, synthetic = (found.broken[name] for name in (REAL, SYNTHETIC))
    words = (
        f"{counted(len(found.rules), 'rule')}: {counted(synthetic, 'synthetic row')} and "
        f"{counted(real, 'real row')} break any of them. Independent columns show what a table breaks that knows no "
        "rule. Cells that do not fit the schema break none."
    )
    order = sorted(found.rules, key=lambda fit: (-fit.broken[SYNTHETIC], -fit.broken[REAL]))[:LISTED]
    lines = [
        (clipped(fit.rule, 120), *(f"{fit.broken[name]:,}" for name in _COMPARED), fit.provenance) for fit in order
    ]
    more = f": {LISTED} of {len(found.rules)} rules" if len(found.rules) > LISTED else ""
    shares = [percent(found.broken[name] / max(1, found.rows[name]), 2) for name in _COMPARED]
    table = Table(
        f"Rows that break a rule{more}",
        ("rule", "real", "synthetic", "independent", "provenance"),
        (("any rule, share of rows", *shares, ""), *lines),
        numbers=(1, 2, 3),
        marked=tuple(at for at, fit in enumerate(order, 1) if fit.broken[SYNTHETIC] or fit.broken[REAL]),
    )
    return [Text(words, is_warning=bool(real or synthetic)), table]


def _totals(found: Declared) -> Table:
    """Return a table: how far each public table is."""
    return Table(
        "Rows that would have to change for the shares of a public table",
        ("table", "real", "synthetic", "independent", "rows counted", "held", "source"),
        tuple(
            (
                crossed(fit.columns),
                *(percent(fit.gaps[name], 2) for name in _COMPARED),
                f"{fit.total:,}",
                "exactly" if fit.hold == "exact" else "as a prior",
                clipped(fit.source, 100),
            )
            for fit in found.totals[:LISTED]
        ),
        numbers=(1, 2, 3, 4),
    )


HEAVIEST: Final = 60  # cells with a line: of each column those with most weight, as many of each
_FAR: Final = 0.05  # of the total weight: the error of a total that deserves a colour


def panel_section(found: PanelErrors) -> Section:
    """Return the section about rows that belong together: successive rows of one parent, and siblings."""
    words = (
        "Rows of one parent, such as visits of one person, in their order; without an order, any two of them. They are "
        "read against parents drawn again with all their rows (a resample), and against the real rows dealt out to "
        "parents at random, which know nothing of each other."
    )
    parts: list[Part] = [Text(words)]
    lines = tuple(panel_lines(found))
    if lines:
        heading = ("column", "real", "synthetic", "rows dealt out", "transitions", "resample", "rows dealt out")
        caption = "Share of pairs of rows of one parent that agree; total variation of a row and the next"
        parts.append(Table(caption, heading, lines, numbers=(1, 2, 3, 4, 5, 6)))
    meanings = tuple(f"{each.metric.title}: {each.metric.meaning}" for each in found.figures)
    return Section(
        "together",
        "Rows that belong together",
        tuple(parts),
        folded=(Text("What the figures at a glance mean:", points=meanings),),
    )


def panel_lines(found: PanelErrors) -> Iterator[tuple[str, ...]]:
    """Return a line for each column: how often rows of one parent agree, and how far transitions are off."""
    moves = found.columns.get("transitions", {})
    for name, share in found.agreement[REAL].items():
        if moves:
            agree = (share, *(found.agreement[each][name] for each in (SYNTHETIC, INDEPENDENT)))
            apart = (moves[each][name] for each in _PLACED)
            yield (clipped(name), *(percent(each) for each in agree), *(f"{each:.4f}" for each in apart))


def weighted_section(found: Weighted, unweighted: dict[str, float]) -> Section:
    """Return the section *Weighted totals*; unweighted: total variation of each column's plain shares."""
    order = sorted(found.columns, key=lambda each: -each.total_error(SYNTHETIC))
    total, floor = (found.totals[name] / found.total - 1 for name in (SYNTHETIC, BOOTSTRAP))
    words = (
        f"Every row counts {clipped(found.weight)} times, as users of a survey count it. The synthetic rows weigh "
        f"{_relative(total)} against the real ones (a resample: {_relative(floor)}), as if there were as many of them. "
        f"Farthest off are the totals of {clipped(order[0].column)}."
    )
    parts: list[Part] = [Text(words), _columns(order, unweighted)]
    return Section("weighted-totals", "Weighted totals", tuple(parts), folded=(_cells(order),))


def weighted_lines(found: Weighted, most: int) -> list[tuple[str, ...]]:
    """Return heading and lines for a terminal: the total weight, then columns, those with the worst totals first."""
    heading = (f"weighted by {found.weight}", "totals", "bootstrap", "independent", "shares", "mean (sd)")
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
    return [heading, ("total weight", *whole, "-", "-"), *lines]


def _columns(order: list[WeightedColumn], unweighted: dict[str, float]) -> Table:
    """Return how far the weighted figures of all columns are from the real ones."""
    lines = [
        (
            clipped(each.column),
            *(percent(each.total_error(name), 2) for name in _PLACED),
            *(percent(each.share_error(name), 2) for name in (SYNTHETIC, BOOTSTRAP)),
            percent(unweighted.get(each.column), 2),
            _mean(each, SYNTHETIC),
            _mean(each, BOOTSTRAP),
        )
        for each in order
    ]
    return Table(
        "Every column, weighted: absolute errors of the totals of its cells over the total weight; weighted "
        "shares that differ, beside the plain ones; error of the weighted mean in real standard deviations. Coloured: "
        f"totals off by more than {percent(_FAR, 0)}",
        ("column", "totals", "resample", "independent", "shares", "resample", "unweighted", "mean", "resample"),
        tuple(lines),
        numbers=tuple(range(1, 9)),
        marked=tuple(place for place, each in enumerate(order) if each.total_error(SYNTHETIC) > _FAR),
    )


def _cells(order: list[WeightedColumn]) -> Table:
    """Return the weighted totals of the heaviest cells."""
    share = max(HEAVIEST // len(order), 2)
    lines = [
        (
            clipped(each.column),
            labelled(each.labels[cell]),
            f"{each.real[cell]:,.0f}",
            f"{each.totals[SYNTHETIC][cell]:,.0f}",
            *(_relative(each.totals[name][cell] / each.real[cell] - 1) for name in (SYNTHETIC, BOOTSTRAP)),
        )
        for each in order
        for cell in each.largest(share)
    ]
    return Table(
        f"Weighted totals of the cells with most weight, {counted(share, 'cell')} of each column at most",
        ("column", "cell", "real", "synthetic", "error", "resample"),
        tuple(lines),
        numbers=(2, 3, 4, 5),
    )


def _relative(error: float) -> str:
    """Return a relative error with its sign."""
    return f"{100 * error:+.1f} %"


def _mean(column: WeightedColumn, name: str) -> str:
    """Return the error of a weighted mean."""
    return "-" if column.means is None else f"{column.means[name]:+.3f}"
