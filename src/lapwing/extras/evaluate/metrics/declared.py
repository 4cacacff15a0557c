"""Whether tables keep what their schema declares: rules and public totals; and figures by survey weight.

A release of a schema with rules breaks none of them. Tables of other tools and real rows may;
so each count stands beside those of the other tables. Weighted totals, shares and means are as users of a survey
compute them: a row counts as often as its weight says. What is computed from private rows is private.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.metric import REAL, SYNTHETIC, Estimate, Metric, MetricResult, height
from lapwing.extras.evaluate.words import say
from lapwing.maths.arrays import Codes, Floats, read_only
from lapwing.model.compared import compared_cells
from lapwing.schema.fields import Field, weights_at
from lapwing.schema.public_tables.cells import CodedTable, coded_tables
from lapwing.schema.rules.codes import CodedRule
from lapwing.schema.rules.rules import Rule
from lapwing.schema.scalars import visible
from lapwing.schema.schemas import Schema
from lapwing.schema.values import labels


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFit:
    """Count the rows that break one rule, by the name of the table."""

    rule: str
    provenance: str
    columns: tuple[str, ...]
    broken: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalFit:
    """Say how far tables are from a public one: gaps are total variation distances, by the name of the table.

    Cells that do not fit the schema count as different.
    """

    columns: tuple[str, ...]
    source: str
    hold: str
    total: int
    gaps: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFit:
    """Hold how tables fit what the schema declares of them.

    broken: rows that break at least one rule, by the name of the table; totals: those held exactly come first.
    """

    rules: tuple[RuleFit, ...]
    broken: Mapping[str, int]
    rows: Mapping[str, int]
    totals: tuple[TotalFit, ...]


def compare_declared(tables: Mapping[str, Codes], schema: Schema) -> DeclaredFit | None:
    """Return how many rows of each table break each rule, and how far the tables are from the public ones.

    Cells that do not fit the schema break no rule. Where a column is determined by others, the rows without the
    commonest value of theirs break the rule. Time ``O(n)`` a rule, ``O(n log n)`` where a map is not listed.
    """
    totals = tuple(each for hold in ("exact", "prior") for each in coded_tables(schema, hold))
    if not schema.rules and not totals:
        return None
    rows = {name: height(codes) for name, codes in tables.items()}
    broken = {name: _broken(codes, schema, rows[name]) for name, codes in tables.items()}
    return DeclaredFit(
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


def declared_notes(found: DeclaredFit | None) -> list[str]:
    """Return one sentence for each table that breaks rules."""
    if found is None:
        return []
    notes = []
    for name in (REAL, SYNTHETIC):
        if found.broken[name]:
            worst = max(found.rules, key=lambda fit: fit.broken[name])
            counts = {"broken": found.broken[name], "rows": found.rows[name], "most": worst.broken[name]}
            notes.append(say(f"rules.broken.{name}", rule=visible(worst.rule), **counts))
    return notes


def _broken(codes: Codes, schema: Schema, rows: int) -> tuple[list[int], int]:
    """Return how many rows break each rule, and how many break any."""
    parts: dict[Rule, list[CodedRule]] = {}
    for each in schema.coded_rules:
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


LISTED: Final = 20  # cells of a column that are listed in files: those with most weight
TOTAL_ERROR: Final = Metric("weighted_total_error")
SHARE_ERROR: Final = Metric("weighted_variation")
MEAN_ERROR: Final = Metric("weighted_mean_error")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedColumn:
    """Hold the weighted totals of one column's cells.

    totals: of the other tables, as if they had as many rows as the real one; means: by how much each other table's
    weighted mean is larger, in real weighted standard deviations. None where the column has no numbers, a table no
    weight on them, or all real values are equal.
    """

    column: str
    labels: tuple[str, ...]
    real: np.ndarray
    totals: Mapping[str, np.ndarray]
    means: Mapping[str, float] | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "real", read_only(self.real))
        frozen = {name: read_only(each) for name, each in self.totals.items()}
        object.__setattr__(self, "totals", MappingProxyType(frozen))

    def total_error(self, name: str) -> float:
        """Return the sum of the absolute differences of the totals, divided by the real total weight."""
        return float(np.abs(self.totals[name] - self.real).sum() / self.real.sum())

    def share_error(self, name: str) -> float:
        """Return the total variation of the weighted shares; 1 where the other table has no weight."""
        other = self.totals[name]
        if other.sum() <= 0:
            return 1.0
        return float(np.abs(other / other.sum() - self.real / self.real.sum()).sum()) / 2

    def largest(self, count: int = LISTED) -> tuple[int, ...]:
        """Return the cells with most real weight, the heaviest first."""
        order = np.argsort(-self.real, kind="stable")[:count]
        return tuple(order[self.real[order] > 0].tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedFit:
    """Hold how far weighted totals, shares and means are from the real ones, of all columns but the weight."""

    weight: str
    total: float
    totals: Mapping[str, float]
    columns: tuple[WeightedColumn, ...]


def compare_weighted(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rows: int | None = None
) -> WeightedFit | None:
    """Return how far the weighted figures of tables are from the real ones; None without a weight or another column.

    rows: of the real table, where the codes are a sample of it: totals are those of so many. A cell whose weight is
    missing or special counts 0. Time ``O(d (n + m))``.
    """
    if schema.weight is None:
        return None
    columns = [column for column in schema.columns if column.name != schema.weight]
    tables = {"": real_codes, **others}
    if not all(map(height, tables.values())):
        raise ParameterError("weighted tables need at least one row each; give rows", code="LW110")
    field, whole = schema.field(schema.weight), height(real_codes) if rows is None else rows
    # As if each table had as many rows as the real one.
    weights = {name: weights_at(field, each[field.name]) * (whole / height(each)) for name, each in tables.items()}
    total = float(weights[""].sum())
    if not columns or total <= 0:
        return None
    return WeightedFit(
        weight=schema.weight,
        total=total,
        totals={name: float(weights[name].sum()) for name in others},
        columns=tuple(_compared(column, tables, weights) for column in columns),
    )


def weighted_figures(found: WeightedFit) -> tuple[MetricResult, ...]:
    """Return the means over columns of the weighted errors; `MEAN_ERROR` only where a column has a mean."""
    names = tuple(found.totals)
    figures = [
        (TOTAL_ERROR, {name: [each.total_error(name) for each in found.columns] for name in names}),
        (SHARE_ERROR, {name: [each.share_error(name) for each in found.columns] for name in names}),
    ]
    means = [each.means for each in found.columns if each.means is not None]
    if means:
        figures.append((MEAN_ERROR, {name: [abs(each[name]) for each in means] for name in names}))
    return tuple(
        MetricResult(
            metric=metric,
            values={name: Estimate(value=math.fsum(each) / len(each)) for name, each in errors.items()},
            columns=len(errors[names[0]]),
        )
        for metric, errors in figures
    )


def weighted_record(found: WeightedFit | None) -> dict[str, Any] | None:
    """Return weighted figures as plain JSON values; of each column the 20 cells with most weight."""
    if found is None:
        return None
    return {
        "weight": found.weight,
        "total": {"real": found.total, **found.totals},
        "columns": [
            {
                "column": each.column,
                "total_error": {name: each.total_error(name) for name in found.totals},
                "share_error": {name: each.share_error(name) for name in found.totals},
                "mean_error": None if each.means is None else dict(each.means),
                "cells": [
                    {
                        "cell": each.labels[cell],
                        "real": float(each.real[cell]),
                        **{name: float(totals[cell]) for name, totals in each.totals.items()},
                    }
                    for cell in each.largest()
                ],
            }
            for each in found.columns
        ],
    }


def _compared(column: Field, tables: Mapping[str, Codes], weights: Mapping[str, Floats]) -> WeightedColumn:
    """Return one column's totals, and its means where it has numbers or dates."""
    grouping = compared_cells(column.domain)
    totals = {
        name: np.bincount(grouping.apply(codes[column.name]), weights[name], grouping.groups)
        for name, codes in tables.items()
    }
    is_number = column.type != "string" and not column.is_categorical
    return WeightedColumn(
        column=column.name,
        labels=tuple(labels(grouping, column)),
        real=totals.pop(""),
        totals=totals,
        means=_mean_errors(column, tables, weights) if is_number else None,
    )


def _mean_errors(column: Field, tables: Mapping[str, Codes], weights: Mapping[str, Floats]) -> dict[str, float] | None:
    """Return how far the weighted means of the regular codes are from the real one; None where there is no unit."""
    means, deviation = {}, 0.0
    for name, codes in tables.items():
        own = codes[column.name]
        is_regular = own < column.domain.values
        places, heavy = own[is_regular].astype(np.float64), weights[name][is_regular]
        total = heavy.sum()
        if total <= 0:
            return None
        means[name] = float((places * heavy).sum() / total)
        if name == "":
            deviation = math.sqrt(float((np.square(places - means[name]) * heavy).sum() / total))
    real = means.pop("")
    return {name: (mean - real) / deviation for name, mean in means.items()} if deviation > 0 else None
