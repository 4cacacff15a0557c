"""Functional dependencies without a public map: which value goes with each determinant, fixed once per release.

The map follows from a model's atoms, so that all rows that are ever drawn from the model keep it, in one sample or in
several together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

_MOST_ROUNDS = 500
"""Each round settles the heaviest offer at least, and many others beside it."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownTuples:
    """Number the distinct tuples of some columns.

    Parameters
    ----------
    levels : tuple of (ndarray, ndarray)
        Per column its distinct codes, increasing, and the distinct keys (tuple of the columns before, code) that occur.
    """

    levels: tuple[tuple[np.ndarray, np.ndarray], ...]

    @classmethod
    def of(cls, columns: Sequence[np.ndarray]) -> "KnownTuples":
        """Give a number to each tuple of equally long columns of codes, at least one."""
        levels = []
        number = np.zeros(columns[0].size, dtype=np.int64)
        for codes in columns:
            distinct, place = np.unique(codes, return_inverse=True)
            keys, number = np.unique(number * distinct.size + place.reshape(-1), return_inverse=True)
            levels.append((distinct, keys))
        return cls(tuple(levels))

    @property
    def count(self) -> int:
        """Number of tuples."""
        return int(self.levels[-1][1].size)

    def find(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Return the number of each row's tuple, -1 where it is not known: ndarray of int64, shape (n,)."""
        number = np.zeros(columns[0].size, dtype=np.int64)
        is_known = np.ones(number.size, dtype=bool)
        for codes, (distinct, keys) in zip(columns, self.levels, strict=True):
            place = np.minimum(np.searchsorted(distinct, codes), distinct.size - 1)
            key = number * distinct.size + place
            number = np.minimum(np.searchsorted(keys, key), keys.size - 1)
            is_known &= (distinct[place] == codes) & (keys[number] == key)
        return np.where(is_known, number, -1)


@dataclass(frozen=True, slots=True, eq=False)
class FixedMap:
    """What some columns determine, tuple by tuple.

    Parameters
    ----------
    of : tuple of str
        The columns that determine.
    column : str
        The column that they determine.
    known : KnownTuples
        The tuples of codes of ``of`` that have a value.
    values : ndarray of int64, shape (known.count,)
        Their codes of ``column``.
    """

    of: tuple[str, ...]
    column: str
    known: KnownTuples
    values: np.ndarray

    def value(self, codes: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the code that each row's determinants go with, -1 where they are not known."""
        number = self.known.find([codes[name] for name in self.of])
        return np.asarray(np.where(number >= 0, self.values[number], -1))

    def broken(self, codes: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return whether each row has another value: ndarray of bool, shape (n,)."""
        return np.asarray(self.value(codes) != codes[self.column])


def fixed_map(
    of: tuple[str, ...],
    column: str,
    codes: Mapping[str, np.ndarray],
    weights: np.ndarray,
    *,
    one_to_one: bool,
    is_ordered: bool = False,
) -> FixedMap:
    """Choose the value that goes with each determinant.

    Parameters
    ----------
    of, column
        The dependency.
    codes : mapping of str to ndarray of integers, shape (k,)
        Of weighted rows.
    weights : ndarray of float64, shape (k,)
        Non-negative.
    one_to_one : bool
        Whether the columns determine each other, so that no two determinants may share a value.
    is_ordered : bool, default False
        Whether the codes of ``column`` have an order.

    Returns
    -------
    FixedMap
        A determinant that has one value with more than half of its weight takes it. The others, which the model says
        little about, take in the order of their weights the commonest of their values that still has weight of its own
        left, so that the column keeps its one-way law as far as can be; ties go to the smaller code. Where none has
        (each value is much rarer than the determinant, as on a fine column), it takes the median of its values if they
        are ordered, which lies among those that most of its rows are near to, and else the commonest.

    Notes
    -----
    Only ratios of weights matter, and rows without weight do not count unless a determinant has no other.
    """
    known = KnownTuples.of([codes[name] for name in of])
    owner = known.find([codes[name] for name in of])
    distinct, place = np.unique(codes[column], return_inverse=True)
    pairs, which = np.unique(owner * distinct.size + place.reshape(-1), return_inverse=True)
    mass = np.bincount(which.reshape(-1), weights, minlength=pairs.size)
    row, value = np.divmod(pairs, distinct.size)
    last_resort = _medians(row, mass, value) if is_ordered and not one_to_one else None
    chosen = _chosen(row, value, mass, is_unique=one_to_one, last_resort=last_resort)
    return FixedMap(of, column, known, distinct[chosen])


def _medians(row: np.ndarray, mass: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return the median value of each row of a sparse table of masses, which is sorted by row and value."""
    ends = np.append(np.flatnonzero(np.diff(row)), row.size - 1)
    reached = np.cumsum(mass)
    before = np.concatenate(([0.0], reached[ends[:-1]]))
    place = np.searchsorted(reached, (before + reached[ends]) / 2)
    return np.asarray(value[np.minimum(place, ends)])


def _chosen(
    row: np.ndarray, value: np.ndarray, mass: np.ndarray, *, is_unique: bool, last_resort: np.ndarray | None
) -> np.ndarray:
    """Return the value of each row of a sparse table of masses; without a last resort it is the commonest."""
    rows, values = int(row.max()) + 1, int(value.max()) + 1
    own = np.bincount(row, mass, minlength=rows)
    room = np.bincount(value, mass, minlength=values)
    # The commonest value first within each row, the smallest code among equals.
    order = np.lexsort((value, -mass, row))
    row, value, mass = row[order], value[order], mass[order]
    commonest = value[np.searchsorted(row, np.arange(rows))]
    chosen = np.full(rows, -1, dtype=np.int64)
    if not is_unique:
        is_sure = mass > own[row] / 2
        chosen[row[is_sure]] = value[is_sure]
    # A value that has less room than half of the row has is not for it, except as a last resort.
    is_open = (chosen[row] < 0) & (is_unique | (own[row] / 2 <= room[value])) & ((mass > 0) | (own[row] == 0))
    for _ in range(_MOST_ROUNDS):
        offers = np.flatnonzero(is_open)
        if not offers.size:
            break
        # Each row's first open value; of the rows that want one value, those with the largest masses come first.
        offers = offers[np.unique(row[offers], return_index=True)[1]]
        offers = offers[np.lexsort((row[offers], -mass[offers], value[offers]))]
        held = chosen >= 0
        if is_unique:
            is_granted = np.diff(value[offers], prepend=-1) != 0
            is_granted &= ~np.isin(value[offers], chosen[held])
        else:
            taken = np.bincount(chosen[held], own[held], minlength=values)
            is_granted = _fit(value[offers], own[row[offers]], room - taken)
        chosen[row[offers[is_granted]]] = value[offers[is_granted]]
        is_open[offers[~is_granted]] = False
        is_open &= chosen[row] < 0
    return np.where(chosen < 0, commonest if last_resort is None else last_resort, chosen)


def _fit(wanted: np.ndarray, sizes: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Return which of the offers, sorted by the value they want, fit into its room one after the other, by half."""
    before = np.cumsum(sizes) - sizes
    firsts = np.searchsorted(wanted, wanted)
    return np.asarray(before - before[firsts] + sizes / 2 <= room[wanted])
