"""What a certificate proves about the accuracy of a release, each as one plain sentence with its figure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from lapwing.model.accuracy import Accuracy, Basis, CountAccuracy, Statement, TableAccuracy
from lapwing.model.certificate.certificate import ROWS_WITHIN, Certificate
from lapwing.model.certificate.certificate import Statement as Certified
from lapwing.present.document import Document, Fact, Section, Table, Text, counted, crossed, upper_first
from lapwing.present.messages import labelled, say


@dataclass(frozen=True, slots=True)
class _Form:
    """How statements of one kind of certificate are told: the words that stand for the figure, and what proves it."""

    words: tuple[str, str]
    basis: Basis
    source: str
    is_bound: bool = False


_PAGES: Final = "docs/after-the-release.md"


_LINEAR: Final = "docs/linear-statistics.md"


_BOUND: Final = ("at most this", "at most {}")


_FORMS: Final[Mapping[str, _Form]] = {
    "noise on each count": _Form(
        ("this standard deviation, in records", "a standard deviation of {} rows"), "theorem", _PAGES
    ),
    "distance": _Form(_BOUND, "simulation", "", True),  # its source is the mechanism's page
    "largest cell": _Form(("this diameter", "a diameter of {}"), "model", "docs/pmm.md"),
    "cells": _Form(("so many cells", "{} cells"), "model", "docs/kd-tree.md"),
    "share of rows in kept cells": _Form(("this part", "a share of {}"), "model", _PAGES),
    "certified error": _Form(
        ("further from the table's, as a share of the rows,", "further from the table's than {} of the rows,"),
        "certificate",
        _LINEAR,
        True,
    ),
    "error of all pairs": _Form(("at most this share of the rows", "at most {} of the rows"), "certificate", "", True),
    "error of all products": _Form(_BOUND, "certificate", "", True),
    "certified error of a table": _Form(
        ("further from its share of the rows", "further than {} from its share of the rows"),
        "certificate",
        _LINEAR,
        True,
    ),
    "certified error of a statistic": _Form(
        ("no further from the table's", "no further than {} from the table's"), "certificate", _LINEAR, True
    ),
    "fit": _Form(("", ""), "model", _LINEAR),
    "gap": _Form(("more than this", "more than {}"), "certificate", _LINEAR),
    "effective points": _Form(("so many", "{}"), "model", _LINEAR),
    "spread of the weights": _Form(("", ""), "model", _LINEAR),
    "error of the draw": _Form(
        ("further than this, in shares,", "further than {}, in shares,"),
        "theorem",
        "Hoeffding's inequality",
        True,
    ),
    "states without rows": _Form(("so many", "{}"), "model", "docs/adaptive.md"),
    "rows where none were seen": _Form(("this share", "a share of {}"), "model", "docs/adaptive.md"),
    "values not told apart": _Form(("this share", "a share of {}"), "model", "docs/adaptive.md"),
    "rows drawn": _Form(("", ""), "model", "docs/private-sampling.md"),
    "distance of the density": _Form(("", ""), "theorem", "docs/private-sampling.md"),
}


_ELSE: Final = _Form(_BOUND, "certificate", _PAGES)


_SMALL: Final = 1e-6


_WHOLE: Final = 1e9


_STATED: Final = 0.95
"""Confidence of the bounds that a mechanism states without a setting for it."""


def certificate_statements(certificate: Certificate, page: str) -> tuple[Statement, ...]:
    """Return what a certificate states about accuracy, as sentences that stand alone."""
    return tuple(_told(each, certificate, page) for each in certificate.accuracy if each.kind != ROWS_WITHIN)


def _told(stated: Certified, certificate: Certificate, page: str) -> Statement:
    """Return one statement of a certificate as a sentence."""
    form = _FORMS.get(stated.kind, _ELSE)
    confidence = None
    if form.is_bound:
        own = certificate.settings.get("confidence")
        confidence = float(own) if isinstance(own, int | float) and 0 < own < 1 else _STATED
    return Statement(
        key="_".join(stated.kind.lower().split()),
        text=_sentence(stated, form),
        value=stated.value,
        unit=stated.unit,
        confidence=confidence,
        basis=form.basis,
        source=form.source or page,
    )


def _sentence(stated: Certified, form: _Form) -> str:
    """Write the figure into the certificate's words."""
    text = stated.text.replace("of 1 noisy tables", "of 1 noisy table", 1)
    text = text.replace("so many cells has the grid", "the grid has so many cells", 1)
    if stated.value is not None:
        old, new = form.words
        figure = _figure(stated.value)
        text = text.replace(old, new.format(figure), 1) if old and old in text else f"{text}: {figure}"
    return f"{upper_first(text)}."


def _figure(value: float) -> str:
    """Return a figure as text."""
    if value and abs(value) < _SMALL:
        return f"less than {_SMALL:g}"
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < _WHOLE else f"{value:.4g}"


# -- What is known of the accuracy of a whole release, of one table, and of one count.

_FIRST: Final = 5  # measured tables that are not folded away


def describe_accuracy(found: Accuracy | TableAccuracy | CountAccuracy) -> Document:
    """Return what is known of accuracy."""
    if isinstance(found, Accuracy):
        return _of_release(found)
    return _of_table(found) if isinstance(found, TableAccuracy) else _of_count(found)


def _of_release(found: Accuracy) -> Document:
    said = {each.key: each.text for each in found.statements}
    first = said.get("every_measured_count") or next(iter(said.values()), say("accuracy.nothing"))
    lines = tuple(
        (
            crossed(each.columns) + ("" if each.level is None else f", level {each.level}"),
            f"{each.cells:,}",
            f"{each.noise:,.3g}",
            f"{each.largest_error:,.0f}",
            f"{each.variation:.3g}",
        )
        for each in found.marginals
    )
    heading = ("table", "cells", "noise (sd)", "no count off by more", "total variation at most")
    table = Table(say("accuracy.caption"), heading, lines, numbers=(1, 2, 3, 4))
    shown = Section("first", "", (replace(table, lines=lines[:_FIRST]),))
    every = Section("tables", say("accuracy.tables", count=len(lines)), (table,))
    statements = Text("", tuple(each.text for each in found.statements))
    facts = labelled(measured=counted(found.measured, "table"), model=say("accuracy.worth", rows=found.effective_rows))
    return Document(
        (Fact("headline", "", first), *facts),
        "Accuracy",
        sections=(
            *([shown] if lines else []),
            Section("statements", say("accuracy.statements", count=len(said)), (statements,)),
            *([every] if len(lines) > _FIRST else []),
        ),
    )


def _of_table(found: TableAccuracy) -> Document:
    sure = f"{100 * found.confidence:g}"
    error, variation = found.largest_error, found.variation
    measured = say("accuracy.table_measured" if found.is_measured else "accuracy.table_guess")
    facts = labelled(
        cells=f"{found.cells:,}",
        noise="" if found.noise is None else say("accuracy.noise", noise=found.noise),
        counts="" if error is None else say("accuracy.error", rows=error, sure=sure),
        variation="" if variation is None else say("accuracy.variation", most=variation, sure=sure),
    )
    return Document(
        (Fact("headline", "", f"{crossed(found.columns)}: {measured}"), Fact("said", "", found.text), *facts),
        "TableAccuracy",
    )


def _of_count(found: CountAccuracy) -> Document:
    is_known = found.lower is not None and found.upper is not None
    sure = f"{100 * found.confidence:g}"
    facts = labelled(
        true_number=say("accuracy.interval", low=found.lower, high=found.upper, sure=sure) if is_known else "",
        noise="" if found.noise is None else say("accuracy.count_noise", noise=found.noise),
        measured=say("accuracy.by", counts=counted(found.terms, "noisy count"))
        if found.is_measured
        else say("accuracy.guess"),
    )
    headline = Fact("headline", "", say("accuracy.count", rows=found.count))
    return Document((headline, Fact("said", "", found.text), *facts), "CountAccuracy")
