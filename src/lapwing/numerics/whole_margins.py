"""Whole counts of a two-way table whose margins are given: the rounding of a table that keeps both of its margins.

The sides are joined by links, the entries of the table that may be above 0. A table with whole margins has a rounding
with the same margins, because margins of two sides are a flow (Cox 1987, "A constructive procedure for unbiased
controlled rounding"; we take a maximum flow in random order, which is not exactly unbiased but never far off: each
entry is its floor or ceiling).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

_TOLERANCE: Final = 1e-6
_LARGEST: Final = 2**30
_SWEEPS: Final = 500


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The entries of a two-way table that may be above 0.

    Parameters
    ----------
    left, right : ndarray of intp, shape (e,)
        The two ends of each link; no pair twice.
    masses : ndarray of float64, shape (e,)
        Non-negative.
    """

    left: np.ndarray
    right: np.ndarray
    masses: np.ndarray


def rounded(masses: np.ndarray, total: int) -> np.ndarray:
    """Round counts to whole ones with a given sum, by largest remainders.

    Parameters
    ----------
    masses : ndarray of float64, shape (k,)
        Non-negative, not all 0; scaled to the sum first.
    total : int
        At least 0.

    Returns
    -------
    ndarray of int64, shape (k,)

    Examples
    --------
    >>> rounded(np.array([1.0, 1.0, 2.0]), 6).tolist()
    [2, 1, 3]
    """
    wanted = masses * (total / masses.sum())
    whole = np.floor(wanted + _TOLERANCE).astype(np.int64)
    rest = wanted - whole
    left = total - int(whole.sum())
    step = 1 if left > 0 else -1
    for _ in range(abs(left) // masses.size + 1):  # once, but for rounding of huge totals
        most = min(abs(left), masses.size)
        whole[np.argsort(-step * rest, kind="stable")[:most]] += step
        left -= step * most
    return np.asarray(whole)


def whole_counts(
    links: Links, lefts: np.ndarray, rights: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Round a two-way table so that both margins are kept.

    Parameters
    ----------
    links : Links
        With masses whose margins are about those below.
    lefts : ndarray of int64, shape (a,)
        What the left margin must be.
    rights : ndarray of float64, shape (b,)
        What the right margin should be: its floor or ceiling, with the same sum as the left one.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    counts : ndarray of int64, shape (e,)
        With the left margin exactly, if each left end with a count has a link.
    gap : int
        By how much the right margin is off, in all: 0 where the links allow it.

    Examples
    --------
    >>> square = Links(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.full(4, 0.5))
    >>> counts, gap = whole_counts(square, np.array([1, 1]), np.array([1.0, 1.0]), np.random.default_rng(0))
    >>> counts.reshape(2, 2).sum(axis=0).tolist(), gap
    ([1, 1], 0)
    """
    low, high = (each.astype(np.int64) for each in (np.floor(rights + _TOLERANCE), np.ceil(rights - _TOLERANCE)))
    masses = _within(links, lefts.astype(np.float64), rights)
    counts = np.floor(masses + _TOLERANCE).astype(np.int64)
    _cut_down(counts, links.left, lefts)
    _cut_down(counts, links.right, high)
    most = np.maximum(np.ceil(masses - _TOLERANCE).astype(np.int64), counts)
    # First entries between floor and ceiling; then any, where the masses have not the margins that are asked for.
    for bound, is_near in ((low, True), (low, False), (high, True), (high, False)):
        short = lefts - _sums(links.left, counts, lefts.size)
        free = np.maximum(bound - _sums(links.right, counts, rights.size), 0)
        if short.any() and free.any():
            room = most - counts if is_near else np.full(counts.size, _LARGEST)
            back = np.zeros_like(counts) if is_near else counts
            counts = counts + _flow(links, (np.maximum(room, 0), back), (short, free), rng)
    short = lefts - _sums(links.left, counts, lefts.size)
    for end in np.flatnonzero(short).tolist():
        counts[np.argmax(np.where(links.left == end, masses, -1.0))] += short[end]
    sums = _sums(links.right, counts, rights.size)
    return counts, int(np.maximum(sums - high, 0).sum() + np.maximum(low - sums, 0).sum())


def _sums(ends: np.ndarray, counts: np.ndarray, size: int) -> np.ndarray:
    """Return the sum of the counts of the links of each end: ndarray of int64, shape (size,)."""
    found = np.zeros(size, dtype=np.int64)
    np.add.at(found, ends, counts)
    return found


def _within(links: Links, lefts: np.ndarray, rights: np.ndarray) -> np.ndarray:
    """Return the masses, fitted to both margins in turn until they have them, in the end above neither."""
    masses = np.array(links.masses, dtype=np.float64)
    for _ in range(_SWEEPS):
        for ends, wanted in ((links.left, lefts), (links.right, rights)):
            sums = np.bincount(ends, masses, wanted.size)
            masses *= np.divide(wanted, sums, out=np.zeros(wanted.size), where=sums > 0)[ends]
        sums = np.bincount(links.left, masses, lefts.size)
        if np.abs(sums - lefts).max() <= _TOLERANCE / 10:
            break
    return np.asarray(
        masses * np.minimum(np.divide(lefts, sums, out=np.zeros(lefts.size), where=sums > 0), 1.0)[links.left]
    )


def _cut_down(counts: np.ndarray, ends: np.ndarray, most: np.ndarray) -> None:
    """Take from the largest counts of ends that have more than they may, which rounding of huge counts can cause."""
    over = _sums(ends, counts, most.size) - most
    for end in np.flatnonzero(over > 0).tolist():
        own = np.flatnonzero(ends == end)
        counts[own[np.argmax(counts[own])]] -= over[end]


def _flow(
    links: Links,
    room: tuple[np.ndarray, np.ndarray],
    margins: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> np.ndarray:
    """Return a largest flow along links, from left ends that are short to right ends that are free.

    ``room`` is how much may be added to each count and taken from it. The ends stand in random order.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - it takes a tenth of a second to import
    from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415

    short, free = margins
    places = rng.permutation(short.size), short.size + rng.permutation(free.size)
    left, right = places[0][links.left], places[1][links.right]
    source, sink = short.size + free.size, short.size + free.size + 1
    lefts, rights = np.full(short.size, source), np.full(free.size, sink)
    tails, heads = (left, right, lefts, places[1]), (right, left, places[0], rights)
    rooms = np.minimum(np.concatenate((*room, short, free)), _LARGEST).astype(np.int32)
    kept = rooms > 0
    ends = np.concatenate(tails)[kept], np.concatenate(heads)[kept]
    moved = maximum_flow(csr_array((rooms[kept], ends), shape=(sink + 1, sink + 1)), source, sink).flow
    return np.asarray(moved[left, right]).reshape(-1).astype(np.int64)
