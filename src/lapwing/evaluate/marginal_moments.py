"""Marginals of Boolean tables and of mixtures of independent bits: the error that microaggregation is judged by.

The d-marginal of a set of d columns is the share of rows in which all of them are true: the mean of their product. A
table is a mixture of its rows, each with probabilities 0 and 1, so that one function serves both tables and models.
Shares lie between 0 and 1 and have no unit. What is computed from private rows is private: nothing here adds noise.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.evaluate.checks import Floats, shares

_BLOCK: Final = 8192  # rows that are floats at a time: 64 KiB a column


def marginal_moments(
    rows: npt.ArrayLike, *, ways: Sequence[int] = (1, 2, 3), weights: npt.ArrayLike | None = None
) -> tuple[Floats, ...]:
    """Return the d-marginals of all sets of d columns.

    Parameters
    ----------
    rows : array_like of bool, integer or float, shape (n, p)
        Codes 0 and 1 of a table, or for each component of a mixture the probability, 0 to 1, that each column is true;
        at least one row and one column.
    ways : sequence of int, default (1, 2, 3)
        Columns in a set: 1, 2 or 3, and at most p.
    weights : array_like of float, shape (n,), optional
        Of the rows: at least 0, not all 0; scaled to sum 1. Equal when left out.

    Returns
    -------
    tuple of ndarray of float64, shape (binomial(p, d),)
        For each of ``ways`` the share of rows in which all columns of the set are true, sets in lexicographic order.

    Raises
    ------
    ParameterError
        If ``rows`` are no table of numbers from 0 to 1, or a setting is out of range.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Section 1.1: "d-dimensional marginals" of
    Boolean data. A mixture stands for the synthetic rows that would be drawn from it without end.

    Notes
    -----
    Time ``O(n p**d)`` by matrix products, 0.4 CPU s for d = 3, 8,000 rows and 112 columns; memory 8 MB for each 128
    columns, and 8 bytes a set. Without weights a table's counts are whole numbers and exact.

    Examples
    --------
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

    Parameters
    ----------
    rows, others : array_like of bool, integer or float, shapes (n, p) and (m, p)
        Tables of codes 0 and 1, or probabilities of the components of a mixture, as for `marginal_moments`.
    ways : sequence of int, default (1, 2, 3)
        Columns in a set: 1, 2 or 3, and at most p.
    weights, other_weights : array_like of float, shapes (n,) and (m,), optional
        Of the rows and of the others: at least 0, not all 0; each scaled to sum 1. Equal when left out.

    Returns
    -------
    tuple of float
        One for each of ``ways``, 0 to 1; 0 exactly for the same table without weights, in any order of its rows.

    Raises
    ------
    ParameterError
        If the tables have different columns, or as `marginal_moments` does.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", formula (1.2), whose root is this: the
    average over sets of d columns of the squared error. Formula (1.2) takes the expectation over the mechanism; this is
    the error of one release.

    Examples
    --------
    >>> marginal_errors([[1, 1], [0, 0]], [[0.5, 0.5]])
    Traceback (most recent call last):
        ...
    lapwing.errors.ParameterError: ways must be 1, 2 or 3 and at most the 2 columns, got 3
    `lapwing explain LW302` says why, and what to do
    >>> marginal_errors([[1, 1], [0, 0]], [[0.5, 0.5]], ways=(1, 2))
    (0.0, 0.25)
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
