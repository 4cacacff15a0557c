"""Arrays and mappings that nobody can write to, and refusals of those of another kind."""

import math
from collections.abc import Iterator, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError

K = TypeVar("K")
V = TypeVar("V")


def read_only(values: np.ndarray, dtype: np.dtype | type | None = None) -> np.ndarray:
    """Return values as a contiguous array that nobody can write to; copied unless it is one already."""
    array = np.asarray(values, dtype=dtype, order="C")
    owner: object = array
    while isinstance(owner, np.ndarray):  # of a read-only view the owner may be written to
        if owner.flags.writeable:
            array = array.copy()
            array.flags.writeable = False
            break
        owner = owner.base
    return array


def freeze(values: np.ndarray) -> np.ndarray:
    """Return numbers as an array over bytes, which nobody can make writable again; itself where it is one.

    >>> once = freeze(np.arange(3))
    >>> freeze(once) is once
    True
    """
    owner: object = values.base
    if type(owner) is bytes:
        return values
    return np.ndarray(values.shape, values.dtype, values.tobytes())


def integers(name: str, values: np.ndarray) -> np.ndarray:
    """Return values as a read-only vector of int64, or refuse them under ``name``."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.dtype == np.uint64:
        raise ParameterError(
            f"{name} must be a vector of integers below 2**63, not {array.dtype} of shape {array.shape}",
            code="LW640",
        )
    return read_only(array, np.dtype(np.int64))


def floats(name: str, values: np.ndarray) -> np.ndarray:
    """Return values as a read-only vector of float64, or refuse them under ``name``."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise ParameterError(
            f"{name} must be a vector of numbers, got {array.dtype} of shape {array.shape}", code="LW640"
        )
    return read_only(array, np.dtype(np.float64))


# -- Euclidean projection on a simplex: noisy counts become the nearest non-negative ones with a given total.


def project_to_simplex(values: np.ndarray, total: float) -> np.ndarray:
    """Return the nearest non-negative array with a given sum.

    values: any integer or float dtype, any shape, at least one entry, finite numbers, such as noisy counts; not
    modified. Returns float64, shape of ``values``, the minimiser of the sum of squared differences to ``values`` among
    non-negative arrays with that sum. It sums to ``total`` up to rounding (a few units in the last place); all zeros
    when ``total`` is 0.

    Duchi, Shalev-Shwartz, Singer, Chandra (2008), "Efficient projections onto the l1-ball", Figure 1. Changed: the
    values are shifted by their maximum first, so that large noisy counts do not cost digits.

    Time ``O(k log k)``, memory ``O(k)`` for k entries.

    >>> project_to_simplex(np.array([3, -2, 1]), 2.0)
    array([2., 0., 0.])
    """
    shape = np.shape(values)
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    if not math.isfinite(total) or total < 0:
        raise ParameterError(f"the total of a projection must be finite and at least 0, got {total}", code="LW390")
    if flat.size == 0 or not np.isfinite(flat).all():
        raise ParameterError(
            "only one or more finite values can be projected on a simplex; check the values", code="LW390"
        )
    if total == 0:
        return np.zeros(shape)

    shifted = flat - flat.max()
    largest_first = np.sort(shifted)[::-1]
    excess = np.cumsum(largest_first) - total
    ranks = np.arange(1, flat.size + 1)
    # The support is a prefix of the sorted values; its first entry always qualifies because total > 0.
    support = int(np.count_nonzero(largest_first * ranks > excess))
    projected = np.maximum(shifted - excess[support - 1] / support, 0.0)
    # The threshold is rounded; scaling moves the sum back to the total and keeps every zero.
    return np.asarray(projected * (total / projected.sum())).reshape(shape)


class Frozen(Mapping[K, V]):
    """A mapping that nobody changes, and that `copy` and `pickle` take, as they do not take Python's own.

    >>> Frozen({"a": 1}) == {"a": 1}
    True
    """

    __slots__ = ("_held",)

    def __init__(self, held: Mapping[K, V]) -> None:
        self._held = dict(held)

    def __getitem__(self, key: K) -> V:
        return self._held[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return repr(self._held)


Floats = npt.NDArray[np.float64]


Ints = npt.NDArray[np.int64]


Cells = npt.NDArray[np.integer]


Codes = Mapping[str, Cells]  # a coded table: the codes of each column
