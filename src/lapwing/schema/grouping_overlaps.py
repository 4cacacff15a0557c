"""What several groupings of one domain tell apart together, where their groups lie, and which one merges another's."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.schema.groupings import Grouping

_MERGES: Final = 512


def told_apart(groupings: Sequence[Grouping]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the runs of codes that all of some groupings of one domain treat alike.

    Parameters
    ----------
    groupings : sequence of Grouping
        Of one domain, at least one.

    Returns
    -------
    starts : ndarray of int64, shape (runs,)
        The first code of each run, increasing from 0, reserved codes included.
    groups : ndarray of int64, shape (groupings, runs)
        The group of each run in each grouping.

    Examples
    --------
    >>> one, two = (Grouping(values=9, reserved=1, kind="cuts", cuts=np.array([cut])) for cut in (3, 6))
    >>> [part.tolist() for part in told_apart([one, two])]
    [[0, 3, 6, 9], [[0, 1, 1, 2], [0, 0, 1, 2]]]
    """
    pieces = [grouping.pieces() for grouping in groupings]
    starts = np.unique(np.concatenate([first for first, _, _ in pieces]))
    groups = [group[np.searchsorted(first, starts, side="right") - 1] for first, _, group in pieces]
    return starts, np.stack(groups)


def group_ends(grouping: Grouping) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the smallest code of each group, and the one after its largest: ndarrays of int64, shape (groups,).

    Examples
    --------
    >>> [part.tolist() for part in group_ends(Grouping(values=4, reserved=1, kind="shift", shift=1))]
    [[0, 2, 4], [2, 4, 5]]
    """
    starts, stops, owner = grouping.pieces()
    low = np.full(grouping.groups, np.iinfo(np.int64).max)
    high = np.zeros_like(low)
    np.minimum.at(low, owner, starts)
    np.maximum.at(high, owner, stops)
    return low, high


@lru_cache(maxsize=_MERGES)
def merged_groups(fine: Grouping, coarse: Grouping) -> npt.NDArray[np.int64] | None:
    """Return the coarse group of each fine group.

    Parameters
    ----------
    fine, coarse : Grouping
        Of one column.

    Returns
    -------
    ndarray of int64, shape (fine.groups,), or None
        Found through one code of each fine group; None where the coarse grouping does not merge fine groups.

    Examples
    --------
    >>> fine, coarse = (Grouping(values=4, reserved=1, kind="shift", shift=s) for s in (0, 1))
    >>> merged_groups(fine, coarse).tolist(), merged_groups(coarse, fine)
    ([0, 0, 1, 1, 2], None)
    """
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
