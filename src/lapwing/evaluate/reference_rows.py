"""Rows that a synthetic table is read against: the real ones drawn again, and the real ones without dependence."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Codes = Mapping[str, npt.NDArray[np.integer]]


def bootstrap_rows(codes: Codes, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return as many rows, drawn with replacement: how far a table is from itself by chance (the sampling floor).

    Parameters
    ----------
    codes : mapping of str to ndarray, shape (n,)
        At least one row.
    rng : Generator
        Draws the rows.

    Returns
    -------
    dict of str to ndarray, shape (n,)

    Examples
    --------
    >>> bootstrap_rows({"a": np.array([7, 7])}, np.random.default_rng(0))
    {'a': array([7, 7])}
    """
    rows = len(next(iter(codes.values())))
    drawn = rng.integers(rows, size=rows)
    return {name: column[drawn] for name, column in codes.items()}


def independent_columns(codes: Codes, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the rows with each column shuffled by itself: the same columns, and no dependence but by chance.

    Parameters
    ----------
    codes : mapping of str to ndarray, shape (n,)
        The rows.
    rng : Generator
        Shuffles.

    Returns
    -------
    dict of str to ndarray, shape (n,)

    Examples
    --------
    >>> sorted(independent_columns({"a": np.array([3, 1, 2])}, np.random.default_rng(0))["a"].tolist())
    [1, 2, 3]
    """
    return {name: rng.permutation(column) for name, column in codes.items()}
