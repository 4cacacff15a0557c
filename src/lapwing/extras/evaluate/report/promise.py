"""What a release promises about privacy, what that stands on, and what its owner declared, without mathematics."""

from typing import Final

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.plain import at_least
from lapwing.model.certificate.attack import most_found, most_right, up
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.promise import unit_field
from lapwing.present.certificates import SHORT, Promised, assumed_points, budget_of, describe_certificate
from lapwing.present.document import Facts, Part, Section, Table, Text, clipped, counted, crossed, percent
from lapwing.present.messages import say
from lapwing.present.promises import pair_text
from lapwing.present.schemas import fields_table
from lapwing.schema.schemas import Schema

# -- What a privacy budget means, in chances: the most that somebody who guesses can be right.


def _several(certificate: Promised, *, releases: int = 1, units: int = 1) -> float:
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
        words = (
            f"The survey weight is {clipped(schema.weight)}: it says how many a row stands for. Figures of this report "
            "count rows; weighted totals come from `lapwing query --weighted`."
        )
        parts.append(Text(words))
    if not parts:
        return ()
    return (Section("declared", "What the owner of the table declared", tuple(parts)),)


def _rules(certificate: Certificate) -> list[Part]:
    """Return a sentence and a table: what every row keeps."""
    rules = certificate.rules
    words = (
        f"Every row keeps {counted(len(rules), 'rule')}. Public rules are knowledge beside the table; assumed ones "
        "are its owner's decision. What broke a rule before is a share of the mechanism's model, not of private rows."
    )
    more = f": {_LISTED} of {len(rules)}" if len(rules) > _LISTED else ""
    lines = tuple(
        (clipped(rule.text, _TOLD), rule.provenance, rule.kept, percent(rule.broke, 2)) for rule in rules[:_LISTED]
    )
    heading = ("rule", "known how", "kept", "share of the model that broke it before")
    return [Text(words), Table(f"Rules{more}", heading, lines, numbers=(3,))]


def _public_tables(certificate: Certificate) -> list[Part]:
    """Return a sentence and a table: which counts are somebody's publication."""
    words = (
        "These counts are public by the owner's declaration. Rows hold the exact ones as they are; what is a prior "
        "only steered the model. They cost no budget, and the promise does not hide them."
    )
    lines = tuple(
        (
            crossed(table.columns),
            f"{table.cells:,}",
            f"{table.total:,}",
            "exactly" if table.hold == "exact" else "as a prior",
            percent(table.before, 2),
            clipped(table.source, _TOLD),
        )
        for table in certificate.public_tables
    )
    heading = ("columns", "cells", "rows counted", "held", "share of the model that was off before", "source")
    return [Text(words), Table("Public tables", heading, lines, numbers=(1, 2, 4))]


_ALARMS: Final = (0.001, 0.01, 0.05, 0.1)
_SEVERAL: Final = (1, 2, 5, 10, 20)
_FACTS: Final = (*(key for key in SHORT if key not in ("verdict", "not_for")), "missing", "drawn")
_WEAK: Final = 0.9
_EMPTY: Final = 0.99


def protected(certificate: Promised) -> tuple[str, str]:
    """Return what is protected, in a few words, and the question that a guess is about."""
    field = unit_field(certificate.privacy_unit)
    if certificate.relation == "replace-one":
        whose = "one row says" if field is None else f"the rows of one {field} say"
        return f"what {whose}", f"which of two possible contents {'a row' if field is None else f'one {field}'} has"
    if field is not None:
        what = f"whether the rows of a certain {field} are in the table, and what they say"
        return what, f"whether a certain {field} is in the table"
    return "whether a certain row is in the table, and what it says", "whether a certain row is in the table"


def promise_section(certificate: Promised) -> Section:
    """Return the section about the promise: what is protected, what the budget means, and what is not covered."""
    _, question = protected(certificate)
    right = most_right(certificate.total, certificate.delta)
    sense = (
        f"A sense of scale: let somebody know everything about the table but one thing, {question}. Tossing a coin "
        f"they are right in 50 % of cases. With everything that this told, and any method, they are right in at "
        f"most {up(right)} of cases."
    )
    what_for = (
        "The promise is about one unit's own part in the table. What is true of many people (that a treatment helps, "
        "that a district is poor) can be learned from the release whether or not one of them took part, and may say "
        "something about each of them."
    )
    facts = describe_certificate(certificate).by(*_FACTS)
    words: list[Part] = [Facts(facts), Text(sense)]
    if right > _WEAK:
        strength = "next to nothing" if right > _EMPTY else "little"
        caution = (
            f"With this budget the promise by itself rules out {strength}: {up(right)} is close to "
            "certainty. It holds in the worst case, and a release may protect better than it promises; but nothing is "
            "proved about that."
        )
        words.append(Text(caution, is_warning=True))
    words.append(Text(what_for))
    return Section("promise", "What is promised about privacy", tuple(words), folded=_for_experts(certificate))


def _for_experts(certificate: Promised) -> tuple[Part, ...]:
    """Return the promise in formulas and tables."""
    pairs = tuple(pair_text(delta, epsilon) for delta, epsilon in certificate.epsilons)
    field = unit_field(certificate.privacy_unit)
    delta = certificate.delta
    accused = [(alarm, most_found(certificate.total, alarm, delta)) for alarm in _ALARMS]
    repeated = [up(_several(certificate, releases=count)) for count in _SEVERAL]
    grouped = ["-" if delta else up(_several(certificate, units=count)) for count in _SEVERAL]
    what = "rows of one person" if field is None else f"values of {field}"
    return (
        Text(_formal(certificate), points=pairs),
        Table(
            "Accusing by any test: of units that are not in the table, and of those that are, so many are accused at "
            "most",
            ("falsely", "rightly"),
            tuple((f"{100 * alarm:g} %", up(found)) for alarm, found in accused),
            numbers=(0, 1),
        ),
        Table(
            "Guessing rightly between two cases, at most",
            ("how many", "releases like this one of the same table", f"{what} protected together"),
            tuple(zip(map(str, _SEVERAL), repeated, grouped, strict=True)),
            numbers=(0, 1, 2),
        ),
        Text(
            "The chances follow from ε and δ by Wasserman and Zhou (2010), Theorem 2.4, and Kairouz, Oh and "
            "Viswanath (2015), Theorem 2.1: a test with false alarms a finds at most min(e^ε a + δ, "
            "1 - e^-ε (1 - a - δ)). For ρ they follow from its bounds of all orders (Bun and Steinke 2016). They are "
            "rounded up."
        ),
    )


def _formal(certificate: Promised) -> str:
    """Return the promise as an expert writes it."""
    if certificate.total.notion == "pure":
        return f"Pure ε-differential privacy with {budget_of(certificate)}, {certificate.relation} neighbours."
    return (
        f"Zero-concentrated differential privacy with ρ = {at_least(certificate.total.rho, 6)}, "
        f"{certificate.relation} neighbours. It implies, among others:"
    )


def assumed_section(schema: Schema, certificate: Certificate) -> Section:
    """Return the section about what the promise takes as given: bounds, categories, and all else taken on trust."""
    words = (
        "The promise holds if the schema, with its bounds and lists of categories, tells nothing about the table that "
        "is not public. Whoever made the release vouches for that."
    )
    parts = (Text(words, points=tuple(assumed_points(schema, certificate))),)
    return Section("assumed", say("release.assumed"), parts, folded=(fields_table(schema),))
