"""What a certificate proves about the accuracy of a release, each as one plain sentence with its figure."""

from dataclasses import replace
from typing import Final

from lapwing.model.accuracy import Accuracy, CountAccuracy, TableAccuracy
from lapwing.present.document import Document, Fact, Section, Table, Text, count_text, cross_name
from lapwing.present.messages import say
from lapwing.present.stated import label_facts

# -- What is known of the accuracy of a whole release, of one table, and of one count.

_FIRST: Final = 5  # measured tables that are not folded away


def describe_accuracy(found: Accuracy | TableAccuracy | CountAccuracy) -> Document:
    """Return what is known of accuracy."""
    if isinstance(found, Accuracy):
        return _of_release(found)
    return _of_table(found) if isinstance(found, TableAccuracy) else _of_count(found)


def _of_release(found: Accuracy) -> Document:
    known = {each.code: each for each in found.statements}
    first = known.get("every_measured_count") or next(iter(found.statements), None)
    headline = Fact("headline", "", say("accuracy.nothing"))
    if first is not None:
        headline = Fact("headline", "", first.text, value=first.value, unit=first.unit)
    lines = tuple(
        (
            cross_name(each.columns) + ("" if each.level is None else f", level {each.level}"),
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
    facts = label_facts(
        measured=count_text(found.measured, "table"), model=say("accuracy.worth", rows=found.effective_rows)
    )
    return Document(
        (headline, *facts),
        "Accuracy",
        sections=(
            *([shown] if lines else []),
            Section("statements", say("accuracy.statements", count=len(known)), (statements,)),
            *([every] if len(lines) > _FIRST else []),
        ),
    )


def _of_table(found: TableAccuracy) -> Document:
    sure = f"{100 * found.confidence:g}"
    error, variation = found.largest_error, found.variation
    measured = say("accuracy.table_measured" if found.is_measured else "accuracy.table_guess")
    facts = label_facts(
        cells=f"{found.cells:,}",
        noise="" if found.noise is None else say("accuracy.noise", noise=found.noise),
        counts="" if error is None else say("accuracy.error", rows=error, sure=sure),
        variation="" if variation is None else say("accuracy.variation", most=variation, sure=sure),
    )
    return Document(
        (Fact("headline", "", f"{cross_name(found.columns)}: {measured}"), Fact("said", "", found.text), *facts),
        "TableAccuracy",
    )


def _of_count(found: CountAccuracy) -> Document:
    is_known = found.lower is not None and found.upper is not None
    sure = f"{100 * found.confidence:g}"
    facts = label_facts(
        true_number=say("accuracy.interval", low=found.lower, high=found.upper, sure=sure) if is_known else "",
        noise="" if found.noise is None else say("accuracy.count_noise", noise=found.noise),
        measured=say("accuracy.by", counts=count_text(found.terms, "noisy count"))
        if found.is_measured
        else say("accuracy.guess"),
    )
    headline = Fact("headline", "", say("accuracy.count", rows=found.count))
    return Document((headline, Fact("said", "", found.text), *facts), "CountAccuracy")
