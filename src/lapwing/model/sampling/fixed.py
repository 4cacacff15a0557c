"""Functional dependencies without a public map: which value goes with each determinant, fixed once per release.

The map follows from a model's atoms, so that all rows that are ever drawn from the model keep it, in one sample or in
several together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans
from lapwing.model.sampling.draws import AtomRows, Histogram, draw_column

_MOST_ROUNDS = 500
"""Each round settles the heaviest offer at least, and many others beside it."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownTuples:
    """Number the distinct tuples of some columns.

    levels: tuple of (ndarray, ndarray), per column its distinct codes, increasing, and the distinct keys (tuple of the
    columns before, code) that occur.
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

    known: the tuples of codes of ``of`` that have a value; values: int64, their codes of ``column``.
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

    codes: mapping of str to integers (k,), of weighted rows; weights: float64 (k,), non-negative; one_to_one: whether
    the columns determine each other, so that no two determinants may share a value. Returns a determinant that has one
    value with more than half of its weight takes it. The others, which the model says little about, take in the order
    of their weights the commonest of their values that still has weight of its own left, so that the column keeps its
    one-way law as far as can be; ties go to the smaller code. Where none has (each value is much rarer than the
    determinant, as on a fine column), it takes the median of its values if they are ordered, which lies among those
    that most of its rows are near to, and else the commonest.

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


# -- Turn the laws of some columns into points: each atom then holds one value of each of them.


_CODE_TYPES = (np.uint8, np.uint16, np.uint32, np.int64)


def pin_columns(model: ReleasedModel, names: Sequence[str], rng: np.random.Generator, *, least: int) -> ReleasedModel:
    """Return the same mixture with points in some columns.

    least: atoms are split into copies, in proportion to their weights, until there are about so many. Atoms whose
    columns ``names`` are points already are never split. Returns at most ``max(k, least)`` atoms, the copies of one
    atom beside each other; those without weight are left out. Each column in ``names`` has spans of length 1. All other
    columns keep their laws exactly.

    Post-processing of released numbers: costs no budget. Codes are drawn in strata as rows are (`draws`), so that
    one-way laws of the columns come out closer than by independent draws; their joint law in each atom has the
    sampling error of its copies. Time ``O(atoms * names)``.
    """
    if not names:
        return model
    rows = AtomRows.of(split(model, names, least))
    laws: dict[str, ColumnLaw] = {}
    for name, law in model.laws.items():
        if name in names:
            table = Histogram.of(law.laws) if isinstance(law, Indexed) else None
            laws[name] = point_spans(draw_column(law, table, rows, rng))
        else:
            laws[name] = take_laws(law, rows.atoms)
    weights = (model.weights / np.maximum(np.bincount(rows.atoms, minlength=model.atoms), 1))[rows.atoms]
    return replace(model, weights=weights, laws=laws)


def split(model: ReleasedModel, names: Sequence[str], least: int) -> np.ndarray:
    """Return the atom that each atom of `pin_columns` is a copy of: ndarray of int64, increasing."""
    atoms = np.flatnonzero(model.weights)
    weights = model.weights[atoms]
    is_wide = ~np.logical_and.reduce([is_point(model.laws[name])[atoms] for name in names])
    copies = np.ones(atoms.size, dtype=np.int64)
    room = max(least - atoms.size, 0)
    copies[is_wide] += np.floor(weights[is_wide] / weights.sum() * room).astype(np.int64)
    return np.repeat(atoms, copies)


def points(model: ReleasedModel, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the codes of columns that are pinned."""
    return {name: _point_codes(model.laws[name]) for name in names}


def _point_codes(law: ColumnLaw) -> np.ndarray:
    """Return the code that each atom is certain of."""
    match law:
        case Indexed():
            return np.asarray(law.laws.starts[law.laws.offsets[law.index]])
        case Spans():
            return law.starts.astype(np.int64)
        case Bernoulli():
            return law.p.astype(np.int64)


def with_points(model: ReleasedModel, codes: Mapping[str, np.ndarray]) -> ReleasedModel:
    """Return a model with these codes, atom by atom, in place of the laws of some columns."""
    laws = {name: point_spans(codes[name]) if name in codes else law for name, law in model.laws.items()}
    return replace(model, laws=laws)


def point_spans(codes: np.ndarray) -> Spans:
    """Return spans of length 1: one code per atom."""
    return narrow_spans(codes, codes.astype(np.int64) + 1)


def narrow_spans(starts: np.ndarray, stops: np.ndarray) -> Spans:
    """Return spans in the smallest dtype."""
    dtype = next(each for each in _CODE_TYPES if int(stops.max()) <= np.iinfo(each).max)
    return Spans(starts.astype(dtype), stops.astype(dtype))


def is_point(law: ColumnLaw) -> np.ndarray:
    """Return whether the law of each atom is certain of one code: ndarray of bool, shape (k,)."""
    match law:
        case Indexed():
            laws = law.laws
            is_single = (np.diff(laws.offsets) == 1) & ((laws.stops - laws.starts)[laws.offsets[:-1]] == 1)
            return np.asarray(is_single[law.index])
        case Spans():
            return np.asarray(law.stops - law.starts == 1)
        case Bernoulli():
            return np.asarray((law.p == 0) | (law.p == 1))


def take_laws(law: ColumnLaw, atoms: np.ndarray) -> ColumnLaw:
    """Return the laws of some atoms, which may be named again and again."""
    match law:
        case Indexed():
            return Indexed(law.index[atoms], law.laws)
        case Spans():
            return Spans(law.starts[atoms], law.stops[atoms])
        case Bernoulli():
            return Bernoulli(law.p[atoms])
