"""Which given codes go with no row that keeps the rules: parents who can have no child."""

from collections.abc import Mapping

import numpy as np

from lapwing.schema.public_cells import coded_tables
from lapwing.schema.rule_codes import components
from lapwing.schema.rule_search import completed
from lapwing.schema.schemas import Schema


def childless(schema: Schema, given: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return for which given codes the search for a row that keeps the rules finds none.

    Parameters
    ----------
    schema : Schema
        With rules.
    given : mapping of str to ndarray of integers, shape (n,)
        Codes of some of its columns.

    Returns
    -------
    ndarray of bool, shape (n,)

    Notes
    -----
    One search for each distinct combination of given codes that rules tie together.

    Examples
    --------
    >>> flags = [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in ("rented", "adult")]
    >>> rules = [{"never": {"rented": True, "adult": True}}, {"never": {"rented": True, "adult": False}}]
    >>> childless(Schema.from_dict({"fields": flags, "rules": rules}), {"rented": np.array([0, 1, 0])})
    array([False,  True, False])
    """
    found = np.zeros(len(next(iter(given.values()))), dtype=bool)
    for columns in components(schema.coded_rules):
        fixed = [name for name in columns if name in given]
        if not fixed:
            continue
        codes = np.stack([given[name].astype(np.int64) for name in fixed], axis=1)
        distinct, which = np.unique(codes, axis=0, return_inverse=True)
        runs = ({name: np.array([[code, code + 1]]) for name, code in zip(fixed, row, strict=True)} for row in distinct)
        found |= np.array([completed(schema, each, columns) is None for each in runs])[which.reshape(-1)]
    return found


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
        for kind in np.unique(alike[lost]):
            same, own = kept[alike[kept] == kind], np.flatnonzero(lost & (alike == kind))
            if same.size:
                chosen[own] = rng.choice(same, own.size)
    return chosen
