"""A sample of a population that has the law of a released model: rows drawn one by one, with all their sampling error.

Rows that leave a release have as little sampling error as rows can have (`rows`); whoever wants to know how far a
sample lies from its population needs rows with all of it.
"""

from collections.abc import Mapping

import numpy as np

from lapwing.errors import ParameterError
from lapwing.model.conditions.conditions import FEW_ATOMS, effective_atoms
from lapwing.model.log_linear import grouped, warmed
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans
from lapwing.model.rules.keeping import kept_components
from lapwing.model.sampling.draws import Histogram
from lapwing.schema.public_tables.cells import coded_tables
from lapwing.schema.schemas import Schema


def population_codes(model: ReleasedModel, schema: Schema, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw independent rows from a released model.

    schema: of the model; gives the dtype of each column's codes. Returns dict of str to (n,), codes of each column.
    Each row draws its atom, and from the atom's laws its codes, independently of all others.

    Where a log-linear part has fewer than 50 effective atoms, these are first replaced as `sample_codes` does. Rows of
    a ruled model keep the rules. Time
    ``O(k + n d log k)``.

    >>> schema = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean"}]})
    >>> model = ReleasedModel(weights=np.ones(1), rows=3, laws={"flag": Bernoulli(np.ones(1))})
    >>> population_codes(model, schema, 2, np.random.default_rng(1))["flag"].tolist()
    [1, 1]
    """
    if n < 1:
        raise ParameterError(f"a simulated sample has at least 1 row, got {n}", code="LW325")
    part = model.log_linear
    if part is not None and effective_atoms(model.weights) < FEW_ATOMS:
        model = warmed(model, grouped(part, tuple(model.laws)), n, rng, kept_components(model, schema))
    reached = np.cumsum(model.weights)
    atoms = np.searchsorted(reached, rng.random(n) * reached[-1], side="right")
    atoms = np.minimum(atoms, np.flatnonzero(model.weights)[-1])
    return {
        field.name: _drawn(model.laws[field.name], atoms, rng).astype(field.domain.dtype) for field in schema.columns
    }


def _drawn(law: ColumnLaw, atoms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one code per row from the law of its atom, independently."""
    match law:
        case Bernoulli():
            return np.asarray(rng.random(atoms.size) < law.p[atoms])
        case Spans():
            return _inside(law.starts[atoms].astype(np.int64), law.stops[atoms].astype(np.int64), rng)
        case Indexed():
            table, own = Histogram.of(law.laws), law.index[atoms].astype(np.int64)
            # Law i ends its pieces between i and i + 1; rounding must not lead beyond its last one.
            pieces = np.searchsorted(table.law_of_piece + table.reached, own + rng.random(atoms.size), side="right")
            pieces = np.minimum(pieces, law.laws.offsets[own + 1] - 1)
            return _inside(law.laws.starts[pieces], law.laws.stops[pieces], rng)


def _inside(starts: np.ndarray, stops: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one code per row uniformly from its run of codes."""
    steps = (rng.random(starts.size) * (stops - starts)).astype(np.int64)
    return np.asarray(starts + np.minimum(steps, stops - starts - 1))


# -- Parents in place of those to whom rules leave no child.


def stand_ins(
    schema: Schema, parents: Mapping[str, np.ndarray], lost: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return for each parent one to take its place: itself, or, if it is lost, any of those that are not.

    parents: mapping of str to integers (n,), their codes; lost: bool (n,), at least one is not. Returns intp (n,), for
    a lost parent one of the same cells of all exact public tables, so that their counts hold; any where there is none.

    >>> schema = Schema.from_dict({"fields": [{"name": "rented", "type": "boolean"}]})
    >>> lost = np.array([False, True, True])
    >>> stand_ins(schema, {"rented": np.array([0, 1, 1])}, lost, np.random.default_rng(1)).tolist()
    [0, 0, 0]
    """
    cells = [
        table.cell[
            tuple(grouping.apply(parents[name]) for name, grouping in zip(table.columns, table.groupings, strict=True))
        ]
        for table in coded_tables(schema)
    ]
    kept = np.flatnonzero(~lost)
    chosen = np.where(lost, rng.choice(kept, lost.size), np.arange(lost.size))
    if cells:
        alike = np.unique(np.stack(cells), axis=1, return_inverse=True)[1].reshape(-1)
        order = np.argsort(alike, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(alike[order])) + 1):
            same, own = rows[~lost[rows]], rows[lost[rows]]
            if same.size and own.size:
                chosen[own] = rng.choice(same, own.size)
    return chosen
