"""Marginals of Boolean tables and of mixtures of independent bits: the error that microaggregation is judged by.

The d-marginal of a set of d columns is the share of rows in which all of them are true: the mean of their product. A
table is a mixture of its rows, each with probabilities 0 and 1, so that one function serves both tables and models.
Shares lie between 0 and 1 and have no unit. What is computed from private rows is private: nothing here adds noise.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.judge.metrics import Floats, shares
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import evenly

# -- Rows of coded tables as vectors with coordinates in [0, 1], where papers on Boolean tables and unit balls start.


Codes = Mapping[str, npt.NDArray[np.integer]]

MOST_CATEGORIES: Final = 32
"""Coordinates of an unordered column: where it has more codes, neighbouring ones share a coordinate."""


def coded_rows(codes: Codes, columns: Sequence[Field]) -> Floats:
    """Return the rows of a table as vectors.

    codes: mapping of str to integers (n,), codes of the columns. Returns float64 (n, p), numbers from 0 to 1. The
    vector of a row has at most the Euclidean length ``sqrt(columns)``.

    A Boolean is 0 or 1, as in the papers, and so is any column with two values. An ordered column is its place from 0
    for the first value to 1 for the last; a real one lies at its cell of 2^32. An unordered column has a coordinate for
    each category, 1 where the cell has it; with more than 32 categories the 32 coordinates stand for runs of nearly as
    many codes each. Where cells may be missing or special, one more coordinate is 1 for such a cell and the others of
    its column are 0. A misfit counts as missing; where cells must not be missing, all its coordinates are 0.

    So each column adds at most 1 to the squared length: divided by ``sqrt(columns)``, rows lie in the unit ball that
    theorems ask for, as Boolean rows of the paper do. Memory ``8 n p`` bytes.

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


_BLOCK: Final = 8192  # rows that are floats at a time: 64 KiB a column


def marginal_moments(
    rows: npt.ArrayLike, *, ways: Sequence[int] = (1, 2, 3), weights: npt.ArrayLike | None = None
) -> tuple[Floats, ...]:
    """Return the d-marginals of all sets of d columns.

    rows: codes 0 and 1 of a table, or for each component of a mixture the probability, 0 to 1, that each column is
    true; at least one row and one column; ways: columns in a set: 1, 2 or 3, and at most p; weights: of the rows: at
    least 0, not all 0; scaled to sum 1. Equal when left out. Returns tuple of float64 (binomial(p, d), for each of
    ``ways`` the share of rows in which all columns of the set are true, sets in lexicographic order.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Section 1.1: "d-dimensional marginals" of
    Boolean data. A mixture stands for the synthetic rows that would be drawn from it without end.

    Time ``O(n p**d)`` by matrix products, 0.4 CPU s for d = 3, 8,000 rows and 112 columns; memory 8 MB for each 128
    columns, and 8 bytes a set. Without weights a table's counts are whole numbers and exact.

    >>> one, two = marginal_moments([[1, 1, 0], [1, 0, 1]], ways=(1, 2))
    >>> one.tolist(), two.tolist()
    ([1.0, 0.5, 0.5], [0.5, 0.5, 0.0])
    """
    table = _checked_rows("rows", rows)
    _check_ways(ways, table.shape[1])
    masses = None if weights is None else shares("weights", weights, len(table))
    totals = [np.zeros(math.comb(table.shape[1], way)) for way in ways]
    for start in range(0, len(table), _BLOCK):
        block = table[start : start + _BLOCK].astype(np.float64)
        weighted = block if masses is None else block * masses[start : start + _BLOCK, None]
        totals = [total + _sums_of_products(weighted, block, way) for total, way in zip(totals, ways, strict=True)]
    return tuple(total / len(table) if masses is None else total for total in totals)


def marginal_errors(
    rows: npt.ArrayLike,
    others: npt.ArrayLike,
    *,
    ways: Sequence[int] = (1, 2, 3),
    weights: npt.ArrayLike | None = None,
    other_weights: npt.ArrayLike | None = None,
) -> tuple[float, ...]:
    """Return the root-mean-square difference of all d-marginals of two tables or models.

    rows, others: tables of codes 0 and 1, or probabilities of the components of a mixture, as for `marginal_moments`;
    ways: columns in a set: 1, 2 or 3, and at most p; weights, other_weights: of the rows and of the others: at least 0,
    not all 0; each scaled to sum 1. Equal when left out. Returns one for each of ``ways``, 0 to 1; 0 exactly for the
    same table without weights, in any order of its rows.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", formula (1.2), whose root is this: the
    average over sets of d columns of the squared error. Formula (1.2) takes the expectation over the mechanism; this is
    the error of one release.
    """
    left, right = _checked_rows("rows", rows), _checked_rows("others", others)
    if left.shape[1] != right.shape[1]:
        raise ParameterError(
            f"both tables need the same columns, got {left.shape[1]} and {right.shape[1]} columns", code="LW801"
        )
    of_left = marginal_moments(left, ways=ways, weights=weights)
    of_right = marginal_moments(right, ways=ways, weights=other_weights)
    return tuple(math.sqrt(((a - b) ** 2).mean()) for a, b in zip(of_left, of_right, strict=True))


def _sums_of_products(weighted: Floats, block: Floats, way: int) -> Floats:
    """Return for every set of columns the sum over rows of their product; one of the factors is weighted."""
    columns = block.shape[1]
    if way == 1:
        return np.asarray(weighted.sum(axis=0))
    if way == 2:
        return (weighted.T @ block)[np.triu_indices(columns, 1)]
    parts = []
    for first in range(columns - 2):
        rest = block[:, first + 1 :]
        parts.append(((weighted[:, [first]] * rest).T @ rest)[np.triu_indices(rest.shape[1], 1)])
    return np.concatenate(parts)


def _checked_rows(name: str, values: npt.ArrayLike) -> np.ndarray:
    """Return numbers from 0 to 1 with two axes, as they came, or refuse them without quoting one."""
    array = np.asarray(values)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "biuf":
        raise ParameterError(
            f"{name} must be a non-empty array of numbers with 2 axes, got {array.dtype} with {array.ndim} axes",
            code="LW802",
        )
    if not (array.min() >= 0 and array.max() <= 1):  # of a NaN, neither is true
        raise ParameterError(
            f"{name} must be codes 0 and 1 or probabilities; code missing values or leave them out", code="LW802"
        )
    return array


def _check_ways(ways: Sequence[int], columns: int) -> None:
    """Refuse sets of columns that are not counted."""
    for way in ways:
        if isinstance(way, bool) or way not in (1, 2, 3) or way > columns:
            raise ParameterError(
                f"ways must be 1, 2 or 3 and at most the {columns} columns, got {way!r:.80}", code="LW302"
            )
