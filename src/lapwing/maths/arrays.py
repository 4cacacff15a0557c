"""Arrays that nobody can write to, and refusals of those of another kind."""

import numpy as np

from lapwing.errors import ParameterError


def read_only(values: np.ndarray, dtype: np.dtype | type | None = None) -> np.ndarray:
    """Return values as a contiguous array that nobody can write to; copied unless it is one already.

    values: ndarray, any array; not modified. Returns ndarray, same shape, read-only.
    """
    array = np.asarray(values, dtype=dtype, order="C")
    owner: object = array
    while isinstance(owner, np.ndarray):  # of a read-only view the owner may be written to
        if owner.flags.writeable:
            array = array.copy()
            array.flags.writeable = False
            break
        owner = owner.base
    return array


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
