"""The reduced space: points of the domain, drawn from a known distribution mu, and the model that a density on them is.

mu is what another mechanism learns from a part of the budget, uniform, or public; a part of the points is always
uniform, so that each cell has some.
"""

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from lapwing.mechanisms.shared.one_way import is_refined, one_way_grouping, public_cells
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.model.model import ColumnLaw, ReleasedModel, Spans
from lapwing.model.rows import sample_codes
from lapwing.schema.groupings.grouping import Grouping, interval_grouping
from lapwing.schema.schemas import Schema

SMALL_CELLS: Final = 128  # about how many cells a wide ordered column has, in which synthetic rows are drawn


def one_way_groupings(schema: Schema, groups: int) -> dict[str, Grouping]:
    """Return the public grouping of each column into about so many groups."""
    return {field.name: one_way_grouping(field, groups) for field in schema.columns}


def draw_points(
    mu: ReleasedModel | PublicRows | None,
    schema: Schema,
    groupings: Mapping[str, Grouping],
    shape: tuple[int, float],
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Draw the points z_1..z_m of the reduced space.

    mu: where most points lie; None for none but uniform ones; groupings: uniform points are uniform on the groups of
    each column, and inside a group on its codes; shape: number m of points, at least 1, and the part of them that is
    uniform. Returns dict of str to int64 (m,), codes. Points of a model are one systematic sample of it, so each has
    its law; public rows are drawn with replacement.
    """
    count, mixed = shape
    uniform = count if mu is None else round(mixed * count)
    found = {
        field.name: _uniform(groupings[field.name], field.domain.missing, uniform, rng) for field in schema.columns
    }
    if mu is None or uniform == count:
        return found
    if isinstance(mu, PublicRows):
        place = rng.integers(mu.rows, size=count - uniform)
        drawn = {name: mu.codes[name][place] for name in found}
    else:
        (drawn,) = sample_codes(mu, schema, count - uniform, rng)
    return {name: np.concatenate((drawn[name].astype(np.int64), codes)) for name, codes in found.items()}


def _uniform(grouping: Grouping, missing: bool, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return codes of groups that are equally likely; the last group only where it means missing."""
    starts, stops, _ = grouping.pieces()
    last = starts.size if missing else starts.size - 1
    place = rng.integers(last, size=count)
    return rng.integers(starts[place], stops[place])


def points_as_model(
    schema: Schema,
    groupings: Mapping[str, Grouping],
    exact: Collection[str],
    density: tuple[Mapping[str, np.ndarray], np.ndarray],
    rows: int,
) -> ReleasedModel:
    """Return one atom per point with a positive weight.

    groupings: those in which tables see each column; exact: columns that statistics read code by code; density: points,
    mapping of str to int64 (m,), and weights, float64 (m,), of sum 1. Returns points; in wide ordered columns that
    tables alone see, small cells inside their groups, so that synthetic rows are not all alike. No statistic changes.
    """
    points, weights = density
    kept = np.flatnonzero(weights > 0)
    laws: dict[str, ColumnLaw] = {}
    for field in schema.columns:
        codes = points[field.name][kept].astype(np.int64)
        laws[field.name] = Spans(codes, codes + 1)
        if is_refined(field) and field.name not in exact:
            inner = groupings[field.name].pieces()[0][1 : groupings[field.name].regular]
            starts, stops, _ = interval_grouping(
                field.domain, np.union1d(inner, public_cells(field, SMALL_CELLS).cuts)
            ).pieces()
            cell = np.searchsorted(starts, codes, side="right") - 1
            laws[field.name] = Spans(starts[cell], stops[cell])
    return ReleasedModel(weights=weights[kept].astype(np.float64), rows=rows, laws=laws)


def points_of(model: ReleasedModel) -> dict[str, np.ndarray]:
    """Return a point of each atom that `points_as_model` made: dict of str to ndarray of int64, shape (k,)."""
    found = {}
    for name, law in model.laws.items():
        assert isinstance(law, Spans)
        found[name] = law.starts.astype(np.int64)
    return found
