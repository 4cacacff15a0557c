"""Nested cuts of the codes of one column: the public, serialisable tree that a `TreeCounts` question counts over."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.schema.groupings.domains import MAX_VALUES, Domain
from lapwing.schema.groupings.grouping import MAX_ENTRIES, Grouping, interval_grouping, part_error, prefix_grouping
from lapwing.schema.scalars import check_whole_number

MAX_LEVELS: Final = 64
"""Most levels below the root: more than halving 2**53 codes ever needs."""

_Array = npt.NDArray[np.int64]


_refusal = partial(part_error, "hierarchy")
_check_whole = partial(check_whole_number, code="LW280")


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """Nested runs of the codes of one column, level by level; level 0 is one run.

    Each level splits runs of the level above in two; the other runs stay as they are. Codes from ``covered`` on are in
    no run: rows that have one are outside the tree. Only the deepest level is counted as a `Grouping`.
    """

    values: int
    reserved: int
    covered: int  # codes in the tree, the first so many
    cuts: _Array  # first codes of all runs of the deepest level but the first, increasing
    levels: _Array  # the level from which on each cut is there, 1 to 64
    # Derived once: the deepest level as the table that is counted, each reserved code alone.
    grouping: Grouping = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_whole("a hierarchy's values", self.values, 1, MAX_VALUES)
        _check_whole("a hierarchy's reserved", self.reserved, 1, MAX_ENTRIES)
        _check_whole("a hierarchy's covered", self.covered, self.values, self.values + self.reserved)
        cuts, levels = (_readonly_codes(name, getattr(self, name)) for name in ("cuts", "levels"))
        _check_cuts(cuts, levels, self.covered)
        _check_nesting(levels)
        regular = cuts[cuts < self.values]
        domain = Domain(self.values, self.reserved - 1, missing=True, ordered=True, continuous=False)
        for name, value in (("cuts", cuts), ("levels", levels), ("grouping", _as_grouping(domain, regular))):
            object.__setattr__(self, name, value)

    @property
    def depth(self) -> int:
        """Levels below the root."""
        return int(self.levels.max(initial=0))

    def groups(self, level: int) -> int:
        """Return the number of runs of a level."""
        return int(np.count_nonzero(self.levels <= level)) + 1

    def starts(self, level: int) -> _Array:
        """Return the first code of each run of a level: ndarray of int64, increasing from 0."""
        return np.concatenate((np.zeros(1, dtype=np.int64), self.cuts[self.levels <= level]))

    def stops(self, level: int) -> _Array:
        """Return the code after each run of a level: ndarray of int64, increasing to ``covered``."""
        return np.append(self.starts(level)[1:], np.int64(self.covered))

    def parents(self, level: int) -> _Array:
        """Return, for each run of a level from 1 on, its run one level above: ndarray of int64, non-decreasing."""
        here = self.levels[self.levels <= level]
        return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(here < level, dtype=np.int64)))

    def alone(self, level: int) -> tuple[_Array, int]:
        """Return the first part of each run, and the number of parts in the tree.

        Parts are a level's runs of regular codes, then one per reserved code: on the deepest level its groups.
        """
        starts = self.starts(level)
        regular = int(np.count_nonzero(starts < self.values))
        firsts = np.where(starts < self.values, np.arange(starts.size), regular + starts - self.values)
        return firsts, regular + self.covered - self.values


def hierarchy(domain: Domain, depth: int) -> Hierarchy:
    """Return the hierarchy of at most so many levels, 0 to 64, that halves a column's codes until each is alone.

    Level 1 separates what is special or missing from the regular codes, if that can occur; then runs are cut at the
    middle one of the domain's coarsest cuts that lie inside, or in the middle. The misfit code is left out.
    """
    _check_whole("the depth of a hierarchy", depth, 0, MAX_LEVELS)
    covered = domain.size if domain.missing else domain.last
    starts = np.zeros(1, dtype=np.int64)
    born = np.zeros(1, dtype=np.int64)
    tiers = [np.array(tier, dtype=np.int64) for tier in domain.cuts]
    for level in range(1, depth + 1):
        stops = np.append(starts[1:], np.int64(covered))
        middles = cut_places(tiers, starts, stops)
        if level == 1 and covered > domain.values:
            middles[0] = domain.values
        new = middles[stops - starts > 1]
        if not new.size:
            break
        order = np.argsort(np.concatenate((starts, new)), kind="stable")
        starts = np.concatenate((starts, new))[order]
        born = np.concatenate((born, np.full(new.size, level)))[order]
    return Hierarchy(domain.values, domain.reserved, covered, starts[1:], born[1:])


def cut_places(tiers: Sequence[_Array], starts: _Array, stops: _Array) -> _Array:
    """Return where each run of codes is cut next: at the middle cut of the first tier with any there, or halfway."""
    middles = starts + (stops - starts) // 2
    is_open = np.ones(starts.size, dtype=bool)
    for tier in tiers:
        first, last = np.searchsorted(tier, starts, "right"), np.searchsorted(tier, stops, "left")
        found = is_open & (last > first)
        middles[found] = tier[(first + last)[found] // 2]
        is_open &= ~found
    return middles


def diameters(nested: Hierarchy, domain: Domain, level: int) -> npt.NDArray[np.float64]:
    """Return the length of each run of a level in its column's own metric, which is at most 1.

    Codes of an ordered column lie on [0, 1], those of a continuous one have a length; all else is at distance 1.
    """
    starts, stops = nested.starts(level), nested.stops(level)
    codes = stops - starts
    if domain.continuous and domain.values > 1:
        inside = codes / domain.values
    elif domain.ordered:
        inside = (codes - 1) / max(1, domain.values - 1)
    else:
        inside = (codes > 1).astype(np.float64)
    return np.where(stops > domain.values, (codes > 1).astype(np.float64), inside)


def _as_grouping(domain: Domain, cuts: _Array) -> Grouping:
    """Return the grouping by regular cuts, as a shift where it is one, which is faster to apply."""
    first = int(cuts[0]) if cuts.size else domain.values
    bits = first.bit_length() - 1
    is_even = first == 1 << bits and cuts.size == (domain.values - 1) >> bits
    if is_even and np.array_equal(cuts, np.arange(1, cuts.size + 1, dtype=np.int64) << bits):
        return prefix_grouping(domain, bits)
    return interval_grouping(domain, cuts)


def _readonly_codes(name: str, entries: object) -> _Array:
    """Return entries as a fresh, read-only array of int64."""
    given = np.asarray(entries)
    if given.ndim != 1 or given.size > MAX_ENTRIES or (given.size and given.dtype.kind not in "iu"):
        raise _refusal(f"{name} must be a flat list of at most {MAX_ENTRIES} whole numbers")
    array = given.astype(np.int64)
    array.flags.writeable = False
    return array


def _check_cuts(cuts: _Array, levels: _Array, covered: int) -> None:
    """Refuse cuts that do not increase within the codes of the tree, or without a level each."""
    if cuts.size != levels.size:
        counts = f"got {cuts.size} cuts and {levels.size} levels"
        raise ParameterError(f"a hierarchy needs one level for each cut, {counts}", code="LW280")
    if cuts.size and (cuts[0] < 1 or cuts[-1] > covered - 1 or not (cuts[1:] > cuts[:-1]).all()):
        raise _refusal(f"cuts must increase within 1 to {covered - 1}; sort them and drop repeats")
    if levels.size and not 1 <= levels.min() <= levels.max() <= MAX_LEVELS:
        raise _refusal(f"levels must lie from 1 to {MAX_LEVELS}")


def _check_nesting(levels: _Array) -> None:
    """Refuse a level that splits nothing, or one run in more than two."""
    deepest = int(levels.max(initial=0))
    for level in range(1, deepest + 1):
        is_new = levels[levels <= level] == level
        if not is_new.any():
            raise _refusal(f"level {level} splits nothing; number its levels without gaps")
        if (is_new[1:] & is_new[:-1]).any():
            raise _refusal(f"level {level} splits a run in more than two; use more levels")


# -- What several groupings of one domain tell apart together, where their groups lie, and which one merges another's.


_MERGES: Final = 512


def common_refinement(groupings: Sequence[Grouping]) -> tuple[_Array, _Array]:
    """Return the first code of each run that some groupings of one domain treat alike, and its group in each."""
    pieces = [grouping.pieces() for grouping in groupings]
    starts = np.unique(np.concatenate([first for first, _, _ in pieces]))
    groups = [group[np.searchsorted(first, starts, side="right") - 1] for first, _, group in pieces]
    return starts, np.stack(groups)


def group_ends(grouping: Grouping) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the smallest code of each group, and the one after its largest: ndarrays of int64, shape (groups,)."""
    starts, stops, owner = grouping.pieces()
    low = np.full(grouping.groups, np.iinfo(np.int64).max)
    high = np.zeros_like(low)
    np.minimum.at(low, owner, starts)
    np.maximum.at(high, owner, stops)
    return low, high


@lru_cache(maxsize=_MERGES)
def merge_groups(fine: Grouping, coarse: Grouping) -> npt.NDArray[np.int64] | None:
    """Return the coarse group of each fine group; None where the coarse grouping does not merge fine groups."""
    if (fine.values, fine.reserved) != (coarse.values, coarse.reserved):
        return None
    starts, _, groups = fine.pieces()
    merged = np.zeros(fine.groups, dtype=np.int64)
    merged[groups] = coarse.apply(starts)
    # Both maps are constant between the starts of their runs, so it is enough to compare them there.
    codes = np.concatenate((starts, coarse.pieces()[0]))
    if not np.array_equal(merged[fine.apply(codes)], coarse.apply(codes)):
        return None
    merged.flags.writeable = False
    return merged
