"""Where noisy counts along a line begin and end: the outermost places at which noise alone does not explain them."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from lapwing.numerics.noise_tails import sum_tail
from lapwing.release.noise_law import NoiseLaw

GAMMA: Final = Fraction(1, 20)
"""Failure probability of every statement about what was learned: of all places of one field together."""

WHOLE: Final = -(2**62)
"""Fewer rows than any noisy sum: nothing is left out."""

Levels = tuple[tuple[int, int], ...]


@lru_cache(maxsize=4096)
def one_sided_tail(law: NoiseLaw, terms: int, failure: Fraction) -> int:
    """Return a k that the sum of so many noise values passes with at most this probability, never too small.

    Parameters
    ----------
    law : NoiseLaw
    terms : int
        Independent noise values, at least 0.
    failure : Fraction
        Above 0, below 1/2.

    Examples
    --------
    >>> one_sided_tail(NoiseLaw("laplace", Fraction(1)), 1, Fraction(1, 40))
    3
    """
    # The law is symmetric: of both tails, half is on this side.
    return 0 if terms == 0 else sum_tail(law.kind, law.parameter, terms, 2 * failure)


def noise_levels(law: NoiseLaw, cells: int, failure: Fraction = GAMMA, widest: int = 2**30) -> Levels:
    """Return what sums of neighbouring empty cells do not pass, anywhere on a line, for widths that double.

    Parameters
    ----------
    law : NoiseLaw
        Of each cell, independent.
    cells : int
        On the line, at least 1.
    failure : Fraction, default 1/20
        That any sum of any such width passes its level on a line of empty cells.
    widest : int, default 2**30
        No sums of more cells.

    Returns
    -------
    tuple of (int, int)
        Widths 1, 2, 4, ... up to `cells` and `widest`, each with its level.

    Examples
    --------
    >>> noise_levels(NoiseLaw("laplace", Fraction(1)), 4)
    ((1, 4), (2, 6), (4, 7))
    """
    widths = [1 << power for power in range(min(cells, widest).bit_length())]
    places = sum(cells - width + 1 for width in widths)
    return tuple((width, one_sided_tail(law, width, failure / places)) for width in widths)


def upper_run(counts: np.ndarray, levels: Levels, allowed: int) -> tuple[int, int] | None:
    """Find the outermost run of cells, from the end of a line, that noise alone does not explain.

    Parameters
    ----------
    counts : ndarray of int64, shape (k,)
        Noisy.
    levels : tuple of (int, int)
        Widths of runs, increasing, and what a run of this width has to pass.
    allowed : int
        Cells at the end of the run, and before it, are left out while their counts sum to no more: at least 0, or
        `WHOLE` for none.

    Returns
    -------
    (int, int) or None
        First cell of the run and the one after its last; None where no run passes its level.

    Notes
    -----
    Among the runs that pass, the one that starts last, and the shortest of these: with one large cell at the end that
    cell alone, and where the rows thin out over many cells a run that reaches as far as they are noticed.

    Examples
    --------
    >>> upper_run(np.array([0, 90, 80, 3, 1, 0]), ((1, 10),), 0)
    (2, 3)
    >>> upper_run(np.array([0, 90, 80, 3, 1, 0]), ((1, 10),), 100)
    (1, 2)
    """
    sums = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    found = None
    for width, level in levels:
        passing = np.flatnonzero(sums[width:] - sums[:-width] > level)
        if passing.size and (found is None or passing[-1] > found[0]):
            found = int(passing[-1]), int(passing[-1]) + width
    if found is None:
        return None
    first, stop = found
    end = int(sums[stop])
    while stop > 1 and end - int(sums[stop - 1]) <= allowed:
        stop -= 1
    return min(first, stop - 1), stop


def lower_run(counts: np.ndarray, levels: Levels, allowed: int) -> tuple[int, int] | None:
    """Do the same from the beginning of the line; as `upper_run`.

    Examples
    --------
    >>> lower_run(np.array([0, 90, 80, 3, 1, 0]), ((1, 10),), 0)
    (1, 2)
    """
    found = upper_run(counts[::-1], levels, allowed)
    return None if found is None else (counts.size - found[1], counts.size - found[0])


def most_rows(law: NoiseLaw, counts: Sequence[int] | np.ndarray, failure: Fraction) -> int:
    """Return what rows of cells, as many as are counted here together, are at most, but for a failure.

    Examples
    --------
    >>> most_rows(NoiseLaw("laplace", Fraction(1)), [2], Fraction(1, 40))
    5
    """
    return max(0, int(np.sum(counts, dtype=np.int64)) + one_sided_tail(law, len(counts), failure))
