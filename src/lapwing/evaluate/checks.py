"""Checks of the arrays that metrics are computed from. What they say quotes no value and no number of rows."""

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError

Floats = npt.NDArray[np.float64]


def finite_array(name: str, values: npt.ArrayLike, axes: int) -> Floats:
    """Return values as float64, or refuse them under ``name``."""
    array = np.asarray(values)
    if array.ndim != axes or array.size == 0 or array.dtype.kind not in "biuf":
        raise ParameterError(
            f"{name} must be a non-empty array of numbers with {axes} axes, got {array.dtype} with {array.ndim} axes",
            code="LW802",
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ParameterError(f"{name} must be finite; leave out what is missing", code="LW802")
    return array


def same_space(points: npt.ArrayLike, others: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return two samples as arrays of shapes (n, d) and (m, d)."""
    left, right = finite_array("points", points, 2), finite_array("others", others, 2)
    if left.shape[1] != right.shape[1]:
        raise ParameterError(
            f"both samples need the same columns, got {left.shape[1]} and {right.shape[1]} columns", code="LW801"
        )
    return left, right


def shares(name: str, masses: npt.ArrayLike | None, count: int) -> Floats:
    """Return non-negative masses scaled to sum 1; equal ones for None."""
    array = np.ones(count) if masses is None else finite_array(name, masses, 1)
    if array.size != count:
        raise ParameterError(f"{name} must be one for each point or piece; check their number", code="LW802")
    if array.min() < 0 or array.max() == 0:
        raise ParameterError(f"{name} must be at least 0 and not all 0; check them", code="LW802")
    relative = array / array.max()  # so that the sum cannot overflow
    return np.asarray(relative / relative.sum())
