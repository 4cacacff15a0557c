"""Finish a released model: what is public about the table and was no mechanism's to keep."""

from dataclasses import dataclass, replace

from lapwing.api.generators import generator
from lapwing.release.certificate import Certificate, Statement
from lapwing.release.kept_rules import MOVED, KeptRule
from lapwing.release.model import ReleasedModel
from lapwing.sample.ruled import Ruled, ruled
from lapwing.schema.schemas import Schema

_MUCH = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finished:
    """A released model as it leaves, and what its certificate says of that.

    Parameters
    ----------
    model : ReleasedModel
        What rows are drawn from.
    rules : tuple of KeptRule
        The rules of the schema, all of which it keeps.
    statements : tuple of Statement
        What finishing changed.
    warnings : tuple of str
        What the reader should know.
    """

    model: ReleasedModel
    rules: tuple[KeptRule, ...] = ()
    statements: tuple[Statement, ...] = ()
    warnings: tuple[str, ...] = ()

    def on(self, certificate: Certificate) -> Certificate:
        """Return the certificate of the mechanism's model with what was done to it afterwards."""
        return replace(
            certificate,
            rules=self.rules,
            accuracy=(*certificate.accuracy, *self.statements),
            warnings=(*certificate.warnings, *self.warnings),
        )


def finished_model(model: ReleasedModel, schema: Schema, seed: int) -> Finished:
    """Hold a mechanism's model to what is public about the table.

    Parameters
    ----------
    model : ReleasedModel
        As the mechanism made it.
    schema : Schema
        With its rules.
    seed : int
        Of the public generator.

    Returns
    -------
    Finished
        The model as it is where the schema has no rules.

    Notes
    -----
    Guarantee: post-processing of released numbers; costs no budget. The same model, schema and seed give the same
    result.
    """
    if not schema.rules:
        return Finished(model=model)
    found = ruled(model, schema, generator(seed, "finish"))
    rules = tuple(
        KeptRule(
            text=rule.text,
            provenance=rule.provenance,
            kept="in the model" if broke == 0 else "in the rows",
            broke=broke,
        )
        for rule, broke in zip(schema.rules, found.by_rule, strict=True)
    )
    return Finished(model=found.model, rules=rules, statements=(_statement(found),), warnings=_warnings(found))


def _statement(found: Ruled) -> Statement:
    """Say how far keeping the rules can have moved anything."""
    return Statement(
        kind=MOVED,
        text=f"of the weight of the model's {found.model.atoms} atoms, each with one value of each column that a rule "
        "names, this share had to change to keep the rules: no share of the rows moved by more; what is stated of the "
        "mechanism's errors is stated of its model before",
        value=found.moved,
    )


def _warnings(found: Ruled) -> tuple[str, ...]:
    """Say when most of what the mechanism found does not fit the rules."""
    if found.moved <= _MUCH:
        return ()
    return (
        f"{found.moved:.0%} of the model's weight had to change to keep the rules: the mechanism knew little of what "
        "they tie together; use more budget, or a mechanism such as adaptive that measures these columns together",
    )
