"""The cards of linked tables: their schema, plan, release and certificate; public and released numbers only."""

from lapwing.extras.evaluate.cards.card import Card, in_full, sentences
from lapwing.extras.evaluate.cards.public import told, tone
from lapwing.extras.evaluate.report.promise import fields_table
from lapwing.model.certificate.verdict import WORDS
from lapwing.model.linked_files import LinkedCertificate
from lapwing.present.certificates import budget_of, certificate_document
from lapwing.present.document import Section, Table, counted
from lapwing.release.linked.release import LinkedRelease
from lapwing.release.plans import LinkedPlan
from lapwing.schema.linked.database import LinkedSchema


def linked_schema_card(linked: LinkedSchema) -> str:
    """Show the schemas of linked tables."""
    most = [f"{linked.max_rows(name):,} of {name}" for name in linked.names[1:]]
    used = f"{linked.max_rows(linked.given[0]):,} rows" if linked.is_events else ", ".join(most)
    ordered = [f"{each.name} by {each.order.by}" for each in linked.tables if each.order is not None]
    facts = [
        ("Key", linked.key),
        ("Privacy unit", f"one value of {linked.key}, and of the rows that belong to it at most {used}"),
        ("Order", ", ".join(ordered)),
        ("Public tables", ", ".join(each.name for each in linked.lookups)),
        ("Rules", str(len(linked.rules) or "")),
    ]
    verdict = "Events in their order" if linked.is_events else counted(len(linked.given), "table")
    return Card(kind="LinkedSchema", verdict=verdict, facts=told(facts), folded=_each_schema(linked)).html()


def linked_plan_card(plan: LinkedPlan) -> str:
    """Show a plan of linked tables."""
    heading, *lines = plan.table()
    each = [f"{name} {error or 'not known'}" for name, *_, error in lines]
    facts = [
        ("Privacy", plan.asked),
        ("Protected", plan.linked.protected),
        ("Time and memory", f"about {plan.effort.seconds:.2g} s, {plan.effort.memory_bytes / 10**6:,.0f} MB"),
    ]
    card = Card(
        kind="LinkedPlan",
        verdict=f"Expected error: {', '.join(each)}",
        facts=told(facts),
        warnings=[each.text for each in plan.notes],
        shown=Table(caption="", heading=heading, lines=tuple(lines), numbers=(1, 3, 5)),
        folded=tuple(in_full(name, part.text()) for name, part in plan.parts.items()),
        hint="Nothing is read or spent yet. `plan.parts[...]` are the plans of each part.",
    )
    return card.html()


def linked_release_card(release: LinkedRelease) -> str:
    """Show a release of linked tables."""
    return _linked(release.certificate, "LinkedRelease", _each_schema(release.schema))


def linked_certificate_card(paid: LinkedCertificate) -> str:
    """Show the certificate of linked tables."""
    return _linked(paid, "LinkedCertificate", ())


def _linked(paid: LinkedCertificate, kind: str, folded: tuple[Section, ...]) -> str:
    """Show what the parts of a linked release came to."""
    parts = tuple(paid.parts.items())
    tones = [tone(each.verdict) for _, each in parts if each.verdict is not None]
    graded = [(what, each.verdict.short) for what, each in parts if each.verdict is not None]
    facts = [
        ("Privacy", budget_of(paid)),
        ("Protected", paid.protected),
        *((what, f"{each.released_rows:,} rows, by {each.mechanism}") for what, each in parts),
        ("Recorded", certificate_document(paid).text("recorded")),
    ]
    card = Card(
        kind=kind,
        verdict="; ".join(f"{what}: {short}" for what, short in graded) or "No verdict",
        tone=max(tones, key=WORDS.index, default=""),
        facts=told(facts),
        warnings=[each.text for each in paid.warnings],
        folded=(
            sentences("What rows keep and do not keep", (*paid.kept, *paid.not_kept)),
            *folded,
            in_full("All that the certificate says", paid.text()),
        ),
    )
    return card.html()


def _each_schema(linked: LinkedSchema) -> tuple[Section, ...]:
    return tuple(
        Section(key="", title=f"{name}: {counted(len(each.columns), 'column')}", parts=(fields_table(each),))
        for name, each in ((name, linked.as_written(name)) for name in linked.given)
    )
