"""Gibbs sweeps of rows some of whose columns are given: the others follow the log-linear part given them."""

from collections.abc import Mapping

import numpy as np

from lapwing.engine.particles import swept
from lapwing.sample.draws import Histogram, draw_indexed
from lapwing.sample.log_linear import GroupedPart


def swept_given(
    part: GroupedPart,
    codes: Mapping[str, np.ndarray],
    given: frozenset[str],
    sweeps: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Return rows whose columns that are not given have been moved.

    Parameters
    ----------
    part : GroupedPart
        What they move under.
    codes : mapping of str to ndarray of integers, shape (n,)
        Where rows start, all columns.
    given : frozenset of str
        Columns that stay. A given code that the base law never has says nothing of the other columns: there the column
        is drawn with them, and the code stays all the same.
    sweeps : ndarray of integers, shape (n,)
        How many times each row is moved; 0 leaves it as it is.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    dict of str to ndarray of integers, shape (n,)
    """
    names = tuple(part.columns)
    moved = np.flatnonzero(sweeps)
    groups = np.stack([part.columns[name].groups_of(codes[name][moved].astype(np.int64)) for name in names])
    is_held = (groups >= 0) & np.array([[name in given] for name in names])
    _, kind = np.unique(np.vstack((is_held, sweeps[moved])), axis=1, return_inverse=True)
    groups = _started(part, groups, rng)
    for each in range(int(kind.max(initial=-1)) + 1):
        rows = np.flatnonzero(kind.reshape(-1) == each)
        fixed = sorted({*np.flatnonzero(is_held[:, rows[0]]).tolist(), *part.fixed})
        for _ in range(int(sweeps[moved[rows[0]]])):
            groups[:, rows] = swept(part.axes, groups[:, rows], part.factors, rng, fixed=fixed)
    found = dict(codes)
    for row, name in zip(groups, names, strict=True):
        if name not in given:
            found[name] = codes[name].copy()
            found[name][moved] = draw_indexed(Histogram.of(part.columns[name].within), row, rng)
    return found


def _started(part: GroupedPart, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return groups to start at: where the base law has no mass, any group that it has."""
    axes = part.axes
    for row, axis in zip(groups, axes, strict=True):
        nowhere = np.flatnonzero(row < 0)
        row[nowhere] = rng.choice(axis.base.size, nowhere.size, p=axis.base / axis.base.sum())
    return groups.astype(np.uint8 if max(axis.base.size for axis in axes) <= 2**8 else np.uint16)
