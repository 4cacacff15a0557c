"""What a comparison says: one with private rows, which says so first, and one that budget was spent on."""

from lapwing.extras.evaluate.bought import BoughtEvaluation
from lapwing.extras.evaluate.internal.evaluation import Evaluation
from lapwing.extras.evaluate.metrics.glance import glance
from lapwing.extras.evaluate.report.compared import standings_table
from lapwing.extras.evaluate.report.page import NOTICE
from lapwing.extras.evaluate.report.pairs import worst_section
from lapwing.extras.evaluate.words import say
from lapwing.present.certificates import describe_certificate
from lapwing.present.document import Document, Fact, Section, Table, Text, count_text


def describe_evaluation(found: Evaluation | BoughtEvaluation) -> Document:
    """Return what a comparison says."""
    if isinstance(found, BoughtEvaluation):
        return _bought(found)
    notice = Fact("notice", "", say("evaluation.notice", notice=NOTICE))
    return _own(found, notice) if "" in found.parts else _linked(found, notice)


def _own(found: Evaluation, notice: Fact) -> Document:
    seen = glance(found.findings)
    table, cautions = standings_table(seen.standings), say("evaluation.cautions", count=len(seen.cautions))
    return Document(
        (notice, Fact("headline", "", seen.headline), *(Fact("detail", "", each) for each in seen.details)),
        "Evaluation",
        found.schema.name,
        "internal",
        sections=(
            Section("cautions", cautions, (Text("", seen.cautions),)),
            Section("figures", say("evaluation.figures", count=len(table.lines)), (table,)),
            worst_section(found.findings),
        ),
        hint=say("evaluation.hint"),
    )


def _linked(found: Evaluation, notice: Fact) -> Document:
    seen = {name: glance(each.findings) for name, each in found.parts.items()}
    headline = Fact("headline", "", say("evaluation.compared", tables=count_text(len(seen), "table")))
    return Document(
        (notice, headline, *(Fact("detail", "", each.headline, part=name) for name, each in seen.items())),
        "Evaluation",
        tone="internal",
        sections=tuple(
            Section("figures", say("evaluation.figures_of", table=name), (standings_table(each.standings),))
            for name, each in seen.items()
        ),
        hint=say("evaluation.linked_hint"),
    )


def _bought(found: BoughtEvaluation) -> Document:
    lines = tuple(
        (
            f"tables of {count_text(each.ways, 'column')}",
            f"{each.tables:,} of {each.possible:,}",
            f"{each.mean:.4f}",
            f"{each.lower:.4f} to {each.upper:.4f}",
            f"{each.floor:.4f}",
        )
        for each in found.variations
    )
    heading = ("tables", "compared", "mean", f"{found.confidence:.0%} interval", "floor")
    table = Table(say("evaluation.variation"), heading, lines, numbers=(1, 2, 3, 4))
    paid = describe_certificate(found.certificate)
    return Document(
        (Fact("headline", "", say("evaluation.published")), *paid.facts),
        "BoughtEvaluation",
        short=("headline", *paid.short),
        sections=(Section("figures", "", (table,)), *paid.sections),
    )
