"""The cards of what was computed from private rows without a promise: each says so before anything else."""

from lapwing.extras.evaluate.bought import BoughtEvaluation
from lapwing.extras.evaluate.cards.card import Card, in_full, sentences
from lapwing.extras.evaluate.cards.public import paid_facts, told
from lapwing.extras.evaluate.internal.evaluation import Evaluation
from lapwing.extras.evaluate.internal.linked import LinkedEvaluation
from lapwing.extras.evaluate.metrics.glance import glance
from lapwing.extras.evaluate.report.compared import standings_table
from lapwing.extras.evaluate.report.page import NOTICE
from lapwing.extras.evaluate.report.pairs import worst_section
from lapwing.present.document import Section, Table, counted


def evaluation_card(found: Evaluation) -> str:
    """Show a comparison with private rows."""
    seen = glance(found.findings)
    table = standings_table(seen.standings)
    card = Card(
        kind="Evaluation",
        name=found.schema.name,
        notice=f"{NOTICE}: made from private rows",
        verdict=seen.headline,
        tone="internal",
        points=seen.details,
        folded=(
            sentences(f"Before you decide ({len(seen.cautions)})", seen.cautions),
            Section(key="", title=f"All figures ({len(table.lines)})", parts=(table,)),
            worst_section(found.findings),
        ),
        hint="`.plot()` draws errors by column and pair, `.to_html(path)` writes the whole report.",
    )
    return card.html()


def linked_evaluation_card(found: LinkedEvaluation) -> str:
    """Show a comparison of several private tables."""
    seen = {name: glance(each.findings) for name, each in found.parts.items()}
    card = Card(
        kind="LinkedEvaluation",
        notice=f"{NOTICE}: made from private rows",
        verdict=f"{counted(len(seen), 'table')} compared",
        tone="internal",
        points=tuple(f"{name}: {each.headline}" for name, each in seen.items()),
        folded=tuple(
            Section(key="", title=f"All figures of {name}", parts=(standings_table(each.standings),))
            for name, each in seen.items()
        ),
        hint="`.parts[name]` is the evaluation of one table, `.to_html(path)` writes the whole report.",
    )
    return card.html()


def bought_card(found: BoughtEvaluation) -> str:
    """Show a comparison that was made with budget."""
    lines = tuple(
        (
            f"tables of {counted(each.ways, 'column')}",
            f"{each.tables:,} of {each.possible:,}",
            f"{each.mean:.4f}",
            f"{each.lower:.4f} to {each.upper:.4f}",
            f"{each.floor:.4f}",
        )
        for each in found.variations
    )
    table = Table(
        caption="Mean total variation, 0 (same shares) to 1; floor: rows drawn from the synthetic shares",
        heading=("tables", "compared", "mean", f"{found.confidence:.0%} interval", "floor"),
        lines=lines,
        numbers=(1, 2, 3, 4),
    )
    card = Card(
        kind="BoughtEvaluation",
        verdict="Differentially private: it may be published",
        facts=told(paid_facts(found.certificate)),
        shown=table,
        folded=(in_full("All that it says", found.summary()),),
    )
    return card.html()
