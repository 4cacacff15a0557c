"""The inner loops that send codes to groups: exact, and as fast as memory allows.

Each loop works on blocks of rows whose work arrays stay in the processor's cache.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.integer[Any]]
Groups = npt.NDArray[np.intp]

_BLOCK: Final = 2**14
_ONE_TABLE: Final = 2**16
_MAX_BUCKET_BITS: Final = 16


def fits_one_table(size: int, n: int) -> bool:
    """Return whether listing the group of all `size` codes is cheap beside grouping `n` rows."""
    return size <= _ONE_TABLE and 4 * size <= n


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


def apply_by_shift(codes: Codes, values: int, bits: int) -> Groups:
    """Return regular codes shifted right by `bits`, and each reserved code in its own group after those."""
    out = np.empty(len(codes), dtype=np.intp)
    wide, low = np.empty((2, min(_BLOCK, len(codes))), dtype=np.int64)
    for rows in _blocks(len(codes)):
        groups = out[rows]
        block, inner = wide[: len(groups)], low[: len(groups)]
        np.copyto(block, codes[rows], casting="same_kind")
        # Without masks: code values + r counts as the last regular code plus r + 1 groups.
        np.minimum(block, values - 1, out=inner)
        np.right_shift(inner, bits, out=groups)
        np.subtract(block, inner, out=inner)
        np.add(groups, inner, out=groups)
    return out


def apply_by_cuts(codes: Codes, cuts: npt.NDArray[np.int64]) -> Groups:
    """Return the number of cuts that are not above each code, as ``searchsorted(cuts, codes, "right")`` does.

    An index on the code's high bits gives the number of cuts at or below the start of the code's bucket; the few
    cuts inside a bucket are then found by a binary search without branches.
    """
    bits = _bucket_bits(cuts)
    starts = np.arange((int(cuts[-1]) >> bits) + 1, dtype=np.int64) << bits
    first = np.searchsorted(cuts, starts, side="right")
    widths = [2**power for power in reversed(range(_most_inside(cuts, bits).bit_length()))]
    # Cuts that no code reaches, so that a probe never leaves the array.
    padded = np.concatenate((cuts, np.full(2 * max(widths, default=0), np.iinfo(np.int64).max)))

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
