"""Public, serialisable maps from the codes of one domain to groups of codes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar, Final, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from lapwing.errors import CapacityError, ParameterError
from lapwing.schema.groupings.domains import MAX_VALUES, Domain
from lapwing.schema.scalars import check_whole_number

Kind = Literal["shift", "cuts", "table"]

MAX_ENTRIES: Final = 2**24
"""Most cuts, table entries or reserved codes of one grouping, and most groups that `Grouping.pieces` lists."""


def part_error(owner: str, said: str) -> ParameterError:
    """Return the error that a part of a grouping or hierarchy breaks a rule."""
    return ParameterError(f"a {owner}'s {said}", code="LW280")


_refusal = partial(part_error, "grouping")
_check_whole = partial(check_whole_number, code="LW280")


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """A map from the codes of one domain to groups.

    Regular codes go to groups ``0 .. regular-1``; each reserved code is a group of its own, after the regular ones.
    """

    document: ClassVar = ("kind", "values", "reserved", "shift", "cuts", "table")

    values: int
    reserved: int
    kind: Kind  # the code shifted right, a group per interval between cuts, or a list of groups
    shift: int = field(default=0, metadata={"of": "kind"})
    cuts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64), metadata={"of": "kind"})
    table: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32), metadata={"of": "kind"})
    # Derived once: the regular groups, and `table` with the groups of the reserved codes behind it.
    _regular: int = field(init=False, repr=False)
    _whole_table: npt.NDArray[np.int32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_whole("a grouping's values", self.values, 1, MAX_VALUES)
        _check_whole("a grouping's reserved", self.reserved, 1, MAX_ENTRIES)
        if self.kind not in get_args(Kind):
            raise _refusal(f"kind must be shift, cuts or table, got {self.kind!r}")
        _check_whole("a grouping's shift", self.shift, 0, 53 if self.kind == "shift" else 0)
        cuts = _checked_cuts(self.cuts, self.values, self.kind == "cuts")
        whole = _checked_table(self.table, self.values, self.reserved, self.kind == "table")
        table = whole[: self.values]

        regular = {
            "shift": ((self.values - 1) >> self.shift) + 1,
            "cuts": len(cuts) + 1,
            "table": int(table.max()) + 1 if len(table) else 0,
        }
        derived = {"cuts": cuts, "table": table, "_whole_table": whole, "_regular": regular[self.kind]}
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def regular(self) -> int:
        """Number of groups of regular codes."""
        return self._regular

    @property
    def groups(self) -> int:
        """Number of groups, regular and reserved."""
        return self._regular + self.reserved

    def apply(self, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
        """Return the group of each code; the code of a misfit, one beyond, is in the last group.

        About 10**8 (shift, table) or 7 * 10**7 (cuts) codes per second; ``8 n`` bytes beside the result's blocks.
        """
        size = self.values + self.reserved
        if self.kind == "table":
            return apply_by_table(codes, self._whole_table)
        # Listing the group of all codes is cheap beside grouping many rows.
        if size <= _ONE_TABLE and 4 * size <= len(codes):
            every_code = np.arange(size, dtype=np.int64)
            return apply_by_table(codes, self._apply_by_rule(every_code).astype(np.int32))
        return self._apply_by_rule(codes)

    def _apply_by_rule(self, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
        """Return the group of each code by shifting or by looking for cuts."""
        if self.kind == "shift":
            return apply_by_shift(codes, self.values, self.reserved, self.shift)
        # To a search, a reserved code is a cut like any other: it starts a group of its own.
        ends = np.arange(self.values, self.values + self.reserved, dtype=np.int64)
        return apply_by_cuts(codes, np.concatenate((self.cuts, ends)))

    def pieces(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return starts, stops and group of every run of codes, in order, reserved codes included."""
        if self.regular > MAX_ENTRIES:
            said = f"a grouping with {self.regular} groups is too fine to list; use at most 2**24"
            raise CapacityError(said, code="LW502")
        if self.kind == "table":
            starts = np.flatnonzero(np.diff(self._whole_table, prepend=-1)).astype(np.int64)
            group = self._whole_table[starts].astype(np.int64)
        else:
            inner = self.cuts if self.kind == "cuts" else np.arange(1, self.regular, dtype=np.int64) << self.shift
            ends = np.arange(self.values, self.values + self.reserved, dtype=np.int64)
            starts = np.concatenate((np.zeros(1, dtype=np.int64), inner, ends))
            group = np.arange(self.groups, dtype=np.int64)
        stops = np.append(starts[1:], np.int64(self.values + self.reserved))
        return starts, stops, group

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grouping):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        """Return all of it, hashable: equal exactly where the canonical JSON is."""
        return self.values, self.reserved, self.kind, self.shift, self.cuts.tobytes(), self.table.tobytes()


def identity(domain: Domain) -> Grouping:
    """Return the grouping in which every code is a group."""
    return Grouping(domain.values, domain.reserved, "shift", 0)


def prefix_grouping(domain: Domain, bits: int) -> Grouping:
    """Return the grouping of regular codes by all but their lowest bits."""
    return Grouping(domain.values, domain.reserved, "shift", bits)


def interval_grouping(domain: Domain, cuts: Sequence[int] | npt.NDArray[np.integer]) -> Grouping:
    """Return the grouping of regular codes into intervals; `cuts` are the first codes of all groups but the first."""
    return Grouping(domain.values, domain.reserved, "cuts", cuts=cast(npt.NDArray[np.int64], cuts))


def lookup(domain: Domain, table: Sequence[int] | npt.NDArray[np.integer]) -> Grouping:
    """Return the grouping that lists the group of every regular code: 0 to some highest one, each of which occurs."""
    return Grouping(domain.values, domain.reserved, "table", table=cast(npt.NDArray[np.int32], table))


def evenly(domain: Domain, groups: int) -> Grouping:
    """Return at most so many nearly equal runs of regular codes; a power of two of them where these are continuous."""
    _check_whole("a grouping's number of groups", groups, 1, MAX_ENTRIES)
    if groups >= domain.values:
        return identity(domain)
    if domain.continuous:
        return prefix_grouping(domain, (domain.values - 1).bit_length() - (groups.bit_length() - 1))
    # Start i is floor(i * values / groups), split so that no product passes 2**63.
    whole, rest = divmod(domain.values, groups)
    index = np.arange(1, groups, dtype=np.int64)
    return interval_grouping(domain, index * whole + index * rest // groups)


def _integers(name: str, entries: object, wanted: bool) -> npt.NDArray[np.int64]:
    """Return entries as a fresh array of int64, refusing any where the kind has none."""
    given = np.asarray(entries)
    if not wanted and given.size:
        raise ParameterError(f"a grouping of another kind has no {name}; leave them out", code="LW280")
    if given.ndim != 1 or given.size > MAX_ENTRIES:
        raise _refusal(f"{name} must be a flat list of at most {MAX_ENTRIES} numbers")
    if given.size and (given.dtype.kind not in "iu" or int(given.max()) > MAX_VALUES):
        raise _refusal(f"{name} must be whole numbers up to 2**53, got dtype {given.dtype}")
    return given.astype(np.int64)


def _checked_cuts(entries: object, values: int, wanted: bool) -> npt.NDArray[np.int64]:
    """Return cuts, read-only, increasing and inside the domain."""
    cuts = _integers("cuts", entries, wanted)
    if len(cuts) and (cuts[0] < 1 or cuts[-1] > values - 1 or not (cuts[1:] > cuts[:-1]).all()):
        raise _refusal(f"cuts must increase within 1 to {values - 1}; sort them and drop repeats")
    cuts.flags.writeable = False
    return cuts


def _checked_table(entries: object, values: int, reserved: int, wanted: bool) -> npt.NDArray[np.int32]:
    """Return a table with the groups of the reserved codes behind it, read-only."""
    table = _integers("table", entries, wanted)
    if wanted:
        if len(table) != values:
            raise _refusal(f"table must list {values} codes, got {len(table)}")
        highest = int(table.max())
        if table.min() < 0 or highest >= values or not np.bincount(table, minlength=highest + 1).all():
            raise _refusal("table must use groups 0 to some highest one, each at least once")
        table = np.concatenate((table, np.arange(highest + 1, highest + 1 + reserved)))
    whole = table.astype(np.int32)
    whole.flags.writeable = False
    return whole


# -- The inner loops that send codes to groups: exact, in blocks of rows that stay in the processor's cache.


Codes = npt.NDArray[np.integer[Any]]
Groups = npt.NDArray[np.intp]

_BLOCK: Final = 2**14
_ONE_TABLE: Final = 2**16
_MAX_BUCKET_BITS: Final = 16


def apply_by_table(codes: Codes, table: npt.NDArray[np.int32]) -> Groups:
    """Return ``table[codes]``; a code outside the table meets its nearest end (an index error would quote it)."""
    out = np.empty(len(codes), dtype=np.intp)
    wide = table.astype(np.intp) if len(table) <= _ONE_TABLE else table
    for rows in _blocks(len(codes)):
        if wide.dtype == out.dtype:
            np.take(wide, codes[rows], out=out[rows], mode="clip")
        else:
            out[rows] = np.take(wide, codes[rows], mode="clip")
    return out


def apply_by_shift(codes: Codes, values: int, reserved: int, bits: int) -> Groups:
    """Return regular codes shifted right by `bits`, and each reserved code in its own group after those."""
    out = np.empty(len(codes), dtype=np.intp)
    wide, low = np.empty((2, min(_BLOCK, len(codes))), dtype=np.int64)
    for rows in _blocks(len(codes)):
        groups = out[rows]
        block, inner = wide[: len(groups)], low[: len(groups)]
        np.copyto(block, codes[rows], casting="same_kind")
        np.minimum(block, values + reserved - 1, out=block)
        # Without masks: code values + r counts as the last regular code plus r + 1 groups.
        np.minimum(block, values - 1, out=inner)
        np.right_shift(inner, bits, out=groups)
        np.subtract(block, inner, out=inner)
        np.add(groups, inner, out=groups)
    return out


def apply_by_cuts(codes: Codes, cuts: npt.NDArray[np.int64]) -> Groups:
    """Return the number of cuts that are not above each code, as ``searchsorted(cuts, codes, "right")`` does.

    An index on the code's high bits, then a binary search without branches among the few cuts inside a bucket.
    """
    bits, first, widths, padded = _index(cuts.tobytes())
    out = np.empty(len(codes), dtype=np.intp)
    wide, probe, met = np.empty((3, min(_BLOCK, len(codes))), dtype=np.int64)
    for rows in _blocks(len(codes)):
        groups = out[rows]
        block, index, cut = wide[: len(groups)], probe[: len(groups)], met[: len(groups)]
        np.copyto(block, codes[rows], casting="same_kind")
        np.right_shift(block, bits, out=index)
        np.take(first, index, out=groups, mode="clip")
        for width in widths:
            np.add(groups, width - 1, out=index)
            np.take(padded, index, out=cut, mode="clip")
            np.greater_equal(block, cut, out=cut, casting="unsafe")
            np.multiply(cut, width, out=cut)
            np.add(groups, cut, out=groups)
    return out


@lru_cache(maxsize=32)
def _index(cuts: bytes) -> tuple[int, Groups, list[int], npt.NDArray[np.int64]]:
    """Return the bits of a bucket, its first cut, the widths of the search inside, and the cuts with those beyond."""
    places = np.frombuffer(cuts, dtype=np.int64)
    bits = _bucket_bits(places)
    starts = np.arange((int(places[-1]) >> bits) + 1, dtype=np.int64) << bits
    widths = [2**power for power in reversed(range(_most_inside(places, bits).bit_length()))]
    # Cuts that no code reaches, so that a probe never leaves the array.
    padded = np.concatenate((places, np.full(2 * max(widths, default=0), np.iinfo(np.int64).max)))
    return bits, np.searchsorted(places, starts, side="right"), widths, padded


def _blocks(n: int) -> Iterator[slice]:
    """Return slices that cover n rows."""
    return (slice(start, start + _BLOCK) for start in range(0, n, _BLOCK))


def _bucket_bits(cuts: npt.NDArray[np.int64]) -> int:
    """Return the width in bits of the widest buckets with at most one inner cut, within 2**16 buckets."""
    longest = int(cuts[-1]).bit_length()
    shortest = max(0, longest - _MAX_BUCKET_BITS)
    if len(cuts) <= 2**_MAX_BUCKET_BITS:
        for bits in range(longest, shortest, -1):
            if _most_inside(cuts, bits) <= 1:
                return bits
    return shortest


def _most_inside(cuts: npt.NDArray[np.int64], bits: int) -> int:
    """Return the largest number of cuts inside one bucket, those on a bucket's start not counted."""
    buckets = (cuts >> bits)[(cuts & ((1 << bits) - 1)) != 0]
    if not len(buckets):
        return 0
    ends = np.flatnonzero(np.diff(buckets, append=buckets[-1] + 1))
    return int(np.diff(ends, prepend=-1).max())
