"""Cut a partition into blocks of equal size at little loss: the divide-and-merge of the covariance loss theorem."""

import numpy as np

from lapwing.errors import ParameterError


def equipartition(labels: np.ndarray, blocks: int) -> np.ndarray:
    """Return blocks of equal size, each inside one cell but for a few that are pooled from leftovers.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
        The cell F_j of each record.
    blocks : int
        Between 1 and n.

    Returns
    -------
    ndarray of int64, shape (n,)
        The block of each record: exactly ``blocks`` of them, numbered from 0, each of ``floor(n / blocks)`` or
        ``ceil(n / blocks)`` records. Records of one cell are taken in their order.

    Raises
    ------
    ParameterError
        If ``blocks`` is below 1 or above the number of records.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Section 3.6. What we changed: ``blocks``
    need not divide n. The first ``n % blocks`` blocks cut have a record more than the others. A cell still leaves over
    at most ``floor(n / blocks)`` records, so that the pool holds at most ``cells / blocks`` of all, as in the paper;
    and the pool is cut without a rest, because what remains are whole blocks.

    Notes
    -----
    Deterministic. Time ``O(n log n)`` for a stable sort of the labels.

    Examples
    --------
    Seven records of three cells in three blocks; the second block is pooled from what the cells leave over:

    >>> equipartition(np.array([0, 0, 0, 0, 1, 2, 2]), 3).tolist()
    [0, 0, 0, 2, 2, 1, 1]
    """
    if not 1 <= blocks <= labels.size:
        raise ParameterError(
            f"blocks must be between 1 and the number of records, got {blocks}; use fewer blocks", code="LW390"
        )
    order = np.argsort(labels, kind="stable")
    cells = np.unique(labels, return_counts=True)[1]
    size, larger = divmod(labels.size, blocks)

    taken = np.empty_like(cells)
    still_larger = larger
    for j, records in enumerate(cells):
        with_one_more = min(still_larger, int(records) // (size + 1))
        still_larger -= with_one_more
        rest = int(records) - with_one_more * (size + 1)
        # While larger blocks are still due, what is too small for one of them goes to the pool.
        taken[j] = records - (rest if still_larger else rest % size)

    place_in_cell = np.arange(labels.size) - np.repeat(np.cumsum(cells) - cells, cells)
    pooled = place_in_cell >= np.repeat(taken, cells)
    sizes = np.full(blocks, size)
    sizes[:larger] += 1
    found = np.empty(labels.size, dtype=np.int64)
    found[np.concatenate((order[~pooled], order[pooled]))] = np.repeat(np.arange(blocks), sizes)
    return found
