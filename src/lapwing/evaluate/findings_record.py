"""The findings of a comparison as plain JSON values."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from lapwing.evaluate.columns import PERCENTS, ColumnErrors
from lapwing.evaluate.findings import Findings
from lapwing.evaluate.metrics import Compared
from lapwing.evaluate.variation import Variation
from lapwing.evaluate.weighted import weighted_record
from lapwing.release.version import VERSION


def findings_record(found: Findings) -> dict[str, Any]:
    """Return findings as plain JSON values: the content of the file that `lapwing evaluate --json` writes.

    Parameters
    ----------
    found : Findings

    Returns
    -------
    dict
        Of dicts, lists, texts, finite numbers, truth values and None.
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

    Parameters
    ----------
    value : object
        Of dataclasses, mappings, sequences, arrays and scalars.

    Returns
    -------
    object

    Examples
    --------
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
