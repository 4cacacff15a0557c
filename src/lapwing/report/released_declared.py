"""What a releasable report says of what its owner declared: rules, public tables, and the survey weight."""

from typing import Final

from lapwing.release.certificate import Certificate
from lapwing.report.compared_words import clipped, counted, crossed, percent
from lapwing.report.sections import Part, Section, Table, Text
from lapwing.schema.schemas import Schema

_LISTED: Final = 100
_TOLD: Final = 120  # letters of a rule or a source that are shown


def declared_sections(schema: Schema, certificate: Certificate) -> tuple[Section, ...]:
    """Return the section about rules, public tables and the survey weight, where a release has any of them.

    Parameters
    ----------
    schema : Schema
    certificate : Certificate

    Returns
    -------
    tuple of Section
        One, or none.
    """
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
        parts.append(Text(words=words))
    if not parts:
        return ()
    return (Section(key="declared", title="What the owner of the table declared", parts=tuple(parts)),)


def assumed_rules(certificate: Certificate) -> tuple[str, ...]:
    """Say which rules are no public knowledge: a sentence, or none.

    Parameters
    ----------
    certificate : Certificate

    Returns
    -------
    tuple of str
    """
    texts = [clipped(rule.text, _TOLD) for rule in certificate.rules if rule.provenance == "assumed"]
    if not texts:
        return ()
    more = f"; and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    kind = "A rule is" if len(texts) == 1 else f"{len(texts)} rules are"
    return (f"{kind} assumed, by the owner's decision, not public knowledge: {'; '.join(texts[:_LISTED])}{more}.",)


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
    return [Text(words=words), Table(caption=f"Rules{more}", heading=heading, lines=lines, numbers=(3,))]


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
    return [Text(words=words), Table(caption="Public tables", heading=heading, lines=lines, numbers=(1, 2, 4))]
