"""The report of linked tables that may be published: what holds for all of them, then each table."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from lapwing.extras.evaluate.released.report import release_sections
from lapwing.extras.evaluate.report.page import render
from lapwing.extras.evaluate.report.promise import promise_section
from lapwing.model.linked_files import LinkedCertificate
from lapwing.present.certificates import verdict_facts
from lapwing.present.document import Facts, Page, Section, Table, Text, of_table, sentence, warnings_of
from lapwing.present.promises import amount_text
from lapwing.release.marked import Releasable
from lapwing.release.release import Release

_OF_ALL: Final = ("short", "promise", "use", "again")
"""Sections of one table that are told of all together, and not again of each."""


def linked_html(parts: Mapping[str, Release], paid: LinkedCertificate, *, name: str = "") -> str:
    """Return the releasable report of linked tables; see `LinkedRelease.to_html`.

    name: of the data set, where the certificate has none.
    """
    known = (paid.issued and paid.issued.table) or (paid.ledger and paid.ledger.dataset) or name
    title = f"Synthetic data: {known}" if known else "Synthetic data"
    sections = [_short(paid), promise_section(paid)]
    for number, (table, part) in enumerate(parts.items(), 1):
        found = release_sections(part, part.accuracy())
        own = [_verdict(paid, table), *(each for each in found if each.key not in _OF_ALL)]
        sections += [of_table(each, number, table) for each in own]
    return render(Releasable(Page(title=title, sections=tuple(sections))))


def _short(paid: LinkedCertificate) -> Section:
    """Return what everybody should know: the verdict of each table first."""
    verdicts = tuple(replace(next(verdict_facts(part.verdict)), part=name).line for name, part in paid.parts.items())
    lines = tuple(
        (
            name,
            f"{part.released_rows:,}",
            f"{len(paid.linked.coded[name].columns):,}",
            amount_text(part.total),
            part.mechanism,
        )
        for name, part in paid.parts.items()
    )
    costs = Table(
        "What is modelled: own columns, and those of the rows before and above",
        ("part", "rows that the model stands for", "columns", "budget", "released by"),
        lines,
        numbers=(1, 2),
    )
    words = (
        "This report is about synthetic rows: a computer drew them from models, and none was taken from private rows."
    )
    return Section(
        "short",
        "In short",
        (
            Text("How good the rows are:", points=verdicts),
            *warnings_of(paid.uncovered),
            Text(words),
            costs,
            Text("Rows keep:", points=tuple(sentence(each.text) for each in paid.kept)),
            Text("Rows do not keep:", points=tuple(sentence(each.text) for each in paid.not_kept)),
        ),
    )


def _verdict(paid: LinkedCertificate, table: str) -> Section:
    """Return how good the rows of one table are, and what to know of them."""
    verdict = Facts(tuple(verdict_facts(paid.parts[table].verdict)), is_headline=True)
    return Section("short", "in short", (verdict, *warnings_of(paid.warnings_of(table))))
