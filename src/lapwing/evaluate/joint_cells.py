"""Rows of several tables counted in the same cells, and how far the counts are apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import CapacityError
from lapwing.evaluate.checks import Floats
from lapwing.schema.groupings import Grouping

Ints = npt.NDArray[np.int64]

_MOST_CELLS: Final = 2**62
_DENSE: Final = 4  # cells for each row up to which counting is faster than sorting


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Parts:
    """Hold the cells of one column in which the rows of several tables lie, numbered among those that occur.

    Parameters
    ----------
    tables : tuple of ndarray of unsigned integers, shapes (n,), (m,), ...
        For each table the cell of each row.
    size : int
        Cells that occur in any of the tables.
    groups : int
        Cells that there are.
    """

    tables: tuple[npt.NDArray[np.unsignedinteger], ...]
    size: int
    groups: int


def side_by_side(grouping: Grouping, tables: Sequence[npt.NDArray[np.integer]]) -> Parts:
    """Return the cells of the codes of one column in several tables.

    Parameters
    ----------
    grouping : Grouping
        From codes to cells.
    tables : sequence of ndarray of integers, shapes (n,), (m,), ...
        The codes of the column in each table.

    Returns
    -------
    Parts

    Examples
    --------
    >>> from lapwing.schema.domains import Domain
    >>> from lapwing.schema.groupings import identity
    >>> cells = side_by_side(identity(Domain(9, 0, True, True, False)), [np.array([7, 2]), np.array([7])])
    >>> [each.tolist() for each in cells.tables], cells.size
    ([[1, 0], [1]], 2)
    """
    groups = [grouping.apply(codes) for codes in tables]
    is_used = np.zeros(grouping.groups, dtype=np.bool_)
    for each in groups:
        is_used[each] = True
    number = np.cumsum(is_used) - 1
    size = int(number[-1]) + 1
    short = number.astype(np.min_scalar_type(size))
    return Parts(tables=tuple(short[each] for each in groups), size=size, groups=grouping.groups)


def count_distances(parts: Sequence[Parts], rows: Sequence[int]) -> Floats:
    """Return the total variation distance of the first table from each of the others, in the cells of some columns.

    Parameters
    ----------
    parts : sequence of Parts
        The columns, at least one.
    rows : sequence of int
        Of each table, at least 1.

    Returns
    -------
    ndarray of float64, shape (tables - 1,)
        0 to 1. Shares are compared in integers: 0 exactly where all are equal, 1 where no cell is shared.

    Raises
    ------
    CapacityError
        If there are more than 2**62 cells.

    Examples
    --------
    >>> one = Parts(tables=(np.array([0, 0, 1], np.uint8), np.array([1, 1], np.uint8)), size=2, groups=2)
    >>> count_distances([one], [3, 2]).round(4).tolist()
    [0.6667]
    """
    cells = math.prod(part.size for part in parts)
    if cells <= _DENSE * sum(rows):
        own, *others = (np.bincount(_keys(parts, place), minlength=cells) for place in range(len(rows)))
        shared = [
            int(np.minimum(own * size, each * rows[0]).sum()) for each, size in zip(others, rows[1:], strict=True)
        ]
    else:
        found, *rest = (np.unique(_keys(parts, place), return_counts=True) for place in range(len(rows)))
        shared = [_shared(found, each, rows[0], size) for each, size in zip(rest, rows[1:], strict=True)]
    wholes = [rows[0] * size for size in rows[1:]]
    return np.array([(whole - common) / whole for common, whole in zip(shared, wholes, strict=True)])


def step_distance(parts: Sequence[Parts], steps: Floats) -> float:
    """Return the sum over cells of the absolute sum of steps of two tables' rows.

    Parameters
    ----------
    parts : sequence of Parts
        The columns, at least one, of two tables.
    steps : ndarray of float64, shape (n + m,)
        Of the rows of the first table, then of the second.

    Returns
    -------
    float

    Raises
    ------
    CapacityError
        If there are more than 2**62 cells.

    Examples
    --------
    >>> one = Parts(tables=(np.array([0, 1], np.uint8), np.array([1], np.uint8)), size=2, groups=2)
    >>> step_distance([one], np.array([0.75, 0.25, -1.0]))
    1.5
    """
    keys = np.concatenate([_keys(parts, place) for place in (0, 1)])
    if math.prod(part.size for part in parts) <= _DENSE * len(keys):
        return float(np.abs(np.bincount(keys, steps)).sum())
    order = np.argsort(keys)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    return float(np.abs(np.add.reduceat(steps[order], starts)).sum())


def _keys(parts: Sequence[Parts], place: int) -> Ints:
    """Return the cell of each row of one table, one number for all columns."""
    if math.prod(part.groups for part in parts) > _MOST_CELLS:
        raise CapacityError(
            "a table has more than 2**62 cells; compare fewer columns at a time or merge categories", code="LW506"
        )
    keys: Ints = parts[0].tables[place].astype(np.int64)
    for more in parts[1:]:
        keys *= more.size
        keys += more.tables[place]
    return keys


def _shared(own: tuple[Ints, Ints], other: tuple[Ints, Ints], rows: int, other_rows: int) -> int:
    """Return the sum over cells of the smaller of both shares, times the rows of both tables."""
    _, left, right = np.intersect1d(own[0], other[0], assume_unique=True, return_indices=True)
    return int(np.minimum(own[1][left] * other_rows, other[1][right] * rows).sum())
