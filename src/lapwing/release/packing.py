"""Tables of counts as text, and how large one may be."""

import base64
import math
import zlib

import numpy as np

from lapwing.errors import ParameterError

MAX_CELLS = 2**26
"""The most cells of one answer: 512 MiB of counts."""


def pack_counts(counts: np.ndarray) -> str:
    """Return counts as text: base64 of compressed 64-bit little-endian integers in C order.

    Examples
    --------
    >>> unpack_counts(pack_counts(np.array([[1, -2]])), (1, 2))
    array([[ 1, -2]])
    """
    return base64.b64encode(zlib.compress(counts.astype("<i8").tobytes(), 6)).decode("ascii")


def unpack_counts(text: str, shape: tuple[int, ...]) -> np.ndarray:
    """Read back what `pack_counts` wrote; the size is checked before memory is taken.

    Parameters
    ----------
    text : str
        Of anybody's making.
    shape : tuple of int
        That the counts must have.

    Returns
    -------
    ndarray of int64

    Raises
    ------
    ParameterError
        If the text holds another number of counts.
    """
    cells = math.prod(shape)
    raw = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), 8 * cells + 1)
    if len(raw) != 8 * cells:
        raise ParameterError(
            f"an answer of shape {shape} must hold {cells} counts; the record is damaged", code="LW643"
        )
    return np.frombuffer(raw, dtype="<i8").astype(np.int64).reshape(shape)
