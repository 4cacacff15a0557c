"""Some rows of a coded table, for metrics that cannot afford all."""

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

Codes = Mapping[str, npt.NDArray[np.integer]]


def some_rows(codes: Codes, columns: Iterable[str], most: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return at most so many rows of some columns: all in their order, or a sample without replacement in random order.

    Parameters
    ----------
    codes : mapping of str to ndarray, shape (n,)
        The columns, at least one.
    columns : iterable of str
        Those that are wanted.
    most : int
        Rows, at least 1.
    rng : Generator
        Draws the rows where there are more.

    Returns
    -------
    dict of str to ndarray, shape (min(n, most),)

    Notes
    -----
    Any run of a sample's rows is a sample too, which is what blocks for standard errors need.

    Examples
    --------
    >>> some_rows({"a": np.array([5, 6, 7]), "b": np.zeros(3)}, ["a"], 3, np.random.default_rng(0))
    {'a': array([5, 6, 7])}
    """
    rows = height(codes)
    if rows <= most:
        return {name: codes[name] for name in columns}
    drawn = rng.choice(rows, most, replace=False)
    return {name: codes[name][drawn] for name in columns}


def height(codes: Codes) -> int:
    """Return the number of rows of a table with at least one column."""
    return len(next(iter(codes.values())))
