"""Neighbouring tables of a few rows for black-box cases: one person has all rows that a person may have."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.terms import Relation, Terms
from lapwing.rows.source import CodedSource, code_table
from lapwing.schema.groupings.grouping import Grouping, identity
from lapwing.schema.schemas import Schema

Row = tuple[int, bool, bool]
"""A whole number from 0 to 31, and two truths."""

PURE: Final = Budget.pure(2)
ZCDP: Final = Budget.zcdp("0.5")

PURE_TERMS: Final[tuple[tuple[Relation, int], ...]] = (
    ("add-remove", 1),
    ("add-remove", 3),
    ("replace-one", 1),
    ("replace-one", 3),
)
"""Relations and rows per unit of the cases at pure epsilon."""

ZCDP_TERMS: Final[tuple[tuple[Relation, int], ...]] = (("add-remove", 1), ("replace-one", 3))
"""Those at zCDP."""

PRICED: Final = tuple((PURE, *each) for each in PURE_TERMS) + tuple((ZCDP, *each) for each in ZCDP_TERMS)
"""Cost, relation and rows per unit of all cases of a question that takes both notions."""


def people_schema(max_rows: int) -> Schema:
    """Return the schema of a person, a whole number x and two truths a and b."""
    required = {"required": True}
    fields = [
        {"name": "person", "type": "string", "role": "identifier"},
        {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 31} | required},
        {"name": "a", "type": "boolean", "constraints": required},
        {"name": "b", "type": "boolean", "constraints": required},
    ]
    return Schema.from_dict({"fields": fields, "privacyUnit": {"field": "person", "maxRows": max_rows}})


def grouping_of(column: str) -> Grouping:
    """Return the grouping of a column in which every code is a group."""
    return identity(people_schema(1).field(column).domain)


def terms_of(relation: Relation, max_rows: int) -> Terms:
    """Return terms under which the number of rows is private."""
    return Terms(relation=relation, max_rows=max_rows)


def neighbours(
    terms: Terms, own: Row, other: Row, others: Sequence[Row] = ((0, False, False),)
) -> tuple[CodedSource, CodedSource]:
    """Return two tables: all of one person's rows say ``own`` in the first, and ``other`` or nothing in the second.

    terms: under add-remove the person is absent from the second table.
    """
    second = [] if terms.relation == "add-remove" else [other] * terms.max_rows
    return _coded(others, [own] * terms.max_rows, terms), _coded(others, second, terms)


def _coded(others: Sequence[Row], own: Sequence[Row], terms: Terms) -> CodedSource:
    people = [*(f"other {place}" for place in range(len(others))), *["the person"] * len(own)]
    columns = list(zip(*others, *own, strict=True)) or [()] * 3
    frame = pl.DataFrame(
        {
            "person": pl.Series(people, dtype=pl.String),
            "x": pl.Series(columns[0], dtype=pl.Int64),
            "a": pl.Series(columns[1], dtype=pl.Boolean),
            "b": pl.Series(columns[2], dtype=pl.Boolean),
        }
    )
    return code_table(frame, people_schema(terms.max_rows))
