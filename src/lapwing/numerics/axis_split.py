"""Blocks of near points: recursive halves along the principal axis."""

import numpy as np

_SAMPLE = 4096
_POWER_STEPS = 10


def axis_blocks(x: np.ndarray, most: int, *, share: float = 0.5, unit: int = 1) -> list[np.ndarray]:
    """Split points along principal axes until no block has more than ``most`` of them.

    Parameters
    ----------
    x : ndarray of float64, shape (n, p)
        Points.
    most : int
        Largest block, at least 1. Blocks have at least ``most // 3`` points, unless n is less.
    share : float, default 0.5
        Where the first cut lies, 1/3 to 2/3: another share gives blocks with other borders. Later cuts are halves.

    Returns
    -------
    list of ndarray of int64
        Places of the points of each block, ascending; together all of them.
    """
    todo, blocks = [(np.arange(len(x)), share)], []
    while todo:
        places, cut = todo.pop()
        if places.size <= most:
            blocks.append(np.sort(places))
            continue
        along = _along_axis(x[places])
        first = round(cut * places.size / unit) * unit
        halves = np.argpartition(along, first)
        todo += [(places[np.sort(half)], 0.5) for half in (halves[first:], halves[:first])]
    return blocks


def _along_axis(points: np.ndarray) -> np.ndarray:
    """Project on about the first principal axis: power steps on a sample of every so many points."""
    sample = points[:: -(-len(points) // _SAMPLE)]
    centred = sample - sample.mean(axis=0)
    axis = centred[np.einsum("ij,ij->i", centred, centred).argmax()]
    for _ in range(_POWER_STEPS):
        axis = axis / max(float(np.abs(axis).max()), np.finfo(np.float64).tiny)
        axis = (centred * (centred * axis).sum(axis=1)[:, None]).sum(axis=0)
    along: np.ndarray = np.einsum("ij,j->i", points, axis)
    return along
