"""The cards of what is known before any row is read, and of what was released: public and released numbers only."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from lapwing.api.synthesizer import Synthesizer, changed_settings
from lapwing.extras.evaluate.cards.card import Card, first_lines, in_full, sentences
from lapwing.extras.evaluate.report.cost import cost_summary
from lapwing.extras.evaluate.report.promise import assumed_section, fields_table
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.mechanisms.registry import registration_named, settings_of
from lapwing.model.accuracy import Accuracy, CountAccuracy, TableAccuracy
from lapwing.model.certificate.certificate import DOMAIN, EVALUATION, Certificate
from lapwing.model.certificate.cost_lines import counted_lines
from lapwing.model.certificate.verdict import Verdict, Word
from lapwing.present.certificates import budget_of, certificate_document, source_of_rows
from lapwing.present.document import Section, Table, counted, crossed, sentence, upper_first
from lapwing.present.messages import say
from lapwing.present.plans import plan_document
from lapwing.present.promises import protected
from lapwing.release.plans import Plan
from lapwing.release.release import Release
from lapwing.schema.schemas import Schema
from lapwing.schema.short import shortened

_FIRST: Final = 10  # lines of a table that are not folded away

_KNOWN: Final = {"public": "public", "assumed": "assumed", "dp": "learned", "drafted": "not yet looked at"}

Facts = list[tuple[str, str]]


def schema_card(schema: Schema) -> str:
    """Show a schema."""
    table = fields_table(schema)
    is_long = len(table.lines) > _FIRST
    identifiers = [field.name for field in schema.fields if field.identifier]
    origins = Counter[str](field.provenance for field in schema.columns)
    known = ", ".join(f"{origins[origin]} {words}" for origin, words in _KNOWN.items() if origins[origin])
    facts = [
        ("Identifiers", ", ".join(identifiers)),
        ("Privacy unit", _unit(schema)),
        ("Survey weight", schema.weight or ""),
        ("Rules", str(len(schema.rules) or "")),
        ("Public tables", "; ".join(crossed(table.columns) for table in schema.public_tables)),
        ("Learned in", counted(len(schema.purchases), "run") if schema.purchases else ""),
    ]
    card = Card(
        kind="Schema",
        name=schema.name,
        verdict=f"{'Draft: ' * schema.is_draft}{counted(len(schema.columns), 'column')}, {known}",
        said="Nothing is released under a draft." if schema.is_draft else "",
        tone="weak" if schema.is_draft else "",
        facts=told(facts),
        warnings=schema.questions,
        shown=first_lines(Table(caption="", **_but_caption(table)), _FIRST),
        folded=(Section(key="", title=f"All {len(table.lines)} columns", parts=(table,)),) * is_long,
    )
    return card.html()


def plan_card(plan: Plan) -> str:
    """Show a plan."""
    first = plan.accuracy[0]
    lines = [line for line in plan.lines if line.question != MisfitRows.kind]
    deviations = [line.noise.sd for line in lines if line.noise is not None]
    figure = "" if first.value is None else f": {first.figure}"
    known = "public" if plan.has_public_rows else "expected"
    facts = [
        ("Privacy", plan.asked),
        ("Protected", protected(plan.relation, plan.privacy_unit)),
        ("Rows", f"{plan.expected_rows:,}, {known}"),
        ("Mechanism", f"{_settings(plan.mechanism, plan.settings)}. {plan.reason}."),
        ("Answers", counted_lines(plan.lines)),
        ("Noise", f"{min(deviations):.3g} to {max(deviations):.3g} rows on a count (sd)" if deviations else ""),
        ("Time and memory", f"about {plan.effort.seconds:.2g} s, {plan.effort.memory_bytes / 10**6:,.0f} MB"),
    ]
    card = Card(
        kind="Plan",
        verdict=upper_first(first.kind) + figure,
        said=sentence(first.text),
        facts=told(facts),
        warnings=plan_document(plan).texts("given", "bought", "note"),
        folded=(
            Section(key="", title="Where the budget goes", parts=(cost_summary(plan.lines, plan.total),)),
            in_full("The whole plan", plan.text()),
        ),
        hint="Nothing is read or spent yet. `plan.plot()` draws the noise.",
    )
    return card.html()


def release_card(release: Release, kind: str = "Release") -> str:
    """Show a release."""
    schema, paid = release.schema, release.certificate
    columns = ", ".join(field.name for field in schema.columns)
    facts = paid_facts(paid)
    facts.insert(3, ("Columns", f"{len(schema.columns):,}: {columns}"))
    card = Card(
        kind=kind,
        name=schema.name,
        **_verdict(paid.verdict),
        facts=told(facts),
        warnings=[each.text for each in paid.warnings],
        folded=(
            *_not_for(paid.verdict),
            _costs(paid),
            sentences("What was assumed", _points(assumed_section(schema, paid))),
            Section(key="", title=f"Columns ({len(schema.columns):,})", parts=(fields_table(schema),)),
        ),
        hint="`.sample()`, `.query(...)`, `.accuracy(...)`, `.plot(...)` and `.to_html(...)` cost no budget.",
    )
    return card.html()


def certificate_card(paid: Certificate) -> str:
    """Show a certificate."""
    kinds = {DOMAIN: "Certificate of learned bounds and lists", EVALUATION: "Certificate of a comparison"}
    is_release = paid.mechanism not in kinds
    card = Card(
        kind=kinds.get(paid.mechanism, "Certificate"),
        **(_verdict(paid.verdict) if is_release else {}),
        facts=told(paid_facts(paid)),
        warnings=[each.text for each in paid.warnings],
        folded=(*_not_for(paid.verdict), _costs(paid), in_full("All that it says", paid.text())),
    )
    return card.html()


def accuracy_card(found: Accuracy) -> str:
    """Show what is known of the accuracy of a release."""
    said = {each.key: each.text for each in found.statements}
    first = said.get("every_measured_count") or next(iter(said.values()), "Nothing is proved.")
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
    table = Table(
        caption="Measured tables, the most uncertain first; errors in rows",
        heading=("table", "cells", "noise (sd)", "no count off by more", "total variation at most"),
        lines=lines,
        numbers=(1, 2, 3, 4),
    )
    facts = [("Measured", counted(found.measured, "table")), ("Model", f"worth {found.effective_rows:,.0f} rows")]
    all_tables = Section(key="", title=f"Measured tables ({len(lines):,})", parts=(table,))
    card = Card(
        kind="Accuracy",
        verdict=first,
        facts=told(facts),
        shown=first_lines(table, _FIRST // 2) if lines else None,
        folded=(
            sentences(f"All {len(said)} statements", [each.text for each in found.statements]),
            *(all_tables,) * (len(lines) > _FIRST // 2),
        ),
    )
    return card.html()


def table_accuracy_card(found: TableAccuracy) -> str:
    """Show how accurate one released table is."""
    sure = f" (with {100 * found.confidence:g} %)"
    facts = [
        ("Cells", f"{found.cells:,}"),
        ("Noise", "" if found.noise is None else f"{found.noise:.3g} rows on a count (sd)"),
        (
            "Counts",
            "" if found.largest_error is None else f"none off by more than {found.largest_error:,.0f} rows{sure}",
        ),
        ("Variation", "" if found.variation is None else f"total variation at most {found.variation:.3g}{sure}"),
    ]
    measured = "measured" if found.is_measured else "not measured: a guess"
    verdict = f"{crossed(found.columns)}: {measured}"
    return Card(kind="TableAccuracy", verdict=verdict, said=found.text, facts=told(facts)).html()


def count_accuracy_card(found: CountAccuracy) -> str:
    """Show how accurate one released count is."""
    ends = "" if found.lower is None or found.upper is None else f"{found.lower:,.0f} to {found.upper:,.0f}"
    facts = [
        ("True number", ends and f"{ends} (with {100 * found.confidence:g} %)"),
        ("Noise", "" if found.noise is None else f"{found.noise:.3g} rows (sd)"),
        ("Measured", f"by {counted(found.terms, 'noisy count')}" if found.is_measured else "no: a guess"),
    ]
    verdict = f"About {found.count:,.0f} rows"
    return Card(kind="CountAccuracy", verdict=verdict, said=found.text, facts=told(facts)).html()


def synthesizer_card(found: Synthesizer) -> str:
    """Show settings, and the release that was made with them."""
    if hasattr(found, "release_"):
        return release_card(found.release_, "Synthesizer, fitted")
    facts = told(changed_settings(found))
    return Card(kind="Synthesizer", verdict="Not fitted yet", facts=facts, hint="`fit(data)` spends.").html()


# -- What several cards say.


def paid_facts(paid: Certificate) -> Facts:
    """Return what every certificate says: the budget as it was asked for, what is protected, rows, and records."""
    is_release = paid.mechanism not in (DOMAIN, EVALUATION)
    rows = "" if paid.mechanism == DOMAIN else f"{paid.released_rows:,}, {source_of_rows(paid)}"
    mechanism = _settings(paid.mechanism, paid.settings) if is_release else ""
    issued = paid.issued
    return [
        ("Privacy", budget_of(paid)),
        ("Protected", protected(paid.relation, paid.privacy_unit)),
        ("Rows", rows),
        ("Mechanism", mechanism),
        ("Answers", counted_lines(paid.lines)),
        ("Assumed", _assumed(paid)),
        ("Kept", " and ".join(_kept(paid))),
        ("Recorded", certificate_document(paid).text("recorded")),
        ("Issued", "" if issued is None else f"{issued.when}, with {counted(len(issued.files), 'file')}"),
    ]


def _assumed(paid: Certificate) -> str:
    """Say what the promise takes as given, in a few words."""
    fields = f"bounds and lists of {counted(len(paid.assumed_fields), 'column')}" if paid.assumed_fields else ""
    claims = counted(len(paid.assumed), "claim of the caller") if paid.assumed else ""
    return ", ".join(each for each in (fields, claims) if each)


def _kept(paid: Certificate) -> list[str]:
    """Return how many rules and public tables rows keep."""
    kept = ((len(paid.rules), "rule"), (len(paid.public_tables), "public table"))
    return [counted(count, what) for count, what in kept if count]


def _verdict(verdict: Verdict | None) -> dict[str, Any]:
    """Return the verdict of a card, with its colour."""
    if verdict is None:
        return {"verdict": "No verdict", "said": upper_first(say("verdict.none"))}
    return {
        "verdict": upper_first(verdict.short),
        "said": upper_first(verdict.said),
        "tone": tone(verdict),
    }


def tone(verdict: Verdict) -> Word:
    """Return the word for pairs, or for single columns where there is one only."""
    return next((each.word for each in verdict.grades if each.ways == 2), verdict.grades[0].word)


def _not_for(verdict: Verdict | None) -> tuple[Section, ...]:
    """Return what rows should not be used for."""
    if verdict is None or not verdict.not_for:
        return ()
    return (sentences(f"What not to use the rows for ({len(verdict.not_for)})", verdict.not_for),)


def _costs(paid: Certificate) -> Section:
    """Return what the budget was spent on."""
    return Section(key="", title=f"Cost ({counted_lines(paid.lines)})", parts=(cost_summary(paid.lines, paid.total),))


def _settings(mechanism: str, settings: Mapping[str, object]) -> str:
    """Return a mechanism with the settings that are not as by default."""
    usual = settings_of(registration_named(mechanism).kind())
    given = [f"{name}={shortened(value)}" for name, value in settings.items() if (name, value) not in usual.items()]
    return f"{mechanism} ({', '.join(given)})" if given else mechanism


def _unit(schema: Schema) -> str:
    unit = schema.privacy_unit
    return "a row" if unit is None else f"{unit.field}, of which at most {counted(unit.max_rows, 'row')} are used"


def _points(section: Section) -> tuple[str, ...]:
    return tuple(point for part in section.parts for point in getattr(part, "points", ()))


def _but_caption(table: Table) -> dict[str, Any]:
    return {"heading": table.heading, "lines": table.lines, "numbers": table.numbers}


def told(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Return the facts of which there is something to say."""
    return tuple((what, said) for what, said in facts if said)
