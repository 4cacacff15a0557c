"""The public grid of numbers: two decimal digits of every size, so that any number fits before its bounds are known.

Codes run from the farthest negative number by way of zero to the farthest positive one. Every cell ends at decimals of
two digits, so that bounds made of such ends are short, and exact.
"""

from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError

_STEPS: Final = 90  # cells of one decade: m = 10, ..., 99
_LOWEST, _HIGHEST = -13, 17  # exponents of the step within the nearest and the farthest decade
_SIDE: Final = _STEPS * (_HIGHEST - _LOWEST + 1)

MAGNITUDE_VALUES: Final = 2 * _SIDE + 1
"""Cells of the grid: 31 decades on both sides of zero, 90 cells each, and zero."""

# A float literal is the float nearest to its decimal: the rule of `magnitude_codes` at an edge rests on that.
_REAL_EDGES: Final = np.array(
    [float(f"{m}e{k}") for k in range(_LOWEST, _HIGHEST + 1) for m in range(10, 100)], dtype=np.float64
)
# The least whole number that is not below the edge.
_WHOLE_EDGES: Final = np.array(
    [-(-m * 10 ** max(k, 0) // 10 ** max(-k, 0)) for k in range(_LOWEST, _HIGHEST + 1) for m in range(10, 100)],
    dtype=np.uint64,
)


def magnitude_codes(x: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the cell of every number.

    Parameters
    ----------
    x : ndarray of float64 or int64, shape (n,)
        Finite numbers.

    Returns
    -------
    ndarray of int64, shape (n,)
        Codes in ``0 .. MAGNITUDE_VALUES - 1``; numbers beyond the ends of the grid have the codes of the end cells.

    Notes
    -----
    With ``z = MAGNITUDE_VALUES // 2``: code z is zero, and everything nearer to it than 1e-12. Code
    ``z + 1 + 90 * (k + 13) + (m - 10)`` is ``[m * 10**k, (m + 1) * 10**k)``, for m = 10, ..., 99 and k = -13, ..., 17;
    negative numbers have the code of their mirror image, on the other side of z. Whole numbers are compared exactly. A
    float is taken for the shortest decimal that reads back as it, as programs write it: 0.3 lies in [0.3, 0.31), though
    the binary fraction is a little below. About 7 * 10**6 numbers per second.

    Examples
    --------
    >>> (magnitude_codes(np.array([-1.0, 0.0, 1e-13, 1.0, 1.09, 1.1, 1e300])) - MAGNITUDE_VALUES // 2).tolist()
    [-1081, 0, 0, 1081, 1081, 1082, 2790]
    """
    if x.dtype == np.float64:
        place = np.searchsorted(_REAL_EDGES, np.abs(x), side="right")
    else:
        # The one number that has no absolute value in int64 wraps to itself, and from there to 2**63.
        place = np.searchsorted(_WHOLE_EDGES, np.abs(x.astype(np.int64)).astype(np.uint64), side="right")
    return np.where(x < 0, _SIDE - place, _SIDE + place).astype(np.int64)


def cell_ends(code: int) -> tuple[Fraction, Fraction]:
    """Return the two ends of a cell, as exact decimals, the lower one first.

    Parameters
    ----------
    code : int
        In ``0 .. MAGNITUDE_VALUES - 1``.

    Returns
    -------
    low, high : Fraction
        The end nearer to zero belongs to the cell, the other to its neighbour; of zero's cell none belongs to it. Into
        the end cells come also the numbers beyond them.

    Examples
    --------
    >>> [str(end) for end in cell_ends(MAGNITUDE_VALUES // 2 + 1081)]
    ['1', '11/10']
    >>> [float(end) for end in cell_ends(0)]
    [-1e+19, -9.9e+18]
    """
    if not 0 <= code < MAGNITUDE_VALUES:
        raise ParameterError(
            f"a code of the grid of magnitudes is from 0 to {MAGNITUDE_VALUES - 1}, got {code}", code="LW280"
        )
    place = abs(code - _SIDE) - 1
    if place < 0:
        least = 10 * Fraction(10) ** _LOWEST
        return -least, least
    decade, step = divmod(place, _STEPS)
    unit = Fraction(10) ** (_LOWEST + decade)
    near, far = (10 + step) * unit, (11 + step) * unit
    return (near, far) if code > _SIDE else (-far, -near)


def decade_starts() -> tuple[int, ...]:
    """Return the cuts between the decades of the grid, for `lapwing.schema.groupings.cut`.

    Returns
    -------
    tuple of int
        First codes of all groups but the first, increasing: 31 decades of negative numbers, from far to near, then zero
        alone, then 31 decades of positive numbers.

    Examples
    --------
    >>> cuts = decade_starts()
    >>> len(cuts) + 1, cuts[0], cuts[30:32]
    (63, 90, (2790, 2791))
    """
    return (*range(_STEPS, _SIDE + 1, _STEPS), *range(_SIDE + 1, MAGNITUDE_VALUES, _STEPS))
