"""The density of private sampling on a few points of the cube: solved exactly, then rounded to whole weights."""

import math
from fractions import Fraction
from itertools import combinations
from typing import Final

import numpy as np

from lapwing.numerics.exact_program import exact_minimum

UNIT: Final = 2**40
"""Weights are whole numbers of this part of the mass."""

EULER_ABOVE: Final = Fraction(2718281828459046, 10**15)
"""A number above e."""


def set_masks(columns: int, degree: int) -> list[int]:
    """Return the sets of at most ``degree`` columns as whole numbers whose bits are their members, the empty one first.

    Examples
    --------
    >>> set_masks(3, 2)
    [0, 1, 2, 4, 3, 5, 6]
    """
    return [
        sum(1 << column for column in members)
        for size in range(degree + 1)
        for members in combinations(range(columns), size)
    ]


def sign_matrix(points: np.ndarray, columns: int, degree: int) -> np.ndarray:
    """Return the values of the Walsh functions up to a degree.

    Parameters
    ----------
    points : ndarray of int64, shape (m,)
        As in `lapwing.numerics.walsh`.
    columns, degree : int

    Returns
    -------
    ndarray of int64, shape (m, N)
        -1 or 1: one column per set, in the order of `set_masks`.
    """
    common = points[:, np.newaxis] & np.array(set_masks(columns, degree), dtype=np.int64)
    signs: np.ndarray = 1 - 2 * (np.bitwise_count(common) & 1).astype(np.int64)
    return signs


def is_well_conditioned(points: np.ndarray, columns: int, degree: int) -> bool:
    """Tell whether the smallest singular value of the points' Walsh functions is at least ``sqrt(m) / (2 e**d)``.

    Parameters
    ----------
    points : ndarray of int64, shape (m,)
    columns, degree : int

    Notes
    -----
    Decided in rational numbers, by elimination: whether ``M^T M - b I`` is positive semidefinite, b the next multiple
    of ``2**-20`` above ``m / (4 e**(2 d))``. So slightly more is asked for. A property of public points alone.
    """
    signs = sign_matrix(points, columns, degree)
    below = EULER_ABOVE - Fraction(1, 10**15)
    least = Fraction(math.ceil(2**18 * len(points) / below ** (2 * degree)), 2**20)
    gram = [[Fraction(int(entry)) for entry in row] for row in signs.T @ signs]
    for place, row in enumerate(gram):
        row[place] -= least
    while gram:
        corner, rest = gram[0], gram[1:]
        if corner[0] < 0 or (corner[0] == 0 and any(corner)):
            return False
        if corner[0] > 0:
            for row in rest:
                factor = row[0] / corner[0]
                row[:] = [entry - factor * above for entry, above in zip(row, corner, strict=True)]
        gram = [row[1:] for row in rest]
    return True


def nearest_density(
    signs: np.ndarray, sums: np.ndarray, rows: int, floor: Fraction, ceiling: Fraction
) -> list[Fraction]:
    """Return the density of steps 4 and 5 of the published algorithm, times the number of points.

    Parameters
    ----------
    signs : ndarray of int64, shape (m, N)
        From `sign_matrix`, of full column rank; its first column is 1.
    sums : ndarray of int64, shape (N,)
        Sums over the rows of the same Walsh functions; the first one is ``rows``.
    rows : int, at least 1
    floor, ceiling : Fraction
        The paper's δ and Δ: ``0 < 2 δ < 1 < Δ - δ``.

    Returns
    -------
    list of Fraction, m entries
        ``m h*``: from δ to Δ, with sum m. A function of the arguments alone, whatever the order of pivots: the smallest
        λ is one number, and the nearest point of a convex set is one point.

    References
    ----------
    Boedihardjo, Strohmer and Vershynin, "Private sampling" (2109.14839), the algorithm, steps 4 and 5. With
    ``v = m h - 1`` and ``s = 1 - λ`` the smallest λ is the largest s up to 1 for which ``M^T v = s target`` has a
    solution in the narrow box, and h* has the v of least norm in the wide one.
    """
    ones = [int(each) for each in signs.sum(axis=0)]
    target = [Fraction(len(signs) * int(b), rows) - one for b, one in zip(sums, ones, strict=True)]
    share = _largest_share(signs, ones, target, floor, ceiling)

    low = floor - 1
    limits = [share * wanted - low * one for wanted, one in zip(target, ones, strict=True)]
    equations = [[Fraction(int(sign)) for sign in column] for column in signs.T]
    count = len(signs)
    found = exact_minimum(
        [Fraction(1)] * count,
        [low] * count,
        [*_both_ways(equations), *_at_most(count)],
        [*limits, *(-limit for limit in limits), *[floor - ceiling] * count],
    )
    return [1 + low + x for x in found]


def _largest_share(
    signs: np.ndarray, ones: list[int], target: list[Fraction], floor: Fraction, ceiling: Fraction
) -> Fraction:
    """Return 1 - λ for the smallest λ: a linear program."""
    count, low = len(signs), 2 * floor - 1
    limits = [-low * one for one in ones]
    equations = [
        [*(Fraction(int(sign)) for sign in column), -wanted] for column, wanted in zip(signs.T, target, strict=True)
    ]
    sides = [*[3 * floor - ceiling] * count, Fraction(-1)]
    found = exact_minimum(
        [Fraction(0)] * (count + 1),
        [*[Fraction(0)] * count, Fraction(-1)],
        [*_both_ways(equations), *_at_most(count + 1)],
        [*limits, *(-limit for limit in limits), *sides],
    )
    return found[-1]


def _both_ways(equations: list[list[Fraction]]) -> list[list[Fraction]]:
    """Return equations as inequalities."""
    return equations + [[-entry for entry in row] for row in equations]


def _at_most(count: int) -> list[list[Fraction]]:
    """Return the rows that bound each variable from above."""
    return [[Fraction(-(place == other)) for other in range(count)] for place in range(count)]


def whole_weights(density: list[Fraction]) -> np.ndarray:
    """Return a density, times the number of points, as whole numbers of 2**-40 of the mass, rounded down.

    Parameters
    ----------
    density : list of Fraction, m entries
        With sum m.

    Returns
    -------
    ndarray of int64, shape (m,)
        With a sum from ``2**40 - m`` to ``2**40``.
    """
    return np.array([entry * UNIT // len(density) for entry in density], dtype=np.int64)
