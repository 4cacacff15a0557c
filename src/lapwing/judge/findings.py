"""The findings of a comparison as plain JSON values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from lapwing.judge.columns import PERCENTS, ColumnErrors
from lapwing.judge.dependence.associations import Associations
from lapwing.judge.disclosure.disclosure import Disclosure
from lapwing.judge.metrics import Compared
from lapwing.judge.overlays.overlays import Overlays
from lapwing.judge.prediction.downstream import Downstream
from lapwing.judge.prediction.subgroups import SubgroupAccuracy
from lapwing.judge.rules import Declared
from lapwing.judge.tables.variation import Variation
from lapwing.judge.tables.weighted import Weighted, weighted_record
from lapwing.version import VERSION

# -- All that a comparison of a synthetic table with the real one found.


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Findings:
    """Hold all that a comparison found; where the real table is private, so is this.

    tables: total variation of the 1-way, 2-way and 3-way tables, by the name of the table compared: ``synthetic``,
    ``bootstrap`` (as many real rows drawn with replacement: the sampling floor) and ``independent`` (the real rows with
    every column shuffled by itself: the lazy baseline); columns: how far every column is from the real one, of
    ``synthetic`` and ``bootstrap``; together: which cells of a row are regular at the same time, of pairs of columns
    that may be missing or have special values; by table. None where there is no pair; given: where on another column
    the cells of a column are missing, likewise; associations: how strongly every pair of columns depends on each other;
    None where there is one column; downstream: how well the target is predicted; None where none was given; subgroups:
    of the crossing of the named columns; empty where none was named; disclosure: sanity checks of disclosure; None
    where they were not made; overlays: columns and maps, the real and the synthetic ones side by side; notes: what was
    left out or looks wrong, one sentence each; seed: chose tables, rows and pairs, and drew the reference rows;
    declared: rows that break rules, and gaps to public totals; None where the schema declares neither; weighted:
    weighted totals, shares and means; None where the schema names no survey weight.
    """

    tables: Mapping[str, tuple[Variation, ...]]
    columns: Mapping[str, tuple[ColumnErrors, ...]]
    together: Mapping[str, Variation] | None
    given: Mapping[str, Variation] | None
    metrics: tuple[Compared, ...]
    associations: Associations | None
    downstream: Downstream | None
    subgroups: tuple[SubgroupAccuracy, ...]
    disclosure: Disclosure | None
    overlays: Overlays
    notes: tuple[str, ...]
    rows: int
    synthetic_rows: int
    seed: int
    weighted: Weighted | None = None
    declared: Declared | None = None


def findings_record(found: Findings) -> dict[str, Any]:
    """Return findings as plain JSON values: the content of the file that `lapwing evaluate --json` writes.

    Returns of dicts, lists, texts, finite numbers, truth values and None.
    """
    return {
        "lapwing": VERSION,
        "seed": found.seed,
        "rows": {"real": found.rows, "synthetic": found.synthetic_rows},
        "notes": list(found.notes),
        "metrics": [_metric(each) for each in found.metrics],
        "total_variation": {name: [_variation(each) for each in tables] for name, tables in found.tables.items()},
        "columns": {name: [_column(each) for each in columns] for name, columns in found.columns.items()},
        "missing": {"together": _by_table(found.together), "given": _by_table(found.given)},
        "associations": plain(found.associations),
        "downstream": plain(found.downstream),
        "subgroups": plain(found.subgroups),
        "weighted": weighted_record(found.weighted),
        "disclosure": plain(found.disclosure),
        "overlays": plain(found.overlays),
        "declared": plain(found.declared),
    }


def plain(value: Any) -> Any:  # noqa: ANN401
    """Return a value as plain JSON: dataclasses as dicts, arrays as lists, numbers that are not finite as None.

    >>> plain({"shares": np.array([0.5, np.nan]), "columns": ("a", "b")})
    {'shares': [0.5, None], 'columns': ['a', 'b']}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    match value:
        case str() | bool() | int() | None:
            return value
        case float():
            return value if np.isfinite(value) else None
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case Sequence():
            return [plain(each) for each in value]
    return str(value)


def _metric(compared: Compared) -> dict[str, Any]:
    metric = compared.metric
    return {
        "key": metric.key,
        "title": metric.title,
        "unit": metric.unit,
        "meaning": metric.meaning,
        "best": metric.best,
        "reference": metric.reference,
        "columns": compared.columns,
        "rows": compared.rows,
        "values": plain(compared.values),
    }


def _by_table(found: Mapping[str, Variation] | None) -> dict[str, Any] | None:
    return None if found is None else {name: _variation(each) for name, each in found.items()}


def _variation(variation: Variation) -> dict[str, Any]:
    """Return the figures of the tables with so many columns."""
    return {
        "ways": variation.ways,
        "tables": len(variation.tables),
        "possible": variation.possible,
        "mean": variation.mean,
        "max": variation.maximum,
        "worst": [{"columns": list(columns), "distance": distance} for columns, distance in variation.worst()],
    }


def _column(errors: ColumnErrors) -> dict[str, Any]:
    """Return the errors of a column."""
    record: dict[str, Any] = plain(errors) | {
        "special": [{"value": value, "error": error} for value, error in errors.special]
    }
    if errors.numbers is not None:
        ranks = {str(percent): error for percent, error in zip(PERCENTS, errors.numbers.ranks, strict=True)}
        record["numbers"] |= {"ranks": ranks, "rank": errors.numbers.rank}
    return record
