"""Which groups share a figure, so that every figure is a mean over enough privacy units."""

import numpy as np

NO_POOL = -1
"""The pool of a group where fewer units than wanted have a value in the whole table."""


def pooled_groups(known: np.ndarray, wanted: np.ndarray, size: int, order: np.ndarray) -> np.ndarray:
    """Return pools of groups with at least `size` units that have a value; a group with enough has a pool of its own.

    Parameters
    ----------
    known : ndarray of int64, shape (g,)
        Units with a value, of each group.
    wanted : ndarray of bool, shape (g,)
        Groups that need a figure; true wherever any unit has a value.
    size : int
        Units that a figure is taken over at least.
    order : ndarray of float64, shape (g,)
        Groups that come next to each other in it are pooled together.

    Returns
    -------
    ndarray of int64, shape (g,)
        The pool of each group; of a group that needs none its own number, and `NO_POOL` where there are fewer than
        `size` units with a value.

    Notes
    -----
    Pools do not overlap: from two figures over sets of units one of which contains the other, a third over their
    difference would follow.

    Examples
    --------
    The second and the fourth group are too small, and become one; what then is too small joins the nearest:

    >>> known = np.array([5, 2, 6, 3, 1])
    >>> pooled_groups(known, known > 0, 5, np.array([0.1, 0.2, 0.3, 0.4, 0.5])).tolist()
    [0, 1, 2, 1, 1]
    """
    pools = np.arange(known.size)
    is_short = wanted & (known < size)
    if not is_short.any():
        return pools
    short = np.flatnonzero(is_short)
    short = short[np.argsort(order[short], kind="stable")]
    waiting: list[int] = []
    units, last = 0, NO_POOL
    for group in short.tolist():
        waiting.append(group)
        units += int(known[group])
        if units >= size:
            last = waiting[0]
            pools[waiting] = last
            waiting, units = [], 0
    if waiting and last == NO_POOL:
        last = _nearest_full(known >= size, order, float(order[waiting[-1]]))
    pools[waiting] = last
    return pools


def _nearest_full(is_full: np.ndarray, order: np.ndarray, place: float) -> int:
    """Return the group with enough units that is nearest in the order, or none."""
    full = np.flatnonzero(is_full)
    return int(full[np.abs(order[full] - place).argmin()]) if full.size else NO_POOL
