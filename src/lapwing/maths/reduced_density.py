"""The density of private sampling on a few points of the cube: solved exactly, then rounded to whole weights."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final

import numpy as np

from lapwing.errors import ParameterError

# -- Small convex quadratic programs, solved exactly in rational numbers.


Vector = Sequence[Fraction]
Matrix = Sequence[Vector]


def exact_minimum(hessian: Vector, gradient: Vector, rows: Matrix, limits: Vector) -> list[Fraction]:
    """Minimise ``sum_i (hessian_i x_i**2 / 2 + gradient_i x_i)`` over ``x >= 0`` with ``rows x >= limits``.

    hessian: at least 0: the diagonal of the quadratic form; all 0 for a linear program; limits: an equation is two
    rows, one with opposite signs. Some ``x >= 0`` must meet all limits, and the minimum must exist. Returns a
    minimiser, exactly; the only one where the hessian is above 0.

    Deterministic. Time: a pivot takes ``O((k + q)**2)`` operations on whole numbers of some hundred digits; rarely more
    than ``4 (k + q)`` pivots are needed.

    Lemke, "Bimatrix equilibrium points and mathematical programming" (1965); Cottle, Pang and Stone, "The Linear
    Complementarity Problem", Section 4.4 (ends by the lexicographic rule; positive semidefinite: with a solution where
    there is one). Changed: pivots without fractions (Edmonds 1967), so that all numbers are whole.

    >>> one, half = Fraction(1), Fraction(1, 2)
    >>> exact_minimum([one, one], [-one, -one], [[-one, -one]], [-one])
    [Fraction(1, 2), Fraction(1, 2)]
    """
    tableau = _tableau(hessian, gradient, rows, limits)
    size = len(tableau)
    basis = list(range(size))  # variables: w 0..size-1, z size..2 size-1, and the artificial one, 2 size
    artificial, last = 2 * size, 2 * size + 1
    pivot = 1
    if min(tableau[:, last]) < 0:
        entering, leaving = artificial, _first(tableau, -tableau[:, artificial], range(size))
        while True:
            tableau, pivot = _pivoted(tableau, leaving, entering, pivot)
            basis[leaving], gone = entering, basis[leaving]
            if gone == artificial:
                break
            entering = gone + size if gone < size else gone - size
            rising = [row for row in range(size) if tableau[row, entering] > 0]
            assert rising, "a program that has a minimum has no ray"
            leaving = _leaving(tableau, entering, rising, basis, artificial)
    found = {variable: Fraction(int(tableau[row, last]), pivot) for row, variable in enumerate(basis)}
    return [found.get(size + place, Fraction(0)) for place in range(len(gradient))]


def _tableau(hessian: Vector, gradient: Vector, rows: Matrix, limits: Vector) -> np.ndarray:
    """Return ``w - M z - e z0 = q`` as whole numbers: each equation is multiplied by its common denominator."""
    count, size = len(gradient), len(gradient) + len(limits)
    found = np.zeros((size, 2 * size + 2), dtype=object)
    for place in range(size):
        if place < count:
            right = [Fraction(0)] * count + [-row[place] for row in rows]
            right[place] = hessian[place]
            constant = gradient[place]
        else:
            right = [*rows[place - count], *[Fraction(0)] * len(limits)]
            constant = -limits[place - count]
        scale = math.lcm(*(each.denominator for each in (*right, constant)))
        found[place, place] = 1
        found[place, size : 2 * size] = [-int(each * scale) for each in right]
        found[place, 2 * size] = -1
        found[place, 2 * size + 1] = int(constant * scale)
    return found


def _pivoted(tableau: np.ndarray, row: int, column: int, before: int) -> tuple[np.ndarray, int]:
    """Pivot without fractions: all entries stay whole and share the denominator that is returned, above 0."""
    pivot = tableau[row, column]
    moved = (tableau * pivot - np.multiply.outer(tableau[:, column], tableau[row])) // before
    moved[row] = tableau[row]
    return (moved, pivot) if pivot > 0 else (-moved, -pivot)


def _leaving(tableau: np.ndarray, entering: int, rising: list[int], basis: list[int], artificial: int) -> int:
    """Return the row that limits the entering variable first; the artificial variable where it is among them."""
    last = tableau.shape[1] - 1
    steps = [Fraction(int(tableau[row, last]), int(tableau[row, entering])) for row in rising]
    tied = [row for row, step in zip(rising, steps, strict=True) if step == min(steps)]
    leaving = [row for row in tied if basis[row] == artificial]
    return leaving[0] if leaving else _first(tableau, tableau[:, entering], tied)


def _first(tableau: np.ndarray, divisors: np.ndarray, candidates: Sequence[int]) -> int:
    """Return the row that is the least in the lexicographic order of its constants and inverse, by its divisor."""
    last = tableau.shape[1] - 1
    tied = list(candidates)
    for column in (last, *range(len(tableau))):
        ratios = [Fraction(int(tableau[row, column]), int(divisors[row])) for row in tied]
        tied = [row for row, ratio in zip(tied, ratios, strict=True) if ratio == min(ratios)]
        if len(tied) == 1:
            break
    return tied[0]


UNIT: Final = 2**40  # weights are whole numbers of this part of the mass
EULER_ABOVE: Final = Fraction(2718281828459046, 10**15)  # A number above e


def set_masks(columns: int, degree: int) -> list[int]:
    """Return the sets of at most ``degree`` columns as whole numbers whose bits are their members, the empty one first.

    >>> set_masks(3, 2)
    [0, 1, 2, 4, 3, 5, 6]
    """
    return [
        sum(1 << column for column in members)
        for size in range(degree + 1)
        for members in combinations(range(columns), size)
    ]


def sign_matrix(points: np.ndarray, columns: int, degree: int) -> np.ndarray:
    """Return the values of the Walsh functions up to a degree."""
    common = points[:, np.newaxis] & np.array(set_masks(columns, degree), dtype=np.int64)
    signs: np.ndarray = 1 - 2 * (np.bitwise_count(common) & 1).astype(np.int64)
    return signs


def is_well_conditioned(points: np.ndarray, columns: int, degree: int) -> bool:
    """Tell whether the smallest singular value of the points' Walsh functions is at least ``sqrt(m) / (2 e**d)``.

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

    signs: int64 (m, N), from `sign_matrix`, of full column rank; its first column is 1; sums: int64 (N,), sums over the
    rows of the same Walsh functions; the first one is ``rows``; floor, ceiling: the paper's δ and Δ: ``0 < 2 δ < 1 < Δ
    - δ``. Returns ``m h*``: from δ to Δ, with sum m. A function of the arguments alone, whatever the order of pivots:
    the smallest λ is one number, and the nearest point of a convex set is one point.

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
    """Return a density, times the number of points, as whole numbers of 2**-40 of the mass, rounded down."""
    return np.array([entry * UNIT // len(density) for entry in density], dtype=np.int64)


# -- Walsh functions of the cube: ``w_J(x) = prod of x_j over j in J`` for x in {-1, 1}^p, in whole numbers.


MOST_COLUMNS = 20  # cubes of at most so many columns are looked at point by point


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
