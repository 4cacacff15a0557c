"""Parents in place of those to whom rules leave no child."""

from collections.abc import Mapping

import numpy as np

from lapwing.schema.public_cells import coded_tables
from lapwing.schema.schemas import Schema


def stand_ins(
    schema: Schema, parents: Mapping[str, np.ndarray], lost: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return for each parent one to take its place: itself, or, if it is lost, any of those that are not.

    Parameters
    ----------
    schema : Schema
        Of the parents.
    parents : mapping of str to ndarray of integers, shape (n,)
        Their codes.
    lost : ndarray of bool, shape (n,)
        At least one is not.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    ndarray of intp, shape (n,)
        For a lost parent one of the same cells of all exact public tables, so that their counts hold; any where there
        is none.

    Examples
    --------
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
