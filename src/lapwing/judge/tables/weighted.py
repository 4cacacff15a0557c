"""Weighted totals, shares and means of two coded tables, as users of a survey compute them.

A row counts as many times as its survey weight says. What is computed from private rows is private: nothing here adds
noise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.judge.metrics import Compared, Estimate, Floats, Metric
from lapwing.judge.tables.variation import compared_cells
from lapwing.maths.arrays import read_only
from lapwing.schema.fields import Field, weights_at
from lapwing.schema.schemas import Schema
from lapwing.schema.values import labels

Codes = Mapping[str, npt.NDArray[np.integer]]

LISTED: Final = 20
"""Cells of a column that are listed in files: those with most weight."""

TOTAL_ERROR: Final = Metric(
    key="weighted_total_error",
    title="weighted totals of cells, relative",
    unit="share of the total weight",
    meaning=(
        "Sum of the absolute differences of the weighted totals over the cells of a column, divided by the total "
        "weight, averaged over columns; 0 for equal totals."
    ),
    best=0.0,
    reference="docs: survey weights",
)

SHARE_ERROR: Final = Metric(
    key="weighted_variation",
    title="weighted shares of cells",
    unit="share of the total weight",
    meaning="Total variation of the weighted shares of a column's cells, averaged over columns; from 0 to 1.",
    best=0.0,
    reference="docs: survey weights",
)

MEAN_ERROR: Final = Metric(
    key="weighted_mean_error",
    title="weighted means",
    unit="real standard deviations",
    meaning=(
        "Absolute difference of the weighted means of a numeric or date column, in real weighted standard deviations, "
        "averaged over such columns; 0 for equal means."
    ),
    best=0.0,
    reference="docs: survey weights",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedColumn:
    """Hold the weighted totals of one column's cells.

    real: float64 (k,), weighted totals of the real table; totals: mapping of str to float64 (k,), those of the other
    tables, as if they had as many rows as the real one; means: by how much the weighted mean of each other table is
    larger, in real weighted standard deviations; None where the column has no numbers or dates, or one of the tables no
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
class Weighted:
    """Hold how far weighted totals, shares and means are from the real ones.

    totals: of the other tables, as if they had as many rows as the real one; columns: every modelled column but the
    weight, in the schema's order.
    """

    weight: str
    total: float
    totals: Mapping[str, float]
    columns: tuple[WeightedColumn, ...]


def compare_weighted(real_codes: Codes, others: Mapping[str, Codes], schema: Schema) -> Weighted | None:
    """Return how far the weighted figures of tables are from the real ones.

    real_codes: mapping of str to integers (n,), codes of every modelled column of the schema, at least one row. Returns
    none where the schema names no weight, has no other column, or the real rows have no weight.

    A cell whose weight is missing or special counts 0. Time ``O(d (n + m))``.
    """
    if schema.weight is None:
        return None
    columns = [column for column in schema.columns if column.name != schema.weight]
    tables = {"": real_codes, **others}
    weights = {name: _scaled(codes, schema.field(schema.weight), real_codes) for name, codes in tables.items()}
    total = float(weights[""].sum())
    if not columns or total <= 0:
        return None
    return Weighted(
        weight=schema.weight,
        total=total,
        totals={name: float(weights[name].sum()) for name in others},
        columns=tuple(_compared(column, tables, weights) for column in columns),
    )


def weighted_figures(found: Weighted) -> tuple[Compared, ...]:
    """Return the means over columns of the weighted errors, each of all tables.

    Returns `TOTAL_ERROR`, `SHARE_ERROR`, and `MEAN_ERROR` where a column has a mean.
    """
    names = tuple(found.totals)
    figures = [
        (TOTAL_ERROR, {name: [each.total_error(name) for each in found.columns] for name in names}),
        (SHARE_ERROR, {name: [each.share_error(name) for each in found.columns] for name in names}),
    ]
    means = [each.means for each in found.columns if each.means is not None]
    if means:
        figures.append((MEAN_ERROR, {name: [abs(each[name]) for each in means] for name in names}))
    return tuple(
        Compared(
            metric=metric,
            values={
                name: Estimate(value=math.fsum(each) / len(each), standard_error=0.0) for name, each in errors.items()
            },
            rows=None,
            columns=len(errors[names[0]]),
        )
        for metric, errors in figures
    )


def weighted_record(found: Weighted | None) -> dict[str, Any] | None:
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


def _scaled(codes: Codes, field: Field, real_codes: Codes) -> Floats:
    """Return the weights of a table's rows, as if it had as many rows as the real one."""
    own, real = codes[field.name], real_codes[field.name]
    if not own.size or not real.size:
        raise ParameterError("weighted tables need at least one row each; give rows", code="LW110")
    return weights_at(field, own) * (real.size / own.size)


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
