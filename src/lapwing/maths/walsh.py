"""Walsh functions of the cube: ``w_J(x) = prod of x_j over j in J`` for x in {-1, 1}^p, in whole numbers.

A point of the cube is a whole number whose bit j is 0 where ``x_j = 1`` and 1 where ``x_j = -1``, and a set J one whose
bits are its members; then ``w_J(x)`` is -1 to the number of common bits.
"""

import math

import numpy as np

from lapwing.errors import ParameterError

MOST_COLUMNS = 20
"""Cubes of at most so many columns are looked at point by point."""


def walsh_transform(values: np.ndarray) -> np.ndarray:
    """Return the sums of values times each Walsh function.

    values: int64 (2**p,), one number per point; any p from 0 on. Sums of all absolute values stay below 2**63. Returns
    int64 (2**p,), ``sum over x of values[x] w_J(x)`` at J, exactly. Twice transformed are the values times ``2**p``.

    Time ``O(p 2**p)``: 0.2 s for p = 20.

    >>> walsh_transform(np.array([3, 1, 0, 0]))
    array([4, 2, 4, 2])
    """
    size = values.size
    if values.ndim != 1 or size == 0 or size & (size - 1):
        raise ParameterError(
            f"a Walsh transform needs 2**p values, got {size}; give one per point of the cube", code="LW390"
        )
    sums = values.astype(np.int64)
    half = 1
    while half < size:
        pairs = sums.reshape(-1, 2, half)
        sums = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).reshape(-1)
        half *= 2
    return sums


def degrees(columns: int) -> np.ndarray:
    """Return the number of members of each set of columns.

    Returns int64 (2**columns,).

    >>> degrees(3).tolist()
    [0, 1, 1, 2, 1, 2, 2, 3]
    """
    found = np.zeros(1, dtype=np.int64)
    for _ in range(columns):
        found = np.concatenate((found, found + 1))
    return found


def low_degree_sums(counts: np.ndarray, rows: int, degree: int) -> np.ndarray:
    """Return the sums over rows of the Walsh functions up to a degree.

    counts: int64 (2**p,), rows at each point; rows: what the sum of the empty set is: all rows, also those that lie at
    no point and count as spread over all. Returns int64 (2**p,), ``B_J`` for sets of at most ``degree`` members, 0 for
    the others.
    """
    sums = walsh_transform(counts)
    sums[0] = rows
    sums[degrees(counts.size.bit_length() - 1) > degree] = 0
    return sums


def low_sets(columns: int, degree: int) -> int:
    """Return N, the number of sets of at most ``degree`` of the columns, the empty one among them.

    >>> low_sets(16, 2)
    137
    """
    return sum(math.comb(columns, size) for size in range(degree + 1))


def largest_odd_family(columns: int, degree: int) -> int:
    """Return the most Walsh functions of degree 1 to ``degree`` that two points of the cube can see differently.

    Returns ``O = max over s <= p of #{J : 1 <= |J| <= d, |J and [s]| odd}``: two points that differ in s columns
    disagree on the sets with an odd number of members among them.

    >>> largest_odd_family(10, 1), largest_odd_family(16, 2)
    (10, 72)
    """
    return max(_odd_sets(columns, degree, differing) for differing in range(columns + 1))


def _odd_sets(columns: int, degree: int, differing: int) -> int:
    """Return how many sets have an odd number of members among the columns in which two points differ."""
    return sum(
        math.comb(differing, odd) * math.comb(columns - differing, size - odd)
        for size in range(1, degree + 1)
        for odd in range(1, size + 1, 2)
    )
