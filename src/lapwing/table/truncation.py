"""Keep at most a fixed number of rows of each privacy unit, chosen by the unit's own rows alone.

Each unit keeps the rows with the smallest public hash of three things: the unit's identifier, the row's codes, and how
many equal rows of the unit are counted before it. So to a unit each of its rows is as likely to stay as another one,
whatever they say. The choice depends neither on the order of rows nor on any other unit, so removing one unit changes
nothing but its own rows. The hash is the same for every table and release, on every engine; it hides nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from lapwing.errors import DataError

T = TypeVar("T")

Chunks = Callable[[], Iterable[Mapping[str, np.ndarray]]]
"""Gives the codes of all rows, chunk by chunk, in a stable order."""

# Fixed odd constants of the splitmix64 generator (Steele, Lea, Flood 2014).
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


def mixed(state: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return what a public hash is after some more words: for each word one to one in the state.

    Parameters
    ----------
    state, words : ndarray of uint64, shape (n,)

    Returns
    -------
    ndarray of uint64, shape (n,)
    """
    found: np.ndarray = state + words
    found += _GOLDEN
    found ^= found >> np.uint64(30)
    found *= _FIRST
    found ^= found >> np.uint64(27)
    found *= _SECOND
    found ^= found >> np.uint64(31)
    return found


def row_hashes(codes: Mapping[str, np.ndarray], columns: Sequence[str]) -> np.ndarray:
    """Return the public hash of what every row says.

    Parameters
    ----------
    codes : mapping of str to ndarray of integers, shape (n,)
        Codes of one chunk.
    columns : sequence of str
        All modelled columns, in the schema's order.

    Returns
    -------
    ndarray of uint64, shape (n,)
        Function of the row's codes alone.

    Examples
    --------
    >>> row_hashes({"a": np.array([0, 1], dtype=np.uint8)}, ["a"])
    array([16294208416658607535, 10451216379200822465], dtype=uint64)
    """
    found = np.zeros(len(codes[columns[0]]), dtype=np.uint64)
    for name in columns:
        found = mixed(found, codes[name].astype(np.uint64))
    return found


class OrderDigest:
    """Summarise rows and their order in 64 bits, independently of how they are cut into chunks."""

    __slots__ = ("_rows", "value")

    def __init__(self) -> None:
        self._rows = 0
        self.value = 0

    def add(self, hashes: np.ndarray) -> None:
        """Take in the hashes of the next rows."""
        places = np.arange(self._rows, self._rows + len(hashes)).astype(np.uint64)
        # Odd factors by place: exchanging two different rows changes the sum.
        self.value = (self.value + int((hashes * (places * _GOLDEN | np.uint64(1))).sum(dtype=np.uint64))) % 2**64
        self._rows += len(hashes)


def kept_rows(
    units: np.ndarray,
    hashes: np.ndarray,
    max_rows: int,
    chunks: Chunks,
    columns: Sequence[str],
) -> np.ndarray:
    """Return which rows stay when each unit keeps `max_rows` rows.

    Parameters
    ----------
    units : ndarray of int64, shape (n,)
        The unit of every row, from 0 up.
    hashes : ndarray of uint64, shape (n,)
        The hash of every row, in which its unit's is `mixed`.
    max_rows : int
        Rows that a unit may keep, at least 1.
    chunks : callable
        Returns the codes of all rows, chunk by chunk; called only where rows of equal hash compete.
    columns : sequence of str
        All modelled columns, in the schema's order.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    kept = np.ones(len(units), dtype=bool)
    rows = np.flatnonzero(np.bincount(units)[units] > max_rows) if len(units) else np.zeros(0, dtype=np.intp)
    if not len(rows):
        return kept
    rows = rows[np.lexsort((hashes[rows], units[rows]))]
    is_first = (np.diff(units[rows], prepend=-1) != 0) | (hashes[rows] != np.roll(hashes[rows], 1))
    stays = of_smallest(units[rows], mixed(hashes[rows], places(is_first).astype(np.uint64)), max_rows)
    # How many rows of a hash stay is known; of those that say other things under one hash, the codes say which.
    run = np.cumsum(is_first)
    staying = np.bincount(run[stays], minlength=run[-1] + 1)
    is_cut = (staying > 0) & (staying < np.bincount(run))
    if is_cut.any():
        _order_ties(rows, np.where(is_cut[run], run, 0), chunks, columns)
    kept[rows[~stays]] = False
    return kept


def of_smallest(units: np.ndarray, priorities: np.ndarray, max_rows: int) -> np.ndarray:
    """Return which rows are among the `max_rows` smallest of their unit: ndarray of bool, shape (n,)."""
    order = np.lexsort((priorities, units))
    stays = np.zeros(len(units), dtype=bool)
    stays[order] = places(np.diff(units[order], prepend=-1) != 0) < max_rows
    return stays


def places(is_first: np.ndarray) -> np.ndarray:
    """Return the place of each row within its run, from 0 up; `is_first` says where runs begin."""
    starts = np.flatnonzero(is_first)
    place: np.ndarray = np.arange(len(is_first)) - starts[np.cumsum(is_first) - 1]
    return place


def _order_ties(rows: np.ndarray, run: np.ndarray, chunks: Chunks, columns: Sequence[str]) -> None:
    """Order rows of one unit and equal hash by their codes, in place, where some of them stay.

    Rows of equal hash nearly always have equal codes, and then their order does not matter.

    Parameters
    ----------
    rows : ndarray of intp, shape (k,)
        Row numbers, ordered by unit and hash.
    run : ndarray of int64, shape (k,)
        The same positive number for rows that compete, which stand together; 0 for rows that compete with none.
    """
    numbers, label = np.unique(run, return_inverse=True)
    competing = label > 0 if numbers[0] == 0 else np.ones(len(run), dtype=bool)
    where = np.argsort(rows[competing])
    members, labels = rows[competing][where], label[competing][where]
    is_mixed = _labels_with_different_rows(members, labels, len(numbers), chunks, columns)[label] & competing
    if not is_mixed.any():
        return
    at = np.sort(rows[is_mixed])
    codes = np.concatenate([part for _, part in _codes_of_rows(at, chunks, columns)])
    place = np.searchsorted(at, rows[is_mixed])
    order = np.lexsort((*codes[place].T[::-1], label[is_mixed]))
    rows[is_mixed] = rows[is_mixed][order]


def _labels_with_different_rows(
    members: np.ndarray, labels: np.ndarray, count: int, chunks: Chunks, columns: Sequence[str]
) -> np.ndarray:
    """Return for each label whether rows that carry it have different codes; `members` are increasing row numbers."""
    example = np.zeros((count, len(columns)), dtype=np.int64)
    is_met = np.zeros(count, dtype=bool)
    is_mixed = np.zeros(count, dtype=bool)
    for inside, codes in _codes_of_rows(members, chunks, columns):
        here = labels[inside]
        met, first = np.unique(here, return_index=True)
        new = ~is_met[met]
        example[met[new]] = codes[first[new]]
        is_met[met] = True
        is_mixed[here[(codes != example[here]).any(axis=1)]] = True
    return is_mixed


def _codes_of_rows(members: np.ndarray, chunks: Chunks, columns: Sequence[str]) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield which of the increasing row numbers lie in each chunk, and their codes, shape (rows, columns)."""
    offset = 0
    for chunk in chunks():
        height = len(chunk[columns[0]])
        start, stop = np.searchsorted(members, (offset, offset + height))
        inside = members[start:stop] - offset
        yield slice(start, stop), np.stack([chunk[name][inside].astype(np.int64) for name in columns], axis=1)
        offset += height


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Kept:
    """Which rows of a table stay, and a digest of its codes in order, so that no other rows are taken for them."""

    rows: np.ndarray
    digest: int


def cut_chunks(chunks: Iterable[dict[str, np.ndarray]], kept: Kept) -> Iterator[dict[str, np.ndarray]]:
    """Yield the kept rows of each chunk, and refuse a table that is not the one they were chosen from."""
    for chunk, inside in with_kept(((chunk, chunk) for chunk in chunks), kept):
        yield chunk if inside.all() else {name: codes[inside] for name, codes in chunk.items()}


def with_kept(parts: Iterable[tuple[T, dict[str, np.ndarray]]], kept: Kept) -> Iterator[tuple[T, np.ndarray]]:
    """Yield what goes with each chunk of codes and which of its rows are kept, with the check of `cut_chunks`."""
    digest, start = OrderDigest(), 0
    for part, chunk in parts:
        stop = start + len(next(iter(chunk.values())))
        if stop > len(kept.rows):
            break
        digest.add(row_hashes(chunk, tuple(chunk)))
        yield part, kept.rows[start:stop]
        start = stop
    if digest.value != kept.digest:
        raise changed()


def changed() -> DataError:
    """Return what is raised where rows are not those of an earlier pass."""
    return DataError(
        "the table's rows changed between two passes over them; collect a lazy frame, or order a query, before use",
        code="LW109",
    )
