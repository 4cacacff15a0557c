"""From a density on points of the domain to a released model, and back."""

from collections.abc import Mapping

import numpy as np

from lapwing.mechanisms.linear_statistics.workload import Workload
from lapwing.mechanisms.shared.public_cells import is_refined, public_cells
from lapwing.mechanisms.shared.vectors.reduced_space import ONE_WAY_GROUPS
from lapwing.model.model import ColumnLaw, ReleasedModel, Spans
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, cut
from lapwing.schema.schemas import Schema


def points_as_model(
    schema: Schema, workload: Workload, points: Mapping[str, np.ndarray], weights: np.ndarray, rows: int
) -> ReleasedModel:
    """Return one atom per point with a positive weight.

    points: mapping of str to int64 (m,), codes; weights: float64 (m,), the density, of sum 1. Returns points; in wide
    ordered columns that the workload sees through groups only, small cells inside those groups, so that rows out are
    not all alike. No statistic of the workload changes by that.
    """
    kept = np.flatnonzero(weights > 0)
    exact = {name for each in workload.statistics for name in each.columns}
    laws: dict[str, ColumnLaw] = {}
    for field in schema.columns:
        codes = points[field.name][kept].astype(np.int64)
        if is_refined(field) and field.name not in exact:
            laws[field.name] = _in_cells(codes, _small_cells(field, workload.groupings[field.name]))
        else:
            laws[field.name] = Spans(codes, codes + 1)
    return ReleasedModel(weights=weights[kept].astype(np.float64), rows=rows, laws=laws)


def points_of(model: ReleasedModel) -> dict[str, np.ndarray]:
    """Return a point of each atom that `points_as_model` made: dict of str to ndarray of int64, shape (k,)."""
    found = {}
    for name, law in model.laws.items():
        assert isinstance(law, Spans)
        found[name] = law.starts.astype(np.int64)
    return found


def _small_cells(field: Field, grouping: Grouping) -> Grouping:
    """Return small cells of a wide column, each inside one group."""
    inner = grouping.pieces()[0][1 : grouping.regular]
    return cut(field.domain, np.union1d(inner, public_cells(field, ONE_WAY_GROUPS).cuts))


def _in_cells(codes: np.ndarray, cells: Grouping) -> Spans:
    """Return the cell of each code."""
    starts, stops, _ = cells.pieces()
    place = np.searchsorted(starts, codes, side="right") - 1
    return Spans(starts[place], stops[place])
