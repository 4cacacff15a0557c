"""Rows that break declared rules, and how far public totals are: of real rows, of synthetic ones, of any table.

A release of a schema with rules breaks none of them. A table of another tool may, and real rows may too where a rule is
no rule; so each count stands beside that of the other tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.judge.metrics import SYNTHETIC
from lapwing.schema.public_tables.cells import CodedTable, coded_tables
from lapwing.schema.rules.codes import CodedRule, coded_rules
from lapwing.schema.rules.rules import Rule
from lapwing.schema.scalars import visible
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]

REAL: Final = "real"
"""The name of the table of private rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFit:
    """Count the rows that break one rule.

    broken: rows that break it, by the name of the table.
    """

    rule: str
    provenance: str
    columns: tuple[str, ...]
    broken: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalFit:
    """Say how far tables are from a public one.

    gaps: by the name of the table, the share of its rows that would have to change for its shares to be the public
    ones: total variation distance, from 0 to 1. Cells that do not fit the schema count as different.
    """

    columns: tuple[str, ...]
    source: str
    hold: str
    total: int
    gaps: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Hold how tables fit what the schema declares of them.

    broken: rows that break at least one rule, by the name of the table; totals: in the order of the schema's public
    tables, those held exactly first.
    """

    rules: tuple[RuleFit, ...]
    broken: Mapping[str, int]
    rows: Mapping[str, int]
    totals: tuple[TotalFit, ...]


def compare_declared(tables: Mapping[str, Codes], schema: Schema) -> Declared | None:
    """Return how many rows of each table break each rule of the schema, and how far they are from its public tables.

    tables: mapping of str to mapping of str to integers (n,), codes of every modelled column, by the name of the table.

    Cells that do not fit the schema break no rule. Where a column is determined by others, the rows that do not have
    the commonest value of theirs break the rule. Time ``O(n)`` a rule, ``O(n log n)`` where a map is not listed.

    >>> ages = {"type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}}
    >>> fields = [{"name": name, **ages} for name in ("first", "last")]
    >>> schema = Schema.from_dict({"fields": fields, "rules": [{"order": ["first", "last"]}]})
    >>> table = {"first": np.array([1, 2, 3]), "last": np.array([1, 1, 4])}
    >>> compare_declared({"synthetic": table}, schema).rules[0].broken
    {'synthetic': 1}
    """
    totals = tuple(each for hold in ("exact", "prior") for each in coded_tables(schema, hold))
    if not schema.rules and not totals:
        return None
    rows = {name: len(next(iter(codes.values()))) for name, codes in tables.items()}
    broken = {name: _broken(codes, schema, rows[name]) for name, codes in tables.items()}
    return Declared(
        rules=tuple(
            RuleFit(
                rule=rule.text,
                provenance=rule.provenance,
                columns=rule.columns,
                broken={name: counts[place] for name, (counts, _) in broken.items()},
            )
            for place, rule in enumerate(schema.rules)
        ),
        broken={name: any_rule for name, (_, any_rule) in broken.items()},
        rows=rows,
        totals=tuple(
            TotalFit(
                columns=each.columns,
                source=each.table.source,
                hold=each.table.hold,
                total=each.table.total,
                gaps={name: _gap(codes, each) for name, codes in tables.items()},
            )
            for each in totals
        ),
    )


def declared_notes(found: Declared | None) -> list[str]:
    """Return what looks wrong: rules that a table breaks, each count beside its rows.

    Returns one sentence for each table; none where all is well.
    """
    if found is None:
        return []
    notes = []
    for name, what in ((REAL, "what real rows break is no rule"), (SYNTHETIC, "rows of a release break none")):
        if found.broken[name]:
            worst = max(found.rules, key=lambda fit: fit.broken[name])
            notes.append(
                f"{found.broken[name]:,} of {found.rows[name]:,} {name} rows break a declared rule, "
                f"{worst.broken[name]:,} of them {visible(worst.rule)}: {what}"
            )
    return notes


def _broken(codes: Codes, schema: Schema, rows: int) -> tuple[list[int], int]:
    """Return how many rows break each rule, and how many break any."""
    parts: dict[Rule, list[CodedRule]] = {}
    for each in coded_rules(schema):
        parts.setdefault(each.rule, []).append(each)
    counts, is_any = [], np.zeros(rows, dtype=bool)
    for rule in schema.rules:
        is_broken = np.zeros(rows, dtype=bool)
        for each in parts.get(rule, []):
            is_broken |= each.broken(codes)
        counts.append(int(np.count_nonzero(is_broken)))
        is_any |= is_broken
    return counts, int(np.count_nonzero(is_any))


def _gap(codes: Codes, table: CodedTable) -> float:
    """Return the total variation distance between the shares of a table of rows and those of a public one."""
    groups = [
        grouping.apply(codes[name]).astype(np.intp)
        for name, grouping in zip(table.columns, table.groupings, strict=True)
    ]
    # The last place is for rows that lie in no cell: `cell` says -1 of them.
    counts = np.bincount(table.cell[tuple(groups)] + 1, minlength=len(table.counts) + 1)
    wanted = np.concatenate([[0], table.counts])
    return float(abs(counts / max(1, counts.sum()) - wanted / wanted.sum()).sum() / 2)
