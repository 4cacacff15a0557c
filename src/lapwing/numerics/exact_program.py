"""Small convex quadratic programs, solved exactly in rational numbers.

Lemke's method on the conditions of Karush, Kuhn and Tucker, with whole numbers of any size and the lexicographic rule:
it always ends, whatever the data, and the answer is the solution itself and no approximation of it.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

Vector = Sequence[Fraction]
Matrix = Sequence[Vector]


def exact_minimum(hessian: Vector, gradient: Vector, rows: Matrix, limits: Vector) -> list[Fraction]:
    """Minimise ``sum_i (hessian_i x_i**2 / 2 + gradient_i x_i)`` over ``x >= 0`` with ``rows x >= limits``.

    Parameters
    ----------
    hessian : sequence of Fraction, k entries
        At least 0: the diagonal of the quadratic form; all 0 for a linear program.
    gradient : sequence of Fraction, k entries
    rows : sequence of sequences of Fraction, q of k entries
    limits : sequence of Fraction, q entries
        An equation is two rows, one with opposite signs. Some ``x >= 0`` must meet all limits, and the minimum must
        exist.

    Returns
    -------
    list of Fraction, k entries
        A minimiser, exactly; the only one where the hessian is above 0.

    Notes
    -----
    Deterministic. Time: a pivot takes ``O((k + q)**2)`` operations on whole numbers of some hundred digits; rarely more
    than ``4 (k + q)`` pivots are needed.

    References
    ----------
    Lemke, "Bimatrix equilibrium points and mathematical programming" (1965); Cottle, Pang and Stone, "The Linear
    Complementarity Problem", Section 4.4 (ends by the lexicographic rule; positive semidefinite: with a solution where
    there is one). Changed: pivots without fractions (Edmonds 1967), so that all numbers are whole.

    Examples
    --------
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
