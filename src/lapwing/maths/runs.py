"""Runs of codes: sets of whole numbers, as many as there are, in a few numbers; and what lies in them."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Runs = npt.NDArray[np.int64]
"""Codes from start to stop - 1 in each row: disjoint, increasing, none empty; shape (k, 2)."""


def merge_runs(runs: Iterable[tuple[int, int]]) -> Runs:
    """Sort runs and join those that touch."""
    joined: list[list[int]] = []
    for start, stop in sorted(runs):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], stop)
        else:
            joined.append([start, stop])
    return np.array(joined, dtype=np.int64).reshape(-1, 2)


def runs_where(is_kept: npt.NDArray[np.bool_]) -> Runs:
    """Return the codes of a mask as runs."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_kept, [False]])))
    return edges.reshape(-1, 2).astype(np.int64)


def codes_in(runs: Runs) -> int:
    """Return how many codes runs hold."""
    return int((runs[:, 1] - runs[:, 0]).sum())


def meet(first: Runs, other: Runs) -> Runs:
    """Return the codes that are in both of two lists of runs."""
    low, counts = overlaps(first[:, 0], first[:, 1], other)
    own = np.repeat(np.arange(len(first)), counts)
    place = low[own] + ranks(counts)
    starts = np.maximum(first[own, 0], other[place, 0])
    stops = np.minimum(first[own, 1], other[place, 1])
    return np.stack([starts, stops], axis=1)


def without(runs: Runs, end: int) -> Runs:
    """Return the codes below an end that are in none of some runs.

    >>> without(np.array([[0, 2], [5, 9]]), 7).tolist()
    [[2, 5]]
    """
    found = np.concatenate([[0], np.minimum(runs.reshape(-1), end), [end]]).reshape(-1, 2)
    return found[found[:, 0] < found[:, 1]]


def below(runs: Runs, end: int) -> Runs:
    """Return the codes of runs below an end."""
    return meet(runs, np.array([[0, end]], dtype=np.int64)) if end > 0 else runs[:0]


def from_on(runs: Runs, start: int) -> Runs:
    """Return the codes of runs from a start on."""
    kept = runs[runs[:, 1] > start]
    return np.stack([np.maximum(kept[:, 0], start), kept[:, 1]], axis=1)


def overlaps(starts: np.ndarray, stops: np.ndarray, runs: Runs) -> tuple[np.ndarray, np.ndarray]:
    """Return the first run that each interval of codes meets, and how many it meets."""
    first = np.searchsorted(runs[:, 1], starts, side="right")
    behind = np.searchsorted(runs[:, 0], stops, side="left")
    return first, np.maximum(behind - first, 0)


def ranks(lengths: np.ndarray) -> np.ndarray:
    """Return 0 .. length-1 for each length, one after the other.

    >>> ranks(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    found: np.ndarray = np.arange(int(ends[-1]) if ends.size else 0) - np.repeat(ends - lengths, lengths)
    return found


def cut_at(
    starts: np.ndarray, stops: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cut runs of codes where other runs begin.

    starts, stops: int64 (n,), runs of codes from start to stop - 1; edges: int64 (e,), increasing, the first at most
    the smallest start: where to cut. Returns run, cell, starts, stops: ndarrays of int64, shape (parts,), of each part:
    the run that it is of, the last edge at or before it, and its codes.

    >>> [part.tolist() for part in cut_at(np.array([1]), np.array([5]), np.array([0, 3]))]
    [[0, 0], [0, 1], [1, 3], [3, 5]]
    """
    first = np.searchsorted(edges, starts, side="right") - 1
    counts = np.searchsorted(edges, stops, side="left") - first
    run = np.repeat(np.arange(starts.size), counts)
    cell = first[run] + ranks(counts)
    ends = np.append(edges[1:], np.iinfo(np.int64).max)
    return run, cell, np.maximum(starts[run], edges[cell]), np.minimum(stops[run], ends[cell])


def distinct_pairs(starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct (start, stop) pairs, and which of them each entry is.

    >>> [part.tolist() for part in distinct_pairs(np.array([5, 0, 5]), np.array([6, 2, 6]))]
    [[0, 5], [2, 6], [1, 0, 1]]
    """
    order = np.lexsort((stops, starts))
    sorted_starts, sorted_stops = starts[order], stops[order]
    is_new = np.ones(order.size, dtype=bool)
    is_new[1:] = (sorted_starts[1:] != sorted_starts[:-1]) | (sorted_stops[1:] != sorted_stops[:-1])
    which = np.empty(order.size, dtype=np.intp)
    which[order] = np.cumsum(is_new) - 1
    return sorted_starts[is_new], sorted_stops[is_new], which


def count_covered(codes: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Return how many codes below each code lie in some runs.

    >>> count_covered(np.array([0, 3, 9]), np.array([[2, 5], [7, 8]])).tolist()
    [0, 1, 4]
    """
    before = np.concatenate(([0], np.cumsum(runs[:, 1] - runs[:, 0])))
    at = np.searchsorted(runs[:, 0], codes, side="right")
    inside = np.minimum(codes - runs[np.maximum(at - 1, 0), 0], (runs[:, 1] - runs[:, 0])[np.maximum(at - 1, 0)])
    return np.asarray(before[np.maximum(at - 1, 0)] + np.where(at > 0, inside, 0))


def inside(codes: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Return which codes lie in runs, as for `count_covered`: ndarray of bool, shape (n,)."""
    at = np.searchsorted(runs[:, 0], codes, side="right") - 1
    return np.asarray((at >= 0) & (codes < runs[np.maximum(at, 0), 1]))
