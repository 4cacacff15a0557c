"""The report of linked tables that may be published: what holds for all of them, then each table."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from lapwing.extras.evaluate.released.report import release_sections
from lapwing.extras.evaluate.report.page import render
from lapwing.extras.evaluate.report.parts import section, table
from lapwing.extras.evaluate.report.promise import promise_section
from lapwing.extras.evaluate.words import say
from lapwing.model.certificate.certificate import Certificate
from lapwing.present.certificates import verdict_facts
from lapwing.present.document import Facts, Page, Section, Text, of_table, sentence, warnings_of
from lapwing.present.promises import amount_text
from lapwing.release.marked import Releasable
from lapwing.release.release import Release

_OF_ALL: Final = ("short", "promise", "use", "again")
"""Sections of one table that are told of all together, and not again of each."""


def linked_html(parts: Mapping[str, Release], paid: Certificate, *, name: str = "") -> str:
    """Return the releasable report of linked tables; see `Release.to_html`.

    name: of the data set, where the certificate has none.
    """
    known = (paid.issued and paid.issued.table) or (paid.ledger and paid.ledger.dataset) or name
    title = say("page.title_of", table=known) if known else say("page.title")
    sections = [_short(paid, parts), promise_section(paid)]
    for number, (table_name, part) in enumerate(parts.items(), 1):
        found = release_sections(part, part.accuracy())
        own = [_verdict(paid, table_name), *(each for each in found if each.key not in _OF_ALL)]
        sections += [of_table(each, number, table_name) for each in own]
    return render(Releasable(Page(title=title, sections=tuple(sections))))


def _short(paid: Certificate, parts: Mapping[str, Release]) -> Section:
    """Return what everybody should know: the verdict of each table first."""
    verdicts = tuple(replace(next(verdict_facts(part.verdict)), part=name).line for name, part in paid.parts.items())
    lines = tuple(
        (
            name,
            f"{part.released_rows:,}",
            f"{len(parts[name].schema.columns):,}",
            amount_text(part.total),
            part.mechanism,
        )
        for name, part in paid.parts.items()
    )
    return section(
        "short",
        (
            Text(say("linked.verdicts"), points=verdicts),
            *warnings_of(each for each in paid.warnings if not each.table),
            Text(say("linked.words")),
            table("linked.parts", lines, numbers=(1, 2)),
            Text(say("linked.keep"), points=tuple(sentence(each.text) for each in paid.kept or ())),
            Text(say("linked.not_keep"), points=tuple(sentence(each.text) for each in paid.not_kept or ())),
        ),
    )


def _verdict(paid: Certificate, name: str) -> Section:
    """Return how good the rows of one table are, and what to know of them."""
    verdict = Facts(tuple(verdict_facts(paid.parts[name].verdict)), is_headline=True)
    own = (replace(each, table="") for each in paid.warnings if each.table == name)
    return Section("short", say("linked.short"), (verdict, *warnings_of(own)))
