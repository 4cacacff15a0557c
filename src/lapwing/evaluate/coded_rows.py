"""Rows of coded tables as vectors with coordinates in [0, 1], where papers on Boolean tables and unit balls start."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.evaluate.checks import Floats
from lapwing.schema.domains import Domain
from lapwing.schema.fields import Field
from lapwing.schema.groupings import evenly

Codes = Mapping[str, npt.NDArray[np.integer]]

MOST_CATEGORIES: Final = 32
"""Coordinates of an unordered column: where it has more codes, neighbouring ones share a coordinate."""


def coded_rows(codes: Codes, columns: Sequence[Field]) -> Floats:
    """Return the rows of a table as vectors.

    Parameters
    ----------
    codes : mapping of str to ndarray of integers, shape (n,)
        Codes of the columns.
    columns : sequence of Field
        At least one.

    Returns
    -------
    ndarray of float64, shape (n, p)
        Numbers from 0 to 1. The vector of a row has at most the Euclidean length ``sqrt(columns)``.

    Notes
    -----
    A Boolean is 0 or 1, as in the papers, and so is any column with two values. An ordered column is its place from 0
    for the first value to 1 for the last; a real one lies at its cell of 2^32. An unordered column has a coordinate for
    each category, 1 where the cell has it; with more than 32 categories the 32 coordinates stand for runs of nearly as
    many codes each. Where cells may be missing or special, one more coordinate is 1 for such a cell and the others of
    its column are 0. A misfit counts as missing; where cells must not be missing, all its coordinates are 0.

    So each column adds at most 1 to the squared length: divided by ``sqrt(columns)``, rows lie in the unit ball that
    theorems ask for, as Boolean rows of the paper do. Memory ``8 n p`` bytes.

    Examples
    --------
    >>> from lapwing.schema.schemas import Schema
    >>> fields = [{"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 4, "required": True}},
    ...           {"name": "sex", "type": "string", "categories": ["f", "m", "x"]}]
    >>> codes = {"age": np.array([0, 1, 4]), "sex": np.array([0, 2, 3])}  # the last sex is missing
    >>> coded_rows(codes, Schema.from_dict({"fields": fields}).columns).tolist()
    [[0.0, 1.0, 0.0, 0.0, 0.0], [0.25, 0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 1.0]]
    """
    rows = len(codes[columns[0].name])
    found = np.zeros((rows, sum(coordinates(column.domain) for column in columns)))
    start = 0
    for column in columns:
        domain, cells = column.domain, codes[column.name]
        stop = start + coordinates(domain)
        if _is_place(domain):
            is_regular = cells < domain.values
            found[is_regular, start] = cells[is_regular] / (domain.values - 1)
        else:
            grouping = evenly(domain, MOST_CATEGORIES)
            groups = grouping.apply(cells)
            is_regular = groups < grouping.regular
            found[np.flatnonzero(is_regular), start + groups[is_regular]] = 1
        if _has_gaps(domain):
            found[:, stop - 1] = ~is_regular
        start = stop
    return found


def coordinates(domain: Domain) -> int:
    """Return how many coordinates a column has.

    Parameters
    ----------
    domain : Domain
        Of the column.

    Returns
    -------
    int
        1 to 33.

    Examples
    --------
    >>> coordinates(Domain(2, 0, False, False, False)), coordinates(Domain(500, 0, True, False, False))
    (1, 33)
    """
    regular = 1 if _is_place(domain) else min(domain.values, MOST_CATEGORIES)
    return regular + _has_gaps(domain)


def _is_place(domain: Domain) -> bool:
    """Return whether the regular codes lie on one axis. A single value has an indicator: it has no length."""
    return domain.values == 2 or (domain.ordered and domain.values > 1)


def _has_gaps(domain: Domain) -> bool:
    """Return whether cells may be missing or special."""
    return domain.missing or domain.specials > 0
