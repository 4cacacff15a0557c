"""What a release promises about privacy, what that stands on, and what its owner declared, without mathematics."""

from typing import Final

from lapwing.extras.evaluate.report.parts import section, table
from lapwing.extras.evaluate.words import say
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.plain import at_least
from lapwing.model.certificate.attack import most_found, most_right, up
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.promise import unit_field
from lapwing.present.certificates import SHORT, assumed_points, budget_of, describe_certificate
from lapwing.present.document import Facts, Part, Section, Text, clip_text, count_text, cross_name, percent
from lapwing.present.promises import pair_text
from lapwing.present.schemas import fields_table
from lapwing.schema.schemas import Schema

# -- What a privacy budget means, in chances: the most that somebody who guesses can be right.


def _several(certificate: Certificate, *, releases: int = 1, units: int = 1) -> float:
    """Return the most that a guess is right after so many releases like this one, about so many units together.

    k releases cost k times ε or ρ and δ; k units (such as the rows of one person where each is protected by itself) k
    times ε, or k squared times ρ (Bun and Steinke 2016, Proposition 1.9).
    """
    total = certificate.total
    times = releases * (units if total.notion == "pure" else units**2)
    return most_right(Budget(total.notion, total.amount * times), certificate.delta * releases)


# -- What a releasable report says of what its owner declared: rules, public tables, and the survey weight.


_LISTED: Final = 100
_TOLD: Final = 120  # letters of a rule or a source that are shown


def declared_sections(schema: Schema, certificate: Certificate) -> tuple[Section, ...]:
    """Return the section about rules, public tables and the survey weight, where a release has any of them."""
    parts: list[Part] = []
    if certificate.rules:
        parts += _rules(certificate)
    if certificate.public_tables:
        parts += _public_tables(certificate)
    if schema.weight is not None:
        parts.append(Text(say("declared.weight", weight=clip_text(schema.weight))))
    return (section("declared", parts),) if parts else ()


def _rules(certificate: Certificate) -> list[Part]:
    """Return a sentence and a table: what every row keeps."""
    rules = certificate.rules
    words = say("declared.rules.words", rules=count_text(len(rules), "rule"))
    more = say("declared.more", shown=_LISTED, rules=len(rules)) if len(rules) > _LISTED else ""
    lines = (
        (clip_text(rule.text, _TOLD), rule.provenance, rule.kept, percent(rule.broke, 2)) for rule in rules[:_LISTED]
    )
    return [Text(words), table("declared.rules", lines, numbers=(3,), more=more)]


def _public_tables(certificate: Certificate) -> list[Part]:
    """Return a sentence and a table: which counts are somebody's publication."""
    lines = (
        (
            cross_name(each.columns),
            f"{each.cells:,}",
            f"{each.total:,}",
            say(f"declared.held.{each.hold}"),
            percent(each.before, 2),
            clip_text(each.source, _TOLD),
        )
        for each in certificate.public_tables
    )
    return [Text(say("declared.tables.words")), table("declared.tables", lines, numbers=(1, 2, 4))]


_ALARMS: Final = (0.001, 0.01, 0.05, 0.1)
_SEVERAL: Final = (1, 2, 5, 10, 20)
_FACTS: Final = (*(key for key in SHORT if key not in ("verdict", "quotable", "not_for")), "missing", "drawn")
_WEAK: Final = 0.9
_EMPTY: Final = 0.99


def protection(certificate: Certificate) -> tuple[str, str]:
    """Return what is protected, in a few words, and the question that a guess is about."""
    field = unit_field(certificate.privacy_unit)
    unit, relation = "row" if field is None else "unit", certificate.relation
    what, question = f"promise.{unit}.{relation}.what", f"promise.{unit}.{relation}.question"
    return say(what, field=field), say(question, field=field)


def promise_section(certificate: Certificate) -> Section:
    """Return the section about the promise: what is protected, what the budget means, and what is not covered."""
    _, question = protection(certificate)
    right = most_right(certificate.total, certificate.delta)
    facts = describe_certificate(certificate).by(*_FACTS)
    words: list[Part] = [Facts(facts), Text(say("promise.sense", question=question, right=up(right)))]
    if right > _WEAK:
        strength = say("promise.nothing" if right > _EMPTY else "promise.little")
        words.append(Text(say("promise.weak", strength=strength, right=up(right)), is_warning=True))
    words.append(Text(say("promise.what_for")))
    return section("promise", words, folded=_for_experts(certificate))


def _for_experts(certificate: Certificate) -> tuple[Part, ...]:
    """Return the promise in formulas and tables."""
    pairs = tuple(pair_text(delta, epsilon) for delta, epsilon in certificate.epsilons)
    field = unit_field(certificate.privacy_unit)
    delta = certificate.delta
    accused = [(alarm, most_found(certificate.total, alarm, delta)) for alarm in _ALARMS]
    repeated = [up(_several(certificate, releases=count)) for count in _SEVERAL]
    grouped = ["-" if delta else up(_several(certificate, units=count)) for count in _SEVERAL]
    what = say("promise.persons" if field is None else "promise.values", field=field)
    return (
        Text(_formal(certificate), points=pairs),
        table(
            "promise.accused",
            ((f"{100 * alarm:g} %", up(found)) for alarm, found in accused),
            numbers=(0, 1),
        ),
        table(
            "promise.guessed",
            zip(map(str, _SEVERAL), repeated, grouped, strict=True),
            numbers=(0, 1, 2),
            what=what,
        ),
        Text(say("promise.theorems")),
    )


def _formal(certificate: Certificate) -> str:
    """Return the promise as an expert writes it."""
    if certificate.total.notion == "pure":
        return say("promise.pure", budget=budget_of(certificate), relation=certificate.relation)
    return say("promise.zcdp", rho=at_least(certificate.total.rho, 6), relation=certificate.relation)


def assumed_section(schema: Schema, certificate: Certificate) -> Section:
    """Return the section about what the promise takes as given: bounds, categories, and all else taken on trust."""
    parts = (Text(say("assumed.words"), points=tuple(assumed_points(schema, certificate))),)
    return section("assumed", parts, folded=(fields_table(schema),))
