"""Finish a released model: make it keep the rules and public totals that its mechanism did not."""

from dataclasses import dataclass, replace

from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.declared import KeptRule, KeptTable
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.model.sampling.keeping import public_pairs
from lapwing.model.sampling.public_margins import HELD, RakedModel, rake_to_public
from lapwing.model.sampling.ruled import RuledModel, enforce_rules
from lapwing.release.runs.generators import generator
from lapwing.schema.rules.rules import Determines
from lapwing.schema.schemas import Schema

_MUCH = 0.5
_GUESSED = 0.02  # of the weight, beside the value that its determinants got


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PostprocessedModel:
    """A released model as it leaves, and what its certificate says of that.

    rules: the rules of the schema, all of which it keeps; public_tables: the public tables of the schema; it holds
    those that are exact; changed: share of the weight that rules and public tables moved at most, from 0 to 1: no
    probability changed by more against the mechanism's model, once its atoms hold one code of each column that these
    name.
    """

    model: ReleasedModel
    rules: tuple[KeptRule, ...] = ()
    public_tables: tuple[KeptTable, ...] = ()
    changed: float = 0.0
    statements: tuple[Statement, ...] = ()
    warnings: tuple[Notice, ...] = ()

    def on(self, certificate: Certificate) -> Certificate:
        """Return the certificate of the mechanism's model with what was done to it afterwards."""
        return replace(
            certificate,
            rules=self.rules,
            public_tables=self.public_tables,
            released_rows=self.model.rows,
            accuracy=(*certificate.accuracy, *self.statements),
            warnings=(*certificate.warnings, *self.warnings),
        )


def postprocess_model(model: ReleasedModel, schema: Schema, seed: int) -> PostprocessedModel:
    """Hold a mechanism's model to what is public about the table.

    Returns the model as it is where the schema has neither rules nor exact public tables.

    Guarantee: post-processing of released numbers; costs no budget. The same model, schema and seed give the same
    result.
    """
    rng = generator(seed, "finish")
    found = enforce_rules(model, schema, rng)
    raked = rake_to_public(found.model, schema, rng)
    rules = tuple(
        KeptRule(
            text=rule.text,
            provenance=rule.provenance,
            kept="in the model" if broke == 0 else "in the rows",
            broke=broke,
        )
        for rule, broke in zip(schema.rules, found.by_rule, strict=True)
    )
    changed = min(1.0, found.changed + raked.changed)
    return PostprocessedModel(
        model=raked.model,
        rules=rules,
        public_tables=_public_table_records(schema, raked),
        changed=changed,
        statements=((_statement(found),) if schema.rules else ()) + _raked_statements(raked, changed),
        warnings=(*_warnings(found, schema), *_map_warnings(found, schema), *_raked_warnings(raked)),
    )


def _public_table_records(schema: Schema, raked: RakedModel) -> tuple[KeptTable, ...]:
    """Say how each public table is held."""
    held = iter(raked.tables)  # the exact ones, in the schema's order
    found = []
    for table in schema.public_tables:
        one = next(held) if table.hold == "exact" else None
        found.append(
            KeptTable(
                columns=table.columns,
                source=table.source,
                cells=len(table.cells),
                total=table.total,
                hold=table.hold,
                before=None if one is None else one.before,
                missed=None if one is None or one.after <= HELD else min(one.after, 1.0),
            )
        )
    return tuple(found)


def _raked_statements(raked: RakedModel, changed: float) -> tuple[Statement, ...]:
    """Say how far the public tables can have moved anything."""
    each_table = tuple(
        Statement("moved_to_table", each.before, {"columns": each.table.columns}) for each in raked.tables
    )
    if not each_table:
        return ()
    return (*each_table, Statement("moved_in_all", changed))


def _raked_warnings(raked: RakedModel) -> tuple[Notice, ...]:
    """Say where rows miss public tables, because they or the rules contradict each other, or raking ended early."""
    code = "table_not_reached" if raked.is_nearing else "table_contradicted"
    return tuple(
        Notice(code, {"columns": each.table.columns, "share": each.after})
        for each in raked.tables
        if raked.off and each.after > HELD
    )


def _statement(found: RuledModel) -> Statement:
    """Say how far keeping the rules can have moved anything."""
    atoms = {"atoms": found.model.atoms}
    if found.endless:
        return Statement("moved_by_endless_rules", found.moved, {**atoms, "columns": tuple(found.endless)})
    return Statement("moved_by_rules", found.moved, atoms)


def _warnings(found: RuledModel, schema: Schema) -> tuple[Notice, ...]:
    """Say when most of what the mechanism found does not fit the rules, and which."""
    if found.moved <= _MUCH:
        return ()
    # What determines an endless column is hardly ever kept beforehand, and was not counted.
    _, broke, text = max(
        (not (isinstance(rule, Determines) and rule.column in found.endless), broke, rule.text)
        for rule, broke in zip(schema.rules, found.by_rule, strict=True)
    )
    return (Notice("rules_moved", {"moved": found.moved, "share": broke, "rule": text}),)


def _map_warnings(found: RuledModel, schema: Schema) -> tuple[Notice, ...]:
    """Say where a map that nobody listed is the model's guess."""
    said = []
    for rule, broke in zip(schema.rules, found.by_rule, strict=True):
        if (
            not isinstance(rule, Determines)
            or rule.values
            or any(each.tells_all for each in public_pairs(schema, rule))
        ):
            continue
        if rule.column in found.endless:
            said.append(Notice("map_without_resolution", {"rule": rule.text, "column": rule.column}))
        elif broke >= _GUESSED:
            said.append(Notice("map_guessed", {"rule": rule.text, "share": broke}))
    return tuple(said)
