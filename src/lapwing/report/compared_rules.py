"""The internal report's section on what the schema declares: rules, and public totals."""

from typing import Final

from lapwing.evaluate.metrics import INDEPENDENT, SYNTHETIC
from lapwing.evaluate.rules import REAL, Declared
from lapwing.report.compared_words import clipped, counted, crossed, percent
from lapwing.report.sections import Part, Section, Table, Text

LISTED: Final = 100
"""Rules with a line in the table, those that most rows break first."""

_COMPARED: Final = (REAL, SYNTHETIC, INDEPENDENT)


def rules_section(found: Declared) -> Section:
    """Return the section *Rules and public totals*.

    Parameters
    ----------
    found : Declared
        With the tables ``real``, ``synthetic`` and ``independent``.

    Returns
    -------
    Section
    """
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
