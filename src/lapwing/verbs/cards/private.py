"""The cards of what was computed from private rows without a promise: each says so before anything else."""

from lapwing.anonymous.table import AnonymousTable
from lapwing.internal.evaluation import Evaluation
from lapwing.internal.linked import LinkedEvaluation
from lapwing.judge.glance import glance
from lapwing.judge.report.compared import standings_table
from lapwing.judge.report.page import NOTICE, Section, counted
from lapwing.judge.report.pairs import worst_section
from lapwing.verbs.cards.card import Card, sentences


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


def anonymous_card(found: AnonymousTable) -> str:
    """Show an anonymous table, without its rows."""
    settings = found.settings
    card = Card(
        kind="AnonymousTable",
        notice=found.notice,
        tone="weak",
        facts=(
            ("Rows", f"{len(found.data):,}, in {counted(found.groups, 'group')} of at least {settings.min_group_size}"),
            ("Group of", found.unit),
            ("Information loss", f"{found.information_loss:g} % of the variation between units"),
            ("Covariance loss", f"{found.covariance_loss:g}, in the unit ball"),
            ("Made by", f"partition {settings.partition}, output {settings.output}, seed {found.seed}"),
        ),
        hint="The rows are in `.data`.",
    )
    return card.html()
