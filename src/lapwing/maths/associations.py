"""How strongly two columns depend on each other, from the counts of their table."""

from typing import Final

import numpy as np

from lapwing.maths.arrays import Floats


def strength(counts: Floats) -> Floats:
    """Return the information correlation of two columns from their table, shape (..., a, b) -> (...).

    ``sqrt((1 - exp(-2 I)) / (1 - exp(-2 H)))`` with I the mutual information and H the smaller entropy: 0 to 1; nan
    where one of the columns has one cell only. The numerator is Linfoot's, "An informational measure of correlation"
    (1957): the size of the correlation of two normal columns. Ours: the denominator, the largest value for these two
    columns, so that a column told by the other has 1; and an I that one in a thousand tables of independent columns
    passes (the likelihood ratio test) counts as 0. I is corrected for the number of cells that occur (Miller 1955) and
    put back into 0 to H.

    >>> strength(np.array([[[30.0, 0.0], [0.0, 10.0]], [[9.0, 3.0], [3.0, 1.0]]])).round(3).tolist()
    [1.0, 0.0]
    """
    from scipy.special import chdtri  # noqa: PLC0415

    total = counts.sum(axis=(-2, -1))
    sides = counts.sum(axis=-1), counts.sum(axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        left, right, both = (_entropy(each, total) for each in (*sides, counts.reshape(*counts.shape[:-2], -1)))
        used = [np.count_nonzero(each, axis=-1) for each in sides]
        bias = (np.count_nonzero(counts, axis=(-2, -1)) - used[0] - used[1] + 1) / (2 * total)
        smaller = np.minimum(left, right)
        shown = left + right - both
        # A column that is constant but for a row has next to no entropy: divided by it, chance would look strong.
        chance = chdtri((used[0] - 1) * (used[1] - 1), _CHANCE) / (2 * total)
        information = np.where(shown > chance, np.clip(shown - bias, 0, smaller), 0.0)
        most = np.where(np.minimum(*used) > 1, -np.expm1(-2 * smaller), np.nan)
        return np.asarray(np.sqrt(-np.expm1(-2 * information) / most))


def _entropy(counts: Floats, total: Floats) -> Floats:
    """Return the entropy of each table, in nats."""
    logs = np.log(np.where(counts > 0, counts, 1))
    return np.asarray(np.log(total) - (counts * logs).sum(axis=-1) / total)


_CHANCE: Final = 0.001  # of tables of independent columns seem dependent
