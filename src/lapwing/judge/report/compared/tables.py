"""The internal report's section on missing cells and special values."""

from collections.abc import Mapping
from typing import Final

from lapwing.judge.findings import Findings
from lapwing.judge.metrics import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.judge.report.charts.charts import bars
from lapwing.judge.report.compared.glance import clipped, counted, crossed, percent
from lapwing.judge.report.page import Part, Section, Table, Text
from lapwing.judge.rules import REAL, Declared
from lapwing.judge.tables.variation import Variation

DRAWN: Final = 20
"""Columns and special values with a bar, those with the most such cells."""

LISTED: Final = 100
"""And with a line in the table."""


def gaps_section(found: Findings) -> Section:
    """Return the section *Missing cells and special values*."""
    shares = _shares(found)
    parts: list[Part] = []
    if not shares:
        parts.append(Text(words="No column may be missing or has declared special values."))
    else:
        parts += _shown(shares)
    misfits = [each for each in found.overlays.columns if each.misfit is not None and max(each.misfit) > 0]
    if misfits:
        words = "Cells outside the schema, which no release can hold: their rows are part of the error of the column."
        points = tuple(
            f"{clipped(each.column)}: {percent((each.misfit or (0.0, 0.0))[0], 2)} of the real cells"
            for each in misfits
        )
        parts.append(Text(words=words, points=points[:LISTED]))
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
                caption="Rows that differ in tables of two columns that are taken as missing or not",
                heading=("tables", "compared", "mean", "resample", "independent", "worst", "worst pair"),
                lines=tuple(pairs),
                numbers=(1, 2, 3, 4, 5),
            )
        )
    return Section(key="missing-cells", title="Missing cells and special values", parts=tuple(parts))


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
        return [Text(words=f"{counted(len(shares), 'kind')} of such cells may occur; neither table has any.")]
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
        parts.append(Table(caption=caption, heading=("cells", "real", "synthetic"), lines=lines, numbers=(1, 2)))
    return parts


def _pair_line(what: str, found: Mapping[str, Variation]) -> tuple[str, ...]:
    """Return the figures of all pairs of columns as cells."""
    own = found[SYNTHETIC]
    columns, distance = own.worst(1)[0]
    means = [percent(found[name].mean, 2) for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT)]
    return what, f"{len(own.tables):,} of {own.possible:,}", *means, percent(distance, 2), crossed(columns)


# -- The internal report's section on what the schema declares: rules, and public totals.


_COMPARED: Final = (REAL, SYNTHETIC, INDEPENDENT)


def rules_section(found: Declared) -> Section:
    """Return the section *Rules and public totals*."""
    parts: list[Part] = []
    if found.rules:
        parts += _rules(found)
    if found.totals:
        parts.append(_totals(found))
    return Section(key="rules", title="Rules and public totals", parts=tuple(parts))


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
        caption=f"Rows that break a rule{more}",
        heading=("rule", "real", "synthetic", "independent", "provenance"),
        lines=(("any rule, share of rows", *shares, ""), *lines),
        numbers=(1, 2, 3),
        marked=tuple(at for at, fit in enumerate(order, 1) if fit.broken[SYNTHETIC] or fit.broken[REAL]),
    )
    return [Text(words=words, is_warning=bool(real or synthetic)), table]


def _totals(found: Declared) -> Table:
    """Return a table: how far each public table is."""
    return Table(
        caption="Rows that would have to change for the shares of a public table",
        heading=("table", "real", "synthetic", "independent", "rows counted", "held", "source"),
        lines=tuple(
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
