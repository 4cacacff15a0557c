"""The card of an anonymous table, which is computed from private rows without a promise of differential privacy."""

from lapwing.anonymous.table import AnonymousTable
from lapwing.extras.evaluate.cards.card import Card
from lapwing.present.document import counted


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
